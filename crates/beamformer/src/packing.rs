//! Rows of voltages that come in another order, on a device.

use std::marker::PhantomData;

use fringes_backend::DeviceError;
use fringes_correlator::kernels::PackKernels;
use fringes_correlator::layout::{HeapShape, VoltageShape};
use fringes_gpu::{Buffer, BufferPool, BufferView, Device, Stream};
use fringes_types::{Inputs, ROW_BYTES, VoltageSample, row_times};

use crate::BeamformerError;

/// Makes rows `[channel][time / R][input][R]` of voltages `V`.
#[derive(Debug)]
pub struct Packing<V> {
    inputs: Inputs,
    kernels: PackKernels,
    pool: BufferPool,
    voltages: PhantomData<fn(V)>,
}

/// A product of sizes.
pub(crate) fn product(what: &'static str, sizes: &[usize]) -> Result<usize, DeviceError> {
    let product = sizes.iter().try_fold(1usize, |product, &size| product.checked_mul(size));
    product.ok_or(DeviceError::TooLarge { what, actual: usize::MAX, limit: usize::MAX - 1 })
}

/// Rows of an input that have so many times.
pub(crate) fn row_count<V: VoltageSample>(times: usize) -> usize {
    times.div_ceil(row_times(V::FORMAT))
}

/// Elements of the rows of so many channels, times and inputs.
pub(crate) fn row_elements<V: VoltageSample>(
    channels: usize,
    times: usize,
    inputs: usize,
) -> Result<usize, DeviceError> {
    let row = row_times(V::FORMAT);
    product("rows", &[channels, row_count::<V>(times), row, inputs])
}

impl<V: VoltageSample> Packing<V> {
    pub(crate) fn load(device: &Device, inputs: Inputs) -> Result<Self, BeamformerError> {
        let (kernels, pool) = (PackKernels::load(device)?, BufferPool::new(device));
        Ok(Self { inputs, kernels, pool, voltages: PhantomData })
    }

    pub(crate) fn inputs(&self) -> Inputs {
        self.inputs
    }

    pub(crate) fn pool(&self) -> &BufferPool {
        &self.pool
    }

    /// Rows of voltages `[channel][time][input]` with flags `[time][input]`, in the order of the stream.
    pub(crate) fn voltages(
        &self,
        stream: &Stream,
        [channels, times]: [usize; 2],
        voltages: BufferView<'_, V>,
        present: Option<BufferView<'_, u8>>,
    ) -> Result<Buffer<u8>, BeamformerError> {
        let shape = VoltageShape { channels, times, inputs: self.inputs.len() };
        let mut rows = self.room(stream, channels, times)?;
        self.kernels.pack(stream, shape, 0..times, voltages, present, &mut rows.view_mut())?;
        Ok(rows)
    }

    /// Rows of heaps `[batch][antenna][channel][spectrum][pol]` with flags `[batch][antenna]`, in the order of the
    /// stream.
    pub(crate) fn heaps(
        &self,
        stream: &Stream,
        channels: usize,
        [batches, spectra]: [usize; 2],
        heaps: BufferView<'_, V>,
        present: Option<BufferView<'_, u8>>,
    ) -> Result<Buffer<u8>, BeamformerError> {
        let (antennas, pols) = (self.inputs.antennas(), self.inputs.pols());
        let shape = HeapShape { batches, antennas, channels, spectra, pols };
        let times = shape.times();
        let mut rows = self.room(stream, channels, times)?;
        self.kernels.pack_heaps(stream, shape, 0..times, heaps, present, &mut rows.view_mut())?;
        Ok(rows)
    }

    /// Memory for rows.
    fn room(&self, stream: &Stream, channels: usize, times: usize) -> Result<Buffer<u8>, BeamformerError> {
        let number = row_count::<V>(times);
        Ok(self.pool.take(stream, product("rows", &[channels, number, self.inputs.len(), ROW_BYTES])?)?)
    }
}
