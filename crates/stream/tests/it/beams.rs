//! Detected beams of an instrument.

use fringes_backend::Backend;
use fringes_beamformer::{TiedArrayBeams, TiedArrayDetector};
use fringes_io::write::BeamObservation;
use fringes_stream::Fx;
use fringes_stream::sink::{FilterbankSink, MemorySink, Overflow, Product};
use fringes_stream::source::{Blocks, Received};
use fringes_types::{BeamWeights, Complex, DetectedProducts, Detection};
use ndarray::Array3;

use crate::support::{FRAME, block, engine, info, inputs, noise, schedule, whole};

fn set() -> TiedArrayBeams {
    let weights = Array3::from_shape_fn((3, 64, 4), |(beam, channel, input)| {
        Complex::from_polar(1.0, (beam * input) as f32 * 0.3 + channel as f32 * 0.01)
    });
    TiedArrayBeams::new(BeamWeights::new(weights).unwrap())
}

fn detection() -> Detection {
    Detection::new(DetectedProducts::Power, 8, 1).unwrap()
}

#[test]
fn beams_beside_dumps_are_those_of_one_detector() {
    let end = 24 * FRAME;
    let (sink, products) = MemorySink::new();
    let running = Fx::<Complex<i8>>::new(&Backend::cpu(), engine())
        .cadence(schedule(3))
        .beams(set(), detection())
        .sink(sink, Overflow::Block)
        .start(noise(900, end))
        .unwrap();
    let report = running.join().into_result().unwrap();
    let all = whole(&[block(0, end as usize)], end);
    let mut engine = engine().build::<Complex<i8>>(&Backend::cpu()).unwrap();
    let mut detector = TiedArrayDetector::<Complex<i8>>::new(&Backend::cpu(), set(), inputs(), detection()).unwrap();
    let mut pieces = engine.push(all.as_chunk()).unwrap().frames;
    pieces.extend(engine.flush().unwrap());
    let expected: Vec<_> = pieces.iter().map(|frames| detector.push(&frames.voltages).unwrap()).collect();
    let beams: Vec<_> = products
        .take()
        .into_iter()
        .filter_map(|product| match product {
            Product::Beams(beams) => Some(beams),
            _ => None,
        })
        .collect();
    let times: usize = expected.iter().map(|beams| beams.times()).sum();
    assert_eq!(report.beam_sums, times as u64);
    let value = |beams: &[f32], channels: usize, channel: usize, time: usize, beam: usize| {
        let times = beams.len() / channels / 3;
        beams[(channel * times + time) * 3 + beam]
    };
    let mut first = 0;
    for part in &beams {
        let data: Vec<f32> = part.data().iter().copied().collect();
        assert_eq!(part.clock().first_sample, first as u64 * 8 * 128);
        for channel in 0..64 {
            for time in 0..part.times() {
                for beam in 0..3 {
                    let actual = value(&data, 64, channel, time, beam);
                    let of = expected[0].data()[(channel, first + time, beam, 0)];
                    assert!((actual - of).abs() <= 1e-5 * of.abs(), "{channel} {time} {beam}: {actual} {of}");
                }
            }
        }
        first += part.times();
        if first >= expected[0].times() {
            break;
        }
    }
}

#[test]
fn a_gap_begins_new_filterbanks() {
    let folder = tempfile::tempdir().unwrap();
    let observation = BeamObservation::new("2026-03-20T16:30:00".parse().unwrap());
    let sink = FilterbankSink::new(folder.path(), observation).unwrap();
    let order = [(0, 8000), (20_000, 8000)];
    let chunks = order.map(|(first, times)| Ok(Received::Samples(block(first, times))));
    let running = Fx::<Complex<i8>>::new(&Backend::cpu(), engine())
        .beams(set(), detection())
        .sink(sink, Overflow::Block)
        .start(Blocks::new(info(0), chunks.into_iter()))
        .unwrap();
    let report = running.join().into_result().unwrap();
    assert!(report.beam_gaps >= 1);
    let mut names: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names.len(), 6, "{names:?}");
    assert!(names.contains(&"beam-0.fil".to_string()) && names.iter().any(|name| name.starts_with("beam-2-0000")));
}
