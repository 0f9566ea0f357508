//! Packed samples to f32, eight neighbouring ones at a time, from any bit on.
//!
//! Samples are two's complement of `B` bits, big-endian, without padding. Eight of them are `B` bytes. The words that hold them are turned to
//! the order of bits and shifted to the first one; then each sample takes a shift and a `lop3`, because its bits, with the sign's inverted, are
//! put at the top of the fraction of a number in [1, 2):
//!
//! ```text
//! 1.5 + x / 2^B
//! ```
//!
//! The filter's weights are `2^B` times larger, and its sums begin with what takes away the 1.5 ([`crate::fir`]).

use fringes_device::arithmetic::{lop3_b32, prmt_b32, shf_l_wrap_b32, shf_r_clamp_b32};
use fringes_device::{Global, opaque, unroll};

/// Samples that are decoded together.
pub const GROUP: usize = 8;

/// Words of eight samples of up to 16 bits, and one more, as they may begin anywhere in a word.
const MOST_WORDS: usize = 5;

/// The words of eight samples, as they lie in memory.
#[derive(Clone, Copy)]
pub struct Raw([u32; MOST_WORDS]);

/// What samples are masked with, and their exponent.
#[derive(Clone, Copy)]
pub struct Constants {
    mask: u32,
    magic: u32,
}

/// `(a & b) ^ c`.
const AND_XOR: u32 = (0xf0 & 0xcc) ^ 0xaa;

/// Packed samples of `BITS` bits.
pub struct Packed<const BITS: u32>;

impl<const BITS: u32> Packed<BITS> {
    /// Words that eight samples fill, if they begin with a word.
    const WORDS: usize = (GROUP * BITS as usize).div_ceil(32);
    /// The bits of a sample at the top of the fraction.
    const MASK: u32 = ((1 << BITS) - 1) << (23 - BITS);
    /// The exponent of [1, 2), and the sign that is inverted.
    const MAGIC: u32 = 0x3fc0_0000;

    /// Mask and exponent as the kernel keeps them: in registers, because a `lop3` has room for one immediate number.
    #[inline(always)]
    pub fn constants() -> Constants {
        Constants { mask: opaque(Self::MASK as i32) as u32, magic: opaque(Self::MAGIC as i32) as u32 }
    }

    /// Loads the words of eight samples that begin in word `index`.
    ///
    /// # Safety
    /// The view has the words of eight samples from there on, and one more.
    #[inline(always)]
    pub unsafe fn load(samples: Global<u32>, index: usize) -> Raw {
        let mut raw = [0; MOST_WORDS];
        unroll!(i in 0 1 2 3 4 {
            if i <= Self::WORDS {
                raw[i] = samples.load(index + i);
            }
        });
        Raw(raw)
    }

    /// The eight samples that begin with bit `bit` of the first word, each `1.5 + x / 2^BITS`.
    #[inline(always)]
    pub fn values(raw: Raw, bit: u32, constants: Constants) -> [f32; GROUP] {
        let mut words = [0; MOST_WORDS];
        unroll!(i in 0 1 2 3 4 {
            if i <= Self::WORDS {
                words[i] = prmt_b32(raw.0[i], 0, 0x0123);
            }
        });
        unroll!(i in 0 1 2 3 {
            if i < Self::WORDS {
                words[i] = shf_l_wrap_b32(words[i + 1], words[i], bit);
            }
        });
        let mut values = [0.0; GROUP];
        unroll!(j in 0 1 2 3 4 5 6 7 {
            let (word, first) = (j * BITS as usize / 32, j as u32 * BITS % 32);
            // The sample's highest bit is bit 31 - first of its word, and goes to bit 22.
            let placed = if first + BITS > 32 {
                shf_r_clamp_b32(words[word + 1], words[word], 41 - first)
            } else if first <= 9 {
                words[word] >> (9 - first)
            } else {
                words[word] << (first - 9)
            };
            values[j] = f32::from_bits(lop3_b32::<AND_XOR>(placed, constants.mask, constants.magic));
        });
        values
    }
}
