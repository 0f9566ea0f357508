//! Tones and noise: amplitude, phase and response of channels in closed form.

use std::f64::consts::TAU;

use fringes_backend::Backend;
use fringes_channelizer::design::DownConversionFilter;
use fringes_channelizer::{Channelizer, DownConverter};
use fringes_f_engine::{Frames, NarrowbandFEngine, NarrowbandFEngineBuilder};
use fringes_types::{Complex, Heaps, Inputs, Samples};
use ndarray::Array2;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::support::{C64, U, backends};

const DECIMATION: usize = 8;
const CHANNELS: usize = 32;

/// `sum_i a_i exp(2 pi i e i)`.
fn transform(a: &[f64], e: f64) -> C64 {
    a.iter().enumerate().map(|(i, &a)| a * C64::cis(TAU * (e * i as f64).fract())).sum()
}

/// Turns of `cycles` times `sample`, both multiples of 2^-24: exact.
fn turns(cycles: f64, sample: u64) -> f64 {
    let whole = (cycles * 2f64.powi(24)).round() as i128;
    (whole * i128::from(sample)).rem_euclid(1 << 24) as f64 / 2f64.powi(24)
}

struct Modes {
    down_converter: DownConverter,
    plan: Channelizer,
    inner_half: bool,
}

fn modes(centre: f64) -> Vec<Modes> {
    let of = |filter: DownConversionFilter, inner_half| Modes {
        down_converter: DownConverter::designed(centre, &filter).unwrap(),
        plan: Channelizer::complex(CHANNELS).taps(16).build().unwrap(),
        inner_half,
    };
    vec![
        of(DownConversionFilter::outer_half_discarded(DECIMATION).taps(128).build().unwrap(), true),
        of(DownConversionFilter::all_kept(DECIMATION, 0.8).taps(128).build().unwrap(), false),
    ]
}

impl Modes {
    fn engine(&self, backend: &Backend, inputs: usize) -> NarrowbandFEngine<Complex<f32>> {
        let inputs = Inputs::single_pol(inputs).unwrap();
        let builder = NarrowbandFEngineBuilder::new(self.down_converter.clone(), self.plan.clone(), inputs);
        let builder = if self.inner_half { builder.outer_half_discarded() } else { builder };
        builder.spectra_per_frame(2).build(backend).unwrap()
    }

    /// ADC samples of a spectrum's window.
    fn window(&self) -> usize {
        (self.plan.window_samples() - 1) * DECIMATION + self.down_converter.filter().len()
    }

    /// Bound of the error of values of samples of magnitude 1.
    fn bound(&self, backend: &Backend) -> f64 {
        let sum = |values: &[f64]| values.iter().map(|value| value.abs()).sum::<f64>();
        let (h, w) = (sum(self.down_converter.filter()), sum(self.plan.weights()));
        let gpu = backend.device().is_some();
        let first = if gpu { 1.5 * 8.0 + 18.0 } else { 1.5 * 32.0 + 8.0 };
        let second = 17.0 + 7.0 * 5.0 + 2.0 + 2.0 * 5f64.sqrt() + if gpu { 62.0 + 2f64.powf(4.2) } else { 0.0 };
        // The samples themselves are rounded, each part.
        U * h * w * (first + second + 1.5)
    }
}

fn tone(nu: f64, amplitude: f64, first: u64, length: usize) -> Array2<Complex<f32>> {
    Array2::from_shape_fn((1, length), |(_, time)| {
        let value = amplitude * C64::cis(TAU * turns(nu, first + time as u64));
        Complex::new(value.re as f32, value.im as f32)
    })
}

fn value(frames: &Frames<Heaps<Complex<f32>>>, channel: usize, spectrum: usize, input: usize) -> C64 {
    let value = frames.voltages.data()[(0, input, channel, spectrum, 0)];
    C64::new(value.re.into(), value.im.into())
}

#[test]
fn a_tone_at_every_offset_gives_the_product_of_both_responses_at_every_age() {
    let grid = |cycles: f64| (cycles * 2f64.powi(24)).round() / 2f64.powi(24);
    let centre = grid(0.213);
    let width = 1.0 / (DECIMATION * CHANNELS) as f64;
    for mode in modes(centre) {
        for backend in backends() {
            let mut engine = mode.engine(&backend, 1);
            let bound = mode.bound(&backend);
            let middle: f64 = mode.plan.weights().iter().sum();
            assert!(bound < 5e-4 * middle, "-66 dB: {bound} {middle}");
            let kept = engine.kept_channels();
            for (number, offset) in (-60..=60).map(|step| f64::from(step) / 20.0).enumerate() {
                let first = [0, 1_000_000_000_000_000 / 1024 * 1024][number % 2];
                let nu = centre + grid((5.0 + offset) * width);
                let length = mode.window() + DECIMATION * CHANNELS;
                let samples = Samples::new(tone(nu, 1.0, first, length), engine.inputs()).unwrap();
                engine.reset();
                let frames = engine.push(&samples.with_first_sample(first)).unwrap().frames.remove(0);
                assert_eq!(frames.first_stamp(), first);
                for channel in [CHANNELS / 2 + 5, CHANNELS / 2 - 3] {
                    let bin = channel as f64 - (CHANNELS / 2) as f64;
                    let e = nu - centre;
                    let response = transform(mode.down_converter.filter(), e)
                        * transform(mode.plan.weights(), e * DECIMATION as f64 - bin / CHANNELS as f64);
                    for spectrum in 0..2 {
                        let stamp = first + (spectrum * DECIMATION * CHANNELS) as u64;
                        let expected = response * C64::cis(TAU * turns(e - bin * width, stamp));
                        let found = value(&frames, channel - kept.start, spectrum, 0);
                        assert!((found - expected).norm() < bound, "{offset} {channel}: {found} {expected}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_real_tone_gives_half_its_amplitude_and_nothing_of_its_image() {
    let centre = 0.125;
    let width = 1.0 / (DECIMATION * CHANNELS) as f64;
    for mode in modes(centre) {
        for backend in backends() {
            let mut engine = mode.engine(&backend, 1);
            let kept = engine.kept_channels();
            let data = tone(centre - 3.0 * width, 1.0, 0, mode.window()).mapv(|value| value.re);
            engine.push(&Samples::new(data, engine.inputs()).unwrap()).unwrap();
            let frames = engine.flush().unwrap().unwrap();
            let gain = transform(mode.down_converter.filter(), -3.0 * width).norm();
            let expected = 0.5 * gain * mode.plan.weights().iter().sum::<f64>();
            let found = value(&frames, CHANNELS / 2 - 3 - kept.start, 0, 0).norm();
            // The image is at least 80 dB down.
            assert!((found - expected).abs() < 1e-4 * expected, "{found} {expected}");
            for channel in 0..kept.len() {
                if (channel + kept.start).abs_diff(CHANNELS / 2 - 3) > 1 {
                    assert!(value(&frames, channel, 0, 0).norm() < 1e-3 * expected, "{channel}");
                }
            }
        }
    }
}

#[test]
fn white_noise_has_its_variance_over_the_decimation_in_every_channel() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
    for mode in modes(0.3) {
        let length = 300_000;
        let data = Array2::from_shape_simple_fn((1, length), || {
            ((0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0) as f32
        });
        let mut engine = mode.engine(&Backend::cpu(), 1);
        let frames = engine.push(&Samples::new(data, engine.inputs()).unwrap()).unwrap().frames.remove(0);
        let kept = engine.kept_channels();
        let spectra = frames.spectra_present.nrows();
        for channel in 0..kept.len() {
            let bin = (channel + kept.start) as f64 - (CHANNELS / 2) as f64;
            let gain = transform(mode.down_converter.filter(), bin / (DECIMATION * CHANNELS) as f64).norm_sqr();
            // Channels in which the gain changes much have no variance of their own in closed form.
            if !(0.9..1.1).contains(&gain) {
                continue;
            }
            let of = |time: usize| frames.voltages.data()[(time / 2, 0, channel, time % 2, 0)].norm_sqr();
            let power = (0..spectra).map(|time| f64::from(of(time))).sum::<f64>() / spectra as f64;
            // Of n spectra, five standard deviations, and the gain's change within the channel.
            let most = 5.0 / (spectra as f64).sqrt() + 0.05;
            assert!((power * DECIMATION as f64 / gain - 1.0).abs() < most, "{channel} {power} {gain}");
        }
    }
}
