//! Masked beams of an instrument, against beams of frames that are zeroed by hand.

use std::sync::Arc;

use fringes_backend::Backend;
use fringes_beamformer::{TiedArrayBeams, TiedArrayDetector};
use fringes_correlator::Integrator;
use fringes_f_engine::f_engine;
use fringes_interference::power_sums;
use fringes_stream::sink::{Collected, MemorySink, Overflow, Product, Sums};
use fringes_stream::source::{Blocks, Received, Source};
use fringes_stream::{Fx, HeapBlock, Report, Stage, StreamError};
use fringes_types::{
    BeamWeights, ChannelMask, Complex, DetectedBeams, DetectedProducts, Detection, Heaps, Visibilities,
};
use ndarray::{Array2, Array3, Array5, s};

use crate::masks::{BLOCK, disturbed, disturbed_source, masker};
use crate::support::{FRAME, Gate, SPECTRA, STRIDE, engine, info, inputs, noise, schedule};

const CHANNELS: usize = 64;
/// Spectra that are summed.
const SUMMED: usize = 24;
/// Samples of a masker's block.
const BLOCK_SAMPLES: u64 = BLOCK as u64 * STRIDE;

type Fx8 = Fx<Complex<i8>>;
type Dumps = Vec<Visibilities<Complex<i64>>>;
type Beams = Vec<Arc<DetectedBeams<f32>>>;

fn set(beams: usize) -> TiedArrayBeams {
    let weights = Array3::from_shape_fn((beams, CHANNELS, 4), |(beam, channel, input)| {
        Complex::from_polar(1.0, (beam * input) as f32 * 0.3 + channel as f32 * 0.01)
    });
    TiedArrayBeams::new(BeamWeights::new(weights).unwrap())
}

fn detection() -> Detection {
    Detection::new(DetectedProducts::Power, SUMMED, 2).unwrap()
}

/// The frames of the whole stream.
fn frames(end: u64) -> Heaps<Complex<i8>> {
    let whole = disturbed(0, end as usize);
    f_engine::<Complex<i8>>(&Backend::cpu(), whole.as_chunk(), engine()).unwrap().frames.remove(0).voltages
}

/// What the masker finds, and channels that are chosen from a block on.
fn mask_of(heaps: &Heaps<Complex<i8>>, chosen: &[usize], from: u64) -> ChannelMask {
    let found = masker().mask(&power_sums(&Backend::cpu(), heaps, BLOCK).unwrap()).unwrap().mask;
    let mut masked = found.masked().to_owned();
    for ((channel, block), masked) in masked.indexed_iter_mut() {
        *masked |= block as u64 >= from && chosen.contains(&channel);
    }
    ChannelMask::new(masked, BLOCK, found.clock()).unwrap()
}

/// Heaps with zeros where a mask says so.
fn zeroed(heaps: &Heaps<Complex<i8>>, mask: &ChannelMask) -> Heaps<Complex<i8>> {
    let mut data = heaps.data().to_owned();
    for batch in 0..heaps.batches() {
        let block = batch * SPECTRA as usize / BLOCK;
        for channel in (0..CHANNELS).filter(|&channel| mask.masked()[(channel, block)]) {
            data.slice_mut(s![batch, .., channel, .., ..]).fill(Complex::new(0, 0));
        }
    }
    like(heaps, data)
}

/// Heaps of other voltages with the same header.
fn like(heaps: &Heaps<Complex<i8>>, data: Array5<Complex<i8>>) -> Heaps<Complex<i8>> {
    let like = Heaps::new(data).unwrap().with_clock(heaps.clock()).unwrap();
    let like = like.with_frequencies(heaps.frequencies()).unwrap();
    match heaps.presence() {
        Some(flags) => like.with_presence(flags.to_owned()).unwrap(),
        None => like,
    }
}

fn beams_of(heaps: &Heaps<Complex<i8>>) -> DetectedBeams<f32> {
    let mut detector = TiedArrayDetector::<Complex<i8>>::new(&Backend::cpu(), set(3), inputs(), detection()).unwrap();
    detector.push(heaps).unwrap()
}

/// Dumps and beams that a sink has collected, in their order.
fn sorted(products: &Collected) -> (Dumps, Beams) {
    let (mut dumps, mut beams) = (Vec::new(), Vec::new());
    for product in products.take() {
        match product {
            Product::Dump(dump) => match &dump.sums {
                Sums::Integers(sums) => dumps.push(sums.clone()),
                Sums::Floats(_) => panic!("integers"),
            },
            Product::Beams(of) => beams.push(of),
            _ => {}
        }
    }
    (dumps, beams)
}

/// Checks sums, their stamps, and counts of masked spectra, if there are to be such.
fn check_beams(found: &[Arc<DetectedBeams<f32>>], expected: &DetectedBeams<f32>, mask: Option<&ChannelMask>) {
    let mut first = 0;
    for part in found {
        assert_eq!(part.clock().first_sample, first as u64 * SUMMED as u64 * STRIDE);
        let of = expected.data();
        assert_eq!(part.data(), of.slice(s![.., first..first + part.times(), .., ..]), "sums {first}");
        let count = |(channel, time): (usize, usize)| {
            let spectra = (first + time) * SUMMED..(first + time + 1) * SUMMED;
            let masked = |spectrum: usize| {
                let of = |channel: usize| mask.is_some_and(|mask| mask.masked()[(channel, spectrum / BLOCK)]);
                u64::from(of(2 * channel)) + u64::from(of(2 * channel + 1))
            };
            spectra.map(masked).sum::<u64>()
        };
        let counts = Array2::from_shape_fn((CHANNELS / 2, part.times()), count);
        match part.masked_spectra() {
            Some(found) => assert_eq!((found.masked(), found.summed()), (counts.view(), 2 * SUMMED as u64)),
            None => assert_eq!(counts.sum(), 0),
        }
        first += part.times();
    }
    assert_eq!(first, expected.times());
}

/// Starts an instrument whose channels are chosen before the first chunk, and waits for its end.
fn run(fx: Fx8, source: impl Source + 'static, chosen: &[usize], from: u64) -> Result<Report, StreamError> {
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let running = fx.start(Gate { source, wait: Some(wait) }).unwrap();
    running.control().set_masked_channels(from * BLOCK_SAMPLES - 9, chosen.to_vec());
    go.send(()).unwrap();
    running.join().into_result()
}

#[test]
fn beams_beside_dumps_are_those_of_zeroed_frames_and_dumps_are_as_without_them() {
    let end = 400 * FRAME;
    let (chosen, from) = ([7, 32], 2);
    let heaps = frames(end);
    let mask = mask_of(&heaps, &chosen, from);
    let expected = beams_of(&zeroed(&heaps, &mask));
    assert_ne!(expected.data(), beams_of(&heaps).data());
    let mut integrator = Integrator::<Complex<i8>>::new(&Backend::cpu(), schedule(96), inputs(), CHANNELS).unwrap();
    let mut dumps = integrator.push_masked(&heaps, &mask).unwrap();
    dumps.extend(integrator.finish().unwrap());
    let masked = mask.masked().iter().filter(|&&masked| masked).count() as u64;
    for times in [1000, 50_000, 300_000] {
        for depth in [1, 4] {
            let (sink, products) = MemorySink::new();
            let fx = Fx8::new(&Backend::cpu(), engine()).cadence(schedule(96)).beams(set(3), detection());
            let fx = fx.mask(masker(), BLOCK).queue_depth(depth).sink(sink, Overflow::Block);
            let report = run(fx, disturbed_source(times, end), &chosen, from).unwrap();
            let (found, beams) = sorted(&products);
            check_beams(&beams, &expected, Some(&mask));
            assert!(found.iter().map(|dump| dump.data()).eq(dumps.iter().map(|dump| dump.data())), "chunks of {times}");
            // Once for both.
            assert_eq!(report.masked, [masked, mask.masked().len() as u64]);
            assert_eq!((report.beam_sums, report.beam_gaps), (expected.times() as u64, 0));
            assert!(report.deepest_queues.iter().all(|&(_, most)| most <= depth), "{:?}", report.deepest_queues);
        }
    }
}

#[test]
fn beams_alone_are_masked_as_well() {
    let end = 300 * FRAME;
    let (chosen, from) = ([5], 1);
    let heaps = frames(end);
    let mask = mask_of(&heaps, &chosen, from);
    let expected = beams_of(&zeroed(&heaps, &mask));
    for times in [3000, 100_000] {
        let (sink, products) = MemorySink::new();
        let fx = Fx8::new(&Backend::cpu(), engine()).beams(set(3), detection()).mask(masker(), BLOCK);
        let report = run(fx.sink(sink, Overflow::Block), disturbed_source(times, end), &chosen, from).unwrap();
        check_beams(&sorted(&products).1, &expected, Some(&mask));
        let masked = mask.masked().iter().filter(|&&masked| masked).count() as u64;
        assert_eq!(report.masked, [masked, mask.masked().len() as u64]);
    }
    let fx = Fx8::new(&Backend::cpu(), engine()).beams(set(3), detection());
    let error = fx.mask(masker(), 6).start(noise(512, 512)).unwrap_err();
    assert!(matches!(error, StreamError::Plan { what: "spectra of a masker's block", .. }), "{error}");
}

#[test]
fn beams_that_are_not_to_be_masked_are_those_of_all_that_came() {
    let end = 300 * FRAME;
    let heaps = frames(end);
    let mask = mask_of(&heaps, &[], 1);
    for cadences in [0, 1] {
        let (sink, products) = MemorySink::new();
        let fx = Fx8::new(&Backend::cpu(), engine()).beams(set(3), detection()).mask(masker(), BLOCK);
        let fx = if cadences > 0 { fx.cadence(schedule(96)) } else { fx };
        let fx = fx.mask_beams(false).sink(sink, Overflow::Block);
        let report = fx.start(disturbed_source(5000, end)).unwrap().join().into_result().unwrap();
        let (dumps, beams) = sorted(&products);
        check_beams(&beams, &beams_of(&heaps), None);
        assert!(beams.iter().all(|part| part.masked_spectra().is_none()));
        // Dumps are masked nevertheless.
        assert_eq!(report.masked[0] > 0, cadences > 0);
        assert!(dumps.iter().all(|dump| dump.masked_samples().is_some()) && dumps.len() == 4 * cadences);
        assert!(mask.masked_share() > 0.0);
    }
}

#[test]
fn chosen_channels_are_left_out_of_beams_without_a_masker() {
    let end = 90 * FRAME;
    let (sink, products) = MemorySink::new();
    let fx = Fx8::new(&Backend::cpu(), engine()).cadence(schedule(30)).beams(set(3), detection());
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let running = fx.sink(sink, Overflow::Block).start(Gate { source: disturbed_source(777, end), wait: Some(wait) });
    let running = running.unwrap();
    running.control().set_masked_channels(31 * FRAME - 5, vec![1, 63]);
    running.control().set_masked_channels(50 * FRAME, vec![]);
    go.send(()).unwrap();
    running.join().into_result().unwrap();
    let heaps = frames(end);
    let mut data = heaps.data().to_owned();
    for channel in [1, 63] {
        data.slice_mut(s![31..50, .., channel, .., ..]).fill(Complex::new(0, 0));
    }
    let expected = beams_of(&like(&heaps, data));
    let beams = sorted(&products).1;
    let mut first = 0;
    for part in &beams {
        assert_eq!(part.data(), expected.data().slice(s![.., first..first + part.times(), .., ..]));
        for time in 0..part.times() {
            let spectra =
                ((first + time) * SUMMED..(first + time + 1) * SUMMED).map(|spectrum| spectrum as u64 / SPECTRA);
            let masked = spectra.filter(|frame| (31..50).contains(frame)).count() as u64;
            let counts =
                part.masked_spectra().map_or([0; 3], |of| [0, 1, 31].map(|channel| of.masked()[(channel, time)]));
            assert_eq!(counts, [masked, 0, masked], "sum {}", first + time);
        }
        first += part.times();
    }
    assert_eq!(first, expected.times());
}

#[test]
fn a_gap_begins_masked_beams_anew_behind_the_frames_that_waited() {
    // Two pieces, each of which ends within a masker's block.
    let (pieces, end) = ([(0, 100 * FRAME), (900 * FRAME, 90 * FRAME)], 990 * FRAME);
    for correlates in [true, false] {
        let chunks = pieces.map(|(first, times)| Ok(Received::Samples(disturbed(first, times as usize))));
        let (sink, products) = MemorySink::new();
        let fx = Fx8::new(&Backend::cpu(), engine()).beams(set(3), detection()).mask(masker(), BLOCK);
        let fx = if correlates { fx.cadence(schedule(30)) } else { fx };
        let fx = fx.longest_gap(8 * FRAME).sink(sink, Overflow::Block);
        let report = fx.start(Blocks::new(info(end), chunks.into_iter())).unwrap().join().into_result().unwrap();
        let beams = sorted(&products).1;
        let sums = |from: u64, until: u64| {
            let of = beams.iter().filter(|part| (from..until).contains(&part.clock().first_sample));
            of.map(|part| part.times()).sum::<usize>()
        };
        let whole = |(first, times): (u64, u64)| {
            let samples = disturbed(first, times as usize);
            let frames = f_engine::<Complex<i8>>(&Backend::cpu(), samples.as_chunk(), engine()).unwrap().frames;
            frames.iter().map(|frames| frames.voltages.times()).sum::<usize>() / SUMMED
        };
        let found = [sums(0, 500 * FRAME), sums(500 * FRAME, end)];
        assert_eq!(found, pieces.map(whole), "{correlates}");
        assert_eq!((report.clock_jumps, report.beam_gaps), (1, 1));
        assert!(beams.iter().any(|part| part.masked_spectra().is_some()));
    }
}

#[test]
fn heaps_that_do_not_end_with_the_blocks_are_refused() {
    let clock = |first: u64| fringes_types::SpectrumClock {
        first_sample: first * STRIDE,
        samples_between_spectra: STRIDE,
        sample_rate_hz: 1e6,
    };
    let run = |spectra: usize, first: u64, block: usize| {
        let data = ndarray::Array5::from_elem((8, 2, CHANNELS, spectra, 2), Complex::new(3i8, -4));
        let heaps = Heaps::new(data).unwrap().with_clock(clock(first)).unwrap();
        let chunks = [Ok(Received::Heaps(HeapBlock::Int8(heaps)))];
        let (sink, products) = MemorySink::new();
        let fx = Fx8::of_heaps(&Backend::cpu(), inputs(), CHANNELS).beams(set(3), detection());
        let running =
            fx.mask(masker(), block).sink(sink, Overflow::Block).start(Blocks::new(info(0), chunks.into_iter()));
        running
            .unwrap()
            .join()
            .into_result()
            .map(|_| sorted(&products).1.iter().map(|part| part.times()).sum::<usize>())
    };
    assert_eq!(run(6, 0, 12).unwrap(), 2);
    assert_eq!(run(6, 18, 12).unwrap(), 2);
    for (first, block) in [(0, 10), (15, 12)] {
        let error = run(6, first, block).unwrap_err().to_string();
        assert!(
            error.contains(&format!("blocks of {block} spectra")) && error.contains("heaps of 6 spectra"),
            "{error}"
        );
    }
}

#[test]
fn beams_that_fail_end_the_run_and_say_so() {
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let fx = Fx8::new(&Backend::cpu(), engine()).cadence(schedule(2)).beams(set(3), detection());
    let source = Gate { source: disturbed_source(3000, 5000 * FRAME), wait: Some(wait) };
    let running = fx.mask(masker(), BLOCK).start(source).unwrap();
    running.control().set_beams(0, set(4));
    go.send(()).unwrap();
    let ended = running.join();
    assert!(matches!(&ended.error, Some(StreamError::Stage { stage: Stage::Beamformer, .. })), "{:?}", ended.error);
    assert!(ended.report.frames < 5000, "the run went on");
}
