//! The integration tests of `fringes-kernels-delay`, one program.

mod common;
mod rotate;
mod shift;
