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
    /// The frequencies of `channels` channels, `step_hz` apart, with their middle at `centre_hz`.
    pub fn around(centre_hz: f64, channels: usize, step_hz: f64) -> Self {
        Self { first_hz: centre_hz - step_hz * (channels as f64 - 1.0) / 2.0, step_hz }
    }

    /// Centre frequency of a channel in Hz.
    pub fn channel_hz(&self, channel: usize) -> f64 {
        self.first_hz + channel as f64 * self.step_hz
    }

    /// Checks that both numbers are finite.
    ///
    /// # Errors
    /// [`TypesError::NotFinite`] with index 0 for `first_hz`, 1 for `step_hz`.
    pub fn check(&self) -> Result<(), TypesError> {
        for (index, (quantity, actual)) in
            [("frequency of channel 0 in Hz", self.first_hz), ("distance of channels in Hz", self.step_hz)]
                .into_iter()
                .enumerate()
        {
            if !actual.is_finite() {
                let (actual, index) = (actual.to_string(), vec![index]);
                return Err(TypesError::NotFinite { quantity, actual, index });
            }
        }
        Ok(())
    }
}

/// Which ADC sample a spectrum belongs to: spectrum `t` is stamped `first_sample + t * samples_between_spectra`.
///
/// The default is one spectrum a sample, from sample 0, at an unset sample rate: see
/// [`SpectrumClock::has_sample_rate`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpectrumClock {
    /// ADC sample counter of the first spectrum.
    pub first_sample: u64,
    /// ADC samples from one spectrum to the next, at least 1.
    pub samples_between_spectra: u64,
    /// ADC sample rate in Hz; [`SpectrumClock::UNSET_SAMPLE_RATE_HZ`] where nobody has set it.
    pub sample_rate_hz: f64,
}

impl Default for SpectrumClock {
    fn default() -> Self {
        Self { first_sample: 0, samples_between_spectra: 1, sample_rate_hz: Self::UNSET_SAMPLE_RATE_HZ }
    }
}

impl SpectrumClock {
    /// The sample rate of data whose rate was never set: 1 Hz, so that times count samples and frequencies are in
    /// cycles a sample. Files that state times and frequencies refuse it.
    pub const UNSET_SAMPLE_RATE_HZ: f64 = 1.0;

    /// Whether the sample rate was set, that is, differs from [`SpectrumClock::UNSET_SAMPLE_RATE_HZ`].
    pub fn has_sample_rate(&self) -> bool {
        self.sample_rate_hz != Self::UNSET_SAMPLE_RATE_HZ
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_that_are_no_numbers_are_refused() {
        let good = Frequencies { first_hz: 1e9, step_hz: -1e3 };
        assert_eq!(good.check(), Ok(()));
        for (index, bad) in
            [(0, Frequencies { first_hz: f64::NAN, ..good }), (1, Frequencies { step_hz: f64::NEG_INFINITY, ..good })]
        {
            let error = bad.check().unwrap_err();
            assert!(matches!(&error, TypesError::NotFinite { index: at, .. } if *at == [index]), "{error}");
        }
    }

    #[test]
    fn the_middle_of_the_channels_is_the_centre() {
        for channels in [1usize, 2, 5, 8] {
            let frequencies = Frequencies::around(100.0, channels, 2.0);
            let sum: f64 = (0..channels).map(|channel| frequencies.channel_hz(channel)).sum();
            assert_eq!((sum / channels as f64, frequencies.step_hz), (100.0, 2.0));
        }
    }

    #[test]
    fn only_the_default_clock_has_no_rate() {
        assert!(!SpectrumClock::default().has_sample_rate());
        assert!(SpectrumClock { sample_rate_hz: 1e6, ..SpectrumClock::default() }.has_sample_rate());
    }
}
