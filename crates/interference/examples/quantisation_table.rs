//! Measures what quantisation to 4 and 8 bits makes of spectral kurtosis, and writes the table that the crate has:
//!
//! ```text
//! cd crates/interference
//! cargo run --release --example quantisation_table > src/quantisation/table.csv
//! ```
//!
//! For each level and number of samples: first the mean and the standard deviation of the estimator, then the moments
//! of what these make of it, with the level of each block measured in that block. Seeds are fixed, so that the same
//! program writes the same table. It takes some minutes.

use fringes_interference::quantisation::{Correction, FEWEST_SAMPLES, Row, Table, level_of_rms, probabilities};
use fringes_interference::{Moments, spectral_kurtosis};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Numbers of samples, and trials of each.
const COUNTS: [(u64, usize); 6] =
    [(FEWEST_SAMPLES, 1_000_000), (64, 1_000_000), (128, 600_000), (512, 400_000), (2048, 300_000), (8192, 150_000)];

/// Powers of complex quantised noise, drawn by Walker's and Vose's method: one number of 64 bits a sample.
struct Powers {
    /// Threshold of 32 bits, power, and power of what is taken above the threshold.
    cells: Vec<(u32, u16, u16)>,
}

impl Powers {
    fn new(limit: i32, rms: f64) -> Self {
        let parts = probabilities(limit, rms);
        let mut of_powers = std::collections::BTreeMap::<i32, f64>::new();
        for (re, p) in (-limit..=limit).zip(&parts) {
            for (im, q) in (-limit..=limit).zip(&parts) {
                *of_powers.entry(re * re + im * im).or_default() += p * q;
            }
        }
        // What would come once in 2^50 samples never does.
        let powers: Vec<_> = of_powers.into_iter().filter(|&(_, p)| p > 1e-15).collect();
        let count = powers.len() as f64;
        let mut rest: Vec<f64> = powers.iter().map(|&(_, p)| p * count).collect();
        let mut cells: Vec<_> = powers.iter().map(|&(power, _)| (u32::MAX, power as u16, power as u16)).collect();
        let (mut small, mut large): (Vec<_>, Vec<_>) = (0..powers.len()).partition(|&at| rest[at] < 1.0);
        while let (Some(few), Some(&many)) = (small.pop(), large.last()) {
            cells[few] = ((rest[few] * 4_294_967_296.0) as u32, powers[few].0 as u16, powers[many].0 as u16);
            rest[many] -= 1.0 - rest[few];
            if rest[many] < 1.0 {
                large.pop();
                small.push(many);
            }
        }
        Self { cells }
    }

    /// `S1` and `S2` of a block.
    fn block(&self, count: u64, generator: &mut impl Rng) -> (u64, u64) {
        let (mut first, mut second) = (0u64, 0u64);
        for _ in 0..count {
            let random = generator.next_u64();
            let cell = self.cells[((u64::from((random >> 32) as u32) * self.cells.len() as u64) >> 32) as usize];
            let power = u64::from(if random as u32 <= cell.0 { cell.1 } else { cell.2 });
            first += power;
            second += power * power;
        }
        (first, second)
    }
}

/// Mean, variance, skewness and excess of values.
fn moments(values: &[f64]) -> Moments {
    let mean_of = |of: &dyn Fn(f64) -> f64| values.iter().map(|&value| of(value)).sum::<f64>() / values.len() as f64;
    let mean = mean_of(&|value| value);
    let [second, third, fourth] = [2, 3, 4].map(|power| mean_of(&|value| (value - mean).powi(power)));
    let (skewness, excess) = (third / second.powf(1.5), fourth / (second * second) - 3.0);
    Moments { mean, variance: second, skewness, excess }
}

/// The trials of one level.
fn trials(powers: &Powers, seed: u64, (count, trials): (u64, usize), mut each: impl FnMut(u64, u64, u64)) {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed ^ count);
    for _ in 0..trials {
        let (first, second) = powers.block(count, &mut generator);
        // A block of zeros has no kurtosis, and no level.
        if first > 0 {
            each(count, first, second);
        }
    }
}

fn main() {
    println!("# Spectral kurtosis of quantised Gaussian noise: written by examples/quantisation_table.rs");
    println!("# bits,rms,samples,level,bias,deviation,z mean,z variance,z skewness,z excess");
    for (bits, limit, octaves) in [(4u32, 7, 4.0), (8, 127, 8.0)] {
        // The levels go on beyond the table's ends in the first pass, since those of blocks scatter.
        let steps = if bits == 4 { 6.0 } else { 4.0 };
        let all: Vec<f64> = (-2..=(octaves * steps) as i32 + 2).map(|k| 0.5 * (f64::from(k) / steps).exp2()).collect();
        let within = 2..all.len() - 2;
        let sources: Vec<_> = all.iter().map(|&rms| Powers::new(limit, rms)).collect();
        let mut rows = Vec::new();
        for (place, (&rms, powers)) in all.iter().zip(&sources).enumerate() {
            for counted in COUNTS {
                let mut values = Vec::with_capacity(counted.1);
                trials(powers, 2 * place as u64, counted, |count, first, second| {
                    values.push(spectral_kurtosis(count, first, second));
                });
                let (of, gaussian) = (moments(&values), Moments::gaussian(counted.0));
                rows.push(Row {
                    level: level_of_rms(limit, rms),
                    count: counted.0,
                    bias: of.mean - 1.0,
                    deviation: (of.variance / gaussian.variance).sqrt(),
                    mean: 0.0,
                    variance: 1.0,
                    skewness: 1.0,
                    excess: 1.0,
                });
            }
        }
        let table = Table::new(&rows, COUNTS.len());
        for place in within {
            let (rms, powers) = (all[place], &sources[place]);
            for (at, counted) in COUNTS.into_iter().enumerate() {
                let mut values = Vec::with_capacity(counted.1);
                trials(powers, 2 * place as u64 + 1, counted, |count, first, second| {
                    if let Some(Correction { bias, deviation }) = table.correction(first as f64 / count as f64, count) {
                        values.push((spectral_kurtosis(count, first, second) - 1.0 - bias) / deviation);
                    }
                });
                let (z, gaussian) = (moments(&values), Moments::gaussian(counted.0));
                let row = &rows[place * COUNTS.len() + at];
                println!(
                    "{bits},{rms:.5},{},{:.6},{:.6},{:.5},{:.4},{:.5},{:.4},{:.4}",
                    row.count,
                    row.level,
                    row.bias,
                    row.deviation,
                    z.mean * (row.count as f64).sqrt(),
                    z.variance,
                    z.skewness / gaussian.skewness,
                    z.excess / gaussian.excess
                );
            }
        }
    }
}
