//! Sixteen neighbouring packed samples to eight pairs of f16: samples `i` and `i + 8`.
//!
//! Words are turned to the order of bits and shifted to the first one. Two bytes that have all bits of a sample are
//! taken of both samples of a pair. A shift and a `lop3` put bits, with the sign's inverted, into the fraction of a
//! power of two, and a subtraction takes away what is too much. All of it is exact.
//!
//! | bits | f16 |
//! |---|---|
//! | to 10 | `1024 + 2^(B-1) + x`, less what is too much |
//! | 12 | upper and lower 6 bits by themselves, `4096 + 64 h` and `1024 + l`, which are added: -2048 to 2047 |
//! | 16 | `x / 64` in two terms: the upper 10 bits, -512 to 511, and the lower 6 bits, 0 to 63/64 |

use fringes_device::arithmetic::{lop3_b32, prmt_b32, shf_l_wrap_b32};
use fringes_device::half2::{add_rn_f16x2, sub_rn_f16x2};
use fringes_device::{Shared, opaque, unroll};
use fringes_kernels_common::decode::{BIG_ENDIAN, in_order};

/// Words of 16 samples of 16 bits, and one more, as they may begin anywhere in a word.
const MOST_WORDS: usize = 9;

/// `(a & b) ^ c`.
const AND_XOR: u32 = (0xf0 & 0xcc) ^ 0xaa;

/// Bits placed in a number, two at a time: the mask, the number with the sign's bit inverted, and what is too much.
///
/// In registers, because a `lop3` has room for one immediate number.
#[derive(Clone, Copy)]
struct Field {
    mask: u32,
    number: u32,
    offset: u32,
}

impl Field {
    #[inline(always)]
    fn new(mask: u32, number: u32, offset: u32) -> Self {
        let register = |value: u32| opaque((value * 0x1_0001) as i32) as u32;
        let placed = register(number);
        Self { mask: register(mask), number: placed, offset: if offset == number { placed } else { register(offset) } }
    }

    /// The number with the field's bits of `word`.
    #[inline(always)]
    fn place(self, word: u32) -> u32 {
        lop3_b32::<AND_XOR>(word, self.mask, self.number)
    }

    /// The same, less what is too much.
    #[inline(always)]
    fn value(self, word: u32) -> u32 {
        sub_rn_f16x2(self.place(word), self.offset)
    }
}

/// Decodes samples of `BITS` bits: 2 to 10, 12 or 16.
#[derive(Clone, Copy)]
pub(crate) struct Decoder<const BITS: u32> {
    high: Field,
    /// The lower 6 bits of 12 and 16.
    low: Field,
}

impl<const BITS: u32> Decoder<BITS> {
    /// Words that 16 samples fill, if they begin with a word.
    const WORDS: usize = BITS.div_ceil(2) as usize;

    /// Terms that a sample is the sum of.
    pub(crate) const TERMS: usize = if BITS > 12 { 2 } else { 1 };

    #[inline(always)]
    pub(crate) fn new() -> Self {
        const { assert!(BITS >= 2 && BITS <= 16 && (BITS <= 10 || BITS == 12 || BITS == 16)) };
        match BITS {
            // 4096 + 64 h, whose highest bit is 2048; offset 4096 + 2048 + 1024.
            12 => Self { high: Field::new(0x03f0, 0x6e00, 0x6f00), low: Field::new(0x003f, 0x6400, 0) },
            // 1024 + h and 16 + l / 64.
            16 => Self { high: Field::new(0x03ff, 0x6600, 0x6600), low: Field::new(0x003f, 0x4c00, 0x4c00) },
            _ => {
                let number = 0x6400 | 1 << (BITS - 1);
                Self { high: Field::new((1 << BITS) - 1, number, number), low: Field::new(0, 0, 0) }
            }
        }
    }

    /// The pairs of the samples from bit `bit` of word `word` on, by term; the second term is zero if there is one.
    ///
    /// # Safety
    /// The view has the words, and one more; `bit` is below 32.
    #[inline(always)]
    pub(crate) unsafe fn decode(self, words: Shared<u32>, word: u32, bit: u32) -> [[u32; 8]; 2] {
        let mut raw = [0; MOST_WORDS];
        unroll!(i in 0 1 2 3 4 5 6 7 8 {
            if i <= Self::WORDS {
                raw[i] = in_order(words.load(word as usize + i), BIG_ENDIAN);
            }
        });
        unroll!(i in 0 1 2 3 4 5 6 7 {
            if i < Self::WORDS {
                raw[i] = shf_l_wrap_b32(raw[i + 1], raw[i], bit);
            }
        });
        let mut pairs = [[0; 8]; 2];
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
            // Bits behind the sample's last one.
            let behind = 16 + 8 * low as u32 - BITS - first as u32;
            match BITS {
                12 => {
                    let high = sub_rn_f16x2(self.high.place(both >> (behind + 2)), self.high.offset);
                    pairs[0][j] = add_rn_f16x2(high, self.low.place(both >> behind));
                }
                16 => {
                    pairs[0][j] = self.high.value(both >> 6);
                    pairs[1][j] = self.low.value(both);
                }
                _ => pairs[0][j] = self.high.value(both >> behind),
            }
        });
        pairs
    }
}
