//! Narrowband down-conversion (DDC): mix, filter, decimate.
//!
//! For samples `x[0..n]`, a filter `h[0..K]`, a decimation `S`, a mixer frequency `f` in cycles per sample and a phase
//! `b` in turns, output `j` is
//!
//! `y_j = e^(2 pi i (f (n0 + S j) + b)) sum_k x[S j + k] h_k e^(2 pi i f k)`,
//!
//! where `n0` is the absolute sample counter of `x[0]`. The mixer is a function of absolute time: the same sample gets
//! the same phase in whichever chunk it arrives. There are `(n - K) / S + 1` outputs (rounded down), none if `n < K`. A
//! tone at frequency `-f` lands on DC.
//!
//! [`retunes`] has the formula with frequencies that change, [`counted_samples`] says which samples a stream counts.

mod counted;
pub mod retunes;

use std::f64::consts::TAU;

pub use counted::counted_samples;
use num_complex::Complex;

type C64 = Complex<f64>;

/// The fraction of `|value|` as a 128-bit binary fraction, and whether `value` is negative.
///
/// Exact for every `f64` that is 0 or at least `2^-75` in magnitude; below that, cut off at `2^-128`.
fn fraction(value: f64) -> (u128, bool) {
    // |fract| < 1, so the scaled value is below 2^128; the scaling by a power of two is exact.
    ((value.abs().fract() * 2f64.powi(128)) as u128, value < 0.0)
}

/// The phase `f n` in turns, reduced to `[0, 1)`: exact in 128-bit fixed point, then rounded once to `f64`.
///
/// `f` counts as the exact value of its `f64`. A frequency that is not finite gives 0.
pub fn mixer_turns(frequency: f64, sample: u64) -> f64 {
    let (magnitude, negative) = fraction(frequency);
    let product = magnitude.wrapping_mul(u128::from(sample));
    let turns = if negative { product.wrapping_neg() } else { product };
    // The 53 most significant bits are an f64 exactly, and stay below 1.
    (turns >> 75) as f64 * 2f64.powi(-53)
}

/// Number of outputs of `samples` samples: `(samples - taps) / decimation + 1`, or 0 if there are fewer samples than
/// taps.
///
/// # Panics
/// If `decimation` is 0.
pub fn outputs(samples: usize, taps: usize, decimation: usize) -> usize {
    match samples.checked_sub(taps) {
        Some(rest) => rest / decimation + 1,
        None => 0,
    }
}

/// Down-converts complex samples; see the [module](self) for the formula.
///
/// `frequency` is `f` in cycles per sample, `phase_turns` is `b`, `first_sample` is the absolute counter of `x[0]`.
///
/// # Panics
/// If `decimation` is 0 or the filter is empty.
pub fn down_convert(
    x: &[C64],
    filter: &[f64],
    decimation: usize,
    frequency: f64,
    phase_turns: f64,
    first_sample: u64,
) -> Vec<C64> {
    assert!(!filter.is_empty(), "the filter has no taps");
    let mut y = Vec::new();
    for j in 0..outputs(x.len(), filter.len(), decimation) {
        let mut sum = C64::new(0.0, 0.0);
        for (k, &h) in filter.iter().enumerate() {
            let mixer = C64::cis(TAU * mixer_turns(frequency, k as u64));
            sum += x[decimation * j + k] * h * mixer;
        }
        let turns = mixer_turns(frequency, first_sample.wrapping_add((decimation * j) as u64)) + phase_turns.fract();
        y.push(C64::cis(TAU * turns) * sum);
    }
    y
}

/// Down-converts real samples, as [`down_convert`] of complex samples without imaginary part.
///
/// # Panics
/// If `decimation` is 0 or the filter is empty.
pub fn down_convert_real(
    x: &[f64],
    filter: &[f64],
    decimation: usize,
    frequency: f64,
    phase_turns: f64,
    first_sample: u64,
) -> Vec<C64> {
    let x: Vec<C64> = x.iter().map(|&value| C64::new(value, 0.0)).collect();
    down_convert(&x, filter, decimation, frequency, phase_turns, first_sample)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// A complex tone `e^(2 pi i f n)` for absolute samples from `first`.
    fn tone(frequency: f64, first: u64, length: usize) -> Vec<C64> {
        (0..length).map(|n| C64::cis(TAU * mixer_turns(frequency, first + n as u64))).collect()
    }

    /// A lopsided filter, so that an error of order or of conjugation shows.
    fn filter(taps: usize) -> Vec<f64> {
        (0..taps).map(|k| (1.0 + k as f64) / (taps as f64 + 0.3 * (k * k) as f64)).collect()
    }

    fn noise(length: usize, seed: u64) -> Vec<C64> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        (0..length).map(|_| C64::new(rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0))).collect()
    }

    /// Rounding of `terms` products of values up to `size`, with a few roundings for the phases.
    fn bound(terms: usize, size: f64) -> f64 {
        (terms as f64 + 16.0) * f64::EPSILON * size * terms as f64
    }

    #[test]
    fn a_tone_at_the_centre_lands_on_dc_with_the_gain_of_the_filter() {
        let (centre, h) = (0.171_875_3, filter(13));
        let gain: f64 = h.iter().sum();
        for decimation in [1, 2, 7, 13, 20] {
            let y = down_convert(&tone(centre, 0, 200), &h, decimation, -centre, 0.0, 0);
            assert_eq!(y.len(), (200 - 13) / decimation + 1);
            for value in y {
                assert!((value - gain).norm() < bound(13, 2.0), "{value} {gain}");
            }
        }
    }

    #[test]
    fn a_tone_off_centre_shows_the_transfer_function_of_the_filter() {
        // x_n = e^(2 pi i (c + d) n) gives y_j = e^(2 pi i d S j) sum_k h_k e^(2 pi i d k).
        let (centre, h, decimation) = (0.2, filter(16), 5);
        for offset in [-0.31, -0.05, 0.001, 0.125, 0.5] {
            let y = down_convert(&tone(centre + offset, 0, 300), &h, decimation, -centre, 0.0, 0);
            let transfer: C64 = h.iter().enumerate().map(|(k, &h)| h * C64::cis(TAU * offset * k as f64)).sum();
            for (j, value) in y.iter().enumerate() {
                let expected = C64::cis(TAU * offset * (decimation * j) as f64) * transfer;
                // centre + offset is rounded: its error, at most 2^-54, times the sample number is the phase's.
                assert!((value - expected).norm() < bound(16, 2.0) + TAU * 300.0 * 2f64.powi(-54) * 16.0, "{offset}");
            }
        }
    }

    #[test]
    fn a_real_tone_gives_half_its_amplitude_at_dc_and_the_image_where_the_filter_puts_it() {
        let (centre, h, decimation) = (0.1, filter(10), 3);
        let x: Vec<f64> = tone(centre, 0, 100).iter().map(|value| value.re).collect();
        let y = down_convert_real(&x, &h, decimation, -centre, 0.0, 0);
        let gain: f64 = h.iter().sum();
        let image: C64 = h.iter().enumerate().map(|(k, &h)| h * C64::cis(-TAU * 2.0 * centre * k as f64)).sum();
        for (j, value) in y.iter().enumerate() {
            let expected = 0.5 * gain + 0.5 * image * C64::cis(-TAU * 2.0 * centre * (decimation * j) as f64);
            assert!((value - expected).norm() < bound(10, 2.0) + TAU * 200.0 * f64::EPSILON * 10.0);
        }
    }

    #[test]
    fn an_impulse_shows_the_mixed_filter_backwards() {
        let (h, f, b) = (filter(9), 0.3, 0.11);
        let mut x = vec![C64::new(0.0, 0.0); 30];
        x[12] = C64::new(0.0, 2.0);
        let y = down_convert(&x, &h, 1, f, b, 0);
        for (j, value) in y.iter().enumerate() {
            // The impulse is multiplied by the mixer at its own time, whatever the output.
            let expected = match 12usize.checked_sub(j) {
                Some(k) if k < 9 => C64::new(0.0, 2.0) * h[k] * C64::cis(TAU * (f * 12.0 + b)),
                _ => C64::new(0.0, 0.0),
            };
            assert!((value - expected).norm() < bound(9, 2.0) + TAU * 12.0 * f64::EPSILON * 4.0, "{j}");
        }
    }

    #[test]
    fn down_conversion_is_linear() {
        let (a, b, h) = (noise(120, 1), noise(120, 2), filter(20));
        let (p, q) = (C64::new(0.3, -1.2), C64::new(-0.7, 0.4));
        let sum: Vec<C64> = a.iter().zip(&b).map(|(a, b)| p * a + q * b).collect();
        let of = |x: &[C64]| down_convert(x, &h, 4, 0.37, 0.2, 99);
        for ((y, a), b) in of(&sum).iter().zip(of(&a)).zip(of(&b)) {
            assert!((y - (p * a + q * b)).norm() < bound(20, 8.0));
        }
    }

    #[test]
    fn the_mixer_is_continuous_across_chunks_at_every_age() {
        let h = filter(11);
        for start in [0u64, 12_345, 100_000_000_000_000, u64::MAX - 400] {
            let x = noise(200, 3);
            let whole = down_convert(&x, &h, 4, 0.123_456_789, -0.3, start);
            let part = down_convert(&x[80..], &h, 4, 0.123_456_789, -0.3, start + 80);
            assert_eq!(whole[20..], part[..], "{start}");
        }
    }

    #[test]
    fn the_phase_after_1e14_samples_is_that_of_exact_arithmetic() {
        // f = 3 / 1024 is exact in f64: the phase repeats every 1024 samples, for ever.
        let x = tone(-3.0 / 1024.0, 100_000_000_000_000 % 1024, 50);
        let h = filter(8);
        let old = down_convert(&x, &h, 2, 3.0 / 1024.0, 0.0, 100_000_000_000_000);
        let gain: f64 = h.iter().sum();
        for value in old {
            assert!((value - gain).norm() < bound(8, 2.0));
        }
        // 0.1 is not: its f64 is 3602879701896397 / 2^55.
        let n = 100_000_000_000_001u64;
        let exact = ((3_602_879_701_896_397u128 * u128::from(n)) % (1 << 55)) as f64 / 2f64.powi(55);
        assert!((mixer_turns(0.1, n) - exact).abs() <= 2f64.powi(-53));
        assert!((mixer_turns(-0.1, n) - (1.0 - exact)).abs() <= 2f64.powi(-53));
        assert_eq!(mixer_turns(7.125, 12), 0.5, "whole turns drop out");
    }

    #[test]
    fn the_mixer_phase_survives_tiny_and_absurd_frequencies() {
        assert_eq!(mixer_turns(0.0, u64::MAX), 0.0);
        assert_eq!(mixer_turns(-0.0, u64::MAX), 0.0);
        assert_eq!(mixer_turns(f64::NAN, 5), 0.0);
        assert_eq!(mixer_turns(f64::INFINITY, 5), 0.0);
        assert_eq!(mixer_turns(1e300, 5), 0.0, "a whole number of turns");
        assert!(mixer_turns(-1e-300, u64::MAX) < 1.0);
        assert_eq!(mixer_turns(0.5, u64::MAX), 0.5);
        assert_eq!(mixer_turns(-0.25, 3), 0.25);
    }

    #[test]
    fn fewer_samples_than_taps_give_nothing() {
        assert!(down_convert(&noise(9, 5), &filter(10), 3, 0.1, 0.0, 0).is_empty());
        assert!(down_convert(&[], &filter(1), 1, 0.1, 0.0, 0).is_empty());
        assert_eq!(down_convert(&noise(10, 5), &filter(10), 3, 0.1, 0.0, 0).len(), 1);
    }
}
