//! The filter of a block's points where spectra are not a step apart, and of floats that [`Steps`](crate::steps::Steps)
//! do not take: two neighbouring columns of spectra that follow each other, of which each has its samples decoded.
//!
//! A weight is loaded once for [`TOGETHER`] spectra.

use fringes_device::fused::fma;
use fringes_device::{Global, Shared, unroll};

use crate::points::Points;
use crate::shape::{Divisor, Shape, place, skew, slot};
use fringes_kernels_f_engine_two_pass::numbers::{Numbers, Source};

/// Spectra that a thread filters together.
pub const TOGETHER: usize = 6;

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
    /// Filters `spectra` spectra from spectrum `first` of the numbers on into the first slots, as one of `threads`
    /// threads.
    ///
    /// # Safety
    /// The numbers of these spectra and the weights are in the views; `points` holds the slots. A barrier follows before
    /// they are read.
    #[inline(always)]
    pub unsafe fn run<I: Source>(&self, first: u32, spectra: u32, points: Shared<[f32; 2]>, thread: u32, threads: u32) {
        let (size, most) = (self.of.count(), TOGETHER as u32);
        let by_points = Divisor::new(size);
        let mut item = thread;
        while item < size * spectra.div_ceil(most) {
            let (part, at) = by_points.divide(item);
            let (begin, count) = (part * most, (spectra - part * most).min(most));
            let sums = self.sums::<I>(first + begin, self.of.number(at), count);
            let to = begin * slot(size) + place(at, skew(size));
            unroll!(s in 0 1 2 3 4 5 {
                if (s as u32) < count {
                    points.store((to + s as u32 * slot(size)) as usize, sums[s]);
                }
            });
            item += threads;
        }
    }

    /// Sums of a point of `count` spectra from `first` on. Those past them are the last one's.
    ///
    /// # Safety
    /// - Numbers of the spectra, 1 to [`TOGETHER`], and the weights of the point are in the views.
    #[inline(always)]
    unsafe fn sums<I: Source>(&self, first: u32, point: u32, count: u32) -> [[f32; 2]; TOGETHER] {
        let Shape { stride, taps, bits, .. } = self.shape;
        let row_of_weights = 2 * self.shape.groups();
        let row = self.shape.columns() * bits;
        let mut sums = [[0.0; 2]; TOGETHER];
        let (mut tap, mut at) = (0, self.numbers.place(first * stride + 2 * point));
        while tap < taps {
            let weight = self.weights.load((tap * row_of_weights + point) as usize);
            unroll!(s in 0 1 2 3 4 5 {
                let x = I::two(&self.numbers, at + (s as u32).min(count - 1) * stride * bits);
                unroll!(c in 0 1 { sums[s][c] = fma(weight[c], x[c], sums[s][c]); });
            });
            tap += 1;
            at += row;
        }
        sums
    }
}
