//! Gaussian noise, rounded and clipped.

/// Probabilities of the values `-limit..=limit` of a part with this rms before it is rounded to the nearest integer and
/// clipped.
pub fn probabilities(limit: i32, rms: f64) -> Vec<f64> {
    // Above a value's lower edge; of the lowest value all is.
    let above = |value: i32| 0.5 * erfc((f64::from(value) - 0.5) / (rms * std::f64::consts::SQRT_2));
    let one = |value: i32| {
        let magnitude = value.abs();
        let outer = if magnitude == limit { 0.0 } else { above(magnitude + 1) };
        if magnitude == 0 { 1.0 - 2.0 * above(1) } else { above(magnitude) - outer }
    };
    (-limit..=limit).map(one).collect()
}

/// The mean power of complex noise whose parts have this rms before they are quantised.
pub fn level_of_rms(limit: i32, rms: f64) -> f64 {
    let values = -limit..=limit;
    2.0 * values.zip(probabilities(limit, rms)).map(|(value, p)| f64::from(value).powi(2) * p).sum::<f64>()
}

/// `1 - erf(x)` of `x` above 0, relatively within 1e-13: the series of erf, and the continued fraction of erfc.
fn erfc(x: f64) -> f64 {
    let scale = 2.0 / std::f64::consts::PI.sqrt() * (-x * x).exp();
    if x < 2.5 {
        let (mut term, mut sum) = (x, x);
        for n in 1..200 {
            term *= 2.0 * x * x / (2.0 * f64::from(n) + 1.0);
            sum += term;
            if term < 1e-17 * sum {
                break;
            }
        }
        return 1.0 - scale * sum;
    }
    let fraction = (1..120).rev().fold(x, |rest, n| x + f64::from(n) / 2.0 / rest);
    scale / 2.0 / fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn erfc_is_the_tables() {
        for (x, expected) in [
            (0.0, 1.0),
            (0.5, 0.479_500_122_186_953_5),
            (1.0, 0.157_299_207_050_285_13),
            (2.4, 6.885_138_966_450_786e-4),
            (2.6, 2.360_344_165_293_492e-4),
            (5.0, 1.537_459_794_428_035e-12),
        ] {
            assert!((erfc(x) - expected).abs() < 1e-11 * expected, "{x}: {} {expected}", erfc(x));
        }
    }

    #[test]
    fn probabilities_are_one_together_and_the_level_is_between_its_limits() {
        for (limit, rms) in [(7, 0.5), (7, 2.0), (7, 20.0), (127, 0.7), (127, 30.0)] {
            let all = probabilities(limit, rms);
            assert!((all.iter().sum::<f64>() - 1.0).abs() < 1e-13);
            assert!(all.iter().zip(all.iter().rev()).all(|(a, b)| a == b));
        }
        // Sheppard: rounding adds 1/12 to each part.
        assert!((level_of_rms(127, 16.0) - 2.0 * (256.0 + 1.0 / 12.0)).abs() < 1e-9);
        assert!(level_of_rms(7, 1e6) > 97.9 && level_of_rms(7, 1e6) <= 98.0);
    }
}
