//! Where a block of the first pass finds its jobs' samples, and asks for those of blocks to come.
//!
//! # Entries
//! What is needed of a job to load its samples is an [`Entry`] in shared memory. Where samples are packed every warp
//! has its own, so that none waits for another before its first load, and one warp looks besides whether values of
//! the jobs have places; the barrier behind the samples tells all. Of other samples that gained nothing, or lost
//! (D-199), and so did asking for samples of blocks to come.
//!
//! # Samples of blocks to come
//! Blocks that begin together want their samples from the device's memory together, and then leave it idle. So a block
//! that has its samples asks for others in the L2, those of the block that comes next on its multiprocessor, while it
//! computes. All blocks of a group read lines of the same rows, so each asks for a share of whole lines that follow
//! each other: of rows behind a job's history, which jobs before it have asked for.

use fringes_device::barrier::bar_red_or_pred_0;
use fringes_device::copy_async::prefetch_global_l2;
use fringes_device::warp::bar_warp_sync;
use fringes_device::{Global, Shared, opaque};

use crate::butterfly::Radix;
use crate::columns::{GROUP, Limits, SPECTRA, THREADS, group_pieces, job_pieces, pieces};
use crate::job::{self, HELD, Job};

/// Bytes of a line of the L2.
const LINE: u32 = 128;

/// What blocks find jobs and their samples by.
#[derive(Clone, Copy)]
pub(crate) struct Sources<'a> {
    /// Samples of the chunk, and those that are held.
    pub(crate) samples: [Global<u32>; 2],
    /// Jobs, and how many there are.
    pub(crate) jobs: (Global<[u32; 4]>, u32),
    /// What jobs are checked against.
    pub(crate) limits: &'a Limits,
    /// Taps.
    pub(crate) taps: u32,
    /// Words from row to row.
    pub(crate) row_words: u32,
    /// What a job's first bit must be a multiple of.
    pub(crate) multiple: u32,
}

impl Sources<'_> {
    /// Writes the entries of both jobs of a group, of each warp its own. Whether one of the jobs does not keep to the
    /// views, for one thread or more of the block; samples of such a job are not loaded.
    ///
    /// # Safety
    /// - All threads of the block call it.
    #[inline(always)]
    pub(crate) unsafe fn write_each<const M: usize, R: Radix>(
        &self,
        group: u32,
        thread: u32,
        shared: Shared<[u32; 4]>,
    ) -> bool {
        let (warp, which) = (thread / 32, thread % 32);
        let mut fault = false;
        if which < 2 {
            let mut entry = [0; 4];
            if group * 2 + which < self.jobs.1 {
                let job = job::load(self.jobs.0, (group * 2 + which) as usize);
                let samples = self.of(&job);
                let found = Entry::of(samples, &job, self.taps);
                fault = job.spectra > 0
                    && (!found[2].is_multiple_of(self.multiple)
                        || !has_rows(samples, (self.taps, self.row_words), &job));
                if !fault {
                    entry = found;
                }
                // That values have places is looked at by one warp: the others load samples meanwhile.
                if warp == THREADS / 32 - 1 {
                    fault |= !self.limits.hold(&job);
                }
            }
            shared.store(Entry::piece(M as u32, R::POINTS as u32, which, warp), entry);
        }
        bar_warp_sync(u32::MAX);
        fault
    }

    /// Writes the entries of both jobs of a group for all warps. Whether one of the jobs does not keep to the views,
    /// for all threads.
    ///
    /// # Safety
    /// - All threads of the block call it.
    #[inline(always)]
    pub(crate) unsafe fn write_for_all<const M: usize, R: Radix>(
        &self,
        group: u32,
        thread: u32,
        shared: Shared<[u32; 4]>,
    ) -> bool {
        // Two threads look at the two jobs.
        let mut fault = false;
        if thread < 2 {
            let mut entry = [0; 4];
            if group * 2 + thread < self.jobs.1 {
                let job = job::load(self.jobs.0, (group * 2 + thread) as usize);
                let samples = self.of(&job);
                let sizes = (self.taps, self.row_words);
                let fits = job.spectra == 0 || self.limits.hold(&job) && reach(samples, sizes, &job);
                let found = Entry::of(samples, &job, self.taps);
                let odd = found[3] > 0 && !found[2].is_multiple_of(self.multiple);
                (fault, entry) = (!fits || odd, found);
            }
            shared.store(Entry::piece(M as u32, R::POINTS as u32, thread, 0), entry);
        }
        bar_red_or_pred_0(fault)
    }

    /// Asks for a share of the samples of the block that is `ahead` blocks behind strip `strip` of `strips` of a group,
    /// if there is one; 0 asks for nothing.
    ///
    /// # Safety
    /// - There are strips. All else is safe: samples are there, or not asked for.
    #[inline(always)]
    pub(crate) unsafe fn ask_ahead(&self, ahead: u32, group: u32, (strip, strips): (u32, u32), thread: u32) {
        if ahead == 0 {
            return;
        }
        let block = strip.wrapping_add(ahead);
        let index = group.wrapping_add(block / strips).wrapping_mul(2) | (thread / (THREADS / 2));
        if index >= self.jobs.1 {
            return;
        }
        let job = job::load(self.jobs.0, index as usize);
        let samples = self.of(&job);
        if job.spectra == 0 || !has_rows(samples, (self.taps, self.row_words), &job) {
            return;
        }
        let share = 4 * self.row_words * job.spectra / strips;
        let first = 4 * self.row_words * (self.taps - 1) + block % strips * share;
        let from = samples.address(0).wrapping_add(job.first_bit / 32 * 4).wrapping_add(first as u64);
        let mut byte = thread % (THREADS / 2) * LINE;
        while byte < share {
            prefetch_global_l2(from.wrapping_add(byte as u64));
            byte += THREADS / 2 * LINE;
        }
    }

    /// The view that has a job's samples.
    #[inline(always)]
    fn of(&self, job: &Job) -> Global<u32> {
        let [chunk, held] = self.samples;
        if job.flags & HELD != 0 { held } else { chunk }
    }
}

/// Whether the samples of a job that has spectra are there.
///
/// # Safety
/// - Nothing but numbers is looked at: safe for every job.
#[inline(always)]
unsafe fn has_rows(samples: Global<u32>, sizes: (u32, u32), job: &Job) -> bool {
    job.spectra <= SPECTRA && job.first_bit < 1 << 60 && reach(samples, sizes, job)
}

/// Whether the samples of a job reach as far as its last row, if numbers are not too large ([`has_rows`],
/// [`Limits::hold`]).
///
/// # Safety
/// - Nothing but numbers is looked at: safe for every job.
#[inline(always)]
unsafe fn reach(samples: Global<u32>, (taps, row_words): (u32, u32), job: &Job) -> bool {
    let rows = (job.spectra as u64).wrapping_add(taps as u64).wrapping_sub(1);
    // Computed anew for every job, so that they take no registers meanwhile.
    let anew = |value: u64| opaque(value as i32) as u32 as u64 | (opaque((value >> 32) as i32) as u32 as u64) << 32;
    let before = anew(samples.address(0)) % 16;
    // Of the 16 bytes, wherever they begin, that have the last bit all are there.
    let end = (8 * before).wrapping_add(job.first_bit).wrapping_add((32 * row_words as u64).wrapping_mul(rows));
    end.div_ceil(128) <= (before + 4 * anew(samples.len() as u64)) / 16
}

/// What the threads of a warp know of a job: an entry behind the pieces of eight of its columns, of each warp that has
/// its own behind others.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    /// Address of the 16 bytes that have the first bit.
    pub(crate) address: u64,
    /// The first bit among those of the 16 bytes.
    pub(crate) bit: u32,
    /// Slots before the first spectrum's.
    pub(crate) lead: u32,
    /// Rows of samples, none where there is no job.
    pub(crate) rows: u32,
}

impl Entry {
    /// Piece of the entry of the one or the other job that a warp has.
    pub(crate) const fn piece(m: u32, radix: u32, which: u32, warp: u32) -> usize {
        (which * job_pieces(m, radix) + warp * group_pieces(m) + GROUP as u32 * pieces(m)) as usize
    }

    /// The entry of a job.
    ///
    /// # Safety
    /// - Nothing is loaded: safe for every job. What it gives may be used if the job [has rows](has_rows) or no
    ///   spectra.
    #[inline(always)]
    pub(crate) unsafe fn of(samples: Global<u32>, job: &Job, taps: u32) -> [u32; 4] {
        let byte = samples.address(0).wrapping_add(job.first_bit / 32 * 4);
        let address = byte / 16 * 16;
        let bit = byte as u32 % 16 * 8 + job.first_bit as u32 % 32;
        let rows = if job.spectra > 0 { job.spectra + taps - 1 } else { 0 };
        [address as u32, (address >> 32) as u32, bit | job.lead() << 8, rows]
    }

    /// The entry at a piece of shared memory.
    ///
    /// # Safety
    /// - One has been written there ([`Sources::write_each`], [`Sources::write_for_all`]).
    #[inline(always)]
    pub(crate) unsafe fn load(shared: Shared<[u32; 4]>, piece: usize) -> Self {
        let [low, high, both, rows] = shared.load(piece);
        Self { address: low as u64 | (high as u64) << 32, bit: both & 0xff, lead: both >> 8, rows }
    }
}
