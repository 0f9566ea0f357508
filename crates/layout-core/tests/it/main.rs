//! The integration tests of `fringes-layout-core`, one program.

mod access;
mod algebra;
mod atoms_descriptor;
mod atoms_matrix;
mod atoms_mma;
mod atoms_wgmma;
mod tiling;
