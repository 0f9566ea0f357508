//! From a source and an instant to a direction fixed to the Earth.
//!
//! ```text
//! ICRS --- light deflection by the Sun, annual and diurnal aberration ---> apparent direction (GCRS axes)
//!      --- bias, precession, nutation (IAU 2006/2000A) ---> CIRS --- Earth rotation angle(UT1) ---> TIRS
//!      --- polar motion ---> ITRF --- site ---> hour angle and declination, azimuth and elevation
//! ```

use std::f64::consts::TAU;

use sofars::astro::{IauAstrom, ab, apco, ldsun};
use sofars::erst::{era00, gst06a};
use sofars::pnp::{bpn2xy, c2tcio, pnm06a, pom00, s06, sp00};

use super::epoch::MJD_ZERO;
use super::position::{cross, dot};
use crate::error::check_finite;
use crate::{DelayModelError, Epoch, Site, Source, turns};

/// Rotation rate of the Earth in radians per UT1 second (IAU 2000), which is that of an SI second to 1e-7.
pub const EARTH_ROTATION_RAD_PER_S: f64 = 1.002_737_811_911_354_6 * TAU / 86_400.0;

/// TT - TAI in seconds.
const TT_MINUS_TAI: f64 = 32.184;

/// Step of the numerical derivative that carries the direction of north along, in radians.
const NORTH_STEP_RAD: f64 = 1e-5;

/// What astronomy cannot predict about the Earth's rotation; published by the IERS.
///
/// Left at zero, directions are off by up to 13.5 arcseconds (UT1 - UTC stays below 0.9 s) along the Earth's rotation
/// and 0.6 arcseconds by polar motion.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EarthOrientation {
    /// UT1 - UTC in seconds.
    pub dut1_seconds: f64,
    /// Polar motion x in radians.
    pub polar_x_rad: f64,
    /// Polar motion y in radians.
    pub polar_y_rad: f64,
}

impl EarthOrientation {
    fn check(&self) -> Result<(), DelayModelError> {
        check_finite("UT1 - UTC in seconds", self.dut1_seconds, 0)?;
        check_finite("polar motion x in radians", self.polar_x_rad, 0)?;
        check_finite("polar motion y in radians", self.polar_y_rad, 0)
    }
}

/// A source seen from a site, as a function of the SI seconds since an epoch.
///
/// # Precision
/// With the published [`EarthOrientation`], directions are good to about 1 milliarcsecond (5e-9 rad): the IERS's
/// celestial pole offsets (0.3 mas) and deflection by planets are left out, as are refraction, proper motion and
/// parallax. Against an independent program with the same models the directions agree to 1e-10 rad.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pointing {
    site: Site,
    source: Source,
    epoch: Epoch,
    orientation: EarthOrientation,
    tai_minus_utc: f64,
}

impl Pointing {
    /// A source seen from a site, with times counted from `epoch`.
    ///
    /// # Errors
    /// As [`Site::check`], [`Source::check`] and [`Epoch::check`].
    pub fn new(site: Site, source: Source, epoch: Epoch) -> Result<Self, DelayModelError> {
        site.check()?;
        source.check()?;
        let tai_minus_utc = epoch.tai_minus_utc()?;
        Ok(Self { site, source, epoch, orientation: EarthOrientation::default(), tai_minus_utc })
    }

    /// Sets UT1 - UTC (as it holds at the epoch) and polar motion.
    ///
    /// # Errors
    /// [`DelayModelError::NotFinite`].
    pub fn with_orientation(mut self, orientation: EarthOrientation) -> Result<Self, DelayModelError> {
        orientation.check()?;
        self.orientation = orientation;
        Ok(self)
    }

    /// The site.
    pub fn site(&self) -> Site {
        self.site
    }

    /// The source.
    pub fn source(&self) -> Source {
        self.source
    }

    /// The epoch that times are counted from.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Right ascension and declination (ICRS) in radians of the place on the sky that is seen `seconds` after the
    /// epoch: the source itself if it is one of the sky, else the star that stands there then. The right ascension is
    /// in `[0, 2 pi)`.
    ///
    /// # Precision
    /// The star is seen within 1e-14 rad of the source, unless that is within an arc second of a celestial pole.
    ///
    /// # Errors
    /// As [`Pointing::direction`].
    pub fn icrs(&self, seconds: f64) -> Result<[f64; 2], DelayModelError> {
        if let Source::RaDec { ra_rad, dec_rad } = self.source {
            return Ok([ra_rad.rem_euclid(TAU), dec_rad]);
        }
        let wanted = self.direction(seconds)?;
        let mut sky = [self.local_sidereal_time_rad(seconds)? - wanted.hour_angle_rad(), wanted.declination_rad()];
        // Precession, nutation and aberration move a star by a third of a degree, and neighbours alike: each round
        // takes back what is missing and leaves about a thousandth of it.
        for _ in 0..8 {
            let star = Source::RaDec { ra_rad: sky[0], dec_rad: sky[1] };
            let seen = Self { source: star, ..*self }.direction(seconds)?;
            let [east, north, _] = seen.uvw_axes();
            let missing: [f64; 3] = std::array::from_fn(|axis| wanted.itrf()[axis] - seen.itrf()[axis]);
            let along = |axis: [f64; 3]| axis.iter().zip(missing).map(|(a, b)| a * b).sum::<f64>();
            sky = [sky[0] + along(east) / sky[1].cos().max(1e-6), sky[1] + along(north)];
        }
        Ok([sky[0].rem_euclid(TAU), sky[1]])
    }

    /// The same site, epoch and orientation, for another source.
    ///
    /// # Errors
    /// As [`Source::check`].
    pub fn with_source(mut self, source: Source) -> Result<Self, DelayModelError> {
        source.check()?;
        self.source = source;
        Ok(self)
    }

    /// How fast the source moves west in ITRF axes, radians per second (0 for one that stands still).
    pub(crate) fn rotation_rate(&self) -> f64 {
        if matches!(self.source, Source::AzEl { .. }) { 0.0 } else { EARTH_ROTATION_RAD_PER_S }
    }

    /// Two-part Julian dates of TT and UT1, `seconds` SI seconds after the epoch. Leap seconds do not disturb them,
    /// because they are counted from the epoch. The seconds stay in a part of their own.
    fn dates(&self, seconds: f64) -> ([f64; 2], [f64; 2]) {
        let day = MJD_ZERO + self.epoch.mjd_day as f64;
        let since_midnight = self.epoch.seconds + seconds;
        let tt = (since_midnight + self.tai_minus_utc + TT_MINUS_TAI) / 86_400.0;
        let ut1 = (since_midnight + self.orientation.dut1_seconds) / 86_400.0;
        ([day, tt], [day, ut1])
    }

    /// Local apparent sidereal time at the site in radians, in `[0, 2 pi)`, `seconds` SI seconds after the epoch.
    ///
    /// # Errors
    /// [`DelayModelError::NotFinite`] for the seconds.
    pub fn local_sidereal_time_rad(&self, seconds: f64) -> Result<f64, DelayModelError> {
        check_finite("seconds since the epoch", seconds, 0)?;
        let (tt, ut1) = self.dates(seconds);
        Ok((gst06a(ut1[0], ut1[1], tt[0], tt[1]) + self.site.longitude_rad).rem_euclid(TAU))
    }

    /// The direction of the source, `seconds` SI seconds after the epoch.
    ///
    /// # Errors
    /// [`DelayModelError::NotFinite`] for the seconds; [`DelayModelError::OutOfRange`] if they lead out of the years
    /// 1900 to 2100.
    pub fn direction(&self, seconds: f64) -> Result<Direction, DelayModelError> {
        check_finite("seconds since the epoch", seconds, 0)?;
        let (toward, north) = match self.source {
            Source::RaDec { ra_rad, dec_rad } => {
                let frame = self.sky_frame(seconds)?;
                let (position, north) = sphere(ra_rad, dec_rad);
                let nearby = std::array::from_fn(|i| position[i] + NORTH_STEP_RAD * north[i]);
                let toward = frame.apparent(position);
                let beside = frame.apparent(normalise(nearby));
                let along = dot(toward, beside);
                (toward, normalise(std::array::from_fn(|i| beside[i] - along * toward[i])))
            }
            Source::HourAngle { hour_angle_rad, dec_rad } => {
                let turned = turns::reduce(seconds / (TAU / EARTH_ROTATION_RAD_PER_S)) * TAU;
                sphere(self.site.longitude_rad - hour_angle_rad - turned, dec_rad)
            }
            Source::AzEl { azimuth_rad, elevation_rad } => {
                let (sin_el, cos_el) = elevation_rad.sin_cos();
                let (sin_az, cos_az) = azimuth_rad.sin_cos();
                let [x, y, z] = self.site.local_to_earth([cos_el * sin_az, cos_el * cos_az, sin_el]);
                let (_, north) = sphere(y.atan2(x), z.atan2(x.hypot(y)));
                ([x, y, z], north)
            }
        };
        Ok(Direction { toward, north, site: self.site })
    }

    fn sky_frame(&self, seconds: f64) -> Result<SkyFrame, DelayModelError> {
        let ([tt1, tt2], [ut11, ut12]) = self.dates(seconds);
        let year = 2000.0 + ((tt1 - 2_451_545.0) + tt2) / 365.25;
        let out_of_range = DelayModelError::OutOfRange { quantity: "year", expected: "1900 to 2100", actual: year };
        if !(1900.0..2100.0).contains(&year) {
            return Err(out_of_range);
        }
        let (heliocentric, barycentric) = sofars::eph::epv00(tt1, tt2).ok_or(out_of_range)?;
        let (x, y) = bpn2xy(&pnm06a(tt1, tt2));
        let locator = s06(tt1, tt2, x, y);
        let rotation = era00(ut11, ut12);
        let tio = sp00(tt1, tt2);
        let EarthOrientation { polar_x_rad, polar_y_rad, .. } = self.orientation;
        let Site { longitude_rad, latitude_rad, height_m } = self.site;
        let mut observer = IauAstrom::default();
        apco(
            tt1,
            tt2,
            &barycentric,
            &heliocentric[0],
            x,
            y,
            locator,
            rotation,
            longitude_rad,
            latitude_rad,
            height_m,
            polar_x_rad,
            polar_y_rad,
            tio,
            0.0, // no refraction
            0.0,
            &mut observer,
        );
        let to_earth = c2tcio(&observer.bpn, rotation, &pom00(polar_x_rad, polar_y_rad, tio));
        Ok(SkyFrame { observer, to_earth })
    }
}

/// What all stars share at one instant and site.
struct SkyFrame {
    observer: IauAstrom,
    /// Rotation from GCRS to ITRF axes.
    to_earth: [[f64; 3]; 3],
}

impl SkyFrame {
    /// The apparent direction in ITRF axes of an ICRS direction.
    fn apparent(&self, icrs: [f64; 3]) -> [f64; 3] {
        let deflected = ldsun(icrs, self.observer.eh, self.observer.em);
        let seen = ab(&deflected, &self.observer.v, self.observer.em, self.observer.bm1);
        normalise(self.to_earth.map(|row| dot(row, seen)))
    }
}

/// A direction fixed to the Earth at one instant, with the direction of north on the sky.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Direction {
    toward: [f64; 3],
    north: [f64; 3],
    site: Site,
}

impl Direction {
    /// Unit vector toward the source in ITRF axes.
    pub fn itrf(&self) -> [f64; 3] {
        self.toward
    }

    /// Unit vector toward the source in the site's axes east, north, up.
    pub fn enu(&self) -> [f64; 3] {
        self.site.earth_to_local(self.toward)
    }

    /// Unit vectors `u` (east on the sky), `v` (north on the sky) and `w` (toward the source) in ITRF axes.
    ///
    /// North is the pole of the source's own coordinates: the ICRS pole for right ascension and declination, else the
    /// Earth's. At a pole itself it is the direction in which the declination formulas end there.
    pub fn uvw_axes(&self) -> [[f64; 3]; 3] {
        [cross(self.north, self.toward), self.north, self.toward]
    }

    /// Azimuth in radians from north over east, in `[0, 2 pi)`.
    pub fn azimuth_rad(&self) -> f64 {
        let [east, north, _] = self.enu();
        east.atan2(north).rem_euclid(TAU)
    }

    /// Elevation in radians, without refraction.
    pub fn elevation_rad(&self) -> f64 {
        let [east, north, up] = self.enu();
        up.atan2(east.hypot(north))
    }

    /// Hour angle at the site in radians, in `[-pi, pi)`, positive to the west.
    pub fn hour_angle_rad(&self) -> f64 {
        TAU * turns::reduce((self.site.longitude_rad - self.toward[1].atan2(self.toward[0])) / TAU)
    }

    /// Declination with respect to the Earth's pole in radians.
    pub fn declination_rad(&self) -> f64 {
        self.toward[2].atan2(self.toward[0].hypot(self.toward[1]))
    }
}

/// The unit vector at longitude and latitude of a sphere, and the unit vector of north there.
fn sphere(longitude: f64, latitude: f64) -> ([f64; 3], [f64; 3]) {
    let (sin_lon, cos_lon) = longitude.sin_cos();
    let (sin_lat, cos_lat) = latitude.sin_cos();
    ([cos_lat * cos_lon, cos_lat * sin_lon, sin_lat], [-sin_lat * cos_lon, -sin_lat * sin_lon, cos_lat])
}

fn normalise(vector: [f64; 3]) -> [f64; 3] {
    let length = dot(vector, vector).sqrt();
    vector.map(|component| component / length)
}
