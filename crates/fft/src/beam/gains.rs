//! Gains as the kernels take them: f16, scaled by a power of two in each channel.
//!
//! f16 holds numbers from 2^-24 to 65504, gains can be anything. So a channel's gains are divided by the power of two that puts the largest of
//! them, by absolute value, into [1/8, 1/4), and the beams are multiplied by it at the end, which is exact. With gains below 1/4 nothing
//! overflows on the way: 1024 samples of 128 sqrt 2 make 46341 at most.

use fringes_types::TypesError;
use half::f16;
use ndarray::{Array2, ArrayView2};
use num_complex::Complex;

use crate::FftError;

/// Exponent of 2 that no scaled gain reaches.
const CEILING: i32 = -2;

/// The largest gain of a channel lies between 2^-60 and 2^60, or all are 0.
const EXPONENTS: std::ops::RangeInclusive<i32> = -60..=59;

/// Gains `[channel][input]` in f16, and the power of two of each channel that they were divided by.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ScaledGains {
    /// The gains, divided.
    pub(super) gains: Array2<Complex<f16>>,
    /// `k` of each channel: `gain = 2^k scaled`.
    pub(super) exponents: Vec<i32>,
}

impl ScaledGains {
    /// Scales and rounds gains; see the module. Each part is off by at most `2^-11` of itself or by `2^-22` of the channel's largest gain,
    /// whichever is more.
    pub(super) fn new(gains: ArrayView2<'_, Complex<f32>>) -> Result<Self, FftError> {
        let exponents = gain_exponents(gains)?;
        let scaled = Array2::from_shape_fn(gains.dim(), |(channel, input)| {
            let gain = gains[(channel, input)];
            let divisor = 2f64.powi(exponents[channel]);
            Complex::new(f16::from_f64(f64::from(gain.re) / divisor), f16::from_f64(f64::from(gain.im) / divisor))
        });
        Ok(Self { gains: scaled, exponents })
    }

    /// The gains as words, the real part in the low half.
    pub(super) fn words(&self) -> Vec<u32> {
        let word = |gain: &Complex<f16>| u32::from(gain.re.to_bits()) | u32::from(gain.im.to_bits()) << 16;
        self.gains.iter().map(word).collect()
    }

    /// Gains of 1.
    pub(super) fn ones(channels: usize, inputs: usize) -> Self {
        let one = Complex::new(f16::from_f64(2f64.powi(CEILING - 1)), f16::ZERO);
        Self { gains: Array2::from_elem((channels, inputs), one), exponents: vec![1 - CEILING; channels] }
    }
}

/// The power of two of each channel of gains `[channel][input]`.
///
/// # Errors
/// [`TypesError::NotFinite`] and [`FftError::GainRange`].
#[doc(hidden)]
pub fn gain_exponents(gains: ArrayView2<'_, Complex<f32>>) -> Result<Vec<i32>, FftError> {
    gains.outer_iter().enumerate().map(exponent).collect()
}

/// The power of two of a channel.
fn exponent((channel, gains): (usize, ndarray::ArrayView1<'_, Complex<f32>>)) -> Result<i32, FftError> {
    let mut largest = 0f64;
    for (input, gain) in gains.iter().enumerate() {
        let size = f64::from(gain.re).hypot(f64::from(gain.im));
        if !size.is_finite() {
            let (actual, index) = (gain.to_string(), vec![channel, input]);
            return Err(TypesError::NotFinite { quantity: "feed gain", actual, index }.into());
        }
        largest = largest.max(size);
    }
    if largest == 0.0 {
        return Ok(0);
    }
    // floor(log2), exactly: f32 parts make f64 sizes that are normal.
    let floor = (largest.to_bits() >> 52) as i32 - 1023;
    if EXPONENTS.contains(&floor) { Ok(floor + 1 - CEILING) } else { Err(FftError::GainRange { channel, largest }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(gain: Complex<f16>) -> f64 {
        gain.re.to_f64().hypot(gain.im.to_f64())
    }

    #[test]
    fn the_largest_gain_of_a_channel_lies_between_an_eighth_and_a_quarter() {
        for (re, im) in [(1.0f32, 0.0), (0.999_999_94, 0.0), (0.0, -3e-9), (1e18, 1e17), (0.7, 0.7), (-8.7e-19, 0.0)] {
            let gains = Array2::from_shape_vec((1, 2), vec![Complex::new(re, im), Complex::new(re / 3.0, im / 5.0)]);
            let scaled = ScaledGains::new(gains.unwrap_or_default().view()).unwrap_or_else(|error| panic!("{error}"));
            // Rounding to f16 may reach a quarter itself.
            assert!((0.125..=0.25).contains(&size(scaled.gains[(0, 0)])), "{scaled:?}");
            let back = 2f64.powi(scaled.exponents[0]) * scaled.gains[(0, 0)].re.to_f64();
            assert!((back - f64::from(re)).abs() <= f64::from(re).abs() * 2f64.powi(-11), "{re}: {back}");
        }
    }

    #[test]
    fn gains_of_one_are_exact_and_zeros_stay_zero() {
        let ones = Array2::from_elem((2, 3), Complex::new(1.0f32, 0.0));
        assert_eq!(ScaledGains::new(ones.view()), Ok(ScaledGains::ones(2, 3)));
        let zeros = Array2::from_elem((1, 3), Complex::new(0.0f32, 0.0));
        let scaled = ScaledGains::new(zeros.view());
        assert!(scaled.is_ok_and(|scaled| scaled.gains.iter().all(|gain| size(*gain) == 0.0)));
    }

    #[test]
    fn gains_out_of_range_are_typed_errors() {
        for largest in [1e-20f32, 1.2e18, 3e38, 1e-45] {
            let gains = Array2::from_shape_fn((3, 2), |(channel, _)| {
                Complex::new(if channel == 1 { largest } else { 1.0 }, 0.0)
            });
            let error = ScaledGains::new(gains.view());
            assert_eq!(error, Err(FftError::GainRange { channel: 1, largest: f64::from(largest) }));
        }
        let gains = Array2::from_elem((1, 1), Complex::new(f32::NAN, 0.0));
        assert!(matches!(ScaledGains::new(gains.view()), Err(FftError::Types(TypesError::NotFinite { .. }))));
    }

    #[test]
    fn nothing_overflows_on_the_way() {
        // 1024 samples of the most negative 8-bit value, gains of a quarter: each part stays below the greatest f16.
        let most = 1024.0 * 128.0 * 2f64.sqrt() * 2f64.powi(CEILING) * (1.0 + 2f64.powi(-10));
        assert!(most < f16::MAX.to_f64());
    }
}
