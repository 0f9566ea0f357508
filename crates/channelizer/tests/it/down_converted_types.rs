//! Outputs of other types, with gain and counts, and statistics: against the reference, in chunks and with missing
//! data.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use fringes_backend::Backend;
use fringes_channelizer::{
    ChannelizerError, DownConvertedSample, DownConverter, DownConverterStatistics, DownConverterStream, down_convert,
    down_convert_to,
};
use fringes_reference::ddc as reference;
use fringes_reference::quantiser::{quantise_value, saturates};
use fringes_types::{Complex, Inputs, PackedSamples, Sample, SampleChunk, SamplePresence, Samples, f16};
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

/// A step of the type near a value, and its limit.
fn step_and_limit<T: DownConvertedSample>(value: f64) -> (f64, f64) {
    match T::NAME {
        "i8" | "i16" => (1.0, T::LIMIT),
        "f16" => (2f64.powi((value.abs().max(6.2e-5).log2().floor() as i32 - 10).max(-24)), T::LIMIT),
        _ => (0.0, f64::INFINITY),
    }
}

/// Holds outputs of a type to half of a step and the bound of f32, and counts to what values beyond their bound allow.
fn hold<T: DownConvertedSample>(data: &Array2<i16>, plan: &DownConverter) {
    let samples = Samples::new(data.clone(), inputs(data.nrows())).unwrap();
    let found = down_convert_to::<T, _>(&Backend::cpu(), &samples, plan).unwrap();
    let (filter, decimation, gain) = (plan.filter(), plan.decimation(), plan.gain());
    for (input, row) in data.rows().into_iter().enumerate() {
        let x: Vec<f64> = row.iter().map(|&x| f64::from(x)).collect();
        let centre = plan.centre_cycles_per_sample();
        let exact = reference::down_convert_real(&x, filter, decimation, -centre, plan.phase_turns(), 0);
        let (mut least, mut most) = (0, 0);
        for (j, exact) in exact.iter().enumerate() {
            let size: f64 = x[j * decimation..].iter().zip(filter).map(|(x, h)| (x * h).abs()).sum();
            let bound = (1.5 * filter.len().div_ceil(8) as f64 + 8.0) * U * size * gain.abs();
            let value = found.samples.data()[(input, j)].to_c32();
            for (exact, value) in [(exact.re * gain, value.re), (exact.im * gain, value.im)] {
                let (step, limit) = step_and_limit::<T>(exact);
                let clamped = exact.clamp(-limit, limit);
                let error = (f64::from(value) - clamped).abs();
                assert!(error <= 0.5 * step + bound, "{}: {value} for {exact}, {error}", T::NAME);
                // Away from a tie it is the reference's integer.
                if T::NAME.starts_with('i') && ((clamped - clamped.floor()) - 0.5).abs() > bound {
                    assert_eq!(f64::from(value), quantise_value(exact, limit), "{exact}");
                }
            }
            let exact = exact * gain;
            let limit = T::LIMIT;
            let beyond = |margin: f64| saturates(exact, limit + margin);
            least += u64::from(limit.is_finite() && beyond(bound));
            most += u64::from(limit.is_finite() && beyond(-bound));
        }
        assert!((least..=most).contains(&found.saturated[input]), "{} {least} {most}", found.saturated[input]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn outputs_of_every_type_are_the_reference_within_half_a_step_and_the_bound(
        taps in 1usize..60, decimation in 1usize..30, centre in -1.0f64..1.0, gain in -3.0f64..3.0, seed: u64,
    ) {
        let data = noise(2, 300, seed);
        let plan = DownConverter::new(centre, decimation, filter(taps)).unwrap().with_phase_turns(0.3).unwrap();
        let plan = plan.with_gain(if gain == 0.0 { 1.0 } else { gain }).unwrap();
        hold::<Complex<f32>>(&data, &plan);
        hold::<Complex<f16>>(&data, &plan);
        hold::<Complex<i16>>(&data, &plan);
        hold::<Complex<i8>>(&data, &plan);
        hold::<Complex<i16>>(&data, &plan.clone().with_gain(gain * 30.0 + 1e-3).unwrap());
        hold::<Complex<f16>>(&data, &plan.with_gain(gain * 50.0 + 1e-3).unwrap());
    }
}

#[test]
fn ties_go_to_even_and_limits_are_symmetric() {
    // One tap at a centre of 0: outputs are the samples times the gain, exactly.
    let values: Vec<i16> = (-700..=700).collect();
    let data = Array2::from_shape_vec((1, values.len()), values.clone()).unwrap();
    let samples = Samples::new(data, inputs(1)).unwrap();
    let plan = DownConverter::new(0.0, 1, vec![1.0]).unwrap().with_gain(0.25).unwrap();
    let found = down_convert_to::<Complex<i8>, _>(&Backend::cpu(), &samples, &plan).unwrap();
    let mut beyond = 0;
    for (value, found) in values.iter().zip(found.samples.data()) {
        let exact = f64::from(*value) / 4.0;
        assert_eq!(f64::from(found.re), exact.clamp(-127.0, 127.0).round_ties_even(), "{exact}");
        assert_eq!(found.im, 0);
        beyond += u64::from(exact.abs() > 127.0);
    }
    assert_eq!(found.saturated.to_vec(), [beyond]);
    assert!(beyond > 300);
    // 16 bits: gains that bring samples to ties beside the limit.
    let plan = plan.with_gain(46.5).unwrap();
    let found = down_convert_to::<Complex<i16>, _>(&Backend::cpu(), &samples, &plan).unwrap();
    for (value, found) in values.iter().zip(found.samples.data()) {
        let exact = f64::from(*value) * 46.5;
        assert_eq!(f64::from(found.re), exact.clamp(-32767.0, 32767.0).round_ties_even(), "{exact}");
    }
    assert_eq!(found.samples.data()[(0, 1)].re, -32504, "699 * 46.5 is a tie");
}

#[test]
fn what_is_no_number_becomes_zero_in_integers_and_counts() {
    let data = Array2::from_shape_vec((1, 4), vec![f32::NAN, f32::INFINITY, -1e30, 3.0]).unwrap();
    let samples = Samples::new(data, inputs(1)).unwrap();
    let plan = DownConverter::new(0.0, 1, vec![1.0]).unwrap();
    let found = down_convert_to::<Complex<i16>, _>(&Backend::cpu(), &samples, &plan).unwrap();
    // Infinity times the imaginary part 0 of a weight is NaN.
    let re: Vec<i16> = found.samples.data().iter().map(|value| value.re).collect();
    assert_eq!((re[0], re[2], re[3]), (0, -32767, 3));
    assert_eq!(found.saturated.to_vec(), [3]);
    let found = down_convert_to::<Complex<f16>, _>(&Backend::cpu(), &samples, &plan).unwrap();
    assert!(found.samples.data()[(0, 0)].re.is_nan());
    assert_eq!(found.samples.data()[(0, 2)].re, f16::MIN);
}

#[test]
fn a_gain_multiplies_and_a_bad_one_is_an_error() {
    let samples = Samples::new(noise(2, 500, 4), inputs(2)).unwrap();
    let plan = DownConverter::new(0.2, 5, filter(30)).unwrap();
    let one = down_convert(&Backend::cpu(), &samples, &plan).unwrap();
    // Powers of two are exact, and a gain does not depend on when the phase is set.
    let eight = plan.clone().with_gain(-8.0).unwrap().with_phase_turns(0.0).unwrap();
    assert_eq!(down_convert(&Backend::cpu(), &samples, &eight).unwrap().data(), one.data().mapv(|y| y * -8.0));
    for gain in [0.0, -0.0, f64::NAN, f64::INFINITY, 1e-300, 1e39, -1e-40] {
        let error = plan.clone().with_gain(gain).unwrap_err();
        assert!(matches!(error, ChannelizerError::Gain { actual } if actual.to_bits() == gain.to_bits()), "{error}");
    }
}

/// Parts of samples as chunks with the flags of their own samples.
fn chunks<S: Sample>(samples: &Samples<S>, edges: &[usize]) -> Vec<Samples<S>> {
    let of = |edge: &[usize]| {
        let (from, to) = (edge[0], edge[1]);
        let data = samples.data().slice(s![.., from..to]).to_owned();
        let chunk =
            Samples::new(data, samples.inputs()).unwrap().with_first_sample(samples.first_sample() + from as u64);
        match samples.presence() {
            None => chunk,
            Some(presence) => {
                let shape = (samples.inputs().len(), to - from);
                let flags = Array2::from_shape_fn(shape, |(i, t)| presence.is_present(i, from + t));
                chunk.with_presence(SamplePresence::new(1, flags).unwrap()).unwrap()
            }
        }
    };
    edges.windows(2).map(of).collect()
}

/// Outputs and statistics of chunks; statistics are taken after each chunk if that is asked for.
fn run<T: DownConvertedSample>(
    plan: &DownConverter,
    chunks: &[Samples<i16>],
    take: bool,
) -> (Vec<Samples<T>>, Vec<DownConverterStatistics>) {
    let stream = DownConverterStream::new(&Backend::cpu(), plan.clone(), chunks[0].inputs()).unwrap();
    let mut stream = stream.with_output::<T>().unwrap().with_statistics().unwrap();
    let mut total = vec![DownConverterStatistics::default(); chunks[0].inputs().len()];
    let mut outputs = Vec::new();
    for (number, chunk) in chunks.iter().enumerate() {
        outputs.extend(stream.push(chunk).unwrap());
        if take || number + 1 == chunks.len() {
            for (total, more) in total.iter_mut().zip(stream.take_statistics().unwrap()) {
                total.samples.samples += more.samples.samples;
                total.samples.sum_of_squares += more.samples.sum_of_squares;
                total.samples.clipped += more.samples.clipped;
                total.outputs.outputs += more.outputs.outputs;
                total.outputs.sum_of_squares += more.outputs.sum_of_squares;
                total.outputs.saturated += more.outputs.saturated;
            }
        }
    }
    assert_eq!(stream.take_statistics().unwrap(), vec![DownConverterStatistics::default(); total.len()]);
    (outputs, total)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn statistics_are_those_of_the_definition_however_a_stream_is_cut(
        taps in 1usize..200, decimation in 1usize..12, first in 0u64..400,
        cuts in prop::collection::vec(0usize..2000, 0..8), block in 1usize..50, missing: bool, take: bool, seed: u64,
    ) {
        let data = noise(2, 2000, seed);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let flags = Array2::from_shape_simple_fn((2, 2000usize.div_ceil(block)), || rng.random_range(0..10) != 0);
        let mut samples = Samples::new(data, inputs(2)).unwrap().with_first_sample(first);
        if missing {
            samples = samples.with_presence(SamplePresence::new(block, flags).unwrap()).unwrap();
        }
        let mut edges = cuts;
        edges.extend([0, 2000]);
        edges.sort_unstable();
        let plan = DownConverter::new(0.2, decimation, filter(taps)).unwrap().with_gain(0.3).unwrap();
        let whole = down_convert_to::<Complex<i8>, _>(&Backend::cpu(), &samples, &plan).unwrap();
        let (outputs, statistics) = run::<Complex<i8>>(&plan, &chunks(&samples, &edges), take);
        let mut next = 0;
        for part in &outputs {
            for time in 0..part.times() {
                prop_assert!(part.data().column(time) == whole.samples.data().column(next));
                next += 1;
            }
        }
        prop_assert_eq!(next, whole.samples.times());
        let counted = reference::counted_samples(first..first + 2000, taps as u64, decimation as u64);
        for (input, found) in statistics.iter().enumerate() {
            let present = |&n: &u64| samples.presence().is_none_or(|p| p.is_present(input, (n - first) as usize));
            let counted: Vec<i64> = counted
                .clone()
                .filter(present)
                .map(|n| i64::from(samples.data()[(input, (n - first) as usize)]))
                .collect();
            prop_assert_eq!(found.samples.samples, counted.len() as u64);
            prop_assert_eq!(found.samples.sum_of_squares, counted.iter().map(|x| x * x).sum::<i64>() as f64);
            let there = |j: usize| whole.samples.presence().is_none_or(|p| p.is_present(input, j));
            let outputs: Vec<_> = (0..next).filter(|&j| there(j)).collect();
            prop_assert_eq!(found.outputs.outputs, outputs.len() as u64);
            let square = |j: &usize| {
                let value = whole.samples.data()[(input, *j)];
                i64::from(value.re) * i64::from(value.re) + i64::from(value.im) * i64::from(value.im)
            };
            prop_assert_eq!(found.outputs.sum_of_squares, outputs.iter().map(square).sum::<i64>() as f64);
            prop_assert_eq!(found.outputs.saturated, whole.saturated[input]);
        }
    }
}

#[test]
fn samples_at_the_ends_of_their_range_are_counted_once() {
    // 10 bits: -512 and 511; a filter shorter than 16 outputs, so that samples come behind their output.
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
    let end = [-512i16, 511, 0, 17];
    let values = Array2::from_shape_simple_fn((1, 4096), || end[rng.random_range(0..4)]);
    let plan = DownConverter::new(0.2, 8, filter(10)).unwrap();
    let mut stream = DownConverterStream::new(&Backend::cpu(), plan, inputs(1)).unwrap().with_statistics().unwrap();
    for (from, to) in [(0, 100), (100, 101), (101, 1111), (1111, 4096)] {
        let packed = PackedSamples::pack(values.slice(s![.., from..to]), 10, inputs(1)).unwrap();
        stream.push(&packed.with_first_sample(from as u64)).unwrap();
    }
    let statistics = stream.take_statistics().unwrap()[0];
    let at_end = values.iter().filter(|&&value| value == -512 || value == 511).count();
    assert_eq!((statistics.samples.samples, statistics.samples.clipped), (4096, at_end as u64));
    assert_eq!(statistics.outputs.outputs, (4096 - 10) / 8 + 1);
    assert!(statistics.outputs.power() > 0.0);
}

#[test]
fn float_outputs_have_their_power_and_statistics_must_be_switched_on() {
    let samples = Samples::new(noise(1, 5000, 3), inputs(1)).unwrap();
    let plan = DownConverter::new(0.2, 8, filter(128)).unwrap();
    let (outputs, statistics) = run::<Complex<f32>>(&plan, std::slice::from_ref(&samples), false);
    let square = |value: &Complex<f32>| f64::from(value.re).powi(2) + f64::from(value.im).powi(2);
    let expected: f64 = outputs[0].data().iter().map(square).sum();
    let found = statistics[0].outputs;
    assert!((found.sum_of_squares - expected).abs() <= expected * 1300.0 * 2f64.powi(-53));
    assert_eq!((found.outputs, found.saturated), (outputs[0].times() as u64, 0));
    let mut stream = DownConverterStream::new(&Backend::cpu(), plan, inputs(1)).unwrap();
    stream.push(&samples).unwrap();
    assert_eq!(stream.take_statistics(), Err(ChannelizerError::NoStatistics));
    let mut stream = stream.with_statistics().unwrap();
    // What came before is not counted; a reset forgets what was.
    assert_eq!(stream.take_statistics().unwrap()[0], DownConverterStatistics::default());
    stream.push(&samples.with_first_sample(5000)).unwrap();
    stream.reset();
    assert_eq!(stream.take_statistics().unwrap()[0], DownConverterStatistics::default());
}

#[test]
fn the_next_stage_takes_outputs_of_every_type() {
    fn hold<T: DownConvertedSample>() {
        let samples = Samples::new(noise(2, 3000, 3), inputs(2)).unwrap();
        let plan = DownConverter::new(0.2, 8, filter(64)).unwrap();
        let narrow = down_convert_to::<T, _>(&Backend::cpu(), &samples, &plan).unwrap().samples;
        assert_eq!(narrow.format().to_string(), format!("complex {}", T::FORMAT));
        let plan = fringes_channelizer::Channelizer::complex(16).taps(2).build().unwrap();
        assert!(fringes_channelizer::channelize(&Backend::cpu(), &narrow, &plan).unwrap().times() > 10);
    }
    hold::<Complex<f32>>();
    hold::<Complex<f16>>();
    hold::<Complex<i16>>();
    hold::<Complex<i8>>();
}
