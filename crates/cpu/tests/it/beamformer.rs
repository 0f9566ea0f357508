//! Beams on the CPU against the reference, over awkward sizes, to the stated bounds.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use fringes_cpu::beamformer::{
    BeamFinish, FeedLines, HeldWeights, WeightBits, fft_beams, incoherent, tied_array, tied_array_quantised_into,
};
use fringes_reference::beamformer as reference;
use fringes_types::{Complex, Complex4, VoltageSample, f16};
use ndarray::{Array2, Array3, ArrayView2, s};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

type C64 = Complex<f64>;
const U: f64 = 1.0 / (1 << 24) as f64;

fn wide(value: Complex<f32>) -> C64 {
    C64::new(value.re.into(), value.im.into())
}

struct Noise(Xoshiro256PlusPlus);

impl Noise {
    fn unit(&mut self) -> f32 {
        self.0.random_range(-1.0..1.0)
    }

    fn complex(&mut self) -> Complex<f32> {
        Complex::new(self.unit(), self.unit())
    }
}

/// Voltages of one format from unit noise; the reference takes them after conversion, which is exact.
fn voltages<V: VoltageSample>(shape: (usize, usize, usize), noise: &mut Noise, of: fn(Complex<f32>) -> V) -> Array3<V> {
    Array3::from_shape_simple_fn(shape, || of(noise.complex()))
}

/// The voltages as the reference takes them, zero where they are missing.
fn reference_voltages<V: VoltageSample>(voltages: &Array3<V>, presence: Option<ArrayView2<'_, bool>>) -> Array3<C64> {
    let mut result = voltages.mapv(|x| wide(x.to_c32()));
    for ((_, time, input), value) in result.indexed_iter_mut() {
        if presence.is_some_and(|presence| !presence[(time, input)]) {
            *value = C64::new(0.0, 0.0);
        }
    }
    result
}

fn tied_array_within_the_bound<V: VoltageSample>(
    x: &Array3<V>,
    presence: Option<ArrayView2<'_, bool>>,
    weights: &Array3<Complex<f32>>,
    parallel: usize,
) -> Result<(), TestCaseError> {
    let result = tied_array(x.view(), presence, weights.view(), parallel);
    let (x, w) = (reference_voltages(x, presence), weights.mapv(wide));
    let expected = reference::tied_array(x.view(), w.view());
    let size = reference::tied_array(x.mapv(|x| x.norm().into()).view(), w.mapv(|w| w.norm().into()).view());
    prop_assert_eq!(result.dim(), expected.dim());
    for ((result, expected), size) in result.iter().zip(&expected).zip(&size) {
        let (error, bound) = ((wide(*result) - expected).norm(), 1.5 * (2.0 * x.dim().2 as f64 + 2.0) * U * size.re);
        prop_assert!(error <= bound, "error {} above {}", error, bound);
    }
    Ok(())
}

/// Beams by integer weights: exact but for two roundings of those of the rounded weights, which are half a step off at
/// most.
fn integer_weights_within_their_bound<V: VoltageSample>(
    x: &Array3<V>,
    presence: Option<ArrayView2<'_, bool>>,
    weights: &Array3<Complex<f32>>,
    parallel: usize,
) -> Result<(), TestCaseError> {
    let (channels, times, inputs) = x.dim();
    let beams = weights.dim().0;
    for (bits, limit) in [(WeightBits::Eight, 127f32), (WeightBits::Sixteen, 32_639.0)] {
        let rounded = Array3::from_shape_fn((beams, channels, inputs), |(beam, channel, input)| {
            let of_beam = weights.slice(s![beam, channel, ..]);
            let largest = of_beam.iter().fold(0f32, |largest, w| largest.max(w.re.abs()).max(w.im.abs()));
            let part = |part: f32| f64::from((part * (limit / largest)).round_ties_even()) * f64::from(largest / limit);
            let weight = weights[(beam, channel, input)];
            let value = C64::new(part(weight.re), part(weight.im));
            let off = value - wide(weight);
            let step = f64::from(largest) / f64::from(limit) * (0.5 + 2.0 * U * f64::from(limit));
            assert!(off.re.abs() <= step && off.im.abs() <= step, "{weight} became {value}");
            value
        });
        let (scale, mut result) = (0.75f32, vec![Complex::new(f32::NAN, 0.0); channels * times * beams]);
        let (held, finish) =
            (HeldWeights::Integer { bits, largest: None }, BeamFinish { scale, seed: None, spectrum: 0 });
        let lost = tied_array_quantised_into(x.view(), presence, weights.view(), held, finish, parallel, &mut result);
        prop_assert_eq!(lost, vec![0; beams]);
        let x = reference_voltages(x, presence);
        let expected = reference::tied_array(x.view(), rounded.view());
        for (result, expected) in result.iter().zip(&expected) {
            let expected = expected * f64::from(scale);
            // One rounding to f32, and those of the reference.
            for (result, expected) in [(result.re, expected.re), (result.im, expected.im)] {
                let error = (f64::from(result) - expected).abs();
                prop_assert!(error <= U * expected.abs() + 1e-12, "{} not {}", result, expected);
            }
        }
    }
    Ok(())
}

fn incoherent_within_the_bound<V: VoltageSample>(
    x: &Array3<V>,
    presence: Option<ArrayView2<'_, bool>>,
    gains: &Array2<f32>,
    parallel: usize,
) -> Result<(), TestCaseError> {
    let result = incoherent(x.view(), presence, gains.view(), parallel);
    let (x, g) = (reference_voltages(x, presence), gains.mapv(f64::from));
    let expected = reference::incoherent(x.view(), g.view());
    let size = reference::incoherent(x.view(), g.mapv(f64::abs).view());
    prop_assert_eq!(result.dim(), expected.dim());
    for ((&result, expected), size) in result.iter().zip(&expected).zip(&size) {
        let (error, bound) = ((f64::from(result) - expected).abs(), (x.dim().2 as f64 + 3.0) * U * size);
        prop_assert!(error <= bound, "error {} above {}", error, bound);
    }
    Ok(())
}

fn fft_within_the_bound<V: VoltageSample>(
    x: &Array3<V>,
    presence: Option<ArrayView2<'_, bool>>,
    gains: Option<&Array2<Complex<f32>>>,
    layout: FeedLines,
    parallel: usize,
) -> Result<(), TestCaseError> {
    let result = fft_beams(x.view(), presence, gains.map(|gains| gains.view()), layout, parallel);
    let x = reference_voltages(x, presence);
    let (channels, times, inputs) = x.dim();
    let g = gains.map_or(Array2::ones((channels, inputs)), |gains| gains.mapv(wide));
    let FeedLines { lines, feeds, pols, padded } = layout;
    let expected = reference::fft_beams(x.view(), g.view(), reference::FeedLines { lines, feeds, pols, padded });
    prop_assert_eq!(result.dim(), expected.dim());
    for channel in 0..channels {
        for time in 0..times {
            for line_pol in 0..lines * pols {
                let beams = s![channel, time, line_pol * padded..(line_pol + 1) * padded];
                let error: f64 =
                    result.slice(beams).iter().zip(expected.slice(beams)).map(|(a, b)| (wide(*a) - b).norm_sqr()).sum();
                let size: f64 = (0..feeds)
                    .map(|feed| ((line_pol / pols) * feeds + feed) * pols + line_pol % pols)
                    .map(|input| (g[(channel, input)] * x[(channel, time, input)]).norm_sqr())
                    .sum();
                let factor = 21.0 * ((padded as f64).log2() + 3.0) + 4.0;
                let bound = factor * U * (padded as f64 * size).sqrt();
                prop_assert!(error.sqrt() <= bound, "error {} above {}", error.sqrt(), bound);
            }
        }
    }
    Ok(())
}

fn to_i8(x: Complex<f32>) -> Complex<i8> {
    Complex::new((x.re * 127.0) as i8, (x.im * 127.0) as i8)
}

fn to_4(x: Complex<f32>) -> Complex4 {
    Complex4::new((x.re * 7.9) as i8, (x.im * 7.9) as i8).unwrap()
}

fn to_f16(x: Complex<f32>) -> Complex<f16> {
    Complex::new(f16::from_f32(x.re), f16::from_f32(x.im))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn tied_array_and_incoherent_beams_are_within_their_bounds(
        channels in 1usize..4, times in 0usize..300, inputs in 1usize..40, beams in 1usize..20,
        parallel in 1usize..4, missing: bool, seed: u64,
    ) {
        let mut noise = Noise(Xoshiro256PlusPlus::seed_from_u64(seed));
        let weights = Array3::from_shape_simple_fn((beams, channels, inputs), || noise.complex());
        let gains = Array2::from_shape_simple_fn((beams, inputs), || noise.unit());
        let flags = Array2::from_shape_simple_fn((times, inputs), || noise.unit() > -0.8);
        let presence = missing.then(|| flags.view());
        let shape = (channels, times, inputs);

        let x = voltages(shape, &mut noise, |x| x);
        tied_array_within_the_bound(&x, presence, &weights, parallel)?;
        incoherent_within_the_bound(&x, presence, &gains, parallel)?;
        let transposed = x.view().permuted_axes([2, 0, 1]).as_standard_layout().into_owned().permuted_axes([1, 2, 0]);
        tied_array_within_the_bound(&transposed, presence, &weights, parallel)?;
        let x = voltages(shape, &mut noise, to_i8);
        tied_array_within_the_bound(&x, presence, &weights, parallel)?;
        integer_weights_within_their_bound(&x, presence, &weights, parallel)?;
        incoherent_within_the_bound(&x, presence, &gains, parallel)?;
        let x = voltages(shape, &mut noise, to_4);
        tied_array_within_the_bound(&x, presence, &weights, parallel)?;
        integer_weights_within_their_bound(&x, presence, &weights, parallel)?;
        let x = voltages(shape, &mut noise, to_f16);
        tied_array_within_the_bound(&x, presence, &weights, parallel)?;
        incoherent_within_the_bound(&x, presence, &gains, parallel)?;
    }

    #[test]
    fn fft_beams_are_within_their_bound(
        channels in 1usize..3, times in 0usize..6, lines in 1usize..4, feeds in 1usize..20, pols in 1usize..3,
        padding in 0usize..30, parallel in 1usize..4, missing: bool, with_gains: bool, seed: u64,
    ) {
        let mut noise = Noise(Xoshiro256PlusPlus::seed_from_u64(seed));
        let layout = FeedLines { lines, feeds, pols, padded: feeds + padding };
        let inputs = lines * feeds * pols;
        let gains = Array2::from_shape_simple_fn((channels, inputs), || noise.complex());
        let gains = with_gains.then_some(&gains);
        let flags = Array2::from_shape_simple_fn((times, inputs), || noise.unit() > -0.8);
        let presence = missing.then(|| flags.view());
        let x = voltages((channels, times, inputs), &mut noise, |x| x);
        fft_within_the_bound(&x, presence, gains, layout, parallel)?;
        let x = voltages((channels, times, inputs), &mut noise, to_i8);
        fft_within_the_bound(&x, presence, gains, layout, parallel)?;
    }
}

#[test]
fn the_frb_line_of_256_feeds_is_within_the_bound() {
    let mut noise = Noise(Xoshiro256PlusPlus::seed_from_u64(1));
    for padded in [256, 512, 509] {
        let layout = FeedLines { lines: 1, feeds: 256, pols: 2, padded };
        fft_within_the_bound(&voltages((1, 3, 512), &mut noise, |x| x), None, None, layout, 2).unwrap();
    }
}

#[test]
fn missing_voltages_count_as_zero_even_if_they_are_not_numbers() {
    let x = Array3::from_elem((1, 3, 2), Complex::new(f32::NAN, f32::INFINITY));
    let absent = Array2::from_elem((3, 2), false);
    let (presence, zero) = (Some(absent.view()), Complex::new(0.0, 0.0));
    let weights = Array3::from_elem((2, 1, 2), Complex::new(1.0, 1.0));
    assert!(tied_array(x.view(), presence, weights.view(), 2).iter().all(|&beam| beam == zero));
    assert!(incoherent(x.view(), presence, Array2::ones((1, 2)).view(), 2).iter().all(|&beam| beam == 0.0));
    let layout = FeedLines { lines: 1, feeds: 2, pols: 1, padded: 4 };
    assert!(fft_beams(x.view(), presence, None, layout, 2).iter().all(|&beam| beam == zero));
}

#[test]
fn the_number_of_units_in_progress_changes_no_bit() {
    let mut noise = Noise(Xoshiro256PlusPlus::seed_from_u64(2));
    let x = voltages((3, 333, 17), &mut noise, |x| x);
    let weights = Array3::from_shape_simple_fn((5, 3, 17), || noise.complex());
    let expected = tied_array(x.view(), None, weights.view(), 1);
    for parallel in [0, 2, 3, 100] {
        assert_eq!(tied_array(x.view(), None, weights.view(), parallel), expected);
    }
}

#[test]
fn f16_and_f32_voltages_take_weights_as_they_are() {
    let mut noise = Noise(Xoshiro256PlusPlus::seed_from_u64(3));
    let x = voltages((2, 5, 1), &mut noise, |x| x);
    let weights = Array3::from_shape_simple_fn((3, 2, 1), || noise.complex());
    let finish = BeamFinish { scale: 1.0, seed: None, spectrum: 0 };
    let mut result = vec![Complex::new(0f32, 0.0); 30];
    let held = HeldWeights::Integer { bits: WeightBits::Eight, largest: None };
    tied_array_quantised_into(x.view(), None, weights.view(), held, finish, 2, &mut result);
    assert_eq!(result, tied_array(x.view(), None, weights.view(), 2).into_raw_vec_and_offset().0);
}
