//! Frames against the f64 reference: every value, every count, every flag.

use fringes_channelizer::Window;
use fringes_f_engine::{FrameSample, Frames};
use fringes_reference::quantiser::quantise_value;
use fringes_types::{Complex, Complex4, Heaps, f16};
use ndarray::Array2;

use crate::support::{C64, Case, U, backends, more_units};

/// Values nearer to a rounding tie than their bound, or than this if that is less, may go to either side.
const TIE: f64 = 5e-3;

/// Flags and shape are the reference's; gives the reference's values for those that differ to be judged.
fn check_axes<Q: FrameSample>(
    case: &Case,
    frames: &Frames<Heaps<Q>>,
    limit: Option<f64>,
) -> fringes_reference::f_engine::Frames {
    let expected = case.reference(limit);
    assert_eq!(frames.first_stamp(), expected.first_stamp, "{case:?}");
    assert_eq!(frames.voltages.data().dim(), expected.values.dim(), "{case:?}");
    assert_eq!(frames.spectra_present, expected.spectra_present, "{case:?}");
    let all = Array2::from_elem(expected.present.dim(), true);
    let present = frames.voltages.presence().map_or(all, |presence| presence.to_owned());
    assert_eq!(present, expected.present, "{case:?}");
    assert!(expected.spectra_present.iter().any(|&present| present), "a case has spectra: {case:?}");
    expected
}

/// Integers equal the reference's except at ties, and so do the counts of saturated values.
fn check_integers<Q: FrameSample>(case: &Case, limit: f64) {
    for backend in backends() {
        let frames = case.one_call::<Q>(&backend).frames.remove(0);
        let expected = check_axes(case, &frames, Some(limit));
        let mut saturated = Array2::<i64>::zeros(expected.saturated.dim());
        let mut borderline = saturated.clone();
        let bounds = case.bounds(&backend, frames.first_stamp(), frames.spectra_present.nrows());
        for (((frame, antenna, _, spectrum, pol), &exact), found) in
            expected.values.indexed_iter().zip(frames.voltages.data().iter())
        {
            let found = found.to_c32();
            let input = antenna * case.pols + pol;
            let bound = bounds[(frame * case.spectra_per_frame + spectrum, input)].min(TIE);
            let at_tie = |part: f64| (part.clamp(-limit, limit).fract().abs() - 0.5).abs() <= bound;
            for (found, exact) in [(found.re, exact.re), (found.im, exact.im)] {
                let integer = quantise_value(exact, limit);
                let apart = (f64::from(found) - integer).abs();
                assert!(apart == 0.0 || apart == 1.0 && at_tie(exact), "{found} {integer} {exact} {case:?}");
            }
            let beyond = exact.re.abs().max(exact.im.abs()) - limit;
            saturated[(frame, input)] += i64::from(beyond > 0.0);
            borderline[(frame, input)] += i64::from(beyond.abs() <= bound);
        }
        assert_eq!(expected.saturated.mapv(|count| count as i64), saturated);
        for ((place, &found), &expected) in frames.saturated.indexed_iter().zip(&saturated) {
            assert!((found as i64 - expected).abs() <= borderline[place], "{found} {expected} {case:?}");
        }
    }
}

/// Floats are within 1e-5 of full scale, and each spectrum within the stated bound in its 2-norm over all channels.
fn check_floats(case: &Case) {
    let plan = case.plan();
    let (taps, step) = (case.taps as f64, plan.step() as f64);
    let gain = case.gains().iter().fold(0f64, |largest, gain| largest.max(f64::from(gain.norm())));
    let parts = if case.complex { 2f64.sqrt() } else { 1.0 };
    // ||a|| <= largest sample sqrt(taps) for weights of sum of squares 1; the rotation's bound is relative to ||X|| <= sqrt(step) ||a||.
    let a = case.half() * parts * taps.sqrt();
    let units = taps + 1.0 + 7.0 * step.log2() + 2.0 + 2.0 * 5f64.sqrt() + 1.0;
    // A tone of the largest amplitude in the middle of a channel.
    let full_scale = gain * case.half() * parts * plan.weights().iter().sum::<f64>().abs();
    for backend in backends() {
        let bound = gain * U * (units + more_units(&backend, case.taps)) * step.sqrt() * a;
        let frames = case.one_call::<Complex<f32>>(&backend).frames.remove(0);
        let expected = check_axes(case, &frames, None);
        assert!(frames.saturated.iter().all(|&count| count == 0));
        let halves = case.one_call::<Complex<f16>>(&backend).frames.remove(0);
        assert_eq!(halves.spectra_present, frames.spectra_present);
        let found = frames.voltages.data().mapv(|value| C64::new(value.re.into(), value.im.into()));
        let errors = (&found - &expected.values).mapv(|error| error.norm_sqr());
        let largest = errors.iter().fold(0f64, |largest, &error| largest.max(error)).sqrt();
        assert!(largest < 1e-5 * full_scale, "{largest} of {full_scale} {case:?}");
        let spectra = errors.sum_axis(ndarray::Axis(2));
        assert!(spectra.iter().all(|error| error.sqrt() <= bound), "{bound} {case:?}");
        for (half, exact) in halves.voltages.data().iter().zip(&expected.values) {
            for (half, exact) in [(half.re, exact.re), (half.im, exact.im)] {
                // Half a unit of the 11 bits of f16, or of its least normal number.
                let bound = (exact.abs() * 2f64.powi(-11)).max(2f64.powi(-25)) * 1.001 + 1e-5 * full_scale;
                assert!((half.to_f64() - exact).abs() <= bound, "{half} {exact}");
            }
        }
    }
}

const WINDOWS: [Window; 5] =
    [Window::Hann, Window::Hamming, Window::Blackman, Window::Rect, Window::Kaiser { beta: 8.0 }];

/// Every bit depth with every number of taps; windows and other properties in turn.
fn cases(channels: usize, bits: &[u32], taps: &[usize], spectra: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    for &bits in bits {
        for &taps in taps {
            let number = cases.len();
            let first = [0, 12_345, 99_999_999_999_999][number % 3];
            let case = Case {
                channels,
                taps,
                bits,
                window: WINDOWS[number % 5],
                range: [0..channels, 3..channels - 5][number % 2].clone(),
                spectra_per_frame: 3 + number % 2,
                first,
                seed: number as u64,
                ..Case::default()
            };
            let skip = first.next_multiple_of((case.spectra_per_frame * 2 * channels) as u64) - first;
            // An odd number of samples beyond the last window.
            let length = skip as usize + (taps + spectra - 1) * 2 * channels + 2 * channels - 1 - number % 7;
            cases.push(Case { length, ..case });
        }
    }
    cases
}

const BITS: [u32; 7] = [2, 4, 5, 8, 10, 12, 16];
const TAPS: [usize; 4] = [1, 4, 16, 33];

#[test]
fn floats_of_every_bit_depth_taps_and_window_are_within_1e5_of_full_scale() {
    for channels in [64, 96] {
        cases(channels, &BITS, &TAPS, 5).iter().for_each(check_floats);
    }
}

#[test]
fn integers_of_every_bit_depth_taps_and_window_are_the_references_but_at_ties() {
    for channels in [64, 96] {
        for case in cases(channels, &BITS, &TAPS, 5) {
            check_integers::<Complex<i8>>(&case, 127.0);
            let dithered = Case { dither: Some(case.seed << 30), ..case.clone() };
            check_integers::<Complex<i8>>(&dithered, 127.0);
            check_integers::<Complex4>(&Case { sigma: 2.5, ..case }, 7.0);
        }
    }
}

#[test]
fn a_thousand_channels_are_the_references_too() {
    for case in cases(1024, &[10], &TAPS, 2) {
        check_floats(&case);
        check_integers::<Complex<i8>>(&Case { dither: Some(3), ..case }, 127.0);
    }
}

#[test]
fn many_channels_and_other_factors_are_the_references_too() {
    for channels in [1536, 4096] {
        for case in cases(channels, &[10], &[16], 1) {
            check_floats(&case);
            check_integers::<Complex<i8>>(&Case { dither: Some(4), ..case }, 127.0);
        }
    }
}

#[test]
fn values_beyond_the_limit_are_clamped_and_counted() {
    for sigma in [60.0, 127.0, 1000.0] {
        let case = Case { sigma, antennas: 2, dither: Some(17), ..Case::default() };
        check_integers::<Complex<i8>>(&case, 127.0);
        check_integers::<Complex4>(&Case { sigma: sigma / 16.0, dither: None, ..case }, 7.0);
    }
}

#[test]
fn complex_and_oversampled_spectra_are_the_references() {
    for (channels, complex, oversampling) in [
        (64, true, (1, 1)),
        (60, true, (4, 3)),
        (64, true, (32, 27)),
        (64, false, (32, 27)),
        (81, true, (3, 1)),
        (48, false, (4, 3)),
    ] {
        let range = 1..channels;
        let case = Case { channels, complex, oversampling, range, first: 777, length: 2500, ..Case::default() };
        check_floats(&case);
        check_integers::<Complex<i8>>(&Case { dither: Some(1 << 63), ..case }, 127.0);
    }
}

/// Delays whose coarse part steps every few spectra, differently in each input.
fn moving() -> Case {
    Case {
        antennas: 2,
        first: 1_000_000_000_001,
        length: 6000,
        delays: vec![
            (3.3, 0.004, 0.1, 1e-4),
            (-7.9, -0.003, -0.3, 0.0),
            (200.5, 0.011, 0.0, -3e-5),
            (0.0, 0.0, 0.7, 0.013),
        ],
        ..Case::default()
    }
}

#[test]
fn coarse_delays_that_step_mid_stream_put_every_spectrum_where_the_model_says() {
    for complex in [false, true] {
        let case = Case { complex, bits: if complex { 12 } else { 10 }, ..moving() };
        check_floats(&case);
        check_integers::<Complex<i8>>(&Case { dither: Some(5), ..case }, 127.0);
    }
}

#[test]
fn spectra_and_frames_with_missing_samples_are_the_references() {
    for block in [1000, 640, 131] {
        for case in [Case { length: 8000, seed: 5, ..Case::default() }, moving()] {
            let case = Case { block: Some(block), ..case };
            check_floats(&case);
            check_integers::<Complex<i8>>(&Case { sigma: 80.0, ..case }, 127.0);
        }
    }
}

#[test]
fn statistics_are_the_references() {
    for case in
        [Case { block: Some(99), bits: 3, ..Case::default() }, Case { bits: 16, complex: true, ..Case::default() }]
    {
        for backend in backends() {
            let found = case.one_call::<Complex<i8>>(&backend).statistics;
            let samples = case.samples().mapv(|value| C64::new(value.re.into(), value.im.into()));
            for (input, found) in found.into_iter().enumerate() {
                let presence = case.presence(case.length);
                let present: Vec<bool> = (0..case.length)
                    .map(|time| presence.as_ref().is_none_or(|presence| presence.is_present(input, time)))
                    .collect();
                let codes = Some((-case.half(), case.half() - 1.0));
                let expected = fringes_reference::f_engine::statistics(&samples.row(input).to_vec(), &present, codes);
                assert_eq!((found.samples, found.sum_of_squares, found.clipped), expected);
                assert!(found.samples > 0 && found.power() > 0.0);
            }
        }
    }
}
