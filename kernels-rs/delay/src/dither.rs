//! Dither: numbers uniform in (-1/2, 1/2) that depend on seed, input, spectrum and channel alone, so that any part can be computed again.
//!
//! [`philox`] of the spectrum and the input gives two words, which [`hash`] mixes with the number of the channel. Its halves are the dither
//! of the real part (low) and the imaginary part (high): `(half + 1/2) / 2^16 - 1/2`, exact in f32.

use fringes_device::arithmetic::{mul_wide_u32, prmt_b32};
use fringes_device::unroll;

/// Philox4x32 with ten rounds (Salmon et al. 2011) of a counter under a key.
///
/// # PTX
/// `mul.wide.u32`, two a round
#[inline(always)]
pub fn philox(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let ([mut a, mut b, mut c, mut d], [mut low, mut high]) = (counter, key);
    unroll!(round in 0 1 2 3 4 5 6 7 8 9 {
        if round > 0 {
            low = low.wrapping_add(0x9e37_79b9);
            high = high.wrapping_add(0xbb67_ae85);
        }
        let (first, second) = (mul_wide_u32(0xd251_1f53, a), mul_wide_u32(0xcd9e_8d57, c));
        (a, b, c, d) = ((second >> 32) as u32 ^ b ^ low, second as u32, (first >> 32) as u32 ^ d ^ high, first as u32);
    });
    [a, b, c, d]
}

/// The two words of a spectrum and an input.
#[inline(always)]
pub fn words(seed: u64, spectrum: u64, input: u32) -> [u32; 2] {
    let [a, b, _, _] = philox([spectrum as u32, (spectrum >> 32) as u32, input, 0], [seed as u32, (seed >> 32) as u32]);
    [a, b]
}

/// The words mixed with a channel's number.
#[inline(always)]
pub fn hash([a, b]: [u32; 2], channel: u32) -> u32 {
    let folded = |a: u32, b: u32| {
        let product = mul_wide_u32(a, b);
        product as u32 ^ (product >> 32) as u32
    };
    folded(folded(channel.wrapping_mul(0x9e37_79b9).wrapping_add(a), 0x21f0_aaad) ^ b, 0xd35a_2d97)
}

/// The dither of real and imaginary part.
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
            let words = words(7, 1 << 40, 3);
            let (mut sum, mut squares) = ([0.0; 2], [0.0; 2]);
            let channels = 1 << 16;
            for channel in 0..channels {
                for (part, value) in parts(hash(words, channel)).into_iter().enumerate() {
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
}
