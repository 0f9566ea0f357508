//! Positions of antennas, geocentric and local, on the WGS84 ellipsoid.
//!
//! | type | axes | origin |
//! |---|---|---|
//! | [`Itrf`] | x to longitude 0, y to longitude 90 degrees east, z to the north pole | centre of the Earth |
//! | [`Enu`] | east, north, up (the ellipsoid's normal) | a [`Site`] |
//!
//! Lengths are metres. ITRF and WGS84 coordinates agree to centimetres and are taken as the same.

use sofars::coords::{gc2gd, gd2gc};

use crate::DelayModelError;
use crate::error::check_finite;

/// SOFA's number of the WGS84 ellipsoid.
const WGS84: i32 = 1;

/// The farthest from the centre of the Earth that an antenna may be, in metres (ten Earth radii).
const FARTHEST_M: f64 = 6.4e7;

/// Geocentric position in metres (also called ECEF).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Itrf {
    /// Towards longitude 0 on the equator.
    pub x_m: f64,
    /// Towards longitude 90 degrees east on the equator.
    pub y_m: f64,
    /// Towards the north pole.
    pub z_m: f64,
}

/// Position relative to a [`Site`] in metres.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Enu {
    /// To the east.
    pub east_m: f64,
    /// To the north.
    pub north_m: f64,
    /// Up, along the ellipsoid's normal.
    pub up_m: f64,
}

/// A reference point on the Earth: geodetic latitude, longitude and height on WGS84.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Site {
    /// Geodetic latitude in radians, positive to the north.
    pub latitude_rad: f64,
    /// Longitude in radians, positive to the east.
    pub longitude_rad: f64,
    /// Height over the ellipsoid in metres.
    pub height_m: f64,
}

impl Itrf {
    pub(crate) fn vector(self) -> [f64; 3] {
        [self.x_m, self.y_m, self.z_m]
    }

    pub(crate) fn check(self, index: usize) -> Result<(), DelayModelError> {
        self.vector().into_iter().try_for_each(|value| check_finite("ITRF position in metres", value, index))
    }
}

impl Enu {
    pub(crate) fn vector(self) -> [f64; 3] {
        [self.east_m, self.north_m, self.up_m]
    }

    pub(crate) fn check(self, index: usize) -> Result<(), DelayModelError> {
        self.vector().into_iter().try_for_each(|value| check_finite("ENU position in metres", value, index))
    }
}

impl Site {
    /// A site from degrees and metres.
    ///
    /// # Errors
    /// As [`Site::check`].
    pub fn from_degrees(latitude_deg: f64, longitude_deg: f64, height_m: f64) -> Result<Self, DelayModelError> {
        let site =
            Self { latitude_rad: latitude_deg.to_radians(), longitude_rad: longitude_deg.to_radians(), height_m };
        site.check()?;
        Ok(site)
    }

    /// The site at a geocentric position.
    ///
    /// # Precision
    /// Going back with [`Site::itrf`] gives the position to 1e-8 m on and near the ground.
    ///
    /// # Errors
    /// [`DelayModelError::NotFinite`]; [`DelayModelError::OutOfRange`] for a position less than 1 km from the centre of
    /// the Earth, where latitude and height have no meaning, or further than ten Earth radii.
    pub fn from_itrf(position: Itrf) -> Result<Self, DelayModelError> {
        position.check(0)?;
        let distance = dot(position.vector(), position.vector()).sqrt();
        let out_of_range = || DelayModelError::OutOfRange {
            quantity: "distance from the centre of the Earth in metres",
            expected: "1e3 to 6.4e7",
            actual: distance,
        };
        if !(1e3..=FARTHEST_M).contains(&distance) {
            return Err(out_of_range());
        }
        let (longitude_rad, latitude_rad, height_m) = gc2gd(WGS84, position.vector()).map_err(|_| out_of_range())?;
        Ok(Self { latitude_rad, longitude_rad, height_m })
    }

    /// Checks that the latitude is within 90 degrees, the longitude within 360 degrees and the height between the
    /// centre of the Earth and ten Earth radii.
    ///
    /// # Errors
    /// [`DelayModelError::OutOfRange`], also for values that are not finite.
    pub fn check(&self) -> Result<(), DelayModelError> {
        // A quarter and a whole turn, with room for the rounding of degrees to radians.
        let quarter = std::f64::consts::FRAC_PI_2 * (1.0 + 1e-15);
        for (quantity, expected, actual, limit) in [
            ("latitude in radians", "-pi/2 to pi/2", self.latitude_rad, quarter),
            ("longitude in radians", "-2 pi to 2 pi", self.longitude_rad, 4.0 * quarter),
            ("height in metres", "-6e6 to 5e7", self.height_m, if self.height_m < 0.0 { 6e6 } else { 5e7 }),
        ] {
            if !actual.is_finite() || actual.abs() > limit {
                return Err(DelayModelError::OutOfRange { quantity, expected, actual });
            }
        }
        Ok(())
    }

    /// Geocentric position of the site.
    ///
    /// # Errors
    /// As [`Site::check`].
    pub fn itrf(&self) -> Result<Itrf, DelayModelError> {
        self.check()?;
        let [x_m, y_m, z_m] = gd2gc(WGS84, self.longitude_rad, self.latitude_rad, self.height_m).map_err(|_| {
            DelayModelError::OutOfRange {
                quantity: "latitude in radians",
                expected: "-pi/2 to pi/2",
                actual: self.latitude_rad,
            }
        })?;
        Ok(Itrf { x_m, y_m, z_m })
    }

    /// Geocentric position of a local one.
    ///
    /// # Errors
    /// As [`Site::check`].
    pub fn enu_to_itrf(&self, position: Enu) -> Result<Itrf, DelayModelError> {
        let origin = self.itrf()?;
        let [x, y, z] = self.local_to_earth(position.vector());
        Ok(Itrf { x_m: origin.x_m + x, y_m: origin.y_m + y, z_m: origin.z_m + z })
    }

    /// Local position of a geocentric one.
    ///
    /// # Errors
    /// As [`Site::check`].
    pub fn itrf_to_enu(&self, position: Itrf) -> Result<Enu, DelayModelError> {
        let offset = self.offset(position)?;
        let [east_m, north_m, up_m] = self.earth_to_local(offset);
        Ok(Enu { east_m, north_m, up_m })
    }

    /// A position minus the site's, in ITRF axes.
    pub(crate) fn offset(&self, position: Itrf) -> Result<[f64; 3], DelayModelError> {
        let origin = self.itrf()?;
        Ok([position.x_m - origin.x_m, position.y_m - origin.y_m, position.z_m - origin.z_m])
    }

    /// Unit vectors east, north and up in ITRF axes.
    fn axes(&self) -> [[f64; 3]; 3] {
        let (sin_lat, cos_lat) = self.latitude_rad.sin_cos();
        let (sin_lon, cos_lon) = self.longitude_rad.sin_cos();
        [
            [-sin_lon, cos_lon, 0.0],
            [-sin_lat * cos_lon, -sin_lat * sin_lon, cos_lat],
            [cos_lat * cos_lon, cos_lat * sin_lon, sin_lat],
        ]
    }

    /// Rotates a vector from east, north, up to ITRF axes.
    pub(crate) fn local_to_earth(&self, local: [f64; 3]) -> [f64; 3] {
        let [east, north, up] = self.axes();
        std::array::from_fn(|i| local[0] * east[i] + local[1] * north[i] + local[2] * up[i])
    }

    /// Rotates a vector from ITRF axes to east, north, up.
    pub(crate) fn earth_to_local(&self, earth: [f64; 3]) -> [f64; 3] {
        self.axes().map(|axis| dot(axis, earth))
    }
}

pub(crate) fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub(crate) fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}
