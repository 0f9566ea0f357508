//! Retunes of a down-converter's stream: against the reference, in chunks, across gaps, at large counters.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use std::f64::consts::TAU;

use fringes_backend::Backend;
use fringes_channelizer::{ChannelizerError, DownConverter, DownConverterStream, down_convert};
use fringes_reference::ddc::retunes::{Retune, down_convert_retuned, mixer_at};
use fringes_types::{Complex, Inputs, Sample, Samples};
use ndarray::{Array2, s};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const U: f64 = 1.0 / (1 << 24) as f64;

fn inputs(count: usize) -> Inputs {
    Inputs::single_pol(count).unwrap()
}

fn noise(inputs: usize, times: usize, seed: u64) -> Array2<i16> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    Array2::from_shape_simple_fn((inputs, times), || rng.random_range(-512..512))
}

fn filter(taps: usize) -> Vec<f64> {
    (0..taps).map(|k| 1.0 / (1.0 + k as f64) - 0.3).collect()
}

fn stream(plan: &DownConverter, count: usize) -> DownConverterStream {
    DownConverterStream::new(&Backend::cpu(), plan.clone(), inputs(count)).unwrap()
}

/// Samples between edges, as chunks.
fn chunks<S: Sample>(samples: &Samples<S>, edges: &[usize]) -> Vec<Samples<S>> {
    let of = |edge: &[usize]| {
        let data = samples.data().slice(s![.., edge[0]..edge[1]]).to_owned();
        Samples::new(data, samples.inputs()).unwrap().with_first_sample(samples.first_sample() + edge[0] as u64)
    };
    edges.windows(2).map(of).collect()
}

fn wide(value: Complex<f32>) -> Complex<f64> {
    Complex::new(value.re.into(), value.im.into())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn retuned_outputs_are_the_reference_however_chunks_are_cut(
        taps in 1usize..50, decimation in 1usize..20, centre in -1.0f64..1.0,
        first in prop_oneof![0u64..100, 1_000_000_000_000_000u64..1_000_000_000_000_100],
        retunes in prop::collection::vec((0u64..700, -1.0f64..=1.0), 0..8),
        cuts in prop::collection::vec(0usize..600, 0..8), early: bool, seed: u64,
    ) {
        let data = noise(2, 600, seed);
        let samples = Samples::new(data.clone(), inputs(2)).unwrap().with_first_sample(first);
        let plan = DownConverter::new(centre, decimation, filter(taps)).unwrap().with_phase_turns(0.2).unwrap();
        let mut retunes: Vec<_> = retunes.into_iter().map(|(at, centre)| (first + at, centre)).collect();
        retunes.sort_by_key(|(at, _)| *at);
        if early && first > 0 {
            retunes.insert(0, (first / 2, 0.3));
        }
        // All ahead, and the stream in one chunk.
        let mut whole = stream(&plan, 2);
        for &(at, centre) in &retunes {
            whole.retune(at, centre).unwrap();
        }
        let pieces = whole.push(&samples).unwrap();
        let mut outputs = Vec::new();
        for pair in pieces.windows(2) {
            prop_assert_eq!(pair[0].first_sample() + pair[0].times() as u64, pair[1].first_sample());
        }
        pieces.iter().for_each(|piece| outputs.extend(piece.data().columns().into_iter().map(|c| [c[0], c[1]])));

        let skipped = (first.div_ceil(decimation as u64) * decimation as u64 - first) as usize;
        let list: Vec<_> = retunes.iter().map(|&(at_sample, centre)| Retune { at_sample, frequency: -centre }).collect();
        for (input, row) in data.rows().into_iter().enumerate() {
            let x: Vec<Complex<f64>> = row.iter().skip(skipped).map(|&x| Complex::new(f64::from(x), 0.0)).collect();
            let expected =
                down_convert_retuned(&x, plan.filter(), decimation, -centre, 0.2, &list, first + skipped as u64);
            prop_assert_eq!(expected.len(), outputs.len());
            for (j, (expected, found)) in expected.iter().zip(&outputs).enumerate() {
                let size: f64 = x[j * decimation..].iter().zip(plan.filter()).map(|(x, h)| x.norm() * h.abs()).sum();
                // A tiny centre is rounded to 2^-64: half of that times 1e15 samples is 2.7e-5 turns.
                let rounded = retunes.iter().map(|(_, centre)| *centre).chain([centre]);
                let tiny = rounded.filter(|centre| centre.abs() < 2f64.powi(-12)).count() as f64;
                let bound = (1.5 * taps.div_ceil(8) as f64 + 8.0) * U * size + tiny * 2e-4 * size;
                prop_assert!((wide(found[input]) - expected).norm() <= bound, "{} {}", input, j);
            }
        }

        // In chunks, each retune queued just before it counts.
        let mut edges = cuts;
        edges.extend([0, 600]);
        edges.sort_unstable();
        let (mut cut, mut next, mut queued) = (stream(&plan, 2), 0, 0);
        for chunk in chunks(&samples, &edges) {
            let end = chunk.first_sample() + chunk.times() as u64;
            while let Some(&(at, centre)) = retunes.get(queued).filter(|(at, _)| *at < end) {
                cut.retune(at, centre).unwrap();
                queued += 1;
            }
            for piece in cut.push(&chunk).unwrap() {
                for column in piece.data().columns() {
                    prop_assert_eq!([column[0], column[1]], outputs[next]);
                    next += 1;
                }
            }
        }
        prop_assert_eq!(next, outputs.len());
    }
}

#[test]
fn pieces_have_the_centre_of_their_outputs() {
    let samples = Samples::new(noise(1, 1000, 1).mapv(|x| Complex::new(x, 0)), inputs(1)).unwrap();
    let samples = samples.with_sample_rate(80e6).unwrap().with_centre_frequency(1420e6).unwrap();
    let plan = DownConverter::new(0.125, 8, filter(16)).unwrap();
    let mut stream = stream(&plan, 1);
    assert_eq!(stream.centre_cycles_per_sample(), 0.125);
    // Outputs 13 and 50 are the first that begin at or after samples 97 and 400.
    stream.retune(97, 0.25).unwrap();
    stream.retune(400, -0.25).unwrap();
    let pieces = stream.push(&samples).unwrap();
    let found: Vec<_> = pieces.iter().map(|piece| (piece.first_sample(), piece.times(), piece.centre_hz())).collect();
    assert_eq!(found, [(0, 13, Some(1430e6)), (13, 37, Some(1440e6)), (50, 74, Some(1400e6))]);
    assert!(pieces.iter().all(|piece| piece.sample_rate_hz() == 10e6));
    assert_eq!(stream.centre_cycles_per_sample(), -0.25);
    assert_eq!(stream.plan().centre_cycles_per_sample(), 0.125);
}

#[test]
fn a_retune_too_late_out_of_order_or_too_far_is_an_error_and_changes_nothing() {
    let samples = Samples::new(noise(1, 1000, 2), inputs(1)).unwrap();
    let plan = DownConverter::new(0.1, 8, filter(20)).unwrap();
    let (mut found, mut other) = (stream(&plan, 1), stream(&plan, 1));
    let parts = chunks(&samples, &[0, 300, 1000]);
    // Windows 0 to 35 are complete with sample 300.
    assert_eq!(found.push(&parts[0]).unwrap(), other.push(&parts[0]).unwrap());
    assert_eq!(found.next_stamp(), Some(36));
    assert_eq!(found.retune(280, 0.2), Err(ChannelizerError::RetuneTooLate { made: 280, actual: 280 }));
    assert_eq!(found.retune(0, 0.2), Err(ChannelizerError::RetuneTooLate { made: 280, actual: 0 }));
    for centre in [1.01, -2.0, f64::INFINITY] {
        assert_eq!(found.retune(500, centre), Err(ChannelizerError::Centre { actual: centre }));
    }
    assert!(matches!(found.retune(500, f64::NAN), Err(ChannelizerError::Centre { .. })));
    assert_eq!(found.push(&parts[1]).unwrap(), other.push(&parts[1]).unwrap(), "none of them counts");

    let mut stream = stream(&plan, 1);
    stream.push(&parts[0]).unwrap();
    stream.retune(281, 0.2).unwrap();
    stream.retune(281, 0.3).unwrap();
    assert_eq!(stream.retune(280, 0.3), Err(ChannelizerError::RetuneOrder { last: 281, actual: 280 }));
    stream.retune(u64::MAX, 0.3).unwrap();
    let pieces = stream.push(&parts[1]).unwrap();
    assert_eq!((pieces.len(), pieces[0].first_sample()), (1, 36));
    assert_eq!(stream.centre_cycles_per_sample(), 0.3);
    // The plan's centre again, from the beginning.
    stream.reset();
    assert_eq!(stream.push(&samples).unwrap(), [down_convert(&Backend::cpu(), &samples, &plan).unwrap()]);
}

#[test]
fn a_retune_in_a_gap_counts_behind_it_with_the_phase_of_its_sample() {
    let samples = Samples::new(noise(1, 3000, 3), inputs(1)).unwrap();
    let plan = DownConverter::new(0.1, 7, filter(30)).unwrap();
    let mut whole = stream(&plan, 1);
    let retunes = [(1000, 0.21), (1500, -0.37)];
    retunes.into_iter().for_each(|(at, centre)| whole.retune(at, centre).unwrap());
    let expected: Vec<Complex<f32>> = whole
        .push(&samples)
        .unwrap()
        .iter()
        .flat_map(|piece| piece.data().iter().copied().collect::<Vec<_>>())
        .collect();
    let mut gap = stream(&plan, 1);
    let parts = chunks(&samples, &[0, 800, 2001, 3000]);
    gap.push(&parts[0]).unwrap();
    retunes.into_iter().for_each(|(at, centre)| gap.retune(at, centre).unwrap());
    let pieces = gap.push(&parts[2]).unwrap();
    assert_eq!((pieces.len(), pieces[0].first_sample()), (1, 286));
    assert_eq!(pieces[0].data().iter().copied().collect::<Vec<_>>(), expected[286..]);
    // A gap may be filled with no retune before an output that was made, but with one behind the last of them.
    let mut late = stream(&plan, 1);
    late.push(&parts[0]).unwrap();
    assert_eq!(late.next_stamp(), Some(111));
    late.push(&chunks(&samples, &[2001, 2010])[0]).unwrap();
    assert_eq!(late.retune(770, 0.21), Err(ChannelizerError::RetuneTooLate { made: 770, actual: 770 }));
    retunes.into_iter().for_each(|(at, centre)| late.retune(at, centre).unwrap());
    let pieces = late.push(&chunks(&samples, &[2010, 3000])[0]).unwrap();
    assert_eq!(pieces[0].data().iter().copied().collect::<Vec<_>>(), expected[286..]);
}

/// A hundred retunes over a thousand chunks, from a sample on: a tone whose phase follows the mixer comes out as 1.
fn follow(first: u64) {
    const CHUNKS: usize = 1000;
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(first);
    let plan = DownConverter::new(0.1, 8, vec![1.0 / 16.0; 16]).unwrap();
    let retunes: Vec<_> =
        (0..100).map(|i| (first + 97 + 613 * i + rng.random_range(0..400), rng.random_range(-0.5..0.5))).collect();
    let list: Vec<_> = retunes.iter().map(|&(at_sample, centre)| Retune { at_sample, frequency: -centre }).collect();
    let (mut stream, mut queued, mut at) = (stream(&plan, 1), 0, first);
    let (mut outputs, mut settled, mut largest) = (0, 0, 0f64);
    for _ in 0..CHUNKS {
        let times = rng.random_range(1..130);
        // Three retunes ahead.
        while queued < retunes.len() && retunes[queued.saturating_sub(3)].0 < at + times {
            let (at, centre) = retunes[queued];
            stream.retune(at, centre).unwrap();
            queued += 1;
        }
        // Minus the phase of the mixer of the reference, sample by sample.
        let tone = Array2::from_shape_fn((1, times as usize), |(_, n)| {
            let value = Complex::cis(-TAU * mixer_at(-0.1, &list, at + n as u64).1);
            Complex::new(value.re as f32, value.im as f32)
        });
        let chunk = Samples::new(tone, inputs(1)).unwrap().with_first_sample(at);
        for piece in stream.push(&chunk).unwrap() {
            for (j, value) in piece.data().iter().enumerate() {
                outputs += 1;
                let start = (piece.first_sample() + j as u64) * 8;
                // Windows without a retune inside: all of the filter's samples are at the centre.
                if list.iter().all(|retune| retune.at_sample <= start || retune.at_sample >= start + 16) {
                    settled += 1;
                    largest = largest.max((wide(*value) - 1.0).norm());
                }
            }
        }
        at += times;
    }
    assert_eq!(queued, 100);
    assert!(at > retunes[99].0 && outputs > 7000 && settled > outputs * 9 / 10, "{outputs} {settled}");
    // The stated bound for 16 complex taps of sum 1, and the tone's rounding to f32.
    let bound = (1.5 * 4.0 + 8.0 + 1.0) * U;
    assert!(largest <= bound, "{largest} above {bound}");
}

#[test]
fn the_phase_is_continuous_over_a_hundred_retunes() {
    follow(0);
    follow(1_000_000_000_000_000);
}
