//! `Integrator` against the reference's dumps: any chunks, gaps, presence, counters, misuse.
#![allow(clippy::unwrap_used)] // a failed check in a helper ends the test

use fringes_backend::Backend;
use fringes_correlator::{CorrelatorError, Dump32, DumpSchedule, Integrator, MISSING_MARK, MissingData};
use fringes_reference::dump::{Dump, Schedule, integrate, to_32_bits};
use fringes_types::{BaselineOrder, Dimension, Frequencies, Inputs, SpectrumClock, TypesError, Visibilities, Voltages};
use ndarray::{Array2, Array3, Axis, concatenate, s};
use num_complex::Complex;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

type C8 = Complex<i8>;

const RATE: f64 = 1e9;

fn random(shape: (usize, usize, usize), seed: u64) -> Array3<C8> {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut part = move || generator.random_range(-127..=127i8);
    Array3::from_shape_simple_fn(shape, || C8::new(part(), part()))
}

fn chunk(data: Array3<C8>, inputs: Inputs, first_sample: u64, spacing: u64) -> Voltages<C8> {
    let clock = SpectrumClock { first_sample, samples_between_spectra: spacing, sample_rate_hz: RATE };
    Voltages::new(data, inputs).unwrap().with_clock(clock).unwrap()
}

/// One spectrum of ones for one antenna.
fn ones(times: usize, first_sample: u64, spacing: u64) -> Voltages<C8> {
    chunk(Array3::from_elem((1, times, 1), C8::new(1, 0)), Inputs::single_pol(1).unwrap(), first_sample, spacing)
}

fn integrator(schedule: DumpSchedule) -> Integrator<C8> {
    Integrator::new(&Backend::cpu(), schedule, Inputs::single_pol(1).unwrap(), 1).unwrap()
}

fn stamps_and_counts(dumps: &[Visibilities<Complex<i64>>]) -> Vec<(u64, u64)> {
    dumps.iter().map(|dump| (dump.clock().first_sample, dump.valid_samples()[0])).collect()
}

/// A stream of chunks: each a number of missing spectra before it, data and presence.
struct Piece {
    missing: u64,
    data: Array3<C8>,
    presence: Option<Array2<bool>>,
}

/// The same stream to the integrator and to the reference; both must give the same dumps.
fn check(schedule: DumpSchedule, start: u64, inputs: Inputs, pieces: &[Piece]) -> Vec<Visibilities<Complex<i64>>> {
    let spacing = schedule.samples_between_spectra();
    let channels = pieces[0].data.dim().0;
    let mut integrator = Integrator::new(&Backend::cpu(), schedule, inputs, channels).unwrap();
    let (mut actual, mut stamps, mut all, mut flags) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut next = start;
    for piece in pieces {
        let times = piece.data.dim().1;
        next += piece.missing * spacing;
        let mut voltages = chunk(piece.data.clone(), inputs, next, spacing);
        if let Some(presence) = &piece.presence {
            voltages = voltages.with_presence(presence.clone()).unwrap();
        }
        actual.extend(integrator.push(&voltages).unwrap());
        stamps.extend((0..times as u64).map(|time| next + time * spacing));
        all.push(piece.data.mapv(|x| Complex::new(i64::from(x.re), i64::from(x.im))));
        flags.push(piece.presence.clone().unwrap_or_else(|| Array2::from_elem((times, inputs.len()), true)));
        next += times as u64 * spacing;
        if times > 0 {
            assert_eq!(integrator.next_sample(), Some(next));
        }
    }
    actual.extend(integrator.finish().unwrap());
    assert_eq!(integrator.finish(), Ok(None));
    let all = concatenate(Axis(1), &all.iter().map(|data| data.view()).collect::<Vec<_>>()).unwrap();
    let flags = concatenate(Axis(0), &flags.iter().map(|data| data.view()).collect::<Vec<_>>()).unwrap();
    let plain = Schedule {
        samples_between_spectra: spacing,
        spectra_per_heap: schedule.spectra_per_heap(),
        heaps_per_dump: schedule.heaps_per_dump(),
    };
    let expected = integrate(&plain, &stamps, all.view(), Some(flags.view()));
    assert_eq!(actual.len(), expected.len());
    for (actual, expected) in actual.iter().zip(&expected) {
        check_dump(actual, expected, schedule);
    }
    actual
}

fn check_dump(actual: &Visibilities<Complex<i64>>, expected: &Dump, schedule: DumpSchedule) {
    assert_eq!(actual.clock().first_sample, expected.timestamp);
    assert_eq!(actual.clock().sample_rate_hz, RATE);
    assert_eq!(actual.times(), schedule.spectra_per_dump());
    assert_eq!(actual.data(), expected.sums);
    assert_eq!(actual.valid_samples(), expected.valid);
    let marked = Dump32::new(actual, MissingData::Mark);
    let (data, saturated) = to_32_bits(expected, Some(schedule.spectra_per_dump()));
    assert_eq!((marked.data(), marked.saturated()), (data.view(), saturated));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_chunks_and_gaps_give_the_references_dumps(
        lengths in (1u64..20, 1u64..5, 1u64..6),
        antennas in 1usize..4,
        start in prop_oneof![0u64..500, Just(100_000_000_000_000), Just(99_999_999_999_937)],
        pieces in prop::collection::vec((0u64..40, 0usize..40, any::<bool>()), 1..7),
        seed: u64,
    ) {
        let schedule = DumpSchedule::new(lengths.0, lengths.1, lengths.2).unwrap();
        let inputs = Inputs::new(antennas, 2).unwrap();
        let pieces: Vec<Piece> = pieces
            .into_iter()
            .enumerate()
            .map(|(index, (missing, times, masked))| {
                let seed = seed.wrapping_add(index as u64);
                let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
                let shape = (times, inputs.len());
                let presence =
                    masked.then(|| Array2::from_shape_simple_fn(shape, || generator.random_range(0..6) != 0));
                Piece { missing, data: random((2, times, inputs.len()), seed), presence }
            })
            .collect();
        check(schedule, start, inputs, &pieces);
    }
}

#[test]
fn several_integration_lengths_of_one_stream() {
    // Three lengths fed with the same chunks: the sums of the short dumps inside a long one are the long one's.
    let inputs = Inputs::new(3, 2).unwrap();
    let schedules = [1, 3, 12].map(|heaps| DumpSchedule::new(64, 8, heaps).unwrap());
    let mut integrators = schedules.map(|schedule| Integrator::new(&Backend::cpu(), schedule, inputs, 5).unwrap());
    let mut dumps = [const { Vec::new() }; 3];
    let data = random((5, 2 * 96, 6), 4);
    let mut start = 0;
    for length in [1, 50, 7, 96, 38] {
        let part = data.slice(s![.., start..start + length, ..]).to_owned();
        let part = chunk(part, inputs, start as u64 * 64, 64);
        for (integrator, dumps) in integrators.iter_mut().zip(&mut dumps) {
            dumps.extend(integrator.push(&part).unwrap());
        }
        start += length;
    }
    assert_eq!(dumps.each_ref().map(Vec::len), [24, 8, 2]);
    for (length, ratio) in [(1, 3), (2, 12)] {
        for (long, short) in dumps[length].iter().zip(dumps[0].chunks(ratio)) {
            let mut sum = Array2::from_elem(long.data().dim(), Complex::new(0, 0));
            short.iter().for_each(|dump| sum += &dump.data());
            assert_eq!(sum, long.data());
            assert_eq!(long.clock().first_sample, short[0].clock().first_sample);
            assert_eq!(long.times(), short.iter().map(|dump| dump.times()).sum::<u64>());
        }
    }
    assert_eq!(dumps[1].iter().map(|dump| dump.clock().first_sample).collect::<Vec<_>>()[..3], [0, 1536, 3072]);
}

#[test]
fn a_boundary_inside_a_chunk_splits_it_at_a_whole_multiple() {
    let schedule = DumpSchedule::new(4, 2, 3).unwrap(); // 6 spectra, 24 samples
    let mut integrator = integrator(schedule);
    assert_eq!(stamps_and_counts(&integrator.push(&ones(17, 20, 4)).unwrap()), [(0, 1), (24, 6), (48, 6)]);
    assert_eq!(integrator.finish().unwrap().map(|dump| stamps_and_counts(&[dump])), Some(vec![(72, 4)]));
}

#[test]
fn stamps_off_the_spacing_still_make_whole_dumps() {
    // Stamps 2, 6, 10, ...: dumps of six spectra, stamped with whole multiples of 24.
    let mut integrator = integrator(DumpSchedule::new(4, 2, 3).unwrap());
    assert_eq!(stamps_and_counts(&integrator.push(&ones(18, 26, 4)).unwrap()), [(24, 6), (48, 6), (72, 6)]);
    assert_eq!(integrator.finish(), Ok(None));
}

#[test]
fn dumps_inside_a_gap_are_produced_without_valid_samples() {
    let mut integrator = integrator(DumpSchedule::new(4, 2, 3).unwrap());
    assert_eq!(integrator.push(&ones(3, 0, 4)).unwrap(), []);
    let dumps = integrator.push(&ones(1, 96, 4)).unwrap();
    assert_eq!(stamps_and_counts(&dumps), [(0, 3), (24, 0), (48, 0), (72, 0)]);
    for dump in &dumps[1..] {
        assert_eq!(dump.times(), 6);
        assert_eq!(Dump32::new(dump, MissingData::Mark).data()[(0, 0)], MISSING_MARK);
        assert_eq!(Dump32::new(dump, MissingData::Sum).data()[(0, 0)], Complex::new(0, 0));
    }
}

#[test]
fn a_dump_with_nothing_present_is_produced() {
    let mut integrator = integrator(DumpSchedule::new(1, 4, 1).unwrap());
    let absent = ones(4, 0, 1).with_presence(Array2::from_elem((4, 1), false)).unwrap();
    let dumps = integrator.push(&absent).unwrap();
    assert_eq!(stamps_and_counts(&dumps), [(0, 0)]);
    assert_eq!(dumps[0].data()[(0, 0)], Complex::new(0, 0));
}

#[test]
fn a_missing_antenna_marks_its_baselines_alone() {
    let inputs = Inputs::single_pol(3).unwrap();
    let mut integrator = Integrator::new(&Backend::cpu(), DumpSchedule::new(1, 2, 4).unwrap(), inputs, 2).unwrap();
    let presence = Array2::from_shape_fn((8, 3), |(time, input)| (time, input) != (5, 1));
    let voltages = chunk(random((2, 8, 3), 1), inputs, 0, 1).with_presence(presence).unwrap();
    let dump = &integrator.push(&voltages).unwrap()[0];
    assert_eq!(dump.valid_samples().to_vec(), [8, 7, 7, 8, 7, 8]);
    let marked = Dump32::new(dump, MissingData::Mark);
    let is_marked = |baseline| marked.data().column(baseline).iter().all(|sum| *sum == MISSING_MARK);
    assert_eq!([0, 1, 2, 3, 4, 5].map(is_marked), [false, true, true, false, true, false]);
    assert_eq!(marked.marked_baselines(), 3);
}

#[test]
fn the_end_of_the_sample_counter_is_an_error_and_not_a_wrap() {
    let spacing = 1 << 20;
    let schedule = DumpSchedule::new(spacing, 2, 3).unwrap();
    let last = u64::MAX - (spacing - 1); // the last multiple of the spacing
    let mut one = integrator(schedule);
    let error = one.push(&ones(5, last - 3 * spacing, spacing)).unwrap_err();
    assert_eq!(error, CorrelatorError::SampleCounter { first_sample: last - 3 * spacing, times: 5 });
    let mut dumps = one.push(&ones(4, last - 3 * spacing, spacing)).unwrap();
    dumps.extend(one.finish().unwrap());
    assert_eq!(dumps.iter().map(|dump| dump.valid_samples()[0]).sum::<u64>(), 4);
    // After the very last spectrum nothing can follow.
    let mut two = integrator(schedule);
    two.push(&ones(1, last, spacing)).unwrap();
    assert_eq!(two.next_sample(), None);
    let error = two.push(&ones(1, last, spacing)).unwrap_err();
    assert_eq!(error, CorrelatorError::Backward { expected: u64::MAX, actual: last });
}

#[test]
fn chunks_that_do_not_continue_the_stream_are_errors_and_change_nothing() {
    let schedule = DumpSchedule::new(4, 2, 3).unwrap();
    let mut integrator = integrator(schedule).with_longest_gap(10);
    integrator.push(&ones(5, 0, 4)).unwrap();
    let expected = 20;
    let refused = |integrator: &mut Integrator<C8>, chunk: &Voltages<C8>| integrator.push(chunk).unwrap_err();

    let error = refused(&mut integrator, &ones(1, 16, 4));
    assert_eq!(error, CorrelatorError::Backward { expected, actual: 16 });
    let error = refused(&mut integrator, &ones(1, 23, 4));
    assert_eq!(error, CorrelatorError::Misaligned { expected, actual: 23, spacing: 4 });
    assert_eq!(error.to_string(), "expected stamps a whole multiple of 4 ADC samples after 20, found 23 (3 off)");
    // The open dump at 0 is not empty; those at 24 ... 264 are eleven.
    let error = refused(&mut integrator, &ones(1, 288, 4));
    assert_eq!(error, CorrelatorError::Gap { expected, actual: 288, empty_dumps: 11, limit: 10 });
    let error = refused(&mut integrator, &ones(1, 100_000_000_000_000, 4));
    assert!(matches!(error, CorrelatorError::Gap { empty_dumps: 4_166_666_666_665, .. }), "{error}");
    let error = refused(&mut integrator, &ones(1, 20, 8));
    assert_eq!(error, CorrelatorError::SpectrumSpacing { expected: 4, actual: 8 });
    let clock = SpectrumClock { first_sample: 20, samples_between_spectra: 4, sample_rate_hz: 5.0 };
    let error = refused(&mut integrator, &ones(1, 20, 4).with_clock(clock).unwrap());
    assert_eq!(error, CorrelatorError::SampleRate { expected: RATE, actual: 5.0 });
    let frequencies = Frequencies { first_hz: 7.0, step_hz: 1.0 };
    let error = refused(&mut integrator, &ones(1, 20, 4).with_frequencies(frequencies).unwrap());
    assert_eq!(error, CorrelatorError::Frequencies { expected: Frequencies::default(), actual: frequencies });
    let two = Inputs::single_pol(2).unwrap();
    let error = refused(&mut integrator, &chunk(random((1, 1, 2), 1), two, 20, 4));
    assert_eq!(error, CorrelatorError::Inputs { expected: Inputs::single_pol(1).unwrap(), actual: two });
    let error = refused(&mut integrator, &chunk(random((2, 1, 1), 1), Inputs::single_pol(1).unwrap(), 20, 4));
    let wrong = TypesError::Dimension { array: "voltages", dimension: Dimension::Channel, expected: 1, actual: 2 };
    assert_eq!(error, wrong.into());

    assert_eq!(integrator.next_sample(), Some(20));
    assert_eq!(stamps_and_counts(&integrator.push(&ones(1, 20, 4)).unwrap()), [(0, 6)]);
    // At a boundary the frequencies may still not change: it is one stream.
    assert!(integrator.push(&ones(1, 24, 4).with_frequencies(frequencies).unwrap()).is_err());
    // Ten empty dumps are allowed: 24 ... 240.
    assert_eq!(integrator.push(&ones(1, 264, 4)).unwrap().len(), 10);
    // A finished stream may be followed by any other, earlier ones and other axes included.
    assert_eq!(integrator.finish().unwrap().map(|dump| stamps_and_counts(&[dump])), Some(vec![(264, 1)]));
    let other = ones(6, 0, 4).with_frequencies(frequencies).unwrap();
    assert_eq!(stamps_and_counts(&integrator.push(&other).unwrap()), [(0, 6)]);
}

#[test]
fn dumps_come_in_the_order_that_was_asked_for() {
    let inputs = Inputs::new(2, 2).unwrap();
    let schedule = DumpSchedule::new(1, 4, 1).unwrap();
    let data = chunk(random((1, 4, 4), 9), inputs, 0, 1);
    let triangle = Integrator::new(&Backend::cpu(), schedule, inputs, 1).unwrap().push(&data).unwrap();
    for order in [BaselineOrder::AntennaPairs, BaselineOrder::Full] {
        let integrator = Integrator::new(&Backend::cpu(), schedule, inputs, 1).unwrap();
        let dumps = integrator.with_order(order).unwrap().push(&data).unwrap();
        assert_eq!(dumps[0], triangle[0].reordered(order).unwrap());
    }
    let single = integrator(schedule).with_order(BaselineOrder::AntennaPairs).map(|_| ());
    assert_eq!(single, Err(TypesError::OrderPols { order: "antenna pairs", expected: 2, actual: 1 }.into()));
}
