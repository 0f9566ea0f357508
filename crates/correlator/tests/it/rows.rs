//! Rows, the correlator's own layout, on the CPU: the same sums as the voltages that they are made of, held to the
//! reference.
#![allow(clippy::unwrap_used)] // helper functions of tests

use fringes_backend::{Backend, DeviceError};
use fringes_correlator::{Correlator, CorrelatorError, Dump32, DumpSchedule, Integrator, MissingData, correlate};
use fringes_reference::correlator::{correlate_f64, correlate_int};
use fringes_types::{BaselineOrder, Complex, Complex4, Inputs, Rows, SpectrumClock, VoltageSample, Voltages, f16};
use ndarray::{Array2, Array3};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Voltages `[channel][time][input]` of whole numbers, which every format holds, with flags.
fn voltages<V: VoltageSample>(
    [channels, times, inputs]: [usize; 3],
    flagged: bool,
    seed: u64,
    of: fn(i8, i8) -> V,
) -> Voltages<V> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut part = || random.random_range(-7..=7i8);
    let data = Array3::from_shape_simple_fn((channels, times, inputs), || of(part(), part()));
    let clock = SpectrumClock { first_sample: 0, samples_between_spectra: 4, sample_rate_hz: 1e9 };
    let voltages = Voltages::new(data, Inputs::single_pol(inputs).unwrap()).unwrap().with_clock(clock).unwrap();
    if !flagged {
        return voltages;
    }
    let flags = Array2::from_shape_simple_fn((times, inputs), || random.random_bool(0.8));
    voltages.with_presence(flags).unwrap()
}

fn nibbles(re: i8, im: i8) -> Complex4 {
    Complex4::new(re, im).unwrap()
}

fn halves(re: i8, im: i8) -> Complex<f16> {
    Complex::new(re.into(), im.into())
}

fn singles(re: i8, im: i8) -> Complex<f32> {
    Complex::new(re.into(), im.into())
}

/// Integers: ranges of rows against the reference.
fn check_exact<V: VoltageSample<Accumulator = Complex<i64>>>(voltages: &Voltages<V>, cuts: &[usize]) {
    let wide = voltages.data().mapv(|x| {
        let x = x.to_c32(); // exact
        Complex::new(x.re as i64, x.im as i64)
    });
    let expected = correlate_int(wide.view(), voltages.presence());
    let actual = in_pieces(voltages, cuts);
    assert_eq!(actual.data(), expected.sums);
    assert_eq!(actual.valid_samples(), expected.valid);
}

/// Floats: whole numbers whose sums are exact in f32 as well.
fn check_whole<V: VoltageSample<Accumulator = Complex<f64>>>(voltages: &Voltages<V>, cuts: &[usize]) {
    let wide = voltages.data().mapv(|x| {
        let x = x.to_c32();
        Complex::new(f64::from(x.re), f64::from(x.im))
    });
    let expected = correlate_f64(wide.view(), voltages.presence());
    let actual = in_pieces(voltages, cuts);
    assert_eq!(actual.data(), expected.sums);
    assert_eq!(actual.valid_samples(), expected.valid);
}

/// The rows of voltages, correlated range by range.
fn in_pieces<V: VoltageSample>(voltages: &Voltages<V>, cuts: &[usize]) -> fringes_types::Visibilities<V::Accumulator> {
    let (rows, times) = (Rows::from_voltages(voltages), voltages.times());
    let mut correlator = Correlator::new(&Backend::cpu(), rows.inputs(), rows.channels()).unwrap();
    let mut cuts: Vec<usize> = cuts.iter().map(|&cut| cut.min(times)).chain([0, times]).collect();
    cuts.sort_unstable();
    for range in cuts.windows(2) {
        correlator.accumulate(&rows, range[0]..range[1]).unwrap();
    }
    correlator.dump(BaselineOrder::Triangle).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_format_and_every_range_of_rows_is_the_references(
        sizes in [1usize..4, 1usize..300, 1usize..9],
        flagged: bool,
        cuts in [0usize..300, 0usize..300],
        seed: u64,
    ) {
        check_exact(&voltages(sizes, flagged, seed, nibbles), &cuts);
        check_exact(&voltages(sizes, flagged, seed, Complex::new), &cuts);
        check_whole(&voltages(sizes, flagged, seed, halves), &cuts);
        check_whole(&voltages(sizes, flagged, seed, singles), &cuts);
    }
}

#[test]
fn rows_longer_than_a_piece_are_summed_whole_and_the_memory_limit_changes_no_bit() {
    let chunk = voltages([3, 20_000, 5], true, 3, Complex::<i8>::new);
    let rows = Rows::from_voltages(&chunk);
    let order = BaselineOrder::Full;
    let expected = correlate(&Backend::cpu(), &chunk, order).unwrap();
    assert_eq!(correlate(&Backend::cpu(), &rows, order).unwrap(), expected);
    let smallest = match correlate(&Backend::cpu().with_memory_limit(200_000), &rows, order) {
        Ok(_) => 200_000,
        Err(CorrelatorError::Device(DeviceError::MemoryLimit { needed, .. })) => needed,
        other => panic!("{other:?}"),
    };
    for limit in [smallest, 2 * smallest, 1 << 30] {
        assert_eq!(correlate(&Backend::cpu().with_memory_limit(limit), &rows, order), Ok(expected.clone()), "{limit}");
    }
}

#[test]
fn rows_and_voltages_may_follow_each_other_in_one_stream() {
    let chunk = voltages([2, 150, 6], true, 8, Complex::<i8>::new);
    let whole = |chunks: [bool; 3]| {
        let schedule = DumpSchedule::new(4, 10, 7).unwrap(); // 70 spectra: dumps end inside of rows
        let integrator = Integrator::new(&Backend::cpu(), schedule, chunk.inputs(), 2).unwrap();
        let mut integrator = integrator.in_32_bits(MissingData::Mark);
        let mut dumps: Vec<Dump32> = Vec::new();
        for (index, rows) in chunks.into_iter().enumerate() {
            let clock = SpectrumClock { first_sample: 600 * index as u64, ..chunk.clock() };
            let chunk = chunk.clone().with_clock(clock).unwrap();
            dumps.extend(if rows {
                integrator.push(&Rows::from_voltages(&chunk)).unwrap()
            } else {
                integrator.push(&chunk).unwrap()
            });
        }
        dumps.extend(integrator.finish().unwrap());
        dumps
    };
    let expected = whole([false; 3]);
    assert_eq!(expected.len(), 7);
    for chunks in [[true; 3], [false, true, false], [true, false, true]] {
        assert_eq!(whole(chunks), expected, "{chunks:?}");
    }
}

#[test]
fn rows_that_do_not_fit_are_errors_and_change_nothing() {
    let rows = Rows::from_voltages(&voltages([2, 100, 3], false, 1, Complex::<i8>::new));
    let mut correlator = Correlator::<Complex<i8>>::new(&Backend::cpu(), rows.inputs(), 3).unwrap();
    let error = correlator.accumulate(&rows, 0..100).unwrap_err();
    assert_eq!(error.to_string(), "dimension `channel` of rows: expected 3, found 2");
    let mut correlator = Correlator::<Complex<i8>>::new(&Backend::cpu(), rows.inputs(), 2).unwrap();
    // The last row has room for more times than there are.
    let error = correlator.accumulate(&rows, 0..101).unwrap_err();
    assert_eq!(error, CorrelatorError::TimeRange { start: 0, end: 101, times: 100 });
    assert_eq!(correlator.spectra(), 0);
}
