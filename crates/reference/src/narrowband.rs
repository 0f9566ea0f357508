//! The narrowband F-engine: mix, low-pass, decimate, delay, polyphase filter bank; the channels that are kept.
//!
//! Of ADC samples `x`, a centre `c` in cycles a sample, a filter `h`, a decimation `S` and weights `w` of `N` channels,
//! an input without delay gives
//!
//! ```text
//! y_j = sum_k x[S j + k] h_k exp(-2 pi i c (S j + k))                                   crate::ddc
//! X[k](t) = exp(-2 pi i b_k t / (S N)) sum_p exp(-2 pi i b_k p / N) sum_i w[i N + p] y[t / S + i N + p]
//! b_k = k - floor(N / 2)                                                                crate::pfb
//! ```
//!
//! A tone `exp(2 pi i (c + e) n)` then gives `H(e) W(S e - b_k / N) exp(2 pi i (e - b_k / (S N)) t)`, with
//! `H(e) = sum_k h_k exp(2 pi i e k)` and `W` as in [`crate::pfb`].
//!
//! A delay of `d(t)` ADC samples is one of `d(t) / S` down-converted samples at `t / S`, split and applied as
//! [`crate::delay`] says of complex samples: the whole delay turns channel `k` by `-d b_k / (S N)` turns, its distance
//! from the centre of the narrow band in cycles per ADC sample.

use std::ops::Range;

use ndarray::{Array2, ArrayView2};
use num_complex::Complex64 as C64;

use crate::ddc::down_convert;
use crate::f_engine::{FEngine, Frames};

/// The inner half of `channels` channels in ascending frequency: those of `floor(C / 2)` below 0 Hz on, `C` of them.
///
/// # Panics
/// If the number is odd.
pub fn inner_half(channels: usize) -> Range<usize> {
    assert!(channels.is_multiple_of(2));
    let (zero, kept) = (channels / 2, channels / 2);
    zero - kept / 2..zero - kept / 2 + kept
}

/// What a narrowband F-engine computes.
#[derive(Debug, Clone)]
pub struct NarrowbandFEngine<'a> {
    /// Frequency that lands on 0 Hz, in cycles per ADC sample.
    pub centre: f64,
    /// The low-pass filter.
    pub filter: &'a [f64],
    /// ADC samples from one down-converted sample to the next.
    pub decimation: usize,
    /// The F-engine of complex, down-converted samples.
    pub f_engine: FEngine<'a>,
}

impl NarrowbandFEngine<'_> {
    /// All frames of ADC samples `[input][time]` that begin at sample `first_sample`, stamped in ADC samples; the last
    /// may be partial. `present` has the samples' shape. `delay(stamp, input)` is the delay in ADC samples and the
    /// phase in turns at an ADC sample.
    ///
    /// # Panics
    /// If the sizes do not fit.
    pub fn frames(
        &self,
        samples: ArrayView2<'_, C64>,
        present: ArrayView2<'_, bool>,
        first_sample: u64,
        delay: &dyn Fn(u64, usize) -> (f64, f64),
    ) -> Frames {
        let decimation = self.decimation as u64;
        let first_output = first_sample.div_ceil(decimation);
        let (narrow, there) = self.down_converted(samples, present, first_sample);
        let narrow_delay = |stamp: u64, input: usize| {
            let (delay_samples, phase_turns) = delay(stamp * decimation, input);
            (delay_samples / decimation as f64, phase_turns)
        };
        let frames = self.f_engine.frames(narrow.view(), there.view(), first_output, &narrow_delay);
        Frames { first_stamp: frames.first_stamp * decimation, ..frames }
    }

    /// The down-converted samples `[input][output]`, and which of them are present: those of which all ADC samples are.
    /// The others are 0.
    pub fn down_converted(
        &self,
        samples: ArrayView2<'_, C64>,
        present: ArrayView2<'_, bool>,
        first_sample: u64,
    ) -> (Array2<C64>, Array2<bool>) {
        let (decimation, taps) = (self.decimation, self.filter.len());
        let grid = first_sample.next_multiple_of(decimation as u64);
        let skip = (grid - first_sample) as usize;
        let of_input = |input: usize| {
            let x: Vec<C64> = samples.row(input).iter().copied().skip(skip).collect();
            down_convert(&x, self.filter, decimation, -self.centre, 0.0, grid)
        };
        let rows: Vec<Vec<C64>> = (0..samples.nrows()).map(of_input).collect();
        let outputs = rows.first().map_or(0, Vec::len);
        let there = Array2::from_shape_fn((rows.len(), outputs), |(input, output)| {
            let start = skip + output * decimation;
            (start..start + taps).all(|sample| present[(input, sample)])
        });
        let narrow = Array2::from_shape_fn(there.dim(), |(input, output)| {
            if there[(input, output)] { rows[input][output] } else { C64::new(0.0, 0.0) }
        });
        (narrow, there)
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use ndarray::s;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::ddc::mixer_turns;
    use crate::window::{Window, pfb_weights};

    /// A low-pass filter with a gain of 1: a Hann window of `16 decimation` taps, flat within 3 % in the inner half.
    fn low_pass(decimation: usize) -> Vec<f64> {
        let weights = pfb_weights(Window::Hann, 16, decimation, 1.0);
        let sum: f64 = weights.iter().sum();
        weights.into_iter().map(|weight| weight / sum).collect()
    }

    /// `sum_i a_i exp(2 pi i e i)`.
    fn transform(a: &[f64], e: f64) -> C64 {
        a.iter().enumerate().map(|(i, &a)| a * C64::cis(TAU * (e * i as f64).fract())).sum()
    }

    fn engine<'a>(
        (centre, filter, decimation): (f64, &'a [f64], usize),
        (weights, channels): (&'a [f64], usize),
        range: Range<usize>,
        gains: ArrayView2<'a, C64>,
    ) -> NarrowbandFEngine<'a> {
        let f_engine = FEngine {
            weights,
            channels,
            complex: true,
            stride: channels,
            pols: 1,
            spectra_per_frame: 3,
            range,
            gains,
            dither: None,
            limit: None,
        };
        NarrowbandFEngine { centre, filter, decimation, f_engine }
    }

    fn no_delay(_: u64, _: usize) -> (f64, f64) {
        (0.0, 0.0)
    }

    #[test]
    fn the_inner_half_has_0_hz_where_a_bank_of_as_many_channels_has_it() {
        assert_eq!([8, 64, 6, 2].map(inner_half), [2..6, 16..48, 2..5, 1..2]);
        for channels in (2..60).step_by(2) {
            let half = inner_half(channels);
            assert_eq!(half.len(), channels / 2);
            assert_eq!(half.start + half.len() / 2, channels / 2);
        }
    }

    #[test]
    fn a_tone_lands_in_its_channel_with_the_amplitude_and_phase_of_the_formula_at_every_age() {
        let (decimation, channels, taps) = (8, 16, 4);
        let (filter, weights) = (low_pass(decimation), pfb_weights(Window::Hann, taps, channels, 1.0));
        let range = inner_half(channels);
        let gains = Array2::from_elem((range.len(), 1), C64::new(1.0, 0.0));
        let length = decimation * channels * (taps + 9) + filter.len();
        let present = Array2::from_elem((1, length), true);
        // Multiples of 2^-20: exact, and so are their differences and phases.
        let grid = |frequency: f64| (frequency * 2f64.powi(20)).round() / 2f64.powi(20);
        for centre in [0.171_875, grid(-0.3), grid(0.0123)] {
            let engine = engine((centre, &filter, decimation), (&weights, channels), range.clone(), gains.view());
            for (first, offset) in
                [(0u64, 0.0), (5, 1.3), (1_000_000_000_000_003, -2.7), (999_999_999_999_999, 3.0), (77, -4.0)]
            {
                let offset = grid(offset / (decimation * channels) as f64);
                let tone = |nu: f64| {
                    let value = move |time: usize| C64::cis(TAU * mixer_turns(nu, first + time as u64));
                    Array2::from_shape_fn((1, length), |(_, time)| value(time))
                };
                let response = |nu: f64, channel: usize, stamp: u64| {
                    let e = nu - centre;
                    let bin = channel as f64 - (channels / 2) as f64;
                    let step = (decimation * channels) as u64;
                    let own =
                        transform(&filter, e) * transform(&weights, e * decimation as f64 - bin / channels as f64);
                    let turns = mixer_turns(e, stamp) - (bin as i64 * (stamp % step) as i64) as f64 / step as f64;
                    own * C64::cis(TAU * turns)
                };
                let nu = centre + offset;
                let real = tone(nu).mapv(|value| C64::new(value.re, 0.0));
                for (samples, is_real) in [(tone(nu), false), (real, true)] {
                    let frames = engine.frames(samples.view(), present.view(), first, &no_delay);
                    let stride = (decimation * channels) as u64;
                    assert_eq!(frames.first_stamp % (3 * stride), 0);
                    assert!(frames.first_stamp >= first && frames.first_stamp - first < 3 * stride);
                    assert!(frames.values.dim().0 >= 2);
                    for ((frame, _, channel, spectrum, _), &value) in frames.values.indexed_iter() {
                        let time = frame * 3 + spectrum;
                        if !frames.spectra_present[(time, 0)] {
                            continue;
                        }
                        let stamp = frames.first_stamp + time as u64 * stride;
                        let channel = range.start + channel;
                        let expected = if is_real {
                            0.5 * (response(nu, channel, stamp) + response(-nu, channel, stamp))
                        } else {
                            response(nu, channel, stamp)
                        };
                        assert!((value - expected).norm() < 1e-11, "{centre} {first} {offset} {channel}");
                    }
                    // The tone's own channel is the strongest, with the sum of the weights and the filter's gain of 1.
                    let nearest = (offset * stride as f64).round() as i64 + (channels / 2) as i64;
                    let powers = frames.values.slice(s![0, 0, .., 0, 0]).mapv(|value| value.norm_sqr());
                    let strongest = powers.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).unwrap().0;
                    assert_eq!(strongest as i64 + range.start as i64, nearest.max(range.start as i64));
                    if offset == 0.0 && !is_real {
                        let sum: f64 = weights.iter().sum();
                        assert!((powers[strongest].sqrt() - sum).abs() < 1e-12);
                    }
                }
            }
        }
    }

    /// A random field known at every real time: tones around `centre`, within `width` either way.
    fn field(centre: f64, width: f64) -> impl Fn(f64) -> C64 {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(4);
        let tones: Vec<(f64, f64)> =
            (0..400).map(|_| (centre + rng.random_range(-width..width), rng.random_range(0.0..1.0))).collect();
        move |time| tones.iter().map(|&(nu, phase)| C64::cis(TAU * (nu * time + phase).fract())).sum()
    }

    #[test]
    fn a_delayed_field_comes_out_with_the_slope_of_its_delay_and_delays_take_it_back() {
        let (decimation, channels, taps) = (8usize, 32usize, 4);
        let (centre, first) = (0.21, 4096u64);
        let (filter, weights) = (low_pass(decimation), pfb_weights(Window::Hann, taps, channels, 1.0));
        let range = inner_half(channels);
        let gains = Array2::from_elem((range.len(), 2), C64::new(1.0, 0.0));
        let engine = engine((centre, &filter, decimation), (&weights, channels), range.clone(), gains.view());
        let length = decimation * channels * (taps + 21) + filter.len();
        let present = Array2::from_elem((2, length), true);
        let e = field(centre, 0.25 / decimation as f64);
        for delay in [0.0, 0.37, 2.0, 3.9, 4.1, -11.8, 20.0, 35.6] {
            // Input 1 has the wave later, by `delay` ADC samples.
            let time = |input: usize, time: usize| (first + time as u64) as f64 - delay * input as f64;
            let samples = Array2::from_shape_fn((2, length), |(input, place)| e(time(input, place)));
            let phase_of = |model: f64, phase: f64, channel: usize| {
                let models = move |_: u64, input: usize| if input == 0 { (model, phase) } else { (0.0, 0.0) };
                let frames = engine.frames(samples.view(), present.view(), first, &models);
                let (mut ab, mut aa, mut bb) = (C64::default(), 0.0, 0.0);
                for frame in frames.values.outer_iter() {
                    for spectrum in 0..3 {
                        let (a, b) = (frame[(0, channel, spectrum, 0)], frame[(1, channel, spectrum, 0)]);
                        ab += a * b.conj();
                        aa += a.norm_sqr();
                        bb += b.norm_sqr();
                    }
                }
                (ab.arg() / TAU, ab.norm() / (aa * bb).sqrt())
            };
            // Not taken back: input 0 leads by 2 pi f delay in every channel.
            for channel in [1, 8, 14] {
                let frequency =
                    centre + ((range.start + channel) as f64 - (channels / 2) as f64) / (decimation * channels) as f64;
                let (turns, _) = phase_of(0.0, 0.0, channel);
                let rest = turns - frequency * delay;
                // The middle of a channel's power is within half a channel of its centre.
                let most = 0.5 * delay.abs() / (decimation * channels) as f64 + 1.0 / 360.0;
                assert!((rest - rest.round()).abs() < most, "{delay} {channel} {rest}");
                // Taken back: the delay about the centre of the band, and the centre by the phase.
                let (turns, coherence) = phase_of(delay, -centre * delay, channel);
                assert!(turns.abs() < 1.0 / 360.0 && coherence > 0.999, "{delay} {channel} {turns} {coherence}");
                // Without the phase, the centre's is left, the same in every channel.
                let (turns, _) = phase_of(delay, 0.0, channel);
                let rest = turns - centre * delay;
                assert!((rest - rest.round()).abs() < 1.0 / 360.0, "{delay} {channel} {rest}");
            }
        }
    }

    #[test]
    fn missing_samples_take_the_down_converted_ones_that_they_are_in() {
        let filter = low_pass(4);
        let (weights, gains) = (pfb_weights(Window::Hann, 2, 4, 1.0), Array2::from_elem((4, 1), C64::new(1.0, 0.0)));
        let engine = engine((0.1, &filter, 4), (&weights, 4), 0..4, gains.view());
        let mut present = Array2::from_elem((1, 400), true);
        present[(0, 150)] = false;
        let samples = Array2::from_elem((1, 400), C64::new(1.0, 0.0));
        let (narrow, there) = engine.down_converted(samples.view(), present.view(), 3);
        // The first output begins with sample 4, the second of the array.
        for (output, &there) in there.iter().enumerate() {
            let start = 1 + 4 * output;
            assert_eq!(there, !(start..start + 64).contains(&150));
            assert_eq!(there, narrow[(0, output)] != C64::default());
        }
    }
}
