//! The kernels of incoherent beams, loaded on a device with gains.

use std::marker::PhantomData;

use fringes_backend::{DeviceError, Expect};
use fringes_gpu::{Buffer, BufferView, BufferViewMut, Device, Kernel, LaunchConfig, Stream, args};
use fringes_types::{Inputs, SampleFormat, VoltageSample, row_times};
use ndarray::ArrayView2;

use crate::packing::{Packing, product, row_elements};
use crate::set::{BeamKernels, KernelPart};
use crate::tied_array::kernels::{format_name, weights_texts};
use crate::{BeamformerError, IncoherentBeams};

/// Beams that the kernel makes at once.
const BEAMS: usize = 4;

/// Threads of a block.
const THREADS: u32 = 256;

/// The kernel of incoherent beams of voltages `V` on one device, with gains there.
#[derive(Debug)]
pub struct IncoherentKernels<V> {
    kernel: Kernel,
    /// Blocks that the device holds at once.
    places: usize,
    shared_bytes: u32,
    beams: usize,
    gains: Buffer<[f32; 4]>,
    packing: Packing<V>,
    voltages: PhantomData<fn(V)>,
}

/// Gains `[beams / 4][input][4]`.
fn grouped(gains: ArrayView2<'_, f32>) -> Vec<[f32; 4]> {
    let (beams, inputs) = gains.dim();
    let mut grouped = vec![[0.0; BEAMS]; beams.div_ceil(BEAMS) * inputs];
    for ((beam, input), &gain) in gains.indexed_iter() {
        grouped[beam / BEAMS * inputs + input][beam % BEAMS] = gain;
    }
    grouped
}

/// Whether there is a kernel.
pub(super) fn check(format: SampleFormat) -> Result<(), DeviceError> {
    let missing = || DeviceError::NoKernel { expected: "4+4-bit, 8-bit or f16 voltages", actual: format.to_string() };
    format_name(format).map(drop).ok_or_else(missing)
}

impl<V: VoltageSample> IncoherentKernels<V> {
    /// Loads the kernel, and the gains, and waits for that.
    pub(crate) fn load(device: &Device, set: &IncoherentBeams, inputs: Inputs) -> Result<Self, BeamformerError> {
        check(V::FORMAT)?;
        let name = format!("incoherent_{}", format_name(V::FORMAT).unwrap_or_default());
        let kernel = device.load(&weights_texts::TIED_ARRAY_WEIGHTS)?.kernel(&name)?;
        // Sums of eight warps, for each time of a row.
        let shared_bytes = (8 * row_times(V::FORMAT) * BEAMS * size_of::<f32>()) as u32;
        let resident = kernel.blocks_per_multiprocessor(THREADS, shared_bytes)?.max(1);
        let places = resident.saturating_mul(device.info().multiprocessors.max(1)) as usize;
        let stream = device.new_stream()?;
        let gains = Buffer::from_slice(&stream, &grouped(set.gains()))?;
        stream.synchronize()?;
        let (beams, packing) = (set.gains().nrows(), Packing::load(device, inputs)?);
        Ok(Self { kernel, places, shared_bytes, beams, gains, packing, voltages: PhantomData })
    }

    /// Number of beams.
    pub(crate) fn beams(&self) -> usize {
        self.beams
    }

    /// Sums of so many channels and times.
    pub(crate) fn length(&self, channels: usize, times: usize, fold: usize) -> Result<usize, DeviceError> {
        product("incoherent beams", &[channels, times.div_ceil(fold.max(1)), self.beams])
    }

    /// Queues sums `[channel][time / fold][beam]` of rows, `fold` being 1, 2, 4, 8 or 16.
    pub(crate) fn sum_rows(
        &self,
        stream: &Stream,
        [channels, times, fold]: [usize; 3],
        rows: BufferView<'_, V>,
        out: BufferViewMut<'_, f32>,
    ) -> Result<(), BeamformerError> {
        let inputs = self.packing.inputs().len();
        let length = row_elements::<V>(channels, times, inputs)?;
        rows.expect("rows", length, 16)?;
        if self.length(channels, times, fold)? == 0 {
            return Ok(());
        }
        let blocks = product("rows", &[channels, times.div_ceil(row_times(V::FORMAT))])?;
        let limit = i32::MAX as usize;
        for (what, actual) in [("blocks of times", blocks), ("times", times)] {
            if actual > limit {
                return Err(DeviceError::TooLarge { what, actual, limit }.into());
            }
        }
        // Several rounds: blocks that end early make room for others.
        let grid = blocks.min(4 * self.places) as u32;
        let config = LaunchConfig::new([grid, 1, 1], [THREADS, 1, 1]).with_shared_bytes(self.shared_bytes);
        let [channels, inputs, beams, times, fold] =
            [channels, inputs, self.beams, times, fold].map(|size| size as u32);
        let rows = rows.slice(..length)?.cast::<[u32; 4]>()?;
        let arguments = args![rows, &self.gains, out, channels, inputs, beams, times, fold];
        Ok(self.kernel.launch_safe(stream, &config, arguments)?)
    }
}

impl<V: VoltageSample> BeamKernels<V, f32> for IncoherentKernels<V> {
    fn beamform_part(
        &mut self,
        stream: &Stream,
        part: KernelPart,
        voltages: BufferView<'_, V>,
        present: Option<BufferView<'_, u8>>,
        beams: &mut BufferViewMut<'_, f32>,
    ) -> Result<(), BeamformerError> {
        let rows = self.packing.voltages(stream, [part.channels.len(), part.times], voltages, present)?;
        self.beamform_rows(stream, part, rows.view().cast::<V>()?, beams)
    }

    fn beamform_rows(
        &mut self,
        stream: &Stream,
        part: KernelPart,
        rows: BufferView<'_, V>,
        beams: &mut BufferViewMut<'_, f32>,
    ) -> Result<(), BeamformerError> {
        let shape = [part.channels.len(), part.times, 1];
        self.sum_rows(stream, shape, rows, beams.reborrow().slice(..self.length(shape[0], shape[1], 1)?)?)
    }

    fn beamform_heaps(
        &mut self,
        stream: &Stream,
        part: KernelPart,
        heaps: [usize; 2],
        voltages: BufferView<'_, V>,
        present: Option<BufferView<'_, u8>>,
        beams: &mut BufferViewMut<'_, f32>,
    ) -> Result<(), BeamformerError> {
        let rows = self.packing.heaps(stream, part.channels.len(), heaps, voltages, present)?;
        self.beamform_rows(stream, part, rows.view().cast::<V>()?, beams)
    }

    fn packing(&self) -> Option<&Packing<V>> {
        Some(&self.packing)
    }
}
