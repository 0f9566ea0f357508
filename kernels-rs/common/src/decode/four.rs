//! Four neighbouring numbers, from any bit of a word on.

use fringes_device::arithmetic::{shf_l_clamp_b32, shf_l_wrap_b32, shf_r_wrap_b32};
use fringes_device::convert::cvt_f32_f16;
use fringes_device::unroll;

/// Four numbers of `bits` bits from bit `shift` of three words on, which are in the order of their bits: numbers 0 and
/// 1 at the top of the first word, 2 and 3 at the top of the second. `bits` is at most 16, `shift` at most 31.
#[inline(always)]
pub fn tops([a, b, c]: [u32; 3], shift: u32, bits: u32) -> [u32; 2] {
    let low = shf_l_wrap_b32(b, a, shift);
    [low, shf_l_clamp_b32(shf_l_wrap_b32(c, b, shift), low, 2 * bits)]
}

/// Four integers `x` of 2 to 16 bits as `x / 2^bits`, exactly; words and `shift` as [`tops`] takes them.
///
/// Each number's bits, with the sign's inverted, go to the top of the fraction of a number in [1, 2), which is
/// `1.5 + x / 2^bits`, and 1.5 is taken away.
#[inline(always)]
pub fn integers(words: [u32; 3], shift: u32, bits: u32) -> [f32; 4] {
    let [low, high] = tops(words, shift, bits);
    // The highest bit of a number goes to bit 22.
    let mask = ((1 << bits) - 1) << (23 - bits);
    let value = |placed: u32| f32::from_bits((placed & mask) ^ 0x3fc0_0000) - 1.5;
    let second = |pair: u32| shf_l_wrap_b32(pair, pair, bits.wrapping_sub(9) & 31);
    [value(low >> 9), value(second(low)), value(high >> 9), value(second(high))]
}

/// Four f16 from bit `shift`, 0 or 16, of three words on, as they lie in memory.
#[inline(always)]
pub fn halves(a: u32, b: u32, c: u32, shift: u32) -> [f32; 4] {
    let pairs = [shf_r_wrap_b32(a, b, shift), shf_r_wrap_b32(b, c, shift)];
    let mut values = [0.0; 4];
    unroll!(i in 0 1 {
        values[2 * i] = cvt_f32_f16(pairs[i] as u16);
        values[2 * i + 1] = cvt_f32_f16((pairs[i] >> 16) as u16);
    });
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulated::thread;

    /// Numbers whose bits follow each other from bit `shift` on, in words in the order of bits.
    fn packed(values: [i32; 4], shift: u32, bits: u32) -> [u32; 3] {
        let mut stream = 0u128;
        for (i, value) in values.into_iter().enumerate() {
            let field = u128::from(value as u32 & (u32::MAX >> (32 - bits)));
            stream |= field << (128 - shift - (i as u32 + 1) * bits);
        }
        [(stream >> 96) as u32, (stream >> 64) as u32, (stream >> 32) as u32]
    }

    #[test]
    fn integers_of_all_widths_are_exact_from_every_bit_on() {
        thread(|| {
            for bits in 2..=16u32 {
                let (least, most) = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1);
                for shift in 0..32 {
                    for values in
                        [[least, most, 0, -1], [most, least, 1, least], [-1, 0, most, most], [1, -1, least, 0]]
                    {
                        let words = packed(values, shift, bits);
                        let expected = values.map(|value| value as f32 / (1 << bits) as f32);
                        assert_eq!(integers(words, shift, bits), expected, "{bits} bits from {shift}");
                        let [low, high] = tops(words, shift, bits);
                        let tops = [low, low << bits, high, high << bits].map(|top| (top as i32) >> (32 - bits));
                        assert_eq!(tops, values, "{bits} bits from {shift}");
                    }
                }
            }
        });
    }

    #[test]
    fn halves_begin_with_either_half_of_a_word() {
        thread(|| {
            let bits = [1.0, -2.5, 65504.0, -0.0, 0.1, 7.0].map(|value: f32| half::f16::from_f32(value).to_bits());
            let words = [0, 2, 4].map(|i| u32::from(bits[i]) | u32::from(bits[i + 1]) << 16);
            for (shift, first) in [(0, 0), (16, 1)] {
                let expected = [0, 1, 2, 3].map(|i| half::f16::from_bits(bits[first + i]).to_f32());
                assert_eq!(halves(words[0], words[1], words[2], shift), expected);
            }
        });
    }
}
