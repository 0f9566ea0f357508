//! Detected beams: products of beams' voltages `[channel][time][beam]`, summed over spectra and channels.
//!
//! | products | formula | per beam |
//! |---|---|---|
//! | power | `sum abs(y)^2` | 1 |
//! | Stokes I | `sum abs(x)^2 + abs(y)^2` | 1 |
//! | Stokes | `I`, `Q = sum abs(x)^2 - abs(y)^2`, `U = sum 2 Re x y*`, `V = sum -2 Im x y*` | 4 |
//! | coherency | `sum abs(x)^2`, `sum abs(y)^2`, `sum Re x y*`, `sum Im x y*` | 4 |
//!
//! Sums are over `times` spectra and `channels` neighbouring channels. But for powers, beams `2n` and `2n + 1` are the
//! polarisations `x` and `y` of detected beam `n`.
//!
//! A voltage of a positive frequency turns as `exp(+2 pi i f t)`, as with the forward transform `exp(-2 pi i k n / N)`.
//! With `x` toward the north and `y` toward the east, `V` is then left minus right circular polarisation in the IEEE's
//! sense (PSR/IEEE); the IAU's is its negative.

use ndarray::{Array4, ArrayView3};
use num_complex::Complex;

type C64 = Complex<f64>;

/// Which products are summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Products {
    /// Power of each beam.
    Power,
    /// Total power of both polarisations.
    StokesI,
    /// I, Q, U, V.
    Stokes,
    /// Both powers, real and imaginary part of `x y*`.
    Coherency,
}

impl Products {
    /// Polarisations of a detected beam.
    pub fn pols(self) -> usize {
        if self == Products::Power { 1 } else { 2 }
    }

    /// The products of one sample; `y` is 0 for powers.
    pub fn of(self, x: C64, y: C64) -> Vec<f64> {
        let (xx, yy, xy) = (x.norm_sqr(), y.norm_sqr(), x * y.conj());
        match self {
            Products::Power => vec![xx],
            Products::StokesI => vec![xx + yy],
            Products::Stokes => vec![xx + yy, xx - yy, 2.0 * xy.re, -2.0 * xy.im],
            Products::Coherency => vec![xx, yy, xy.re, xy.im],
        }
    }
}

/// Sums `[channel][time][beam][product]`.
///
/// # Panics
/// If `times`, `channels` or the polarisations do not divide the beams' dimensions.
pub fn detect(beams: ArrayView3<'_, C64>, products: Products, times: usize, channels: usize) -> Array4<f64> {
    let (all_channels, all_times, all_beams) = beams.dim();
    let pols = products.pols();
    assert!(all_channels % channels == 0 && all_times % times == 0 && all_beams % pols == 0, "whole sums");
    let count = products.of(C64::default(), C64::default()).len();
    let mut sums = Array4::zeros((all_channels / channels, all_times / times, all_beams / pols, count));
    for ((channel, time, beam), &x) in beams.indexed_iter() {
        if beam % pols == 0 {
            let y = if pols == 2 { beams[(channel, time, beam + 1)] } else { C64::default() };
            for (product, value) in products.of(x, y).into_iter().enumerate() {
                sums[(channel / channels, time / times, beam / pols, product)] += value;
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use std::f64::consts::{SQRT_2, TAU};

    use ndarray::{Array2, Array3, Axis, concatenate};

    use super::*;
    use crate::dft;

    /// Voltages of real signals `x` and `y` in channel `k` of a transform of `n` samples, as `[1][1][2]`.
    fn channel(n: usize, k: usize, signal: impl Fn(f64) -> [f64; 2]) -> Array3<C64> {
        let of = |pol: usize| {
            let samples: Vec<C64> = (0..n).map(|t| C64::from(signal(TAU * (k * t) as f64 / n as f64)[pol])).collect();
            dft::dft(&samples, -1.0)[k]
        };
        Array3::from_shape_vec((1, 1, 2), vec![of(0), of(1)]).unwrap()
    }

    fn stokes(beams: &Array3<C64>) -> Vec<f64> {
        detect(beams.view(), Products::Stokes, 1, 1).iter().copied().collect()
    }

    fn same(found: &[f64], expected: [f64; 4]) {
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9 * 64.0 * 64.0, "{found} {expected}");
        }
    }

    #[test]
    fn a_right_circular_wave_has_minus_v() {
        // The field turns from north to east, counterclockwise for who looks at the source: right-handed (IEEE).
        let right = channel(64, 5, |phase| [phase.cos(), phase.sin()]);
        let left = channel(64, 5, |phase| [phase.cos(), -phase.sin()]);
        let power = 2.0 * 32.0 * 32.0;
        same(&stokes(&right), [power, 0.0, 0.0, -power]);
        same(&stokes(&left), [power, 0.0, 0.0, power]);
    }

    #[test]
    fn linear_waves_have_the_q_and_u_of_their_angle() {
        for degrees in [0.0f64, 22.5, 45.0, 90.0, 135.0, 160.0] {
            // The position angle counts from north over east.
            let angle = degrees.to_radians();
            let wave = channel(64, 5, |phase| [phase.cos() * angle.cos(), phase.cos() * angle.sin()]);
            let power = 32.0 * 32.0;
            same(&stokes(&wave), [power, power * (2.0 * angle).cos(), power * (2.0 * angle).sin(), 0.0]);
        }
    }

    #[test]
    fn a_polarised_wave_is_as_long_as_i_and_half_of_each_is_not() {
        let wave = channel(64, 5, |phase| [0.3 * phase.cos(), 0.8 * (phase + 0.7).sin()]);
        let found = stokes(&wave);
        let length = found[1..].iter().map(|value| value * value).sum::<f64>().sqrt();
        assert!((length - found[0]).abs() < 1e-9 * found[0]);
        // Orthogonal waves one after the other are unpolarised.
        let (a, b) = (C64::new(0.6, 0.3), C64::new(-0.2, 0.9));
        let one = Array3::from_shape_vec((1, 1, 2), vec![a, b]).unwrap();
        let other = Array3::from_shape_vec((1, 1, 2), vec![-b.conj(), a.conj()]).unwrap();
        let both = concatenate(Axis(1), &[one.view(), other.view()]).unwrap();
        let sums = detect(both.view(), Products::Stokes, 2, 1);
        let power = 2.0 * (a.norm_sqr() + b.norm_sqr());
        for (found, expected) in sums.iter().zip([power, 0.0, 0.0, 0.0]) {
            assert!((found - expected).abs() < 1e-15, "{found} {expected}");
        }
    }

    #[test]
    fn stokes_are_sums_and_differences_of_coherencies() {
        let beams = Array3::from_shape_fn((1, 1, 2), |(_, _, b)| C64::new(1.0 + b as f64, 3.0 - 2.0 * b as f64));
        let coherency = detect(beams.view(), Products::Coherency, 1, 1);
        // x = 1 + 3i, y = 2 + i: x y* = (1 + 3i)(2 - i) = 5 + 5i.
        assert_eq!(coherency.iter().copied().collect::<Vec<_>>(), [10.0, 5.0, 5.0, 5.0]);
        assert_eq!(stokes(&beams), [15.0, 5.0, 10.0, -10.0]);
        let total = detect(beams.view(), Products::StokesI, 1, 1);
        assert_eq!(total.iter().copied().collect::<Vec<_>>(), [15.0]);
    }

    #[test]
    fn sums_are_of_the_spectra_and_channels_that_they_cover() {
        let beams = Array3::from_shape_fn((4, 6, 3), |(c, t, b)| C64::new((100 * c + 10 * t + b) as f64, 0.0));
        let sums = detect(beams.view(), Products::Power, 3, 2);
        assert_eq!(sums.dim(), (2, 2, 3, 1));
        let expected = Array2::from_shape_fn((2, 3), |(c, t)| ((200 + 100 * c + 30 + 10 * t + 2) as f64).powi(2)).sum();
        assert_eq!(sums[(1, 1, 2, 0)], expected);
    }

    #[test]
    fn a_rotating_voltage_has_constant_power() {
        // sqrt(2) cis: power 2 in every sample, whatever the frequency.
        let beams = Array3::from_shape_fn((1, 12, 1), |(_, t, _)| C64::from_polar(SQRT_2, 0.37 * t as f64));
        let sums = detect(beams.view(), Products::Power, 4, 1);
        assert!(sums.iter().all(|&sum| (sum - 8.0).abs() < 1e-14));
    }
}
