//! The integration tests of `fringes-kernels-correlator-pack`, one program.

mod pack;
mod reduce;
