//! Sums of squares of packed integers of 8 and 10 bits by products of matrices, sixteen numbers of a lane at a time.
//!
//! Two pairs of numbers of each lane are rows `X` and `Y` of 8 times 8 numbers: what `m16n8k8` takes as a left factor
//! `[X; Y]`, and, as the lanes of a right factor have its columns as those of a left one have their rows, as right
//! factors `X^T` and `Y^T`. Products with them have sums of squares on the diagonals of their upper and lower halves,
//! and what a run of sixteen adds to them, 32 squares of up to 2^18, are whole numbers that f32 has.
//!
//! `|x + 1/2|` is `2^(B - 1) - 1/2` at both ends of the range and at least 1 less elsewhere, so an addition that
//! saturates makes 1 of the one and 0 of the other; a product with ones counts them.

use fringes_device::convert::cvt_rni_s32_f32;
use fringes_device::half2::{abs_f16x2, add_rn_f16x2, add_rn_sat_f16x2, max_f16x2};
use fringes_device::index::tid_x;
use fringes_device::mma::{mma_m16n8k8_f32_f16, mma_m16n8k16_f32_f16};
use fringes_device::unroll;
use fringes_kernels_common::decode::sixteen::{MOST_WORDS, Sixteen};

use crate::stretch::{Numbers, Runs, Share, Total};

/// Runs of a lane whose counts f32 has, as 32 numbers of a run are in a row's count.
pub const MOST_RUNS: u64 = 1 << 18;
/// Runs of all lanes whose words have numbers of 32 bits.
pub const MOST_OF_ALL: u64 = 1 << 28;

/// Adds integers in runs of sixteen: a thread's are the one of its number, and those `share.of` further on.
///
/// # Safety
/// - The words are there, and no more runs than [`MOST_RUNS`] and [`MOST_OF_ALL`] say.
/// - `BITS` is the numbers', 8 or 10; all lanes of a warp are here.
#[inline(always)]
pub unsafe fn add<const BITS: u32>(numbers: &Numbers, runs: Runs, share: Share, total: Total<u64>) -> Total<u64> {
    let Numbers { samples, parts, .. } = *numbers;
    let sixteen = Sixteen::<BITS, true>::constants();
    let words = Sixteen::<BITS, true>::WORDS;
    let (row, column) = (tid_x() % 32 / 4, tid_x() % 4 * 2);
    // Lanes of which one sum of each product is on the diagonal: the second one or the first.
    let (second, diagonal) = (row % 2 == 1, row / 2 * 2 == column);
    let half = |bits: u32| bits * 0x1_0001;
    // 2^(B - 1) - 3/2, negative, and 1/2, and 1.
    let least = half(0x8000 | (BITS + 13) << 10 | (1024 - (1536 >> (BITS - 2))));
    let (middle, ones) = (half(0x3800), half(0x3c00));
    let end = |pair| add_rn_sat_f16x2(abs_f16x2(add_rn_f16x2(pair, middle)), least);
    let add_run = |(sum, mut counts): (u64, [f32; 4]), raw: [u32; MOST_WORDS]| {
        let pairs = sixteen.pairs(raw).high;
        let (mut upper, mut lower) = ([0.0f32; 4], [0.0f32; 4]);
        let mut ends = [0; 8];
        unroll!(two in 0 1 2 3 {
            let [x, y] = [pairs[2 * two], pairs[2 * two + 1]];
            // SAFETY: all lanes are here.
            upper = unsafe { mma_m16n8k8_f32_f16([x, y], [x], upper) };
            // SAFETY: as before.
            lower = unsafe { mma_m16n8k8_f32_f16([x, y], [y], lower) };
            ends[2 * two] = end(x);
            ends[2 * two + 1] = end(y);
        });
        if parts == 2 {
            // Either part of a sample.
            unroll!(two in 0 1 2 3 {
                ends[2 * two] = max_f16x2(ends[2 * two], ends[2 * two + 1]);
                ends[2 * two + 1] = 0;
            });
        }
        unroll!(four in 0 1 {
            let of = [ends[4 * four], ends[4 * four + 1], ends[4 * four + 2], ends[4 * four + 3]];
            // SAFETY: as before.
            counts = unsafe { mma_m16n8k16_f32_f16(of, [ones, ones], counts) };
        });
        // Lanes that are not on the diagonal have anything.
        let of_rows = if second { upper[1] + lower[3] } else { upper[0] + lower[2] };
        (sum.wrapping_add(cvt_rni_s32_f32(of_rows) as u64), counts)
    };
    let (step, count) = (share.of as u32, runs.count as u32);
    // A run, or the last one of all.
    let load = |run: u32| {
        let run = if run < count { run } else { count - 1 };
        let mut raw = [0; MOST_WORDS];
        unroll!(k in 0 1 2 3 4 {
            if k < words {
                // SAFETY: the words are there.
                raw[k] = unsafe { samples.load(runs.first_word as usize + run as usize * words + k) };
            }
        });
        raw
    };
    let mut run = share.index as u32;
    let mut totals = (total.sum, [0.0f32; 4]);
    // Warps have 32 runs from a multiple of 32 on. Words of two are on their way while those before are looked at.
    if run & !31 < count {
        let (mut raw, mut next) = (load(run), load(run + step));
        // All lanes have both.
        while (run + step) | 31 < count {
            totals = add_run(totals, raw);
            raw = load(run + 2 * step);
            totals = add_run(totals, next);
            next = load(run + 3 * step);
            run += 2 * step;
        }
        // Some have one, others zeros.
        while run & !31 < count {
            if run >= count {
                raw = [0; MOST_WORDS];
            }
            totals = add_run(totals, raw);
            raw = next;
            run += step;
        }
    }
    let (sum, counts) = totals;
    // All columns have the same counts.
    let counted = if column == 0 { cvt_rni_s32_f32(counts[0] + counts[2]) as u64 } else { 0 };
    Total { sum: if diagonal { sum } else { total.sum }, clipped: total.clipped + counted }
}
