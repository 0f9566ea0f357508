//! The direction of the source in every integration, compared with where it is known to be.

use ndarray::Array2;

use crate::coherence::Coherence;
use crate::direction::{Fringes, Grid, longest_baseline_m, separation_deg};
use crate::failure::Result;
use crate::observation::Observation;
use crate::plots::Field;
use crate::tracking::Tracking;

/// Half of the field that is searched, in degrees.
const FIELD_DEG: f64 = 1.0;

/// Recovered directions.
pub(crate) struct Located {
    /// Direction cosines `(l, m)` of every integration that has data.
    pub(crate) recovered: Vec<[f64; 2]>,
    /// Where the source was then: on its track, or at the phase centre of a recording.
    pub(crate) known: Vec<[f64; 2]>,
    /// Seconds of the middle of those integrations after the start.
    pub(crate) seconds: Vec<f64>,
    /// Map of an integration in the middle of the run `[m][l]`, and the beam.
    image: Array2<f32>,
    beam: Array2<f32>,
    /// Which of the recovered directions is that integration's.
    shown: usize,
    half_width: f64,
}

impl Located {
    /// Angles between recovered and known directions in degrees.
    pub(crate) fn errors_deg(&self) -> impl Iterator<Item = f64> {
        self.recovered.iter().zip(&self.known).map(|(&found, &known)| separation_deg(found, known))
    }

    /// The largest of them.
    pub(crate) fn largest_error_deg(&self) -> f64 {
        self.errors_deg().fold(0.0, f64::max)
    }

    /// Their root mean square.
    pub(crate) fn rms_error_deg(&self) -> f64 {
        (self.errors_deg().map(|error| error * error).sum::<f64>() / self.recovered.len().max(1) as f64).sqrt()
    }

    /// The map with its marks.
    pub(crate) fn field(&self, observation: &Observation) -> Field {
        let at = self.seconds.get(self.shown).copied().unwrap_or(0.0);
        Field {
            image: self.image.clone(),
            beam: self.beam.clone(),
            half_width: self.half_width,
            title: format!("Field of {} at {at:.3} s", observation.label),
            shown: self.shown,
            recovered: self.recovered.clone(),
            track: if observation.track.is_some() { self.known.clone() } else { Vec::new() },
        }
    }
}

/// Looks for one point source in every integration; `None` without positions, a phase centre, sky frequencies or
/// baselines.
pub(crate) fn locate(
    coherence: &Coherence<'_>,
    observation: &Observation,
    tracking: Option<&Tracking>,
) -> Result<Option<Located>> {
    let (Some(tracking), Some(_)) = (tracking, observation.centres) else { return Ok(None) };
    let cube = coherence.cube;
    let highest_hz = cube.frequencies().channel_hz(cube.channels().saturating_sub(1));
    let longest_m = longest_baseline_m(&tracking.uvw(0.0)?);
    if longest_m == 0.0 || highest_hz <= 0.0 {
        return Ok(None);
    }
    let grid = Grid::new(FIELD_DEG.to_radians().sin(), longest_m, highest_hz);
    let mut located = Located {
        recovered: Vec::new(),
        known: Vec::new(),
        seconds: Vec::new(),
        image: Array2::zeros((0, 0)),
        beam: Array2::zeros((0, 0)),
        shown: 0,
        half_width: grid.half_width,
    };
    let mut middle = None;
    for (integration, &seconds) in cube.time_s().iter().enumerate() {
        let fringes = Fringes::new(coherence, integration, tracking.uvw(seconds)?, grid.half_width);
        let Some(found) = fringes.brightest(grid) else { continue };
        if integration <= cube.integrations() / 2 || middle.is_none() {
            located.shown = located.recovered.len();
            middle = Some(fringes);
        }
        located.recovered.push(found);
        located.known.push(observation.track.as_ref().map_or([0.0; 2], |track| track.lm_at(seconds)));
        located.seconds.push(seconds);
    }
    if let Some(fringes) = middle {
        located.image = fringes.image(grid);
        located.beam = fringes.of_a_point().image(grid);
    }
    Ok((!located.recovered.is_empty()).then_some(located))
}
