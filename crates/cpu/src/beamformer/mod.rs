//! Beams from voltages `[channel][time][input]`, as `fringes_reference::beamformer`, in f32.
//!
//! Tied-array beams are a matrix product for each channel, `[time][input] x [input][beam]`, a block of [`BLOCK_TIMES`]
//! times at a time: voltages become f32, or bytes where weights are integers ([`HeldWeights`]), in a scratch block, and
//! meet weights that are packed once for many blocks. Incoherent beams are the same product of powers and gains. FFT
//! beams are padded transforms by `rustfft`. Detected beams are sums of products, as `fringes_reference::detection`.
//!
//! Missing voltages count as zero. The result does not depend on the number of units of work in progress at a time.

mod detect;
mod fft;
mod finish;
mod float;
mod integer;
mod product;
mod quantised;
mod unpack;

pub use self::detect::{BLOCK_SPECTRA, ChannelSums, detect_into, products_into};
pub use self::fft::{FeedLines, fft_beams, fft_beams_into, fft_scratch_bytes};
pub use self::finish::BeamFinish;
pub use self::integer::{MOST_INPUTS, WeightBits};
pub use self::product::{
    incoherent, incoherent_into, incoherent_scratch_bytes, tied_array, tied_array_into, tied_array_scratch_bytes,
};
pub use self::quantised::{HeldWeights, tied_array_quantised_into, tied_array_quantised_scratch_bytes};

/// Times that are formed at once, of a unit of work that has one or more such blocks.
pub const BLOCK_TIMES: usize = 96;
