//! Formats of voltages: samples out of the words that they are loaded in, and back.
//!
//! | format | bytes of a sample | real and imaginary part |
//! |---|---|---|
//! | [`I4`] | 1 | high and low nibble, -7 to 7 |
//! | [`I8`] | 2 | two bytes, -127 to 127 |
//! | [`F16`] | 4 | two f16 |
//! | [`F32`] | 8 | two f32 |
//!
//! Integers become floats without a conversion: below the exponent of 2^23, a byte is the number `2^23 + byte`. Back, 3
//! 2^22 is added, which rounds half to even, and the lowest byte is the integer.

use fringes_device::arithmetic::prmt_b32;
use fringes_device::convert::{cvt_f32_f16, cvt_rn_f16x2_f32};
use fringes_device::unroll;
use fringes_kernel_abi::format as abi;

use crate::complex::Complex;
use crate::quantise::ROUND;

/// Samples of a load, at most.
pub const SAMPLES: usize = 8;

/// A format of voltages.
pub trait Format {
    /// Its name.
    const FORMAT: abi::Format;
    /// Bytes of a sample.
    const BYTES: usize = Self::FORMAT.bytes();
    /// Largest magnitude of a part of an integer format, 0 for floats.
    const LIMIT: f32 = Self::FORMAT.limit();

    /// The samples of up to four words; those past the ones that were loaded are of no use.
    fn unpack(words: [u32; 4]) -> [Complex; SAMPLES];

    /// The words of samples, which are within the limit.
    fn pack(samples: [Complex; SAMPLES]) -> [u32; 4];
}

/// Byte `byte` of a word, as a number.
#[inline(always)]
fn number(word: u32, byte: u32) -> f32 {
    f32::from_bits(prmt_b32(word, 0x4b00_0000, 0x7440 | byte))
}

/// The nearest integer of a small number in the lowest byte, ties to even.
#[inline(always)]
fn rounded(part: f32) -> u32 {
    (part + ROUND).to_bits()
}

/// The lowest bytes of four words.
#[inline(always)]
fn lowest(a: u32, b: u32, c: u32, d: u32) -> u32 {
    prmt_b32(prmt_b32(a, b, 0x0040), prmt_b32(c, d, 0x0040), 0x5410)
}

/// 4+4 bits, within +-7, the real part in the high ones.
pub struct I4;

impl Format for I4 {
    const FORMAT: abi::Format = abi::Format::I4;

    #[inline(always)]
    fn unpack(words: [u32; 4]) -> [Complex; SAMPLES] {
        const OFFSET: f32 = 8_388_616.0;
        let mut samples = [[0.0; 2]; SAMPLES];
        unroll!(word in 0 1 {
            // Nibbles as 8 more than they are.
            let re = ((words[word] >> 4) & 0x0f0f_0f0f) ^ 0x0808_0808;
            let im = (words[word] & 0x0f0f_0f0f) ^ 0x0808_0808;
            unroll!(i in 0 1 2 3 {
                samples[4 * word + i] = [number(re, i as u32) - OFFSET, number(im, i as u32) - OFFSET];
            });
        });
        samples
    }

    #[inline(always)]
    fn pack(samples: [Complex; SAMPLES]) -> [u32; 4] {
        let mut words = [0; 4];
        unroll!(word in 0 1 {
            let part = |i: usize, part: usize| rounded(samples[4 * word + i][part]);
            let re = lowest(part(0, 0), part(1, 0), part(2, 0), part(3, 0));
            let im = lowest(part(0, 1), part(1, 1), part(2, 1), part(3, 1));
            words[word] = ((re << 4) & 0xf0f0_f0f0) | (im & 0x0f0f_0f0f);
        });
        words
    }
}

/// Signed bytes, within +-127, the real part first.
pub struct I8;

impl Format for I8 {
    const FORMAT: abi::Format = abi::Format::I8;

    #[inline(always)]
    fn unpack(words: [u32; 4]) -> [Complex; SAMPLES] {
        const OFFSET: f32 = 8_388_736.0;
        let mut samples = [[0.0; 2]; SAMPLES];
        unroll!(word in 0 1 2 3 {
            let bytes = words[word] ^ 0x8080_8080;
            samples[2 * word] = [number(bytes, 0) - OFFSET, number(bytes, 1) - OFFSET];
            samples[2 * word + 1] = [number(bytes, 2) - OFFSET, number(bytes, 3) - OFFSET];
        });
        samples
    }

    #[inline(always)]
    fn pack(samples: [Complex; SAMPLES]) -> [u32; 4] {
        let mut words = [0; 4];
        unroll!(word in 0 1 2 3 {
            let ([a, b], [c, d]) = (samples[2 * word], samples[2 * word + 1]);
            words[word] = lowest(rounded(a), rounded(b), rounded(c), rounded(d));
        });
        words
    }
}

/// f16, the real part in the low half.
pub struct F16;

impl Format for F16 {
    const FORMAT: abi::Format = abi::Format::F16;

    #[inline(always)]
    fn unpack(words: [u32; 4]) -> [Complex; SAMPLES] {
        let mut samples = [[0.0; 2]; SAMPLES];
        unroll!(i in 0 1 2 3 { samples[i] = [cvt_f32_f16(words[i] as u16), cvt_f32_f16((words[i] >> 16) as u16)]; });
        samples
    }

    #[inline(always)]
    fn pack(samples: [Complex; SAMPLES]) -> [u32; 4] {
        let mut words = [0; 4];
        unroll!(i in 0 1 2 3 { words[i] = cvt_rn_f16x2_f32(samples[i][1], samples[i][0]); });
        words
    }
}

/// f32, the real part first.
pub struct F32;

impl Format for F32 {
    const FORMAT: abi::Format = abi::Format::F32;

    #[inline(always)]
    fn unpack(words: [u32; 4]) -> [Complex; SAMPLES] {
        let mut samples = [[0.0; 2]; SAMPLES];
        unroll!(i in 0 1 { samples[i] = [f32::from_bits(words[2 * i]), f32::from_bits(words[2 * i + 1])]; });
        samples
    }

    #[inline(always)]
    fn pack(samples: [Complex; SAMPLES]) -> [u32; 4] {
        let mut words = [0; 4];
        unroll!(i in 0 1 {
            words[2 * i] = samples[i][0].to_bits();
            words[2 * i + 1] = samples[i][1].to_bits();
        });
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulated::thread;

    #[test]
    fn integers_survive_unpacking_and_packing() {
        thread(|| {
            for re in -127..=127i32 {
                for im in [-127, -1, 0, 1, 64, 127, -re] {
                    let word = (re as u8 as u32) | (im as u8 as u32) << 8;
                    let words = [word << 16, word, !0, word | word << 16].map(|word| word & 0x7fff_7fff);
                    assert_eq!(I8::pack(I8::unpack(words)), words);
                    assert_eq!(I8::unpack([word; 4])[0], [re as f32, im as f32]);
                }
            }
            for byte in 0..=255u32 {
                let words = [byte | 0x1f << 8 | byte << 24, byte << 16 | 0x77, 0, 0];
                assert_eq!(I4::pack(I4::unpack(words)), words);
                let (re, im) = ((byte as u8 as i8) >> 4, ((byte << 4) as u8 as i8) >> 4);
                assert_eq!(I4::unpack(words)[0], [re.into(), im.into()]);
            }
        });
    }

    #[test]
    fn ties_go_to_even() {
        thread(|| {
            let parts = [
                [0.5, 1.5],
                [2.5, -0.5],
                [-1.5, -2.5],
                [126.5, -126.5],
                [3.4, -3.6],
                [0.49999997, 7.0],
                [0.0; 2],
                [0.0; 2],
            ];
            let bytes: Vec<u8> = I8::pack(parts).into_iter().flat_map(u32::to_le_bytes).collect();
            let expected = [0, 2, 2, 0, -2, -2, 126, -126, 3, -4, 0, 7, 0, 0, 0, 0].map(|byte: i8| byte as u8);
            assert_eq!(bytes, expected);
        });
    }
}
