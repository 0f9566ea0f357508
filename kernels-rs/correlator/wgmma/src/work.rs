//! What there is to do, and which part of it a block does.

use fringes_device::Global;
use fringes_device::index::{ctaid_x, nctaid_x};

/// What a launch correlates.
///
/// Copies see the samples as `[row][channel][rows of inputs][bytes]`: a row is a block of times (rows) or a batch
/// (heaps). A *step* fills a stage; each row takes `chunks` of them, the first one, of which `head` bytes are left out,
/// `head_chunks`.
#[derive(Clone, Copy)]
pub(crate) struct Work {
    /// Channels.
    pub(crate) channels: u32,
    /// Inputs.
    pub(crate) inputs: u32,
    /// The first row.
    pub(crate) first_row: u32,
    /// Bytes at the start of the first row that are left out.
    pub(crate) head: u32,
    /// Steps of the first row.
    pub(crate) head_chunks: u32,
    /// Steps of the other rows.
    pub(crate) chunks: u32,
    /// The row for which the second map is used, which ends where the times do.
    pub(crate) last_row: u32,
    /// Steps in all.
    pub(crate) steps: u32,
    /// Parts that the steps are divided into, each with sums of its own.
    pub(crate) parts: u32,
    /// How far blocks change places from one round of jobs to the next.
    pub(crate) rotate: u32,
}

/// A tile of one channel and part.
#[derive(Clone, Copy)]
pub(crate) struct Job {
    /// Row and column of the tile.
    pub(crate) row: u32,
    pub(crate) column: u32,
    pub(crate) channel: u32,
    /// The part's sums of this channel are number `part * channels + channel`.
    pub(crate) matrix: u32,
    /// Its steps.
    pub(crate) first_step: u32,
    pub(crate) steps: u32,
}

/// A block's jobs, one after another: job `round + place`, where places rotate from round to round, so that no block
/// gets only tiles of one kind.
#[derive(Clone, Copy)]
pub(crate) struct Jobs {
    round: u32,
    place: u32,
}

impl Work {
    /// Tiles of `inputs` inputs a side that a channel has.
    #[inline(always)]
    pub(crate) fn tiles(&self, inputs: u32) -> u32 {
        let rows = self.inputs.div_ceil(inputs);
        rows * (rows + 1) / 2
    }

    /// Whether the numbers make sense: jobs can be counted, no part is empty, the sums are there (or, if `none`, none
    /// at all), and a list of rows has all of them (or is empty).
    #[inline(always)]
    pub(crate) fn fits(&self, inputs: u32, sums: usize, none: bool, list: usize) -> bool {
        let baselines = u64::from(self.inputs) * (u64::from(self.inputs) + 1) / 2;
        let matrices = u64::from(self.channels) * u64::from(self.parts);
        self.inputs >= 1
            && self.inputs <= 1 << 15
            && self.parts >= 1
            && self.parts <= self.steps
            && u64::from(self.steps) * u64::from(self.parts) < 1 << 32
            && matrices < 1 << 31
            && matrices * u64::from(self.tiles(inputs)) < 1 << 31
            && ((none && sums == 0) || matrices * baselines <= sums as u64)
            && self.chunks >= 1
            && self.head_chunks >= 1
            && (list == 0 || (self.start(self.steps - 1, 1).0 as usize) < list)
    }

    /// This block's jobs.
    #[inline(always)]
    pub(crate) fn jobs(&self) -> Jobs {
        Jobs { round: 0, place: ctaid_x() }
    }

    /// Whether a tile of `inputs` inputs a side has rows above its 64th.
    #[inline(always)]
    pub(crate) fn high(&self, job: Job, inputs: u32) -> bool {
        self.inputs - job.row * inputs > 64
    }

    /// Row and byte at which a step begins.
    #[inline(always)]
    pub(crate) fn start(&self, step: u32, bytes: u32) -> (u32, u32) {
        if step < self.head_chunks {
            (self.first_row, self.head + step * bytes)
        } else {
            let step = step - self.head_chunks;
            let rows = step.checked_div(self.chunks).unwrap_or_default();
            (self.first_row + 1 + rows, (step - rows * self.chunks) * bytes)
        }
    }

    /// Whether a row's steps end with the byte before `byte`.
    #[inline(always)]
    pub(crate) fn ends(&self, row: u32, byte: u32, bytes: u32) -> bool {
        let (start, chunks) = if row == self.first_row { (self.head, self.head_chunks) } else { (0, self.chunks) };
        byte == start + chunks * bytes
    }
}

/// Where a row lies: in a list, or where its number says.
///
/// # Safety
/// The list is empty, or has an element `row`.
#[inline(always)]
pub(crate) unsafe fn place(list: Global<u32>, row: u32) -> u32 {
    if list.is_empty() { row } else { list.load(row as usize) }
}

impl Jobs {
    /// The next job, with tiles of `inputs` inputs a side.
    #[inline(always)]
    pub(crate) fn next(&mut self, work: &Work, inputs: u32) -> Option<Job> {
        let tiles = work.tiles(inputs);
        let index = self.round + self.place;
        if index >= tiles * work.channels * work.parts {
            return None;
        }
        // Blocks whose place is beyond the last round's jobs have none there, and that is their end.
        self.round += nctaid_x();
        self.place = (self.place + work.rotate).checked_rem(nctaid_x()).unwrap_or_default();
        let matrix = index.checked_div(tiles).unwrap_or_default();
        let (row, column) = fringes_kernels_correlator_core::tile::position(index - matrix * tiles);
        let part = matrix.checked_div(work.channels).unwrap_or_default();
        let bound = |part: u32| (part * work.steps).checked_div(work.parts).unwrap_or_default();
        let first_step = bound(part);
        Some(Job {
            row,
            column,
            channel: matrix - part * work.channels,
            matrix,
            first_step,
            steps: bound(part + 1) - first_step,
        })
    }
}
