//! The phase centre: delay models that follow it, and the antennas' `(u, v, w)` towards it.

use fringes::delay::{AntennaArray, DelayModel, Direction, Epoch, Geometry, Pointing, SampleClock, Source};

use crate::failure::{At, Failure, Result};
use crate::observation::Observation;

/// Seconds that one delay polynomial covers, and its degree: good to 1e-14 s for an array as large as the Earth.
const INTERVAL_SECONDS: f64 = 10.0;
const DEGREE: usize = 3;
/// Seconds for which delays are known where the length of a recording is not.
const LONGEST_SECONDS: f64 = 86_400.0;
/// Start of a run whose time is not known: hour angles and azimuths do not depend on it.
const ANY_TIME: Epoch = Epoch { mjd_day: 60_676, seconds: 0.0 };

/// An array that follows a phase centre.
pub(crate) struct Tracking {
    array: AntennaArray,
    geometry: Geometry,
    /// Whether the time on the sky is known.
    dated: bool,
}

impl Tracking {
    /// What the observation follows; `None` without positions or without a phase centre.
    pub(crate) fn new(observation: &Observation) -> Result<Option<Self>> {
        let (Some(array), Some(source)) = (&observation.array, observation.phase_centre) else { return Ok(None) };
        if observation.start.is_none() && matches!(source, Source::RaDec { .. }) {
            let what = "the recording does not say when it began; give the source as ha:HOURANGLE,dec:DEC";
            return Err(Failure::at(&observation.label, what));
        }
        let geometry = Geometry::new(array, source, observation.start.unwrap_or(ANY_TIME)).at("--array")?;
        let dated = observation.start.is_some();
        Ok(Some(Self { array: array.clone(), geometry, dated }))
    }

    /// The antennas.
    pub(crate) fn array(&self) -> &AntennaArray {
        &self.array
    }

    /// Start of the run, if it is known.
    pub(crate) fn start(&self) -> Option<Epoch> {
        self.dated.then(|| self.geometry.pointing().epoch())
    }

    /// Delay models `[recorded channel][input]` that stop the fringes in the middle of each recorded channel.
    pub(crate) fn models(&self, observation: &Observation) -> Result<Vec<Vec<DelayModel>>> {
        let rate = observation.sample_rate_hz;
        let samples = observation.total_samples.unwrap_or((LONGEST_SECONDS * rate) as u64).max(1);
        let clock = SampleClock { epoch_sample: 0, sample_rate_hz: rate };
        let interval = (INTERVAL_SECONDS * rate).ceil() as u64;
        let track = self.geometry.track(clock, 0..samples, interval, DEGREE)?;
        (0..observation.recorded_channels)
            .map(|channel| {
                let centre_hz = observation.centre_hz(channel).ok_or_else(|| {
                    let what = "the recording does not say its sky frequency; give it with --centre-frequency HZ";
                    Failure::at(&observation.label, what)
                })?;
                Ok(track.clone().with_fringe_stopping(centre_hz)?.models(observation.inputs.pols())?)
            })
            .collect()
    }

    /// The phase centre `seconds` after the start.
    pub(crate) fn direction(&self, seconds: f64) -> Result<Direction> {
        Ok(self.geometry.direction(seconds)?)
    }

    /// `(u, v, w)` of every antenna in metres.
    pub(crate) fn uvw(&self, seconds: f64) -> Result<Vec<[f64; 3]>> {
        Ok(self.geometry.uvw(seconds)?)
    }

    /// Azimuth and elevation in degrees of the direction cosines `(l, m)` to the phase centre.
    pub(crate) fn horizontal_deg(&self, seconds: f64, [l, m]: [f64; 2]) -> Result<[f64; 2]> {
        let [east, north, centre] = self.direction(seconds)?.uvw_axes();
        let n = (1.0 - l * l - m * m).max(0.0).sqrt();
        let [x, y, z]: [f64; 3] = std::array::from_fn(|axis| l * east[axis] + m * north[axis] + n * centre[axis]);
        let site = self.array.require_site()?;
        let there = Source::HourAngle { hour_angle_rad: site.longitude_rad - y.atan2(x), dec_rad: z.atan2(x.hypot(y)) };
        let direction = Pointing::new(site, there, ANY_TIME)?.direction(0.0)?;
        Ok([direction.azimuth_rad().to_degrees(), direction.elevation_rad().to_degrees()])
    }

    /// The same array with the phase centre in right ascension and declination (ICRS): a phase centre given by its hour
    /// angle is the star that stands there `seconds` after the start. `None` if the time is not known.
    pub(crate) fn on_the_sky(&self, seconds: f64) -> Result<Option<Geometry>> {
        Ok(self.dated.then(|| self.geometry.on_the_sky(seconds)).transpose()?)
    }
}
