//! Models of decimated streams: the model of the first stream over the decimation, and MeerKAT's alignment.

#![allow(clippy::unwrap_used)] // helpers of tests

use std::num::NonZeroU64;

use fringes_delay_model::{DelayModel, DelaySegment};
use fringes_reference::delay::aligned_start;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

fn decimation(samples: u64) -> NonZeroU64 {
    NonZeroU64::new(samples).unwrap()
}

/// Every multiple of 1/16 of an ADC sample over six down-converted ones, at stamps of either parity: the start of the
/// window and the fine delay are those of MeerKAT's rule, but at exact ties, where both are half a sample away.
#[test]
fn coarse_delays_of_decimated_streams_are_those_of_meerkats_alignment_but_at_ties() {
    let (mut same, mut ties, mut apart) = (0u64, 0u64, 0u64);
    for a in 1..=64i64 {
        for sixteenths in -3 * 16 * a..=3 * 16 * a {
            let delay = sixteenths as f64 / 16.0;
            let model = DelayModel::constant(delay, 0.0).unwrap().decimated(decimation(a as u64));
            for stamp in [10, 11, 1_000_000_007] {
                let value = model.evaluate(stamp as u64);
                // A window stamped t is to begin with sample t - d, all in ADC samples.
                let exact = (stamp * a) as f64 - delay;
                let original = exact.round_ties_even();
                let (aligned, fine) = aligned_start(original as i64, original - exact, a);
                let (start, own) = ((stamp - value.coarse) * a, value.fine * a as f64);
                // Both begin with a multiple of A, and say how much later than `exact` that is.
                assert!((own - (start as f64 - exact)).abs() < 1e-12, "{a} {delay}");
                assert_eq!(fine, aligned as f64 - exact, "{a} {delay}");
                let is_tie = (2 * sixteenths).rem_euclid(32 * a) == 16 * a;
                if is_tie {
                    ties += 1;
                    apart += u64::from(start != aligned);
                    assert_eq!((own.abs(), fine.abs()), (a as f64 / 2.0, a as f64 / 2.0), "{a} {delay}");
                    assert!(start == aligned || (start - aligned).abs() == a && own == -fine, "{a} {delay}");
                    // Ours is even in the delay, whatever the stamp.
                    assert_eq!(value.coarse % 2, 0);
                    if a % 2 == 0 {
                        // Theirs begins with the later window of the two.
                        assert_eq!(fine, a as f64 / 2.0);
                    }
                } else {
                    same += 1;
                    assert_eq!((start, (own - fine).abs() < 1e-12), (aligned, true), "{a} {delay} {stamp}");
                }
            }
        }
    }
    assert!(same > 500_000 && ties == 64 * 6 * 3 && apart > ties / 4, "{same} {ties} {apart}");
}

#[test]
fn the_smaller_of_the_two_fine_delays_is_taken_where_they_differ() {
    // What the sign of the fine delay is for: 4 ADC samples early or late of a multiple of 8, and a little more.
    for (delay, coarse, fine) in
        [(4.01, 1, -3.99), (3.99, 0, 3.99), (-3.99, 0, -3.99), (-4.01, -1, 3.99), (12.0, 2, -4.0)]
    {
        let value = DelayModel::constant(delay, 0.0).unwrap().decimated(decimation(8)).evaluate(5);
        assert_eq!(value.coarse, coarse, "{delay}");
        assert!((value.fine * 8.0 - fine).abs() < 1e-12, "{delay}");
    }
}

/// Models with several segments, polynomials and phases.
fn model(random: &mut Xoshiro256PlusPlus, start: u64) -> DelayModel {
    let segments = (0..4).map(|number| {
        let delay = vec![random.random_range(-300.0..300.0), random.random_range(-1e-2..1e-2), 1e-9];
        let segment = DelaySegment::new(start + number * 1009, delay);
        let mut segment = segment.with_phase(random.random_range(-1.0..1.0), random.random_range(-0.5..0.5));
        segment.phase_higher_turns = vec![random.random_range(-1e-9..1e-9)];
        segment
    });
    DelayModel::from_segments(segments).unwrap()
}

#[test]
fn delays_are_those_of_the_first_stream_over_the_decimation_and_phases_the_same_bits() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(9);
    for start in [0, 3, 100_000_000_000_003] {
        for s in [1, 3, 8, 17, 64] {
            let wide = model(&mut random, start);
            let narrow = wide.decimated(decimation(s));
            assert_eq!(narrow.decimation().get(), s);
            let first = start / s;
            let plan = narrow.plan(first, 1, 500);
            for (output, value) in plan.values().iter().enumerate() {
                let at = first + output as u64;
                let of_wide = wide.evaluate(at * s);
                assert_eq!(*value, narrow.evaluate(at));
                assert_eq!(value.phase_turns, of_wide.phase_turns);
                let exact = wide.delay_samples(at * s) / s as f64;
                assert_eq!(narrow.delay_samples(at), exact);
                assert_eq!(
                    (value.coarse, value.fine),
                    (exact.round_ties_even() as i64, exact - exact.round_ties_even())
                );
            }
            let expected: Vec<_> = plan.sections().collect();
            assert_eq!(narrow.sections(first, 1, 500), expected);
        }
    }
}

#[test]
fn no_decimated_delay_is_further_from_the_chord_than_the_bend() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(10);
    for s in [3, 8, 50] {
        for _ in 0..20 {
            let delay = vec![random.random_range(-300.0..300.0), 1e-3, random.random_range(-1e-9..1e-9)];
            let narrow = DelayModel::from_segment(DelaySegment::new(7, delay)).unwrap().decimated(decimation(s));
            let (first, last) = (100u64, 10_100u64);
            let bend = narrow.bend(first, last).unwrap().delay_samples;
            let (a, b) = (narrow.delay_samples(first), narrow.delay_samples(last));
            for at in (first..last).step_by(97) {
                let x = (at - first) as f64 / (last - first) as f64;
                let away = (narrow.delay_samples(at) - (a * (1.0 - x) + b * x)).abs();
                assert!(away <= bend + 8.0 * f64::EPSILON * a.abs().max(b.abs()), "{s} {away} {bend}");
            }
        }
    }
}

#[test]
fn updates_hold_from_the_first_decimated_sample_that_is_not_before_them() {
    let mut narrow = DelayModel::zero().decimated(decimation(8));
    narrow.push(DelaySegment::new(17, vec![80.0])).unwrap();
    narrow.push(DelaySegment::new(20, vec![160.0])).unwrap();
    narrow.push(DelaySegment::new(32, vec![8.0])).unwrap();
    let coarse = |narrow: &DelayModel| [0, 2, 3, 4, 9].map(|sample| narrow.evaluate(sample).coarse);
    // The segment from sample 17 on is over before the next multiple of 8.
    assert_eq!(coarse(&narrow), [0, 0, 20, 1, 1]);
    assert_eq!(narrow.last_start(), 32);
    narrow.discard_before(3);
    assert_eq!((narrow.segments().len(), coarse(&narrow)[2..].to_vec()), (2, vec![20, 1, 1]));
    // Twice is once by both.
    let twice = DelayModel::constant(48.0, 0.0).unwrap().decimated(decimation(2)).decimated(decimation(3));
    assert_eq!((twice.decimation().get(), twice.evaluate(1).coarse), (6, 8));
}

#[test]
fn counters_and_decimations_beyond_all_others_do_not_overflow() {
    let most = NonZeroU64::MAX;
    let narrow = DelayModel::constant(1e300, 0.25).unwrap().decimated(most).decimated(most);
    assert_eq!(narrow.evaluate(u64::MAX).phase_turns, 0.25);
    let model = DelayModel::from_segment(DelaySegment::new(u64::MAX, vec![1.0, 1.0])).unwrap().decimated(most);
    assert!(model.evaluate(1).fine.abs() <= 0.5);
    assert_eq!(model.sections(0, 1, 2).len(), 2);
}
