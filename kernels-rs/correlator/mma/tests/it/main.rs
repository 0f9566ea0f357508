//! The integration tests of `fringes-kernels-correlator-mma`, one program.

mod common;
mod heaps;
mod rows;
