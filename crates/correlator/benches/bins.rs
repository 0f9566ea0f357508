//! An integrator against ones with two bins, on the CPU: 64 inputs, 64 channels, dumps of 8192 spectra in chunks of
//! 4096. Elements are complex multiply-adds of the lower triangle.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fringes_backend::Backend;
use fringes_correlator::{BinnedIntegrator, Bins, CorrelatorError, DumpSchedule, Integrator};
use fringes_types::{Complex, Inputs, SpectrumClock, Voltages};
use ndarray::Array3;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const CHANNELS: usize = 64;
const INPUTS: usize = 64;
const CHUNK: usize = 4096;

type Chunk = Voltages<Complex<i8>>;

fn chunks() -> Result<[Chunk; 2], CorrelatorError> {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut part = || generator.random_range(-127..=127i8);
    let data = Array3::from_shape_simple_fn((CHANNELS, CHUNK, INPUTS), || Complex::new(part(), part()));
    let chunk = |first_sample: u64| -> Result<Chunk, CorrelatorError> {
        let clock = SpectrumClock { first_sample, samples_between_spectra: 1, sample_rate_hz: 1e6 };
        Ok(Voltages::from_checked(data.clone(), Inputs::single_pol(INPUTS)?)?.with_clock(clock)?)
    };
    Ok([chunk(0)?, chunk(CHUNK as u64)?])
}

fn run(criterion: &mut Criterion) -> Result<(), CorrelatorError> {
    let (chunks, backend, inputs) = (chunks()?, Backend::cpu(), Inputs::single_pol(INPUTS)?);
    let schedule = DumpSchedule::new(1, 256, 32)?;
    let mut group = criterion.benchmark_group("bins");
    group.sample_size(20).throughput(Throughput::Elements((CHANNELS * 2 * CHUNK * INPUTS * (INPUTS + 1) / 2) as u64));
    let mut integrator = Integrator::new(&backend, schedule, inputs, CHANNELS)?;
    group.bench_function("none", |bencher| {
        bencher.iter(|| {
            let dumps = chunks.each_ref().map(|chunk| integrator.push(chunk));
            let last = integrator.finish();
            (dumps, last)
        });
    });
    for (name, spectra) in [("2 of 1024 spectra", 1024), ("2 of 100 spectra", 100), ("2 of 1 spectrum", 1)] {
        let bins = Bins::table(2, spectra, vec![Some(0), Some(1)])?;
        let mut integrator = BinnedIntegrator::new(&backend, schedule, bins, inputs, CHANNELS)?;
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let dumps = chunks.each_ref().map(|chunk| integrator.push(chunk));
                let last = integrator.finish();
                (dumps, last)
            });
        });
    }
    group.finish();
    Ok(())
}

fn bins(criterion: &mut Criterion) {
    if let Err(error) = run(criterion) {
        eprintln!("{error}");
    }
}

criterion_group!(benches, bins);
criterion_main!(benches);
