//! Spectral kurtosis: the estimator, and its moments for Gaussian noise.

use fringes_cpu::power::PowerSum;
use ndarray::Array3;

use crate::PowerSums;

/// The estimator of spectral kurtosis of a block with `M = count` samples, `first = sum |x|^2`, `second = sum |x|^4`:
///
/// ```text
/// SK = (M + 1) / (M - 1) (M S2 / S1^2 - 1)
/// ```
///
/// Its expectation is 1 for complex Gaussian noise of any power and any `M`. A carrier whose power does not change
/// gives 0, one that is there for the share `d` of the time about `1 / d - 1`: it is 1, that of noise, if `d` is a
/// half. Not a number with fewer than 2 samples or without power.
///
/// # Precision
/// A few roundings of f64. For integers `M S2 - S1^2` is exact before it is rounded once.
///
/// Source: Nita and Gary, MNRAS 406, L60 (2010).
pub fn spectral_kurtosis<S: PowerSum>(count: u64, first: S, second: S) -> f64 {
    let (samples, power) = (count as f64, first.to_f64());
    if count < 2 || power.is_nan() || power <= 0.0 {
        return f64::NAN;
    }
    (samples + 1.0) / (samples - 1.0) * (S::spread(count, first, second) / (power * power))
}

impl<S: PowerSum> PowerSums<S> {
    /// The estimator of every channel, block and input, `[channel][block][input]`: see [`spectral_kurtosis`]. What 4
    /// and 8 bits make of it is not taken off.
    pub fn spectral_kurtosis(&self) -> Array3<f64> {
        let (count, second) = (self.count(), self.second());
        let mut values = Array3::zeros(self.first().dim());
        ndarray::Zip::indexed(&mut values).and(self.first()).and(second).par_for_each(
            |(_, block, input), value, &first, &second| {
                *value = spectral_kurtosis(count[(block, input)], first, second);
            },
        );
        values
    }
}

/// What is known of the distribution of an estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moments {
    /// Expectation.
    pub mean: f64,
    /// Variance.
    pub variance: f64,
    /// Third cumulant over the variance to the 3/2; 0 of a normal distribution.
    pub skewness: f64,
    /// Fourth cumulant over the squared variance; 0 of a normal distribution.
    pub excess: f64,
}

impl Moments {
    /// Moments of the estimator for complex Gaussian noise with so many samples, at least 4.
    ///
    /// Source: equations 10 of Nita and Gary (2010) for sums of single spectra.
    pub fn gaussian(count: u64) -> Self {
        let m = count.max(4) as f64;
        let falling: f64 = [4.0, 5.0, 6.0, 7.0].iter().map(|k| m + k).product();
        let variance = 4.0 * m * m / ((m - 1.0) * (m + 2.0) * (m + 3.0));
        let third =
            16.0 * m * m * m * (5.0 * m - 7.0) / ((m - 1.0).powi(2) * (m + 2.0) * (m + 3.0) * (m + 4.0) * (m + 5.0));
        let fourth = 48.0 * m.powi(4) * (m.powi(3) + 98.0 * m * m - 185.0 * m + 78.0)
            / ((m - 1.0).powi(3) * (m + 2.0) * (m + 3.0) * falling);
        Self { mean: 1.0, variance, skewness: third / variance.powf(1.5), excess: fourth / (variance * variance) - 3.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_the_references() {
        for count in [5u64, 32, 500] {
            let [mean, variance, third, fourth] = fringes_reference::interference::gaussian_moments(count);
            let moments = Moments::gaussian(count);
            for (actual, expected, tolerance) in [
                (moments.mean, mean, 1e-12),
                (moments.variance, variance, 1e-9),
                (moments.skewness, third / variance.powf(1.5), 1e-7),
                // The reference subtracts raw moments of about 1: 2^-53 over the squared variance is left.
                (moments.excess, fourth / (variance * variance) - 3.0, 1e-6),
            ] {
                assert!((actual - expected).abs() <= tolerance * expected.abs(), "{count}: {actual} {expected}");
            }
        }
    }

    #[test]
    fn kurtosis_is_the_references_and_exact_where_f64_is_not() {
        let value = spectral_kurtosis(10, 40u64, 900);
        assert_eq!(value, fringes_reference::interference::spectral_kurtosis(10, 40.0, 900.0));
        // A carrier of constant power, of which M S2 and S1^2 are above 2^53 and equal.
        let (count, power) = (1u64 << 33, 2 * 127u64 * 127);
        assert_eq!(spectral_kurtosis(count, count * power, count * power * power), 0.0);
        assert!(spectral_kurtosis(1, 1u64, 1).is_nan() && spectral_kurtosis(9, 0u64, 0).is_nan());
        assert!(spectral_kurtosis(9, f64::NAN, 1.0).is_nan());
    }
}
