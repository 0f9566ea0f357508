//! The kernels of tied-array beams, loaded on a device with a table of weights.

mod mma_texts;
mod plan;
mod table;
mod weights_texts;
mod wgmma_texts;

use std::marker::PhantomData;
use std::ops::Range;

use fringes_backend::{DeviceError, Expect};
use fringes_correlator::kernels::PackKernels;
use fringes_correlator::layout::{HeapShape, VoltageShape};
use fringes_gpu::{
    Buffer, BufferPool, BufferView, BufferViewMut, Device, Kernel, LaunchConfig, Stream, Swizzle, TensorElement,
    TensorLayout, TensorView, args,
};
use fringes_types::{Inputs, SampleFormat, VoltageSample, row_times};

use crate::set::{BeamKernels, KernelPart};
use crate::{BeamSet, BeamformerError, TiedArrayBeams, TiedArrayOutput};
use plan::{Generation, Plan};
use table::Table;

/// The kernels' name of a format of voltages, if there are some.
pub(super) fn format_name(format: SampleFormat) -> Option<&'static str> {
    match format {
        SampleFormat::Int4 => Some("i4"),
        SampleFormat::Int8 => Some("i8"),
        SampleFormat::Float16 => Some("f16"),
        _ => None,
    }
}

/// The kernel of tied-array beams of voltages `V` as `O` on one device, with weights there.
///
/// Every operation is queued on a stream and returns at once. Sizes are checked before anything is queued.
/// [`BeamformerStream`](crate::BeamformerStream) uses it for chunks that lie on a device; software that has device
/// buffers of its own calls it itself:
///
/// ```no_run
/// use fringes_beamformer::{TiedArrayBeams, TiedArrayKernels};
/// use fringes_gpu::{Buffer, Device};
/// use fringes_types::{BeamWeights, Complex, Inputs, Rows};
/// use ndarray::Array3;
///
/// let device = Device::best()?;
/// let stream = device.new_stream()?;
/// let inputs = Inputs::new(80, 2)?;
/// let weights = BeamWeights::new(Array3::from_elem((8, 64, inputs.len()), Complex::new(1.0, 0.0)))?;
/// let beams = TiedArrayBeams::new(weights).with_output::<Complex<i8>>().with_scale(0.1)?;
/// let mut kernels = TiedArrayKernels::<Complex<i8>, _>::load(&device, &beams, 64, inputs)?;
/// let times = 1024; // 16 rows [channel][time / 64][input][64] of each input
/// let rows = Buffer::<Complex<i8>>::zeroed(&stream, 64 * times * inputs.len())?;
/// let mut out = Buffer::<Complex<i8>>::alloc(&device, 64 * times * 8)?; // [channel][time][beam]
/// kernels.beamform_rows(&stream, 0..64, times, 0, rows.view(), &mut out.view_mut())?;
/// let out = out.to_vec(&stream)?; // waits for the stream
/// # let _ = out;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TiedArrayKernels<V, O> {
    plan: Plan,
    inputs: Inputs,
    channels: usize,
    kernel: Kernel,
    /// Blocks that the device holds at once.
    places: usize,
    table: Table,
    pack: PackKernels,
    /// Rows of voltages that come in another order.
    pool: BufferPool,
    /// Of each beam, those that saturated; none of floats.
    saturated: Buffer<u64>,
    seed: Option<u64>,
    types: PhantomData<fn(V) -> O>,
}

impl<V: VoltageSample, O: TiedArrayOutput> TiedArrayKernels<V, O> {
    /// Loads the kernel and makes the table of weights for so many channels, and waits for that; the first time on a
    /// machine the driver compiles the kernels.
    ///
    /// # Errors
    /// As [`BeamSet::check`]; [`DeviceError::NoKernel`] and [`DeviceError::TooLarge`] for what [`TiedArrayBeams`] says
    /// that there is no kernel of, [`DeviceError::Gpu`] with what the driver says.
    pub fn load(
        device: &Device,
        set: &TiedArrayBeams<O>,
        channels: usize,
        inputs: Inputs,
    ) -> Result<Self, BeamformerError> {
        set.check(channels, inputs)?;
        set.check_kernel(V::FORMAT, inputs)?;
        let generation = Generation::of(device, set.only_mma());
        let plan = Plan::new(generation, V::FORMAT, set.precision(), O::OUTPUT, inputs.len(), set.weights().beams())?;
        let kernel = plan.load(device)?;
        let resident = kernel.blocks_per_multiprocessor(generation.threads(), plan.shared_bytes())?.max(1);
        let places = resident.saturating_mul(device.info().multiprocessors.max(1)) as usize;
        let stream = device.new_stream()?;
        let table = Table::new(device, &stream, &plan, channels, set.weights(), set.scale())?;
        let counted = if O::INTEGER { plan.beams } else { 0 };
        let saturated = Buffer::zeroed(&stream, counted)?;
        stream.synchronize()?;
        let (pack, pool) = (PackKernels::load(device)?, BufferPool::new(device));
        let seed = set.dither();
        Ok(Self { plan, inputs, channels, kernel, places, table, pack, pool, saturated, seed, types: PhantomData })
    }

    /// The device.
    pub fn device(&self) -> &Device {
        self.kernel.device()
    }

    /// The kernel, for its attributes.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Channels of the weights.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// Device memory of the weights in bytes.
    pub fn weight_bytes(&self) -> u64 {
        self.table.bytes()
    }

    /// Forms beams `[channel][time][beam]` of rows `[channel][time / R][input][R]` of some of the channels, `R` being
    /// [`row_times`]. `spectrum` is the number of the first time, for the dither.
    ///
    /// # Errors
    /// [`DeviceError::TooLarge`] for sizes that no launch can count, [`DeviceError::Length`] if a buffer is too short,
    /// [`DeviceError::Alignment`] if the rows do not start at a multiple of 16 bytes or the beams at one of theirs,
    /// [`DeviceError::Gpu`] with what the driver says, or for channels beyond the last one.
    pub fn beamform_rows(
        &mut self,
        stream: &Stream,
        channels: Range<usize>,
        times: usize,
        spectrum: u64,
        rows: BufferView<'_, V>,
        beams: &mut BufferViewMut<'_, O>,
    ) -> Result<(), BeamformerError> {
        let Plan { inputs, beams: count, .. } = self.plan;
        let row = row_times(V::FORMAT);
        let number = channels.len();
        let blocks = times.div_ceil(row);
        let of = |sizes: [usize; 3]| {
            let product = sizes.into_iter().try_fold(1usize, |product, size| product.checked_mul(size));
            product.ok_or(DeviceError::TooLarge { what: "beams", actual: usize::MAX, limit: usize::MAX - 1 })
        };
        rows.expect("rows", of([number, blocks * row, inputs])?, 16)?;
        let all = of([number, times, count])?;
        beams.expect("beams", all, size_of::<O>() as u64)?;
        if all == 0 {
            return Ok(());
        }
        let (table, scales) = self.table.of(&self.plan, channels.clone())?;
        let jobs = of([number, times.div_ceil(128), self.plan.tiles()])?;
        let limit = i32::MAX as usize;
        for (what, actual) in [("tiles of beams", jobs), ("times", times), ("channels", channels.end)] {
            if actual > limit {
                return Err(DeviceError::TooLarge { what, actual, limit }.into());
            }
        }
        let generation = self.plan.generation;
        let config = LaunchConfig::new([jobs.min(self.places) as u32, 1, 1], [generation.threads(), 1, 1])
            .with_shared_bytes(self.plan.shared_bytes());
        let beams = beams.reborrow().slice(..all)?.cast::<u16>()?;
        let of_rows = rows.slice(..number * blocks * row * inputs)?;
        let sizes = [128, inputs, blocks, number].map(|size| size as u64);
        let [number, inputs, count, times, digits, first] =
            [number, inputs, count, times, self.plan.weights.digits() as usize, channels.start].map(|size| size as u32);
        let (seed, dither) = (self.seed.unwrap_or(0), u32::from(self.seed.is_some()));
        let mut rest = args![
            table,
            scales,
            beams,
            &mut self.saturated,
            seed,
            spectrum,
            number,
            inputs,
            count,
            times,
            0u32,
            times,
            digits,
            1u32,
            first,
            dither
        ]
        .to_vec();
        if generation == Generation::Mma {
            rest.insert(0, of_rows.cast::<[u32; 4]>()?.into());
            return Ok(self.kernel.launch_safe(stream, &config, &rest)?);
        }
        let layout = TensorLayout {
            strides_bytes: vec![128, 128 * sizes[1], 128 * sizes[1] * sizes[2]],
            dimensions: sizes.to_vec(),
            block: vec![128, self.plan.weights.chunk_inputs(), 128 / row as u32, 1],
            ..TensorLayout::packed(TensorElement::U8, &[16], &[16])
        };
        let map = TensorView::tiled(rows.cast::<u8>()?, &layout.with_swizzle(Swizzle::Bytes128))?;
        rest.insert(0, (&map).into());
        Ok(self.kernel.launch_safe(stream, &config, &rest)?)
    }
}

impl<V: VoltageSample, O: TiedArrayOutput> TiedArrayKernels<V, O> {
    /// Forms beams of voltages `[channel][time][input]`, which become rows first. Where `present` (`[time][input]`) is
    /// zero a voltage counts as zero.
    ///
    /// # Errors
    /// As [`TiedArrayKernels::beamform_rows`]; voltages start at a multiple of their size.
    #[allow(clippy::too_many_arguments, reason = "those of rows, and the flags")]
    pub fn beamform(
        &mut self,
        stream: &Stream,
        channels: Range<usize>,
        times: usize,
        spectrum: u64,
        voltages: BufferView<'_, V>,
        present: Option<BufferView<'_, u8>>,
        beams: &mut BufferViewMut<'_, O>,
    ) -> Result<(), BeamformerError> {
        let shape = VoltageShape { channels: channels.len(), times, inputs: self.plan.inputs };
        let mut rows = self.rows(stream, channels.len(), times)?;
        self.pack.pack(stream, shape, 0..times, voltages, present, &mut rows.view_mut())?;
        self.beamform_rows(stream, channels, times, spectrum, rows.view().cast::<V>()?, beams)
    }

    /// Forms beams of heaps `[batch][antenna][channel][spectrum][pol]` of all channels, which become rows first. Where
    /// `present` (`[batch][antenna]`) is zero a heap's voltages count as zero.
    ///
    /// # Errors
    /// As [`TiedArrayKernels::beamform`].
    pub fn beamform_heaps(
        &mut self,
        stream: &Stream,
        [batches, spectra]: [usize; 2],
        spectrum: u64,
        heaps: BufferView<'_, V>,
        present: Option<BufferView<'_, u8>>,
        beams: &mut BufferViewMut<'_, O>,
    ) -> Result<(), BeamformerError> {
        let (channels, antennas, pols) = (self.channels, self.inputs.antennas(), self.inputs.pols());
        let shape = HeapShape { batches, antennas, channels, spectra, pols };
        let times = shape.times();
        let mut rows = self.rows(stream, channels, times)?;
        self.pack.pack_heaps(stream, shape, 0..times, heaps, present, &mut rows.view_mut())?;
        self.beamform_rows(stream, 0..channels, times, spectrum, rows.view().cast::<V>()?, beams)
    }

    /// Of each beam, the values that were beyond +-127 since the last call, waiting for the stream; none of floats.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`] with what the driver says.
    pub fn take_saturated(&mut self, stream: &Stream) -> Result<Vec<u64>, BeamformerError> {
        let counts = self.saturated.to_vec(stream)?;
        self.saturated.fill(stream, 0)?;
        Ok(counts)
    }

    /// Memory for rows, in the order of the stream.
    fn rows(&self, stream: &Stream, channels: usize, times: usize) -> Result<Buffer<u8>, BeamformerError> {
        let blocks = times.div_ceil(row_times(V::FORMAT));
        let sizes = [channels, blocks, self.plan.inputs, fringes_types::ROW_BYTES];
        let bytes = sizes.into_iter().try_fold(1usize, |product, size| product.checked_mul(size));
        let bytes = bytes.ok_or(DeviceError::TooLarge { what: "rows", actual: usize::MAX, limit: usize::MAX - 1 })?;
        Ok(self.pool.take(stream, bytes)?)
    }
}

impl<V: VoltageSample, O: TiedArrayOutput> BeamKernels<V, O> for TiedArrayKernels<V, O> {
    fn beamform_part(
        &mut self,
        stream: &Stream,
        part: KernelPart,
        voltages: BufferView<'_, V>,
        present: Option<BufferView<'_, u8>>,
        beams: &mut BufferViewMut<'_, O>,
    ) -> Result<(), BeamformerError> {
        let KernelPart { channels, times, spectrum } = part;
        self.beamform(stream, channels, times, spectrum, voltages, present, beams)
    }

    fn beamform_rows(
        &mut self,
        stream: &Stream,
        part: KernelPart,
        rows: BufferView<'_, V>,
        beams: &mut BufferViewMut<'_, O>,
    ) -> Result<(), BeamformerError> {
        let KernelPart { channels, times, spectrum } = part;
        TiedArrayKernels::beamform_rows(self, stream, channels, times, spectrum, rows, beams)
    }

    fn beamform_heaps(
        &mut self,
        stream: &Stream,
        heaps: [usize; 2],
        spectrum: u64,
        voltages: BufferView<'_, V>,
        present: Option<BufferView<'_, u8>>,
        beams: &mut BufferViewMut<'_, O>,
    ) -> Result<(), BeamformerError> {
        TiedArrayKernels::beamform_heaps(self, stream, heaps, spectrum, voltages, present, beams)
    }

    fn take_saturated(&mut self, stream: &Stream) -> Result<Vec<u64>, BeamformerError> {
        TiedArrayKernels::take_saturated(self, stream)
    }
}
