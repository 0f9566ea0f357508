//! The register assignments of the FRB beamformer's first transform, 256 inputs to 512 outputs, zero-padded, in one
//! warp.
//!
//! `Y_q = sum over n of exp(2 pi i q n / 512) X_n`, `0 <= n < 256`, `0 <= q < 512`, in f16, as five steps X -> Z1 -> Z2
//! -> Z3 -> Z4 -> Y: three contractions on tensor cores with two element-wise products between them. A primed array is
//! the one before a conversion. Numbers in brackets are the equations of the source.
//!
//! Source: K. Smith, "Note on CHIME FRB beamforming", 2024.

use crate::{Layout, layout};

/// Layouts of all arrays of the transform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assignment {
    /// (13) The input.
    pub x: Layout,
    /// (14) After the first contraction, and after the product with phases: Z1 and Z2.
    pub z1: Layout,
    /// (15) As the second contraction leaves it: Z3'.
    pub z3_primed: Layout,
    /// (16) Converted, and after the product with phases: Z3 and Z4.
    pub z3: Layout,
    /// (17) As the third contraction leaves it: Y'.
    pub y_primed: Layout,
    /// (18) The output.
    pub y: Layout,
    /// (24) The matrix of X -> Z1.
    pub e_x_z1: Layout,
    /// (25) The phases of Z1 -> Z2.
    pub e_z1_z2: Layout,
    /// (26) The matrix of Z2 -> Z3', one of the two parts of the result.
    pub e_z2_z3: Layout,
    /// (27) The phases of Z3 -> Z4.
    pub e_z3_z4: Layout,
    /// (28) The matrix of Z4 -> Y', one of the two parts of the result.
    pub e_z4_y: Layout,
    /// (29) The matrix of X -> Z1, packed.
    pub e_x_z1_packed: Layout,
}

/// The assignments of the source.
pub const ASSIGNMENT: Assignment = Assignment {
    x: layout!("b<->ReIm  t0 t1 t2 t3 t4<->n7 n6 n5 n4 n3  r<->n2 n1 n0"),
    z1: layout!("b<->n5  t0 t1 t2 t3 t4<->n4 n3 q0 q1 q2  r<->n2 n1 n0 ReIm"),
    z3_primed: layout!("b<->q0  t0 t1 t2 t3 t4<->q1 q2 q3 q4 q5  r<->n2 n1 n0 ReIm"),
    z3: layout!("b<->n2  t0 t1 t2 t3 t4<->n1 n0 q3 q4 q5  r<->q0 q1 q2 ReIm"),
    y_primed: layout!("b<->q3  t0 t1 t2 t3 t4<->q4 q5 q6 q7 q8  r<->q0 q1 q2 ReIm"),
    y: layout!("b<->ReIm  t0 t1 t2 t3 t4<->q4 q5 q6 q7 q8  r<->q0 q1 q2 q3"),
    e_x_z1: layout!("b<->ReIm_in  t0 t1 t2 t3 t4<->n7 n6 q0 q1 q2  r<->n0 n1 ReIm_out"),
    e_z1_z2: layout!("b<->n5  t0 t1 t2 t3 t4<->n4 n3 q0 q1 q2  r<->n2 ReIm"),
    e_z2_z3: layout!("b<->n5  t0 t1 t2 t3 t4<->n4 n3 q3 q4 q5  r<->ReIm"),
    e_z3_z4: layout!("b<->n2  t0 t1 t2 t3 t4<->n1 n0 q3 q4 q5  r<->ReIm"),
    e_z4_y: layout!("b<->n2  t0 t1 t2 t3 t4<->n1 n0 q6 q7 q8  r<->ReIm"),
    e_x_z1_packed: layout!("b<->ReIm  t0 t1 t2 t3 t4<->n7 n6 q0 q1 q2  r<->n0 n1"),
};
