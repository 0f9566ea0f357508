//! Beams from channelised voltages `[channel][time][input]`: tied-array, incoherent and FFT beams
//! `[channel][time][beam]`.
//!
//! | what | in | out |
//! |---|---|---|
//! | [`beamform`] | a chunk of voltages ([`BeamChunk`]) and a set of beams ([`BeamSet`]) | beams, where the voltages lie |
//! | [`BeamformerStream`] | chunk after chunk, masked or not | the same, with kernels that are loaded once |
//! | [`BeamSteering`], [`with_nulls`] | delay models, gains, flags; directions not to hear | tied-array weights |
//! | [`detect`], [`DetectStream`] | beams' voltages | powers or Stokes parameters, summed over spectra and channels |
//! | [`to_u8`], [`quantise_beams`] | sums, beams' voltages | the same in 8 bits, for files |
//! | [`frb_beams`], [`FrbStream`] | voltages of a grid of feeds | powers of its beams in finer channels, for fast radio bursts |
//! | [`FftBeamKernels`] | voltages in device buffers | FFT beams in device buffers, in the order of a stream |
//! | [`FrbKernels`] | voltages in device buffers | powers in device buffers, in the order of a stream |
//!
//! The sets are [`BeamWeights`](fringes_types::BeamWeights) for tied-array beams, [`IncoherentBeams`] for sums of
//! powers, and [`FftBeams`] for the fan of beams of each line of feeds.
//!
//! ```
//! use std::f32::consts::TAU;
//!
//! use fringes_beamformer::beamform;
//! use fringes_backend::Backend;
//! use fringes_types::{BeamWeights, Complex, Inputs, Voltages};
//! use ndarray::Array3;
//!
//! // A plane wave on a line of 16 antennas: the phase falls by an eighth of a turn from one to the next.
//! let wave = Array3::from_shape_fn((1, 10, 16), |(_, _, n)| Complex::cis(-TAU * n as f32 / 8.0));
//! let voltages = Voltages::new(wave, Inputs::single_pol(16)?)?;
//!
//! // Beam 0 is steered at it, beam 1 straight up.
//! let steering = [0.125, 0.0];
//! let weights = Array3::from_shape_fn((2, 1, 16), |(beam, _, n)| Complex::cis(TAU * steering[beam] * n as f32));
//! let beams = beamform(&Backend::auto(), &voltages, &BeamWeights::new(weights)?)?;
//!
//! assert_eq!(beams.data().dim(), (1, 10, 2));
//! assert!((beams.data()[(0, 0, 0)].norm() - 16.0).abs() < 1e-3);
//! assert!(beams.data()[(0, 0, 1)].norm() < 1e-3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod chunk;
mod counts;
mod detect;
mod error;
mod fft;
mod frb;
mod incoherent;
mod masked_counts;
mod nulls;
mod one_call;
mod output;
mod packing;
mod set;
mod steering;
mod steps;
mod stream;
mod tied_array;
mod work;

pub use chunk::BeamChunk;
pub use detect::{
    ByteScale, DetectStream, DetectedBytes, DeviceDetectedBytes, QuantisedBeams, detect, quantise_beams, to_u8,
    to_u8_on_device,
};
pub use error::BeamformerError;
pub use fft::{FftBeamKernels, FftBeams, SCALE_EXPONENTS};
pub use frb::{
    CASM_SPACINGS_M, CHIME_BANDPASS, ChordGrid, FrbBeams, FrbBeamsBuilder, FrbInterpolation, FrbInterpolationKernels,
    FrbKernels, FrbLayout, FrbPowers, FrbProducts, FrbStream, FrbVoltageKernels, FrbVoltageOutput, FrbVoltages,
    NibbleOrder, Offset, centred_positions, frb_beams, frb_voltages, line_phases, north_map, reference_frequency,
    spread_beams,
};
pub use incoherent::{IncoherentBeams, IncoherentKernels};
pub use nulls::with_nulls;
pub use one_call::beamform;
pub use output::{BeamOutput, FftBeamOutput, TiedArrayOutput};
pub use set::BeamSet;
pub use steering::{BeamSteering, SteeredBand, steering_models};
pub use stream::BeamformerStream;
pub use tied_array::{DetectChunk, TiedArrayBeams, TiedArrayDetector, TiedArrayKernels, WeightPrecision};

/// The operation's name in errors.
const OPERATION: &str = "beamform";

/// What the kernels' tests and measurements use: no promise is made about it.
#[doc(hidden)]
pub mod internals {
    use fringes_backend::MemoryNeed;
    use fringes_types::{Inputs, VoltageSample};

    pub use crate::fft::kernels::{BLOCK_WARPS, BeamLaunch, BeamShape, has_kernel, transform_size};
    pub use crate::frb::kernels::{
        GridKind, GridParts, GridShape, GridTables, Parts, VOLTAGE_BOX, VOLTAGES, Weights, beam_places,
        channel_phase_power, channel_phases, channelised_weights, in_fours, matrix_powers, output_words, result_order,
        time_matrices, time_phases, time_powers, time_transform, voltage_dimensions,
    };
    use crate::{BeamSet, steps::Sizes};
    pub use fringes_cpu::beamformer::FeedLines;

    /// Device memory that [`beamform`](crate::beamform) takes of host voltages where it runs on a GPU.
    pub fn gpu_memory<V: VoltageSample, B: BeamSet>(
        set: &B,
        channels: usize,
        times: usize,
        inputs: Inputs,
    ) -> MemoryNeed {
        Sizes::of::<V, B>(set, inputs).gpu_memory(channels, times)
    }
}
