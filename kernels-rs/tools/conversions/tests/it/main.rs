//! The integration tests of `fringes-kernels-tools-conversions`, one program.

mod access;
mod emulated;
mod ptx;
mod timed;
