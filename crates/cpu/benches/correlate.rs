//! Correlation of 128 inputs, 64 channels, 4096 spectra in each format (divide by 64 for one channel), and the same
//! 8-bit voltages on every instruction set of the machine. Elements are complex multiply-adds of the lower triangle.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fringes_cpu::correlator::{InstructionSet, accumulate_with};
use fringes_types::{Complex4, VoltageSample};
use half::f16;
use ndarray::{Array2, Array3};
use num_complex::Complex;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const CHANNELS: usize = 64;
const TIMES: usize = 4096;
const INPUTS: usize = 128;
const BASELINES: usize = INPUTS * (INPUTS + 1) / 2;

fn run<V: VoltageSample>(criterion: &mut Criterion, name: &str, set: InstructionSet, voltages: &Array3<V>) {
    let mut sums = Array2::from_elem((CHANNELS, BASELINES), V::Accumulator::default());
    let mut group = criterion.benchmark_group("correlate");
    group.sample_size(10).throughput(Throughput::Elements((CHANNELS * TIMES * BASELINES) as u64));
    group.bench_function(BenchmarkId::new(name, format!("{set:?}")), |bencher| {
        bencher.iter(|| accumulate_with(set, voltages.view(), None, sums.view_mut(), None));
    });
    group.finish();
}

fn correlate(criterion: &mut Criterion) {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(1);
    let shape = (CHANNELS, TIMES, INPUTS);
    let mut part = || generator.random_range(-127..=127i8);
    let bytes = Array3::from_shape_simple_fn(shape, || Complex::new(part(), part()));
    for set in InstructionSet::ALL.into_iter().filter(|set| set.is_available()) {
        run(criterion, "i8", set, &bytes);
    }
    let best = InstructionSet::best();
    let nibbles = bytes.mapv(|x| Complex4::new(x.re / 16, x.im / 16).unwrap_or_default());
    run(criterion, "4-bit", best, &nibbles);
    let floats = bytes.mapv(|x| Complex::new(f32::from(x.re), f32::from(x.im)));
    run(criterion, "f32", best, &floats);
    let halves = floats.mapv(|x| Complex::new(f16::from_f32(x.re), f16::from_f32(x.im)));
    run(criterion, "f16", best, &halves);
}

criterion_group!(benches, correlate);
criterion_main!(benches);
