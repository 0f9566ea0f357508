//! The integration tests of `fringes-beamformer`, one program.

mod beamform;
mod fft_beams;
