//! Which tiles a block forms, one after another.
//!
//! A *strip* is tiles of a channel that follow each other, and that have something in common:
//!
//! - *down*, their times follow each other and columns are the same, so weights are. Strips of the same times and other
//!   columns follow each other, so that blocks that run at the same time read the same samples, which the L2 then
//!   holds.
//! - *across*, their columns follow each other and times are the same, so samples are. The strips of the same times
//!   follow each other, if there are several.
//!
//! From one strip of a block to the next it is a *step*, which is the same for all: a thread computes it once, and
//! leaves it in shared memory.

use fringes_device::index::{ctaid_x, nctaid_x};
use fringes_device::{Shared, opaque};
use fringes_kernels_beamformer_core::work::{Job, Work};

/// Bytes of shared memory for a step.
pub(crate) const STEP_BYTES: u32 = 16;

/// Channel, and two numbers of which the last one counts first. Down: the strip of a channel and of the same columns
/// (its *segment*), the tile of columns. Across: the tile of times, the segment of its columns.
type Place = [u32; 3];

/// How a channel is divided into strips.
#[derive(Clone, Copy)]
struct Division {
    /// How many there are of the last number of a [`Place`].
    last: u32,
    /// And of the one before.
    middle: u32,
    /// Strips of what follows each other in them: one of those two.
    segments: u32,
}

impl Division {
    #[inline(always)]
    fn new<const ACROSS: bool>(work: &Work, length: u32, columns: u32) -> Self {
        let (columns, times) = (work.tiles(columns), work.time_tiles());
        let segments = |tiles: u32| (tiles + length - 1).checked_div(length).unwrap_or_default();
        if ACROSS {
            let segments = segments(columns);
            Self { last: segments, middle: times, segments }
        } else {
            let segments = segments(times);
            Self { last: columns, middle: segments, segments }
        }
    }

    /// Strip `number`.
    #[inline(always)]
    fn strip(&self, number: u32) -> Place {
        let rest = number.checked_div(self.last).unwrap_or_default();
        let channel = rest.checked_div(self.middle).unwrap_or_default();
        [channel, rest - channel * self.middle, number - rest * self.last]
    }
}

/// Leaves the step of this block's strips, and how many segments there are, in shared memory.
///
/// # Safety
/// One thread calls it; there are [`STEP_BYTES`] of shared memory at `step`, a multiple of 16, and a barrier of the
/// block is before the strips are used.
#[inline(always)]
pub(crate) unsafe fn put_step<const ACROSS: bool>(work: &Work, length: u32, columns: u32, step: u32) {
    let division = Division::new::<ACROSS>(work, length, columns);
    let [channel, middle, last] = division.strip(nctaid_x());
    Shared::<[u32; 4]>::from_raw_parts(step, 1).store(0, [channel, middle, last, division.segments]);
}

/// A block's strips of `length` tiles (1 to 2^24), across or down.
#[derive(Clone, Copy)]
pub(crate) struct Strips<const ACROSS: bool> {
    next: Place,
    length: u32,
    /// Where the step is.
    step: u32,
}

/// The tiles of a strip that are still to come.
#[derive(Clone, Copy)]
pub(crate) struct Tiles<const ACROSS: bool> {
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
pub(crate) fn anew(number: u32) -> u32 {
    opaque(number as i32) as u32
}

impl<const ACROSS: bool> Strips<ACROSS> {
    /// This block's strips in tiles of `columns` columns, whose step is at the shared address `step`.
    #[inline(always)]
    pub(crate) fn new(work: &Work, length: u32, columns: u32, step: u32) -> Self {
        Self { next: Division::new::<ACROSS>(work, length, columns).strip(anew(ctaid_x())), length, step }
    }

    /// Whether weights stay for a strip that goes down.
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
    pub(crate) unsafe fn next(&mut self, work: &Work, columns: u32) -> Tiles<ACROSS> {
        let [channel, middle, last] = self.next;
        // The sum of the strip and the step, digit by digit.
        let [channels, some, others, segments] = Shared::<[u32; 4]>::from_raw_parts(self.step, 1).load(0);
        let tiles = Work { count: anew(work.count), ..*work }.tiles(columns);
        let lasts = if ACROSS { segments } else { tiles };
        let sum = last + others;
        let carry = sum >= lasts;
        let after = if carry { sum - lasts } else { sum };
        let middles = if ACROSS { Work { end: anew(work.end), ..*work }.time_tiles() } else { segments };
        let sum = middle + some + u32::from(carry);
        let carry = sum >= middles;
        self.next = [channel + channels + u32::from(carry), if carry { sum - middles } else { sum }, after];
        let work = &Work { end: anew(work.end), ..*work };
        if ACROSS {
            let first = last * self.length;
            let job = Job { channel, time: work.first_tile() + middle, column: first };
            Tiles { job, left: self.length.min(tiles - first), first: true }
        } else {
            let first = middle * self.length;
            let job = Job { channel, time: work.first_tile() + first, column: last };
            Tiles { job, left: self.length.min(work.time_tiles() - first), first: true }
        }
    }
}

impl<const ACROSS: bool> Tiles<ACROSS> {
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
        if ACROSS {
            self.job.column = job.column + 1;
        } else {
            self.job.time = job.time + 1;
        }
        (self.left, self.first) = (self.left - 1, false);
        Tile { job, first, last: self.left == 0 }
    }

    /// The first tile that is still to come.
    #[inline(always)]
    pub(crate) fn job(&self) -> Job {
        self.job
    }
}
