//! Where everything of the note's transform lies, and which registers every instruction takes.
//!
//! ```text
//! X       (13)  b<->ReIm  t0 t1 t2 t3 t4<->n7 n6 n5 n4 n3  r<->n2 n1 n0
//! Z1, Z2  (14)  b<->n5    t0 t1 t2 t3 t4<->n4 n3 q0 q1 q2  r<->n2 n1 n0 ReIm
//! Z3'     (15)  b<->q0    t0 t1 t2 t3 t4<->q1 q2 q3 q4 q5  r<->n2 n1 n0 ReIm
//! Z3, Z4  (16)  b<->n2    t0 t1 t2 t3 t4<->n1 n0 q3 q4 q5  r<->q0 q1 q2 ReIm
//! Y'      (17)  b<->q3    t0 t1 t2 t3 t4<->q4 q5 q6 q7 q8  r<->q0 q1 q2 ReIm
//! Y       (18)  b<->ReIm  t0 t1 t2 t3 t4<->q4 q5 q6 q7 q8  r<->q0 q1 q2 q3
//! ```
//!
//! The assertions of this module compare every call of [`super::transform`] with these layouts, those of the phases,
//! (24) to (29), and the fragments of [`fringes_device::layout::atoms::mma`]: a wrong lane or register is an error of
//! compilation.

use fringes_device::layout::atoms::mma::{M16N8K8_F16_F16, M16N8K16_F16_F16};
use fringes_device::layout::frb::ASSIGNMENT as NOTE;
use fringes_device::layout::{Layout, layout};

use super::check::{Contraction, multiplies, shares};

/// The input, (13).
pub const INPUT: Layout = NOTE.x;

/// The output, (18).
pub const OUTPUT: Layout = NOTE.y;

/// The matrix of Z2 -> Z3' as a product takes it. (26) has the column of `ReIm_in` = 0; the other one is (-Im, Re).
pub const SECOND_MATRIX: Layout = layout!("b<->n5  t0 t1 t2 t3 t4<->n4 n3 q3 q4 q5  r<->ReIm_out ReIm_in");

/// The matrix of Z4 -> Y' as a product takes it, from (28).
pub const THIRD_MATRIX: Layout = layout!("b<->n2  t0 t1 t2 t3 t4<->n1 n0 q6 q7 q8  r<->ReIm_out ReIm_in");

/// Registers of one product on tensor cores.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call<const A: usize, const B: usize> {
    /// Of the matrix, operand A.
    pub(super) matrix: [usize; A],
    /// Of the data, operand B.
    pub(super) data: [usize; B],
    /// Of the result.
    pub(super) result: [usize; 2],
}

/// Registers of one product with phases.
#[derive(Debug, Clone, Copy)]
pub(super) struct Factor {
    /// Real and imaginary part of the data.
    pub(super) data: [usize; 2],
    /// Real and imaginary part of the phase.
    pub(super) phase: [usize; 2],
}

/// X -> Z1.
pub(super) const FIRST: [Call<2, 1>; 8] = {
    let mut calls = [Call { matrix: [0; 2], data: [0], result: [0; 2] }; 8];
    let mut at = 0;
    while at < 8 {
        let (n1, n0) = (at / 2 % 2, at / 4);
        let matrix = n0 + 2 * n1;
        calls[at] = Call { matrix: [matrix, matrix + 4], data: [at], result: [at, at + 8] };
        at += 1;
    }
    calls
};

const _: () = assert!(
    Contraction {
        mma: &M16N8K8_F16_F16,
        data: NOTE.x,
        matrix: NOTE.e_x_z1,
        result: NOTE.z1,
        sums: [&["ReIm", "n6", "n7"], &["ReIm_in", "n6", "n7"]],
        creates: [&["ReIm", "q0", "q1", "q2"], &["ReIm_out", "q0", "q1", "q2"]],
        keeps: &["n0", "n1", "n2", "n3", "n4", "n5"],
        depends: &["n0", "n1"],
    }
    .is(&FIRST)
);

/// Z1 -> Z2: phases of (25).
pub(super) const Z1_FACTORS: [Factor; 8] = {
    let mut factors = [Factor { data: [0; 2], phase: [0; 2] }; 8];
    let mut at = 0;
    while at < 8 {
        let n2 = at % 2;
        factors[at] = Factor { data: [at, at + 8], phase: [n2, n2 + 2] };
        at += 1;
    }
    factors
};

const _: () = assert!(multiplies(&NOTE.z1, &NOTE.e_z1_z2, &["q0", "q1", "q2", "n2", "n3", "n4", "n5"], &Z1_FACTORS));

/// Products whose data are real parts in register `r`, imaginary ones in `r + 8`, and whose result lies so as well.
const BY_PARTS: [Call<4, 2>; 8] = {
    let mut calls = [Call { matrix: [0, 1, 2, 3], data: [0; 2], result: [0; 2] }; 8];
    let mut at = 0;
    while at < 8 {
        calls[at] = Call { matrix: [0, 1, 2, 3], data: [at, at + 8], result: [at, at + 8] };
        at += 1;
    }
    calls
};

/// Z2 -> Z3'.
pub(super) const SECOND: [Call<4, 2>; 8] = BY_PARTS;

const _: () = assert!(
    Contraction {
        mma: &M16N8K16_F16_F16,
        data: NOTE.z1,
        matrix: SECOND_MATRIX,
        result: NOTE.z3_primed,
        sums: [&["ReIm", "n3", "n4", "n5"], &["ReIm_in", "n3", "n4", "n5"]],
        creates: [&["ReIm", "q3", "q4", "q5"], &["ReIm_out", "q3", "q4", "q5"]],
        keeps: &["n0", "n1", "n2", "q0", "q1", "q2"],
        depends: &[],
    }
    .is(&SECOND)
);

/// Z3 -> Z4: phases of (27), which are the registers [`SHARED_FACTORS`] of (25).
pub(super) const Z3_FACTORS: [Factor; 8] = {
    let mut factors = [Factor { data: [0; 2], phase: [0, 1] }; 8];
    let mut at = 0;
    while at < 8 {
        factors[at].data = [at, at + 8];
        at += 1;
    }
    factors
};

const _: () = assert!(multiplies(&NOTE.z3, &NOTE.e_z3_z4, &["q3", "q4", "q5", "n0", "n1", "n2"], &Z3_FACTORS));

/// Registers of (25) that (27) is: those with `n2` = 0. `E(q_j, n_k)` depends on `j + k` alone, so `q3 q4 q5` with
/// `n0 n1 n2` have the phases of `q0 q1 q2` with `n3 n4 n5`.
pub(super) const SHARED_FACTORS: [usize; 2] = [0, 2];

const _: () = assert!(shares(
    (&NOTE.e_z3_z4, &["q3", "q4", "q5", "n0", "n1", "n2", "ReIm"]),
    (&NOTE.e_z1_z2, &["q0", "q1", "q2", "n3", "n4", "n5", "ReIm"]),
    &SHARED_FACTORS,
    &["n2"],
));

/// Z4 -> Y'.
pub(super) const THIRD: [Call<4, 2>; 8] = BY_PARTS;

const _: () = assert!(
    Contraction {
        mma: &M16N8K16_F16_F16,
        data: NOTE.z3,
        matrix: THIRD_MATRIX,
        result: NOTE.y_primed,
        sums: [&["ReIm", "n0", "n1", "n2"], &["ReIm_in", "n0", "n1", "n2"]],
        creates: [&["ReIm", "q6", "q7", "q8"], &["ReIm_out", "q6", "q7", "q8"]],
        keeps: &["q0", "q1", "q2", "q3", "q4", "q5"],
        depends: &[],
    }
    .is(&THIRD)
);

/// Registers of the second matrix that the third is: all, in order.
pub(super) const SHARED_MATRIX: [usize; 4] = [0, 1, 2, 3];

const _: () = assert!(shares(
    (&THIRD_MATRIX, &["q6", "q7", "q8", "n0", "n1", "n2", "ReIm_out", "ReIm_in"]),
    (&SECOND_MATRIX, &["q3", "q4", "q5", "n3", "n4", "n5", "ReIm_out", "ReIm_in"]),
    &SHARED_MATRIX,
    &[],
));
