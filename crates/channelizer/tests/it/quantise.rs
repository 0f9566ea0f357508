//! Quantisation by its public interface.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use fringes_backend::{Backend, DeviceError};
use fringes_channelizer::{ChannelizerError, Quantised, QuantisedSample, quantise, recorded_integers};
use fringes_reference::quantiser as reference;
use fringes_types::{Complex, Complex4, Dimension, Frequencies, Gains, Inputs, SpectrumClock, TypesError, Voltages};
use ndarray::{Array2, Array3};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

fn inputs(count: usize) -> Inputs {
    Inputs::single_pol(count).unwrap()
}

fn noise(shape: (usize, usize, usize), size: f32, seed: u64) -> Array3<Complex<f32>> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    Array3::from_shape_simple_fn(shape, || {
        // Halves, so that ties are common.
        let mut part = || (rng.random_range(-size..size) * 2.0).round() / 2.0;
        Complex::new(part(), part())
    })
}

fn wide(value: Complex<f32>) -> Complex<f64> {
    Complex::new(value.re.into(), value.im.into())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]

    #[test]
    fn both_formats_equal_the_reference(
        channels in 1usize..4, times in 0usize..100, count in 1usize..10, size in 1.0f32..200.0, seed: u64,
    ) {
        fn check<Q: QuantisedSample>(
            x: &Array3<Complex<f32>>, gains: &Array2<Complex<f32>>, limit: f64, parts: fn(Q) -> Complex<i8>,
        ) -> Result<(), TestCaseError> {
            let voltages = Voltages::new(x.clone(), inputs(x.dim().2)).unwrap();
            let typed = Gains::per_channel_input(gains.clone()).unwrap();
            let result = quantise::<Q, _>(&Backend::cpu(), &voltages, &typed).unwrap();
            let (expected, saturated) = reference::quantise(x.mapv(wide).view(), gains.mapv(wide).view(), limit);
            prop_assert_eq!(result.voltages.data().mapv(parts), expected);
            prop_assert_eq!(result.saturated, saturated);
            prop_assert!(result.voltages.data().iter().all(|value| value.is_sample()));
            Ok(())
        }
        let x = noise((channels, times, count), size, seed);
        let gains = Array2::from_shape_fn((channels, count), |(c, i)| Complex::new(1.0 - 0.25 * c as f32, 0.1 * i as f32));
        check::<Complex<i8>>(&x, &gains, 127.0, |value| value)?;
        check::<Complex4>(&x, &gains, 7.0, |value| Complex::new(value.re(), value.im()))?;
    }
}

#[test]
fn a_uniform_gain_is_that_gain_everywhere() {
    let voltages = Voltages::new(noise((3, 20, 4), 100.0, 1), inputs(4)).unwrap();
    let everywhere = Gains::per_channel_input(Array2::from_elem((3, 4), Complex::new(0.7, 0.0))).unwrap();
    let uniform = quantise::<Complex<i8>, _>(&Backend::cpu(), &voltages, &Gains::uniform(0.7).unwrap()).unwrap();
    assert_eq!(uniform, quantise(&Backend::cpu(), &voltages, &everywhere).unwrap());
}

#[test]
fn axes_and_presence_are_kept_and_missing_voltages_are_zero() {
    let clock = SpectrumClock { first_sample: 77, samples_between_spectra: 16, sample_rate_hz: 1e6 };
    let frequencies = Frequencies { first_hz: 1e9, step_hz: 1e3 };
    let presence = Array2::from_shape_fn((5, 2), |(time, input)| (time + input) % 3 != 0);
    let voltages = Voltages::new(Array3::from_elem((2, 5, 2), Complex::new(300.0, 1.0)), inputs(2))
        .unwrap()
        .with_frequencies(frequencies)
        .unwrap()
        .with_clock(clock)
        .unwrap()
        .with_presence(presence.clone())
        .unwrap();
    let result = quantise::<Complex<i8>, _>(&Backend::cpu(), &voltages, &Gains::uniform(1.0).unwrap()).unwrap();
    assert_eq!((result.voltages.clock(), result.voltages.frequencies()), (clock, frequencies));
    assert_eq!(result.voltages.presence(), Some(presence.view()));
    for ((_, time, input), &value) in result.voltages.data().indexed_iter() {
        assert_eq!(value, if presence[(time, input)] { Complex::new(127, 1) } else { Complex::new(0, 0) });
    }
    for (input, column) in presence.columns().into_iter().enumerate() {
        assert_eq!(result.saturated[input], 2 * column.iter().filter(|&&present| present).count() as u64);
    }
}

#[test]
fn recorded_integers_stay_as_they_are_and_the_most_negative_is_clamped_and_counted() {
    let recorded = Array3::from_shape_fn((1, 256, 1), |(_, time, _)| Complex::new(time as f32 - 128.0, 5.0));
    let voltages = Voltages::new(recorded, inputs(1)).unwrap();
    let result = recorded_integers::<Complex<i8>>(&Backend::cpu(), &voltages).unwrap();
    assert_eq!(result.saturated.to_vec(), [1]);
    for (time, value) in result.voltages.data().iter().enumerate() {
        assert_eq!(*value, Complex::new((time as i32 - 128).max(-127) as i8, 5));
    }

    let broken = Array3::from_elem((1, 1, 1), Complex::new(0.5, 0.0));
    let voltages = Voltages::new(broken, inputs(1)).unwrap();
    let error = recorded_integers::<Complex<i8>>(&Backend::cpu(), &voltages).unwrap_err();
    assert_eq!(error, ChannelizerError::NotInteger { actual: "0.5+0i".into(), index: vec![0, 0, 0] });
    // Where nothing was recorded, anything may stand.
    let absent = voltages.with_presence(Array2::from_elem((1, 1), false)).unwrap();
    assert!(recorded_integers::<Complex<i8>>(&Backend::cpu(), &absent).is_ok());
}

#[test]
fn bad_gains_are_typed_errors() {
    let not_finite =
        |error, expected: &[usize]| matches!(error, TypesError::NotFinite { index, .. } if index == expected);
    assert!(not_finite(Gains::uniform(f32::NAN).unwrap_err(), &[]));
    let mut gains = Array2::from_elem((2, 3), Complex::new(1.0f32, 0.0));
    gains[(1, 2)] = Complex::new(0.0, f32::INFINITY);
    assert!(not_finite(Gains::per_channel_input(gains).unwrap_err(), &[1, 2]));

    let voltages = Voltages::new(noise((2, 5, 3), 1.0, 1), inputs(3)).unwrap();
    for (shape, dimension, expected, actual) in [((4, 3), Dimension::Channel, 2, 4), ((2, 1), Dimension::Input, 3, 1)] {
        let gains = Gains::per_channel_input(Array2::from_elem(shape, Complex::new(1.0, 0.0))).unwrap();
        let error = quantise::<Complex<i8>, _>(&Backend::cpu(), &voltages, &gains).unwrap_err();
        let expected = TypesError::Dimension { array: "gains", dimension, expected, actual };
        assert_eq!(error, ChannelizerError::Types(expected));
    }
}

#[test]
fn the_memory_query_is_the_limit_that_suffices() {
    let voltages = Voltages::new(noise((2, 5, 3), 1.0, 1), inputs(3)).unwrap();
    let need = Quantised::<Voltages<Complex4>>::memory(&Backend::cpu(), 2, 5, 3).unwrap();
    assert_eq!((need.input_bytes, need.output_bytes), (2 * 5 * 3 * 8, 2 * 5 * 3));
    let with = |limit| {
        let backend = Backend::cpu().with_memory_limit(limit);
        quantise::<Complex4, _>(&backend, &voltages, &Gains::uniform(1.0).unwrap())
    };
    assert!(with(need.smallest_step_bytes).is_ok());
    assert!(matches!(
        with(need.smallest_step_bytes - 1),
        Err(ChannelizerError::Device(DeviceError::MemoryLimit { .. }))
    ));
}
