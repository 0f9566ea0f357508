//! A group of four warps: tiles of 64 segments, one after another.

use fringes_device::barrier::bar_sync_0;
use fringes_device::control::trap;
use fringes_device::copy_async::cp_async_wait_group;
use fringes_device::fence::fence_proxy_async;
use fringes_device::index::{ctaid_x, nctaid_x, tid_x};
use fringes_device::warp::bar_warp_sync;
use fringes_device::wgmma::{
    Accumulator, Descriptor, Swizzle, clear, wgmma_commit_group, wgmma_fence, wgmma_wait_group,
};
use fringes_device::{Global, GlobalMut, Shared, opaque, unroll};
use fringes_kernels_common::rotation::unit_approx;

use crate::decode::Decoder;
use crate::load::{Loader, slot, slot_bytes};
use crate::product::Product;
use crate::tensor::{
    GROUP, ROWS, SEGMENT_BLOCKS, columns, pitch, shared_bytes, stages, table_pieces, threads, warpgroups,
};

/// Everything that the kernels get.
#[derive(Clone, Copy)]
pub(crate) struct Arguments {
    /// Packed samples, from a multiple of 16 bytes on.
    pub samples: Global<u32>,
    /// Weights, as `fringes_kernel_abi::down_convert::tensor` has them.
    pub table: Global<[u32; 4]>,
    /// Outputs `[input][out_row]`.
    pub out: GlobalMut<[f32; 2]>,
    /// Bit at which block 0 of input 0 begins, which may be before the samples: modulo 2^64.
    pub first_bit: u64,
    /// Bits from input to input.
    pub row_bits: u64,
    /// Outputs from input to input.
    pub out_row: u64,
    /// What a block's phase is above that of the block before it, in 2^-64 turns.
    pub turn: u64,
    /// Phase of block 0.
    pub phase: u64,
    /// Outputs of an input.
    pub outputs: u32,
    /// Outputs of block 0 before the first one that is stored.
    pub skip: u32,
    /// Inputs.
    pub inputs: u32,
    /// Tiles of an input.
    pub tiles: u32,
    /// Blocks of a segment.
    pub blocks: u32,
    /// Groups of samples of a block.
    pub groups: u32,
    /// Bits of a block.
    pub block_bits: u32,
    /// What sums are multiplied by.
    pub scale: f32,
}

impl Arguments {
    /// Whether the sizes are those that the kernel takes, and the views hold them.
    #[inline(always)]
    fn fit<const BITS: u32, const P: usize, const SETS: usize>(&self, shared: usize) -> bool {
        let Self { samples, table, out, out_row, outputs, skip, inputs, tiles, blocks, groups, block_bits, .. } = *self;
        let most = 1u64 << 30;
        let table_len = table_pieces(P as u32, SETS as u32, 1) as u64 * groups as u64;
        groups > 0
            && (groups as u64) < most / 4096
            && table_len <= table.len() as u64
            && shared as u64 >= shared_bytes(P as u32, SETS as u32, groups, BITS) as u64
            && outputs > 0
            && (outputs as u64) < most
            && skip < P as u32
            && inputs > 0
            && (inputs as u64).saturating_mul(tiles as u64) < most
            && (inputs as u64 - 1).saturating_mul(out_row).saturating_add(outputs as u64) <= out.len() as u64
            && blocks > 0
            && blocks % SEGMENT_BLOCKS == 0
            && (blocks as u64) < most / ROWS as u64
            && block_bits % (P as u32 * BITS) == 0
            && block_bits > 0
            && (block_bits as u64).saturating_mul(blocks as u64) < most * 128
            && (block_bits as u64).saturating_mul(blocks as u64).is_multiple_of(128)
            && (samples.is_empty() || is_aligned(samples))
    }

    /// Pieces of 16 bytes from segment to segment.
    #[inline(always)]
    pub(crate) fn segment_pieces(&self) -> u32 {
        (self.block_bits as u64 * self.blocks as u64 / 128) as u32
    }

    /// Tiles of all inputs.
    #[inline(always)]
    pub(crate) fn all_tiles(&self) -> u32 {
        self.inputs * self.tiles
    }
}

/// Whether the samples begin at a multiple of 16 bytes.
#[inline(always)]
fn is_aligned(samples: Global<u32>) -> bool {
    // SAFETY: the address is not used.
    unsafe { samples.address(0).is_multiple_of(16) }
}

/// A group of samples of a tile.
#[derive(Clone, Copy)]
pub(crate) struct Position {
    pub(crate) tile: u32,
    /// Block that comes in, and those of a tile.
    pub(crate) step: u32,
    pub(crate) steps: u32,
    pub(crate) group: u32,
    /// Tiles to the next one of the same group of warps.
    pub(crate) stride: u32,
}

impl Position {
    /// Segment, of its input, of the warp's first row.
    #[inline(always)]
    fn segment(&self, arguments: &Arguments, warp: u32) -> u32 {
        (self.tile % arguments.tiles.max(1)) * ROWS + 16 * warp
    }

    /// Bit at which the warp's first row of the tile begins.
    #[inline(always)]
    pub(crate) fn bit(&self, arguments: &Arguments, warp: u32) -> u64 {
        let input = self.tile / arguments.tiles.max(1);
        let segment = self.segment(arguments, warp) as u64;
        arguments
            .first_bit
            .wrapping_add((input as u64).wrapping_mul(arguments.row_bits))
            .wrapping_add(segment.wrapping_mul(arguments.segment_pieces() as u64 * 128))
    }
}

/// Down-converts the tiles of a block of threads. `H`: accumulators of a thread, `P SETS`.
///
/// Traps if the views do not hold what the sizes say.
///
/// # Safety
/// A block of [`threads`] threads, all of which call it.
#[inline(always)]
pub(crate) unsafe fn run<const BITS: u32, const P: usize, const SETS: usize, const H: usize, const STAGES: u32>(
    arguments: &Arguments,
) where
    [f32; H]: Product,
{
    const { assert!(H == P * SETS && STAGES == stages(P as u32)) };
    let shared = Shared::<[u32; 4]>::dynamic();
    if !arguments.fit::<BITS, P, SETS>(16 * shared.len()) {
        trap();
        return;
    }
    let pieces = table_pieces(P as u32, SETS as u32, arguments.groups);
    let mut piece = tid_x();
    while piece < pieces {
        shared.store(piece as usize, arguments.table.load(piece as usize));
        piece += threads(P as u32);
    }
    fence_proxy_async();
    bar_sync_0();

    let (warp, lane) = (tid_x() / 32, tid_x() % 32);
    let slots = shared.address(0) + 16 * pieces + warp * STAGES * slot_bytes(BITS);
    // Sets are whole turns, and blocks of outputs are complete one turn after they begin.
    let steps = (arguments.blocks + SETS as u32).next_multiple_of(SETS as u32);
    let group = ctaid_x().wrapping_mul(warpgroups(P as u32)).wrapping_add(warp / 4);
    let stride = nctaid_x().wrapping_mul(warpgroups(P as u32)).max(1);
    let mut tiles = Tiles::<BITS, P, H, STAGES> {
        loader: Loader::new(
            arguments,
            Position { tile: group, step: 0, steps, group: 0, stride },
            slots,
            warp % 4,
            lane,
        ),
        decoder: Decoder::new(),
        slots,
        slot: STAGES - 1,
        bit: 0,
        sums: <[f32; H]>::zero(),
        table: Descriptor::new(shared.address(0), 16 * columns(P as u32, SETS as u32), 128, Swizzle::None),
        wide: (((arguments.out.address(0) >> 3) as u32 ^ arguments.skip) | arguments.out_row as u32) & 1 == 0,
        rows: [Row { phase: 0, output: 0 }; 2],
        lane,
    };
    unroll!(i in 0 1 2 { if (i as u32) < STAGES - 1 { tiles.loader.issue(arguments); } });
    let mut tile = group;
    while tile < arguments.all_tiles() {
        let position = Position { tile, step: 0, steps, group: 0, stride };
        tiles.begin(arguments, &position, warp % 4);
        let out = {
            let input = (tile / arguments.tiles.max(1)) as u64;
            arguments.out.part((input * arguments.out_row) as usize, arguments.outputs as usize)
        };
        let mut step = 0;
        while step < steps {
            unroll!(turn in 0 1 2 3 4 {
                if turn < SETS {
                    tiles.block::<SETS>(arguments, out, step + turn as u32, turn);
                }
            });
            step += SETS as u32;
        }
        tile += stride;
    }
}

/// A lane's part of one of its two segments.
#[derive(Clone, Copy)]
struct Row {
    /// Phase of the block that is complete next.
    phase: u64,
    /// Number of the lane's first output of that block, modulo 2^32.
    output: u32,
}

/// What a group of warps keeps from tile to tile.
struct Tiles<const BITS: u32, const P: usize, const H: usize, const STAGES: u32> {
    loader: Loader<BITS, STAGES>,
    decoder: Decoder<BITS>,
    slots: u32,
    /// Slot that was used last.
    slot: u32,
    /// Bit, in a piece of 16 bytes, at which the block's samples begin.
    bit: u32,
    sums: [f32; H],
    table: Descriptor,
    /// Whether two outputs can be stored together.
    wide: bool,
    rows: [Row; 2],
    lane: u32,
}

impl<const BITS: u32, const P: usize, const H: usize, const STAGES: u32> Tiles<BITS, P, H, STAGES>
where
    [f32; H]: Product,
{
    /// Turns to a tile.
    #[inline(always)]
    fn begin(&mut self, arguments: &Arguments, position: &Position, warp: u32) {
        self.bit = position.bit(arguments, warp) as u32 % 128;
        let first = position.segment(arguments, warp) + self.lane / 4;
        unroll!(i in 0 1 {
            let block = (first + 8 * i as u32).wrapping_mul(arguments.blocks);
            let ahead = self.lane % 4 * (P as u32 / 4);
            self.rows[i] = Row {
                phase: arguments.phase.wrapping_add(arguments.turn.wrapping_mul(block as u64)),
                output: block.wrapping_mul(P as u32).wrapping_add(ahead).wrapping_sub(arguments.skip),
            };
        });
    }

    /// The pairs of the next group's samples of both rows, from bit `bit` of its pieces on.
    ///
    /// # Safety
    /// All lanes of the warp call it; a group was asked for that was not taken yet.
    #[inline(always)]
    unsafe fn samples(&mut self, arguments: &Arguments, bit: u32) -> [[u32; 8]; 2] {
        if STAGES == 3 {
            cp_async_wait_group::<1>();
        } else {
            cp_async_wait_group::<2>();
        }
        bar_warp_sync(u32::MAX);
        self.slot = if self.slot == STAGES - 1 { 0 } else { self.slot + 1 };
        self.loader.issue(arguments);
        let words = slot::<BITS>(self.slots, self.slot);
        let bit = bit + 16 * BITS * (self.lane % 4);
        let word = self.lane / 4 * 4 * pitch(BITS) + bit / 32;
        let low = self.decoder.decode(words, word, bit % 32);
        let high = self.decoder.decode(words, word + 32 * pitch(BITS), bit % 32);
        [low, high]
    }

    /// Multiplies a group's samples with the table from `b` on; the products are under way afterwards.
    ///
    /// # Safety
    /// All threads of the group of warps call it, and wait for the products before they use the sums.
    #[inline(always)]
    unsafe fn multiply<const SETS: usize>(&mut self, [low, high]: [[u32; 8]; 2], b: Descriptor) {
        // Bytes of half a step.
        let half = 16 * columns(P as u32, SETS as u32);
        self.sums.hold();
        wgmma_fence();
        unroll!(i in 0 1 2 3 {
            let a = [low[2 * i], high[2 * i], low[2 * i + 1], high[2 * i + 1]];
            self.sums.add(a, b.advance(4 * i as u32 * half));
            self.sums.add(a, b.advance((4 * i as u32 + 2) * half));
        });
        wgmma_commit_group();
    }

    /// Takes a block of samples in. The accumulators that were complete with the one before begin anew, and what they
    /// had is stored. `turn` is `step % SETS`.
    ///
    /// # Safety
    /// All threads of the group of warps call it.
    #[inline(always)]
    unsafe fn block<const SETS: usize>(
        &mut self,
        arguments: &Arguments,
        out: GlobalMut<[f32; 2]>,
        step: u32,
        turn: usize,
    ) {
        let group_bytes = 16 * table_pieces(P as u32, SETS as u32, 1);
        let mut b = self.table.advance(((SETS - 1 - turn) * 2 * P * 16) as u32);
        let mut bit = self.bit;
        self.bit = (self.bit + arguments.block_bits) % 128;
        let samples = self.samples(arguments, bit);
        // A product, computed here, so that they are values of their own, and not registers of the next products.
        let mut complete = [0.0; P];
        unroll!(i in 0 1 2 3 4 5 6 7 8 9 10 11 {
            if i < P {
                let sum = self.sums[turn * P + i] * arguments.scale;
                complete[i] = f32::from_bits(opaque(sum.to_bits() as i32) as u32);
                clear(&mut self.sums[turn * P + i]);
            }
        });
        self.multiply::<SETS>(samples, b);
        // The first turn completes what the tile before left.
        if step >= SETS as u32 {
            if step - (SETS as u32) < arguments.blocks {
                self.store(out, &complete);
            }
            unroll!(i in 0 1 {
                self.rows[i].phase = self.rows[i].phase.wrapping_add(arguments.turn);
                self.rows[i].output = self.rows[i].output.wrapping_add(P as u32);
            });
        }
        wgmma_wait_group::<0>();
        self.sums.hold();
        let mut group = 1;
        while group < arguments.groups {
            bit = (bit + GROUP * BITS) % 128;
            b = b.advance(group_bytes);
            let samples = self.samples(arguments, bit);
            self.multiply::<SETS>(samples, b);
            wgmma_wait_group::<0>();
            self.sums.hold();
            group += 1;
        }
    }

    /// Rotates and stores a block's outputs.
    ///
    /// # Safety
    /// `out` is the outputs of the input.
    #[inline(always)]
    unsafe fn store(&self, out: GlobalMut<[f32; 2]>, complete: &[f32; P]) {
        unroll!(row in 0 1 {
            let Row { phase, output } = self.rows[row];
            let [cosine, sine] = unit_approx(phase);
            let mut values = [[0.0; 2]; 3];
            unroll!(i in 0 1 2 {
                if i < P / 4 {
                    let (re, im) = (complete[4 * i + 2 * row], complete[4 * i + 2 * row + 1]);
                    values[i] = [re * cosine - im * sine, re * sine + im * cosine];
                }
            });
            let count = out.len() as u32;
            if P == 8 && self.wide && output < count && output + 1 < count {
                let [[a, b], [c, d], _] = values;
                GlobalMut::<[f32; 4]>::from_raw_parts(out.address(output as usize), 1).store(0, [a, b, c, d]);
            } else {
                unroll!(i in 0 1 2 {
                    let output = output.wrapping_add(i as u32);
                    if i < P / 4 && output < count {
                        out.store(output as usize, values[i]);
                    }
                });
            }
        });
    }
}
