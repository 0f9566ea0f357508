//! What the pulse and its signal-to-noise ratio are to be.
//!
//! A beam of weights `w` has the power `|w v|^2 / |w|^2` of a wave of voltages `v`, in units of its noise: the number
//! of antennas for a beam that looks there. A bin sums `n` independent samples, so that noise of power 1 has a standard
//! deviation of `1 / sqrt(n)` in it.

use fringes::{BeamWeights, Complex, with_nulls};

use crate::args::CHUNK;
use crate::common::Failure;
use crate::fold::{BIN, Folded, error_of_mean};
use crate::sky::{Sky, fixed};

/// Chunks from one that the satellite's part is computed of to the next.
const EVERY: usize = 8;

/// The pulsar in its beam, with a null toward the transmitter.
pub(crate) struct Theory {
    /// The pulse in units of the noise, the satellite's included.
    pub(crate) pulse: f64,
    /// Signal-to-noise ratio of the folded profile.
    pub(crate) ratio: f64,
}

impl Theory {
    pub(crate) fn new(sky: &Sky) -> Result<Self, Failure> {
        let setup = &sky.setup;
        let (steering, transmitter) = (sky.steering(&[sky.pulsar])?, sky.steering(&[fixed(sky.transmitter())])?);
        let (mut pulsar, mut satellite, mut count) = (0.0, 0.0, 0.0);
        for chunk in (0..setup.chunks).step_by(EVERY) {
            let sample = setup.clock.sample_of(chunk * CHUNK + CHUNK / 2);
            let weights = with_nulls(&steering.weights_at(sample)?, &transmitter.weights_at(sample)?)?;
            let seconds = sky.middle_s(chunk);
            for channel in 0..setup.channels {
                pulsar += response(&weights, 0, channel, &sky.wave(sky.pulsar_at(seconds)?, channel));
                satellite += response(&weights, 0, channel, &sky.wave(sky.satellite_at(seconds), channel));
                count += 1.0;
            }
        }
        let noise = 1.0 + setup.satellite * satellite / count;
        let pulse = setup.pulsar * pulsar / count / noise;
        // Two polarisations.
        let samples = (2 * BIN * setup.channels) as f64;
        Ok(Self { pulse, ratio: pulse * samples.sqrt() / error_of_mean(setup.chunks) })
    }

    /// Standard deviation of the ratio of a measured one to this: of the pulse, which is noise itself, and of the
    /// noise's standard deviation.
    pub(crate) fn relative_error(&self, folded: &Folded) -> f64 {
        let bins = (folded.periods() * crate::fold::ON_OFF[1]) as f64;
        ((1.0 + self.pulse) / self.ratio).hypot(1.0 / (2.0 * bins).sqrt())
    }
}

/// Power of a wave `[antenna]` in a beam of one polarisation, in units of its noise.
pub(crate) fn response(weights: &BeamWeights, beam: usize, channel: usize, wave: &[Complex<f64>]) -> f64 {
    let pol = beam % 2;
    let weight = |antenna: usize| {
        let weight = weights.data()[(beam, channel, 2 * antenna + pol)];
        Complex::new(f64::from(weight.re), f64::from(weight.im))
    };
    let sum: Complex<f64> = wave.iter().enumerate().map(|(antenna, voltage)| weight(antenna) * voltage).sum();
    sum.norm_sqr() / (0..wave.len()).map(|antenna| weight(antenna).norm_sqr()).sum::<f64>()
}
