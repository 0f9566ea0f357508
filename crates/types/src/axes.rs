//! What the channel and time axes of channelised data mean.

use crate::TypesError;

/// Centre frequencies of equally spaced channels, ascending: channel `k` is at `first_hz + k * step_hz`.
///
/// Where the sky frequency is not known, these are baseband offsets. The default is one hertz a channel from 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frequencies {
    /// Centre of channel 0 in Hz.
    pub first_hz: f64,
    /// Distance of neighbouring channels in Hz.
    pub step_hz: f64,
}

impl Default for Frequencies {
    fn default() -> Self {
        Self { first_hz: 0.0, step_hz: 1.0 }
    }
}

impl Frequencies {
    /// Centre frequency of a channel in Hz.
    pub fn channel_hz(&self, channel: usize) -> f64 {
        self.first_hz + channel as f64 * self.step_hz
    }
}

/// Which ADC sample a spectrum belongs to: spectrum `t` is stamped `first_sample + t * samples_between_spectra`.
///
/// The default is one spectrum a sample at 1 Hz, from sample 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpectrumClock {
    /// ADC sample counter of the first spectrum.
    pub first_sample: u64,
    /// ADC samples from one spectrum to the next, at least 1.
    pub samples_between_spectra: u64,
    /// ADC sample rate in Hz.
    pub sample_rate_hz: f64,
}

impl Default for SpectrumClock {
    fn default() -> Self {
        Self { first_sample: 0, samples_between_spectra: 1, sample_rate_hz: 1.0 }
    }
}

impl SpectrumClock {
    /// Checks the clock's values.
    ///
    /// # Errors
    /// [`TypesError::NotPositive`] for a spacing of 0 or a rate that is not finite and positive.
    pub fn check(&self) -> Result<(), TypesError> {
        check_positive("sample_rate_hz", self.sample_rate_hz)?;
        check_positive("samples_between_spectra", self.samples_between_spectra as f64)
    }

    /// ADC sample counter of spectrum `time` (wrapping at 2^64, which no run reaches).
    pub fn sample_of(&self, time: usize) -> u64 {
        self.first_sample.wrapping_add((time as u64).wrapping_mul(self.samples_between_spectra))
    }

    /// Seconds from one spectrum to the next.
    pub fn spectrum_seconds(&self) -> f64 {
        self.samples_between_spectra as f64 / self.sample_rate_hz
    }
}

/// `Ok` if `actual` is finite and above 0.
pub(crate) fn check_positive(quantity: &'static str, actual: f64) -> Result<(), TypesError> {
    if actual.is_finite() && actual > 0.0 { Ok(()) } else { Err(TypesError::NotPositive { quantity, actual }) }
}
