//! Instants in UTC.

use std::fmt;
use std::str::FromStr;

use sofars::cal::{cal2jd, jd2cal};

use crate::DelayModelError;

/// First day of UTC with whole leap seconds, 1972-01-01.
const FIRST_DAY: i64 = 41_317;
/// 2100-01-01, where the Earth ephemeris ends.
const END_DAY: i64 = 88_069;
/// 1970-01-01.
const UNIX_DAY: i64 = 40_587;
/// 2000-01-01.
const DAY_OF_2000: i64 = 51_544;
/// Modified Julian day of 1 March of year 0.
const DAY_OF_YEAR_0: i64 = -678_881;
/// Modified Julian day 0 as a Julian date.
pub(crate) const MJD_ZERO: f64 = 2_400_000.5;

/// An instant in UTC: a modified Julian day and the seconds since its midnight.
///
/// Days have 86400 s, those that end with a leap second 86401 s. Keeping day and seconds apart keeps an instant to
/// 1e-11 s. It is shown as ISO 8601 with microseconds, e.g. `2016-12-31T23:59:60.500000Z`, and read from such text.
///
/// The fields are free: a file may hold any day. [`Epoch::check`] says whether the Earth's place is known on it, and
/// what needs that checks it.
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
    pub fn new(mjd_day: i64, seconds: f64) -> Result<Self, DelayModelError> {
        let epoch = Self { mjd_day, seconds };
        epoch.check()?;
        Ok(epoch)
    }

    /// Checks that the day lies in 1972 to 2099 and the seconds in `[0, 86401)`.
    ///
    /// # Errors
    /// [`DelayModelError::OutOfRange`].
    pub fn check(&self) -> Result<(), DelayModelError> {
        if !(FIRST_DAY..END_DAY).contains(&self.mjd_day) {
            return Err(DelayModelError::OutOfRange {
                quantity: "modified Julian day",
                expected: "41317 to 88068 (1972 to 2099)",
                actual: self.mjd_day as f64,
            });
        }
        if !(0.0..86_401.0).contains(&self.seconds) {
            return Err(DelayModelError::OutOfRange {
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
    pub fn from_unix_seconds(unix_seconds: f64) -> Result<Self, DelayModelError> {
        let days = (unix_seconds / 86_400.0).floor();
        // The cast saturates; the sum must not overflow either.
        Self::new((days as i64).saturating_add(UNIX_DAY), unix_seconds.rem_euclid(86_400.0))
    }

    /// The epoch of a date and time of day in UTC.
    ///
    /// # Errors
    /// As [`Epoch::check`]; [`DelayModelError::Parse`] for a date that does not exist.
    pub fn from_utc(
        (year, month, day): (i32, i32, i32),
        (hour, minute, second): (u32, u32, f64),
    ) -> Result<Self, DelayModelError> {
        let wrong = |expected| DelayModelError::Parse {
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

    /// Midnight `half_years` half-years after 2000-01-01, the reference epoch of a VDIF header: 1 January or 1 July of
    /// 2000 to 2031. Numbers above 63, which a header cannot hold, are taken as 63.
    #[must_use]
    pub fn from_half_years(half_years: u8) -> Self {
        let (years, half) = (i64::from(half_years.min(63) / 2), i64::from(half_years.min(63) % 2));
        // Every fourth of these years is a leap year, 2000 itself the first.
        let second_half = 181 + i64::from(years % 4 == 0);
        Self { mjd_day: DAY_OF_2000 + 365 * years + (years + 3) / 4 + half * second_half, seconds: 0.0 }
    }

    /// The instant `seconds` SI seconds later (earlier if negative), over leap seconds.
    ///
    /// Leap seconds are known from 1972 to 2099 ([`Epoch::tai_minus_utc`]); other days count 86400 s.
    ///
    /// ```
    /// use fringes_delay_model::Epoch;
    ///
    /// let epoch: Epoch = "2016-12-31T23:59:59".parse()?;
    /// assert_eq!(epoch.plus_seconds(1.5).to_string(), "2016-12-31T23:59:60.500000Z");
    /// assert_eq!(epoch.plus_seconds(2.0).to_string(), "2017-01-01T00:00:00.000000Z");
    /// # Ok::<(), fringes_delay_model::DelayModelError>(())
    /// ```
    ///
    /// # Precision
    /// Seconds of the day have a step of 1.5e-11 s.
    #[must_use]
    pub fn plus_seconds(self, seconds: f64) -> Self {
        let total = self.seconds + seconds;
        let days = (total / 86_400.0).floor();
        let mjd_day = self.mjd_day.saturating_add(days as i64);
        let inserted = leap_seconds(mjd_day) - leap_seconds(self.mjd_day);
        let seconds = total - days * 86_400.0 - inserted;
        if seconds < 0.0 {
            let mjd_day = mjd_day.saturating_sub(1);
            return Self { mjd_day, seconds: seconds + day_seconds(mjd_day) };
        }
        Self { mjd_day, seconds }
    }

    /// SI seconds from `earlier` to this instant, leap seconds counted as in [`Epoch::plus_seconds`].
    ///
    /// # Precision
    /// A relative error of `2^-53`: 1e-8 s over 3 years.
    pub fn seconds_since(&self, earlier: Self) -> f64 {
        let days = self.mjd_day.saturating_sub(earlier.mjd_day) as f64;
        let inserted = leap_seconds(self.mjd_day) - leap_seconds(earlier.mjd_day);
        days * 86_400.0 + inserted + (self.seconds - earlier.seconds)
    }

    /// Civil date `(year, month, day)` in the Gregorian calendar.
    pub fn civil(&self) -> (i64, u32, u32) {
        // Years that begin in March put the leap day last, and months are then 153 days in five.
        let days = self.mjd_day.saturating_sub(DAY_OF_YEAR_0);
        let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month + 2) / 5 + 1;
        let (year, month) = if month < 10 { (0, month + 3) } else { (1, month - 9) };
        (era * 400 + year_of_era + year, month as u32, day as u32)
    }

    /// TAI - UTC in seconds on this day. After the last leap second that is known to the tables, its value.
    ///
    /// # Errors
    /// As [`Epoch::check`].
    pub fn tai_minus_utc(&self) -> Result<f64, DelayModelError> {
        self.check()?;
        let unknown = |_| DelayModelError::OutOfRange {
            quantity: "modified Julian day",
            expected: "41317 to 88068 (1972 to 2099)",
            actual: self.mjd_day as f64,
        };
        let (year, month, day, _) = jd2cal(MJD_ZERO, self.mjd_day as f64).map_err(unknown)?;
        sofars::ts::dat(year, month, day, 0.0).map_err(unknown)
    }
}

/// Leap seconds inserted before the midnight that begins a day, up to a constant.
fn leap_seconds(mjd_day: i64) -> f64 {
    let mjd_day = mjd_day.clamp(FIRST_DAY, END_DAY - 1);
    Epoch { mjd_day, seconds: 0.0 }.tai_minus_utc().unwrap_or(0.0)
}

/// Length of a day in seconds.
fn day_seconds(mjd_day: i64) -> f64 {
    86_400.0 + leap_seconds(mjd_day.saturating_add(1)) - leap_seconds(mjd_day)
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mjd_day, seconds } = self.plus_seconds(0.0);
        // Rounded first, so that 59.9999999 carries into the minutes.
        let micros = (seconds * 1e6).round() as i64;
        let length = day_seconds(mjd_day) as i64 * 1_000_000;
        let (day, micros) = if micros < length { (mjd_day, micros) } else { (mjd_day.saturating_add(1), 0) };
        let (year, month, day) = Self { mjd_day: day, seconds: 0.0 }.civil();
        // The leap second is second 60 of the last minute.
        let minutes = (micros / 60_000_000).min(24 * 60 - 1);
        let (hour, minute) = (minutes / 60, minutes % 60);
        let micros = micros - minutes * 60_000_000;
        let (second, micros) = (micros / 1_000_000, micros % 1_000_000);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
    }
}

/// Reads `YYYY-MM-DDTHH:MM:SS[.s][Z]`; a space may stand for the `T`, and the time of day may be left out.
impl FromStr for Epoch {
    type Err = DelayModelError;

    fn from_str(text: &str) -> Result<Self, DelayModelError> {
        let wrong = || DelayModelError::Parse {
            what: "epoch",
            expected: "YYYY-MM-DDTHH:MM:SS in UTC",
            actual: text.to_owned(),
        };
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
    fn civil_dates_are_the_known_days() {
        for ((year, month, day), mjd_day) in
            [((1858, 11, 17), 0), ((2000, 1, 1), 51_544), ((2000, 3, 1), 51_604), ((2014, 6, 16), 56_824)]
        {
            assert_eq!(Epoch { mjd_day, seconds: 0.0 }.civil(), (year, month, day));
        }
        for mjd_day in -600_000..600_000 {
            let (year, month, day) = Epoch { mjd_day, seconds: 0.0 }.civil();
            let (_, expected) = cal2jd(year as i32, month as i32, day as i32).unwrap();
            assert_eq!(mjd_day, expected as i64);
        }
        for half_years in 0..64u8 {
            let date = (2000 + i64::from(half_years / 2), 1 + 6 * u32::from(half_years % 2), 1);
            assert_eq!(Epoch::from_half_years(half_years).civil(), date);
        }
    }

    #[test]
    fn seconds_count_over_leap_seconds() {
        // Leap seconds since 2000: the days before 2006, 2009, July 2012, July 2015 and 2017.
        let leap_days = [53_735, 54_831, 56_108, 57_203, 57_753];
        for day in 51_544..62_000 {
            let length = if leap_days.contains(&day) { 86_401.0 } else { 86_400.0 };
            let (start, next) = (Epoch { mjd_day: day, seconds: 0.0 }, Epoch { mjd_day: day + 1, seconds: 0.0 });
            assert_eq!(day_seconds(day), length);
            assert_eq!(next.seconds_since(start), length);
            assert_eq!(start.plus_seconds(length), next);
            assert_eq!(start.plus_seconds(length - 0.5), Epoch { mjd_day: day, seconds: length - 0.5 });
            assert_eq!(next.plus_seconds(-0.5), Epoch { mjd_day: day, seconds: length - 0.5 });
            assert_eq!(start.plus_seconds(length - 0.5).plus_seconds(0.0).seconds, length - 0.5);
        }
        // Second 60 of a day that has none is the next day's first.
        let late = Epoch { mjd_day: 57_000, seconds: 86_400.25 };
        assert_eq!(late.plus_seconds(0.0), Epoch { mjd_day: 57_001, seconds: 0.25 });
        assert_eq!(late.to_string(), "2014-12-10T00:00:00.250000Z");
        let far = Epoch { mjd_day: i64::MAX, seconds: 0.0 }.plus_seconds(1e300);
        assert_eq!(far.mjd_day, i64::MAX);
    }

    #[test]
    fn text_carries_rounded_seconds_and_is_read_again() {
        let text = |mjd_day, seconds| Epoch { mjd_day, seconds }.to_string();
        assert_eq!(text(56_824, 86_399.999_999_9), "2014-06-17T00:00:00.000000Z");
        assert_eq!(text(57_753, 86_399.999_999_9), "2016-12-31T23:59:60.000000Z");
        assert_eq!(text(57_753, 86_400.999_999_9), "2017-01-01T00:00:00.000000Z");
        assert_eq!(text(56_824, 21_367.5), "2014-06-16T05:56:07.500000Z");
        for seconds in [0.0, 86_399.25, 86_400.5] {
            let epoch = Epoch { mjd_day: 57_753, seconds };
            assert_eq!(epoch.to_string().parse(), Ok(epoch));
        }
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
            assert!(matches!(Epoch::new(day, seconds), Err(DelayModelError::OutOfRange { .. })), "{day} {seconds}");
        }
        assert!(Epoch::from_unix_seconds(f64::INFINITY).is_err());
    }
}
