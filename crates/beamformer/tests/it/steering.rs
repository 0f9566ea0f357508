//! Steering: beams of plane waves with exactly the delays of the models.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use std::f64::consts::TAU;

use fringes_backend::Backend;
use fringes_beamformer::{BeamSteering, BeamformerError, SteeredBand, beamform, steering_models};
use fringes_delay_model::{
    AntennaArray, DelayModel, DelaySegment, Enu, Epoch, Geometry, SPEED_OF_LIGHT_M_PER_S, SampleClock, Site, Source,
};
use fringes_types::{Complex, Dimension, Frequencies, Inputs, TypesError, Voltages};
use ndarray::{Array2, Array3};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

type C32 = Complex<f32>;

const RATE_HZ: f64 = 100e6;
const BAND: SteeredBand = SteeredBand {
    frequencies: Frequencies { first_hz: 1.4e9, step_hz: 1.5e6 },
    channels: 16,
    sample_rate_hz: RATE_HZ,
    reference_hz: 1.41e9,
};

/// Delays in seconds and their rates, by antenna.
fn delays(antennas: usize, seed: u64) -> Vec<[f64; 2]> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..antennas).map(|_| [rng.random_range(-3e-6..3e-6), rng.random_range(-1e-9..1e-9)]).collect()
}

fn models(delays: &[[f64; 2]]) -> Vec<DelayModel> {
    let of = |delay: &[f64; 2]| {
        let segment = DelaySegment::from_seconds(1_000_000_000, delay, RATE_HZ).unwrap();
        DelayModel::from_segment(segment.with_fringe_stopping(BAND.reference_hz, RATE_HZ).unwrap()).unwrap()
    };
    delays.iter().map(of).collect()
}

/// Voltages `[channel][1][input]` of a wave that antennas hear earlier by their delays.
fn wave(delays_s: &[f64], inputs: Inputs) -> Voltages<C32> {
    let data = Array3::from_shape_fn((BAND.channels, 1, inputs.len()), |(channel, _, input)| {
        let turns = BAND.frequencies.channel_hz(channel) * delays_s[input / inputs.pols()];
        let value = Complex::cis(TAU * turns.fract());
        Complex::new(value.re as f32, value.im as f32)
    });
    Voltages::new(data, inputs).unwrap()
}

#[test]
fn a_wave_with_exactly_the_delays_adds_coherently_at_any_sample() {
    let inputs = Inputs::new(40, 2).unwrap();
    let delays = delays(40, 1);
    let steering = BeamSteering::new(inputs, BAND, vec![models(&delays)]).unwrap().with_polarisations();
    for seconds in [0.0, 3.0, 20.0] {
        let sample = 1_000_000_000 + (seconds * RATE_HZ) as u64;
        let now: Vec<f64> = delays.iter().map(|[delay, rate]| delay + rate * seconds).collect();
        let beams = beamform(&Backend::cpu(), &wave(&now, inputs), &steering.weights_at(sample).unwrap()).unwrap();
        // 40 antennas, weights and voltages with roundings of 2^-24 each.
        assert_eq!(beams.beams(), 2);
        assert!(beams.data().iter().all(|beam| (beam - 40.0).norm() < 40.0 * 4.0 * 6e-8), "{seconds}");
        // At another time the source has moved on.
        let later = steering.weights_at(sample + 50_000_000).unwrap();
        let beams = beamform(&Backend::cpu(), &wave(&now, inputs), &later).unwrap();
        assert!(beams.data().iter().all(|beam| (beam.norm() - 40.0).abs() > 0.5), "{seconds}");
    }
}

#[test]
fn phases_are_those_of_whole_numbers_for_any_delay() {
    // Frequencies that are binary fractions of the rate: the exact phase is one of integers.
    let (rate_hz, channels) = (1.0, 4096);
    let frequencies = Frequencies { first_hz: 13.25, step_hz: 2f64.powi(-13) };
    let band = SteeredBand { frequencies, channels, sample_rate_hz: rate_hz, reference_hz: -3.5 };
    for (coarse, fine) in [(0i64, 0.25), (7, -0.125), (-123_456_789, 0.4375), (1 << 40, -0.5)] {
        let model = DelayModel::constant(coarse as f64 + fine, 0.3).unwrap();
        let value = model.evaluate(5);
        let steering = BeamSteering::new(Inputs::single_pol(1).unwrap(), band, vec![vec![model]]).unwrap();
        let phases = steering.phases_at(5);
        for channel in [0usize, 1, 77, 4095] {
            // 16.75 + channel / 8192 cycles a sample, times sixteenths of a sample: in 2^-17 turns.
            let cycles = 16 * 8192 + 6144 + channel as i128;
            let sixteenths = 16 * i128::from(value.coarse) + (16.0 * value.fine) as i128;
            let exact = (-cycles * sixteenths).rem_euclid(1 << 17) as f64 / (1 << 17) as f64 + 0.3;
            let difference = phases[(0, 0)].turns(channel) - exact;
            assert!((difference - difference.round()).abs() < 2f64.powi(-50), "{coarse} {channel}");
        }
    }
}

#[test]
fn gains_multiply_flags_leave_out_and_models_may_be_of_inputs() {
    let inputs = Inputs::new(3, 2).unwrap();
    let gains = Array2::from_shape_fn((1, 6), |(_, input)| Complex::new(1.0 + input as f32, 0.5));
    let mut used = vec![true; 6];
    used[4] = false;
    let constant = |input: usize| DelayModel::constant(0.0, input as f64 / 16.0).unwrap();
    let steering = BeamSteering::new(inputs, BAND, vec![(0..6).map(constant).collect()]).unwrap();
    let steering = steering.with_gains(gains.clone()).unwrap().with_flags(used).unwrap();
    let weights = steering.weights_at(0).unwrap();
    assert_eq!((weights.beams(), weights.channels(), weights.inputs()), (1, 16, 6));
    for ((_, _, input), weight) in weights.data().indexed_iter() {
        let expected = if input == 4 {
            C32::default()
        } else {
            gains[(0, input)] * Complex::cis(TAU as f32 * input as f32 / 16.0)
        };
        assert!((weight - expected).norm() < 1e-6 * (1.0 + expected.norm()), "{input}");
    }
}

#[test]
fn beams_of_polarisations_sum_their_inputs_alone() {
    let inputs = Inputs::new(3, 2).unwrap();
    let zero = || vec![DelayModel::zero(); 3];
    let steering = BeamSteering::new(inputs, BAND, vec![zero(), zero()]).unwrap().with_polarisations();
    let weights = steering.weights_at(0).unwrap();
    assert_eq!(weights.beams(), 4);
    for ((beam, _, input), &weight) in weights.data().indexed_iter() {
        assert_eq!(weight, C32::new(f32::from(u8::from(beam % 2 == input % 2)), 0.0));
    }
}

#[test]
fn an_array_and_a_source_give_a_beam_that_adds_its_waves() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
    let mut place = || rng.random_range(-40.0..40.0);
    let positions = (0..24).map(|_| Enu { east_m: place(), north_m: place(), up_m: place() / 20.0 }).collect();
    let array = AntennaArray::from_enu(positions, Site::from_degrees(-30.7, 21.4, 1050.0).unwrap()).unwrap();
    let epoch: Epoch = "2026-03-20T16:30:00".parse().unwrap();
    let sources: [Source; 2] = ["05:34:31.95,+22:00:52.2".parse().unwrap(), "azel 200 70".parse().unwrap()];
    let clock = SampleClock { epoch_sample: 0, sample_rate_hz: RATE_HZ };
    let reference_hz = BAND.reference_hz;
    let models = steering_models(&array, &sources, epoch, clock, 0..6_000_000_000, reference_hz).unwrap();
    let inputs = Inputs::single_pol(24).unwrap();
    let steering = BeamSteering::new(inputs, BAND, models).unwrap();
    let weights = steering.weights_at(4_200_000_000).unwrap();
    for (own, source) in sources.into_iter().enumerate() {
        // The geometry itself: an antenna hears the wave w / c earlier than the site.
        let uvw = Geometry::new(&array, source, epoch).unwrap().uvw(42.0).unwrap();
        let ahead: Vec<f64> = uvw.iter().map(|[_, _, w]| w / SPEED_OF_LIGHT_M_PER_S).collect();
        let beams = beamform(&Backend::cpu(), &wave(&ahead, inputs), &weights).unwrap();
        for ((channel, _, beam), value) in beams.data().indexed_iter() {
            if beam == own {
                assert!((value.norm() - 24.0).abs() < 24.0 * 1e-6, "{own} {channel} {}", value.norm());
            } else {
                assert!(value.norm() < 12.0, "{own} {channel} {}", value.norm());
            }
        }
    }
}

#[test]
fn steering_that_does_not_fit_is_refused() {
    let inputs = Inputs::new(3, 2).unwrap();
    let zero = |count| vec![DelayModel::zero(); count];
    let refused = |band, models| match BeamSteering::new(inputs, band, models) {
        Err(BeamformerError::Types(error)) => error,
        other => panic!("{other:?}"),
    };
    let lengths = |error: TypesError| match error {
        TypesError::Dimension { dimension, expected, actual, .. } => (dimension, expected, actual),
        other => panic!("{other}"),
    };
    assert!(matches!(refused(BAND, vec![]), TypesError::Empty { dimension: Dimension::Beam, .. }));
    assert_eq!(lengths(refused(BAND, vec![zero(3), zero(6)])), (Dimension::Antenna, 3, 6));
    assert_eq!(lengths(refused(BAND, vec![zero(6), zero(3)])), (Dimension::Input, 6, 3));
    assert_eq!(lengths(refused(BAND, vec![zero(4)])), (Dimension::Antenna, 3, 4));
    let band = SteeredBand { channels: 0, ..BAND };
    assert!(matches!(refused(band, vec![zero(3)]), TypesError::Empty { dimension: Dimension::Channel, .. }));
    let band = SteeredBand { sample_rate_hz: 0.0, ..BAND };
    assert!(matches!(refused(band, vec![zero(3)]), TypesError::NotPositive { .. }));
    let band = SteeredBand { reference_hz: f64::NAN, ..BAND };
    assert!(matches!(refused(band, vec![zero(3)]), TypesError::NotFinite { .. }));
    let steering = BeamSteering::new(inputs, BAND, vec![zero(3)]).unwrap();
    let error = steering.clone().with_gains(Array2::zeros((2, 6))).unwrap_err();
    assert!(matches!(error, BeamformerError::Types(TypesError::Dimension { dimension: Dimension::Beam, .. })));
    let error = steering.clone().with_gains(Array2::from_elem((1, 6), C32::new(f32::NAN, 0.0))).unwrap_err();
    assert!(matches!(error, BeamformerError::Types(TypesError::NotFinite { .. })));
    let error = steering.with_flags(vec![true; 3]).unwrap_err();
    assert!(matches!(error, BeamformerError::Types(TypesError::Dimension { dimension: Dimension::Input, .. })));
}
