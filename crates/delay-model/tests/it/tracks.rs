//! From antennas and a source to a wavefront that is aligned: delay tracks against the geometry they were fitted to,
//! and a simulated source whose tones every antenna must show in the same phase.

#![allow(clippy::unwrap_used)] // helpers of tests

use std::f64::consts::TAU;

use fringes_delay_model::{
    AntennaArray, DelayModel, DelayModelError, Enu, Epoch, Geometry, Itrf, SPEED_OF_LIGHT_M_PER_S, SampleClock, Site,
    Source,
};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const EPOCH: Epoch = Epoch { mjd_day: 60_310, seconds: 40_000.25 };

/// The distance of two phases around the circle, in turns.
fn apart(a: f64, b: f64) -> f64 {
    let difference = a - b;
    (difference - difference.round()).abs()
}

fn site() -> Site {
    Site::from_degrees(-30.7128, 21.4438, 1053.0).unwrap()
}

/// Antennas within `size_m` of the site.
fn array(count: usize, size_m: f64) -> AntennaArray {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    let mut draw = || random.random_range(-size_m..size_m);
    let positions = (0..count).map(|_| Enu { east_m: draw(), north_m: draw(), up_m: 0.01 * draw() }).collect();
    AntennaArray::from_enu(positions, site()).unwrap()
}

/// The largest distance in seconds between a track and the geometry, over `samples` of each antenna's models.
fn worst_error(
    geometry: &Geometry,
    clock: SampleClock,
    models: &[DelayModel],
    samples: impl Iterator<Item = u64>,
) -> f64 {
    let mut worst = 0.0_f64;
    for sample in samples {
        let expected = geometry.output_delays(clock.seconds(sample)).unwrap();
        for (model, expected) in models.iter().zip(expected) {
            worst = worst.max((model.evaluate(sample).delay_samples() / clock.sample_rate_hz - expected).abs());
        }
    }
    worst
}

#[test]
fn tracks_reach_their_error_bound_but_do_not_pass_it() {
    // One antenna 1 km to the east, a source on the equator, over a day: the error of each degree comes near its bound.
    let array = AntennaArray::from_enu(vec![Enu { east_m: 1000.0, ..Enu::default() }], site()).unwrap();
    let source = Source::HourAngle { hour_angle_rad: 0.3, dec_rad: 0.0 };
    let geometry = Geometry::new(&array, source, EPOCH).unwrap();
    let clock = SampleClock { epoch_sample: 100_000_000_000_000, sample_rate_hz: 1e6 };
    let interval = 1_800_000_000; // half an hour
    let samples = clock.epoch_sample - 20_000_000_000..clock.epoch_sample + 66_400_000_000;
    for degree in 0..=5 {
        let track = geometry.track(clock, samples.clone(), interval, degree).unwrap();
        let models = track.models(1).unwrap();
        let worst = worst_error(&geometry, clock, &models, samples.clone().step_by(9_999_991));
        let bound = track.error_bound_seconds();
        assert!(worst <= bound && worst > 0.9 * bound, "degree {degree}: {worst:e}, bound {bound:e}");
    }
    // Where interpolation is exact to f64, rounding remains.
    let samples = clock.epoch_sample..clock.epoch_sample + 100_000_000;
    let track = geometry.track(clock, samples.clone(), 10_000_000, 5).unwrap();
    let worst = worst_error(&geometry, clock, &track.models(1).unwrap(), samples.step_by(99_991));
    assert!(worst <= track.error_bound_seconds() && track.error_bound_seconds() < 1e-18, "{worst:e}");
}

#[test]
fn the_bounds_printed_in_the_documentation_are_those_of_the_program() {
    let clock = SampleClock { epoch_sample: 0, sample_rate_hz: 1e9 };
    let source = Source::HourAngle { hour_angle_rad: 0.0, dec_rad: 0.0 };
    for (length_m, seconds, degree, printed) in
        [(1e3, 1, 1, 1.1e-15), (1e3, 10, 2, 7.6e-18), (1e3, 10, 3, 8.1e-19), (6e6, 10, 3, 4.9e-15)]
    {
        let array = AntennaArray::from_enu(vec![Enu { east_m: length_m, ..Enu::default() }], site()).unwrap();
        let geometry = Geometry::new(&array, source, EPOCH).unwrap();
        let interval = seconds * 1_000_000_000;
        let bound = geometry.track(clock, 0..interval, interval, degree).unwrap().error_bound_seconds();
        assert!((bound / printed - 1.0).abs() < 0.05, "{bound:e} {printed:e}");
    }
}

#[test]
fn segments_join_within_their_bounds_and_cover_the_range() {
    let geometry = Geometry::new(&array(4, 500.0), "83.6 22.0".parse().unwrap(), EPOCH).unwrap();
    let clock = SampleClock { epoch_sample: 5_000, sample_rate_hz: 1e8 };
    let track = geometry.track(clock, 1_000..3_500_001_000, 1_000_000_000, 2).unwrap();
    assert_eq!(track.antennas(), 4);
    assert_eq!(track.segments(4), None);
    for antenna in 0..4 {
        let segments = track.segments(antenna).unwrap();
        let starts: Vec<u64> = segments.iter().map(|segment| segment.start_sample).collect();
        assert_eq!(starts, [1_000, 1_000_001_000, 2_000_001_000, 3_000_001_000]);
        for pair in segments.windows(2) {
            let left = DelayModel::from_segment(pair[0].clone()).unwrap().evaluate(pair[1].start_sample);
            let right = DelayModel::from_segment(pair[1].clone()).unwrap().evaluate(pair[1].start_sample);
            let step = (left.delay_samples() - right.delay_samples()).abs() / clock.sample_rate_hz;
            assert!(step <= 2.0 * track.error_bound_seconds());
        }
    }
    // Both polarisations of an antenna share its delays.
    let models = track.models(2).unwrap();
    assert_eq!(models.len(), 8);
    assert_eq!(models[2], models[3]);
    assert_ne!(models[1], models[2]);
}

#[test]
fn delays_are_never_negative_and_their_offset_does_not_change() {
    let array = array(6, 3000.0);
    for text in ["ha -80 -30", "ha 60 80", "azel 90 0", "azel 37 -20", "10 -60"] {
        let geometry = Geometry::new(&array, text.parse().unwrap(), EPOCH).unwrap();
        for seconds in [0.0, 10_000.0, 50_000.0] {
            let delays = geometry.geometric_delays(seconds).unwrap();
            assert_eq!(delays.offset_seconds, geometry.offset_seconds());
            assert!(delays.seconds.iter().all(|&delay| delay >= 0.0), "{text} {delays:?}");
            assert!(geometry.output_delays(seconds).unwrap().iter().all(|&delay| delay >= 0.0));
        }
    }
    // The farthest antenna in the direction of the source has twice the offset, in the other direction none.
    let pair = vec![Enu { east_m: 300.0, ..Enu::default() }, Enu { east_m: -300.0, ..Enu::default() }];
    let pair = AntennaArray::from_enu(pair, site()).unwrap();
    let delays = Geometry::new(&pair, "azel 90 0".parse().unwrap(), EPOCH).unwrap().geometric_delays(0.0).unwrap();
    assert!((delays.seconds[0] - 600.0 / SPEED_OF_LIGHT_M_PER_S).abs() < 1e-19);
    assert!(delays.seconds[1] < 1e-19);
}

#[test]
fn delay_and_fringe_rates_are_the_derivatives() {
    let geometry = Geometry::new(&array(5, 3e5), "300.0 -40.0".parse().unwrap(), EPOCH).unwrap();
    let (seconds, half) = (1234.5, 0.5);
    let (before, after) =
        (geometry.geometric_delays(seconds - half).unwrap(), geometry.geometric_delays(seconds + half).unwrap());
    let rates = geometry.delay_rates(seconds).unwrap();
    // Central differences: A w^3 half^2 / 6 with A = 1 ms, and aberration, precession and nutation of 1.5e-10 rad/s.
    let tolerance = 1e-3 * (7.3e-5_f64.powi(3) * half * half / 6.0 + 1.5e-10);
    for (antenna, rate) in rates.into_iter().enumerate() {
        let difference = (after.seconds[antenna] - before.seconds[antenna]) / (2.0 * half);
        assert!((difference - rate).abs() < tolerance, "{difference:e} {rate:e}");
    }

    let frequency = 1.4e9;
    let stops = geometry.fringe_stopping(seconds, frequency).unwrap();
    let delays = geometry.output_delays(seconds).unwrap();
    let (before, after) =
        (geometry.output_delays(seconds - half).unwrap(), geometry.output_delays(seconds + half).unwrap());
    for (antenna, stop) in stops.into_iter().enumerate() {
        assert!(apart(stop.phase_turns, -frequency * delays[antenna]) < 1e-9);
        let rate = -frequency * (after[antenna] - before[antenna]) / (2.0 * half);
        assert!((stop.phase_rate_hz - rate).abs() < frequency * tolerance);
    }
}

#[test]
fn output_delays_are_those_of_the_sample_that_came_in_earlier() {
    // 100 km: the delay changes by up to 2.4e-8 s/s for 0.3 ms, far more than its rounding.
    let geometry = Geometry::new(&array(3, 1e5), "300.0 -40.0".parse().unwrap(), EPOCH).unwrap();
    let at = 7000.0;
    let output = geometry.output_delays(at).unwrap();
    let mut difference = 0.0_f64;
    for (antenna, &delay) in output.iter().enumerate() {
        let earlier = geometry.geometric_delays(at - delay).unwrap().seconds[antenna];
        // at - delay is rounded to 1e-12 s, on which the delay depends with 2.4e-8; the rest is the bound of the
        // documentation with d of up to 1 ms and |r| / c of up to 0.5 ms.
        assert!((earlier - delay).abs() < 1e-19 + 1.5e-10 * 1e-3 * 0.5e-3, "{earlier:e} {delay:e}");
        difference = difference.max((geometry.geometric_delays(at).unwrap().seconds[antenna] - delay).abs());
    }
    assert!(difference > 1e-13, "the two kinds of delay differ: {difference:e}");
}

#[test]
fn itrf_and_enu_positions_of_the_same_antennas_give_the_same_uvw() {
    let local = array(4, 800.0);
    let global = AntennaArray::from_itrf(local.itrf().unwrap()).unwrap();
    let source: Source = "83.6 22.0".parse().unwrap();
    let local = Geometry::new(&local, source, EPOCH).unwrap().uvw(100.0).unwrap();
    let global = Geometry::new(&global, source, EPOCH).unwrap().uvw(100.0).unwrap();
    for a in 0..4 {
        for axis in 0..3 {
            // The sites differ by up to 800 m: so do the origins, and diurnal aberration by 1e-10.
            let baselines = [&local, &global].map(|uvw| uvw[a][axis] - uvw[0][axis]);
            assert!((baselines[0] - baselines[1]).abs() < 1e-6, "{baselines:?}");
        }
    }
}

#[test]
fn tracks_that_cannot_be_made_are_errors() {
    let geometry = Geometry::new(&array(2, 100.0), "0 0".parse().unwrap(), EPOCH).unwrap();
    let clock = SampleClock { epoch_sample: 0, sample_rate_hz: 1e6 };
    for (range, interval, degree) in
        [(5..5, 1, 1), (0..5, 0, 1), (0..5, 1, 9), (0..u64::MAX, 1, 1), (0..u64::MAX, u64::MAX, 1)]
    {
        assert!(matches!(geometry.track(clock, range, interval, degree), Err(DelayModelError::OutOfRange { .. })));
    }
    for sample_rate_hz in [0.0, -1.0, f64::NAN, f64::MIN_POSITIVE] {
        assert!(geometry.track(SampleClock { sample_rate_hz, ..clock }, 0..5, 5, 1).is_err());
    }
    assert!(geometry.track(clock, 0..5, 5, 1).unwrap().with_fringe_stopping(f64::NAN).is_err());
    let nowhere: AntennaArray = "# enu\na 0 0 0".parse().unwrap();
    assert_eq!(Geometry::new(&nowhere, "0 0".parse().unwrap(), EPOCH), Err(DelayModelError::NoSite));
    let names = vec!["a".to_owned(), "a".to_owned()];
    let positions = fringes_delay_model::Positions::Itrf(vec![Itrf { x_m: 6.4e6, ..Itrf::default() }; 2]);
    assert!(matches!(AntennaArray::new(names, positions.clone(), None), Err(DelayModelError::DuplicateName { .. })));
    assert!(matches!(AntennaArray::new(vec![], positions, None), Err(DelayModelError::Length { .. })));
    assert_eq!(AntennaArray::from_itrf(vec![]), Err(DelayModelError::NoAntennas));
}

/// Phase in turns, without whole turns that all antennas share, of a tone at the centre of channel `k` in the sample
/// that an antenna takes at `sample`: a plane wave from the direction of the source, mixed to baseband.
fn received_turns(
    geometry: &Geometry,
    clock: SampleClock,
    antenna: usize,
    sample: u64,
    sky_hz: f64,
    cycles: (u64, u64),
) -> f64 {
    let toward = geometry.direction(clock.seconds(sample)).unwrap();
    let position = geometry.uvw(clock.seconds(sample)).unwrap()[antenna];
    // The wave comes from w: an antenna further that way receives the later part of it.
    assert!((toward.itrf().iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-12);
    let ahead = sky_hz * position[2] / SPEED_OF_LIGHT_M_PER_S;
    let (numerator, denominator) = cycles; // of the baseband frequency per sample
    let baseband = (u128::from(numerator) * u128::from(sample) % u128::from(denominator)) as f64 / denominator as f64;
    ahead.rem_euclid(1.0) + baseband
}

#[test]
fn delaying_by_the_model_aligns_the_wavefront_of_a_simulated_source() {
    let (centre_hz, sample_rate_hz) = (1.4e9, 2e8);
    // 1e14 samples of uptime, and half a million samples into a segment.
    let clock = SampleClock { epoch_sample: 100_000_000_000_000, sample_rate_hz };
    let first = clock.epoch_sample + 600_000_000_000;
    for source in ["83.6 22.0", "ha -40 -50", "azel 130 35"] {
        let geometry = Geometry::new(&array(6, 1000.0), source.parse().unwrap(), EPOCH).unwrap();
        let track = geometry.track(clock, first..first + 400_000_000, 200_000_000, 3).unwrap();
        let models = track.with_fringe_stopping(centre_hz).unwrap().models(1).unwrap();
        for complex in [false, true] {
            let channels = 60_u64;
            for (channel, offset) in [(0, 0), (1, 17), (30, 123_456_789), (44, 250_000_001), (59, 399_999_999)] {
                let sample = first + offset;
                // Baseband cycles per sample (modulo one), and the sky frequency of the channel.
                let (cycles, from_centre) = if complex {
                    (((channel + channels - channels / 2) % channels, channels), channel as f64 / channels as f64 - 0.5)
                } else {
                    ((channel, 2 * channels), channel as f64 / (2 * channels) as f64 - 0.25)
                };
                let sky_hz = centre_hz + from_centre * sample_rate_hz;
                let phases: Vec<f64> = models
                    .iter()
                    .enumerate()
                    .map(|(antenna, model)| {
                        let value = model.evaluate(sample);
                        let start = value.input_start(sample).unwrap();
                        received_turns(&geometry, clock, antenna, start, sky_hz, cycles)
                            + value.channel_phase_turns(channel as usize, channels as usize, complex)
                    })
                    .collect();
                // The sample is one of a whole number: half a sample of 5 ns at a fringe rate of 0.34 Hz (1.7e-9
                // turns), and 4700 turns of delay in f64 (1e-12), at phase rates of 64 bits.
                for (antenna, phase) in phases.iter().enumerate() {
                    let error = apart(*phase, phases[0]);
                    assert!(error < 4e-9, "{source} {complex} channel {channel} antenna {antenna}: {error:e} turns");
                }
            }
        }
    }
}

#[test]
fn before_fringe_stopping_visibilities_have_the_phase_of_w() {
    let (sky_hz, sample_rate_hz) = (1.4e9, 2e8);
    let clock = SampleClock { epoch_sample: 0, sample_rate_hz };
    let geometry = Geometry::new(&array(5, 1000.0), "83.6 22.0".parse().unwrap(), EPOCH).unwrap();
    let sample = 7_000_000_000;
    let turns = |antenna| received_turns(&geometry, clock, antenna, sample, sky_hz, (1, 4));
    let delays = geometry.geometric_delays(clock.seconds(sample)).unwrap().seconds;
    let uvw = geometry.uvw(clock.seconds(sample)).unwrap();
    for a in 0..5 {
        for b in 0..a {
            // V_ab = x_a conj(x_b)
            let phase = turns(a) - turns(b);
            let w = (uvw[a][2] - uvw[b][2]) / SPEED_OF_LIGHT_M_PER_S;
            assert!(apart(phase, sky_hz * w) < 1e-9);
            assert!(apart(phase, sky_hz * (delays[a] - delays[b])) < 1e-9);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn tracks_stay_within_their_bound(
        ra in 0.0..TAU, dec in -1.57..1.57_f64, size_exponent in 0.0..6.5_f64, interval_exponent in -2.0..3.0_f64,
        degree in 0_usize..=8, epoch_sample in 0_u64..1 << 50, start in 0_i64..1 << 40
    ) {
        let array = array(3, 10f64.powf(size_exponent));
        let geometry = Geometry::new(&array, Source::RaDec { ra_rad: ra, dec_rad: dec }, EPOCH).unwrap();
        let clock = SampleClock { epoch_sample, sample_rate_hz: 1e7 };
        let start = (epoch_sample as i64 + start) as u64;
        let interval = (10f64.powf(interval_exponent) * clock.sample_rate_hz) as u64;
        let samples = start..start + 2 * interval;
        let track = geometry.track(clock, samples.clone(), interval, degree).unwrap();
        let worst = worst_error(&geometry, clock, &track.models(1).unwrap(), samples.step_by(interval as usize / 20));
        prop_assert!(worst <= track.error_bound_seconds(), "{:e} above {:e}", worst, track.error_bound_seconds());
    }
}
