//! The integration tests of `fringes-device`, one program.

mod arithmetic;
mod barrier;
mod common;
mod convert;
mod half2;
mod matrix;
mod mma;
mod warp;
