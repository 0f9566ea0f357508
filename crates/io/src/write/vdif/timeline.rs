//! When spectra are, as VDIF counts time: whole seconds since a reference epoch, frames of a second.

use fringes_delay_model::Epoch;
use fringes_types::SpectrumClock;

use crate::IoError;

/// Counts spectra from the start of a second of UTC.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Timeline {
    pub(super) per_second: u64,
    /// Half-years from 2000 to the reference epoch.
    pub(super) epoch: u8,
    /// Seconds from the reference epoch to the second from which spectra are counted; negative if that is before.
    from_epoch: i64,
}

/// Most spectra a second.
const MOST_PER_SECOND: f64 = (1u64 << 40) as f64;
/// The last reference epoch, 2031-07-01.
const LAST_EPOCH: u8 = 63;
/// Seconds that a header can hold.
const SECONDS: i64 = 1 << 30;
/// What the seconds of an [`Epoch`]'s day are known to: two roundings to 2^-36 s.
const EPOCH_STEP_S: f64 = 2.0 / (1u64 << 36) as f64;

impl Timeline {
    /// The time line of a file whose first spectrum a clock stamps, and that spectrum's number. Sample 0 of the clock
    /// was taken at an instant.
    pub(super) fn new(sample_zero: Epoch, clock: SpectrumClock) -> Result<(Self, u64), IoError> {
        sample_zero.check()?;
        let spacing = clock.samples_between_spectra;
        let rate = clock.sample_rate_hz / spacing as f64;
        if rate.fract() != 0.0 || !(1.0..MOST_PER_SECOND).contains(&rate) {
            let expected = "a whole number below 2^40, as frames begin with every second".into();
            return Err(IoError::Vdif { quantity: "spectra of a second", expected, actual: rate.to_string() });
        }
        let per_second = rate as u64;
        let fraction = sample_zero.seconds.fract();
        let behind = fraction * rate + (clock.first_sample % spacing) as f64 / spacing as f64;
        let off = behind - behind.round();
        if off.abs() > EPOCH_STEP_S * rate + behind * f64::EPSILON {
            let expected = "a whole number of spectra behind a second of UTC".into();
            let actual = format!("{off:+.4} spectra beside one");
            return Err(IoError::Vdif { quantity: "start of the first spectrum", expected, actual });
        }
        let first = (clock.first_sample / spacing).saturating_add(behind.round() as u64);

        let second = Epoch { seconds: sample_zero.seconds.trunc(), ..sample_zero };
        let start = second.plus_seconds((first / per_second) as f64);
        let Some(epoch) = (0..=LAST_EPOCH).rfind(|&of| Epoch::from_half_years(of) <= start) else {
            return Err(Self::no_place(start));
        };
        let from_epoch = second.seconds_since(Epoch::from_half_years(epoch)) as i64;
        Ok((Self { per_second, epoch, from_epoch }, first))
    }

    /// Seconds since the reference epoch and the frame within the second, of the frame that begins with a spectrum.
    pub(super) fn place(&self, spectrum: u64, spectra_per_frame: usize) -> Result<(u32, u32), IoError> {
        let seconds = i64::try_from(spectrum / self.per_second).unwrap_or(i64::MAX).saturating_add(self.from_epoch);
        let frame = spectrum % self.per_second / spectra_per_frame.max(1) as u64;
        match u32::try_from(seconds) {
            // There are at most 2^24 frames a second.
            Ok(of) if seconds < SECONDS => Ok((of, frame as u32)),
            _ => Err(Self::no_place(Epoch::from_half_years(self.epoch).plus_seconds(seconds as f64))),
        }
    }

    fn no_place(time: Epoch) -> IoError {
        let expected = "2000-01-01 or later, and at most 34 years behind the file's reference epoch".into();
        IoError::Vdif { quantity: "time of a frame", expected, actual: time.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(first_sample: u64) -> SpectrumClock {
        SpectrumClock { first_sample, samples_between_spectra: 32, sample_rate_hz: 8e6 }
    }

    fn new(zero: &str, first_sample: u64) -> (Timeline, u64) {
        Timeline::new(zero.parse().unwrap(), clock(first_sample)).unwrap()
    }

    #[test]
    fn seconds_count_from_the_last_half_year_and_frames_from_the_second() {
        // A quarter of a second is 62500 spectra.
        let (line, first) = new("2026-03-20T23:59:59.25", 3200);
        assert_eq!((line.per_second, line.epoch, first), (250_000, 52, 62_600));
        let day_79 = 79 * 86_400 - 1;
        assert_eq!(line.place(first, 100).unwrap(), (day_79, 626));
        assert_eq!(line.place(249_999, 100).unwrap(), (day_79, 2499));
        assert_eq!(line.place(250_000, 100).unwrap(), (day_79 + 1, 0));
        // The stream began in another half-year than the file.
        let (line, first) = new("2025-12-31T23:59:59", 3 * 8_000_000);
        assert_eq!((line.epoch, line.place(first, 1).unwrap()), (52, (2, 0)));
        // Days and a leap second in 2016: the second half has 184 days and a second.
        let (line, first) = new("2016-12-31T23:59:59", 8_000_000);
        assert_eq!((line.epoch, line.place(first, 1).unwrap()), (33, (184 * 86_400, 0)));
        assert_eq!(line.place(first + 250_000, 1).unwrap(), (184 * 86_400 + 1, 0));
        let (line, first) = new("2017-01-01T00:00:00", 0);
        assert_eq!((line.epoch, line.place(first, 1).unwrap()), (34, (0, 0)));
    }

    #[test]
    fn a_clock_that_no_frame_can_follow_is_refused() {
        let error = |zero: &str, clock| Timeline::new(zero.parse().unwrap(), clock).unwrap_err().to_string();
        let zero = "2026-03-20T23:59:59";
        let of = |sample_rate_hz| SpectrumClock { sample_rate_hz, samples_between_spectra: 8192, first_sample: 0 };
        let text = error(zero, of(1712e6));
        assert!(text.contains("spectra of a second: expected a whole number") && text.contains("208984.375"), "{text}");
        assert!(error(zero, of(1.0)).contains("spectra of a second"));
        assert!(error("2026-03-20T23:59:59.000001", clock(0)).contains("+0.2500 spectra beside one"));
        assert!(error(zero, clock(24)).contains("-0.2500 spectra beside one"));
        assert!(error("1999-12-31T23:59:59", clock(0)).contains("found 1999-12-31T23:59:59"));
        // What is no more than the rounding of an instant: 4.1 days have a step of 1.5e-11 s.
        new("2026-03-20T23:59:59.000004", 0);
        let (line, _) = new(zero, 0);
        let last = (((1 << 30) - 1) - i64::from(line.place(0, 1).unwrap().0)) as u64;
        assert_eq!(line.place(last * 250_000, 1).unwrap().0, (1 << 30) - 1);
        assert!(line.place((last + 1) * 250_000, 1).unwrap_err().to_string().contains("time of a frame"));
        assert!(line.place(u64::MAX, 1).is_err());
    }
}
