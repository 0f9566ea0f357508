//! Masks of parts of chunks on a device: what is masked goes there, and kernels put zeros in its place.

use std::sync::OnceLock;

use fringes_backend::{DeviceError, Staging};
use fringes_gpu::{Buffer, BufferPool, BufferView, BufferViewMut, Stream};
use fringes_types::{Inputs, VoltageSample, row_times};

use super::{HeapBlocks, MaskKernels, RowBlocks, VoltageBlocks, product};
use crate::placed::MaskPart;

/// Where work of masks is queued, and what it takes.
#[derive(Debug)]
pub struct MaskQueue<'a> {
    /// The stream.
    pub stream: &'a Stream,
    /// Device memory.
    pub pool: &'a BufferPool,
    /// Pinned memory.
    pub staging: &'a mut Staging,
}

/// Masks of voltages of these inputs on one device. Kernels are loaded when something is masked for the first time.
#[derive(Debug)]
pub struct PartMasks<V> {
    inputs: Inputs,
    kernels: OnceLock<MaskKernels<V>>,
}

impl<V: VoltageSample> PartMasks<V> {
    /// Nothing is loaded yet.
    #[must_use]
    pub fn new(inputs: Inputs) -> Self {
        Self { inputs, kernels: OnceLock::new() }
    }

    /// The kernels.
    ///
    /// # Errors
    /// As [`MaskKernels::load`].
    pub fn kernels(&self, stream: &Stream) -> Result<&MaskKernels<V>, DeviceError> {
        if let Some(kernels) = self.kernels.get() {
            return Ok(kernels);
        }
        let kernels = MaskKernels::load(stream.device())?;
        Ok(self.kernels.get_or_init(|| kernels))
    }

    /// Zeros what is masked of so many rows of each input, where they lie. The rows begin with the part's first time,
    /// and have its channels.
    ///
    /// # Errors
    /// As [`MaskKernels::mask_rows`] and [`Staging::send`].
    pub fn mask_rows(
        &self,
        queue: MaskQueue<'_>,
        part: &MaskPart,
        rows: usize,
        data: BufferViewMut<'_, V>,
    ) -> Result<(), DeviceError> {
        let (channels, inputs) = (part.masked().nrows(), self.inputs.len());
        let (spectra_per_block, lead) = (part.spectra_per_block(), part.lead());
        let shape = RowBlocks { channels, rows, inputs, spectra_per_block, lead };
        let (kernels, stream) = (self.kernels(queue.stream)?, queue.stream);
        let flags = queue.send(part)?;
        kernels.mask_rows(stream, shape, flags.view(), data)
    }

    /// A masked copy of so many rows of each input, of channels whose rows are `pitch` voltages apart.
    ///
    /// # Errors
    /// As [`PartMasks::mask_rows`], and [`DeviceError::Gpu`] for rows that there are not.
    pub fn masked_rows(
        &self,
        queue: MaskQueue<'_>,
        part: &MaskPart,
        rows: usize,
        from: BufferView<'_, V>,
        pitch: usize,
    ) -> Result<Buffer<V>, DeviceError> {
        let (channels, width) = (part.masked().nrows(), product(&[rows, self.inputs.len(), row_times(V::FORMAT)]));
        let mut copy = queue.pool.take::<V>(queue.stream, product(&[channels, width]))?;
        copy.view_mut().copy_rows_from(queue.stream, width, from, pitch, width, channels)?;
        self.mask_rows(queue, part, rows, copy.view_mut())?;
        Ok(copy)
    }

    /// A masked copy of heaps `[batch][antenna][channel][spectrum][pol]`, so many of so many spectra, which begin with
    /// the part's first time.
    ///
    /// # Errors
    /// As [`MaskKernels::mask`] and [`Staging::send`].
    pub fn masked_heaps(
        &self,
        queue: MaskQueue<'_>,
        part: &MaskPart,
        [batches, spectra]: [usize; 2],
        from: BufferView<'_, V>,
    ) -> Result<Buffer<V>, DeviceError> {
        let (channels, inputs) = (part.masked().nrows(), self.inputs);
        let (spectra_per_block, lead) = (part.spectra_per_block(), part.lead());
        let shape = HeapBlocks { batches, inputs, channels, spectra, spectra_per_block, lead };
        let (kernels, stream) = (self.kernels(queue.stream)?, queue.stream);
        let mut copy = queue.pool.take::<V>(stream, shape.voltages())?;
        let flags = queue.send(part)?;
        kernels.mask(stream, shape, from, flags.view(), copy.view_mut())?;
        Ok(copy)
    }

    /// A masked copy of voltages `[channel][time][input]` of so many times, which begin with the part's first one.
    ///
    /// # Errors
    /// As [`MaskKernels::mask_voltages`] and [`Staging::send`].
    pub fn masked_voltages(
        &self,
        queue: MaskQueue<'_>,
        part: &MaskPart,
        times: usize,
        from: BufferView<'_, V>,
    ) -> Result<Buffer<V>, DeviceError> {
        let (channels, inputs) = (part.masked().nrows(), self.inputs.len());
        let (spectra_per_block, lead) = (part.spectra_per_block(), part.lead());
        let shape = VoltageBlocks { channels, times, inputs, spectra_per_block, lead };
        let (kernels, stream) = (self.kernels(queue.stream)?, queue.stream);
        let mut copy = queue.pool.take::<V>(stream, shape.voltages())?;
        let flags = queue.send(part)?;
        kernels.mask_voltages(stream, shape, from, flags.view(), copy.view_mut())?;
        Ok(copy)
    }
}

impl MaskQueue<'_> {
    /// Flags `[channel][block]` on the device.
    fn send(self, part: &MaskPart) -> Result<Buffer<u8>, DeviceError> {
        let flags = part.masked();
        self.staging.send_with(self.stream, self.pool, flags.len(), |to| {
            flags.iter().zip(to).for_each(|(&flag, to)| *to = u8::from(flag));
        })
    }
}
