//! Down-conversion by its public interface: against the reference, in chunks, with missing data and with bad arguments.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use fringes_backend::{Backend, DeviceError};
use fringes_channelizer::{ChannelizerError, DownConverter, DownConverterStream, down_convert};
use fringes_reference::ddc as reference;
use fringes_types::{Complex, Inputs, PackedSamples, Sample, SamplePresence, Samples, TypesError};
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

/// A part of samples, as a chunk with the flags of its own samples.
fn chunk<S: Sample>(samples: &Samples<S>, from: usize, to: usize) -> Samples<S> {
    let data = samples.data().slice(s![.., from..to]).to_owned();
    let mut chunk = Samples::new(data, samples.inputs())
        .unwrap()
        .with_sample_rate(samples.sample_rate_hz())
        .unwrap()
        .with_first_sample(samples.first_sample() + from as u64);
    if let Some(centre_hz) = samples.centre_hz() {
        chunk = chunk.with_centre_frequency(centre_hz).unwrap();
    }
    if let Some(presence) = samples.presence() {
        let flags =
            Array2::from_shape_fn((samples.inputs().len(), to - from), |(i, t)| presence.is_present(i, from + t));
        chunk = chunk.with_presence(SamplePresence::new(1, flags).unwrap()).unwrap();
    }
    chunk
}

/// What chunks of a stream give, one after another.
fn stream_of<S: Sample>(plan: &DownConverter, chunks: &[Samples<S>]) -> Vec<Samples<Complex<f32>>> {
    let mut stream = DownConverterStream::new(&Backend::cpu(), plan.clone(), chunks[0].inputs()).unwrap();
    chunks.iter().flat_map(|chunk| stream.push(chunk).unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn the_result_is_the_reference_on_the_grid_of_the_run(
        taps in 1usize..60, decimation in 1usize..30, centre in -1.0f64..1.0, phase in -2.0f64..2.0,
        first in prop_oneof![0u64..100, 100_000_000_000_000u64..100_000_000_000_100], times in 0usize..300, seed: u64,
    ) {
        let (data, filter) = (noise(2, times, seed), filter(taps));
        let samples = Samples::new(data.clone(), inputs(2)).unwrap().with_first_sample(first);
        let plan = DownConverter::new(centre, decimation, filter.clone()).unwrap().with_phase_turns(phase).unwrap();
        // Output j starts at sample S j of the run: the first one at or after the first sample.
        let first_output = first.div_ceil(decimation as u64);
        let skipped = (first_output * decimation as u64 - first) as usize;
        let outputs = times.checked_sub(skipped + taps).map_or(0, |rest| rest / decimation + 1);
        prop_assert_eq!(plan.outputs(first, times), outputs);
        let result = match down_convert(&Backend::cpu(), &samples, &plan) {
            Err(error) => {
                prop_assert_eq!(outputs, 0);
                prop_assert_eq!(error, ChannelizerError::TooShort { needed: skipped + taps, actual: times });
                return Ok(());
            }
            Ok(result) => result,
        };
        prop_assert_eq!((result.first_sample(), result.times()), (first_output, outputs));
        prop_assert_eq!(result.sample_rate_hz(), 1.0 / decimation as f64);
        prop_assert!(result.presence().is_none());
        for (input, row) in data.rows().into_iter().enumerate() {
            let x: Vec<f64> = row.iter().skip(skipped).map(|&x| f64::from(x)).collect();
            let expected = reference::down_convert_real(
                &x, &filter, decimation, -centre, phase, first_output * decimation as u64,
            );
            for (j, expected) in expected.iter().enumerate() {
                let value = result.data()[(input, j)];
                let size: f64 = x[j * decimation..].iter().zip(&filter).map(|(x, h)| (x * h).abs()).sum();
                let bound = (1.5 * taps.div_ceil(8) as f64 + 8.0) * U * size;
                prop_assert!((Complex::new(f64::from(value.re), f64::from(value.im)) - expected).norm() <= bound);
            }
        }
    }

    #[test]
    fn chunks_of_any_size_give_the_bits_and_flags_of_the_whole(
        taps in 1usize..40, decimation in 1usize..60, first in 0u64..100, cuts in prop::collection::vec(0usize..400, 0..8),
        block in 1usize..50, missing: bool, complex: bool, seed: u64,
    ) {
        let data = noise(3, 400, seed);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let flags = Array2::from_shape_simple_fn((3, 400usize.div_ceil(block)), || rng.random_range(0..10) != 0);
        let presence = missing.then(|| SamplePresence::new(block, flags).unwrap());
        let mut edges = cuts;
        edges.extend([0, 400]);
        edges.sort_unstable();
        let plan = DownConverter::new(0.2, decimation, filter(taps)).unwrap();
        fn same<S: Sample>(
            samples: Samples<S>, presence: Option<SamplePresence>, plan: &DownConverter, edges: &[usize],
        ) -> Result<(), TestCaseError> {
            let samples = match presence {
                Some(presence) => samples.with_presence(presence).unwrap(),
                None => samples,
            };
            let whole = down_convert(&Backend::cpu(), &samples, plan).unwrap();
            let chunks: Vec<_> = edges.windows(2).map(|edge| chunk(&samples, edge[0], edge[1])).collect();
            let mut next = 0;
            for part in stream_of(plan, &chunks) {
                prop_assert_eq!(part.first_sample(), whole.first_sample() + next as u64);
                for time in 0..part.times() {
                    prop_assert!(part.data().column(time) == whole.data().column(next));
                    let flags = |samples: &Samples<Complex<f32>>, time| {
                        (0..3).map(|i| samples.presence().is_none_or(|p| p.is_present(i, time))).collect::<Vec<_>>()
                    };
                    prop_assert_eq!(flags(&part, time), flags(&whole, next));
                    next += 1;
                }
            }
            prop_assert_eq!(next, whole.times());
            Ok(())
        }
        if complex {
            let data = data.mapv(|x| Complex::new(x, x.wrapping_mul(31) % 512));
            same(Samples::new(data, inputs(3)).unwrap().with_first_sample(first), presence, &plan, &edges)?;
        } else {
            same(Samples::new(data, inputs(3)).unwrap().with_first_sample(first), presence, &plan, &edges)?;
        }
    }

    #[test]
    fn an_output_is_present_exactly_if_all_its_samples_are(
        taps in 1usize..30, decimation in 1usize..20, first in 0u64..50, block in 1usize..40, seed: u64,
    ) {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let flags = Array2::from_shape_simple_fn((2, 300usize.div_ceil(block)), || rng.random_range(0..8) != 0);
        let presence = SamplePresence::new(block, flags).unwrap();
        let samples = Samples::new(noise(2, 300, seed), inputs(2)).unwrap().with_first_sample(first);
        let samples = samples.with_presence(presence.clone()).unwrap();
        let plan = DownConverter::new(0.1, decimation, filter(taps)).unwrap();
        let result = down_convert(&Backend::cpu(), &samples, &plan).unwrap();
        for ((input, output), value) in result.data().indexed_iter() {
            let start = ((result.first_sample() + output as u64) * decimation as u64 - first) as usize;
            let expected = (start..start + taps).all(|time| presence.is_present(input, time));
            prop_assert_eq!(result.presence().unwrap().is_present(input, output), expected);
            prop_assert!(expected || *value == Complex::new(0.0, 0.0));
        }
    }
}

#[test]
fn a_limit_on_memory_changes_no_bit_until_one_output_does_not_fit() {
    let samples = Samples::new(noise(3, 5000, 1), inputs(3)).unwrap();
    let plan = DownConverter::new(0.3, 7, filter(64)).unwrap();
    let expected = down_convert(&Backend::cpu(), &samples, &plan).unwrap();
    let need = plan.memory::<i16>(&Backend::cpu(), 3, 5000).unwrap();
    assert_eq!((need.input_bytes, need.smallest_step_bytes), (3 * 5000 * 2, 64 * 4));
    assert_eq!(need.output_bytes, (3 * expected.times() * 8) as u64);
    for limit in [256, 700, 10_000, need.workspace_bytes] {
        assert_eq!(down_convert(&Backend::cpu().with_memory_limit(limit), &samples, &plan).unwrap(), expected);
    }
    let error = down_convert(&Backend::cpu().with_memory_limit(255), &samples, &plan).unwrap_err();
    let expected = DeviceError::MemoryLimit { operation: "down_convert", needed: 256, limit: 255 };
    assert_eq!(error, ChannelizerError::Device(expected));
}

#[test]
fn the_centre_of_the_band_moves_to_what_lands_on_dc() {
    let plan = DownConverter::new(0.125, 8, filter(8)).unwrap();
    let real = Samples::new(noise(1, 100, 1), inputs(1)).unwrap().with_sample_rate(80e6).unwrap();
    // A real band of 40 MHz around 1420 MHz begins at 1400 MHz; an eighth of the sample rate is 10 MHz above that.
    let sky = real.clone().with_centre_frequency(1420e6).unwrap();
    assert_eq!(down_convert(&Backend::cpu(), &sky, &plan).unwrap().centre_hz(), Some(1410e6));
    assert_eq!(down_convert(&Backend::cpu(), &real, &plan).unwrap().centre_hz(), None);
    // A complex band of 80 MHz around 1420 MHz has its middle at 0 cycles per sample.
    let complex = Samples::new(noise(1, 100, 1).mapv(|x| Complex::new(x, 0)), inputs(1)).unwrap();
    let sky = complex.with_sample_rate(80e6).unwrap().with_centre_frequency(1420e6).unwrap();
    let result = down_convert(&Backend::cpu(), &sky, &plan).unwrap();
    assert_eq!((result.centre_hz(), result.sample_rate_hz()), (Some(1430e6), 10e6));
}

#[test]
fn a_tone_at_the_centre_stays_on_dc_from_the_start_of_a_run_to_1e14_samples() {
    // A centre of 5 / 64 is exact, so the tone repeats every 64 samples.
    let tone = |n: u64| Complex::cis(std::f64::consts::TAU * (5 * (n % 64) % 64) as f64 / 64.0);
    let plan = DownConverter::new(5.0 / 64.0, 8, vec![1.0 / 16.0; 16]).unwrap();
    for first in [0, 100_000_000_000_000u64] {
        let data = Array2::from_shape_fn((1, 4000), |(_, n)| {
            let value = tone(first + n as u64);
            Complex::new(value.re as f32, value.im as f32)
        });
        let samples = Samples::new(data, inputs(1)).unwrap().with_first_sample(first);
        let result = down_convert(&Backend::cpu(), &samples, &plan).unwrap();
        // The stated bound for 16 complex taps of sum 1, and the rounding of the tone to f32.
        let bound = (1.5 * 4.0 + 8.0 + 1.0) * U;
        assert!(
            result
                .data()
                .iter()
                .all(|value| { (Complex::new(f64::from(value.re), f64::from(value.im)) - 1.0).norm() <= bound })
        );
    }
}

#[test]
fn a_gap_begins_the_stream_anew_on_the_grid_of_the_run() {
    let samples = Samples::new(noise(2, 1000, 9), inputs(2)).unwrap().with_first_sample(50);
    let plan = DownConverter::new(0.3, 9, filter(25)).unwrap();
    let whole = down_convert(&Backend::cpu(), &samples, &plan).unwrap();
    let parts = stream_of(&plan, &[chunk(&samples, 0, 300), chunk(&samples, 411, 1000)]);
    assert_eq!(parts.len(), 2);
    // Sample 461 is the first after the gap: the next output on the grid is 52, at sample 468.
    assert_eq!(parts[1].first_sample(), 52);
    for part in parts {
        let offset = (part.first_sample() - whole.first_sample()) as usize;
        assert_eq!(part.data(), whole.data().slice(s![.., offset..offset + part.times()]));
    }
}

#[test]
fn a_stream_refuses_what_does_not_follow_and_stays_as_it_was() {
    let samples = Samples::new(noise(2, 400, 9), inputs(2)).unwrap();
    let plan = DownConverter::new(0.3, 9, filter(25)).unwrap();
    let mut stream = DownConverterStream::new(&Backend::cpu(), plan.clone(), inputs(2)).unwrap();
    assert_eq!((stream.expected_sample(), stream.next_stamp()), (None, None));
    let first = stream.push(&chunk(&samples, 0, 200)).unwrap().remove(0);
    assert_eq!((stream.expected_sample(), stream.next_stamp()), (Some(200), Some(20)));

    let early = chunk(&samples, 199, 400);
    assert_eq!(stream.push(&early), Err(ChannelizerError::OutOfOrder { expected: 200, actual: 199 }));
    let other = Samples::new(noise(3, 10, 1), inputs(3)).unwrap().with_first_sample(200);
    assert_eq!(stream.push(&other), Err(ChannelizerError::Inputs { expected: inputs(2), actual: inputs(3) }));
    let complex = chunk(&samples, 200, 400).into_data().mapv(|x| Complex::new(x, 0));
    let complex = Samples::new(complex, inputs(2)).unwrap().with_first_sample(200);
    assert_eq!(stream.push(&complex), Err(ChannelizerError::SampleKind { expected_complex: false }));
    let rate = chunk(&samples, 200, 400).with_sample_rate(2.0).unwrap();
    assert!(matches!(stream.push(&rate), Err(ChannelizerError::Axis { quantity: "sample rate in Hz", .. })));
    let centre = chunk(&samples, 200, 400).with_centre_frequency(1.0).unwrap();
    assert!(matches!(stream.push(&centre), Err(ChannelizerError::Axis { quantity: "centre frequency in Hz", .. })));
    let late = chunk(&samples, 200, 400).with_first_sample(u64::MAX - 100);
    assert!(matches!(stream.push(&late), Err(ChannelizerError::Counter { .. })));
    assert_eq!(stream.push(&chunk(&samples, 100, 100)).unwrap(), [], "nothing follows from nothing");

    let second = stream.push(&chunk(&samples, 200, 400)).unwrap().remove(0);
    let whole = down_convert(&Backend::cpu(), &samples, &plan).unwrap();
    assert_eq!(first.times() + second.times(), whole.times());
    assert_eq!(second.data(), whole.data().slice(s![.., first.times()..]));

    stream.reset();
    assert_eq!(stream.push(&rate).unwrap().len(), 1);
}

#[test]
fn only_a_tiny_centre_is_rounded_to_what_phases_count() {
    let centre = |centre| DownConverter::new(centre, 8, vec![1.0]).unwrap().centre_cycles_per_sample();
    for kept in [0.1, -0.3, 1.0, 2f64.powi(-12), -0.000_244_2, 2f64.powi(-64)] {
        assert_eq!(centre(kept), kept);
    }
    let tiny = 1e-9;
    assert!(centre(tiny) != tiny && (centre(tiny) - tiny).abs() <= 2f64.powi(-65));
}

#[test]
fn bad_plans_are_typed_errors() {
    let new = |centre, decimation, filter: &[f64]| DownConverter::new(centre, decimation, filter.to_vec()).unwrap_err();
    assert_eq!(new(1.5, 8, &[1.0]), ChannelizerError::Centre { actual: 1.5 });
    assert!(matches!(new(f64::NAN, 8, &[1.0]), ChannelizerError::Centre { actual } if actual.is_nan()));
    assert_eq!(new(0.1, 0, &[1.0]), ChannelizerError::Zero { quantity: "decimation" });
    assert_eq!(new(0.1, 8, &[]), ChannelizerError::Zero { quantity: "number of filter taps" });
    for tap in [f64::INFINITY, 1e39] {
        let expected = ChannelizerError::Coefficient { quantity: "filter", actual: tap, index: 1 };
        assert_eq!(new(0.1, 8, &[1.0, tap]), expected);
    }
    let plan = DownConverter::new(0.1, 8, vec![1.0]).unwrap();
    assert!(matches!(
        plan.with_phase_turns(f64::NAN),
        Err(ChannelizerError::Types(TypesError::NotFinite { quantity: "phase_turns", .. }))
    ));
}

#[test]
fn a_decimation_larger_than_the_recording_gives_one_output_or_an_error() {
    let samples = Samples::new(noise(1, 100, 2).mapv(|x| Complex::new(x, 1)), inputs(1)).unwrap();
    let plan = DownConverter::new(0.1, usize::MAX, filter(10)).unwrap();
    assert_eq!(down_convert(&Backend::cpu(), &samples, &plan).unwrap().times(), 1);
    let later = samples.with_first_sample(1);
    let error = down_convert(&Backend::cpu(), &later, &plan).unwrap_err();
    assert!(matches!(error, ChannelizerError::TooShort { actual: 100, .. }));
    let none = Samples::new(noise(1, 0, 2), inputs(1)).unwrap();
    let plan = DownConverter::new(0.1, 2, filter(10)).unwrap();
    assert_eq!(down_convert(&Backend::cpu(), &none, &plan), Err(ChannelizerError::TooShort { needed: 10, actual: 0 }));
}

proptest! {
    #[test]
    fn the_stated_memory_is_enough_for_whole_streams_and_a_byte_less_is_an_error(
        (taps, decimation, count) in (1..60usize, 1..30usize, 1..4usize),
        lengths in prop::collection::vec(1..90usize, 1..12),
        complex in any::<bool>(),
        first in 0..1000u64,
    ) {
        let plan = DownConverter::new(0.21, decimation, filter(taps)).unwrap();
        let run = |backend: &Backend| {
            let mut stream = DownConverterStream::new(backend, plan.clone(), inputs(count))?;
            let (mut outputs, mut from) = (Vec::new(), 0);
            for &length in &lengths {
                let data = noise(count, length, from as u64);
                let at = first + from as u64;
                outputs.push(if complex {
                    let data = data.mapv(|value| Complex::new(value, 3));
                    stream.push(&Samples::new(data, inputs(count)).unwrap().with_first_sample(at))?
                } else {
                    stream.push(&Samples::new(data, inputs(count)).unwrap().with_first_sample(at))?
                });
                assert!(stream.held_bytes() <= backend.memory_limit().unwrap_or(u64::MAX));
                assert!(stream.held_bytes() <= ((taps - 1) * count * if complex { 8 } else { 4 }) as u64);
                from += length;
            }
            Ok::<_, ChannelizerError>(outputs)
        };
        let stream = DownConverterStream::new(&Backend::cpu(), plan.clone(), inputs(count)).unwrap();
        let need = if complex { stream.memory::<Complex<i16>>(90) } else { stream.memory::<i16>(90) };
        let expected = run(&Backend::cpu()).unwrap();
        let least = need.smallest_step_bytes;
        prop_assert_eq!(run(&Backend::cpu().with_memory_limit(least)).unwrap(), expected);
        let error = run(&Backend::cpu().with_memory_limit(least - 1)).unwrap_err();
        let expected = DeviceError::MemoryLimit { operation: "down_convert", needed: least, limit: least - 1 };
        prop_assert_eq!(error, expected.into());
    }
}

#[test]
fn chunks_of_another_format_are_refused() {
    let plan = DownConverter::new(0.3, 9, filter(25)).unwrap();
    let data = noise(1, 200, 3);
    let mut stream = DownConverterStream::new(&Backend::cpu(), plan, inputs(1)).unwrap();
    stream.push(&Samples::new(data.slice(s![.., ..100]).to_owned(), inputs(1)).unwrap()).unwrap();
    let floats = data.slice(s![.., 100..]).mapv(f32::from);
    let floats = Samples::new(floats, inputs(1)).unwrap().with_first_sample(100);
    let (expected, actual) = ("real 16-bit integer".into(), "real 32-bit float".into());
    assert_eq!(stream.push(&floats), Err(ChannelizerError::Axis { quantity: "sample format", expected, actual }));
}

#[test]
fn packed_samples_give_what_they_are_unpacked() {
    let values = noise(3, 4000, 41);
    let plan = DownConverter::new(0.13, 5, filter(23)).unwrap();
    let typed = |part: std::ops::Range<usize>| {
        let data = values.slice(s![.., part.clone()]).to_owned();
        Samples::new(data, inputs(3)).unwrap().with_first_sample(77 + part.start as u64)
    };
    let packed = |part: std::ops::Range<usize>| {
        let packed = PackedSamples::pack(values.slice(s![.., part.clone()]), 10, inputs(3)).unwrap();
        packed.with_first_sample(77 + part.start as u64)
    };
    let expected = down_convert(&Backend::cpu(), &typed(0..4000), &plan).unwrap();
    assert_eq!(down_convert(&Backend::cpu(), &packed(0..4000), &plan).unwrap(), expected);
    let mut stream = DownConverterStream::new(&Backend::cpu(), plan.clone(), inputs(3)).unwrap();
    let mut from_typed = DownConverterStream::new(&Backend::cpu(), plan.clone(), inputs(3)).unwrap();
    for part in [0..1000, 1000..1003, 1003..4000] {
        assert_eq!(stream.push(&packed(part.clone())).unwrap(), from_typed.push(&typed(part)).unwrap());
    }
    // The unpacked samples are workspace: 24 000 bytes.
    let limited = Backend::cpu().with_memory_limit(24_000);
    let error = down_convert(&limited, &packed(0..4000), &plan).unwrap_err();
    assert!(matches!(error, ChannelizerError::Device(DeviceError::MemoryLimit { .. })), "{error}");
    let need = plan.memory::<i16>(&Backend::cpu(), 3, 4000).unwrap();
    let enough = Backend::cpu().with_memory_limit(24_000 + need.smallest_step_bytes);
    assert_eq!(down_convert(&enough, &packed(0..4000), &plan).unwrap(), expected);
}
