//! Coordinated universal time as recordings give it: a modified Julian day and seconds of that day.

use std::fmt;

/// Days of the civil calendar before the day that modified Julian day 0 is (17 November 1858), from 1 March of year 0.
const MJD_OF_EPOCH: i64 = -678_881;

/// Days (as modified Julian day) at whose start a leap second had just been inserted, since 2000.
const LEAP_SECONDS: [i64; 5] = [53_736, 54_832, 56_109, 57_204, 57_754];

/// An instant of UTC.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UtcTime {
    /// Modified Julian day.
    pub mjd_day: i64,
    /// Seconds of that day, at least 0 and below 86400 (86401 within a leap second).
    pub seconds: f64,
}

impl UtcTime {
    /// An instant from a civil date (Gregorian) and seconds of the day.
    pub fn from_civil(year: i32, month: u32, day: u32, seconds: f64) -> Self {
        // Years that begin in March put the leap day last, and months are then 153 days in five.
        let (year, month) = if month > 2 {
            (i64::from(year), i64::from(month) - 3)
        } else {
            (i64::from(year) - 1, i64::from(month) + 9)
        };
        let days = 365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
        Self { mjd_day: days + (153 * month + 2) / 5 + i64::from(day) - 1 + MJD_OF_EPOCH, seconds }.plus_seconds(0.0)
    }

    /// The instant `seconds` later, counting every day as 86400 seconds.
    ///
    /// # Precision
    /// Seconds of the day are kept in f64: a day's worth has a step of 1.5e-11 s.
    #[must_use]
    pub fn plus_seconds(self, seconds: f64) -> Self {
        let total = self.seconds + seconds;
        let days = (total / 86_400.0).floor();
        Self { mjd_day: self.mjd_day.saturating_add(days as i64), seconds: total - days * 86_400.0 }
    }

    /// Modified Julian date as one number; a step of f64 is about a microsecond.
    pub fn mjd(&self) -> f64 {
        self.mjd_day as f64 + self.seconds / 86_400.0
    }

    /// Civil date `(year, month, day)`.
    pub fn civil(&self) -> (i64, u32, u32) {
        let days = self.mjd_day.saturating_sub(MJD_OF_EPOCH);
        let era = days.div_euclid(146_097);
        let day_of_era = days.rem_euclid(146_097);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month + 2) / 5 + 1;
        let (year, month) = if month < 10 { (0, month + 3) } else { (1, month - 9) };
        (era * 400 + year_of_era + year, month as u32, day as u32)
    }
}

impl fmt::Display for UtcTime {
    /// ISO 8601 with microseconds, e.g. `2014-06-16T05:56:07.000000Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Rounded first, so that 59.9999999 carries into the minutes.
        let micros = (self.seconds * 1e6).round() as i64;
        let carried = self.plus_seconds(if micros >= 86_400_000_000 { 86_400.0 - self.seconds } else { 0.0 });
        let micros = if micros >= 86_400_000_000 { 0 } else { micros };
        let (year, month, day) = carried.civil();
        let (hour, minute) = (micros / 3_600_000_000, micros / 60_000_000 % 60);
        let second = micros as f64 / 1e6 - (hour * 3600 + minute * 60) as f64;
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:09.6}Z")
    }
}

/// Leap seconds inserted after `from` and up to the start of `to` (modified Julian days), from 2000 on.
pub(crate) fn leap_seconds_between(from: i64, to: i64) -> i64 {
    LEAP_SECONDS.iter().filter(|&&day| from < day && day <= to).count() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn civil_dates_are_the_known_days() {
        for ((year, month, day), mjd) in
            [((1858, 11, 17), 0), ((2000, 1, 1), 51_544), ((2000, 3, 1), 51_604), ((2014, 6, 16), 56_824)]
        {
            let time = UtcTime::from_civil(year, month, day, 0.0);
            assert_eq!(time.mjd_day, mjd);
            assert_eq!(time.civil(), (i64::from(year), month, day));
        }
        for day in -800_000..800_000 {
            let (year, month, of_month) = UtcTime { mjd_day: day, seconds: 0.0 }.civil();
            assert_eq!(UtcTime::from_civil(year as i32, month, of_month, 0.0).mjd_day, day);
        }
    }

    #[test]
    fn leap_seconds_are_those_of_the_calendar() {
        let days: Vec<i64> = [(2006, 1), (2009, 1), (2012, 7), (2015, 7), (2017, 1)]
            .iter()
            .map(|&(year, month)| UtcTime::from_civil(year, month, 1, 0.0).mjd_day)
            .collect();
        assert_eq!(days, LEAP_SECONDS);
        assert_eq!(leap_seconds_between(51_544, 57_530), 4);
    }

    #[test]
    fn text_carries_rounded_seconds() {
        let time = UtcTime { mjd_day: 56_824, seconds: 86_399.999_999_9 };
        assert_eq!(time.to_string(), "2014-06-17T00:00:00.000000Z");
        assert_eq!(UtcTime::from_civil(2014, 6, 16, 21_367.5).to_string(), "2014-06-16T05:56:07.500000Z");
    }
}
