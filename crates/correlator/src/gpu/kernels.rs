//! The correlator's kernels, loaded on a device.

use fringes_gpu::{Argument, BufferView, BufferViewMut, Device, Kernel, LaunchConfig, PtxSet, Stream, args};
use fringes_types::{Complex, Complex4, VoltageSample};

use crate::CorrelatorError;
use crate::gpu::{MAX_LAUNCH_TIMES, Shape};

/// Text of the kernels; see `manifest.json` beside it.
const PTX: PtxSet = PtxSet::new(include_str!("../../ptx/correlator_sm_80.ptx"));

/// Voltages that the pack kernels read.
pub trait DeviceVoltage: VoltageSample {
    /// The pack kernel for numbers of inputs that are multiples of 8, and the one for all others.
    #[doc(hidden)]
    const PACK: [&'static str; 2];
}

impl DeviceVoltage for Complex<i8> {
    const PACK: [&'static str; 2] = ["pack_i8", "pack_i8_any"];
}

impl DeviceVoltage for Complex4 {
    const PACK: [&'static str; 2] = ["pack_i4", "pack_i4_any"];
}

/// The kernels of the correlator on one device. Cheap to clone and to load again: the device keeps what is compiled.
///
/// Every operation is queued on a stream and returns at once; nothing is allocated. Sizes are checked before anything is queued.
#[derive(Debug, Clone)]
pub struct CorrelatorKernels {
    device: Device,
    pack: [[Kernel; 2]; 2],
    correlate: Kernel,
    accumulate: Kernel,
}

impl CorrelatorKernels {
    /// Loads the kernels; the first time on a machine the driver compiles them.
    ///
    /// # Errors
    /// [`CorrelatorError::Gpu`] with what the driver says.
    pub fn load(device: &Device) -> Result<Self, CorrelatorError> {
        let module = device.load(&PTX)?;
        let pair = |[wide, any]: [&str; 2]| Ok::<_, CorrelatorError>([module.kernel(wide)?, module.kernel(any)?]);
        Ok(Self {
            device: device.clone(),
            pack: [pair(<Complex<i8>>::PACK)?, pair(Complex4::PACK)?],
            correlate: module.kernel("correlate_i8")?,
            accumulate: module.kernel("correlate_i8_add")?,
        })
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Packs voltages `[channel][time][input]` into rows `[channel][time / 64][input][64]`.
    ///
    /// Where `present` (`[time][input]`) is zero a voltage counts as zero. 4+4-bit voltages become 8-bit ones. The rows' times past the end
    /// become zero.
    ///
    /// # Errors
    /// [`CorrelatorError::DeviceLength`] if a buffer is too short, [`CorrelatorError::Gpu`] with what the driver says.
    pub fn pack<V: DeviceVoltage>(
        &self,
        stream: &Stream,
        shape: Shape,
        voltages: BufferView<'_, V>,
        present: Option<BufferView<'_, u8>>,
        rows: &mut BufferViewMut<'_, u8>,
    ) -> Result<(), CorrelatorError> {
        length("voltages", shape.samples(), voltages.len())?;
        length("rows", shape.row_bytes(), rows.len())?;
        if let Some(present) = &present {
            length("presence flags", shape.times() * shape.inputs(), present.len())?;
        }
        let [wide, any] = &self.pack[usize::from(V::FORMAT == Complex4::FORMAT)];
        let voltages = voltages.cast::<u8>()?;
        let aligned = voltages.address().is_multiple_of(16) && shape.inputs().is_multiple_of(8);
        let present = match present {
            Some(present) => present,
            None => voltages.slice(0..0)?,
        };
        let [channels, times, inputs] = [shape.channels(), shape.times(), shape.inputs()].map(|size| size as u32);
        let kernel = if aligned { wide } else { any };
        aligned_to(16, "rows", rows.address())?;
        aligned_to(size_of::<V>() as u64, "voltages", voltages.address())?;
        launch(kernel, stream, shape.pack_launch(), args![voltages, present, rows.reborrow(), channels, times, inputs])
    }

    /// Correlates rows into sums `[channel][baseline]`, packed lower triangle, overwriting them.
    ///
    /// # Precision
    /// Exact for samples within +-127.
    ///
    /// # Errors
    /// [`CorrelatorError::TooManyTimes`] above [`MAX_LAUNCH_TIMES`], [`CorrelatorError::DeviceLength`] if a buffer is too short,
    /// [`CorrelatorError::Gpu`] with what the driver says.
    pub fn correlate(
        &self,
        stream: &Stream,
        shape: Shape,
        rows: BufferView<'_, u8>,
        sums: &mut BufferViewMut<'_, Complex<i32>>,
    ) -> Result<(), CorrelatorError> {
        check(shape, rows, sums.len())?;
        aligned_to(8, "sums", sums.address())?;
        let sums = sums.reborrow().cast::<[i32; 2]>()?;
        let [channels, inputs, blocks, times] = numbers(shape);
        let config = shape.correlate_launch();
        launch(&self.correlate, stream, config, args![rows, sums, channels, inputs, blocks, 0u32, times])
    }

    /// Correlates rows and adds to 64-bit sums `[channel][baseline]`, packed lower triangle.
    ///
    /// # Precision
    /// Exact for samples within +-127 and sums below 2^63.
    ///
    /// # Errors
    /// As [`CorrelatorKernels::correlate`].
    pub fn accumulate(
        &self,
        stream: &Stream,
        shape: Shape,
        rows: BufferView<'_, u8>,
        sums: &mut BufferViewMut<'_, Complex<i64>>,
    ) -> Result<(), CorrelatorError> {
        check(shape, rows, sums.len())?;
        aligned_to(16, "sums", sums.address())?;
        let sums = sums.reborrow().cast::<[i64; 2]>()?;
        let [channels, inputs, blocks, times] = numbers(shape);
        let config = shape.correlate_launch();
        launch(&self.accumulate, stream, config, args![rows, sums, channels, inputs, blocks, 0u32, times])
    }
}

fn launch(
    kernel: &Kernel,
    stream: &Stream,
    config: LaunchConfig,
    arguments: &[Argument<'_>],
) -> Result<(), CorrelatorError> {
    Ok(kernel.launch_safe(stream, &config, arguments)?)
}

/// Channels, inputs, blocks and times as the kernels take them.
fn numbers(shape: Shape) -> [u32; 4] {
    [shape.channels(), shape.inputs(), shape.blocks(), shape.times()].map(|size| size as u32)
}

fn check(shape: Shape, rows: BufferView<'_, u8>, sums: usize) -> Result<(), CorrelatorError> {
    if shape.times() > MAX_LAUNCH_TIMES {
        return Err(CorrelatorError::TooManyTimes { actual: shape.times(), limit: MAX_LAUNCH_TIMES });
    }
    length("rows", shape.row_bytes(), rows.len())?;
    aligned_to(16, "rows", rows.address())?;
    length("sums", shape.visibilities(), sums)
}

fn length(buffer: &'static str, expected: usize, actual: usize) -> Result<(), CorrelatorError> {
    if actual < expected { Err(CorrelatorError::DeviceLength { buffer, expected, actual }) } else { Ok(()) }
}

fn aligned_to(expected: u64, buffer: &'static str, address: u64) -> Result<(), CorrelatorError> {
    if address.is_multiple_of(expected) {
        Ok(())
    } else {
        Err(CorrelatorError::DeviceAlignment { buffer, expected, address })
    }
}
