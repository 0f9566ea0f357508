//! Delay models against exact integer arithmetic, and what the split into coarse, fine and phase must add up to.

#![allow(clippy::unwrap_used)] // helpers of tests

use fringes_delay_model::{DelayModel, DelayModelError, DelaySegment, DelayValue};
use proptest::prelude::*;

/// The exact value of `rate * n` turns, reduced to `[-0.5, 0.5)` and rounded once. `rate` must be a multiple of 2^-120.
fn exact_turns(rate: f64, n: i64) -> f64 {
    let bits = rate.abs().to_bits();
    let (exponent, fraction) = ((bits >> 52) as i32, (bits & ((1 << 52) - 1)) as i128);
    let mantissa = if exponent == 0 { fraction } else { fraction | 1 << 52 } * if rate < 0.0 { -1 } else { 1 };
    let shift = -(exponent.max(1) - 1075); // rate = mantissa * 2^-shift
    assert!((1..=120).contains(&shift), "{rate:e}");
    let product = mantissa * i128::from(n); // 53 + 63 bits
    let turn = 1_i128 << shift;
    let mut rest = product.rem_euclid(turn);
    if rest >= turn / 2 {
        rest -= turn;
    }
    rest as f64 / turn as f64
}

/// The distance of two phases around the circle, in turns.
fn apart(a: f64, b: f64) -> f64 {
    let difference = a - b;
    (difference - difference.round()).abs()
}

fn phase_model(start_sample: u64, phase: f64, rate: f64) -> DelayModel {
    DelayModel::from_segment(DelaySegment::new(start_sample, vec![]).with_phase(phase, rate)).unwrap()
}

#[test]
fn phase_rates_keep_1e_5_turns_over_1e14_samples() {
    let n = 100_000_000_000_000_u64;
    let start = 123_456_789_012_345;
    for rate in [0.3, -0.3, 0.1, 0.499_999_999, 1.0 / 3.0, 1e-3, 1e-5 / 3.0, -1e-9] {
        let found = phase_model(start, 0.0, rate).evaluate(start + n).phase_turns;
        let bound = (n as f64 + 1.0) * 2f64.powi(-65) + 2f64.powi(-54);
        assert!(bound < 3e-6);
        assert!(apart(found, exact_turns(rate, n as i64)) <= bound, "{rate}");
    }
    // 0.3 is a multiple of 2^-64: nothing is lost but the last rounding.
    let found = phase_model(0, 0.0, 0.3).evaluate(n).phase_turns;
    assert!(apart(found, exact_turns(0.3, n as i64)) <= 2f64.powi(-54));
}

#[test]
fn a_rate_of_1e_9_turns_a_sample_makes_one_turn_in_1e9_samples() {
    let start = 100_000_000_000_000;
    let model = phase_model(start, 0.125, 1e-9);
    assert!(apart(model.evaluate(start + 1_000_000_000).phase_turns, 0.125) < 1e-10);
    assert!(apart(model.evaluate(start + 500_000_000).phase_turns, 0.625) < 1e-10);
    // Before the start it runs backwards.
    assert!(apart(model.evaluate(start - 250_000_000).phase_turns, -0.125) < 1e-10);
}

#[test]
fn ties_go_to_the_even_sample() {
    for (delay, coarse, fine) in
        [(2.5, 2, 0.5), (3.5, 4, -0.5), (-0.5, 0, -0.5), (-1.5, -2, 0.5), (7.25, 7, 0.25), (0.0, 0, 0.0)]
    {
        let value = DelayModel::constant(delay, 0.0).unwrap().evaluate(99);
        assert_eq!((value.coarse, value.fine), (coarse, fine), "{delay}");
    }
}

#[test]
fn the_last_segment_that_has_started_holds() {
    let mut model = DelayModel::zero();
    model.push(DelaySegment::new(100, vec![1.0])).unwrap();
    model.push(DelaySegment::new(200, vec![2.0, 1.0])).unwrap();
    let delays = |model: &DelayModel| [0, 99, 100, 199, 200, 203].map(|sample| model.evaluate(sample).coarse);
    assert_eq!(delays(&model), [0, 0, 1, 1, 2, 5]);

    // The same start replaces; an earlier start is refused, or supersedes what follows if that is asked for.
    model.push(DelaySegment::new(200, vec![3.0])).unwrap();
    assert_eq!(delays(&model), [0, 0, 1, 1, 3, 3]);
    let earlier = DelaySegment::new(150, vec![4.0]);
    assert_eq!(
        model.push(earlier.clone()),
        Err(DelayModelError::OutOfOrder { start_sample: 150, last_start_sample: 200 })
    );
    assert_eq!(delays(&model), [0, 0, 1, 1, 3, 3]);
    model.replace_from(earlier).unwrap();
    assert_eq!(delays(&model), [0, 0, 1, 4, 4, 4]);

    // Forgetting the past changes nothing from there on.
    let mut shorter = model.clone();
    shorter.discard_before(149);
    assert_eq!(shorter.segments().len(), 2);
    assert_eq!([149, 150, 1000].map(|t| shorter.evaluate(t)), [149, 150, 1000].map(|t| model.evaluate(t)));
    shorter.discard_before(u64::MAX);
    assert_eq!(shorter.segments().len(), 1);
    assert_eq!(shorter.evaluate(150).coarse, 4);

    // Without a zero segment before it, the first segment is extrapolated backwards.
    let first = DelayModel::from_segment(DelaySegment::new(100, vec![1.0, 0.5])).unwrap();
    assert_eq!(first.evaluate(80).coarse, -9);
}

#[test]
fn coefficients_that_cannot_be_used_are_refused_and_leave_the_model_alone() {
    let mut model = DelayModel::constant(3.0, 0.0).unwrap();
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let wrong = |segment| assert!(matches!(model.clone().push(segment), Err(DelayModelError::NotFinite { .. })));
        wrong(DelaySegment::new(5, vec![0.0, bad]));
        wrong(DelaySegment::new(5, vec![]).with_phase(bad, 0.0));
        wrong(DelaySegment::new(5, vec![]).with_phase(0.0, bad));
        wrong(DelaySegment { phase_higher_turns: vec![bad], ..DelaySegment::default() });
        assert!(DelayModel::constant(bad, 0.0).is_err());
        assert!(DelayModel::constant(0.0, bad).is_err());
    }
    for huge in [
        DelaySegment::new(5, vec![0.0, 1e300]),
        DelaySegment::new(5, vec![1e308, 1e289]),
        DelaySegment { phase_higher_turns: vec![1e280], ..DelaySegment::default() },
        DelaySegment::new(5, vec![1e-300; 40]),
    ] {
        assert!(matches!(model.push(huge), Err(DelayModelError::Overflow { .. })));
    }
    assert_eq!(model, DelayModel::constant(3.0, 0.0).unwrap());

    // What is finite but absurd is clamped, and has no fraction.
    let value = DelayModel::constant(1e300, 0.0).unwrap().evaluate(0);
    assert_eq!(value, DelayValue { coarse: 1 << 52, fine: 0.0, phase_turns: 0.0 });
    assert_eq!(value.input_start(1000), None);
    assert_eq!(DelayModel::constant(-10.0, 0.0).unwrap().evaluate(0).input_start(u64::MAX), None);
}

#[test]
fn seconds_become_samples() {
    // 2 us, 3 ns/s and 5 fs/s^2 at 1 GHz; fringe stopping at 1.5 GHz.
    let segment = DelaySegment::from_seconds(1000, &[2e-6, 3e-9, 5e-15], 1e9).unwrap();
    let expected = [2000.0, 3e-9, 5e-24];
    for (found, expected) in segment.delay_samples.iter().zip(expected) {
        assert!((found - expected).abs() <= 4.0 * f64::EPSILON * expected);
    }
    let segment = segment.with_fringe_stopping(1.5e9, 1e9).unwrap();
    assert_eq!(segment.phase_turns, -1.5 * segment.delay_samples[0]);
    assert_eq!(segment.phase_rate_turns_per_sample, -1.5 * segment.delay_samples[1]);
    assert_eq!(segment.phase_higher_turns, [-1.5 * segment.delay_samples[2]]);
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(DelaySegment::from_seconds(0, &[1.0], rate).is_err());
        assert!(DelaySegment::default().with_fringe_stopping(1.0, rate).is_err());
        assert!(DelaySegment::default().with_phase_per_second(0.0, 1.0, rate).is_err());
    }
}

#[test]
fn plans_are_cut_where_the_coarse_delay_changes() {
    let model = DelayModel::from_segment(DelaySegment::new(1000, vec![0.0, 0.01])).unwrap();
    let plan = model.plan(1000, 10, 40); // delays 0, 0.1, ... 3.9
    let sections: Vec<_> = plan.sections().map(|section| (section.spectra, section.coarse)).collect();
    // 0.5, 1.5 and 2.5 lie on ties up to rounding; whatever side they took, `values` says the same.
    assert_eq!(sections.iter().map(|(_, coarse)| *coarse).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert_eq!(sections.iter().map(|(spectra, _)| spectra.len()).sum::<usize>(), 40);
    for (spectra, coarse) in sections {
        for m in spectra {
            assert_eq!(plan.values()[m].coarse, coarse);
            assert_eq!(plan.input_start(m), Some(1000 + 10 * m as u64 - coarse as u64));
        }
    }
    assert_eq!((plan.sample(39), plan.sample(40), plan.input_start(40)), (Some(1390), None, None));
    assert!(model.plan(0, 1, 0).is_empty());
    assert_eq!(model.plan(u64::MAX - 1, 1, 10).len(), 2);
}

fn segments() -> impl Strategy<Value = Vec<DelaySegment>> {
    let segment = (
        0_u64..400,
        prop::collection::vec(-1e3..1e3, 0..4),
        -2.0..2.0,
        -0.6..0.6,
        prop::collection::vec(-1e-6..1e-6, 0..3),
    );
    prop::collection::vec(segment, 1..8).prop_map(|segments| {
        let mut start = 1_u64 << 46;
        let next = |(step, delay, phase, rate, phase_higher_turns): (u64, Vec<f64>, f64, f64, Vec<f64>)| {
            start += step;
            // Coefficients shrink with their power, as real ones do.
            let delay = delay.into_iter().enumerate().map(|(power, c)| c * 1e-3_f64.powi(power as i32)).collect();
            DelaySegment { phase_higher_turns, ..DelaySegment::new(start, delay).with_phase(phase, rate) }
        };
        segments.into_iter().map(next).collect()
    })
}

proptest! {
    #[test]
    fn split_and_rotation_agree_with_the_reference(
        delay in -1e6..1e6_f64, phase in -0.5..0.5_f64, channels in 1_usize..300, complex: bool
    ) {
        let value = DelayModel::constant(delay, phase).unwrap().evaluate(12);
        prop_assert_eq!((value.coarse, value.fine), fringes_reference::delay::split(delay));
        let mut spectrum = vec![num_complex::Complex::new(1.0, 0.0); channels];
        fringes_reference::delay::rotate(&mut spectrum, value.coarse, value.fine, phase, complex);
        for (channel, expected) in spectrum.into_iter().enumerate() {
            // Phases of up to two turns, rounded a few times, and sine and cosine.
            let found = value.channel_rotation(channel, channels, complex);
            prop_assert!((found - expected).norm() < 32.0 * f64::EPSILON);
        }
    }

    #[test]
    fn phases_are_within_the_bound_of_exact_arithmetic(
        mantissa in -0.6..0.6_f64, scale in 0_i32..60, n in -1_000_000_000_000_000_i64..1_000_000_000_000_000, start in 1_u64 << 52..1 << 62
    ) {
        let rate = mantissa * 2f64.powi(-scale);
        prop_assume!(rate.abs() > 1e-19);
        let found = phase_model(start, 0.0, rate).evaluate(start.checked_add_signed(n).unwrap()).phase_turns;
        prop_assert!((-0.5..0.5).contains(&found));
        let bound = (n.unsigned_abs() as f64 + 1.0) * 2f64.powi(-65) + 2f64.powi(-54);
        prop_assert!(apart(found, exact_turns(rate, n)) <= bound, "{rate:e} {n}");
    }

    #[test]
    fn linear_delays_are_within_the_bound_of_exact_arithmetic(
        whole in -1_i64 << 50..1 << 50, slope in -1_i64 << 40..1 << 40, n in 0_u64..1 << 50, start in 0_u64..1 << 62
    ) {
        // delay = whole / 2^20 + slope / 2^70 n, exact in units of 2^-70 samples.
        let (c0, c1) = (whole as f64 / 2f64.powi(20), slope as f64 / 2f64.powi(70));
        let value = DelayModel::from_segment(DelaySegment::new(start, vec![c0, c1])).unwrap().evaluate(start + n);
        let exact = (i128::from(whole) << 50) + i128::from(slope) * i128::from(n);
        let unit = 2f64.powi(70);
        // coarse + fine is compared in integers, too: fine is a multiple of 2^-70 or far smaller than the bound.
        let found = (i128::from(value.coarse) << 70) + (value.fine * unit) as i128;
        let bound = 3.0 * 2f64.powi(-53) * (c0.abs() + (c1 * n as f64).abs());
        prop_assert!((found - exact).abs() as f64 / unit <= bound);
        prop_assert!(value.fine.abs() <= 0.5);
    }

    #[test]
    fn uptime_costs_nothing(segments in segments(), shift in 0_u64..1 << 60, at in 0_u64..4000) {
        let early = DelayModel::from_segments(segments.clone()).unwrap();
        let late = segments.into_iter().map(|s| DelaySegment { start_sample: s.start_sample + shift, ..s });
        let late = DelayModel::from_segments(late).unwrap();
        let at = (1 << 46) - 500 + at;
        prop_assert_eq!(early.evaluate(at), late.evaluate(at + shift));
    }

    #[test]
    fn plans_are_identical_to_evaluating_each_spectrum(
        segments in segments(), first in 0_u64..3000, stride in 0_u64..200, count in 0_usize..60
    ) {
        let model = DelayModel::from_segments(segments).unwrap();
        let first = (1 << 46) - 500 + first;
        let plan = model.plan(first, stride, count);
        prop_assert_eq!(plan.len(), count);
        for (m, value) in plan.values().iter().enumerate() {
            let sample = first + m as u64 * stride;
            prop_assert_eq!(*value, model.evaluate(sample));
            prop_assert_eq!(plan.sample(m), Some(sample));
            prop_assert_eq!(plan.input_start(m), value.input_start(sample));
        }
    }

    #[test]
    fn the_whole_delay_turns_a_channel_by_its_offset_from_the_band_centre(
        delay in -1e4..1e4_f64, phase in -3.0..3.0_f64, channels in 1_usize..2000, channel in 0.0..1.0_f64, complex: bool
    ) {
        let channel = (channel * channels as f64) as usize;
        let value = DelayModel::constant(delay, phase).unwrap().evaluate(0);
        // Frequencies in cycles per sample: of the channel, and of the middle of the band.
        let (frequency, centre) = if complex {
            ((channel as f64 - (channels / 2) as f64) / channels as f64, 0.0)
        } else {
            (channel as f64 / (2 * channels) as f64, 0.25)
        };
        let moved = -frequency * value.coarse as f64; // by the coarse delay, which moves the samples
        let found = moved + value.channel_phase_turns(channel, channels, complex);
        let expected = -(frequency - centre) * delay + phase;
        // Five roundings of numbers of at most 1e4.
        prop_assert!(apart(found, expected) <= 5.0 * 1e4 * f64::EPSILON);
        let rotation = value.channel_rotation(channel, channels, complex);
        prop_assert!((rotation.norm() - 1.0).abs() < 1e-15);
        prop_assert!(apart(rotation.arg() / std::f64::consts::TAU, value.channel_phase_turns(channel, channels, complex)) < 1e-15);
    }
}

#[test]
fn delays_too_large_to_apply_are_still_told() {
    let model = DelayModel::constant(1e18, 0.0).unwrap();
    assert_eq!(model.delay_samples(50_000_000), 1e18);
    assert_eq!(model.evaluate(50_000_000).coarse, 1 << 52);
    let mut model = DelayModel::from_segment(DelaySegment::new(100, vec![2.5, 0.5])).unwrap();
    model.push(DelaySegment::new(200, vec![-7.0])).unwrap();
    assert_eq!([0, 100, 199, 200].map(|sample| model.delay_samples(sample)), [-47.5, 2.5, 52.0, -7.0]);
}
