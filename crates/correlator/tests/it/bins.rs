//! `BinnedIntegrator` against the reference's dumps of each bin's spectra: any bins, chunks, layouts, gaps and masks.
#![allow(clippy::unwrap_used)] // a failed check in a helper ends the test

use fringes_backend::Backend;
use fringes_correlator::{
    BinnedDump, BinnedIntegrator, Bins, Chunk, CorrelatorError, Dump32, DumpSchedule, Integrator, MissingData,
    PulsePhase, Turns,
};
use fringes_reference::dump::{Schedule, integrate};
use fringes_types::{
    BaselineOrder, ChannelMask, Complex, Heaps, Inputs, Rows, SpectrumClock, TypesError, Visibilities, Voltages,
};
use ndarray::{Array2, Array3, Array5, Axis, s};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

type C8 = Complex<i8>;
type Dump = Visibilities<Complex<i64>>;

const SPACING: u64 = 10;
const SPECTRA: usize = 4;
const HEAPS: u64 = 5;
const PER_DUMP: u64 = SPECTRA as u64 * HEAPS;

/// A stream that begins with spectrum 1000, in heaps of 4 spectra; two antennas of two polarisations, 2 channels.
struct Stream {
    data: Array3<C8>,
    presence: Array2<bool>,
}

const FIRST: u64 = 1000;

fn inputs() -> Inputs {
    Inputs::new(2, 2).unwrap()
}

fn schedule() -> DumpSchedule {
    DumpSchedule::new(SPACING, SPECTRA as u64, HEAPS).unwrap()
}

/// Stamps lie 3 samples behind whole multiples of the spacing.
fn clock(spectrum: u64) -> SpectrumClock {
    SpectrumClock { first_sample: spectrum * SPACING + 3, samples_between_spectra: SPACING, sample_rate_hz: 1e6 }
}

impl Stream {
    fn new(batches: usize, seed: u64) -> Self {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut part = || generator.random_range(-127..=127i8);
        let data = Array3::from_shape_simple_fn((2, batches * SPECTRA, 4), || C8::new(part(), part()));
        let presence = Array2::from_shape_simple_fn((batches, 2), || generator.random_range(0..5) > 0);
        Self { data, presence }
    }

    fn times(&self) -> usize {
        self.data.dim().1
    }

    fn flags(&self) -> Array2<bool> {
        Array2::from_shape_fn((self.times(), 4), |(time, input)| self.presence[(time / SPECTRA, input / 2)])
    }

    fn voltages(&self, times: std::ops::Range<usize>) -> Voltages<C8> {
        let flags = self.flags().slice(s![times.clone(), ..]).to_owned();
        let data = self.data.slice(s![.., times.clone(), ..]).to_owned();
        let voltages = Voltages::from_received(data, inputs(), flags).unwrap();
        voltages.with_clock(clock(FIRST + times.start as u64)).unwrap()
    }

    fn rows(&self, times: std::ops::Range<usize>) -> Rows<C8> {
        Rows::from_voltages(&self.voltages(times))
    }

    fn heaps(&self, batches: std::ops::Range<usize>) -> Heaps<C8> {
        let data = Array5::from_shape_fn((batches.len(), 2, 2, SPECTRA, 2), |(batch, antenna, channel, t, pol)| {
            self.data[(channel, (batches.start + batch) * SPECTRA + t, antenna * 2 + pol)]
        });
        let heaps = Heaps::from_received(data, self.presence.slice(s![batches.clone(), ..]).to_owned()).unwrap();
        heaps.with_clock(clock(FIRST + (batches.start * SPECTRA) as u64)).unwrap()
    }

    /// Each bin's dump is what the reference makes of the bin's spectra.
    fn check(&self, bins: &Bins, dumps: &[BinnedDump<Dump>]) {
        let plain =
            Schedule { samples_between_spectra: SPACING, spectra_per_heap: SPECTRA as u64, heaps_per_dump: HEAPS };
        let wide = self.data.mapv(|x| Complex::new(i64::from(x.re), i64::from(x.im)));
        assert_eq!(dumps.len(), self.times().div_ceil(PER_DUMP as usize));
        for bin in 0..bins.count() {
            let times: Vec<usize> =
                (0..self.times()).filter(|&time| bins.bin(FIRST + time as u64) == Some(bin)).collect();
            let stamps: Vec<u64> = times.iter().map(|&time| clock(FIRST + time as u64).first_sample).collect();
            let flags = self.flags().select(Axis(0), &times);
            let expected = integrate(&plain, &stamps, wide.select(Axis(1), &times).view(), Some(flags.view()));
            for dump in dumps {
                let stamp = dump.bins[bin].clock().first_sample;
                match expected.iter().find(|expected| expected.timestamp == stamp) {
                    Some(expected) => {
                        assert_eq!(dump.bins[bin].data(), expected.sums, "bin {bin} at {stamp}");
                        assert_eq!(dump.bins[bin].valid_samples(), expected.valid);
                    }
                    None => assert!(dump.bins[bin].data().iter().all(|sum| *sum == Complex::new(0, 0))),
                }
            }
        }
        for (number, dump) in dumps.iter().enumerate() {
            let first = FIRST + number as u64 * PER_DUMP;
            let of = |bin| (first..first + PER_DUMP).filter(|&n| bins.bin(n) == bin).count() as u64;
            let times: Vec<u64> = dump.bins.iter().map(|dump| dump.times()).collect();
            assert_eq!(times, (0..bins.count()).map(|bin| of(Some(bin))).collect::<Vec<_>>());
            assert_eq!((dump.outside, dump.bins.len()), (of(None), bins.count()));
        }
    }
}

fn integrator(bins: &Bins) -> BinnedIntegrator<C8> {
    BinnedIntegrator::new(&Backend::cpu(), schedule(), bins.clone(), inputs(), 2).unwrap()
}

fn run<C: Chunk<C8>>(
    bins: &Bins,
    cuts: &[usize],
    chunk: impl Fn(std::ops::Range<usize>) -> C,
) -> Vec<BinnedDump<Dump>> {
    let mut integrator = integrator(bins);
    let mut dumps: Vec<_> = cuts.windows(2).flat_map(|cut| integrator.push(&chunk(cut[0]..cut[1])).unwrap()).collect();
    dumps.extend(integrator.finish().unwrap());
    dumps
}

/// Bins of several kinds: long runs, single spectra, some in no bin.
fn all_bins() -> Vec<Bins> {
    let turns = |numerator, denominator| Turns::ratio(numerator, denominator).unwrap();
    let phase = PulsePhase::new(990, vec![turns(1, 3), turns(3, 22), turns(1, 100_000)]).unwrap();
    vec![
        Bins::table(1, 1, vec![Some(0)]).unwrap(),
        Bins::table(2, 13, vec![Some(1), Some(0)]).unwrap().beginning_at(1003),
        Bins::table(2, 1, vec![Some(0), Some(1), None]).unwrap(),
        Bins::table(2, SPECTRA as u64, vec![Some(0), Some(1)]).unwrap(),
        Bins::fold(phase.clone(), 5).unwrap(),
        Bins::windows(phase, 2, vec![Some(1), None, None, Some(0)]).unwrap(),
        Bins::function(3, |n| (n % 7 < 4).then_some((n / 5) as usize % 3)).unwrap(),
        Bins::function(2, |_| None).unwrap(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn bins_have_the_sums_of_their_spectra_in_every_layout_however_chunks_are_cut(
        batches in 1usize..14, seed: u64, which in 0usize..8, cuts in prop::collection::vec(0usize..60, 0..5),
    ) {
        let (stream, bins) = (Stream::new(batches, seed), all_bins().remove(which));
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(stream.times())).chain([0, stream.times()]).collect();
        cuts.sort_unstable();
        stream.check(&bins, &run(&bins, &cuts, |times| stream.voltages(times)));
        stream.check(&bins, &run(&bins, &cuts, |times| stream.rows(times)));
        let of_heaps: Vec<_> = cuts.iter().map(|cut| cut / SPECTRA).collect();
        stream.check(&bins, &run(&bins, &of_heaps, |batches| stream.heaps(batches)));
    }
}

/// Sums of all bins, and of what is outside in a bin of its own, are those of an integrator without bins, bit for bit;
/// with a mask as well, whose counts add up too.
#[test]
fn all_bins_together_are_the_dump_without_bins() {
    let stream = Stream::new(13, 3);
    let masked = Array2::from_shape_fn((2, 20), |(channel, block)| (channel * 3 + block * 5) % 4 == 0);
    let mask = ChannelMask::new(masked, 3, clock(FIRST - 1)).unwrap();
    for bins in all_bins() {
        let count = bins.count();
        let inner = bins.clone();
        let all = Bins::function(count + 1, move |n| Some(inner.bin(n).unwrap_or(count))).unwrap();
        let mut plain = Integrator::<C8>::new(&Backend::cpu(), schedule(), inputs(), 2).unwrap();
        let mut binned = integrator(&all);
        let (mut expected, mut dumps) = (Vec::new(), Vec::new());
        for times in [0..17, 17..30, 30..52] {
            expected.extend(plain.push_masked(&stream.voltages(times.clone()), &mask).unwrap());
            dumps.extend(binned.push_masked(&stream.voltages(times), &mask).unwrap());
        }
        expected.extend(plain.finish().unwrap());
        dumps.extend(binned.finish().unwrap());
        assert_eq!(dumps.len(), expected.len());
        for (dump, expected) in dumps.into_iter().zip(expected) {
            assert_eq!(dump.outside, 0);
            let times: u64 = dump.bins.iter().map(|dump| dump.times()).sum();
            let counts = Array2::from_shape_fn((2, 10), |(channel, baseline)| {
                dump.bins.iter().map(|dump| dump.valid(channel, baseline)).sum::<u64>()
            });
            let sum = dump.bins.into_iter().reduce(|sum, dump| sum.plus(&dump).unwrap()).unwrap();
            assert_eq!((sum.data(), sum.valid_samples()), (expected.data(), expected.valid_samples()));
            assert_eq!(times, expected.times());
            assert_eq!(counts, Array2::from_shape_fn((2, 10), |(channel, b)| expected.valid(channel, b)));
        }
    }
}

#[test]
fn spectra_that_never_came_are_counted_in_their_bins() {
    let stream = Stream::new(13, 5);
    let bins = Bins::table(2, 1, vec![Some(0), Some(1), None]).unwrap();
    let mut integrator = integrator(&bins);
    // Spectra 25 to 44 are missing: the end of dump 1, and the start of dump 2.
    let mut dumps = integrator.push(&stream.voltages(0..25)).unwrap();
    dumps.extend(integrator.push(&stream.voltages(45..52)).unwrap());
    dumps.extend(integrator.finish().unwrap());
    assert_eq!(dumps.len(), 3);
    for (number, dump) in dumps.iter().enumerate() {
        let first = FIRST + number as u64 * PER_DUMP;
        let of = |bin| (first..first + PER_DUMP).filter(|&n| bins.bin(n) == bin).count() as u64;
        assert_eq!((dump.bins[0].times(), dump.bins[1].times(), dump.outside), (of(Some(0)), of(Some(1)), of(None)));
        assert_eq!(dump.bins[1].clock().first_sample, first * SPACING);
    }
    // 20 to 24 came.
    let came = |bin| (FIRST + 20..FIRST + 25).filter(|&n| bins.bin(n) == Some(bin)).count() as u64;
    assert!(dumps[1].bins[0].valid_samples().iter().all(|&valid| valid <= came(0)));
}

#[test]
fn dumps_of_32_bits_are_those_of_64() {
    let stream = Stream::new(5, 6);
    let bins = Bins::table(2, 3, vec![Some(0), Some(1)]).unwrap();
    let order = BaselineOrder::AntennaPairs;
    let narrow = integrator(&bins).with_order(order).unwrap().in_32_bits(MissingData::Mark);
    let dumps = { narrow }.push(&stream.voltages(0..20)).unwrap();
    let wide = { integrator(&bins).with_order(order).unwrap() }.push(&stream.voltages(0..20)).unwrap();
    for (narrow, wide) in dumps[0].bins.iter().zip(&wide[0].bins) {
        assert_eq!(*narrow, Dump32::new(wide, MissingData::Mark));
    }
}

#[test]
fn what_does_not_fit_is_an_error_and_changes_nothing() {
    let (stream, bins) = (Stream::new(5, 7), Bins::table(2, 3, vec![Some(0), Some(1)]).unwrap());
    let mut integrator = integrator(&bins);
    let mut dumps = integrator.push(&stream.voltages(0..9)).unwrap();
    let mask = ChannelMask::new(Array2::default((3, 9)), 4, clock(FIRST)).unwrap();
    let error = integrator.push_masked(&stream.voltages(9..20), &mask).unwrap_err();
    assert!(matches!(error, CorrelatorError::Types(TypesError::Dimension { .. })), "{error}");
    assert!(matches!(integrator.push(&stream.voltages(5..20)), Err(CorrelatorError::Backward { .. })));
    assert_eq!(integrator.next_sample(), Some(clock(FIRST + 9).first_sample));
    dumps.extend(integrator.push(&stream.voltages(9..20)).unwrap());
    dumps.extend(integrator.finish().unwrap());
    stream.check(&bins, &dumps);
    assert!(integrator.dumps_on_device().is_err());
}
