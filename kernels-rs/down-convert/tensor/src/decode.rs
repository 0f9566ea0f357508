//! Sixteen neighbouring packed samples to eight pairs of f16: samples `i` and `i + 8`.
//!
//! Words are turned to the order of bits and shifted to the first one. Two bytes that have all bits of a sample are
//! taken of both samples of a pair; a shift, a `lop3` and a subtraction make both exact: `1024 + 2^(B - 1) + x`, less
//! what is too much.

use fringes_device::arithmetic::{lop3_b32, prmt_b32, shf_l_wrap_b32};
use fringes_device::half2::sub_rn_f16x2;
use fringes_device::{Shared, opaque, unroll};
use fringes_kernels_common::decode::{BIG_ENDIAN, in_order};

/// Words of 16 samples of 10 bits, and one more, as they may begin anywhere in a word.
const MOST_WORDS: usize = 6;

/// `(a & b) ^ c`.
const AND_XOR: u32 = (0xf0 & 0xcc) ^ 0xaa;

/// What samples of `BITS` bits, 2 to 10, are masked with, and their exponent: in registers, because a `lop3` has room
/// for one immediate number.
#[derive(Clone, Copy)]
pub(crate) struct Decoder<const BITS: u32> {
    mask: u32,
    magic: u32,
    offset: u32,
}

impl<const BITS: u32> Decoder<BITS> {
    /// Words that 16 samples fill, if they begin with a word.
    const WORDS: usize = BITS.div_ceil(2) as usize;

    #[inline(always)]
    pub(crate) fn new() -> Self {
        let register = |value: u32| opaque(value as i32) as u32;
        // 1024 in f16, and the sign that is inverted, twice.
        let magic = (0x6400 | 1 << (BITS - 1)) * 0x1_0001;
        Self { mask: register(((1 << BITS) - 1) * 0x1_0001), magic: register(magic), offset: register(magic) }
    }

    /// The pairs of the samples from bit `bit` of word `word` on.
    ///
    /// # Safety
    /// The view has the words, and one more; `bit` is below 32.
    #[inline(always)]
    pub(crate) unsafe fn decode(self, words: Shared<u32>, word: u32, bit: u32) -> [u32; 8] {
        let mut raw = [0; MOST_WORDS];
        unroll!(i in 0 1 2 3 4 5 {
            if i <= Self::WORDS {
                raw[i] = in_order(words.load(word as usize + i), BIG_ENDIAN);
            }
        });
        unroll!(i in 0 1 2 3 4 {
            if i < Self::WORDS {
                raw[i] = shf_l_wrap_b32(raw[i + 1], raw[i], bit);
            }
        });
        let mut pairs = [0; 8];
        unroll!(j in 0 1 2 3 4 5 6 7 {
            // Two bytes that have all bits of the sample, and as many bytes as eight samples have behind them those of
            // the other one.
            let first = j * BITS as usize;
            let last = BITS as usize - 2;
            let low = if first / 8 < last { first / 8 } else { last };
            let high = low + BITS as usize;
            let two = |byte: usize| {
                // The words that are shifted into each other, and the byte in the first.
                let (word, k) = (byte / 4, byte as u32 % 4);
                if k < 3 { (raw[word], 2 - k) } else { (prmt_b32(raw[word], raw[word + 1], 0x0007), 0) }
            };
            let ((a, at), (b, bt)) = (two(low), two(high));
            let both = prmt_b32(a, b, at | (at + 1) << 4 | (bt + 4) << 8 | (bt + 5) << 12);
            let shifted = both >> (16 + 8 * low as u32 - BITS - first as u32);
            pairs[j] = sub_rn_f16x2(lop3_b32::<AND_XOR>(shifted, self.mask, self.magic), self.offset);
        });
        pairs
    }
}
