//! `IntegratorSet` against integrators of their own: any lengths, chunks, gaps and presence; floats; misuse.
#![allow(clippy::unwrap_used)] // a failed check in a helper ends the test

use fringes_backend::Backend;
use fringes_correlator::{CorrelatorError, Dump32, DumpSchedule, Integrator, IntegratorSet, MissingData};
use fringes_types::{BaselineOrder, Complex, Heaps, Inputs, SpectrumClock, Visibilities, Voltages};
use ndarray::{Array2, Array3, Array5};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

type C8 = Complex<i8>;

fn clock(first_sample: u64, samples_between_spectra: u64) -> SpectrumClock {
    SpectrumClock { first_sample, samples_between_spectra, sample_rate_hz: 1e9 }
}

/// Voltages or heaps.
enum Piece {
    Voltages(Voltages<C8>),
    Heaps(Heaps<C8>),
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_length_gives_the_dumps_of_an_integrator_of_its_own(
        spacing in 1u64..10, spectra in 1u64..4,
        heaps_per_dump in prop::collection::vec(1u64..13, 1..5),
        start in prop_oneof![0u64..500, Just(1_000_000_000_000)],
        pieces in prop::collection::vec((0u64..20, 0usize..20, any::<bool>(), any::<bool>()), 1..8),
        seed: u64,
    ) {
        let schedules: Vec<_> =
            heaps_per_dump.iter().map(|&heaps| DumpSchedule::new(spacing, spectra, heaps).unwrap()).collect();
        let inputs = Inputs::new(2, 2).unwrap();
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut part = || generator.random_range(-127..=127i8);
        let mut next = start * spacing * spectra;
        let mut chunks = Vec::new();
        for &(missing, batches, as_heaps, masked) in &pieces {
            next += missing * spacing * spectra;
            let data = Array5::from_shape_simple_fn((batches, 2, 2, spectra as usize, 2), || C8::new(part(), part()));
            let mut heaps = Heaps::new(data).unwrap().with_clock(clock(next, spacing)).unwrap();
            if masked {
                let flags = Array2::from_shape_simple_fn((batches, 2), || part() > -90);
                heaps = heaps.with_presence(flags).unwrap();
            }
            next += batches as u64 * spacing * spectra;
            chunks.push(if as_heaps { Piece::Heaps(heaps) } else { Piece::Voltages(heaps.to_voltages()) });
        }
        let backend = Backend::cpu();
        let mut set = IntegratorSet::new(&backend, &schedules, inputs, 2).unwrap();
        let mut set32 = IntegratorSet::new(&backend, &schedules, inputs, 2).unwrap().in_32_bits(MissingData::Mark);
        let (mut dumps, mut dumps32) = (Vec::new(), Vec::new());
        for piece in &chunks {
            match piece {
                Piece::Voltages(chunk) => {
                    dumps.extend(set.push(chunk).unwrap());
                    dumps32.extend(set32.push(chunk).unwrap());
                }
                Piece::Heaps(chunk) => {
                    dumps.extend(set.push(chunk).unwrap());
                    dumps32.extend(set32.push(chunk).unwrap());
                }
            }
        }
        // In the order of their ends, shorter ones first.
        let ends: Vec<_> = dumps
            .iter()
            .map(|(index, dump)| {
                let schedule = schedules[*index];
                (dump.clock().first_sample + schedule.timestamp_difference(), schedule.heaps_per_dump())
            })
            .collect();
        prop_assert!(ends.is_sorted());
        dumps.extend(set.finish().unwrap());
        dumps32.extend(set32.finish().unwrap());
        prop_assert!(set.finish().unwrap().is_empty());
        for (index, &schedule) in schedules.iter().enumerate() {
            let mut alone = Integrator::new(&backend, schedule, inputs, 2).unwrap();
            let mut expected = Vec::new();
            for piece in &chunks {
                expected.extend(match piece {
                    Piece::Voltages(chunk) => alone.push(chunk),
                    Piece::Heaps(chunk) => alone.push(chunk),
                }.unwrap());
            }
            expected.extend(alone.finish().unwrap());
            let actual: Vec<_> = dumps.iter().filter(|(which, _)| *which == index).map(|(_, dump)| dump.clone()).collect();
            prop_assert_eq!(&actual, &expected, "{:?}", schedule);
            let marked: Vec<_> = expected.iter().map(|dump| Dump32::new(dump, MissingData::Mark)).collect();
            let actual: Vec<_> = dumps32.iter().filter(|(which, _)| *which == index).map(|(_, dump)| dump.clone()).collect();
            prop_assert_eq!(actual, marked, "{:?}", schedule);
        }
    }
}

#[test]
fn a_stream_that_starts_inside_long_dumps_makes_no_short_ones_before_it() {
    let inputs = Inputs::single_pol(1).unwrap();
    let schedules = [1, 3, 12].map(|heaps| DumpSchedule::new(1, 2, heaps).unwrap());
    let mut set = IntegratorSet::new(&Backend::cpu(), &schedules, inputs, 1).unwrap();
    // Spectra 34 to 47: heaps 17 to 23.
    let chunk = Voltages::new(Array3::from_elem((1, 14, 1), C8::new(1, 0)), inputs).unwrap();
    let dumps = set.push(&chunk.with_clock(clock(34, 1)).unwrap()).unwrap();
    let of = |index: usize| -> Vec<(u64, u64, u64)> {
        let dumps = dumps.iter().filter(|(which, _)| *which == index);
        dumps.map(|(_, dump)| (dump.clock().first_sample, dump.times(), dump.valid_samples()[0])).collect()
    };
    assert_eq!(of(0), [34, 36, 38, 40, 42, 44, 46].map(|stamp| (stamp, 2, 2)));
    assert_eq!(of(1), [(30, 6, 2), (36, 6, 6), (42, 6, 6)]);
    assert_eq!(of(2), [(24, 24, 14)]);
    assert_eq!(set.finish().unwrap().len(), 0);
}

#[test]
fn float_sums_of_sums_are_within_the_bound() {
    let inputs = Inputs::single_pol(3).unwrap();
    let schedules = [1, 5].map(|heaps| DumpSchedule::new(1, 40, heaps).unwrap());
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(4);
    let mut part = || generator.random_range(-1.0..1.0f32);
    let data = Array3::from_shape_simple_fn((2, 200, 3), || Complex::new(part(), part()));
    let chunk = Voltages::new(data.clone(), inputs).unwrap();
    let mut set = IntegratorSet::new(&Backend::cpu(), &schedules, inputs, 2).unwrap();
    let dumps: Vec<(usize, Visibilities<_>)> = set.push(&chunk).unwrap();
    let (_, long) = dumps.last().unwrap();
    assert_eq!((dumps.len(), long.times()), (6, 200));
    let wide = data.mapv(|x| Complex::new(f64::from(x.re), f64::from(x.im)));
    let expected = fringes_reference::correlator::correlate_f64(wide.view(), None).sums;
    let scale = fringes_reference::correlator::correlate_f64(wide.mapv(|x| Complex::from(x.norm())).view(), None).sums;
    let (unit, unit64) = (2f64.powi(-24), 2f64.powi(-53));
    // A call a unit: 128 + 1 roundings of its own and one for the call; 5 additions; the reference's own bound.
    let bound = 129.0 * unit / (1.0 - 129.0 * unit) + (130.0 + 5.0 + 401.0) * unit64;
    for (index, sum) in long.data().indexed_iter() {
        let difference = sum - expected[index];
        assert!(difference.re.abs().max(difference.im.abs()) <= bound * scale[index].re, "{index:?}: {difference}");
    }
}

#[test]
fn a_gap_is_measured_by_the_shortest_dumps() {
    let inputs = Inputs::single_pol(1).unwrap();
    // The unit is one heap, the shortest dump two.
    let schedules = [3, 2].map(|heaps| DumpSchedule::new(1, 1, heaps).unwrap());
    let set = IntegratorSet::<C8>::new(&Backend::cpu(), &schedules, inputs, 1).unwrap();
    assert_eq!((set.unit().heaps_per_dump(), set.schedules()), (1, &schedules[..]));
    let mut set = set.with_longest_gap(2);
    let one = |stamp| {
        let chunk = Voltages::new(Array3::from_elem((1, 1, 1), C8::new(1, 0)), inputs).unwrap();
        chunk.with_clock(clock(stamp, 1)).unwrap()
    };
    set.push(&one(0)).unwrap(); // the dump 0..2 is open
    let error = set.push(&one(8)).unwrap_err();
    assert_eq!(error, CorrelatorError::Gap { expected: 1, actual: 8, empty_dumps: 3, limit: 2 });
    let dumps = set.push(&one(7)).unwrap();
    let stamps: Vec<_> =
        dumps.iter().map(|(index, dump)| (*index, dump.clock().first_sample, dump.valid_samples()[0])).collect();
    assert_eq!(stamps, [(1, 0, 1), (0, 0, 1), (1, 2, 0), (1, 4, 0), (0, 3, 0), (1, 6, 1)]);
}

#[test]
fn schedules_that_have_nothing_in_common_are_errors() {
    let inputs = Inputs::single_pol(1).unwrap();
    let new = |schedules: &[DumpSchedule]| IntegratorSet::<C8>::new(&Backend::cpu(), schedules, inputs, 1).map(|_| ());
    let schedule = |spacing, spectra| DumpSchedule::new(spacing, spectra, 4).unwrap();
    let error = new(&[schedule(4, 8), schedule(5, 8)]).unwrap_err();
    assert_eq!(error, CorrelatorError::Schedules { quantity: "samples_between_spectra", expected: 4, actual: 5 });
    assert_eq!(error.to_string(), "schedules of one stream: expected samples_between_spectra 4, found 5");
    assert!(new(&[]).is_err());
    let set = IntegratorSet::<C8>::new(&Backend::cpu(), &[schedule(1, 1)], inputs, 1).unwrap();
    assert!(set.with_order(BaselineOrder::AntennaPairs).is_err());
}
