//! What a chunk asks for before its spectra, in one launch: rows of bits, counts of zeros.
//!
//! ```text
//! blocks   | tiles of row 0 | tiles of row 1 | ... | counts, a thread each |
//! ```
//!
//! Spans may be in pinned memory, which the kernel reads over the link: a copy of so little would wait behind copies of
//! samples that are as long as a chunk.

use fringes_device::GlobalMut;
use fringes_device::control::trap;
use fringes_device::index::{ctaid_x, ntid_x, tid_x};

use crate::THREADS;
use crate::rows::Append;

/// A chunk's rows and counts.
#[derive(Clone, Copy)]
pub struct Begin {
    /// The rows.
    pub append: Append,
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
        let Self { append, counts } = self;
        let blocks = append.rows as u64 * append.tiles as u64;
        if (ctaid_x() as u64) < blocks {
            return append.run();
        }
        if ntid_x() != THREADS {
            return trap();
        }
        let place = (ctaid_x() as usize - blocks as usize) * THREADS as usize + tid_x() as usize;
        if place < counts.len() {
            counts.store(place, 0);
        }
    }
}
