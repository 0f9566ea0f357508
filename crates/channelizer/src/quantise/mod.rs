//! Gain and quantisation: `Complex<f32>` voltages `[channel][time][input]` to 8-bit or 4-bit integers.
//!
//! ```text
//! kernels   on buffers of a device, in the order of a stream   QuantiseKernels
//! device    the call on a GPU, of voltages on the host and on the device
//! ```

mod device;
mod kernels;
mod texts;

pub use kernels::{QuantiseKernels, ScaledVoltages};

use fringes_backend::{Backend, DeviceArray, DeviceVoltages, MemoryNeed};
use fringes_cpu::quantiser::{self, QuantisedValue};
use fringes_types::{Complex4, Gains, VoltageSample, Voltages};
use ndarray::Array1;
use num_complex::Complex;

use crate::ChannelizerError;

/// Name of the operation.
const OPERATION: &str = "quantise";

mod sealed {
    use fringes_backend::DeviceVoltages;
    use fringes_types::{Complex, Complex4, Voltages};

    pub trait Sealed {}
    impl Sealed for Complex<i8> {}
    impl Sealed for Complex4 {}

    pub trait Input {}
    impl Input for Voltages<Complex<f32>> {}
    impl Input for DeviceVoltages<'_, Complex<f32>> {}
}

/// The formats that [`quantise`] writes: `Complex<i8>` (limit 127) and [`Complex4`] (limit 7).
pub trait QuantisedSample: VoltageSample + QuantisedValue + sealed::Sealed {}

impl QuantisedSample for Complex<i8> {}
impl QuantisedSample for Complex4 {}

/// Quantised voltages, and how many of them were too large. `C` is the chunk of voltages, `S` the array of the counts;
/// both lie where the voltages lay.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantised<C, S = Array1<u64>> {
    /// The voltages; axes and presence are those of the input.
    pub voltages: C,
    /// Saturated complex values of each input, summed over channels and times.
    pub saturated: S,
}

impl<Q: QuantisedSample> Quantised<Voltages<Q>> {
    /// Memory that [`quantise`] and [`recorded_integers`] take on a backend for voltages of this shape in host memory,
    /// which become `Q`.
    ///
    /// On a GPU the workspace is memory of the device: voltages have their place there before and after, whole channels
    /// of at most 1 GiB at once. Of voltages that lie on the device, gains, flags and counts alone count.
    ///
    /// # Errors
    /// None so far: there are kernels for every GPU.
    pub fn memory(
        backend: &Backend,
        channels: usize,
        times: usize,
        inputs: usize,
    ) -> Result<MemoryNeed, ChannelizerError> {
        let product = |factors: &[usize]| factors.iter().fold(1u64, |p, &n| p.saturating_mul(n as u64));
        let (workspace_bytes, smallest_step_bytes) = if backend.gpu_for(OPERATION, true)?.is_some() {
            let of_step = |channels| device::step_bytes::<Q>(channels, times, inputs);
            (of_step(device::channels_of_step::<Q>(channels, times, inputs, None)), of_step(1))
        } else {
            let gains = product(&[channels, inputs, size_of::<Complex<f32>>()]);
            // Gains as an array, and counts of each thread.
            let counts = product(&[inputs, size_of::<u64>(), fringes_cpu::blocks::parallel_units(None, 0)]);
            (gains.saturating_add(counts), gains.saturating_add(counts))
        };
        Ok(MemoryNeed {
            input_bytes: product(&[channels, times, inputs, size_of::<Complex<f32>>()]),
            output_bytes: product(&[channels, times, inputs, size_of::<Q>()]),
            workspace_bytes,
            smallest_step_bytes,
        })
    }
}

/// Voltages that [`quantise`] takes; what comes out lies where they lie:
///
/// | voltages | quantised |
/// |---|---|
/// | [`Voltages`] in host memory | `Quantised<Voltages<Q>>`; the backend says what computes it |
/// | [`DeviceVoltages`] | `Quantised<DeviceVoltages<Q>, DeviceArray<u64>>` on the same device |
///
/// Nothing else can implement it.
pub trait QuantiseInput: sealed::Input {
    /// The quantised voltages.
    type Quantised<Q: QuantisedSample>;

    /// [`quantise`] of these voltages.
    #[doc(hidden)]
    fn quantise_to<Q: QuantisedSample>(
        &self,
        backend: &Backend,
        gains: &Gains,
    ) -> Result<Self::Quantised<Q>, ChannelizerError>;
}

impl QuantiseInput for Voltages<Complex<f32>> {
    type Quantised<Q: QuantisedSample> = Quantised<Voltages<Q>>;

    fn quantise_to<Q: QuantisedSample>(
        &self,
        backend: &Backend,
        gains: &Gains,
    ) -> Result<Self::Quantised<Q>, ChannelizerError> {
        let (channels, times, inputs) = self.data().dim();
        let _span = tracing::debug_span!("quantise", channels, times, inputs).entered();
        backend.check_memory(
            OPERATION,
            Quantised::<Voltages<Q>>::memory(backend, channels, times, inputs)?.smallest_step_bytes,
        )?;
        let gains = gains.expand(channels, inputs)?;
        let (data, saturated) = match backend.gpu_for(OPERATION, true)? {
            Some(device) => device::of_host::<Q>(backend, device, self, &gains.as_standard_layout().into_owned())?,
            None => quantiser::quantise::<Q>(self.data(), gains.view(), self.presence()),
        };
        Ok(Quantised { voltages: with_axes_of(self, Voltages::from_checked(data, self.inputs())?)?, saturated })
    }
}

impl QuantiseInput for DeviceVoltages<'_, Complex<f32>> {
    type Quantised<Q: QuantisedSample> = Quantised<DeviceVoltages<'static, Q>, DeviceArray<'static, u64>>;

    fn quantise_to<Q: QuantisedSample>(
        &self,
        backend: &Backend,
        gains: &Gains,
    ) -> Result<Self::Quantised<Q>, ChannelizerError> {
        device::of_device(backend, self, gains)
    }
}

/// Scales voltages and rounds them to integers:
/// `clamp(gain[channel][input] * x[channel][time][input])`, real and imaginary part rounded half to even.
///
/// Values are clamped to -127..=127 or -7..=7 first, so the most negative integer never comes out. A complex value with
/// a part beyond the limit before rounding counts as saturated, once; so does one with a NaN, which gives 0. Voltages
/// marked as missing give 0 and do not count.
///
/// ```
/// use fringes_channelizer::quantise;
/// use fringes_backend::Backend;
/// use fringes_types::{Complex, Gains, Inputs, Voltages};
/// use ndarray::array;
///
/// let inputs = Inputs::single_pol(1)?;
/// let voltages = array![[[Complex::new(0.5f32, 1.25)], [Complex::new(-900.0, 900.0)]]];
/// let voltages = Voltages::new(voltages, inputs)?;
/// let quantised = quantise::<Complex<i8>, _>(&Backend::cpu(), &voltages, &Gains::uniform(2.0)?)?;
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
/// # On a GPU
/// Voltages in host memory go there in steps of whole channels. Those in device memory are quantised there, on the
/// stream that wrote them ([`DeviceArray::written_on`]), or the device's default one: the work is queued, and voltages
/// and counts are there in that stream's order. [`QuantiseKernels`] does it to buffers on a device, and allocates
/// nothing.
///
/// # Precision
/// The product is taken in f64: integers and counts equal those of `fringes_reference::quantiser` on every input, on
/// the CPU and on a GPU.
///
/// # Errors
/// [`TypesError::Dimension`](fringes_types::TypesError::Dimension) if the gains have other channels or inputs than the
/// voltages, [`DeviceError::MemoryLimit`](fringes_backend::DeviceError::MemoryLimit) if the smallest step of
/// [`Quantised::memory`] exceeds the backend's limit,
/// [`DeviceError::WrongDevice`](fringes_backend::DeviceError::WrongDevice) for voltages on a device that is not the
/// backend's, [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) with what the driver says.
pub fn quantise<Q: QuantisedSample, C: QuantiseInput>(
    backend: &Backend,
    voltages: &C,
    gains: &Gains,
) -> Result<C::Quantised<Q>, ChannelizerError> {
    voltages.quantise_to(backend, gains)
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
/// [`ChannelizerError::NotInteger`] for a present value with a part that is not a whole number,
/// [`DeviceError::MemoryLimit`](fringes_backend::DeviceError::MemoryLimit) as [`quantise`].
pub fn recorded_integers<Q: QuantisedSample>(
    backend: &Backend,
    voltages: &Voltages<Complex<f32>>,
) -> Result<Quantised<Voltages<Q>>, ChannelizerError> {
    let present = |time, input| voltages.presence().is_none_or(|flags| flags[(time, input)]);
    let whole = |part: f32| part == part.round_ties_even() && part.is_finite();
    let data = voltages.data();
    let mut values = data.indexed_iter();
    let broken =
        values.find(|&((_, time, input), value)| !(whole(value.re) && whole(value.im)) && present(time, input));
    if let Some(((channel, time, input), value)) = broken {
        return Err(ChannelizerError::NotInteger { actual: value.to_string(), index: vec![channel, time, input] });
    }
    quantise(backend, voltages, &Gains::uniform(1.0)?)
}

/// Quantised voltages with the axes and flags of those that they were.
fn with_axes_of<Q: QuantisedSample, A, B>(
    source: &Voltages<Complex<f32>, A>,
    quantised: Voltages<Q, B>,
) -> Result<Voltages<Q, B>, ChannelizerError> {
    let voltages = quantised.with_frequencies(source.frequencies())?.with_clock(source.clock())?;
    Ok(match source.presence() {
        Some(presence) => voltages.with_presence(presence.to_owned())?,
        None => voltages,
    })
}
