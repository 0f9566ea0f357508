//! Which tiles a block forms, one after another.
//!
//! A *strip* is tiles of a channel whose times follow each other, of the same columns: their weights are the same.
//! Those of the same times and other columns follow each other, so that blocks that run at the same time read the same
//! samples, which the L2 then holds.
//!
//! From one strip of a block to the next it is a *step*, which is the same for all: a thread computes it once, and
//! leaves it in shared memory.

use fringes_device::index::{ctaid_x, nctaid_x};
use fringes_device::{Shared, opaque};
use fringes_kernels_beamformer_core::work::{Job, Work};

/// Bytes of shared memory for a step.
pub(crate) const STEP_BYTES: u32 = 16;

/// Channel, strip of a channel and of the same columns (its *segment*), tile of columns.
type Place = [u32; 3];

/// How the times of a channel are divided.
#[derive(Clone, Copy)]
struct Division {
    /// Tiles of columns.
    columns: u32,
    /// Tiles of times.
    times: u32,
    /// Tiles of a strip; of the last one of a channel there may be fewer.
    length: u32,
    /// Strips of a channel and of the same columns.
    segments: u32,
}

impl Division {
    #[inline(always)]
    fn new(work: &Work, length: u32, columns: u32) -> Self {
        let (columns, times) = (work.tiles(columns), work.time_tiles());
        Self { columns, times, length, segments: (times + length - 1).checked_div(length).unwrap_or_default() }
    }

    /// Strip `number`.
    #[inline(always)]
    fn strip(&self, number: u32) -> Place {
        let rest = number.checked_div(self.columns).unwrap_or_default();
        let channel = rest.checked_div(self.segments).unwrap_or_default();
        [channel, rest - channel * self.segments, number - rest * self.columns]
    }
}

/// Leaves the step of this block's strips, and how many segments there are, in shared memory.
///
/// # Safety
/// One thread calls it; there are [`STEP_BYTES`] of shared memory at `step`, a multiple of 16, and a barrier of the
/// block is before the strips are used.
#[inline(always)]
pub(crate) unsafe fn put_step(work: &Work, length: u32, columns: u32, step: u32) {
    let division = Division::new(work, length, columns);
    let [channel, segment, column] = division.strip(nctaid_x());
    Shared::<[u32; 4]>::from_raw_parts(step, 1).store(0, [channel, segment, column, division.segments]);
}

/// A block's strips of `length` tiles (1 to 2^24).
#[derive(Clone, Copy)]
pub(crate) struct Strips {
    next: Place,
    length: u32,
    /// Where the step is.
    step: u32,
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

/// The same number, of which the compiler knows nothing: what follows from it is computed where it is used, as there
/// are no registers to keep it.
#[inline(always)]
fn anew(number: u32) -> u32 {
    opaque(number as i32) as u32
}

impl Strips {
    /// This block's strips in tiles of `columns` columns, whose step is at the shared address `step`.
    #[inline(always)]
    pub(crate) fn new(work: &Work, length: u32, columns: u32, step: u32) -> Self {
        Self { next: Division::new(work, length, columns).strip(anew(ctaid_x())), length, step }
    }

    /// Whether weights stay for a strip.
    #[inline(always)]
    pub(crate) fn stay(&self) -> bool {
        self.length > 1
    }

    /// Whether there is a next strip.
    #[inline(always)]
    pub(crate) fn go_on(&self, work: &Work) -> bool {
        self.next[0] < work.channels
    }

    /// The tiles of the next strip, of `columns` columns.
    ///
    /// # Safety
    /// There is one ([`Strips::go_on`]), and the step is there ([`put_step`]).
    #[inline(always)]
    pub(crate) unsafe fn next(&mut self, work: &Work, columns: u32) -> Tiles {
        let [channel, segment, column] = self.next;
        // The sum of the strip and the step, digit by digit.
        let [channels, some, others, segments] = Shared::<[u32; 4]>::from_raw_parts(self.step, 1).load(0);
        let tiles = Work { count: anew(work.count), ..*work }.tiles(columns);
        let sum = column + others;
        let carry = sum >= tiles;
        let after = if carry { sum - tiles } else { sum };
        let sum = segment + some + u32::from(carry);
        let carry = sum >= segments;
        self.next = [channel + channels + u32::from(carry), if carry { sum - segments } else { sum }, after];
        let work = &Work { end: anew(work.end), ..*work };
        let first = segment * self.length;
        let job = Job { channel, time: work.first_tile() + first, column };
        Tiles { job, left: self.length.min(work.time_tiles() - first), first: true }
    }
}

impl Tiles {
    /// Whether there is a next tile.
    #[inline(always)]
    pub(crate) fn go_on(&self) -> bool {
        self.left != 0
    }

    /// The next tile, if there is one ([`Tiles::go_on`]).
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Tile {
        // What follows from the columns is computed anew for each tile.
        let job = Job { channel: anew(self.job.channel), column: anew(self.job.column), time: self.job.time };
        let first = self.first;
        (self.job.time, self.left, self.first) = (job.time + 1, self.left - 1, false);
        Tile { job, first, last: self.left == 0 }
    }

    /// The first tile that is still to come.
    #[inline(always)]
    pub(crate) fn job(&self) -> Job {
        self.job
    }
}
