//! What the kernels get, whether it fits together, and which samples a warp is at.

use fringes_device::{Global, GlobalMut};

use crate::epilogue::Output;
use crate::mma::{ROWS, SEGMENT_BLOCKS, shared_bytes, table_pieces};

/// Most groups of a block: of more, no table fits shared memory.
pub(crate) const MOST_GROUPS: u32 = 1 << 10;

/// Everything that the kernels get.
#[derive(Clone, Copy)]
pub(crate) struct Arguments<T: Output> {
    /// Packed samples, from a multiple of 16 bytes on.
    pub samples: Global<u32>,
    /// Weights, as `fringes_kernel_abi::down_convert::mma` has them.
    pub table: Global<[u32; 4]>,
    /// Outputs `[input][out_row]`.
    pub out: GlobalMut<T>,
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
    /// What sums are multiplied by: a power of two.
    pub scale: f32,
}

impl<T: Output> Arguments<T> {
    /// Whether the sizes are those that the kernel takes, and the views hold them; `shared` in bytes, with `stages`
    /// places for samples a warp.
    #[inline(always)]
    pub(crate) fn fit<const BITS: u32, const P: usize, const SETS: usize>(&self, shared: usize, stages: u32) -> bool {
        let Self { samples, table, out, out_row, outputs, skip, inputs, tiles, blocks, groups, block_bits, .. } = *self;
        let most = 1u64 << 30;
        let table_len = table_pieces(P as u32, SETS as u32, 1) as u64 * groups as u64;
        groups > 0
            && groups <= MOST_GROUPS
            && table_len <= table.len() as u64
            && shared as u64 >= shared_bytes(P as u32, SETS as u32, groups, BITS, stages) as u64
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
            && (block_bits as u64).saturating_mul(blocks as u64) < most / ROWS as u64 * 128
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
    /// Tiles to the next one of the same warp.
    pub(crate) stride: u32,
}

impl Position {
    /// Segment, of its input, of the tile's first row.
    #[inline(always)]
    pub(crate) fn segment<T: Output>(&self, arguments: &Arguments<T>) -> u32 {
        (self.tile % arguments.tiles.max(1)) * ROWS
    }

    /// Bit at which the first row of the tile begins.
    #[inline(always)]
    pub(crate) fn bit<T: Output>(&self, arguments: &Arguments<T>) -> u64 {
        let input = self.tile / arguments.tiles.max(1);
        let segment = self.segment(arguments) as u64;
        arguments
            .first_bit
            .wrapping_add((input as u64).wrapping_mul(arguments.row_bits))
            .wrapping_add(segment.wrapping_mul(arguments.segment_pieces() as u64 * 128))
    }
}
