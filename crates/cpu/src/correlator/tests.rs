//! Against the reference, on every instruction set that the machine has, over awkward sizes.

use fringes_reference::correlator::{Correlation, correlate_f64, correlate_int};
use fringes_types::Complex4;
use half::f16;
use ndarray::{Array2, Array3, Array5, Axis, s};
use num_complex::Complex;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::plan::SEGMENT;
use super::*;

type C8 = Complex<i8>;
type C32 = Complex<f32>;

fn sets() -> impl Iterator<Item = InstructionSet> {
    InstructionSet::ALL.into_iter().filter(|set| set.is_available())
}

fn bytes(shape: (usize, usize, usize), seed: u64) -> Array3<C8> {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
    // Every 8-bit value, -128 included: the inner loops are exact for it too.
    Array3::from_shape_simple_fn(shape, || C8::new(generator.random(), generator.random()))
}

fn nibbles(shape: (usize, usize, usize), seed: u64) -> Array3<Complex4> {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
    Array3::from_shape_simple_fn(shape, || Complex4(generator.random()))
}

fn gaussian(shape: (usize, usize, usize), seed: u64) -> Array3<C32> {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut part = || -> f32 { StandardNormal.sample(&mut generator) };
    Array3::from_shape_simple_fn(shape, || C32::new(part(), part()))
}

fn flags(shape: (usize, usize), seed: u64) -> Array2<bool> {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
    Array2::from_shape_simple_fn(shape, || generator.random_range(0..4) != 0)
}

fn sum<V: VoltageSample>(
    set: InstructionSet,
    voltages: &Array3<V>,
    presence: Option<&Array2<bool>>,
    limit: Option<u64>,
) -> Array2<V::Accumulator> {
    let (channels, _, inputs) = voltages.dim();
    let mut sums = Array2::from_elem((channels, inputs * (inputs + 1) / 2), V::Accumulator::default());
    accumulate_with(set, voltages.view(), presence.map(|flags| flags.view()), sums.view_mut(), limit);
    sums
}

fn reference_bytes(voltages: &Array3<C8>, presence: Option<&Array2<bool>>) -> Correlation<i64> {
    let wide = voltages.mapv(|x| Complex::new(i64::from(x.re), i64::from(x.im)));
    correlate_int(wide.view(), presence.map(|flags| flags.view()))
}

/// Checks float sums against the reference to the module's bound.
fn check_floats<V: VoltageSample<Accumulator = Complex<f64>>>(
    set: InstructionSet,
    voltages: &Array3<V>,
    presence: Option<&Array2<bool>>,
) {
    let wide = voltages.mapv(|x| {
        let x = x.to_c32();
        Complex::new(f64::from(x.re), f64::from(x.im))
    });
    let flags = presence.map(|flags| flags.view());
    let expected = correlate_f64(wide.view(), flags).sums;
    // sum |x_a| |x_b|, by the same reference.
    let scale = correlate_f64(wide.mapv(|x| Complex::from(x.norm())).view(), flags).sums;
    let actual = sum(set, voltages, presence, None);
    let unit = f64::from(f32::EPSILON) / 2.0;
    let segments = voltages.len_of(Axis(1)).div_ceil(SEGMENT) as f64;
    // The reference's own bound is (2 T + 1) 2^-53.
    let reference = (2.0 * voltages.len_of(Axis(1)) as f64 + 1.0) * f64::EPSILON / 2.0;
    let bound = 129.0 * unit / (1.0 - 129.0 * unit) + (128.0 + segments) * f64::EPSILON / 2.0 + reference;
    for ((index, actual), (expected, scale)) in actual.indexed_iter().zip(expected.iter().zip(&scale)) {
        let error = (actual.re - expected.re).abs().max((actual.im - expected.im).abs());
        assert!(error <= bound * scale.re, "{set:?} {index:?}: {actual} for {expected}, bound {}", bound * scale.re);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn eight_bit_sums_are_exact(
        channels in 1usize..4, times in 0usize..150, inputs in 1usize..40, seed: u64, masked: bool,
    ) {
        let voltages = bytes((channels, times, inputs), seed);
        let presence = masked.then(|| flags((times, inputs), seed ^ 1));
        let expected = reference_bytes(&voltages, presence.as_ref());
        for set in sets() {
            prop_assert_eq!(&sum(set, &voltages, presence.as_ref(), None), &expected.sums, "{:?}", set);
        }
        let mut counts = vec![0; inputs * (inputs + 1) / 2];
        if let Some(presence) = &presence {
            count_valid(presence.view(), &mut counts);
            prop_assert_eq!(counts, expected.valid.to_vec());
        }
    }

    #[test]
    fn four_bit_sums_are_exact(times in 0usize..100, inputs in 1usize..30, seed: u64, masked: bool) {
        let voltages = nibbles((2, times, inputs), seed);
        let presence = masked.then(|| flags((times, inputs), seed ^ 1));
        let unpacked = voltages.mapv(|x| C8::new(x.re(), x.im()));
        let expected = reference_bytes(&unpacked, presence.as_ref());
        for set in sets() {
            prop_assert_eq!(&sum(set, &voltages, presence.as_ref(), None), &expected.sums, "{:?}", set);
        }
    }

    #[test]
    fn sums_of_heaps_are_exact_and_those_of_their_voltages(
        shape in (0usize..5, 1usize..8, 1usize..4, 1usize..20, 1usize..3), seed: u64, masked: bool, limit in 0u64..100_000,
    ) {
        let (batches, antennas, channels, spectra, pols) = shape;
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
        let heaps = Array5::from_shape_simple_fn(shape, || C8::new(generator.random(), generator.random()));
        let presence = masked.then(|| flags((batches, antennas), seed ^ 1));
        let voltages = fringes_reference::heaps::voltages(heaps.view());
        let flags = presence.as_ref().map(|flags| fringes_reference::heaps::presence(flags.view(), spectra, pols));
        let expected = reference_bytes(&voltages, flags.as_ref());
        for limit in [None, Some(limit)] {
            let mut sums = Array2::from_elem(expected.sums.dim(), Complex::new(0, 0));
            accumulate_heaps(heaps.view(), presence.as_ref().map(|flags| flags.view()), sums.view_mut(), limit);
            prop_assert_eq!(&sums, &expected.sums);
        }
        let mut counts = vec![0; expected.valid.len()];
        if let Some(presence) = &presence {
            count_valid_heaps(presence.view(), pols, spectra as u64, &mut counts);
            prop_assert_eq!(counts, expected.valid.to_vec());
        }
        prop_assert_eq!(channels, expected.sums.nrows());
    }

    #[test]
    fn float_sums_are_within_the_bound(
        channels in 1usize..3, times in 0usize..200, inputs in 1usize..30, seed: u64, masked: bool,
    ) {
        let voltages = gaussian((channels, times, inputs), seed);
        let halves = voltages.mapv(|x| Complex::new(f16::from_f32(x.re), f16::from_f32(x.im)));
        let presence = masked.then(|| flags((times, inputs), seed ^ 1));
        for set in sets() {
            check_floats(set, &voltages, presence.as_ref());
            check_floats(set, &halves, presence.as_ref());
        }
    }
}

#[test]
fn awkward_sizes_are_exact() {
    // One antenna, counts around panel, group and strip borders, 60 channels, primes, more than one segment.
    for (channels, times, inputs) in [
        (1, 1, 1),
        (60, 7, 1),
        (60, 13, 2),
        (1, 1021, 95),
        (1, 65, 96),
        (2, 64, 97),
        (1, 33, 193),
        (1, SEGMENT + 1, 9),
        (3, 2 * SEGMENT + 77, 3),
    ] {
        let voltages = bytes((channels, times, inputs), 5);
        let expected = reference_bytes(&voltages, None).sums;
        for set in sets() {
            assert_eq!(sum(set, &voltages, None, None), expected, "{set:?} {channels} {times} {inputs}");
        }
    }
}

#[test]
fn the_largest_sums_of_a_segment_do_not_overflow() {
    for value in [C8::new(-128, -128), C8::new(127, 127), C8::new(-128, 127), C8::new(127, -128)] {
        for other in [C8::new(-128, -128), C8::new(127, 127)] {
            let voltages = Array3::from_shape_fn((1, 2 * SEGMENT, 2), |(_, _, i)| if i == 0 { value } else { other });
            let expected = reference_bytes(&voltages, None).sums;
            for set in sets() {
                assert_eq!(sum(set, &voltages, None, None), expected, "{set:?} {value} {other}");
            }
        }
    }
}

#[test]
fn sums_are_added_to_what_is_there_and_pass_2_to_the_31() {
    let voltages = Array3::from_elem((1, SEGMENT, 2), C8::new(127, -127));
    let once = reference_bytes(&voltages, None).sums;
    for set in sets() {
        let mut sums = once.mapv(|x| x * 1_000_000);
        accumulate_with(set, voltages.view(), None, sums.view_mut(), None);
        assert_eq!(sums, once.mapv(|x| x * 1_000_001), "{set:?}");
    }
}

#[test]
fn heaps_in_several_pieces_do_not_depend_on_memory_and_absent_ones_may_hold_anything() {
    // 3 batches of 5000 spectra: each a piece of its own; 40 of 500: 16 together.
    for (batches, spectra) in [(3, 5000), (40, 500), (1, SEGMENT + 3)] {
        let shape = (batches, 3, 4, spectra, 2);
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(6);
        let mut part = || -> f32 { StandardNormal.sample(&mut generator) };
        let mut heaps = Array5::from_shape_simple_fn(shape, || C32::new(part(), part()));
        let flags = Array2::from_shape_fn((batches, 3), |(batch, antenna)| (batch + antenna) % 3 != 1);
        let sum = |heaps: &Array5<C32>, limit| {
            let mut sums = Array2::from_elem((4, 21), Complex::new(0.0, 0.0));
            accumulate_heaps(heaps.view(), Some(flags.view()), sums.view_mut(), limit);
            sums
        };
        let expected = sum(&heaps, None);
        for ((batch, antenna), present) in flags.indexed_iter() {
            if !present {
                heaps.slice_mut(s![batch, antenna, .., .., ..]).fill(C32::new(f32::NAN, f32::INFINITY));
            }
        }
        let need = heaps_workspace::<C32>(4, batches, spectra, 6);
        assert!(need.smallest_bytes < need.full_bytes);
        for limit in [None, Some(0), Some(need.smallest_bytes), Some(need.full_bytes)] {
            assert_eq!(sum(&heaps, limit), expected, "{batches} {spectra} {limit:?}");
        }
    }
}

#[test]
fn strides_do_not_matter() {
    let voltages = bytes((4, 60, 22), 1);
    let view = voltages.slice(s![1..4;2, ..;3, ..;-2]);
    let expected = correlate(view.to_owned().view());
    assert_eq!(correlate(view), expected);
    let transposed = view.to_owned().reversed_axes().as_standard_layout().into_owned();
    assert_eq!(correlate(transposed.view().reversed_axes()), expected);
}

#[test]
fn absent_values_are_never_read_into_a_sum() {
    let mut voltages = gaussian((1, 50, 5), 2);
    let presence = flags((50, 5), 3);
    let clean = sum(InstructionSet::best(), &voltages, Some(&presence), None);
    for ((time, input), present) in presence.indexed_iter() {
        if !present {
            voltages[(0, time, input)] = C32::new(f32::NAN, f32::INFINITY);
        }
    }
    assert_eq!(sum(InstructionSet::best(), &voltages, Some(&presence), None), clean);
}

#[test]
fn neither_threads_nor_memory_change_a_bit() {
    // Sizes for which the three ways to run in parallel are all taken.
    for (channels, times, inputs) in [(9, 300, 20), (1, 5 * SEGMENT + 100, 3), (1, 700, 130), (2, SEGMENT + 9, 40)] {
        let (voltages, exact) = (gaussian((channels, times, inputs), 4), bytes((channels, times, inputs), 4));
        let set = InstructionSet::best();
        let (expected, expected_exact) = (sum(set, &voltages, None, None), sum(set, &exact, None, None));
        for threads in [1, 2, 3, 8] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for limit in [None, Some(0), Some(200_000), Some(2_000_000)] {
                pool.install(|| {
                    let case = format!("{channels} {times} {inputs}, {threads} threads, limit {limit:?}");
                    assert_eq!(sum(set, &voltages, None, limit), expected, "{case}");
                    assert_eq!(sum(set, &exact, None, limit), expected_exact, "{case}");
                });
            }
        }
    }
}

#[test]
fn constant_voltages_whose_roundings_all_go_one_way_are_within_the_bound() {
    for value in [1.0f32 / 3.0, 0.1, 0.7, 1.1, 1.9, 123.456] {
        let voltages = Array3::from_elem((1, 4096, 2), C32::new(value, 0.3 * value));
        for set in sets() {
            check_floats(set, &voltages, None);
        }
    }
}

#[test]
fn the_bound_is_nearly_reached_where_small_products_follow_a_large_one() {
    // After 1, every product just below half a unit of the sum is lost, as long as the run lasts.
    let unit = 2f32.powi(-24);
    let part = (0.98 * unit).sqrt();
    let voltages = Array3::from_shape_fn((1, 4096, 1), |(_, time, _)| match time {
        0 => C32::new(1.0, 0.0),
        _ => C32::new(part, part),
    });
    let exact = 1.0 + 4095.0 * 2.0 * f64::from(part) * f64::from(part);
    for set in sets() {
        check_floats(set, &voltages, None);
        let error = exact - sum(set, &voltages, None, None)[(0, 0)].re;
        assert!(error > 120.0 * f64::from(unit), "{set:?}: {} u", error / f64::from(unit));
    }
}

#[test]
fn float_noise_sums_are_closer_than_the_worst_case() {
    // Roundings of noise are independent: a part of a run's sum after j products has a variance of about j/2 x (2 for
    // the autocorrelation's bias: excluded here), each rounding a standard error below u times its size, so a run of
    // 128 products is off by less than u sqrt(sum_j j) = 128 u / sqrt 2 in units of a product's standard deviation;
    // T/64 runs add as a random walk. Seen over many baselines, the RMS stays below that.
    let (times, inputs) = (4096, 24);
    let voltages = gaussian((1, times, inputs), 9);
    let wide = voltages.mapv(|x| Complex::new(f64::from(x.re), f64::from(x.im)));
    let expected = correlate_f64(wide.view(), None).sums;
    let unit = f64::from(f32::EPSILON) / 2.0;
    for set in sets() {
        let actual = sum(set, &voltages, None, None);
        let mut squares = 0.0;
        let mut count = 0.0;
        for a in 0..inputs {
            for b in 0..a {
                let difference = actual[(0, a * (a + 1) / 2 + b)] - expected[(0, a * (a + 1) / 2 + b)];
                squares += difference.norm_sqr() / 2.0;
                count += 1.0;
            }
        }
        let bound = unit * 128.0 / 2f64.sqrt() * (times as f64 / 64.0).sqrt();
        assert!((squares / count).sqrt() <= bound, "{set:?}: {:e} > {bound:e}", (squares / count).sqrt());
    }
}

/// The selected times, zero where masked.
fn selected<V: VoltageSample>(voltages: &Array3<V>, times: &[usize], mask: BlockMask<'_>) -> Array3<V> {
    let (channels, _, inputs) = voltages.dim();
    Array3::from_shape_fn((channels, times.len(), inputs), |(channel, position, input)| {
        let time = times[position];
        if mask.is_masked(channel, time) { V::zeroed() } else { voltages[(channel, time, input)] }
    })
}

fn check_selection<V: VoltageSample>(voltages: &Array3<V>, seed: u64)
where
    V::Accumulator: PartialEq,
{
    let (channels, times, inputs) = voltages.dim();
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
    let masked = Array2::from_shape_simple_fn((channels, times / 7 + 2), || generator.random_range(0..3) == 0);
    let mask = BlockMask { masked: masked.view(), spectra: 7, lead: 3 };
    let some: Vec<usize> = (0..times).filter(|_| generator.random_range(0..3) == 0).collect();
    let all: Vec<usize> = (0..times).collect();
    let flags = flags((times, inputs), seed);
    for set in sets() {
        for list in [None, Some(&some)] {
            let times = list.unwrap_or(&all);
            let expected = selected(voltages, times, mask);
            for presence in [None, Some(&flags)] {
                let of_times = presence.map(|flags| flags.select(Axis(0), times));
                let expected = sum(set, &expected, of_times.as_ref(), None);
                let selection = Selection {
                    presence: presence.map(|flags| flags.view()),
                    times: list.map(Vec::as_slice),
                    mask: Some(mask),
                };
                let mut sums = Array2::from_elem(expected.dim(), V::Accumulator::default());
                accumulate_with(set, voltages.view(), selection, sums.view_mut(), None);
                assert_eq!(sums, expected, "{set:?} {list:?}");
            }
        }
    }
}

#[test]
fn a_selection_has_the_sums_of_its_times_with_zeros_where_it_is_masked() {
    for (channels, times, inputs) in [(3, 100, 5), (1, 1, 2), (2, SEGMENT + 70, 3), (1, 40, 100)] {
        let shape = (channels, times, inputs);
        check_selection(&bytes(shape, 1), 1);
        check_selection(&nibbles(shape, 2), 2);
        check_selection(&gaussian(shape, 3), 3);
    }
}

#[test]
fn selections_of_heaps_are_those_of_their_voltages() {
    let (batches, antennas, channels, spectra, pols) = (6, 3, 4, 9, 2);
    let voltages = bytes((channels, batches * spectra, antennas * pols), 4);
    let heaps = Array5::from_shape_fn((batches, antennas, channels, spectra, pols), |(b, antenna, channel, t, pol)| {
        voltages[(channel, b * spectra + t, antenna * pols + pol)]
    });
    let presence = flags((batches, antennas), 5);
    let of_times =
        Array2::from_shape_fn((batches * spectra, antennas * pols), |(t, x)| presence[(t / spectra, x / pols)]);
    let masked = flags((channels, 20), 6);
    let mask = BlockMask { masked: masked.view(), spectra: 4, lead: 1 };
    let some: Vec<usize> = (0..batches * spectra).filter(|time| time % 5 != 2 && time % 11 > 4).collect();
    for times in [None, Some(&some[..])] {
        for mask in [None, Some(mask)] {
            let selection = Selection { presence: Some(of_times.view()), times, mask };
            let mut expected = Array2::from_elem((channels, 21), Complex::default());
            accumulate_selected(voltages.view(), selection, expected.view_mut(), None);
            let selection = Selection { presence: Some(presence.view()), ..selection };
            for limit in [None, Some(0)] {
                let mut sums = Array2::from_elem((channels, 21), Complex::default());
                accumulate_heaps_selected(heaps.view(), selection, sums.view_mut(), limit);
                assert_eq!(sums, expected, "{times:?} {mask:?}");
            }
        }
    }
}
