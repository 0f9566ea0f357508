//! Interference: sums of powers, and spectral kurtosis.
//!
//! Sums over blocks of `n` spectra, of what is present: `S0 = sum 1`, `S1 = sum |x|^2`, `S2 = sum |x|^4`. The estimator
//! of spectral kurtosis of a block with `M = S0` samples is
//!
//! ```text
//! SK = (M + 1) / (M - 1) (M S2 / S1^2 - 1)
//! ```
//!
//! Its expectation is 1 for complex Gaussian noise of any power, whatever `M` is; below for a steady carrier, above for
//! pulses. Of noise it is a function of a Dirichlet vector alone, `u_t = |x_t|^2 / S1`, from which its moments follow.
//!
//! Source: G. M. Nita and D. E. Gary, "The generalized spectral kurtosis estimator", MNRAS 406, L60 (2010), for sums of
//! single spectra (`n = 1`, `d = 1`).

use ndarray::{Array2, Array3, ArrayView2, ArrayView3};
use num_complex::Complex;

/// Sums over blocks.
#[derive(Debug, Clone, PartialEq)]
pub struct PowerSums {
    /// Samples that were present, `[block][input]`.
    pub count: Array2<u64>,
    /// `sum |x|^2`, `[channel][block][input]`.
    pub first: Array3<f64>,
    /// `sum |x|^4`, `[channel][block][input]`.
    pub second: Array3<f64>,
}

/// Sums over blocks of `spectra` spectra, the first of which began `lead` spectra before the voltages.
///
/// Shapes: `voltages [channel][time][input]`, `presence [time][input]`.
///
/// # Precision
/// One f64 rounding per operation, in order of time: exact for integers as long as sums are below 2^53.
///
/// # Panics
/// If the presence flags have fewer times or inputs than the voltages, or `spectra` is 0.
pub fn power_sums(
    voltages: ArrayView3<'_, Complex<f64>>,
    presence: Option<ArrayView2<'_, bool>>,
    spectra: usize,
    lead: usize,
) -> PowerSums {
    let (channels, times, inputs) = voltages.dim();
    let blocks = if times == 0 { 0 } else { (times + lead).div_ceil(spectra) };
    let mut sums = PowerSums {
        count: Array2::zeros((blocks, inputs)),
        first: Array3::zeros((channels, blocks, inputs)),
        second: Array3::zeros((channels, blocks, inputs)),
    };
    for time in 0..times {
        let block = (time + lead) / spectra;
        for input in 0..inputs {
            if presence.is_some_and(|flags| !flags[(time, input)]) {
                continue;
            }
            sums.count[(block, input)] += 1;
            for channel in 0..channels {
                let power = voltages[(channel, time, input)].norm_sqr();
                sums.first[(channel, block, input)] += power;
                sums.second[(channel, block, input)] += power * power;
            }
        }
    }
    sums
}

/// The estimator `SK`; not a number where it is not defined, with fewer than 2 samples or no power.
pub fn spectral_kurtosis(count: u64, first: f64, second: f64) -> f64 {
    if count < 2 || first <= 0.0 {
        return f64::NAN;
    }
    let count = count as f64;
    (count + 1.0) / (count - 1.0) * (count * second / (first * first) - 1.0)
}

/// The mean, and the second to fourth central moments of `SK` of complex Gaussian noise with `count` samples.
///
/// With `u` a Dirichlet vector of `M` ones, `SK = (M + 1) / (M - 1) (M sum u_t^2 - 1)`. `E[(sum u^2)^k]` is a sum over
/// the ways in which `k` factors share times, and `E[prod u_i^{a_i}] = (M - 1)! prod a_i! / (M - 1 + sum a_i)!`.
pub fn gaussian_moments(count: u64) -> [f64; 4] {
    let m = count as f64;
    let rising = |factors: u32| (0..factors).map(|k| m + f64::from(k)).product::<f64>();
    let falling = |times: u32| (0..times).map(|k| m - f64::from(k)).product::<f64>();
    // Each term: how many ways, over how many different times, and the product of factorials of the exponents.
    let raw = |k: u32, terms: &[(f64, u32, f64)]| {
        terms.iter().map(|&(ways, times, factorials)| ways * falling(times) * factorials).sum::<f64>() / rising(2 * k)
    };
    let first = raw(1, &[(1.0, 1, 2.0)]);
    let second = raw(2, &[(1.0, 1, 24.0), (1.0, 2, 4.0)]);
    let third = raw(3, &[(1.0, 1, 720.0), (3.0, 2, 48.0), (1.0, 3, 8.0)]);
    let fourth = raw(4, &[(1.0, 1, 40320.0), (4.0, 2, 1440.0), (3.0, 2, 576.0), (6.0, 3, 96.0), (1.0, 4, 16.0)]);
    let scale = (m + 1.0) / (m - 1.0) * m;
    [
        scale * (first - 1.0 / m),
        scale.powi(2) * (second - first * first),
        scale.powi(3) * (third - 3.0 * first * second + 2.0 * first.powi(3)),
        scale.powi(4) * (fourth - 4.0 * first * third + 6.0 * first * first * second - 3.0 * first.powi(4)),
    ]
}

#[cfg(test)]
mod tests {
    use ndarray::Array3;
    use rand::SeedableRng;
    use rand_distr::{Distribution, StandardNormal};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    type C64 = Complex<f64>;

    #[test]
    fn a_steady_carrier_has_none_and_a_pulse_has_much() {
        // Constant power: M S2 = S1^2. Power in k of M samples: M S2 / S1^2 = M / k.
        let (m, k) = (64, 4);
        let carrier = Array3::from_shape_fn((1, m, 1), |(_, time, _)| C64::from_polar(3.0, time as f64));
        let pulse = Array3::from_shape_fn((1, m, 1), |(_, time, _)| C64::from(if time < k { 2.0 } else { 0.0 }));
        let of = |x: &Array3<C64>| {
            let sums = power_sums(x.view(), None, m, 0);
            spectral_kurtosis(sums.count[(0, 0)], sums.first[(0, 0, 0)], sums.second[(0, 0, 0)])
        };
        assert!(of(&carrier).abs() < 1e-13);
        assert!((of(&pulse) - 65.0 / 63.0 * (16.0 - 1.0)).abs() < 1e-12);
    }

    #[test]
    fn blocks_begin_where_they_are_said_to() {
        let x = Array3::from_shape_fn((1, 7, 1), |(_, time, _)| C64::from((time + 1) as f64));
        let sums = power_sums(x.view(), None, 4, 3);
        assert_eq!(sums.count.into_raw_vec_and_offset().0, [1, 4, 2]);
        assert_eq!(sums.first.into_raw_vec_and_offset().0, [1.0, 4.0 + 9.0 + 16.0 + 25.0, 36.0 + 49.0]);
    }

    #[test]
    fn moments_are_those_of_the_paper_and_of_noise() {
        // Equations 10 of Nita and Gary for n = d = 1.
        for count in [3u64, 10, 100, 4000] {
            let m = count as f64;
            let expected = [
                1.0,
                4.0 * m * m / ((m - 1.0) * (m + 2.0) * (m + 3.0)),
                16.0 * m.powi(3) * (5.0 * m - 7.0)
                    / ((m - 1.0).powi(2) * (m + 2.0) * (m + 3.0) * (m + 4.0) * (m + 5.0)),
                48.0 * m.powi(4) * (m.powi(3) + 98.0 * m * m - 185.0 * m + 78.0)
                    / ((m - 1.0).powi(3) * (2..8).map(|k| m + f64::from(k)).product::<f64>()),
            ];
            for (order, (actual, expected)) in gaussian_moments(count).iter().zip(expected).enumerate() {
                // Central moments are differences of raw ones, which are about 1.
                let bound = 1e-13 * m.powi(order as i32 + 1) + 1e-12 * expected;
                assert!((actual - expected).abs() <= bound, "{count}, {order}: {actual} {expected}");
            }
        }
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(1);
        let (count, trials) = (16, 40_000);
        let values: Vec<f64> = (0..trials)
            .map(|_| {
                let mut part = || -> f64 { StandardNormal.sample(&mut generator) };
                let x = Array3::from_shape_simple_fn((1, count, 1), || C64::new(part(), part()));
                let sums = power_sums(x.view(), None, count, 0);
                spectral_kurtosis(count as u64, sums.first[(0, 0, 0)], sums.second[(0, 0, 0)])
            })
            .collect();
        let [mean, variance, ..] = gaussian_moments(count as u64);
        let actual = values.iter().sum::<f64>() / f64::from(trials);
        // Four standard errors.
        assert!((actual - mean).abs() < 4.0 * (variance / f64::from(trials)).sqrt(), "{actual} {mean}");
    }

    #[test]
    fn nothing_has_no_kurtosis() {
        assert!(spectral_kurtosis(1, 1.0, 1.0).is_nan() && spectral_kurtosis(8, 0.0, 0.0).is_nan());
    }
}
