//! The kernel of a plan and a format of samples: the fast one where there is one, else the general one.

use fringes_backend::DeviceError;
use fringes_gpu::{BufferView, BufferViewMut, Device, KernelElement, Stream};
use fringes_types::{ChunkFormat, SampleFormat};
use num_complex::Complex64;

use super::super::Settings;
use crate::gpu::format::Numbers;
use crate::gpu::{DeviceChannelizer, DeviceGeneral, FrameFormat, JobTable, Place, general};
use crate::{Channelizer, ChannelizerError, FrameSample};

/// A plan's kernel on a device.
#[derive(Debug)]
pub(super) enum Kernels {
    /// Of a number of channels, bits and taps of its own.
    Fast(Box<DeviceChannelizer>),
    /// Of any.
    General(Box<DeviceGeneral>),
}

/// Bits of integers that the fast kernels take.
const FAST_BITS: [u32; 2] = [8, 10];

/// Whether samples of a format may have a fast kernel.
fn is_fast(numbers: Numbers) -> bool {
    numbers.parts == 1 && !numbers.floats && !numbers.little_endian && FAST_BITS.contains(&numbers.bits)
}

/// `Ok` if there is a kernel for a plan and some format of samples.
pub(in crate::f_engine) fn check(plan: &Channelizer) -> Result<(), ChannelizerError> {
    match DeviceChannelizer::memory_bytes(plan, 0) {
        Some(_) => Ok(()),
        None => general::check(plan).map(|_| ()),
    }
}

/// `Ok` if there is a kernel for a plan and a format of samples.
pub(in crate::f_engine) fn check_format(plan: &Channelizer, format: ChunkFormat) -> Result<(), ChannelizerError> {
    if is_fast(Numbers::of(format)?) { check(plan) } else { general::check(plan).map(|_| ()) }
}

/// Bytes of device memory of a plan's tables, and of the workspace of the fast kernels, where they are taken.
pub(super) fn memory_bytes(plan: &Channelizer, format: ChunkFormat, inputs: usize) -> u64 {
    let fast = Numbers::of(format).ok().filter(|&numbers| is_fast(numbers));
    fast.and_then(|_| DeviceChannelizer::memory_bytes(plan, inputs)).unwrap_or_else(|| {
        let of_channel = 64_u64.saturating_add((inputs as u64).saturating_mul(16));
        (plan.channels() as u64).saturating_mul(of_channel).saturating_add(4 * plan.window_samples() as u64)
    })
}

impl Kernels {
    /// Loads the kernel and sends its tables.
    pub(super) fn load<Q: FrameSample>(
        device: &Device,
        plan: &Channelizer,
        format: ChunkFormat,
        settings: &Settings,
    ) -> Result<Self, ChannelizerError> {
        let inputs = settings.gains.nrows();
        let gain = |input: usize, channel: usize| {
            let place = channel.checked_sub(settings.channels.start);
            let gain = place.and_then(|place| settings.gains.get((input, place)));
            gain.map_or(Complex64::ONE, |gain| Complex64::new(gain.re.into(), gain.im.into()))
        };
        let numbers = Numbers::of(format)?;
        let output = match Q::FORMAT {
            SampleFormat::Int4 => Some(FrameFormat::Int4),
            SampleFormat::Int8 => Some(FrameFormat::Int8),
            SampleFormat::Int16 => None,
            SampleFormat::Float16 => Some(FrameFormat::Float16),
            SampleFormat::Float32 => Some(FrameFormat::Float32),
        };
        if let Some(output) = output.filter(|_| is_fast(numbers)) {
            match DeviceChannelizer::load(device, plan, numbers.bits, output, inputs, gain) {
                Err(ChannelizerError::Device(DeviceError::NoKernel { .. })) => {}
                loaded => return Ok(Self::Fast(Box::new(loaded?))),
            }
        }
        Ok(Self::General(Box::new(DeviceGeneral::load(device, plan, format, Q::FORMAT, inputs, gain)?)))
    }

    /// Most spectra of a job that begins with a spectrum.
    pub(super) fn spectra_of_job(&self, spectrum: u64) -> usize {
        match self {
            Self::Fast(kernels) => kernels.spectra_of_job(spectrum),
            Self::General(kernels) => kernels.spectra_of_job(),
        }
    }

    /// Runs jobs.
    pub(super) fn launch<Q: FrameSample>(
        &self,
        stream: &Stream,
        samples: BufferView<'_, u32>,
        jobs: JobTable<'_>,
        place: Place,
        dither: Option<u64>,
        out: BufferViewMut<'_, Q>,
        saturated: BufferViewMut<'_, u32>,
    ) -> Result<(), ChannelizerError> {
        let dither = dither.filter(|_| Q::INTEGER);
        match Q::FORMAT {
            SampleFormat::Int4 => self.run(stream, samples, jobs, place, dither, out.cast::<u8>()?, saturated),
            SampleFormat::Int8 | SampleFormat::Int16 => {
                self.run(stream, samples, jobs, place, dither, out.cast::<u16>()?, saturated)
            }
            SampleFormat::Float16 => self.run(stream, samples, jobs, place, dither, out.cast::<u32>()?, saturated),
            SampleFormat::Float32 => self.run(stream, samples, jobs, place, dither, out.cast::<[f32; 2]>()?, saturated),
        }
    }

    fn run<T: KernelElement>(
        &self,
        stream: &Stream,
        samples: BufferView<'_, u32>,
        jobs: JobTable<'_>,
        place: Place,
        dither: Option<u64>,
        out: BufferViewMut<'_, T>,
        saturated: BufferViewMut<'_, u32>,
    ) -> Result<(), ChannelizerError> {
        match self {
            Self::Fast(kernels) => kernels.launch(stream, samples, jobs, place, dither, out, saturated),
            Self::General(kernels) => kernels.launch(stream, samples, jobs, place, dither, out, saturated),
        }
    }
}
