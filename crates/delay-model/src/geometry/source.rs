//! Where a source is, and reading it from text.

use std::f64::consts::{FRAC_PI_2, TAU};
use std::str::FromStr;

use crate::DelayModelError;
use crate::error::check_finite;

/// A direction on the sky.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Source {
    /// A point of the celestial sphere: right ascension and declination in the ICRS (J2000), without proper motion or
    /// parallax.
    RaDec {
        /// Right ascension in radians.
        ra_rad: f64,
        /// Declination in radians.
        dec_rad: f64,
    },
    /// A point that turns with the sky, given by its apparent hour angle at the epoch of the geometry it is used with;
    /// from there it moves west at the Earth's rotation rate.
    HourAngle {
        /// Hour angle in radians, positive to the west of the meridian.
        hour_angle_rad: f64,
        /// Apparent declination in radians.
        dec_rad: f64,
    },
    /// A point that stands still over the site, such as a geostationary satellite (taken as infinitely far).
    AzEl {
        /// Azimuth in radians, from north over east.
        azimuth_rad: f64,
        /// Elevation in radians.
        elevation_rad: f64,
    },
}

impl Source {
    /// Checks that the angles are finite and that declination or elevation are within a right angle.
    ///
    /// # Errors
    /// [`DelayModelError::NotFinite`] or [`DelayModelError::OutOfRange`].
    pub fn check(&self) -> Result<(), DelayModelError> {
        let (around, quantity, across) = match *self {
            Source::RaDec { ra_rad, dec_rad } => (ra_rad, "declination in radians", dec_rad),
            Source::HourAngle { hour_angle_rad, dec_rad } => (hour_angle_rad, "declination in radians", dec_rad),
            Source::AzEl { azimuth_rad, elevation_rad } => (azimuth_rad, "elevation in radians", elevation_rad),
        };
        check_finite("direction in radians", around, 0)?;
        check_finite(quantity, across, 0)?;
        // Degrees that were made radians may be off by a rounding.
        if across.abs() > FRAC_PI_2 * (1.0 + 1e-15) {
            return Err(DelayModelError::OutOfRange { quantity, expected: "-pi/2 to pi/2", actual: across });
        }
        Ok(())
    }

    /// Reads right ascension and declination; see [`parse_right_ascension`] and [`parse_declination`].
    ///
    /// # Errors
    /// [`DelayModelError::Parse`] or [`DelayModelError::OutOfRange`].
    pub fn parse_radec(ra: &str, dec: &str) -> Result<Self, DelayModelError> {
        Ok(Source::RaDec { ra_rad: parse_right_ascension(ra)?, dec_rad: parse_declination(dec)? })
    }
}

/// Reads two angles, separated by a comma or spaces:
///
/// | text | source |
/// |---|---|
/// | `05:34:31.9,+22:00:52` or `83.633 22.014` | right ascension and declination |
/// | `ha -01:30:00 -30:43:00` or `ha -22.5,-30.72` | hour angle and declination |
/// | `azel 180.0,45.0` | azimuth and elevation in degrees |
impl FromStr for Source {
    type Err = DelayModelError;

    fn from_str(text: &str) -> Result<Self, DelayModelError> {
        let words: Vec<&str> = text.split([',', ' ', '\t']).filter(|word| !word.is_empty()).collect();
        match *words.as_slice() {
            ["ha", hour_angle, dec] => Ok(Source::HourAngle {
                hour_angle_rad: parse_hour_angle(hour_angle)?,
                dec_rad: parse_declination(dec)?,
            }),
            ["azel", azimuth, elevation] => Ok(Source::AzEl {
                azimuth_rad: in_range("azimuth", azimuth, degrees(azimuth, false, "azimuth")?, -360.0, 360.0)?
                    .to_radians(),
                elevation_rad: in_range("elevation", elevation, degrees(elevation, false, "elevation")?, -90.0, 90.0)?
                    .to_radians(),
            }),
            [ra, dec] => Source::parse_radec(ra, dec),
            _ => Err(DelayModelError::Parse {
                what: "source",
                expected: "RA and Dec, `ha` with hour angle and Dec, or `azel` with azimuth and elevation",
                actual: text.to_owned(),
            }),
        }
    }
}

/// Right ascension in radians of `hh:mm:ss.s` (hours) or a decimal number of degrees, from 0 up to a whole turn.
///
/// # Errors
/// [`DelayModelError::Parse`].
pub fn parse_right_ascension(text: &str) -> Result<f64, DelayModelError> {
    let value = degrees(text, true, "right ascension")?;
    if (0.0..360.0).contains(&value) && !text.trim().starts_with('-') {
        Ok(value.to_radians())
    } else {
        Err(DelayModelError::Parse {
            what: "right ascension",
            expected: "0 up to 24 h or 360 degrees",
            actual: text.to_owned(),
        })
    }
}

/// Declination in radians of `[+-]dd:mm:ss.s` or a decimal number, both in degrees, from -90 to 90.
///
/// # Errors
/// [`DelayModelError::Parse`].
pub fn parse_declination(text: &str) -> Result<f64, DelayModelError> {
    Ok(in_range("declination", text, degrees(text, false, "declination")?, -90.0, 90.0)?.to_radians())
}

/// Hour angle in radians, reduced to `[-pi, pi)`, of `[+-]hh:mm:ss.s` (hours) or a decimal number of degrees, at most a
/// whole turn.
///
/// # Errors
/// [`DelayModelError::Parse`].
pub fn parse_hour_angle(text: &str) -> Result<f64, DelayModelError> {
    let value = in_range("hour angle", text, degrees(text, true, "hour angle")?, -360.0, 360.0)?.to_radians();
    Ok(TAU * crate::turns::reduce(value / TAU))
}

fn in_range(what: &'static str, text: &str, value: f64, low: f64, high: f64) -> Result<f64, DelayModelError> {
    let expected = if high > 90.0 { "-360 to 360 degrees" } else { "-90 to 90 degrees" };
    if (low..=high).contains(&value) {
        Ok(value)
    } else {
        Err(DelayModelError::Parse { what, expected, actual: text.to_owned() })
    }
}

/// Degrees of a decimal number, or of three numbers with colons (of which the first counts hours if `hours`).
fn degrees(text: &str, hours: bool, what: &'static str) -> Result<f64, DelayModelError> {
    let expected = if hours { "hh:mm:ss.s or decimal degrees" } else { "dd:mm:ss.s or decimal degrees" };
    let wrong = || DelayModelError::Parse { what, expected, actual: text.to_owned() };
    let trimmed = text.trim();
    if !trimmed.contains(':') {
        return trimmed.parse().ok().filter(|value: &f64| value.is_finite()).ok_or_else(wrong);
    }
    // The sign is taken off first: "-00:30:00" is negative although -0 is not.
    let (sign, digits) = match trimmed.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, trimmed.strip_prefix('+').unwrap_or(trimmed)),
    };
    let fields: Vec<&str> = digits.split(':').collect();
    let &[whole, minutes, seconds] = fields.as_slice() else { return Err(wrong()) };
    let whole: u16 = plain(whole).and_then(|field| field.parse().ok()).ok_or_else(wrong)?;
    let minutes: u16 = plain(minutes).and_then(|field| field.parse().ok()).ok_or_else(wrong)?;
    let seconds: f64 = plain(seconds).and_then(|field| field.parse().ok()).ok_or_else(wrong)?;
    if minutes > 59 || !(0.0..60.0).contains(&seconds) {
        return Err(wrong());
    }
    let value = f64::from(whole) + f64::from(minutes) / 60.0 + seconds / 3600.0;
    Ok(sign * value * if hours { 15.0 } else { 1.0 })
}

/// The field if it consists of digits and a decimal point (no signs, exponents, "inf" or "nan").
fn plain(field: &str) -> Option<&str> {
    field.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.').then_some(field)
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;

    use super::*;

    #[test]
    fn angles_are_read_in_both_notations() {
        for (text, degrees) in [("05:34:31.95", 83.633_125), ("83.633125", 83.633_125), ("00:00:00", 0.0)] {
            assert_abs_diff_eq!(parse_right_ascension(text).unwrap().to_degrees(), degrees, epsilon = 1e-12);
        }
        for (text, degrees) in [("+22:00:52.2", 22.0145), ("-00:30:00", -0.5), ("-90:00:00", -90.0), (" 45.5 ", 45.5)] {
            assert_abs_diff_eq!(parse_declination(text).unwrap().to_degrees(), degrees, epsilon = 1e-12);
        }
        for (text, degrees) in [("-01:30:00", -22.5), ("23:00:00", -15.0), ("12:00:00", -180.0), ("-22.5", -22.5)] {
            assert_abs_diff_eq!(parse_hour_angle(text).unwrap().to_degrees(), degrees, epsilon = 1e-12);
        }
    }

    #[test]
    fn sources_are_read_from_one_line() {
        let crab = Source::parse_radec("05:34:31.95", "+22:00:52.2").unwrap();
        assert_eq!("05:34:31.95,+22:00:52.2".parse(), Ok(crab));
        assert_eq!("05:34:31.95   +22:00:52.2".parse(), Ok(crab));
        let west = Source::HourAngle { hour_angle_rad: 15f64.to_radians(), dec_rad: -30f64.to_radians() };
        let Ok(Source::HourAngle { hour_angle_rad, dec_rad }) = "ha 01:00:00,-30:00:00".parse() else { panic!() };
        assert_abs_diff_eq!(hour_angle_rad, 15f64.to_radians(), epsilon = 1e-15);
        assert_abs_diff_eq!(dec_rad, -30f64.to_radians(), epsilon = 1e-15);
        assert!(west.check().is_ok());
        let south = Source::AzEl { azimuth_rad: 180f64.to_radians(), elevation_rad: 45f64.to_radians() };
        assert_eq!("azel 180,45".parse(), Ok(south));
    }

    #[test]
    fn what_is_no_angle_is_an_error() {
        for text in [
            "",
            "x",
            "nan",
            "inf",
            "1e400",
            "24:00:00",
            "-1",
            "-00:00:01",
            "1:2",
            "1:60:0",
            "1:0:60",
            "1:-1:0",
            "1:1:1:1",
            "360",
        ] {
            assert!(matches!(parse_right_ascension(text), Err(DelayModelError::Parse { .. })), "{text}");
        }
        for text in ["90:00:01", "-90.1", "--5:00:00", "1:+2:3", "1:2:1e1", "99999:0:0"] {
            assert!(matches!(parse_declination(text), Err(DelayModelError::Parse { .. })), "{text}");
        }
        for text in ["", "1", "1 2 3", "ha 1", "azel 0 91", "moon"] {
            assert!(text.parse::<Source>().is_err(), "{text}");
        }
        assert!(Source::RaDec { ra_rad: 0.0, dec_rad: 2.0 }.check().is_err());
        assert!(Source::HourAngle { hour_angle_rad: f64::NAN, dec_rad: 0.0 }.check().is_err());
    }
}
