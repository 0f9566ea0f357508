//! Gain and quantisation: `Complex<f32>` voltages `[channel][time][input]` to 8-bit or 4-bit integers.

use fringes_backend::{Backend, MemoryNeed};
use fringes_cpu::quantiser::{self, QuantisedValue};
use fringes_types::{Complex4, Dimension, TypesError, VoltageSample, Voltages};
use ndarray::{Array1, Array2};
use num_complex::Complex;

use crate::ChannelizerError;

/// Name of the operation.
const OPERATION: &str = "quantise";

/// Complex gains that scale voltages before they are rounded, finite by construction.
#[derive(Debug, Clone, PartialEq)]
pub struct Gains(Kind);

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Uniform(f32),
    PerChannelInput(Array2<Complex<f32>>),
}

impl Gains {
    /// One real gain for every channel and input.
    ///
    /// # Errors
    /// [`TypesError::NotFinite`] if it is NaN or infinite.
    pub fn uniform(gain: f32) -> Result<Self, ChannelizerError> {
        if !gain.is_finite() {
            return Err(not_finite("gain", gain.to_string(), Vec::new()));
        }
        Ok(Self(Kind::Uniform(gain)))
    }

    /// A complex gain for each channel and input, `[channel][input]`.
    ///
    /// # Errors
    /// [`TypesError::NotFinite`] for a gain that is NaN or infinite.
    pub fn per_channel_input(gains: Array2<Complex<f32>>) -> Result<Self, ChannelizerError> {
        match gains.indexed_iter().find(|(_, gain)| !gain.is_finite()) {
            Some(((channel, input), gain)) => Err(not_finite("gain", gain.to_string(), vec![channel, input])),
            None => Ok(Self(Kind::PerChannelInput(gains))),
        }
    }

    /// Memory that [`quantise`] and [`recorded_integers`] take on a backend for voltages of this shape, which become
    /// `Q`.
    ///
    /// # Errors
    /// [`DeviceError::NotOnGpu`](fringes_backend::DeviceError::NotOnGpu) if the backend is a GPU and nothing else.
    pub fn memory<Q: QuantisedSample>(
        &self,
        backend: &Backend,
        channels: usize,
        times: usize,
        inputs: usize,
    ) -> Result<MemoryNeed, ChannelizerError> {
        backend.gpu_for(OPERATION, false)?;
        let product = |factors: &[usize]| factors.iter().fold(1u64, |p, &n| p.saturating_mul(n as u64));
        let gains = product(&[channels, inputs, size_of::<Complex<f32>>()]);
        // Gains as an array, and counts of each thread.
        let counts = product(&[inputs, size_of::<u64>(), fringes_cpu::blocks::parallel_units(None, 0)]);
        let workspace = gains.saturating_add(counts);
        Ok(MemoryNeed {
            input_bytes: product(&[channels, times, inputs, size_of::<Complex<f32>>()]),
            output_bytes: product(&[channels, times, inputs, size_of::<Q>()]),
            workspace_bytes: workspace,
            smallest_step_bytes: workspace,
        })
    }

    /// The gains as `[channel][input]`, if they fit.
    pub(crate) fn expand(&self, channels: usize, inputs: usize) -> Result<Array2<Complex<f32>>, ChannelizerError> {
        match &self.0 {
            Kind::Uniform(gain) => Ok(Array2::from_elem((channels, inputs), Complex::new(*gain, 0.0))),
            Kind::PerChannelInput(gains) => {
                for (dimension, expected, actual) in
                    [(Dimension::Channel, channels, gains.nrows()), (Dimension::Input, inputs, gains.ncols())]
                {
                    if expected != actual {
                        return Err(TypesError::Dimension { array: "gains", dimension, expected, actual }.into());
                    }
                }
                Ok(gains.clone())
            }
        }
    }
}

fn not_finite(quantity: &'static str, actual: String, index: Vec<usize>) -> ChannelizerError {
    TypesError::NotFinite { quantity, actual, index }.into()
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for fringes_types::Complex<i8> {}
    impl Sealed for fringes_types::Complex4 {}
}

/// The formats that [`quantise`] writes: `Complex<i8>` (limit 127) and [`Complex4`] (limit 7).
pub trait QuantisedSample: VoltageSample + QuantisedValue + sealed::Sealed {}

impl QuantisedSample for Complex<i8> {}
impl QuantisedSample for Complex4 {}

/// Quantised voltages, and how many of them were too large.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantised<Q: QuantisedSample> {
    /// The voltages; axes and presence are those of the input.
    pub voltages: Voltages<Q>,
    /// Saturated complex values of each input, summed over channels and times.
    pub saturated: Array1<u64>,
}

/// Scales voltages and rounds them to integers:
/// `clamp(gain[channel][input] * x[channel][time][input])`, real and imaginary part rounded half to even.
///
/// Values are clamped to -127..=127 or -7..=7 first, so the most negative integer never comes out. A complex value with a
/// part beyond the limit before rounding counts as saturated, once; so does one with a NaN, which gives 0. Voltages marked
/// as missing give 0 and do not count.
///
/// ```
/// use fringes_channelizer::{Gains, quantise};
/// use fringes_backend::Backend;
/// use fringes_types::{Complex, Inputs, Voltages};
/// use ndarray::array;
///
/// let inputs = Inputs::single_pol(1)?;
/// let voltages = array![[[Complex::new(0.5f32, 1.25)], [Complex::new(-900.0, 900.0)]]];
/// let voltages = Voltages::new(voltages, inputs)?;
/// let quantised = quantise::<Complex<i8>>(&Backend::cpu(), &voltages, &Gains::uniform(2.0)?)?;
/// // 2.5 is halfway between 2 and 3: it goes to the even one.
/// assert_eq!(quantised.voltages.data()[(0, 0, 0)], Complex::new(1, 2));
/// assert_eq!(quantised.voltages.data()[(0, 1, 0)], Complex::new(-127, 127));
/// assert_eq!(quantised.saturated.to_vec(), [1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Layout
/// Any; the output is in standard layout.
///
/// # Precision
/// The product is taken in f64: integers and counts equal those of `fringes_reference::quantiser` on every input.
///
/// # Errors
/// [`TypesError::Dimension`] if the gains have other channels or inputs than the voltages, [`DeviceError::MemoryLimit`](fringes_backend::DeviceError::MemoryLimit) if
/// the gains alone exceed the backend's limit.
pub fn quantise<Q: QuantisedSample>(
    backend: &Backend,
    voltages: &Voltages<Complex<f32>>,
    gains: &Gains,
) -> Result<Quantised<Q>, ChannelizerError> {
    let (channels, times, inputs) = voltages.data().dim();
    let _span = tracing::debug_span!("quantise", channels, times, inputs).entered();
    backend.check_memory(OPERATION, gains.memory::<Q>(backend, channels, times, inputs)?.smallest_step_bytes)?;
    let gains = gains.expand(channels, inputs)?;
    let (data, saturated) = quantiser::quantise::<Q>(voltages.data(), gains.view(), voltages.presence());
    with_axes_of(voltages, data, saturated)
}

/// Takes voltages whose parts are whole numbers, as readers of integer recordings give them, to an integer format.
///
/// The values stay as they are, except that parts beyond the limit are clamped and counted: recordings contain the most
/// negative value (-128, -8), which is not a sample. Missing voltages give 0.
///
/// # Precision
/// Exact.
///
/// # Errors
/// [`ChannelizerError::NotInteger`] for a present value with a part that is not a whole number, [`DeviceError::MemoryLimit`](fringes_backend::DeviceError::MemoryLimit) as
/// [`quantise`].
pub fn recorded_integers<Q: QuantisedSample>(
    backend: &Backend,
    voltages: &Voltages<Complex<f32>>,
) -> Result<Quantised<Q>, ChannelizerError> {
    let present = |time, input| voltages.presence().is_none_or(|flags| flags[(time, input)]);
    let whole = |part: f32| part == part.round_ties_even() && part.is_finite();
    let data = voltages.data();
    let mut values = data.indexed_iter();
    let broken =
        values.find(|&((_, time, input), value)| !(whole(value.re) && whole(value.im)) && present(time, input));
    if let Some(((channel, time, input), value)) = broken {
        return Err(ChannelizerError::NotInteger { actual: value.to_string(), index: vec![channel, time, input] });
    }
    quantise(backend, voltages, &Gains(Kind::Uniform(1.0)))
}

fn with_axes_of<Q: QuantisedSample>(
    source: &Voltages<Complex<f32>>,
    data: ndarray::Array3<Q>,
    saturated: Array1<u64>,
) -> Result<Quantised<Q>, ChannelizerError> {
    let mut voltages = Voltages::from_checked(data, source.inputs())?
        .with_frequencies(source.frequencies())?
        .with_clock(source.clock())?;
    if let Some(presence) = source.presence() {
        voltages = voltages.with_presence(presence.to_owned())?;
    }
    Ok(Quantised { voltages, saturated })
}
