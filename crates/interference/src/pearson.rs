//! Thresholds: the quantiles of a distribution of which four moments are known, as a Pearson curve.
//!
//! Karl Pearson's curves are the solutions of `p' / p = -(x + b1) / (b0 + b1 x + b2 x^2)`, for `x` in standard
//! deviations from the mean, with
//!
//! ```text
//! b0 = (4 k - 3 s^2) / d,  b1 = s (k + 3) / d,  b2 = (2 k - 3 s^2 - 6) / d,  d = 10 k - 12 s^2 - 18
//! ```
//!
//! of skewness `s` and kurtosis `k` (3 of a normal distribution). The roots of the denominator say which type it is:
//! none (type IV, spectral kurtosis of most numbers of samples), two of one sign (VI), two of both signs (I), one at
//! infinity (III), all at infinity (normal). Nothing here asks for the type's name: `p` is integrated numerically
//! between the roots on both sides of 0.
//!
//! Source: G. M. Nita and D. E. Gary, PASP 122, 595 (2010) and MNRAS 406, L60 (2010), who found these curves to have
//! the tails of spectral kurtosis, nearly.

use crate::error::in_range;
use crate::{InterferenceError, Moments, tails};

/// Between which values an estimate of spectral kurtosis lies, but for a false-alarm rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// The lower one: half of the false alarms lie below.
    pub lower: f64,
    /// The upper one: half of the false alarms lie above.
    pub upper: f64,
}

impl Thresholds {
    /// Thresholds for complex Gaussian noise of which a block has `count` samples, at least 4, that together a share
    /// `false_alarm_rate` of noise is beyond.
    ///
    /// # Errors
    /// [`InterferenceError::Range`] for a count below 4, or a rate that is not from 1e-9 to 0.5.
    ///
    /// ```
    /// use fringes_interference::Thresholds;
    ///
    /// // The rate of three standard deviations of a normal distribution: those of kurtosis are not alike.
    /// let thresholds = Thresholds::gaussian(1024, 0.0027)?;
    /// assert!((thresholds.lower - 0.835).abs() < 0.002 && (thresholds.upper - 1.216).abs() < 0.004);
    /// # Ok::<(), fringes_interference::InterferenceError>(())
    /// ```
    pub fn gaussian(count: u64, false_alarm_rate: f64) -> Result<Self, InterferenceError> {
        in_range("samples of a block", count as f64, (4.0, f64::INFINITY))?;
        Self::of(&Moments::gaussian(count), false_alarm_rate)
    }

    /// Thresholds of an estimate with these moments.
    ///
    /// # Errors
    /// [`InterferenceError::Range`] for a rate that is not from 1e-9 to 0.5.
    pub fn of(moments: &Moments, false_alarm_rate: f64) -> Result<Self, InterferenceError> {
        in_range("false-alarm rate", false_alarm_rate, (1e-9, 0.5))?;
        let [lower, upper] = calibrated(moments.skewness, moments.excess, false_alarm_rate / 2.0);
        let deviation = moments.variance.sqrt();
        Ok(Self { lower: moments.mean + deviation * lower, upper: moments.mean + deviation * upper })
    }

    /// Whether a value lies between the thresholds.
    pub fn contain(&self, value: f64) -> bool {
        value >= self.lower && value <= self.upper
    }
}

/// [`quantiles`] of spectral kurtosis, which Pearson's curves miss by a little: of noise with 128 samples a half of a
/// thousandth is where a thousandth should be below. The shares that are truly beyond them were measured
/// (`examples/tail_table.rs`), as a function of the skewness: what has the skewness of `M` samples, such as the mean of
/// `N` estimates of `M / N` samples, has its tails.
pub(crate) fn calibrated(skewness: f64, excess: f64, tail: f64) -> [f64; 2] {
    let [below, above] = tails::nominal(skewness, tail);
    [quantiles(skewness, excess, below)[0], quantiles(skewness, excess, above)[1]]
}

/// Points of the integral.
const POINTS: usize = 4096;

/// `x = sinh(t)` of the outermost points: 1e5 standard deviations, for the long tails of few samples.
const WIDEST: f64 = 12.2;

/// Standard deviations from the mean that a share `tail` lies below, and that a share `tail` lies above.
pub fn quantiles(skewness: f64, excess: f64, tail: f64) -> [f64; 2] {
    let curve = Curve::new(skewness, excess);
    let (low, high) = (curve.low.max(-WIDEST.sinh()).asinh(), curve.high.min(WIDEST.sinh()).asinh());
    let step = (high - low) / POINTS as f64;
    // Between roots the density may be infinite at an end: midpoints do not touch the ends.
    let at = |index: usize| low + (index as f64 + 0.5) * step;
    let mut logs: Vec<f64> =
        (0..POINTS).map(|index| curve.log_density(at(index).sinh()) + at(index).cosh().ln()).collect();
    let highest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    logs.iter_mut().for_each(|log| *log = (*log - highest).exp());
    let weights = logs;
    let all: f64 = weights.iter().sum();
    let quantile = |points: &mut dyn Iterator<Item = usize>, direction: f64| {
        let mut sum = 0.0;
        for index in points {
            let next = sum + weights[index];
            if next >= tail * all {
                // Within a cell the logarithm of the sum is interpolated: tails fall off exponentially.
                let share = if sum > 0.0 { (tail * all / sum).ln() / (next / sum).ln() } else { tail * all / next };
                return (at(index) + direction * (share - 0.5) * step).sinh();
            }
            sum = next;
        }
        0.0
    };
    [quantile(&mut (0..POINTS), 1.0), quantile(&mut (0..POINTS).rev(), -1.0)]
}

/// A Pearson curve in standard deviations from its mean.
struct Curve {
    b: [f64; 3],
    /// Ends of the support.
    low: f64,
    high: f64,
}

impl Curve {
    fn new(skewness: f64, excess: f64) -> Self {
        // Below 1.2 s^2 + 1.8, a flat density's, densities have two peaks: noise has none such.
        let square = skewness * skewness;
        let kurtosis = (excess + 3.0).max(1.2 * square + 1.8 + 1e-6);
        let divisor = 10.0 * kurtosis - 12.0 * square - 18.0;
        let b = [
            (4.0 * kurtosis - 3.0 * square) / divisor,
            skewness * (kurtosis + 3.0) / divisor,
            (2.0 * kurtosis - 3.0 * square - 6.0) / divisor,
        ];
        let [b0, b1, b2] = b;
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        let discriminant = b1 * b1 - 4.0 * b0 * b2;
        let mut roots = Vec::new();
        if b2.abs() < FLAT {
            if b1.abs() > FLAT {
                roots.push(-b0 / b1);
            }
        } else if discriminant >= 0.0 {
            let root = discriminant.sqrt();
            roots.extend([(-b1 - root) / (2.0 * b2), (-b1 + root) / (2.0 * b2)]);
        }
        for root in roots {
            if root < 0.0 {
                low = low.max(root);
            } else {
                high = high.min(root);
            }
        }
        Self { b, low, high }
    }

    /// The logarithm of the density, but for a constant.
    fn log_density(&self, x: f64) -> f64 {
        let [b0, b1, b2] = self.b;
        let denominator = b0 + b1 * x + b2 * x * x;
        if denominator <= 0.0 {
            return f64::NEG_INFINITY;
        }
        if b2.abs() < FLAT {
            // Type III, and the normal distribution.
            return if b1.abs() < FLAT {
                -x * x / (2.0 * b0)
            } else {
                -x / b1 + (b0 / b1 - b1) / b1 * denominator.ln()
            };
        }
        let discriminant = b1 * b1 - 4.0 * b0 * b2;
        // The integral of 1 / denominator.
        let inverse = if discriminant < 0.0 {
            let root = (-discriminant).sqrt();
            2.0 / root * ((2.0 * b2 * x + b1) / root).atan()
        } else {
            let root = discriminant.sqrt().max(1e-12);
            ((2.0 * b2 * x + b1 - root) / (2.0 * b2 * x + b1 + root)).abs().ln() / root
        };
        -denominator.ln() / (2.0 * b2) - (b1 - b1 / (2.0 * b2)) * inverse
    }
}

/// Coefficients below which a term of the denominator is left out.
const FLAT: f64 = 1e-7;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn close(actual: f64, expected: f64) {
        assert!((actual - expected).abs() < 2e-3 * expected.abs().max(1.0), "{actual} {expected}");
    }

    #[test]
    fn curves_of_known_moments_have_their_quantiles() {
        // Normal.
        for (tail, expected) in [(0.158_655_25, 1.0), (0.001_349_9, 3.0), (2.866_5e-7, 5.0)] {
            let [lower, upper] = quantiles(0.0, 0.0, tail);
            close(lower, -expected);
            close(upper, expected);
        }
        // Exponential (type III): skewness 2, excess 6; P(x > q) = exp(-q - 1).
        for tail in [0.1, 1e-3, 1e-6] {
            let [lower, upper] = quantiles(2.0, 6.0, tail);
            close(upper, -f64::ln(tail) - 1.0);
            close(lower, -f64::ln(1.0 - tail) - 1.0);
        }
        // Uniform (type I): excess -6/5, +-sqrt(3).
        let [lower, upper] = quantiles(0.0, -1.2, 0.01);
        close(lower, -(0.98 * 3f64.sqrt()));
        close(upper, 0.98 * 3f64.sqrt());
        // Student's with 10 degrees (type VII, the symmetric IV): excess 1, variance 10/8; P(|t| > 3.169273) = 0.01.
        let [lower, upper] = quantiles(0.0, 1.0, 0.005);
        close(upper, 3.169_273 / 1.25f64.sqrt());
        close(lower, -upper);
        // F(10, 20) (type VI): mean 10/9, P(F > 3.368186) = 0.01.
        let (m, n) = (10.0f64, 20.0f64);
        let mean = n / (n - 2.0);
        let variance = 2.0 * n * n * (m + n - 2.0) / (m * (n - 2.0).powi(2) * (n - 4.0));
        let skewness = (2.0 * m + n - 2.0) * (8.0 * (n - 4.0)).sqrt() / ((n - 6.0) * (m * (m + n - 2.0)).sqrt());
        let excess = 12.0 * (m * (5.0 * n - 22.0) * (m + n - 2.0) + (n - 4.0) * (n - 2.0).powi(2))
            / (m * (n - 6.0) * (n - 8.0) * (m + n - 2.0));
        close(quantiles(skewness, excess, 0.01)[1], (3.368_186 - mean) / variance.sqrt());
    }

    #[test]
    fn numbers_that_are_no_rates_are_errors() {
        for rate in [0.0, -1.0, 0.6, f64::NAN] {
            assert!(matches!(Thresholds::gaussian(100, rate), Err(InterferenceError::Range { .. })));
        }
        assert!(Thresholds::gaussian(3, 0.01).is_err());
    }

    #[test]
    fn moments_that_no_distribution_has_give_numbers() {
        for (skewness, excess) in [(0.0, -3.0), (5.0, 0.0), (-2.0, 1e6), (1e-8, -1e-8), (3.0, 12.0)] {
            let [lower, upper] = quantiles(skewness, excess, 0.01);
            assert!(lower.is_finite() && upper.is_finite() && lower < upper, "{skewness} {excess}: {lower} {upper}");
        }
    }
}
