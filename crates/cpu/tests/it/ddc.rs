//! Down-conversion on the CPU against the reference, over awkward sizes, to the stated bound.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use fringes_cpu::ddc::{DownConversion, Split, down_convert, down_convert_into};
use fringes_reference::ddc as reference;
use fringes_types::{Complex, Sample};
use ndarray::{Array2, Axis, s};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const U: f64 = 1.0 / (1 << 24) as f64;

/// What a case varies beside the samples.
#[derive(Debug, Clone)]
struct Case {
    filter: Vec<f64>,
    decimation: usize,
    frequency: f64,
    phase_turns: f64,
    first_output: u64,
}

fn cases() -> impl Strategy<Value = Case> {
    let first_output = prop_oneof![0u64..1000, 100_000_000_000_000u64..100_000_000_001_000];
    (prop::collection::vec(-1.0f64..1.0, 1..70), 1usize..40, -1.0f64..1.0, -3.0f64..3.0, first_output).prop_map(
        |(filter, decimation, frequency, phase_turns, first_output)| Case {
            filter,
            decimation,
            frequency,
            phase_turns,
            first_output,
        },
    )
}

/// The stated bound, `(1.5 n + 8) u sum |x| |h|`.
fn bound(window: &[Complex<f64>], filter: &[f64], complex: bool) -> f64 {
    let partial_sums = filter.len().div_ceil(if complex { 4 } else { 8 });
    let size: f64 = window.iter().zip(filter).map(|(x, h)| x.norm() * h.abs()).sum();
    (1.5 * partial_sums as f64 + 8.0) * U * size
}

fn within_the_bound<S: Sample>(samples: &Array2<S>, case: &Case) -> Result<(), TestCaseError> {
    let Case { filter, decimation, frequency, phase_turns, first_output } = case;
    let plan = DownConversion::new(filter, *decimation, *frequency, *phase_turns);
    let result = down_convert(&plan, samples.view(), *first_output);
    for (row, result) in samples.rows().into_iter().zip(result.rows()) {
        let x: Vec<Complex<f64>> =
            row.iter().map(|x| x.to_c32()).map(|x| Complex::new(x.re.into(), x.im.into())).collect();
        let first_sample = first_output * *decimation as u64;
        let expected = reference::down_convert(&x, filter, *decimation, *frequency, *phase_turns, first_sample);
        prop_assert_eq!(result.len(), expected.len());
        for (j, (result, expected)) in result.iter().zip(&expected).enumerate() {
            let error = (Complex::new(f64::from(result.re), f64::from(result.im)) - expected).norm();
            let bound = bound(&x[j * decimation..], filter, S::COMPLEX);
            prop_assert!(error <= bound, "output {}: error {} above {}", j, error, bound);
        }
    }
    Ok(())
}

fn noise<S>(shape: (usize, usize), seed: u64, of: impl Fn(&mut Xoshiro256PlusPlus) -> S) -> Array2<S> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    Array2::from_shape_simple_fn(shape, || of(&mut rng))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_format_is_within_the_bound(
        case in cases(), inputs in 0usize..4, samples in 0usize..400, seed: u64,
    ) {
        let shape = (inputs, samples);
        within_the_bound(&noise(shape, seed, |rng| rng.random_range(-1.0f32..1.0)), &case)?;
        within_the_bound(&noise(shape, seed, |rng| rng.random::<i16>()), &case)?;
        within_the_bound(&noise(shape, seed, |rng| rng.random::<i8>()), &case)?;
        within_the_bound(&noise(shape, seed, |rng| Complex::new(rng.random_range(-1.0f32..1.0), rng.random())), &case)?;
        within_the_bound(&noise(shape, seed, |rng| Complex::new(rng.random::<i16>(), rng.random())), &case)?;
        within_the_bound(&noise(shape, seed, |rng| Complex::new(rng.random::<i8>(), rng.random())), &case)?;
    }

    #[test]
    fn the_split_of_the_work_and_the_cut_of_the_run_change_no_bit(
        case in cases(), outputs in 1usize..300, block in 1usize..50, parallel in 1usize..4, cut in 0usize..300, seed: u64,
    ) {
        let Case { filter, decimation, frequency, phase_turns, first_output } = &case;
        let plan = DownConversion::new(filter, *decimation, *frequency, *phase_turns);
        let samples = noise((2, (outputs - 1) * decimation + filter.len()), seed, |rng| rng.random::<i16>());
        let whole = down_convert(&plan, samples.view(), *first_output);
        let cut = cut.min(outputs);
        let mut parts = Array2::zeros((2, outputs));
        let (first, second) = parts.view_mut().split_at(Axis(1), cut);
        let split = Split { outputs: block, parallel };
        down_convert_into(&plan, samples.view(), *first_output, split, &[], first);
        if cut < outputs {
            let rest = samples.slice(s![.., cut * decimation..]);
            down_convert_into(&plan, rest, first_output + cut as u64, split, &[], second);
        }
        prop_assert_eq!(whole, parts);
    }
}

#[test]
fn every_layout_gives_the_same_bits() {
    let samples = noise((3, 500), 5, |rng| rng.random_range(-1.0f32..1.0));
    let plan = DownConversion::new(&[0.5, -1.0, 0.25, 3.0, 1.0, 1.0, 1.0, 0.1, 7.0], 4, 0.3, 0.0);
    let expected = down_convert(&plan, samples.view(), 7);
    let columns = samples.t().as_standard_layout().into_owned().reversed_axes();
    assert!(columns.row(0).as_slice().is_none());
    assert_eq!(down_convert(&plan, columns.view(), 7), expected);
    let mut backwards = samples.slice(s![.., ..;-1]).as_standard_layout().into_owned();
    backwards.invert_axis(Axis(1));
    assert_eq!(down_convert(&plan, backwards.view(), 7), expected);
}

#[test]
fn one_long_filter_is_within_the_bound() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    let filter: Vec<f64> = (0..5001).map(|_| rng.random_range(-1.0..1.0)).collect();
    let case = Case { filter, decimation: 997, frequency: 0.123, phase_turns: 0.0, first_output: 3 };
    within_the_bound(&noise((1, 9000), 4, |rng| rng.random_range(-1.0f32..1.0)), &case).unwrap();
    within_the_bound(&noise((1, 9000), 4, |rng| Complex::new(1.0f32, rng.random_range(-1.0..1.0))), &case).unwrap();
}

#[test]
fn a_limit_shrinks_the_work_until_one_output_does_not_fit() {
    let plan = DownConversion::new(&[1.0; 100], 10, 0.1, 0.0);
    assert_eq!(plan.scratch_bytes(false, 1), 400);
    assert_eq!(plan.scratch_bytes(true, 11), 1600);
    let threads = rayon::current_num_threads();
    assert_eq!(plan.split(false, None), Some(Split { outputs: 1024, parallel: threads }));
    assert_eq!(plan.split(false, Some(399)), None);
    for limit in [400, 801, 5000, 100_000, 1 << 40] {
        let split = plan.split(false, Some(limit)).unwrap();
        assert!(plan.scratch_bytes(false, split.outputs) * split.parallel as u64 <= limit, "{limit}: {split:?}");
        assert!(split.parallel >= 1 && split.outputs >= 1);
    }
    assert_eq!(plan.split(false, Some(400)), Some(Split { outputs: 1, parallel: 1 }));
}
