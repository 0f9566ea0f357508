//! Packed samples to f16, eight neighbouring columns of two rows at a time.
//!
//! Samples are two's complement of `B <= 10` bits, big-endian, without padding. Eight of them are `B` bytes. The words
//! that hold them are turned to the order of bits and shifted to the first one; then the two bytes with the bits of a
//! column are taken from both rows, and a shift, a `lop3` and a subtraction make both halves of a word exact:
//! `1024 + 2^(B - 1) + x`, less what is too much.

use fringes_device::arithmetic::{lop3_b32, prmt_b32, shf_l_wrap_b32};
use fringes_device::half2::sub_rn_f16x2;
use fringes_device::{Shared, opaque, unroll};

use super::{BIG_ENDIAN, in_order};

/// Samples that are decoded together.
pub const GROUP: usize = 8;

/// Words of eight samples of up to 10 bits, and one more, as they may begin anywhere in a word.
const MOST_WORDS: usize = 4;

/// The words of eight samples, as they lie in memory.
#[derive(Clone, Copy)]
pub struct Raw([u32; MOST_WORDS]);

/// What samples are masked with, and their exponent.
#[derive(Clone, Copy)]
pub struct Constants {
    mask: u32,
    magic: u32,
    offset: u32,
}

/// `(a & b) ^ c`.
const AND_XOR: u32 = (0xf0 & 0xcc) ^ 0xaa;

/// Packed samples of `BITS` bits.
pub struct Packed<const BITS: u32>;

impl<const BITS: u32> Packed<BITS> {
    /// Words that eight samples fill, if they begin with a word.
    const WORDS: usize = (GROUP * BITS as usize).div_ceil(32);
    /// The bits of two samples.
    const MASK: u32 = ((1 << BITS) - 1) * 0x1_0001;
    /// 1024 in f16, and the sign that is inverted, twice.
    const MAGIC: u32 = (0x6400 | 1 << (BITS - 1)) * 0x1_0001;
    /// What is too much, in f16, twice: `1024 + 2^(BITS - 1)`.
    const OFFSET: u32 = Self::MAGIC;

    /// Mask and exponent as the kernel keeps them: in registers, because a `lop3` has room for one immediate number.
    #[inline(always)]
    pub fn constants() -> Constants {
        let register = |value: u32| opaque(value as i32) as u32;
        Constants { mask: register(Self::MASK), magic: register(Self::MAGIC), offset: register(Self::OFFSET) }
    }

    /// Loads the words of eight samples, the first one of which is `at[0]` and so on, from `offset` on.
    ///
    /// # Safety
    /// The view has them.
    #[inline(always)]
    pub unsafe fn load(words: Shared<u32>, at: [u32; MOST_WORDS], offset: u32) -> Raw {
        let mut raw = [0; MOST_WORDS];
        unroll!(i in 0 1 2 3 {
            if i <= Self::WORDS {
                raw[i] = words.load((at[i] + offset) as usize);
            }
        });
        Raw(raw)
    }

    /// The words in the order of bits, from bit `bit` of the first one on.
    #[inline(always)]
    fn aligned(raw: Raw, bit: u32) -> [u32; MOST_WORDS] {
        let mut words = [0; MOST_WORDS];
        unroll!(i in 0 1 2 3 {
            if i <= Self::WORDS {
                words[i] = in_order(raw.0[i], BIG_ENDIAN);
            }
        });
        unroll!(i in 0 1 2 {
            if i < Self::WORDS {
                words[i] = shf_l_wrap_b32(words[i + 1], words[i], bit);
            }
        });
        words
    }

    /// The eight columns of two rows that begin with bit `bit` of the first word: the first row in the low halves.
    #[inline(always)]
    pub fn pairs(low: Raw, high: Raw, bit: u32, constants: Constants) -> [u32; GROUP] {
        let (low, high) = (Self::aligned(low, bit), Self::aligned(high, bit));
        let mut pairs = [0; GROUP];
        unroll!(j in 0 1 2 3 4 5 6 7 {
            // Two bytes that have all bits of the column.
            let first = j * BITS as usize;
            let last = BITS as usize - 2;
            let byte = if first / 8 < last { first / 8 } else { last };
            let (word, k) = (byte / 4, byte as u32 % 4);
            let both = if k < 3 {
                prmt_b32(low[word], high[word], (2 - k) | (3 - k) << 4 | (6 - k) << 8 | (7 - k) << 12)
            } else {
                let join = |words: [u32; MOST_WORDS]| prmt_b32(words[word], words[word + 1], 0x0007);
                prmt_b32(join(low), join(high), 0x5410)
            };
            let shifted = both >> (16 + 8 * byte as u32 - BITS - first as u32);
            let placed = lop3_b32::<AND_XOR>(shifted, constants.mask, constants.magic);
            pairs[j] = sub_rn_f16x2(placed, constants.offset);
        });
        pairs
    }
}
