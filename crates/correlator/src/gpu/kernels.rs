//! The correlator's kernels, loaded on a device.

use fringes_backend::DeviceError;
use fringes_gpu::{Argument, BufferView, BufferViewMut, Device, Kernel, LaunchConfig, Stream, args};
use fringes_types::Complex;

use crate::CorrelatorError;
use crate::gpu::mma::{Format, MmaKernel, Order};
use crate::gpu::wgmma::{WgmmaJob, WgmmaKernel, WgmmaSamples};
use crate::gpu::{MAX_LAUNCH_TIMES, Shape};

/// The kernels of the correlator on one device. Cheap to clone and to load again: the device keeps what is compiled.
///
/// Every operation is queued on a stream and returns at once; nothing is allocated. Sizes are checked before anything is queued.
#[derive(Debug, Clone)]
pub struct CorrelatorKernels {
    device: Device,
    /// Overwriting and adding.
    mma: [Kernel; 2],
    /// The same by tile, where the device has compute capability 9.0.
    wgmma: Vec<(WgmmaKernel, [Kernel; 2])>,
}

/// Which instructions the kernels are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Path {
    /// `cp.async`, `ldmatrix`, `mma.sync`: compute capability 8.0 and later.
    Sm80,
    /// TMA and `wgmma`: compute capability 9.0.
    Sm90a,
}

impl Path {
    /// The fastest that a device has.
    pub fn of(device: &Device) -> Self {
        if WgmmaKernel::runs_on(device) { Self::Sm90a } else { Self::Sm80 }
    }
}

impl CorrelatorKernels {
    /// Loads the kernels of the device's fastest [`Path`]; the first time on a machine the driver compiles them.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) with what the driver says.
    pub fn load(device: &Device) -> Result<Self, CorrelatorError> {
        Self::load_path(device, Path::of(device))
    }

    /// Loads the kernels of a path.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) with what the driver says, for a path that the device does not have among it.
    pub fn load_path(device: &Device, path: Path) -> Result<Self, CorrelatorError> {
        let square = MmaKernel::choose(Format::I8, Order::Rows, 1024);
        let correlator = device.load(square.ptx())?;
        let mut wgmma = Vec::new();
        if path == Path::Sm90a {
            for kernel in WgmmaKernel::all(Format::I8, Order::Rows, 1) {
                wgmma.push((kernel, [kernel.load(device, false)?, kernel.load(device, true)?]));
            }
        }
        Ok(Self {
            device: device.clone(),
            mma: [correlator.kernel(&square.name(false))?, correlator.kernel(&square.name(true))?],
            wgmma,
        })
    }

    /// The path whose kernels are loaded.
    pub fn path(&self) -> Path {
        if self.wgmma.is_empty() { Path::Sm80 } else { Path::Sm90a }
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Correlates rows into sums `[channel][baseline]`, packed lower triangle, overwriting them.
    ///
    /// # Precision
    /// Exact for samples within +-127.
    ///
    /// # Errors
    /// [`CorrelatorError::TooManyTimes`] above [`MAX_LAUNCH_TIMES`], [`DeviceError::Length`](fringes_backend::DeviceError::Length) if a buffer is too short,
    /// [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) with what the driver says.
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
        if let Some((kernel, [entry, _], job)) = self.wgmma(shape) {
            return job.launch(stream, *kernel, entry, rows, sums);
        }
        let [channels, inputs, blocks, times] = numbers(shape);
        let config = shape.correlate_launch();
        launch(&self.mma[0], stream, config, args![rows, sums, channels, inputs, blocks, 0u32, times, 1u32])
    }

    /// Multiplies as [`CorrelatorKernels::correlate`] does and writes nothing: what the products alone take. `sums` are not touched.
    /// [`Path::Sm90a`] can.
    ///
    /// # Errors
    /// As [`CorrelatorKernels::correlate`]; [`CorrelatorError::DeviceShape`] on the other path.
    pub fn multiply(
        &self,
        stream: &Stream,
        shape: Shape,
        rows: BufferView<'_, u8>,
        sums: &mut BufferViewMut<'_, Complex<i32>>,
    ) -> Result<(), CorrelatorError> {
        check(shape, rows, usize::MAX)?;
        let sums = sums.reborrow().cast::<[i32; 2]>()?;
        let Some((kernel, [entry, _], job)) = self.wgmma(shape) else {
            let (channels, times, inputs) = (shape.channels(), shape.times(), shape.inputs());
            return Err(CorrelatorError::DeviceShape { channels, times, inputs });
        };
        job.multiply(stream, *kernel, entry, rows, sums)
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
        if let Some((kernel, [_, entry], job)) = self.wgmma(shape) {
            return job.launch(stream, *kernel, entry, rows, sums);
        }
        let [channels, inputs, blocks, times] = numbers(shape);
        let config = shape.correlate_launch();
        launch(&self.mma[1], stream, config, args![rows, sums, channels, inputs, blocks, 0u32, times, 1u32])
    }

    /// The kernel of compute capability 9.0 for a shape, and its job.
    fn wgmma(&self, shape: Shape) -> Option<(&WgmmaKernel, &[Kernel; 2], WgmmaJob)> {
        let chosen = WgmmaKernel::choose(Format::I8, Order::Rows, shape.inputs());
        let (kernel, entries) = self.wgmma.iter().find(|(kernel, _)| *kernel == chosen)?;
        let samples = WgmmaSamples::Rows { blocks: shape.blocks(), times: 0..shape.times() };
        Some((kernel, entries, WgmmaJob { channels: shape.channels(), inputs: shape.inputs(), samples, parts: 1 }))
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
    if actual < expected {
        Err(CorrelatorError::Device(DeviceError::Length { buffer, expected, actual }))
    } else {
        Ok(())
    }
}

fn aligned_to(expected: u64, buffer: &'static str, address: u64) -> Result<(), CorrelatorError> {
    if address.is_multiple_of(expected) {
        Ok(())
    } else {
        Err(CorrelatorError::Device(DeviceError::Alignment { buffer, expected, address }))
    }
}
