//! A kernel, its table of weights, and its launches: what beams of voltages and detected beams share.

use std::marker::PhantomData;
use std::ops::Range;

use fringes_backend::{DeviceError, Expect};
use fringes_correlator::kernels::PackKernels;
use fringes_correlator::layout::{HeapShape, VoltageShape};
use fringes_gpu::{
    Buffer, BufferPool, BufferView, BufferViewMut, Kernel, LaunchConfig, Stream, Swizzle, TensorElement, TensorLayout,
    TensorView, args,
};
use fringes_kernel_abi::tied_array::{Output, TIMES};
use fringes_types::{Inputs, ROW_BYTES, VoltageSample, row_times};

use super::plan::{Generation, Plan};
use super::table::Table;
use crate::{BeamformerError, TiedArrayBeams, TiedArrayOutput};

/// Chunks of inputs by which the second group of a block is behind the first: see the measurements.
const LAG: u32 = 2;

/// What a launch forms.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    /// Of the channels of the weights.
    pub(crate) channels: Range<usize>,
    pub(crate) times: usize,
    /// Times that powers are summed over: 1, 2, 4, 8 or 16.
    pub(crate) fold: usize,
}

/// A kernel of voltages `V` with weights.
#[derive(Debug)]
pub(crate) struct Former<V> {
    plan: Plan,
    inputs: Inputs,
    channels: usize,
    kernel: Kernel,
    /// Blocks that the device holds at once.
    places: usize,
    /// Chunks by which the second group of a block is behind the first.
    lag: u32,
    table: Table,
    pack: PackKernels,
    /// Rows of voltages that come in another order.
    pool: BufferPool,
    voltages: PhantomData<fn(V)>,
}

/// A product of sizes.
fn product(what: &'static str, sizes: &[usize]) -> Result<usize, DeviceError> {
    let product = sizes.iter().try_fold(1usize, |product, &size| product.checked_mul(size));
    product.ok_or(DeviceError::TooLarge { what, actual: usize::MAX, limit: usize::MAX - 1 })
}

impl<V: VoltageSample> Former<V> {
    /// Loads the kernel and makes the table, in the order of the stream.
    pub(crate) fn load<O: TiedArrayOutput>(
        stream: &Stream,
        set: &TiedArrayBeams<O>,
        output: Output,
        channels: usize,
        inputs: Inputs,
    ) -> Result<Self, BeamformerError> {
        let device = stream.device();
        let plan = Self::plan(stream, set, output, inputs);
        let kernel = plan.load(device)?;
        let resident = kernel.blocks_per_multiprocessor(plan.generation.threads(), plan.shared_bytes())?.max(1);
        let places = resident.saturating_mul(device.info().multiprocessors.max(1)) as usize;
        let pool = BufferPool::new(device);
        let mut table = Table::alloc(device, &plan, channels)?;
        table.make(stream, &pool, &plan, &set.weights, set.scale())?;
        let pack = PackKernels::load(device)?;
        let lag = set.lag().unwrap_or(LAG);
        Ok(Self { plan, inputs, channels, kernel, places, lag, table, pack, pool, voltages: PhantomData })
    }

    fn plan<O: TiedArrayOutput>(stream: &Stream, set: &TiedArrayBeams<O>, output: Output, inputs: Inputs) -> Plan {
        let generation = Generation::of(stream.device(), set.only_mma());
        Plan::new(generation, V::FORMAT, set.precision(), output, inputs.len(), set.weights.beams())
    }

    /// Makes the table of other weights, in the order of the stream; `false` if they take another kernel.
    pub(crate) fn replace<O: TiedArrayOutput>(
        &mut self,
        stream: &Stream,
        set: &TiedArrayBeams<O>,
    ) -> Result<bool, BeamformerError> {
        if Self::plan(stream, set, self.plan.output, self.inputs) != self.plan {
            return Ok(false);
        }
        self.table.make(stream, &self.pool, &self.plan, &set.weights, set.scale())?;
        Ok(true)
    }

    pub(crate) fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    pub(crate) fn channels(&self) -> usize {
        self.channels
    }

    pub(crate) fn inputs(&self) -> Inputs {
        self.inputs
    }

    pub(crate) fn weight_bytes(&self) -> u64 {
        self.table.bytes()
    }

    /// Beams of so many channels and times, or sums of them.
    pub(crate) fn length(&self, channels: usize, times: usize, fold: usize) -> Result<usize, DeviceError> {
        product("beams", &[channels, times.div_ceil(fold.max(1)), self.plan.beams])
    }

    /// Rows of voltages `[channel][time][input]`, in the order of the stream.
    pub(crate) fn rows_of_voltages(
        &self,
        stream: &Stream,
        channels: usize,
        times: usize,
        voltages: BufferView<'_, V>,
        present: Option<BufferView<'_, u8>>,
    ) -> Result<Buffer<u8>, BeamformerError> {
        let shape = VoltageShape { channels, times, inputs: self.plan.inputs };
        let mut rows = self.rows(stream, channels, times)?;
        self.pack.pack(stream, shape, 0..times, voltages, present, &mut rows.view_mut())?;
        Ok(rows)
    }

    /// Rows of heaps `[batch][antenna][channel][spectrum][pol]`, in the order of the stream.
    pub(crate) fn rows_of_heaps(
        &self,
        stream: &Stream,
        [batches, spectra]: [usize; 2],
        heaps: BufferView<'_, V>,
        present: Option<BufferView<'_, u8>>,
    ) -> Result<Buffer<u8>, BeamformerError> {
        let (channels, antennas, pols) = (self.channels, self.inputs.antennas(), self.inputs.pols());
        let shape = HeapShape { batches, antennas, channels, spectra, pols };
        let times = shape.times();
        let mut rows = self.rows(stream, channels, times)?;
        self.pack.pack_heaps(stream, shape, 0..times, heaps, present, &mut rows.view_mut())?;
        Ok(rows)
    }

    /// Memory for rows.
    fn rows(&self, stream: &Stream, channels: usize, times: usize) -> Result<Buffer<u8>, BeamformerError> {
        let blocks = times.div_ceil(row_times(V::FORMAT));
        Ok(self.pool.take(stream, product("rows", &[channels, blocks, self.plan.inputs, ROW_BYTES])?)?)
    }

    /// Queues the kernel: beams, or sums of powers, of rows. `dither` is the seed and the number of the first time;
    /// `beams` has the length that they take.
    pub(crate) fn form(
        &self,
        stream: &Stream,
        part: Part,
        dither: Option<(u64, u64)>,
        rows: BufferView<'_, V>,
        beams: BufferViewMut<'_, u16>,
        saturated: BufferViewMut<'_, u64>,
    ) -> Result<(), BeamformerError> {
        let Plan { generation, inputs, beams: count, .. } = self.plan;
        let Part { channels, times, fold } = part;
        let (row, number) = (row_times(V::FORMAT), channels.len());
        let blocks = times.div_ceil(row);
        let length = product("rows", &[number, blocks, row, inputs])?;
        rows.expect("rows", length, 16)?;
        if self.length(number, times, fold)? == 0 {
            return Ok(());
        }
        let (table, scales) = self.table.of(&self.plan, channels.clone())?;
        let jobs = product("tiles of beams", &[number, times.div_ceil(TIMES as usize), self.plan.tiles()])?;
        let limit = i32::MAX as usize;
        for (what, actual) in [("tiles of beams", jobs), ("times", times), ("channels", channels.end)] {
            if actual > limit {
                return Err(DeviceError::TooLarge { what, actual, limit }.into());
            }
        }
        let config = LaunchConfig::new([jobs.min(self.places) as u32, 1, 1], [generation.threads(), 1, 1])
            .with_shared_bytes(self.plan.shared_bytes());
        let sizes = [128, inputs, blocks, number].map(|size| size as u64);
        let digits = self.plan.weights.digits();
        let [number, inputs, count, times, fold, first] =
            [number, inputs, count, times, fold, channels.start].map(|size| size as u32);
        let (seed, spectrum) = dither.unwrap_or_default();
        let mut arguments = args![
            table,
            scales,
            beams,
            saturated,
            seed,
            spectrum,
            number,
            inputs,
            count,
            times,
            0u32,
            times,
            digits,
            fold,
            first,
            u32::from(dither.is_some())
        ]
        .to_vec();
        if generation == Generation::Mma {
            arguments.insert(0, rows.slice(..length)?.cast::<[u32; 4]>()?.into());
            return Ok(self.kernel.launch_safe(stream, &config, &arguments)?);
        }
        let layout = TensorLayout {
            strides_bytes: vec![128, 128 * sizes[1], 128 * sizes[1] * sizes[2]],
            dimensions: sizes.to_vec(),
            block: vec![128, self.plan.weights.chunk_inputs(), TIMES / row as u32, 1],
            ..TensorLayout::packed(TensorElement::U8, &[16], &[16])
        };
        arguments.push(self.lag.into());
        let map = TensorView::tiled(rows.cast::<u8>()?, &layout.with_swizzle(Swizzle::Bytes128))?;
        arguments.insert(0, (&map).into());
        Ok(self.kernel.launch_safe(stream, &config, &arguments)?)
    }
}
