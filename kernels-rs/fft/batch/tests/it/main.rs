//! The integration tests of `fringes-kernels-fft-batch`, one program.

mod emulated;
mod properties;
mod support;
