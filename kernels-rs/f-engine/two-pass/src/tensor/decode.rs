//! Packed samples to f16, eight neighbouring columns of two rows at a time, of samples that begin with an even bit: as
//! [`fringes_kernels_common::decode::eight`] does it of any.
//!
//! Then the bits of a sample lie in two bytes. Words are shifted by bytes as they lie in memory; what is left to shift,
//! from an even bit of a byte to the lowest one, is a constant. The two bytes are taken from both rows in the order of
//! bits, and a shift, a `lop3` and a subtraction make both halves of a word exact; of 12 bits, [more](crate::twelve).

use fringes_device::arithmetic::{lop3_b32, prmt_b32, shf_r_wrap_b32};
use fringes_device::half2::sub_rn_f16x2;
use fringes_device::{Shared, opaque, unroll};
use fringes_kernels_common::decode::eight::GROUP;

use crate::twelve;

/// Words that eight samples of up to 12 bits, wherever they begin, are in.
const WORDS: usize = 4;

/// `(a & b) ^ c`.
const AND_XOR: u32 = (0xf0 & 0xcc) ^ 0xaa;

/// Packed samples of `BITS` bits, 8, 10 or 12, the first one of which begins with bit `SHIFT` of a byte.
pub(super) struct Packed<const BITS: u32, const SHIFT: u32>;

impl<const BITS: u32, const SHIFT: u32> Packed<BITS, SHIFT> {
    /// Words with the bytes of eight samples.
    const BYTES_WORDS: usize = (SHIFT + GROUP as u32 * BITS).div_ceil(32) as usize;
    /// The bits of two samples.
    const MASK: u32 = ((1 << BITS) - 1) * 0x1_0001;
    /// 1024 in f16, and the sign that is inverted, twice; as a number, what is too much.
    const MAGIC: u32 = (0x6400 | 1 << (BITS - 1)) * 0x1_0001;

    /// The bytes of eight samples as they lie in memory, from byte `bits / 8` of the first word on: word `offset` of
    /// every view.
    ///
    /// # Safety
    /// The views have them.
    #[inline(always)]
    unsafe fn load(words: [Shared<u32>; WORDS], offset: usize, bits: u32) -> [u32; WORDS] {
        let mut raw = [0; WORDS];
        unroll!(i in 0 1 2 3 {
            if i <= Self::BYTES_WORDS {
                raw[i] = words[i].load(offset);
            }
        });
        unroll!(i in 0 1 2 {
            if i < Self::BYTES_WORDS {
                raw[i] = shf_r_wrap_b32(raw[i], raw[i + 1], bits);
            }
        });
        if Self::BYTES_WORDS == WORDS {
            // A single byte is needed of it, which is there.
            raw[WORDS - 1] >>= bits % 32;
        }
        raw
    }

    /// Bytes `byte` and `byte + 1` of two rows in the order of bits, the first row in the low half: of one word.
    #[inline(always)]
    fn whole(low: [u32; WORDS], high: [u32; WORDS], byte: usize) -> u32 {
        let (word, k) = (byte / 4, byte as u32 % 4);
        prmt_b32(low[word], high[word], (k + 1) | k << 4 | (k + 5) << 8 | (k + 4) << 12)
    }

    /// The same, wherever they are.
    #[inline(always)]
    fn window(low: [u32; WORDS], high: [u32; WORDS], byte: usize) -> u32 {
        if byte % 4 < 3 {
            Self::whole(low, high, byte)
        } else {
            // Of the bytes before and behind, which one or another column has as well.
            prmt_b32(Self::whole(low, high, byte - 1), Self::whole(low, high, byte + 1), 0x2705)
        }
    }

    /// The eight columns of two rows, of words `offsets` of the four views from byte `bits / 8` of the first one on:
    /// the first row in the low halves.
    ///
    /// # Safety
    /// The views have them.
    #[inline(always)]
    pub(super) unsafe fn pairs(words: [Shared<u32>; WORDS], offsets: [usize; 2], bits: u32) -> [u32; GROUP] {
        // In a register, because a `lop3` has room for one immediate number.
        let magic = opaque(Self::MAGIC as i32) as u32;
        let [low, high] = [Self::load(words, offsets[0], bits), Self::load(words, offsets[1], bits)];
        let mut pairs = [0; GROUP];
        unroll!(j in 0 1 2 3 4 5 6 7 {
            let shifted = if BITS == 8 {
                let (word, k) = (j / 4, j as u32 % 4);
                prmt_b32(low[word], high[word], (k * 0x11) | ((k + 4) * 0x1100))
            } else {
                let first = SHIFT + j as u32 * BITS;
                Self::window(low, high, first as usize / 8) >> (16 - BITS - first % 8)
            };
            pairs[j] = if BITS == 12 {
                twelve::numbers(shifted)
            } else {
                sub_rn_f16x2(lop3_b32::<AND_XOR>(shifted, Self::MASK, magic), Self::MAGIC)
            };
        });
        pairs
    }
}
