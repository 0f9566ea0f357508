//! What the files of a beam have in common: the observation, and a time axis that goes on from chunk to chunk.

use fringes_delay_model::{Epoch, Source};
use fringes_types::{Dimension, Frequencies, SpectrumClock, TypesError};

use crate::IoError;

/// What a file says of the observation that its beam is of.
#[derive(Debug, Clone, PartialEq)]
pub struct BeamObservation {
    /// Name of the telescope.
    pub telescope: String,
    /// Name of what the beam looks at.
    pub source: String,
    /// Where the beam looks; a file has right ascension and declination (ICRS) or nothing.
    pub direction: Option<Source>,
    /// When sample 0 of the beams' clock was taken.
    pub sample_zero: Epoch,
}

impl BeamObservation {
    /// An observation of unknown direction, with telescope and source named `unknown`.
    pub fn new(sample_zero: Epoch) -> Self {
        Self { telescope: "unknown".into(), source: "unknown".into(), direction: None, sample_zero }
    }

    /// When a sample was taken.
    pub(super) fn time_of(&self, clock: SpectrumClock) -> Epoch {
        self.sample_zero.plus_seconds(clock.first_sample as f64 / clock.sample_rate_hz)
    }

    /// Right ascension and declination in radians, if they are known.
    pub(super) fn ra_dec(&self) -> Option<[f64; 2]> {
        match self.direction {
            Some(Source::RaDec { ra_rad, dec_rad }) => Some([ra_rad, dec_rad]),
            _ => None,
        }
    }

    /// Checks the names, which may have so many characters, and that the direction is one.
    pub(super) fn check(&self, limit: usize) -> Result<(), IoError> {
        for (field, text) in [("telescope", &self.telescope), ("source", &self.source)] {
            let printable =
                text.chars().all(|letter| letter.is_ascii_graphic() || letter == ' ') && !text.contains('\'');
            if text.trim().is_empty() || text.len() > limit || !printable {
                return Err(IoError::HeaderText { field, limit, actual: text.clone() });
            }
        }
        Ok(self.direction.as_ref().map_or(Ok(()), Source::check)?)
    }
}

/// Sign, whole units, minutes and seconds of an angle in hours or degrees; seconds have been rounded to so many
/// decimals.
pub(super) fn sexagesimal(units: f64, decimals: i32) -> (bool, u64, u64, f64) {
    let parts = 10f64.powi(decimals);
    let ticks = (units.abs() * 3600.0 * parts).round();
    let seconds = (ticks / parts).floor() as u64;
    let left = (ticks - seconds as f64 * parts) / parts;
    (units < 0.0, seconds / 3600, seconds / 60 % 60, (seconds % 60) as f64 + left)
}

/// The axes of what has been written, which what comes next must go on with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Axes {
    pub(super) channels: usize,
    /// Products or polarisations.
    pub(super) products: usize,
    pub(super) frequencies: Frequencies,
    /// `first_sample` is that of the spectrum that comes next.
    pub(super) clock: SpectrumClock,
}

impl Axes {
    /// Checks that a file can hold these axes.
    pub(super) fn check(&self) -> Result<(), IoError> {
        if !self.clock.has_sample_rate() {
            return Err(IoError::UnsetSampleRate);
        }
        if self.channels == 0 {
            return Err(TypesError::Empty { array: "beams", dimension: Dimension::Channel }.into());
        }
        if self.frequencies.step_hz <= 0.0 {
            let (quantity, actual) = ("channel width in Hz", self.frequencies.step_hz);
            return Err(TypesError::NotPositive { quantity, actual }.into());
        }
        Ok(())
    }

    /// `Ok` if a chunk goes on with these axes.
    pub(super) fn check_next(&self, chunk: &Axes) -> Result<(), IoError> {
        let of = |axes: &Axes| {
            [
                ("channels", axes.channels.to_string()),
                ("products of a beam", axes.products.to_string()),
                ("frequencies", format!("{:?}", axes.frequencies)),
                ("samples between spectra", axes.clock.samples_between_spectra.to_string()),
                ("sample rate in Hz", axes.clock.sample_rate_hz.to_string()),
                ("first sample", axes.clock.first_sample.to_string()),
            ]
        };
        match of(self).into_iter().zip(of(chunk)).find(|(expected, actual)| expected != actual) {
            Some(((quantity, expected), (_, actual))) => Err(IoError::Axis { quantity, expected, actual }),
            None => Ok(()),
        }
    }
}

/// `Ok` if there is such a beam.
pub(super) fn check_beam(beam: usize, beams: usize) -> Result<(), IoError> {
    if beam < beams {
        return Ok(());
    }
    let (array, dimension) = ("beams", Dimension::Beam);
    Err(TypesError::Dimension { array, dimension, expected: beam + 1, actual: beams }.into())
}

#[cfg(test)]
mod tests {
    use super::sexagesimal;

    #[test]
    fn angles_carry_when_seconds_are_rounded_up() {
        assert_eq!(sexagesimal(10.5, 4), (false, 10, 30, 0.0));
        assert_eq!(sexagesimal(-0.51, 4), (true, 0, 30, 36.0));
        assert_eq!(sexagesimal(1.999_999_999_99, 3), (false, 2, 0, 0.0));
        let (_, hours, minutes, seconds) = sexagesimal(5.575_541_667, 4);
        assert_eq!((hours, minutes), (5, 34));
        assert!((seconds - 31.95).abs() < 1e-9);
    }
}
