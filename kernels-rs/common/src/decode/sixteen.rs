//! Sixteen neighbouring packed samples to eight pairs of f16: samples `i` and `i + 8`.
//!
//! Two bytes that have all bits of a sample are taken of both samples of a pair. Up to 10 bits a shift, a `lop3` and a
//! subtraction make both exact: they give 1024, `2^(B - 1)` and `x` together, less what is too much. Of 12 bits the two
//! highest come apart, and a multiply-add puts them together: f16 has all whole numbers up to 2048. 16 bits stay two
//! numbers, `x / 64` as the 10 highest and the rest.

use fringes_device::arithmetic::{lop3_b32, prmt_b32};
use fringes_device::half2::{fma_rn_f16x2, sub_rn_f16x2};
use fringes_device::{opaque, unroll};

/// Words of 16 samples of 16 bits, and one more, as they may begin anywhere in a word.
pub const MOST_WORDS: usize = 9;

/// `(a & b) ^ c`.
const AND_XOR: u32 = (0xf0 & 0xcc) ^ 0xaa;

/// Sixteen samples: numbers, and of 16 bits what is to be added to them.
#[derive(Clone, Copy)]
pub struct Pairs {
    /// The numbers.
    pub high: [u32; 8],
    /// What is to be added to those of 16 bits.
    pub low: [u32; 8],
}

/// What samples of `BITS` bits, 8, 10, 12 or 16, are masked with, and their exponent: in registers, because a `lop3`
/// has room for one immediate number. Words are `AS_THEY_LIE` in memory, big-endian, or else in the order of bits.
#[derive(Clone, Copy)]
pub struct Sixteen<const BITS: u32, const AS_THEY_LIE: bool> {
    mask: u32,
    magic: u32,
    offset: u32,
}

/// A number twice.
const fn twice(half: u32) -> u32 {
    half * 0x1_0001
}

impl<const BITS: u32, const AS_THEY_LIE: bool> Sixteen<BITS, AS_THEY_LIE> {
    /// Words that 16 samples fill, if they begin with a word.
    pub const WORDS: usize = BITS.div_ceil(2) as usize;

    /// What all samples need.
    #[inline(always)]
    pub fn constants() -> Self {
        let register = |value: u32| opaque(value as i32) as u32;
        // 1024 in f16, and the sign that is inverted, twice. Of 16 bits the ten highest are such; of 12 the ten lowest
        // have no sign.
        let (mask, sign) = match BITS {
            12 => (0x3ff, 0),
            16 => (0x3ff, 1 << 9),
            bits => ((1 << bits) - 1, 1 << (bits - 1)),
        };
        let magic = twice(0x6400 | sign);
        Self { mask: register(twice(mask)), magic: register(magic), offset: register(magic) }
    }

    /// The pairs of samples that begin with the first word.
    #[inline(always)]
    pub fn pairs(self, raw: [u32; MOST_WORDS]) -> Pairs {
        let mut pairs = Pairs { high: [0; 8], low: [0; 8] };
        unroll!(j in 0 1 2 3 4 5 6 7 {
            // Two bytes that have all bits of the sample, and as many bytes as eight samples have behind them those of
            // the other one.
            let first = j * BITS as usize;
            let last = BITS as usize - 2;
            let low = if first / 8 < last { first / 8 } else { last };
            let high = low + BITS as usize;
            // The word that has both, and which of its bytes is the second and which the first.
            let two = |byte: usize| {
                let (word, k) = (byte / 4, byte as u32 % 4);
                match (k < 3, AS_THEY_LIE) {
                    (true, false) => (raw[word], [2 - k, 3 - k]),
                    (true, true) => (raw[word], [k + 1, k]),
                    (false, false) => (prmt_b32(raw[word], raw[word + 1], 0x0007), [0, 1]),
                    (false, true) => (prmt_b32(raw[word], raw[word + 1], 0x0034), [0, 1]),
                }
            };
            let ((a, at), (b, bt)) = (two(low), two(high));
            let both = prmt_b32(a, b, at[0] | at[1] << 4 | (bt[0] + 4) << 8 | (bt[1] + 4) << 12);
            let shifted = both >> (16 + 8 * low as u32 - BITS - first as u32);
            if BITS == 12 {
                // The two highest, less one, times 1024, and 1024 more than the others.
                let top = lop3_b32::<AND_XOR>(shifted >> 10, twice(3), twice(0x6402));
                let rest = lop3_b32::<AND_XOR>(shifted, self.mask, self.magic);
                pairs.high[j] = fma_rn_f16x2(sub_rn_f16x2(top, twice(0x6403)), twice(0x6400), rest);
            } else if BITS == 16 {
                let top = lop3_b32::<AND_XOR>(shifted >> 6, self.mask, self.magic);
                pairs.high[j] = sub_rn_f16x2(top, self.offset);
                // Sixteen, and the six lowest after the point.
                let rest = lop3_b32::<AND_XOR>(shifted, twice(0x3f), twice(0x4c00));
                pairs.low[j] = sub_rn_f16x2(rest, twice(0x4c00));
            } else {
                pairs.high[j] = sub_rn_f16x2(lop3_b32::<AND_XOR>(shifted, self.mask, self.magic), self.offset);
            }
        });
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{AS_THEY_ARE, BIG_ENDIAN, in_order};
    use crate::emulated::thread;

    /// Sixteen numbers as they lie in memory.
    fn packed(values: [i32; 16], bits: u32) -> [u32; MOST_WORDS] {
        let mut bytes = [0u8; 4 * MOST_WORDS];
        for (i, value) in values.into_iter().enumerate() {
            for k in 0..bits as usize {
                let at = i * bits as usize + k;
                bytes[at / 8] |= ((value >> (bits as usize - 1 - k) & 1) as u8) << (7 - at % 8);
            }
        }
        let (words, _) = bytes.as_chunks();
        std::array::from_fn(|i| u32::from_le_bytes(words[i]))
    }

    fn check<const BITS: u32, const AS_THEY_LIE: bool>() {
        let (least, most) = (-(1 << (BITS - 1)), (1 << (BITS - 1)) - 1);
        let mixed = |i: i32| [least, most, 0, -1, 1, i, least + 3 * i][(i * 5 % 7) as usize];
        let order = if AS_THEY_LIE { AS_THEY_ARE } else { BIG_ENDIAN };
        for values in [[least; 16], [most; 16], std::array::from_fn(|i| mixed(i as i32))] {
            let raw = packed(values, BITS).map(|word| in_order(word, order));
            let Pairs { high, low } = Sixteen::<BITS, AS_THEY_LIE>::constants().pairs(raw);
            let half = |pair: u32, upper: usize| half::f16::from_bits((pair >> (16 * upper)) as u16).to_f64();
            for (i, value) in values.into_iter().enumerate() {
                let parts = [high, low].map(|pairs| half(pairs[i % 8], i / 8));
                let found = if BITS == 16 { 64.0 * (parts[0] + parts[1]) } else { parts[0] };
                assert_eq!(found, f64::from(value), "{BITS} bits, {i}");
            }
        }
    }

    #[test]
    fn pairs_are_the_numbers_in_either_order_of_bytes() {
        thread(|| {
            check::<8, false>();
            check::<10, false>();
            check::<12, false>();
            check::<16, false>();
            check::<8, true>();
            check::<10, true>();
            check::<12, true>();
            check::<16, true>();
        });
    }
}
