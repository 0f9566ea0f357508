//! The first pass: the filter, and the transform over the first digit of the points.
//!
//! A block has a group of two jobs and a strip of [`STRIP`] points `n2`, or of [`WIDE_STRIP`] where numbers are kept as
//! f32 and not as f16.

use super::{JOBS, SPECTRA};

/// Threads of a block.
pub const THREADS: u32 = 256;

/// Points `n2` of a block.
pub const STRIP: u32 = 16;

/// Points `n2` of a block that keeps numbers as f32: half as many, so that they take as much memory.
pub const WIDE_STRIP: u32 = STRIP / 2;

/// Columns of samples that are decoded together.
pub const GROUP: u32 = 8;

/// Pieces of 16 bytes, eight rows, of a column, for up to `16 m` taps.
#[inline(always)]
pub const fn pieces(m: u32) -> u32 {
    (SPECTRA + 16 * m) / 8
}

/// Pieces from one group of columns to the next: one more than they have, so that eight lanes meet different banks.
#[inline(always)]
pub const fn group_pieces(m: u32) -> u32 {
    GROUP * pieces(m) + 1
}

/// Pieces from job to job, for `radix` points of the transform.
#[inline(always)]
pub const fn job_pieces(m: u32, radix: u32) -> u32 {
    2 * STRIP * radix / GROUP * group_pieces(m) + 1
}

/// Bytes of shared memory of a block, for up to `16 m` taps and `radix` points.
#[inline(always)]
pub const fn shared_bytes(m: u32, radix: u32) -> u32 {
    JOBS * 16 * job_pieces(m, radix)
}

/// Blocks of a group, of rows of `rows` points.
#[inline(always)]
pub const fn strips(rows: u32) -> u32 {
    rows / STRIP
}

/// Blocks of a group that keep numbers as f32.
#[inline(always)]
pub const fn wide_strips(rows: u32) -> u32 {
    rows / WIDE_STRIP
}
