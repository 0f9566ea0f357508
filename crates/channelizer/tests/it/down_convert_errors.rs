//! What a down-converter is off by over a table of plans, and what it stops: aliases and images of its designs. On the
//! CPU, and on a GPU where there is one.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use std::f64::consts::TAU;

use fringes_backend::Backend;
use fringes_channelizer::design::DownConversionFilter;
use fringes_channelizer::{DownConverter, down_convert};
use fringes_reference::ddc as reference;
use fringes_types::{Complex, Inputs, PackedSamples, Samples};
use ndarray::Array2;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

fn backends() -> Vec<Backend> {
    let gpu = Some(Backend::auto()).filter(|backend| backend.device().is_some());
    [Backend::cpu()].into_iter().chain(gpu).collect()
}

fn wide(value: Complex<f32>) -> Complex<f64> {
    Complex::new(value.re.into(), value.im.into())
}

/// Largest and root mean square error, of full scale `2^(B-1) sum |h|`, of random samples of so many bits.
fn error_of_full_scale(backend: &Backend, bits: u32, decimation: usize, taps: usize, times: usize) -> [f64; 2] {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(u64::from(bits) * 1000 + (decimation * 7 + taps) as u64);
    let limit = 1i32 << (bits - 1);
    let values = Array2::from_shape_simple_fn((2, times), || rng.random_range(-limit..limit) as i16);
    let filter: Vec<f64> = (0..taps).map(|_| rng.random_range(-1.0..1.0)).collect();
    let (centre, phase, first) = (rng.random_range(-1.0..1.0), 0.37, 1_000_000_000_000_000 / decimation as u64);
    let samples = PackedSamples::pack(values.view(), bits, Inputs::single_pol(2).unwrap()).unwrap();
    let samples = samples.with_first_sample(first * decimation as u64);
    let plan = DownConverter::new(centre, decimation, filter.clone()).unwrap().with_phase_turns(phase).unwrap();
    let found = down_convert(backend, &samples, &plan).unwrap();
    let full = f64::from(limit) * filter.iter().map(|h| h.abs()).sum::<f64>();
    let (mut largest, mut squares, mut count) = (0f64, 0.0, 0.0);
    for (input, row) in values.rows().into_iter().enumerate() {
        let x: Vec<f64> = row.iter().map(|&x| f64::from(x)).collect();
        let expected = reference::down_convert_real(&x, &filter, decimation, -centre, phase, first * decimation as u64);
        assert_eq!(expected.len(), found.times());
        for (j, expected) in expected.iter().enumerate() {
            let error = (wide(found.data()[(input, j)]) - expected).norm();
            if backend.device().is_none() {
                let size: f64 = x[j * decimation..].iter().zip(&filter).map(|(x, h)| (x * h).abs()).sum();
                let bound = (1.5 * taps.div_ceil(8) as f64 + 8.0) * 2f64.powi(-24) * size;
                assert!(error <= bound, "{error} above {bound}: {bits} bits, {taps} taps, {decimation}");
            }
            largest = largest.max(error / full);
            squares += (error / full).powi(2);
            count += 1.0;
        }
    }
    [largest, (squares / count).sqrt()]
}

#[test]
fn errors_are_small_parts_of_full_scale_for_all_bits_and_decimations() {
    for backend in backends() {
        let mut worst = [0f64; 2];
        for bits in [4, 8, 10, 12, 16] {
            for decimation in [4, 5, 8, 16, 17, 32, 64] {
                // Whole windows and awkward lengths: of taps, and of samples beyond the last window.
                for (taps, beyond) in
                    [(16 * decimation, 0), (16 * decimation - 3, 1), (7 * decimation + 1, decimation - 1)]
                {
                    let times = taps + 37 * decimation + beyond;
                    let errors = error_of_full_scale(&backend, bits, decimation, taps, times);
                    worst = [worst[0].max(errors[0]), worst[1].max(errors[1])];
                }
            }
        }
        println!("{}: largest error {:.2e} of full scale, rms {:.2e}", backend.name(), worst[0], worst[1]);
        assert!(worst[0] <= 2e-5 && worst[1] <= 2e-6, "{}: {worst:?}", backend.name());
    }
}

/// Designs, the pass band and what is stopped, in units of the output's rate.
fn designs() -> Vec<(DownConversionFilter, f64, bool)> {
    let half = |decimation| DownConversionFilter::outer_half_discarded(decimation);
    let kept = |decimation, part| DownConversionFilter::all_kept(decimation, part);
    let mut designs = vec![
        (DownConversionFilter::meerkat_107_mhz().build().unwrap(), 0.25, true),
        (DownConversionFilter::meerkat_53_mhz().build().unwrap(), 0.25, true),
        (DownConversionFilter::meerkat_27_mhz().build().unwrap(), 0.25, true),
    ];
    designs.extend([4, 5, 17].map(|decimation| (half(decimation).build().unwrap(), 0.25, true)));
    designs.extend([4, 8].map(|decimation| (kept(decimation, 0.8).build().unwrap(), 0.4, false)));
    designs
}

#[test]
fn aliases_and_images_are_stopped_as_the_designs_say() {
    for backend in backends() {
        for (filter, pass, gaps) in designs() {
            let (decimation, times) = (filter.decimation(), 64 * filter.decimation() + filter.taps().len());
            let centre = 0.23 + 0.001 / decimation as f64;
            let plan = DownConverter::designed(centre, &filter).unwrap();
            // What f64 stops by more than 100 dB is stopped by 100 dB; the rest as the design says.
            let stopped_db = filter.stopband_attenuation_db();
            let expected_db = if stopped_db >= 150.0 { 100.0 } else { (stopped_db - 0.1).min(100.0) };
            let gain = |offset: f64| -> Complex<f64> {
                filter
                    .taps()
                    .iter()
                    .enumerate()
                    .map(|(k, &h)| h * Complex::cis(TAU * (offset * k as f64).fract()))
                    .sum()
            };
            let output = |tone: &dyn Fn(f64) -> Complex<f64>| {
                let at = |t: usize| tone(t as f64);
                let tone = Array2::from_shape_fn((1, times), |(_, t)| Complex::new(at(t).re as f32, at(t).im as f32));
                let samples = Samples::new(tone, Inputs::single_pol(1).unwrap()).unwrap();
                down_convert(&backend, &samples, &plan).unwrap()
            };
            // Complex tones in the stop bands: what is left is an alias.
            let mut worst = f64::NEG_INFINITY;
            for alias in 1..=decimation / 2 {
                for place in [-1.0, -0.7, -0.31, 0.0, 0.4, 0.97] {
                    let offset = (alias as f64 + place * pass) / decimation as f64;
                    if offset.abs() > 0.5 || !gaps && offset < (1.0 - pass) / decimation as f64 {
                        continue;
                    }
                    for offset in [offset, -offset] {
                        let turns = |t: f64| ((centre + offset) * t).rem_euclid(1.0);
                        let found = output(&|t| Complex::cis(TAU * turns(t)));
                        let power: f64 = found.data().iter().map(|&value| wide(value).norm_sqr()).sum();
                        worst = worst.max(10.0 * (power / found.times() as f64).log10());
                    }
                }
            }
            assert!(worst < -expected_db, "{}: aliases {worst:.1} dB, {stopped_db:.1} in f64", backend.name());
            // Real tones in the pass band: what is left beside the tone is its image.
            let mut image = f64::NEG_INFINITY;
            for place in [-0.9, -0.2, 0.0, 0.55, 1.0] {
                let offset = place * pass / decimation as f64;
                // Relative to the centre the image is at -2 c - d, in a stop band for these plans or it is left out.
                if -20.0 * gain(2.0 * centre + offset).norm().log10() < stopped_db - 1.0 {
                    continue;
                }
                let found = output(&|t| Complex::new((TAU * ((centre + offset) * t).rem_euclid(1.0)).cos(), 0.0));
                let mut power = 0.0;
                for (j, &value) in found.data().iter().enumerate() {
                    let turns = (offset * (decimation * j) as f64).rem_euclid(1.0);
                    power += (wide(value) * 2.0 - gain(offset) * Complex::cis(TAU * turns)).norm_sqr();
                }
                image = image.max(10.0 * (power / found.times() as f64).log10());
            }
            assert!(image < -expected_db, "{}: images {image:.1} dB, {stopped_db:.1} in f64", backend.name());
            println!(
                "{}, {} taps /{decimation}: aliases {worst:.1} dB, images {image:.1} dB, by design {stopped_db:.1} dB",
                backend.name(),
                filter.taps().len()
            );
        }
    }
}
