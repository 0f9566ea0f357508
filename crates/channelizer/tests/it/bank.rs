//! Several bands of one stream: the bits, axes and statistics of a stream a band, however it is cut, with missing
//! samples, gaps and retunes of single bands.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use fringes_backend::{Backend, DeviceError};
use fringes_channelizer::{
    ChannelizerError, DownConvertedSample, DownConverter, DownConverterBank, DownConverterStatistics,
    DownConverterStream,
};
use fringes_types::{Complex, Inputs, PackedSamples, SampleChunk, SamplePresence, Samples, f16};
use ndarray::{Array2, s};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

fn inputs(count: usize) -> Inputs {
    Inputs::single_pol(count).unwrap()
}

fn noise(inputs: usize, times: usize, seed: u64) -> Array2<i16> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    Array2::from_shape_simple_fn((inputs, times), || rng.random_range(-512..512))
}

fn filter(taps: usize, band: usize) -> Vec<f64> {
    (0..taps).map(|k| 1.0 / (1.0 + (k * (band + 1)) as f64) - 0.3).collect()
}

/// Bands that differ in everything that may.
fn plans(count: usize, taps: usize, decimation: usize) -> Vec<DownConverter> {
    let of = |band: usize| {
        let plan = DownConverter::new(0.9 - 0.37 * band as f64, decimation, filter(taps, band)).unwrap();
        plan.with_gain(0.2 + band as f64).unwrap().with_phase_turns(0.1 * band as f64).unwrap()
    };
    (0..count).map(of).collect()
}

/// A chunk of the noise, of a format by number, without the samples that are missing.
fn chunk(data: &Array2<i16>, flags: &Array2<bool>, first: u64, (from, to): (usize, usize), format: u8) -> Chunk {
    let part = data.slice(s![.., from..to]);
    let stamp = first + from as u64;
    let presence = SamplePresence::new(1, flags.slice(s![.., from..to]).to_owned()).unwrap();
    let inputs = inputs(data.nrows());
    match format {
        0 => {
            let packed = PackedSamples::pack(part, 10, inputs).unwrap().with_first_sample(stamp);
            Box::new(packed.with_presence(presence).unwrap())
        }
        1 => {
            let samples = Samples::new(part.mapv(|x| f32::from(x) / 3.0), inputs).unwrap().with_first_sample(stamp);
            Box::new(samples.with_presence(presence).unwrap())
        }
        _ => {
            let complex = part.mapv(|x| Complex::new(x, 3 - x / 2));
            let samples = Samples::new(complex, inputs).unwrap().with_first_sample(stamp);
            Box::new(samples.with_presence(presence).unwrap())
        }
    }
}

type Chunk = Box<dyn SampleChunk>;

/// What each band gave in a bank and by itself, and its statistics.
#[derive(Debug, PartialEq)]
struct Given<T: DownConvertedSample> {
    outputs: Vec<Vec<Samples<T>>>,
    statistics: Vec<Vec<DownConverterStatistics>>,
    centres: Vec<f64>,
    stamps: Vec<Option<u64>>,
}

/// Pushes the chunks to a bank, and then to a stream of each band. Retunes are of a band, at a sample.
fn both<T: DownConvertedSample>(
    plans: &[DownConverter],
    chunks: &[Chunk],
    retunes: &[(usize, u64, f64)],
    backend: &Backend,
) -> [Given<T>; 2] {
    let inputs = chunks[0].inputs();
    let bank = DownConverterBank::new(backend, plans.to_vec(), inputs).unwrap();
    let mut bank = bank.with_output::<T>().unwrap().with_statistics().unwrap();
    let mut outputs: Vec<Vec<Samples<T>>> = plans.iter().map(|_| Vec::new()).collect();
    for &(band, at, centre) in retunes {
        bank.retune(band, at, centre).unwrap();
    }
    for chunk in chunks {
        let pieces = bank.push(&**chunk).unwrap();
        assert_eq!(pieces.len(), plans.len());
        outputs.iter_mut().zip(pieces).for_each(|(outputs, pieces)| outputs.extend(pieces));
    }
    let stamps = vec![bank.next_stamp(); plans.len()];
    let of_bank = Given {
        outputs,
        centres: bank.centres_cycles_per_sample(),
        stamps,
        statistics: bank.take_statistics().unwrap(),
    };

    let mut alone = Given { outputs: vec![], statistics: vec![], centres: vec![], stamps: vec![] };
    for (band, plan) in plans.iter().enumerate() {
        let stream = DownConverterStream::new(backend, plan.clone(), inputs).unwrap();
        let mut stream = stream.with_output::<T>().unwrap().with_statistics().unwrap();
        for &(_, at, centre) in retunes.iter().filter(|(of, ..)| *of == band) {
            stream.retune(at, centre).unwrap();
        }
        alone.outputs.push(chunks.iter().flat_map(|chunk| stream.push(&**chunk).unwrap()).collect());
        alone.centres.push(stream.centre_cycles_per_sample());
        alone.stamps.push(stream.next_stamp());
        alone.statistics.push(stream.take_statistics().unwrap());
    }
    [of_bank, alone]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn bands_are_streams_of_their_own_bit_for_bit(
        (count, taps, decimation) in (1usize..5, 1usize..70, 1usize..20), format in 0u8..3,
        first in prop_oneof![0u64..100, 1_000_000_000_000_000u64..1_000_000_000_000_100],
        cuts in prop::collection::vec(0usize..1500, 0..8), gap in prop_oneof![Just(0), 1usize..200],
        mut retunes in prop::collection::vec((0usize..5, 0u64..1600, -1.0f64..=1.0), 0..8),
        missing: bool, limited: bool, seed: u64,
    ) {
        let data = noise(2, 1500, seed);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let flags = Array2::from_shape_simple_fn((2, 1500), || !missing || rng.random_range(0..100) != 0);
        let plans = plans(count, taps, decimation);
        retunes.sort_by_key(|(_, at, _)| *at);
        let of = |(band, at, centre)| (band % count, first + at, centre);
        let retunes: Vec<_> = retunes.into_iter().map(of).collect();
        let mut edges = cuts;
        edges.extend([0, 1500]);
        edges.sort_unstable();
        let chunks: Vec<Chunk> = edges
            .windows(2)
            .enumerate()
            // The second chunk begins late.
            .map(|(number, edge)| (if number == 1 { edge[1].min(edge[0] + gap) } else { edge[0] }, edge[1]))
            .map(|edge| chunk(&data, &flags, first, edge, format))
            .collect();
        // As little as a stream needs: bands go one after another.
        let least = DownConverterBank::new(&Backend::cpu(), plans.clone(), inputs(2)).unwrap();
        let least = least.memory::<Complex<f32>>(1500).smallest_step_bytes + 2 * 2 * 1500;
        let backend = if limited { Backend::cpu().with_memory_limit(least) } else { Backend::cpu() };
        let [bank, alone] = both::<Complex<f32>>(&plans, &chunks, &retunes, &backend);
        prop_assert_eq!(&bank.centres, &alone.centres);
        prop_assert_eq!(&bank.stamps, &alone.stamps);
        prop_assert!(bank.outputs == alone.outputs);
        prop_assert!(bank.statistics == alone.statistics);
        let [bank, alone] = both::<Complex<i8>>(&plans, &chunks, &retunes, &backend);
        prop_assert!(bank == alone);
        let [bank, alone] = both::<Complex<f16>>(&plans, &chunks, &retunes, &backend);
        prop_assert!(bank.outputs == alone.outputs);
    }
}

#[test]
fn no_bands_and_bands_of_other_windows_are_errors() {
    let new =
        |plans: Vec<DownConverter>| DownConverterBank::new(&Backend::cpu(), plans, inputs(1)).map(|bank| bank.bands());
    let plan = |taps, decimation| DownConverter::new(0.1, decimation, filter(taps, 0)).unwrap();
    assert_eq!(new(vec![]), Err(ChannelizerError::Zero { quantity: "bands" }));
    assert_eq!(new(vec![plan(16, 4), plan(16, 4)]), Ok(2));
    let differs =
        |band, quantity, expected, actual| Err(ChannelizerError::BandShape { band, quantity, expected, actual });
    assert_eq!(new(vec![plan(16, 4), plan(16, 4), plan(16, 8)]), differs(2, "decimation", 4, 8));
    assert_eq!(new(vec![plan(16, 4), plan(15, 4)]), differs(1, "number of filter taps", 16, 15));
    let message = new(vec![plan(16, 4), plan(15, 4)]).unwrap_err().to_string();
    assert_eq!(message, "number of filter taps of band 1: expected 16, that of band 0, found 15");
}

#[test]
fn a_retune_that_cannot_be_changes_no_band() {
    let plans = plans(2, 20, 8);
    let samples = Samples::new(noise(1, 1000, 2), inputs(1)).unwrap();
    let parts: Vec<_> = [(0, 300), (300, 1000)]
        .map(|(from, to)| {
            let data = samples.data().slice(s![.., from..to]).to_owned();
            Samples::new(data, inputs(1)).unwrap().with_first_sample(from as u64)
        })
        .to_vec();
    let new = || DownConverterBank::new(&Backend::cpu(), plans.clone(), inputs(1)).unwrap();
    let (mut bank, mut other) = (new(), new());
    assert_eq!(bank.push(&parts[0]).unwrap(), other.push(&parts[0]).unwrap());
    assert_eq!(bank.retune(2, 500, 0.2), Err(ChannelizerError::BandNumber { bands: 2, actual: 2 }));
    assert_eq!(bank.retune(1, 280, 0.2), Err(ChannelizerError::RetuneTooLate { made: 280, actual: 280 }));
    assert_eq!(bank.retune(0, 500, 1.5), Err(ChannelizerError::Centre { actual: 1.5 }));
    assert_eq!(bank.push(&parts[1]).unwrap(), other.push(&parts[1]).unwrap(), "none of them counts");
    // The order of retunes is each band's own.
    let mut bank = new();
    bank.retune(0, 500, 0.2).unwrap();
    bank.retune(1, 400, 0.2).unwrap();
    assert_eq!(bank.retune(0, 400, 0.3), Err(ChannelizerError::RetuneOrder { last: 500, actual: 400 }));
    let pieces = bank.push(&samples).unwrap();
    assert_eq!(pieces.iter().map(|pieces| pieces[1].first_sample()).collect::<Vec<_>>(), [63, 50]);
    bank.reset();
    assert_eq!(bank.push(&samples).unwrap(), new().push(&samples).unwrap(), "the plans' centres again");
}

#[test]
fn memory_counts_samples_once_and_a_limit_of_a_step_is_enough() {
    let samples = Samples::new(noise(3, 5000, 2), inputs(3)).unwrap();
    let bank =
        |count: usize, backend: &Backend| DownConverterBank::new(backend, plans(count, 64, 8), inputs(3)).unwrap();
    let (one, four) = (bank(1, &Backend::cpu()), bank(4, &Backend::cpu()));
    let (one, four) = (one.memory::<i16>(5000), four.memory::<i16>(5000));
    assert_eq!((four.input_bytes, four.output_bytes), (one.input_bytes, 4 * one.output_bytes));
    assert!(four.workspace_bytes > one.workspace_bytes && four.workspace_bytes < 4 * one.workspace_bytes);
    assert_eq!(four.smallest_step_bytes, one.smallest_step_bytes);
    let mut free = bank(4, &Backend::cpu());
    let mut limited = bank(4, &Backend::cpu().with_memory_limit(four.smallest_step_bytes));
    assert_eq!(limited.push(&samples).unwrap(), free.push(&samples).unwrap());
    assert_eq!(limited.held_bytes(), free.held_bytes());
    let mut low = bank(4, &Backend::cpu().with_memory_limit(four.smallest_step_bytes - 1));
    let error = low.push(&samples).unwrap_err();
    assert!(matches!(error, ChannelizerError::Device(DeviceError::MemoryLimit { .. })), "{error}");
    // Statistics are to be switched on, and a CPU has no stream.
    assert_eq!(free.take_statistics(), Err(ChannelizerError::NoStatistics));
    assert!(free.stream().is_none());
    assert_eq!((free.bands(), free.plans().len(), free.inputs()), (4, 4, inputs(3)));
}
