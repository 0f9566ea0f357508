//! The second pass on tensor cores: two products of matrices, with the points between them in shared memory.
//!
//! A block has two rows of `rows` points of some slots of a group. Numbers are `terms` f16 each: one where that is
//! precise enough, else two.

use super::{JOBS, SPECTRA};

/// Threads of a block.
pub const THREADS: u32 = 256;

/// Points of the first digit.
pub const DIGIT: u32 = 16;

/// Pairs of places of the first digit that are transformed together, mirror images of each other: of two rows.
pub const TASKS: u32 = DIGIT;

/// Slots that a warp takes at a time.
pub const SPAN: u32 = 32;

/// Fragments of the matrix of the first digit: 32 by 32 numbers, 16 by 16 to a fragment.
pub const FIRST: u32 = 4;

/// Pieces of 16 bytes of a fragment: one a lane.
pub const FRAGMENT: u32 = 32;

/// Points of the last digit: 4, 8 or 16.
#[inline(always)]
pub const fn last(rows: u32) -> u32 {
    rows / DIGIT
}

/// Fragments of a side of a matrix of the last digit, that of a task.
#[inline(always)]
pub const fn side(rows: u32) -> u32 {
    last(rows) / 4
}

/// Slots of a block: points of 64 KiB, or of a span.
#[inline(always)]
pub const fn slots(rows: u32, terms: u32) -> u32 {
    let most = (8 << 10) / (rows * terms);
    if most > JOBS * SPECTRA {
        JOBS * SPECTRA
    } else if most < SPAN {
        SPAN
    } else {
        most
    }
}

/// Blocks of a group.
#[inline(always)]
pub const fn blocks(rows: u32, radix: u32, terms: u32) -> u32 {
    JOBS * SPECTRA / slots(rows, terms) * (radix / 2)
}

/// Bytes of the points of a block.
#[inline(always)]
pub const fn point_bytes(rows: u32, terms: u32) -> u32 {
    2 * rows * slots(rows, terms) * 4 * terms
}

/// Bytes of shared memory of a block: points; of a slot eight of its key and eight of its place, of four slots of a job
/// sixteen of their phase; of a channel 48 of its factors and four of its number;
/// of a job 16.
#[inline(always)]
pub const fn shared_bytes(rows: u32, terms: u32) -> u32 {
    point_bytes(rows, terms) + slots(rows, terms) * (8 + 8 + 4) + 2 * rows * (48 + 4) + 2 * 16
}

/// Pieces of 16 bytes of a group of `channels` channels in the workspace.
#[inline(always)]
pub const fn workspace_pieces(channels: u32, terms: u32) -> u32 {
    channels * (JOBS * SPECTRA / 4) * terms
}

/// Pieces of the matrices of the first digit, `[k1][fragment][term][lane]`.
#[inline(always)]
pub const fn first_pieces(radix: u32, terms: u32) -> u32 {
    radix * FIRST * terms * FRAGMENT
}

/// Items of a block of the pass between the two: points of a span of slots.
pub const MIDDLE_ITEMS: u32 = 8;

/// Pieces of the matrices of a digit of 8 or 16 points between the passes, `[k1][fragment][term][lane]`.
#[inline(always)]
pub const fn middle_pieces(radix: u32, digit: u32, terms: u32) -> u32 {
    radix * (digit / 8) * (digit / 8) * terms * FRAGMENT
}

/// Blocks of that pass of a group, of rows of `rows` points after it.
#[inline(always)]
pub const fn middle_blocks(rows: u32) -> u32 {
    rows * (JOBS * SPECTRA / SPAN) / MIDDLE_ITEMS
}

/// Pieces of those of the last digit, `[pair of rows][task][row of fragments][column][term][lane]`.
#[inline(always)]
pub const fn second_pieces(rows: u32, radix: u32, terms: u32) -> u32 {
    radix / 2 * TASKS * side(rows) * side(rows) * terms * FRAGMENT
}

/// The points of a task, rows of the pair and places of the first digit: low and high.
///
/// Channel `N - k` of a channel `k` of row `k1` is of row `R - k1`, and its place of the first digit is `15 - c`. Rows
/// 0 and `R / 2`, which go together (`own`), are their own mirror images, as are places 0 and 8 of row 0, which are a
/// task though neither needs the other.
#[inline(always)]
pub const fn task(own: bool, task: u32) -> [(u32, u32); 2] {
    let half = task / 8;
    if !own {
        [(0, task), (1, 15 - task)]
    } else {
        [(half, task % 8), (half, if task == 0 { 8 } else { 16 - task % 8 - half })]
    }
}

/// Rows of a pair.
#[inline(always)]
pub const fn rows_of(radix: u32, pair: u32) -> [u32; 2] {
    [pair, if pair == 0 { radix / 2 } else { radix - pair }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_have_every_place_of_both_rows_once() {
        for own in [false, true] {
            let mut seen = [[0; 16]; 2];
            for index in 0..TASKS {
                for (row, place) in task(own, index) {
                    seen[row as usize][place as usize] += 1;
                }
            }
            assert_eq!(seen, [[1; 16]; 2]);
        }
    }

    #[test]
    fn blocks_have_64_kib_or_a_span() {
        assert_eq!([64, 128, 256].map(|rows| slots(rows, 1)), [128, 64, 32]);
        assert_eq!([64, 128, 256].map(|rows| slots(rows, 2)), [64, 32, 32]);
        assert_eq!([64, 128, 256].map(|rows| point_bytes(rows, 2)), [64 << 10, 64 << 10, 128 << 10]);
        assert_eq!((blocks(128, 8, 1), shared_bytes(128, 1)), (8, (77 << 10) + 1280 + 32));
    }
}
