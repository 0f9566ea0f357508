//! Designs by least squares.

use std::f64::consts::{PI, TAU};

use super::{Band, DesignError, band};

/// Symmetric taps with the least `sum_bands weight * integral of (gain wanted - gain)^2` over the bands.
///
/// The minimum's equations are solved in `f64` by Cholesky's method, so the taps lose about the square of what
/// [`remez`](super::remez) loses when gaps between the bands are wide.
///
/// # Errors
/// [`DesignError::Taps`], [`DesignError::NoBands`], [`DesignError::Edges`], [`DesignError::Band`] and
/// [`DesignError::HalfRate`] for taps and bands that make no sense, [`DesignError::Undetermined`] for taps that the
/// bands do not determine in `f64`: wide gaps and many taps.
pub fn least_squares(taps: usize, bands: &[Band]) -> Result<Vec<f64>, DesignError> {
    band::check(taps, bands)?;
    // The gain is sum_k a_k cos(2 pi f (k + offset)), with k from 0 on: the middle tap, or the pair around the middle.
    let (count, offset) = if taps % 2 == 1 { (taps / 2 + 1, 0.0) } else { (taps / 2, 0.5) };
    // Integrals of weight * cos(2 pi f m), for m of 0 to twice the taps' largest, which is whole in both cases.
    let integrals: Vec<f64> = (0..=taps).map(|m| integral(bands, m as f64, |band| band.weight())).collect();
    let sum_of_phases = |k: usize, l: usize| if offset == 0.0 { k + l } else { k + l + 1 };
    // The lower triangle of the matrix, row by row.
    let mut matrix: Vec<Vec<f64>> = (0..count)
        .map(|k| (0..=k).map(|l| 0.5 * (integrals[k - l] + integrals[sum_of_phases(k, l)])).collect())
        .collect();
    let mut wanted: Vec<f64> =
        (0..count).map(|k| integral(bands, k as f64 + offset, |band| band.weight() * band.gain())).collect();
    solve(&mut matrix, &mut wanted).ok_or(DesignError::Undetermined { taps })?;
    // a_0 of an odd number of taps is the middle tap itself; every other a_k is twice a tap.
    let tap = |n: usize| match (taps % 2, n.min(taps - 1 - n)) {
        (1, n) if n == taps / 2 => wanted[0],
        (1, n) => 0.5 * wanted[taps / 2 - n],
        (_, n) => 0.5 * wanted[taps / 2 - 1 - n],
    };
    Ok((0..taps).map(tap).collect())
}

/// Integral over all bands of `factor(band) cos(2 pi f m)`.
fn integral(bands: &[Band], m: f64, factor: impl Fn(&Band) -> f64) -> f64 {
    let of_band = |band: &Band| {
        let width = band.to() - band.from();
        if m == 0.0 {
            return factor(band) * width;
        }
        // (sin(2 pi b m) - sin(2 pi a m)) / (2 pi m) as a product, which does not cancel.
        factor(band) * (PI * (band.from() + band.to()) * m).cos() * (PI * width * m).sin() * 2.0 / (TAU * m)
    };
    bands.iter().map(of_band).sum()
}

/// Solves for a symmetric positive matrix, of which the lower triangle is given; `None` if it is not positive in `f64`.
fn solve(matrix: &mut [Vec<f64>], values: &mut [f64]) -> Option<()> {
    let count = matrix.len();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    for row in 0..count {
        let (above, below) = matrix.split_at_mut(row);
        let current = &mut below[0];
        for column in 0..row {
            let other = &above[column];
            current[column] = (current[column] - dot(&current[..column], &other[..column])) / other[column];
        }
        let rest = current[row] - dot(&current[..row], &current[..row]);
        // What is left of a diagonal element is rounding alone if it is that small.
        if rest.is_nan() || rest <= 4.0 * f64::EPSILON * current[row] {
            return None;
        }
        current[row] = rest.sqrt();
    }
    for row in 0..count {
        values[row] = (values[row] - dot(&matrix[row][..row], &values[..row])) / matrix[row][row];
    }
    for row in (0..count).rev() {
        let value = values[row] / matrix[row][row];
        values[row] = value;
        for column in 0..row {
            values[column] -= matrix[row][column] * value;
        }
    }
    Some(())
}
