//! What an F-engine does to signals that are known in closed form: response, spurious-free range, delays, phases,
//! noise.
//!
//! On a GPU 10-bit samples of 256 channels and more go through the fast kernels, all others through the general ones.
//! `cargo test -p fringes-f-engine --test f_engine -- --include-ignored physics` asks for a GPU.

use std::f64::consts::TAU;

use fringes_backend::Backend;
use fringes_channelizer::{Channelizer, ChannelizerBuilder};
use fringes_delay_model::{DelayModel, DelaySegment};
use fringes_f_engine::{FEngine, FEngineBuilder, FrameSample, Frames, f_engine};
use fringes_types::{Complex, Gains, Heaps, Inputs, PackedSamples, SampleChunk, Samples};
use ndarray::Array2;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::support::{C64, U, more_units, strict_backends};

/// `W(d) = sum_i w_i exp(2 pi i d i)`, `d` in cycles a sample.
fn transform_of_weights(weights: &[f64], d: f64) -> C64 {
    weights.iter().enumerate().map(|(i, &w)| w * C64::from_polar(1.0, TAU * (d * i as f64).fract())).sum()
}

/// Bound of the error of a channel's value, samples being of magnitude 1: with `A` the sum of the weights' magnitudes
/// and `u = 2^-24`, the filter's `(taps + 1) u A`, `7 u A` of each of `log2 step` stages of the transform, the
/// rotation's `(2 + 2 sqrt 5) u A`, and what a GPU adds.
fn bound(backend: &Backend, plan: &Channelizer) -> f64 {
    let a: f64 = plan.weights().iter().map(|weight| weight.abs()).sum();
    let stages = 7.0 * (plan.step() as f64).log2();
    let units = plan.taps() as f64 + 1.0 + stages + 2.0 + 2.0 * 5f64.sqrt() + more_units(backend, plan.taps());
    units * U * a
}

fn hann(builder: ChannelizerBuilder) -> Channelizer {
    builder.taps(16).build().unwrap()
}

#[test]
#[ignore = "asks for a GPU: fails where the other tests had none"]
fn there_is_a_gpu_for_these_tests() {
    let backends = strict_backends();
    let device = backends.last().and_then(Backend::device).unwrap();
    println!("{}", device.info());
}

/// The only frame of a chunk by itself.
fn alone<Q: FrameSample>(engine: &mut FEngine<Q>, chunk: &dyn SampleChunk) -> Frames<Heaps<Q>> {
    engine.reset();
    let mut frames = engine.push(chunk).unwrap().frames;
    frames.extend(engine.flush().unwrap());
    assert_eq!(frames.len(), 1);
    frames.remove(0)
}

/// Frames of one input.
fn frames_of<Q: FrameSample>(
    backend: &Backend,
    chunk: &dyn SampleChunk,
    plan: &Channelizer,
    change: impl Fn(FEngineBuilder) -> FEngineBuilder,
) -> Frames<Heaps<Q>> {
    let builder = FEngineBuilder::new(plan.clone(), Inputs::single_pol(1).unwrap()).spectra_per_frame(4);
    f_engine(backend, chunk, change(builder)).unwrap().frames.remove(0)
}

/// The values of one channel in the order of time, those that are present.
fn channel<Q: FrameSample>(frames: &Frames<Heaps<Q>>, channel: usize) -> Vec<C64> {
    let spectra = frames.voltages.spectra_per_heap();
    let present = frames.spectra_present.column(0).iter().filter(|&&present| present).count();
    let value = |time: usize| frames.voltages.data()[(time / spectra, 0, channel, time % spectra, 0)].to_c32();
    (0..present).map(value).map(|value| C64::new(value.re.into(), value.im.into())).collect()
}

fn decibel(ratio: f64) -> f64 {
    20.0 * ratio.log10()
}

#[test]
fn a_tone_at_every_offset_gives_the_response_of_the_weights_transform() {
    let channels = 64;
    let plan = hann(Channelizer::complex(channels));
    let middle = transform_of_weights(plan.weights(), 0.0).norm();
    let width = 1.0 / channels as f64;
    for backend in strict_backends() {
        let builder = FEngineBuilder::new(plan.clone(), Inputs::single_pol(1).unwrap()).spectra_per_frame(4);
        let mut engine = builder.build::<Complex<f32>>(&backend).unwrap();
        // Offsets in channels: every hundredth over two channels to either side.
        for offset in (-200..=200).map(|step| f64::from(step) / 100.0) {
            let nu = (5.0 + offset) * width;
            let tone = Array2::from_shape_fn((1, plan.window_samples()), |(_, time)| {
                let value = C64::from_polar(1.0, TAU * (nu * time as f64).fract());
                Complex::new(value.re as f32, value.im as f32)
            });
            let samples = Samples::new(tone, Inputs::single_pol(1).unwrap()).unwrap();
            let found = channel(&alone(&mut engine, &samples), channels / 2 + 5)[0];
            let expected = transform_of_weights(plan.weights(), offset * width);
            // The tone itself is rounded to f32.
            let rounding = U * plan.weights().iter().map(|weight| weight.abs()).sum::<f64>();
            let bound = bound(&backend, &plan) + rounding;
            assert!((found - expected).norm() < bound, "{offset}: {found} {expected}");
            // Far below the smallest response that is looked at, -53 dB.
            assert!(bound < 1e-4 * middle);
        }
    }
    // What the response is, by full width: -3 dB at 0.946 channels, -6 dB at 1.000; the first null is at 1.2, the lobe
    // behind it at -44 dB, and at 1.30, on its way to the second null, the response is -52 dB.
    let response =
        |full_width: f64| decibel(transform_of_weights(plan.weights(), full_width / 2.0 * width).norm() / middle);
    for (full_width, expected) in [(0.9458, -3.0), (1.0, -6.02), (1.25, -44.0), (1.3, -51.9), (1.304, -53.5)] {
        assert!((response(full_width) - expected).abs() < 0.2, "{full_width}: {} dB", response(full_width));
    }
}

#[test]
fn a_digitised_tone_has_that_response_but_for_its_rounding() {
    let channels = 1024;
    let plan = hann(Channelizer::real(channels));
    let inputs = Inputs::single_pol(1).unwrap();
    let width = 1.0 / (2 * channels) as f64;
    let amplitude = 500.0;
    let middle = transform_of_weights(plan.weights(), 0.0).norm();
    // Rounding errors are even over one level, with a variance of 1/12: half of their sum's is in either part. Six
    // deviations of a part, in both.
    let squares: f64 = plan.weights().iter().map(|w| w * w).sum();
    for backend in strict_backends() {
        let bound = 6.0 * (squares / 12.0 / 2.0).sqrt() * 2f64.sqrt() + amplitude * bound(&backend, &plan);
        let builder = FEngineBuilder::new(plan.clone(), inputs).spectra_per_frame(4);
        let mut engine = builder.build::<Complex<f32>>(&backend).unwrap();
        let mut largest = 0f64;
        for offset in (-40..=40).map(|step| f64::from(step) / 20.0) {
            // An odd part of a channel, so that no period of samples is short.
            let offset = offset + 0.000_314;
            let nu = (700.0 + offset) * width;
            let tone = Array2::from_shape_fn((1, plan.window_samples()), |(_, time)| {
                (amplitude * (TAU * (nu * time as f64).fract()).cos()).round() as i16
            });
            let packed = PackedSamples::pack(tone.view(), 10, inputs).unwrap();
            let found = channel(&alone(&mut engine, &packed), 700)[0];
            // The tone's other half is 1400 channels away.
            let expected = amplitude / 2.0 * transform_of_weights(plan.weights(), offset * width);
            largest = largest.max((found - expected).norm());
            assert!((found - expected).norm() < bound, "{offset}: {found} {expected}");
        }
        println!("largest: {:.1} dB of the middle", decibel(largest / (amplitude / 2.0 * middle)));
    }
}

/// Powers of the channels of a tone in the middle of the band's upper half, a third of a channel beside a channel's
/// middle, of the strongest to that of the strongest two or more channels away, in decibel.
fn spurious_free<Q: FrameSample>(backend: &Backend, chunk: &dyn SampleChunk, plan: &Channelizer, gain: f32) -> f64 {
    let frames =
        frames_of::<Q>(backend, chunk, plan, |builder| builder.dither(11).gains(Gains::uniform(gain).unwrap()));
    let powers: Vec<f64> = (0..plan.channels())
        .map(|number| {
            let values = channel(&frames, number);
            values.iter().map(|value| value.norm_sqr()).sum::<f64>() / values.len() as f64
        })
        .collect();
    let strongest = (0..powers.len()).max_by(|&a, &b| powers[a].total_cmp(&powers[b])).unwrap();
    let others = powers.iter().enumerate().filter(|(number, _)| number.abs_diff(strongest) >= 2);
    let spur = others.map(|(_, &power)| power).fold(0.0, f64::max);
    decibel((powers[strongest] / spur).sqrt())
}

#[test]
fn a_tone_has_a_spurious_free_range_of_80_db_in_f32_and_53_db_in_8_bits() {
    let channels = 512;
    let plan = hann(Channelizer::real(channels));
    let nu = (300.0 + 1.0 / 3.0) / (2 * channels) as f64;
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
    let length = (16 + 199) * 2 * channels;
    // A tone of 500 of 512 levels, with a digitiser's noise of one level.
    let tone: Vec<f64> = (0..length).map(|time| 500.0 * (TAU * (nu * time as f64).fract()).cos()).collect();
    let floats = Array2::from_shape_fn((1, length), |(_, time)| tone[time] as f32);
    let digitised = Array2::from_shape_fn((1, length), |(_, time)| {
        let noise = (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
        (tone[time] + noise).round().clamp(-512.0, 511.0) as i16
    });
    let inputs = Inputs::single_pol(1).unwrap();
    let floats = Samples::new(floats, inputs).unwrap();
    let packed = PackedSamples::pack(digitised.view(), 10, inputs).unwrap();
    // The tone is 120 of 127 in its channel.
    let response = transform_of_weights(plan.weights(), 1.0 / 3.0 / (2 * channels) as f64).norm();
    let gain = (120.0 / (250.0 * response)) as f32;
    for backend in strict_backends() {
        let range = spurious_free::<Complex<f32>>(&backend, &floats, &plan, 1.0);
        println!("f32: {range:.1} dB");
        assert!(range >= 80.0, "f32: {range} dB");
        let range = spurious_free::<Complex<i8>>(&backend, &packed, &plan, gain);
        println!("10 bits to 8 bits: {range:.1} dB");
        assert!(range >= 53.0, "8 bits: {range} dB");
    }
}

#[test]
fn the_phase_is_flat_to_20_milliradian_across_steps_of_the_coarse_delay() {
    let channels = 256;
    let step = 2 * channels;
    let plan = hann(Channelizer::real(channels));
    let inputs = Inputs::single_pol(1).unwrap();
    // The delay grows by two samples in 100 spectra: two steps of the coarse part.
    let (delay, rate) = (4.1, 2.0 / (100.0 * step as f64));
    let models = vec![DelayModel::from_segment(DelaySegment::new(0, vec![delay, rate])).unwrap()];
    for backend in strict_backends() {
        let mut largest = 0f64;
        for (number, offset) in [(3, 0.0), (70, 0.4), (128, -0.45), (200, 0.2), (252, -0.3)] {
            let nu = (f64::from(number) + offset) / step as f64;
            // Of 500 of 512 levels.
            let tone = Array2::from_shape_fn((1, 120 * step), |(_, time)| {
                (500.0 * (TAU * (nu * time as f64).fract()).cos()).round() as i16
            });
            let samples = PackedSamples::pack(tone.view(), 10, inputs).unwrap();
            let frames = frames_of::<Complex<f32>>(&backend, &samples, &plan, |builder| builder.delays(models.clone()));
            let clock = frames.voltages.clock();
            // The tone, delayed about the middle of the band, in a channel that turns with the time since sample 0.
            let residuals = channel(&frames, number as usize).into_iter().enumerate().map(|(time, value)| {
                let stamp = clock.sample_of(time) as f64;
                let turns = offset / step as f64 * stamp - (nu - 0.25) * (delay + rate * stamp);
                value * C64::cis(-TAU * turns.fract())
            });
            let residuals: Vec<C64> = residuals.collect();
            assert!(residuals.len() > 100);
            for value in &residuals {
                largest = largest.max((value * residuals[0].conj()).arg().abs());
            }
        }
        println!("largest phase: {largest:.4} rad");
        assert!(largest < 0.02, "{largest} rad");
    }
}

#[test]
fn a_phase_rate_of_a_billionth_of_a_turn_is_tracked_over_a_billion_samples() {
    let channels = 32;
    let plan = hann(Channelizer::complex(channels));
    let inputs = Inputs::single_pol(1).unwrap();
    let model = DelaySegment::new(0, vec![0.0]).with_phase(0.1, 1e-9);
    for backend in strict_backends() {
        let builder = FEngineBuilder::new(plan.clone(), inputs).spectra_per_frame(2).channels(18..19);
        let builder = builder.delays(vec![DelayModel::from_segment(model.clone()).unwrap()]);
        let mut engine = builder.build::<Complex<f32>>(&backend).unwrap();
        // Of a tone of amplitude 1, that is rounded to f32, in the middle of a channel; on a GPU phases are on lines.
        let middle = transform_of_weights(plan.weights(), 0.0).norm();
        let rounding = U * plan.weights().iter().map(|weight| weight.abs()).sum::<f64>();
        let lines = if backend.device().is_none() { 0.0 } else { 2f64.powi(-28) };
        let most = (bound(&backend, &plan) + rounding) / middle / TAU + lines;
        assert!(most < 1e-5);
        for first in [0, 1, 250_000_000, 500_000_007, 999_999_999, 1_000_000_000u64].map(|first| first / 64 * 64) {
            if engine.expected_sample().is_some_and(|expected| first < expected) {
                continue;
            }
            // A tone in the middle of channel 18, that is two sixteenths of a turn a sample.
            let tone = Array2::from_shape_fn((1, 20 * channels), |(_, time)| {
                let value = C64::cis(TAU * ((first + time as u64) % 16) as f64 * 2.0 / 32.0);
                Complex::new(value.re as f32, value.im as f32)
            });
            let chunk = Samples::new(tone, inputs).unwrap().with_first_sample(first);
            let frames = engine.push(&chunk).unwrap().frames.pop().unwrap();
            for (time, value) in channel(&frames, 0).into_iter().enumerate() {
                let stamp = frames.voltages.clock().sample_of(time);
                let turns = value.arg() / TAU - (0.1 + 1e-9 * stamp as f64);
                assert!((turns - turns.round()).abs() < most, "{stamp}: {turns}");
            }
        }
    }
}

/// `sum a conj(b)` over all values of two inputs, normalised.
fn correlation<Q: FrameSample>(frames: &Frames<Heaps<Q>>) -> C64 {
    let (mut ab, mut aa, mut bb) = (C64::default(), 0.0, 0.0);
    for pair in frames.voltages.data().rows() {
        let [a, b] = [pair[0], pair[1]].map(|value| value.to_c32()).map(|x| C64::new(x.re.into(), x.im.into()));
        ab += a * b.conj();
        aa += a.norm_sqr();
        bb += b.norm_sqr();
    }
    ab / (aa * bb).sqrt()
}

#[test]
fn noise_quantised_to_8_bits_keeps_its_correlation_coefficient_within_a_hundredth() {
    let channels = 64;
    let plan = hann(Channelizer::real(channels));
    let inputs = Inputs::new(1, 2).unwrap();
    for backend in strict_backends() {
        for (common, sigma) in [(0.5, 16.0), (0.1, 16.0), (0.9, 30.0), (0.5, 6.0)] {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
            let mut normal = || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
            let mut data = Array2::zeros((2, 400 * 2 * channels));
            for mut pair in data.columns_mut() {
                let both = normal() * f64::sqrt(common);
                pair.iter_mut().for_each(|x| *x = ((both + normal() * f64::sqrt(1.0 - common)) * 50.0).round() as i16);
            }
            let packed = PackedSamples::pack(data.view(), 10, inputs).unwrap();
            // Without the spectra that the last frame lacks.
            let builder = FEngineBuilder::new(plan.clone(), inputs).spectra_per_frame(5).channels(2..62).dither(1);
            let gain = (sigma * 2f64.sqrt() / 50.0) as f32;
            let builder = builder.gains(Gains::uniform(gain).unwrap());
            let exact =
                correlation(&builder.clone().build::<Complex<f32>>(&backend).unwrap().push(&packed).unwrap().frames[0]);
            let found = correlation(&builder.build::<Complex<i8>>(&backend).unwrap().push(&packed).unwrap().frames[0]);
            println!("common {common}, sigma {sigma}: {exact:.5} {found:.5}");
            assert!((exact.norm() - common).abs() < 0.03, "{exact}");
            assert!((found - exact).norm() < 0.01 * exact.norm().max(0.1), "{common} {sigma}: {exact} {found}");
        }
    }
}
