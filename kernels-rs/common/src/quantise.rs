//! One value to the output: clamped and rounded integers, or floats as they are. Ties go to even.
//!
//! [`Format`] is the other form, for the values of whole words that are known to be within the
//! limit.

use fringes_device::Value;
use fringes_device::arithmetic::bfi_b32;
use fringes_device::convert::{cvt_pack_sat_s8_s32_b32, cvt_rn_f16x2_f32, cvt_rni_s32_f32};
use fringes_device::fused::{fma, fma_sat};

use crate::complex::Complex;
use crate::format::{F16, F32, Format, I4, I8};

/// 1.5 2^23: a number of magnitude below 2^22 that is added to it is rounded to a whole number, half to even, whose low
/// bits are the sum's.
pub const ROUND: f32 = 12_582_912.0;

/// A format of the output.
pub trait Output {
    /// A value in memory.
    type Stored: Value;
    /// Whether it is an integer format, which is dithered and saturates.
    const INTEGER: bool;

    /// The value in memory, and whether a part was beyond the limit. NaN is stored as some value within it.
    fn store(v: Complex) -> (Self::Stored, bool);
}

/// Clamps and rounds: the whole number in the low bits, and whether a part was beyond the limit.
///
/// What is within the limit goes to [0, 1], to which the instruction clamps, and a second one brings it back onto the
/// whole numbers: two multiply-adds a part, where two comparisons and an addition would take half of the integer units'
/// time. The way there and back costs 2^-16 of accuracy.
#[inline(always)]
fn round(v: Complex, limit: f32) -> ([u32; 2], bool) {
    let place = |x: f32| fma(fma_sat(x, 0.5 / limit, 0.5), 2.0 * limit, ROUND - limit).to_bits();
    let legal = v[0].abs().max(v[1].abs()) <= limit;
    ([place(v[0]), place(v[1])], !legal)
}

impl Output for I8 {
    type Stored = u16;
    const INTEGER: bool = true;

    #[inline(always)]
    fn store(v: Complex) -> (u16, bool) {
        // Conversion, clamp and packing are one instruction, which clamps to -128.
        let part = |x: f32| cvt_rni_s32_f32(x.max(-I8::LIMIT));
        let packed = cvt_pack_sat_s8_s32_b32(part(v[1]), part(v[0]), 0);
        let legal = v[0].abs().max(v[1].abs()) <= I8::LIMIT;
        (packed as u16, !legal)
    }
}

impl Output for I4 {
    type Stored = u8;
    const INTEGER: bool = true;

    #[inline(always)]
    fn store(v: Complex) -> (u8, bool) {
        let ([re, im], saturated) = round(v, I4::LIMIT);
        (bfi_b32(re, im, 4, 28) as u8, saturated)
    }
}

impl Output for F16 {
    type Stored = u32;
    const INTEGER: bool = false;

    #[inline(always)]
    fn store(v: Complex) -> (u32, bool) {
        (cvt_rn_f16x2_f32(v[1], v[0]), false)
    }
}

impl Output for F32 {
    type Stored = [f32; 2];
    const INTEGER: bool = false;

    #[inline(always)]
    fn store(v: Complex) -> ([f32; 2], bool) {
        (v, false)
    }
}

/// A value within the limit, NaN as zero, and whether it was not.
#[inline(always)]
pub fn clamped<F: Format>([re, im]: Complex) -> (Complex, bool) {
    let part = |part: f32| {
        let within = if part.abs() <= F::LIMIT { part } else { F::LIMIT.copysign(part) };
        if part.is_nan() { 0.0 } else { within }
    };
    let (a, b) = (part(re), part(im));
    ([a, b], !(re.abs() <= F::LIMIT && im.abs() <= F::LIMIT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulated::thread;

    /// Values around every tie, the limits and what is beyond them. Ties of 4 bits are left out by 2^-15: those may go
    /// either way.
    fn values(limit: f32) -> Vec<f32> {
        let near = (-300..=300).flat_map(|half| {
            let value = half as f32 / 2.0;
            [value - 1.0 / 32768.0, value + 1.0 / 32768.0, value + 0.2]
        });
        near.chain([limit, -limit, limit + 0.25, -limit - 0.25, 1e9, -1e9, f32::INFINITY, f32::NEG_INFINITY]).collect()
    }

    #[test]
    fn both_forms_give_the_same_integers() {
        thread(|| {
            for (i, re) in values(I8::LIMIT).into_iter().enumerate() {
                let v = [re, values(I8::LIMIT)[(7 * i + 5) % 1800]];
                let (value, lost) = clamped::<I8>(v);
                let words = I8::pack([value; 8]);
                assert_eq!(I8::store(v), (words[0] as u16, lost), "{v:?}");
            }
            for (i, re) in values(I4::LIMIT).into_iter().enumerate() {
                let v = [re, values(I4::LIMIT)[(7 * i + 5) % 1800]];
                let (value, lost) = clamped::<I4>(v);
                let words = I4::pack([value; 8]);
                assert_eq!(I4::store(v), (words[0] as u8, lost), "{v:?}");
            }
        });
    }

    #[test]
    fn bytes_go_to_even_and_the_lowest_one_is_never_stored() {
        thread(|| {
            let stored = |re: f32, im: f32| {
                let (value, lost) = I8::store([re, im]);
                (value as i8, (value >> 8) as i8, lost)
            };
            assert_eq!(stored(0.5, 1.5), (0, 2, false));
            assert_eq!(stored(-126.5, 127.0), (-126, 127, false));
            assert_eq!(stored(-128.0, 127.4), (-127, 127, true));
            assert_eq!(stored(-1e9, f32::INFINITY), (-127, 127, true));
        });
    }

    #[test]
    fn floats_are_stored_as_they_are_real_part_low() {
        thread(|| {
            assert_eq!(F32::store([1.5, -0.25]), ([1.5, -0.25], false));
            let (word, lost) = F16::store([1.5, -0.25]);
            let part = |bits: u32| half::f16::from_bits(bits as u16).to_f32();
            assert_eq!((part(word), part(word >> 16), lost), (1.5, -0.25, false));
        });
    }

    #[test]
    fn not_a_number_becomes_zero_and_counts() {
        assert_eq!(clamped::<I8>([f32::NAN, -300.0]), ([0.0, -127.0], true));
        assert_eq!(clamped::<I4>([7.0, -7.0]), ([7.0, -7.0], false));
    }
}
