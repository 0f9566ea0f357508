//! Formats of samples: what a lane loads, and as f16.
//!
//! A lane loads two neighbouring samples at once: 8 bytes of f16, 4 of 8-bit integers, 2 of 4+4-bit ones.

use fringes_device::Value;
use fringes_device::arithmetic::{lop3_b32, prmt_b32};
use fringes_device::half2::add_rn_f16x2;

/// A format of complex samples.
pub trait Format {
    /// Two neighbouring samples.
    type Pair: Value;

    /// The samples as f16, each the real part in the low half.
    fn unpack(pair: Self::Pair) -> [u32; 2];
}

/// Two f16: real, imaginary.
pub enum F16 {}

impl Format for F16 {
    type Pair = [u32; 2];

    #[inline(always)]
    fn unpack(pair: [u32; 2]) -> [u32; 2] {
        pair
    }
}

/// Two signed bytes: real, imaginary.
pub enum I8 {}

impl Format for I8 {
    type Pair = u32;

    /// With its sign bit flipped a byte is 128 more than its value; behind the byte 0x64 it is an f16 of 1024 more than
    /// that.
    ///
    /// # Precision
    /// Exact.
    #[inline(always)]
    fn unpack(pair: u32) -> [u32; 2] {
        const EXPONENT: u32 = 0x6464_6464;
        /// Two f16 of -1152.
        const BIAS: u32 = 0xe480_e480;
        let bytes = pair ^ 0x8080_8080;
        [add_rn_f16x2(prmt_b32(bytes, EXPONENT, 0x4140), BIAS), add_rn_f16x2(prmt_b32(bytes, EXPONENT, 0x4342), BIAS)]
    }
}

/// Four bits each: the real part in the high nibble of a byte.
pub enum I4 {}

impl Format for I4 {
    type Pair = u16;

    /// With its highest bit flipped a nibble is 8 more than its value. In bits 4 to 7 of an f16 of 64, whose bit 4
    /// counts 1, it makes 72 more than its value; in bits 0 to 3 of an f16 of 1024 it makes 1032 more.
    ///
    /// # Precision
    /// Exact.
    #[inline(always)]
    fn unpack(pair: u16) -> [u32; 2] {
        /// Exponents of 1024 and 64, and the highest bits of the nibbles.
        const FLIP: u32 = 0x6408_5480;
        /// Two f16, -1032 and -72.
        const BIAS: u32 = 0xe408_d480;
        let pair = u32::from(pair);
        // The byte in both halves; (x & mask) ^ FLIP.
        let nibbles = |x: u32| lop3_b32::<0x6a>(x, 0x000f_00f0, FLIP);
        [add_rn_f16x2(nibbles(prmt_b32(pair, 0, 0x4040)), BIAS), add_rn_f16x2(nibbles(prmt_b32(pair, 0, 0x4141)), BIAS)]
    }
}
