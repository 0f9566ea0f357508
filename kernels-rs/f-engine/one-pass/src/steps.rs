//! The filter of spectra that are whole steps apart: what is known of the rows when the kernel is compiled.
//!
//! A thread takes a point, two neighbouring columns, of `S` spectra that are `B` steps apart: of critically sampled
//! ones those that follow each other, `B = 1`; of spectra oversampled by `P / B` every `P`-th. It has the weights of
//! [`CHUNK`] taps in registers, and takes the rows that these make products with: row `u` of samples belongs to tap
//! `u - B s` of spectrum `s`.
//!
//! ```text
//!             tap of spectrum 0   1   2   3          S = 4, B = 1, chunks of 5 taps
//! row 0                       0
//! row 1                       1   0
//! row 4                       4   3   2   1
//! row 7                                   4
//! ```
//!
//! So there are `CHUNK S` products of `CHUNK + B (S - 1)` rows, none is multiplied by nothing, and what a product's
//! factors are no branch says. The next chunk adds to the same sums. Taps past the last have weights of 0; rows past
//! the last are the last again: either is a product with 0, or of a spectrum that is not stored. Of floats, whose
//! product with 0 may be no number, taps are a multiple of a chunk's.
//!
//! # Decoding
//! If rows are whole words and numbers are integers of up to 11 bits, a thread's two are at the same bit of two words
//! in every row, and [`Decoder`] takes them, with 4 operations of 15 less for a row. The second one's sum is then
//! `2^bits` times too small, and multiplied by that, exactly.
//!
//! Nothing is rotated: the stamps of critically sampled spectra are multiples of the step, and the places in time of
//! others are in their phases ([`columns`](crate::columns)).

use fringes_device::fused::fma;
use fringes_device::{Global, Shared, opaque, unroll};
use fringes_kernels_common::decode::two::Decoder;

use crate::points::Points;
use crate::shape::{Divisor, Shape, place, skew, slot};
use fringes_kernels_f_engine_two_pass::numbers::{Numbers, Source};

pub use fringes_kernel_abi::f_engine::one_pass::{CHUNK, FEW, MANY, MOST_STEPS};

/// Rows of a chunk of so many spectra that are `steps` apart.
const fn rows(spectra: usize, steps: usize) -> usize {
    CHUNK + steps * (spectra - 1)
}

/// Most bits of numbers that a [`Decoder`] takes.
pub(crate) const MOST_ALIGNED: u32 = 11;

/// Rows whose samples are loaded together.
const fn part_of(steps: usize) -> usize {
    if steps == 1 { 9 } else { 7 }
}

/// A number of which what is made of it is computed where that is used: it would take registers meanwhile.
#[inline(always)]
pub(crate) fn anew(number: u32) -> u32 {
    opaque(number as i32) as u32
}

/// What the filter reads.
#[derive(Clone, Copy)]
pub struct Steps<P> {
    /// Numbers of the samples.
    pub numbers: Numbers,
    /// Weights `[tap][point]` of two columns, an even number of points.
    pub weights: Global<[f32; 2]>,
    /// Sizes.
    pub shape: Shape,
    /// The points that are filtered.
    pub of: P,
}

/// Whether [`Steps`] filter so many spectra of floats.
#[inline(always)]
pub const fn take_floats(shape: &Shape, spectra: u32) -> bool {
    shape.taps.is_multiple_of(CHUNK as u32) && spectra > MANY as u32 / 2
}

impl<P: Points> Steps<P> {
    /// Filters `spectra` spectra, whose first one begins with number `start` and which are `B` steps apart, into the
    /// first slots, as one of `threads` threads.
    ///
    /// # Safety
    /// As [`Filter::run`](crate::filter::Filter::run).
    #[inline(always)]
    pub unsafe fn run<I: Source, const B: usize>(
        &self,
        start: u32,
        spectra: u32,
        points: Shared<[f32; 2]>,
        thread: u32,
        threads: u32,
    ) {
        let of = (start, spectra);
        let aligned = self.shape.bits <= MOST_ALIGNED && (self.shape.columns() * self.shape.bits).is_multiple_of(32);
        // Few spectra that are several steps apart have hardly a row in common.
        match (B > 1 || spectra > MANY as u32 / 2, aligned) {
            _ if !I::FINITE => self.each::<I, MANY, B, false>(of, points, thread, threads),
            (true, true) => self.each::<I, MANY, B, true>(of, points, thread, threads),
            (true, false) => self.each::<I, MANY, B, false>(of, points, thread, threads),
            (false, true) => self.each::<I, FEW, 1, true>(of, points, thread, threads),
            (false, false) => self.each::<I, FEW, 1, false>(of, points, thread, threads),
        }
    }

    /// Points of `S` spectra each, as one of `threads` threads; `ALIGNED` if a [`Decoder`] takes their numbers.
    ///
    /// # Safety
    /// As [`Steps::run`].
    #[inline(always)]
    unsafe fn each<I: Source, const S: usize, const B: usize, const ALIGNED: bool>(
        &self,
        (start, spectra): (u32, u32),
        points: Shared<[f32; 2]>,
        thread: u32,
        threads: u32,
    ) {
        let size = self.of.count();
        let (most, length) = (S as u32, slot(size));
        let by_points = Divisor::new(size);
        let mut item = thread;
        while item < size * spectra.div_ceil(most) {
            let (part, at) = by_points.divide(item);
            let (first, point) = (part * most, self.of.number(at));
            let count = (spectra - first).min(most);
            let start = start + first * B as u32 * self.shape.columns() + 2 * point;
            let sums = self.sums::<I, S, B, ALIGNED>(start, point, count);
            let length = anew(length);
            let to = first * length + place(at, skew(size));
            unroll!(s in 0 1 2 3 4 5 6 7 8 9 10 11 {
                if s < S && (s as u32) < count {
                    points.store((to + s as u32 * length) as usize, sums[s]);
                }
            });
            item += threads;
        }
    }

    /// Sums of `count` spectra of a point, whose first number in row 0 is `start`.
    ///
    /// # Safety
    /// - Numbers of `count` spectra, 1 to `S`, from `start` on and the weights of the point are in the views.
    #[inline(always)]
    unsafe fn sums<I: Source, const S: usize, const B: usize, const ALIGNED: bool>(
        &self,
        start: u32,
        point: u32,
        count: u32,
    ) -> [[f32; 2]; S] {
        let (taps, bits) = (self.shape.taps, self.shape.bits);
        let decoder = Decoder::new(if ALIGNED { bits } else { MOST_ALIGNED }, self.numbers.place(start) % 32);
        // In words or bits. Bits of a job's numbers are counted in 32 bits.
        let unit = if ALIGNED { 32 } else { 1 };
        let (first, step) = (self.numbers.place(start) / unit, anew(self.shape.columns() * bits / unit));
        let rows_of_all = taps + B as u32 * (count - 1);
        let last = first + (rows_of_all - 1) * step;
        let row_of_weights = anew(2 * self.shape.groups());
        let (mut sums, mut weights) = ([[0.0; 2]; S], [[0.0; 2]; CHUNK]);
        let mut tap = 0;
        while tap < taps {
            unroll!(t in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
                let row = tap + t as u32;
                weights[t] = if row < taps {
                    self.weights.load((row * row_of_weights + point) as usize)
                } else {
                    [0.0; 2]
                };
            });
            let mut at = (first + tap * step).wrapping_sub(step);
            // Loads are not moved to before a branch, so that no more rows than these take registers.
            unroll!(part in 0 1 2 3 4 5 6 7 8 9 10 {
                if part * part_of(B) < rows(S, B) && (part * part_of(B)) as u32 + tap < rows_of_all {
                    unroll!(i in 0 1 2 3 4 5 6 7 8 {
                        let u = part * part_of(B) + i;
                        if i < part_of(B) && u < rows(S, B) {
                            at = at.wrapping_add(step);
                            let at = at.min(last);
                            let x = if ALIGNED {
                                let [a, b] = self.numbers.words(at);
                                decoder.decode(a, b)
                            } else {
                                I::two(&self.numbers, at)
                            };
                            unroll!(s in 0 1 2 3 4 5 6 7 8 9 10 11 {
                                if s < S && u >= B * s && u - B * s < CHUNK {
                                    let weight = weights[u.wrapping_sub(B * s) % CHUNK];
                                    unroll!(c in 0 1 { sums[s][c] = fma(weight[c], x[c], sums[s][c]); });
                                }
                            });
                        }
                    });
                }
            });
            tap += CHUNK as u32;
        }
        if ALIGNED {
            let scale = f32::from_bits((127 + bits) << 23);
            unroll!(s in 0 1 2 3 4 5 6 7 8 9 10 11 { if s < S { sums[s][1] *= scale; } });
        }
        sums
    }
}
