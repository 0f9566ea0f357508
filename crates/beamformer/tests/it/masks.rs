//! Masked beams: bit for bit those of voltages that are zero where a mask says so, in every layout, however chunks are
//! cut; and counts of what was masked.

#![allow(clippy::unwrap_used)] // helpers of tests

use std::ops::Range;

use fringes_backend::Backend;
use fringes_beamformer::{
    BeamChunk, BeamSet, BeamformerError, BeamformerStream, DetectChunk, DetectStream, FftBeams, IncoherentBeams,
    TiedArrayBeams, TiedArrayDetector, detect, quantise_beams, to_u8,
};
use fringes_types::{
    BeamWeights, Beams, ChannelMask, Complex, DetectedBeams, DetectedProducts, Detection, Dimension, Heaps, Inputs,
    Rows, SpectrumClock, TypesError, VoltageSample, Voltages,
};
use ndarray::{Array2, Array3, Array5, s};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const CHANNELS: usize = 4;
/// Spectra of a heap.
const SPECTRA: usize = 6;
/// Spectra of a block of the mask, and those that it begins before the stream.
const BLOCK: usize = 5;
const LEAD: usize = 2;

fn inputs() -> Inputs {
    Inputs::new(4, 2).unwrap()
}

fn clock(spectrum: usize) -> SpectrumClock {
    SpectrumClock { first_sample: (600 + spectrum as u64) * 16, samples_between_spectra: 16, sample_rate_hz: 1e6 }
}

/// A stream of voltages, with flags of whole heaps.
#[derive(Clone)]
struct Stream<V> {
    data: Array3<V>,
    presence: Option<Array2<bool>>,
}

impl<V: VoltageSample> Stream<V> {
    fn new(batches: usize, seed: u64, absent: bool, of: impl Fn(i8, i8) -> V) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut part = || random.random_range(-127..=127i8);
        let shape = (CHANNELS, batches * SPECTRA, inputs().len());
        let data = Array3::from_shape_simple_fn(shape, || of(part(), part()));
        let presence = absent.then(|| Array2::from_shape_simple_fn((batches, 4), || random.random_range(0..4) > 0));
        Self { data, presence }
    }

    fn times(&self) -> usize {
        self.data.dim().1
    }

    /// With something else where a mask says so.
    fn replaced(&self, mask: &ChannelMask, value: V) -> Self {
        let mut data = self.data.clone();
        for ((channel, time, _), to) in data.indexed_iter_mut() {
            if is_masked(mask, channel, time) {
                *to = value;
            }
        }
        Self { data, presence: self.presence.clone() }
    }

    fn voltages(&self, times: Range<usize>) -> Voltages<V> {
        let data = self.data.slice(s![.., times.clone(), ..]).to_owned();
        let voltages = Voltages::from_checked(data, inputs()).unwrap().with_clock(clock(times.start)).unwrap();
        let Some(flags) = &self.presence else { return voltages };
        let flag = |(time, input): (usize, usize)| flags[((times.start + time) / SPECTRA, input / 2)];
        voltages.with_presence(Array2::from_shape_fn((times.len(), inputs().len()), flag)).unwrap()
    }

    fn rows(&self, times: Range<usize>) -> Rows<V> {
        Rows::from_voltages(&self.voltages(times))
    }

    fn heaps(&self, batches: Range<usize>) -> Heaps<V> {
        let shape = (batches.len(), 4, CHANNELS, SPECTRA, 2);
        let data = Array5::from_shape_fn(shape, |(batch, antenna, channel, time, pol)| {
            self.data[(channel, (batches.start + batch) * SPECTRA + time, antenna * 2 + pol)]
        });
        let heaps = Heaps::from_checked(data).unwrap().with_clock(clock(batches.start * SPECTRA)).unwrap();
        match &self.presence {
            Some(flags) => heaps.with_presence(flags.slice(s![batches, ..]).to_owned()).unwrap(),
            None => heaps,
        }
    }
}

/// A mask that begins before the stream and ends behind it: nothing, some, and all channels of blocks.
fn mask(times: usize, seed: u64) -> ChannelMask {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let blocks = (times + LEAD).div_ceil(BLOCK) + 1;
    let masked = Array2::from_shape_fn((CHANNELS, blocks), |(_, block)| match block % 4 {
        1 => false,
        3 => true,
        _ => random.random_range(0..3) == 0,
    });
    let begins = clock(0).first_sample - LEAD as u64 * 16;
    ChannelMask::new(masked, BLOCK, SpectrumClock { first_sample: begins, ..clock(0) }).unwrap()
}

fn is_masked(mask: &ChannelMask, channel: usize, time: usize) -> bool {
    mask.masked()[(channel, (time + LEAD) / BLOCK)]
}

/// Weights of beams.
fn weights(seed: u64) -> BeamWeights {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut part = || random.random_range(-1f32..1.0);
    BeamWeights::new(Array3::from_shape_simple_fn((6, CHANNELS, 8), || Complex::new(part(), part()))).unwrap()
}

fn gains() -> IncoherentBeams {
    IncoherentBeams::new(Array2::from_shape_fn((2, 8), |(beam, input)| (1 + beam * input) as f32)).unwrap()
}

/// Bytes of beams.
fn bits<T: bytemuck::Pod>(beams: &Beams<T>) -> Vec<u8> {
    beams.data().iter().flat_map(|value| bytemuck::bytes_of(value).to_vec()).collect()
}

/// Beams of masked chunks against those of chunks that were zeroed by hand; `chunk` gives a stream's.
fn check<V: VoltageSample, B: BeamSet + Clone, C>(
    set: &B,
    streams: [&Stream<V>; 2],
    mask: &ChannelMask,
    cuts: &[usize],
    chunk: impl Fn(&Stream<V>, Range<usize>) -> C,
) where
    C: BeamChunk<Sample = V, Beams<B::Output> = Beams<B::Output>>,
{
    let new = || BeamformerStream::<V, B>::new(&Backend::cpu(), set.clone(), inputs()).unwrap();
    let (mut masked, mut zeroed) = (new(), new());
    for cut in cuts.windows(2) {
        let found = masked.push_masked(&chunk(streams[0], cut[0]..cut[1]), mask).unwrap();
        let expected = zeroed.push(&chunk(streams[1], cut[0]..cut[1])).unwrap();
        assert_eq!(bits(&found), bits(&expected), "{cut:?}");
        assert_eq!((found.clock(), found.input_counts()), (expected.clock(), expected.input_counts()));
        // What the beams say was masked is what the mask says.
        let first = (found.clock().first_sample - clock(0).first_sample) as usize / 16;
        let of_chunk = |channel, time| match found.mask() {
            None => false,
            Some(mask) => {
                let place = mask.place(found.clock(), found.times()).unwrap();
                mask.masked()[(channel, (place + time) / BLOCK)]
            }
        };
        let mut any = false;
        for channel in 0..CHANNELS {
            for time in 0..found.times() {
                any |= is_masked(mask, channel, first + time);
                assert_eq!(of_chunk(channel, time), is_masked(mask, channel, first + time));
            }
        }
        assert_eq!(found.mask().is_some(), any, "a mask of nothing is none");
    }
    assert_eq!(masked.take_saturated().unwrap(), zeroed.take_saturated().unwrap());
}

/// In every layout.
fn check_all<V: VoltageSample, B: BeamSet + Clone>(
    set: &B,
    streams: [&Stream<V>; 2],
    mask: &ChannelMask,
    cuts: &[usize],
) {
    check(set, streams, mask, cuts, |stream, times| stream.voltages(times));
    check(set, streams, mask, cuts, |stream, times| stream.rows(times));
    let mut batches: Vec<_> = cuts.iter().map(|cut| cut / SPECTRA).collect();
    batches.dedup();
    check(set, streams, mask, &batches, |stream, batches| stream.heaps(batches));
}

fn all_cuts(times: usize, cuts: &[usize]) -> Vec<usize> {
    let mut cuts: Vec<_> = cuts.iter().map(|&cut| cut.min(times)).chain([0, times]).collect();
    cuts.sort_unstable();
    cuts
}

/// What one sum lacks, counted spectrum by spectrum.
fn expected_counts(mask: &ChannelMask, detection: &Detection, sums: Range<usize>) -> Array2<u64> {
    let (n, m) = (detection.times(), detection.channels());
    Array2::from_shape_fn((CHANNELS / m, sums.len()), |(group, sum)| {
        let times = (sums.start + sum) * n..(sums.start + sum + 1) * n;
        let of_time = |time| (0..m).filter(|at| is_masked(mask, group * m + at, time)).count() as u64;
        times.map(of_time).sum()
    })
}

/// Detected beams of masked chunks against those of chunks that were zeroed by hand, and counts.
fn check_detected<C>(
    detection: Detection,
    incoherent: bool,
    streams: [&Stream<Complex<i8>>; 2],
    mask: &ChannelMask,
    cuts: &[usize],
    chunk: impl Fn(&Stream<Complex<i8>>, Range<usize>) -> C,
) where
    C: DetectChunk<Sample = Complex<i8>, Detected = DetectedBeams<f32>>,
{
    let new = || {
        let set = TiedArrayBeams::new(weights(4));
        let detector = TiedArrayDetector::new(&Backend::cpu(), set, inputs(), detection).unwrap();
        if incoherent { detector.with_incoherent(gains()).unwrap() } else { detector }
    };
    let (mut masked, mut zeroed, mut sums) = (new(), new(), 0);
    for cut in cuts.windows(2) {
        let found = masked.push_masked(&chunk(streams[0], cut[0]..cut[1]), mask).unwrap();
        let expected = zeroed.push(&chunk(streams[1], cut[0]..cut[1])).unwrap();
        let of = |beams: &DetectedBeams<f32>| beams.data().iter().map(|sum| sum.to_bits()).collect::<Vec<_>>();
        assert_eq!((of(&found), found.clock()), (of(&expected), expected.clock()), "{cut:?}");
        assert_eq!(found.input_counts(), expected.input_counts());
        let counts = expected_counts(mask, &detection, sums..sums + found.times());
        let any = counts.iter().any(|&count| count > 0);
        assert_eq!(found.masked_spectra().is_some(), any, "counts of nothing are none");
        if let Some(found) = found.masked_spectra() {
            assert_eq!(found.masked(), counts);
            assert_eq!(found.summed(), (detection.times() * detection.channels()) as u64);
        }
        assert_eq!(expected.masked_spectra(), None);
        sums += found.times();
    }
    assert_eq!(sums, streams[0].times() / detection.times());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn beams_have_the_bits_of_zeroed_voltages_however_chunks_are_cut(
        batches in 1usize..10, seed: u64, absent: bool, cuts in prop::collection::vec(0usize..60, 0..4),
    ) {
        let stream = Stream::new(batches, seed, absent, Complex::new);
        let mask = mask(stream.times(), seed);
        let (zeroed, cuts) = (stream.replaced(&mask, Complex::new(0, 0)), all_cuts(stream.times(), &cuts));
        let streams = [&stream, &zeroed];
        // Many values are clamped: those of masked voltages are not counted.
        let bytes = TiedArrayBeams::new(weights(seed)).with_output::<Complex<i8>>().with_scale(-0.8).unwrap();
        check_all(&bytes.with_dither(7), streams, &mask, &cuts);
        check_all(&TiedArrayBeams::new(weights(seed)), streams, &mask, &cuts);
        check_all(&weights(seed), streams, &mask, &cuts);
        check_all(&gains(), streams, &mask, &cuts);
        check_all(&FftBeams::new(2, 2, 8).unwrap(), streams, &mask, &cuts);
        check_all(&FftBeams::new(2, 2, 8).unwrap().with_output::<f32>(), streams, &mask, &cuts);
        // Floats that are no numbers where they are masked.
        let floats = |re: i8, im: i8| Complex::new(f32::from(re), f32::from(im));
        let stream = Stream::new(batches, seed, absent, floats);
        let zeroed = stream.replaced(&mask, Complex::new(0.0, 0.0));
        let garbage = stream.replaced(&mask, Complex::new(f32::NAN, f32::INFINITY));
        check_all(&TiedArrayBeams::new(weights(seed)), [&garbage, &zeroed], &mask, &cuts);
        check_all(&gains(), [&garbage, &zeroed], &mask, &cuts);
    }

    #[test]
    fn sums_have_the_bits_of_zeroed_voltages_and_say_how_many_spectra_were_masked(
        batches in 1usize..12, seed: u64, absent: bool, cuts in prop::collection::vec(0usize..72, 0..5),
        times in 1usize..20, channels in 0usize..3, product in 0usize..4,
    ) {
        let stream = Stream::new(batches, seed, absent, Complex::new);
        let mask = mask(stream.times(), seed);
        let (zeroed, cuts) = (stream.replaced(&mask, Complex::new(0, 0)), all_cuts(stream.times(), &cuts));
        let products = [
            DetectedProducts::Power,
            DetectedProducts::StokesI,
            DetectedProducts::Stokes,
            DetectedProducts::Coherency,
        ];
        let detection = Detection::new(products[product], times, [1, 2, 4][channels]).unwrap();
        let (streams, incoherent) = ([&stream, &zeroed], product < 2);
        check_detected(detection, incoherent, streams, &mask, &cuts, |stream, times| stream.voltages(times));
        check_detected(detection, incoherent, streams, &mask, &cuts, |stream, times| stream.rows(times));
        let mut of_heaps: Vec<_> = cuts.iter().map(|cut| cut / SPECTRA).collect();
        of_heaps.dedup();
        check_detected(detection, incoherent, streams, &mask, &of_heaps, |stream, batches| stream.heaps(batches));
    }
}

#[test]
fn a_mask_of_nothing_changes_nothing_and_counts_nothing() {
    let stream = Stream::new(4, 1, true, Complex::new);
    // All of the block before the stream, and of the one behind it.
    let begins = SpectrumClock { first_sample: clock(0).first_sample - 6 * 16, ..clock(0) };
    let masked = Array2::from_shape_fn((CHANNELS, 6), |(_, block)| block == 0 || block == 5);
    let mask = ChannelMask::new(masked, 6, begins).unwrap();
    let detection = Detection::new(DetectedProducts::Power, 8, 2).unwrap();
    let new = || {
        let set = TiedArrayBeams::new(weights(1));
        TiedArrayDetector::<Complex<i8>>::new(&Backend::cpu(), set, inputs(), detection).unwrap()
    };
    let (mut masked, mut plain) = (new(), new());
    for times in [0..7, 7..24] {
        let chunk = stream.voltages(times);
        assert_eq!(masked.push_masked(&chunk, &mask).unwrap(), plain.push(&chunk).unwrap());
    }
    let mut beams = BeamformerStream::new(&Backend::cpu(), weights(1), inputs()).unwrap();
    let chunk = stream.heaps(0..4);
    let plain = beams.push(&chunk).unwrap();
    assert_eq!((beams.push_masked(&chunk, &mask).unwrap(), plain.mask()), (plain.clone(), None));
}

#[test]
fn what_is_made_of_masked_beams_knows_what_was_masked() {
    let stream = Stream::new(8, 3, false, Complex::new);
    let mask = mask(48, 3);
    let mut beams = BeamformerStream::new(&Backend::cpu(), weights(1), inputs()).unwrap();
    let detection = Detection::new(DetectedProducts::StokesI, 12, 2).unwrap();
    let beams = beams.push_masked(&stream.voltages(0..48), &mask).unwrap();
    let detected = detect(&beams, &detection).unwrap();
    let counts = detected.masked_spectra().unwrap();
    assert_eq!(counts.masked(), expected_counts(&mask, &detection, 0..4));
    assert_eq!(DetectStream::new(detection).push(&beams).unwrap(), detected);
    let scale = fringes_beamformer::ByteScale::of(&detected, 96.0, 20.0).unwrap();
    assert_eq!(to_u8(&detected, &scale).unwrap().beams.masked_spectra(), Some(counts));
    assert_eq!(quantise_beams(&beams, &[1.0; 6]).unwrap().beams.mask(), beams.mask());
    // Sums over what was kept are those of voltages without a mask, on the average: noise is as strong anywhere.
    let powers = detected.data();
    let [all, kept] = [false, true].map(|kept| {
        let each = powers.indexed_iter().map(|((channel, time, ..), &sum)| {
            let spectra = if kept { counts.kept(channel, time) } else { counts.summed() };
            f64::from(sum) / spectra.max(1) as f64
        });
        each.sum::<f64>() / powers.len() as f64
    });
    let empty =
        (0..2).flat_map(|channel| (0..4).map(move |time| counts.kept(channel, time))).filter(|&n| n == 0).count();
    assert_eq!(empty, 0);
    let mut plain = BeamformerStream::new(&Backend::cpu(), weights(1), inputs()).unwrap();
    let plain = detect(&plain.push(&stream.voltages(0..48)).unwrap(), &detection).unwrap();
    let true_power = plain.data().iter().map(|&sum| f64::from(sum) / 24.0).sum::<f64>() / plain.data().len() as f64;
    assert!((kept / true_power - 1.0).abs() < 0.1 && all / true_power < 0.8, "{kept} {all} {true_power}");
}

#[test]
fn masks_that_do_not_fit_are_errors_and_change_nothing() {
    let stream = Stream::new(4, 2, true, Complex::new);
    let good = mask(24, 5);
    let of = |channels, blocks, clock| ChannelMask::new(Array2::default((channels, blocks)), BLOCK, clock).unwrap();
    let bad = [
        of(CHANNELS + 1, 9, clock(0)),
        of(CHANNELS, 9, clock(11)),
        of(CHANNELS, 4, clock(0)),
        of(CHANNELS, 99, SpectrumClock { first_sample: clock(0).first_sample + 1, ..clock(0) }),
        of(CHANNELS, 99, SpectrumClock { samples_between_spectra: 8, ..clock(0) }),
    ];
    let array = "mask";
    let channels = TypesError::Dimension { array, dimension: Dimension::Channel, expected: 4, actual: 5 };
    let is_right = |number: usize, error: &BeamformerError| match (number, error) {
        (0, BeamformerError::Types(error)) => *error == channels,
        (1 | 2, BeamformerError::Types(error)) => matches!(error, TypesError::MaskRange { .. }),
        (_, BeamformerError::Types(error)) => matches!(error, TypesError::MaskGrid { .. }),
        _ => false,
    };
    let detection = Detection::new(DetectedProducts::Power, 8, 1).unwrap();
    let new = || {
        let set = TiedArrayBeams::new(weights(1));
        let detector = TiedArrayDetector::new(&Backend::cpu(), set, inputs(), detection).unwrap();
        let mut detector = detector.with_incoherent(gains()).unwrap();
        // At the start of the second chunk: what fails does not take it.
        detector.replace_at(TiedArrayBeams::new(weights(2)), clock(10).first_sample).unwrap();
        detector
    };
    let (mut tried, mut expected) = (new(), new());
    for (times, is_last) in [(0..10, false), (10..24, true)] {
        let chunk = stream.voltages(times);
        if is_last {
            for (number, bad) in bad.iter().enumerate() {
                let error = tried.push_masked(&chunk, bad).unwrap_err();
                assert!(is_right(number, &error), "{number}: {error}");
                assert_eq!((tried.pending(), tried.set()), (2, &TiedArrayBeams::new(weights(1))));
            }
        }
        assert_eq!(tried.push_masked(&chunk, &good).unwrap(), expected.push_masked(&chunk, &good).unwrap());
    }
    assert_eq!(tried.set(), &TiedArrayBeams::new(weights(2)));
    let mut beams = BeamformerStream::new(&Backend::cpu(), weights(1), inputs()).unwrap();
    for (number, bad) in bad.iter().enumerate() {
        let error = beams.push_masked(&stream.rows(10..24), bad).unwrap_err();
        assert!(is_right(number, &error), "{number}: {error}");
    }
    // No times are masked by no mask.
    assert_eq!(beams.push_masked(&stream.voltages(3..3), &bad[0]).unwrap().times(), 0);
}
