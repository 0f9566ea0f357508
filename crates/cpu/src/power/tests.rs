//! Against the reference, in every format, layout and shape.

use fringes_reference::interference as reference;
use fringes_types::{Complex4, row_times};
use half::f16;
use ndarray::{Array2, Array3, Array4, Array5};
use num_complex::Complex;
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;

fn generator(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

/// Values over the whole range, the ends often.
trait Random: Power {
    fn random(generator: &mut impl Rng) -> Self;
}

fn part(generator: &mut impl Rng, limit: i8) -> i8 {
    match generator.random_range(0..4) {
        0 => limit,
        1 => -limit,
        _ => generator.random_range(-limit..=limit),
    }
}

impl Random for Complex<i8> {
    fn random(generator: &mut impl Rng) -> Self {
        Self::new(part(generator, 127), part(generator, 127))
    }
}

impl Random for Complex4 {
    fn random(generator: &mut impl Rng) -> Self {
        Self::new(part(generator, 7), part(generator, 7)).unwrap()
    }
}

impl Random for Complex<f32> {
    fn random(generator: &mut impl Rng) -> Self {
        Self::new(generator.random_range(-1.0..1.0), generator.random_range(-1.0..1.0))
    }
}

impl Random for Complex<f16> {
    fn random(generator: &mut impl Rng) -> Self {
        let value = Complex::<f32>::random(generator);
        Self::new(f16::from_f32(value.re), f16::from_f32(value.im))
    }
}

/// Sums of voltages, and those of the reference.
fn check<V: Random>(voltages: &Array3<V>, presence: Option<&Array2<bool>>, blocks: Blocks) {
    let (channels, times, inputs) = voltages.dim();
    let shape = (channels, blocks.count(times), inputs);
    let (mut first, mut second) =
        (Array3::from_elem(shape, V::Sum::default()), Array3::from_elem(shape, V::Sum::default()));
    let presence = presence.map(|flags| flags.view());
    power_sums(voltages.view(), presence, blocks, [first.view_mut(), second.view_mut()]);
    let wide = voltages.mapv(|x| Complex::new(f64::from(x.to_c32().re), f64::from(x.to_c32().im)));
    let expected = reference::power_sums(wide.view(), presence, blocks.spectra, blocks.lead);
    let exact = size_of::<V::Sum>() == 8 && size_of::<V>() <= 2;
    let bound = if exact { 0.0 } else { 2.0 * (blocks.spectra.min(times) as f64 + 4.0) * f64::EPSILON / 2.0 };
    for ((first, second), (expected_first, expected_second)) in
        first.iter().zip(&second).zip(expected.first.iter().zip(&expected.second))
    {
        assert!((first.to_f64() - expected_first).abs() <= bound * expected_first, "{first:?} {expected_first}");
        assert!((second.to_f64() - expected_second).abs() <= bound * expected_second, "{second:?} {expected_second}");
    }
    if let Some(flags) = presence {
        assert_eq!(present_spectra(flags, blocks), expected.count);
    }
}

fn check_format<V: Random>(seed: u64) {
    let mut generator = generator(seed);
    let shapes = [(2, 100, 1), (1, 1, 3), (3, 37, 2), (1, 130, 16), (2, 70, 63), (1, 21, 64), (1, 9, 150), (2, 0, 4)];
    for (channels, times, inputs) in shapes {
        let voltages = Array3::from_shape_simple_fn((channels, times, inputs), || V::random(&mut generator));
        let flags = Array2::from_shape_simple_fn((times, inputs), || generator.random_range(0..20) > 0);
        for (spectra, lead) in [(1, 0), (16, 0), (16, 5), (7, 6), (1000, 0), (1000, 950)] {
            let blocks = Blocks { spectra, lead };
            check(&voltages, None, blocks);
            check(&voltages, Some(&flags), blocks);
        }
    }
}

#[test]
fn sums_are_the_references_in_every_format_and_shape() {
    check_format::<Complex4>(1);
    check_format::<Complex<i8>>(2);
    check_format::<Complex<f16>>(3);
    check_format::<Complex<f32>>(4);
}

#[test]
fn sums_of_the_largest_values_do_not_overflow() {
    // More rows than are summed in the narrow types.
    let times = 70_000;
    let bytes = Array3::from_elem((1, times, 64), Complex::new(127i8, -127));
    check(&bytes, None, Blocks { spectra: times, lead: 0 });
    let nibbles = Array3::from_elem((1, 270_000, 16), Complex4::new(-7, 7).unwrap());
    check(&nibbles, None, Blocks { spectra: 270_000, lead: 0 });
}

#[test]
fn what_is_absent_counts_as_zero_whatever_the_array_holds() {
    let mut voltages = Array3::from_elem((1, 8, 2), Complex::new(1f32, 1.0));
    voltages[(0, 3, 1)] = Complex::new(f32::NAN, f32::INFINITY);
    let presence = Array2::from_shape_fn((8, 2), |place| place != (3, 1));
    let (mut first, mut second) = (Array3::zeros((1, 1, 2)), Array3::zeros((1, 1, 2)));
    let blocks = Blocks { spectra: 8, lead: 0 };
    power_sums(voltages.view(), Some(presence.view()), blocks, [first.view_mut(), second.view_mut()]);
    assert_eq!(
        (first.into_raw_vec_and_offset().0, second.into_raw_vec_and_offset().0),
        (vec![16.0, 14.0], vec![32.0, 28.0])
    );
}

type Views<'a, S> = [ArrayViewMut3<'a, S>; 2];

fn check_layouts<V: Random>(seed: u64) {
    let mut generator = generator(seed);
    let (batches, antennas, channels, spectra, pols) = (5, 3, 2, 11, 2);
    let (times, inputs, row) = (batches * spectra, antennas * pols, row_times(V::FORMAT));
    let voltages = Array3::from_shape_simple_fn((channels, times, inputs), || V::random(&mut generator));
    let heaps =
        Array5::from_shape_fn((batches, antennas, channels, spectra, pols), |(batch, antenna, channel, t, pol)| {
            voltages[(channel, batch * spectra + t, antenna * pols + pol)]
        });
    let rows = Array4::from_shape_fn((channels, times.div_ceil(row), inputs, row), |(channel, number, input, t)| {
        voltages.get((channel, number * row + t, input)).copied().unwrap_or(V::zeroed())
    });
    let flags = Array2::from_shape_fn((batches, antennas), |(batch, antenna)| (batch + antenna) % 3 != 0);
    let of_times = Array2::from_shape_fn((times, inputs), |(time, input)| flags[(time / spectra, input / pols)]);
    for (length, lead) in [(11, 0), (7, 3), (100, 40), (1, 0)] {
        let blocks = Blocks { spectra: length, lead };
        let shape = (channels, blocks.count(times), inputs);
        let zeros = || [Array3::from_elem(shape, V::Sum::default()), Array3::from_elem(shape, V::Sum::default())];
        let run = |of: &dyn Fn(Views<'_, V::Sum>)| {
            let mut sums = zeros();
            let [first, second] = &mut sums;
            of([first.view_mut(), second.view_mut()]);
            sums.map(|sums| sums.mapv(PowerSum::to_f64))
        };
        let close = |actual: [Array3<f64>; 2], expected: &[Array3<f64>; 2]| {
            for (actual, expected) in actual.iter().zip(expected) {
                let bound = 2.0 * (length as f64 + 4.0) * f64::EPSILON;
                assert!(actual.iter().zip(expected).all(|(a, b)| (a - b).abs() <= bound * b));
            }
        };
        let expected = run(&|sums| power_sums(voltages.view(), None, blocks, sums));
        close(run(&|sums| power_sums_of_heaps(heaps.view(), None, blocks, sums)), &expected);
        close(run(&|sums| power_sums_of_rows(rows.view(), times, blocks, sums)), &expected);
        let mut strided = voltages.clone().permuted_axes([2, 0, 1]).as_standard_layout().into_owned();
        strided.swap_axes(0, 1);
        strided.swap_axes(1, 2);
        close(run(&|sums| power_sums(strided.view(), None, blocks, sums)), &expected);
        let mut turned = heaps.clone().permuted_axes([4, 3, 2, 1, 0]).as_standard_layout().into_owned();
        turned = turned.permuted_axes([4, 3, 2, 1, 0]);
        close(run(&|sums| power_sums_of_heaps(turned.view(), None, blocks, sums)), &expected);
        let mut turned = rows.clone().permuted_axes([3, 2, 1, 0]).as_standard_layout().into_owned();
        turned = turned.permuted_axes([3, 2, 1, 0]);
        close(run(&|sums| power_sums_of_rows(turned.view(), times, blocks, sums)), &expected);
        let some = run(&|sums| power_sums(voltages.view(), Some(of_times.view()), blocks, sums));
        close(run(&|sums| power_sums_of_heaps(heaps.view(), Some(flags.view()), blocks, sums)), &some);
    }
}

#[test]
fn layouts_have_the_same_sums() {
    check_layouts::<Complex4>(5);
    check_layouts::<Complex<i8>>(6);
    check_layouts::<Complex<f16>>(7);
    check_layouts::<Complex<f32>>(8);
}
