//! Cases of arithmetic on pairs of halves.

use fringes_device::half2::*;

#[cfg(not(target_arch = "nvptx64"))]
use crate::Random;
#[cfg(not(target_arch = "nvptx64"))]
use crate::bounds::{ANY_NAN, bfloats_or_nan, halves_or_nan};

elementwise! {
    fn half_sums(a: Random::half2, b: Random::half2) -> 12
    covers [add_rn_f16x2, add_rn_ftz_f16x2, add_rn_sat_f16x2, add_rn_ftz_sat_f16x2, sub_rn_f16x2, sub_rn_ftz_f16x2, sub_rn_sat_f16x2, sub_rn_ftz_sat_f16x2, mul_rn_f16x2, mul_rn_ftz_f16x2, mul_rn_sat_f16x2, mul_rn_ftz_sat_f16x2] with |case| case => {
        [
            add_rn_f16x2(a, b), add_rn_ftz_f16x2(a, b), add_rn_sat_f16x2(a, b), add_rn_ftz_sat_f16x2(a, b),
            sub_rn_f16x2(a, b), sub_rn_ftz_f16x2(a, b), sub_rn_sat_f16x2(a, b), sub_rn_ftz_sat_f16x2(a, b),
            mul_rn_f16x2(a, b), mul_rn_ftz_f16x2(a, b), mul_rn_sat_f16x2(a, b), mul_rn_ftz_sat_f16x2(a, b),
        ]
    }
    fn half_fused(a: Random::half2, b: Random::half2, c: Random::half2) -> 5
    covers [fma_rn_f16x2, fma_rn_ftz_f16x2, fma_rn_sat_f16x2, fma_rn_ftz_sat_f16x2, fma_rn_relu_f16x2] with |case| case => {
        [fma_rn_f16x2(a, b, c), fma_rn_ftz_f16x2(a, b, c), fma_rn_sat_f16x2(a, b, c), fma_rn_ftz_sat_f16x2(a, b, c), fma_rn_relu_f16x2(a, b, c)]
    }
    fn half_fused_finite(a: Random::half2_finite, b: Random::half2_finite, c: Random::half2_finite) -> 1 covers [fma_rn_f16x2] with |case| case => {
        [fma_rn_f16x2(a, b, c)]
    }
    fn half_extremes(a: Random::half2, b: Random::half2) -> 8
    covers [min_f16x2, min_ftz_f16x2, min_nan_f16x2, min_ftz_nan_f16x2, max_f16x2, max_ftz_f16x2, max_nan_f16x2, max_ftz_nan_f16x2] with |case| case => {
        [
            min_f16x2(a, b), min_ftz_f16x2(a, b), min_nan_f16x2(a, b), min_ftz_nan_f16x2(a, b),
            max_f16x2(a, b), max_ftz_f16x2(a, b), max_nan_f16x2(a, b), max_ftz_nan_f16x2(a, b),
        ]
    }
    fn half_signs(a: Random::half2) -> 4 covers [neg_f16x2, neg_ftz_f16x2, abs_f16x2, abs_ftz_f16x2] with |case| case.within(ANY_NAN, halves_or_nan) => {
        [neg_f16x2(a), neg_ftz_f16x2(a), abs_f16x2(a), abs_ftz_f16x2(a)]
    }
    fn bfloat_fused(a: Random::bfloat2, b: Random::bfloat2, c: Random::bfloat2) -> 2 covers [fma_rn_bf16x2, fma_rn_relu_bf16x2] with |case| case => {
        [fma_rn_bf16x2(a, b, c), fma_rn_relu_bf16x2(a, b, c)]
    }
    fn bfloat_fused_finite(a: Random::bfloat2_finite, b: Random::bfloat2_finite, c: Random::bfloat2_finite) -> 1 covers [fma_rn_bf16x2] with |case| case => {
        [fma_rn_bf16x2(a, b, c)]
    }
    fn bfloat_extremes(a: Random::bfloat2, b: Random::bfloat2) -> 4 covers [min_bf16x2, min_nan_bf16x2, max_bf16x2, max_nan_bf16x2] with |case| case => {
        [min_bf16x2(a, b), min_nan_bf16x2(a, b), max_bf16x2(a, b), max_nan_bf16x2(a, b)]
    }
    fn bfloat_signs(a: Random::bfloat2) -> 2 covers [neg_bf16x2, abs_bf16x2] with |case| case.within(ANY_NAN, bfloats_or_nan) => {
        [neg_bf16x2(a), abs_bf16x2(a)]
    }
}
