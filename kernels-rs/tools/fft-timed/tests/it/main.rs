//! The integration tests of `fringes-kernels-tools-fft-timed`, one program.

mod note;
mod timed;
