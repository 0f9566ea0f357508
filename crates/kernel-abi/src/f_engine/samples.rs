//! Kernels on samples as they come: rows of bits put behind rows of bits, statistics.

/// Threads of a block.
pub const THREADS: u32 = 256;

/// Warps of a block.
pub const WARPS: u32 = THREADS / 32;

/// Words of 32 bits that a thread of `begin` writes.
pub const APPEND_WORDS: u32 = 4;

/// Words that a block of `begin` writes.
pub const APPEND_TILE: u32 = APPEND_WORDS * THREADS;

/// Pieces of 16 bytes of a span.
pub const SPAN_PIECES: usize = SPAN / 2;

/// Numbers of a span of `begin`, 64 bits each: first bit and bits of what is held, first bit and bits of what comes
/// behind it from the chunk, first bit in the target (of a word), and whether the target is the rows of the next chunk.
pub const SPAN: usize = 6;

/// Most samples of an input of which there are statistics.
pub const MOST_TIMES: u32 = 1 << 30;
