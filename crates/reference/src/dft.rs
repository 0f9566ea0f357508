//! Discrete Fourier transform of `N` complex values, by its definition.
//!
//! `X[k] = sum_n x[n] exp(sign 2 pi i k n / N)`, unnormalised; the forward transform has `sign = -1`.

use std::f64::consts::TAU;

use num_complex::Complex64 as C64;

/// `exp(2 pi i k / n)`; `k` is reduced modulo `n` first, so that large products of indices lose nothing.
pub fn root_of_unity(k: u64, n: u64) -> C64 {
    C64::from_polar(1.0, TAU * (k % n) as f64 / n as f64)
}

/// The transform of `x`; `sign` is -1 for the forward transform and +1 for the (unnormalised) backward one.
///
/// # Panics
/// If `sign` is neither.
pub fn dft(x: &[C64], sign: f64) -> Vec<C64> {
    assert!(sign.abs() == 1.0, "sign of the exponent is {sign}");
    let n = x.len() as u64;
    let roots: Vec<C64> =
        (0..n).map(|k| if sign > 0.0 { root_of_unity(k, n) } else { root_of_unity(k, n).conj() }).collect();
    (0..n)
        .map(|k| {
            let mut sum = C64::default();
            for (i, &value) in x.iter().enumerate() {
                sum += value * roots[(k * i as u64 % n) as usize];
            }
            sum
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    const SIZES: [usize; 10] = [1, 2, 3, 5, 8, 13, 16, 31, 60, 96];

    fn noise(length: usize, seed: u64) -> Vec<C64> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        (0..length).map(|_| C64::new(rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0))).collect()
    }

    /// Each of `n` products and additions rounds by at most 4 units of 2^-53 of values of at most sqrt 2.
    fn bound(n: usize) -> f64 {
        4.0 * (n as f64 + 2.0) * n as f64 * 1.5 * 2f64.powi(-53)
    }

    #[test]
    fn an_impulse_at_zero_is_one_in_every_bin() {
        for n in SIZES {
            let mut x = vec![C64::default(); n];
            x[0] = C64::new(1.0, 0.0);
            assert!(dft(&x, -1.0).iter().all(|value| *value == C64::new(1.0, 0.0)));
        }
    }

    #[test]
    fn an_impulse_at_m_turns_backwards_m_times_over_the_bins() {
        for n in SIZES {
            for m in [1, n / 2, n - 1] {
                let mut x = vec![C64::default(); n];
                x[m % n] = C64::new(1.0, 0.0);
                for (k, value) in dft(&x, -1.0).into_iter().enumerate() {
                    let expected = C64::from_polar(1.0, -TAU * (k * (m % n)) as f64 / n as f64);
                    assert!((value - expected).norm() < 1e-12, "{n} {m} {k}: {value} {expected}");
                }
            }
        }
    }

    #[test]
    fn a_tone_is_in_its_own_bin_alone() {
        for n in SIZES {
            for bin in 0..n {
                let tone: Vec<C64> = (0..n).map(|i| C64::from_polar(1.0, TAU * (bin * i) as f64 / n as f64)).collect();
                for (k, value) in dft(&tone, -1.0).into_iter().enumerate() {
                    let expected = if k == bin { n as f64 } else { 0.0 };
                    // The tone itself is off by the rounding of a phase of up to TAU n.
                    assert!((value - expected).norm() < bound(n) + n as f64 * TAU * n as f64 * 2f64.powi(-52));
                }
            }
        }
    }

    #[test]
    fn power_is_conserved() {
        for n in SIZES {
            let x = noise(n, n as u64);
            let power: f64 = x.iter().map(C64::norm_sqr).sum();
            let transformed: f64 = dft(&x, -1.0).iter().map(C64::norm_sqr).sum();
            assert!((transformed / n as f64 - power).abs() < 1e-12 * power, "{n}");
        }
    }

    #[test]
    fn the_transform_is_linear() {
        for n in SIZES {
            let (x, y, a) = (noise(n, 1), noise(n, 2), C64::new(0.3, -1.7));
            let sum: Vec<C64> = x.iter().zip(&y).map(|(x, y)| a * x + y).collect();
            let (sum, x, y) = (dft(&sum, -1.0), dft(&x, -1.0), dft(&y, -1.0));
            for k in 0..n {
                assert!((sum[k] - (a * x[k] + y[k])).norm() < 4.0 * bound(n));
            }
        }
    }

    #[test]
    fn backward_undoes_forward_up_to_the_length() {
        for n in SIZES {
            let x = noise(n, 7);
            for (back, x) in dft(&dft(&x, -1.0), 1.0).iter().zip(&x) {
                assert!((back / n as f64 - x).norm() < 2.0 * bound(n));
            }
        }
    }
}
