//! The integration tests of `fringes-cpu`, one program.

mod beamformer;
mod ddc;
mod pack;
mod quantiser;
