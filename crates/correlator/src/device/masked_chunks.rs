//! Masks of chunks that lie on the device, in steps. Of heaps and rows: a copy without what is masked, and the products
//! of the copy; a step without anything masked is read where it lies. Voltages become rows anyway: what is masked is
//! zeroed in these. Nothing waits.

use std::ops::Range;

use fringes_backend::{DeviceArray, DeviceError};
use fringes_gpu::{BufferView, BufferViewMut};
use fringes_interference::{HeapBlocks, MaskKernels, RowBlocks};
use fringes_types::{ChannelMask, VoltageSample, row_times};
use ndarray::{Array2, s};

use super::DeviceSums;
use super::pieces::{Piece, pieces, spans};
use crate::CorrelatorError;
use crate::chunk::{Description, Layout};
use crate::kernels::Work;

/// Device memory for the copy of one step where the backend sets no limit.
const COPY_BYTES: u64 = 1 << 30;

/// What a mask says of some channels and times.
#[derive(Debug, PartialEq)]
pub(super) struct Cells {
    /// `[channel][block]`.
    masked: Array2<bool>,
    /// Times of a block.
    block: usize,
    /// Times of the first block that lie before the first time.
    lead: usize,
}

impl Cells {
    /// Those of some channels and `length` times from a time of the chunk on, false where the mask has none; `None` if
    /// none is masked. The mask begins `lead` spectra before the chunk.
    pub(super) fn of(
        (mask, lead): (&ChannelMask, isize),
        channels: &Range<usize>,
        start: usize,
        length: usize,
    ) -> Option<Self> {
        let (block, masked) = (mask.spectra_per_block(), mask.masked());
        // Both are of arrays, which have at most isize::MAX elements.
        let start = (start as isize).saturating_add(lead);
        let lead = (start as i128).rem_euclid(block as i128) as usize;
        let first = (start as i128).div_euclid(block as i128) as isize;
        let number = (length.saturating_add(lead)).div_ceil(block);
        let is_masked = |(channel, at): (usize, usize)| {
            let block = first.checked_add_unsigned(at).and_then(|block| usize::try_from(block).ok());
            block.and_then(|block| masked.get((channels.start + channel, block))).copied().unwrap_or(false)
        };
        let masked = Array2::from_shape_fn((channels.len(), number), is_masked);
        masked.iter().any(|&masked| masked).then_some(Self { masked, block, lead })
    }
}

impl<V: VoltageSample> DeviceSums<V> {
    /// The kernels, loaded when a chunk is masked for the first time.
    fn mask_kernels(&self) -> Result<MaskKernels<V>, DeviceError> {
        if let Some(kernels) = self.masks.get() {
            return Ok(kernels.clone());
        }
        let kernels = MaskKernels::load(self.device())?;
        Ok(self.masks.get_or_init(|| kernels).clone())
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
        self.mask_kernels().map(drop)
    }

    /// Adds the products of the spectra `range` of a chunk, but for those that a mask has.
    pub(crate) fn add_masked_device_chunk(
        &mut self,
        about: &Description<'_>,
        array: &DeviceArray<'_, V>,
        range: Range<usize>,
        mask: (&ChannelMask, isize),
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
        mask: (&ChannelMask, isize),
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
            let Some(cells) = Cells::of(mask, &channels, start, span.len() * row) else {
                self.add(&channels, &Work::rows(channels.len(), times).part(part), from)?;
                continue;
            };
            let width = span.len() * of_row;
            let mut copy = self.pool.take::<V>(&self.stream, channels.len() * width)?;
            let from = from.slice(start * self.inputs.len()..from.len())?;
            copy.view_mut().copy_rows_from(&self.stream, width, from, pitch, width, channels.len())?;
            self.mask_rows(&cells, span.len(), copy.view_mut())?;
            let work = Work::rows(channels.len(), span.len() * row).part(part.start - start..part.end - start);
            self.add(&channels, &work, copy.view())?;
        }
        Ok(())
    }

    /// Zeros what is masked of so many rows of each input, of the channels and times that the cells are of.
    pub(super) fn mask_rows(
        &mut self,
        cells: &Cells,
        rows: usize,
        data: BufferViewMut<'_, V>,
    ) -> Result<(), CorrelatorError> {
        let Cells { masked, block, lead } = cells;
        let (channels, inputs) = (masked.nrows(), self.inputs.len());
        let shape = RowBlocks { channels, rows, inputs, spectra_per_block: *block, lead: *lead };
        let (kernels, flags) = (self.mask_kernels()?, self.send_flags(masked.view())?);
        Ok(kernels.mask_rows(&self.stream, shape, flags.view(), data)?)
    }

    /// A step of heaps.
    fn add_masked_heaps(
        &mut self,
        about: &Description<'_>,
        spectra: usize,
        heaps: BufferView<'_, V>,
        batches: Range<usize>,
        mask: (&ChannelMask, isize),
    ) -> Result<(), CorrelatorError> {
        let (start, length) = (batches.start * spectra, batches.len() * spectra);
        let Some(Cells { masked, block, lead }) = Cells::of(mask, &(0..self.channels), start, length) else {
            return self.add_device_heaps(heaps, [about.times / spectra, spectra], batches, about.presence);
        };
        let shape = HeapBlocks {
            batches: batches.len(),
            inputs: self.inputs,
            channels: self.channels,
            spectra,
            spectra_per_block: block,
            lead,
        };
        let of_batch = self.inputs.len() * self.channels * spectra;
        let from = heaps.slice(batches.start * of_batch..batches.end * of_batch)?;
        let (kernels, cells) = (self.mask_kernels()?, self.send_flags(masked.view())?);
        let mut copy = self.pool.take::<V>(&self.stream, from.len())?;
        kernels.mask(&self.stream, shape, from, cells.view(), copy.view_mut())?;
        let limit = self.limit;
        self.limit = limit.map(|limit| limit.saturating_sub(copy.bytes() as u64));
        let present = about.presence.map(|flags| flags.slice_move(s![batches.clone(), ..]));
        let added = self.add_device_heaps(copy.view(), [batches.len(), spectra], 0..batches.len(), present);
        self.limit = limit;
        added
    }
}

#[cfg(test)]
mod tests {
    use fringes_types::SpectrumClock;

    use super::*;

    #[test]
    fn cells_are_those_of_the_mask_and_false_where_it_has_none() {
        let clock = SpectrumClock { first_sample: 0, samples_between_spectra: 1, sample_rate_hz: 1.0 };
        let all = Array2::from_shape_fn((4, 5), |(channel, block)| (channel + block) % 3 == 0);
        let mask = ChannelMask::new(all.clone(), 6, clock).unwrap();
        for lead in -7..8 {
            for start in 0..40 {
                for length in [1, 5, 6, 17, 64] {
                    let expected = |channel: usize, time: isize| {
                        let block = (time + lead).div_euclid(6);
                        usize::try_from(block)
                            .ok()
                            .and_then(|block| all.get((channel, block)))
                            .copied()
                            .unwrap_or(false)
                    };
                    let masked = |channel| (0..length as isize).any(|time| expected(channel, start + time));
                    let Some(cells) = Cells::of((&mask, lead), &(1..4), start as usize, length) else {
                        assert!(!(1..4).any(masked));
                        continue;
                    };
                    assert!((1..4).any(masked));
                    assert_eq!(cells.masked.dim(), (3, (length + cells.lead).div_ceil(6)));
                    for (channel, row) in cells.masked.outer_iter().enumerate() {
                        for time in 0..length {
                            let found = row[(time + cells.lead) / cells.block];
                            assert_eq!(found, expected(1 + channel, start + time as isize), "{lead} {start} {time}");
                        }
                    }
                }
            }
        }
    }
}
