//! A block's work: a job.

use fringes_device::barrier::bar_sync_0;
use fringes_device::control::trap;
use fringes_device::index::{ctaid_x, ntid_x, tid_x};
use fringes_device::warp::redux_sync_add_u32;
use fringes_device::{Global, GlobalMut, Shared};
use fringes_kernels_common::quantise::Output;
use fringes_kernels_f_engine_two_pass::job::{self, HELD, JOB_PIECES, Launch, NEXT};

use crate::ends::InPlace;
use crate::entry::{self, ENTRY};
use crate::filter::Filter;
use crate::post::{Post, pairs};
use crate::shape::{Shape, slot};
use crate::transform;
use crate::write;
use fringes_kernels_f_engine_two_pass::numbers::{Numbers, Source};

pub use fringes_kernel_abi::f_engine::one_pass::THREADS;

/// Everything that a kernel gets.
#[derive(Clone, Copy)]
pub struct Arguments<T> {
    /// Samples of the chunk, and at least two words after the last.
    pub samples: Global<u32>,
    /// Those that are held, likewise.
    pub held: Global<u32>,
    /// Weights `[tap][group]` of four columns.
    pub weights: Global<[f32; 4]>,
    /// Twiddles ([`crate::transform`]).
    pub twiddles: Global<[f32; 4]>,
    /// Pairs of real samples ([`crate::post`]); nothing of complex ones.
    pub pairs: Global<[u32; 4]>,
    /// Channel of each position.
    pub channels: Global<u32>,
    /// Gains `[input][pair]` or `[input][position]`.
    pub gains: Global<[f32; 2]>,
    /// Jobs.
    pub jobs: Global<[u32; 4]>,
    /// Number of jobs.
    pub count: u32,
    /// Sizes.
    pub shape: Shape,
    /// Whether halves of words are little-endian numbers: i16.
    pub little_endian: bool,
    /// Output: of the frames that are complete, and of those that come next.
    pub out: [GlobalMut<T>; 2],
    /// Counts of saturated values, likewise.
    pub saturated: [GlobalMut<u32>; 2],
    /// Places in the output, dither.
    pub launch: Launch,
}

/// Gains of an input: two a pair of real samples, one a position of complex ones.
#[inline(always)]
pub(crate) const fn gains(points: u32, complex: bool) -> u32 {
    if complex { points } else { 2 * pairs(points) }
}

impl<T> Arguments<T> {
    /// Whether the views have what the sizes say, beside what each job needs.
    #[inline(always)]
    fn fit(&self, complex: bool) -> bool {
        let (shape, points) = (&self.shape, self.shape.points as usize);
        // In this order: products do not wrap once the shape fits.
        shape.fits()
            && self.weights.len() as u64 >= shape.taps as u64 * shape.groups() as u64
            && self.twiddles.len() >= shape.twiddles() as usize
            && self.channels.len() >= points
            && (complex || self.pairs.len() >= pairs(shape.points) as usize)
            && self.jobs.len() as u64 >= self.count as u64 * JOB_PIECES as u64
            && Shared::<[f32; 4]>::dynamic().len() as u64 * 2
                >= shape.slots as u64 * (slot(shape.points) + 2 * ENTRY) as u64
    }
}

/// Runs this block's job.
///
/// What the arguments, the tables and the job say is checked; where something lies outside its view, the kernel traps.
#[inline(always)]
pub fn run<I: Source, O: Output, const COMPLEX: bool>(arguments: Arguments<O::Stored>) {
    let Arguments { weights, twiddles, channels, jobs, shape, launch, .. } = arguments;
    if ctaid_x() >= arguments.count {
        return;
    }
    if ntid_x() != THREADS || !arguments.fit(COMPLEX) {
        return trap();
    }
    // SAFETY: the table has the job.
    let job = unsafe { job::load(jobs, ctaid_x() as usize) };
    if job.spectra == 0 {
        return;
    }
    let samples = if job.flags & HELD != 0 { arguments.held } else { arguments.samples };
    let (out, saturated) = if job.flags & NEXT == 0 {
        (arguments.out[0], arguments.saturated[0])
    } else {
        (arguments.out[1], arguments.saturated[1])
    };
    let each = gains(shape.points, COMPLEX);
    let first_gain = job.input as u64 * each as u64;
    let fits = job.spectra <= shape.slots
        && I::has(shape.bits, job.first_bit)
        && first_gain + each as u64 <= arguments.gains.len() as u64
        && launch.holds(&job, out.len())
        && (!O::INTEGER || (job.count as usize) < saturated.len());
    let numbers = if fits {
        let count = shape.numbers(job.spectra);
        Numbers::new(samples, job.first_bit, shape.bits, arguments.little_endian, count)
    } else {
        None
    };
    let Some(numbers) = numbers else { return trap() };
    let thread = tid_x();
    // SAFETY: views and shared memory hold what is taken of them, as has been checked; all threads of the block come
    // here or none, and barriers are between writing and reading by others.
    unsafe {
        let shared = Shared::<[f32; 4]>::dynamic();
        let entries = shared.part(0, (shape.slots * ENTRY) as usize).cast::<[u32; 4]>();
        let after = (shape.slots * ENTRY) as usize;
        let points = shared.part(after, shared.len() - after).cast::<[f32; 2]>();
        entry::prepare(entries, &job, entry::Stamps::Rotated(&shape), launch.seed, thread, THREADS);
        bar_sync_0();
        Filter { numbers, weights, shape }.run::<I>(job.spectra, points, entries, thread, THREADS);
        bar_sync_0();
        let Shape { points: size, radices, .. } = shape;
        let passes = transform::Passes { size, row: size, radices, rows: transform::Rows::WHOLE, first_twiddle: 0 };
        if !transform::run::<_, true>(&passes, InPlace, job.spectra, points, twiddles, thread, THREADS) {
            return trap();
        }
        bar_sync_0();
        let post = Post {
            shape,
            spectra: job.spectra,
            points,
            entries,
            all: shape.points,
            items: if COMPLEX { shape.points } else { pairs(shape.points) },
            pairs: arguments.pairs,
            channels,
            gains: arguments.gains.part(first_gain as usize, each as usize),
            first_channel: launch.first_channel,
            range: launch.channels,
            dither: launch.dither,
        };
        let (beyond, right) = if I::FINITE {
            post.run::<O, COMPLEX, true>(thread, THREADS)
        } else {
            post.run::<O, COMPLEX, false>(thread, THREADS)
        };
        bar_sync_0();
        // Loaded anew, so that it takes no registers meanwhile.
        let job = job::load(jobs, ctaid_x() as usize);
        write::run(out, points, channels, &shape, &job, &launch, thread, THREADS);
        if O::INTEGER {
            let beyond = redux_sync_add_u32(beyond, u32::MAX);
            if beyond > 0 && thread.is_multiple_of(32) {
                saturated.atomic_add(job.count as usize, beyond);
            }
        }
        if !right {
            trap();
        }
    }
}
