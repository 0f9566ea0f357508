//! Formats of samples: what a word of a row holds, and how words become operands of products.
//!
//! A *fragment* is four words of a lane, of 16 inputs: as rows words 0 and 2 are of its first half of inputs, words 1
//! and 3 of its second half, and it is `A` of a product; each half's two words are `B` of a product. The order of the
//! times in it does not matter, for both operands have the same.

use fringes_device::arithmetic::prmt_b32;
use fringes_device::mma::{mma_m16n8k16_f32_f16, mma_m16n8k32_s32_s8};

/// Real or imaginary part of a sum.
pub trait Part: Copy + 'static {
    /// No sum.
    const ZERO: Self;

    /// Its bits.
    fn bits(self) -> u32;
}

impl Part for i32 {
    const ZERO: Self = 0;

    #[inline(always)]
    fn bits(self) -> u32 {
        self as u32
    }
}

impl Part for f32 {
    const ZERO: Self = 0.0;

    #[inline(always)]
    fn bits(self) -> u32 {
        self.to_bits()
    }
}

/// A format of samples.
pub trait Format {
    /// Bytes of a complex sample.
    const SAMPLE: u32;
    /// Complex samples of a row of 128 bytes.
    const TIMES: u32 = 128 / Self::SAMPLE;
    /// Fragments of operands that the words of a loaded fragment make, 16 bytes a row each.
    const SETS: usize;
    /// What is summed.
    type Part: Part;

    /// Words as loaded from both polarisations of one antenna, 16 bytes, as words of a fragment of rows: the first half
    /// of its inputs is the first polarisation.
    fn part_polarisations(words: [u32; 4]) -> [u32; 4];

    /// `A` of set `set` from the words of a fragment.
    fn row(words: [u32; 4], set: usize) -> [u32; 4];

    /// `B` of set `set` from the two words of half a fragment.
    fn column(words: [u32; 2], set: usize) -> [u32; 2];

    /// `B` with each `(re, im)` replaced by `(-im, re)`.
    fn turn(column: [u32; 2]) -> [u32; 2];

    /// `A B + C`.
    ///
    /// # Safety
    /// All lanes of the warp execute it together.
    unsafe fn product(row: [u32; 4], column: [u32; 2], sums: [Self::Part; 4]) -> [Self::Part; 4];

    /// The sum of products of samples from the bits of the sum that [`product`](Self::product) makes.
    fn sum(bits: u32) -> Self::Part;
}

/// 4+4-bit samples, the real part in the high bits.
///
/// They are multiplied as 8-bit numbers 16 times as large, the real parts of a word in one operand and the imaginary
/// ones in another, so that widening takes a mask each. Sums are 256 times too large, and shifted at the end.
pub enum I4 {}

/// The high four bits of each byte.
const HIGH: u32 = 0xf0f0_f0f0;

impl Format for I4 {
    const SAMPLE: u32 = 1;
    const SETS: usize = 2;
    type Part = i32;

    #[inline(always)]
    fn part_polarisations(words: [u32; 4]) -> [u32; 4] {
        let [a, b, c, d] = words;
        [prmt_b32(a, b, 0x6420), prmt_b32(a, b, 0x7531), prmt_b32(c, d, 0x6420), prmt_b32(c, d, 0x7531)]
    }

    #[inline(always)]
    fn row(words: [u32; 4], set: usize) -> [u32; 4] {
        let (first, second) = (words[2 * set], words[2 * set + 1]);
        [first & HIGH, second & HIGH, first << 4 & HIGH, second << 4 & HIGH]
    }

    #[inline(always)]
    fn column(words: [u32; 2], set: usize) -> [u32; 2] {
        [words[set] & HIGH, words[set] << 4 & HIGH]
    }

    #[inline(always)]
    fn turn([re, im]: [u32; 2]) -> [u32; 2] {
        // The complement and one more in each byte; what zeros carry lands in the low bits of the byte above.
        [((im ^ HIGH).wrapping_add(0x1010_1010)) & HIGH, re]
    }

    #[inline(always)]
    unsafe fn product(row: [u32; 4], column: [u32; 2], sums: [i32; 4]) -> [i32; 4] {
        mma_m16n8k32_s32_s8(row, column, sums)
    }

    #[inline(always)]
    fn sum(bits: u32) -> i32 {
        bits as i32 >> 8
    }
}

/// 8-bit samples: real and imaginary part.
pub enum I8 {}

impl Format for I8 {
    const SAMPLE: u32 = 2;
    const SETS: usize = 1;
    type Part = i32;

    #[inline(always)]
    fn part_polarisations(words: [u32; 4]) -> [u32; 4] {
        let [a, b, c, d] = words;
        [prmt_b32(a, b, 0x5410), prmt_b32(a, b, 0x7632), prmt_b32(c, d, 0x5410), prmt_b32(c, d, 0x7632)]
    }

    #[inline(always)]
    fn row(words: [u32; 4], _: usize) -> [u32; 4] {
        words
    }

    #[inline(always)]
    fn column(words: [u32; 2], _: usize) -> [u32; 2] {
        words
    }

    #[inline(always)]
    fn turn(column: [u32; 2]) -> [u32; 2] {
        column.map(|samples| {
            // The subtraction leaves -im in bytes 1 and 3: what the lower one borrows is what is added to byte 2.
            let negated = 0x0001_0000u32.wrapping_sub(samples & 0xff00_ff00);
            prmt_b32(samples, negated, 0x2705)
        })
    }

    #[inline(always)]
    unsafe fn product(row: [u32; 4], column: [u32; 2], sums: [i32; 4]) -> [i32; 4] {
        mma_m16n8k32_s32_s8(row, column, sums)
    }

    #[inline(always)]
    fn sum(bits: u32) -> i32 {
        bits as i32
    }
}

/// f16 samples: real and imaginary part. Sums in f32.
pub enum F16 {}

impl Format for F16 {
    const SAMPLE: u32 = 4;
    const SETS: usize = 1;
    type Part = f32;

    #[inline(always)]
    fn part_polarisations(words: [u32; 4]) -> [u32; 4] {
        words
    }

    #[inline(always)]
    fn row(words: [u32; 4], _: usize) -> [u32; 4] {
        words
    }

    #[inline(always)]
    fn column(words: [u32; 2], _: usize) -> [u32; 2] {
        words
    }

    #[inline(always)]
    fn turn(column: [u32; 2]) -> [u32; 2] {
        column.map(|sample| prmt_b32(sample, 0, 0x1032) ^ 0x8000)
    }

    #[inline(always)]
    unsafe fn product(row: [u32; 4], column: [u32; 2], sums: [f32; 4]) -> [f32; 4] {
        mma_m16n8k16_f32_f16(row, column, sums)
    }

    #[inline(always)]
    fn sum(bits: u32) -> f32 {
        f32::from_bits(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turned_nibbles_are_the_negated_imaginary_parts_and_the_real_ones() {
        for im in -7i32..8 {
            for beside in [0u32, 0x10, 0x90, 0xf0] {
                let nibble = (im as u32 & 15) << 4;
                let word = nibble | beside << 8 | nibble << 16 | beside << 24;
                let [turned, kept] = I4::turn([0x1234_5670 & HIGH, word]);
                let negated = (-im as u32 & 15) << 4;
                let other = (beside.wrapping_neg()) & 0xf0;
                assert_eq!(turned, negated | other << 8 | negated << 16 | other << 24, "{im} beside {beside:#x}");
                assert_eq!(kept, 0x1234_5670 & HIGH);
            }
        }
    }
}
