//! Quantisation of channelised voltages to integers: gain, clamp, then round half to even.
//!
//! The limit is symmetric: 127 for 8 bits, 7 for 4 bits, so that the most negative integer never comes out. A complex
//! value saturates if its real part, its imaginary part or both lie beyond the limit *before* rounding; it counts once.
//! A NaN gives 0 and counts as saturated.

use ndarray::{Array1, Array3, ArrayView2, ArrayView3};
use num_complex::Complex;

use crate::gain;

type C64 = Complex<f64>;

/// One real value: clamped to `-limit ..= limit`, then rounded half to even; NaN gives 0.
pub fn quantise_value(value: f64, limit: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value.clamp(-limit, limit).round_ties_even() }
}

/// Whether a complex value saturates: a part beyond the limit before rounding, or NaN.
pub fn saturates(value: C64, limit: f64) -> bool {
    let beyond = |part: f64| part.is_nan() || part.abs() > limit;
    beyond(value.re) || beyond(value.im)
}

/// Applies gains `[channel][input]` to voltages `[channel][time][input]` and quantises them; also counts the saturated
/// complex values of each input.
///
/// # Panics
/// If the shapes differ, or the limit is above 127.
pub fn quantise(
    voltages: ArrayView3<'_, C64>,
    gains: ArrayView2<'_, C64>,
    limit: f64,
) -> (Array3<Complex<i8>>, Array1<u64>) {
    assert!(limit <= 127.0, "8-bit integers hold no more than 127");
    let scaled = gain::apply(voltages, gains);
    let mut saturated = Array1::zeros(scaled.dim().2);
    for ((_, _, input), &value) in scaled.indexed_iter() {
        if saturates(value, limit) {
            saturated[input] += 1;
        }
    }
    let quantised =
        scaled.mapv(|value| Complex::new(quantise_value(value.re, limit) as i8, quantise_value(value.im, limit) as i8));
    (quantised, saturated)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    #[test]
    fn ties_go_to_even() {
        for (value, expected) in [
            (0.5, 0.0),
            (1.5, 2.0),
            (2.5, 2.0),
            (-0.5, 0.0),
            (-1.5, -2.0),
            (-2.5, -2.0),
            (125.5, 126.0),
            (126.5, 126.0),
        ] {
            assert_eq!(quantise_value(value, 127.0), expected, "{value}");
        }
    }

    #[test]
    fn neighbours_of_a_tie_go_to_the_nearest() {
        assert_eq!(quantise_value(0.5f64.next_up(), 127.0), 1.0);
        assert_eq!(quantise_value(1.5f64.next_down(), 127.0), 1.0);
        assert_eq!(quantise_value(2.5f64.next_up(), 127.0), 3.0);
    }

    #[test]
    fn values_clamp_symmetrically_before_rounding() {
        for limit in [7.0, 127.0] {
            assert_eq!(quantise_value(limit + 0.4, limit), limit);
            assert_eq!(quantise_value(-limit - 0.4, limit), -limit);
            assert_eq!(quantise_value(-limit - 1.0, limit), -limit, "the most negative integer never comes out");
            assert_eq!(quantise_value(f64::INFINITY, limit), limit);
            assert_eq!(quantise_value(f64::NEG_INFINITY, limit), -limit);
            assert_eq!(quantise_value(f64::NAN, limit), 0.0);
        }
    }

    #[test]
    fn saturation_looks_at_the_value_before_rounding() {
        assert!(!saturates(C64::new(127.0, -127.0), 127.0), "the limit itself is legal");
        assert!(saturates(C64::new(127.0f64.next_up(), 0.0), 127.0), "though it rounds to a legal value");
        assert!(saturates(C64::new(0.0, -7.25), 7.0));
        assert!(saturates(C64::new(f64::NAN, 0.0), 7.0));
        assert!(saturates(C64::new(0.0, f64::NEG_INFINITY), 7.0));
    }

    #[test]
    fn a_complex_value_counts_once() {
        let mut x = Array3::zeros((2, 3, 2));
        x[(0, 0, 0)] = C64::new(400.0, 400.0);
        x[(1, 2, 0)] = C64::new(0.0, -400.0);
        x[(0, 1, 1)] = C64::new(63.6, 0.0);
        x[(0, 2, 1)] = C64::new(63.5, 0.0);
        let gains = Array2::from_elem((2, 2), C64::new(2.0, 0.0));
        let (quantised, saturated) = quantise(x.view(), gains.view(), 127.0);
        assert_eq!(saturated.to_vec(), [2, 1]);
        assert_eq!(quantised[(0, 0, 0)], Complex::new(127, 127));
        assert_eq!(quantised[(1, 2, 0)], Complex::new(0, -127));
        assert_eq!(quantised[(0, 1, 1)], Complex::new(127, 0));
        assert_eq!(quantised[(0, 2, 1)], Complex::new(127, 0));
    }

    #[test]
    fn every_quantised_value_stays_put() {
        for value in -127..=127 {
            assert_eq!(quantise_value(f64::from(value), 127.0), f64::from(value));
        }
    }
}
