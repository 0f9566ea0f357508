//! Coarse shifts and fine rotations. Elements are samples, real or complex.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fringes_cpu::delay::{Layout, Rotation, coarse_shift, coarse_shift_packed, rotate};
use fringes_cpu::f_engine::FrameValue;
use fringes_types::{Complex4, VoltageSample, f16};
use ndarray::Array2;
use num_complex::Complex;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

fn shifts(criterion: &mut Criterion) {
    let (inputs, bytes) = (16, 1 << 20);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let samples = Array2::from_shape_simple_fn((inputs, bytes), || random.random::<u8>());
    let delays: Vec<i64> = (0..inputs).map(|_| random.random_range(-1000..1000)).collect();
    let mut group = criterion.benchmark_group("coarse shift");
    group.throughput(Throughput::Elements((inputs * bytes) as u64));
    group.bench_function("8 bits", |bencher| bencher.iter(|| coarse_shift(samples.view(), &delays, bytes)));
    let times = bytes * 8 / 10;
    group.throughput(Throughput::Elements((inputs * times) as u64));
    group.bench_function("packed 10 bits", |bencher| {
        bencher.iter(|| coarse_shift_packed(samples.view(), 10, times, &delays, times));
    });
    group.finish();
}

fn rotation<V: VoltageSample + FrameValue>(criterion: &mut Criterion, name: &str, dither: Option<(u64, u64)>) {
    let (channels, times, inputs) = (256, 256, 64);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
    let scale = if V::INTEGER { V::FORMAT.limit() } else { 1.0 };
    let mut part = || scale * random.random_range(-1.0..1.0);
    let mut voltages: Vec<V> = (0..channels * times * inputs).map(|_| V::from_product(part(), part()).0).collect();
    let phases = Array2::from_shape_simple_fn((times, inputs), || [random.random(), random.random::<u64>() >> 10]);
    let gains = Array2::from_elem((channels, inputs), Complex::new(0.6f32, 0.8));
    let rotation = Rotation { phases: phases.view(), gains: Some(gains.view()), first_channel: 0, dither };
    let mut group = criterion.benchmark_group("fine rotation");
    group.throughput(Throughput::Elements(voltages.len() as u64));
    for layout in [Layout::Voltages, Layout::Heaps { spectra: times, pols: 2 }] {
        let id = BenchmarkId::new(name, format!("{layout:?}"));
        group.bench_function(id, |bencher| bencher.iter(|| rotate(&mut voltages, layout, channels, &rotation)));
    }
    group.finish();
}

fn rotations(criterion: &mut Criterion) {
    rotation::<Complex4>(criterion, "4 bits", None);
    rotation::<Complex<i8>>(criterion, "8 bits", None);
    rotation::<Complex<i8>>(criterion, "8 bits, dithered", Some((1, 0)));
    rotation::<Complex<f16>>(criterion, "f16", None);
    rotation::<Complex<f32>>(criterion, "f32", None);
}

criterion_group!(benches, shifts, rotations);
criterion_main!(benches);
