//! What a chunk asks for before its spectra, in one launch: rows of bits, jobs from the host's memory, counts of zeros.
//!
//! ```text
//! blocks   | tiles of row 0 | tiles of row 1 | ... | jobs, then counts, a thread each piece |
//! ```
//!
//! Spans and jobs are in pinned memory, which the kernel reads over the link: a copy of so little would wait behind
//! copies of samples that are as long as a chunk.

use fringes_device::GlobalMut;
use fringes_device::control::trap;
use fringes_device::index::{ctaid_x, ntid_x, tid_x};

use crate::THREADS;
use crate::rows::{Append, SPAN_PIECES};

/// A chunk's rows, jobs and counts.
#[derive(Clone, Copy)]
pub struct Begin {
    /// The rows.
    pub append: Append,
    /// Where jobs go.
    pub jobs: GlobalMut<[u32; 4]>,
    /// Counts that are to be zeros.
    pub counts: GlobalMut<u32>,
}

impl Begin {
    /// Does a block's part.
    ///
    /// # Safety
    /// As [`Append::run`].
    #[inline(always)]
    pub unsafe fn run(self) {
        let Self { append, jobs, counts } = self;
        let blocks = append.rows as u64 * append.tiles as u64;
        if (ctaid_x() as u64) < blocks {
            return append.run();
        }
        let first = append.rows as usize * SPAN_PIECES;
        if ntid_x() != THREADS || append.tables.len() < first + jobs.len() {
            return trap();
        }
        let place = (ctaid_x() as usize - blocks as usize) * THREADS as usize + tid_x() as usize;
        if place < jobs.len() {
            jobs.store(place, append.tables.load(first + place));
        } else if place - jobs.len() < counts.len() {
            counts.store(place - jobs.len(), 0);
        }
    }
}
