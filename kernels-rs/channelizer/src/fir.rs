//! The polyphase filter: `z[s][p] = sum_t w[t][p] x[(s + t) step + p]`, for the spectra of a job into shared memory.
//!
//! A thread takes eight neighbouring columns `p` for `S` spectra that follow each other. Of each column it keeps `S` sums and the last
//! `S` weights; row `u` of samples belongs to tap `u - s` of spectrum `s`:
//!
//! ```text
//!              tap of spectrum 0   1   2   3   4   5        S = 6, 16 taps
//! row  0                       0
//! row  1                       1   0
//! row  5                       5   4   3   2   1   0
//! row 15                      15  14  13  12  11  10
//! row 20                                          15
//! ```
//!
//! So a weight is loaded once for `S` spectra and a sample is decoded `(S + taps - 1) / S` times.
//!
//! # Precision
//! Samples come as `1.5 + x / 2^B` ([`crate::decode`]), weights as `2^B w`; a sum begins with `-1.5 2^B sum_t w[t][p]`, rounded once. With
//! `u = 2^-24` and `W = sum_t |w[t][p]|`, `|dz| <= u (taps + 3) 2 2^B W`, where the full scale of `z` is `2^(B-1) W`.

use fringes_device::fused::fma;
use fringes_device::{Global, Shared, unroll};

use crate::decode::{GROUP, Packed};

/// Columns of a thread.
pub const COLUMNS: u32 = GROUP as u32;

/// Place of 16 bytes, two points, of a spectrum in shared memory: points `16 row + 2 chunk` and the next. Rows of 128 bytes whose pieces are
/// exchanged, so that eight lanes that access the same piece of eight rows, or eight pieces of a row, meet no bank twice.
#[inline(always)]
pub const fn place(row: u32, chunk: u32) -> u32 {
    row * 8 + (chunk ^ (row & 7))
}

/// What the filter reads.
#[derive(Clone, Copy)]
pub struct Filter {
    /// Packed samples, and at least one word after them.
    pub samples: Global<u32>,
    /// Weights `[tap][column]`, `2^B` times.
    pub weights: Global<[f32; 4]>,
    /// What sums begin with, `[column]`.
    pub bias: Global<[f32; 4]>,
}

#[inline(always)]
unsafe fn eight(view: Global<[f32; 4]>, index: usize) -> [f32; GROUP] {
    let (a, b) = (view.load(index), view.load(index + 1));
    [a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]]
}

impl Filter {
    /// Filters `spectra` spectra, the first of which begins with bit `first_bit`, into `slots` of `STEP / 4` pieces each; as one of `threads` threads.
    ///
    /// # Safety
    /// `first_bit + BITS (taps + spectra - 1) STEP` bits and a word are in the view of samples, `STEP` is a multiple of 256, weights and bias fit, `slots` holds `spectra`
    /// spectra rounded up to a multiple of `S`. A barrier follows before they are read.
    #[inline(always)]
    pub unsafe fn run<const BITS: u32, const STEP: u32, const TAPS: usize, const S: usize>(
        self,
        first_bit: u64,
        spectra: u32,
        slots: Shared<[f32; 4]>,
        thread: u32,
        threads: u32,
    ) {
        let groups = STEP / COLUMNS;
        let row_words = BITS * (STEP / 32);
        let constants = Packed::<BITS>::constants();
        let mut item = thread;
        while item < groups * spectra.div_ceil(S as u32) {
            let (group, first) = (item % groups, item / groups * S as u32);
            // A row is a multiple of 32 bits.
            let bit = first_bit as u32 % 32 + group * COLUMNS * BITS;
            let samples = self.samples.part((first_bit / 32) as usize, self.samples.len() - (first_bit / 32) as usize);
            let start = bit / 32 + first * row_words;
            let bit = bit % 32;
            // Rows past the last one that is needed are not there.
            let last = spectra - first + TAPS as u32 - 2;
            let mut sums = [eight(self.bias, (group * 2) as usize); S];
            let mut weights = [[0.0; GROUP]; S];
            unroll!(u in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 {
                if u < S + TAPS - 1 {
                    let row = if u < TAPS || u as u32 <= last { u as u32 } else { last };
                    let x = Packed::<BITS>::values(Packed::<BITS>::load(samples, (start + row * row_words) as usize), bit, constants);
                    if u < TAPS {
                        weights[u % S] = eight(self.weights, u * (STEP / 4) as usize + (group * 2) as usize);
                    }
                    unroll!(s in 0 1 2 3 4 5 {
                        if s < S && u >= s && u - s < TAPS {
                            unroll!(c in 0 1 2 3 4 5 6 7 {
                                sums[s][c] = fma(weights[(u - s) % S][c], x[c], sums[s][c]);
                            });
                        }
                    });
                }
            });
            // Eight columns are four points: two pieces of a row. What is past the last spectrum is stored as well: a condition would make LLVM
            // move the sums behind it, and all weights and samples would have to be kept.
            let (row, chunk) = (group / 4, group % 4 * 2);
            unroll!(s in 0 1 2 3 4 5 {
                if s < S {
                    let slot = (first + s as u32) * (STEP / 4);
                    let z = sums[s];
                    slots.store((slot + place(row, chunk)) as usize, [z[0], z[1], z[2], z[3]]);
                    slots.store((slot + place(row, chunk + 1)) as usize, [z[4], z[5], z[6], z[7]]);
                }
            });
            item += threads;
        }
    }
}
