//! Plans on the CPU against the transform's definition in f64: every size, format, sign and output.
#![allow(clippy::unwrap_used)] // a failed check in a helper ends the test

use crate::common;

use std::f64::consts::TAU;

use common::{TestSample, expected, f32_bound, half_rounding, noise, plan};
use fringes_backend::Backend;
use fringes_fft::{Fft, Overflow, SIZES, Sign};
use fringes_types::{Complex4, f16};
use ndarray::{Array2, s};
use num_complex::{Complex, Complex64 as C64};
use proptest::prelude::*;

type Spectra = Complex<f16>;

const SIGNS: [Sign; 2] = [Sign::Positive, Sign::Negative];

fn number(value: Spectra) -> C64 {
    C64::new(value.re.to_f64(), value.im.to_f64())
}

/// Checks spectra and powers of samples against the definition.
fn check<S: TestSample>(spectra: Fft<S, Spectra>, powers: Fft<S, f32>, samples: &Array2<S>) {
    let actual = spectra.transform(&Backend::cpu(), samples.view()).unwrap();
    let actual_powers = powers.transform(&Backend::cpu(), samples.view()).unwrap();
    assert_eq!(actual.dim(), (samples.nrows(), spectra.outputs()));
    assert_eq!(actual_powers.dim(), actual.dim());
    for (transform, row) in samples.outer_iter().enumerate() {
        let expected = expected(&spectra, row);
        let scale = 2f64.powi(spectra.scale_exponent());
        let norm = scale * row.iter().map(|sample| sample.number().norm_sqr()).sum::<f64>().sqrt();
        let error = f32_bound(spectra.outputs(), norm);
        for (q, expected) in expected.iter().enumerate() {
            let value = number(actual[(transform, q)]);
            for (value, expected) in [(value.re, expected.re), (value.im, expected.im)] {
                let bound = error + half_rounding(expected.abs() + error);
                assert!(
                    (value - expected).abs() <= bound,
                    "{} at {transform}, {q}: {value} for {expected}",
                    spectra.size()
                );
            }
            let (power, of) = (f64::from(actual_powers[(transform, q)]), expected.norm());
            // The square of a value with the error, and three roundings of it.
            let bound = error * (2.0 * of + error) + 3.0 * 2f64.powi(-24) * (of + error).powi(2);
            assert!(
                (power - of * of).abs() <= bound,
                "{} at {transform}, {q}: {power} for {}",
                spectra.size(),
                of * of
            );
        }
    }
}

fn check_format<S: TestSample>(seed: u64) {
    for size in SIZES {
        for (sign, exponent) in [(Sign::Positive, 0), (Sign::Negative, 0), (Sign::Positive, -5), (Sign::Negative, 1)] {
            let spectra = plan::<S, Spectra>(size).with_sign(sign).with_scale_exponent(exponent).unwrap();
            let powers = plan::<S, f32>(size).with_sign(sign).with_scale_exponent(exponent).unwrap();
            check(spectra, powers, &noise(3, size.inputs(), seed + size.outputs() as u64));
        }
    }
}

#[test]
fn f16_samples_become_their_transform() {
    check_format::<Complex<f16>>(1);
}

#[test]
fn eight_bit_samples_become_their_transform() {
    check_format::<Complex<i8>>(2);
}

#[test]
fn four_bit_samples_become_their_transform() {
    check_format::<Complex4>(3);
}

#[test]
fn the_most_negative_integers_are_numbers_too() {
    let nibbles = Array2::from_elem((1, 64), Complex4(0x87)); // -8 + 7i
    let spectra = plan::<Complex4, Spectra>(SIZES[0]).transform(&Backend::cpu(), nibbles.view()).unwrap();
    assert_eq!(number(spectra[(0, 0)]), C64::new(-512.0, 448.0));
    let bytes = Array2::from_elem((1, 64), Complex::new(-128i8, 127));
    let spectra = plan::<Complex<i8>, Spectra>(SIZES[0]).transform(&Backend::cpu(), bytes.view()).unwrap();
    assert_eq!(number(spectra[(0, 0)]), C64::new(-8192.0, 8128.0));
}

#[test]
fn an_impulse_becomes_one_wave() {
    for size in SIZES {
        for sign in SIGNS {
            let (n, amplitude) = (size.inputs() - 3, C64::new(3.0, -4.0));
            let mut samples = Array2::from_elem((2, size.inputs()), Complex4::default());
            samples[(1, n)] = Complex4::new(3, -4).unwrap();
            let spectra =
                plan::<Complex4, Spectra>(size).with_sign(sign).transform(&Backend::cpu(), samples.view()).unwrap();
            for q in 0..size.outputs() {
                assert_eq!(number(spectra[(0, q)]), C64::default());
                let turns = sign.value() * ((q * n) % size.outputs()) as f64 / size.outputs() as f64;
                let wave = amplitude * C64::cis(TAU * turns);
                let bound = f32_bound(size.outputs(), 5.0) + half_rounding(5.0);
                assert!((number(spectra[(1, q)]) - wave).norm() <= bound * std::f64::consts::SQRT_2, "{size}, {q}");
            }
        }
    }
}

#[test]
fn a_tone_comes_out_at_its_frequency_and_padding_interpolates() {
    for size in SIZES {
        for sign in SIGNS {
            let bin = 10 * size.outputs() / size.inputs(); // a whole number of turns in the input
            let samples = Array2::from_shape_fn((1, size.inputs()), |(_, n)| {
                let tone = C64::cis(-sign.value() * TAU * (bin * n % size.outputs()) as f64 / size.outputs() as f64);
                <Complex<f16>>::near(tone.re, tone.im)
            });
            let spectra = plan::<_, Spectra>(size).with_sign(sign).transform(&Backend::cpu(), samples.view()).unwrap();
            let (inputs, outputs) = (size.inputs() as f64, size.outputs() as f64);
            for q in 0..size.outputs() {
                // The sum of a geometric series: inputs at the tone, zero a whole turn of the input away, sin ratios
                // between.
                let half_turn = TAU * (q as f64 - bin as f64) / outputs / 2.0;
                let magnitude = if q == bin { inputs } else { ((inputs * half_turn).sin() / half_turn.sin()).abs() };
                // Each sample is rounded to f16 by at most 2^-12 in each part.
                let bound = inputs * 2f64.powi(-12) * 1.5
                    + f32_bound(size.outputs(), inputs.sqrt())
                    + 2.0 * half_rounding(magnitude);
                assert!((number(spectra[(0, q)]).norm() - magnitude).abs() <= bound, "{size}, {q}");
            }
        }
    }
}

#[test]
fn values_beyond_f16_become_infinite_or_the_largest_as_the_plan_says() {
    let samples = Array2::from_shape_fn((1, 1024), |_| Complex::new(127i8, -127));
    let plain = Fft::<Complex<i8>, Spectra>::new(1024, 1024).unwrap();
    let spectra = plain.transform(&Backend::cpu(), samples.view()).unwrap();
    assert_eq!(number(spectra[(0, 0)]), C64::new(f64::INFINITY, -f64::INFINITY)); // 127 1024 = 130048
    let spectra = plain.with_overflow(Overflow::Saturate).transform(&Backend::cpu(), samples.view()).unwrap();
    assert_eq!(number(spectra[(0, 0)]), C64::new(65504.0, -65504.0));
    let spectra = plain.with_scale_exponent(-1).unwrap().transform(&Backend::cpu(), samples.view()).unwrap();
    assert_eq!(number(spectra[(0, 0)]), C64::new(65024.0, -65024.0));
    let powers = Fft::<Complex<i8>, f32>::new(1024, 1024).unwrap().transform(&Backend::cpu(), samples.view()).unwrap();
    assert_eq!(powers[(0, 0)], 2.0 * 130048f32 * 130048.0);
}

#[test]
fn no_signal_within_the_largest_safe_input_overflows_and_one_4_percent_above_does() {
    for size in SIZES {
        for exponent in [-10, 0, 3] {
            let plan = plan::<Complex<f16>, Spectra>(size).with_scale_exponent(exponent).unwrap();
            let limit = plan.largest_safe_input();
            assert!(
                (limit * 2f64.powi(exponent) * size.inputs() as f64 * 2f64.sqrt() / 65504.0 - 0.96875).abs() < 1e-12
            );
            // All samples at 45 degrees; turned by 45 degrees, they sum to a real number: the worst that there is.
            let sum = |part: f64| 2f64.powi(exponent) * size.inputs() as f64 * C64::new(part, part).norm();
            assert!(sum(limit) < 65504.0 && sum(limit * 1.04) > 65520.0);
        }
    }
}

#[test]
fn integers_are_safe_where_their_sums_fit() {
    let is_safe = |size| (plan::<Complex4, Spectra>(size).is_safe(), plan::<Complex<i8>, Spectra>(size).is_safe());
    for size in SIZES {
        // 8 sqrt(2) 1024 = 11585; 128 sqrt(2) 256 = 46341 and twice that.
        assert_eq!(is_safe(size), (true, size.inputs() <= 256), "{size}");
        assert!(!plan::<Complex<f16>, Spectra>(size).is_safe());
    }
    assert!(plan::<Complex<i8>, Spectra>(SIZES[8]).with_scale_exponent(-2).unwrap().is_safe());
}

#[test]
fn any_order_of_memory_gives_the_same_outputs() {
    let plan = Fft::<Complex<i8>, Spectra>::new(64, 128).unwrap();
    let samples: Array2<Complex<i8>> = noise(37, 64, 5);
    let expected = plan.transform(&Backend::cpu(), samples.view()).unwrap();
    let turned = samples.t().to_owned(); // [n][transform]
    assert_eq!(plan.transform(&Backend::cpu(), turned.t()).unwrap(), expected);
    let mut outputs = Array2::from_elem((128, 74), Complex::new(f16::ONE, f16::ONE));
    plan.transform_into(&Backend::cpu(), samples.view(), outputs.slice_mut(s![.., ..;2]).reversed_axes()).unwrap();
    assert_eq!(outputs.slice(s![.., ..;2]).t(), expected);
    assert!(outputs.slice(s![.., 1..;2]).iter().all(|&value| value == Complex::new(f16::ONE, f16::ONE)));
}

#[test]
fn a_memory_limit_changes_nothing_but_the_memory() {
    let plan = Fft::<Complex4, f32>::new(256, 512).unwrap();
    let samples: Array2<Complex4> = noise(100, 256, 6);
    let need = plan.memory(&Backend::cpu(), 100).unwrap();
    assert_eq!((need.input_bytes, need.output_bytes), (100 * 256, 100 * 512 * 4));
    let backend = Backend::cpu().with_memory_limit(need.smallest_step_bytes);
    assert_eq!(plan.transform(&backend, samples.view()), plan.transform(&Backend::cpu(), samples.view()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn power_is_kept(number_of_size in 0usize..9, transforms in 0usize..5, seed: u64) {
        let size = SIZES[number_of_size];
        let samples: Array2<Complex<i8>> = noise(transforms, size.inputs(), seed);
        let powers = plan::<Complex<i8>, f32>(size).transform(&Backend::cpu(), samples.view()).unwrap();
        for (row, powers) in samples.outer_iter().zip(powers.outer_iter()) {
            let norm = row.iter().map(|x| x.number().norm_sqr()).sum::<f64>().sqrt();
            let expected = size.outputs() as f64 * norm * norm;
            let actual: f64 = powers.iter().map(|&power| f64::from(power)).sum();
            // Norms of spectra differ by at most the norm of the error; and three roundings of each power.
            let error = f32_bound(size.outputs(), norm);
            let bound = error * (2.0 * expected.sqrt() + error) + 3.0 * 2f64.powi(-24) * 1.01 * expected;
            prop_assert!((actual - expected).abs() <= bound, "{actual} for {expected}");
        }
    }

    #[test]
    fn the_transform_is_linear(number_of_size in 0usize..9, factor in -3i8..=3, seed: u64) {
        let size = SIZES[number_of_size];
        let plan = plan::<Complex<i8>, Spectra>(size);
        let small = |seed| noise::<Complex<i8>>(1, size.inputs(), seed).mapv(|x| Complex::new(x.re / 4, x.im / 4));
        let (x, y) = (small(seed), small(seed ^ 1));
        let both = Array2::from_shape_fn(x.dim(), |at| Complex::new(x[at].re * factor + y[at].re, x[at].im * factor + y[at].im));
        let norm = |x: &Array2<Complex<i8>>| x.iter().map(|x| x.number().norm_sqr()).sum::<f64>().sqrt();
        let transform = |x: &Array2<Complex<i8>>| plan.transform(&Backend::cpu(), x.view()).unwrap();
        let [of_x, of_y, of_both] = [&x, &y, &both].map(transform);
        let factor = f64::from(factor);
        let error = f32_bound(size.outputs(), factor.abs() * norm(&x) + norm(&y) + norm(&both));
        for ((x, y), both) in of_x.iter().zip(&of_y).zip(&of_both) {
            let (x, y, both) = (number(*x), number(*y), number(*both));
            let rounding = half_rounding(both.norm()) + factor.abs() * half_rounding(x.norm()) + half_rounding(y.norm());
            prop_assert!((both - (factor * x + y)).norm() <= error + 1.5 * rounding);
        }
    }
}
