//! Which spectra make a dump.

use fringes_types::TypesError;

use crate::{CorrelatorError, MAX_SPECTRA};

/// Lengths of dumps: an F-engine sends heaps of `spectra_per_heap` spectra, a batch is one heap from every antenna, a
/// dump sums `heaps_per_dump` batches. Timestamps are ADC samples:
///
/// ```text
/// heap_timestamp_step  = spectra_per_heap * samples_between_spectra
/// timestamp_difference = heap_timestamp_step * heaps_per_dump
/// accumulation_seconds = timestamp_difference / adc_sample_rate
/// ```
///
/// Dumps are aligned: dump `d` is stamped `d * timestamp_difference` and holds the spectra stamped from there up to,
/// and not including, `(d + 1) * timestamp_difference`. Every dump covers `spectra_per_heap * heaps_per_dump` spectra,
/// whatever the offset of their stamps.
///
/// ```
/// use fringes_correlator::DumpSchedule;
///
/// // MeerKAT at L band: 4096 channels of 1712 MS/s, heaps of 256 spectra, 408 heaps a dump.
/// let schedule = DumpSchedule::new(8192, 256, 408)?;
/// assert_eq!(schedule.timestamp_difference(), 855_638_016);
/// assert!((schedule.accumulation_seconds(1712e6) - 0.4998).abs() < 1e-4);
/// # Ok::<(), fringes_correlator::CorrelatorError>(())
/// ```
///
/// Source: "Correlation", section "Accumulations, Dumps and Output Data", of the katgpucbf manual; its accumulation
/// time multiplies by the sample rate where it must divide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DumpSchedule {
    samples_between_spectra: u64,
    spectra_per_heap: u64,
    heaps_per_dump: u64,
}

impl DumpSchedule {
    /// A schedule of these lengths, each at least 1.
    ///
    /// # Errors
    /// [`TypesError::NotPositive`] for a length of 0, [`CorrelatorError::TooManySpectra`] if a dump has more than
    /// [`MAX_SPECTRA`] spectra, [`CorrelatorError::DumpLength`] if it is 2^64 ADC samples or longer.
    pub fn new(
        samples_between_spectra: u64,
        spectra_per_heap: u64,
        heaps_per_dump: u64,
    ) -> Result<Self, CorrelatorError> {
        for (quantity, value) in [
            ("samples_between_spectra", samples_between_spectra),
            ("spectra_per_heap", spectra_per_heap),
            ("heaps_per_dump", heaps_per_dump),
        ] {
            if value == 0 {
                return Err(TypesError::NotPositive { quantity, actual: 0.0 }.into());
            }
        }
        let spectra = u128::from(spectra_per_heap) * u128::from(heaps_per_dump);
        if spectra > u128::from(MAX_SPECTRA) {
            return Err(CorrelatorError::TooManySpectra { actual: spectra, limit: MAX_SPECTRA });
        }
        let length = spectra * u128::from(samples_between_spectra);
        if length > u128::from(u64::MAX) {
            return Err(CorrelatorError::DumpLength { actual: length });
        }
        Ok(Self { samples_between_spectra, spectra_per_heap, heaps_per_dump })
    }

    /// The schedule whose dumps are closest to `seconds` long: a whole number of heaps, at least one.
    ///
    /// # Errors
    /// [`TypesError::NotPositive`] if `seconds` or the sample rate is not finite and above 0; else as
    /// [`DumpSchedule::new`].
    pub fn closest_to(
        seconds: f64,
        adc_sample_rate_hz: f64,
        samples_between_spectra: u64,
        spectra_per_heap: u64,
    ) -> Result<Self, CorrelatorError> {
        for (quantity, actual) in [("seconds", seconds), ("adc_sample_rate_hz", adc_sample_rate_hz)] {
            if !(actual.is_finite() && actual > 0.0) {
                return Err(TypesError::NotPositive { quantity, actual }.into());
            }
        }
        let heap = Self::new(samples_between_spectra, spectra_per_heap, 1)?;
        let heaps = seconds * adc_sample_rate_hz / heap.heap_timestamp_step() as f64;
        // The conversion saturates; new() then says what is too long.
        Self::new(samples_between_spectra, spectra_per_heap, heaps.round().max(1.0) as u64)
    }

    /// ADC samples from one spectrum to the next.
    pub fn samples_between_spectra(&self) -> u64 {
        self.samples_between_spectra
    }

    /// Spectra in a heap.
    pub fn spectra_per_heap(&self) -> u64 {
        self.spectra_per_heap
    }

    /// Heaps of each antenna in a dump.
    pub fn heaps_per_dump(&self) -> u64 {
        self.heaps_per_dump
    }

    /// Spectra that a dump covers.
    pub fn spectra_per_dump(&self) -> u64 {
        self.spectra_per_heap * self.heaps_per_dump
    }

    /// ADC samples from one heap to the next.
    pub fn heap_timestamp_step(&self) -> u64 {
        self.spectra_per_heap * self.samples_between_spectra
    }

    /// ADC samples from one dump to the next.
    pub fn timestamp_difference(&self) -> u64 {
        self.heap_timestamp_step() * self.heaps_per_dump
    }

    /// Seconds that a dump covers, at an ADC sample rate in Hz.
    pub fn accumulation_seconds(&self, adc_sample_rate_hz: f64) -> f64 {
        self.timestamp_difference() as f64 / adc_sample_rate_hz
    }

    /// Stamp of the dump that a spectrum with this stamp belongs to: the last whole multiple of the timestamp
    /// difference.
    pub fn dump_timestamp(&self, stamp: u64) -> u64 {
        stamp - stamp % self.timestamp_difference()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_the_references() {
        let reference = fringes_reference::dump::Schedule {
            samples_between_spectra: 512,
            spectra_per_heap: 16,
            heaps_per_dump: 33,
        };
        let schedule = DumpSchedule::new(512, 16, 33).unwrap();
        assert_eq!(schedule.heap_timestamp_step(), reference.heap_timestamp_step());
        assert_eq!(schedule.timestamp_difference(), reference.timestamp_difference());
        assert_eq!(schedule.spectra_per_dump(), reference.spectra_per_dump());
        assert_eq!(schedule.accumulation_seconds(1e9), reference.accumulation_seconds(1e9));
        for stamp in [0, 1, 270_335, 270_336, 100_000_000_000_000, u64::MAX] {
            assert_eq!(schedule.dump_timestamp(stamp), reference.stamp_of(reference.dump_of(stamp)));
        }
    }

    #[test]
    fn closest_schedule_is_within_half_a_heap() {
        for seconds in [0.25, 0.5, 1.0, 7.9] {
            let schedule = DumpSchedule::closest_to(seconds, 1712e6, 8192, 256).unwrap();
            let half_heap = 0.5 * schedule.heap_timestamp_step() as f64 / 1712e6;
            assert!((schedule.accumulation_seconds(1712e6) - seconds).abs() <= half_heap);
        }
        assert_eq!(DumpSchedule::closest_to(1e-9, 1e6, 100, 10).unwrap().heaps_per_dump(), 1);
    }

    #[test]
    fn impossible_lengths_are_errors() {
        for (a, b, c, name) in
            [(0, 1, 1, "samples_between_spectra"), (1, 0, 1, "spectra_per_heap"), (1, 1, 0, "heaps_per_dump")]
        {
            let expected = TypesError::NotPositive { quantity: name, actual: 0.0 };
            assert_eq!(DumpSchedule::new(a, b, c), Err(expected.into()));
        }
        assert_eq!(
            DumpSchedule::new(1, 1 << 40, 1 << 40),
            Err(CorrelatorError::TooManySpectra { actual: 1 << 80, limit: MAX_SPECTRA })
        );
        assert_eq!(DumpSchedule::new(1 << 40, 1 << 24, 1), Err(CorrelatorError::DumpLength { actual: 1 << 64 }));
        assert!(DumpSchedule::closest_to(f64::NAN, 1.0, 1, 1).is_err());
        assert!(DumpSchedule::closest_to(1.0, 0.0, 1, 1).is_err());
        assert!(DumpSchedule::closest_to(f64::MAX, 1.0, 1, 1).is_err());
    }
}
