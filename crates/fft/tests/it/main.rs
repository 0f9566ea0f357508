//! The integration tests of `fringes-fft`, one program.

mod common;
mod cpu;
mod errors;
