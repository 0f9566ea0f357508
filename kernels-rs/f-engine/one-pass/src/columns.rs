//! The first launch of two for spectra of many points: filter, and the first passes of the transform.
//!
//! `N = R N'` points are `R` *rows* of `N'`, one behind the other. A block has `width` neighbouring points of every
//! row, a *strip*, of up to [`MANY`] spectra of a job. The first passes transform over rows
//! ([`transform`]), so strips need nothing of each other:
//!
//! ```text
//!              strip                        place in the workspace [job][spectrum][row][point]
//! row 0    . . x x x . . . .
//! row 1    . . x x x . . . .      passes of   point j of row b, which then belongs to bins whose first digits are b's
//! row 2    . . x x x . . . .   -> product R
//! ```
//!
//! What is left are transforms of rows, one at a time: those of [`rows`](crate::rows), with some rows of many spectra a
//! block. A spectrum's place in time is no rotation of its points here, as a strip has not all of them: it is in the
//! phases ([`Stamps::Added`](crate::entry::Stamps::Added)).
//!
//! Of spectra oversampled by `P / B` a block has every `P`-th, if `B` is small: they are `B` steps apart, and their
//! filter has rows of samples in common ([`Steps`]). Of others every spectrum has samples of its own ([`Apart`]).
//!
//! # Cost
//! Beside filter and passes, which are those of one launch: the last pass here stores to the workspace, and the first
//! one of rows loads from it, where others use shared memory. That is 16 bytes of L2, or of device memory, for two
//! numbers. Weights and samples of a block are for twelve spectra, so 5.3 bytes of weights a number with 16 taps, and
//! 2.3 times its sample; 4.1 times with 12 spectra that are three steps apart, 16 times if rows are not in common.

use fringes_device::barrier::bar_sync_0;
use fringes_device::control::trap;
use fringes_device::index::{ctaid_x, ctaid_y, ctaid_z, ntid_x, tid_x};
use fringes_device::{Global, GlobalMut, Shared};
use fringes_kernels_common::complex::Complex;
use fringes_kernels_f_engine_two_pass::job::{self, HELD, JOB_PIECES};
use fringes_kernels_f_engine_two_pass::numbers::{Numbers, Source};

use crate::apart::Apart;
use crate::ends::Ends;
use crate::points::Strip;
use crate::run::THREADS;
use crate::shape::{Cut, Shape, slot};
use crate::steps::{MANY, MOST_STEPS, Steps, anew, take_floats};
use crate::transform::{self, Passes, Rows};

/// Everything that the kernel gets.
#[derive(Clone, Copy)]
pub struct Arguments {
    /// Samples of the chunk, and at least two words after the last.
    pub samples: Global<u32>,
    /// Those that are held, likewise.
    pub held: Global<u32>,
    /// Weights `[tap][group]` of four columns.
    pub weights: Global<[f32; 4]>,
    /// Twiddles of all passes.
    pub twiddles: Global<[f32; 4]>,
    /// Jobs.
    pub jobs: Global<[u32; 4]>,
    /// Points on their way to the second launch.
    pub workspace: GlobalMut<[f32; 2]>,
    /// Sizes; the radices are those of the first passes, the slots a job's in the workspace.
    pub shape: Shape,
    /// How the transform is cut.
    pub cut: Cut,
    /// Points of a strip.
    pub width: u32,
    /// Spectra from one of a block to its next.
    pub period: u32,
    /// Spectra of a block.
    pub part: u32,
    /// Whether halves of words are little-endian numbers: i16.
    pub little_endian: bool,
}

impl Arguments {
    /// Whether the views have what the sizes say, beside what the job needs.
    #[inline(always)]
    fn fit(&self, block: u32) -> bool {
        let Self { shape, cut, width, period, part, .. } = self;
        cut.fits(shape, cut.rows)
            && *width > 0
            && *period > 0
            && *period <= shape.columns()
            && (*period == 1 || self.steps() > 0)
            && *part > 0
            && *part <= MANY as u32
            && cut.row(shape).is_multiple_of(*width)
            && ctaid_x() < cut.row(shape) / width
            && self.weights.len() as u64 >= shape.taps as u64 * shape.groups() as u64
            && self.twiddles.len() >= shape.twiddles() as usize
            && self.jobs.len() as u64 >= cut.count as u64 * JOB_PIECES as u64
            && self.workspace.len() as u64 >= (block as u64 + 1) * shape.slots as u64 * shape.points as u64
            && Shared::<[f32; 4]>::dynamic().len() as u64 * 2 >= *part as u64 * slot(cut.rows * width) as u64
    }

    /// First spectrum of a part: so many of each that are a multiple of the period apart follow each other.
    #[inline(always)]
    const fn first_of(&self, part: u32) -> u32 {
        let (group, within) = (part / self.period, part % self.period);
        group.wrapping_mul(self.part).wrapping_mul(self.period).wrapping_add(within)
    }

    /// Steps from one spectrum of a block to its next; 0 if these are none, or too many.
    #[inline(always)]
    const fn steps(&self) -> u32 {
        let (numbers, columns) = (self.shape.stride as u64 * self.period as u64, self.shape.columns() as u64);
        if numbers.is_multiple_of(columns) && numbers <= MOST_STEPS as u64 * columns {
            (numbers / columns) as u32
        } else {
            0
        }
    }
}

/// Runs this block: strip, part of a job's spectra, job.
///
/// What the arguments, the tables and the job say is checked; where something lies outside its view, the kernel traps.
#[inline(always)]
pub fn run<I: Source>(arguments: Arguments) {
    let Arguments { samples, held, weights, twiddles, jobs, workspace, shape, cut, width, period, .. } = arguments;
    let (strip, part, block) = (ctaid_x(), ctaid_y(), ctaid_z());
    let index = cut.first_job.wrapping_add(block);
    if index >= cut.count {
        return;
    }
    if ntid_x() != THREADS || !arguments.fit(block) {
        return trap();
    }
    // SAFETY: the table has the job.
    let job = unsafe { job::load(jobs, index as usize) };
    let first = arguments.first_of(part);
    if first >= job.spectra {
        return;
    }
    let samples = if job.flags & HELD != 0 { held } else { samples };
    let numbers = if job.spectra <= shape.slots && I::has(shape.bits, job.first_bit) {
        Numbers::new(samples, job.first_bit, shape.bits, arguments.little_endian, shape.numbers(job.spectra))
    } else {
        None
    };
    let Some(numbers) = numbers else { return trap() };
    let (thread, spectra) = (tid_x(), (job.spectra - first).div_ceil(period).min(arguments.part));
    let (row, size) = (cut.row(&shape), cut.rows * width);
    let of = Strip::new(cut.rows, row, strip * width, width);
    // SAFETY: views and shared memory hold what is taken of them, as has been checked; all threads of the block come
    // here or none, and barriers are between writing and reading by others.
    unsafe {
        let points = Shared::<[f32; 4]>::dynamic().cast::<[f32; 2]>();
        let (steps, alone) = (
            Steps { numbers, weights: weights.cast(), shape, of },
            Apart { numbers, weights: weights.cast(), shape, of },
        );
        let start = first * shape.stride;
        match if I::FINITE || take_floats(&shape, spectra) { arguments.steps() } else { 0 } {
            1 => steps.run::<I, 1>(start, spectra, points, thread, THREADS),
            2 => steps.run::<I, 2>(start, spectra, points, thread, THREADS),
            3 => steps.run::<I, 3>(start, spectra, points, thread, THREADS),
            4 => steps.run::<I, 4>(start, spectra, points, thread, THREADS),
            5 => steps.run::<I, 5>(start, spectra, points, thread, THREADS),
            _ => alone.run::<I>((first, period), spectra, points, thread, THREADS),
        }
        bar_sync_0();
        let passes = Passes { size, row: size, radices: shape.radices, rows: Rows::WHOLE, first_twiddle: 0 };
        let slots = block as u64 * shape.slots as u64 + arguments.first_of(anew(part)) as u64;
        let all = shape.points;
        let apart = period * all;
        let to = workspace.part(slots as usize * all as usize, ((spectra - 1) * apart + all) as usize);
        let ends = Leaving { to, apart, row, first: strip * width };
        if !transform::run::<_, true>(&passes, ends, spectra, points, twiddles, thread, THREADS) {
            trap();
        }
    }
}

/// Points that the last pass stores to the workspace.
#[derive(Clone, Copy)]
struct Leaving {
    /// Points `[spectrum][row][point]`.
    to: GlobalMut<[f32; 2]>,
    /// Points from one spectrum of the block to its next.
    apart: u32,
    /// Points of a row.
    row: u32,
    /// First point of the strip.
    first: u32,
}

impl Ends for Leaving {
    const FROM: bool = false;
    const TO: bool = true;

    #[inline(always)]
    fn first(&self, s: u32, block: u32, j: u32, radix: u32) -> u32 {
        s * self.apart + block * radix * self.row + self.first + j
    }

    #[inline(always)]
    fn apart(&self, _: u32) -> u32 {
        self.row
    }

    #[inline(always)]
    unsafe fn load(&self, _: u32) -> Complex {
        [0.0; 2]
    }

    #[inline(always)]
    unsafe fn store(&self, place: u32, value: Complex) {
        self.to.store(place as usize, value);
    }
}
