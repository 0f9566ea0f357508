//! Chunks that lie on the device: read where they are, in the order of the stream. Nothing waits, and nothing is
//! allocated once sizes have come.

use std::ops::Range;

use fringes_backend::{DeviceArray, DeviceError, Expect};
use fringes_gpu::{Buffer, BufferView};
use fringes_interference::internals::PlacedMask;
use fringes_types::{VoltageSample, row_times};
use ndarray::{ArrayView2, s};

use super::pieces::{pieces, spans, step_times};
use super::{DeviceSums, Granule};
use crate::CorrelatorError;
use crate::chunk::{Description, Layout};
use crate::kernels::{CorrelatorKernels, Work};
use crate::layout::{HeapShape, VoltageShape, row_bytes};

/// Device memory for the rows of one step where the backend sets no limit.
const ROWS_BYTES: u64 = 1 << 30;

/// Heaps and voltages begin at multiples of so many bytes where kernels read them as they are.
const ALIGNMENT: u64 = 16;

impl<V: VoltageSample> DeviceSums<V> {
    /// The elements of a chunk for work on this stream.
    ///
    /// # Errors
    /// Those of [`DeviceArray::read_on`], [`DeviceError::Alignment`] if no kernel can read them,
    /// [`DeviceError::MemoryLimit`]. Nothing is launched.
    pub(crate) fn ready<'a>(
        &self,
        about: &Description<'_>,
        array: &'a DeviceArray<'_, V>,
    ) -> Result<BufferView<'a, V>, CorrelatorError> {
        let view = array.read_on(&self.stream)?;
        let alignment = if about.layout == Layout::Rows { ALIGNMENT } else { size_of::<V>() as u64 };
        view.expect(about.layout.name(), view.len(), alignment)?;
        if matches!(about.layout, Layout::Heaps { .. }) && self.limit.is_some() {
            // Rows of all channels, which some heaps take.
            self.rows_of_step(row_times(V::FORMAT), false)?;
        }
        Ok(view)
    }

    /// Adds the products of the spectra `range` of a chunk.
    pub(crate) fn add_device_chunk(
        &mut self,
        about: &Description<'_>,
        array: &DeviceArray<'_, V>,
        range: Range<usize>,
    ) -> Result<(), CorrelatorError> {
        let Description { layout, times, presence, .. } = *about;
        let view = self.ready(about, array)?;
        let added = match layout {
            Layout::Rows => self.add_device_rows(view, times, range),
            Layout::Voltages => self.add_device_voltages(view, times, range, presence, None),
            Layout::Heaps { spectra } => {
                let batches = range.start / spectra..range.end / spectra;
                self.add_device_heaps(view, [times / spectra, spectra], batches, presence)
            }
        };
        // What was queued reads the chunk, whether or not the rest could be.
        array.reads_queued(&self.stream)?;
        added
    }

    fn add_device_rows(
        &mut self,
        rows: BufferView<'_, V>,
        times: usize,
        range: Range<usize>,
    ) -> Result<(), CorrelatorError> {
        let work = Work::rows(self.channels, times);
        for part in aligned_spans(range, step_times(V::FORMAT), row_times(V::FORMAT)) {
            self.add(&(0..self.channels), &work.clone().part(part), rows)?;
        }
        Ok(())
    }

    /// Voltages become rows; what is masked is zero in these. The chunk is not written.
    pub(super) fn add_device_voltages(
        &mut self,
        voltages: BufferView<'_, V>,
        times: usize,
        range: Range<usize>,
        presence: Option<ArrayView2<'_, bool>>,
        mask: Option<PlacedMask<'_>>,
    ) -> Result<(), CorrelatorError> {
        let (inputs, row) = (self.inputs.len(), row_times(V::FORMAT));
        let [channel_step, time_step] = self.rows_of_step(row, true)?;
        let none = Buffer::<u8>::alloc(self.device(), 0)?;
        for span in spans(range, time_step) {
            let flags = match presence {
                Some(presence) => Some(self.send_flags(presence.slice(s![span.clone(), ..]))?),
                None => None,
            };
            for piece in pieces(self.channels, span.clone(), channel_step, time_step) {
                let channels = piece.channels;
                let shape = VoltageShape { channels: channels.len(), times, inputs };
                let samples = voltages.slice(channels.start * times * inputs..channels.end * times * inputs)?;
                let mut rows =
                    self.pool.take::<u8>(&self.stream, row_bytes::<V>(shape.channels, span.len(), inputs)?)?;
                let flags = flags.as_ref().unwrap_or(&none).view();
                let (stream, pack) = (&self.stream, &self.pack);
                pack.pack_part(stream, shape, span.clone(), samples, flags, &mut rows.view_mut())?;
                let number = span.len().div_ceil(row);
                if let Some(mask) = mask
                    && let Some(part) = mask.part_of_rows::<V>(channels.clone(), span.start, number)
                {
                    let (masks, queue) = self.masks();
                    masks.mask_rows(queue, &part, number, rows.view_mut().cast()?)?;
                }
                let work = Work::rows(shape.channels, span.len());
                self.add(&channels, &work, rows.view().cast()?)?;
            }
        }
        Ok(())
    }

    /// Heaps as they are where kernels can read them and none is absent; else through rows. The chunk is not written.
    pub(super) fn add_device_heaps(
        &mut self,
        heaps: BufferView<'_, V>,
        [batches, spectra]: [usize; 2],
        range: Range<usize>,
        presence: Option<ArrayView2<'_, bool>>,
    ) -> Result<(), CorrelatorError> {
        let channels = self.channels;
        let absent = presence.filter(|flags| flags.slice(s![range.clone(), ..]).iter().any(|&present| !present));
        let most = step_times(V::FORMAT).min(CorrelatorKernels::<V>::most_times()) / spectra.max(1);
        let readable = self.kernels.takes_heaps() && self.is_aligned(heaps);
        if absent.is_none() && most > 0 && readable {
            let work = Work::heaps(channels, batches, spectra);
            for part in spans(range, most) {
                self.add(&(0..channels), &work.clone().part(part), heaps)?;
            }
            return Ok(());
        }
        let (antennas, pols) = (self.inputs.antennas(), self.inputs.pols());
        let shape = HeapShape { batches, antennas, channels, spectra, pols };
        let flags = match absent {
            Some(flags) => Some(self.send_flags(flags)?),
            None => None,
        };
        let [_, time_step] = self.rows_of_step(row_times(V::FORMAT), false)?;
        for span in spans(range.start * spectra..range.end * spectra, time_step) {
            let mut rows =
                self.pool.take::<u8>(&self.stream, row_bytes::<V>(channels, span.len(), self.inputs.len())?)?;
            let present = flags.as_ref().map(Buffer::view);
            self.pack.pack_heaps(&self.stream, shape, span.clone(), heaps, present, &mut rows.view_mut())?;
            self.add(&(0..channels), &Work::rows(channels, span.len()), rows.view().cast()?)?;
        }
        Ok(())
    }

    /// Whether kernels can read heaps as they are.
    pub(super) fn is_aligned(&self, heaps: BufferView<'_, V>) -> bool {
        heaps.address().is_multiple_of(ALIGNMENT)
    }

    /// Bytes of the rows of all channels that are made at once at least.
    pub(super) fn smallest_rows(&self) -> u64 {
        let granule = Granule::new::<V>(row_times(V::FORMAT), self.inputs.len());
        granule.bytes.saturating_mul(self.channels as u64).saturating_add(granule.flag_bytes)
    }

    /// Channels and times whose rows are made at once: all channels, unless memory is for fewer and they can be
    /// `divided`.
    pub(super) fn rows_of_step(&self, row: usize, divided: bool) -> Result<[usize; 2], CorrelatorError> {
        let granule = Granule::new::<V>(row, self.inputs.len());
        let limit = self.limit.unwrap_or(ROWS_BYTES);
        let of = |channels: usize| granule.bytes.saturating_mul(channels as u64).saturating_add(granule.flag_bytes);
        let most = step_times(V::FORMAT) / row;
        let (mut channels, needed) = (self.channels, of(self.channels));
        if needed > limit {
            if !divided && self.limit.is_some() {
                let operation = "packing heaps on a device";
                return Err(DeviceError::MemoryLimit { operation, needed, limit }.into());
            }
            if divided {
                let fitting = limit.saturating_sub(granule.flag_bytes) / granule.bytes.max(1);
                channels = usize::try_from(fitting).unwrap_or(usize::MAX).clamp(1, channels);
            }
        }
        let rows = usize::try_from(limit / of(channels).max(1)).unwrap_or(usize::MAX).clamp(1, most);
        Ok([channels, rows * row])
    }
}

/// A range of times in ranges of at most `step`, which end at whole rows but for the last one.
fn aligned_spans(range: Range<usize>, step: usize, row: usize) -> impl Iterator<Item = Range<usize>> {
    let step = (step / row).max(1) * row;
    let mut start = range.start;
    std::iter::from_fn(move || {
        let end = range.end.min(start / row * row + step);
        let span = start..end;
        start = end;
        (!span.is_empty()).then_some(span)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_rows_are_cut_at_whole_rows() {
        let of = |range, step| aligned_spans(range, step, 64).collect::<Vec<_>>();
        assert_eq!(of(0..200, 128), [0..128, 128..200]);
        assert_eq!(of(70..400, 128), [70..192, 192..320, 320..400]);
        assert_eq!(of(70..71, 128).first(), Some(&(70..71)));
        assert_eq!(of(5..5, 128), []);
        assert_eq!(of(64..300, 1), [64..128, 128..192, 192..256, 256..300]);
    }
}
