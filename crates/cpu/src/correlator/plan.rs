//! How the work is split, and what memory that takes.

use fringes_types::SampleFormat;

/// Inputs `a` of a panel: lanes of a register.
pub(super) const LANES: usize = 8;
/// Inputs `b` of a group: 6 x 2 registers of sums leave 4 of 16 for what is multiplied.
pub(super) const GROUP: usize = 6;
/// Spectra whose integer sums stay in i32, and whose float sums are one f64 partial sum.
pub(super) const SEGMENT: usize = 8192;
/// Spectra whose float products are summed in f32. Blocks are multiples of it.
pub(super) const FLOAT_RUN: usize = 64;
/// Spectra of a block, unless memory is short: with 128 8-bit inputs, a packed block is 400 KB.
const BLOCK: usize = 512;

// The largest possible |sum| of a segment, with unsigned 8-bit values on one side.
const _: () = assert!(SEGMENT as u64 * 2 * 255 * 128 <= i32::MAX as u64);
const _: () = assert!(SEGMENT.is_multiple_of(BLOCK) && BLOCK.is_multiple_of(FLOAT_RUN));

/// Panels of eight inputs.
pub(super) fn panels(inputs: usize) -> usize {
    inputs.div_ceil(LANES)
}

/// Groups of six inputs.
pub(super) fn groups(inputs: usize) -> usize {
    inputs.div_ceil(GROUP)
}

/// Groups that reach the lower triangle in a panel: those with an input not above the panel's last.
pub(super) fn groups_of_panel(inputs: usize, panel: usize) -> usize {
    let last = inputs.min((panel + 1) * LANES);
    last.div_ceil(GROUP)
}

/// Temporary memory of the correlator in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Workspace {
    /// When every thread of the current rayon pool has its own.
    pub full_bytes: u64,
    /// The least that the work can be done with.
    pub smallest_bytes: u64,
}

/// Temporary memory that [`accumulate`](super::accumulate) takes, beside voltages and sums, in the current rayon pool.
pub fn workspace(format: SampleFormat, channels: usize, times: usize, inputs: usize) -> Workspace {
    let split = Split::new(format, channels, times, inputs, rayon::current_num_threads(), None);
    let smallest = job_bytes(format, inputs, FLOAT_RUN);
    Workspace { full_bytes: split.bytes(format, inputs), smallest_bytes: smallest }
}

/// Bytes of one job: a packed block and the tiles of a segment (saturating).
fn job_bytes(format: SampleFormat, inputs: usize, block: usize) -> u64 {
    // 4-byte lanes; the wide side twice, the narrow side twice for the kernels in f32. No kernel takes more.
    let step = (panels(inputs) * LANES * 8) as u64 + (groups(inputs) * GROUP * 8) as u64;
    let sum = match format {
        SampleFormat::Int4 | SampleFormat::Int8 | SampleFormat::Int16 => size_of::<i32>(),
        SampleFormat::Float16 | SampleFormat::Float32 => size_of::<f64>(),
    };
    let tiles: u64 = (0..panels(inputs)).map(|panel| groups_of_panel(inputs, panel) as u64).sum();
    let sums = tiles.saturating_mul((GROUP * 2 * LANES * sum) as u64);
    step.saturating_mul(block as u64).saturating_add(sums).saturating_add(inputs as u64 * 8)
}

/// How one call is split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Split {
    /// Spectra packed at a time, a multiple of [`FLOAT_RUN`].
    pub(super) block: usize,
    /// Jobs that are in memory at the same time.
    pub(super) jobs: usize,
    /// What runs in parallel.
    pub(super) parallel: Parallel,
}

/// What runs in parallel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parallel {
    /// Channels; the segments of a channel follow each other.
    Channels,
    /// Channels and segments: as many segments of every channel at a time as jobs allow.
    Segments,
    /// Panels of one job at a time.
    Panels,
}

impl Split {
    pub(super) fn new(
        format: SampleFormat,
        channels: usize,
        times: usize,
        inputs: usize,
        threads: usize,
        limit: Option<u64>,
    ) -> Self {
        let segments = times.div_ceil(SEGMENT);
        let block = times.min(BLOCK).next_multiple_of(FLOAT_RUN);
        let outer = channels.saturating_mul(segments);
        let fitting = limit.map_or(usize::MAX, |limit| (limit / job_bytes(format, inputs, block).max(1)) as usize);
        let panels_suffice = panels(inputs) >= 2 * threads;
        if panels_suffice && (outer < 4 * threads || fitting < threads) {
            return Self { block, jobs: 1, parallel: Parallel::Panels }.shrunk(format, inputs, limit);
        }
        if channels >= 4 * threads || segments == 1 || fitting < 2 * channels {
            let jobs = threads.min(channels).min(fitting).max(1);
            return Self { block, jobs, parallel: Parallel::Channels }.shrunk(format, inputs, limit);
        }
        let jobs = (4 * threads).max(2 * channels).min(outer).min(fitting);
        Self { block, jobs, parallel: Parallel::Segments }
    }

    /// With the block halved until the jobs fit the limit, if they can.
    fn shrunk(mut self, format: SampleFormat, inputs: usize, limit: Option<u64>) -> Self {
        while limit.is_some_and(|limit| self.bytes(format, inputs) > limit) && self.block > FLOAT_RUN {
            self.block = (self.block / 2).next_multiple_of(FLOAT_RUN);
        }
        self
    }

    fn bytes(&self, format: SampleFormat, inputs: usize) -> u64 {
        (self.jobs as u64).saturating_mul(job_bytes(format, inputs, self.block))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_split_is_within_the_limit_or_the_smallest(
            channels in 1usize..5000, times in 1usize..200_000, inputs in 1usize..700, threads in 1usize..130,
            share in 0.0f64..2.0,
        ) {
            for format in [SampleFormat::Int8, SampleFormat::Float32] {
                let full = Split::new(format, channels, times, inputs, threads, None);
                let smallest = job_bytes(format, inputs, FLOAT_RUN);
                prop_assert!(full.bytes(format, inputs) >= smallest);
                let limit = (full.bytes(format, inputs) as f64 * share) as u64;
                let split = Split::new(format, channels, times, inputs, threads, Some(limit));
                prop_assert!(split.bytes(format, inputs) <= limit.max(smallest), "{:?}", split);
                prop_assert!(split.block.is_multiple_of(FLOAT_RUN) && split.block > 0 && split.jobs > 0);
            }
        }
    }

    #[test]
    fn a_panel_meets_every_group_of_its_triangle_and_no_other() {
        for inputs in 1..100 {
            for panel in 0..panels(inputs) {
                let last = inputs.min((panel + 1) * LANES) - 1;
                let reached = (0..groups(inputs)).filter(|group| group * GROUP <= last).count();
                assert_eq!(groups_of_panel(inputs, panel), reached);
            }
        }
    }
}
