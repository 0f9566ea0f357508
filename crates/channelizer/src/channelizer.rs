//! The plan of a polyphase filter bank, and its application to one array.

use fringes_backend::{Backend, MemoryNeed};
use fringes_cpu::memory::{is_there_memory, try_zeroed_vec};
use fringes_cpu::pfb::{self, Pfb, Split, Window, zeroed_output};
use fringes_types::{ChunkFormat, Complex, Frequencies, Inputs, TypesError};

use crate::ChannelizerError;
use crate::internals::LaunchBytes;
use crate::spectra::voltages::{ArrayShape, device_for};

/// Largest sample counter: 2^62, 73 years at 2 GS/s.
pub(crate) const COUNTER_LIMIT: u64 = 1 << 62;
/// Largest number of weights of a plan.
const WEIGHTS_LIMIT: usize = 1 << 30;

/// A polyphase filter bank: number of channels, prototype filter, oversampling.
///
/// With `step` samples a tap, weights `w` of `taps` taps, and spectra `stride` samples apart, the spectrum stamped with
/// sample counter `t` is
///
/// `X[k](t) = exp(-2 pi i b_k t / step) sum_p exp(-2 pi i b_k p / step) sum_j w[j step + p] x[t + j step + p]`
///
/// - **Real** samples: `step = 2 N` for `N` channels, `b_k = k`; channel `k` is centred at `k f_s / (2 N)` and the
///   Nyquist bin is dropped.
/// - **Complex** samples: `step = N`, `b_k = k - floor(N / 2)`; channel `k` is centred at `b_k f_s / N`.
/// - `stride = step / ratio`; a ratio of 1 is critically sampled. The leading factor refers phases to absolute time: a
///   tone in the middle of a channel has the same phase in every spectrum, oversampled or not.
///
/// A window's weights are `w_i = W_i sinc(w_c ((i + 1/2) / step - taps / 2))`, scaled to `sum w_i^2 = 1`: white noise
/// of variance `s^2` gives channels of power `s^2` (2 to 2^16 channels alike).
#[derive(Debug, Clone)]
pub struct Channelizer {
    pfb: Pfb,
    weights: Vec<f64>,
    stride: usize,
    launch_bytes: Option<LaunchBytes>,
}

/// Parameters of a [`Channelizer`], checked by [`ChannelizerBuilder::build`].
#[derive(Debug, Clone)]
pub struct ChannelizerBuilder {
    channels: usize,
    complex: bool,
    taps: usize,
    window: Window,
    w_cutoff: f64,
    weights: Option<Vec<f64>>,
    oversampling: (usize, usize),
}

impl ChannelizerBuilder {
    fn new(channels: usize, complex: bool) -> Self {
        let window = Window::default();
        Self { channels, complex, taps: 16, window, w_cutoff: 1.0, weights: None, oversampling: (1, 1) }
    }

    /// Number of taps, 16 by default.
    pub fn taps(mut self, taps: usize) -> Self {
        self.taps = taps;
        self
    }

    /// Window of the prototype filter, [`Window::Hann`] by default.
    pub fn window(mut self, window: Window) -> Self {
        self.window = window;
        self
    }

    /// Width of the channel's pass band in channels, 1 by default (`w_c` of the formula); 0 for a bare window.
    pub fn w_cutoff(mut self, w_cutoff: f64) -> Self {
        self.w_cutoff = w_cutoff;
        self
    }

    /// The caller's own `taps * step` weights, used as they are, in place of window and cutoff.
    pub fn weights(mut self, weights: Vec<f64>) -> Self {
        self.weights = Some(weights);
        self
    }

    /// Oversampling ratio `numerator / denominator`, 1 by default: spectra are `step * denominator / numerator` samples
    /// apart.
    pub fn oversampling(mut self, numerator: usize, denominator: usize) -> Self {
        self.oversampling = (numerator, denominator);
        self
    }

    /// Checks the parameters and computes the plan.
    ///
    /// # Errors
    /// - [`ChannelizerError::Zero`] without channels or taps;
    /// - [`TypesError::TooLarge`] for more than 2^30 weights, and where there is no memory for the plan's tables;
    /// - [`ChannelizerError::Parameter`] for a cutoff that is not finite and at least 0, or a Kaiser beta outside
    ///   0..=700;
    /// - [`ChannelizerError::Length`] and [`ChannelizerError::Coefficient`] for the wrong number of weights, or one
    ///   that is no finite f32; [`ChannelizerError::NoWeight`] for a window that vanishes everywhere;
    /// - [`ChannelizerError::Oversampling`] for a ratio below 1 or one that gives no whole number of samples.
    pub fn build(mut self) -> Result<Channelizer, ChannelizerError> {
        for (quantity, value) in [("channels", self.channels), ("taps", self.taps)] {
            if value == 0 {
                return Err(ChannelizerError::Zero { quantity });
            }
        }
        let step = if self.complex { Some(self.channels) } else { self.channels.checked_mul(2) };
        let too_large = |plan: &Self| TypesError::TooLarge {
            array: "filter weights",
            elements: format!("{} x {} x {}", plan.taps, if plan.complex { 1 } else { 2 }, plan.channels),
        };
        let length = step.and_then(|step| step.checked_mul(self.taps)).filter(|&length| length <= WEIGHTS_LIMIT);
        let (step, length) = step.zip(length).ok_or_else(|| too_large(&self))?;
        let stride = self.stride(step)?;
        // All tables at once, before the first is filled.
        let window_bytes = if self.weights.is_some() { 0 } else { length as u64 * size_of::<f64>() as u64 };
        let tables = Pfb::table_bytes(self.channels, self.complex, self.taps).saturating_add(window_bytes);
        if !is_there_memory(tables) {
            return Err(too_large(&self).into());
        }
        let weights = match self.weights.take() {
            Some(weights) => weights,
            None => {
                let mut weights = try_zeroed_vec(length).ok_or_else(|| too_large(&self))?;
                self.window_weights(step, &mut weights)?;
                weights
            }
        };
        if weights.len() != length {
            return Err(ChannelizerError::Length { quantity: "weights", expected: length, actual: weights.len() });
        }
        if let Some(index) = weights.iter().position(|&weight| !(weight as f32).is_finite()) {
            return Err(ChannelizerError::Coefficient { quantity: "weights", actual: weights[index], index });
        }
        let pfb = Pfb::try_new(self.channels, self.complex, &weights).ok_or_else(|| too_large(&self))?;
        Ok(Channelizer { pfb, weights, stride, launch_bytes: None })
    }

    fn stride(&self, step: usize) -> Result<usize, ChannelizerError> {
        let (numerator, denominator) = self.oversampling;
        let product = step as u128 * denominator as u128;
        if denominator == 0 || numerator < denominator || !product.is_multiple_of(numerator as u128) {
            return Err(ChannelizerError::Oversampling { numerator, denominator, step });
        }
        // At most `step`, since the ratio is at least 1.
        Ok((product / numerator as u128) as usize)
    }

    fn window_weights(&self, step: usize, weights: &mut [f64]) -> Result<(), ChannelizerError> {
        let check = |quantity, actual: f64, limit| {
            let legal = actual.is_finite() && (0.0..=limit).contains(&actual);
            if legal { Ok(()) } else { Err(ChannelizerError::Parameter { quantity, actual }) }
        };
        check("w_cutoff in channels", self.w_cutoff, f64::MAX)?;
        if let Window::Kaiser { beta } = self.window {
            check("Kaiser beta (at most 700)", beta, 700.0)?;
        }
        if pfb::fill_pfb_weights(weights, self.window, self.taps, step, self.w_cutoff) {
            Ok(())
        } else {
            Err(ChannelizerError::NoWeight { taps: self.taps, step })
        }
    }
}

impl Channelizer {
    /// A plan for `channels` channels of real samples.
    pub fn real(channels: usize) -> ChannelizerBuilder {
        ChannelizerBuilder::new(channels, false)
    }

    /// A plan for `channels` channels of complex samples.
    pub fn complex(channels: usize) -> ChannelizerBuilder {
        ChannelizerBuilder::new(channels, true)
    }

    /// The same plan with launches on a GPU of so many bytes, in place of what the tuned table says: to measure them.
    #[doc(hidden)]
    #[must_use]
    pub fn with_launch_bytes(self, bytes: LaunchBytes) -> Self {
        Self { launch_bytes: Some(bytes), ..self }
    }

    pub(crate) fn launch_bytes(&self) -> Option<LaunchBytes> {
        self.launch_bytes
    }

    /// Number of channels.
    pub fn channels(&self) -> usize {
        self.pfb.channels()
    }

    /// Number of taps.
    pub fn taps(&self) -> usize {
        self.pfb.taps()
    }

    /// Samples of a tap: twice the channels for real samples, the channels for complex ones.
    pub fn step(&self) -> usize {
        self.pfb.step()
    }

    /// Samples from one spectrum to the next.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// The prototype filter, `taps * step` weights.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Whether the plan takes complex samples.
    pub fn is_complex(&self) -> bool {
        self.pfb.is_complex()
    }

    /// Samples of a spectrum's window, `taps * step`.
    pub fn window_samples(&self) -> usize {
        self.weights.len()
    }

    /// Number of complete spectra in `samples` samples of each input.
    pub fn spectra(&self, samples: usize) -> usize {
        samples.checked_sub(self.window_samples()).map_or(0, |rest| rest / self.stride + 1)
    }

    /// Memory that [`channelize`](crate::channelize()) takes on a backend for `times` samples of a format of each
    /// input.
    ///
    /// A [memory limit](Backend::with_memory_limit) applies to the workspace. On the CPU input and output are the
    /// caller's. On a GPU the workspace is memory of the device, and samples and voltages of a step have their place
    /// there as well, those of at most 1 GiB at once; of samples that lie on the device, tables and jobs alone count. A
    /// stream holds samples between chunks as well: [`ChannelizerStream::memory`](crate::ChannelizerStream::memory).
    ///
    /// # Errors
    /// [`ChannelizerError::SampleKind`]; [`DeviceError::NoKernel`](fringes_backend::DeviceError::NoKernel) if the
    /// backend is a GPU and nothing else, and has no kernel for the plan and the format.
    pub fn memory(
        &self,
        backend: &Backend,
        inputs: Inputs,
        times: usize,
        format: ChunkFormat,
    ) -> Result<MemoryNeed, ChannelizerError> {
        self.check_kind(format.is_complex())?;
        let spectra = self.spectra(times);
        let arrays = self.arrays(inputs.len(), times, spectra, format);
        Ok(match device_for(backend, self, Some(format))? {
            None => MemoryNeed {
                workspace_bytes: Split::choose(&self.pfb, spectra, inputs.len(), None).bytes(&self.pfb),
                smallest_step_bytes: Split::smallest_bytes(&self.pfb),
                ..arrays
            },
            Some(_) => {
                let shape = ArrayShape { plan: self, format, inputs, first_sample: 0 };
                MemoryNeed {
                    workspace_bytes: shape.step_bytes(shape.spectra_of_step(spectra, None)),
                    smallest_step_bytes: shape.step_bytes(1),
                    ..arrays
                }
            }
        })
    }

    /// Sizes of the arrays of samples and spectra.
    pub(crate) fn arrays(&self, inputs: usize, times: usize, spectra: usize, format: ChunkFormat) -> MemoryNeed {
        let row = (times as u64).saturating_mul(format.sample_bits().into()).div_ceil(8);
        let product = |factors: [usize; 4]| factors.into_iter().fold(1u64, |all, one| all.saturating_mul(one as u64));
        MemoryNeed {
            input_bytes: row.saturating_mul(inputs as u64),
            output_bytes: product([inputs, spectra, self.channels(), 8]),
            ..MemoryNeed::default()
        }
    }

    /// The filter bank.
    #[doc(hidden)]
    pub fn pfb(&self) -> &Pfb {
        &self.pfb
    }

    /// Centres of the channels for samples of a rate and band centre.
    ///
    /// Real samples: from the band's lower edge, `centre - f_s / 4`. Complex ones: 0 Hz is channel `floor(N / 2)`.
    #[doc(hidden)]
    pub fn frequencies(&self, sample_rate_hz: f64, centre_hz: Option<f64>) -> Frequencies {
        let channels = self.channels();
        let step_hz = sample_rate_hz / self.step() as f64;
        let first_hz = if self.is_complex() {
            centre_hz.unwrap_or(0.0) - (channels / 2) as f64 * step_hz
        } else {
            centre_hz.map_or(0.0, |centre_hz| centre_hz - sample_rate_hz / 4.0)
        };
        Frequencies { first_hz, step_hz }
    }

    /// `Ok` if samples that are complex or not suit the plan.
    #[doc(hidden)]
    pub fn check_kind(&self, complex: bool) -> Result<(), ChannelizerError> {
        if complex == self.is_complex() {
            Ok(())
        } else {
            Err(ChannelizerError::SampleKind { expected_complex: self.is_complex() })
        }
    }
}

/// `Ok` if neither the first nor the last sample counter is beyond [`COUNTER_LIMIT`].
pub(crate) fn check_counter(first_sample: u64, times: usize) -> Result<(), ChannelizerError> {
    let end = first_sample.saturating_add(times as u64);
    if end > COUNTER_LIMIT {
        return Err(ChannelizerError::Counter { actual: end, limit: COUNTER_LIMIT });
    }
    Ok(())
}

/// An output array, or an error if it cannot exist.
pub(crate) fn new_output(
    channels: usize,
    spectra: usize,
    inputs: usize,
) -> Result<ndarray::Array3<Complex<f32>>, ChannelizerError> {
    zeroed_output(channels, spectra, inputs).ok_or_else(|| {
        let elements = format!("{channels} x {spectra} x {inputs}");
        TypesError::TooLarge { array: "channelised voltages", elements }.into()
    })
}
