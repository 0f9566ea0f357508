//! The F-engine on analytic signals.

use std::f64::consts::TAU;

use super::*;
use crate::window::{Window, pfb_weights};

const CHANNELS: usize = 8;
const STEP: usize = 2 * CHANNELS;

fn no_delay(_: u64, _: usize) -> (f64, f64) {
    (0.0, 0.0)
}

/// An F-engine of 8 channels with frames of 4 spectra and two polarisations.
fn engine<'a>(weights: &'a [f64], gains: &'a Array2<C64>) -> FEngine<'a> {
    FEngine {
        weights,
        channels: CHANNELS,
        complex: false,
        stride: STEP,
        pols: 2,
        spectra_per_frame: 4,
        range: 0..CHANNELS,
        gains: gains.view(),
        dither: None,
        limit: Some(127.0),
    }
}

fn gains(gain: f64) -> Array2<C64> {
    Array2::from_elem((CHANNELS, 4), C64::new(gain, 0.0))
}

/// Tones in the middle of channel `input + 1`, of amplitude 1, from sample `first` on.
fn tones(first: u64, length: usize) -> Array2<C64> {
    Array2::from_shape_fn((4, length), |(input, time)| {
        let cycles = ((input as u64 + 1) * (first + time as u64)) % STEP as u64;
        C64::new((TAU * cycles as f64 / STEP as f64).cos(), 0.0)
    })
}

fn all(samples: &Array2<C64>) -> Array2<bool> {
    Array2::from_elem(samples.dim(), true)
}

#[test]
fn a_tone_is_half_of_the_weights_sum_times_the_gain_at_its_channel_and_its_antennas_place() {
    let weights = pfb_weights(Window::Rect, 1, STEP, 0.0);
    let gains = Array2::from_shape_fn((CHANNELS, 4), |(channel, input)| C64::new(channel as f64, input as f64));
    let engine = engine(&weights, &gains);
    let first = 1000 * 4 * STEP as u64 - 5;
    let samples = tones(first, 5 + 9 * STEP);
    let frames = engine.frames(samples.view(), all(&samples).view(), first, &no_delay);
    assert_eq!((frames.first_stamp, frames.values.dim()), (first + 5, (3, 2, CHANNELS, 4, 2)));
    assert_eq!(frames.present, ndarray::array![[true, true], [true, true], [false, false]]);
    for ((frame, antenna, channel, spectrum, pol), &value) in frames.values.indexed_iter() {
        let (input, time) = (antenna * 2 + pol, frame * 4 + spectrum);
        assert_eq!(frames.spectra_present[(time, input)], time < 9);
        // One rectangular tap of 16 weights of 1/4: the tone of its bin is 16/4/2, all others are orthogonal.
        let hit = time < 9 && channel == input + 1;
        let expected = if hit { 2.0 * gains[(channel, input)] } else { C64::default() };
        assert!((value - expected).norm() < 1e-12, "{frame} {antenna} {channel} {spectrum} {pol}: {value}");
    }
}

#[test]
fn a_range_is_a_part_of_all_channels_with_their_dithers() {
    let weights = pfb_weights(Window::Hann, 2, STEP, 1.0);
    let gains = gains(3.0);
    let mut engine = engine(&weights, &gains);
    engine.dither = Some(99);
    let samples = tones(0, 7 * STEP);
    let all_channels = engine.frames(samples.view(), all(&samples).view(), 0, &no_delay);
    let part_of_gains = gains.slice(ndarray::s![3..7, ..]);
    let part = FEngine { range: 3..7, gains: part_of_gains, ..engine.clone() };
    let part = part.frames(samples.view(), all(&samples).view(), 0, &no_delay);
    assert_eq!(part.values, all_channels.values.slice(ndarray::s![.., .., 3..7, .., ..]));
}

#[test]
fn dither_moves_values_by_less_than_a_half_and_away_from_rounding_on_the_average() {
    let weights = pfb_weights(Window::Rect, 1, STEP, 0.0);
    // The tone's channel is at 2 * 0.15 = 0.3: rounded it is 0, with dither 0.3 on the average.
    let gains = gains(0.15);
    let plain = engine(&weights, &gains);
    let dithered = FEngine { dither: Some(3), ..plain.clone() };
    let samples = tones(0, 4000 * STEP);
    let [plain, dithered] = [plain, dithered].map(|engine| {
        let frames = engine.frames(samples.view(), all(&samples).view(), 0, &no_delay);
        (frames.values.mapv(|value| engine.quantised(value)), frames.values)
    });
    assert!((&dithered.1 - &plain.1).iter().all(|moved| moved.re.abs() < 0.5 && moved.im.abs() < 0.5));
    assert!(plain.0.iter().all(|value| value.norm() == 0.0));
    for input in 0..4 {
        let values = dithered.0.slice(ndarray::s![.., input / 2, input + 1, .., input % 2]);
        let mean = values.sum() / values.len() as f64;
        // Five standard deviations of a mean of 4000 numbers that are 1 with probability 0.3.
        assert!((mean.re - 0.3).abs() < 5.0 * (0.21f64 / 4000.0).sqrt() && mean.im.abs() < 0.05, "{mean}");
    }
}

#[test]
fn a_value_beyond_the_limit_counts_once_in_its_frame_and_input() {
    let weights = pfb_weights(Window::Rect, 1, STEP, 0.0);
    let mut gains = gains(1.0);
    gains[(2, 1)] = C64::new(63.25, 63.25); // 126.5 + 126.5 i
    gains[(3, 2)] = C64::new(64.0, 64.0); // 128 + 128 i
    let engine = engine(&weights, &gains);
    let samples = tones(0, 8 * STEP);
    let mut present = all(&samples);
    present[(2, STEP)] = false;
    let frames = engine.frames(samples.view(), present.view(), 0, &no_delay);
    assert_eq!((frames.saturated[(0, 1)], frames.saturated[(1, 1)]), (0, 0));
    assert_eq!((frames.saturated[(0, 2)], frames.saturated[(1, 2)]), (3, 4), "an absent spectrum does not count");
    assert_eq!((frames.saturated[(0, 0)], frames.saturated[(1, 3)]), (0, 0));
    assert_eq!(engine.quantised(frames.values[(1, 1, 3, 0, 0)]), C64::new(127.0, 127.0));
}

#[test]
fn a_missing_sample_takes_out_the_spectra_whose_windows_hold_it() {
    let taps = 3;
    let weights = pfb_weights(Window::Hann, taps, STEP, 1.0);
    let gains = gains(1.0);
    let engine = engine(&weights, &gains);
    let samples = tones(0, 14 * STEP);
    let mut present = all(&samples);
    present[(1, 6 * STEP)] = false;
    let frames = engine.frames(samples.view(), present.view(), 0, &no_delay);
    for time in 0..12 {
        for input in 0..4 {
            let expected = input != 1 || !(4..=6).contains(&time);
            assert_eq!(frames.spectra_present[(time, input)], expected, "{time} {input}");
        }
    }
    assert_eq!(frames.present, ndarray::array![[true, true], [false, true], [true, true]]);
    assert!(frames.values.slice(ndarray::s![1, 0, .., 0..3, 1]).iter().all(|value| *value == C64::default()));
}

#[test]
fn the_first_frame_is_the_first_whose_samples_every_input_has() {
    let weights = pfb_weights(Window::Hann, 2, STEP, 1.0);
    let gains = gains(1.0);
    let engine = engine(&weights, &gains);
    let frame = 4 * STEP as u64;
    let samples = tones(0, 20 * STEP);
    for (delay, expected) in [(0.0, 0), (0.5, 0), (0.6, 1), (64.4, 1), (65.0, 2), (-3.0, 0)] {
        let delay = |_: u64, input: usize| (if input == 3 { delay } else { 0.0 }, 0.0);
        let frames = engine.frames(samples.view(), all(&samples).view(), 0, &delay);
        assert_eq!(frames.first_stamp, expected * frame);
    }
    // From sample 1000 on, an input that is 200 samples early makes no frame come earlier, all of them do.
    let early = engine.frames(samples.view(), all(&samples).view(), 1000, &|_, _| (-200.0, 0.0));
    assert_eq!(early.first_stamp, 800u64.next_multiple_of(frame));
}

#[test]
fn a_delayed_signal_undelayed_is_the_signal() {
    // y(t) = x(t + 5): delaying y by 5 samples gives x, but for the turn of the band's middle, -5/4 turns.
    let weights = pfb_weights(Window::Hann, 4, STEP, 1.0);
    let gains = gains(1.0);
    let engine = engine(&weights, &gains);
    let (x, y) = (tones(0, 30 * STEP), tones(5, 30 * STEP));
    let frames = engine.frames(x.view(), all(&x).view(), 0, &no_delay);
    let delayed = engine.frames(y.view(), all(&y).view(), 0, &|_, _| (5.0, -1.25));
    assert_eq!(delayed.first_stamp, 4 * STEP as u64);
    for ((frame, antenna, channel, spectrum, pol), value) in delayed.values.indexed_iter() {
        if delayed.spectra_present[(frame * 4 + spectrum, antenna * 2 + pol)] && frame + 1 < frames.values.dim().0 {
            let expected = frames.values[(frame + 1, antenna, channel, spectrum, pol)];
            assert!((value - expected).norm() < 1e-11, "{frame} {channel}: {value} {expected}");
        }
    }
}

#[test]
fn statistics_count_what_is_present() {
    let samples: Vec<C64> = [3.0, -512.0, 511.0, 510.0, -512.0].into_iter().map(|re| C64::new(re, 0.0)).collect();
    let present = [true, true, true, true, false];
    let squares = 9.0 + 512.0 * 512.0 + 511.0 * 511.0 + 510.0 * 510.0;
    assert_eq!(statistics(&samples, &present, Some((-512.0, 511.0))), (4, squares, 2));
    assert_eq!(statistics(&samples, &present, None), (4, squares, 0));
    let both = [C64::new(127.0, -128.0)];
    assert_eq!(statistics(&both, &[true], Some((-128.0, 127.0))), (1, 127.0 * 127.0 + 128.0 * 128.0, 1));
}
