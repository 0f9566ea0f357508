//! Heaps against the reference: any batch ranges, presence and gaps, dump boundaries inside chunks, every format,
//! misuse.
#![allow(clippy::unwrap_used)] // a failed check in a helper ends the test

use fringes_backend::{Backend, DeviceError};
use fringes_correlator::{
    Correlator, CorrelatorError, Dump32, DumpSchedule, Integrator, MISSING_MARK, MissingData, correlate,
};
use fringes_reference::correlator::{correlate_f64, correlate_int};
use fringes_reference::dump::{Schedule, integrate, to_32_bits};
use fringes_types::{BaselineOrder, Complex4, Dimension, Heaps, Inputs, SpectrumClock, TypesError, VoltageSample};
use half::f16;
use ndarray::{Array2, Array5, Axis, concatenate, s};
use num_complex::Complex;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

type C8 = Complex<i8>;
type Shape = (usize, usize, usize, usize, usize);

fn bytes(shape: Shape, seed: u64) -> Array5<C8> {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut part = || generator.random_range(-127..=127i8);
    Array5::from_shape_simple_fn(shape, || C8::new(part(), part()))
}

fn flags(shape: (usize, usize), seed: u64) -> Array2<bool> {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
    Array2::from_shape_simple_fn(shape, || generator.random_range(0..5) != 0)
}

fn chunk<V: VoltageSample>(data: Array5<V>, presence: Option<&Array2<bool>>, clock: SpectrumClock) -> Heaps<V> {
    let heaps = Heaps::new(data).unwrap().with_clock(clock).unwrap();
    match presence {
        Some(flags) => heaps.with_presence(flags.clone()).unwrap(),
        None => heaps,
    }
}

fn clock(first_sample: u64, samples_between_spectra: u64) -> SpectrumClock {
    SpectrumClock { first_sample, samples_between_spectra, sample_rate_hz: 1e9 }
}

/// Checks integer heaps, bit for bit, cut into ranges of batches.
fn check_exact<V: VoltageSample<Accumulator = Complex<i64>>>(
    data: &Array5<V>,
    presence: Option<&Array2<bool>>,
    cuts: &[usize],
) {
    let (batches, _, channels, spectra, pols) = data.dim();
    let wide = fringes_reference::heaps::voltages(data.view()).mapv(|x| {
        let x = x.to_c32(); // exact
        Complex::new(x.re as i64, x.im as i64)
    });
    let flags = presence.map(|flags| fringes_reference::heaps::presence(flags.view(), spectra, pols));
    let expected = correlate_int(wide.view(), flags.as_ref().map(|flags| flags.view()));
    let heaps = chunk(data.clone(), presence, clock(0, 1));
    let mut correlator = Correlator::new(&Backend::cpu(), heaps.inputs(), channels).unwrap();
    let mut cuts: Vec<usize> = cuts.iter().map(|&cut| cut.min(batches)).chain([0, batches]).collect();
    cuts.sort_unstable();
    for range in cuts.windows(2) {
        correlator.accumulate(&heaps, range[0] * spectra..range[1] * spectra).unwrap();
    }
    assert_eq!(correlator.spectra(), (batches * spectra) as u64);
    let actual = correlator.dump(BaselineOrder::Triangle).unwrap();
    assert_eq!(actual.data(), expected.sums);
    assert_eq!(actual.valid_samples(), expected.valid);
    assert_eq!(actual, correlate(&Backend::cpu(), &heaps.to_voltages(), BaselineOrder::Triangle).unwrap());
}

/// Checks float heaps to the documented bound.
fn check_bound<V: VoltageSample<Accumulator = Complex<f64>>>(data: &Array5<V>, presence: Option<&Array2<bool>>) {
    let (batches, _, channels, spectra, pols) = data.dim();
    let wide = fringes_reference::heaps::voltages(data.view()).mapv(|x| {
        let x = x.to_c32();
        Complex::new(f64::from(x.re), f64::from(x.im))
    });
    let flags = presence.map(|flags| fringes_reference::heaps::presence(flags.view(), spectra, pols));
    let flags = flags.as_ref().map(|flags| flags.view());
    let expected = correlate_f64(wide.view(), flags);
    let scale = correlate_f64(wide.mapv(|x| Complex::from(x.norm())).view(), flags).sums;
    let heaps = chunk(data.clone(), presence, clock(0, 1));
    let mut correlator = Correlator::new(&Backend::cpu(), heaps.inputs(), channels).unwrap();
    correlator.accumulate(&heaps, 0..heaps.times()).unwrap();
    let actual = correlator.dump(BaselineOrder::Triangle).unwrap();
    let (unit, unit64) = (2f64.powi(-24), 2f64.powi(-53));
    let bound = 129.0 * unit / (1.0 - 129.0 * unit) + (129.0 + 2.0 * (batches * spectra) as f64 + 1.0) * unit64;
    for (index, sum) in actual.data().indexed_iter() {
        let difference = sum - expected.sums[index];
        assert!(difference.re.abs().max(difference.im.abs()) <= bound * scale[index].re, "{index:?}: {difference}");
    }
    assert_eq!(actual.valid_samples(), expected.valid);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_format_and_every_range_of_batches_is_the_references(
        shape in (0usize..7, 1usize..7, 1usize..4, 1usize..30, 1usize..3),
        cuts in prop::collection::vec(0usize..7, 0..4), masked: bool, seed: u64,
    ) {
        let presence = masked.then(|| flags((shape.0, shape.1), seed));
        let eight = bytes(shape, seed);
        check_exact(&eight, presence.as_ref(), &cuts);
        check_exact(&eight.mapv(|x| Complex4::new(x.re / 18, x.im / 18).unwrap()), presence.as_ref(), &cuts);
        let single = eight.mapv(|x| Complex::new(f32::from(x.re) / 97.0, f32::from(x.im) / 31.0));
        check_bound(&single, presence.as_ref());
        check_bound(&single.mapv(|x| Complex::new(f16::from_f32(x.re), f16::from_f32(x.im))), presence.as_ref());
    }

    #[test]
    fn any_chunks_of_heaps_and_gaps_give_the_references_dumps(
        lengths in (1u64..20, 1u64..6, 1u64..6),
        shape in (1usize..4, 1usize..3),
        start in (prop_oneof![0u64..50, Just(1_000_000_000_000)], 0u64..20),
        pieces in prop::collection::vec((0u64..8, 0usize..9, any::<bool>()), 1..7),
        seed: u64,
    ) {
        let (spacing, spectra, heaps_per_dump) = lengths;
        let (antennas, pols) = shape;
        let schedule = DumpSchedule::new(spacing, spectra, heaps_per_dump).unwrap();
        let step = schedule.heap_timestamp_step();
        let inputs = Inputs::new(antennas, pols).unwrap();
        let backend = Backend::cpu();
        let mut integrator = Integrator::new(&backend, schedule, inputs, 2).unwrap();
        let mut in_32_bits = Integrator::new(&backend, schedule, inputs, 2).unwrap().in_32_bits(MissingData::Mark);
        let (mut actual, mut actual32) = (Vec::new(), Vec::new());
        let (mut stamps, mut all, mut presence) = (Vec::new(), Vec::new(), Vec::new());
        let mut next = start.0 * step + start.1 % spacing; // anywhere inside a spectrum
        for (index, &(missing, batches, masked)) in pieces.iter().enumerate() {
            let seed = seed.wrapping_add(index as u64);
            next += missing * step;
            let data = bytes((batches, antennas, 2, spectra as usize, pols), seed);
            let flags = if masked { flags((batches, antennas), seed) } else { Array2::from_elem((batches, antennas), true) };
            let heaps = chunk(data.clone(), masked.then_some(&flags), clock(next, spacing));
            actual.extend(integrator.push(&heaps).unwrap());
            actual32.extend(in_32_bits.push(&heaps).unwrap());
            stamps.extend((0..batches as u64 * spectra).map(|time| next + time * spacing));
            let voltages = fringes_reference::heaps::voltages(data.view());
            all.push(voltages.mapv(|x| Complex::new(i64::from(x.re), i64::from(x.im))));
            presence.push(fringes_reference::heaps::presence(flags.view(), spectra as usize, pols));
            next += batches as u64 * step;
        }
        actual.extend(integrator.finish().unwrap());
        actual32.extend(in_32_bits.finish().unwrap());
        let all = concatenate(Axis(1), &all.iter().map(|data| data.view()).collect::<Vec<_>>()).unwrap();
        let presence = concatenate(Axis(0), &presence.iter().map(|data| data.view()).collect::<Vec<_>>()).unwrap();
        let plain = Schedule { samples_between_spectra: spacing, spectra_per_heap: spectra, heaps_per_dump };
        let expected = integrate(&plain, &stamps, all.view(), Some(presence.view()));
        prop_assert_eq!(actual.len(), expected.len());
        prop_assert_eq!(actual32.len(), expected.len());
        for ((actual, actual32), expected) in actual.iter().zip(&actual32).zip(&expected) {
            prop_assert_eq!(actual.clock().first_sample, expected.timestamp);
            prop_assert_eq!(actual.times(), schedule.spectra_per_dump());
            prop_assert_eq!(actual.data(), &expected.sums);
            prop_assert_eq!(actual.valid_samples(), &expected.valid);
            let (data, saturated) = to_32_bits(expected, Some(schedule.spectra_per_dump()));
            prop_assert_eq!((actual32.data(), actual32.saturated()), (data.view(), saturated));
            prop_assert_eq!(actual32, &Dump32::new(actual, MissingData::Mark));
        }
    }
}

#[test]
fn a_dump_may_end_inside_a_chunk_and_then_takes_a_part_of_its_batches() {
    // 5 batches of 2 spectra, dumps of 3 batches.
    let data = bytes((5, 2, 1, 2, 1), 1);
    let heaps = chunk(data.clone(), None, clock(0, 4));
    let mut integrator =
        Integrator::new(&Backend::cpu(), DumpSchedule::new(4, 2, 3).unwrap(), heaps.inputs(), 1).unwrap();
    let dumps = integrator.push(&heaps).unwrap();
    let mut alone = Correlator::new(&Backend::cpu(), heaps.inputs(), 1).unwrap();
    alone.accumulate(&heaps, 0..6).unwrap();
    assert_eq!(dumps, [alone.dump(BaselineOrder::Triangle).unwrap()]);
    let rest = integrator.finish().unwrap().unwrap();
    alone.accumulate(&heaps, 6..10).unwrap();
    assert_eq!(rest.data(), alone.dump(BaselineOrder::Triangle).unwrap().data());
    assert_eq!((rest.clock().first_sample, rest.times(), rest.valid_samples()[0]), (24, 6, 4));
}

#[test]
fn heaps_and_voltages_may_follow_each_other_in_one_stream() {
    let data = bytes((4, 3, 2, 5, 2), 2);
    let schedule = DumpSchedule::new(1, 5, 4).unwrap();
    let whole = chunk(data.clone(), None, clock(0, 1));
    let expected = Integrator::new(&Backend::cpu(), schedule, whole.inputs(), 2).unwrap().push(&whole).unwrap();
    let mut integrator = Integrator::new(&Backend::cpu(), schedule, whole.inputs(), 2).unwrap();
    let part = |batches: std::ops::Range<usize>| {
        let first = clock(batches.start as u64 * 5, 1);
        chunk(data.slice(s![batches, .., .., .., ..]).to_owned(), None, first)
    };
    assert_eq!(integrator.push(&part(0..1)).unwrap(), []);
    assert_eq!(integrator.push(&part(1..3).to_voltages()).unwrap(), []);
    assert_eq!(integrator.push(&part(3..4)).unwrap(), expected);
}

#[test]
fn a_dump_affected_by_missing_heaps_of_all_antennas_is_produced_and_holds_the_mark_alone() {
    let inputs = Inputs::new(2, 2).unwrap();
    let schedule = DumpSchedule::new(8, 4, 2).unwrap();
    for presence in [Array2::from_elem((2, 2), false), ndarray::array![[false, true], [true, false]]] {
        let mut integrator =
            Integrator::new(&Backend::cpu(), schedule, inputs, 1).unwrap().in_32_bits(MissingData::Mark);
        let heaps = chunk(bytes((2, 2, 1, 4, 2), 3), Some(&presence), clock(64, 8));
        let dumps = integrator.push(&heaps).unwrap();
        assert_eq!(dumps.len(), 1);
        assert_eq!(dumps[0].clock().first_sample, 64);
        assert!(dumps[0].data().iter().all(|value| *value == MISSING_MARK));
        assert_eq!((dumps[0].saturated(), dumps[0].marked_baselines()), (0, 10));
    }
}

#[test]
fn heaps_that_do_not_fit_are_errors_and_change_nothing() {
    let schedule = DumpSchedule::new(8, 4, 2).unwrap(); // heaps every 32 samples
    let data = bytes((2, 2, 1, 4, 2), 4);
    let heaps = |data: Array5<C8>, first| chunk(data, None, clock(first, 8));
    let good = heaps(data.clone(), 32);
    let mut integrator = Integrator::new(&Backend::cpu(), schedule, good.inputs(), 1).unwrap();
    assert_eq!(integrator.push(&good).unwrap().len(), 1); // batches at 32 and 64
    let refused = |integrator: &mut Integrator<C8>, chunk: &Heaps<C8>| integrator.push(chunk).unwrap_err();

    let error = refused(&mut integrator, &heaps(bytes((2, 2, 1, 3, 2), 4), 96));
    assert_eq!(error, CorrelatorError::SpectraPerHeap { expected: 4, actual: 3 });
    let error = refused(&mut integrator, &heaps(data.clone(), 104));
    assert_eq!(error, CorrelatorError::HeapStamp { step: 32, actual: 104 });
    assert_eq!(error.to_string(), "expected heaps stamped with whole multiples of 32 ADC samples, found 104 (8 off)");
    let error = refused(&mut integrator, &heaps(data.clone(), 64));
    assert_eq!(error, CorrelatorError::Backward { expected: 96, actual: 64 });
    let error = refused(&mut integrator, &heaps(data.clone(), 97));
    assert_eq!(error, CorrelatorError::Misaligned { expected: 96, actual: 97, spacing: 8 });
    let error = refused(&mut integrator, &heaps(bytes((2, 2, 3, 4, 2), 4), 96));
    let wrong = TypesError::Dimension { array: "heaps", dimension: Dimension::Channel, expected: 1, actual: 3 };
    assert_eq!(error, wrong.into());
    assert!(matches!(refused(&mut integrator, &heaps(bytes((2, 2, 1, 4, 1), 4), 96)), CorrelatorError::Inputs { .. }));
    assert_eq!(integrator.next_sample(), Some(96));

    let mut correlator = Correlator::new(&Backend::cpu(), good.inputs(), 1).unwrap();
    let times = good.times(); // two batches of four spectra
    for (start, end) in [(0, 12), (8, 4), (12, 12), (usize::MAX, 0)] {
        let error = correlator.accumulate(&good, start..end).unwrap_err();
        assert_eq!(error, CorrelatorError::TimeRange { start, end, times });
    }
    for (start, end) in [(0, 3), (1, 4), (5, 7)] {
        let error = correlator.accumulate(&good, start..end).unwrap_err();
        assert_eq!(error, CorrelatorError::CutHeaps { start, end, spectra: 4 });
    }
    assert_eq!(correlator.spectra(), 0);
}

#[test]
fn the_memory_limit_changes_no_bit_of_heaps_and_too_small_a_limit_is_an_error() {
    let data = bytes((6, 20, 3, 100, 2), 5);
    let single = data.mapv(|x| Complex::new(f32::from(x.re) / 7.0, f32::from(x.im) / 3.0));
    let (exact, single) = (chunk(data, None, clock(0, 1)), chunk(single, None, clock(0, 1)));
    fn sum<V: VoltageSample>(heaps: &Heaps<V>, limit: Option<u64>) -> Result<Array2<V::Accumulator>, CorrelatorError> {
        let backend = limit.map_or(Backend::cpu(), |limit| Backend::cpu().with_memory_limit(limit));
        let mut correlator = Correlator::new(&backend, heaps.inputs(), 3)?;
        correlator.accumulate(heaps, 0..600)?;
        Ok(correlator.dump(BaselineOrder::Triangle)?.into_data())
    }
    let need = Correlator::<Complex<f32>>::memory(&Backend::cpu(), single.inputs(), 3, 600).unwrap();
    assert_eq!((need.input_bytes, need.output_bytes), (8 * 6 * 20 * 3 * 100 * 2, 16 * 3 * 820));
    // A limit for voltages is too small for the copy of a piece of heaps; the error says how much it takes.
    let smallest = match sum(&single, Some(need.smallest_step_bytes)) {
        Err(CorrelatorError::Device(DeviceError::MemoryLimit { needed, .. })) => needed,
        other => panic!("{other:?}"),
    };
    let (expected, expected_single) = (sum(&exact, None).unwrap(), sum(&single, None).unwrap());
    for limit in [smallest, 2 * smallest, 8 * smallest] {
        assert_eq!(sum(&exact, Some(limit)), Ok(expected.clone()), "{limit}");
        assert_eq!(sum(&single, Some(limit)), Ok(expected_single.clone()), "{limit}");
    }
    let (needed, limit) = (smallest, smallest - 1);
    let error = DeviceError::MemoryLimit { operation: "correlation of heaps", needed, limit };
    assert_eq!(sum(&single, Some(limit)), Err(error.into()));
}
