//! Quantisation on the CPU equals the reference exactly.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use fringes_cpu::quantiser::{QuantisedValue, quantise};
use fringes_reference::quantiser as reference;
use fringes_types::{Complex, Complex4};
use ndarray::{Array2, Array3, Axis};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Voltages that provoke: ties, limits, neighbours of both, huge values, infinities and NaN.
fn provoke(rng: &mut Xoshiro256PlusPlus) -> f32 {
    let near = rng.random_range(-260i32..=260) as f32 / 2.0;
    match rng.random_range(0..10) {
        0 => near.next_up(),
        1 => near.next_down(),
        2 => [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, -0.0, f32::MIN_POSITIVE, -1e-40]
            [rng.random_range(0..7)],
        3 => rng.random_range(-150.0..150.0),
        _ => near,
    }
}

fn wide(value: Complex<f32>) -> Complex<f64> {
    Complex::new(value.re.into(), value.im.into())
}

fn equal<Q: QuantisedValue>(
    voltages: &Array3<Complex<f32>>,
    gains: &Array2<Complex<f32>>,
    parts: impl Fn(Q) -> Complex<i8>,
) -> Result<(), TestCaseError> {
    let (result, saturated) = quantise::<Q>(voltages.view(), gains.view(), None);
    let (expected, expected_saturated) =
        reference::quantise(voltages.mapv(wide).view(), gains.mapv(wide).view(), Q::LIMIT);
    prop_assert_eq!(result.mapv(parts), expected);
    prop_assert_eq!(saturated, expected_saturated);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn integers_and_counts_equal_the_reference(
        channels in 1usize..4, times in 0usize..150, inputs in 1usize..20, unit_gain: bool, seed: u64,
    ) {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let voltages = Array3::from_shape_simple_fn((channels, times, inputs), || Complex::new(provoke(&mut rng), provoke(&mut rng)));
        let gains = Array2::from_shape_simple_fn((channels, inputs), || match unit_gain {
            true => Complex::new(1.0, 0.0),
            false => Complex::new(rng.random_range(-2.0f32..2.0), rng.random_range(-2.0..2.0)),
        });
        equal::<Complex<i8>>(&voltages, &gains, |value| value)?;
        equal::<Complex4>(&voltages, &gains, |value| Complex::new(value.re(), value.im()))?;
        // Another layout takes another loop.
        let transposed = voltages.view().permuted_axes([2, 1, 0]).as_standard_layout().into_owned().permuted_axes([2, 1, 0]);
        equal::<Complex<i8>>(&transposed, &gains, |value| value)?;
    }
}

#[test]
fn missing_voltages_give_zero_and_do_not_count() {
    let voltages = Array3::from_elem((2, 100, 3), Complex::new(f32::NAN, 900.0));
    let presence = Array2::from_shape_fn((100, 3), |(time, input)| input == 1 && time % 10 == 9);
    let gains = Array2::from_elem((2, 3), Complex::new(1.0f32, 0.0));
    let (result, saturated) = quantise::<Complex<i8>>(voltages.view(), gains.view(), Some(presence.view()));
    assert_eq!(saturated.to_vec(), [0, 20, 0]);
    for ((_, time, input), &value) in result.indexed_iter() {
        // (NaN + 900 i) (1 + 0 i): the real part is NaN, and so is NaN * 0 + 900.
        assert_eq!(value, Complex::new(0, 0), "{time} {input}");
    }
    let voltages = Array3::from_elem((2, 100, 3), Complex::new(-900.0, 3.5));
    let (result, saturated) = quantise::<Complex<i8>>(voltages.view(), gains.view(), Some(presence.view()));
    assert_eq!(saturated.to_vec(), [0, 20, 0]);
    for (time, values) in result.axis_iter(Axis(1)).enumerate() {
        for ((_, input), &value) in values.indexed_iter() {
            let expected = if presence[(time, input)] { Complex::new(-127, 4) } else { Complex::new(0, 0) };
            assert_eq!(value, expected);
        }
    }
}
