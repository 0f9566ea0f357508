//! What is kept of a beam's voltages when they are detected, and how much is summed.

use crate::axes::check_positive;
use crate::{Dimension, Frequencies, SpectrumClock, TypesError};

/// The products of a beam's voltages that are summed.
///
/// | products | of | per beam |
/// |---|---|---|
/// | [`Power`](Self::Power) | each beam by itself | `abs(y)^2` |
/// | [`StokesI`](Self::StokesI) | two polarisations | `abs(x)^2 + abs(y)^2` |
/// | [`Stokes`](Self::Stokes) | two polarisations | `I, Q, U, V` |
/// | [`Coherency`](Self::Coherency) | two polarisations | `abs(x)^2, abs(y)^2, Re x y*, Im x y*` |
///
/// Of two polarisations, beams `2n` and `2n + 1` are `x` and `y` of detected beam `n`.
///
/// # Signs
/// `Q = abs(x)^2 - abs(y)^2`, `U = 2 Re x y*`, `V = -2 Im x y*`. A voltage of a positive frequency `f` turns as
/// `exp(+2 pi i f t)`, so with `x` toward the north and `y` toward the east `V` is left minus right circular
/// polarisation, with the IEEE's sense of rotation: the PSR/IEEE convention of pulsar astronomy. The IAU's `V` is right
/// minus left, `-V`.
///
/// Source: van Straten, Manchester, Johnston and Reynolds 2010, PASA 27, 104 (PSRCHIVE and Stokes parameters).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DetectedProducts {
    /// Power of each beam.
    Power,
    /// Total power of both polarisations.
    StokesI,
    /// The Stokes parameters I, Q, U, V.
    Stokes,
    /// Both powers, and the real and the imaginary part of `x y*`.
    Coherency,
}

impl DetectedProducts {
    /// Products of a detected beam: 1 or 4.
    pub fn count(self) -> usize {
        self.names().len()
    }

    /// Voltage beams that a detected beam is made of: 1 or 2.
    pub fn pols(self) -> usize {
        if self == Self::Power { 1 } else { 2 }
    }

    /// Names of the products in their order.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Self::Power => &["power"],
            Self::StokesI => &["I"],
            Self::Stokes => &["I", "Q", "U", "V"],
            Self::Coherency => &["XX", "YY", "Re XY*", "Im XY*"],
        }
    }
}

/// How beams are detected: which products, and over how many spectra and channels they are summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Detection {
    products: DetectedProducts,
    times: usize,
    channels: usize,
}

impl Detection {
    /// Sums of `times` spectra and `channels` neighbouring channels.
    ///
    /// # Errors
    /// [`TypesError::NotPositive`] for 0 spectra or channels.
    pub fn new(products: DetectedProducts, times: usize, channels: usize) -> Result<Self, TypesError> {
        check_positive("spectra that are summed", times as f64)?;
        check_positive("channels that are summed", channels as f64)?;
        Ok(Self { products, times, channels })
    }

    /// The products.
    pub fn products(&self) -> DetectedProducts {
        self.products
    }

    /// Spectra of a sum.
    pub fn times(&self) -> usize {
        self.times
    }

    /// Channels of a sum.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// Detected channels of so many channels.
    ///
    /// # Errors
    /// [`TypesError::Multiple`] if they are no whole number of sums.
    pub fn channels_of(&self, channels: usize) -> Result<usize, TypesError> {
        whole(Dimension::Channel, self.channels, channels)
    }

    /// Detected times of so many spectra.
    ///
    /// # Errors
    /// [`TypesError::Multiple`] if they are no whole number of sums.
    pub fn times_of(&self, times: usize) -> Result<usize, TypesError> {
        whole(Dimension::Time, self.times, times)
    }

    /// Detected beams of so many voltage beams.
    ///
    /// # Errors
    /// [`TypesError::Multiple`] if polarisations have no partner.
    pub fn beams_of(&self, beams: usize) -> Result<usize, TypesError> {
        whole(Dimension::Beam, self.products.pols(), beams)
    }

    /// Middles of the summed channels.
    pub fn frequencies(&self, of: Frequencies) -> Frequencies {
        let summed = self.channels as f64;
        Frequencies { first_hz: of.first_hz + 0.5 * (summed - 1.0) * of.step_hz, step_hz: summed * of.step_hz }
    }

    /// Time axis of the sums: each has the stamp of its first spectrum.
    ///
    /// # Errors
    /// [`TypesError::TooLarge`] if a sum covers more than 2^64 samples.
    pub fn clock(&self, of: SpectrumClock) -> Result<SpectrumClock, TypesError> {
        let spacing = of.samples_between_spectra.checked_mul(self.times as u64);
        let too_large = || TypesError::TooLarge {
            array: "a sum of spectra",
            elements: format!("{} x {} samples", self.times, of.samples_between_spectra),
        };
        Ok(SpectrumClock { samples_between_spectra: spacing.ok_or_else(too_large)?, ..of })
    }
}

fn whole(dimension: Dimension, expected: usize, actual: usize) -> Result<usize, TypesError> {
    if actual.is_multiple_of(expected) {
        Ok(actual / expected)
    } else {
        Err(TypesError::Multiple { array: "beams", dimension, expected, actual })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summed_channels_have_the_middle_of_their_frequencies() {
        let detection = Detection::new(DetectedProducts::Stokes, 5, 4).unwrap();
        let before = Frequencies { first_hz: 100.0, step_hz: 2.0 };
        let after = detection.frequencies(before);
        for group in 0..3 {
            let middle = (4 * group..4 * group + 4).map(|channel| before.channel_hz(channel)).sum::<f64>() / 4.0;
            assert_eq!(after.channel_hz(group), middle);
        }
        let clock = SpectrumClock { first_sample: 70, samples_between_spectra: 16, sample_rate_hz: 1e6 };
        let summed = detection.clock(clock).unwrap();
        assert_eq!((summed.sample_of(0), summed.sample_of(2)), (clock.sample_of(0), clock.sample_of(10)));
        let slow = SpectrumClock { samples_between_spectra: u64::MAX / 4, ..clock };
        assert!(matches!(detection.clock(slow), Err(TypesError::TooLarge { .. })));
    }

    #[test]
    fn parts_of_sums_and_of_beams_are_refused() {
        let detection = Detection::new(DetectedProducts::Coherency, 5, 4).unwrap();
        assert_eq!((detection.times_of(15), detection.channels_of(8), detection.beams_of(6)), (Ok(3), Ok(2), Ok(3)));
        for (dimension, expected, found) in [
            (Dimension::Time, 5, detection.times_of(16)),
            (Dimension::Channel, 4, detection.channels_of(2)),
            (Dimension::Beam, 2, detection.beams_of(7)),
        ] {
            let same = |error: &TypesError| matches!(error, TypesError::Multiple { dimension: d, expected: e, .. } if (*d, *e) == (dimension, expected));
            assert!(found.as_ref().is_err_and(same), "{found:?}");
        }
        for (times, channels) in [(0, 1), (1, 0)] {
            let error = Detection::new(DetectedProducts::Power, times, channels);
            assert!(matches!(error, Err(TypesError::NotPositive { .. })));
        }
    }
}
