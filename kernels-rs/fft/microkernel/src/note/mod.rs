//! The FFT note's microkernel: 256 inputs zero-padded to 512 outputs, equations (8) to (29) of the note in the
//! registers of a warp.
//!
//! `Y[q] = sum over n < 256 of exp(2 pi i q n / 512) X[n]`, complex f16 in and out, in five steps:
//!
//! | step | equation | by | sums, creates |
//! |---|---|---|---|
//! | X -> Z1 | (8) | 8 `m16n8k8` | n6 n7, q0 q1 q2 |
//! | Z1 -> Z2 | (9) | 32 half2 operations | |
//! | Z2 -> Z3' | (10) | 8 `m16n8k16` | n3 n4 n5, q3 q4 q5 |
//! | Z3' -> Z3 | appendix A | [`Transposes::z3`] | |
//! | Z3 -> Z4 | (11) | 32 half2 operations | |
//! | Z4 -> Y' | (12) | 8 `m16n8k16` | n0 n1 n2, q6 q7 q8 |
//! | Y' -> Y | appendix A | [`Transposes::y`] | |
//!
//! The phases are 10 registers ([`Packed`]) that are unpacked at each use, or 16 ([`Unpacked`]). The transposes are a
//! parameter, so that ways to do them can be compared: see [`transposes`]. [`crate::generated`] has the solver's
//! transform of the same size, which needs no transposes.
//!
//! # Layout
//! [`places`] has the layouts (13) to (29), and ties to them at compile time which registers every instruction here
//! takes.
//!
//! # Precision
//! Rounded to f16 after each of the three contractions and twice in each product with phases, whose parts are f16
//! themselves. For 4+4-bit samples the error's rms is below 7e-4 of the result's (the tests state what it is).
//!
//! Source: K. Smith, "Note on CHIME FRB beamforming", 2024.

mod check;
#[expect(unreachable_pub, reason = "as the generator writes them")]
mod generated;
mod phases;
pub mod places;
#[cfg(not(target_arch = "nvptx64"))]
pub mod table;
pub mod transposes;

use fringes_device::half2::{fma_rn_f16x2, mul_rn_f16x2, neg_f16x2};
use fringes_device::mma::{mma_m16n8k8_f16_f16, mma_m16n8k16_f16_f16};
use fringes_device::unroll;

pub use phases::{Packed, Phases, Unpacked};
use places::{FIRST, Factor, SECOND, SHARED_FACTORS, SHARED_MATRIX, THIRD, Z1_FACTORS, Z3_FACTORS};
pub use transposes::Transposes;

/// `Y[q] = sum over n < 256 of exp(2 pi i q n / 512) X[n]`, if the phases are those of [`table`], times their scale.
///
/// # Layout
/// - `x`: `b<->ReIm  t0 t1 t2 t3 t4<->n7 n6 n5 n4 n3  r<->n2 n1 n0` (13)
/// - result: `b<->ReIm  t0 t1 t2 t3 t4<->q4 q5 q6 q7 q8  r<->q0 q1 q2 q3` (18)
///
/// # PTX
/// 8 `mma.m16n8k8`, 16 `mma.m16n8k16`, 64 half2 multiplications and fused multiply-adds, 2 negations of phases
/// (operands of these in machine code), and what the phases' unpacking and the transposes take.
///
/// # Safety
/// All 32 lanes of the warp execute it together, with phases of the same table; what [`Transposes::z3`] asks of
/// `memory`.
#[inline(always)]
pub unsafe fn transform<T: Transposes>(x: [u32; 8], phases: &impl Phases, memory: T::Memory) -> [u32; 16] {
    let factors = phases.factors();
    let z1 = first(x, phases.first());
    let z2 = multiply(z1, &Z1_FACTORS, factors);
    let matrix = phases.matrix();
    let z3 = T::z3(contract(z2, &SECOND, matrix), memory);
    let z4 = multiply(z3, &Z3_FACTORS, [factors[SHARED_FACTORS[0]], factors[SHARED_FACTORS[1]]]);
    T::y(contract(z4, &THIRD, SHARED_MATRIX.map(|register| matrix[register])))
}

/// X to Z1, (8).
///
/// # Safety
/// All 32 lanes of the warp execute it together.
#[inline(always)]
unsafe fn first(x: [u32; 8], matrix: [u32; 8]) -> [u32; 16] {
    let mut z = [0; 16];
    unroll!(at in 0 1 2 3 4 5 6 7 {
        let call = FIRST[at];
        let a = [matrix[call.matrix[0]], matrix[call.matrix[1]]];
        [z[call.result[0]], z[call.result[1]]] = mma_m16n8k8_f16_f16(a, [x[call.data[0]]], [0; 2]);
    });
    z
}

/// Z2 to Z3', (10), or Z4 to Y', (12).
///
/// # Safety
/// All 32 lanes of the warp execute it together.
#[inline(always)]
unsafe fn contract(x: [u32; 16], calls: &[places::Call<4, 2>; 8], matrix: [u32; 4]) -> [u32; 16] {
    let mut z = [0; 16];
    unroll!(at in 0 1 2 3 4 5 6 7 {
        let call = calls[at];
        let a = call.matrix.map(|register| matrix[register]);
        let b = call.data.map(|register| x[register]);
        [z[call.result[0]], z[call.result[1]]] = mma_m16n8k16_f16_f16(a, b, [0; 2]);
    });
    z
}

/// Z1 to Z2, (9), or Z3 to Z4, (11): every complex number times its phase.
#[inline(always)]
fn multiply<const P: usize>(x: [u32; 16], factors: &[Factor; 8], phases: [u32; P]) -> [u32; 16] {
    let minus = phases.map(neg_f16x2); // of real parts nobody needs them
    let mut z = [0; 16];
    unroll!(at in 0 1 2 3 4 5 6 7 {
        let Factor { data: [re, im], phase: [cos, sin] } = factors[at];
        z[re] = fma_rn_f16x2(x[im], minus[sin], mul_rn_f16x2(x[re], phases[cos]));
        z[im] = fma_rn_f16x2(x[im], phases[cos], mul_rn_f16x2(x[re], phases[sin]));
    });
    z
}
