//! The kernels of FFT beams, loaded on a device: one launch for all lines, polarisations, channels and times.

mod ptx;
mod shape;
mod size;
mod texts;

use std::marker::PhantomData;
use std::ops::Range;

use fringes_backend::{DeviceError, Expect};
use fringes_cpu::beamformer::FeedLines;
use fringes_fft::internals::phase_table;
use fringes_fft::{Sign, Size};
use fringes_gpu::{Buffer, BufferView, BufferViewMut, Device, Kernel, Stream, args};
use fringes_types::{Inputs, SampleFormat, VoltageSample};

use crate::set::{BeamKernels, KernelPart};
use crate::{BeamSet, BeamformerError, FftBeamOutput, FftBeams};

pub use ptx::has_kernel;
pub use shape::{BLOCK_WARPS, BeamLaunch, BeamShape};
pub use size::transform_size;

/// What the kernels' stores need of an address.
const ALIGNMENT: u64 = 16;

/// Most beams of a channel and time.
pub(super) const MOST_BEAMS: usize = 1 << 24;

/// The kernel of FFT beams of voltages `V` as `O` on one device, with phases and gains there.
///
/// Every operation is queued on a stream and returns at once; nothing is allocated. Sizes are checked before anything
/// is queued. [`BeamformerStream`](crate::BeamformerStream) uses it for chunks that lie on a device; software that has
/// device buffers of its own calls it itself:
///
/// ```no_run
/// use fringes_beamformer::{BeamSet, FftBeamKernels, FftBeams};
/// use fringes_gpu::{Buffer, Device};
/// use fringes_types::{Complex, Complex4, Inputs, f16};
///
/// let device = Device::best()?;
/// let stream = device.new_stream()?;
/// let inputs = Inputs::new(4 * 256, 2)?;
/// let fan = FftBeams::new(4, 256, 512)?.with_output::<Complex<f16>>(); // four cylinders
/// let kernels = FftBeamKernels::<Complex4, _>::load(&device, &fan, 16, inputs)?; // 16 channels; once
/// let voltages = Buffer::<Complex4>::zeroed(&stream, 16 * 1000 * inputs.len())?; // [channel][time][input]
/// let mut beams = Buffer::<Complex<f16>>::alloc(&device, 16 * 1000 * fan.beams(inputs))?; // [channel][time][beam]
/// kernels.beamform(&stream, 1000, voltages.view(), None, &mut beams.view_mut())?;
/// let beams = beams.to_vec(&stream)?; // waits for the stream
/// # let _ = beams;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FftBeamKernels<V, O> {
    layout: FeedLines,
    size: Size,
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

impl<V: VoltageSample, O: FftBeamOutput> FftBeamKernels<V, O> {
    /// Loads the kernel and sends phases and gains for so many channels, and waits for that; the first time on a
    /// machine the driver compiles the kernel.
    ///
    /// # Errors
    /// As [`BeamSet::check`]; [`DeviceError::NoKernel`] and [`DeviceError::TooLarge`] for what [`FftBeams`] says that
    /// there is no kernel of, [`DeviceError::Gpu`] with what the driver says.
    pub fn load(device: &Device, set: &FftBeams<O>, channels: usize, inputs: Inputs) -> Result<Self, BeamformerError> {
        set.check(channels, inputs)?;
        let (layout, size) = (set.layout(inputs), set.kernel_size(V::FORMAT, inputs)?);
        let missing = || DeviceError::NoKernel { expected: "beams with a kernel", actual: size.to_string() };
        let texts = ptx::set(size).ok_or_else(missing)?;
        let format = format_name(V::FORMAT).ok_or_else(missing)?;
        let module = device.load(texts)?;
        let kernel = module.kernel(&kernel_name::<O>(size, format))?;
        let stream = device.new_stream()?;
        let phases = Buffer::from_slice(&stream, &phase_table(size, Sign::Positive, 0))?;
        let (gains, factors) = set.kernel_gains(channels, inputs)?;
        let gains = Buffer::from_slice(&stream, &gains)?;
        let factors = Buffer::from_slice(&stream, &factors)?;
        let shape = BeamShape::new(layout, size, channels, 1)?;
        let resident = kernel.blocks_per_multiprocessor(32 * BLOCK_WARPS, shape.shared_bytes())?.max(1);
        let blocks = resident.saturating_mul(device.info().multiprocessors).max(1);
        Ok(Self { layout, size, channels, kernel, phases, gains, factors, blocks, types: PhantomData })
    }

    /// The device.
    pub fn device(&self) -> &Device {
        self.kernel.device()
    }

    /// The kernel, for its attributes.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Channels of the gains.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// Forms beams `[channel][time][beam]` of voltages `[channel][time][input]`, all channels. Where `present`
    /// (`[time][input]`) is zero a voltage counts as zero. Elements of the buffers past the last ones are neither read
    /// nor written; for no times nothing is queued.
    ///
    /// # Layout
    /// Voltages are read in words of two feeds where the address allows it and the feeds of a line are even in number;
    /// else one by one, which takes longer.
    ///
    /// # Errors
    /// [`DeviceError::TooLarge`] if lines times channels times times exceed 2^32 - 1, [`DeviceError::Length`] if a
    /// buffer is too short, [`DeviceError::Alignment`] if the beams do not start at a multiple of 16 bytes or the
    /// voltages at one of theirs, [`DeviceError::Gpu`] with what the driver says.
    pub fn beamform(
        &self,
        stream: &Stream,
        times: usize,
        voltages: BufferView<'_, V>,
        present: Option<BufferView<'_, u8>>,
        beams: &mut BufferViewMut<'_, O>,
    ) -> Result<(), BeamformerError> {
        self.beamform_channels(stream, 0..self.channels, times, voltages, present, beams)
    }

    /// As [`beamform`](Self::beamform), for voltages and beams of some of the channels.
    ///
    /// # Errors
    /// As [`beamform`](Self::beamform), and [`DeviceError::Gpu`] for channels beyond the last one.
    pub fn beamform_channels(
        &self,
        stream: &Stream,
        channels: Range<usize>,
        times: usize,
        voltages: BufferView<'_, V>,
        present: Option<BufferView<'_, u8>>,
        beams: &mut BufferViewMut<'_, O>,
    ) -> Result<(), BeamformerError> {
        let inputs = self.layout.inputs();
        let factors = self.factors.slice(channels.clone())?;
        let shape = BeamShape::new(self.layout, self.size, channels.len(), times)?;
        let gains = self.gains.slice(channels.start * inputs..channels.end * inputs)?;
        voltages.expect("voltages", shape.samples(), size_of::<V>() as u64)?;
        beams.expect("beams", shape.beams(), ALIGNMENT)?;
        if let Some(present) = &present {
            present.expect("presence flags", times.saturating_mul(inputs), 1)?;
        }
        if shape.beams() == 0 {
            return Ok(());
        }
        let voltages = voltages.cast::<u8>()?;
        let present = match present {
            Some(present) => present,
            None => voltages.slice(0..0)?,
        };
        let beams = beams.reborrow().slice(..shape.beams())?.cast::<u32>()?;
        let launch = shape.launch(self.blocks);
        let FeedLines { lines, feeds, pols, .. } = self.layout;
        let [channels, times, lines, feeds, pols] =
            [shape.channels(), times, lines, feeds, pols].map(|size| size as u32);
        let unit = launch.times;
        let arguments =
            args![voltages, present, gains, factors, &self.phases, beams, channels, times, lines, feeds, pols, unit];
        Ok(self.kernel.launch_safe(stream, &launch.config, arguments)?)
    }
}

impl<V: VoltageSample, O: FftBeamOutput> BeamKernels<V, O> for FftBeamKernels<V, O> {
    fn beamform_part(
        &mut self,
        stream: &Stream,
        part: KernelPart,
        voltages: BufferView<'_, V>,
        present: Option<BufferView<'_, u8>>,
        beams: &mut BufferViewMut<'_, O>,
    ) -> Result<(), BeamformerError> {
        self.beamform_channels(stream, part.channels, part.times, voltages, present, beams)
    }
}

/// The kernels' name of a format of voltages, if there are some.
pub(super) fn format_name(format: SampleFormat) -> Option<&'static str> {
    match format {
        SampleFormat::Int4 => Some("i4"),
        SampleFormat::Int8 => Some("i8"),
        _ => None,
    }
}

/// Name of the kernel: `beams_256_512_i4_power`.
fn kernel_name<O: FftBeamOutput>(size: Size, format: &str) -> String {
    format!("beams_{}_{}_{format}_{}", size.inputs(), size.outputs(), O::KERNEL)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]
mod tests {
    use fringes_fft::SIZES;
    use fringes_gpu::declaration::KernelDeclaration;
    use fringes_types::{Complex, f16};

    use super::*;

    #[test]
    #[cfg_attr(not(feature = "gpu"), ignore = "reads the kernels' PTX")]
    fn every_size_format_and_output_has_a_kernel() {
        for size in SIZES {
            let set = ptx::set(size).unwrap_or_else(|| panic!("{size} has no kernels"));
            let text = &set.get(fringes_gpu::PtxTarget::Sm80).unwrap().read().unwrap();
            let declarations = KernelDeclaration::all(text).unwrap();
            for format in [SampleFormat::Int4, SampleFormat::Int8].map(|format| format_name(format).unwrap()) {
                let names = [kernel_name::<Complex<f32>>, kernel_name::<Complex<f16>>, kernel_name::<f32>];
                for name in names.map(|name| name(size, format)) {
                    assert!(declarations.iter().any(|declared| declared.name == name && declared.safe), "{name}");
                }
            }
        }
    }
}
