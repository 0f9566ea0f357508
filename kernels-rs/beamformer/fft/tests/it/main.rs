//! The integration tests of `fringes-kernels-beamformer-fft`, one program.

mod common;
mod counts;
mod emulated;
