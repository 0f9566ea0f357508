//! The transform of spectra of `N = r1 r2 ... rm` points in shared memory, in place,
//! `X[k] = sum_n x[n] exp(-2 pi i n k / N)`.
//!
//! Pass `i` transforms `r` points that are `D = N / (r1 ... ri)` apart, for each block of `r D` points and each
//! `j < D`:
//!
//! ```text
//! block b of B = r1 ... r(i-1), point q at  b r D + q D + j
//! twiddle exp(-2 pi i q kappa(b) / (B r)) before;  result s takes the place of point s
//! ```
//!
//! where `kappa(b)` is the block's part of `k`: with `b = s1 (r2 ... r(i-1)) + ... + s(i-1)`,
//! `kappa = s1 + r1 s2 + r1 r2 s3 + ...`. So in the end position `s1 N/r1 + s2 N/(r1 r2) + ...` has
//! `X[s1 + r1 s2 + r1 r2 s3 + ...]`: digits reversed, which the tables of the next step take account of. A butterfly
//! reads and writes the same places; a barrier a pass is all that is needed, for all spectra of the block.
//!
//! Twiddles are `[q - 1][b]`, of radix 16 the factors of its butterflies in four pairs `[4][b]` ([`sixteen_twiddled`]),
//! one pass after the other and each from an even place on; the first pass has none.
//!
//! Passes may be made in two launches ([`columns`](crate::columns), [`rows`](crate::rows)): after the first ones blocks
//! are transforms of their own, which differ in their twiddles ([`Rows`]).
//!
//! # Precision
//! A pass of radix `r` adds at most `(3 + 3 log2 r) 2^-24` of the root-sum-square of its points to the error of a
//! result.

use fringes_device::barrier::bar_sync_0;
use fringes_device::{Global, Shared, unroll};
use fringes_kernels_common::complex::mul;
use fringes_kernels_f_engine_two_pass::butterfly::{
    Eight, Four, Radix, Six, Sixteen, TWIDDLES, Ten, Twelve, Two, sixteen_twiddled,
};

use crate::ends::{Ends, InPlace};
use crate::radix::{Fifteen, Five, Nine, Three, TwentyFive};
use crate::shape::{Divisor, first_radix, place, skew, slot, twiddles as twiddle_pairs};

/// Blocks that a slot has, after the passes of launches before.
#[derive(Debug, Clone, Copy)]
pub struct Rows {
    /// Blocks of the whole transform.
    pub all: u32,
    /// Blocks of a slot, one or two, that lie behind each other.
    pub count: u32,
    /// Their numbers.
    pub numbers: [u32; 2],
}

impl Rows {
    /// All of a transform before its first pass.
    pub const WHOLE: Self = Self { all: 1, count: 1, numbers: [0, 1] };

    /// What is added to the number of a block within its slot, for that in the whole transform: of those of the first
    /// row, and of the second one's. `blocks` is how many a row has.
    #[inline(always)]
    const fn ahead(&self, blocks: u32) -> [u32; 2] {
        [self.numbers[0].wrapping_mul(blocks), self.numbers[1].wrapping_sub(1).wrapping_mul(blocks)]
    }
}

/// A pass of the transform of some spectra.
#[derive(Clone, Copy)]
struct Pass {
    points: Shared<[f32; 2]>,
    twiddles: Global<[f32; 4]>,
    /// Points of a spectrum.
    size: u32,
    spectra: u32,
    rows: Rows,
    /// Product of the radices of the passes before: blocks of a row.
    blocks: u32,
    /// Points of a block.
    rest: u32,
    /// Its first pair of twiddles.
    first_twiddle: u32,
    thread: u32,
    threads: u32,
}

impl Pass {
    /// Whether there are twiddles.
    #[inline(always)]
    const fn is_twiddled(&self) -> bool {
        self.rows.all * self.blocks > 1
    }

    /// Number of a block of the slot in the whole transform.
    #[inline(always)]
    const fn block(&self, within: u32) -> u32 {
        let [first, second] = self.rows.ahead(self.blocks);
        within.wrapping_add(if within < self.blocks { first } else { second })
    }

    /// A pass of radix `R`, each butterfly by one of the threads.
    ///
    /// # Safety
    /// - `R` points divide the rest of the block; `points` holds the slots, `twiddles` those of the pass, and `ends` is
    ///   made for it.
    /// - Barriers of the block are before and after; `thread` is below `threads`, and each thread calls it.
    #[inline(always)]
    unsafe fn run<R: Radix, E: Ends>(self, ends: E) {
        let radix = R::POINTS as u32;
        let distance = self.rest / radix;
        // None of a radix with an odd factor: said to the compiler, it saves two operations a point.
        let skewed = radix.is_power_of_two();
        let place = |point: u32| if skewed { place(point, skew(self.size)) } else { point };
        let butterflies = self.rows.count * self.blocks * distance;
        let (by_butterflies, by_distance) = (Divisor::new(butterflies), Divisor::new(distance));
        let mut item = self.thread;
        while item < butterflies * self.spectra {
            let (s, butterfly) = by_butterflies.divide(item);
            let (block, j) = by_distance.divide(butterfly);
            let (first, start) = (s * slot(self.size), block * radix * distance + j);
            let beside = ends.first(s, block, j, radix);
            let mut x = R::ZERO;
            unroll!(q in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 {
                if q < R::POINTS {
                    x.as_mut()[q] = if E::FROM {
                        ends.load(beside + q as u32 * ends.apart(distance))
                    } else {
                        self.points.load((first + place(start + q as u32 * distance)) as usize)
                    };
                }
            });
            if self.is_twiddled() {
                let (twiddles, all) = (self.twiddles.cast::<[f32; 2]>(), self.rows.all * self.blocks);
                let block = self.block(block);
                unroll!(q in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 {
                    if q < R::POINTS {
                        let twiddle = 2 * self.first_twiddle + (q as u32 - 1) * all + block;
                        x.as_mut()[q] = mul(x.as_ref()[q], twiddles.load(twiddle as usize));
                    }
                });
            }
            let x = R::transform(x);
            unroll!(q in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 {
                if q < R::POINTS {
                    if E::TO {
                        ends.store(beside + q as u32 * ends.apart(distance), x.as_ref()[q]);
                    } else {
                        self.points.store((first + place(start + q as u32 * distance)) as usize, x.as_ref()[q]);
                    }
                }
            });
            item += self.threads;
        }
    }

    /// A pass of radix 16 whose twiddles are in its butterflies.
    ///
    /// # Safety
    /// - 16 divides the rest of the block, which is not the first; `points` holds the slots, `twiddles` those of the
    ///   pass, and `ends` is made for it.
    /// - Barriers of the block are before and after; `thread` is below `threads`, and each thread calls it.
    #[inline(always)]
    unsafe fn run_twiddled<E: Ends>(self, ends: E) {
        let (distance, skew) = (self.rest / 16, skew(self.size));
        let butterflies = self.rows.count * self.blocks * distance;
        let (by_butterflies, by_distance) = (Divisor::new(butterflies), Divisor::new(distance));
        let mut item = self.thread;
        while item < butterflies * self.spectra {
            let (s, butterfly) = by_butterflies.divide(item);
            let (block, j) = by_distance.divide(butterfly);
            let (first, start) = (s * slot(self.size), block * 16 * distance + j);
            let beside = ends.first(s, block, j, 16);
            let (mut x, mut w) = ([[0.0; 2]; 16], [[0.0; 2]; TWIDDLES]);
            let (block, all) = (self.block(block), self.rows.all * self.blocks);
            unroll!(i in 0 1 2 3 {
                let pair = self.twiddles.load((self.first_twiddle + i as u32 * all + block) as usize);
                w[2 * i] = [pair[0], pair[1]];
                w[2 * i + 1] = [pair[2], pair[3]];
            });
            unroll!(q in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
                x[q] = if E::FROM {
                    ends.load(beside + q as u32 * ends.apart(distance))
                } else {
                    self.points.load((first + place(start + q as u32 * distance, skew)) as usize)
                };
            });
            let x = sixteen_twiddled(x, w);
            unroll!(q in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
                if E::TO {
                    ends.store(beside + q as u32 * ends.apart(distance), x[q]);
                } else {
                    self.points.store((first + place(start + q as u32 * distance, skew)) as usize, x[q]);
                }
            });
            item += self.threads;
        }
    }

    /// A pass of a radix. False if it is none that there is, or one of 25 points that are not `WIDE`.
    ///
    /// # Safety
    /// As [`run`].
    #[inline(always)]
    unsafe fn of<E: Ends, const WIDE: bool>(self, radix: u32, ends: E) -> bool {
        match radix {
            2 => self.run::<Two, E>(ends),
            3 => self.run::<Three, E>(ends),
            4 => self.run::<Four, E>(ends),
            5 => self.run::<Five, E>(ends),
            6 => self.run::<Six, E>(ends),
            8 => self.run::<Eight, E>(ends),
            9 => self.run::<Nine, E>(ends),
            10 => self.run::<Ten, E>(ends),
            12 => self.run::<Twelve, E>(ends),
            15 => self.run::<Fifteen, E>(ends),
            25 if WIDE => self.run::<TwentyFive, E>(ends),
            16 if self.is_twiddled() => self.run_twiddled::<E>(ends),
            16 => self.run::<Sixteen, E>(ends),
            _ => return false,
        }
        true
    }
}

/// The passes of a launch.
#[derive(Debug, Clone, Copy)]
pub struct Passes {
    /// Points of a slot.
    pub size: u32,
    /// Points of a row.
    pub row: u32,
    /// Radices, as [`Shape`](crate::shape::Shape) has them.
    pub radices: u64,
    /// Rows of a slot.
    pub rows: Rows,
    /// First pair of twiddles.
    pub first_twiddle: u32,
}

/// Makes passes of `spectra` spectra, as one of `threads` threads, all of the block's. False if a radix is none that
/// there is.
///
/// Passes of 25 points are for kernels that are `WIDE`: others have too few registers.
///
/// # Safety
/// The radices divide the points of a row, `points` holds the slots, `twiddles` those of the passes, and what `ends`
/// has are places of the slots' points; barriers are before and after.
#[inline(always)]
pub unsafe fn run<E: Ends, const WIDE: bool>(
    passes: &Passes,
    ends: E,
    spectra: u32,
    points: Shared<[f32; 2]>,
    twiddles: Global<[f32; 4]>,
    thread: u32,
    threads: u32,
) -> bool {
    let Passes { size, row, mut radices, rows, mut first_twiddle } = *passes;
    let (mut blocks, mut rest) = (1, row);
    while radices != 0 {
        if blocks > 1 {
            bar_sync_0();
        }
        let pass = Pass { points, twiddles, size, spectra, rows, blocks, rest, first_twiddle, thread, threads };
        let (radix, others) = first_radix(radices);
        let is_end = (E::FROM && blocks == 1) || (E::TO && others == 0);
        if !if is_end { pass.of::<_, WIDE>(radix, ends) } else { pass.of::<_, WIDE>(radix, InPlace) } {
            return false;
        }
        first_twiddle += twiddle_pairs(radix, rows.all * blocks);
        blocks *= radix;
        rest /= radix;
        radices = others;
    }
    true
}
