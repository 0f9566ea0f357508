//! Two antennas that hear noise of their own and one line.
//!
//! ```text
//! x_a(t) = noise_a(t) + Re s(t - tau_a) exp(2 pi i (f_band t - f_sky tau_a) + i phase_a)
//! ```
//!
//! with `s` complex noise of a Gaussian spectrum, `f_band` the line's distance from the band's lower edge, `f_sky` its
//! frequency on the sky, and `tau`, `phase` 0 for the first antenna.

use std::f64::consts::TAU;

use fringes::{Complex, Inputs, Samples};
use ndarray::{Array2, Axis};
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use crate::args::Setup;
use crate::common::Failure;

/// Standard deviation of the noise in steps of the ADC.
const SIGMA: f64 = 20.0;
/// Samples of the line's envelope in one over its width: between them it is a straight line.
const OVERSAMPLING: f64 = 64.0;
/// Samples of the carrier that follow each other by one rotation.
const ROTATED: usize = 256;

/// The source and its antennas.
pub(crate) struct Maser {
    setup: Setup,
    inputs: Inputs,
    /// The line's envelope, from a millisecond before the start on.
    envelope: Vec<Complex<f64>>,
    envelope_rate_hz: f64,
    random: Vec<Xoshiro256PlusPlus>,
}

/// Time before the start that the envelope has.
const BEFORE_S: f64 = 1e-3;

impl Maser {
    pub(crate) fn new(setup: &Setup) -> Result<Self, Failure> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(setup.seed);
        let rate_hz = OVERSAMPLING * setup.width_hz;
        let length = ((setup.duration_s + 2.0 * BEFORE_S) * rate_hz) as usize + 2;
        // exp(-4 ln 2 f^2 / w^2) is the square of the transform of this, which is narrower than five of its widths.
        let w = setup.width_hz / rate_hz;
        let half = (5.0 * 0.265 / w).ceil() as i64;
        let tap = |n: i64| (-(std::f64::consts::PI * n as f64 * w).powi(2) / (2.0 * std::f64::consts::LN_2)).exp();
        let taps: Vec<f64> = (-half..=half).map(tap).collect();
        let white: Vec<Complex<f64>> = (0..length + taps.len())
            .map(|_| Complex::new(random.sample(StandardNormal), random.sample(StandardNormal)))
            .collect();
        // The noise has SIGMA^2 / (rate / 2) a Hz; a real part has half the power of the complex envelope.
        let area_hz = setup.width_hz * (std::f64::consts::PI / (4.0 * std::f64::consts::LN_2)).sqrt();
        let power = 4.0 * setup.strength * SIGMA * SIGMA * area_hz / setup.sample_rate_hz;
        let scale = (power / (2.0 * taps.iter().map(|tap| tap * tap).sum::<f64>())).sqrt();
        let at = |start: usize| white[start..].iter().zip(&taps).map(|(x, tap)| x * tap).sum::<Complex<f64>>() * scale;
        let envelope = (0..length).into_par_iter().map(at).collect();
        let random = (1..=2).map(|antenna| Xoshiro256PlusPlus::seed_from_u64(setup.seed ^ (antenna << 32))).collect();
        Ok(Self { setup: setup.clone(), inputs: Inputs::single_pol(2)?, envelope, envelope_rate_hz: rate_hz, random })
    }

    /// Samples from one on, 8 bits.
    pub(crate) fn samples(&mut self, first: u64, length: usize) -> Result<Samples<i8>, Failure> {
        let mut data = Array2::zeros((2, length));
        let Self { setup, envelope, envelope_rate_hz, random, .. } = self;
        let (setup, envelope, rate_hz) = (&*setup, &*envelope, *envelope_rate_hz);
        data.axis_iter_mut(Axis(0)).into_par_iter().zip(random).enumerate().for_each(|(antenna, (mut row, random))| {
            let mut line = vec![0.0; length];
            of_line(setup, (envelope, rate_hz), antenna == 1, first, &mut line);
            for (sample, line) in row.iter_mut().zip(line) {
                let noise: f32 = random.sample(StandardNormal);
                *sample = (SIGMA * f64::from(noise) + line).round().clamp(-127.0, 127.0) as i8;
            }
        });
        let samples = Samples::new(data, self.inputs)?.with_first_sample(first);
        Ok(samples.with_sample_rate(self.setup.sample_rate_hz)?.with_centre_frequency(self.setup.band_hz)?)
    }
}

/// The line as an antenna hears it.
fn of_line(
    setup: &Setup,
    (envelope, envelope_rate_hz): (&[Complex<f64>], f64),
    late: bool,
    first: u64,
    out: &mut [f64],
) {
    let rate_hz = setup.sample_rate_hz;
    let band_hz = setup.line_hz - (setup.band_hz - rate_hz / 4.0);
    let delay_s = |time_s: f64| if late { setup.delay_s[0] + setup.delay_s[1] * time_s } else { 0.0 };
    let phase = if late { setup.phase_degrees / 360.0 } else { 0.0 };
    for (block, out) in out.chunks_mut(ROTATED).enumerate() {
        let sample = first + (block * ROTATED) as u64;
        let time_s = sample as f64 / rate_hz;
        let turns = |time_s: f64| (band_hz * time_s).fract() - (setup.line_hz * delay_s(time_s)).fract() + phase;
        let step = band_hz / rate_hz - setup.line_hz * (delay_s(1.0) - delay_s(0.0)) / rate_hz;
        let (mut carrier, turn) = (Complex::cis(TAU * turns(time_s)), Complex::cis(TAU * step));
        let mut place = (time_s - delay_s(time_s) + BEFORE_S) * envelope_rate_hz;
        for out in out {
            let (index, part) = (place as usize, place.fract());
            *out = ((envelope[index] * (1.0 - part) + envelope[index + 1] * part) * carrier).re;
            carrier *= turn;
            place += envelope_rate_hz / rate_hz;
        }
    }
}
