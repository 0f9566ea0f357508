//! Gains as the kernels take them: f16, scaled by a power of two in each channel.
//!
//! f16 holds numbers from 2^-24 to 65504, gains can be anything. So a channel's gains are divided by the power of two
//! that puts the largest of them, by absolute value, into [1/8, 1/4), and the beams are multiplied by it at the end,
//! which is exact. With gains below 1/4 nothing overflows on the way: 1024 samples of 128 sqrt 2 make 46341 at most.

use fringes_backend::DeviceError;
use fringes_types::TypesError;
use half::f16;
use ndarray::{Array2, ArrayView1};
use num_complex::Complex;

/// Exponent of 2 that no scaled gain reaches.
const CEILING: i32 = -2;

/// The largest gain of a channel lies between 2^-60 and 2^60, or all are 0.
const EXPONENTS: std::ops::RangeInclusive<i32> = -60..=59;

/// Gains `[channel][input]`, finite, and the power of two of each channel that the kernels' gains are divided by. They
/// are looked at once, when they are made.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Gains {
    pub(super) values: Array2<Complex<f32>>,
    exponents: Result<Vec<i32>, OutOfRange>,
}

/// A channel whose gains f16 beams might not hold.
#[derive(Debug, Clone, Copy, PartialEq)]
struct OutOfRange {
    channel: usize,
    /// The largest absolute value.
    largest: f64,
}

impl Gains {
    /// Checks gains.
    ///
    /// # Errors
    /// [`TypesError::NotFinite`] for a gain that is NaN or infinite.
    pub(super) fn new(values: Array2<Complex<f32>>) -> Result<Self, TypesError> {
        let mut exponents = Ok(Vec::with_capacity(values.nrows()));
        for (channel, gains) in values.outer_iter().enumerate() {
            let largest = largest(channel, gains)?;
            match (exponent(largest), &mut exponents) {
                (Some(exponent), Ok(exponents)) => exponents.push(exponent),
                (None, Ok(_)) => exponents = Err(OutOfRange { channel, largest }),
                (_, Err(_)) => {}
            }
        }
        Ok(Self { values, exponents })
    }

    /// `k` of each channel: the kernels' gains are these divided by `2^k`.
    ///
    /// # Errors
    /// [`DeviceError::NoKernel`] unless the largest gain of each channel is 0 or from 2^-60 to below 2^60.
    pub(super) fn exponents(&self) -> Result<&[i32], DeviceError> {
        self.exponents.as_deref().map_err(|OutOfRange { channel, largest }| DeviceError::NoKernel {
            expected: "a largest gain of each channel of 0, or from 2^-60 to below 2^60",
            actual: format!("{largest:e} in channel {channel}"),
        })
    }

    /// The gains divided by the powers of two of their channels, in f16, as words with the real part in the low half.
    /// Each part is off by at most `2^-11` of itself or by `2^-22` of the channel's largest gain, whichever is more.
    ///
    /// # Errors
    /// As [`Gains::exponents`].
    pub(super) fn words(&self) -> Result<Vec<u32>, DeviceError> {
        let channels = self.values.outer_iter().zip(self.exponents()?);
        let words = channels.flat_map(|(gains, &exponent)| {
            let divisor = 2f64.powi(exponent);
            gains.into_iter().map(move |gain| {
                let [re, im] = [gain.re, gain.im].map(|part| f16::from_f64(f64::from(part) / divisor).to_bits());
                u32::from(re) | u32::from(im) << 16
            })
        });
        Ok(words.collect())
    }
}

/// `k` of gains of 1.
pub(super) const ONE_EXPONENT: i32 = 1 - CEILING;

/// The words of so many gains of 1.
pub(super) fn ones(count: usize) -> Vec<u32> {
    vec![u32::from(f16::from_f64(2f64.powi(-ONE_EXPONENT)).to_bits()); count]
}

/// The largest absolute value of a channel's gains.
fn largest(channel: usize, gains: ArrayView1<'_, Complex<f32>>) -> Result<f64, TypesError> {
    let mut largest = 0f64;
    for (input, gain) in gains.iter().enumerate() {
        let size = f64::from(gain.re).hypot(f64::from(gain.im));
        if !size.is_finite() {
            let (actual, index) = (gain.to_string(), vec![channel, input]);
            return Err(TypesError::NotFinite { quantity: "feed gain", actual, index });
        }
        largest = largest.max(size);
    }
    Ok(largest)
}

/// The power of two of a channel, if the kernels take its largest gain.
fn exponent(largest: f64) -> Option<i32> {
    if largest == 0.0 {
        return Some(0);
    }
    // floor(log2), exactly: f32 parts make f64 sizes that are normal.
    let floor = (largest.to_bits() >> 52) as i32 - 1023;
    EXPONENTS.contains(&floor).then_some(floor + 1 - CEILING)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    /// A word as two numbers.
    fn parts(word: u32) -> [f64; 2] {
        [word as u16, (word >> 16) as u16].map(|bits| f16::from_bits(bits).to_f64())
    }

    #[test]
    fn the_largest_gain_of_a_channel_lies_between_an_eighth_and_a_quarter() {
        for (re, im) in [(1.0f32, 0.0), (0.999_999_94, 0.0), (0.0, -3e-9), (1e18, 1e17), (0.7, 0.7), (-8.7e-19, 0.0)] {
            let gains = Array2::from_shape_vec((1, 2), vec![Complex::new(re, im), Complex::new(re / 3.0, im / 5.0)]);
            let gains = Gains::new(gains.unwrap()).unwrap();
            let [scaled_re, scaled_im] = parts(gains.words().unwrap()[0]);
            // Rounding to f16 may reach a quarter itself.
            assert!((0.125..=0.25).contains(&scaled_re.hypot(scaled_im)), "{gains:?}");
            let back = 2f64.powi(gains.exponents().unwrap()[0]) * scaled_re;
            assert!((back - f64::from(re)).abs() <= f64::from(re).abs() * 2f64.powi(-11), "{re}: {back}");
        }
    }

    #[test]
    fn gains_of_one_are_exact_and_zeros_stay_zero() {
        let gains = Gains::new(Array2::from_elem((2, 3), Complex::new(1.0f32, 0.0))).unwrap();
        assert_eq!((gains.exponents().unwrap(), gains.words()), ([ONE_EXPONENT; 2].as_slice(), Ok(ones(6))));
        assert_eq!(parts(ones(1)[0]), [0.125, 0.0]);
        let zeros = Gains::new(Array2::from_elem((1, 3), Complex::new(0.0f32, 0.0))).unwrap();
        assert_eq!(zeros.words(), Ok(vec![0; 3]));
    }

    #[test]
    fn gains_out_of_range_have_no_kernel_and_the_first_such_channel_is_named() {
        for largest in [1e-20f32, 1.2e18, 3e38, 1e-45] {
            let gains = Array2::from_shape_fn((3, 2), |(channel, _)| {
                Complex::new(if channel == 0 { 1.0 } else { largest }, 0.0)
            });
            let gains = Gains::new(gains).unwrap();
            let actual = format!("{:e} in channel 1", f64::from(largest));
            let error = gains.exponents().unwrap_err();
            assert!(matches!(&error, DeviceError::NoKernel { actual: found, .. } if *found == actual), "{error}");
            assert_eq!(gains.words(), Err(error));
        }
        let nan = Array2::from_elem((1, 1), Complex::new(f32::NAN, 0.0));
        assert!(matches!(Gains::new(nan), Err(TypesError::NotFinite { quantity: "feed gain", .. })));
    }

    #[test]
    fn nothing_overflows_on_the_way() {
        // 1024 samples of the most negative 8-bit value, gains of a quarter: each part stays below the greatest f16.
        let most = 1024.0 * 128.0 * 2f64.sqrt() * 2f64.powi(CEILING) * (1.0 + 2f64.powi(-10));
        assert!(most < f16::MAX.to_f64());
    }
}
