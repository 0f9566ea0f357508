//! Narrowband down-conversion: samples `[input][time]` to a complex, decimated band `[input][time]`.
//!
//! Outputs lie on the grid of the run, not of the call: output `j` is a function of absolute samples `S j .. S j + K`,
//! for `K` taps and decimation `S`. A recording gives the same outputs however it is cut into chunks.
//!
//! ```text
//! progress     which outputs a chunk completes, and what is absent     shared by all backends
//! tunings      which tuning an output has
//! sample       what outputs may be
//! output       outputs with their axes, on the host and on a device
//! statistics   what is counted, and how on the CPU; device_sums on a GPU
//! band         a plan with its retunes
//! cpu          chunks on the CPU
//! gpu          chunks on a GPU; held_rows has what is held between them, order how launches of bands share it
//! array        one array on a GPU
//! kernels      the kernels, and where windows lie; phases has the mixer in fixed point
//! tensor       the table of weights of those on tensor cores, and their segments; tensor_kernels launches them
//! mma          the same for compute capability 8.0 and higher; mma_kernels launches them
//! bank         several bands of one stream, wherever it runs
//! stream       one band
//! ```

mod array;
mod band;
mod bank;
mod cpu;
mod device_sums;
mod gpu;
mod held_rows;
pub(crate) mod kernels;
pub(crate) mod mma;
mod mma_kernels;
pub(crate) mod order;
mod output;
mod phases;
mod progress;
mod sample;
pub(crate) mod segments;
mod statistics;
mod stream;
pub(crate) mod tensor;
mod tensor_kernels;
mod texts;
mod tunings;

use std::marker::PhantomData;

use fringes_backend::{Backend, DeviceArray, DeviceSamples, MemoryNeed};
use fringes_cpu::ddc::DownConversion;
use fringes_types::{ChunkFormat, Inputs, Sample, SampleChunk, Samples, TypesError};
use ndarray::Array1;
use num_complex::Complex;

use self::array::ArrayShape;
use self::band::Band;
pub use self::bank::DownConverterBank;
use self::cpu::{CpuStream, Setting, TakenBand};
use self::phases::Phases;
use self::progress::{Progress, Step};
pub use self::sample::DownConvertedSample;
pub use self::statistics::{DownConverterStatistics, OutputStatistics};
pub use self::stream::{DownConverterStream, Preview};
use crate::design::DownConversionFilter;
use crate::internals::chunk;
use crate::sample_input::{SampleInput, SampleOperation};
use crate::timeline::ChunkAxes;
use crate::{ChannelizerError, Precision};

/// Name of the operation.
const OPERATION: &str = "down_convert";

/// A plan of a down-conversion: the centre of the wanted band, a low-pass filter, and a decimation.
///
/// For a centre of `c` cycles per sample, a decimation `S`, a filter `h` of `K` taps, a gain `g` and a phase of `b`
/// turns, output `j` is
///
/// `y_j = g e^(2 pi i (b - c S j)) sum_k x[S j + k] h_k e^(-2 pi i c k)`, `k` from 0 to `K - 1`,
///
/// where `j` and the index of `x` count from sample 0 of the run. A tone at `c` comes out at DC, with the filter's gain
/// at 0 (half of it for real samples, whose other half is the image at `-c`). With `f = -c`, this is the usual mixer
/// `f`.
#[derive(Debug, Clone)]
pub struct DownConverter {
    centre_cycles_per_sample: f64,
    decimation: usize,
    filter: Vec<f64>,
    phase_turns: f64,
    /// What retunes added to the phase of output 0, in 2^-64 turns.
    retuned_phase: u64,
    gain: f64,
    precision: Precision,
    conversion: DownConversion,
}

impl DownConverter {
    /// A plan that moves `centre_cycles_per_sample` to DC, filters with `filter` and keeps every `decimation`-th
    /// sample.
    ///
    /// Phases are counted in 2^-64 turns, so the centre becomes the nearest multiple of 2^-64. Those of at least 2^-12
    /// either way are such multiples, every `f64` of them; only smaller ones change, by up to 2^-65 cycles per sample.
    ///
    /// # Errors
    /// [`ChannelizerError::Centre`] for a centre outside -1..=1, [`ChannelizerError::Zero`] for a decimation of 0 or an
    /// empty filter, [`ChannelizerError::Coefficient`] for a tap that is not finite as `f32`.
    pub fn new(centre_cycles_per_sample: f64, decimation: usize, filter: Vec<f64>) -> Result<Self, ChannelizerError> {
        check_centre(centre_cycles_per_sample)?;
        for (quantity, count) in [("decimation", decimation), ("number of filter taps", filter.len())] {
            if count == 0 {
                return Err(ChannelizerError::Zero { quantity });
            }
        }
        if let Some(index) = filter.iter().position(|&tap| !(tap as f32).is_finite()) {
            return Err(ChannelizerError::Coefficient { quantity: "filter", actual: filter[index], index });
        }
        let centre_cycles_per_sample = phases::on_grid(centre_cycles_per_sample);
        let conversion = DownConversion::new(&filter, decimation, -centre_cycles_per_sample, 0.0);
        let (phase_turns, retuned_phase, gain, precision) = (0.0, 0, 1.0, Precision::Single);
        Ok(Self {
            centre_cycles_per_sample,
            decimation,
            filter,
            phase_turns,
            retuned_phase,
            gain,
            precision,
            conversion,
        })
    }

    /// A plan with a designed filter, and the decimation that it is for.
    ///
    /// # Errors
    /// [`ChannelizerError::Centre`] for a centre outside -1..=1.
    pub fn designed(centre_cycles_per_sample: f64, filter: &DownConversionFilter) -> Result<Self, ChannelizerError> {
        Self::new(centre_cycles_per_sample, filter.decimation(), filter.taps().to_vec())
    }

    /// Adds a phase in turns to every output.
    ///
    /// # Errors
    /// [`TypesError::NotFinite`] if it is NaN or infinite.
    pub fn with_phase_turns(mut self, phase_turns: f64) -> Result<Self, ChannelizerError> {
        if !phase_turns.is_finite() {
            let actual = phase_turns.to_string();
            return Err(TypesError::NotFinite { quantity: "phase_turns", actual, index: Vec::new() }.into());
        }
        self.phase_turns = phase_turns;
        self.conversion =
            DownConversion::new(&self.filter, self.decimation, -self.centre_cycles_per_sample, phase_turns)
                .with_gain(self.gain);
        Ok(self)
    }

    /// Multiplies every output by a gain, before it is rounded and clamped: what brings outputs to the range of
    /// integers. It is 1 unless set.
    ///
    /// # Errors
    /// [`ChannelizerError::Gain`] if it is 0, or not finite, or no normal number in 32 bits.
    pub fn with_gain(mut self, gain: f64) -> Result<Self, ChannelizerError> {
        if !(gain as f32).is_normal() {
            return Err(ChannelizerError::Gain { actual: gain });
        }
        self.gain = gain;
        self.conversion = self.conversion.with_gain(gain);
        Ok(self)
    }

    /// How exactly a GPU has the weights, [`Precision::Single`] unless set. In [`Precision::Half`] they are one f16 in
    /// place of two, where there are kernels for that: real samples of 8, 10 and 12 bits on compute capability 9.0, of
    /// filters and decimations whose blocks have at most eight outputs (all presets of
    /// [`DownConversionFilter`]). Others are computed as in `Single`, and so are all on the CPU.
    ///
    /// A weight is then off by at most 2^-11 of itself, 2.1e-4 rms: an output by at most as much of `sum_k |x_k|
    /// |h_k|`, and of noise the errors are 73 dB below the outputs. Errors of weights are a filter of their own: what
    /// [`DownConversionFilter`] promises of its stop band holds down to 74 dB below the pass band with 128 taps and a
    /// decimation of 8, 77 with 256 and 16, and 81 with 512 and 32, at the worst of frequencies and seven centres.
    #[must_use]
    pub fn with_precision(self, precision: Precision) -> Self {
        Self { precision, ..self }
    }

    /// The plan with another centre, whose mixer has the phase of this one's at absolute sample `at_sample`.
    fn retuned(&self, at_sample: u64, centre_cycles_per_sample: f64) -> Result<Self, ChannelizerError> {
        check_centre(centre_cycles_per_sample)?;
        let centre_cycles_per_sample = phases::on_grid(centre_cycles_per_sample);
        let turn = |centre: f64| phases::turns(-centre);
        let change = turn(self.centre_cycles_per_sample).wrapping_sub(turn(centre_cycles_per_sample));
        Ok(Self {
            centre_cycles_per_sample,
            filter: self.filter.clone(),
            retuned_phase: self.retuned_phase.wrapping_add(change.wrapping_mul(at_sample)),
            conversion: self.conversion.retuned(&self.filter, at_sample, -centre_cycles_per_sample),
            ..*self
        })
    }

    /// Frequency that lands on DC, in cycles per sample.
    pub fn centre_cycles_per_sample(&self) -> f64 {
        self.centre_cycles_per_sample
    }

    /// Samples from one output to the next.
    pub fn decimation(&self) -> usize {
        self.decimation
    }

    /// The filter's taps.
    pub fn filter(&self) -> &[f64] {
        &self.filter
    }

    /// Phase added to every output, in turns.
    pub fn phase_turns(&self) -> f64 {
        self.phase_turns
    }

    /// What every output is multiplied by.
    pub fn gain(&self) -> f64 {
        self.gain
    }

    /// How exactly a GPU has the weights.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Number of outputs of `samples` samples from absolute sample `first_sample` on.
    pub fn outputs(&self, first_sample: u64, samples: usize) -> usize {
        let rest = samples.checked_sub(self.samples_to_grid(first_sample));
        rest.map_or(0, |rest| self.conversion.outputs(rest))
    }

    /// Samples from absolute sample `first_sample` to the next multiple of the decimation.
    fn samples_to_grid(&self, first_sample: u64) -> usize {
        let past = (first_sample % self.decimation as u64) as usize;
        if past == 0 { 0 } else { self.decimation - past }
    }

    /// The mixer in fixed point.
    fn phases(&self) -> Phases {
        Phases::new(self.centre_cycles_per_sample, self.decimation, self.phase_turns).advanced(self.retuned_phase)
    }

    /// Memory that [`down_convert`] takes on a backend for `times` samples of type `S` of each of `inputs` inputs;
    /// other outputs than f32 need less.
    ///
    /// On the CPU the workspace is for samples that are not contiguous `f32` values and is an upper bound otherwise. On
    /// a GPU it is memory of the device for samples in host memory, which have their place there as outputs do; packed
    /// samples need no more than those of a type that holds them. A stream holds samples between chunks as well:
    /// [`DownConverterStream::memory`].
    ///
    /// # Errors
    /// [`TypesError::Empty`] for no inputs, on a GPU.
    pub fn memory<S: Sample>(
        &self,
        backend: &Backend,
        inputs: usize,
        times: usize,
    ) -> Result<MemoryNeed, ChannelizerError> {
        match backend.gpu_for(OPERATION, true)? {
            None => Ok(cpu::array_need::<S>(self, inputs, times)),
            Some(_) => {
                let format = ChunkFormat::Typed { format: S::FORMAT, complex: S::COMPLEX };
                Ok(ArrayShape { plan: self, format, inputs: Inputs::single_pol(inputs)? }.need(times))
            }
        }
    }
}

/// `Ok` for a centre within -1 to 1.
fn check_centre(centre_cycles_per_sample: f64) -> Result<(), ChannelizerError> {
    if (-1.0..=1.0).contains(&centre_cycles_per_sample) {
        return Ok(());
    }
    Err(ChannelizerError::Centre { actual: centre_cycles_per_sample })
}

/// Down-converts samples `[input][time]` of any format to `Complex<f32>` samples `[input][output]`.
///
/// The outputs are those of [`DownConverter`]'s formula whose samples `S j .. S j + K` are all in `samples`. The
/// result's `first_sample` is `j` of its first output, counted in outputs from sample 0 of the run: output `j` begins
/// at sample `S j`. Its sample rate is that of the input over `S`; its centre frequency, where the input has one, is
/// the sky frequency that lands on DC. An output is marked present if all samples that it is made of are; missing ones
/// are 0.
///
/// ```
/// use fringes_channelizer::{DownConverter, down_convert};
/// use fringes_backend::Backend;
/// use fringes_types::{Inputs, Samples};
/// use ndarray::Array2;
///
/// // A real tone of amplitude 1000 at a tenth of the sample rate, and a mean of 32 samples, one output every 8.
/// let tone = |n: usize| (1000.0 * (std::f64::consts::TAU * 0.1 * n as f64).cos()).round() as i16;
/// let samples = Array2::from_shape_fn((1, 4096), |(_, n)| tone(n));
/// let samples = Samples::new(samples, Inputs::single_pol(1)?)?.with_sample_rate(80e6)?;
///
/// let plan = DownConverter::new(0.1, 8, vec![1.0 / 32.0; 32])?;
/// let narrow = down_convert(&Backend::cpu(), &samples, &plan)?;
/// assert_eq!(narrow.sample_rate_hz(), 10e6);
/// assert_eq!(narrow.times(), (4096 - 32) / 8 + 1);
/// // Half of the tone's amplitude is at DC; the other half is its image, which the filter lets through weakly.
/// assert!(narrow.data().iter().all(|value| (value.re - 500.0).abs() < 30.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # On a GPU
/// Samples in host memory go there step by step within the backend's memory limit. Samples in device memory are worked
/// on there, on the stream that wrote them
/// ([`DeviceArray::written_on`](fringes_backend::DeviceArray::written_on)), or the device's default one; the result
/// stays there, as complex samples that a [`ChannelizerStream`](crate::ChannelizerStream) or an F-engine takes. Each
/// call loads the plan's weights: a [`DownConverterStream`] keeps them, and waits for nothing.
///
/// # Layout
/// Any; rows of contiguous samples are fastest, and contiguous `f32` ones are read in place on the CPU.
///
/// # Precision
/// On the CPU as [`fringes_cpu::ddc::down_convert_into`]: with `n = ceil(K / 8)` for real and `ceil(K / 4)` for complex
/// samples, `|y - y_reference| <= (1.5 n + 8) 2^-24 sum_k |x_k| |h_k|`. On a GPU it is `(1.5 n + 18) 2^-24 sum_k |x_k|
/// |h_k|` with `n = 4 ceil(K / 128)` for real and twice as many for complex samples: `n + 5` roundings of sums and one
/// of each weight in each part, and a rotation. Real samples of 4, 8, 10, 12 and 16 bits go to tensor cores on compute
/// capability 9.0 where the plan has a kernel: there errors are at most 2e-5 of full scale, `2^(B-1) sum_k |h_k|`, and
/// 2e-6 rms; in half precision ([`DownConverter::with_precision`]) at most 2^-11 of full scale more. The mixer's phase
/// is exact at any sample counter: it is counted in 2^-64 turns, of which the centre is a whole number.
///
/// # Errors
/// [`ChannelizerError::TooShort`] if there are not enough samples for one output, [`ChannelizerError::Counter`] if the
/// sample counter overflows, [`DeviceError::MemoryLimit`](fringes_backend::DeviceError::MemoryLimit) if what one output
/// takes exceeds the backend's limit, [`DeviceError::WrongDevice`](fringes_backend::DeviceError::WrongDevice) for
/// samples on a device that is not the backend's, [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) with what the
/// driver says.
#[allow(clippy::type_complexity, reason = "what comes out in either memory, told in the signature")]
pub fn down_convert<C: SampleInput + ?Sized>(
    backend: &Backend,
    samples: &C,
    plan: &DownConverter,
) -> Result<C::Output<Samples<Complex<f32>>, DeviceSamples<'static>>, ChannelizerError> {
    samples.give_to(DownConvert { backend, plan })
}

/// Outputs, and how many of them did not fit their type. `C` is the chunk of samples, `S` the array of the counts; both
/// lie where the samples lay.
#[derive(Debug, Clone, PartialEq)]
pub struct DownConverted<C, S = Array1<u64>> {
    /// The outputs.
    pub samples: C,
    /// Complex outputs of each input that [saturated](DownConvertedSample), but for absent ones.
    pub saturated: S,
}

/// As [`down_convert`], to any type of outputs, with a count of those that did not fit.
///
/// ```
/// use fringes_channelizer::{DownConverter, down_convert_to};
/// use fringes_backend::Backend;
/// use fringes_types::{Complex, Inputs, Samples};
/// use ndarray::Array2;
///
/// // A complex tone at the centre, and a mean of two samples: outputs are the tone's amplitude times the gain.
/// let tone = Samples::new(Array2::from_elem((1, 16), Complex::new(1000i16, -500)), Inputs::single_pol(1)?)?;
/// let plan = DownConverter::new(0.0, 4, vec![0.5; 2])?.with_gain(0.0625)?;
/// let narrow = down_convert_to::<Complex<i8>, _>(&Backend::cpu(), &tone, &plan)?;
/// // 62.5 and -31.25: ties go to the even number.
/// assert_eq!(narrow.samples.data()[(0, 0)], Complex::new(62, -31));
/// assert_eq!(narrow.saturated.to_vec(), [0]);
///
/// let loud = down_convert_to::<Complex<i8>, _>(&Backend::cpu(), &tone, &plan.with_gain(1.0)?)?;
/// assert_eq!(loud.samples.data()[(0, 0)], Complex::new(127, -127));
/// assert_eq!(loud.saturated.to_vec(), [4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Precision
/// An integer is the nearest one, half to even, of a value within the bound `e` of [`down_convert`] of the exact one,
/// clamped: within `0.5 + e` of the exact value, clamped. f16 is within half of its step and `e`.
///
/// # Errors
/// As [`down_convert`].
#[allow(clippy::type_complexity, reason = "what comes out in either memory, told in the signature")]
pub fn down_convert_to<T: DownConvertedSample, C: SampleInput + ?Sized>(
    backend: &Backend,
    samples: &C,
    plan: &DownConverter,
) -> Result<
    C::Output<DownConverted<Samples<T>>, DownConverted<DeviceSamples<'static>, DeviceArray<'static, u64>>>,
    ChannelizerError,
> {
    samples.give_to(DownConvertTo { call: DownConvert { backend, plan }, outputs: PhantomData::<T> })
}

/// [`down_convert`].
#[derive(Clone, Copy)]
struct DownConvert<'a> {
    backend: &'a Backend,
    plan: &'a DownConverter,
}

impl SampleOperation for DownConvert<'_> {
    type Host = Samples<Complex<f32>>;
    type Device = DeviceSamples<'static>;
    type Error = ChannelizerError;

    fn on_host(self, samples: &dyn SampleChunk) -> Result<Self::Host, ChannelizerError> {
        Ok(self.of_host(samples)?.samples)
    }

    fn on_device(self, samples: &DeviceSamples<'_>) -> Result<Self::Device, ChannelizerError> {
        Ok(self.of_device::<Complex<f32>>(samples)?.samples)
    }
}

/// [`down_convert_to`].
struct DownConvertTo<'a, T> {
    call: DownConvert<'a>,
    outputs: PhantomData<T>,
}

impl<T: DownConvertedSample> SampleOperation for DownConvertTo<'_, T> {
    type Host = DownConverted<Samples<T>>;
    type Device = DownConverted<DeviceSamples<'static>, DeviceArray<'static, u64>>;
    type Error = ChannelizerError;

    fn on_host(self, samples: &dyn SampleChunk) -> Result<Self::Host, ChannelizerError> {
        self.call.of_host(samples)
    }

    fn on_device(self, samples: &DeviceSamples<'_>) -> Result<Self::Device, ChannelizerError> {
        self.call.of_device::<T>(samples)
    }
}

impl DownConvert<'_> {
    fn of_host<T: DownConvertedSample>(
        self,
        samples: &dyn SampleChunk,
    ) -> Result<DownConverted<Samples<T>>, ChannelizerError> {
        let Self { backend, plan } = self;
        let (axes, inputs) = (ChunkAxes::of(samples), samples.inputs());
        if let Some(device) = backend.gpu_for(OPERATION, true)? {
            return array::of_host(backend, device, samples, plan, &self.step(&axes)?);
        }
        backend.check_memory(OPERATION, plan.conversion.scratch_bytes(false, 1))?;
        let bands = [Band::new(plan.clone())];
        let setting = Setting { backend, plan, bands: &bands, inputs, hold: false, sums: false };
        let mut progress = Progress::new(inputs);
        let taken = CpuStream::new(inputs).take::<T>(setting, &mut progress, samples)?.bands.into_iter().next();
        let Some(TakenBand { outputs, saturated, .. }) = taken else { return Err(self.too_short(&axes)) };
        let output = outputs.into_iter().next().ok_or_else(|| self.too_short(&axes))?;
        Ok(DownConverted { samples: output, saturated: Array1::from_vec(saturated) })
    }

    fn of_device<T: DownConvertedSample>(
        self,
        samples: &DeviceSamples<'_>,
    ) -> Result<DownConverted<DeviceSamples<'static>, DeviceArray<'static, u64>>, ChannelizerError> {
        self.backend.gpu_with(samples.array().device())?;
        array::of_device::<T>(self.backend, samples, self.plan, &self.step(&chunk::axes(samples))?)
    }

    /// The outputs of one array, of which there are some.
    fn step(&self, samples: &ChunkAxes<'_>) -> Result<Step, ChannelizerError> {
        let step = Progress::new(samples.inputs).step(self.plan, samples)?;
        step.filter(|step| step.outputs > 0).ok_or_else(|| self.too_short(samples))
    }

    fn too_short(&self, samples: &ChunkAxes<'_>) -> ChannelizerError {
        let plan = self.plan;
        let needed = plan.filter.len().saturating_add(plan.samples_to_grid(samples.first_sample));
        ChannelizerError::TooShort { needed, actual: samples.times }
    }
}
