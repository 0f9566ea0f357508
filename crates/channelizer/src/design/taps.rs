//! Taps of a gain that is given by its values at points of its bands.

use std::f64::consts::PI;

use super::barycentric::Barycentric;
use super::grid::factor;

/// Corrections at most; two or three are the rule.
const CORRECTIONS: usize = 10;

/// Symmetric taps whose gain is the polynomial's, times `cos(pi f)` for an even number, and what their gain lacks at
/// the polynomial's points.
///
/// Taps are a transform of the gain at multiples of `1 / taps`. Some of these are in gaps between bands, where the
/// polynomial is known badly, and an error there is one of all frequencies. So the taps' own gain is computed at the
/// points, and taps for what it lacks are added until that is rounding alone.
pub(super) fn taps_of(polynomial: Barycentric, taps: usize) -> (Vec<f64>, Vec<f64>) {
    let even = taps.is_multiple_of(2);
    let wanted: Vec<f64> = polynomial.nodes().map(|(x, value)| factor(even, x) * value).collect();
    let angles: Vec<f64> = polynomial.nodes().map(|(x, _)| x.acos()).collect();
    let lacks = |filter: &[f64]| -> Vec<f64> {
        wanted.iter().zip(&angles).map(|(wanted, &angle)| wanted - gain(filter, angle)).collect()
    };
    let transform = Transform::new(taps);
    // There is one point more than the polynomial has coefficients, and rounding of its value would be a polynomial of
    // a degree too high. The value at the heaviest point follows from the others with the least loss.
    let heaviest = polynomial.heaviest();
    let mut part = polynomial.without(heaviest);
    let mut filter = transform.taps(&part);
    let mut lacking = lacks(&filter);
    for _ in 0..CORRECTIONS {
        let others = lacking[..heaviest].iter().chain(&lacking[heaviest + 1..]);
        let values = part.nodes().zip(others).map(|((x, _), lacking)| lacking / factor(even, x)).collect();
        part = part.with_values(values);
        let correction = transform.taps(&part);
        let corrected: Vec<f64> = filter.iter().zip(&correction).map(|(tap, correction)| tap + correction).collect();
        let rest = lacks(&corrected);
        if largest(&rest) >= largest(&lacking) {
            break;
        }
        (filter, lacking) = (corrected, rest);
    }
    (filter, lacking)
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |largest, value| largest.max(value.abs()))
}

/// Gain of symmetric taps at an angle a sample: `sum_n h_n cos((n - (taps - 1) / 2) angle)`.
fn gain(filter: &[f64], angle: f64) -> f64 {
    let half = filter.len() / 2;
    let from_middle = |n: usize| 0.5 * (filter.len() - 1 - 2 * n) as f64;
    let pairs: f64 = filter[..half].iter().enumerate().map(|(n, tap)| tap * (from_middle(n) * angle).cos()).sum();
    2.0 * pairs + if filter.len() % 2 == 1 { filter[half] } else { 0.0 }
}

/// From the gain at multiples of `1 / taps` to taps.
struct Transform {
    taps: usize,
    /// `cos(pi i / taps)`, of which all phases are.
    cosines: Vec<f64>,
}

impl Transform {
    fn new(taps: usize) -> Self {
        Self { taps, cosines: (0..2 * taps).map(|i| (PI * i as f64 / taps as f64).cos()).collect() }
    }

    /// Taps of a polynomial.
    fn taps(&self, polynomial: &Barycentric) -> Vec<f64> {
        let taps = self.taps;
        let gain = |k: usize| {
            let x = self.cosines[2 * k];
            factor(taps.is_multiple_of(2), x) * polynomial.at(x)
        };
        let gains: Vec<f64> = (0..taps.div_ceil(2)).map(gain).collect();
        let tap = |n: usize| {
            // Twice the distance from the middle, so that taps are symmetric to the bit.
            let distance = (2 * n).abs_diff(taps - 1);
            let phase = |k: usize| self.cosines[k * distance % (2 * taps)];
            let waves: f64 = gains.iter().enumerate().skip(1).map(|(k, gain)| gain * phase(k)).sum();
            (gains[0] + 2.0 * waves) / taps as f64
        };
        (0..taps).map(tap).collect()
    }
}
