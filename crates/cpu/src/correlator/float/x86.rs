//! Float inner loops for x86-64: a product and a sum rounded once. The values of the token types prove that the machine
//! has the instructions.

use std::arch::x86_64::{
    _mm512_fmadd_ps, _mm512_load_ps, _mm512_set1_ps, _mm512_setr_ps, _mm512_setzero_ps, _mm512_shuffle_f32x4,
    _mm512_store_ps, _mm512_xor_ps,
};

use fringes_types::VoltageSample;
use ndarray::ArrayView1;
use num_complex::Complex;

use super::{C32, load, multiply, pack};
use crate::correlator::engine::{Kernel, Narrow, Position, Rows, Tile, Wide};
use crate::correlator::plan::{FLOAT_RUN, GROUP, LANES};
use crate::correlator::simd::InstructionSet;

/// With AVX2 and FMA in registers of 256 bits or, if they are `WIDE`, of 512, with the same bits. A value exists only
/// where AVX2 and FMA do, and of wide ones AVX-512 F and DQ.
#[derive(Clone, Copy)]
pub(super) struct Fused<const WIDE: bool>(());

impl<const WIDE: bool> Fused<WIDE> {
    pub(super) fn checked() -> Self {
        let set = if WIDE { InstructionSet::Avx512 } else { InstructionSet::Avx2 };
        assert!(set.is_available());
        Self(())
    }
}

/// [`pack`] compiled for AVX2 with fused multiply-add.
///
/// # Safety
/// The machine must have AVX2 and FMA.
#[target_feature(enable = "avx2,fma")]
fn pack_fused(rows: &Rows<C32>, position: Position, wide: &mut [Wide<f32>], narrow: &mut [Narrow<[f32; 2]>]) {
    pack(rows, position, wide, narrow);
}

/// [`multiply`] compiled for AVX2 with fused multiply-add.
///
/// # Safety
/// The machine must have AVX2 and FMA.
#[target_feature(enable = "avx2,fma")]
fn multiply_fused(wide: &[Wide<f32>], narrow: &[Narrow<[f32; 2]>], tile: &mut Tile<f64>) {
    multiply::<true, f64>(wide, narrow, tile, |total, sum| total + f64::from(sum));
}

/// A register's numbers.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Aligned([[f32; LANES]; 2]);

/// Adds the products of all steps to the tiles of `N` groups, in the order of [`multiply`]: a register holds the sums
/// of the real and of the imaginary parts of an input `b`.
///
/// # Safety
/// The machine must have AVX-512 F and DQ.
#[target_feature(enable = "avx512f,avx512dq")]
fn multiply_wide<const N: usize>(wide: &[Wide<f32>], narrow: [&[Narrow<[f32; 2]>]; N], tiles: &mut [Tile<f64>; N]) {
    const { assert!(N == 1 || N == 2) }
    let (plus, minus) = (0.0, -0.0);
    let signs = _mm512_setr_ps(
        plus, plus, plus, plus, plus, plus, plus, plus, minus, minus, minus, minus, minus, minus, minus, minus,
    );
    // Of one group, the first is the last. Iterators in step with each other need no checks of bounds.
    let narrow = narrow[0].chunks(FLOAT_RUN).zip(narrow[N - 1].chunks(FLOAT_RUN));
    for (wide, (first, last)) in wide.chunks(FLOAT_RUN).zip(narrow) {
        let mut sums = [[_mm512_setzero_ps(); GROUP]; N];
        for ((wide, first), last) in wide.iter().zip(first).zip(last) {
            // SAFETY: a step of a panel is 16 numbers, and aligned.
            #[allow(unsafe_code)]
            let by_re = unsafe { _mm512_load_ps(wide.0.as_ptr().cast()) };
            // `re, im` become `im, -re`.
            let by_im = _mm512_xor_ps(_mm512_shuffle_f32x4::<0b01_00_11_10>(by_re, by_re), signs);
            for (sums, narrow) in sums.iter_mut().zip([first, last]) {
                for (sum, &[re, _]) in sums.iter_mut().zip(narrow) {
                    *sum = _mm512_fmadd_ps(by_re, _mm512_set1_ps(re), *sum);
                }
                for (sum, &[_, im]) in sums.iter_mut().zip(narrow) {
                    *sum = _mm512_fmadd_ps(by_im, _mm512_set1_ps(im), *sum);
                }
            }
        }
        for (tile, sums) in tiles.iter_mut().zip(sums) {
            for (totals, sums) in tile.0.iter_mut().zip(sums) {
                let mut parts = Aligned([[0.0; LANES]; 2]);
                // SAFETY: sixteen numbers, aligned.
                #[allow(unsafe_code)]
                unsafe {
                    _mm512_store_ps(parts.0.as_mut_ptr().cast(), sums);
                }
                for (total, part) in totals.as_flattened_mut().iter_mut().zip(parts.0.as_flattened()) {
                    *total += f64::from(*part);
                }
            }
        }
    }
}

impl<const WIDE: bool> Kernel for Fused<WIDE> {
    type Voltage = C32;
    type Lane = f32;
    type Narrow = [f32; 2];
    type Sum = f64;
    type Total = f64;
    const TIMES: usize = 1;

    fn load<V: VoltageSample>(from: ArrayView1<'_, V>, to: &mut [C32]) {
        load(from, to);
    }

    fn pack(
        self,
        rows: &Rows<C32>,
        position: Position,
        wide: &mut [Wide<f32>],
        narrow: &mut [Narrow<[f32; 2]>],
        _bias: &mut [[i32; 2]],
    ) {
        // SAFETY: a value of this type exists only where AVX2 and FMA do.
        #[allow(unsafe_code)]
        unsafe {
            pack_fused(rows, position, wide, narrow);
        }
    }

    fn multiply<const N: usize>(
        self,
        wide: &[Wide<f32>],
        narrow: [&[Narrow<[f32; 2]>]; N],
        tiles: &mut [Tile<f64>; N],
    ) {
        // SAFETY: a value of this type exists only where AVX2 and FMA do, and if it is wide AVX-512 F and DQ.
        #[allow(unsafe_code)]
        unsafe {
            if WIDE {
                multiply_wide(wide, narrow, tiles);
            } else {
                tiles.iter_mut().zip(narrow).for_each(|(tile, narrow)| multiply_fused(wide, narrow, tile));
            }
        }
    }

    fn add(total: &mut Complex<f64>, re: f64, im: f64, _bias: [i32; 2]) {
        *total += Complex::new(re, im);
    }
}
