//! Sixteen neighbouring packed samples of shared memory to pairs of f16 ([`Sixteen`]). Words are turned to the order of
//! bits and shifted to the first one, unless they begin with it.

use fringes_device::arithmetic::shf_l_wrap_b32;
use fringes_device::{Shared, unroll};
use fringes_kernels_common::decode::sixteen::{MOST_WORDS, Pairs, Sixteen};
use fringes_kernels_common::decode::{BIG_ENDIAN, in_order};

/// Samples of `BITS` bits.
#[derive(Clone, Copy)]
pub(crate) struct Decoder<const BITS: u32, const ALIGNED: bool> {
    sixteen: Sixteen<BITS, ALIGNED>,
    /// Bytes of words in the order of bits.
    order: u32,
}

impl<const BITS: u32, const ALIGNED: bool> Decoder<BITS, ALIGNED> {
    /// Words that 16 samples fill, if they begin with a word.
    const WORDS: usize = Sixteen::<BITS, ALIGNED>::WORDS;

    /// `order` is that of the bytes of words, which counts of 16 bits alone.
    #[inline(always)]
    pub(crate) fn new(order: u32) -> Self {
        Self { sixteen: Sixteen::constants(), order: if BITS == 16 { order } else { BIG_ENDIAN } }
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
        self.sixteen.pairs(raw)
    }
}
