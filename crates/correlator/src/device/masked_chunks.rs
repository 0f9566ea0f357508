//! Masks of chunks that lie on the device, in steps. Of heaps and rows: a copy without what is masked, and the products
//! of the copy; a step without anything masked is read where it lies. Voltages become rows anyway: what is masked is
//! zeroed in these. Nothing waits.

use std::ops::Range;

use fringes_backend::{DeviceArray, DeviceError};
use fringes_gpu::BufferView;
use fringes_interference::internals::{MaskQueue, PartMasks, PlacedMask};
use fringes_types::{VoltageSample, row_times};
use ndarray::s;

use super::DeviceSums;
use super::pieces::{Piece, pieces, spans};
use crate::CorrelatorError;
use crate::chunk::{Description, Layout};
use crate::kernels::Work;

/// Device memory for the copy of one step where the backend sets no limit.
const COPY_BYTES: u64 = 1 << 30;

impl<V: VoltageSample> DeviceSums<V> {
    /// What masks parts of chunks, and what that takes.
    pub(super) fn masks(&mut self) -> (&PartMasks<V>, MaskQueue<'_>) {
        let Self { masks, stream, pool, flags, .. } = self;
        (masks, MaskQueue { stream, pool, staging: flags })
    }

    /// Batches that are copied together.
    pub(super) fn batches_of_step(&self, spectra: usize) -> Result<usize, DeviceError> {
        let batch = [self.inputs.len(), self.channels, spectra, size_of::<V>()];
        let batch = batch.iter().fold(1u64, |product, &size| product.saturating_mul(size as u64)).max(1);
        let left = match self.limit {
            None => COPY_BYTES,
            Some(limit) => {
                // Beside the rows that some heaps are packed to.
                let needed = batch.saturating_add(self.smallest_rows());
                if needed > limit {
                    return Err(DeviceError::MemoryLimit { operation: "a mask of heaps on a device", needed, limit });
                }
                COPY_BYTES.min(limit - self.smallest_rows())
            }
        };
        Ok(usize::try_from(left / batch).unwrap_or(usize::MAX).max(1))
    }

    /// Whether a chunk on this device can be masked.
    ///
    /// # Errors
    /// [`DeviceError::MemoryLimit`], [`DeviceError::Gpu`] where the kernels cannot be loaded. Nothing is launched.
    pub(crate) fn check_mask(&self, about: &Description<'_>) -> Result<(), DeviceError> {
        if let Layout::Heaps { spectra } = about.layout {
            self.batches_of_step(spectra)?;
        }
        self.masks.kernels(&self.stream).map(drop)
    }

    /// Adds the products of the spectra `range` of a chunk, but for those that a mask has.
    pub(crate) fn add_masked_device_chunk(
        &mut self,
        about: &Description<'_>,
        array: &DeviceArray<'_, V>,
        range: Range<usize>,
        mask: PlacedMask<'_>,
    ) -> Result<(), CorrelatorError> {
        let view = self.ready(about, array)?;
        let limit = self.limit;
        let added = match about.layout {
            Layout::Rows => self.add_masked_rows(view, about.times, range, mask),
            Layout::Voltages => self.add_device_voltages(view, about.times, range, about.presence, Some(mask)),
            Layout::Heaps { spectra } => {
                let step = self.batches_of_step(spectra)?;
                let mut steps = spans(range.start / spectra..range.end / spectra, step);
                steps.try_for_each(|batches| self.add_masked_heaps(about, spectra, view, batches, mask))
            }
        };
        self.limit = limit;
        // What was queued reads the chunk, whether or not the rest could be.
        array.reads_queued(&self.stream)?;
        added
    }

    /// A step of rows.
    fn add_masked_rows(
        &mut self,
        rows: BufferView<'_, V>,
        times: usize,
        range: Range<usize>,
        mask: PlacedMask<'_>,
    ) -> Result<(), CorrelatorError> {
        let row = row_times(V::FORMAT);
        let of_row = self.inputs.len() * row;
        let pitch = times.div_ceil(row) * of_row;
        let [channel_step, time_step] = self.rows_of_step(row, true)?;
        for piece in pieces(self.channels, range.start / row..range.end.div_ceil(row), channel_step, time_step / row) {
            let Piece { channels, span } = piece;
            let start = span.start * row;
            let part = range.start.max(start)..range.end.min(span.end * row);
            let from = rows.slice(channels.start * pitch..channels.end * pitch)?;
            let Some(masked) = mask.part_of_rows::<V>(channels.clone(), start, span.len()) else {
                self.add(&channels, &Work::rows(channels.len(), times).part(part), from)?;
                continue;
            };
            let from = from.slice(start * self.inputs.len()..from.len())?;
            let (masks, queue) = self.masks();
            let copy = masks.masked_rows(queue, &masked, span.len(), from, pitch)?;
            let work = Work::rows(channels.len(), span.len() * row).part(part.start - start..part.end - start);
            self.add(&channels, &work, copy.view())?;
        }
        Ok(())
    }

    /// A step of heaps.
    fn add_masked_heaps(
        &mut self,
        about: &Description<'_>,
        spectra: usize,
        heaps: BufferView<'_, V>,
        batches: Range<usize>,
        mask: PlacedMask<'_>,
    ) -> Result<(), CorrelatorError> {
        let times = batches.start * spectra..batches.end * spectra;
        let Some(masked) = mask.part(0..self.channels, times) else {
            return self.add_device_heaps(heaps, [about.times / spectra, spectra], batches, about.presence);
        };
        let of_batch = self.inputs.len() * self.channels * spectra;
        let from = heaps.slice(batches.start * of_batch..batches.end * of_batch)?;
        let (masks, queue) = self.masks();
        let copy = masks.masked_heaps(queue, &masked, [batches.len(), spectra], from)?;
        let limit = self.limit;
        self.limit = limit.map(|limit| limit.saturating_sub(copy.bytes() as u64));
        let present = about.presence.map(|flags| flags.slice_move(s![batches.clone(), ..]));
        let added = self.add_device_heaps(copy.view(), [batches.len(), spectra], 0..batches.len(), present);
        self.limit = limit;
        added
    }
}
