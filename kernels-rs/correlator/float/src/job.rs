//! What a launch sums, and which part of it a block takes.
//!
//! Rows are `[channel][time / 16][input][16]` complex f32, 128 bytes each; sums `[part][channel][baseline]`, the packed
//! lower triangle `a (a + 1) / 2 + b` of inputs `a >= b`. The rows that the range of times touches are divided over the
//! parts, whole rows each; times of the first and the last row that lie outside of the range count as zeros, whatever
//! the row holds there.

use fringes_device::index::{ctaid_y, ctaid_z, nctaid_y};

pub use fringes_kernel_abi::correlator::float::{FLUSH_ROWS, ROW_TIMES};

/// Bytes of a row.
pub const ROW_BYTES: u32 = fringes_kernel_abi::rows::BYTES as u32;

/// The sizes that a kernel takes.
#[derive(Debug, Clone, Copy)]
pub struct Job {
    /// Channels.
    pub channels: u32,
    /// Inputs.
    pub inputs: u32,
    /// Rows of time of each channel.
    pub blocks: u32,
    /// The first time that is summed.
    pub first_time: u32,
    /// Times that are summed.
    pub times: u32,
    /// Accumulators that the times are divided over.
    pub parts: u32,
}

impl Job {
    /// Whether so many bytes of rows and so many sums hold what the sizes say. No sums at all fit too: then none is
    /// written.
    #[inline(always)]
    pub fn fits(&self, row_bytes: usize, sums: usize) -> bool {
        let product = |a: u32, b: u64| u64::from(a).saturating_mul(b);
        let rows = product(self.blocks, product(self.inputs, u64::from(ROW_BYTES)));
        self.blocks <= u32::MAX / ROW_TIMES
            && self.parts > 0
            && u64::from(self.first_time) + u64::from(self.times) <= u64::from(self.blocks) * u64::from(ROW_TIMES)
            && product(self.channels, rows) <= row_bytes as u64
            && product(self.channels, u64::from(self.parts)) <= u64::from(u32::MAX)
            && (sums == 0 || product(self.parts, product(self.channels, self.baselines())) <= sums as u64)
    }

    /// Products of inputs.
    #[inline(always)]
    pub fn baselines(&self) -> u64 {
        u64::from(self.inputs) * (u64::from(self.inputs) + 1) / 2
    }

    /// The accumulator that this block adds to, `part channels + channel`; none if the grid is larger than the job.
    #[inline(always)]
    pub fn slot(&self) -> Option<u32> {
        let slot = u64::from(ctaid_y()) + u64::from(nctaid_y()) * u64::from(ctaid_z());
        if slot < u64::from(self.channels) * u64::from(self.parts) { Some(slot as u32) } else { None }
    }

    /// The rows of an accumulator.
    #[inline(always)]
    pub fn span(&self, slot: u32) -> Span {
        let part = slot.checked_div(self.channels).unwrap_or(0);
        let channel = slot - part * self.channels;
        let first = self.first_time / ROW_TIMES;
        let end = self.first_time + self.times;
        let rows = if self.times == 0 { 0 } else { end.div_ceil(ROW_TIMES) - first };
        let boundary =
            |part: u32| first + (u64::from(part) * u64::from(rows)).checked_div(self.parts.into()).unwrap_or(0) as u32;
        Span { channel, row: boundary(part), end: boundary(part + 1), times: [self.first_time, end] }
    }

    /// Byte of the row of input 0 at row `row` of time.
    #[inline(always)]
    pub fn row_byte(&self, channel: u32, row: u32) -> u64 {
        (u64::from(channel) * u64::from(self.blocks) + u64::from(row)) * u64::from(self.inputs) * u64::from(ROW_BYTES)
    }
}

/// Rows of time of a channel, and which times count.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// The channel.
    pub channel: u32,
    /// The next row.
    pub row: u32,
    /// The row after the last one.
    pub end: u32,
    /// The first time that counts, and the one after the last.
    pub times: [u32; 2],
}

impl Span {
    /// Rows that are left.
    #[inline(always)]
    pub fn rows(&self) -> u32 {
        self.end - self.row
    }

    /// Whether all times of the next row count.
    #[inline(always)]
    pub fn whole(&self) -> bool {
        let start = self.row * ROW_TIMES;
        start >= self.times[0] && start + ROW_TIMES <= self.times[1]
    }

    /// Whether this time of the next row counts.
    #[inline(always)]
    pub fn counts(&self, time: u32) -> bool {
        let time = self.row * ROW_TIMES + time;
        time >= self.times[0] && time < self.times[1]
    }
}
