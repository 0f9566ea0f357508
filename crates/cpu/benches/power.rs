//! Sums of powers of 64 channels, 8192 spectra and 64 inputs in blocks of 256 spectra, in each format, and of the same
//! 8-bit voltages as heaps and rows; and a copy of as many bytes by the same threads, for comparison. Bytes are those
//! of the voltages.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fringes_cpu::power::{Blocks, Lanes, Power, power_sums, power_sums_of_heaps, power_sums_of_rows};
use fringes_types::{Complex4, row_times};
use half::f16;
use ndarray::{Array3, Array4, Array5};
use num_complex::Complex;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

const CHANNELS: usize = 64;
const TIMES: usize = 8192;
const INPUTS: usize = 64;
const BLOCKS: Blocks = Blocks { spectra: 256, lead: 0 };

type Sums<V> = [Array3<<V as Lanes>::Sum>; 2];

fn run<V: Power>(criterion: &mut Criterion, name: &str, sum: impl Fn(&mut Sums<V>)) {
    let shape = (CHANNELS, BLOCKS.count(TIMES), INPUTS);
    let zeros = || Array3::from_elem(shape, <V as Lanes>::Sum::default());
    let mut sums = [zeros(), zeros()];
    let mut group = criterion.benchmark_group("power_sums");
    group.sample_size(10).throughput(Throughput::Bytes((CHANNELS * TIMES * INPUTS * size_of::<V>()) as u64));
    group.bench_function(name, |bencher| bencher.iter(|| sum(&mut sums)));
    group.finish();
}

fn voltages<V: Power>(criterion: &mut Criterion, name: &str, voltages: &Array3<V>) {
    run::<V>(criterion, name, |[first, second]| {
        power_sums(voltages.view(), None, BLOCKS, [first.view_mut(), second.view_mut()]);
    });
}

fn power(criterion: &mut Criterion) {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut part = || generator.random_range(-127..=127i8);
    let bytes = Array3::from_shape_simple_fn((CHANNELS, TIMES, INPUTS), || Complex::new(part(), part()));

    let from: &[u8] = bytemuck::cast_slice(bytes.as_slice().unwrap_or_default());
    let mut to = vec![0u8; from.len()];
    let mut group = criterion.benchmark_group("power_sums");
    group.sample_size(10).throughput(Throughput::Bytes(from.len() as u64));
    group.bench_function("copy", |bencher| {
        bencher.iter(|| {
            let parts = to.par_chunks_mut(1 << 20).zip(from.par_chunks(1 << 20));
            parts.for_each(|(to, from)| to.copy_from_slice(std::hint::black_box(from)));
        });
    });
    group.finish();

    voltages(criterion, "i8", &bytes);
    let heaps = Array5::from_shape_fn((32, 32, CHANNELS, 256, 2), |(batch, antenna, channel, spectrum, pol)| {
        bytes[(channel, batch * 256 + spectrum, antenna * 2 + pol)]
    });
    run::<Complex<i8>>(criterion, "i8 heaps", |[first, second]| {
        power_sums_of_heaps(heaps.view(), None, BLOCKS, [first.view_mut(), second.view_mut()]);
    });
    drop(heaps);
    let row = row_times(fringes_types::SampleFormat::Int8);
    let rows = Array4::from_shape_fn((CHANNELS, TIMES / row, INPUTS, row), |(channel, number, input, time)| {
        bytes[(channel, number * row + time, input)]
    });
    run::<Complex<i8>>(criterion, "i8 rows", |[first, second]| {
        power_sums_of_rows(rows.view(), TIMES, BLOCKS, [first.view_mut(), second.view_mut()]);
    });
    drop(rows);
    voltages(criterion, "4-bit", &bytes.mapv(|x| Complex4::new(x.re / 16, x.im / 16).unwrap_or_default()));
    let floats = bytes.mapv(|x| Complex::new(f32::from(x.re), f32::from(x.im)));
    voltages(criterion, "f32", &floats);
    voltages(criterion, "f16", &floats.mapv(|x| Complex::new(f16::from_f32(x.re), f16::from_f32(x.im))));
}

criterion_group!(benches, power);
criterion_main!(benches);
