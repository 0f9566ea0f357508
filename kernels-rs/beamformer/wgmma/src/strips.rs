//! Which tiles a block forms, one after another.
//!
//! A *strip* is tiles of a channel whose times follow each other, of the same columns: their weights are the same. Those
//! of the same times and other columns follow each other, so that blocks that run at the same time read the same
//! samples, which the L2 then holds.

use fringes_device::index::{ctaid_x, nctaid_x};
use fringes_device::opaque;
use fringes_kernels_beamformer_core::work::{Job, Work};

/// The same number, of which the compiler knows nothing: what follows from it is computed where it is used.
#[inline(always)]
fn anew(number: u32) -> u32 {
    opaque(number as i32) as u32
}

/// A block's strips.
#[derive(Clone, Copy)]
pub(crate) struct Strips {
    /// Number of the next one.
    next: u32,
    /// Tiles of a strip; of the last one of a channel there may be fewer.
    length: u32,
}

/// The tiles of a strip that are still to come.
#[derive(Clone, Copy)]
pub(crate) struct Tiles {
    /// The next one.
    job: Job,
    /// How many.
    left: u32,
    /// Whether none has come yet.
    first: bool,
}

/// A tile, and which one of its strip it is.
#[derive(Clone, Copy)]
pub(crate) struct Tile {
    pub(crate) job: Job,
    /// The first one.
    pub(crate) first: bool,
    /// The last one.
    pub(crate) last: bool,
}

impl Strips {
    /// This block's strips of `length` tiles (1 to 2^24).
    #[inline(always)]
    pub(crate) fn new(length: u32) -> Self {
        Self { next: anew(ctaid_x()), length }
    }

    /// Whether weights stay for a strip.
    #[inline(always)]
    pub(crate) fn stay(&self) -> bool {
        self.length > 1
    }

    /// The tiles of the next strip, of `columns` columns. What it is follows from its number: that takes divisions, all
    /// of them here, but registers for nothing else.
    #[inline(always)]
    pub(crate) fn next(&mut self, work: &Work, columns: u32) -> Option<Tiles> {
        let work = &Work { count: anew(work.count), end: anew(work.end), ..*work };
        let (columns, times, length) = (work.tiles(columns), work.time_tiles(), anew(self.length));
        let segments = (times + length - 1).checked_div(length).unwrap_or_default();
        let rest = self.next.checked_div(columns).unwrap_or_default();
        let channel = rest.checked_div(segments).unwrap_or_default();
        if channel >= work.channels {
            return None;
        }
        let first = (rest - channel * segments) * length;
        let time = work.first_tile() + first;
        let job = Job { channel, time, column: self.next - rest * columns };
        self.next += nctaid_x();
        Some(Tiles { job, left: length.min(times - first), first: true })
    }
}

impl Tiles {
    /// The next tile.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<Tile> {
        if self.left == 0 {
            return None;
        }
        // What follows from the columns is computed anew for each tile: there are no registers to keep it.
        let job = Job { channel: anew(self.job.channel), column: anew(self.job.column), time: self.job.time };
        let first = self.first;
        (self.job.time, self.left, self.first) = (job.time + 1, self.left - 1, false);
        Some(Tile { job, first, last: self.left == 0 })
    }

    /// The first tile that is still to come.
    #[inline(always)]
    pub(crate) fn job(&self) -> Job {
        self.job
    }
}
