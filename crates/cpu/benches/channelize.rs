//! The filter bank: 4096 channels of 16 taps from float, 16-bit and complex samples, oversampled, with a rotation, many
//! inputs, and channel counts with few and with large prime factors. Elements are input samples.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fringes_cpu::pfb::{ArraySource, Pfb, Rotation, SpectrumInput, Split, Window, pfb_weights, zeroed_output};
use fringes_types::Sample;
use ndarray::Array2;
use num_complex::Complex;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const TAPS: usize = 16;

struct Case {
    name: &'static str,
    channels: usize,
    inputs: usize,
    spectra: usize,
    oversampling: (usize, usize),
    rotated: bool,
}

const CASE: Case = Case { name: "", channels: 4096, inputs: 2, spectra: 512, oversampling: (1, 1), rotated: false };

fn run<S: Sample>(criterion: &mut Criterion, case: Case, mut sample: impl FnMut() -> S) {
    let Case { name, channels, inputs, spectra, oversampling, rotated } = case;
    let step = if S::COMPLEX { channels } else { 2 * channels };
    let stride = step * oversampling.1 / oversampling.0;
    let samples = Array2::from_shape_simple_fn((inputs, (spectra - 1) * stride + TAPS * step), &mut sample);
    let weights = pfb_weights(Window::Hann, TAPS, step, 1.0).expect("weights that do not vanish");
    let pfb = Pfb::new(channels, S::COMPLEX, &weights);
    let split = Split::choose(&pfb, spectra, inputs, None);
    let describe = |time: usize, _: usize| {
        let turns_per_channel = if rotated { 1e-5 * (time + 1) as f64 } else { 0.0 };
        let (start, shift) = (time * stride, time * stride % step);
        SpectrumInput { start: start as i64, shift, rotation: Rotation { turns: 0.0, turns_per_channel } }
    };
    let mut group = criterion.benchmark_group("channelize");
    group.sample_size(10).throughput(Throughput::Elements((inputs * spectra * stride) as u64));
    group.bench_function(BenchmarkId::new(name, channels), |bencher| {
        bencher.iter(|| {
            let mut out = zeroed_output(channels, spectra, inputs).expect("memory for the output");
            pfb.channelize(&ArraySource::new(samples.view()), &describe, out.view_mut(), &split);
            out
        });
    });
    group.finish();
}

fn channelize(criterion: &mut Criterion) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut float = || rng.random_range(-1.0..1.0f32);
    run(criterion, Case { name: "f32", ..CASE }, &mut float);
    run(criterion, Case { name: "f32 one input", inputs: 1, spectra: 1024, ..CASE }, &mut float);
    run(criterion, Case { name: "f32 rotated", rotated: true, ..CASE }, &mut float);
    run(criterion, Case { name: "f32 oversampled 32/27", oversampling: (32, 27), channels: 3456, ..CASE }, &mut float);
    run(criterion, Case { name: "f32 64 inputs", channels: 1024, inputs: 64, spectra: 64, ..CASE }, &mut float);
    run(criterion, Case { name: "f32", channels: 60, spectra: 32768, ..CASE }, &mut float);
    run(criterion, Case { name: "f32", channels: 1536, spectra: 1024, ..CASE }, &mut float);
    run(criterion, Case { name: "f32", channels: 4093, ..CASE }, &mut float);
    run(criterion, Case { name: "complex f32", ..CASE }, || Complex::new(float(), float()));
    run(criterion, Case { name: "i16", ..CASE }, || (float() * 512.0) as i16);
    run(criterion, Case { name: "i8", ..CASE }, || (float() * 127.0) as i8);
}

criterion_group!(benches, channelize);
criterion_main!(benches);
