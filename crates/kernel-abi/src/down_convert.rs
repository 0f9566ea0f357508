//! Down-conversion: blocks of the kernels.
//!
//! Both kernels take windows of packed samples at any bit, and phases in 64 bits: `x / 2^64` turns.

/// The kernel of FP32 products, of any format, taps and decimation: a warp has [`general::OUTPUTS`] outputs at a time.
pub mod general {
    /// Threads of a block.
    pub const THREADS: u32 = 256;

    /// Outputs that a warp has at a time, and that share what it loads of the weights.
    pub const OUTPUTS: u32 = 4;

    /// Outputs of a block.
    pub const BLOCK_OUTPUTS: u32 = THREADS / 32 * OUTPUTS;
}

/// The kernel of products of matrices of every compute capability from 8.0 on (`mma.sync`), of real packed samples:
/// segments, groups and blocks of outputs are as in [`tensor`]; a warp has tiles of its own.
pub mod mma {
    pub use super::tensor::{GROUP, SHAPES, groups, output, pieces, pitch, sample, sets};

    /// Blocks of outputs that segments are a multiple of, so that all rows begin at the same bit of 16 bytes.
    pub const SEGMENT_BLOCKS: u32 = 16;

    /// Threads of a block.
    pub const THREADS: u32 = 256;

    /// Segments of a tile, which is one warp's: two times 16 rows, which share what is loaded of the weights.
    pub const ROWS: u32 = 32;

    /// Bits of samples that there are kernels for.
    pub const BITS: [u32; 5] = [4, 8, 10, 12, 16];

    /// Whether there is a kernel of blocks of so many outputs: with two terms a sample, 12 take too many registers.
    #[inline(always)]
    pub const fn has_kernel(outputs: u32, bits: u32) -> bool {
        outputs <= 8 || bits <= 12
    }

    /// Places for groups of samples of each warp: those of the first number where they fit shared memory.
    pub const STAGES: [u32; 2] = [3, 2];

    /// Tiles of 8 columns of the table of weights.
    #[inline(always)]
    pub const fn column_tiles(outputs: u32, sets: u32) -> u32 {
        outputs * sets / 4
    }

    /// Pieces of 16 bytes of the table of weights: `[group][tile of columns][low, high][half of a group][lane]`.
    ///
    /// A piece has what a lane holds of two `B`: `8 f16`, two of each half of each of two steps.
    #[inline(always)]
    pub const fn table_pieces(outputs: u32, sets: u32, groups: u32) -> u32 {
        groups * 128 * column_tiles(outputs, sets)
    }

    /// Set of weights of a tile of columns: the last set first, whose sums are the oldest.
    #[inline(always)]
    pub const fn set(outputs: u32, sets: u32, tile: u32) -> u32 {
        sets - 1 - tile / (outputs / 4)
    }

    /// Step of a group, and element of the sum in it, of f16 `half` of word `word` of lane `lane`'s piece of a half of
    /// a group.
    #[inline(always)]
    pub const fn place(half_group: u32, lane: u32, word: u32, half: u32) -> (u32, u32) {
        (2 * half_group + word / 2, 8 * (word % 2) + 2 * (lane % 4) + half)
    }

    /// Bytes of shared memory of a block.
    #[inline(always)]
    pub const fn shared_bytes(outputs: u32, sets: u32, groups: u32, bits: u32, stages: u32) -> u32 {
        16 * (table_pieces(outputs, sets, groups) + THREADS / 32 * stages * ROWS * pitch(bits))
    }

    /// What sums of the decoded samples are to be multiplied by, as those of 16 bits are a 64th of their value.
    #[inline(always)]
    pub const fn sample_scale(bits: u32) -> f32 {
        if bits > 12 { 64.0 } else { 1.0 }
    }
}

/// The kernel of products of matrices (`wgmma`, compute capability 9.0), of real packed samples: a *segment* of the
/// stream is a row of a product, 64 of them a tile. Outputs come in blocks of `P`, which a row meets one after another.
pub mod tensor {
    /// Groups of four warps of a block of threads that have tiles, each of its own. Of weights of two `terms` they are
    /// as many as the registers of a thread allow, of which samples of 16 bits need more. Where a block of four outputs
    /// has four `groups` of samples or more, fewer are better: their segments are longer, and tiles read five blocks
    /// beyond them.
    #[inline(always)]
    pub const fn warpgroups(outputs: u32, bits: u32, groups: u32, terms: u32) -> u32 {
        match outputs {
            _ if terms == 1 => 2,
            0..8 if bits < 16 && groups < 4 => 4,
            8 if bits < 16 => 4,
            0..=8 => 3,
            _ => 2,
        }
    }

    /// Threads of a block: those of the most groups of warps.
    #[inline(always)]
    pub const fn threads(outputs: u32, bits: u32, terms: u32) -> u32 {
        128 * warpgroups(outputs, bits, 1, terms)
    }

    /// Blocks of a multiprocessor at a time that the registers of a thread are for.
    #[inline(always)]
    pub const fn blocks_together(terms: u32) -> u32 {
        3 - terms
    }

    /// Outputs of a block and bits of samples of which there are kernels with weights of one f16.
    #[inline(always)]
    pub const fn has_half(outputs: u32, bits: u32) -> bool {
        outputs <= 8 && matches!(bits, 8 | 10 | 12)
    }

    /// Segments of a tile.
    pub const ROWS: u32 = 64;

    /// Samples that are decoded and multiplied together: four steps of 16.
    pub const GROUP: u32 = 64;

    /// Places for groups of samples that are on their way, of each warp: fewer where tables are large.
    #[inline(always)]
    pub const fn stages(outputs: u32) -> u32 {
        if outputs < 8 { 3 } else { 4 }
    }

    /// Blocks of outputs that segments are a multiple of, so that all rows begin at the same bit of 16 bytes.
    #[inline(always)]
    pub const fn segment_blocks(block_bits: u32) -> u32 {
        let twos = block_bits.trailing_zeros();
        if twos >= 7 { 1 } else { 128 >> twos }
    }

    /// Formats of outputs, complex numbers all: f32,
    pub const F32: u32 = 0;
    /// f16,
    pub const F16: u32 = 1;
    /// i16 within +-32767,
    pub const I16: u32 = 2;
    /// and i8 within +-127.
    pub const I8: u32 = 3;

    /// Bytes of an output.
    #[inline(always)]
    pub const fn output_bytes(format: u32) -> u32 {
        match format {
            F32 => 8,
            I8 => 2,
            _ => 4,
        }
    }

    /// Largest magnitude of an output's parts.
    #[inline(always)]
    pub const fn output_limit(format: u32) -> f32 {
        match format {
            F16 => 65504.0,
            I16 => 32767.0,
            I8 => 127.0,
            _ => f32::INFINITY,
        }
    }

    /// Most shared memory of a block: that of compute capability 9.0.
    pub const MOST_SHARED_BYTES: u32 = 232_448;

    /// Bits of samples that there are kernels for.
    pub const BITS: [u32; 5] = [4, 8, 10, 12, 16];

    /// Outputs of a block and sets of weights of the kernels: a block meets as many sets as its samples have blocks
    /// that they belong to.
    pub const SHAPES: [(u32, u32); 4] = [(8, 2), (8, 3), (4, 5), (12, 4)];

    /// Sets that a block of `outputs` outputs needs for `taps` taps.
    #[inline(always)]
    pub const fn sets(outputs: u32, taps: u32, decimation: u32) -> u32 {
        (taps + (outputs - 1) * decimation).div_ceil(outputs * decimation)
    }

    /// Groups of samples of a block.
    #[inline(always)]
    pub const fn groups(outputs: u32, decimation: u32) -> u32 {
        (outputs * decimation).div_ceil(GROUP)
    }

    /// Columns of the table of weights: the sets but the first, all of them, in the order in which they turn.
    #[inline(always)]
    pub const fn columns(outputs: u32, sets: u32) -> u32 {
        (2 * sets - 1) * 2 * outputs
    }

    /// Pieces of 16 bytes of the table of weights of one or two `terms`, high and low:
    /// `[group][step][term][half of a step][column]`, 8 f16 each.
    #[inline(always)]
    pub const fn table_pieces(outputs: u32, sets: u32, groups: u32, terms: u32) -> u32 {
        groups * 8 * terms * columns(outputs, sets)
    }

    /// Pieces of 16 bytes that hold a group's samples of `bits` bits, wherever in a piece they begin.
    #[inline(always)]
    pub const fn pieces(bits: u32) -> u32 {
        // The last lane's first word, at most, its words, and one more, as they may begin anywhere in a word.
        ((127 + 48 * bits) / 32 + bits.div_ceil(2) + 1).div_ceil(4)
    }

    /// Those where groups begin with a piece.
    #[inline(always)]
    pub const fn aligned_pieces(bits: u32) -> u32 {
        GROUP * bits / PIECE_BITS
    }

    /// Bits of a piece.
    pub const PIECE_BITS: u32 = 128;

    /// Outputs of a block and bits of samples of which there are kernels for groups that begin with pieces beside those
    /// for any.
    #[inline(always)]
    pub const fn has_aligned(outputs: u32, bits: u32) -> bool {
        outputs == 8 && bits < 16
    }

    /// Pieces from row to row in shared memory: odd, so that rows lie in different banks.
    #[inline(always)]
    pub const fn pitch(bits: u32) -> u32 {
        pieces(bits) | 1
    }

    /// Bytes of shared memory of a block.
    #[inline(always)]
    pub const fn shared_bytes(outputs: u32, sets: u32, groups: u32, bits: u32, terms: u32) -> u32 {
        let warps = 4 * warpgroups(outputs, bits, groups, terms);
        16 * (table_pieces(outputs, sets, groups, terms) + warps * stages(outputs) * 16 * pitch(bits))
    }

    /// Sample of a lane's 16 that is element `half` of register `register` of eight.
    #[inline(always)]
    pub const fn sample_of_register(register: u32, half: u32) -> u32 {
        register + 8 * half
    }

    /// Sample of a group that is element `k` of a step of 16: lane `k % 8 / 2` has 16 neighbouring samples.
    #[inline(always)]
    pub const fn sample(step: u32, k: u32) -> u32 {
        16 * (k % 8 / 2) + sample_of_register(2 * step + k / 8, k % 2)
    }

    /// Output of a block, and part of it (0 real, 1 imaginary), that a column of a set is: lane `t` of four, which has
    /// columns `2 t` of every eight, has both parts of outputs `2 t` and `2 t + 1` of the first eight and of one of the
    /// four behind them, or of four in all. So four lanes store whole sectors at once.
    #[inline(always)]
    pub const fn output(outputs: u32, column: u32) -> (u32, u32) {
        let (t, tile) = (column % 8 / 2, column / 8);
        (if outputs >= 8 && tile < 2 { 2 * t + tile } else { outputs - 4 + t }, column % 2)
    }

    /// Set of weights that column block `block` of the table has.
    #[inline(always)]
    pub const fn set(sets: u32, block: u32) -> u32 {
        (2 * sets - 1 - block) % sets
    }
}
