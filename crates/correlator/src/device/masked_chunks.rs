//! Masks of heaps that lie on the device: in steps, a copy without what is masked, and the products of the copy.
//! Nothing waits; a step without anything masked is read where it lies.

use std::ops::Range;

use fringes_backend::{DeviceArray, DeviceError};
use fringes_gpu::BufferView;
use fringes_interference::{HeapBlocks, MaskKernels};
use fringes_types::{ChannelMask, VoltageSample};
use ndarray::s;

use super::DeviceSums;
use super::pieces::spans;
use crate::CorrelatorError;
use crate::chunk::{Description, Layout};

/// Device memory for the copy of one step where the backend sets no limit.
const COPY_BYTES: u64 = 1 << 30;

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
    /// [`DeviceError::NotOnGpu`] for voltages and rows, [`DeviceError::MemoryLimit`], [`DeviceError::Gpu`] where the
    /// kernels cannot be loaded. Nothing is launched.
    pub(crate) fn check_mask(&self, about: &Description<'_>) -> Result<(), DeviceError> {
        let Layout::Heaps { spectra } = about.layout else {
            let operation = format!("a mask of {} on a device", about.layout.name());
            return Err(DeviceError::NotOnGpu { operation, backend: self.device().info().name.clone() });
        };
        self.batches_of_step(spectra)?;
        self.mask_kernels().map(drop)
    }

    /// Adds the products of the spectra `range` of heaps, but for those that a mask has, which begins so many spectra
    /// before the chunk.
    pub(crate) fn add_masked_device_heaps(
        &mut self,
        about: &Description<'_>,
        array: &DeviceArray<'_, V>,
        range: Range<usize>,
        mask: (&ChannelMask, isize),
    ) -> Result<(), CorrelatorError> {
        let Layout::Heaps { spectra } = about.layout else { return Ok(()) };
        let heaps = self.ready(about, array)?;
        let step = self.batches_of_step(spectra)?;
        let limit = self.limit;
        let added = spans(range.start / spectra..range.end / spectra, step)
            .into_iter()
            .try_for_each(|batches| self.add_masked_step(about, heaps, batches, mask));
        self.limit = limit;
        // What was queued reads the chunk, whether or not the rest could be.
        array.reads_queued(&self.stream)?;
        added
    }

    fn add_masked_step(
        &mut self,
        about: &Description<'_>,
        heaps: BufferView<'_, V>,
        batches: Range<usize>,
        (mask, lead): (&ChannelMask, isize),
    ) -> Result<(), CorrelatorError> {
        let Layout::Heaps { spectra } = about.layout else { return Ok(()) };
        let block = mask.spectra_per_block();
        // The mask has these times.
        let start = (batches.start * spectra).saturating_add_signed(lead);
        let blocks = start / block..(start + batches.len() * spectra).div_ceil(block);
        let cells = mask.masked().slice_move(s![.., blocks.clone()]);
        if !cells.iter().any(|&masked| masked) {
            return self.add_device_heaps(heaps, [about.times / spectra, spectra], batches, about.presence);
        }
        let shape = HeapBlocks {
            batches: batches.len(),
            inputs: self.inputs,
            channels: self.channels,
            spectra,
            spectra_per_block: block,
            lead: start % block,
        };
        let of_batch = self.inputs.len() * self.channels * spectra;
        let from = heaps.slice(batches.start * of_batch..batches.end * of_batch)?;
        let (kernels, cells) = (self.mask_kernels()?, self.send_flags(cells)?);
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
