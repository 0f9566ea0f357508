//! Weights as integers: how they are rounded.

use fringes_kernel_abi::tied_array::{LIMIT_8, LIMIT_16};
use ndarray::ArrayView1;
use num_complex::Complex;

/// Exponent field of 2^-100: a beam whose largest part is below it is 0.
const LEAST: u32 = 127 - 100;

/// Integers that weights are rounded to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WeightBits {
    /// One digit of 8 bits, -127 to 127.
    Eight,
    /// Two digits of 8 bits, -32639 to 32639.
    Sixteen,
}

impl WeightBits {
    /// Digits of 8 bits.
    pub(super) fn digits(self) -> usize {
        match self {
            Self::Eight => 1,
            Self::Sixteen => 2,
        }
    }

    /// Largest magnitude.
    fn limit(self) -> f32 {
        match self {
            Self::Eight => LIMIT_8,
            Self::Sixteen => LIMIT_16,
        }
    }

    /// What weights are multiplied by to become integers, and integers to become weights, where `largest` is the
    /// largest magnitude of a part.
    fn factors(self, largest: f32) -> [f32; 2] {
        if largest.to_bits() >> 23 < LEAST {
            return [0.0; 2];
        }
        [self.limit() / largest, largest / self.limit()]
    }

    /// Rounds a beam's weights of a channel as kernels do: parts times `limit / largest`, in f32, to the nearest
    /// integer, half to even. Gives what integers are multiplied by. `largest` is that of these weights if `None`.
    pub(super) fn round(
        self,
        weights: ArrayView1<'_, Complex<f32>>,
        largest: Option<f32>,
        rounded: &mut Vec<[i32; 2]>,
    ) -> f32 {
        let largest = largest.unwrap_or_else(|| {
            weights.iter().fold(0f32, |largest, weight| largest.max(weight.re.abs()).max(weight.im.abs()))
        });
        let ([factor, scale], limit) = (self.factors(largest), self.limit());
        // Adding 3 2^22 leaves no fraction bits of a number below 2^22, so the addition itself rounds, half to even.
        const ROUND: f32 = 12_582_912.0;
        let integer =
            |part: f32| ((part * factor).clamp(-limit, limit) + ROUND).to_bits() as i32 - ROUND.to_bits() as i32;
        rounded.clear();
        rounded.extend(weights.iter().map(|weight| [integer(weight.re), integer(weight.im)]));
        scale
    }

    /// A digit of an integer: of two, 0 is the high one, and the integer `256 high + low`.
    #[inline(always)]
    pub(super) fn digit(self, integer: i32, digit: usize) -> i8 {
        match (self, digit) {
            (Self::Sixteen, 0) => ((integer + 128) >> 8) as i8,
            _ => integer as i8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_make_the_integer() {
        for integer in -32_639..=32_639 {
            let [high, low] = [0, 1].map(|digit| i32::from(WeightBits::Sixteen.digit(integer, digit)));
            assert_eq!(256 * high + low, integer);
        }
        for integer in -127..=127 {
            assert_eq!(i32::from(WeightBits::Eight.digit(integer, 0)), integer);
        }
    }

    #[test]
    fn parts_are_rounded_half_to_even_of_the_largest() {
        let weights = [(254.0, 1.0), (3.0, -5.0), (-0.5, 127.0)].map(|(re, im)| Complex::new(re, im));
        let mut rounded = Vec::new();
        let scale = WeightBits::Eight.round((&weights).into(), None, &mut rounded);
        assert_eq!((scale, rounded.as_slice()), (2.0, [[127, 0], [2, -2], [0, 64]].as_slice()));
        let scale = WeightBits::Eight.round((&weights).into(), Some(508.0), &mut rounded);
        assert_eq!((scale, rounded.as_slice()), (4.0, [[64, 0], [1, -1], [0, 32]].as_slice()));
        let scale = WeightBits::Sixteen.round((&weights).into(), Some(32_639.0), &mut rounded);
        assert_eq!((scale, rounded.as_slice()), (1.0, [[254, 1], [3, -5], [0, 127]].as_slice()));
    }

    #[test]
    fn beams_below_the_least_are_zero() {
        let weights = [Complex::new(f32::MIN_POSITIVE, 1e-31), Complex::new(0.0, 0.0)];
        let mut rounded = Vec::new();
        for bits in [WeightBits::Eight, WeightBits::Sixteen] {
            assert_eq!(bits.round((&weights).into(), None, &mut rounded), 0.0);
            assert_eq!(rounded, [[0, 0]; 2]);
        }
    }
}
