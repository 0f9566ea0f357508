//! Where the phase centre is seen at an instant.

use fringes_delay_model::{EarthOrientation, Epoch, Itrf, Pointing, Site, Source};

use crate::IoError;
use crate::write::VisibilityHeader;

/// The phase centre's place among the coordinates of date, in radians.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sky {
    /// Local apparent sidereal time.
    pub(super) sidereal_rad: f64,
    /// Right ascension as seen from the array: sidereal time less hour angle.
    pub(super) ra_rad: f64,
    /// Declination as seen from the array.
    pub(super) dec_rad: f64,
    /// Direction of the catalogue's north at the phase centre, from the north of date to the east.
    pub(super) position_angle_rad: f64,
}

impl Sky {
    /// What is seen `seconds` after the pointing's epoch.
    pub(super) fn of(pointing: &Pointing, seconds: f64) -> Result<Self, IoError> {
        let direction = pointing.direction(seconds)?;
        let sidereal_rad = pointing.local_sidereal_time_rad(seconds)?;
        let [x, y, z] = direction.itrf();
        let [_, [north_x, north_y, north_z], _] = direction.uvw_axes();
        // East and north of date, both times the cosine of the declination.
        let east_along = -y * north_x + x * north_y;
        let north_along = -z * (x * north_x + y * north_y) + (x * x + y * y) * north_z;
        Ok(Self {
            sidereal_rad,
            ra_rad: (sidereal_rad - direction.hour_angle_rad()).rem_euclid(std::f64::consts::TAU),
            dec_rad: direction.declination_rad(),
            position_angle_rad: east_along.atan2(north_along),
        })
    }
}

/// The header's phase centre seen from the array, counted from the reference day's midnight.
pub(super) fn pointing(header: &VisibilityHeader) -> Result<Pointing, IoError> {
    let [x_m, y_m, z_m] = header.array_position_m;
    let source = Source::RaDec { ra_rad: header.phase_centre_ra_rad, dec_rad: header.phase_centre_dec_rad };
    let midnight = Epoch { mjd_day: header.reference_mjd_day, seconds: 0.0 };
    let pointing = Pointing::new(Site::from_itrf(Itrf { x_m, y_m, z_m })?, source, midnight)?;
    Ok(pointing.with_orientation(EarthOrientation { dut1_seconds: header.ut1_minus_utc_s, ..Default::default() })?)
}

/// `Ok` if a geometry's phase centre is the header's.
pub(super) fn check_phase_centre(header: &VisibilityHeader, pointing: &Pointing) -> Result<(), IoError> {
    let expected = Source::RaDec { ra_rad: header.phase_centre_ra_rad, dec_rad: header.phase_centre_dec_rad };
    let actual = pointing.source();
    if actual == expected {
        return Ok(());
    }
    let (expected, actual) = (format!("{expected:?}"), format!("{actual:?}"));
    Err(IoError::Axis { quantity: "phase centre", expected, actual })
}
