//! Down-conversion of 128 taps, every eighth sample kept: two inputs, real and complex, three formats.
//!
//! The throughput is in input samples. The same case in SciPy is `upfirdn(filter, x * mixer, down=8)` with float32 taps
//! and a complex64 mixed signal.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fringes_cpu::ddc::{DownConversion, down_convert};
use fringes_types::{Complex, Sample};
use ndarray::Array2;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const INPUTS: usize = 2;
const SAMPLES: usize = 1 << 21;
const TAPS: usize = 128;

fn case<S: Sample>(criterion: &mut Criterion, name: &str, sample: impl Fn(&mut Xoshiro256PlusPlus) -> S) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let samples = Array2::from_shape_simple_fn((INPUTS, SAMPLES), || sample(&mut rng));
    let filter: Vec<f64> = (0..TAPS).map(|k| (std::f64::consts::PI * (k as f64 + 0.5) / TAPS as f64).sin()).collect();
    let plan = DownConversion::new(&filter, 8, -0.123, 0.0);
    let mut group = criterion.benchmark_group("down_convert 128 taps /8");
    group.throughput(Throughput::Elements((INPUTS * SAMPLES) as u64));
    group.bench_function(name, |bencher| bencher.iter(|| down_convert(&plan, black_box(samples.view()), 12_345_678)));
    group.finish();
}

fn down_conversion(criterion: &mut Criterion) {
    case(criterion, "f32", |rng| rng.random_range(-1.0f32..1.0));
    case(criterion, "i16", |rng| rng.random_range(-512i16..512));
    case(criterion, "i8", |rng| rng.random_range(-127i8..=127));
    case(criterion, "complex f32", |rng| Complex::new(rng.random_range(-1.0f32..1.0), rng.random_range(-1.0f32..1.0)));
    case(criterion, "complex i8", |rng| Complex::new(rng.random_range(-127i8..=127), rng.random_range(-127i8..=127)));
}

criterion_group!(benches, down_conversion);
criterion_main!(benches);
