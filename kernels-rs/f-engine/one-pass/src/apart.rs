//! The filter of a block's points where spectra are not a step apart, and of floats that [`Steps`](crate::steps::Steps)
//! do not take: two neighbouring columns of one spectrum after the other, of which each has its samples decoded.
//!
//! A thread has the weights of [`CHUNK`] taps of its point in registers for all spectra, and sums wait in the slots for
//! the next chunk. If rows are whole words and numbers are integers of up to 11 bits, samples of a spectrum's rows are
//! at the same bit of two words, and [`Decoder`] takes them, as in [`steps`](crate::steps).
//!
//! Of a number and a tap 6 instructions (`sm_90a`, whole chunks), 9 without [`Decoder`].

use fringes_device::fused::fma;
use fringes_device::{Global, Shared, unroll};
use fringes_kernels_common::decode::two::Decoder;

use crate::points::Points;
use crate::shape::{Shape, place, skew, slot};
use crate::steps::{CHUNK, MOST_ALIGNED};
use fringes_kernels_f_engine_two_pass::numbers::{Numbers, Source};

/// What the filter reads.
#[derive(Clone, Copy)]
pub struct Apart<P> {
    /// Numbers of the samples.
    pub numbers: Numbers,
    /// Weights `[tap][point]` of two columns, an even number of points.
    pub weights: Global<[f32; 2]>,
    /// Sizes.
    pub shape: Shape,
    /// The points that are filtered.
    pub of: P,
}

impl<P: Points> Apart<P> {
    /// Filters `spectra` spectra into the first slots, every `period`-th of the numbers' from the first one on, as one
    /// of `threads` threads.
    ///
    /// # Safety
    /// The numbers of these spectra and the weights are in the views; `points` holds the slots. A barrier follows
    /// before they are read.
    #[inline(always)]
    pub unsafe fn run<I: Source>(
        &self,
        (first, period): (u32, u32),
        spectra: u32,
        points: Shared<[f32; 2]>,
        thread: u32,
        threads: u32,
    ) {
        let of = (first, period, spectra);
        let Shape { bits, .. } = self.shape;
        if I::FINITE && bits <= MOST_ALIGNED && (self.shape.columns() * bits).is_multiple_of(32) {
            self.each::<I, true>(of, points, thread, threads);
        } else {
            self.each::<I, false>(of, points, thread, threads);
        }
    }

    /// Points, as one of `threads` threads; `ALIGNED` if a [`Decoder`] takes their numbers.
    ///
    /// # Safety
    /// As [`Apart::run`].
    #[inline(always)]
    unsafe fn each<I: Source, const ALIGNED: bool>(
        &self,
        (first, period, spectra): (u32, u32, u32),
        points: Shared<[f32; 2]>,
        thread: u32,
        threads: u32,
    ) {
        let (size, taps) = (self.of.count(), self.shape.taps);
        let length = slot(size);
        let mut item = thread;
        while item < size {
            let point = self.of.number(item);
            let mut tap = 0;
            while tap < taps {
                let weights = self.weights(tap, point);
                let (mut s, mut to) = (0, place(item, skew(size)));
                while s < spectra {
                    let before = if tap == 0 { [0.0; 2] } else { points.load(to as usize) };
                    let start = self.numbers.place((first + s * period) * self.shape.stride + 2 * point);
                    points.store(to as usize, self.chunk::<I, ALIGNED>(before, start, tap, &weights));
                    s += 1;
                    to += length;
                }
                tap += CHUNK as u32;
            }
            item += threads;
        }
    }

    /// Weights of a chunk of a point's taps; those past the last are 0.
    ///
    /// # Safety
    /// - Those of the point are in the view.
    #[inline(always)]
    unsafe fn weights(&self, tap: u32, point: u32) -> [[f32; 2]; CHUNK] {
        let row = 2 * self.shape.groups();
        let mut weights = [[0.0; 2]; CHUNK];
        unroll!(t in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
            if tap + (t as u32) < self.shape.taps {
                weights[t] = self.weights.load(((tap + t as u32) * row + point) as usize);
            }
        });
        weights
    }

    /// Adds the products of a chunk from `tap` on to the sums of a point of the spectrum whose number in row 0 has the
    /// place `start`.
    ///
    /// # Safety
    /// - Numbers of the spectrum are in the view.
    #[inline(always)]
    unsafe fn chunk<I: Source, const ALIGNED: bool>(
        &self,
        mut sums: [f32; 2],
        start: u32,
        tap: u32,
        weights: &[[f32; 2]; CHUNK],
    ) -> [f32; 2] {
        let Shape { taps, bits, .. } = self.shape;
        let decoder = Decoder::new(if ALIGNED { bits } else { MOST_ALIGNED }, start % 32);
        // In words or bits.
        let unit = if ALIGNED { 32 } else { 1 };
        let row = self.shape.columns() * bits / unit;
        let first = start / unit + tap * row;
        // Zero times infinity is not zero, so there are no products past the last tap.
        let numbers = |t: usize| {
            let at = first + t as u32 * row;
            if ALIGNED {
                let [a, b] = self.numbers.words(at);
                decoder.decode(a, b)
            } else {
                I::two(&self.numbers, at)
            }
        };
        let mut add = |t: usize| {
            let x = numbers(t);
            unroll!(c in 0 1 { sums[c] = fma(weights[t][c], x[c], sums[c]); });
        };
        if tap + CHUNK as u32 <= taps {
            // All of a chunk's loads are on their way at once.
            unroll!(t in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 { add(t); });
        } else {
            unroll!(t in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 {
                if tap + (t as u32) < taps {
                    add(t);
                }
            });
        }
        if ALIGNED && tap + CHUNK as u32 >= taps {
            sums[1] *= f32::from_bits((127 + bits) << 23);
        }
        sums
    }
}
