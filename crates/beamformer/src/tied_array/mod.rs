//! Tied-array beams: weighted sums of voltages.

mod detector;
pub(crate) mod kernels;
mod precision;
mod source;

use std::marker::PhantomData;

use fringes_backend::DeviceError;
use fringes_cpu::beamformer::{
    BeamFinish, HeldWeights, WeightBits, tied_array_quantised_into, tied_array_quantised_scratch_bytes,
};
use fringes_gpu::{Device, Stream};
use fringes_kernel_abi::tied_array::{DITHER, MOST_INPUTS};
use fringes_types::{BeamWeights, Dimension, Inputs, SampleFormat, TypesError, VoltageSample};
use num_complex::Complex;

use crate::chunk::HostVoltages;
use crate::set::{check_length, first_spectrum, sealed};
use crate::{BeamSet, BeamSteering, BeamformerError, TiedArrayOutput};

pub use detector::{DetectChunk, TiedArrayDetector};
pub use kernels::TiedArrayKernels;
pub use precision::WeightPrecision;
pub(crate) use source::WeightSource;

/// Most beams of a kernel.
const MOST_BEAMS: usize = 1 << 24;

/// Tied-array beams, `scale sum_input w[beam][channel][input] x[channel][time][input]`.
///
/// | `O` | beams |
/// |---|---|
/// | `Complex<f32>` | as they are; what [`TiedArrayBeams::new`] gives |
/// | `Complex<f16>` | rounded; beyond 65504 infinite |
/// | `Complex<i8>` | rounded half to even, with dither if asked for, clamped to +-127 and counted |
///
/// [`BeamWeights`] alone are the beams in f32, with a scale of 1.
///
/// ```
/// use fringes_backend::Backend;
/// use fringes_beamformer::{BeamformerStream, TiedArrayBeams};
/// use fringes_types::{BeamWeights, Complex, Inputs, Voltages};
/// use ndarray::Array3;
///
/// let inputs = Inputs::new(8, 2)?;
/// let weights = BeamWeights::new(Array3::from_elem((4, 3, 16), Complex::new(1.0, 0.0)))?;
/// let beams = TiedArrayBeams::new(weights).with_output::<Complex<i8>>().with_scale(0.25)?.with_dither(42);
/// let mut stream = BeamformerStream::new(&Backend::auto(), beams, inputs)?;
/// let voltages = Voltages::new(Array3::from_elem((3, 100, 16), Complex::new(8i8, -4)), inputs)?;
/// let beams = stream.push(&voltages)?;
/// // 16 inputs of 8 - 4 i times a quarter: whole numbers, which dither of less than a half does not change.
/// assert_eq!(beams.data()[(2, 99, 3)], Complex::new(32, -16));
/// assert_eq!(stream.take_saturated()?, [0; 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Kernels
/// GPUs have kernels for 4+4-bit, 8-bit and f16 voltages of at most 16384 inputs, any number of beams.
///
/// # Precision
/// On a GPU weights are rounded as [`WeightPrecision`] says. Sums of integers are exact; they become f32 with one
/// rounding, two of 16-bit weights, and are multiplied by a scale in f32: `5 2^-24` of `|scale| sum |w| |x|` at most,
/// besides the weights' own rounding. So integers are exact but where the value, of rounded weights, is within that of
/// a tie, or with dither within that and `1.25 2^-16`. Products of f16 are exact; tensor cores cut their f32 sums off:
/// `3 k 2^-23 |scale| sum |w| |x|` more at most, with `k` twice the number of inputs, rounded up to a multiple of 16.
/// On the CPU, the bound that [`beamform`](crate::beamform) states, with a scale in f64. Where
/// [`TiedArrayBeams::with_precision`] asks for integer weights, those of 4-bit and 8-bit voltages are rounded there as
/// on a GPU, and sums are exact and scaled in f64: `3 2^-24` of `|scale| sum |w| |x|` at most, besides that rounding.
///
/// # Dither
/// The numbers of the F-engine's dither: of `seed XOR 0x6265616d73000000`, spectrum the clock's stamp over its spacing,
/// input the channel and channel the beam. They depend on those alone, so that a stream may be cut anywhere.
#[derive(Debug, Clone, PartialEq)]
pub struct TiedArrayBeams<O = Complex<f32>> {
    weights: WeightSource,
    /// What was asked for.
    precision: Option<WeightPrecision>,
    scale: f32,
    seed: Option<u64>,
    /// Whether devices of compute capability 9.0 run the kernels of 8.0.
    only_mma: bool,
    output: PhantomData<fn() -> O>,
}

impl TiedArrayBeams {
    /// Beams in f32 with a scale of 1, and 16-bit weights on GPUs, f32 ones on the CPU.
    pub fn new(weights: BeamWeights) -> Self {
        Self::of(WeightSource::Given(weights))
    }

    /// The same with the weights that delays, phases, gains and flags make at a sample ([`BeamSteering::weights_at`]).
    /// GPUs make them themselves, of a phase and a slope for each beam and input: a
    /// [`BeamformerStream`](crate::BeamformerStream) that [replaces](crate::BeamformerStream::replace) its beams by
    /// those of a later sample does not wait.
    ///
    /// # Errors
    /// [`TypesError::NotFinite`] for a gain so large that a weight would overflow.
    pub fn steered(steering: &BeamSteering, sample: u64) -> Result<Self, BeamformerError> {
        if let Some((beam, input)) = steering.too_large() {
            let (quantity, actual) = ("gain of a beam", "infinite magnitude".into());
            return Err(TypesError::NotFinite { quantity, actual, index: vec![beam, input] }.into());
        }
        let steering = Box::new(steering.clone());
        Ok(Self::of(WeightSource::Steered { steering, sample, weights: std::sync::OnceLock::new() }))
    }

    fn of(weights: WeightSource) -> Self {
        Self { weights, precision: None, scale: 1.0, seed: None, only_mma: false, output: PhantomData }
    }
}

impl<O: TiedArrayOutput> TiedArrayBeams<O> {
    /// The same beams as `P`: `Complex<f32>`, `Complex<f16>` or `Complex<i8>`.
    pub fn with_output<P: TiedArrayOutput>(self) -> TiedArrayBeams<P> {
        let Self { weights, precision, scale, seed, only_mma, .. } = self;
        TiedArrayBeams { weights, precision, scale, seed, only_mma, output: PhantomData }
    }

    /// How precisely the weights are held, on GPUs and on the CPU. Without it GPUs have 16-bit weights, and the CPU
    /// takes them as they are.
    #[must_use]
    pub fn with_precision(self, precision: WeightPrecision) -> Self {
        Self { precision: Some(precision), ..self }
    }

    /// What all beams are multiplied by.
    ///
    /// # Errors
    /// [`TypesError::NotFinite`] for a scale that is NaN or infinite.
    pub fn with_scale(self, scale: f32) -> Result<Self, BeamformerError> {
        if !scale.is_finite() {
            let (quantity, actual) = ("scale of beams", scale.to_string());
            return Err(TypesError::NotFinite { quantity, actual, index: Vec::new() }.into());
        }
        Ok(Self { scale, ..self })
    }

    /// Adds numbers uniform in (-1/2, 1/2) to parts before they are rounded to integers, so that the error is noise.
    /// Floats are not dithered.
    #[must_use]
    pub fn with_dither(self, seed: u64) -> Self {
        Self { seed: Some(seed), ..self }
    }

    /// The same beams of some of the channels, in the order that they had.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] for channels that there are not, [`TypesError::Empty`] for none; as
    /// [`TiedArrayBeams::weights`].
    pub fn of_channels(&self, channels: std::ops::Range<usize>) -> Result<Self, BeamformerError> {
        let weights = self.weights()?;
        let (expected, actual) = (weights.channels(), channels.end.max(channels.start));
        if actual > expected {
            let (array, dimension) = ("range of beam weights", Dimension::Channel);
            return Err(TypesError::Dimension { array, dimension, expected, actual }.into());
        }
        let channels = channels.start..channels.end.max(channels.start);
        let weights = BeamWeights::new(weights.data().slice(ndarray::s![.., channels, ..]).to_owned())?;
        Ok(Self { weights: WeightSource::Given(weights), ..self.clone() })
    }

    /// The weights; those of delays are made when this is first asked for.
    ///
    /// # Errors
    /// None of weights that were given; as [`BeamSteering::weights_at`].
    pub fn weights(&self) -> Result<&BeamWeights, BeamformerError> {
        self.weights.weights()
    }

    /// How precisely GPUs hold the weights.
    pub fn precision(&self) -> WeightPrecision {
        self.precision.unwrap_or_default()
    }

    /// What [`TiedArrayBeams::with_precision`] asked for, if it was called.
    pub fn asked_precision(&self) -> Option<WeightPrecision> {
        self.precision
    }

    /// The seed that [`TiedArrayBeams::with_dither`] set, if it was called.
    pub fn dither_seed(&self) -> Option<u64> {
        self.seed
    }

    /// What all beams are multiplied by.
    pub fn scale(&self) -> f32 {
        self.scale
    }

    /// The same beams by the kernels that every GPU runs: to compare them.
    #[doc(hidden)]
    #[must_use]
    pub fn with_mma(self) -> Self {
        Self { only_mma: true, ..self }
    }

    pub(crate) fn only_mma(&self) -> bool {
        self.only_mma
    }

    /// Bits of the weights on the CPU, `None` for f32.
    fn bits(&self, format: SampleFormat, inputs: Inputs) -> Option<WeightBits> {
        self.precision?.bits(format).filter(|_| inputs.len() <= MOST_INPUTS as usize)
    }

    /// The seed of the dither, if integers have any.
    pub(crate) fn dither(&self) -> Option<u64> {
        self.seed.filter(|_| O::INTEGER).map(|seed| seed ^ DITHER)
    }
}

/// Checks weights of so many channels and inputs against the voltages.
fn check(weights: [usize; 2], channels: usize, inputs: Inputs) -> Result<(), BeamformerError> {
    check_length("beam weights", Dimension::Channel, channels, weights[0])?;
    Ok(check_length("beam weights", Dimension::Input, inputs.len(), weights[1])?)
}

/// Whether there are kernels.
fn check_kernel(beams: usize, format: SampleFormat, inputs: Inputs) -> Result<(), DeviceError> {
    if kernels::format_name(format).is_none() {
        let (expected, actual) = ("4+4-bit, 8-bit or f16 voltages", format.to_string());
        return Err(DeviceError::NoKernel { expected, actual });
    }
    let too_large = |what, actual, limit| Err(DeviceError::TooLarge { what, actual, limit });
    match (inputs.len(), beams) {
        (inputs, _) if inputs > MOST_INPUTS as usize => too_large("inputs", inputs, MOST_INPUTS as usize),
        (_, beams) if beams > MOST_BEAMS => too_large("tied-array beams", beams, MOST_BEAMS),
        _ => Ok(()),
    }
}

impl<O: TiedArrayOutput> sealed::Sealed for TiedArrayBeams<O> {}
impl<O: TiedArrayOutput> BeamSet for TiedArrayBeams<O> {
    type Output = O;
    type Kernels<V: VoltageSample> = TiedArrayKernels<V, O>;

    fn beams(&self, _: Inputs) -> usize {
        self.weights.beams()
    }

    fn check(&self, channels: usize, inputs: Inputs) -> Result<(), BeamformerError> {
        check([self.weights.channels(), self.weights.inputs()], channels, inputs)
    }

    fn channels(&self) -> Option<usize> {
        Some(self.weights.channels())
    }

    fn unit_bytes(&self, inputs: Inputs) -> u64 {
        // 4-bit voltages have the most.
        let bits = self.bits(SampleFormat::Int4, inputs);
        tied_array_quantised_scratch_bytes(inputs.len(), self.weights.beams(), bits)
    }

    fn beamform_on_cpu<V: VoltageSample>(
        &self,
        voltages: &HostVoltages<'_, V>,
        parallel: usize,
        out: &mut [O],
    ) -> Result<Vec<u64>, BeamformerError> {
        let spectrum = first_spectrum(voltages.clock);
        let finish = BeamFinish { scale: self.scale, seed: self.dither(), spectrum };
        let (data, presence) = (voltages.data(), voltages.presence());
        let bits = self.bits(V::FORMAT, voltages.inputs);
        let largest = bits.and_then(|_| self.weights.largest());
        let held = bits.map_or(HeldWeights::Float, |bits| HeldWeights::Integer { bits, largest: largest.as_deref() });
        let weights = self.weights()?.data();
        Ok(tied_array_quantised_into(data, presence, weights, held, finish, parallel, out))
    }

    fn uses(&self, beam: usize, input: usize, _: Inputs) -> bool {
        self.weights.uses(beam, input)
    }

    fn check_kernel(&self, format: SampleFormat, inputs: Inputs) -> Result<(), DeviceError> {
        check_kernel(self.weights.beams(), format, inputs)
    }

    fn packs(&self) -> bool {
        true
    }

    fn load<V: VoltageSample>(
        &self,
        device: &Device,
        channels: usize,
        inputs: Inputs,
    ) -> Result<TiedArrayKernels<V, O>, BeamformerError> {
        TiedArrayKernels::load(device, self, channels, inputs)
    }

    fn update<V: VoltageSample>(
        &self,
        kernels: &mut TiedArrayKernels<V, O>,
        stream: &Stream,
    ) -> Result<bool, BeamformerError> {
        kernels.replace(stream, self)
    }
}

impl sealed::Sealed for BeamWeights {}
impl BeamSet for BeamWeights {
    type Output = Complex<f32>;
    type Kernels<V: VoltageSample> = TiedArrayKernels<V, Complex<f32>>;

    fn beams(&self, _: Inputs) -> usize {
        BeamWeights::beams(self)
    }

    fn check(&self, channels: usize, inputs: Inputs) -> Result<(), BeamformerError> {
        check([BeamWeights::channels(self), self.inputs()], channels, inputs)
    }

    fn channels(&self) -> Option<usize> {
        Some(BeamWeights::channels(self))
    }

    fn unit_bytes(&self, inputs: Inputs) -> u64 {
        fringes_cpu::beamformer::tied_array_scratch_bytes(inputs.len(), BeamWeights::beams(self))
    }

    fn beamform_on_cpu<V: VoltageSample>(
        &self,
        voltages: &HostVoltages<'_, V>,
        parallel: usize,
        out: &mut [Complex<f32>],
    ) -> Result<Vec<u64>, BeamformerError> {
        fringes_cpu::beamformer::tied_array_into(voltages.data(), voltages.presence(), self.data(), parallel, out);
        Ok(Vec::new())
    }

    fn uses(&self, beam: usize, input: usize, _: Inputs) -> bool {
        source::given_uses(self, beam, input)
    }

    fn check_kernel(&self, format: SampleFormat, inputs: Inputs) -> Result<(), DeviceError> {
        check_kernel(BeamWeights::beams(self), format, inputs)
    }

    fn packs(&self) -> bool {
        true
    }

    fn load<V: VoltageSample>(
        &self,
        device: &Device,
        channels: usize,
        inputs: Inputs,
    ) -> Result<TiedArrayKernels<V, Complex<f32>>, BeamformerError> {
        TiedArrayKernels::load(device, &TiedArrayBeams::new(self.clone()), channels, inputs)
    }

    fn update<V: VoltageSample>(
        &self,
        kernels: &mut TiedArrayKernels<V, Complex<f32>>,
        stream: &Stream,
    ) -> Result<bool, BeamformerError> {
        kernels.replace(stream, &TiedArrayBeams::new(self.clone()))
    }
}
