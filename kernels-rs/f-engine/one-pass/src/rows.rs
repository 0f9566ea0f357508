//! The second launch of two for spectra of many points: the other passes of the transform, row by row, and everything
//! after it.
//!
//! A block has one or two rows ([`columns`](crate::columns)) of some spectra of a job in shared memory, one behind the
//! other in a slot. Of real samples channels `k` and `N - k` are made together ([`post`](crate::post)): row `b` has all
//! channels `k` that are `kappa(b)` modulo `R`, and those of `N - k` are in the row of `-kappa(b)`. So these two are a
//! block's; rows that have their own, `kappa = 0` and `R / 2`, are another's. Of complex samples a block has a row.
//!
//! # Tables
//! The host has rows in the order of the blocks, and says of each block `[numbers of its rows, first of their
//! positions, first pair, pairs]`, both numbers in halves of a word, [`NONE`] in the high one if there is a single row.

use fringes_device::barrier::bar_sync_0;
use fringes_device::control::trap;
use fringes_device::index::{ctaid_x, ctaid_y, ctaid_z, ntid_x, tid_x};
use fringes_device::warp::redux_sync_add_u32;
use fringes_device::{Global, GlobalMut, Shared};
use fringes_kernels_common::complex::Complex;
use fringes_kernels_common::quantise::Output;
use fringes_kernels_f_engine_two_pass::job::{self, JOB_PIECES, Job, Launch, NEXT};

use crate::ends::Ends;
use crate::entry::{self, ENTRY, Stamps};
use crate::post::Post;
use crate::run::{THREADS, gains};
use crate::shape::{Cut, Shape, slot};
use crate::transform::{self, Passes, Rows};
use crate::write;

/// In place of a second row.
pub const NONE: u32 = 0xffff;

/// Everything that the kernel gets.
#[derive(Clone, Copy)]
pub struct Arguments<T> {
    /// Points of the first launch.
    pub workspace: Global<[f32; 2]>,
    /// Twiddles of all passes.
    pub twiddles: Global<[f32; 4]>,
    /// Rows of each block.
    pub blocks: Global<[u32; 4]>,
    /// Pairs of real samples, positions within a slot; nothing of complex ones.
    pub pairs: Global<[u32; 4]>,
    /// Channel of each position.
    pub channels: Global<u32>,
    /// Gains `[input][pair]` or `[input][position]`.
    pub gains: Global<[f32; 2]>,
    /// Jobs.
    pub jobs: Global<[u32; 4]>,
    /// Sizes; the radices are those of the last passes, the slots a job's in the workspace.
    pub shape: Shape,
    /// How the transform is cut.
    pub cut: Cut,
    /// Pairs of twiddles of the first passes.
    pub first_twiddle: u32,
    /// Spectra of a block.
    pub part: u32,
    /// Output: of the frames that are complete, and of those that come next.
    pub out: [GlobalMut<T>; 2],
    /// Counts of saturated values, likewise.
    pub saturated: [GlobalMut<u32>; 2],
    /// Places in the output, dither.
    pub launch: Launch,
}

/// The rows of a block.
#[derive(Clone, Copy)]
struct Block {
    rows: Rows,
    /// Points of a slot.
    size: u32,
    first_position: u32,
    first_pair: u32,
    /// Pairs of real samples, points of complex ones.
    items: u32,
}

impl<T> Arguments<T> {
    /// Whether the views have what the sizes say, beside what the job and the block need.
    #[inline(always)]
    fn fit(&self, index: u32) -> bool {
        let Self { shape, cut, .. } = self;
        cut.fits(shape, shape.points / cut.rows.max(1))
            && self.part > 0
            && self.part <= shape.slots
            && self.twiddles.len() as u64 >= self.first_twiddle as u64 + shape.twiddles_from(cut.rows) as u64
            && ctaid_y() < self.blocks.len() as u32
            && self.jobs.len() as u64 >= cut.count as u64 * JOB_PIECES as u64
            && self.workspace.len() as u64 >= (index as u64 + 1) * shape.slots as u64 * shape.points as u64
    }

    /// The rows of a block, if they are within the tables and a slot of them `part` times within shared memory.
    ///
    /// # Safety
    /// - The table has the block.
    #[inline(always)]
    unsafe fn block<const COMPLEX: bool>(&self, index: u32) -> Option<Block> {
        let [numbers, first_position, first_pair, items] = self.blocks.load(index as usize);
        let (a, b) = (numbers & 0xffff, numbers >> 16);
        let count = if b == NONE { 1 } else { 2 };
        let size = count * self.cut.row(&self.shape);
        let rows = Rows { all: self.cut.rows, count, numbers: [a, if b == NONE { 0 } else { b }] };
        let has = a < self.cut.rows
            && (b < self.cut.rows || b == NONE)
            && items <= size + 1
            && (!COMPLEX || items <= size)
            && first_position as u64 + size as u64 <= self.channels.len() as u64
            && first_position <= self.shape.points - size
            && (COMPLEX || first_pair as u64 + items as u64 <= self.pairs.len() as u64)
            && first_pair as u64 + items as u64 <= self.shape.points as u64 + 1
            && Shared::<[f32; 4]>::dynamic().len() as u64 * 2 >= self.part as u64 * (slot(size) + 2 * ENTRY) as u64;
        if has { Some(Block { rows, size, first_position, first_pair, items }) } else { None }
    }
}

/// Some spectra of a job as a job.
#[inline(always)]
const fn part_of(job: &Job, first: u32, spectra: u32) -> Job {
    let ahead = first as u64;
    Job {
        phase: job.phase.wrapping_add(job.phase_rate.wrapping_mul(ahead)),
        slope: job.slope.wrapping_add(job.slope_rate.wrapping_mul(ahead)),
        spectrum: job.spectrum.wrapping_add(ahead),
        time: job.time.wrapping_add(first),
        spectra,
        ..*job
    }
}

/// Runs this block: part of a job's spectra, rows, job.
///
/// What the arguments, the tables and the job say is checked; where something lies outside its view, the kernel traps.
#[inline(always)]
pub fn run<O: Output, const COMPLEX: bool>(arguments: Arguments<O::Stored>) {
    let Arguments { workspace, twiddles, channels, jobs, shape, cut, part, launch, .. } = arguments;
    let index = cut.first_job.wrapping_add(ctaid_z());
    if index >= cut.count {
        return;
    }
    if ntid_x() != THREADS || !arguments.fit(ctaid_z()) {
        return trap();
    }
    // SAFETY: the tables have the job and the block.
    let (job, block) = unsafe { (job::load(jobs, index as usize), arguments.block::<COMPLEX>(ctaid_y())) };
    let first = ctaid_x().wrapping_mul(part);
    if first >= job.spectra {
        return;
    }
    let Some(Block { rows, size, first_position, first_pair, items }) = block else { return trap() };
    let (out, saturated) = if job.flags & NEXT == 0 {
        (arguments.out[0], arguments.saturated[0])
    } else {
        (arguments.out[1], arguments.saturated[1])
    };
    let each = gains(shape.points, COMPLEX);
    let first_gain = job.input as u64 * each as u64;
    let fits = job.spectra <= shape.slots
        && first_gain + each as u64 <= arguments.gains.len() as u64
        && launch.holds(&job, out.len())
        && (!O::INTEGER || (job.count as usize) < saturated.len());
    if !fits {
        return trap();
    }
    let (thread, spectra) = (tid_x(), (job.spectra - first).min(part));
    let row = cut.row(&shape);
    // SAFETY: views and shared memory hold what is taken of them, as has been checked; all threads of the block come
    // here or none, and barriers are between writing and reading by others.
    unsafe {
        let shared = Shared::<[f32; 4]>::dynamic();
        let entries = shared.part(0, (part * ENTRY) as usize).cast::<[u32; 4]>();
        let after = (part * ENTRY) as usize;
        let points = shared.part(after, shared.len() - after).cast::<[f32; 2]>();
        let middle = if COMPLEX { shape.points / 2 } else { 0 };
        let of_part = part_of(&job, first, spectra);
        entry::prepare(entries, &of_part, Stamps::Added(&shape, middle), launch.seed, thread, THREADS);
        let slots = ctaid_z() as u64 * shape.slots as u64 + first as u64;
        let from = workspace.part(slots as usize * shape.points as usize, (spectra * shape.points) as usize);
        let ends = Coming { from, all: shape.points, row, rows };
        let Arguments { first_twiddle, .. } = arguments;
        let passes = Passes { size, row, radices: shape.radices, rows, first_twiddle };
        if !transform::run::<_, false>(&passes, ends, spectra, points, twiddles, thread, THREADS) {
            return trap();
        }
        bar_sync_0();
        // What follows has a slot's points alone.
        let of_slot = Shape { points: size, ..shape };
        let channels = channels.part(first_position as usize, size as usize);
        let gain = first_gain as usize + if COMPLEX { first_position } else { 2 * first_pair } as usize;
        let post = Post {
            shape: of_slot,
            all: shape.points,
            items,
            spectra,
            points,
            entries,
            pairs: if COMPLEX { arguments.pairs } else { arguments.pairs.part(first_pair as usize, items as usize) },
            channels,
            gains: arguments.gains.part(gain, if COMPLEX { items } else { 2 * items } as usize),
            first_channel: launch.first_channel,
            range: launch.channels,
            dither: launch.dither,
        };
        let (beyond, right) = post.run::<O, COMPLEX, false>(thread, THREADS);
        bar_sync_0();
        // Loaded anew, so that it takes no registers meanwhile.
        let job = part_of(&job::load(jobs, index as usize), first, spectra);
        write::run(out, points, channels, &of_slot, &job, &launch, thread, THREADS);
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

/// Points that the first pass loads from the workspace.
#[derive(Clone, Copy)]
struct Coming {
    /// Points `[spectrum][row][point]`.
    from: Global<[f32; 2]>,
    /// Points of a spectrum.
    all: u32,
    /// Points of a row.
    row: u32,
    rows: Rows,
}

impl Ends for Coming {
    const FROM: bool = true;
    const TO: bool = false;

    #[inline(always)]
    fn first(&self, s: u32, block: u32, j: u32, _: u32) -> u32 {
        let row = if block == 0 { self.rows.numbers[0] } else { self.rows.numbers[1] };
        s * self.all + row * self.row + j
    }

    #[inline(always)]
    fn apart(&self, distance: u32) -> u32 {
        distance
    }

    #[inline(always)]
    unsafe fn load(&self, place: u32) -> Complex {
        self.from.load(place as usize)
    }

    #[inline(always)]
    unsafe fn store(&self, _: u32, _: Complex) {}
}
