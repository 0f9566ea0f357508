#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! Kernels on samples as they come, before the filter bank.
//!
//! | kernel | what | module |
//! |---|---|---|
//! | `make_jobs` | jobs of a launch, made of runs that the host says; spans of rows on their way to the device | [`jobs`] |
//! | `begin` | what a chunk asks for before its spectra: rows of bits, counts | [`chunk`], [`rows`] |
//! | `statistics_integers`, `statistics_floats` | power and clipped samples of each input | [`statistics`] |
//! | `sums_integers`, `sums_floats` | the same of stretches of samples, added to sums of a run | [`sums`] |

pub mod chunk;
pub mod jobs;
pub mod rows;
pub mod sixteen;
pub mod squares;
pub mod statistics;
pub mod stretch;
pub mod sums;
pub mod whole;

use fringes_device::control::trap;
use fringes_device::{Global, GlobalMut};

use chunk::Begin;
use jobs::{Runs, Sizes};
use rows::Append;
use statistics::{Floats, Integers, Source, Statistics};
use sums::Sums;

pub use fringes_kernel_abi::f_engine::samples::THREADS;

/// Runs what fits, and traps where it does not.
macro_rules! statistics {
    ($source:ty, $samples:ident, $present:ident, $out:ident, $inputs:ident, $row_bits:ident, $times:ident, $bits:ident, $parts:ident, $little_endian:ident, $length:ident, $blocks:ident, $slices:ident) => {{
        let statistics = Statistics {
            samples: $samples,
            present: $present,
            out: $out,
            inputs: $inputs,
            row_bits: $row_bits,
            times: $times,
            bits: $bits,
            parts: $parts,
            little_endian: $little_endian != 0,
            length: $length,
            blocks: $blocks,
            slices: $slices,
        };
        if statistics.fit::<$source>() {
            // SAFETY: the views hold what the sizes say.
            unsafe { statistics.run::<$source>() }
        } else {
            trap()
        }
    }};
}

/// Runs what fits, and traps where it does not.
#[inline(always)]
fn sums<I: Source>(sums: Sums) {
    if sums.fit::<I>() {
        // SAFETY: the views hold what the sizes say.
        unsafe { sums.run::<I>() }
    } else {
        trap()
    }
}

fringes_device::kernel! {
    /// Puts `spans[row][1]` bits of `held`, from bit `spans[row][0]` on, and behind them `spans[row][3]` bits of
    /// `chunk`, from bit `spans[row][2]` on, to bit `spans[row][4]` of `held`, or of `next` if `spans[row][5]` is not
    /// 0, for each row ([`rows`]). `spans` may have more behind them. `counts` become zeros.
    #[launch(threads(256))]
    pub fn begin(chunk: Global<u32>, held: GlobalMut<u32>, next: GlobalMut<u32>, spans: Global<[u32; 4]>, rows: u32, tiles: u32, counts: GlobalMut<u32>) {
        // SAFETY: what spans say is checked against the views.
        unsafe { Begin { append: Append { chunk, held, next, spans, rows, tiles }, counts }.run() }
    }

    /// Copies `copied` pieces of `tables` to `out`, and makes the jobs of the `runs` runs behind them. Other arguments
    /// are those of [`Runs`] and [`Sizes`].
    #[launch(threads(256))]
    pub fn make_jobs(tables: Global<[u32; 4]>, out: GlobalMut<[u32; 4]>, copied: u32, runs: u32, parts: u32, frame: u32, most: u32, block: u32, spectrum_bits: u64, period: u32, period_stride: u64, turns: u32, inputs: u32) {
        let sizes = Sizes { frame, most, block, spectrum_bits, period, period_stride, turns, inputs };
        Runs { tables, out, copied, runs, parts, sizes }.run()
    }

    /// Statistics of integers. Arguments are those of [`Statistics`].
    #[launch(threads(256), min_blocks(3))]
    pub fn statistics_integers(samples: Global<u32>, present: Global<u8>, out: GlobalMut<u64>, inputs: u32, row_bits: u64, times: u32, bits: u32, parts: u32, little_endian: u32, length: u32, blocks: u32, slices: u32) {
        statistics!(Integers, samples, present, out, inputs, row_bits, times, bits, parts, little_endian, length, blocks, slices)
    }

    /// Statistics of f16 and f32. Arguments are those of [`Statistics`].
    #[launch(threads(256))]
    pub fn statistics_floats(samples: Global<u32>, present: Global<u8>, out: GlobalMut<u64>, inputs: u32, row_bits: u64, times: u32, bits: u32, parts: u32, little_endian: u32, length: u32, blocks: u32, slices: u32) {
        statistics!(Floats, samples, present, out, inputs, row_bits, times, bits, parts, little_endian, length, blocks, slices)
    }

    /// Sums of integers. Arguments are those of [`Sums`].
    #[launch(threads(256), min_blocks(3))]
    pub fn sums_integers(samples: Global<u32>, stretches: Global<[u64; 2]>, ends: Global<u32>, out: GlobalMut<u64>, inputs: u32, slices: u32, bits: u32, parts: u32, little_endian: u32) {
        sums::<Integers>(Sums { samples, stretches, ends, out, inputs, slices, bits, parts, little_endian: little_endian != 0 })
    }

    /// Sums of f16 and f32. Arguments are those of [`Sums`].
    #[launch(threads(256))]
    pub fn sums_floats(samples: Global<u32>, stretches: Global<[u64; 2]>, ends: Global<u32>, out: GlobalMut<u64>, inputs: u32, slices: u32, bits: u32, parts: u32, little_endian: u32) {
        sums::<Floats>(Sums { samples, stretches, ends, out, inputs, slices, bits, parts, little_endian: little_endian != 0 })
    }
}
