//! Short runs of heaps that lie on the device, as those of bins: the heaps of all runs are copied to follow each other,
//! and multiplied together. An addition reads and writes all sums, which takes longer than a copy of few heaps.

use std::ops::Range;

use fringes_backend::DeviceArray;
use fringes_types::VoltageSample;
use ndarray::Axis;

use super::DeviceSums;
use crate::CorrelatorError;
use crate::chunk::{Description, Layout};
use crate::selection::Times;

/// Spectra of a run, on the average, from which on runs are added one by one.
const LONG: usize = 256;

impl<V: VoltageSample> DeviceSums<V> {
    /// Adds the products of times of a chunk.
    pub(crate) fn add_device_times(
        &mut self,
        about: &Description<'_>,
        array: &DeviceArray<'_, V>,
        times: &Times<'_>,
    ) -> Result<(), CorrelatorError> {
        let runs = times.runs();
        if let Layout::Heaps { spectra } = about.layout
            && runs.len() > 1
            && times.len() / runs.len() < LONG
            // Where a limit has no room for copies, runs are read where they lie.
            && let Ok(step) = self.batches_of_step(spectra)
        {
            return self.add_gathered(about, array, &runs, step);
        }
        runs.into_iter().try_for_each(|run| self.add_device_chunk(about, array, run))
    }

    /// Adds the products of runs of whole heaps, so many of which are copied together.
    fn add_gathered(
        &mut self,
        about: &Description<'_>,
        array: &DeviceArray<'_, V>,
        runs: &[Range<usize>],
        step: usize,
    ) -> Result<(), CorrelatorError> {
        let Layout::Heaps { spectra } = about.layout else { return Ok(()) };
        let of_batch = self.inputs.len() * self.channels * spectra;
        let heaps = self.ready(about, array)?;
        let batches: Vec<usize> = runs.iter().flat_map(|run| run.start / spectra..run.end / spectra).collect();
        let limit = self.limit;
        let added = batches.chunks(step).try_for_each(|batches| {
            let mut copy = self.pool.take::<V>(&self.stream, batches.len() * of_batch)?;
            let mut to = 0;
            for run in batches.chunk_by(|&batch, &next| next == batch + 1) {
                let (from, length) = (run[0] * of_batch, run.len() * of_batch);
                copy.slice_mut(to..to + length)?.copy_from(&self.stream, heaps.slice(from..from + length)?)?;
                to += length;
            }
            self.limit = limit.map(|limit| limit.saturating_sub(copy.bytes() as u64));
            let present = about.presence.map(|flags| flags.select(Axis(0), batches));
            let present = present.as_ref().map(|present| present.view());
            self.add_device_heaps(copy.view(), [batches.len(), spectra], 0..batches.len(), present)
        });
        self.limit = limit;
        // What was queued reads the chunk, whether or not the rest could be.
        array.reads_queued(&self.stream)?;
        added
    }
}
