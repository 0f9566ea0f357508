//! Frames against the f64 reference: every value, every count, every flag, every stamp.

use fringes_f_engine::{FrameSample, Frames};
use fringes_reference::quantiser::quantise_value;
use fringes_types::{Complex, Complex4, Heaps, f16};
use ndarray::Array2;

use crate::support::{C64, Case, FORMATS, Format, U, backends};

/// Values nearer to a rounding tie than their bound, or than this if that is less, may go to either side.
const TIE: f64 = 5e-3;

/// Axes, flags and shape are the reference's; gives the reference's values.
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
    let (clock, plan) = (frames.voltages.clock(), case.plan());
    assert_eq!(clock.samples_between_spectra, (case.decimation * plan.stride()) as u64);
    assert_eq!(clock.sample_rate_hz, 1.712e9);
    for (place, channel) in case.internal_range().enumerate() {
        let bin = channel as f64 - (case.channels / 2) as f64;
        let cycles = case.centre + bin / (case.decimation * case.channels) as f64;
        let apart = frames.voltages.frequencies().channel_hz(place) - cycles * 1.712e9;
        assert!(apart.abs() < 1e-5, "{place}: {apart} Hz");
    }
    expected
}

/// Integers equal the reference's except at ties, and so do the counts of saturated values.
fn check_integers<Q: FrameSample>(case: &Case, limit: f64) {
    for backend in backends() {
        let frames = case.frames::<Q>(&backend);
        let expected = check_axes(case, &frames, Some(limit));
        let mut saturated = Array2::<i64>::zeros(expected.saturated.dim());
        let mut borderline = saturated.clone();
        let bounds = case.bounds(&backend, frames.first_stamp(), frames.spectra_present.nrows());
        let mut ties = 0;
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
                ties += usize::from(apart != 0.0);
                assert!(apart == 0.0 || apart == 1.0 && at_tie(exact), "{found} {integer} {exact} {case:?}");
            }
            let beyond = exact.re.abs().max(exact.im.abs()) - limit;
            saturated[(frame, input)] += i64::from(beyond > 0.0);
            borderline[(frame, input)] += i64::from(beyond.abs() <= bound);
        }
        assert!(ties <= 2 + expected.values.len() / 100, "{ties} of {}", expected.values.len());
        assert_eq!(expected.saturated.mapv(|count| count as i64), saturated);
        for ((place, &found), &expected) in frames.saturated.indexed_iter().zip(&saturated) {
            assert!((found as i64 - expected).abs() <= borderline[place], "{found} {expected} {case:?}");
        }
    }
}

/// Floats are within their bound.
fn check_floats(case: &Case) {
    for backend in backends() {
        let frames = case.frames::<Complex<f32>>(&backend);
        let expected = check_axes(case, &frames, None);
        let halves = case.frames::<Complex<f16>>(&backend);
        assert_eq!(halves.spectra_present, frames.spectra_present);
        assert!(frames.saturated.iter().all(|&count| count == 0));
        let bounds = case.bounds(&backend, frames.first_stamp(), frames.spectra_present.nrows());
        let mut worst = 0f64;
        let (floats, halves) = (frames.voltages.data(), halves.voltages.data());
        for ((((frame, antenna, _, spectrum, pol), &exact), &found), half) in
            expected.values.indexed_iter().zip(floats).zip(halves)
        {
            let bound = bounds[(frame * case.spectra_per_frame + spectrum, antenna * case.pols + pol)];
            // The value itself is rounded to f32.
            let bound = bound + 2.0 * U * exact.norm();
            let error = (C64::new(found.re.into(), found.im.into()) - exact).norm();
            assert!(error <= bound, "{error} {bound} {case:?}");
            worst = worst.max(error / bound.max(f64::MIN_POSITIVE));
            for (half, exact) in [(half.re, exact.re), (half.im, exact.im)] {
                let bound = (exact.abs() * 2f64.powi(-11)).max(2f64.powi(-25)) * 1.001 + bound;
                assert!((half.to_f64() - exact).abs() <= bound, "{half} {exact}");
            }
        }
        assert!(worst > 1e-3, "the bound is of no use: {worst} {case:?}");
    }
}

fn check(case: &Case) {
    check_floats(case);
    check_integers::<Complex<i8>>(&Case { dither: Some(case.seed + 7), ..case.clone() }, 127.0);
}

#[test]
fn samples_of_every_format_are_the_references_at_every_age() {
    for (number, format) in FORMATS.into_iter().enumerate() {
        for (inner_half, first) in [(true, 0), (false, 1_000_000_000_000_003)] {
            let case = Case { format, inner_half, first, seed: number as u64, ..Case::default() };
            check(&Case { length: case.length + 700, ..case });
        }
    }
}

#[test]
fn decimations_and_plans_of_all_kinds_are_the_references() {
    for (decimation, filter_taps, channels, oversampling, centre) in [
        (1, 1, 16, (1, 1), 0.0),
        (3, 20, 30, (1, 1), -0.31),
        (5, 160, 16, (4, 3), 0.4321),
        (17, 11, 8, (1, 1), 0.09),
        (16, 256, 27, (3, 1), 1.0 / 3.0),
        (32, 100, 4, (1, 1), -1e-5),
    ] {
        let inner_half = channels % 2 == 0;
        let case = Case { decimation, filter_taps, channels, oversampling, centre, inner_half, ..Case::default() };
        let case = Case { first: 12_345, length: decimation * channels * 18 + filter_taps, ..case };
        check(&case);
        check(&Case { range: Some(1..channels - 1), inner_half: false, ..case });
    }
}

/// Delays whose coarse part steps every few spectra, differently in each input.
fn moving() -> Case {
    Case {
        antennas: 2,
        first: 1_000_000_000_000_001,
        length: 8 * 16 * 40,
        delays: vec![
            (3.3, 0.004, 0.1, 1e-4),
            (-57.9, -0.003, -0.3, 0.0),
            (200.5, 0.011, 0.0, -3e-5),
            (0.0, 0.0, 0.7, 0.013),
        ],
        ..Case::default()
    }
}

#[test]
fn coarse_delays_that_step_mid_stream_put_every_spectrum_where_the_model_says() {
    for format in [Format::Packed10, Format::Float32, Format::ComplexFloat32] {
        for (decimation, inner_half) in [(8, true), (5, false)] {
            let case = Case { format, decimation, inner_half, ..moving() };
            let models = case.models();
            let coarse = |input: usize, stamp: u64| {
                (models[input].delay_samples(case.first + stamp) / decimation as f64).round_ties_even()
            };
            // Several steps in both directions.
            assert!(coarse(2, 5000) - coarse(2, 0) >= 4.0 && coarse(1, 5000) - coarse(1, 0) <= -1.0);
            check(&case);
        }
    }
}

#[test]
fn spectra_and_frames_with_missing_samples_are_the_references() {
    for block in [331, 128, 1000] {
        for case in [Case { length: 8 * 16 * 60, seed: 5, ..Case::default() }, moving()] {
            let case = Case { block: Some(block), filter_taps: 16, ..case };
            check_floats(&case);
            check_integers::<Complex<i8>>(&Case { sigma: 80.0, ..case }, 127.0);
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
