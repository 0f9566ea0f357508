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
use fringes_kernels_common::decode::sixteen::Pairs;
use fringes_kernels_common::decode::{BIG_ENDIAN, LITTLE_ENDIAN_HALVES};
use fringes_kernels_common::rotation::unit_approx;

use crate::decode::Decoder;
use crate::load::{Loader, slot, slot_bytes};
use crate::output::Outputs;
use crate::product::Product;
use crate::tensor::{
    GROUP, PIECE_BITS, ROWS, columns, output_bytes, pitch, shared_bytes, stages, table_pieces, threads, warpgroups,
};

/// Everything that the kernels get.
#[derive(Clone, Copy)]
pub(crate) struct Arguments {
    /// Packed samples, from a multiple of 16 bytes on.
    pub samples: Global<u32>,
    /// Those of the first blocks of all inputs, which are elsewhere: likewise.
    pub held: Global<u32>,
    /// Weights, as `fringes_kernel_abi::down_convert::tensor` has them.
    pub table: Global<[u32; 4]>,
    /// Outputs `[input][out_row]`, each of [`bytes`](crate::tensor::output_bytes) of their format.
    pub out: GlobalMut<u16>,
    /// Outputs of each input that saturate, to which more is added; no entries where they are not counted.
    pub saturated: GlobalMut<u64>,
    /// Flags `[input][present_row]` of outputs, 0 of those that do not count; no entries if all do.
    pub present: Global<u8>,
    /// Bit at which the first block of `samples` begins in row 0, which may be before them: modulo 2^64.
    pub first_bit: u64,
    /// Bits from input to input.
    pub row_bits: u64,
    /// The same of `held`; rows are whole 16 bytes.
    pub held_bit: u64,
    pub held_row_bits: u64,
    /// Outputs from input to input, and flags.
    pub out_row: u64,
    pub present_row: u64,
    /// What a block's phase is above that of the block before it, in 2^-64 turns.
    pub turn: u64,
    /// Phase of the first block of `samples`.
    pub phase: u64,
    /// Outputs of an input.
    pub outputs: u32,
    /// Outputs before the first one that is stored, of the very first block.
    pub skip: u32,
    /// Inputs.
    pub inputs: u32,
    /// Blocks of `held`, before those of `samples`.
    pub held_blocks: u32,
    /// Tiles of an input's `samples`.
    pub tiles: u32,
    /// Blocks of a segment of them.
    pub blocks: u32,
    /// Groups of samples of a block.
    pub groups: u32,
    /// Bits of a block.
    pub block_bits: u32,
    /// Whether samples of 16 bits are little-endian.
    pub little_endian: u32,
    /// Format of the outputs: [`F32`](crate::tensor::F32) and its like.
    pub format: u32,
    /// What sums are multiplied by.
    pub scale: f32,
    /// Largest magnitude of an output's parts, [that](crate::tensor::output_limit) of the format, or infinite where no
    /// samples make a larger one: a number of memory that instructions read by themselves.
    pub limit: f32,
}

impl Arguments {
    /// Whether the sizes are those that the kernel takes, and the views hold them.
    #[inline(always)]
    fn fit<const BITS: u32, const P: usize, const SETS: usize, const TERMS: u32, const ALIGNED: bool>(
        &self,
        shared: usize,
    ) -> bool {
        let Self { samples, held, table, out, saturated, present, out_row, outputs, skip, inputs, .. } = *self;
        let Self { held_blocks, tiles, blocks, groups, block_bits, format, .. } = *self;
        let most = 1u64 << 30;
        let table_len = table_pieces(P as u32, SETS as u32, 1, TERMS) as u64 * groups as u64;
        let values = (inputs as u64).saturating_sub(1).saturating_mul(out_row).saturating_add(outputs as u64);
        let flags = (inputs as u64).saturating_sub(1).saturating_mul(self.present_row).saturating_add(outputs as u64);
        groups > 0
            && (groups as u64) < most / 4096
            && table_len <= table.len() as u64
            && shared as u64 >= shared_bytes(P as u32, SETS as u32, groups, BITS, TERMS) as u64
            && outputs > 0
            && (outputs as u64) < most
            && skip < P as u32
            && inputs > 0
            && (inputs as u64).saturating_mul(tiles as u64) < most
            && format < 4
            && values.saturating_mul(output_bytes(format) as u64 / 2) <= out.len() as u64
            && (saturated.is_empty() || inputs as u64 <= saturated.len() as u64)
            && (present.is_empty() || flags <= present.len() as u64)
            && (held_blocks as u64) < most
            && self.held_row_bits.is_multiple_of(PIECE_BITS as u64)
            && self.held_row_bits / (PIECE_BITS as u64) < most / ROWS as u64
            && blocks > 0
            && (blocks as u64) < most / ROWS as u64
            && block_bits % (P as u32 * BITS) == 0
            && block_bits > 0
            && (block_bits as u64).saturating_mul(blocks as u64) < most * PIECE_BITS as u64
            && (block_bits as u64).saturating_mul(blocks as u64).is_multiple_of(PIECE_BITS as u64)
            && (self.little_endian == 0
                || BITS == 16 && (self.first_bit | self.held_bit | self.row_bits).is_multiple_of(16))
            && (!ALIGNED || self.begins_with_pieces())
            && (samples.is_empty() || is_aligned(samples))
            && (held.is_empty() || is_aligned(held))
    }

    /// Whether all groups of samples begin with a piece of 16 bytes.
    #[inline(always)]
    fn begins_with_pieces(&self) -> bool {
        let rest = |bits: u64| bits % PIECE_BITS as u64;
        rest(self.block_bits as u64) == 0
            && (self.held_blocks == 0 || rest(self.held_bit) == 0)
            && (self.tiles == 0 || rest(self.first_bit) == 0 && (self.inputs == 1 || rest(self.row_bits) == 0))
    }

    /// Tiles of held blocks: their segments are inputs. Computed anew, so that it takes no register meanwhile.
    #[inline(always)]
    fn held_tiles(&self) -> u32 {
        if self.held_blocks == 0 { 0 } else { (opaque(self.inputs as i32) as u32).div_ceil(ROWS) }
    }

    /// All tiles, those of held blocks first.
    #[inline(always)]
    pub(crate) fn all_tiles(&self) -> u32 {
        let held = if self.held_blocks == 0 { 0 } else { self.inputs.div_ceil(ROWS) };
        held + self.inputs * self.tiles
    }

    /// A tile's samples.
    #[inline(always)]
    pub(crate) fn source(&self, tile: u32, warp: u32) -> Source {
        let held = self.held_tiles();
        if tile < held {
            let row = tile * ROWS + 16 * warp;
            return Source {
                samples: self.held,
                bit: self.held_bit.wrapping_add((row as u64).wrapping_mul(self.held_row_bits)),
                segment_pieces: (self.held_row_bits / 128) as u32,
                blocks: self.held_blocks,
            };
        }
        let (input, segment) = self.segment(tile - held, warp);
        let segment_pieces = (self.block_bits as u64 * self.blocks as u64 / 128) as u32;
        Source {
            samples: self.samples,
            bit: self
                .first_bit
                .wrapping_add((input as u64).wrapping_mul(self.row_bits))
                .wrapping_add(segment as u64 * segment_pieces as u64 * 128),
            segment_pieces,
            blocks: self.blocks,
        }
    }

    /// Input of a tile of `samples`, and the warp's first segment of it.
    #[inline(always)]
    fn segment(&self, tile: u32, warp: u32) -> (u32, u32) {
        let tiles = self.tiles.max(1);
        (tile / tiles, tile % tiles * ROWS + 16 * warp)
    }
}

/// Whether the samples begin at a multiple of 16 bytes.
#[inline(always)]
fn is_aligned(samples: Global<u32>) -> bool {
    // SAFETY: the address is not used.
    unsafe { samples.address(0).is_multiple_of(16) }
}

/// Where a warp's samples of a tile are.
#[derive(Clone, Copy)]
pub(crate) struct Source {
    pub(crate) samples: Global<u32>,
    /// Bit at which its first row begins.
    pub(crate) bit: u64,
    /// Pieces of 16 bytes from row to row.
    pub(crate) segment_pieces: u32,
    /// Blocks of a segment.
    pub(crate) blocks: u32,
}

/// Steps of a tile: sets are whole turns, and blocks of outputs are complete one turn after they begin.
#[inline(always)]
pub(crate) const fn steps(blocks: u32, sets: u32) -> u32 {
    (blocks + sets).next_multiple_of(sets)
}

/// Down-converts the tiles of a block of threads. `H`: accumulators of a thread, `P SETS`.
///
/// Traps if the views do not hold what the sizes say, or groups do not begin with pieces where they are `ALIGNED`.
///
/// # Safety
/// A block of [`threads`] threads, all of which call it.
#[inline(always)]
pub(crate) unsafe fn run<
    const BITS: u32,
    const P: usize,
    const SETS: usize,
    const H: usize,
    const STAGES: u32,
    const TERMS: u32,
    const ALIGNED: bool,
>(
    arguments: &Arguments,
) where
    [f32; H]: Product,
{
    const { assert!(H == P * SETS && STAGES == stages(P as u32)) };
    let shared = Shared::<[u32; 4]>::dynamic();
    if !arguments.fit::<BITS, P, SETS, TERMS, ALIGNED>(16 * shared.len()) {
        trap();
        return;
    }
    let pieces = table_pieces(P as u32, SETS as u32, arguments.groups, TERMS);
    let mut piece = tid_x();
    while piece < pieces {
        shared.store(piece as usize, arguments.table.load(piece as usize));
        piece += threads(P as u32, BITS, TERMS);
    }
    fence_proxy_async();
    bar_sync_0();

    let (warp, lane) = (tid_x() / 32, tid_x() % 32);
    let slots = shared.address(0) + 16 * pieces + warp * STAGES * slot_bytes(BITS);
    let warpgroups = warpgroups(P as u32, BITS, arguments.groups, TERMS);
    if warp / 4 >= warpgroups {
        return;
    }
    let group = ctaid_x().wrapping_mul(warpgroups).wrapping_add(warp / 4);
    let stride = nctaid_x().wrapping_mul(warpgroups).max(1);
    let mut tiles = Tiles::<BITS, P, H, STAGES, TERMS, ALIGNED> {
        loader: Loader::new(arguments, group, warp % 4, lane, [stride, SETS as u32]),
        decoder: Decoder::new(if arguments.little_endian == 0 { BIG_ENDIAN } else { LITTLE_ENDIAN_HALVES }),
        slots,
        slot: STAGES - 1,
        bit: 0,
        blocks: 0,
        sums: <[f32; H]>::zero(),
        table: Descriptor::new(shared.address(0), 16 * columns(P as u32, SETS as u32), 128, Swizzle::None),
        outputs: Outputs::new(arguments),
        rows: [Row { phase: 0, output: 0, input: 0 }; 2],
        held: false,
        lane,
    };
    unroll!(i in 0 1 2 {
        if (i as u32) < STAGES - 1 {
            tiles.loader.issue(arguments, slots + i as u32 * slot_bytes(BITS));
        }
    });
    let mut tile = group;
    while tile < arguments.all_tiles() {
        tiles.begin(arguments, tile, warp % 4);
        let steps = steps(tiles.blocks, SETS as u32);
        let mut step = 0;
        while step < steps {
            unroll!(turn in 0 1 2 3 4 {
                if turn < SETS {
                    tiles.block::<SETS>(arguments, step + turn as u32, turn);
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
    /// Number of the block's first output, modulo 2^32; of a row that is none it is none either.
    output: u32,
    /// Its input, or any number if it is none.
    input: u32,
}

/// Rows from a lane's first to its second one.
const APART: u32 = 8;

/// No output's number.
const NONE: u32 = 1 << 31;

/// What a group of warps keeps from tile to tile.
struct Tiles<const BITS: u32, const P: usize, const H: usize, const STAGES: u32, const TERMS: u32, const ALIGNED: bool>
{
    loader: Loader<BITS, ALIGNED>,
    decoder: Decoder<BITS, ALIGNED>,
    slots: u32,
    /// Slot that was used last.
    slot: u32,
    /// Bit, in a piece of 16 bytes, at which the block's samples begin.
    bit: u32,
    /// Blocks of the tile's segments.
    blocks: u32,
    sums: [f32; H],
    table: Descriptor,
    outputs: Outputs,
    /// The lane's rows, of which the second one is kept where there are registers for it.
    rows: [Row; 2],
    /// Whether the tile is of held samples.
    held: bool,
    lane: u32,
}

impl<const BITS: u32, const P: usize, const H: usize, const STAGES: u32, const TERMS: u32, const ALIGNED: bool>
    Tiles<BITS, P, H, STAGES, TERMS, ALIGNED>
where
    [f32; H]: Product,
{
    /// Turns to a tile.
    #[inline(always)]
    fn begin(&mut self, arguments: &Arguments, tile: u32, warp: u32) {
        let source = arguments.source(tile, warp);
        self.bit = if ALIGNED { 0 } else { source.bit as u32 % 128 };
        self.blocks = source.blocks;
        let held = arguments.held_tiles();
        self.held = tile < held;
        let row = self.lane / 4;
        // The input, and the row's first block, counted from the very first.
        let (input, block) = if self.held {
            (tile * ROWS + 16 * warp + row, 0)
        } else {
            let (input, segment) = arguments.segment(tile - held, warp);
            (input, arguments.held_blocks + (segment + row).wrapping_mul(arguments.blocks))
        };
        let blocks = (block as u64).wrapping_sub(arguments.held_blocks as u64);
        let output = block.wrapping_mul(P as u32).wrapping_sub(arguments.skip);
        self.rows[0] = Row {
            phase: arguments.phase.wrapping_add(arguments.turn.wrapping_mul(blocks)),
            output: if input < arguments.inputs { output } else { NONE },
            input,
        };
        self.rows[1] = self.second(arguments);
    }

    /// Whether the second row is kept.
    const KEPT: bool = P > 8;

    /// The second row: a later segment of the input, or of held samples another input.
    #[inline(always)]
    fn second(&self, arguments: &Arguments) -> Row {
        let Row { phase, output, input } = self.rows[0];
        if self.held {
            let input = input + APART;
            return Row { phase, output: if input < arguments.inputs { output } else { NONE }, input };
        }
        // Computed anew, so that it takes no registers meanwhile.
        let blocks = APART * opaque(arguments.blocks as i32) as u32;
        Row {
            phase: phase.wrapping_add(arguments.turn.wrapping_mul(blocks as u64)),
            output: output.wrapping_add(blocks.wrapping_mul(P as u32)),
            input,
        }
    }

    /// The pairs of the next group's samples of both rows, from bit `bit` of its pieces on.
    ///
    /// # Safety
    /// All lanes of the warp call it; a group was asked for that was not taken yet.
    #[inline(always)]
    unsafe fn samples(&mut self, arguments: &Arguments, bit: u32) -> [Pairs; 2] {
        if STAGES == 3 {
            cp_async_wait_group::<1>();
        } else {
            cp_async_wait_group::<2>();
        }
        bar_warp_sync(u32::MAX);
        // That which was used last is free.
        let free = self.slot;
        self.slot = if free == STAGES - 1 { 0 } else { free + 1 };
        self.loader.issue(arguments, self.slots + free * slot_bytes(BITS));
        let words = slot::<BITS>(self.slots, self.slot);
        let bit = bit + 16 * BITS * (self.lane % 4);
        let word = self.lane / 4 * 4 * pitch(BITS) + bit / 32;
        let above = self.decoder.decode(words, word, bit % 32);
        let below = self.decoder.decode(words, word + 32 * pitch(BITS), bit % 32);
        [above, below]
    }

    /// Multiplies a group's samples with the table from `b` on; the products are under way afterwards.
    ///
    /// # Safety
    /// All threads of the group of warps call it, and wait for the products before they use the sums.
    #[inline(always)]
    unsafe fn multiply<const SETS: usize>(&mut self, [above, below]: [Pairs; 2], b: Descriptor) {
        // Bytes of half a step.
        let half = 16 * columns(P as u32, SETS as u32);
        self.sums.hold();
        wgmma_fence();
        unroll!(i in 0 1 2 3 {
            let a = [above.high[2 * i], below.high[2 * i], above.high[2 * i + 1], below.high[2 * i + 1]];
            let step = b.advance(2 * TERMS * i as u32 * half);
            self.sums.add(a, step);
            if TERMS == 2 {
                self.sums.add(a, step.advance(2 * half));
            }
            if BITS == 16 {
                let a = [above.low[2 * i], below.low[2 * i], above.low[2 * i + 1], below.low[2 * i + 1]];
                self.sums.add(a, step);
            }
        });
        wgmma_commit_group();
    }

    /// Takes a block of samples in. The accumulators that were complete with the one before begin anew, and what they
    /// had is stored. `turn` is `step % SETS`.
    ///
    /// # Safety
    /// All threads of the group of warps call it.
    #[inline(always)]
    unsafe fn block<const SETS: usize>(&mut self, arguments: &Arguments, step: u32, turn: usize) {
        let group_bytes = 16 * table_pieces(P as u32, SETS as u32, 1, TERMS);
        let mut b = self.table.advance(((SETS - 1 - turn) * 2 * P * 16) as u32);
        let mut bit = self.bit;
        self.bit = if ALIGNED { 0 } else { (self.bit + arguments.block_bits) % 128 };
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
            if step - (SETS as u32) < self.blocks {
                self.store(arguments, &complete);
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
            bit = if ALIGNED { 0 } else { (bit + GROUP * BITS) % 128 };
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
    /// The row is the tile's.
    #[inline(always)]
    unsafe fn store(&mut self, arguments: &Arguments, complete: &[f32; P]) {
        unroll!(row in 0 1 {
            let kept = row == 0 || Self::KEPT;
            let Row { phase, output, input } = if kept { self.rows[row] } else { self.second(arguments) };
            let [cosine, sine] = unit_approx(phase);
            let mut values = [[0.0; 2]; 3];
            unroll!(i in 0 1 2 {
                if i < P / 4 {
                    let (re, im) = (complete[4 * i + 2 * row], complete[4 * i + 2 * row + 1]);
                    values[i] = [re * cosine - im * sine, re * sine + im * cosine];
                }
            });
            // As `tensor::output` says.
            let one = if P == 12 { 8 } else { 0 } + self.lane % 4;
            let numbers = [output.wrapping_add(self.lane % 4 * 2), output.wrapping_add(one)];
            self.outputs.store::<P>(arguments, input, numbers, values);
        });
    }
}
