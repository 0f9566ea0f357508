//! Instants in UTC.

use std::str::FromStr;

use sofars::cal::{cal2jd, jd2cal};

use crate::DelayError;

/// First day of UTC with whole leap seconds, 1972-01-01.
const FIRST_DAY: i64 = 41_317;
/// 2100-01-01, where the Earth ephemeris ends.
const END_DAY: i64 = 88_069;
/// 1970-01-01.
const UNIX_DAY: i64 = 40_587;
/// Modified Julian day 0 as a Julian date.
pub(crate) const MJD_ZERO: f64 = 2_400_000.5;

/// An instant in UTC: a modified Julian day and the seconds since its midnight.
///
/// Days have 86400 s, those that end with a leap second 86401 s. Keeping day and seconds apart keeps an instant to 1e-11 s.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Epoch {
    /// Modified Julian day number, e.g. 51544 for 2000-01-01.
    pub mjd_day: i64,
    /// Seconds since midnight UTC.
    pub seconds: f64,
}

impl Epoch {
    /// A checked epoch.
    ///
    /// # Errors
    /// As [`Epoch::check`].
    pub fn new(mjd_day: i64, seconds: f64) -> Result<Self, DelayError> {
        let epoch = Self { mjd_day, seconds };
        epoch.check()?;
        Ok(epoch)
    }

    /// Checks that the day lies in 1972 to 2099 and the seconds in `[0, 86401)`.
    ///
    /// # Errors
    /// [`DelayError::OutOfRange`].
    pub fn check(&self) -> Result<(), DelayError> {
        if !(FIRST_DAY..END_DAY).contains(&self.mjd_day) {
            return Err(DelayError::OutOfRange {
                quantity: "modified Julian day",
                expected: "41317 to 88068 (1972 to 2099)",
                actual: self.mjd_day as f64,
            });
        }
        if !(0.0..86_401.0).contains(&self.seconds) {
            return Err(DelayError::OutOfRange {
                quantity: "seconds of the day",
                expected: "0 up to 86401",
                actual: self.seconds,
            });
        }
        Ok(())
    }

    /// The epoch of a Unix time: seconds since 1970-01-01 UTC, leap seconds not counted.
    ///
    /// # Errors
    /// As [`Epoch::check`].
    pub fn from_unix_seconds(unix_seconds: f64) -> Result<Self, DelayError> {
        let days = (unix_seconds / 86_400.0).floor();
        // The cast saturates; the sum must not overflow either.
        Self::new((days as i64).saturating_add(UNIX_DAY), unix_seconds.rem_euclid(86_400.0))
    }

    /// The epoch of a date and time of day in UTC.
    ///
    /// # Errors
    /// As [`Epoch::check`]; [`DelayError::Parse`] for a date that does not exist.
    pub fn from_utc(
        (year, month, day): (i32, i32, i32),
        (hour, minute, second): (u32, u32, f64),
    ) -> Result<Self, DelayError> {
        let wrong = |expected| DelayError::Parse {
            what: "date",
            expected,
            actual: format!("{year}-{month}-{day} {hour}:{minute}:{second}"),
        };
        if !(1..=9999).contains(&year) {
            return Err(wrong("a year from 1 to 9999"));
        }
        let (_, mjd) = cal2jd(year, month, day).map_err(|_| wrong("a day that exists"))?;
        // Second 60 of the last minute is a leap second.
        let seconds_of_minute = if (hour, minute) == (23, 59) { 61.0 } else { 60.0 };
        if hour > 23 || minute > 59 || !(0.0..seconds_of_minute).contains(&second) {
            return Err(wrong("hours below 24, minutes below 60, seconds below 60"));
        }
        Self::new(mjd as i64, f64::from(hour * 3600 + minute * 60) + second)
    }

    /// TAI - UTC in seconds on this day. After the last leap second that is known to the tables, its value.
    ///
    /// # Errors
    /// As [`Epoch::check`].
    pub fn tai_minus_utc(&self) -> Result<f64, DelayError> {
        self.check()?;
        let unknown = |_| DelayError::OutOfRange {
            quantity: "modified Julian day",
            expected: "41317 to 88068 (1972 to 2099)",
            actual: self.mjd_day as f64,
        };
        let (year, month, day, _) = jd2cal(MJD_ZERO, self.mjd_day as f64).map_err(unknown)?;
        sofars::ts::dat(year, month, day, 0.0).map_err(unknown)
    }
}

/// Reads `YYYY-MM-DDTHH:MM:SS[.s][Z]`; a space may stand for the `T`, and the time of day may be left out.
impl FromStr for Epoch {
    type Err = DelayError;

    fn from_str(text: &str) -> Result<Self, DelayError> {
        let wrong =
            || DelayError::Parse { what: "epoch", expected: "YYYY-MM-DDTHH:MM:SS in UTC", actual: text.to_owned() };
        let trimmed = text.trim().trim_end_matches('Z');
        let (date, time) = trimmed.split_once(['T', ' ']).unwrap_or((trimmed, "0:0:0"));
        let mut date = date.splitn(3, '-').map(str::parse::<i32>);
        let mut next_date = || date.next().and_then(Result::ok).ok_or_else(wrong);
        let date = (next_date()?, next_date()?, next_date()?);
        let mut time = time.trim().splitn(3, ':');
        let mut next_time = || time.next().ok_or_else(wrong);
        let hour = next_time()?.parse().map_err(|_| wrong())?;
        let minute = next_time()?.parse().map_err(|_| wrong())?;
        let second = next_time()?.parse().map_err(|_| wrong())?;
        Self::from_utc(date, (hour, minute, second))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_become_the_right_day() {
        let j2000: Epoch = "2000-01-01T12:00:00".parse().unwrap();
        assert_eq!(j2000, Epoch { mjd_day: 51_544, seconds: 43_200.0 });
        assert_eq!("2000-01-01".parse(), Ok(Epoch { mjd_day: 51_544, seconds: 0.0 }));
        assert_eq!(Epoch::from_unix_seconds(946_728_000.0), Ok(j2000));
        assert_eq!("2016-12-31 23:59:60.5Z".parse(), Ok(Epoch { mjd_day: 57_753, seconds: 86_400.5 }));
        assert_eq!(j2000.tai_minus_utc(), Ok(32.0));
        assert_eq!(Epoch::new(57_753, 86_400.5).unwrap().tai_minus_utc(), Ok(36.0));
        assert_eq!(Epoch::new(57_754, 0.0).unwrap().tai_minus_utc(), Ok(37.0));
    }

    #[test]
    fn what_is_no_epoch_is_an_error() {
        for text in [
            "",
            "2000",
            "2000-13-01",
            "2000-02-30",
            "2000-01-01T24:00:00",
            "2000-01-01T1:2",
            "2000-01-01T12:30:60",
            "1971-12-31",
            "x-y-z",
        ] {
            assert!(text.parse::<Epoch>().is_err(), "{text}");
        }
        for (day, seconds) in [(i64::MIN, 0.0), (88_069, 0.0), (60_000, -0.1), (60_000, 86_401.0), (60_000, f64::NAN)] {
            assert!(matches!(Epoch::new(day, seconds), Err(DelayError::OutOfRange { .. })), "{day} {seconds}");
        }
        assert!(Epoch::from_unix_seconds(f64::INFINITY).is_err());
    }
}
