//! What a UVFITS file says before its data: the array, the phase centre, the axes.

use fitsio_pure::groups::{GroupParam, groups_header};
use fringes_delay_model::{AntennaArray, Geometry, Itrf, Source};
use fringes_types::{Dimension, Frequencies, Inputs, TypesError};
use sofars::consts::DJM0;

use super::cards::{Cards, check_finite, check_text};
use super::groups::GroupLayout;
use crate::IoError;

/// Most characters of an antenna's name.
const LONGEST_ANTENNA_NAME: usize = 8;

/// An antenna of the antenna table.
#[derive(Debug, Clone, PartialEq)]
pub struct UvfitsAntenna {
    /// Name: 1 to 8 printable ASCII characters.
    pub name: String,
    /// Geocentric position (ITRF) in metres.
    pub position_m: [f64; 3],
}

/// What a UVFITS file says before its data.
#[derive(Debug, Clone, PartialEq)]
pub struct UvfitsHeader {
    /// Antennas and polarisations.
    pub inputs: Inputs,
    /// Number of channels.
    pub channels: usize,
    /// Channel frequencies.
    pub frequencies: Frequencies,
    /// The antennas, one each of `inputs.antennas()`; numbered from 1 in the file.
    pub antennas: Vec<UvfitsAntenna>,
    /// Geocentric position (ITRF) of the array in metres, from which the antenna table counts.
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

impl UvfitsHeader {
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
        let antennas = names.zip(array.itrf()?).map(|(name, at)| UvfitsAntenna { name, position_m: metres(at) });
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

    /// Checks everything, and lays out the groups.
    pub(super) fn check(&self) -> Result<GroupLayout, IoError> {
        let (expected, actual) = (self.inputs.antennas(), self.antennas.len());
        if expected != actual {
            let array = "antenna table";
            return Err(TypesError::Dimension { array, dimension: Dimension::Antenna, expected, actual }.into());
        }
        if self.channels == 0 {
            return Err(TypesError::Empty { array: "UVFITS file", dimension: Dimension::Channel }.into());
        }
        if self.frequencies.step_hz == 0.0 {
            return Err(TypesError::NotPositive { quantity: "channel width in Hz", actual: 0.0 }.into());
        }
        for (antenna, UvfitsAntenna { name, position_m }) in self.antennas.iter().enumerate() {
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
        GroupLayout::new(self.inputs, self.channels)
    }

    /// Julian date of the reference day's midnight, exact.
    pub(super) fn reference_julian_date(&self) -> f64 {
        DJM0 + self.reference_mjd_day as f64
    }

    /// The reference day as year, month and day. UTC began in 1960, and dates in FITS have years of four digits.
    pub(super) fn reference_date(&self) -> Result<(i32, i32, i32), IoError> {
        let calendar = sofars::cal::jd2cal(DJM0, self.reference_mjd_day as f64);
        match calendar {
            Ok((year @ 1960..=9999, month, day, _)) => Ok((year, month, day)),
            _ => Err(IoError::FitsDate { mjd_day: self.reference_mjd_day }),
        }
    }

    /// The primary header for a number of groups.
    pub(super) fn cards(&self, layout: &GroupLayout, groups: u64) -> Result<Cards, IoError> {
        let groups = usize::try_from(groups).unwrap_or(usize::MAX);
        // Of the two parts of the date, the first carries the reference day.
        let mut date_zero = Some(self.reference_julian_date());
        let params: Vec<GroupParam> = layout
            .parameters()
            .map(|name| {
                let zero = if name == "DATE" { date_zero.take() } else { None };
                GroupParam::new(name).with_scale(1.0).with_zero(zero.unwrap_or(0.0))
            })
            .collect();
        let axes = [3, layout.products(), self.channels, 1, 1];
        let mut cards = Cards(groups_header(-32, &axes, &params, groups)?);
        for (axis, name, value, step) in [
            (2, "COMPLEX", 1.0, 1.0),
            (3, "STOKES", -5.0, -1.0),
            (4, "FREQ", self.frequencies.first_hz, self.frequencies.step_hz),
            (5, "RA", self.phase_centre_ra_rad.to_degrees(), 1.0),
            (6, "DEC", self.phase_centre_dec_rad.to_degrees(), 1.0),
        ] {
            cards.text(&format!("CTYPE{axis}"), "axis name", name)?;
            cards.number(&format!("CRVAL{axis}"), axis_quantity(axis), value)?;
            cards.number(&format!("CRPIX{axis}"), axis_quantity(axis), 1.0)?;
            cards.number(&format!("CDELT{axis}"), axis_quantity(axis), step)?;
            cards.number(&format!("CROTA{axis}"), axis_quantity(axis), 0.0)?;
        }
        let (year, month, day) = self.reference_date()?;
        cards.text("OBJECT", "source name", &self.source)?;
        cards.text("TELESCOP", "telescope name", &self.telescope)?;
        cards.text("INSTRUME", "telescope name", &self.telescope)?;
        cards.text("DATE-OBS", "date", &format!("{year:04}-{month:02}-{day:02}"))?;
        cards.text("BUNIT", "unit", "UNCALIB")?;
        cards.number("BSCALE", "scale", 1.0)?;
        cards.number("BZERO", "zero", 0.0)?;
        cards.number("EPOCH", "epoch", 2000.0)?;
        // In lower case, as pyuvdata 3.2 writes it and alone understands it.
        cards.text("RADESYS", "frame", "icrs")?;
        cards.text("ORIGIN", "origin", concat!("Fringes ", env!("CARGO_PKG_VERSION")))?;
        Ok(cards)
    }
}

/// What the value of an axis is, for errors.
fn axis_quantity(axis: i32) -> &'static str {
    match axis {
        4 => "channel frequency in Hz",
        5 => "right ascension of the phase centre",
        6 => "declination of the phase centre",
        _ => "axis value",
    }
}
