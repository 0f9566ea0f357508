//! The array and what there is to see: places, directions, and how voltages follow from them.
//!
//! Directions are direction cosines toward east, north and up of the site. An antenna at `r` hears a wave from `s`
//! earlier than the site by `r s / c`.

use std::f64::consts::TAU;

use fringes::delay::{AntennaArray, Enu, Epoch, Geometry, Pointing, SPEED_OF_LIGHT_M_PER_S, SampleClock, Site, Source};
use fringes::{BeamSteering, Complex, DelayModel, Inputs, SteeredBand, steering_models};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::args::{CHUNK, Setup};
use crate::common::Failure;

/// Beams of a side of the grid, and degrees from one to the next.
pub(crate) const SIDE: usize = 25;
pub(crate) const STEP_DEG: f64 = 0.4;
/// Least distance of two antennas.
const APART_M: f64 = 2.0;
/// Where the pulsar is when the run begins, degrees to the east and north of the zenith.
const PULSAR_DEG: [f64; 2] = [-1.55, 2.05];
/// Where the satellite comes from, and where it is after [`PASS_S`].
const SATELLITE_DEG: [[f64; 2]; 2] = [[-4.8, -1.2], [4.8, -3.6]];
const PASS_S: f64 = 16.777_216;
/// Azimuth and elevation of the transmitter.
const TRANSMITTER_DEG: [f64; 2] = [70.0, 3.0];

/// The simulated world.
pub(crate) struct Sky {
    pub(crate) setup: Setup,
    pub(crate) inputs: Inputs,
    array: AntennaArray,
    /// East, north and up of the antennas.
    places_m: Vec<[f64; 3]>,
    epoch: Epoch,
    /// The pulsar's place on the sky, and its direction over time.
    pub(crate) pulsar: Source,
    toward_pulsar: Geometry,
    /// Direction cosines east and north of the beams of the grid, row after row from the south.
    pub(crate) grid: Vec<[f64; 2]>,
}

impl Sky {
    pub(crate) fn new(setup: &Setup) -> Result<Self, Failure> {
        let site = Site::from_degrees(-30.7128, 21.4438, 1053.0)?;
        let epoch: Epoch = "2026-03-20T16:30:00".parse()?;
        let places = places(setup);
        let places_m = places.iter().map(|place| [place.east_m, place.north_m, place.up_m]).collect();
        let array = AntennaArray::from_enu(places, site)?;
        // The star that stands there when the run begins.
        let there = above(PULSAR_DEG.map(|degrees| degrees.to_radians().sin()));
        let [ra_rad, dec_rad] = Pointing::new(site, there, epoch)?.icrs(0.0)?;
        let pulsar = Source::RaDec { ra_rad, dec_rad };
        let toward_pulsar = Geometry::new(&array, pulsar, epoch)?;
        let part = |index: usize| ((index as f64 - (SIDE / 2) as f64) * STEP_DEG).to_radians().sin();
        let grid = (0..SIDE * SIDE).map(|beam| [part(beam % SIDE), part(beam / SIDE)]).collect();
        let inputs = Inputs::new(setup.antennas, 2)?;
        Ok(Self { setup: setup.clone(), inputs, array, places_m, epoch, pulsar, toward_pulsar, grid })
    }

    pub(crate) fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Seconds from the start to the middle of a chunk.
    pub(crate) fn middle_s(&self, chunk: usize) -> f64 {
        (chunk as f64 + 0.5) * CHUNK as f64 * self.setup.clock.spectrum_seconds()
    }

    /// Where the pulsar is.
    pub(crate) fn pulsar_at(&self, seconds: f64) -> Result<[f64; 3], Failure> {
        Ok(self.toward_pulsar.direction(seconds)?.enu())
    }

    /// Where the satellite is.
    pub(crate) fn satellite_at(&self, seconds: f64) -> [f64; 3] {
        let part = seconds / PASS_S;
        let at = |axis: usize| (1.0 - part) * SATELLITE_DEG[0][axis] + part * SATELLITE_DEG[1][axis];
        let [east, north] = [at(0), at(1)].map(|degrees| degrees.to_radians().sin());
        unit([east, north])
    }

    /// Where the transmitter is.
    pub(crate) fn transmitter(&self) -> [f64; 3] {
        let [azimuth, elevation] = TRANSMITTER_DEG.map(f64::to_radians);
        [elevation.cos() * azimuth.sin(), elevation.cos() * azimuth.cos(), elevation.sin()]
    }

    /// The beam of the grid that is nearest to the pulsar.
    pub(crate) fn pulsar_beam(&self) -> Result<usize, Failure> {
        let [east, north, _] = self.pulsar_at(0.5 * self.setup.duration_s())?;
        let distance = |beam: &usize| (self.grid[*beam][0] - east).hypot(self.grid[*beam][1] - north);
        Ok((0..self.grid.len()).min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(0))
    }

    /// What the antennas' voltages of a wave are in a channel.
    pub(crate) fn wave(&self, toward: [f64; 3], channel: usize) -> Vec<Complex<f64>> {
        let cycles_m = self.setup.frequencies().channel_hz(channel) / SPEED_OF_LIGHT_M_PER_S;
        let along = |place: &[f64; 3]| place.iter().zip(toward).map(|(place, toward)| place * toward).sum::<f64>();
        self.places_m.iter().map(|place| Complex::cis(TAU * (cycles_m * along(place)).fract())).collect()
    }

    /// The channels, for steering.
    pub(crate) fn band(&self) -> SteeredBand {
        SteeredBand {
            frequencies: self.setup.frequencies(),
            channels: self.setup.channels,
            sample_rate_hz: self.setup.clock.sample_rate_hz,
            reference_hz: self.setup.centre_hz,
        }
    }

    /// Steering at sources, a beam of each polarisation.
    pub(crate) fn steering(&self, sources: &[Source]) -> Result<BeamSteering, Failure> {
        let clock = SampleClock { epoch_sample: 0, sample_rate_hz: self.setup.clock.sample_rate_hz };
        let samples = 0..self.setup.clock.sample_of(self.setup.spectra());
        let models: Vec<Vec<DelayModel>> =
            steering_models(&self.array, sources, self.epoch, clock, samples, self.setup.centre_hz)?;
        Ok(BeamSteering::new(self.inputs, self.band(), models)?.with_polarisations())
    }
}

/// A source that stands still over the site, at direction cosines to the east and north.
pub(crate) fn above([east, north]: [f64; 2]) -> Source {
    fixed(unit([east, north]))
}

/// A source that stands still over the site.
pub(crate) fn fixed([east, north, up]: [f64; 3]) -> Source {
    Source::AzEl { azimuth_rad: east.atan2(north), elevation_rad: up.atan2(east.hypot(north)) }
}

fn unit([east, north]: [f64; 2]) -> [f64; 3] {
    [east, north, (1.0 - east * east - north * north).max(0.0).sqrt()]
}

/// Places at random within a circle, none close to another, on ground that is not quite flat.
fn places(setup: &Setup) -> Vec<Enu> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(setup.seed);
    let mut places: Vec<Enu> = Vec::new();
    while places.len() < setup.antennas {
        let mut within = |size: f64| random.random_range(-size..size);
        let place = Enu { east_m: within(setup.radius_m), north_m: within(setup.radius_m), up_m: within(0.3) };
        let apart = |other: &Enu| (other.east_m - place.east_m).hypot(other.north_m - place.north_m) > APART_M;
        if place.east_m.hypot(place.north_m) < setup.radius_m && places.iter().all(apart) {
            places.push(place);
        }
    }
    places
}
