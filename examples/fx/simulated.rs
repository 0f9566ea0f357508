//! The simulated array as a [`SampleSource`]: eight antennas on a field that a satellite-like source crosses.

use fringes::delay::{AntennaArray, Enu, Epoch, Pointing, Site, Source};
use fringes::{Frequencies, Inputs};

use crate::args::Arguments;
use crate::failure::{At, Failure, Result};
use crate::observation::{Chunk, Observation, SampleSource};
use crate::recording::input_names;
use crate::simulate::geometry::Track;
use crate::simulate::{BITS, POSITIONS_M, Scenario, SimulatedArray};

/// Samples a second: 4 MHz of band.
const SAMPLE_RATE_HZ: f64 = 8e6;
/// Sky frequency of the middle of the band.
const CENTRE_HZ: f64 = 1.42e9;
/// Duration in seconds.
const DURATION_S: f64 = 1.0;
/// Latitude and longitude in degrees, height in metres.
const SITE: [f64; 3] = [-30.7128, 21.4438, 1053.0];
/// Hour angle and declination of the phase centre in degrees.
const PHASE_CENTRE_DEG: [f64; 2] = [-20.0, -38.0];
/// Offset of the source to the east and north at the start in degrees, and its motion in degrees per second.
const OFFSET_DEG: [f64; 2] = [-0.35, 0.22];
const DRIFT_DEG_PER_S: [f64; 2] = [0.62, -0.31];
/// Start of the run: 2025-01-01, 00:00 UTC.
const START: Epoch = Epoch { mjd_day: 60_676, seconds: 0.0 };
/// Coherence within the source's band.
const COHERENCE: f64 = 0.25;
/// Longest run that may be simulated in samples.
const MOST_SAMPLES: f64 = 1e12;

/// The simulated array and what is known of it.
pub(crate) struct Simulated {
    array: SimulatedArray,
    observation: Observation,
}

impl Simulated {
    /// The array of the command line, or the default one.
    pub(crate) fn new(arguments: &Arguments, array: Option<AntennaArray>) -> Result<Self> {
        let sample_rate_hz = arguments.sample_rate.unwrap_or(SAMPLE_RATE_HZ);
        let centre_hz = arguments.centre_frequency.unwrap_or(CENTRE_HZ);
        let samples = (arguments.duration.unwrap_or(DURATION_S) * sample_rate_hz).round();
        if !(1.0..=MOST_SAMPLES).contains(&samples) {
            let what = format!("expected 1 to {MOST_SAMPLES:e} samples, found {samples:e}");
            return Err(Failure::at("--duration", what));
        }
        let array = match array {
            Some(array) => array,
            None => {
                let enu = POSITIONS_M.map(|[east_m, north_m, up_m]| Enu { east_m, north_m, up_m }).to_vec();
                AntennaArray::from_enu(enu, Site::from_degrees(SITE[0], SITE[1], SITE[2])?)?
            }
        };
        let site = array.require_site().at("--array")?;
        let positions_m = array.enu().at("--array")?.iter().map(|p| [p.east_m, p.north_m, p.up_m]).collect();
        let [hour_angle_rad, dec_rad] = phase_centre(arguments.source, site)?;
        let track = Track {
            latitude_rad: site.latitude_rad,
            hour_angle_rad,
            dec_rad,
            lm: OFFSET_DEG.map(|degrees| degrees.to_radians().sin()),
            lm_per_s: DRIFT_DEG_PER_S.map(f64::to_radians),
        };
        let inputs = Inputs::new(array.len(), 2).at("--array")?;
        let observation = Observation {
            label: "simulated array".into(),
            format: "simulated ADC, packed and unpacked".into(),
            inputs,
            input_names: input_names(inputs, Some(array.names())),
            complex: false,
            channelised: false,
            recorded_channels: 1,
            bits: BITS,
            sample_rate_hz,
            centres: Some(Frequencies { first_hz: centre_hz, step_hz: sample_rate_hz / 2.0 }),
            start: Some(START),
            total_samples: Some(samples as u64),
            array: Some(array),
            phase_centre: Some(Source::HourAngle { hour_angle_rad, dec_rad }),
            telescope: "SIMULATED".into(),
            source_name: "FIELD".into(),
            track: Some(track.clone()),
        };
        let seed = arguments.seed.unwrap_or(1);
        let scenario = Scenario {
            positions_m,
            track,
            sample_rate_hz,
            centre_hz,
            samples: samples as u64,
            coherence: COHERENCE,
            seed,
        };
        Ok(Self { array: SimulatedArray::new(scenario)?, observation })
    }
}

/// Hour angle and declination of the phase centre at the start: of the asked source, where it stands then.
fn phase_centre(asked: Option<Source>, site: Site) -> Result<[f64; 2]> {
    let Some(source) = asked else { return Ok(PHASE_CENTRE_DEG.map(f64::to_radians)) };
    let direction = Pointing::new(site, source, START)?.direction(0.0).at("--source")?;
    Ok([direction.hour_angle_rad(), direction.declination_rad()])
}

impl SampleSource for Simulated {
    fn observation(&self) -> &Observation {
        &self.observation
    }

    fn next_chunk(&mut self, times: usize) -> Result<Option<Chunk>> {
        Ok(self.array.next_chunk(times)?.map(|samples| Chunk::Integer(Box::new(samples))))
    }

    fn clamped(&self) -> u64 {
        self.array.clamped()
    }
}
