//! Narrowband down-conversion: samples `[input][time]` to a complex, decimated band `[input][time]`.
//!
//! Outputs lie on the grid of the run, not of the call: output `j` is a function of absolute samples `S j .. S j + K`,
//! for `K` taps and decimation `S`. A recording gives the same outputs however it is cut into chunks.

mod stream;

use std::convert::Infallible;

use fringes_backend::{Backend, DeviceError, DeviceSamples, MemoryNeed};
use fringes_cpu::ddc::DownConversion;
use fringes_types::{Sample, SampleChunk, Samples, TypesError};
use num_complex::Complex;

pub use self::stream::DownConverterStream;
use crate::ChannelizerError;
use crate::design::DownConversionFilter;
use crate::sample_input::{SampleInput, SampleOperation};

/// A plan of a down-conversion: the centre of the wanted band, a low-pass filter, and a decimation.
///
/// For a centre of `c` cycles per sample, a decimation `S`, a filter `h` of `K` taps and a phase of `b` turns, output
/// `j` is
///
/// `y_j = e^(2 pi i (b - c S j)) sum_k x[S j + k] h_k e^(-2 pi i c k)`, `k` from 0 to `K - 1`,
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
    conversion: DownConversion,
}

impl DownConverter {
    /// A plan that moves `centre_cycles_per_sample` to DC, filters with `filter` and keeps every `decimation`-th
    /// sample.
    ///
    /// # Errors
    /// [`ChannelizerError::Centre`] for a centre outside -1..=1, [`ChannelizerError::Zero`] for a decimation of 0 or an
    /// empty filter, [`ChannelizerError::Coefficient`] for a tap that is not finite as `f32`.
    pub fn new(centre_cycles_per_sample: f64, decimation: usize, filter: Vec<f64>) -> Result<Self, ChannelizerError> {
        if !(-1.0..=1.0).contains(&centre_cycles_per_sample) {
            return Err(ChannelizerError::Centre { actual: centre_cycles_per_sample });
        }
        for (quantity, count) in [("decimation", decimation), ("number of filter taps", filter.len())] {
            if count == 0 {
                return Err(ChannelizerError::Zero { quantity });
            }
        }
        if let Some(index) = filter.iter().position(|&tap| !(tap as f32).is_finite()) {
            return Err(ChannelizerError::Coefficient { quantity: "filter", actual: filter[index], index });
        }
        let conversion = DownConversion::new(&filter, decimation, -centre_cycles_per_sample, 0.0);
        Ok(Self { centre_cycles_per_sample, decimation, filter, phase_turns: 0.0, conversion })
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
            DownConversion::new(&self.filter, self.decimation, -self.centre_cycles_per_sample, phase_turns);
        Ok(self)
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

    /// Memory that [`down_convert`] takes on a backend for `times` samples of type `S` of each of `inputs` inputs.
    ///
    /// The workspace is for samples that are not contiguous `f32` values and is an upper bound otherwise. A stream
    /// holds samples between chunks as well: [`DownConverterStream::memory`].
    ///
    /// # Errors
    /// [`DeviceError::NotOnGpu`] if the backend is a GPU and nothing else.
    pub fn memory<S: Sample>(
        &self,
        backend: &Backend,
        inputs: usize,
        times: usize,
    ) -> Result<MemoryNeed, ChannelizerError> {
        backend.gpu_for("down_convert", false)?;
        Ok(self.need::<S>(inputs, times))
    }

    fn need<S: Sample>(&self, inputs: usize, times: usize) -> MemoryNeed {
        let product = |factors: [usize; 3]| factors.iter().fold(1u64, |p, &n| p.saturating_mul(n as u64));
        let whole = self.conversion.split(S::COMPLEX, None).map_or(0, |split| {
            self.conversion.scratch_bytes(S::COMPLEX, split.outputs).saturating_mul(split.parallel as u64)
        });
        MemoryNeed {
            input_bytes: product([inputs, times, size_of::<S>()]),
            output_bytes: product([inputs, self.conversion.outputs(times), size_of::<Complex<f32>>()]),
            workspace_bytes: whole,
            smallest_step_bytes: self.conversion.scratch_bytes(S::COMPLEX, 1),
        }
    }
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
/// # Layout
/// Any; rows of contiguous samples are fastest, and contiguous `f32` ones are read in place.
///
/// # Precision
/// As [`fringes_cpu::ddc::down_convert_into`]: with `n = ceil(K / 8)` for real and `ceil(K / 4)` for complex samples,
/// `|y - y_reference| <= (1.5 n + 8) 2^-24 sum_k |x_k| |h_k|`. The mixer's phase is exact at any sample counter: the
/// centre counts as the exact value of its `f64`, and its product with the counter is reduced in 128-bit fixed point.
///
/// # Errors
/// [`ChannelizerError::TooShort`] if there are not enough samples for one output, [`ChannelizerError::Counter`] if the
/// sample counter overflows, [`DeviceError::MemoryLimit`] if the scratch of one output exceeds the backend's limit,
/// [`DeviceError::NotOnGpu`] for samples in device memory: there is no kernel yet.
pub fn down_convert<C: SampleInput + ?Sized>(
    backend: &Backend,
    samples: &C,
    plan: &DownConverter,
) -> Result<C::Output<Samples<Complex<f32>>, Infallible>, ChannelizerError> {
    samples.give_to(DownConvert { backend, plan })
}

/// [`down_convert`].
struct DownConvert<'a> {
    backend: &'a Backend,
    plan: &'a DownConverter,
}

impl SampleOperation for DownConvert<'_> {
    type Host = Samples<Complex<f32>>;
    type Device = Infallible;
    type Error = ChannelizerError;

    fn on_host(self, samples: &dyn SampleChunk) -> Result<Self::Host, ChannelizerError> {
        let plan = self.plan;
        let mut stream = DownConverterStream::new(self.backend, plan.clone(), samples.inputs())?;
        stream.take(samples, false)?.ok_or(ChannelizerError::TooShort {
            needed: plan.filter.len().saturating_add(plan.samples_to_grid(samples.first_sample())),
            actual: samples.times(),
        })
    }

    fn on_device(self, _: &DeviceSamples<'_>) -> Result<Infallible, ChannelizerError> {
        let (operation, backend) = ("down_convert of samples in device memory".into(), self.backend.name());
        Err(DeviceError::NotOnGpu { operation, backend }.into())
    }
}
