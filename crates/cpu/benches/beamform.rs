//! Beamforming of 128 inputs, 16 channels, 4096 times: 64 tied-array or incoherent beams, or 4 lines of 32 feeds padded
//! to 64; tied-array beams also by weights of 8 and 16 bits, and to 8 bits with dither.
//!
//! The throughput is in voltages. The same case in NumPy is `x[channel] @ w[:, channel].T` with complex64 arrays;
//! `benches/compare.py` has more sizes, beside it.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fringes_cpu::beamformer::{
    BeamFinish, FeedLines, HeldWeights, WeightBits, fft_beams, incoherent, tied_array, tied_array_quantised_into,
};
use fringes_cpu::memory::zeroed_vec;
use fringes_types::{Complex, Complex4};
use ndarray::{Array2, Array3};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const CHANNELS: usize = 16;
const TIMES: usize = 4096;
const INPUTS: usize = 128;
const BEAMS: usize = 64;

fn beamforming(criterion: &mut Criterion) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut unit = || rng.random_range(-1.0f32..1.0);
    let float = Array3::from_shape_simple_fn((CHANNELS, TIMES, INPUTS), || Complex::new(unit(), unit()));
    let bytes = float.mapv(|x| Complex::new((x.re * 127.0) as i8, (x.im * 127.0) as i8));
    let nibbles = float.mapv(|x| Complex4::new((x.re * 7.0) as i8, (x.im * 7.0) as i8).unwrap_or_default());
    let weights = Array3::from_shape_simple_fn((BEAMS, CHANNELS, INPUTS), || Complex::new(unit(), unit()));
    let gains = Array2::from_shape_simple_fn((BEAMS, INPUTS), unit);
    let layout = FeedLines { lines: 4, feeds: 32, pols: 1, padded: 64 };
    let threads = rayon::current_num_threads();

    let mut group = criterion.benchmark_group("beamform 128 inputs");
    group.throughput(Throughput::Elements(float.len() as u64));
    group.bench_function("64 tied-array beams, complex f32", |bencher| {
        bencher.iter(|| tied_array(black_box(float.view()), None, weights.view(), threads));
    });
    group.bench_function("64 tied-array beams, complex i8", |bencher| {
        bencher.iter(|| tied_array(black_box(bytes.view()), None, weights.view(), threads));
    });
    group.bench_function("64 tied-array beams, 4 + 4 bits", |bencher| {
        bencher.iter(|| tied_array(black_box(nibbles.view()), None, weights.view(), threads));
    });
    let finish = BeamFinish { scale: 1.0, seed: None, spectrum: 0 };
    let length = CHANNELS * TIMES * BEAMS;
    for (name, bits) in [("8", WeightBits::Eight), ("16", WeightBits::Sixteen)] {
        let held = HeldWeights::Integer { bits, largest: None };
        group.bench_function(format!("64 tied-array beams, complex i8, {name}-bit weights"), |bencher| {
            bencher.iter(|| {
                let mut out = zeroed_vec::<Complex<f32>>(length);
                let voltages = black_box(bytes.view());
                tied_array_quantised_into(voltages, None, weights.view(), held, finish, threads, &mut out);
                out
            });
        });
    }
    let (held, dithered) = (
        HeldWeights::Integer { bits: WeightBits::Eight, largest: None },
        BeamFinish { scale: 0.01, seed: Some(1), spectrum: 0 },
    );
    group.bench_function("64 tied-array beams, complex i8, 8-bit weights, to i8 with dither", |bencher| {
        bencher.iter(|| {
            let mut out = zeroed_vec::<Complex<i8>>(length);
            let voltages = black_box(bytes.view());
            tied_array_quantised_into(voltages, None, weights.view(), held, dithered, threads, &mut out);
            out
        });
    });
    group.bench_function("64 incoherent beams, complex i8", |bencher| {
        bencher.iter(|| incoherent(black_box(bytes.view()), None, gains.view(), threads));
    });
    group.bench_function("256 FFT beams, complex i8", |bencher| {
        bencher.iter(|| fft_beams(black_box(bytes.view()), None, None, layout, threads));
    });
    group.finish();
}

criterion_group!(benches, beamforming);
criterion_main!(benches);
