//! Jobs of a launch, made of runs: jobs that follow each other in all but what grows evenly.
//!
//! ```text
//! spectra of a run     | frame 0: lead .. | frame 1: lead .. | ...      each of `spectra` spectra
//! jobs                 [0 ][1   ][2   ][3 ][4 ][5   ][6   ][7 ]          none longer than a kernel takes
//! places in the table  first, first + apart, first + 2 apart, ...
//! ```
//!
//! A host would make a job of 80 bytes for each 64 spectra, more slowly than kernels of few channels run them. It makes
//! runs: one of an input as long as delays are on a line and no sample is missing, whatever the spectra.
//!
//! A job ends where its run's frame does, or where the next spectrum's number is a multiple of `block`, so that the
//! first one may be shorter. All that a job has is its run's first job's, and its rate times the spectra between them.
//!
//! A warp has a run, or a part of its jobs, and a lane a job. Runs are in pinned memory, which is read over the link:
//! 96 bytes a warp.

use fringes_device::control::trap;
use fringes_device::index::{ctaid_x, ntid_x, tid_x};
use fringes_device::{Global, GlobalMut, unroll};
use fringes_kernel_abi::f_engine::{JOB_PIECES, Job};

use crate::THREADS;

/// Pieces of 16 bytes of a run: those of its first job, whose `spectra` are those of a frame; then the job's place in
/// the table, from job to job, frames, and which place of a ring the first job's period has.
pub const RUN_PIECES: usize = JOB_PIECES + 1;

/// What runs of a launch share.
#[derive(Clone, Copy)]
pub struct Sizes {
    /// Spectra from frame to frame.
    pub frame: u32,
    /// Most spectra of a job that begins with a multiple of `block`.
    pub most: u32,
    /// A job that begins with spectrum `s` has at most `most - s % block`.
    pub block: u32,
    /// Bits from spectrum to spectrum.
    pub spectrum_bits: u64,
    /// Spectra of a period of the output.
    pub period: u32,
    /// Elements from period to period.
    pub period_stride: u64,
    /// Periods after which places begin again: those of a ring.
    pub turns: u32,
    /// Counts from frame to frame.
    pub inputs: u32,
}

/// Runs, and where their jobs go.
#[derive(Clone, Copy)]
pub struct Runs {
    /// `copied` pieces, and behind them the runs.
    pub tables: Global<[u32; 4]>,
    /// The same pieces, and behind them the jobs.
    pub out: GlobalMut<[u32; 4]>,
    /// Pieces that are copied.
    pub copied: u32,
    /// Runs.
    pub runs: u32,
    /// Warps of a run.
    pub parts: u32,
    /// What they share.
    pub sizes: Sizes,
}

impl Runs {
    /// Does a warp's part.
    #[inline(always)]
    pub fn run(self) {
        let Self { tables, out, copied, runs, parts, sizes } = self;
        let needed = copied as u64 + runs as u64 * RUN_PIECES as u64;
        if ntid_x() != THREADS || (tables.len() as u64) < needed || out.len() < copied as usize || !sizes.valid() {
            return trap();
        }
        let lane = tid_x() % 32;
        let warp = ctaid_x() as u64 * (THREADS / 32) as u64 + (tid_x() / 32) as u64;
        let copying = copied.div_ceil(32) as u64;
        if warp < copying {
            let piece = 32 * warp as usize + lane as usize;
            if piece < copied as usize {
                // SAFETY: both views have so many pieces.
                unsafe { out.store(piece, tables.load(piece)) }
            }
            return;
        }
        let parts = if parts > 0 { parts } else { 1 };
        let (run, part) = ((warp - copying) / parts as u64, (warp - copying) % parts as u64);
        if run >= runs as u64 {
            return;
        }
        let at = copied as usize + run as usize * RUN_PIECES;
        // SAFETY: the view has all pieces of all runs.
        let piece = |i: usize| unsafe { tables.load(at + i) };
        let first = Job::from_pieces([piece(0), piece(1), piece(2), piece(3), piece(4)]);
        let [index, apart, frames, turn] = piece(JOB_PIECES);
        let lead = (first.spectrum % sizes.block as u64) as u32;
        if lead >= sizes.most || turn >= sizes.turns || apart == 0 || first.spectra > u32::MAX - 2 * sizes.most {
            return trap();
        }
        let of_frame = (first.spectra + lead).div_ceil(sizes.most);
        if of_frame == 0 {
            return;
        }
        let jobs = of_frame as u64 * frames as u64;
        // Jobs are in the table, and have numbers of 32 bits.
        let places = (out.len() - copied as usize) as u64 / JOB_PIECES as u64;
        let last = jobs.saturating_sub(1).saturating_mul(apart as u64).saturating_add(index as u64);
        if last >= places || places > u32::MAX as u64 {
            return trap();
        }
        let mut number = part * 32 + lane as u64;
        while number < jobs {
            let (frame, of_run) = (number as u32 / of_frame, number as u32 % of_frame);
            let pieces = pieces(&sizes.job(&first, (frame, of_run), lead, turn));
            let place = copied as usize + (index as usize + number as usize * apart as usize) * JOB_PIECES;
            unroll!(i in 0 1 2 3 4 {
                // SAFETY: the last job is in the view.
                unsafe { out.store(place + i, pieces[i]) }
            });
            number += 32 * parts as u64;
        }
    }
}

impl Sizes {
    /// Whether jobs can be made.
    #[inline(always)]
    fn valid(&self) -> bool {
        self.most > 0 && self.most < 1 << 24 && self.block > 0 && self.period > 0 && self.turns > 0
    }

    /// Job `number` of frame `frame` of a run, whose frames have `lead` slots before their first spectra.
    #[inline(always)]
    fn job(&self, first: &Job, (frame, number): (u32, u32), lead: u32, turn: u32) -> Job {
        let begin = if number == 0 { 0 } else { number * self.most - lead };
        let end = (number + 1) * self.most - lead;
        let end = if end < first.spectra { end } else { first.spectra };
        let ahead = frame as u64 * self.frame as u64 + begin as u64;
        let time = first.time as u64 + ahead;
        let periods = time / self.period as u64;
        let turned = (turn as u64 + periods) % self.turns as u64;
        let strides = turned.wrapping_sub(turn as u64);
        Job {
            first_bit: first.first_bit.wrapping_add(ahead.wrapping_mul(self.spectrum_bits)),
            place: first.place.wrapping_add(strides.wrapping_mul(self.period_stride)),
            phase: first.phase.wrapping_add(first.phase_rate.wrapping_mul(ahead)),
            phase_rate: first.phase_rate,
            slope: first.slope.wrapping_add(first.slope_rate.wrapping_mul(ahead)),
            slope_rate: first.slope_rate,
            spectrum: first.spectrum.wrapping_add(ahead),
            spectra: end - begin,
            time: (time % self.period as u64) as u32,
            input: first.input,
            count: first.count.wrapping_add(frame.wrapping_mul(self.inputs)),
            flags: first.flags,
        }
    }
}

/// A job as it lies in memory, in registers: what [`Job::words`] gives.
#[inline(always)]
fn pieces(job: &Job) -> [[u32; 4]; JOB_PIECES] {
    let two = |a: u64, b: u64| [a as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32];
    [
        two(job.first_bit, job.place),
        two(job.phase, job.phase_rate),
        two(job.slope, job.slope_rate),
        [job.spectrum as u32, (job.spectrum >> 32) as u32, job.spectra, job.time],
        [job.input, job.count, job.flags, 0],
    ]
}
