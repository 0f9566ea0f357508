//! The integration tests of `fringes-cpu`, one program.

mod beamformer;
mod ddc;
mod frb;
mod pack;
mod quantiser;
