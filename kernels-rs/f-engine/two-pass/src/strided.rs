//! The first pass of plans whose spectra are not a step apart (oversampled ones), of long filters, and of samples of
//! any width: the polyphase filter by multiply-adds, and the transform over the first digit of the points.
//!
//! ```text
//! z[s][n] = x'[s][2 n] + i x'[s][2 n + 1]             x'[s][p] = sum_t w[t][p] x[2 S s + 2 N t + p]
//! y[s][k1][n2] = sum_n1 z[s][N' n1 + n2] exp(-2 pi i n1 k1 / R)          n1, k1 < R, n2 < N' = N / R
//! ```
//!
//! Spectra are `S` points apart, taps `N`. Where `S` is not `N`, spectra of one column have no sample in common, so
//! that no product of matrices has them (as in [`columns`](crate::columns)). But with `Q = gcd(S, N')`, columns that are
//! a multiple of `Q` points apart have: sample `Q u + b` of a job is needed for spectrum `s`, tap `t`, and points `n =
//! N' n1 + Q j + b` of all
//!
//! ```text
//! u = (S / Q) s + (N / Q) t + (N' / Q) n1 + j                    j < N' / Q
//! ```
//!
//! # A block
//! has a group of two jobs and `width` neighbouring `b`, so all `n1` and `N' / Q` strips of `n2`. The samples of *units*
//! `u` are decoded into shared memory once, and are there for all that needs them: with 32/27 and 16 taps each is taken
//! 19 times. A lane has a slot, so a spectrum of both jobs, and a warp [`Kept::POINTS`] points `n2` of all `n1`: the
//! transform is in registers, and stores are whole lines.
//!
//! `S / Q` is `2^low` times an odd number. Units lie by their remainder modulo `2^low`, so that lanes, whose units are
//! `S / Q` apart, load at odd distances and meet different banks.
//!
//! The phase that a spectrum has by its place in time is in the job's (a rotation of its points would be that as well).
//!
//! # Precision
//! Samples are exact, weights rounded to f32. With `u = 2^-24`, `|dz| <= u (taps + 1) sum_t |w[t][c] x[t][c]|`.
//!
//! # What a point costs
//! For both jobs' numbers of two points in f16, a tap takes 8 multiply-adds, 8 conversions, 2 loads of samples, and one
//! of weights, which all lanes share: 5 wavefronts of L1, and 19 instructions. Of `T` taps and spectra `N / S` times as
//! many as steps, that allows `51 132 1.98e9 / (T N / S)` samples a second on an H200, 704e9 with 32/27 and 16 taps, by
//! either. A point in f32 takes 4 multiply-adds, 3 loads and 5 wavefronts: 353e9 by these.

use fringes_device::barrier::bar_sync_0;
use fringes_device::control::trap;
use fringes_device::convert::{cvt_f32_f16, cvt_rn_f16x2_f32};
use fringes_device::fused::fma;
use fringes_device::index::tid_x;
use fringes_device::{Global, Shared, Value, opaque, unroll};
use fringes_kernels_common::complex::Complex;

use crate::butterfly::Radix;
use crate::columns::{Arguments, SPECTRA, THREADS};
use crate::job::{self, HELD, JOB_PIECES, Job};
use crate::numbers::{Numbers, Source};

/// Sizes of a plan beside those of [`Arguments`].
#[derive(Clone, Copy)]
pub struct Sizes {
    /// Points from spectrum to spectrum, `S`.
    pub stride: u32,
    /// Points of a unit, `Q`.
    pub unit: u32,
    /// Points of a unit that a block has.
    pub width: u32,
    /// Bits of a number.
    pub bits: u32,
    /// Whether halves of words are little-endian numbers: i16.
    pub little_endian: bool,
}

/// How units lie in shared memory.
#[derive(Clone, Copy)]
struct Units {
    /// Units from spectrum to spectrum.
    stride: u32,
    /// Units of a step.
    step: u32,
    /// Strips of `n2` of a block, and units from `n1` to `n1`.
    strips: u32,
    /// Logarithm of the power of two that divides the stride.
    low: u32,
    /// Places of the units of one remainder.
    pitch: u32,
}

impl Units {
    /// Those of all spectra of a job.
    #[inline(always)]
    fn new<R: Radix>(rows: u32, taps: u32, sizes: &Sizes) -> Self {
        // A unit is a power of two.
        let unit = sizes.unit.trailing_zeros();
        let (stride, strips) = (sizes.stride >> unit, rows >> unit);
        let step = strips * R::POINTS as u32;
        let low = stride.trailing_zeros();
        let units = (SPECTRA - 1) * stride + taps * step;
        Self { stride, step, strips, low, pitch: (units >> low) + 1 }
    }

    /// Units that a job of so many spectra needs.
    #[inline(always)]
    fn of(&self, spectra: u32, taps: u32) -> u32 {
        (spectra - 1) * self.stride + taps * self.step
    }

    /// Place of a unit.
    #[inline(always)]
    fn place(&self, unit: u32) -> u32 {
        (unit & ((1 << self.low) - 1)) * self.pitch + (unit >> self.low)
    }

    /// Places of a plane.
    #[inline(always)]
    fn plane(&self) -> u32 {
        self.pitch << self.low
    }
}

/// How numbers are kept in shared memory.
pub trait Kept {
    /// Some points: what a lane loads at once.
    type Word: Value;
    /// Points of a word.
    const POINTS: usize;

    /// Four numbers as words; the second one is none where a word has two points.
    fn words(numbers: [f32; 4]) -> [Self::Word; 2];

    /// The numbers of a word, and zeros behind them.
    fn numbers(word: Self::Word) -> [f32; 4];

    /// Word `at` of weights, likewise.
    ///
    /// # Safety
    /// - The table has it.
    unsafe fn weights(table: Global<[u32; 4]>, at: usize) -> [f32; 4];
}

/// Two points in f16: of integers of up to 12 bits.
pub struct TwoHalves;
/// A point in f16.
pub struct OneHalf;
/// A point in f32: two would take more registers than there are with two resident blocks.
pub struct Single;

/// Both numbers of a point in f16.
#[inline(always)]
fn halves(word: u32) -> [f32; 2] {
    [cvt_f32_f16(word as u16), cvt_f32_f16((word >> 16) as u16)]
}

/// Weights of two points.
#[inline(always)]
unsafe fn of_two(table: Global<[u32; 4]>, at: usize) -> [f32; 4] {
    table.cast::<[f32; 4]>().load(at)
}

/// Weights of a point.
#[inline(always)]
unsafe fn of_one(table: Global<[u32; 4]>, at: usize) -> [f32; 4] {
    let [a, b] = table.cast::<[f32; 2]>().load(at);
    [a, b, 0.0, 0.0]
}

impl Kept for TwoHalves {
    type Word = [u32; 2];
    const POINTS: usize = 2;

    #[inline(always)]
    fn words([a, b, c, d]: [f32; 4]) -> [[u32; 2]; 2] {
        [[cvt_rn_f16x2_f32(b, a), cvt_rn_f16x2_f32(d, c)], [0; 2]]
    }

    #[inline(always)]
    fn numbers([first, second]: [u32; 2]) -> [f32; 4] {
        let ([a, b], [c, d]) = (halves(first), halves(second));
        [a, b, c, d]
    }

    #[inline(always)]
    unsafe fn weights(table: Global<[u32; 4]>, at: usize) -> [f32; 4] {
        of_two(table, at)
    }
}

impl Kept for OneHalf {
    type Word = u32;
    const POINTS: usize = 1;

    #[inline(always)]
    fn words([a, b, c, d]: [f32; 4]) -> [u32; 2] {
        [cvt_rn_f16x2_f32(b, a), cvt_rn_f16x2_f32(d, c)]
    }

    #[inline(always)]
    fn numbers(word: u32) -> [f32; 4] {
        let [a, b] = halves(word);
        [a, b, 0.0, 0.0]
    }

    #[inline(always)]
    unsafe fn weights(table: Global<[u32; 4]>, at: usize) -> [f32; 4] {
        of_one(table, at)
    }
}

impl Kept for Single {
    type Word = [f32; 2];
    const POINTS: usize = 1;

    #[inline(always)]
    fn words([a, b, c, d]: [f32; 4]) -> [[f32; 2]; 2] {
        [[a, b], [c, d]]
    }

    #[inline(always)]
    fn numbers([a, b]: [f32; 2]) -> [f32; 4] {
        [a, b, 0.0, 0.0]
    }

    #[inline(always)]
    unsafe fn weights(table: Global<[u32; 4]>, at: usize) -> [f32; 4] {
        of_one(table, at)
    }
}

/// Whether sizes are those of a plan, and the views hold what strips of the first `places` groups of a workspace need,
/// jobs apart.
#[inline(always)]
pub fn holds<K: Kept, R: Radix>(arguments: &Arguments, sizes: &Sizes, places: u32) -> bool {
    let Arguments { weights, jobs, workspace, taps, count, rows, .. } = *arguments;
    let Sizes { stride, unit, width, .. } = *sizes;
    let (radix, points) = (R::POINTS as u32, K::POINTS as u32);
    let cut = rows <= 4096
        && taps > 0
        && taps <= 64
        && unit.is_power_of_two()
        && stride > 0
        && stride <= rows * radix
        && stride.is_multiple_of(unit)
        && rows.is_multiple_of(unit)
        // Four numbers at a time.
        && width.is_power_of_two()
        && width >= 2
        && unit.is_multiple_of(width);
    if !cut {
        return false;
    }
    let units = Units::new::<R>(rows, taps, sizes);
    let words = 2 * (width / points) as u64 * units.plane() as u64;
    (places * rows * radix * SPECTRA) as usize <= workspace.len()
        && (rows * radix * taps / 2) as usize <= weights.len()
        && count as usize * JOB_PIECES <= jobs.len()
        && words <= Shared::<K::Word>::dynamic().len() as u64
}

/// The numbers of a job, if it keeps to the views.
///
/// # Safety
/// - Nothing is loaded: safe for every job.
#[inline(always)]
unsafe fn numbers_of<I: Source>(arguments: &Arguments, sizes: &Sizes, step: u32, job: &Job) -> Option<Numbers> {
    if !arguments.limits.hold(job) || !I::has(sizes.bits, job.first_bit) {
        return None;
    }
    let samples = if job.flags & HELD != 0 { arguments.held } else { arguments.samples };
    let points = (job.spectra as u64).wrapping_sub(1) * sizes.stride as u64 + (arguments.taps * step) as u64;
    Numbers::new(samples, job.first_bit, sizes.bits, sizes.little_endian, 2 * points)
}

/// Runs strip `strip` of the `unit / width` that there are, of a group of the launch.
///
/// Traps if a job does not keep to the views.
///
/// # Safety
/// A block of [`THREADS`] threads, all of which call it; [`holds`] for more places than `local`.
#[inline(always)]
pub unsafe fn run<I: Source, K: Kept, R: Radix>(arguments: Arguments, sizes: Sizes, (strip, local): (u32, u32)) {
    let Arguments { weights, jobs, workspace, taps, count, first_group, rows, .. } = arguments;
    let (radix, points) = (R::POINTS as u32, K::POINTS as u32);
    let units = Units::new::<R>(rows, taps, &sizes);
    let group = first_group + local;
    if group * 2 >= count {
        return;
    }
    let thread = tid_x();
    let shared = Shared::<K::Word>::dynamic();
    let planes = sizes.width / points;
    let mut spectra = [Spectra::NONE; 2];
    unroll!(which in 0 1 {
        let index = group * 2 + which as u32;
        let job = if index < count { job::load(jobs, index as usize) } else { Job::default() };
        if job.spectra > 0 {
            let Some(numbers) = numbers_of::<I>(&arguments, &sizes, rows * radix, &job) else { return trap() };
            let begin = which as u32 * planes * units.plane();
            spectra[which] = Spectra::new(&job, which as u32);
            // Four numbers, of two points, of a unit.
            let quads = (sizes.width / 2).trailing_zeros();
            let needed = units.of(job.spectra, taps) << quads;
            let mut item = thread;
            while item < needed {
                // So that the loop is not unrolled, for which there are no registers.
                item = opaque(item as i32) as u32;
                let (unit, quad) = (item >> quads, item & ((1 << quads) - 1));
                let number = 2 * (unit * sizes.unit + strip * sizes.width + 2 * quad);
                let words = K::words(I::four(&numbers, number));
                let to = begin + 2 / points * quad * units.plane() + units.place(unit);
                unroll!(i in 0 1 {
                    if i < 2 / K::POINTS {
                        shared.store((to + i as u32 * units.plane()) as usize, words[i]);
                    }
                });
                item += THREADS;
            }
        }
    });
    // Where there is no job, values are those of the other: nobody reads them.
    let spectra = if spectra[0].0 == 0 {
        [spectra[1]; 2]
    } else if spectra[1].0 == 0 {
        [spectra[0]; 2]
    } else {
        spectra
    };
    if spectra[0].0 == 0 {
        return;
    }
    bar_sync_0();
    let mut task = thread / 32;
    while task < planes * units.strips * (SPECTRA / 32) {
        // Sizes are computed anew for every task, and again for the stores, so that they take no registers meanwhile.
        let anew = |value: u32| opaque(value as i32) as u32;
        let sizes = Sizes { unit: anew(sizes.unit), width: anew(sizes.width), ..sizes };
        let units = Units::new::<R>(rows, taps, &sizes);
        let (slot, n2, plane, j) = place_of(anew(task), anew(thread), points, strip, &sizes);
        let mut at = [0; 2];
        unroll!(which in 0 1 {
            let begin = spectra[which].which() * (sizes.width / points) * units.plane();
            at[which] = begin + plane * units.plane() + spectra[which].of(slot) * (units.stride >> units.low);
        });
        let mut places = [0; 16];
        unroll!(n1 in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
            if n1 < R::POINTS {
                places[n1] = units.place(n1 as u32 * units.strips + j);
            }
        });
        // From tap to tap.
        let next = units.step >> units.low;
        let mut weight = (n2 / points * taps * radix) as usize;
        let mut sums = [[[0.0f32; 4]; 16]; 2];
        // It is 1, which the assembler does not know: it would unroll the loop, for which there are no registers.
        let one = sizes.width.min(1);
        let mut left = taps;
        while left > 0 {
            unroll!(n1 in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
                if n1 < R::POINTS {
                    let w = K::weights(weights, weight + n1);
                    unroll!(which in 0 1 {
                        let x = K::numbers(shared.load((at[which] + places[n1]) as usize));
                        unroll!(c in 0 1 2 3 {
                            if c < 2 * K::POINTS {
                                sums[which][n1][c] = fma(w[c], x[c], sums[which][n1][c]);
                            }
                        });
                    });
                }
            });
            weight += R::POINTS;
            at = [at[0] + next, at[1] + next];
            left = left.saturating_sub(one);
        }
        let (slot, n2, _, _) = place_of(anew(task), anew(thread), points, strip, &sizes);
        let to = ((local * rows + n2) * radix) as usize * SPECTRA as usize + slot as usize;
        unroll!(p in 0 1 {
            if p < K::POINTS {
                let (mut a, mut b) = (R::ZERO, R::ZERO);
                unroll!(n1 in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
                    if n1 < R::POINTS {
                        a.as_mut()[n1] = [sums[0][n1][2 * p], sums[0][n1][2 * p + 1]];
                        b.as_mut()[n1] = [sums[1][n1][2 * p], sums[1][n1][2 * p + 1]];
                    }
                });
                let (a, b) = (R::transform(a), R::transform(b));
                unroll!(k1 in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
                    if k1 < R::POINTS {
                        let (a, b): (Complex, Complex) = (a.as_ref()[k1], b.as_ref()[k1]);
                        let at = to + (p * R::POINTS + k1) * SPECTRA as usize;
                        workspace.store(at, [a[0], a[1], b[0], b[1]]);
                    }
                });
            }
        });
        task += THREADS / 32;
    }
}

/// Slot of a lane, first point `n2`, plane, and strip of a task: of [`SPECTRA`] slots 32, the next ones, then planes, then
/// strips.
#[inline(always)]
fn place_of(task: u32, thread: u32, points: u32, strip: u32, sizes: &Sizes) -> (u32, u32, u32, u32) {
    let rest = task / (SPECTRA / 32);
    // Planes are a power of two.
    let planes = (sizes.width / points).trailing_zeros();
    let (plane, j) = (rest & ((1 << planes) - 1), rest >> planes);
    let n2 = strip * sizes.width + plane * points + j * sizes.unit;
    (task % (SPECTRA / 32) * 32 + thread % 32, n2, plane, j)
}

/// The spectra of a job in one word, 0 where there is no job: slots before the first one, number of the last one, and
/// which job's samples they have.
#[derive(Clone, Copy)]
struct Spectra(u32);

impl Spectra {
    const NONE: Self = Self(0);

    #[inline(always)]
    fn new(job: &Job, which: u32) -> Self {
        Self(1 << 31 | which << 16 | job.lead() << 8 | (job.spectra - 1))
    }

    /// Which job's samples.
    #[inline(always)]
    fn which(self) -> u32 {
        self.0 >> 16 & 1
    }

    /// The spectrum in a slot, or the nearest.
    #[inline(always)]
    fn of(self, slot: u32) -> u32 {
        let (lead, last) = (self.0 >> 8 & 0xff, self.0 & 0xff);
        let spectrum = slot.saturating_sub(lead);
        if spectrum < last { spectrum } else { last }
    }
}
