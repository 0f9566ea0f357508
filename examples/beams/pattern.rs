//! The array factor: how beams answer to plane waves from many directions, beside the formula.

use fringes::{Backend, Complex, Voltages, beamform};
use ndarray::Array3;
use rayon::prelude::*;

use crate::common::Failure;
use crate::receiver::Receiver;
use crate::sky::Sky;
use crate::theory::response;

/// Directions of the cut.
const DIRECTIONS: usize = 721;
/// Beams of the grid from one that is compared to the next.
const EVERY: usize = 7;

/// The pulsar's beam along the great circle through the transmitter.
pub(crate) struct Pattern {
    /// Degrees from the pulsar toward the transmitter.
    pub(crate) degrees: Vec<f64>,
    /// Where the transmitter is on that axis.
    pub(crate) transmitter_deg: f64,
    /// Power without and with the null, relative to the beam's peak.
    pub(crate) power: [Vec<f64>; 2],
    /// The formula's, without the null.
    pub(crate) analytic: Vec<f64>,
    /// Largest difference of measured and computed array factors, relative to their peak.
    pub(crate) difference: f64,
    /// Power of the transmitter without and with the null, relative to the beam's peak.
    pub(crate) toward: [f64; 2],
}

impl Pattern {
    /// Lets waves come from many directions, one a spectrum, into the beams.
    pub(crate) fn measure(backend: &Backend, sky: &Sky, receiver: &Receiver) -> Result<Self, Failure> {
        let (setup, seconds) = (&sky.setup, 0.5 * sky.setup.duration_s());
        let (from, to) = (sky.pulsar_at(seconds)?, sky.transmitter());
        let dot = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let cosine = dot(from, to);
        let away: [f64; 3] = std::array::from_fn(|axis| to[axis] - cosine * from[axis]);
        let sine = dot(away, away).sqrt();
        let transmitter_deg = sine.atan2(cosine).to_degrees();
        let degree = |index: usize| -10.0 + (transmitter_deg + 12.0) * index as f64 / (DIRECTIONS - 1) as f64;
        let degrees: Vec<f64> = (0..DIRECTIONS).map(degree).collect();
        let toward = |degrees: f64| -> [f64; 3] {
            let (sin, cos) = degrees.to_radians().sin_cos();
            std::array::from_fn(|axis| cos * from[axis] + sin * away[axis] / sine)
        };

        let mut waves = Array3::default((setup.channels, DIRECTIONS, sky.inputs.len()));
        for ((channel, index), mut inputs) in
            ndarray::indices((setup.channels, DIRECTIONS)).into_iter().zip(waves.rows_mut())
        {
            for (antenna, value) in sky.wave(toward(degrees[index]), channel).into_iter().enumerate() {
                inputs[2 * antenna] = Complex::new(value.re as f32, value.im as f32);
                inputs[2 * antenna + 1] = inputs[2 * antenna];
            }
        }
        let waves = Voltages::new(waves, sky.inputs)?.with_frequencies(setup.frequencies())?;

        // |sum exp(2 pi i f r (s - s0) / c)| / antennas, and what beams of the grid give.
        let grid = beamform(backend, &waves, receiver.grid())?;
        let factor = |s0: [f64; 3], s: [f64; 3], channel: usize| -> f64 {
            let pairs = sky.wave(s, channel).into_iter().zip(sky.wave(s0, channel));
            pairs.map(|(wave, steered)| wave * steered.conj()).sum::<Complex<f64>>().norm() / setup.antennas as f64
        };
        let difference = |beam: usize| -> f64 {
            let [east, north] = sky.grid[beam];
            let steered = [east, north, (1.0 - east * east - north * north).sqrt()];
            let channels = [0, setup.channels - 1].into_iter();
            let all = channels.flat_map(|channel| (0..DIRECTIONS).step_by(3).map(move |index| (channel, index)));
            let of = |(channel, index): (usize, usize)| {
                let exact = factor(steered, toward(degrees[index]), channel);
                let measured = [0, 1].map(|pol| f64::from(grid.data()[(channel, index, 2 * beam + pol)].norm()));
                measured.iter().map(|size| (size / setup.antennas as f64 - exact).abs()).fold(0.0, f64::max)
            };
            all.map(of).fold(0.0, f64::max)
        };
        let beams = (0..sky.grid.len()).into_par_iter().step_by(EVERY);
        let difference = beams.map(difference).reduce(|| 0.0, f64::max);

        let weights = receiver.pulsar_weights(seconds)?;
        let beams = beamform(backend, &waves, &weights)?;
        let middle = setup.channels / 2;
        let peak = |beam: usize| response(&weights, beam, middle, &sky.wave(from, middle));
        let norm = |beam: usize| -> f64 {
            weights.data().index_axis(ndarray::Axis(0), beam).row(middle).iter().map(|w| f64::from(w.norm_sqr())).sum()
        };
        let power = [0, 2].map(|beam| {
            let of = |index: usize| f64::from(beams.data()[(middle, index, beam)].norm_sqr()) / norm(beam) / peak(beam);
            (0..DIRECTIONS).map(of).collect()
        });
        let analytic = degrees.iter().map(|&degrees| factor(from, toward(degrees), middle).powi(2)).collect();
        let transmitter = sky.wave(to, middle);
        let toward = [0, 2].map(|beam| response(&weights, beam, middle, &transmitter) / peak(beam));
        Ok(Self { degrees, transmitter_deg, power, analytic, difference, toward })
    }
}
