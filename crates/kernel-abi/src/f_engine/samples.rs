//! Kernels on samples as they come: rows of bits put behind rows of bits, statistics.

/// Threads of a block.
pub const THREADS: u32 = 256;

/// Warps of a block.
pub const WARPS: u32 = THREADS / 32;

/// Words of 32 bits that a thread of `append` writes.
pub const APPEND_WORDS: u32 = 4;

/// Words that a block of `append` writes.
pub const APPEND_TILE: u32 = APPEND_WORDS * THREADS;

/// Numbers of a span of `append`: first bit in the source, first bit in the target, bits.
pub const SPAN: usize = 3;

/// Most samples of an input of which there are statistics.
pub const MOST_TIMES: u32 = 1 << 30;
