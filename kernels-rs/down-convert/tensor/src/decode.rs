//! Sixteen neighbouring packed samples to eight pairs of f16: samples `i` and `i + 8`.
//!
//! Words are turned to the order of bits and shifted to the first one, unless they begin with it. Two bytes that have
//! all bits of a sample are taken of both samples of a pair. Up to 10 bits a shift, a `lop3` and a subtraction make
//! both exact: they give 1024, `2^(B - 1)` and `x` together, less what is too much. Of 12 bits the two highest come
//! apart, and a multiply-add puts them together: f16 has all whole numbers up to 2048. 16 bits stay two numbers,
//! `x / 64` as the 10 highest and the rest.

use fringes_device::arithmetic::{lop3_b32, prmt_b32, shf_l_wrap_b32};
use fringes_device::half2::{fma_rn_f16x2, sub_rn_f16x2};
use fringes_device::{Shared, opaque, unroll};
use fringes_kernels_common::decode::{BIG_ENDIAN, in_order};

/// Words of 16 samples of 16 bits, and one more, as they may begin anywhere in a word.
const MOST_WORDS: usize = 9;

/// `(a & b) ^ c`.
const AND_XOR: u32 = (0xf0 & 0xcc) ^ 0xaa;

/// Sixteen samples: numbers, and of 16 bits what is to be added to them.
#[derive(Clone, Copy)]
pub(crate) struct Pairs {
    pub(crate) high: [u32; 8],
    pub(crate) low: [u32; 8],
}

/// What samples of `BITS` bits are masked with, and their exponent: in registers, because a `lop3` has room for one
/// immediate number.
#[derive(Clone, Copy)]
pub(crate) struct Decoder<const BITS: u32, const ALIGNED: bool> {
    mask: u32,
    magic: u32,
    offset: u32,
    /// Bytes of words in the order of bits.
    order: u32,
}

/// A number twice.
const fn twice(half: u32) -> u32 {
    half * 0x1_0001
}

impl<const BITS: u32, const ALIGNED: bool> Decoder<BITS, ALIGNED> {
    /// Words that 16 samples fill, if they begin with a word.
    const WORDS: usize = BITS.div_ceil(2) as usize;

    /// `order` is that of the bytes of words, which counts of 16 bits alone.
    #[inline(always)]
    pub(crate) fn new(order: u32) -> Self {
        let register = |value: u32| opaque(value as i32) as u32;
        // 1024 in f16, and the sign that is inverted, twice. Of 16 bits the ten highest are such; of 12 the ten lowest
        // have no sign.
        let (mask, sign) = match BITS {
            12 => (0x3ff, 0),
            16 => (0x3ff, 1 << 9),
            bits => ((1 << bits) - 1, 1 << (bits - 1)),
        };
        let magic = twice(0x6400 | sign);
        let order = if BITS == 16 { order } else { BIG_ENDIAN };
        Self { mask: register(twice(mask)), magic: register(magic), offset: register(magic), order }
    }

    /// The pairs of the samples from bit `bit` of word `word` on.
    ///
    /// # Safety
    /// The view has the words, and one more; `bit` is below 32.
    #[inline(always)]
    pub(crate) unsafe fn decode(self, words: Shared<u32>, word: u32, bit: u32) -> Pairs {
        let mut raw = [0; MOST_WORDS];
        if ALIGNED {
            unroll!(i in 0 1 2 3 4 5 6 7 {
                if i < Self::WORDS {
                    raw[i] = words.load(word as usize + i);
                }
            });
        } else {
            unroll!(i in 0 1 2 3 4 5 6 7 8 {
                if i <= Self::WORDS {
                    raw[i] = in_order(words.load(word as usize + i), self.order);
                }
            });
            unroll!(i in 0 1 2 3 4 5 6 7 {
                if i < Self::WORDS {
                    raw[i] = shf_l_wrap_b32(raw[i + 1], raw[i], bit);
                }
            });
        }
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
                match (k < 3, ALIGNED) {
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
