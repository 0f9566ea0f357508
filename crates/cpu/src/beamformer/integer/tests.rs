//! Every instruction set against sums in i64, bit for bit.

use fringes_types::Complex4;
use ndarray::{Array2, Array3, s};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;
use crate::beamformer::BeamFinish;
use crate::beamformer::quantised::Work;

type C8 = Complex<i8>;
type C32 = Complex<f32>;

fn sets() -> impl Iterator<Item = InstructionSet> {
    InstructionSet::ALL.into_iter().filter(|set| set.is_available())
}

fn noise(shape: [usize; 2], random: &mut Xoshiro256PlusPlus) -> Array2<C32> {
    Array2::from_shape_simple_fn(shape, || {
        Complex::new(random.random_range(-3f32..3.0), random.random_range(-3f32..3.0))
    })
}

/// Sums `[time][beam]` of integer weights, in i64.
fn exact(voltages: &Array2<C8>, present: &Array2<bool>, weights: &Array2<C32>, bits: WeightBits) -> Array2<[i64; 2]> {
    let mut rounded = Vec::new();
    let rows = weights.rows().into_iter().map(|row| {
        bits.round(row, None, &mut rounded);
        rounded.clone()
    });
    let rows: Vec<Vec<[i32; 2]>> = rows.collect();
    Array2::from_shape_fn((voltages.nrows(), weights.nrows()), |(time, beam)| {
        let mut sum = [0i64; 2];
        for (input, x) in voltages.row(time).iter().enumerate().filter(|(input, _)| present[(time, *input)]) {
            let ([wr, wi], [xr, xi]) = (rows[beam][input].map(i64::from), [x.re, x.im].map(i64::from));
            sum[0] += wr * xr - wi * xi;
            sum[1] += wr * xi + wi * xr;
        }
        sum
    })
}

fn sums<V: VoltageSample>(
    set: InstructionSet,
    bits: WeightBits,
    voltages: &Array2<V>,
    present: &Array2<bool>,
    weights: &Array2<C32>,
) -> Array2<[i64; 2]> {
    let mut integers = Integers::new(set, bits);
    integers.pack(weights.view(), None);
    // Twice, as what was there before must not matter.
    integers.multiply(voltages.view(), None);
    integers.multiply(voltages.view(), Some(present.view()));
    let mut all = Vec::new();
    for (high, low) in integers.times() {
        let high = high.as_chunks::<2>().0.iter().map(|sum| sum.map(i64::from));
        let values: Vec<[i64; 2]> = match low {
            None => high.collect(),
            Some(low) => {
                let pairs = high.zip(low.as_chunks::<2>().0);
                pairs.map(|(high, low)| [0, 1].map(|part| 256 * high[part] + i64::from(low[part]))).collect()
            }
        };
        all.extend_from_slice(&values[..weights.nrows()]);
    }
    Array2::from_shape_vec((voltages.nrows(), weights.nrows()), all).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn sums_are_exact_on_every_instruction_set(times in 0usize..20, inputs in 1usize..40, beams in 1usize..30, seed: u64) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let weights = noise([beams, inputs], &mut random);
        // All bytes, -128 included.
        let bytes = Array2::from_shape_simple_fn((times, inputs), || Complex::new(random.random(), random.random()));
        let nibbles = bytes.mapv(|x: C8| Complex4(x.re as u8));
        let of_nibbles = nibbles.mapv(|x| Complex::new(x.re(), x.im()));
        let present = Array2::from_shape_simple_fn((times, inputs), || random.random_bool(0.8));
        for bits in [WeightBits::Eight, WeightBits::Sixteen] {
            let (of_bytes, of_nibbles) =
                (exact(&bytes, &present, &weights, bits), exact(&of_nibbles, &present, &weights, bits));
            for set in sets() {
                prop_assert_eq!(&sums(set, bits, &bytes, &present, &weights), &of_bytes, "{:?} {:?}", set, bits);
                prop_assert_eq!(&sums(set, bits, &nibbles, &present, &weights), &of_nibbles, "{:?} {:?}", set, bits);
            }
        }
    }

    #[test]
    fn beams_are_the_same_bits_on_every_instruction_set(
        channels in 1usize..4, times in 1usize..250, inputs in 1usize..9, beams in 1usize..12, parallel in 1usize..4,
        dithered: bool, seed: u64,
    ) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let voltages = Array3::from_shape_simple_fn((channels, times, inputs), || {
            Complex::new(random.random::<i8>(), random.random())
        });
        let mut unit = || random.random_range(-1f32..1.0);
        let weights = Array3::from_shape_simple_fn((beams, channels, inputs), || Complex::new(unit(), unit()));
        let finish = BeamFinish { scale: 0.3, seed: dithered.then_some(seed), spectrum: u64::MAX - 20 };
        for bits in [WeightBits::Eight, WeightBits::Sixteen] {
            let all: Vec<_> = sets().map(|set| {
                let work = Work { voltages: voltages.view(), presence: None, weights: weights.view(), finish, parallel };
                let mut bytes = vec![C8::default(); channels * times * beams];
                let lost = work.integers(set, bits, None, &mut bytes);
                let mut floats = vec![C32::default(); channels * times * beams];
                work.integers(set, bits, None, &mut floats);
                (lost, bytes, floats)
            }).collect();
            for other in &all {
                prop_assert_eq!(other, &all[0]);
            }
        }
    }
}

#[test]
fn the_largest_sums_do_not_overflow() {
    let inputs = MOST_INPUTS;
    let weights = Array2::from_elem((1, inputs), Complex::new(1.0, -1.0));
    let voltages = Array2::from_elem((1, inputs), C8::new(-128, -128));
    let present = Array2::from_elem((1, inputs), true);
    for bits in [WeightBits::Eight, WeightBits::Sixteen] {
        let expected = exact(&voltages, &present, &weights, bits);
        assert_eq!(expected[(0, 0)][1], 0);
        for set in sets() {
            assert_eq!(sums(set, bits, &voltages, &present, &weights), expected, "{set:?} {bits:?}");
        }
    }
}

#[test]
fn sums_of_several_runs_are_exact() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
    for inputs in [RUN - 1, RUN, RUN + 1, 2 * RUN, 2 * RUN + 88] {
        // Three panels and seven times: whole tiles, and parts of some.
        let mut weights = noise([19, inputs], &mut random);
        let mut voltages = Array2::from_shape_simple_fn((7, inputs), || C8::new(random.random(), random.random()));
        // The sums of greatest magnitude, of both signs.
        weights.row_mut(0).fill(C32::new(1.0, -1.0));
        voltages.row_mut(0).fill(C8::new(-128, -128));
        weights.row_mut(9).fill(C32::new(-1.0, 1.0));
        let mut present = Array2::from_shape_simple_fn((7, inputs), || random.random_bool(0.9));
        present.row_mut(0).fill(true);
        for bits in [WeightBits::Eight, WeightBits::Sixteen] {
            let expected = exact(&voltages, &present, &weights, bits);
            for set in sets() {
                assert_eq!(sums(set, bits, &voltages, &present, &weights), expected, "{set:?} {bits:?} {inputs}");
            }
        }
    }
}

#[test]
fn voltages_in_another_order_are_the_same() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let weights = noise([3, 7], &mut random);
    let turned = Array2::from_shape_simple_fn((7, 11), || C8::new(random.random(), random.random()));
    let (turned, present) = (turned.reversed_axes(), Array2::from_elem((11, 7), true));
    let expected = exact(&turned, &present, &weights, WeightBits::Eight);
    for set in sets() {
        assert_eq!(sums(set, WeightBits::Eight, &turned, &present, &weights), expected);
        let every_other = turned.slice(s![..;2, ..]).to_owned();
        assert_eq!(sums(set, WeightBits::Eight, &every_other, &present, &weights).row(1), expected.row(2));
    }
}
