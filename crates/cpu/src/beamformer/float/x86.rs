//! The inner loops for AVX2 with fused multiply-add, and for AVX-512.

use std::arch::x86_64::{
    __m256, _mm256_addsub_ps, _mm256_fmadd_ps, _mm256_permute_ps, _mm256_set1_ps, _mm256_setzero_ps, _mm512_fmadd_ps,
    _mm512_fmaddsub_ps, _mm512_load_ps, _mm512_permute_ps, _mm512_set1_ps, _mm512_setzero_ps, _mm512_store_ps,
};

use super::{Kernel, Lanes, PANELS, Panels, ROWS, Tile};
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
    const TILE: [usize; 2] = [3, 1];

    #[inline(always)]
    fn tile<const P: usize>(self, panels: &[&[Lanes]], [a, b, c, ..]: [&[[f32; P]]; ROWS], tile: &mut Tile) {
        let Some(panel) = panels.first() else { return };
        // SAFETY: a value of this type exists only where AVX2 and FMA do.
        #[allow(unsafe_code)]
        let sums = unsafe { three(panel, [a, b, c]) };
        tile[0][..3].copy_from_slice(&sums);
    }
}

/// The products of three rows and a panel.
///
/// # Safety
/// The machine must have AVX2 and FMA.
#[target_feature(enable = "avx2,fma")]
fn three<const P: usize>(panel: &[Lanes], [first, second, third]: [&[[f32; P]]; 3]) -> [Lanes; 3] {
    let mut sums = [[[_mm256_setzero_ps(); 2]; P]; 3];
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

/// As [`Fused`], in registers of 512 bits. A value exists only where AVX-512 does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wide(());

impl Wide {
    pub(super) fn checked() -> Self {
        assert!(InstructionSet::Avx512.is_available());
        Self(())
    }
}

impl Kernel for Wide {
    const TILE: [usize; 2] = [ROWS, PANELS];

    #[inline(always)]
    fn tile<const P: usize>(self, panels: &[&[Lanes]], rows: [&[[f32; P]]; ROWS], tile: &mut Tile) {
        // SAFETY: a value of this type exists only where AVX-512 does.
        #[allow(unsafe_code)]
        unsafe {
            match *panels {
                [first] => six([first], rows, tile),
                [first, second] => six([first, second], rows, tile),
                _ => {}
            }
        }
    }

    fn product<const P: usize>(self, panels: &Panels<P>, left: &[[f32; P]], out: &mut [f32]) {
        // SAFETY: a value of this type exists only where AVX-512 does.
        #[allow(unsafe_code)]
        unsafe {
            product_wide(self, panels, left, out);
        }
    }
}

/// [`Panels::product`] compiled for AVX-512: it moves rows of tiles in one register.
///
/// # Safety
/// The machine must have AVX-512.
#[target_feature(enable = "avx512f")]
fn product_wide<const P: usize>(kernel: Wide, panels: &Panels<P>, left: &[[f32; P]], out: &mut [f32]) {
    panels.product(kernel, left, out);
}

/// The products of six rows and `N` panels.
///
/// # Safety
/// The machine must have AVX-512.
#[target_feature(enable = "avx512f")]
fn six<const P: usize, const N: usize>(panels: [&[Lanes]; N], rows: [&[[f32; P]]; ROWS], tile: &mut Tile) {
    let mut sums = [[[_mm512_setzero_ps(); P]; ROWS]; N];
    let [a, b, c, d, e, f] = rows;
    // Of one panel, the first is the last. Iterators in step with each other need no checks of bounds.
    let panels = panels[0].iter().zip(panels[N - 1]);
    for (((((((first, last), a), b), c), d), e), f) in panels.zip(a).zip(b).zip(c).zip(d).zip(e).zip(f) {
        // SAFETY: lanes are 16 numbers, and aligned.
        #[allow(unsafe_code)]
        let weights = unsafe { [_mm512_load_ps(first.0.as_ptr()), _mm512_load_ps(last.0.as_ptr())] };
        for (row, numbers) in [a, b, c, d, e, f].into_iter().enumerate() {
            for (part, &number) in numbers.iter().enumerate() {
                let number = _mm512_set1_ps(number);
                for (sums, weights) in sums.iter_mut().zip(weights) {
                    sums[row][part] = _mm512_fmadd_ps(weights, number, sums[row][part]);
                }
            }
        }
    }
    for (sums, tile) in sums.iter().zip(tile) {
        for (sums, to) in sums.iter().zip(tile) {
            let sum = match sums.as_slice() {
                // As of 256 bits; one times the real sums is exact.
                [re, im] => _mm512_fmaddsub_ps(*re, _mm512_set1_ps(1.0), _mm512_permute_ps::<0b10_11_00_01>(*im)),
                _ => sums[0],
            };
            // SAFETY: as above.
            #[allow(unsafe_code)]
            unsafe {
                _mm512_store_ps(to.0.as_mut_ptr(), sum);
            }
        }
    }
}
