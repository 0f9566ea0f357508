//! Sums of a step with registers of 256 bits: four columns each.

use std::arch::x86_64::*;
use std::mem::transmute;

use super::products::{COLUMNS, NOTHING, Step};

/// The sums `[column]`. Multiples of the last place that is kept are below `2^(kept + 2)`, 2^27 at most: a factor is
/// less than two of the power of two of its exponent, a product less than four.
///
/// # Safety
/// The machine must have AVX2.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn sums(Step { row, columns, c, kept }: Step<'_>) -> [f64; COLUMNS] {
    let mut greatest = eight(&c.exponents);
    for (&a, b) in row.exponents.iter().zip(columns) {
        greatest = _mm_max_epi16(greatest, _mm_add_epi16(_mm_set1_epi16(a), eight(&b.exponents)));
    }
    // Where all terms are zero any power of two does.
    let some = _mm_cmpgt_epi16(greatest, _mm_set1_epi16(NOTHING - 1));
    let greatest = _mm256_cvtepi16_epi32(_mm_and_si128(greatest, some));
    let kept = _mm256_set1_epi32(kept);
    let [low, high] = powers(_mm256_sub_epi32(kept, greatest));
    let [c_low, c_high] = fours(&c.values);
    let cut = |term, unit| _mm256_cvttpd_epi32(_mm256_mul_pd(term, unit));
    let (mut sum_low, mut sum_high) = (_mm_setzero_si128(), _mm_setzero_si128());
    for (&a, b) in row.values.iter().zip(columns) {
        let (a, [b_low, b_high]) = (_mm256_set1_pd(a), fours(&b.values));
        sum_low = _mm_add_epi32(sum_low, cut(_mm256_mul_pd(a, b_low), low));
        sum_high = _mm_add_epi32(sum_high, cut(_mm256_mul_pd(a, b_high), high));
    }
    let units = powers(_mm256_sub_epi32(greatest, kept));
    // With the accumulator a sum may have 33 bits.
    let total = |sum, c, unit| _mm256_mul_pd(_mm256_add_pd(_mm256_cvtepi32_pd(sum), _mm256_cvtepi32_pd(c)), unit);
    let totals = [total(sum_low, cut(c_low, low), units[0]), total(sum_high, cut(c_high, high), units[1])];
    // SAFETY: numbers of the same bits. Checked builds of the instructions for stores go through memory twice.
    unsafe { transmute::<[__m256d; 2], [f64; COLUMNS]>(totals) }
}

/// Eight numbers of 16 bits.
///
/// # Safety
/// The machine must have AVX2.
#[target_feature(enable = "avx2")]
#[inline]
fn eight(numbers: &[i16; COLUMNS]) -> __m128i {
    // SAFETY: numbers of the same bits.
    unsafe { transmute::<[i16; COLUMNS], __m128i>(*numbers) }
}

/// Both halves of eight numbers.
///
/// # Safety
/// The machine must have AVX2.
#[target_feature(enable = "avx2")]
#[inline]
fn fours(numbers: &[f64; COLUMNS]) -> [__m256d; 2] {
    // SAFETY: numbers of the same bits.
    unsafe { transmute::<[f64; COLUMNS], [__m256d; 2]>(*numbers) }
}

/// Powers of two of eight exponents, which are those of normal numbers.
///
/// # Safety
/// The machine must have AVX2.
#[target_feature(enable = "avx2")]
#[inline]
fn powers(exponents: __m256i) -> [__m256d; 2] {
    let biased = _mm256_add_epi32(exponents, _mm256_set1_epi32(1023));
    let power = |half| _mm256_castsi256_pd(_mm256_slli_epi64::<52>(_mm256_cvtepi32_epi64(half)));
    [power(_mm256_castsi256_si128(biased)), power(_mm256_extracti128_si256::<1>(biased))]
}
