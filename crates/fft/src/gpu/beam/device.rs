//! A plan of beams, loaded on a device.

use fringes_backend::DeviceError;
use std::marker::PhantomData;
use std::ops::Range;

use fringes_gpu::{Buffer, BufferView, BufferViewMut, Device, Kernel, Stream, args};

use super::shape::{BLOCK_WARPS, BeamShape};
use crate::gpu::ptx;
use crate::{BeamFft, BeamOutput, BeamSample, FeedLines, FftError, Sign, Size, phase_table};

/// What the kernels' stores need of an address.
const ALIGNMENT: u64 = 16;

/// A plan's kernel on one device, with its phases and gains there.
///
/// Every operation is queued on a stream and returns at once; nothing is allocated. Sizes are checked before anything is queued.
///
/// ```no_run
/// use fringes_fft::{BeamFft, FeedLines, gpu::DeviceBeams};
/// use fringes_gpu::{Buffer, Device};
/// use fringes_types::{Complex, Complex4, f16};
///
/// let device = Device::best()?;
/// let stream = device.new_stream()?;
/// let lines = FeedLines::new(4, 256, 2, 512)?; // four cylinders
/// let plan = BeamFft::<Complex4, Complex<f16>>::new(lines);
/// let beams = DeviceBeams::load(&stream, &plan, 16)?; // 16 channels; once
/// let voltages = Buffer::<Complex4>::zeroed(&stream, 16 * 1000 * lines.inputs())?; // [channel][time][input]
/// let mut formed = Buffer::<Complex<f16>>::alloc(&device, 16 * 1000 * lines.beams())?; // [channel][time][beam]
/// beams.form(&stream, 1000, voltages.view(), None, &mut formed.view_mut())?;
/// let formed = formed.to_vec(&stream)?; // waits for the stream
/// # let _ = formed;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DeviceBeams<V, O> {
    lines: FeedLines,
    channels: usize,
    kernel: Kernel,
    phases: Buffer<u32>,
    /// `[channel][input]`, f16 real part in the low half.
    gains: Buffer<u32>,
    /// Of each channel.
    factors: Buffer<f32>,
    /// Blocks that the device holds at once.
    blocks: u32,
    types: PhantomData<fn(V) -> O>,
}

impl<V: BeamSample, O: BeamOutput> DeviceBeams<V, O> {
    /// Loads the kernel and sends phases and gains of so many channels, and waits for that; the first time on a machine the driver compiles
    /// the kernel.
    ///
    /// # Errors
    /// [`FftError::NoKernel`] if there is none of the plan's size, [`TypesError::Dimension`](fringes_types::TypesError::Dimension) if the
    /// plan has gains of other channels, [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) with what the driver says.
    pub fn load(stream: &Stream, plan: &BeamFft<V, O>, channels: usize) -> Result<Self, FftError> {
        let (lines, size) = (plan.lines(), plan.lines().size());
        plan.check_channels(channels)?;
        let missing = FftError::NoKernel { inputs: size.inputs(), outputs: size.outputs() };
        let module = stream.device().load(ptx::beams(size).ok_or(missing)?)?;
        let kernel = module.kernel(&kernel_name::<V, O>(size))?;
        let phases = Buffer::from_slice(stream, &phase_table(size, Sign::Positive, 0))?;
        let (gains, factors) = plan.kernel_gains(channels)?;
        let gains = Buffer::from_slice(stream, &gains)?;
        let factors = Buffer::from_slice(stream, &factors)?;
        let shape = BeamShape::new(lines, channels, 1)?;
        let resident = kernel.blocks_per_multiprocessor(32 * BLOCK_WARPS, shape.shared_bytes())?.max(1);
        let blocks = resident.saturating_mul(stream.device().info().multiprocessors).max(1);
        Ok(Self { lines, channels, kernel, phases, gains, factors, blocks, types: PhantomData })
    }

    /// Replaces the gains by those of another plan of the same lines. Returns when they are there; work queued on this stream before uses the
    /// old ones.
    ///
    /// # Errors
    /// [`FftError::BeamLines`] for other lines, [`TypesError::Dimension`](fringes_types::TypesError::Dimension) for gains of other
    /// channels, [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) with what the driver says.
    pub fn set_gains(&mut self, stream: &Stream, plan: &BeamFft<V, O>) -> Result<(), FftError> {
        if plan.lines() != self.lines {
            return Err(FftError::BeamLines { expected: self.lines, actual: plan.lines() });
        }
        plan.check_channels(self.channels)?;
        let (gains, factors) = plan.kernel_gains(self.channels)?;
        self.gains.copy_from_slice(stream, &gains)?;
        self.factors.copy_from_slice(stream, &factors)?;
        Ok(())
    }

    /// The device.
    pub fn device(&self) -> &Device {
        self.kernel.device()
    }

    /// The kernel, for its attributes.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The lines.
    pub fn lines(&self) -> FeedLines {
        self.lines
    }

    /// Channels of the gains.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// Forms beams `[channel][time][beam]` of voltages `[channel][time][input]`, all channels. Where `present` (`[time][input]`) is zero a voltage counts as
    /// zero. Elements of the buffers past the last ones are neither read nor written.
    ///
    /// # Layout
    /// Voltages are read in words of two feeds where the address allows it and the feeds of a line are even in number; else one by one, which takes longer.
    ///
    /// # Errors
    /// [`FftError::BeamShape`] if a launch cannot take so many times, [`DeviceError::Length`](fringes_backend::DeviceError::Length) if a buffer is too short,
    /// [`DeviceError::Alignment`](fringes_backend::DeviceError::Alignment) if the beams do not start at a multiple of 16 bytes or the voltages at one of theirs, [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) with what the driver says.
    pub fn form(
        &self,
        stream: &Stream,
        times: usize,
        voltages: BufferView<'_, V>,
        present: Option<BufferView<'_, u8>>,
        beams: &mut BufferViewMut<'_, O>,
    ) -> Result<(), FftError> {
        self.form_channels(stream, 0..self.channels, times, voltages, present, beams)
    }

    /// As [`form`](Self::form), for voltages and beams of some of the channels.
    ///
    /// # Errors
    /// As [`form`](Self::form), and [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) for channels that there are not.
    pub fn form_channels(
        &self,
        stream: &Stream,
        channels: Range<usize>,
        times: usize,
        voltages: BufferView<'_, V>,
        present: Option<BufferView<'_, u8>>,
        beams: &mut BufferViewMut<'_, O>,
    ) -> Result<(), FftError> {
        let inputs = self.lines.inputs();
        let factors = self.factors.slice(channels.clone())?;
        let shape = BeamShape::new(self.lines, channels.len(), times)?;
        let gains = self.gains.slice(channels.start * inputs..channels.end * inputs)?;
        length("voltages", shape.samples(), voltages.len())?;
        length("beams", shape.beams(), beams.len())?;
        if let Some(present) = &present {
            length("presence flags", times.saturating_mul(inputs), present.len())?;
        }
        aligned("beams", ALIGNMENT, beams.address())?;
        aligned("voltages", size_of::<V>() as u64, voltages.address())?;
        let voltages = voltages.cast::<u8>()?;
        let present = match present {
            Some(present) => present,
            None => voltages.slice(0..0)?,
        };
        let beams = beams.reborrow().slice(..shape.beams())?.cast::<u32>()?;
        let launch = shape.launch(self.blocks);
        let sizes = [shape.channels(), times, self.lines.lines(), self.lines.feeds(), self.lines.pols()];
        let [channels, times, lines, feeds, pols] = sizes.map(|size| size as u32);
        let unit = launch.times;
        let arguments =
            args![voltages, present, gains, factors, &self.phases, beams, channels, times, lines, feeds, pols, unit];
        Ok(self.kernel.launch_safe(stream, &launch.config, arguments)?)
    }
}

/// Name of the kernel: `beams_256_512_i4_power`.
fn kernel_name<V: BeamSample, O: BeamOutput>(size: Size) -> String {
    format!("beams_{}_{}_{}_{}", size.inputs(), size.outputs(), V::KERNEL, O::KERNEL)
}

fn length(buffer: &'static str, expected: usize, actual: usize) -> Result<(), FftError> {
    if actual < expected { Err(FftError::Device(DeviceError::Length { buffer, expected, actual })) } else { Ok(()) }
}

fn aligned(buffer: &'static str, expected: u64, address: u64) -> Result<(), FftError> {
    let is = address.is_multiple_of(expected);
    if is { Ok(()) } else { Err(FftError::Device(DeviceError::Alignment { buffer, expected, address })) }
}
