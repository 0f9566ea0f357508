//! `correlate` and `Correlator` against the reference: every format and order, awkward sizes, missing data, misuse.
#![allow(clippy::unwrap_used)] // a failed check in a helper ends the test

use fringes_backend::{Backend, DeviceError};
use fringes_correlator::{Correlator, CorrelatorError, MAX_SPECTRA, correlate};
use fringes_reference::correlator::{correlate_f64, correlate_int, triangle_index};
use fringes_types::{
    Accumulator, BaselineOrder, Complex4, Dimension, Frequencies, Inputs, SpectrumClock, TypesError, VoltageSample,
    Voltages,
};
use half::f16;
use ndarray::{Array2, Array3, Axis, s};
use num_complex::Complex;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const ORDERS: [BaselineOrder; 3] = [BaselineOrder::Triangle, BaselineOrder::AntennaPairs, BaselineOrder::Full];

fn random<V>(
    shape: (usize, usize, usize),
    seed: u64,
    mut value: impl FnMut(&mut Xoshiro256PlusPlus) -> V,
) -> Array3<V> {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
    Array3::from_shape_simple_fn(shape, || value(&mut generator))
}

fn bytes(shape: (usize, usize, usize), seed: u64) -> Array3<Complex<i8>> {
    random(shape, seed, |g| Complex::new(g.random_range(-127..=127), g.random_range(-127..=127)))
}

fn nibbles(shape: (usize, usize, usize), seed: u64) -> Array3<Complex4> {
    random(shape, seed, |g| Complex4::new(g.random_range(-7..=7), g.random_range(-7..=7)).unwrap())
}

fn floats(shape: (usize, usize, usize), seed: u64) -> Array3<Complex<f32>> {
    random(shape, seed, |g| Complex::new(g.random_range(-1.0..1.0), g.random_range(-1.0..1.0)))
}

fn flags(shape: (usize, usize), seed: u64) -> Array2<bool> {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
    Array2::from_shape_simple_fn(shape, || generator.random_range(0..5) != 0)
}

fn voltages<V: VoltageSample>(data: Array3<V>, inputs: Inputs, presence: Option<&Array2<bool>>) -> Voltages<V> {
    let voltages = Voltages::new(data, inputs).unwrap();
    match presence {
        Some(flags) => voltages.with_presence(flags.clone()).unwrap(),
        None => voltages,
    }
}

/// Checks all orders of integer voltages, bit for bit.
fn check_exact<V: VoltageSample<Accumulator = Complex<i64>>>(
    data: &Array3<V>,
    inputs: Inputs,
    presence: Option<&Array2<bool>>,
) {
    let wide = data.mapv(|x| {
        let x = x.to_c32(); // exact
        Complex::new(x.re as i64, x.im as i64)
    });
    let expected = correlate_int(wide.view(), presence.map(|flags| flags.view()));
    let voltages = voltages(data.clone(), inputs, presence);
    for order in ORDERS {
        if order.check(inputs).is_err() {
            continue;
        }
        let actual = correlate(&Backend::cpu(), &voltages, order).unwrap();
        assert_eq!(actual.data().dim(), (data.dim().0, order.len(inputs)));
        assert_eq!(actual.times(), data.dim().1 as u64);
        for position in 0..order.len(inputs) {
            let product = order.product(inputs, position).unwrap();
            let (high, low) = (product.a.max(product.b), product.a.min(product.b));
            let index = triangle_index(high, low);
            assert_eq!(actual.valid_samples()[position], expected.valid[index]);
            for channel in 0..data.dim().0 {
                let sum = expected.sums[(channel, index)];
                let sum = if product.a < product.b { Accumulator::conj(sum) } else { sum };
                assert_eq!(actual.data()[(channel, position)], sum, "{order:?} {channel} {product:?}");
            }
        }
    }
}

/// Checks float voltages to the documented bound.
fn check_bound<V: VoltageSample<Accumulator = Complex<f64>>>(
    data: &Array3<V>,
    inputs: Inputs,
    presence: Option<&Array2<bool>>,
) {
    let wide = data.mapv(|x| {
        let x = x.to_c32();
        Complex::new(f64::from(x.re), f64::from(x.im))
    });
    let flags = presence.map(|flags| flags.view());
    let expected = correlate_f64(wide.view(), flags);
    let scale = correlate_f64(wide.mapv(|x| Complex::from(x.norm())).view(), flags).sums;
    let actual =
        correlate(&Backend::cpu(), &voltages(data.clone(), inputs, presence), BaselineOrder::Triangle).unwrap();
    let (unit, unit64) = (2f64.powi(-24), 2f64.powi(-53));
    let times = data.dim().1 as f64;
    // One segment; the last term is the reference's own bound.
    let bound = 129.0 * unit / (1.0 - 129.0 * unit) + 129.0 * unit64 + (2.0 * times + 1.0) * unit64;
    for (index, sum) in actual.data().indexed_iter() {
        let difference = sum - expected.sums[index];
        assert!(difference.re.abs().max(difference.im.abs()) <= bound * scale[index].re, "{index:?}: {difference}");
    }
    assert_eq!(actual.valid_samples(), expected.valid);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_format_and_order_is_the_references(
        antennas in 1usize..14, pols in 1usize..3, channels in 1usize..5, times in 0usize..90, masked: bool, seed: u64,
    ) {
        let inputs = Inputs::new(antennas, pols).unwrap();
        let shape = (channels, times, inputs.len());
        let presence = masked.then(|| flags((times, inputs.len()), seed));
        check_exact(&bytes(shape, seed), inputs, presence.as_ref());
        check_exact(&nibbles(shape, seed), inputs, presence.as_ref());
        let single = floats(shape, seed);
        check_bound(&single, inputs, presence.as_ref());
        let half = single.mapv(|x| Complex::new(f16::from_f32(x.re), f16::from_f32(x.im)));
        check_bound(&half, inputs, presence.as_ref());
    }

    #[test]
    fn any_cut_into_calls_gives_the_same_integers(
        times in 0usize..300, cuts in prop::collection::vec(0usize..300, 0..6), masked: bool, seed: u64,
    ) {
        let inputs = Inputs::new(3, 2).unwrap();
        let presence = masked.then(|| flags((times, 6), seed));
        let voltages = voltages(bytes((2, times, 6), seed), inputs, presence.as_ref());
        let expected = correlate(&Backend::cpu(), &voltages, BaselineOrder::Full).unwrap();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(times)).chain([0, times]).collect();
        cuts.sort_unstable();
        let mut correlator = Correlator::new(&Backend::cpu(), inputs, 2).unwrap();
        for range in cuts.windows(2) {
            correlator.accumulate(&voltages, range[0]..range[1]).unwrap();
        }
        prop_assert_eq!(correlator.dump(BaselineOrder::Full).unwrap(), expected);
    }
}

#[test]
fn awkward_sizes_are_exact() {
    for (channels, times, antennas, pols) in
        [(1, 1, 1, 1), (60, 0, 1, 2), (60, 31, 7, 1), (1, 997, 5, 2), (1, 3, 131, 1), (1536, 2, 3, 1)]
    {
        let inputs = Inputs::new(antennas, pols).unwrap();
        check_exact(&bytes((channels, times, inputs.len()), 3), inputs, None);
    }
}

#[test]
fn the_memory_limit_changes_no_bit_and_too_small_a_limit_is_an_error() {
    let inputs = Inputs::single_pol(70).unwrap();
    let exact = voltages(bytes((3, 1500, 70), 1), inputs, None);
    let single = voltages(floats((3, 1500, 70), 1), inputs, None);
    let order = BaselineOrder::Triangle;
    let expected = correlate(&Backend::cpu(), &exact, order).unwrap();
    let expected_single = correlate(&Backend::cpu(), &single, order).unwrap();
    let need = Correlator::<Complex<i8>>::memory(&Backend::cpu(), inputs, 3, 1500).unwrap();
    let need_single = Correlator::<Complex<f32>>::memory(&Backend::cpu(), inputs, 3, 1500).unwrap();
    assert_eq!((need.input_bytes, need.output_bytes), (2 * 3 * 1500 * 70, 16 * 3 * 2485));
    assert!(need.smallest_step_bytes < need.workspace_bytes);
    for (smallest, full) in [
        (need.smallest_step_bytes, need.workspace_bytes),
        (need_single.smallest_step_bytes, need_single.workspace_bytes),
    ] {
        for limit in [smallest, smallest * 2, full / 2, full - 1, full, 2 * full] {
            let backend = Backend::cpu().with_memory_limit(limit);
            if limit >= need.smallest_step_bytes {
                assert_eq!(correlate(&backend, &exact, order).unwrap(), expected, "limit {limit}");
            }
            if limit >= need_single.smallest_step_bytes {
                assert_eq!(correlate(&backend, &single, order).unwrap(), expected_single, "limit {limit}");
            }
        }
    }
    let limit = need.smallest_step_bytes - 1;
    let needed = need.smallest_step_bytes;
    assert_eq!(
        correlate(&Backend::cpu().with_memory_limit(limit), &exact, order).unwrap_err(),
        DeviceError::MemoryLimit { operation: "correlation", needed, limit }.into()
    );
}

#[test]
fn axes_come_from_the_first_spectrum_accumulated() {
    let inputs = Inputs::single_pol(2).unwrap();
    let clock = SpectrumClock { first_sample: 100_000_000_000_000, samples_between_spectra: 8, sample_rate_hz: 2e9 };
    let frequencies = Frequencies { first_hz: 1.4e9, step_hz: 1e3 };
    let chunk = Voltages::new(bytes((2, 20, 2), 1), inputs).unwrap().with_frequencies(frequencies).unwrap();
    let chunk = chunk.with_clock(clock).unwrap();
    let mut correlator = Correlator::new(&Backend::cpu(), inputs, 2).unwrap();
    correlator.accumulate(&chunk, 5..20).unwrap();
    correlator.skip(7).unwrap();
    let dump = correlator.dump(BaselineOrder::Triangle).unwrap();
    assert_eq!(dump.clock(), SpectrumClock { first_sample: 100_000_000_000_040, ..clock });
    assert_eq!((dump.frequencies(), dump.times()), (frequencies, 22));
    assert_eq!(dump.valid_samples().to_vec(), [15; 3]);
    // Nothing of it is left.
    let empty = correlator.dump(BaselineOrder::Triangle).unwrap();
    assert_eq!((empty.times(), empty.clock()), (0, SpectrumClock::default()));
    assert!(empty.data().iter().all(|sum| *sum == Complex::new(0, 0)));
    assert_eq!(empty.valid_samples().to_vec(), [0; 3]);
}

#[test]
fn a_view_with_any_layout_gives_the_same_sums() {
    let inputs = Inputs::single_pol(11).unwrap();
    let data = bytes((4, 33, 11), 8);
    let standard = correlate(&Backend::cpu(), &voltages(data.clone(), inputs, None), BaselineOrder::Triangle).unwrap();
    // Time fastest in memory.
    let mut swapped = data.clone();
    swapped.swap_axes(1, 2);
    let mut strided = swapped.as_standard_layout().into_owned();
    strided.swap_axes(1, 2);
    assert!(!strided.is_standard_layout() && strided == data);
    let actual = correlate(&Backend::cpu(), &voltages(strided, inputs, None), BaselineOrder::Triangle).unwrap();
    assert_eq!(actual, standard);
    let part = data.slice(s![1..;2, .., ..]).to_owned();
    let actual = correlate(&Backend::cpu(), &voltages(part, inputs, None), BaselineOrder::Triangle).unwrap();
    assert_eq!(actual.data().index_axis(Axis(0), 1), standard.data().index_axis(Axis(0), 3));
}

#[test]
fn misuse_is_an_error_and_changes_nothing() {
    let inputs = Inputs::new(2, 2).unwrap();
    let chunk = voltages(bytes((3, 10, 4), 1), inputs, None);
    let mut correlator = Correlator::new(&Backend::cpu(), inputs, 3).unwrap();
    correlator.accumulate(&chunk, 0..10).unwrap();
    let before = correlate(&Backend::cpu(), &chunk, BaselineOrder::Full).unwrap();

    let others = Inputs::single_pol(4).unwrap();
    let error = correlator.accumulate(&voltages(bytes((3, 10, 4), 1), others, None), 0..10).unwrap_err();
    assert_eq!(error, CorrelatorError::Inputs { expected: inputs, actual: others });
    assert_eq!(error.to_string(), "expected 2 antennas x 2 polarisations, found 4 x 1");

    let error = correlator.accumulate(&voltages(bytes((2, 10, 4), 1), inputs, None), 0..10).unwrap_err();
    let expected = TypesError::Dimension { array: "voltages", dimension: Dimension::Channel, expected: 3, actual: 2 };
    assert_eq!(error, expected.into());

    for (start, end) in [(0, 11), (7, 6), (11, 12), (usize::MAX, 0)] {
        let error = correlator.accumulate(&chunk, start..end).unwrap_err();
        assert_eq!(error, CorrelatorError::TimeRange { start, end, times: 10 });
    }

    let frequencies = Frequencies { first_hz: 1.0, step_hz: 1.0 };
    let error = correlator.accumulate(&chunk.clone().with_frequencies(frequencies).unwrap(), 0..1).unwrap_err();
    assert_eq!(error, CorrelatorError::Frequencies { expected: Frequencies::default(), actual: frequencies });
    let clock = SpectrumClock { samples_between_spectra: 2, ..SpectrumClock::default() };
    let error = correlator.accumulate(&chunk.clone().with_clock(clock).unwrap(), 0..1).unwrap_err();
    assert_eq!(error, CorrelatorError::SpectrumSpacing { expected: 1, actual: 2 });
    let clock = SpectrumClock { sample_rate_hz: 2.0, ..SpectrumClock::default() };
    let error = correlator.accumulate(&chunk.clone().with_clock(clock).unwrap(), 0..1).unwrap_err();
    assert_eq!(error, CorrelatorError::SampleRate { expected: 1.0, actual: 2.0 });
    let error = correlator.skip(MAX_SPECTRA).unwrap_err();
    assert_eq!(error, CorrelatorError::TooManySpectra { actual: u128::from(MAX_SPECTRA) + 10, limit: MAX_SPECTRA });

    assert_eq!(correlator.dump(BaselineOrder::Full).unwrap(), before);
}

#[test]
fn impossible_correlators_are_errors() {
    let inputs = Inputs::single_pol(3).unwrap();
    let error = Correlator::<Complex<i8>>::new(&Backend::cpu(), inputs, 0).unwrap_err();
    assert_eq!(error, TypesError::Empty { array: "correlator", dimension: Dimension::Channel }.into());
    let huge = Inputs::single_pol(1 << 29).unwrap();
    for channels in [1, usize::MAX] {
        let error = Correlator::<Complex<f32>>::new(&Backend::cpu(), huge, channels).unwrap_err();
        assert!(matches!(error, CorrelatorError::Types(TypesError::TooLarge { array: "visibilities", .. })), "{error}");
    }
    let single = voltages(bytes((1, 4, 3), 1), inputs, None);
    let expected = TypesError::OrderPols { order: "antenna pairs", expected: 2, actual: 1 };
    let error = correlate(&Backend::cpu(), &single, BaselineOrder::AntennaPairs).unwrap_err();
    assert_eq!(error, expected.clone().into());
    let mut correlator = Correlator::new(&Backend::cpu(), inputs, 1).unwrap();
    correlator.accumulate(&single, 0..4).unwrap();
    assert_eq!(correlator.dump(BaselineOrder::AntennaPairs).unwrap_err(), expected.into());
    // The failed dump lost nothing.
    let dump = correlator.dump(BaselineOrder::Triangle).unwrap();
    assert_eq!(dump, correlate(&Backend::cpu(), &single, BaselineOrder::Triangle).unwrap());
}
