//! Packed samples of 12 bits to f16, eight neighbouring columns of two rows at a time: as
//! [`fringes_kernels_common::decode::eight`] does it of fewer bits.
//!
//! Next to 1024 an f16 has ten bits of an integer, so the upper and the lower six bits of a sample become numbers of
//! their own, and one multiply-add joins them: `64 (h - 32) + l`, exact as all of -2048 to 2047 are.

use fringes_device::arithmetic::{lop3_b32, prmt_b32, shf_l_wrap_b32};
use fringes_device::half2::{fma_rn_f16x2, sub_rn_f16x2};
use fringes_device::{Shared, unroll};
use fringes_kernels_common::decode::eight::GROUP;
use fringes_kernels_common::decode::{BIG_ENDIAN, in_order};

/// Words of eight samples, and one more, as they may begin anywhere in a word.
const WORDS: usize = 4;

/// Six bits of two samples.
const SIX: u32 = 0x003f_003f;
/// 1024 in f16, and the sign of six bits that is inverted, twice: what is too much as well.
const SIGNED: u32 = 0x6420_6420;
/// 1024 in f16, twice.
const UNSIGNED: u32 = 0x6400_6400;
/// 64 in f16, twice.
const UPPER: u32 = 0x5400_5400;
/// `(a & b) ^ c`.
const AND_XOR: u32 = (0xf0 & 0xcc) ^ 0xaa;

/// The numbers of two samples, whose lowest bits are those of the halves of a word.
#[inline(always)]
pub(crate) fn numbers(both: u32) -> u32 {
    let high = sub_rn_f16x2(lop3_b32::<AND_XOR>(both >> 6, SIX, SIGNED), SIGNED);
    let low = sub_rn_f16x2(lop3_b32::<AND_XOR>(both, SIX, UNSIGNED), UNSIGNED);
    fma_rn_f16x2(high, UPPER, low)
}

/// Loads the words of eight samples, the first one of which is `at[0]` and so on, from `offset` on: in the order of
/// bits, from bit `bit` of the first one on.
///
/// # Safety
/// The view has them.
#[inline(always)]
unsafe fn load(words: Shared<u32>, at: [u32; WORDS], offset: u32, bit: u32) -> [u32; WORDS] {
    let mut ordered = [0; WORDS];
    unroll!(i in 0 1 2 3 {
        ordered[i] = in_order(words.load((at[i] + offset) as usize), BIG_ENDIAN);
    });
    unroll!(i in 0 1 2 {
        ordered[i] = shf_l_wrap_b32(ordered[i + 1], ordered[i], bit);
    });
    ordered
}

/// The eight columns of two rows, whose words lie `offsets` behind `at`, from bit `bit` of the first word on: the first
/// row in the low halves.
///
/// # Safety
/// The view has them.
#[inline(always)]
pub(crate) unsafe fn pairs(words: Shared<u32>, at: [u32; WORDS], offsets: [u32; 2], bit: u32) -> [u32; GROUP] {
    let [low, high] = [load(words, at, offsets[0], bit), load(words, at, offsets[1], bit)];
    let mut pairs = [0; GROUP];
    unroll!(j in 0 1 2 3 4 5 6 7 {
        // Two bytes have all bits of a sample: with four others behind them, or before.
        let byte = 12 * j / 8;
        let (word, k) = (byte / 4, byte as u32 % 4);
        let both = if k < 3 {
            prmt_b32(low[word], high[word], (2 - k) | (3 - k) << 4 | (6 - k) << 8 | (7 - k) << 12)
        } else {
            let join = |words: [u32; WORDS]| prmt_b32(words[word], words[word + 1], 0x0007);
            prmt_b32(join(low), join(high), 0x5410)
        };
        pairs[j] = numbers(both >> (4 - 12 * j as u32 % 8));
    });
    pairs
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;

    #[test]
    fn all_samples_are_exact_whatever_lies_above_them() {
        let launch = fringes_emulator::Launch::new("test() threads=1", [1, 1, 1], [1, 1, 1]);
        let body = || {
            for x in -2048i16..2048 {
                let y = (x.wrapping_mul(31) << 4) >> 4;
                let word = u32::from(x as u16 & 0xfff) | 0xa000 | u32::from(y as u16 & 0xfff) << 16 | 0x5000_0000;
                let found = numbers(word);
                let number = |bits: u32| f16::from_bits(bits as u16).to_f32();
                assert_eq!((number(found), number(found >> 16)), (f32::from(x), f32::from(y)));
            }
        };
        launch.run(&mut fringes_emulator::GlobalMemory::new(), body).assert_clean();
    }
}
