//! Two neighbouring samples, from any bit on ([`integers`], [`halves`]), or at the same bit of the same two words again
//! and again ([`Decoder`]).
//!
//! For the latter, four bytes with both of them go to a word, in order, which is shifted so that the first sample's
//! highest bit becomes bit 22, the highest of the fraction of an f32, and the second one follows:
//!
//! ```text
//! first    1 + (x + 2^(B-1)) 2^-B          less 1.5                 = x 2^-B
//! second   1 + (x + 2^(B-1)) 2^-2B         less 1 + 2^(-B-1)        = x 2^-2B
//! ```
//!
//! Both are exact with `2 B <= 22`.

use fringes_device::arithmetic::{prmt_b32, shf_l_wrap_b32, shf_r_wrap_b32};
use fringes_device::convert::cvt_f32_f16;
use fringes_device::unroll;

/// Two integers `x` of 2 to 16 bits as `x / 2^bits`, exactly: from bit `place % 32` of two words on, which are in the
/// order of their bits. As of [four](super::four::integers), whose first two these are.
#[inline(always)]
pub fn integers([a, b]: [u32; 2], place: u32, bits: u32) -> [f32; 2] {
    let both = shf_l_wrap_b32(b, a, place);
    let mask = ((1 << bits) - 1) << (23 - bits);
    let value = |placed: u32| f32::from_bits((placed & mask) ^ 0x3fc0_0000) - 1.5;
    [value(both >> 9), value(shf_l_wrap_b32(both, both, bits.wrapping_sub(9) & 31))]
}

/// Two f16 from bit `place % 32`, 0 or 16, of two words on, as they lie in memory.
#[inline(always)]
pub fn halves(a: u32, b: u32, place: u32) -> [f32; 2] {
    let both = shf_r_wrap_b32(a, b, place);
    [cvt_f32_f16(both as u16), cvt_f32_f16((both >> 16) as u16)]
}

/// How two samples of a thread become numbers.
#[derive(Clone, Copy)]
pub struct Decoder {
    /// Bytes of two words that have both samples, in order.
    order: u32,
    shift: u32,
    masks: [u32; 2],
    ones: [u32; 2],
    offsets: [f32; 2],
}

impl Decoder {
    /// Of big-endian samples of `bits` bits, 2 to 11, from bit `bit` of two words on, which have both.
    #[inline(always)]
    pub fn new(bits: u32, bit: u32) -> Self {
        let byte = bit / 8;
        let mask = (1 << bits) - 1;
        // 1 + 2^(-B-1) has bit 22 - B of the fraction.
        let second = 0x3f80_0000 | 1 << (22 - bits);
        Self {
            // Bytes past the eighth have none of the samples.
            order: ((byte + 3) & 7) | ((byte + 2) & 7) << 4 | ((byte + 1) & 7) << 8 | byte << 12,
            shift: 9 - bit % 8,
            masks: [mask << (23 - bits), mask << (23 - 2 * bits)],
            ones: [0x3fc0_0000, second],
            offsets: [1.5, f32::from_bits(second)],
        }
    }

    /// `x 2^-bits` of the first sample, `x 2^-(2 bits)` of the second, exactly, of two words as they lie in memory.
    ///
    /// # PTX
    /// `prmt.b32`, a shift, two `lop3.b32` and two subtractions
    #[inline(always)]
    pub fn decode(&self, low: u32, high: u32) -> [f32; 2] {
        let placed = prmt_b32(low, high, self.order) >> self.shift;
        let mut values = [0.0; 2];
        unroll!(i in 0 1 {
            values[i] = f32::from_bits((placed & self.masks[i]) ^ self.ones[i]) - self.offsets[i];
        });
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulated::thread;

    #[test]
    fn integers_of_all_widths_are_the_first_two_of_four_from_every_bit_on() {
        thread(|| {
            for bits in 2..=16u32 {
                for (shift, seed) in (0..32).flat_map(|shift| [(shift, 1u32), (shift, 77), (shift + 64, 3)]) {
                    let [a, b, c] = [1, 2, 3].map(|n: u32| (n * seed).wrapping_mul(0x9e37_79b9));
                    let four = crate::decode::four::integers([a, b, c], shift % 32, bits);
                    assert_eq!(integers([a, b], shift, bits), [four[0], four[1]], "{bits} bits from {shift}");
                    if shift % 16 == 0 {
                        let four = crate::decode::four::halves(a, b, c, shift % 32).map(f32::to_bits);
                        assert_eq!(halves(a, b, shift).map(f32::to_bits), [four[0], four[1]], "halves from {shift}");
                    }
                }
            }
        });
    }

    #[test]
    fn pairs_of_all_widths_are_exact_wherever_they_begin() {
        thread(|| {
            for bits in 2..=11u32 {
                let (least, most) = (-(1i32 << (bits - 1)), (1i32 << (bits - 1)) - 1);
                for bit in 0..=64 - 2 * bits {
                    let decoder = Decoder::new(bits, bit);
                    for (first, second) in [(least, most), (most, least), (0, -1), (-1, 0), (1, 1)] {
                        let field = |value: i32| u64::from(value as u32 & (u32::MAX >> (32 - bits)));
                        // What is beside the samples does not matter.
                        let others = !((1u64 << (2 * bits)) - 1);
                        let both = field(first) << bits | field(second) | others;
                        let [low, high] = [0, 32].map(|from| {
                            let turned = both.rotate_left(64 - 2 * bits - bit);
                            ((turned >> (32 - from)) as u32).swap_bytes()
                        });
                        let scale = 1.0 / (1 << bits) as f32;
                        let expected = [first as f32 * scale, second as f32 * scale * scale];
                        assert_eq!(decoder.decode(low, high), expected, "{bits} bits from {bit}");
                    }
                }
            }
        });
    }
}
