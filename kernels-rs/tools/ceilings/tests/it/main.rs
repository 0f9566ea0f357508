//! The integration tests of `fringes-kernels-tools-ceilings`, one program.

mod emulated;
mod rates;
