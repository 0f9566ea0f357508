//! What becomes of a channel's value: dithered, clamped and rounded integers, or floats as they are.

use fringes_device::Value;
use fringes_device::arithmetic::{bfi_b32, mul_wide_u32, prmt_b32};
use fringes_device::convert::{cvt_pack_sat_s8_s32_b32, cvt_rn_f16x2_f32, cvt_rni_s32_f32};
use fringes_device::fused::{fma, fma_sat};

use crate::complex::Complex;

/// 1.5 2^23: a number of magnitude below 2^22 that is added to it is rounded to a whole number, half to even, whose low bits are the sum's.
const ROUND: f32 = 12_582_912.0;

/// What a sum begins with to which a dither is added: [`dither`] gives 128 and a half step more than what is meant.
pub const DITHER_BASE: f32 = -128.5;

/// Step of the dither.
pub const DITHER_STEP: f32 = 1.0 / 65536.0;

/// What the random word of a channel begins with: a channel that is `n` further on begins with `n` times a constant more.
#[inline(always)]
pub fn hash_start(channel: u32, key: u32) -> u32 {
    channel.wrapping_mul(0x9e37_79b9).wrapping_add(key)
}

/// The random word of a channel, from what it begins with and the second word of the spectrum's key.
#[inline(always)]
pub fn hash(start: u32, key: u32) -> u32 {
    let folded = |a: u32, b: u32| {
        let product = mul_wide_u32(a, b);
        product as u32 ^ (product >> 32) as u32
    };
    folded(folded(start, 0x21f0_aaad) ^ key, 0xd35a_2d97)
}

/// `v` plus dither, uniform in (-1/2, 1/2) in steps of 2^-16, where `v` is less by 128.5 ([`DITHER_BASE`]) and `step` is [`DITHER_STEP`]; with a `step` of 0, `v`.
///
/// # Precision
/// `v` has an error of 2^-17 by then, and the half step by which the dither is defined to be off zero, 2^-17, is left out.
#[inline(always)]
pub fn dither(v: Complex, hash: u32, step: f32) -> Complex {
    // 2^23 + u, for both halves of the word.
    let low = f32::from_bits(prmt_b32(hash, 0x4b00_0000, 0x7610));
    let high = f32::from_bits(prmt_b32(hash, 0x4b00_0000, 0x7632));
    [fma(low, step, v[0]), fma(high, step, v[1])]
}

/// A format of the output.
pub trait Output {
    /// A value in memory.
    type Stored: Value;
    /// Whether it is an integer format, which is dithered and saturates.
    const INTEGER: bool;

    /// The value in memory, and whether it saturated.
    fn store(v: Complex) -> (Self::Stored, bool);
}

/// Clamps and rounds: the whole number in the low bits, and whether a part was beyond the limit.
///
/// What is within the limit goes to [0, 1], to which the instruction clamps, and a second one brings it back onto the whole numbers: two multiply-adds a part, where
/// two comparisons and an addition would take half of the integer units' time. The way there and back costs 2^-16 of accuracy.
#[inline(always)]
fn round(v: Complex, limit: f32) -> ([u32; 2], bool) {
    let place = |x: f32| fma(fma_sat(x, 0.5 / limit, 0.5), 2.0 * limit, ROUND - limit).to_bits();
    let legal = v[0].abs().max(v[1].abs()) <= limit;
    ([place(v[0]), place(v[1])], !legal)
}

/// Signed bytes, within +-127.
pub struct I8;

impl Output for I8 {
    type Stored = u16;
    const INTEGER: bool = true;

    #[inline(always)]
    fn store(v: Complex) -> (u16, bool) {
        // Conversion, clamp and packing are one instruction, which clamps to -128.
        let part = |x: f32| cvt_rni_s32_f32(x.max(-127.0));
        let packed = cvt_pack_sat_s8_s32_b32(part(v[1]), part(v[0]), 0);
        let legal = v[0].abs().max(v[1].abs()) <= 127.0;
        (packed as u16, !legal)
    }
}

/// 4+4 bits, within +-7, the real part in the high ones.
pub struct I4;

impl Output for I4 {
    type Stored = u8;
    const INTEGER: bool = true;

    #[inline(always)]
    fn store(v: Complex) -> (u8, bool) {
        let ([re, im], saturated) = round(v, 7.0);
        (bfi_b32(re, im, 4, 28) as u8, saturated)
    }
}

/// f16, the real part in the low half.
pub struct F16;

impl Output for F16 {
    type Stored = u32;
    const INTEGER: bool = false;

    #[inline(always)]
    fn store(v: Complex) -> (u32, bool) {
        (cvt_rn_f16x2_f32(v[1], v[0]), false)
    }
}

/// f32.
pub struct F32;

impl Output for F32 {
    type Stored = [f32; 2];
    const INTEGER: bool = false;

    #[inline(always)]
    fn store(v: Complex) -> ([f32; 2], bool) {
        (v, false)
    }
}
