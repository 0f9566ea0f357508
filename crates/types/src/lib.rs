//! The data that every Fringes crate passes around, checked once, at construction.
//!
//! | type | dimensions, slowest first | holds |
//! |---|---|---|
//! | [`Samples`] | `[input][time]` | what an ADC or a recording gives, real or complex |
//! | [`PackedSamples`] | `[input][byte]` | real samples of 2 to 16 bits without padding |
//! | [`SampleRows`] | `[input][bit]` | samples of any format in pinned or device memory |
//! | [`Voltages`] | `[channel][time][input]` | channelised voltages |
//! | [`Heaps`] | `[batch][antenna][channel][spectrum][pol]` | the same, as F-engines send them |
//! | [`Rows`] | `[channel][time / R][input][R]` | the same, as the correlator reads them: rows of 128 bytes |
//! | [`Visibilities`] | `[channel][baseline]` | sums of products of voltages |
//! | [`ChannelMask`] | `[channel][block]` | blocks of spectra that are left out of a sum |
//! | [`Gains`] | `[channel][input]` | complex gains of a quantiser, or one for all |
//! | [`BeamWeights`] | `[beam][channel][input]` | complex weights of tied-array beams |
//! | [`Beams`] | `[channel][time][beam]` | beamformed voltages or powers |
//! | [`DetectedBeams`] | `[channel][time][beam][product]` | summed powers or Stokes parameters of beams |
//!
//! An *input* is one polarisation of one antenna, numbered `input = antenna * pols + pol` ([`Inputs`]). Dimensions are
//! always named in the order `channel, time, antenna, pol, input, beam, product, baseline` ([`Dimension`]).
//!
//! Each is a header (axes, clock, presence) and an array. The array is an `ndarray` one, or a [`LinearArray`] in memory
//! of another kind: of the GPU crates in pinned or in device memory. Operations take either, and what they give lies
//! where their input lay.
//!
//! Sample counters are `u64` ADC samples; [`SpectrumClock`] says which ADC sample a spectrum belongs to. Missing data
//! is a value: samples, [`Voltages`] and [`Heaps`] carry presence flags, [`Visibilities`] carry the number of valid
//! samples of each baseline and what a mask has taken of them ([`MaskedSamples`]), beams the number of inputs that were
//! there ([`InputCounts`]).

mod axes;
pub mod baseline;
mod beams;
mod channel_mask;
mod chunk;
mod detected;
mod detection;
mod dimension;
mod error;
mod format;
mod gains;
mod heaps;
mod host_rows;
mod input_counts;
mod inputs;
mod linear;
mod masked_samples;
mod masked_spectra;
mod packed;
mod packed_samples;
mod rows;
mod sample_rows;
mod samples;
mod valid_samples;
mod visibilities;
mod voltages;

pub use axes::{Frequencies, SpectrumClock};
pub use baseline::{BaselineOrder, Product};
pub use beams::{BeamWeights, Beams};
pub use channel_mask::ChannelMask;
pub use chunk::{ChunkFormat, SampleChunk, SampleView};
pub use detected::DetectedBeams;
pub use detection::{DetectedProducts, Detection};
pub use dimension::Dimension;
pub use error::TypesError;
pub use format::{Accumulator, Complex4, Sample, SampleFormat, VoltageSample};
pub use gains::Gains;
pub use half::f16;
pub use heaps::Heaps;
pub use host_rows::HostRows;
pub use input_counts::InputCounts;
pub use inputs::Inputs;
pub use linear::{HostArray, LinearArray};
pub use masked_samples::MaskedSamples;
pub use masked_spectra::MaskedSpectra;
pub use num_complex::Complex;
pub use packed::{pack_samples, unpack_samples};
pub use packed_samples::PackedSamples;
pub use rows::{ROW_BYTES, Rows, row_times};
pub use sample_rows::SampleRows;
pub use samples::{SamplePresence, Samples};
pub use valid_samples::ValidSamples;
pub use visibilities::Visibilities;
pub use voltages::Voltages;
