//! A Gaussian line fitted to the cross-power of two antennas.
//!
//! The phase is that of the line's sum; turned back by it, the real part is `p exp(-4 ln 2 (f - f0)^2 / w^2)` and noise
//! of variance `((1 + C)^2 + C^2) / (2 n)` in `n` spectra, with `C` the line's power. Least squares by Gauss and
//! Newton, and the errors of their normal equations.

use std::f64::consts::LN_2;

use fringes::Complex;

use crate::spectra::Spectra;

/// Channels that are averaged to find the line.
const SMOOTHED: usize = 5;
/// Widths to either side of the line that are fitted.
const FITTED: f64 = 4.0;
const STEPS: usize = 30;

/// The line that was found.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    /// Peak in units of the noise, centre and full width at half maximum.
    pub(crate) peak: f64,
    pub(crate) centre_hz: f64,
    pub(crate) width_hz: f64,
    /// Standard errors of the three.
    pub(crate) errors: [f64; 3],
    pub(crate) phase_degrees: f64,
    pub(crate) phase_error_degrees: f64,
}

impl Line {
    /// The strongest line of the cross-power; `None` if there is none.
    pub(crate) fn fit(spectra: &Spectra) -> Option<Self> {
        let cross = &spectra.cross;
        let sums: Vec<Complex<f64>> = cross.windows(SMOOTHED).map(|window| window.iter().sum()).collect();
        let strongest = (0..sums.len()).max_by(|&a, &b| sums[a].norm().total_cmp(&sums[b].norm()))?;
        let noise = SMOOTHED as f64 / (SMOOTHED as f64 * spectra.integrated.max(1) as f64).sqrt();
        if sums[strongest].norm() < 6.0 * noise {
            return None;
        }
        let start = strongest + SMOOTHED / 2;
        let (mut peak, mut centre) = (sums[strongest].norm() / SMOOTHED as f64, spectra.frequencies_hz[start]);
        // As wide as there are neighbours of half its height.
        let turned = |channel: usize| (cross[channel] * sums[strongest].conj()).re / sums[strongest].norm();
        let above = |channel: &usize| turned(*channel) > 0.5 * peak;
        let right = (start..cross.len()).take_while(above).count();
        let left = (0..start).rev().take_while(above).count();
        let mut width = ((left + right) as f64).max(2.0) * spectra.channel_hz;
        let mut phase = sums[strongest].arg();
        let mut errors = [0.0; 3];
        let mut of_sum = 0.0;
        for _ in 0..STEPS {
            let near = |&channel: &usize| (spectra.frequencies_hz[channel] - centre).abs() < FITTED * width;
            let channels: Vec<usize> = (0..cross.len()).filter(near).collect();
            let shape = |channel: usize| {
                let x = (spectra.frequencies_hz[channel] - centre) / width;
                (x, (-4.0 * LN_2 * x * x).exp())
            };
            // Of the line that is fitted: measured powers would favour channels that happen to be low.
            let variance =
                |cross: f64| ((1.0 + cross).powi(2) + cross * cross) / (2.0 * spectra.integrated.max(1) as f64);
            let (mut normal, mut right) = ([[0.0; 3]; 3], [0.0; 3]);
            let (mut sum, mut weights) = (Complex::new(0.0, 0.0), 0.0);
            for &channel in &channels {
                let (x, shape) = shape(channel);
                let weight = 1.0 / variance(peak * shape);
                let value = cross[channel] * Complex::cis(-phase);
                let slopes = [shape, 8.0 * LN_2 * x * peak * shape / width, 8.0 * LN_2 * x * x * peak * shape / width];
                for (row, a) in slopes.iter().enumerate() {
                    right[row] += weight * a * (value.re - peak * shape);
                    for (column, b) in slopes.iter().enumerate() {
                        normal[row][column] += weight * a * b;
                    }
                }
                sum += cross[channel] * shape * weight;
                weights += peak * shape * shape * weight;
            }
            let inverse = inverted(normal)?;
            let step: Vec<f64> = inverse.iter().map(|row| row.iter().zip(right).map(|(a, b)| a * b).sum()).collect();
            // Never by more than half a width, or to less than half.
            peak += step[0].clamp(-0.5 * peak, peak);
            centre += step[1].clamp(-0.5 * width, 0.5 * width);
            width += step[2].clamp(-0.5 * width, width);
            errors = [0, 1, 2].map(|index: usize| inverse[index][index].sqrt());
            phase = sum.arg();
            of_sum = 1.0 / (weights * peak).sqrt();
        }
        let found =
            peak.is_finite() && width.is_finite() && width > 0.0 && errors.iter().all(|error| error.is_finite());
        found.then_some(Self {
            peak,
            centre_hz: centre,
            width_hz: width,
            errors,
            phase_degrees: phase.to_degrees(),
            phase_error_degrees: of_sum.to_degrees(),
        })
    }

    /// The line at a frequency.
    pub(crate) fn at(&self, frequency_hz: f64) -> f64 {
        gaussian(self.peak, self.centre_hz, self.width_hz, frequency_hz)
    }
}

/// A Gaussian line at a frequency.
pub(crate) fn gaussian(peak: f64, centre_hz: f64, width_hz: f64, frequency_hz: f64) -> f64 {
    peak * (-4.0 * LN_2 * ((frequency_hz - centre_hz) / width_hz).powi(2)).exp()
}

/// The inverse of a symmetric matrix by cofactors.
fn inverted(m: [[f64; 3]; 3]) -> Option<[[f64; 3]; 3]> {
    let minor = |row: usize, column: usize| {
        let (a, b) = ((row + 1) % 3, (row + 2) % 3);
        let (c, d) = ((column + 1) % 3, (column + 2) % 3);
        m[a][c] * m[b][d] - m[a][d] * m[b][c]
    };
    let determinant: f64 = (0..3).map(|column| m[0][column] * minor(0, column)).sum();
    (determinant.is_finite() && determinant != 0.0)
        .then(|| [0, 1, 2].map(|row| [0, 1, 2].map(|column| minor(column, row) / determinant)))
}
