//! What outputs become: complex floats, or integers that are rounded half to even and clamped.

use fringes_types::{Sample, f16};
use num_complex::Complex;

/// A complex value that a down-conversion writes.
pub trait OutputValue: Sample {
    /// Largest magnitude of a part; infinite for f32.
    const LIMIT: f64;

    /// The value of an output, and whether a part was beyond the limit before rounding, or NaN; never for f32.
    ///
    /// Integers are rounded half to even after they are clamped; NaN gives 0. Floats are rounded to the nearest, and a
    /// NaN stays one.
    fn of(value: Complex<f64>) -> (Self, bool);
}

/// Whether a part is not within a limit, as a NaN is not.
#[inline(always)]
fn beyond(value: Complex<f64>, limit: f64) -> bool {
    !(value.re.abs() <= limit && value.im.abs() <= limit)
}

/// Clamps, rounds half to even, NaN to 0.
#[inline(always)]
fn whole(part: f64, limit: f64) -> i32 {
    // Adding 3 * 2^51 leaves no fraction bits, so the addition itself rounds, half to even; the integer is then in the
    // low bits. Values are within the limit by then.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let clamped = if part.is_nan() { 0.0 } else { part.clamp(-limit, limit) };
    (clamped + ROUND).to_bits() as i32
}

impl OutputValue for Complex<f32> {
    const LIMIT: f64 = f64::INFINITY;

    #[inline(always)]
    fn of(value: Complex<f64>) -> (Self, bool) {
        (Self::new(value.re as f32, value.im as f32), false)
    }
}

impl OutputValue for Complex<f16> {
    const LIMIT: f64 = 65504.0;

    #[inline(always)]
    fn of(value: Complex<f64>) -> (Self, bool) {
        // (Of NaN the clamp is NaN.)
        let part = |part: f64| f16::from_f32(part.clamp(-Self::LIMIT, Self::LIMIT) as f32);
        (Self::new(part(value.re), part(value.im)), beyond(value, Self::LIMIT))
    }
}

macro_rules! integers {
    ($($part:ty, $limit:literal;)*) => {$(
        impl OutputValue for Complex<$part> {
            const LIMIT: f64 = $limit;

            #[inline(always)]
            fn of(value: Complex<f64>) -> (Self, bool) {
                let part = |part: f64| whole(part, Self::LIMIT) as $part;
                (Self::new(part(value.re), part(value.im)), beyond(value, Self::LIMIT))
            }
        }
    )*};
}

integers! {
    i8, 127.0;
    i16, 32767.0;
}

#[cfg(test)]
mod tests {
    use fringes_reference::quantiser::{quantise_value, saturates};

    use super::*;

    /// Values around every tie near the limits and zero, and what is no number.
    fn values(limit: f64) -> Vec<f64> {
        let near = (-600..=600).map(|half| f64::from(half) / 2.0).flat_map(|tie| [tie.next_down(), tie, tie.next_up()]);
        let ends = [limit - 1.5, limit - 0.5, limit, limit.next_up(), limit + 0.5, limit + 1.0, 1e300, f64::INFINITY];
        near.chain(ends).chain(ends.map(|value| -value)).chain([f64::NAN, -0.0]).collect()
    }

    #[test]
    fn integers_are_those_of_the_reference_on_every_input() {
        fn hold<T: OutputValue>() {
            for (i, &re) in values(T::LIMIT).iter().enumerate() {
                let im = values(T::LIMIT)[(7 * i + 5) % 1800];
                let value = Complex::new(re, im);
                let (found, clamped) = T::of(value);
                let expected = [re, im].map(|part| quantise_value(part, T::LIMIT) as f32);
                assert_eq!([found.to_c32().re, found.to_c32().im], expected, "{value}");
                assert_eq!(clamped, saturates(value, T::LIMIT), "{value}");
            }
        }
        hold::<Complex<i8>>();
        hold::<Complex<i16>>();
    }

    #[test]
    fn halves_are_rounded_and_clamped_to_the_largest_number() {
        let of = |re: f64, im: f64| Complex::<f16>::of(Complex::new(re, im));
        let parts = |value: Complex<f16>| [value.re.to_f32(), value.im.to_f32()];
        // 2049 is a tie of 11 bits.
        assert_eq!(parts(of(2049.0, -2051.0).0), [2048.0, -2052.0]);
        let (value, clamped) = of(65504.0, -65504.0);
        assert_eq!((parts(value), clamped), ([65504.0, -65504.0], false));
        for beyond in [65504.1, 65519.9, 65520.0, 1e9, f64::INFINITY] {
            let (value, clamped) = of(-beyond, beyond);
            assert_eq!((parts(value), clamped), ([-65504.0, 65504.0], true));
        }
        let (value, counted) = of(f64::NAN, 1.0);
        assert!(value.re.is_nan() && counted);
    }

    #[test]
    fn floats_are_never_clamped() {
        assert_eq!(Complex::<f32>::of(Complex::new(1e300, -0.1)), (Complex::new(f32::INFINITY, -0.1), false));
        assert!(!Complex::<f32>::of(Complex::new(f64::NAN, 0.0)).1);
    }
}
