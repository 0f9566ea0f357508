//! Beams from voltages `[channel][time][input]`, as `fringes_reference::beamformer`, in f32.
//!
//! Tied-array beams are a matrix product for each channel, `[time][input] x [input][beam]`, done by the `gemm` crate a
//! block of [`BLOCK_TIMES`] times at a time; voltages that are not `Complex<f32>`, or that are partly missing, are
//! converted into a scratch block first. Incoherent beams are the same product of powers and gains. FFT beams are
//! padded transforms by `rustfft`. Detected beams are sums of products, as `fringes_reference::detection`.
//!
//! Missing voltages count as zero. The result does not depend on the number of units of work in progress at a time.

mod detect;
mod fft;
mod product;
mod quantised;

pub use self::detect::{BLOCK_SPECTRA, ChannelSums, detect_into, products_into};
pub use self::fft::{FeedLines, fft_beams, fft_beams_into, fft_scratch_bytes};
pub use self::product::{
    incoherent, incoherent_into, incoherent_scratch_bytes, tied_array, tied_array_into, tied_array_scratch_bytes,
};
pub use self::quantised::{BeamFinish, tied_array_quantised_into};

/// Times of one unit of work.
pub const BLOCK_TIMES: usize = 128;
