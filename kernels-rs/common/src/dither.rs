//! Dither: numbers uniform in (-1/2, 1/2) that depend on seed, input, spectrum and channel alone, so that any part can
//! be computed again.
//!
//! [`philox`] of the spectrum and the input gives two words ([`words`]), which [`hash`] mixes with the number of the
//! channel. The halves of the hash are the dither of the real part (low) and the imaginary part (high):
//! `(half + 1/2) / 2^16 - 1/2`.
//!
//! Two forms of two steps, as kernels are tuned to them:
//!
//! | step | form | for |
//! |---|---|---|
//! | words | [`words`], rounds unrolled | threads that compute many values from them: rotations |
//! | | [`words_looped`], less code, the same words | the F-engine: once a spectrum and block |
//! | dither | [`parts`], exact | rotations |
//! | | [`add`], one multiply-add a part, within 1.25 2^-16 | the F-engine, which is bound by instructions |

use fringes_device::arithmetic::{mul_hi_u32, mul_wide_u32, prmt_b32};
use fringes_device::fused::fma;
use fringes_device::unroll;
use fringes_kernel_abi::dither::{CHANNEL, FOLDS, MULTIPLIERS, ROUNDS, STEPS, WEYL, counter, key};

use crate::complex::Complex;

/// What a sum begins with to which [`add`] adds a dither: it gives 128 and a half step more than what is meant.
pub const BASE: f32 = -128.5;

/// Step of the dither.
pub const STEP: f32 = 1.0 / STEPS as f32;

/// Philox4x32 with ten rounds (Salmon, Moraes, Dror, Shaw 2011, Parallel random numbers: as easy as 1, 2, 3) of a
/// counter under a key.
///
/// # PTX
/// `mul.wide.u32`, two a round
#[inline(always)]
pub fn philox(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let ([mut a, mut b, mut c, mut d], [mut low, mut high]) = (counter, key);
    unroll!(round in 0 1 2 3 4 5 6 7 8 9 {
        if round > 0 {
            low = low.wrapping_add(WEYL[0]);
            high = high.wrapping_add(WEYL[1]);
        }
        let (first, second) = (mul_wide_u32(MULTIPLIERS[0], a), mul_wide_u32(MULTIPLIERS[1], c));
        (a, b, c, d) = ((second >> 32) as u32 ^ b ^ low, second as u32, (first >> 32) as u32 ^ d ^ high, first as u32);
    });
    [a, b, c, d]
}

/// The two words of a spectrum and an input.
#[inline(always)]
pub fn words(seed: u64, spectrum: u64, input: u32) -> [u32; 2] {
    let [a, b, _, _] = philox(counter(spectrum, input), key(seed));
    [a, b]
}

/// The same words, round by round in a loop.
///
/// # PTX
/// `mul.hi.u32` and `mul.lo.u32`, two each a round
#[inline(always)]
pub fn words_looped(seed: u64, spectrum: u64, input: u32) -> [u32; 2] {
    let mut c = counter(spectrum, input);
    let mut k = key(seed);
    let mut round = 0;
    while round < ROUNDS {
        let (high0, low0) = (mul_hi_u32(MULTIPLIERS[0], c[0]), MULTIPLIERS[0].wrapping_mul(c[0]));
        let (high1, low1) = (mul_hi_u32(MULTIPLIERS[1], c[2]), MULTIPLIERS[1].wrapping_mul(c[2]));
        c = [high1 ^ c[1] ^ k[0], low1, high0 ^ c[3] ^ k[1], low0];
        k = [k[0].wrapping_add(WEYL[0]), k[1].wrapping_add(WEYL[1])];
        round += 1;
    }
    [c[0], c[1]]
}

/// What the hash of a channel begins with, `word` being the first of the [`words`]: a channel that is `n` further on
/// begins with `n` times a constant more, `hash_start(n, 0)`.
#[inline(always)]
pub fn hash_start(channel: u32, word: u32) -> u32 {
    channel.wrapping_mul(CHANNEL).wrapping_add(word)
}

/// The hash of a channel from what it [begins](hash_start) with and the second of the [`words`].
///
/// # PTX
/// `mul.wide.u32`, two
#[inline(always)]
pub fn hash(start: u32, word: u32) -> u32 {
    let folded = |a: u32, b: u32| {
        let product = mul_wide_u32(a, b);
        product as u32 ^ (product >> 32) as u32
    };
    folded(folded(start, FOLDS[0]) ^ word, FOLDS[1])
}

/// The dither of real and imaginary part.
///
/// # Precision
/// Exact.
///
/// # PTX
/// `prmt.b32`: a half below the exponent of 2^23 is the number `2^23 + half`.
#[inline(always)]
pub fn parts(hash: u32) -> [f32; 2] {
    let part = |selector| (f32::from_bits(prmt_b32(hash, 0x4b00_0000, selector)) - 8_388_608.0) / 65_536.0 - HALF;
    [part(0x7410), part(0x7432)]
}

/// A half less half a step.
const HALF: f32 = 0.5 - 0.5 / 65_536.0;

/// `v` plus dither, where `v` is less by 128.5 ([`BASE`]) and `step` is [`STEP`]; with a `step` of 0, `v`.
///
/// # Precision
/// `v` has an error of 2^-17 by then, the half step by which the dither is defined to be off zero, 2^-17, is left out,
/// and the sum is rounded.
#[inline(always)]
pub fn add(v: Complex, hash: u32, step: f32) -> Complex {
    // 2^23 + u, for both halves of the word.
    let low = f32::from_bits(prmt_b32(hash, 0x4b00_0000, 0x7610));
    let high = f32::from_bits(prmt_b32(hash, 0x4b00_0000, 0x7632));
    [fma(low, step, v[0]), fma(high, step, v[1])]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulated::thread;

    #[test]
    fn philox_gives_the_published_words() {
        thread(|| {
            // Known answers of Random123: zeros, ones, digits of pi.
            assert_eq!(philox([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
            assert_eq!(philox([u32::MAX; 4], [u32::MAX; 2]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
            assert_eq!(
                philox([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], [0xa409_3822, 0x299f_31d0]),
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
            );
        });
    }

    #[test]
    fn dither_is_uniform_and_never_half() {
        thread(|| {
            for half in [0u32, 1, 0x7fff, 0x8000, 0xffff] {
                let expected = (f64::from(half) + 0.5) / 65_536.0 - 0.5;
                assert!(expected.abs() < 0.5);
                assert_eq!(parts(half << 16 | (0xffff - half)).map(f64::from), [-expected, expected]);
            }
            let [first, second] = words(7, 1 << 40, 3);
            let (mut sum, mut squares) = ([0.0; 2], [0.0; 2]);
            let channels = 1 << 16;
            for channel in 0..channels {
                for (part, value) in parts(hash(hash_start(channel, first), second)).into_iter().enumerate() {
                    sum[part] += f64::from(value);
                    squares[part] += f64::from(value).powi(2);
                }
            }
            for part in 0..2 {
                // Five standard deviations of a mean of uniform numbers, variance 1/12, fourth moment 1/80.
                let n = f64::from(channels);
                assert!((sum[part] / n).abs() < 5.0 / (12.0 * n).sqrt(), "{sum:?}");
                assert!(
                    (squares[part] / n - 1.0 / 12.0).abs() < 5.0 * ((1.0 / 80.0 - 1.0 / 144.0) / n).sqrt(),
                    "{squares:?}"
                );
            }
        });
    }

    #[test]
    fn both_forms_of_the_words_are_the_same() {
        thread(|| {
            for i in 0..2000u64 {
                let mixed = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let (seed, spectrum, input) = (mixed.rotate_left(17), mixed >> (i % 64), (i % 97) as u32);
                assert_eq!(
                    words_looped(seed, spectrum, input),
                    words(seed, spectrum, input),
                    "{seed} {spectrum} {input}"
                );
            }
        });
    }

    #[test]
    fn channels_further_on_begin_with_a_constant_more() {
        for (channel, ahead, word) in [(0, 1, 7), (65_535, 4096, u32::MAX), (u32::MAX, 3, 1 << 31)] {
            let further = hash_start(u32::wrapping_add(channel, ahead), word);
            assert_eq!(further, hash_start(channel, word).wrapping_add(hash_start(ahead, 0)));
        }
    }

    #[test]
    fn a_dither_that_is_added_is_the_exact_one_within_2_to_the_minus_16() {
        thread(|| {
            for i in 0..20_000u32 {
                let hash = i.wrapping_mul(0x9e37_79b9);
                let v = [(i % 251) as f32 - 125.0 + 0.3, 126.0 - (i % 241) as f32 / 1.7];
                let (exact, added) = (parts(hash), add(v.map(|part| part + BASE), hash, STEP));
                for part in 0..2 {
                    let difference = f64::from(added[part]) - (f64::from(v[part]) + f64::from(exact[part]));
                    // Half a step, half a unit of a number below 256 and half a unit of one below 128.
                    assert!(difference.abs() <= 1.25 / 65_536.0, "{hash:#x} {v:?}: {difference}");
                }
                assert_eq!(add(v, hash, 0.0), v);
            }
        });
    }
}
