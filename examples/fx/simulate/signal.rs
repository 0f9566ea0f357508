//! Noise signals: the source's complex envelope and its copy at an antenna, delayed by any fraction of a sample.
//!
//! The envelope `E(t)` is relative to the middle of the band, one complex value a sample. It occupies a part of the
//! band, so a short windowed-sinc interpolator finds its value between samples to better than 60 dB. An antenna that
//! the wave reaches `tau` seconds early receives `Re(E(t + tau) e^(2 pi i f_c (t + tau)))`; mixed down so that the
//! band's middle `f_c` lands on a quarter of the sample rate, sample `t` is `Re(E(t + tau fs) e^(2 pi i f_c tau) i^t)`.

use std::f64::consts::{PI, TAU};

use num_complex::Complex;
use rand::distr::Distribution;
use rand_distr::StandardNormal;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Part of the receiver's band that the source fills.
pub(crate) const SOURCE_BAND: f64 = 0.66;

/// Taps of the filter that shapes the source.
const SHAPE_TAPS: usize = 63;
/// Taps of the fractional-delay interpolator.
const DELAY_TAPS: usize = 12;
/// Samples over which an antenna's delay is held: the phase of the fastest drift moves less than a milliturn.
const HOLD: usize = 256;

/// `sin(pi x) / (pi x)`.
fn sinc(x: f64) -> f64 {
    if x.abs() < 1e-9 { 1.0 } else { (PI * x).sin() / (PI * x) }
}

/// A bell over `|x| < 1` (Blackman), 0 outside.
fn bell(x: f64) -> f64 {
    if x.abs() >= 1.0 { 0.0 } else { 0.42 + 0.5 * (PI * x).cos() + 0.08 * (TAU * x).cos() }
}

/// The source's envelope of one polarisation, made as the run goes on; holds only what the next chunk needs.
pub(crate) struct Envelope {
    rng: Xoshiro256PlusPlus,
    shape: Vec<f32>,
    white: [Vec<f32>; 2],
    /// Real and imaginary parts of samples `start..`.
    parts: [Vec<f32>; 2],
    start: i64,
}

impl Envelope {
    /// An envelope of unit mean square from sample `start` on.
    pub(crate) fn new(rng: Xoshiro256PlusPlus, start: i64) -> Self {
        let half = (SHAPE_TAPS - 1) as f64 / 2.0;
        // The envelope spans half the sample rate; the source fills SOURCE_BAND of that.
        let shape: Vec<f64> = (0..SHAPE_TAPS)
            .map(|tap| sinc((tap as f64 - half) * SOURCE_BAND / 2.0) * bell((tap as f64 - half) / (half + 1.0)))
            .collect();
        // White noise with unit variance in each part has mean square 2.
        let norm = (2.0 * shape.iter().map(|tap| tap * tap).sum::<f64>()).sqrt();
        let mut envelope = Self {
            rng,
            shape: shape.iter().map(|tap| (tap / norm) as f32).collect(),
            white: [Vec::new(), Vec::new()],
            parts: [Vec::new(), Vec::new()],
            start,
        };
        for part in 0..2 {
            envelope.white[part] = (1..SHAPE_TAPS).map(|_| StandardNormal.sample(&mut envelope.rng)).collect();
        }
        envelope
    }

    /// Makes the envelope up to sample `end` and forgets what lies before sample `begin`.
    pub(crate) fn cover(&mut self, begin: i64, end: i64) {
        let drop = (begin - self.start).clamp(0, self.parts[0].len() as i64) as usize;
        self.start += drop as i64;
        let count = (end - self.start).max(0) as usize;
        for (white, part) in self.white.iter_mut().zip(&mut self.parts) {
            part.drain(..drop);
            let missing = count.saturating_sub(part.len());
            white.extend((0..missing).map(|_| -> f32 { StandardNormal.sample(&mut self.rng) }));
            let first = part.len();
            part.resize(first + missing, 0.0);
            accumulate(&mut part[first..], white, &self.shape);
            white.drain(..missing);
        }
    }

    /// Adds to `out` the voltages of an antenna that the wave reaches `advance(t)` seconds early, from sample `first`
    /// on.
    pub(crate) fn add_received(
        &self,
        out: &mut [f32],
        first: u64,
        amplitude: f64,
        band: Band,
        advance: impl Fn(f64) -> f64,
    ) {
        let mut parts = [[0f32; HOLD]; 2];
        for (block, out) in out.chunks_mut(HOLD).enumerate() {
            let at = first + (block * HOLD) as u64;
            let seconds = (at as f64 + out.len() as f64 / 2.0) / band.sample_rate_hz;
            let advance_seconds = advance(seconds);
            let shift = advance_seconds * band.sample_rate_hz;
            let taps = delay_taps(shift - shift.floor());
            let begin = at as i64 + shift.floor() as i64 - (DELAY_TAPS as i64 / 2 - 1) - self.start;
            let begin = usize::try_from(begin).unwrap_or(0);
            for (delayed, part) in parts.iter_mut().zip(&self.parts) {
                delayed.fill(0.0);
                accumulate(&mut delayed[..out.len()], &part[begin..], &taps);
            }
            // Re((x + i y) (c + i s) i^t), which walks through x' -y' -x' y' as t grows.
            let turn = Complex::from_polar(amplitude, TAU * (band.centre_hz * advance_seconds).fract());
            let (c, s) = (turn.re as f32, turn.im as f32);
            for (offset, out) in out.iter_mut().enumerate() {
                let (x, y) = (parts[0][offset], parts[1][offset]);
                *out += match (at + offset as u64) % 4 {
                    0 => x * c - y * s,
                    1 => -(x * s + y * c),
                    2 => -(x * c - y * s),
                    _ => x * s + y * c,
                };
            }
        }
    }
}

/// The receiver's band.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Band {
    /// Samples a second.
    pub(crate) sample_rate_hz: f64,
    /// Sky frequency of the middle of the band.
    pub(crate) centre_hz: f64,
}

/// Samples before and after an interval that receiving it needs, for advances of up to `largest_seconds` either way.
pub(crate) fn margin(largest_seconds: f64, sample_rate_hz: f64) -> i64 {
    (largest_seconds * sample_rate_hz).ceil() as i64 + DELAY_TAPS as i64
}

/// `out[n] += sum_k taps[k] input[n + k]`.
fn accumulate(out: &mut [f32], input: &[f32], taps: &[f32]) {
    for (tap, &weight) in taps.iter().enumerate() {
        for (out, &value) in out.iter_mut().zip(&input[tap..]) {
            *out += weight * value;
        }
    }
}

/// Interpolates `fraction` of a sample after tap `DELAY_TAPS / 2 - 1`.
fn delay_taps(fraction: f64) -> [f32; DELAY_TAPS] {
    let middle = (DELAY_TAPS / 2 - 1) as f64 + fraction;
    std::array::from_fn(|tap| {
        let distance = tap as f64 - middle;
        (sinc(distance) * bell(distance / (DELAY_TAPS as f64 / 2.0 + 0.5))) as f32
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn interpolation_is_true_to_60_db_within_the_source_band() {
        for frequency in [0.0, 0.05, 0.1, 0.165] {
            for fraction in [0.0, 0.25, 0.5, 0.9] {
                let value: Complex<f64> = delay_taps(fraction)
                    .iter()
                    .enumerate()
                    .map(|(tap, &weight)| Complex::from_polar(f64::from(weight), TAU * frequency * tap as f64))
                    .sum();
                let wanted = Complex::from_polar(1.0, TAU * frequency * ((DELAY_TAPS / 2 - 1) as f64 + fraction));
                assert!((value - wanted).norm() < 1e-3, "{frequency} {fraction}: {value} {wanted}");
            }
        }
    }

    #[test]
    fn the_envelope_has_unit_mean_square() {
        let rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut envelope = Envelope::new(rng, -100);
        envelope.cover(-100, 100_000);
        let square: f32 = envelope.parts.iter().flatten().map(|value| value * value).sum::<f32>() / 100_100.0;
        // About 100 100 * 0.33 independent complex values: 1/sqrt(33 000) = 0.0055; five times that.
        assert!((square - 1.0).abs() < 0.028, "{square}");
    }
}
