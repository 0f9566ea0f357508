//! The integration tests of `fringes-kernels-tools-conformance`, one program.

mod coverage;
mod emulator;
