//! The integration tests of `fringes-beamformer`, one program.

mod beamform;
mod detect;
mod fft_beams;
mod frb;
mod masks;
mod nulls;
mod steering;
mod tied_array;
