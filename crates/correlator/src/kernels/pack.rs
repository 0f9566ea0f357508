//! Layouts of voltages into rows, on a device.

use std::ops::Range;

use fringes_backend::{DeviceError, Expect};
use fringes_gpu::{Argument, BufferView, BufferViewMut, Device, Kernel, LaunchConfig, Module, Stream, args};
use fringes_types::{ROW_BYTES, SampleFormat, VoltageSample};

use super::texts;
use crate::CorrelatorError;
use crate::layout::{
    HeapShape, Nibbles, TccShape, VoltageShape, check_pols, check_range, product, row_bytes, run_times,
};

/// Threads of a block.
pub(super) const THREADS: u32 = fringes_kernel_abi::correlator::PACK_THREADS;

/// Blocks of a grid, for each that the device can hold at once.
const ROUNDS: u32 = 8;

/// Rows that a warp packs at once, at most; a grid is no larger than gives each warp as many.
const WARP_ROWS: usize = 32;

/// A kernel that goes through its work in steps of the grid, and the largest grid that pays.
#[derive(Debug, Clone)]
pub(super) struct Stepping {
    pub(super) kernel: Kernel,
    pub(super) most_blocks: u32,
}

impl Stepping {
    /// Loads it.
    pub(super) fn load(module: &Module, name: &str, shared_bytes: u32) -> Result<Self, CorrelatorError> {
        let kernel = module.kernel(name)?;
        let resident = kernel.blocks_per_multiprocessor(THREADS, shared_bytes)?.max(1);
        let most_blocks = ROUNDS * resident * kernel.device().info().multiprocessors.max(1);
        Ok(Self { kernel, most_blocks })
    }

    fn launch(&self, stream: &Stream, rows: usize, arguments: &[Argument<'_>]) -> Result<(), CorrelatorError> {
        let blocks = rows.div_ceil(WARP_ROWS * THREADS as usize / 32).clamp(1, self.most_blocks as usize);
        let config = LaunchConfig::new([blocks as u32, 1, 1], [THREADS, 1, 1]);
        Ok(self.kernel.launch_safe(stream, &config, arguments)?)
    }
}

/// The kernel for whole pieces of 16 bytes, and the one for all else.
#[derive(Debug, Clone)]
struct Pair {
    wide: Stepping,
    any: Stepping,
}

impl Pair {
    fn load(module: &Module, name: &str) -> Result<Self, CorrelatorError> {
        let wide = Stepping::load(module, name, 0)?;
        Ok(Self { wide, any: Stepping::load(module, &format!("{name}_any"), 0)? })
    }

    fn choose(&self, wide: bool) -> &Stepping {
        if wide { &self.wide } else { &self.any }
    }
}

/// The kernels of a format.
#[derive(Debug, Clone)]
struct Formatted {
    voltages: Pair,
    heaps: Pair,
    runs: Pair,
}

impl Formatted {
    fn load(module: &Module, format: &str) -> Result<Self, CorrelatorError> {
        Ok(Self {
            voltages: Pair::load(module, &format!("pack_{format}"))?,
            heaps: Pair::load(module, &format!("pack_heaps_{format}"))?,
            runs: Pair::load(module, &format!("pack_tcc_{format}"))?,
        })
    }
}

/// The pack kernels on one device: voltages in any [layout](crate::layout), format and size into rows. Cheap to clone.
///
/// Every operation is queued on a stream and returns at once; nothing is allocated. Sizes are checked before anything
/// is queued. Rows begin with the first time of the range that is asked for; times of the last row past its end become
/// zero.
///
/// Sizes and addresses that are multiples of 16 bytes move at the memory's rate: for voltages and xGPU's spectra
/// `inputs` times the size of a sample (and flags at a multiple of as many bytes as 16 bytes have samples), for heaps
/// `spectra * pols` and `first time * pols` times it, for the Tensor-Core Correlator's runs a first time that is a
/// multiple of `k`, and no flags. Voltages and spectra of other sizes without flags move in the same pieces, each cut
/// out of two; all others move sample by sample.
#[derive(Debug, Clone)]
pub struct PackKernels {
    formats: [Formatted; 4],
}

/// Rows to be written.
struct Target<'a, 'b> {
    rows: &'a mut BufferViewMut<'b, u8>,
    /// How many.
    number: usize,
}

impl PackKernels {
    /// Loads the kernels; the first time on a machine the driver compiles them.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) with what the driver says.
    pub fn load(device: &Device) -> Result<Self, CorrelatorError> {
        let module = device.load(&texts::CORRELATOR_DATA)?;
        let load = |format| Formatted::load(&module, format);
        Ok(Self { formats: [load("i4")?, load("i8")?, load("f16")?, load("f32")?] })
    }

    fn format<V: VoltageSample>(&self) -> &Formatted {
        let [int4, int8, float16, float32] = &self.formats;
        match V::FORMAT {
            SampleFormat::Int4 => int4,
            SampleFormat::Int8 => int8,
            SampleFormat::Float32 => float32,
            // No voltages are of 16-bit integers.
            SampleFormat::Float16 | SampleFormat::Int16 => float16,
        }
    }

    /// Packs times `range` of voltages `[channel][time][input]` into rows.
    ///
    /// Where `present` (`[time][input]`, of all times) is zero a voltage counts as zero.
    ///
    /// # Errors
    /// [`CorrelatorError::TimeRange`] if the range lies outside,
    /// [`DeviceError::Length`](fringes_backend::DeviceError::Length) if a buffer is too short,
    /// [`DeviceError::Alignment`](fringes_backend::DeviceError::Alignment) if samples are not at multiples of their
    /// size or rows of 16 bytes, [`DeviceError::TooLarge`](fringes_backend::DeviceError::TooLarge) for sizes that
    /// the kernels cannot count, [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) with what the driver says.
    pub fn pack<V: VoltageSample>(
        &self,
        stream: &Stream,
        shape: VoltageShape,
        range: Range<usize>,
        voltages: BufferView<'_, V>,
        present: Option<BufferView<'_, u8>>,
        rows: &mut BufferViewMut<'_, u8>,
    ) -> Result<(), CorrelatorError> {
        let present = flags_from(present, &shape, &range, voltages)?;
        self.pack_part(stream, shape, range, voltages, present, rows)
    }

    /// As [`PackKernels::pack`], with flags `[time][input]` of the range alone; none if they are empty.
    pub(crate) fn pack_part<V: VoltageSample>(
        &self,
        stream: &Stream,
        shape: VoltageShape,
        range: Range<usize>,
        voltages: BufferView<'_, V>,
        present: BufferView<'_, u8>,
        rows: &mut BufferViewMut<'_, u8>,
    ) -> Result<(), CorrelatorError> {
        let strides = [shape.times.saturating_mul(shape.inputs), shape.inputs];
        self.strided(stream, shape, strides, range, voltages, present, rows)
    }

    /// Packs times `range` of xGPU's spectra `[time][channel][antenna][pol]` into rows. `shape.inputs` is antennas
    /// times polarisations.
    ///
    /// # Errors
    /// As [`PackKernels::pack`].
    pub fn pack_xgpu<V: VoltageSample>(
        &self,
        stream: &Stream,
        shape: VoltageShape,
        range: Range<usize>,
        spectra: BufferView<'_, V>,
        present: Option<BufferView<'_, u8>>,
        rows: &mut BufferViewMut<'_, u8>,
    ) -> Result<(), CorrelatorError> {
        let strides = [shape.inputs, shape.channels.saturating_mul(shape.inputs)];
        let present = flags_from(present, &shape, &range, spectra)?;
        self.strided(stream, shape, strides, range, spectra, present, rows)
    }

    /// Packs voltages of any strides of channel and time; flags are those of the range, or none.
    #[allow(clippy::too_many_arguments)] // those of `pack`, and the strides
    fn strided<V: VoltageSample>(
        &self,
        stream: &Stream,
        shape: VoltageShape,
        [channel_stride, time_stride]: [usize; 2],
        range: Range<usize>,
        voltages: BufferView<'_, V>,
        present: BufferView<'_, u8>,
        rows: &mut BufferViewMut<'_, u8>,
    ) -> Result<(), CorrelatorError> {
        let VoltageShape { channels, times, inputs } = shape;
        check_range(&range, times)?;
        voltages.expect("voltages", shape.samples()?, size_of::<V>() as u64)?;
        let Some(target) = target::<V>(rows, [channels, range.len(), inputs])? else { return Ok(()) };
        let samples = voltages.slice(range.start * time_stride..)?.cast::<u8>()?;
        let whole = 16 / size_of::<V>();
        let wide = [channel_stride, time_stride, inputs].iter().all(|size| size.is_multiple_of(whole))
            && samples.address().is_multiple_of(16)
            && present.address().is_multiple_of(whole as u64);
        let numbers = numbers("voltages", [channels, range.len(), inputs])?;
        let [channels, times, inputs] = numbers;
        let (channel_stride, time_stride) = (channel_stride as u64, time_stride as u64);
        let kernel = self.format::<V>().voltages.choose(wide);
        let Target { rows, number } = target;
        let rows = rows.reborrow();
        kernel.launch(
            stream,
            number,
            args![samples, present, rows, channels, times, inputs, channel_stride, time_stride],
        )
    }

    /// Packs times `range` of heaps `[batch][antenna][channel][spectrum][pol]` into rows; `time = batch * spectra +
    /// spectrum`.
    ///
    /// Where `present` (`[batch][antenna]`) is zero a heap's samples count as zero.
    ///
    /// # Errors
    /// As [`PackKernels::pack`], and [`TypesError::Pols`](fringes_types::TypesError::Pols) if there are not 1 or 2
    /// polarisations.
    pub fn pack_heaps<V: VoltageSample>(
        &self,
        stream: &Stream,
        shape: HeapShape,
        range: Range<usize>,
        heaps: BufferView<'_, V>,
        present: Option<BufferView<'_, u8>>,
        rows: &mut BufferViewMut<'_, u8>,
    ) -> Result<(), CorrelatorError> {
        let HeapShape { batches, antennas, channels, spectra, pols } = shape;
        check_pols(pols)?;
        check_range(&range, shape.times())?;
        heaps.expect("heaps", shape.samples()?, size_of::<V>() as u64)?;
        let present = flags(present, &[batches, antennas], heaps)?;
        let Some(target) = target::<V>(rows, [channels, range.len(), shape.inputs()])? else { return Ok(()) };
        let samples = heaps.cast::<u8>()?;
        let whole = 16 / size_of::<V>() / pols;
        let wide =
            spectra.is_multiple_of(whole) && range.start.is_multiple_of(whole) && samples.address().is_multiple_of(16);
        numbers("heaps", [batches.saturating_mul(spectra), shape.inputs().saturating_mul(2)])?;
        let sizes = [channels, antennas, pols, batches, spectra, range.start, range.len()];
        let [channels, antennas, pols, batches, spectra, first, times] = numbers("heaps", sizes)?;
        let kernel = self.format::<V>().heaps.choose(wide);
        let Target { rows, number } = target;
        let rows = rows.reborrow();
        let arguments = args![samples, present, rows, channels, antennas, pols, batches, spectra, first, times];
        kernel.launch(stream, number, arguments)
    }

    /// Packs times `range` of the Tensor-Core Correlator's runs `[channel][time / k][antenna][pol][k]` into rows.
    ///
    /// Where `present` (`[time][input]`, of all times) is zero a sample counts as zero.
    ///
    /// # Errors
    /// As [`PackKernels::pack_heaps`].
    pub fn pack_tcc<V: VoltageSample>(
        &self,
        stream: &Stream,
        shape: TccShape,
        range: Range<usize>,
        runs: BufferView<'_, V>,
        present: Option<BufferView<'_, u8>>,
        rows: &mut BufferViewMut<'_, u8>,
    ) -> Result<(), CorrelatorError> {
        let inputs = shape.inputs();
        check_pols(shape.pols)?;
        check_range(&range, shape.times)?;
        runs.expect("runs", shape.samples::<V>()?, size_of::<V>() as u64)?;
        let present = flags(present, &[shape.times, inputs], runs)?;
        let Some(target) = target::<V>(rows, [shape.channels, range.len(), inputs])? else { return Ok(()) };
        let samples = runs.cast::<u8>()?;
        let wide =
            range.start.is_multiple_of(run_times::<V>()) && present.is_empty() && samples.address().is_multiple_of(16);
        let present = if present.is_empty() { present } else { present.slice(range.start * inputs..)? };
        let number_of_runs = shape.times.div_ceil(run_times::<V>());
        numbers("runs", [shape.times.saturating_add(run_times::<V>())])?;
        let [channels, inputs, of_runs, first, times] =
            numbers("runs", [shape.channels, inputs, number_of_runs, range.start, range.len()])?;
        let swap = u32::from(shape.nibbles == Nibbles::RealLow);
        let kernel = self.format::<V>().runs.choose(wide);
        let Target { rows, number } = target;
        let rows = rows.reborrow();
        kernel.launch(stream, number, args![samples, present, rows, channels, inputs, of_runs, first, times, swap])
    }
}

/// The rows, if there are any, for so many channels, times and inputs.
fn target<'a, 'b, V: VoltageSample>(
    rows: &'a mut BufferViewMut<'b, u8>,
    [channels, times, inputs]: [usize; 3],
) -> Result<Option<Target<'a, 'b>>, CorrelatorError> {
    let bytes = row_bytes::<V>(channels, times, inputs)?;
    rows.expect("rows", bytes, 16)?;
    if bytes == 0 {
        return Ok(None);
    }
    let number = bytes / ROW_BYTES;
    numbers("rows", [number])?;
    Ok(Some(Target { rows, number }))
}

/// The flags of a range of times, or none.
fn flags_from<'a, V: VoltageSample>(
    present: Option<BufferView<'a, u8>>,
    shape: &VoltageShape,
    range: &Range<usize>,
    samples: BufferView<'a, V>,
) -> Result<BufferView<'a, u8>, CorrelatorError> {
    let VoltageShape { times, inputs, .. } = *shape;
    check_range(range, times)?;
    let present = flags(present, &[times, inputs], samples)?;
    Ok(if present.is_empty() { present } else { present.slice(range.start * inputs..range.end * inputs)? })
}

/// The flags, or none.
fn flags<'a, V: VoltageSample>(
    present: Option<BufferView<'a, u8>>,
    sizes: &[usize],
    samples: BufferView<'a, V>,
) -> Result<BufferView<'a, u8>, CorrelatorError> {
    match present {
        Some(present) => {
            present.expect("presence flags", product("presence flags", sizes)?, 1)?;
            Ok(present)
        }
        None => Ok(samples.slice(0..0)?.cast::<u8>()?),
    }
}

/// Sizes as the kernels take them.
pub(super) fn numbers<const N: usize>(layout: &'static str, sizes: [usize; N]) -> Result<[u32; N], CorrelatorError> {
    match sizes.iter().find(|&&size| u32::try_from(size).is_err()) {
        Some(&actual) => {
            Err(CorrelatorError::Device(DeviceError::TooLarge { what: layout, actual, limit: u32::MAX as usize }))
        }
        None => Ok(sizes.map(|size| size as u32)),
    }
}
