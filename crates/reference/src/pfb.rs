//! Polyphase filter bank.
//!
//! `taps * step` weights `w` over samples `x` give filtered blocks
//! `z[s][p] = sum_t w[t step + p] x[off + (s + t) step + p]`, whose DFT over `p` is the spectrum. Real samples:
//! `step = 2 N`, channels are bins `0 .. N` (the Nyquist bin `N` is dropped). Complex samples: `step = N`, and channel
//! `k` is the bin of frequency `k - floor(N / 2)`: ascending, 0 Hz in the middle.
//!
//! Phases are referred to absolute time: the spectrum stamped with sample counter `a` is multiplied by
//! `exp(-2 pi i b a / step)` for bin `b`. A tone at `nu` cycles a sample then gives, in every spectrum and bin,
//! `X_b(a) = W(nu - b / step) exp(2 pi i (nu - b / step) a)` with `W(d) = sum_i w_i exp(2 pi i d i)`.

use std::ops::{Add, Mul};

use ndarray::{Array2, Array3, ArrayView2};
use num_complex::Complex64 as C64;

use crate::dft::{dft, root_of_unity};

/// `z[s][p] = sum_t w[t step + p] x[offset + (s + t) step + p]` for `s = 0 .. spectra`.
///
/// # Panics
/// If `x` is too short.
pub fn pfb_fir<T>(x: &[T], weights: &[f64], step: usize, offset: usize, spectra: usize) -> Array2<T>
where
    T: Copy + Default + Add<Output = T> + Mul<f64, Output = T>,
{
    let taps = weights.len() / step;
    Array2::from_shape_fn((spectra, step), |(s, p)| {
        let mut sum = T::default();
        for t in 0..taps {
            sum = sum + x[offset + (s + t) * step + p] * weights[t * step + p];
        }
        sum
    })
}

/// The `N` channels of the spectrum whose window starts at `x[start]`, referred to sample counter `stamp`.
///
/// # Panics
/// If the number of weights is not a multiple of `2 channels`, or `x` is too short.
pub fn spectrum_real(x: &[f64], weights: &[f64], channels: usize, start: usize, stamp: u64) -> Vec<C64> {
    let filtered = pfb_fir(x, weights, 2 * channels, start, 1);
    let filtered: Vec<C64> = filtered.iter().map(|&z| C64::new(z, 0.0)).collect();
    let bins = absolute_phase(dft(&filtered, -1.0), stamp);
    bins[..channels].to_vec()
}

/// As [`spectrum_real`] for complex samples.
///
/// # Panics
/// If the number of weights is not a multiple of `channels`, or `x` is too short.
pub fn spectrum_complex(x: &[C64], weights: &[f64], channels: usize, start: usize, stamp: u64) -> Vec<C64> {
    let filtered = pfb_fir(x, weights, channels, start, 1);
    let bins = absolute_phase(dft(&filtered.into_raw_vec_and_offset().0, -1.0), stamp);
    // Channel k has frequency k - floor(N / 2), which is bin k + ceil(N / 2) modulo N.
    (0..channels).map(|channel| bins[(channel + channels.div_ceil(2)) % channels]).collect()
}

/// Multiplies bin `b` by `exp(-2 pi i b stamp / step)`, with the product reduced modulo `step` in integers.
fn absolute_phase(bins: Vec<C64>, stamp: u64) -> Vec<C64> {
    let step = bins.len() as u64;
    let turned = |(bin, value): (usize, C64)| value * root_of_unity(bin as u64 * (stamp % step), step).conj();
    bins.into_iter().enumerate().map(turned).collect()
}

/// Number of complete spectra, `stride` samples apart, in `samples` samples.
pub fn spectra(samples: usize, weights: usize, stride: usize) -> usize {
    if samples < weights { 0 } else { (samples - weights) / stride + 1 }
}

/// Real samples `[input][time]` to spectra `[channel][time][input]`: spectrum `m` starts at sample `m stride`, and the
/// first sample has the absolute counter `first_sample`.
///
/// # Panics
/// If the number of weights is not a multiple of `2 channels`.
pub fn channelize_real(
    samples: ArrayView2<'_, f64>,
    weights: &[f64],
    channels: usize,
    stride: usize,
    first_sample: u64,
) -> Array3<C64> {
    assert!(weights.len().is_multiple_of(2 * channels));
    let times = spectra(samples.ncols(), weights.len(), stride);
    let mut out = Array3::default((channels, times, samples.nrows()));
    for (input, row) in samples.outer_iter().enumerate() {
        for time in 0..times {
            let start = time * stride;
            let spectrum = spectrum_real(&row.to_vec(), weights, channels, start, first_sample + start as u64);
            for (channel, value) in spectrum.into_iter().enumerate() {
                out[(channel, time, input)] = value;
            }
        }
    }
    out
}

/// As [`channelize_real`] for complex samples.
///
/// # Panics
/// If the number of weights is not a multiple of `channels`.
pub fn channelize_complex(
    samples: ArrayView2<'_, C64>,
    weights: &[f64],
    channels: usize,
    stride: usize,
    first_sample: u64,
) -> Array3<C64> {
    assert!(weights.len().is_multiple_of(channels));
    let times = spectra(samples.ncols(), weights.len(), stride);
    let mut out = Array3::default((channels, times, samples.nrows()));
    for (input, row) in samples.outer_iter().enumerate() {
        for time in 0..times {
            let start = time * stride;
            let spectrum = spectrum_complex(&row.to_vec(), weights, channels, start, first_sample + start as u64);
            for (channel, value) in spectrum.into_iter().enumerate() {
                out[(channel, time, input)] = value;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use super::*;
    use crate::window::{Window, pfb_weights};
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// Rounding of a sum of `terms` products of magnitude at most 1 in f64, phases of up to 2^12 turns included.
    fn bound(terms: usize) -> f64 {
        terms as f64 * 2f64.powi(-38)
    }

    fn noise(length: usize, seed: u64) -> Vec<f64> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        (0..length).map(|_| rng.random_range(-1.0..1.0)).collect()
    }

    fn complex_noise(length: usize, seed: u64) -> Vec<C64> {
        let (re, im) = (noise(length, seed), noise(length, seed + 1));
        re.into_iter().zip(im).map(|(re, im)| C64::new(re, im)).collect()
    }

    fn row<T: Clone>(x: &[T]) -> ArrayView2<'_, T> {
        ArrayView2::from_shape((1, x.len()), x).unwrap()
    }

    fn tone(nu: f64, first_sample: u64, length: usize) -> Vec<C64> {
        (0..length).map(|i| C64::from_polar(1.0, TAU * (nu * (first_sample + i as u64) as f64).fract())).collect()
    }

    /// `W(d) = sum_i w_i exp(2 pi i d i)`.
    fn transform_of_weights(weights: &[f64], d: f64) -> C64 {
        weights.iter().enumerate().map(|(i, &w)| w * C64::from_polar(1.0, TAU * (d * i as f64).fract())).sum()
    }

    #[test]
    fn an_impulse_gives_the_weights_one_tap_a_spectrum() {
        let (taps, step, spectra) = (4, 6, 3);
        let weights = pfb_weights(Window::Hamming, taps, step, 1.0);
        for position in 0..(taps + spectra - 1) * step {
            let mut x = vec![0.0; 2 + (taps + spectra - 1) * step];
            x[2 + position] = 1.0;
            let filtered = pfb_fir(&x, &weights, step, 2, spectra);
            for ((s, p), &value) in filtered.indexed_iter() {
                // The impulse is in tap t of spectrum s if it lies t whole steps after the spectrum's start.
                let tap = (position / step).checked_sub(s).filter(|&t| t < taps && position % step == p);
                assert_eq!(value, tap.map_or(0.0, |t| weights[t * step + p]));
            }
        }
    }

    #[test]
    fn a_complex_tone_gives_the_weights_transform_at_its_distance_from_the_channel() {
        for (channels, stride, first_sample) in [(8, 8, 0), (8, 6, 5), (9, 3, 1000), (1, 1, 3), (5, 5, 7)] {
            let weights = pfb_weights(Window::Hann, 4, channels, 1.0);
            for nu in [0.0, 0.25, -0.5 / channels as f64, 1.37 / channels as f64, 0.49, -0.31] {
                let x = tone(nu, first_sample, weights.len() + 5 * stride);
                let spectra = channelize_complex(row(&x), &weights, channels, stride, first_sample);
                assert_eq!(spectra.dim(), (channels, 6, 1));
                for ((channel, time, _), value) in spectra.indexed_iter() {
                    let d = nu - (channel as f64 - (channels / 2) as f64) / channels as f64;
                    let stamp = (first_sample + (time * stride) as u64) as f64;
                    let expected = transform_of_weights(&weights, d) * C64::from_polar(1.0, TAU * (d * stamp).fract());
                    assert!((value - expected).norm() < bound(weights.len()), "{channels} {nu} {channel}");
                }
            }
        }
    }

    #[test]
    fn a_real_tone_is_half_of_each_of_two_complex_ones() {
        for (channels, stride, first_sample) in [(8, 16, 0), (8, 12, 5), (5, 5, 1001), (1, 2, 3)] {
            let step = 2 * channels;
            let weights = pfb_weights(Window::Blackman, 6, step, 0.9);
            for nu in [0.0, 0.1, 0.23, 0.5] {
                let x: Vec<f64> =
                    tone(nu, first_sample, weights.len() + 3 * stride).iter().map(|value| value.re).collect();
                let spectra = channelize_real(row(&x), &weights, channels, stride, first_sample);
                for ((channel, time, _), value) in spectra.indexed_iter() {
                    let stamp = (first_sample + (time * stride) as u64) as f64;
                    let response = |nu: f64| {
                        let d = nu - channel as f64 / step as f64;
                        0.5 * transform_of_weights(&weights, d) * C64::from_polar(1.0, TAU * (d * stamp).fract())
                    };
                    assert!((value - (response(nu) + response(-nu))).norm() < bound(weights.len()));
                }
            }
        }
    }

    #[test]
    fn a_tone_in_the_middle_of_a_channel_is_strongest_there_and_the_same_in_every_spectrum() {
        let (channels, taps) = (12, 8);
        let weights = pfb_weights(Window::Hann, taps, 2 * channels, 1.0);
        let gain: f64 = weights.iter().sum();
        // 16/15-fold oversampling is no whole number of steps: 22.5 samples; 4/3 is 18.
        for stride in [24, 18] {
            for channel in 1..channels {
                let nu = channel as f64 / (2 * channels) as f64;
                let x: Vec<f64> = tone(nu, 0, weights.len() + 9 * stride).iter().map(|value| 2.0 * value.re).collect();
                let spectra = channelize_real(row(&x), &weights, channels, stride, 0);
                for time in 0..spectra.dim().1 {
                    // The image at -nu is at least two channels away: the Hann-windowed sinc of 8 taps is below 1e-3.
                    assert!((spectra[(channel, time, 0)] - gain).norm() < 1e-3 * gain);
                    for other in (0..channels).filter(|&other| other.abs_diff(channel) > 1) {
                        assert!(spectra[(other, time, 0)].norm() < 1e-3 * gain, "{other} {channel}");
                    }
                }
            }
        }
    }

    #[test]
    fn one_rectangular_tap_conserves_power() {
        for channels in [1, 2, 7, 60] {
            let x = complex_noise(channels, 3);
            let weights = pfb_weights(Window::Rect, 1, channels, 0.0);
            let spectra = channelize_complex(row(&x), &weights, channels, channels, 0);
            let power: f64 = spectra.iter().map(C64::norm_sqr).sum();
            let expected: f64 = x.iter().map(C64::norm_sqr).sum();
            assert!((power - expected).abs() < bound(channels) * expected);

            let x = noise(2 * channels, 4);
            let weights = pfb_weights(Window::Rect, 1, 2 * channels, 0.0);
            let spectra = channelize_real(row(&x), &weights, channels, 2 * channels, 0);
            // Channel 0 counts once, the others twice for their negative frequencies, the Nyquist bin is the
            // alternating sum.
            let twice = 2.0 * spectra.iter().map(C64::norm_sqr).sum::<f64>() - spectra[(0, 0, 0)].norm_sqr();
            let nyquist: f64 =
                x.iter().zip(&weights).enumerate().map(|(i, (x, w))| if i % 2 == 0 { x * w } else { -x * w }).sum();
            let expected: f64 = x.iter().map(|x| x * x).sum();
            assert!((twice + nyquist * nyquist - expected).abs() < bound(channels) * expected);
        }
    }

    #[test]
    fn the_filter_bank_is_linear() {
        let (channels, a) = (10, -2.5);
        let weights = pfb_weights(Window::Hann, 3, 2 * channels, 1.0);
        let (x, y) = (noise(100, 5), noise(100, 6));
        let sum: Vec<f64> = x.iter().zip(&y).map(|(x, y)| a * x + y).collect();
        let [sum, x, y] = [sum, x, y].map(|x| channelize_real(row(&x), &weights, channels, 15, 4));
        for (index, value) in sum.indexed_iter() {
            assert!((value - (a * x[index] + y[index])).norm() < bound(4 * weights.len()));
        }
    }

    #[test]
    fn spectra_at_the_same_absolute_sample_are_the_same_whatever_came_before() {
        let (channels, stride, cut) = (6, 4, 20);
        let weights = pfb_weights(Window::Kaiser { beta: 5.0 }, 4, channels, 1.0);
        let x = complex_noise(100, 8);
        let whole = channelize_complex(row(&x), &weights, channels, stride, 10);
        let part = channelize_complex(row(&x[cut..]), &weights, channels, stride, 10 + cut as u64);
        for ((channel, time, _), value) in part.indexed_iter() {
            assert_eq!(*value, whole[(channel, time + cut / stride, 0)]);
        }
    }

    #[test]
    fn absolute_phase_is_exact_at_1e14_samples() {
        let (channels, stride) = (12, 9);
        let weights = pfb_weights(Window::Hann, 4, channels, 1.0);
        let x = complex_noise(100, 9);
        // A whole number of steps apart, the phases are equal, bit for bit.
        let steps = 100_000_000_000_000 / channels as u64;
        let early = channelize_complex(row(&x), &weights, channels, stride, 5);
        assert_eq!(early, channelize_complex(row(&x), &weights, channels, stride, 5 + steps * channels as u64));
    }
}
