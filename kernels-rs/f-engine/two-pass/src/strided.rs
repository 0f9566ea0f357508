//! The first pass of plans whose spectra are not a step apart (oversampled ones), of long filters, and of samples of
//! any width: the polyphase filter by multiply-adds, and the transform over the first digit of the points.
//!
//! ```text
//! z[s][n] = x'[s][2 n] + i x'[s][2 n + 1]             x'[s][p] = sum_t w[t][p] x[2 S s + 2 N t + p]
//! y[s][k1][n2] = sum_n1 z[s][N' n1 + n2] exp(-2 pi i n1 k1 / R)          n1, k1 < R, n2 < N' = N / R
//! ```
//!
//! Spectra are `S` points apart, taps `N`. Where `S` is not `N`, spectra of one column have no sample in common, so
//! that no product of matrices has them (as in [`columns`](crate::columns)). But with `Q = gcd(S, N')`, columns that
//! are a multiple of `Q` points apart have: sample `Q u + b` of a job is needed for spectrum `s`, tap `t`, and points
//! `n = N' n1 + Q j + b` of all
//!
//! ```text
//! u = (S / Q) s + (N / Q) t + (N' / Q) n1 + j                    j < N' / Q
//! ```
//!
//! # A block
//! has a group of two jobs and `width` neighbouring `b`, so all `n1` and `N' / Q` strips of `n2`. The samples of
//! *units* `u` are decoded into shared memory once, and are there for all that needs them: with 32/27 and 16 taps each
//! is taken 19 times. A lane has a slot, so a spectrum of both jobs, and a warp a point `n2` of all `n1`: the transform
//! is in registers, and stores are whole lines.
//!
//! `S / Q` is `2^low` times an odd number. Units lie by their remainder modulo `2^low`, so that lanes, whose units are
//! `S / Q` apart, load at odd distances and meet different banks.
//!
//! The phase that a spectrum has by its place in time is in the job's (a rotation of its points would be that as well).
//!
//! # Precision
//! Samples are exact, weights rounded to f32. With `u = 2^-24`, `|dz| <= u (taps + 1) sum_t |w[t][c] x[t][c]|`.
//!
//! # What a sample costs
//! A point of both jobs takes of a tap 4 multiply-adds, 4 conversions of f16, 2 loads of samples, and one of weights,
//! which all lanes share: 3 wavefronts of L1 (5 of f32), and 12 instructions. Of `T` taps and spectra `N / S` times as
//! many as steps these are `T N / S` multiply-adds a sample, 19 with 32/27 and 16 taps, so 57 instructions. Decoding
//! takes 11 more, and loads as many wavefronts as the filter: `width` points are few bytes of a line, and of each quad
//! of numbers two words are loaded, and a third where they reach into it.

use fringes_device::arithmetic::prmt_b32;
use fringes_device::barrier::bar_sync_0;
use fringes_device::control::trap;
use fringes_device::convert::{cvt_f32_f16, cvt_rn_f16x2_f32};
use fringes_device::fused::fma;
use fringes_device::index::tid_x;
use fringes_device::{Shared, Value, opaque, unroll};
use fringes_kernels_common::complex::Complex;

use crate::butterfly::Radix;
use crate::columns::{Arguments, SPECTRA, THREADS};
use crate::job::{self, HELD, JOB_PIECES, Job};
use crate::numbers::{Numbers, Source};

/// Quads of numbers of which a thread has the loads on their way at a time.
const IN_FLIGHT: usize = 4;

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
    /// Places of a point of all units, a plane: such that lanes that store different points meet different banks.
    plane: u32,
}

impl Units {
    /// Those of all spectra of a job.
    #[inline(always)]
    fn new<K: Kept, R: Radix>(rows: u32, taps: u32, sizes: &Sizes) -> Self {
        // A unit is a power of two.
        let unit = sizes.unit.trailing_zeros();
        let (stride, strips) = (sizes.stride >> unit, rows >> unit);
        let step = strips * R::POINTS as u32;
        let low = stride.trailing_zeros();
        let units = (SPECTRA - 1) * stride + taps * step;
        let pitch = (units >> low) + 1;
        // Words of all banks, of which as many lanes as that store at once: each 2 points, of `width`.
        let banks = 128 / size_of::<K::Word>() as u32;
        let places = pitch << low;
        let plane = places + ((banks >> sizes.width.trailing_zeros()).wrapping_sub(places) & (banks / 2 - 1));
        Self { stride, step, strips, low, pitch, plane }
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
}

/// How a point's numbers are kept in shared memory.
pub trait Kept {
    /// A point.
    type Word: Value;
    /// One of zeros.
    const ZERO: Self::Word;

    /// Two numbers as a word.
    fn word(numbers: [f32; 2]) -> Self::Word;

    /// The numbers of a word.
    fn numbers(word: Self::Word) -> [f32; 2];
}

/// f16: of integers of up to 12 bits, and of f16.
pub struct Half;
/// 16 bits of an integer: of integers of up to 16 bits, `x / 2^B` as the whole number `x 2^(16 - B)`.
pub struct Whole;
/// f32.
pub struct Single;

impl Kept for Half {
    type Word = u32;
    const ZERO: u32 = 0;

    #[inline(always)]
    fn word([a, b]: [f32; 2]) -> u32 {
        cvt_rn_f16x2_f32(b, a)
    }

    #[inline(always)]
    fn numbers(word: u32) -> [f32; 2] {
        [cvt_f32_f16(word as u16), cvt_f32_f16((word >> 16) as u16)]
    }
}

impl Kept for Whole {
    type Word = u32;
    const ZERO: u32 = 0x8000_8000;

    /// The fraction of `1.5 + x / 2^B` has `x + 2^(B-1)` at its top.
    #[inline(always)]
    fn word(numbers: [f32; 2]) -> u32 {
        let [a, b] = numbers.map(|number| (number + 1.5).to_bits());
        prmt_b32(a >> 7, b >> 7, 0x5410)
    }

    /// A half `u` below `2^23` in one number is `2^23 + u`.
    #[inline(always)]
    fn numbers(word: u32) -> [f32; 2] {
        const ABOVE: u32 = 0x4b00_0000;
        [0x7610, 0x7632].map(|halves| f32::from_bits(prmt_b32(word, ABOVE, halves)) - 8_421_376.0)
    }
}

impl Kept for Single {
    type Word = [f32; 2];
    const ZERO: [f32; 2] = [0.0; 2];

    #[inline(always)]
    fn word(numbers: [f32; 2]) -> [f32; 2] {
        numbers
    }

    #[inline(always)]
    fn numbers(word: [f32; 2]) -> [f32; 2] {
        word
    }
}

/// Whether sizes are those of a plan, and the views hold what strips of the first `places` groups of a workspace need,
/// jobs apart.
#[inline(always)]
pub fn holds<K: Kept, R: Radix>(arguments: &Arguments, sizes: &Sizes, places: u32) -> bool {
    let Arguments { weights, jobs, workspace, taps, count, rows, .. } = *arguments;
    let Sizes { stride, unit, width, .. } = *sizes;
    let radix = R::POINTS as u32;
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
    let units = Units::new::<K, R>(rows, taps, sizes);
    let words = 2 * width as u64 * units.plane as u64;
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
    let radix = R::POINTS as u32;
    let units = Units::new::<K, R>(rows, taps, &sizes);
    let group = first_group + local;
    if group * 2 >= count {
        return;
    }
    let thread = tid_x();
    // Both numbers' weights of two points, `[n2][tap][n1]`.
    let weights = weights.cast::<[f32; 4]>();
    let shared = Shared::<K::Word>::dynamic();
    let mut spectra = [Spectra::NONE; 2];
    unroll!(which in 0 1 {
        let index = group * 2 + which as u32;
        let job = if index < count { job::load(jobs, index as usize) } else { Job::default() };
        if job.spectra > 0 {
            let Some(numbers) = numbers_of::<I>(&arguments, &sizes, rows * radix, &job) else { return trap() };
            let begin = which as u32 * sizes.width * units.plane;
            spectra[which] = Spectra::new(&job, which as u32);
            // Four numbers, of two points, of a unit.
            let quads = (sizes.width / 2).trailing_zeros();
            let needed = units.of(job.spectra, taps) << quads;
            let mut item = thread;
            while item < needed {
                // Loads of some are on their way at a time. Those past the end are the last one's.
                let mut words = [[K::ZERO; 2]; IN_FLIGHT];
                let mut to = [0; IN_FLIGHT];
                unroll!(i in 0 1 2 3 {
                    if i < IN_FLIGHT {
                        let item = opaque((item + i as u32 * THREADS) as i32) as u32;
                        let item = if item < needed { item } else { needed - 1 };
                        let (unit, quad) = (item >> quads, item & ((1 << quads) - 1));
                        let number = 2 * (unit * sizes.unit + strip * sizes.width + 2 * quad);
                        let [a, b, c, d] = I::four::<true>(&numbers, number);
                        words[i] = [K::word([a, b]), K::word([c, d])];
                        to[i] = begin + 2 * quad * units.plane + units.place(unit);
                    }
                });
                unroll!(i in 0 1 2 3 {
                    if i < IN_FLIGHT && item + i as u32 * THREADS < needed {
                        shared.store(to[i] as usize, words[i][0]);
                        shared.store((to[i] + units.plane) as usize, words[i][1]);
                    }
                });
                item += IN_FLIGHT as u32 * THREADS;
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
    while task < sizes.width * units.strips * (SPECTRA / 32) {
        // Sizes are computed anew for every task, and again for the stores, so that they take no registers meanwhile.
        let anew = |value: u32| opaque(value as i32) as u32;
        let sizes = Sizes { unit: anew(sizes.unit), width: anew(sizes.width), ..sizes };
        let units = Units::new::<K, R>(rows, taps, &sizes);
        let (slot, n2, point, j) = place_of(anew(task), anew(thread), strip, &sizes);
        let mut at = [0; 2];
        unroll!(which in 0 1 {
            let plane = spectra[which].which() * sizes.width + point;
            at[which] = plane * units.plane + spectra[which].of(slot) * (units.stride >> units.low);
        });
        let mut places = [0; 16];
        unroll!(n1 in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
            if n1 < R::POINTS {
                places[n1] = units.place(n1 as u32 * units.strips + j);
            }
        });
        // From tap to tap.
        let next = units.step >> units.low;
        let mut weight = (n2 * taps * radix / 2) as usize;
        let mut sums = [[[0.0f32; 2]; 16]; 2];
        // It is 1, which the assembler does not know: it would unroll the loop, for which there are no registers.
        let one = sizes.width.min(1);
        let mut left = taps;
        while left > 0 {
            unroll!(pair in 0 1 2 3 4 5 6 7 {
                if 2 * pair < R::POINTS {
                    let w = weights.load(weight + pair);
                    unroll!(odd in 0 1 {
                        let n1 = 2 * pair + odd;
                        unroll!(which in 0 1 {
                            let x = K::numbers(shared.load((at[which] + places[n1]) as usize));
                            let [re, im] = sums[which][n1];
                            sums[which][n1] = [fma(w[2 * odd], x[0], re), fma(w[2 * odd + 1], x[1], im)];
                        });
                    });
                }
            });
            weight += R::POINTS / 2;
            at = [at[0] + next, at[1] + next];
            left = left.saturating_sub(one);
        }
        let (slot, n2, _, _) = place_of(anew(task), anew(thread), strip, &sizes);
        let to = ((local * rows + n2) * radix) as usize * SPECTRA as usize + slot as usize;
        let (mut a, mut b) = (R::ZERO, R::ZERO);
        unroll!(n1 in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
            if n1 < R::POINTS {
                (a.as_mut()[n1], b.as_mut()[n1]) = (sums[0][n1], sums[1][n1]);
            }
        });
        let (a, b) = (R::transform(a), R::transform(b));
        unroll!(k1 in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
            if k1 < R::POINTS {
                let (a, b): (Complex, Complex) = (a.as_ref()[k1], b.as_ref()[k1]);
                workspace.store(to + k1 * SPECTRA as usize, [a[0], a[1], b[0], b[1]]);
            }
        });
        task += THREADS / 32;
    }
}

/// Slot of a lane and point `n2` of a task, and the point's number in its unit and the unit's among the strips: tasks
/// are slots of 32, the next ones, then points, then strips.
#[inline(always)]
fn place_of(task: u32, thread: u32, strip: u32, sizes: &Sizes) -> (u32, u32, u32, u32) {
    let (half, rest) = (task % (SPECTRA / 32), task / (SPECTRA / 32));
    // The width is a power of two.
    let (point, j) = (rest & (sizes.width - 1), rest >> sizes.width.trailing_zeros());
    let n2 = strip * sizes.width + point + j * sizes.unit;
    (half * 32 + thread % 32, n2, point, j)
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
