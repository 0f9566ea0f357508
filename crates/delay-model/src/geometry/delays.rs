//! Delays, fringe phases and uvw of an array that looks at a source.
//!
//! With `r_a` the position of antenna `a` relative to the site and `s` the unit vector toward the source, the wave
//! reaches the antenna `tau_a = r_a . s / c` before it reaches the site: `x_a(t) = e(t + tau_a(t))`.

use super::position::dot;
use super::sky::Direction;
use crate::error::check_finite;
use crate::{AntennaArray, DelayModelError, EarthOrientation, Epoch, Pointing, Source, turns};

/// Speed of light in vacuum in metres per second.
pub const SPEED_OF_LIGHT_M_PER_S: f64 = 299_792_458.0;

/// An array, a source and an epoch: everything that delays depend on. Times are SI seconds since the epoch.
///
/// # Precision
/// The model is a plane wave over a rigid, rotating array: each antenna is delayed by `r . s / c` with `s` the apparent
/// direction of [`Pointing`]. Left out are refraction and path delays of the atmosphere, the distance of near sources,
/// tides, axis offsets, and relativistic terms of about `1e-8` of the delay.
#[derive(Debug, Clone, PartialEq)]
pub struct Geometry {
    /// Antenna positions minus the site's in metres, ITRF axes.
    positions: Vec<[f64; 3]>,
    pointing: Pointing,
    offset_seconds: f64,
}

/// Delays that align a source, one an antenna.
#[derive(Debug, Clone, PartialEq)]
pub struct GeometricDelays {
    /// `r_a . s / c + offset_seconds`, never negative, by antenna.
    pub seconds: Vec<f64>,
    /// What was added to every antenna's delay: the light time from the site to the farthest antenna. It does not
    /// change with time or direction, and cancels in every product of two antennas.
    pub offset_seconds: f64,
}

/// Phase that stops the fringe of one antenna at one sky frequency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FringeStopping {
    /// `-f d` turns, reduced to `[-0.5, 0.5)`.
    pub phase_turns: f64,
    /// Its rate of change, `-f dd/dt`, in turns per second.
    pub phase_rate_hz: f64,
}

impl Geometry {
    /// The geometry of an array for a source. A [`Source::HourAngle`] has its hour angle at `epoch`.
    ///
    /// # Errors
    /// [`DelayModelError::NoSite`] for an array whose place on the Earth is unknown; as [`Pointing::new`].
    pub fn new(array: &AntennaArray, source: Source, epoch: Epoch) -> Result<Self, DelayModelError> {
        let pointing = Pointing::new(array.require_site()?, source, epoch)?;
        let positions = array.offsets()?;
        let farthest = positions.iter().map(|&r| dot(r, r).sqrt()).fold(0.0, f64::max);
        // A few roundings up, so that no delay becomes negative by rounding.
        let offset_seconds = farthest / SPEED_OF_LIGHT_M_PER_S * (1.0 + 1e-14);
        Ok(Self { positions, pointing, offset_seconds })
    }

    /// Sets UT1 - UTC and polar motion.
    ///
    /// # Errors
    /// [`DelayModelError::NotFinite`].
    pub fn with_orientation(mut self, orientation: EarthOrientation) -> Result<Self, DelayModelError> {
        self.pointing = self.pointing.with_orientation(orientation)?;
        Ok(self)
    }

    /// The same array with a phase centre that stands on the sky: the place in right ascension and declination (ICRS)
    /// that is seen `seconds` after the epoch ([`Pointing::icrs`]). Files of visibilities need one.
    ///
    /// # Errors
    /// As [`Pointing::direction`].
    pub fn on_the_sky(&self, seconds: f64) -> Result<Self, DelayModelError> {
        let [ra_rad, dec_rad] = self.pointing.icrs(seconds)?;
        let pointing = self.pointing.with_source(Source::RaDec { ra_rad, dec_rad })?;
        Ok(Self { pointing, ..self.clone() })
    }

    /// Number of antennas.
    pub fn antennas(&self) -> usize {
        self.positions.len()
    }

    /// The source seen from the array's site.
    pub fn pointing(&self) -> &Pointing {
        &self.pointing
    }

    /// What is added to every antenna's delay, so that none is ever negative.
    pub fn offset_seconds(&self) -> f64 {
        self.offset_seconds
    }

    /// Geometric delays at an instant: `d_a = r_a . s / c + offset`. Delaying antenna `a` by `d_a` aligns the source.
    ///
    /// # Precision
    /// `8 * 2^-53 |r_a| / c` for a given direction.
    ///
    /// # Errors
    /// As [`Pointing::direction`].
    pub fn geometric_delays(&self, seconds: f64) -> Result<GeometricDelays, DelayModelError> {
        let toward = self.pointing.direction(seconds)?.itrf();
        let delay = |&r: &[f64; 3]| (dot(r, toward) / SPEED_OF_LIGHT_M_PER_S + self.offset_seconds).max(0.0);
        Ok(GeometricDelays { seconds: self.positions.iter().map(delay).collect(), offset_seconds: self.offset_seconds })
    }

    /// Rates of the geometric delays in seconds per second: `dd_a/dt = r_a . ds/dt / c`, where the source moves with
    /// the Earth's rotation. (The changes of aberration, precession and nutation, at most `1.5e-10` rad/s, are left
    /// out.)
    ///
    /// # Errors
    /// As [`Pointing::direction`].
    pub fn delay_rates(&self, seconds: f64) -> Result<Vec<f64>, DelayModelError> {
        let toward = self.pointing.direction(seconds)?.itrf();
        Ok(self.positions.iter().map(|&r| self.rate(r, toward)).collect())
    }

    fn rate(&self, r: [f64; 3], toward: [f64; 3]) -> f64 {
        self.pointing.rotation_rate() * (r[0] * toward[1] - r[1] * toward[0]) / SPEED_OF_LIGHT_M_PER_S
    }

    /// Delays `d_a(t)` of the samples that come *out* at time `t`, offset included: the solutions of
    /// `d = r_a . s(t - d) / c + offset`, because the sample that comes out at `t` came in at `t - d`. They differ from
    /// [`Geometry::geometric_delays`] by at most `|dd/dt| d`: 1e-15 s for an array of a kilometre, 1e-11 s for one of
    /// 100 km.
    ///
    /// # Precision
    /// During `d` the source moves with the Earth's rotation alone; the change of its aberration meanwhile, left out,
    /// is worth `1.5e-10 d |r| / c`: 1e-22 s for an array of a kilometre, 1e-17 s for one of 100 km.
    ///
    /// # Errors
    /// As [`Pointing::direction`].
    pub fn output_delays(&self, seconds: f64) -> Result<Vec<f64>, DelayModelError> {
        let toward = self.pointing.direction(seconds)?.itrf();
        Ok(self.positions.iter().map(|&r| self.solve(r, toward)).collect())
    }

    fn solve(&self, r: [f64; 3], toward: [f64; 3]) -> f64 {
        let at = |earlier: f64| {
            // Going back in time moves the source east, by at most a fraction of a second of rotation.
            let (sin, cos) = (self.pointing.rotation_rate() * earlier).sin_cos();
            let before = [cos * toward[0] - sin * toward[1], sin * toward[0] + cos * toward[1], toward[2]];
            dot(r, before) / SPEED_OF_LIGHT_M_PER_S + self.offset_seconds
        };
        // Each step shrinks the error by |dd/dt|, below 2e-5 even for ten Earth radii: four steps reach f64.
        (0..4).fold(at(0.0), |delay, _| at(delay)).max(0.0)
    }

    /// Phases and phase rates that stop the fringes at a sky frequency, with the delays of [`Geometry::output_delays`]
    /// applied as well; one an antenna.
    ///
    /// # Precision
    /// `2^-52 |f d|` turns beyond the error of the delay.
    ///
    /// # Errors
    /// As [`Pointing::direction`]; [`DelayModelError::NotFinite`] for the frequency.
    pub fn fringe_stopping(&self, seconds: f64, sky_frequency_hz: f64) -> Result<Vec<FringeStopping>, DelayModelError> {
        check_finite("sky_frequency_hz", sky_frequency_hz, 0)?;
        let toward = self.pointing.direction(seconds)?.itrf();
        let stop = |&r: &[f64; 3]| {
            let rate = self.rate(r, toward);
            FringeStopping {
                phase_turns: turns::reduce(-sky_frequency_hz * self.solve(r, toward)),
                // d(t) = tau(t - d(t)) has the rate tau' / (1 + tau').
                phase_rate_hz: -sky_frequency_hz * rate / (1.0 + rate),
            }
        };
        Ok(self.positions.iter().map(stop).collect())
    }

    /// `[u, v, w]` of every antenna in metres: `u` toward the east of the sky, `v` toward the north, `w` toward the
    /// source (see [`Direction::uvw_axes`]). The offset of the delays is not in them.
    ///
    /// Before fringe stopping, a source at the phase centre gives `V_ab` the phase `+2 pi f (w_a - w_b) / c`.
    ///
    /// # Errors
    /// As [`Pointing::direction`].
    pub fn uvw(&self, seconds: f64) -> Result<Vec<[f64; 3]>, DelayModelError> {
        let axes = self.pointing.direction(seconds)?.uvw_axes();
        Ok(self.positions.iter().map(|&r| axes.map(|axis| dot(r, axis))).collect())
    }

    /// The direction of the source; as [`Pointing::direction`].
    ///
    /// # Errors
    /// As [`Pointing::direction`].
    pub fn direction(&self, seconds: f64) -> Result<Direction, DelayModelError> {
        self.pointing.direction(seconds)
    }

    /// The largest `|r| / c` in the plane of the equator: the amplitude of the diurnal change of a delay.
    pub(crate) fn equatorial_light_time(&self) -> f64 {
        self.positions.iter().map(|r| r[0].hypot(r[1])).fold(0.0, f64::max) / SPEED_OF_LIGHT_M_PER_S
    }
}
