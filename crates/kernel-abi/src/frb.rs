//! FRB beams: the shape of a block, and where it keeps what in shared memory.
//!
//! | shared memory, in words | what |
//! |---|---|
//! | `slots` rows of [`row_words`] | voltages of a chosen output of the transform at all times of a block, complex f16 |
//! | `beams` rows of [`sum_row_words`] | sums of powers of a beam, f32 |

/// Warps of a block.
pub const WARPS: u32 = 12;

/// Beams that a warp transforms over time together.
pub const BEAMS: u32 = 2;

/// Mark of an output of the transform that no beam takes.
pub const UNUSED: u32 = 0xffff;

/// Words of the voltages of an output of the transform at `times` times, of which `at_once` are stored at once: so many
/// more that neighbouring outputs lie in other banks.
#[inline(always)]
pub const fn row_words(times: u32, at_once: u32) -> u32 {
    times + at_once
}

/// Words of the sums of a beam of so many fine channels: odd, so that neighbouring beams lie in other banks.
#[inline(always)]
pub const fn sum_row_words(fine: u32) -> u32 {
    fine | 1
}

/// Bytes of rows and sums, rounded up to a multiple of 128: `slots` rows of `row` words, and beams of so many fine
/// channels.
#[inline(always)]
pub const fn row_bytes(slots: u32, row: u32, beams: u32, fine: u32) -> u32 {
    (4 * (slots * row + beams * sum_row_words(fine)) + 127) & !127
}
