//! The inner loop for AVX2 with fused multiply-add.

use std::arch::x86_64::{
    __m256, _mm256_addsub_ps, _mm256_fmadd_ps, _mm256_permute_ps, _mm256_set1_ps, _mm256_setzero_ps,
};

use super::{GROUP, Kernel, Lanes};
use crate::correlator::InstructionSet;

/// A product and a sum rounded once. A value exists only where AVX2 and FMA do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fused(());

impl Fused {
    pub(super) fn checked() -> Self {
        assert!(InstructionSet::Avx2.is_available());
        Self(())
    }
}

impl Kernel for Fused {
    #[inline(always)]
    fn tile<const P: usize>(self, panel: &[Lanes], rows: [&[[f32; P]]; GROUP]) -> [Lanes; GROUP] {
        // SAFETY: a value of this type exists only where AVX2 and FMA do.
        #[allow(unsafe_code)]
        unsafe {
            tile(panel, rows)
        }
    }
}

/// The products of three rows and a panel.
///
/// # Safety
/// The machine must have AVX2 and FMA.
#[target_feature(enable = "avx2,fma")]
fn tile<const P: usize>(panel: &[Lanes], [first, second, third]: [&[[f32; P]]; GROUP]) -> [Lanes; GROUP] {
    let mut sums = [[[_mm256_setzero_ps(); 2]; P]; GROUP];
    for (((weights, a), b), c) in panel.iter().zip(first).zip(second).zip(third) {
        let weights: [__m256; 2] = bytemuck::cast(weights.0);
        for (sums, parts) in sums.iter_mut().zip([a, b, c]) {
            for (sums, &part) in sums.iter_mut().zip(parts) {
                let part = _mm256_set1_ps(part);
                sums[0] = _mm256_fmadd_ps(weights[0], part, sums[0]);
                sums[1] = _mm256_fmadd_ps(weights[1], part, sums[1]);
            }
        }
    }
    let [a, b, c] = sums;
    [together(a), together(b), together(c)]
}

/// The numbers of sums of each part.
///
/// # Safety
/// The machine must have AVX2 and FMA.
#[target_feature(enable = "avx2,fma")]
#[inline]
fn together<const P: usize>(sums: [[__m256; 2]; P]) -> Lanes {
    let [low, high] = match sums.as_slice() {
        // Real parts are `re[2 n] - im[2 n + 1]`, imaginary ones `re[2 n + 1] + im[2 n]`.
        [re, im] => [0, 1].map(|half| _mm256_addsub_ps(re[half], _mm256_permute_ps::<0b10_11_00_01>(im[half]))),
        _ => sums[0],
    };
    Lanes(bytemuck::cast([low, high]))
}
