//! Cases of arithmetic of one thread.

use fringes_device::arithmetic::*;
use fringes_device::fused::{fma, fma_sat};

#[cfg(not(target_arch = "nvptx64"))]
use crate::Random;
#[cfg(not(target_arch = "nvptx64"))]
use crate::bounds::{ANY_NAN, COSINE, LOGARITHM, RECIPROCAL, RECIPROCAL_ROOT, ROOT, SINE, TWO_ULPS};
#[cfg(not(target_arch = "nvptx64"))]
use crate::bounds::{angle, cosine, float_or_nan, logarithm, one_ulp, reciprocal_root, root, sine, two_ulps};

elementwise! {
    fn permute(a: Random::word, b: Random::word, selector: Random::word) -> 7
    covers [prmt_b32, prmt_b32_f4e, prmt_b32_b4e, prmt_b32_rc8, prmt_b32_ecl, prmt_b32_ecr, prmt_b32_rc16] with |case| case => {
        [
            prmt_b32(a, b, selector), prmt_b32_f4e(a, b, selector), prmt_b32_b4e(a, b, selector), prmt_b32_rc8(a, b, selector),
            prmt_b32_ecl(a, b, selector), prmt_b32_ecr(a, b, selector), prmt_b32_rc16(a, b, selector),
        ]
    }
    fn logic(a: Random::word, b: Random::word, c: Random::word) -> 5 covers [lop3_b32] with |case| case => {
        [lop3_b32::<0xea>(a, b, c), lop3_b32::<0x96>(a, b, c), lop3_b32::<0xe8>(a, b, c), lop3_b32::<0xd8>(a, b, c), lop3_b32::<0x1d>(a, b, c)]
    }
    fn funnel(low: Random::word, high: Random::word, n: Random::word, few: |random: &mut Random| random.below(40)) -> 8
    covers [shf_l_wrap_b32, shf_l_clamp_b32, shf_r_wrap_b32, shf_r_clamp_b32] with |case| case => {
        [
            shf_l_wrap_b32(low, high, n), shf_l_clamp_b32(low, high, n), shf_r_wrap_b32(low, high, n), shf_r_clamp_b32(low, high, n),
            shf_l_wrap_b32(low, high, few), shf_l_clamp_b32(low, high, few), shf_r_wrap_b32(low, high, few), shf_r_clamp_b32(low, high, few),
        ]
    }
    fn bit_fields(a: Random::word, b: Random::word, position: |random: &mut Random| random.below(40), length: |random: &mut Random| random.below(40), any: Random::word) -> 8
    covers [bfe_u32, bfe_s32, bfi_b32] with |case| case => {
        [
            bfe_u32(a, position, length), bfe_s32(a as i32, position, length) as u32, bfi_b32(a, b, position, length),
            bfe_u32(a, any, length), bfe_s32(a as i32, position, any) as u32, bfe_s32(a as i32, any, length) as u32,
            bfi_b32(a, b, any, length), bfi_b32(a, b, position, any),
        ]
    }
    fn bits_of_words(a: Random::word) -> 3 covers [brev_b32, popc_b32, clz_b32] with |case| case => {
        [brev_b32(a), popc_b32(a), clz_b32(a)]
    }
    fn products(a: Random::word, b: Random::word, c: Random::word, d: Random::word) -> 17
    covers [mul_hi_u32, mul_hi_s32, mul_hi_u64, mul_wide_u32, mul_wide_s32, mad_lo_u32, mad_lo_s32, mad_hi_u32, mad_wide_u32, mad_wide_s32, dp4a_s32_s32, dp4a_u32_u32] with |case| case => {
        let (ab, cd) = ((a as u64) << 32 | b as u64, (c as u64) << 32 | d as u64);
        let (high, wide, signed) = (mul_hi_u64(ab, cd), mul_wide_u32(a, b), mul_wide_s32(a as i32, b as i32));
        let (sum, sum_signed) = (mad_wide_u32(a, b, cd), mad_wide_s32(a as i32, b as i32, cd as i64));
        [
            mul_hi_u32(a, b), mul_hi_s32(a as i32, b as i32) as u32, high as u32, (high >> 32) as u32, wide as u32, (wide >> 32) as u32,
            signed as u32, (signed >> 32) as u32, mad_lo_u32(a, b, c), mad_lo_s32(a as i32, b as i32, c as i32) as u32, mad_hi_u32(a, b, c),
            sum as u32, (sum >> 32) as u32, sum_signed as u32, (sum_signed >> 32) as u32,
            dp4a_s32_s32(a, b, c as i32) as u32, dp4a_u32_u32(a, b, c),
        ]
    }
    fn fused(a: Random::float, b: Random::float, c: Random::float) -> 5 covers [fma_rn_f32, fnma_rn_f32, sqrt_rn_f32, fma, fma_sat] with |case| case => {
        let [a, b, c] = [a, b, c].map(f32::from_bits);
        [
            fma_rn_f32(a, b, c).to_bits(),
            fnma_rn_f32(a, b, c).to_bits(),
            sqrt_rn_f32(a).to_bits(),
            fma(a, b, c).to_bits(),
            fma_sat(a, b, c).to_bits(),
        ]
    }
    fn fused_double(a: Random::finite, b: Random::finite, c: Random::finite, low: Random::bits) -> 2 covers [fma_rn_f64] with |case| case => {
        let [a, b, c] = [a, b, c].map(|x| f64::from_bits((x as u64) << 32 | low as u64));
        let d = fma_rn_f64(a, b, c).to_bits();
        [d as u32, (d >> 32) as u32]
    }
    fn reciprocal(a: Random::float) -> 1 covers [rcp_approx_f32] with |case| case.within(RECIPROCAL, one_ulp) => {
        [rcp_approx_f32(f32::from_bits(a)).to_bits()]
    }
    fn square_root(a: Random::float) -> 1 covers [sqrt_approx_f32] with |case| case.within(ROOT, root) => {
        [sqrt_approx_f32(f32::from_bits(a)).to_bits()]
    }
    fn reciprocal_square_root(a: Random::float) -> 1 covers [rsqrt_approx_f32] with |case| case.within(RECIPROCAL_ROOT, reciprocal_root) => {
        [rsqrt_approx_f32(f32::from_bits(a)).to_bits()]
    }
    fn exponential(a: |random: &mut Random| if random.below(2) == 0 { random.float() } else { angle(random) }) -> 1
    covers [ex2_approx_f32] with |case| case.within(TWO_ULPS, two_ulps) => {
        [ex2_approx_f32(f32::from_bits(a)).to_bits()]
    }
    fn binary_logarithm(a: Random::float) -> 1 covers [lg2_approx_f32] with |case| case.within(LOGARITHM, logarithm) => {
        [lg2_approx_f32(f32::from_bits(a)).to_bits()]
    }
    fn sines(a: angle) -> 1 covers [sin_approx_f32] with |case| case.within(SINE, sine) => {
        [sin_approx_f32(f32::from_bits(a)).to_bits()]
    }
    fn cosines(a: angle) -> 1 covers [cos_approx_f32] with |case| case.within(COSINE, cosine) => {
        [cos_approx_f32(f32::from_bits(a)).to_bits()]
    }
    /// Rust's own operators: each rounded once, none fused with another.
    fn operators(a: Random::float, b: Random::float, c: Random::float) -> 4 covers [] with |case| case.within(ANY_NAN, float_or_nan) => {
        let [a, b, c] = [a, b, c].map(f32::from_bits);
        [(a * b + c).to_bits(), (a - b).to_bits(), (a / b).to_bits(), (a * b - c * b).to_bits()]
    }
}
