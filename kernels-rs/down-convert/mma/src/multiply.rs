//! A warp: tiles of 32 segments, one after another.

use fringes_device::barrier::bar_sync_0;
use fringes_device::control::trap;
use fringes_device::copy_async::cp_async_wait_group;
use fringes_device::index::{ctaid_x, nctaid_x, tid_x};
use fringes_device::mma::mma_m16n8k16_f32_f16;
use fringes_device::warp::bar_warp_sync;
use fringes_device::{GlobalMut, Shared, unroll};

use crate::arguments::{Arguments, MOST_GROUPS, Position};
use crate::decode::Decoder;
use crate::epilogue::{MOST, Output, Row};
use crate::load::{Loader, slot, slot_bytes};
use crate::mma::{GROUP, STAGES, THREADS, column_tiles, pitch, shared_bytes, table_pieces};

/// Tiles of 16 rows that share what is loaded of the weights.
const ROW_TILES: usize = 2;

/// Tiles of columns whose sums are made together, at most: so many products, twice, do not wait for each other.
const TOGETHER: usize = 3;

/// Down-converts the tiles of a block of threads. `H`: sums of a thread of 16 rows, `P SETS`.
///
/// Traps if the views do not hold what the sizes say.
///
/// # Safety
/// A block of [`THREADS`] threads, all of which call it.
#[inline(always)]
pub(crate) unsafe fn run<T: Output, const BITS: u32, const P: usize, const SETS: usize, const H: usize>(
    arguments: &Arguments<T>,
) {
    const { assert!(H == P * SETS && H == 4 * column_tiles(P as u32, SETS as u32) as usize) };
    let shared = Shared::<[u32; 4]>::dynamic();
    let bytes = |stages| shared_bytes(P as u32, SETS as u32, arguments.groups.min(MOST_GROUPS), BITS, stages) as usize;
    let stages = if 16 * shared.len() >= bytes(STAGES[0]) { STAGES[0] } else { STAGES[1] };
    if !arguments.fit::<BITS, P, SETS>(16 * shared.len(), stages) {
        trap();
        return;
    }
    let pieces = table_pieces(P as u32, SETS as u32, arguments.groups);
    let mut piece = tid_x();
    while piece < pieces {
        shared.store(piece as usize, arguments.table.load(piece as usize));
        piece += THREADS;
    }
    bar_sync_0();

    let (warp, lane) = (tid_x() / 32, tid_x() % 32);
    let slots = shared.address(0) + 16 * pieces + warp * stages * slot_bytes(BITS);
    // Blocks of outputs are complete with the last of their sets.
    let steps = arguments.blocks + SETS as u32 - 1;
    let mut tile = ctaid_x().wrapping_mul(THREADS / 32).wrapping_add(warp);
    let stride = nctaid_x().wrapping_mul(THREADS / 32).max(1);
    let first = Position { tile, step: 0, steps, group: 0, stride };
    let mut tiles = Tiles::<BITS, P, H> {
        loader: Loader::new(arguments, first, slots, stages, lane),
        decoder: Decoder::new(),
        slots,
        slot: stages - 1,
        stages,
        bit: 0,
        sums: [[0.0; H]; ROW_TILES],
        table: shared.part(0, pieces as usize),
        aligned: T::aligned(arguments.out, arguments.skip, arguments.out_row),
        first: Row { phase: 0, output: 0 },
        lane,
    };
    tiles.loader.issue(arguments);
    if stages > 2 {
        tiles.loader.issue(arguments);
    }
    while tile < arguments.all_tiles() {
        tiles.begin(arguments, &Position { tile, step: 0, steps, group: 0, stride });
        let out = {
            let input = (tile / arguments.tiles.max(1)) as u64;
            arguments.out.part((input * arguments.out_row) as usize, arguments.outputs as usize)
        };
        let mut step = 0;
        while step < steps {
            tiles.block(arguments);
            if step + 1 >= SETS as u32 {
                tiles.complete(arguments, out);
            }
            tiles.turn();
            step += 1;
        }
        tile += stride;
    }
}

/// What a warp keeps from tile to tile.
struct Tiles<const BITS: u32, const P: usize, const H: usize> {
    loader: Loader<BITS>,
    decoder: Decoder<BITS>,
    slots: u32,
    /// Slot that was used last.
    slot: u32,
    stages: u32,
    /// Bit, in a piece of 16 bytes, at which the block's samples begin.
    bit: u32,
    /// Sums of the blocks of outputs that are not complete, the oldest first.
    sums: [[f32; H]; ROW_TILES],
    table: Shared<[u32; 4]>,
    /// Whether a lane's pairs of outputs can be stored together.
    aligned: bool,
    /// The lane's part of the first of its segments, each of which is 8 segments behind the one before.
    first: Row,
    lane: u32,
}

/// Pairs of f16 of a lane of 16 rows: of a lower and an upper row, by term.
type Samples = [[[u32; 8]; 2]; 2];

impl<const BITS: u32, const P: usize, const H: usize> Tiles<BITS, P, H> {
    /// Tiles of 8 columns.
    const COLUMN_TILES: usize = H / 4;

    /// Of which so many have their sums made together: fewer where sums take the registers.
    const TOGETHER: usize = if H > 24 { 2 } else { TOGETHER };

    /// Turns to a tile.
    #[inline(always)]
    fn begin<T: Output>(&mut self, arguments: &Arguments<T>, position: &Position) {
        self.bit = position.bit(arguments) as u32 % 128;
        let block = (position.segment(arguments) + self.lane / 4).wrapping_mul(arguments.blocks);
        self.first = Row {
            phase: arguments.phase.wrapping_add(arguments.turn.wrapping_mul(block as u64)),
            output: block.wrapping_mul(P as u32).wrapping_sub(arguments.skip),
        };
        self.sums = [[0.0; H]; ROW_TILES];
    }

    /// Where the lane's samples of the first row of the next group are, from bit `bit` of its pieces on: words, number
    /// of a word, and bit of it.
    ///
    /// # Safety
    /// All lanes of the warp call it; a group was asked for that was not taken yet.
    #[inline(always)]
    unsafe fn next_group<T: Output>(&mut self, arguments: &Arguments<T>, bit: u32) -> (Shared<u32>, u32, u32) {
        if self.stages == 2 {
            cp_async_wait_group::<0>();
        } else {
            cp_async_wait_group::<1>();
        }
        bar_warp_sync(u32::MAX);
        self.slot = if self.slot == self.stages - 1 { 0 } else { self.slot + 1 };
        self.loader.issue(arguments);
        let bit = bit + 16 * BITS * (self.lane % 4);
        let word = self.lane / 4 * 4 * pitch(BITS) + bit / 32;
        (slot::<BITS>(self.slots, self.slot), word, bit % 32)
    }

    /// The pairs of a lane's samples.
    ///
    /// # Safety
    /// All lanes of the warp call it, with what [`Self::next_group`] gave.
    #[inline(always)]
    unsafe fn samples(&self, (words, word, bit): (Shared<u32>, u32, u32)) -> [Samples; ROW_TILES] {
        let mut samples = [[[[0; 8]; 2]; 2]; ROW_TILES];
        unroll!(i in 0 1 {
            unroll!(upper in 0 1 {
                let row = word + (16 * i + 8 * upper) as u32 * 4 * pitch(BITS);
                samples[i][upper] = self.decoder.decode(words, row, bit);
            });
        });
        samples
    }

    /// Adds the products of a group of samples with the weights from piece `piece` on.
    ///
    /// Sums of a group begin anew: first with the low weights and with the low terms of samples, which are small, then
    /// with the high ones. What tensor cores cut off is relative to the sum that they add to.
    ///
    /// # Safety
    /// All lanes of the warp call it.
    #[inline(always)]
    unsafe fn multiply(&mut self, samples: &[Samples; ROW_TILES], piece: u32) {
        unroll!(chunk in 0 1 2 3 4 5 {
            let mut sums = [[[0.0; 4]; ROW_TILES]; TOGETHER];
            // Low terms and high weights, high terms and low weights, high terms and high weights.
            unroll!(pass in 0 1 2 {
                if pass > 0 || Decoder::<BITS>::TERMS == 2 {
                    let (term, part) = ([1, 0, 0][pass], [0, 1, 0][pass]);
                    unroll!(half in 0 1 {
                        let mut b = [[0; 4]; TOGETHER];
                        unroll!(i in 0 1 2 {
                            let tile = Self::TOGETHER * chunk + i;
                            if i < Self::TOGETHER && tile < Self::COLUMN_TILES {
                                b[i] = self.table.load(piece as usize + 32 * (4 * tile + 2 * part + half));
                            }
                        });
                        unroll!(step in 0 1 {
                            unroll!(i in 0 1 2 {
                                if i < Self::TOGETHER && Self::TOGETHER * chunk + i < Self::COLUMN_TILES {
                                    unroll!(rows in 0 1 {
                                        let pair = 2 * (2 * half + step);
                                        let [low, high] = [samples[rows][0][term], samples[rows][1][term]];
                                        let a = [low[pair], high[pair], low[pair + 1], high[pair + 1]];
                                        let b = [b[i][2 * step], b[i][2 * step + 1]];
                                        sums[i][rows] = mma_m16n8k16_f32_f16(a, b, sums[i][rows]);
                                    });
                                }
                            });
                        });
                    });
                }
            });
            unroll!(i in 0 1 2 {
                let tile = Self::TOGETHER * chunk + i;
                if i < Self::TOGETHER && tile < Self::COLUMN_TILES {
                    unroll!(rows in 0 1 {
                        unroll!(j in 0 1 2 3 { self.sums[rows][4 * tile + j] += sums[i][rows][j]; });
                    });
                }
            });
        });
    }

    /// Takes a block of samples in.
    ///
    /// # Safety
    /// All lanes of the warp call it.
    #[inline(always)]
    unsafe fn block<T: Output>(&mut self, arguments: &Arguments<T>) {
        let mut bit = self.bit;
        self.bit = (self.bit + arguments.block_bits) % 128;
        let mut piece = self.lane;
        let mut group = 0;
        while group < arguments.groups {
            let place = self.next_group(arguments, bit);
            self.multiply(&self.samples(place), piece);
            bit = (bit + GROUP * BITS) % 128;
            piece += 128 * Self::COLUMN_TILES as u32;
            group += 1;
        }
    }

    /// Rotates and stores the outputs of the oldest block, which is complete, and turns rows to the next one.
    ///
    /// # Safety
    /// `out` is the outputs of the input.
    #[inline(always)]
    unsafe fn complete<T: Output>(&mut self, arguments: &Arguments<T>, out: GlobalMut<T>) {
        unroll!(row in 0 1 2 3 {
            let (sums, upper) = (&self.sums[row / 2], 2 * (row % 2));
            let mut parts = [[0.0; 2]; MOST];
            unroll!(i in 0 1 2 {
                if i < P / 4 {
                    parts[i] = [sums[4 * i + upper], sums[4 * i + upper + 1]];
                }
            });
            let row = self.first.ahead(row as u32 * 8 * arguments.blocks, P as u32, arguments.turn);
            row.store(out, parts, (P / 4, tid_x() % 4), arguments.scale, self.aligned);
        });
        self.first = self.first.ahead(1, P as u32, arguments.turn);
    }

    /// The oldest sums leave, and a block of outputs begins.
    #[inline(always)]
    fn turn(&mut self) {
        unroll!(i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35
            36 37 38 39 40 41 42 43 44 45 46 47 {
            if i < H {
                unroll!(rows in 0 1 {
                    self.sums[rows][i] = if i + P < H { self.sums[rows][(i + P) % H] } else { 0.0 };
                });
            }
        });
    }
}
