//! What a file says before its visibilities: the array, the phase centre, the axes.

use fringes_delay_model::{AntennaArray, Geometry, Itrf, Source};
use fringes_types::{Dimension, Frequencies, Inputs, TypesError};
use sofars::consts::{DAYSEC, DJM0, TTMTAI};

use super::checks::{check_finite, check_text};
use crate::IoError;

/// Rotation of the Earth in degrees a day of UT1: 360 times sidereal days in a day.
pub(in crate::write) const DEGREES_PER_DAY: f64 = 360.985_647_366_29;

/// Most characters of an antenna's name.
const LONGEST_ANTENNA_NAME: usize = 8;

/// An antenna of a file of visibilities.
#[derive(Debug, Clone, PartialEq)]
pub struct VisibilityAntenna {
    /// Name: 1 to 8 printable ASCII characters.
    pub name: String,
    /// Geocentric position (ITRF) in metres.
    pub position_m: [f64; 3],
}

/// What a UVFITS or UVH5 file says before its data.
#[derive(Debug, Clone, PartialEq)]
pub struct VisibilityHeader {
    /// Antennas and polarisations.
    pub inputs: Inputs,
    /// Number of channels.
    pub channels: usize,
    /// Channel frequencies.
    pub frequencies: Frequencies,
    /// The antennas, one each of `inputs.antennas()`; numbered from 1 in the file.
    pub antennas: Vec<VisibilityAntenna>,
    /// Geocentric position (ITRF) of the array in metres, from which antenna positions count in the file.
    pub array_position_m: [f64; 3],
    /// Name of the telescope.
    pub telescope: String,
    /// Name of the source at the phase centre.
    pub source: String,
    /// Right ascension of the phase centre (ICRS, J2000) in radians.
    pub phase_centre_ra_rad: f64,
    /// Declination of the phase centre (ICRS, J2000) in radians.
    pub phase_centre_dec_rad: f64,
    /// Modified Julian day (UTC) of the observation's start; times in the file count from its midnight.
    pub reference_mjd_day: i64,
    /// UT1 - UTC in seconds, 0 if it is not known: the error is then at most 0.9 s, 13.5 arc seconds of Earth
    /// rotation.
    pub ut1_minus_utc_s: f64,
}

impl VisibilityHeader {
    /// The header of an array that follows a place on the sky, with telescope and source named `unknown` and UT1 - UTC
    /// 0.
    ///
    /// Antennas are named as in the array, by their first 8 characters; where these are not all different, `ant1`,
    /// `ant2`, ... The reference day is that of the geometry's epoch.
    ///
    /// # Errors
    /// [`IoError::MovingPhaseCentre`] for a geometry whose source is given by hour angle or azimuth: see
    /// [`Geometry::on_the_sky`]. [`IoError::Delay`] for an array whose place on the Earth is not known.
    pub fn new(
        array: &AntennaArray,
        geometry: &Geometry,
        inputs: Inputs,
        channels: usize,
        frequencies: Frequencies,
    ) -> Result<Self, IoError> {
        let Source::RaDec { ra_rad, dec_rad } = geometry.pointing().source() else {
            let source_text = format!("{:?}", geometry.pointing().source());
            return Err(IoError::MovingPhaseCentre { source_text });
        };
        let metres = |position: Itrf| [position.x_m, position.y_m, position.z_m];
        let short: Vec<String> =
            array.names().iter().map(|name| name.chars().take(LONGEST_ANTENNA_NAME).collect()).collect();
        let distinct = short.iter().collect::<std::collections::HashSet<_>>().len() == short.len();
        let name = |(index, name): (usize, String)| if distinct { name } else { format!("ant{}", index + 1) };
        let names = short.into_iter().enumerate().map(name);
        let antennas = names.zip(array.itrf()?).map(|(name, at)| VisibilityAntenna { name, position_m: metres(at) });
        Ok(Self {
            inputs,
            channels,
            frequencies,
            antennas: antennas.collect(),
            array_position_m: metres(array.require_site()?.itrf()?),
            telescope: "unknown".into(),
            source: "unknown".into(),
            phase_centre_ra_rad: ra_rad,
            phase_centre_dec_rad: dec_rad,
            reference_mjd_day: geometry.pointing().epoch().mjd_day,
            ut1_minus_utc_s: 0.0,
        })
    }

    /// Checks what all formats need.
    pub(in crate::write) fn check(&self) -> Result<(), IoError> {
        let (expected, actual) = (self.inputs.antennas(), self.antennas.len());
        if expected != actual {
            let array = "antenna table";
            return Err(TypesError::Dimension { array, dimension: Dimension::Antenna, expected, actual }.into());
        }
        if self.channels == 0 {
            return Err(TypesError::Empty { array: "file of visibilities", dimension: Dimension::Channel }.into());
        }
        if self.frequencies.step_hz == 0.0 {
            return Err(TypesError::NotPositive { quantity: "channel width in Hz", actual: 0.0 }.into());
        }
        for (antenna, VisibilityAntenna { name, position_m }) in self.antennas.iter().enumerate() {
            check_text("antenna name", name, LONGEST_ANTENNA_NAME)?;
            if name.trim().is_empty() {
                let (field, limit) = ("antenna name", LONGEST_ANTENNA_NAME);
                return Err(IoError::FitsText { field, limit, actual: name.clone() });
            }
            for (axis, &metres) in position_m.iter().enumerate() {
                check_finite("antenna position in metres", metres, &[antenna, axis])?;
            }
        }
        for (axis, &metres) in self.array_position_m.iter().enumerate() {
            check_finite("array position in metres", metres, &[axis])?;
        }
        Ok(())
    }

    /// Julian date of the reference day's midnight, exact.
    pub(in crate::write) fn reference_julian_date(&self) -> f64 {
        DJM0 + self.reference_mjd_day as f64
    }

    /// The reference day as year, month and day. UTC began in 1960, and dates in FITS have years of four digits.
    pub(in crate::write) fn reference_date(&self) -> Result<(i32, i32, i32), IoError> {
        let calendar = sofars::cal::jd2cal(DJM0, self.reference_mjd_day as f64);
        match calendar {
            Ok((year @ 1960..=9999, month, day, _)) => Ok((year, month, day)),
            _ => Err(IoError::FitsDate { mjd_day: self.reference_mjd_day }),
        }
    }

    /// TAI - UTC on the reference day, in seconds.
    pub(in crate::write) fn tai_minus_utc_s(&self) -> Result<f64, IoError> {
        let (year, month, day) = self.reference_date()?;
        sofars::ts::dat(year, month, day, 0.0).map_err(|_| IoError::FitsDate { mjd_day: self.reference_mjd_day })
    }

    /// Apparent sidereal time at Greenwich at the reference day's midnight, in degrees.
    pub(in crate::write) fn sidereal_degrees(&self) -> Result<f64, IoError> {
        let midnight = self.reference_julian_date();
        let (ut1, tt) = (self.ut1_minus_utc_s / DAYSEC, (self.tai_minus_utc_s()? + TTMTAI) / DAYSEC);
        Ok(sofars::erst::gst06a(midnight, ut1, midnight, tt).to_degrees())
    }

    /// `Ok` if visibilities with these axes belong into the file.
    pub(in crate::write) fn check_axes(&self, inputs: Inputs, frequencies: Frequencies) -> Result<(), IoError> {
        let differs = |quantity, expected: String, actual: String| IoError::Axis { quantity, expected, actual };
        if inputs != self.inputs {
            return Err(differs("inputs", format!("{:?}", self.inputs), format!("{inputs:?}")));
        }
        if frequencies != self.frequencies {
            return Err(differs("frequencies", format!("{:?}", self.frequencies), format!("{frequencies:?}")));
        }
        Ok(())
    }
}
