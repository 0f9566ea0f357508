//! Powers of samples, a 32-bit word of a row at a time: what incoherent beams are sums of.

use fringes_device::arithmetic::dp4a_s32_s32;
use fringes_device::convert::cvt_f32_f16;
use fringes_device::fused::fma;

use crate::source::{RowsF16, RowsI4, RowsI8, RowsI8ByF16, widened};

/// Most times of a word.
pub const MOST_WORD_TIMES: usize = 4;

/// A format of rows.
pub trait Powers {
    /// Times of a word.
    const WORD_TIMES: usize;
    /// What powers are multiples of.
    const UNIT: f32 = 1.0;

    /// `|x|^2` of the times of a word. Of integers they are exact, of f16 they have one rounding.
    fn powers(word: u32) -> [f32; MOST_WORD_TIMES];
}

/// `|x|^2` of two samples of 8 bits; -128 is what it is.
#[inline(always)]
pub(crate) fn powers_i8(word: u32) -> [f32; 2] {
    [word & 0xffff, word & 0xffff_0000].map(|one| dp4a_s32_s32(one, word, 0) as f32)
}

/// `|x|^2` of a sample of f16, with one rounding: the square of an f16 is exact.
#[inline(always)]
pub(crate) fn power_f16(word: u32) -> f32 {
    let [re, im] = [word as u16, (word >> 16) as u16].map(|part| cvt_f32_f16(part));
    fma(re, re, im * im)
}

impl Powers for RowsI8 {
    const WORD_TIMES: usize = 2;

    #[inline(always)]
    fn powers(word: u32) -> [f32; MOST_WORD_TIMES] {
        let [a, b] = powers_i8(word);
        [a, b, 0.0, 0.0]
    }
}

impl Powers for RowsI8ByF16 {
    const WORD_TIMES: usize = 2;

    #[inline(always)]
    fn powers(word: u32) -> [f32; MOST_WORD_TIMES] {
        RowsI8::powers(word)
    }
}

impl Powers for RowsI4 {
    const WORD_TIMES: usize = 4;
    const UNIT: f32 = 256.0;

    #[inline(always)]
    fn powers(word: u32) -> [f32; MOST_WORD_TIMES] {
        let [[a, c], [b, d]] = widened(word).map(powers_i8);
        [a, b, c, d]
    }
}

impl Powers for RowsF16 {
    const WORD_TIMES: usize = 1;

    #[inline(always)]
    fn powers(word: u32) -> [f32; MOST_WORD_TIMES] {
        [power_f16(word), 0.0, 0.0, 0.0]
    }
}
