//! Runs of heaps that lie on the device, as those of bins. An addition reads and writes all sums, so heaps of several
//! runs are added together: by a kernel that reads a list of them, or, where they are few, from a copy in which the
//! heaps of several chunks follow each other.
//!
//! Bytes an input, channel and spectrum of 8 bits, for `n` inputs and `s` spectra an addition: 2 to read samples, `8 n
//! / s` to read and write sums, 4 to copy samples. So copies pay where a chunk has less than `3 n / 2` spectra of a
//! bin, and those of some chunks `8 n`.

use std::ops::Range;

use fringes_backend::DeviceArray;
use fringes_gpu::{Buffer, BufferView};
use fringes_types::VoltageSample;
use ndarray::ArrayView2;

use super::DeviceSums;
use super::pieces::{spans, step_times};
use crate::CorrelatorError;
use crate::chunk::{Description, Layout};
use crate::kernels::{CorrelatorKernels, Work};
use crate::selection::Times;

/// Spectra of a run, on the average, from which on runs are added one by one where no kernel reads a list.
const LONG: usize = 256;

/// Bytes of heaps that wait, of all sums together.
const HELD_BYTES: u64 = 2 << 30;

/// Heaps that wait, copied to follow each other.
#[derive(Debug)]
pub(super) struct Held<V> {
    heaps: Buffer<V>,
    spectra: usize,
    /// Batches that there is memory for.
    most: usize,
    batches: usize,
    /// `[batch][antenna]`
    present: Vec<bool>,
}

impl<V: VoltageSample> DeviceSums<V> {
    /// From here on heaps of short runs wait for others: for so many sums, each of a part of the spectra.
    pub(crate) fn hold_short_runs(&mut self, sums: usize) {
        // Memory that is limited is for the work at hand.
        self.holds = self.limit.is_none().then(|| HELD_BYTES / sums.max(1) as u64);
    }

    /// Adds the products of times of a chunk.
    pub(crate) fn add_device_times(
        &mut self,
        about: &Description<'_>,
        array: &DeviceArray<'_, V>,
        times: &Times<'_>,
    ) -> Result<(), CorrelatorError> {
        let runs = times.runs();
        let Layout::Heaps { spectra } = about.layout else {
            return runs.into_iter().try_for_each(|run| self.add_device_chunk(about, array, run));
        };
        let step = self.batches_of_step(spectra);
        if let Ok(step) = step
            && let Some(bytes) = self.holds
        {
            let most = self.most_held(spectra, step, bytes);
            if self.is_worth_holding(times.len(), most * spectra) {
                return self.hold(about, array, &runs, most);
            }
        }
        if runs.len() > 1 {
            if self.reads_lists(about, array, &runs)? {
                return self.add_listed(about, array, &runs);
            }
            if let Ok(step) = step
                && times.len() / runs.len() < LONG
            {
                // In memory of its own: what waits has less.
                self.add_held()?;
                self.held = None;
                self.hold(about, array, &runs, step.min(times.len() / spectra))?;
                let added = self.add_held();
                self.held = None;
                return added;
            }
        }
        runs.into_iter().try_for_each(|run| self.add_device_chunk(about, array, run))
    }

    /// Whether so many spectra of a chunk are to wait for those of others, of at most so many.
    fn is_worth_holding(&self, times: usize, most: usize) -> bool {
        2 * times < 3 * self.inputs.len() && 2 * times <= most
    }

    /// Batches that wait at most: of so many bytes, and of four times the bytes of the sums, which 8 times as many
    /// spectra as inputs have.
    fn most_held(&self, spectra: usize, step: usize, bytes: u64) -> usize {
        let batch = (self.inputs.len() * self.channels * spectra * size_of::<V>()).max(1) as u64;
        let held = usize::try_from(bytes / batch).unwrap_or(usize::MAX);
        (8 * self.inputs.len() / spectra.max(1)).min(held).clamp(1, step)
    }

    /// Whether a kernel reads the heaps of these runs where they are.
    fn reads_lists(
        &self,
        about: &Description<'_>,
        array: &DeviceArray<'_, V>,
        runs: &[Range<usize>],
    ) -> Result<bool, CorrelatorError> {
        let Layout::Heaps { spectra } = about.layout else { return Ok(false) };
        let all_present = about
            .presence
            .is_none_or(|flags| batches(runs, spectra).all(|batch| flags.row(batch).iter().all(|&present| present)));
        let heaps = self.ready(about, array)?;
        let work = Work::heaps(self.channels, about.times / spectra, spectra);
        let fits = spectra <= most_times::<V>() && self.is_aligned(heaps);
        Ok(all_present && fits && self.kernels.takes_lists(&work))
    }

    /// Adds the products of runs of whole heaps where they lie.
    fn add_listed(
        &mut self,
        about: &Description<'_>,
        array: &DeviceArray<'_, V>,
        runs: &[Range<usize>],
    ) -> Result<(), CorrelatorError> {
        let Layout::Heaps { spectra } = about.layout else { return Ok(()) };
        let heaps = self.ready(about, array)?;
        let listed: Vec<u32> = batches(runs, spectra).filter_map(|batch| u32::try_from(batch).ok()).collect();
        let list = self.lists.send(&self.stream, &self.pool, &listed)?;
        let work = Work::heaps(self.channels, about.times / spectra, spectra);
        let most = most_times::<V>() / spectra;
        let added = spans(0..listed.len(), most).into_iter().try_for_each(|part| {
            let work = work.clone().part(part);
            let (mut sums, parts) = self.sums.room_for(&self.stream, &(0..self.channels), work.times())?;
            self.kernels.accumulate_listed(&self.stream, &work, (heaps, list.view()), &mut sums, parts)
        });
        // What was queued reads the chunk, whether or not the rest could be.
        array.reads_queued(&self.stream)?;
        added
    }

    /// Copies runs of whole heaps behind those that wait, and adds these whenever there are `most` of them.
    fn hold(
        &mut self,
        about: &Description<'_>,
        array: &DeviceArray<'_, V>,
        runs: &[Range<usize>],
        most: usize,
    ) -> Result<(), CorrelatorError> {
        let Layout::Heaps { spectra } = about.layout else { return Ok(()) };
        let heaps = self.ready(about, array)?;
        if self.held.as_ref().is_some_and(|held| held.spectra != spectra) {
            self.add_held()?;
        }
        let held = runs.iter().try_for_each(|run| {
            let mut left = run.start / spectra..run.end / spectra;
            while !left.is_empty() {
                let copied = self.copy_behind(about, heaps, left.clone(), (spectra, most))?;
                left.start += copied;
                if self.held.as_ref().is_some_and(|held| held.batches == held.most) {
                    self.add_held()?;
                }
            }
            Ok(())
        });
        // What was queued reads the chunk, whether or not the rest could be.
        array.reads_queued(&self.stream)?;
        held
    }

    /// Copies as many of these batches as there is memory for behind those that wait; how many.
    fn copy_behind(
        &mut self,
        about: &Description<'_>,
        heaps: BufferView<'_, V>,
        batches: Range<usize>,
        (spectra, most): (usize, usize),
    ) -> Result<usize, CorrelatorError> {
        let of_batch = self.inputs.len() * self.channels * spectra;
        if self.held.is_none() {
            let heaps = self.pool.take::<V>(&self.stream, most * of_batch)?;
            self.held = Some(Held { heaps, spectra, most, batches: 0, present: Vec::new() });
        }
        let Some(held) = &mut self.held else { return Ok(0) };
        let count = batches.len().min(held.most - held.batches);
        let (from, to) = (batches.start * of_batch, held.batches * of_batch);
        let length = count * of_batch;
        held.heaps.slice_mut(to..to + length)?.copy_from(&self.stream, heaps.slice(from..from + length)?)?;
        for batch in batches.start..batches.start + count {
            match about.presence {
                Some(flags) => held.present.extend(flags.row(batch)),
                None => held.present.extend(std::iter::repeat_n(true, self.inputs.antennas())),
            }
        }
        held.batches += count;
        Ok(count)
    }

    /// Adds the products of the heaps that wait.
    pub(super) fn add_held(&mut self) -> Result<(), CorrelatorError> {
        let Some(held) = self.held.take() else { return Ok(()) };
        let Held { heaps, spectra, batches, present, .. } = &held;
        let (batches, limit) = (*batches, self.limit);
        self.limit = limit.map(|limit| limit.saturating_sub(heaps.bytes() as u64));
        let present = ArrayView2::from_shape((batches, self.inputs.antennas()), present).ok();
        let of_all = self.inputs.len() * self.channels * spectra * batches;
        let added = heaps
            .slice(..of_all)
            .map_err(CorrelatorError::from)
            .and_then(|heaps| self.add_device_heaps(heaps, [batches, *spectra], 0..batches, present));
        self.limit = limit;
        if self.holds.is_some() && added.is_ok() {
            // The memory is used again: what was queued reads it before the next copy writes it.
            self.held = Some(Held { batches: 0, present: Vec::new(), ..held });
        }
        added
    }
}

/// Times of one launch that reads heaps as they are.
fn most_times<V: VoltageSample>() -> usize {
    step_times(V::FORMAT).min(CorrelatorKernels::<V>::most_times())
}

/// The batches of runs.
fn batches(runs: &[Range<usize>], spectra: usize) -> impl Iterator<Item = usize> {
    runs.iter().flat_map(move |run| run.start / spectra..run.end / spectra)
}
