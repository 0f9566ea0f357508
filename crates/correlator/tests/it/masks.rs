//! Masked channels, against the reference: sums and counts of every channel, in every layout, however chunks are cut.
#![allow(clippy::unwrap_used)] // a failed check in a helper ends the test

use fringes_backend::Backend;
use fringes_correlator::{
    Chunk, Correlator, CorrelatorError, Dump32, DumpSchedule, Integrator, IntegratorSet, MissingData,
};
use fringes_reference::correlator::correlate_masked;
use fringes_types::{
    BaselineOrder, ChannelMask, Complex, Dimension, Heaps, Inputs, Rows, SpectrumClock, TypesError, Visibilities,
    Voltages,
};
use ndarray::{Array2, Array3, Array5, s};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

type C8 = Complex<i8>;
type Dump = Visibilities<Complex<i64>>;

const SPACING: u64 = 16;
const SPECTRA: usize = 6;
const CHANNELS: usize = 3;

/// The spectrum that streams begin with, at the start of a dump.
const FIRST: u64 = 600;

fn clock(spectrum: u64) -> SpectrumClock {
    SpectrumClock { first_sample: spectrum * SPACING, samples_between_spectra: SPACING, sample_rate_hz: 1e6 }
}

/// A stream of `batches` heaps of 6 spectra, of two antennas with two polarisations, with absent heaps.
struct Stream {
    data: Array3<C8>,
    presence: Array2<bool>,
}

impl Stream {
    fn new(batches: usize, seed: u64, absent: bool) -> Self {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut part = || generator.random_range(-127..=127i8);
        let data = Array3::from_shape_simple_fn((CHANNELS, batches * SPECTRA, 4), || C8::new(part(), part()));
        let presence = Array2::from_shape_simple_fn((batches, 2), || !absent || generator.random_range(0..4) > 0);
        Self { data, presence }
    }

    fn times(&self) -> usize {
        self.data.dim().1
    }

    fn flags(&self) -> Array2<bool> {
        Array2::from_shape_fn((self.times(), 4), |(time, input)| self.presence[(time / SPECTRA, input / 2)])
    }

    fn voltages(&self, times: std::ops::Range<usize>) -> Voltages<C8> {
        let (data, flags) = (self.data.slice(s![.., times.clone(), ..]), self.flags());
        let flags = flags.slice(s![times.clone(), ..]).to_owned();
        let voltages = Voltages::from_received(data.to_owned(), Inputs::new(2, 2).unwrap(), flags).unwrap();
        voltages.with_clock(clock(FIRST + times.start as u64)).unwrap()
    }

    fn heaps(&self, batches: std::ops::Range<usize>) -> Heaps<C8> {
        let data =
            Array5::from_shape_fn((batches.len(), 2, CHANNELS, SPECTRA, 2), |(batch, antenna, channel, t, pol)| {
                self.data[(channel, (batches.start + batch) * SPECTRA + t, antenna * 2 + pol)]
            });
        let presence = self.presence.slice(s![batches.clone(), ..]).to_owned();
        let heaps = Heaps::from_received(data, presence).unwrap();
        heaps.with_clock(clock(FIRST + (batches.start * SPECTRA) as u64)).unwrap()
    }

    fn rows(&self, times: std::ops::Range<usize>) -> Rows<C8> {
        Rows::from_voltages(&self.voltages(times))
    }

    /// A mask of blocks of 5 spectra, which begins 2 spectra before the stream and ends later; and the same
    /// `[channel][time]`.
    fn mask(&self, seed: u64) -> (ChannelMask, Array2<bool>) {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
        let blocks = (self.times() + 2).div_ceil(5) + 1;
        let masked = Array2::from_shape_simple_fn((CHANNELS, blocks), || generator.random_range(0..3) == 0);
        let times = Array2::from_shape_fn((CHANNELS, self.times()), |(channel, t)| masked[(channel, (t + 2) / 5)]);
        (ChannelMask::new(masked, 5, clock(FIRST - 2)).unwrap(), times)
    }
}

/// Dumps of two heaps against the reference, sums and counts.
fn check(stream: &Stream, masked: &Array2<bool>, dumps: &[Dump]) {
    let (wide, flags) = (stream.data.mapv(|x| Complex::new(i64::from(x.re), i64::from(x.im))), stream.flags());
    let mut start = 0;
    for dump in dumps {
        let span = start..(start + 2 * SPECTRA).min(stream.times());
        let (sums, valid) = correlate_masked(
            wide.slice(s![.., span.clone(), ..]),
            Some(flags.slice(s![span.clone(), ..])),
            masked.slice(s![.., span.clone()]),
        );
        let dump = dump.reordered(BaselineOrder::Triangle).unwrap();
        assert_eq!((dump.data(), dump.times()), (sums.view(), 2 * SPECTRA as u64));
        let counts = Array2::from_shape_fn(valid.dim(), |(channel, baseline)| dump.valid(channel, baseline));
        assert_eq!(counts, valid, "dump of {span:?}");
        start = span.end;
    }
    assert_eq!(start, stream.times());
}

fn integrator(order: BaselineOrder) -> Integrator<C8> {
    let schedule = DumpSchedule::new(SPACING, SPECTRA as u64, 2).unwrap();
    let integrator = Integrator::new(&Backend::cpu(), schedule, Inputs::new(2, 2).unwrap(), CHANNELS).unwrap();
    integrator.with_order(order).unwrap()
}

fn run<C: Chunk<C8>>(
    order: BaselineOrder,
    mask: &ChannelMask,
    cuts: &[usize],
    chunk: impl Fn(std::ops::Range<usize>) -> C,
) -> Vec<Dump> {
    let mut integrator = integrator(order);
    let pushed = cuts.windows(2).flat_map(|cut| integrator.push_masked(&chunk(cut[0]..cut[1]), mask).unwrap());
    let mut dumps: Vec<_> = pushed.collect();
    dumps.extend(integrator.finish().unwrap());
    dumps
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn sums_and_counts_are_those_of_what_is_not_masked_however_chunks_are_cut(
        batches in 1usize..9, seed: u64, absent: bool, cuts in prop::collection::vec(0usize..60, 0..5),
    ) {
        let stream = Stream::new(batches, seed, absent);
        let (mask, times) = stream.mask(seed);
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(stream.times())).chain([0, stream.times()]).collect();
        cuts.sort_unstable();
        let order = [BaselineOrder::Triangle, BaselineOrder::Full, BaselineOrder::AntennaPairs][batches % 3];
        check(&stream, &times, &run(order, &mask, &cuts, |times| stream.voltages(times)));
        check(&stream, &times, &run(order, &mask, &cuts, |times| stream.rows(times)));
        let mut of_heaps: Vec<_> = cuts.iter().map(|cut| cut / SPECTRA).collect();
        of_heaps.dedup();
        check(&stream, &times, &run(order, &mask, &of_heaps, |batches| stream.heaps(batches)));
    }
}

#[test]
fn a_mask_of_nothing_changes_nothing_and_counts_nothing() {
    let stream = Stream::new(4, 1, true);
    let mask = ChannelMask::new(Array2::default((CHANNELS, 6)), 5, clock(FIRST - 2)).unwrap();
    let masked = run(BaselineOrder::Triangle, &mask, &[0, 7, 24], |times| stream.voltages(times));
    let mut plain = integrator(BaselineOrder::Triangle);
    let mut dumps = plain.push(&stream.voltages(0..24)).unwrap();
    dumps.extend(plain.finish().unwrap());
    for (masked, plain) in masked.iter().zip(&dumps) {
        assert_eq!(masked, plain);
    }
}

#[test]
fn counts_of_baselines_are_kept_apart_only_where_an_input_is_absent_under_the_mask() {
    let stream = Stream::new(2, 1, false);
    let (mask, _) = stream.mask(3);
    let dump = &run(BaselineOrder::Triangle, &mask, &[0, 12], |times| stream.voltages(times))[0];
    let counts = dump.masked_samples().unwrap();
    assert!(counts.baselines().is_none() && counts.channels().iter().any(|&count| count > 0));
    assert_eq!(dump.valid_samples().to_vec(), [12; 10]);
}

#[test]
fn lengths_of_a_set_add_up_what_was_masked() {
    let stream = Stream::new(8, 4, true);
    let (mask, times) = stream.mask(5);
    let schedules = [2, 4].map(|heaps| DumpSchedule::new(SPACING, SPECTRA as u64, heaps).unwrap());
    let inputs = Inputs::new(2, 2).unwrap();
    let mut set = IntegratorSet::<C8>::new(&Backend::cpu(), &schedules, inputs, CHANNELS).unwrap();
    let mut dumps = set.push_masked(&stream.voltages(0..31), &mask).unwrap();
    dumps.extend(set.push_masked(&stream.voltages(31..48), &mask).unwrap());
    dumps.extend(set.finish().unwrap());
    let of = |which| dumps.iter().filter(move |(index, _)| *index == which).map(|(_, dump)| dump.clone());
    let short: Vec<_> = of(0).collect();
    check(&stream, &times, &short);
    for (pair, long) in short.chunks(2).zip(of(1)) {
        for channel in 0..CHANNELS {
            for baseline in 0..10 {
                let sum: u64 = pair.iter().map(|dump| dump.valid(channel, baseline)).sum();
                assert_eq!(long.valid(channel, baseline), sum);
            }
        }
    }
}

#[test]
fn dumps_of_32_bits_have_the_counts_and_mark_only_what_is_missing() {
    let stream = Stream::new(2, 1, false);
    let (mask, _) = stream.mask(3);
    let mut integrator = integrator(BaselineOrder::AntennaPairs).in_32_bits(MissingData::Mark);
    let dump = integrator.push_masked(&stream.voltages(0..12), &mask).unwrap().remove(0);
    let wide = run(BaselineOrder::AntennaPairs, &mask, &[0, 12], |times| stream.voltages(times)).remove(0);
    assert_eq!(dump, Dump32::new(&wide, MissingData::Mark));
    assert_eq!((dump.marked_baselines(), dump.valid(1, 3), dump.valid(1, 99)), (0, wide.valid(1, 3), 0));
    assert!(dump.masked_samples().is_some());
}

#[test]
fn floats_are_those_of_voltages_that_are_zero_where_masked() {
    let stream = Stream::new(5, 7, true);
    let (mask, times) = stream.mask(8);
    let floats = |data: Array3<C8>| data.mapv(|x| Complex::new(f32::from(x.re), f32::from(x.im)));
    let flags = stream.flags();
    let of = |data: Array3<Complex<f32>>| {
        Voltages::from_received(data, Inputs::new(2, 2).unwrap(), flags.clone())
            .unwrap()
            .with_clock(clock(FIRST))
            .unwrap()
    };
    let mut correlator = Correlator::new(&Backend::cpu(), Inputs::new(2, 2).unwrap(), CHANNELS).unwrap();
    let mut garbage = floats(stream.data.clone());
    let mut zeroed = garbage.clone();
    for ((channel, time, input), value) in garbage.indexed_iter_mut().filter(|((c, t, _), _)| times[(*c, *t)]) {
        *value = Complex::new(f32::NAN, f32::INFINITY);
        zeroed[(channel, time, input)] = Complex::default();
    }
    correlator.accumulate_masked(&of(garbage), 0..30, &mask).unwrap();
    let masked = correlator.dump(BaselineOrder::Triangle).unwrap();
    correlator.accumulate(&of(zeroed), 0..30).unwrap();
    assert_eq!(masked.data(), correlator.dump(BaselineOrder::Triangle).unwrap().data());
}

#[test]
fn masks_that_do_not_fit_are_errors_and_change_nothing() {
    let stream = Stream::new(4, 2, true);
    let (good, times) = stream.mask(1);
    let of = |channels, blocks, clock| ChannelMask::new(Array2::default((channels, blocks)), 5, clock).unwrap();
    let mut integrator = integrator(BaselineOrder::Triangle);
    let mut dumps = integrator.push_masked(&stream.voltages(0..10), &good).unwrap();
    let chunk = stream.voltages(10..24);
    let array = "mask";
    let error = integrator.push_masked(&chunk, &of(CHANNELS + 1, 9, clock(FIRST))).unwrap_err();
    let expected = TypesError::Dimension { array, dimension: Dimension::Channel, expected: 3, actual: 4 };
    assert_eq!(error, CorrelatorError::Types(expected));
    for (first, blocks) in [(FIRST + 11, 9), (FIRST, 4)] {
        let error = integrator.push_masked(&chunk, &of(CHANNELS, blocks, clock(first))).unwrap_err();
        assert!(matches!(error, CorrelatorError::Types(TypesError::MaskRange { .. })), "{error}");
    }
    for bad in [
        SpectrumClock { first_sample: FIRST * SPACING + 1, ..clock(0) },
        SpectrumClock { samples_between_spectra: 8, ..clock(FIRST) },
    ] {
        let error = integrator.push_masked(&chunk, &of(CHANNELS, 99, bad)).unwrap_err();
        assert!(matches!(error, CorrelatorError::Types(TypesError::MaskGrid { .. })), "{error}");
    }
    dumps.extend(integrator.push_masked(&chunk, &good).unwrap());
    dumps.extend(integrator.finish().unwrap());
    check(&stream, &times, &dumps);
    // Ranges of heaps are of whole batches, masked or not.
    let mut correlator = Correlator::<C8>::new(&Backend::cpu(), Inputs::new(2, 2).unwrap(), CHANNELS).unwrap();
    let error = correlator.accumulate_masked(&stream.heaps(0..4), 1..6, &good).unwrap_err();
    assert!(matches!(error, CorrelatorError::CutHeaps { .. }), "{error}");
    assert_eq!(correlator.spectra(), 0);
}
