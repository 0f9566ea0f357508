//! Measures how much of noise is beyond the quantiles of Pearson curves, and writes the table that the crate has:
//!
//! ```text
//! cd crates/interference
//! cargo run --release --example tail_table > src/tails.csv
//! ```
//!
//! Powers of complex Gaussian noise are exponential. For each number of samples so many blocks are drawn that they have
//! 4e9 samples; shares of fewer than 200 blocks are left out. Seeds are fixed. It takes some minutes.

use fringes_interference::{Moments, internals::quantiles, spectral_kurtosis};
use rand::SeedableRng;
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::Xoshiro256PlusPlus;

const COUNTS: [u64; 8] = [32, 48, 64, 128, 256, 512, 1024, 4096];
const SAMPLES: u64 = 4_000_000_000;
const TAILS: [f64; 15] =
    [0.25, 0.1, 0.05, 0.025, 0.01, 0.005, 0.0025, 0.001, 5e-4, 2.5e-4, 1e-4, 5e-5, 2.5e-5, 1e-5, 5e-6];

fn main() {
    println!("# Shares of spectral kurtosis beyond Pearson's quantiles: written by examples/tail_table.rs");
    println!("# samples,skewness,nominal share,share below,share above (0: too few to tell)");
    for count in COUNTS {
        let trials = SAMPLES / count;
        let Moments { variance, skewness, excess, .. } = Moments::gaussian(count);
        let edges = TAILS.map(|tail| quantiles(skewness, excess, tail));
        let (mut below, mut above) = ([0u64; TAILS.len()], [0u64; TAILS.len()]);
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(count);
        for _ in 0..trials {
            let (mut first, mut second) = (0.0, 0.0);
            for _ in 0..count {
                let power: f64 = Exp1.sample(&mut generator);
                first += power;
                second += power * power;
            }
            let z = (spectral_kurtosis(count, first, second) - 1.0) / variance.sqrt();
            for (at, [low, high]) in edges.iter().enumerate() {
                below[at] += u64::from(z < *low);
                above[at] += u64::from(z > *high);
            }
        }
        for (at, tail) in TAILS.iter().enumerate() {
            let share = |number: u64| if number < 200 { 0.0 } else { number as f64 / trials as f64 };
            println!("{count},{skewness:.5},{tail:e},{:.4e},{:.4e}", share(below[at]), share(above[at]));
        }
    }
}
