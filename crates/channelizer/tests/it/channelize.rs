//! One array through the filter bank: tones, power, frequencies, presence, memory, bad input.

#![allow(clippy::unwrap_used)] // helpers of tests, outside the test functions themselves

use std::f64::consts::TAU;

use fringes_backend::{Backend, DeviceError};
use fringes_channelizer::{Channelizer, ChannelizerError, Window, channelize};
use fringes_types::{
    ChunkFormat, Complex, Inputs, PackedSamples, Sample, SampleChunk, SamplePresence, Samples, TypesError,
};
use ndarray::{Array2, Axis};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

type C64 = Complex<f64>;

/// Half of f32's epsilon.
const U: f64 = f32::EPSILON as f64 / 2.0;

fn wide(value: Complex<f32>) -> C64 {
    C64::new(value.re.into(), value.im.into())
}

fn samples<S: Sample>(data: Array2<S>) -> Samples<S> {
    let inputs = Inputs::single_pol(data.nrows()).unwrap();
    Samples::new(data, inputs).unwrap()
}

fn noise(inputs: usize, length: usize, seed: u64) -> Array2<f32> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    Array2::from_shape_simple_fn((inputs, length), || rng.random_range(-1.0..1.0))
}

fn complex_noise(inputs: usize, length: usize, seed: u64) -> Array2<Complex<f32>> {
    let im = noise(inputs, length, seed + 1);
    let mut noise = noise(inputs, length, seed).mapv(|re| Complex::new(re, 0.0));
    noise.zip_mut_with(&im, |value, &im| value.im = im);
    noise
}

/// The stated bound for samples of magnitude up to `size`, a step without large prime factors and weights of sum of
/// squares 1: `||a||^2 = sum_p (sum_j |w x|)^2 <= size^2 taps sum w^2`.
fn bound(plan: &Channelizer, size: f64) -> f64 {
    let (taps, step) = (plan.taps() as f64, plan.step() as f64);
    U * (taps + 1.0 + 7.0 * step.log2()) * step.sqrt() * size * taps.sqrt()
}

#[test]
fn a_tone_in_each_channel_has_the_weights_sum_there_and_the_same_phase_in_every_spectrum() {
    for (channels, oversampling, first_sample) in
        [(16, (1, 1), 0), (12, (4, 3), 5), (60, (1, 1), 77), (32, (32, 27), 3), (1, (1, 1), 1), (7, (7, 1), 10)]
    {
        let builder = Channelizer::complex(channels).taps(4).oversampling(oversampling.0, oversampling.1);
        let plan = builder.build().unwrap();
        let gain: f64 = plan.weights().iter().sum();
        for channel in 0..channels {
            let bin = channel as i64 - (channels / 2) as i64;
            let tone = Array2::from_shape_fn((1, 4 * channels + 5 * plan.stride()), |(_, i)| {
                let cycles = (bin * (first_sample as i64 + i as i64)).rem_euclid(channels as i64);
                let value = C64::from_polar(1.0, TAU * cycles as f64 / channels as f64);
                Complex::new(value.re as f32, value.im as f32)
            });
            let tone = samples(tone).with_first_sample(first_sample);
            let voltages = channelize(&Backend::cpu(), &tone, &plan).unwrap();
            assert_eq!(voltages.times(), 6);
            for time in 0..6 {
                let value = wide(voltages.data()[(channel, time, 0)]);
                // The tone's own rounding to f32 adds at most U sqrt(taps step) in all.
                let bound = bound(&plan, 1.0) + U * (4.0 * channels as f64).sqrt();
                assert!((value - gain).norm() < bound, "{channels} {channel} {time}: {value} {gain}");
            }
        }
    }
}

#[test]
fn one_rectangular_tap_conserves_power() {
    for channels in [1, 2, 60, 67, 1536] {
        let plan = Channelizer::complex(channels).taps(1).window(Window::Rect).w_cutoff(0.0).build().unwrap();
        let samples = samples(complex_noise(2, 3 * channels, 1));
        let voltages = channelize(&Backend::cpu(), &samples, &plan).unwrap();
        for input in 0..2 {
            let power: f64 = samples.data().row(input).iter().map(|&value| wide(value).norm_sqr()).sum();
            let data = voltages.data();
            let found: f64 = data.index_axis(Axis(2), input).iter().map(|&value| wide(value).norm_sqr()).sum();
            // Relative error of the norm: that of the spectra, with ten times a transform's rounding for the prime 67.
            let relative = U * (2.0 + 70.0 * (channels as f64).log2());
            assert!((found / power - 1.0).abs() < 2.0 * relative, "{channels}");
        }
    }
}

#[test]
fn white_noise_has_its_variance_in_every_channel() {
    let plan = Channelizer::real(8).taps(8).build().unwrap();
    let voltages = channelize(&Backend::cpu(), &samples(noise(1, 16 * 20_000, 2)), &plan).unwrap();
    for (channel, row) in voltages.data().outer_iter().enumerate() {
        let power = row.iter().map(|value| f64::from(value.norm_sqr())).sum::<f64>() / voltages.times() as f64;
        // Uniform noise in -1..1 has variance 1/3. The mean of n exponential (in channel 0: chi-squared) powers has the
        // relative deviation sqrt(1/n) (sqrt(2/n)), neighbouring spectra of 8 overlapping taps being nearly
        // independent.
        let deviation = (if channel == 0 { 2.0 } else { 1.0f64 } / voltages.times() as f64).sqrt();
        assert!((power * 3.0 - 1.0).abs() < 5.0 * deviation, "{channel}: {power}");
    }
}

#[test]
fn channels_have_the_frequencies_of_the_band() {
    let axis = |complex: bool, channels: usize, centre: Option<f64>| {
        let builder = if complex { Channelizer::complex(channels) } else { Channelizer::real(channels) };
        let plan = builder.taps(1).window(Window::Rect).build().unwrap();
        let frequencies = if complex {
            let samples = samples(complex_noise(1, 64, 1)).with_sample_rate(80e6).unwrap();
            let samples = if let Some(hz) = centre { samples.with_centre_frequency(hz).unwrap() } else { samples };
            channelize(&Backend::cpu(), &samples, &plan).unwrap().frequencies()
        } else {
            let samples = samples(noise(1, 64, 1)).with_sample_rate(80e6).unwrap();
            let samples = if let Some(hz) = centre { samples.with_centre_frequency(hz).unwrap() } else { samples };
            channelize(&Backend::cpu(), &samples, &plan).unwrap().frequencies()
        };
        (frequencies.first_hz, frequencies.step_hz)
    };
    assert_eq!(axis(false, 8, None), (0.0, 5e6));
    assert_eq!(axis(false, 8, Some(1.4e9)), (1.38e9, 5e6));
    assert_eq!(axis(true, 8, None), (-40e6, 10e6));
    assert_eq!(axis(true, 8, Some(1.4e9)), (1.36e9, 10e6));
    assert_eq!(axis(true, 5, Some(1.4e9)), (1.4e9 - 2.0 * 16e6, 16e6));
    assert_eq!(axis(true, 1, Some(1.4e9)), (1.4e9, 80e6));
}

#[test]
fn a_spectrum_is_absent_exactly_if_a_sample_of_its_window_is_missing() {
    let plan = Channelizer::real(4).taps(3).oversampling(2, 1).build().unwrap();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    for block in [1, 5, 8, 300] {
        let flags = Array2::from_shape_simple_fn((3, 200usize.div_ceil(block)), || rng.random_range(0.0..1.0) > 0.03);
        let presence = SamplePresence::new(block, flags).unwrap();
        let samples = samples(noise(3, 200, 4)).with_presence(presence.clone()).unwrap();
        let voltages = channelize(&Backend::cpu(), &samples, &plan).unwrap();
        for time in 0..voltages.times() {
            for input in 0..3 {
                let expected = (time * 4..time * 4 + 24).all(|sample| presence.is_present(input, sample));
                let found = voltages.presence().is_none_or(|presence| presence[(time, input)]);
                assert_eq!(found, expected, "{block} {time} {input}");
            }
        }
    }
}

#[test]
fn phases_are_referred_to_absolute_time_exactly_at_1e14_samples() {
    // 96 divides neither counter, and both leave the same remainder.
    let late = 100_000_000_000_007u64;
    let plan = Channelizer::real(48).taps(3).oversampling(3, 2).build().unwrap();
    let run = |first: u64| {
        let samples = samples(noise(2, 1000, 5)).with_first_sample(first);
        let voltages = channelize(&Backend::cpu(), &samples, &plan).unwrap();
        assert_eq!(voltages.clock().first_sample, first);
        voltages.into_data()
    };
    assert_eq!(run(late), run(late % 96));
    assert_ne!(run(late), run(0));
}

#[test]
fn the_memory_limit_does_not_change_a_bit_and_is_kept() {
    let plan = Channelizer::real(256).taps(4).build().unwrap();
    let samples = samples(noise(5, 30_000, 6));
    let need = plan.memory(&Backend::cpu(), samples.inputs(), 30_000, SampleChunk::format(&samples)).unwrap();
    assert_eq!(need.input_bytes, 5 * 30_000 * 4);
    assert_eq!(need.output_bytes, 5 * 256 * plan.spectra(30_000) as u64 * 8);
    assert!(need.smallest_step_bytes < need.workspace_bytes);
    let free = channelize(&Backend::cpu(), &samples, &plan).unwrap();
    for limit in [need.smallest_step_bytes, need.workspace_bytes / 3, need.workspace_bytes] {
        let limited = Backend::cpu().with_memory_limit(limit);
        assert_eq!(channelize(&limited, &samples, &plan).unwrap(), free);
    }
    let limited = Backend::cpu().with_memory_limit(need.smallest_step_bytes - 1);
    let error = channelize(&limited, &samples, &plan).unwrap_err();
    assert!(matches!(error, ChannelizerError::Device(DeviceError::MemoryLimit { .. })), "{error}");
}

#[test]
fn one_channel_is_the_filtered_samples() {
    let weights = vec![0.25, 0.5, 0.125];
    let plan = Channelizer::complex(1).taps(3).weights(weights.clone()).build().unwrap();
    let x = complex_noise(1, 50, 7);
    let voltages = channelize(&Backend::cpu(), &samples(x.clone()), &plan).unwrap();
    assert_eq!(voltages.times(), 48);
    for time in 0..48 {
        let expected: C64 = (0..3).map(|t| wide(x[(0, time + t)]) * weights[t]).sum();
        assert!((wide(voltages.data()[(0, time, 0)]) - expected).norm() < bound(&plan, 2f64.sqrt()));
    }
    // Real: two samples a step, whose sum is channel 0.
    let plan = Channelizer::real(1).taps(1).weights(vec![1.0, 1.0]).build().unwrap();
    let x = noise(1, 50, 8);
    let voltages = channelize(&Backend::cpu(), &samples(x.clone()), &plan).unwrap();
    for time in 0..25 {
        assert_eq!(voltages.data()[(0, time, 0)], Complex::new(x[(0, 2 * time)] + x[(0, 2 * time + 1)], 0.0));
    }
}

#[test]
fn bad_plans_are_errors_that_say_what_came() {
    use ChannelizerError as Error;
    let error = |builder: fringes_channelizer::ChannelizerBuilder| builder.build().unwrap_err();
    assert_eq!(error(Channelizer::real(0)), Error::Zero { quantity: "channels" });
    assert_eq!(error(Channelizer::complex(8).taps(0)), Error::Zero { quantity: "taps" });
    assert_eq!(
        error(Channelizer::real(4).taps(2).weights(vec![1.0; 15])),
        Error::Length { quantity: "weights", expected: 16, actual: 15 }
    );
    let mut weights = vec![1.0; 16];
    weights[3] = 1e40;
    assert_eq!(
        error(Channelizer::real(4).taps(2).weights(weights)),
        Error::Coefficient { quantity: "weights", actual: 1e40, index: 3 }
    );
    let nan = error(Channelizer::real(4).taps(2).weights(vec![f64::NAN; 16]));
    assert!(matches!(nan, Error::Coefficient { quantity: "weights", index: 0, .. }));
    for bad in [f64::NAN, f64::INFINITY, -1.0] {
        assert!(matches!(error(Channelizer::real(4).w_cutoff(bad)), Error::Parameter { .. }));
        assert!(matches!(error(Channelizer::real(4).window(Window::Kaiser { beta: bad })), Error::Parameter { .. }));
    }
    assert!(matches!(error(Channelizer::real(4).window(Window::Kaiser { beta: 701.0 })), Error::Parameter { .. }));
    assert!(Channelizer::real(4).window(Window::Kaiser { beta: 700.0 }).build().is_ok());
    assert_eq!(error(Channelizer::real(1).taps(1)), Error::NoWeight { taps: 1, step: 2 });
    for (numerator, denominator) in [(0, 0), (0, 1), (1, 0), (3, 4), (7, 5), (17, 1)] {
        let expected = Error::Oversampling { numerator, denominator, step: 16 };
        assert_eq!(error(Channelizer::real(8).oversampling(numerator, denominator)), expected);
    }
    for (channels, taps) in [(usize::MAX, 1), (usize::MAX / 2, 3), (1 << 20, 1 << 20)] {
        let error = error(Channelizer::real(channels).taps(taps));
        assert!(matches!(error, Error::Types(TypesError::TooLarge { .. })), "{error}");
    }
}

#[test]
fn bad_samples_are_errors_that_say_what_came() {
    use ChannelizerError as Error;
    let backend = Backend::cpu();
    let (real, complex) = (Channelizer::real(8).build().unwrap(), Channelizer::complex(8).build().unwrap());
    let error = channelize(&backend, &samples(complex_noise(1, 512, 1)), &real).unwrap_err();
    assert_eq!(error, Error::SampleKind { expected_complex: false });
    assert_eq!(error.to_string(), "the plan takes real samples, found complex");
    let error = channelize(&backend, &samples(noise(1, 512, 1)), &complex).unwrap_err();
    assert_eq!(error, Error::SampleKind { expected_complex: true });
    let error = channelize(&backend, &samples(noise(1, 255, 1)), &real).unwrap_err();
    assert_eq!(error, Error::TooShort { needed: 256, actual: 255 });
    let error = channelize(&backend, &samples(noise(1, 512, 1)).with_first_sample(u64::MAX), &real).unwrap_err();
    assert!(matches!(error, Error::Counter { actual: u64::MAX, .. }));
}

/// Builds plans in a process with little memory; see the next test.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "runs in a process of its own, with a limit on its memory"]
fn large_plans_of_a_small_process() {
    for (channels, complex) in [(1usize << 30, true), (1 << 29, false), (1 << 26, true), (1 << 25, false)] {
        let plan = if complex { Channelizer::complex(channels) } else { Channelizer::real(channels) };
        let error = plan.taps(1).build().unwrap_err();
        assert!(matches!(error, ChannelizerError::Types(TypesError::TooLarge { .. })), "{error}");
    }
    // 2^24 + 1 has a large factor: the transform is a convolution.
    for channels in [1 << 25, (1 << 24) + 1] {
        let error = Channelizer::complex(channels).taps(1).build().unwrap_err();
        assert!(matches!(error, ChannelizerError::Types(TypesError::TooLarge { .. })), "{error}");
    }
    assert!(Channelizer::complex(1 << 16).taps(4).build().is_ok());
}

#[cfg(target_os = "linux")]
#[test]
fn plans_whose_tables_cannot_be_allocated_are_errors() {
    let program = std::env::current_exe().unwrap();
    let command = "ulimit -v 1000000 && exec \"$0\" --exact channelize::large_plans_of_a_small_process --ignored";
    let output = std::process::Command::new("sh").arg("-c").arg(command).arg(program).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text} {}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("1 passed"), "{text}");
}

#[test]
fn packed_samples_give_what_they_are_unpacked() {
    let inputs = Inputs::new(3, 2).unwrap();
    let values = noise(6, 5000, 31).mapv(|value| (500.0 * value) as i16);
    let presence = || SamplePresence::new(100, Array2::from_shape_fn((6, 50), |(i, block)| i != 2 || block != 7));
    let packed = PackedSamples::pack(values.view(), 10, inputs).unwrap().with_first_sample(1_000_003);
    let packed = packed.with_presence(presence().unwrap()).unwrap();
    let typed = Samples::new(values, inputs).unwrap().with_first_sample(1_000_003);
    let typed = typed.with_presence(presence().unwrap()).unwrap();
    let plan = Channelizer::real(48).taps(3).oversampling(4, 3).build().unwrap();
    let of_packed = channelize(&Backend::cpu(), &packed, &plan).unwrap();
    assert_eq!(of_packed, channelize(&Backend::cpu(), &typed, &plan).unwrap());
    assert_eq!(of_packed.clock().first_sample, 1_000_003);
    assert!(of_packed.presence().is_some());
    // By a reference to whatever chunk it is.
    let any: &dyn SampleChunk = &packed;
    assert_eq!(channelize(&Backend::cpu(), any, &plan).unwrap(), of_packed);
    // What memory the samples take is told by their format.
    let need = |format| plan.memory(&Backend::cpu(), inputs, 5000, format).unwrap();
    assert_eq!(need(ChunkFormat::Packed { bits: 10 }).input_bytes, 6 * 6250);
    assert_eq!(need(SampleChunk::format(&typed)).input_bytes, 6 * 10_000);
    let complex = ChunkFormat::Typed { format: i16::FORMAT, complex: true };
    let error = plan.memory(&Backend::cpu(), inputs, 5000, complex).unwrap_err();
    assert_eq!(error, ChannelizerError::SampleKind { expected_complex: false });
}
