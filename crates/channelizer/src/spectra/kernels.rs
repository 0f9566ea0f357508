//! The kernel of a plan and a format of samples: of half precision where that is asked for and there is one, else the
//! fast one where there is one, else the general one, in one launch or, of many channels, in two.

use fringes_backend::DeviceError;
use fringes_gpu::{Device, GpuError, KernelElement, Stream};
use fringes_kernel_abi::f_engine::BLOCK;
use fringes_types::{ChunkFormat, SampleFormat};
use num_complex::Complex64;

use super::Settings;
use crate::internals::cut_plan;
use crate::internals::format::Numbers;
use crate::internals::{
    CutKernels, FrameFormat, Job, JobLength, OnePassKernels, SpectraLaunch, Target, Targets, TensorKernels,
    TwoPassKernels, cut, one_pass, shape::SPECTRA,
};
use crate::{Channelizer, ChannelizerError, Precision};
use fringes_cpu::f_engine::FrameSample;

/// A plan's kernel on a device.
#[derive(Debug)]
pub(super) enum Kernels {
    /// As those of two passes, in half precision.
    Tensor(Box<TensorKernels>),
    /// Of a number of channels, bits and taps of its own.
    TwoPass(Box<TwoPassKernels>),
    /// Of any.
    OnePass(Box<OnePassKernels>),
    /// Of any, where there are many channels.
    Cut(Box<CutKernels>),
}

/// Whether a plan has the general kernels of two launches.
fn is_cut(plan: &Channelizer) -> bool {
    cut_plan::is_faster(plan.channels(), plan.step(), plan.stride()) && TwoPassKernels::memory_bytes(plan, 0).is_none()
}

/// `Ok` if there is a kernel for a plan and some format of samples.
pub fn check(plan: &Channelizer) -> Result<(), ChannelizerError> {
    match TwoPassKernels::memory_bytes(plan, 0) {
        Some(_) => Ok(()),
        None if is_cut(plan) => cut::check(plan).map(|_| ()),
        None => one_pass::check(plan).map(|_| ()),
    }
}

/// `Ok` if there is a kernel for a plan and a format of samples.
pub fn check_format(plan: &Channelizer, format: ChunkFormat) -> Result<(), ChannelizerError> {
    Numbers::of(format)?;
    check(plan)
}

/// Spectra that are best taken together: what a job of the fast kernels has, if the plan may have one.
pub fn spectra_together(plan: &Channelizer) -> usize {
    TwoPassKernels::memory_bytes(plan, 0).map_or(1, |_| SPECTRA)
}

/// Most spectra of a job.
pub(super) fn most_spectra(plan: &Channelizer) -> usize {
    match spectra_together(plan) {
        1 if is_cut(plan) => cut_plan::SPECTRA,
        1 => one_pass::most_spectra(plan),
        together => together,
    }
}

/// Bytes of device memory of a plan's tables, and of the workspace of kernels of two launches, where they are taken.
/// What is to be in half precision may still be in single, on a device whose blocks have too little shared memory.
pub(super) fn memory_bytes(plan: &Channelizer, inputs: usize, precision: Precision) -> u64 {
    let half = (precision == Precision::Half).then(|| TensorKernels::memory_bytes(plan, inputs)).flatten();
    let of_fast = TwoPassKernels::memory_bytes(plan, inputs).max(half);
    of_fast.unwrap_or_else(|| {
        if is_cut(plan) {
            return CutKernels::memory_bytes(plan, inputs);
        }
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
        let inputs = settings.inputs_before() + settings.gains.nrows();
        let gain = gain_of(settings);
        let output = match Q::FORMAT {
            SampleFormat::Int4 => Some(FrameFormat::Int4),
            SampleFormat::Int8 => Some(FrameFormat::Int8),
            SampleFormat::Int16 => None,
            SampleFormat::Float16 => Some(FrameFormat::Float16),
            SampleFormat::Float32 => Some(FrameFormat::Float32),
        };
        if let Some(output) = output.filter(|_| TwoPassKernels::memory_bytes(plan, 0).is_some()) {
            if settings.precision == Precision::Half {
                match TensorKernels::load(device, plan, format, output, inputs, settings.channels.clone(), gain) {
                    Err(ChannelizerError::Device(DeviceError::NoKernel { .. })) => {}
                    loaded => return Ok(Self::Tensor(Box::new(loaded?))),
                }
            }
            match TwoPassKernels::load(device, plan, format, output, inputs, gain) {
                Err(ChannelizerError::Device(DeviceError::NoKernel { .. })) => {}
                loaded => return Ok(Self::TwoPass(Box::new(loaded?))),
            }
        }
        if is_cut(plan) {
            return Ok(Self::Cut(Box::new(CutKernels::load(device, plan, format, Q::FORMAT, inputs, gain)?)));
        }
        Ok(Self::OnePass(Box::new(OnePassKernels::load(device, plan, format, Q::FORMAT, inputs, gain)?)))
    }

    /// Makes the gains those of the settings, in the order of a stream: what changes is sent.
    pub(super) fn set_gains(&self, stream: &Stream, settings: &Settings) -> Result<(), ChannelizerError> {
        match self {
            Self::Tensor(kernels) => kernels.set_gains(stream, gain_of(settings)),
            Self::TwoPass(kernels) => kernels.set_gains(stream, gain_of(settings)),
            Self::OnePass(kernels) => kernels.set_gains(stream, gain_of(settings)),
            Self::Cut(kernels) => kernels.set_gains(stream, gain_of(settings)),
        }
    }

    /// What they compute in.
    pub(super) fn precision(&self) -> Precision {
        match self {
            Self::Tensor(_) => Precision::Half,
            Self::TwoPass(_) | Self::OnePass(_) | Self::Cut(_) => Precision::Single,
        }
    }

    /// Spectra of jobs.
    pub(super) fn job_length(&self) -> JobLength {
        match self {
            Self::Tensor(_) | Self::TwoPass(_) => JobLength { most: SPECTRA as u32, block: BLOCK },
            Self::OnePass(kernels) => JobLength { most: kernels.spectra_of_job() as u32, block: 1 },
            Self::Cut(kernels) => JobLength { most: kernels.spectra_of_job() as u32, block: 1 },
        }
    }

    /// Makes a job of a timeline one of the kernels: those of two passes take what oversampled spectra have by their
    /// places in time from its phases, the general ones rotate them.
    pub(super) fn refer(&self, job: &mut Job) {
        if let Self::TwoPass(kernels) = self {
            kernels.refer(job);
        }
    }

    /// Runs jobs.
    pub(super) fn launch<Q: FrameSample>(
        &self,
        stream: &Stream,
        launch: SpectraLaunch<'_, Q>,
    ) -> Result<(), ChannelizerError> {
        match Q::FORMAT {
            SampleFormat::Int4 => self.run(stream, cast::<_, u8>(launch)?),
            SampleFormat::Int8 | SampleFormat::Int16 => self.run(stream, cast::<_, u16>(launch)?),
            SampleFormat::Float16 => self.run(stream, cast::<_, u32>(launch)?),
            SampleFormat::Float32 => self.run(stream, cast::<_, [f32; 2]>(launch)?),
        }
    }

    fn run<T: KernelElement>(&self, stream: &Stream, launch: SpectraLaunch<'_, T>) -> Result<(), ChannelizerError> {
        match self {
            Self::Tensor(kernels) => kernels.launch(stream, launch),
            Self::TwoPass(kernels) => kernels.launch(stream, launch),
            Self::OnePass(kernels) => kernels.launch(stream, launch),
            Self::Cut(kernels) => kernels.launch(stream, launch),
        }
    }
}

/// A launch with the elements that a kernel writes, dithered if they are integers.
fn cast<Q: FrameSample, T: KernelElement>(launch: SpectraLaunch<'_, Q>) -> Result<SpectraLaunch<'_, T>, GpuError> {
    let SpectraLaunch { samples, jobs, place, dither, out: Targets { given, next } } = launch;
    let given = Target { values: given.values.cast()?, saturated: given.saturated };
    let next = Target { values: next.values.cast()?, saturated: next.saturated };
    let dither = dither.filter(|_| Q::INTEGER);
    Ok(SpectraLaunch { samples, jobs, place, dither, out: Targets { given, next } })
}

/// The gain of an input and a channel. Kernels count gains and dither by one number: tables have rows of inputs that
/// are other engines'.
fn gain_of(settings: &Settings) -> impl Fn(usize, usize) -> Complex64 + Copy + '_ {
    let before = settings.inputs_before();
    move |input, channel| {
        let place = channel.checked_sub(settings.channels.start).zip(input.checked_sub(before));
        let gain = place.and_then(|(place, input)| settings.gains.get((input, place)));
        gain.map_or(Complex64::ONE, |gain| Complex64::new(gain.re.into(), gain.im.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_covers_the_kernels_of_either_precision() {
        for channels in [128, 256, 512, 1024, 2048, 4096, 8192, 65536] {
            let plan = Channelizer::real(channels).taps(16).build().unwrap();
            let [single, half] =
                [Precision::Single, Precision::Half].map(|precision| memory_bytes(&plan, 2, precision));
            let tensor = TensorKernels::memory_bytes(&plan, 2);
            assert_eq!(Some(single), TwoPassKernels::memory_bytes(&plan, 2));
            assert_eq!(half, single.max(tensor.unwrap_or(0)), "{channels}");
            assert_eq!(tensor.is_some(), channels >= 256);
        }
        // The general kernels have no other precision.
        let plan = Channelizer::real(360).taps(16).build().unwrap();
        assert_eq!(memory_bytes(&plan, 2, Precision::Single), memory_bytes(&plan, 2, Precision::Half));
        assert!(memory_bytes(&plan, 2, Precision::Single) > 0);
        // Of many channels there is a workspace.
        let plan = Channelizer::real(10_000).taps(16).build().unwrap();
        assert_eq!(memory_bytes(&plan, 2, Precision::Half), CutKernels::memory_bytes(&plan, 2));
        assert_eq!(most_spectra(&plan), cut_plan::SPECTRA);
    }

    #[test]
    fn plans_have_kernels_up_to_65536_channels_of_factors_2_3_and_5() {
        for channels in [1, 100, 1875, 2187, 10_000, 50_000, 65_536, 59_049] {
            check(&Channelizer::real(channels).taps(4).build().unwrap()).unwrap();
        }
        for channels in [7 * 64, 7 * 640, 131_072] {
            check(&Channelizer::real(channels).taps(4).build().unwrap()).unwrap_err();
        }
    }

    #[test]
    fn plans_and_samples_of_half_precision_have_kernels_of_single_precision_with_jobs_as_long() {
        for channels in [256, 512, 1024, 2048, 4096, 65536] {
            let plan = Channelizer::real(channels).taps(32).build().unwrap();
            assert!(TensorKernels::memory_bytes(&plan, 0).is_some());
            assert_eq!(spectra_together(&plan), SPECTRA);
            assert_eq!(most_spectra(&plan), SPECTRA);
        }
    }
}
