//! The polyphase filter: `z[s][c] = sum_t w[t][c] x[s stride + t columns + c]`, for the spectra of a job into shared
//! memory.
//!
//! Spectra a step apart are those of [`Steps`], if samples are integers or [so many floats](take_floats). Of
//! others a thread takes four neighbouring columns `c` of `S = 4` spectra that follow each other. If the stride is the
//! step, row `u` of samples belongs to tap `u - s` of spectrum `s`; the thread keeps the last `S` weights of each
//! column:
//!
//! ```text
//!             tap of spectrum 0   1   2   3          S = 4, 5 taps
//! row 0                       0
//! row 1                       1   0
//! row 2                       2   1   0
//! row 4                       4   3   2   1
//! row 7                                   4
//! ```
//!
//! so that a sample is decoded `(taps + S - 1) / S` times for its `taps` products, and a weight loaded once for `S`
//! spectra. With a smaller stride the rows of spectra do not fall together: a weight is loaded once for four spectra,
//! samples are decoded for each.
//!
//! # Rotation
//! The spectrum stamped `a` has its phases referred to absolute time, `exp(-2 pi i b a / step)` in bin `b`. That is a
//! rotation of what is transformed: column `c` takes the place `(c + a) mod step`. Nothing is rounded by it.
//!
//! # Precision
//! Samples are exact ([`numbers`](fringes_kernels_f_engine_two_pass::numbers)), weights rounded to f32. With `u =
//! 2^-24`, `|dz| <= u (taps + 1) sum_t |w[t][c] x[t][c]|`.

use fringes_device::fused::fma;
use fringes_device::{Global, Shared, unroll};

use crate::entry::rotation;
use crate::points::All;
use crate::shape::{Divisor, Shape, slot};
use crate::steps::{Steps, take_floats};
use fringes_kernels_f_engine_two_pass::numbers::{Numbers, Source};

pub use fringes_kernel_abi::f_engine::one_pass::FEW;

/// What the filter reads.
#[derive(Clone, Copy)]
pub struct Filter {
    /// Numbers of the samples.
    pub numbers: Numbers,
    /// Weights `[tap][group]` of four columns.
    pub weights: Global<[f32; 4]>,
    /// Sizes.
    pub shape: Shape,
}

impl Filter {
    /// Filters `spectra` spectra into their slots, as one of `threads` threads.
    ///
    /// # Safety
    /// The numbers of `spectra` spectra and the weights are in the views; `points` holds the slots; `entries` has been
    /// prepared, and a barrier followed. A barrier follows before the slots are read.
    #[inline(always)]
    pub unsafe fn run<I: Source>(
        &self,
        spectra: u32,
        points: Shared<[f32; 2]>,
        entries: Shared<[u32; 4]>,
        thread: u32,
        threads: u32,
    ) {
        let Self { numbers, weights, shape } = *self;
        let slots = Slots { points, entries, shape };
        if shape.stride != shape.columns() {
            self.each::<I, FEW, true>(spectra, slots, thread, threads);
        } else if I::FINITE || take_floats(&shape, spectra) {
            Steps { numbers, weights: weights.cast(), shape, of: All(shape.points) }
                .run::<I, 1>(0, spectra, points, thread, threads);
        } else {
            self.each::<I, FEW, false>(spectra, slots, thread, threads);
        }
    }

    /// Groups of columns of `S` spectra each, which are a step or less (`APART`) apart, as one of `threads` threads.
    ///
    /// # Safety
    /// - As [`Filter::run`]; `APART` if and only if the stride is not the step.
    #[inline(always)]
    unsafe fn each<I: Source, const S: usize, const APART: bool>(
        &self,
        spectra: u32,
        slots: Slots,
        thread: u32,
        threads: u32,
    ) {
        let (shape, most) = (self.shape, S as u32);
        let groups = Divisor::new(shape.groups());
        let mut item = thread;
        while item < shape.groups() * spectra.div_ceil(most) {
            let (part, group) = groups.divide(item);
            let first = part * most;
            let count = (spectra - first).min(most);
            let start = first * shape.stride + 4 * group;
            let sums = if APART {
                self.apart::<I, S>(start, group, count)
            } else {
                self.neighbours::<I, S>(start, group, count)
            };
            unroll!(s in 0 1 2 3 {
                if s < S && (s as u32) < count {
                    slots.store(first + s as u32, group, sums[s]);
                }
            });
            item += threads;
        }
    }

    /// Sums of spectra a step apart: number `start` is the first column's in row 0.
    ///
    /// # Safety
    /// - Numbers of `count` spectra, 1 to `S`, from `start` on and the weights of the group are in the views.
    #[inline(always)]
    unsafe fn neighbours<I: Source, const S: usize>(&self, start: u32, group: u32, count: u32) -> [[f32; 4]; S] {
        let (taps, columns, groups) = (self.shape.taps, self.shape.columns(), self.shape.groups());
        let (mut sums, mut weights) = ([[0.0; 4]; S], [[0.0; 4]; S]);
        let rows = taps + count - 1;
        // Row `base + j` and the weights of tap `base + j` share the index `j` of the ring of weights.
        let mut base = 0;
        while base < rows {
            if base >= S as u32 && base + S as u32 <= taps {
                unroll!(j in 0 1 2 3 {
                    if j < S {
                        let row = base + j as u32;
                        weights[j] = self.weights.load((row * groups + group) as usize);
                        let x = I::four::<false>(&self.numbers, start + row * columns);
                        unroll!(s in 0 1 2 3 {
                            if s < S {
                                unroll!(c in 0 1 2 3 { sums[s][c] = fma(weights[(j + S - s) % S][c], x[c], sums[s][c]); });
                            }
                        });
                    }
                });
            } else {
                unroll!(j in 0 1 2 3 {
                    let row = base + j as u32;
                    if j < S && row < rows {
                        if row < taps {
                            weights[j] = self.weights.load((row * groups + group) as usize);
                        }
                        let x = I::four::<false>(&self.numbers, start + row * columns);
                        unroll!(s in 0 1 2 3 {
                            // Zero times infinity is not zero.
                            if s < S && row.wrapping_sub(s as u32) < taps {
                                unroll!(c in 0 1 2 3 { sums[s][c] = fma(weights[(j + S - s) % S][c], x[c], sums[s][c]); });
                            }
                        });
                    }
                });
            }
            base += S as u32;
        }
        sums
    }

    /// Sums of spectra less than a step apart. Those past `count` are the last one's.
    ///
    /// # Safety
    /// - Numbers of `count` spectra, 1 to `S`, from `start` on and the weights of the group are in the views.
    #[inline(always)]
    unsafe fn apart<I: Source, const S: usize>(&self, start: u32, group: u32, count: u32) -> [[f32; 4]; S] {
        let (columns, groups, stride) = (self.shape.columns(), self.shape.groups(), self.shape.stride);
        let mut sums = [[0.0; 4]; S];
        let mut tap = 0;
        while tap < self.shape.taps {
            let weights = self.weights.load((tap * groups + group) as usize);
            let row = start + tap * columns;
            unroll!(s in 0 1 2 3 {
                if s < S {
                    let x = I::four::<false>(&self.numbers, row + (s as u32).min(count - 1) * stride);
                    unroll!(c in 0 1 2 3 { sums[s][c] = fma(weights[c], x[c], sums[s][c]); });
                }
            });
            tap += 1;
        }
        sums
    }
}

/// Where filtered spectra go.
#[derive(Clone, Copy)]
struct Slots {
    points: Shared<[f32; 2]>,
    entries: Shared<[u32; 4]>,
    shape: Shape,
}

impl Slots {
    /// Stores four columns of a spectrum, rotated; those past the last column are left out.
    ///
    /// # Safety
    /// - `points` holds the slot of the spectrum, the entries have it, and a barrier followed them.
    /// - No other thread stores the group of the spectrum.
    #[inline(always)]
    unsafe fn store(&self, spectrum: u32, group: u32, z: [f32; 4]) {
        let (columns, slot) = (self.shape.columns(), slot(self.shape.points));
        let points = self.points.part((spectrum * slot) as usize, slot as usize);
        let rotation = rotation(self.entries, spectrum);
        let placed = |column: u32| {
            let at = column + rotation;
            if at >= columns { at - columns } else { at }
        };
        if rotation.is_multiple_of(2) {
            unroll!(i in 0 1 {
                let column = 4 * group + 2 * i as u32;
                if column < columns {
                    points.store(self.shape.place(placed(column) / 2) as usize, [z[2 * i], z[2 * i + 1]]);
                }
            });
        } else {
            let numbers = points.cast::<f32>();
            unroll!(i in 0 1 2 3 {
                let column = 4 * group + i as u32;
                if column < columns {
                    let at = placed(column);
                    numbers.store((2 * self.shape.place(at / 2) + at % 2) as usize, z[i]);
                }
            });
        }
    }
}
