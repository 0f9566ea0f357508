//! Delay of channelised samples: whole samples in the choice of the window, the rest as a phase over the channels.
//!
//! A delay `d` (samples) makes `y(t) = x(t - d)`. It is split into `coarse = rint(d)` and `fine = d - coarse`. The
//! spectrum at output time `t` is that of the window that starts at `t - coarse`, its phase referred to `t`, turned by
//!
//! - real samples: `-fine (k - N/2) / (2 N) + (coarse mod 4) / 4 + phase` turns in channel `k` of `N`,
//! - complex samples: `-fine (k - floor(N/2)) / N + phase` turns.
//!
//! Together with the coarse part's own phase that is `-d (f_k - f_mid) + phase` with `f_k` in cycles a sample and
//! `f_mid` the middle of the band (1/4 for real samples, 0 for complex ones): delay about the band centre, continuous
//! where `coarse` steps. Adding `-d f_mid` to the phase gives the delay of the samples themselves; adding `-d f_sky`
//! stops the fringe of a band whose middle is at `f_sky` on the sky.

use std::f64::consts::TAU;

use ndarray::{Array3, ArrayView2, ArrayView3};
use num_complex::Complex64 as C64;

/// `(coarse, fine)` of a delay in samples: the nearest integer, ties to even, and the rest.
pub fn split(delay_samples: f64) -> (i64, f64) {
    let coarse = delay_samples.round_ties_even();
    (coarse as i64, delay_samples - coarse)
}

/// MeerKAT's rule for delays of whole multiples of `alignment` ADC samples, `A`, as its F-engine has it: a window that
/// would begin with sample `original`, `fine` samples after where the delay puts it (`fine = original - exact`), begins
/// with the sample that is given instead, and `fine` grows by as much as it is later.
///
/// ```text
/// A even    aligned = floor((2 original + A - sign(fine)) / (2 A)) A
/// A odd     aligned = floor((original + floor(A / 2)) / A) A
/// ```
///
/// # Panics
/// If `alignment` is not positive.
pub fn aligned_start(original: i64, fine: f64, alignment: i64) -> (i64, f64) {
    assert!(alignment > 0);
    let sign = if fine > 0.0 { 1 } else { -i64::from(fine < 0.0) };
    let aligned = if alignment % 2 == 0 {
        (2 * original + alignment - sign).div_euclid(2 * alignment) * alignment
    } else {
        (original + alignment / 2).div_euclid(alignment) * alignment
    };
    (aligned, fine + (aligned - original) as f64)
}

/// `y[n] = x[n - coarse]`, 0 where `x` has no sample.
pub fn coarse_shift<T: Copy + Default>(x: &[T], coarse: i64) -> Vec<T> {
    let mut y = Vec::new();
    for n in 0..x.len() as i64 {
        let from = n - coarse;
        y.push(if from >= 0 && from < x.len() as i64 { x[from as usize] } else { T::default() });
    }
    y
}

/// Phase in turns by which the fine delay turns channel `channel` of `channels`.
pub fn fine_phase_turns(fine: f64, channel: usize, channels: usize, complex: bool) -> f64 {
    if complex {
        -fine * (channel as f64 - (channels / 2) as f64) / channels as f64
    } else {
        -fine * (channel as f64 - channels as f64 / 2.0) / (2.0 * channels as f64)
    }
}

/// Phase in turns that refers a coarse delay to the middle of the band.
pub fn coarse_phase_turns(coarse: i64, complex: bool) -> f64 {
    if complex { 0.0 } else { coarse.rem_euclid(4) as f64 / 4.0 }
}

/// Voltages `[channel][time][input]` that are channelised already, times a gain and a phase that is linear in the
/// channel:
///
/// ```text
/// gain[channel][input] exp(2 pi i (base[time][input] + k slope[time][input])) x[channel][time][input]
/// k = first_channel + channel
/// ```
///
/// with `base` and `slope` in turns.
///
/// # Panics
/// If the shapes differ.
pub fn rotate_voltages(
    voltages: ArrayView3<'_, C64>,
    base: ArrayView2<'_, f64>,
    slope: ArrayView2<'_, f64>,
    gains: ArrayView2<'_, C64>,
    first_channel: usize,
) -> Array3<C64> {
    Array3::from_shape_fn(voltages.dim(), |(channel, time, input)| {
        let turns = base[(time, input)] + (first_channel + channel) as f64 * slope[(time, input)];
        gains[(channel, input)] * C64::from_polar(1.0, TAU * turns) * voltages[(channel, time, input)]
    })
}

/// Turns a spectrum (channels ascending) for a delay and a phase.
pub fn rotate(spectrum: &mut [C64], coarse: i64, fine: f64, phase_turns: f64, complex: bool) {
    let channels = spectrum.len();
    for (channel, value) in spectrum.iter_mut().enumerate() {
        let turns =
            fine_phase_turns(fine, channel, channels, complex) + coarse_phase_turns(coarse, complex) + phase_turns;
        *value *= C64::from_polar(1.0, TAU * turns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pfb::{spectrum_complex, spectrum_real};
    use crate::window::{Window, pfb_weights};
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// A stationary random signal that is known at every real time: many tones of random frequency and phase.
    struct Source {
        /// Cycles a sample, phase in turns.
        tones: Vec<(f64, f64)>,
    }

    impl Source {
        fn new(seed: u64, low: f64, high: f64) -> Self {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            Self { tones: (0..300).map(|_| (rng.random_range(low..high), rng.random_range(0.0..1.0))).collect() }
        }

        fn complex(&self, t: f64) -> C64 {
            self.tones.iter().map(|&(nu, phase)| C64::from_polar(1.0, TAU * (nu * t + phase))).sum()
        }

        fn real(&self, t: f64) -> f64 {
            self.complex(t).re
        }
    }

    /// Least-squares slope of `phases` over their index.
    fn slope(phases: &[f64]) -> f64 {
        let middle = (phases.len() - 1) as f64 / 2.0;
        let mean = phases.iter().sum::<f64>() / phases.len() as f64;
        let (mut above, mut below) = (0.0, 0.0);
        for (i, phase) in phases.iter().enumerate() {
            above += (i as f64 - middle) * (phase - mean);
            below += (i as f64 - middle).powi(2);
        }
        above / below
    }

    const CHANNELS: usize = 16;
    const SPECTRA: usize = 60;

    /// `sum_t x_a conj(x_b)` of each channel, in turns, unwrapped from channel to channel.
    fn fringe_turns(a: &[Vec<C64>], b: &[Vec<C64>]) -> Vec<f64> {
        let mut turns: Vec<f64> = Vec::new();
        for channel in 0..CHANNELS {
            let sum: C64 = a.iter().zip(b).map(|(a, b)| a[channel] * b[channel].conj()).sum();
            let mut turn = sum.arg() / TAU;
            if let Some(last) = turns.last() {
                turn += (last - turn).round();
            }
            turns.push(turn);
        }
        turns
    }

    #[test]
    fn delays_split_to_the_nearest_sample_ties_to_even() {
        for (delay, coarse, fine) in
            [(0.0, 0, 0.0), (2.5, 2, 0.5), (3.5, 4, -0.5), (-2.25, -2, -0.25), (7.75, 8, -0.25)]
        {
            assert_eq!(split(delay), (coarse, fine));
        }
    }

    #[test]
    fn coarse_shift_moves_samples_later() {
        assert_eq!(coarse_shift(&[1, 2, 3, 4], 1), [0, 1, 2, 3]);
        assert_eq!(coarse_shift(&[1, 2, 3, 4], -3), [4, 0, 0, 0]);
        assert_eq!(coarse_shift(&[1, 2, 3, 4], 9), [0; 4]);
    }

    #[test]
    fn rotated_voltages_are_rotated_spectra() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut value = || C64::new(rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0));
        let voltages = Array3::from_shape_simple_fn((9, 2, 3), &mut value);
        let gains = ndarray::Array2::from_shape_simple_fn((9, 3), &mut value);
        let values =
            [[(3, 0.2, 0.1), (-6, -0.5, 0.7), (0, 0.0, 0.25)], [(5, 0.4, -0.3), (1, 0.1, 0.0), (2, -0.3, 0.9)]];
        for complex in [false, true] {
            let turns = |time: usize, input: usize, channel| {
                let (coarse, fine, phase): (i64, f64, f64) = values[time][input];
                fine_phase_turns(fine, channel, 9, complex) + coarse_phase_turns(coarse, complex) + phase
            };
            let base = ndarray::Array2::from_shape_fn((2, 3), |(time, input)| turns(time, input, 0));
            let slope =
                ndarray::Array2::from_shape_fn((2, 3), |(time, input)| turns(time, input, 1) - turns(time, input, 0));
            let rotated = rotate_voltages(voltages.view(), base.view(), slope.view(), gains.view(), 0);
            // The last channels alone.
            let part = rotate_voltages(
                voltages.slice(ndarray::s![4.., .., ..]),
                base.view(),
                slope.view(),
                gains.slice(ndarray::s![4.., ..]),
                4,
            );
            assert_eq!(part, rotated.slice(ndarray::s![4.., .., ..]));
            for (time, values) in values.into_iter().enumerate() {
                for (input, (coarse, fine, phase)) in values.into_iter().enumerate() {
                    let mut spectrum: Vec<C64> =
                        (0..9).map(|k| gains[(k, input)] * voltages[(k, time, input)]).collect();
                    rotate(&mut spectrum, coarse, fine, phase, complex);
                    for (k, expected) in spectrum.into_iter().enumerate() {
                        assert!((rotated[(k, time, input)] - expected).norm() < 1e-13, "{complex} {time} {input} {k}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_fringe_slope_of_a_delayed_source_gives_the_delay_back() {
        let step = 2 * CHANNELS;
        let weights = pfb_weights(Window::Hann, 8, step, 1.0);
        let source = Source::new(1, 0.0, 0.5);
        let length = weights.len() + SPECTRA * step;
        let spectra = |delay: f64| -> Vec<Vec<C64>> {
            let x: Vec<f64> = (0..length).map(|n| source.real(n as f64 - delay)).collect();
            (0..SPECTRA).map(|m| spectrum_real(&x, &weights, CHANNELS, m * step, (m * step) as u64)).collect()
        };
        let undelayed = spectra(0.0);
        for delay in [0.3, -1.6, 4.0] {
            let turns = fringe_turns(&spectra(delay), &undelayed);
            // Channel k is at k / (2 N) cycles a sample: the fringe turns by -delay / (2 N) a channel. What a channel
            // measures is the phase at the mean frequency of its 300 / 16 tones, off its middle by 0.29 / sqrt(19) =
            // 0.066 channels rms. The slope over 16 channels (sum of squared distances 340) is then off by
            // 0.066 / sqrt(340) = 0.4% rms. Five times that is allowed.
            let found = -slope(&turns) * step as f64;
            assert!((found - delay).abs() < 0.02 * delay.abs(), "{found} {delay}");
        }
    }

    /// `sum_i w_i s(t + fine + i) exp(-2 pi i f (t + fine + i))`: the channel at frequency `f` of the undelayed source,
    /// with every weight `fine` samples late.
    fn late_window(source: impl Fn(f64) -> C64, weights: &[f64], f: f64, t: f64) -> C64 {
        let term = |(i, &w): (usize, &f64)| {
            let at = t + i as f64;
            w * source(at) * C64::from_polar(1.0, -TAU * f * at)
        };
        weights.iter().enumerate().map(term).sum()
    }

    #[test]
    fn delaying_an_early_source_gives_the_source_but_for_a_window_fine_samples_late() {
        for (channels, complex) in [(16, false), (7, false), (16, true), (7, true)] {
            let step = if complex { channels } else { 2 * channels };
            let weights = pfb_weights(Window::Hann, 4, step, 1.0);
            let source = Source::new(2, -0.5, 0.5);
            for delay in [0.0, 0.37, 5.5, 6.5, 13.2, 20.75, -3.3] {
                // The wave arrives `delay` samples early.
                let early: Vec<C64> = (0..weights.len() + 60).map(|n| source.complex(n as f64 + delay)).collect();
                let (coarse, fine) = split(delay);
                let t = 30;
                let start = (t as i64 - coarse) as usize;
                let mut spectrum = if complex {
                    spectrum_complex(&early, &weights, channels, start, t)
                } else {
                    let early: Vec<f64> = early.iter().map(|value| value.re).collect();
                    spectrum_real(&early, &weights, channels, start, t)
                };
                // Delay about the band centre, and the phase that makes it the delay of the samples.
                rotate(&mut spectrum, coarse, fine, if complex { 0.0 } else { -delay * 0.25 }, complex);
                for (channel, value) in spectrum.into_iter().enumerate() {
                    let at = t as f64 + fine;
                    let expected = if complex {
                        let f = (channel as f64 - (channels / 2) as f64) / channels as f64;
                        late_window(|t| source.complex(t), &weights, f, at)
                    } else {
                        late_window(|t| C64::new(source.real(t), 0.0), &weights, channel as f64 / step as f64, at)
                    };
                    // 300 tones, weights of sum of squares 1 over up to 128 samples, rounding of phases of up to 100
                    // turns.
                    let bound = 300.0 * 128f64.sqrt() * 100.0 * TAU * 2f64.powi(-52);
                    assert!((value - expected).norm() < bound, "{channels} {complex} {delay} {channel}");
                }
            }
        }
    }

    #[test]
    fn delaying_an_early_source_flattens_its_fringe() {
        let step = 2 * CHANNELS;
        let weights = pfb_weights(Window::Hann, 8, step, 1.0);
        let source = Source::new(2, 0.0, 0.5);
        let length = weights.len() + SPECTRA * step + 40;
        let undelayed: Vec<f64> = (0..length).map(|n| source.real(n as f64)).collect();
        for delay in [0.0, 0.37, 5.5, 6.5, 13.2, 20.0] {
            let early: Vec<f64> = (0..length).map(|n| source.real(n as f64 + delay)).collect();
            let (coarse, fine) = split(delay);
            let (mut a, mut b) = (Vec::new(), Vec::new());
            for m in 2..SPECTRA {
                let t = m * step;
                let mut spectrum = spectrum_real(&early, &weights, CHANNELS, (t as i64 - coarse) as usize, t as u64);
                rotate(&mut spectrum, coarse, fine, -delay * 0.25, false);
                a.push(spectrum);
                b.push(spectrum_real(&undelayed, &weights, CHANNELS, t, t as u64));
            }
            // A tone off the channel's middle by g cycles a sample keeps a phase of g fine, and the filter passes those
            // within one channel, 1 / (2 N). (Uncorrected, the outer channels would be at delay / 4 turns.)
            for turn in fringe_turns(&a, &b) {
                assert!(turn.abs() < fine.abs() / step as f64 + 1e-12, "{delay}: {turn}");
            }
        }
    }

    #[test]
    fn the_phase_over_the_channels_does_not_step_where_the_coarse_delay_does() {
        // d = 6.5 is (6, 0.5) or (7, -0.5): the coarse part's own phase is -coarse f_k.
        for (complex, channels) in [(false, 12), (false, 7), (true, 12), (true, 7)] {
            for (k, (low, high)) in (0..channels).map(|k| (k, ((6, 0.5), (7, -0.5)))) {
                let f = if complex {
                    (k as f64 - (channels / 2) as f64) / channels as f64
                } else {
                    k as f64 / (2 * channels) as f64
                };
                let total = |(coarse, fine): (i64, f64)| {
                    fine_phase_turns(fine, k, channels, complex) + coarse_phase_turns(coarse, complex)
                        - coarse as f64 * f
                };
                let step = total(high) - total(low);
                assert!((step - step.round()).abs() < 1e-12, "{complex} {channels} {k}: {step}");
            }
        }
    }
}
