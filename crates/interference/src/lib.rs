//! Interference: what is not noise is found by its statistics, and masked.
//!
//! ```text
//! voltages ── power_sums ──> S0, S1, S2 ── Masker ──> ChannelMask ──> push_masked of a correlator, of beams
//! [channel][time][input]     [channel][block][input]  [channel][block]
//! ```
//!
//! | what | in | out |
//! |---|---|---|
//! | [`power_sums`] | a chunk of voltages, heaps or rows, wherever it lies | [`PowerSums`]: `sum 1`, `sum |x|^2`, `sum |x|^4` of blocks of spectra |
//! | [`spectral_kurtosis`] | the sums of a block | the estimator, of expectation 1 for noise |
//! | [`Moments`], [`Thresholds`] | a number of samples, a false-alarm rate | where the estimator of noise lies |
//! | [`quantisation`] | a format and a level | what 4 and 8 bits make of it |
//! | [`Masker`] | power sums | [`Interference`]: a [`ChannelMask`](fringes_types::ChannelMask), and the estimates |
//!
//! ```
//! use fringes_backend::Backend;
//! use fringes_interference::{Thresholds, power_sums, spectral_kurtosis};
//! use fringes_types::{Complex, Inputs, Voltages};
//! use ndarray::Array3;
//!
//! // Channel 0 has a steady carrier, channel 1 a pulse in 4 of 128 spectra.
//! let data = Array3::from_shape_fn((2, 128, 1), |(channel, time, _)| match channel {
//!     0 => Complex::new(50i8, 0),
//!     _ => Complex::new(if time < 4 { 100i8 } else { 0 }, 0),
//! });
//! let voltages = Voltages::new(data, Inputs::single_pol(1)?)?;
//! let sums = power_sums(&Backend::auto(), &voltages, 128)?;
//! let kurtosis = sums.spectral_kurtosis();
//! assert_eq!(kurtosis[(0, 0, 0)], 0.0);
//! assert!((kurtosis[(1, 0, 0)] - 129.0 / 127.0 * (32.0 - 1.0)).abs() < 1e-12);
//!
//! // One block of noise in a thousand is beyond these, half of them on each side.
//! let thresholds = Thresholds::gaussian(128, 1e-3)?;
//! assert!(!thresholds.contain(kurtosis[(0, 0, 0)]) && !thresholds.contain(kurtosis[(1, 0, 0)]));
//! # Ok::<(), fringes_interference::InterferenceError>(())
//! ```
//!
//! # Where
//! Chunks on the host: on the CPU, with every thread of the rayon pool; a backend that is a GPU and nothing else is an
//! error. Chunks on a device: on that GPU, with the sums on the host. [`PowerKernels`] and [`MaskKernels`] work on
//! buffers of a device in the order of a stream. Estimates and masks are made on the CPU, of sums.

mod chunk;
mod device;
mod error;
mod kernels;
mod kurtosis;
mod masker;
mod pearson;
mod placed;
mod power_sums;
pub mod quantisation;
mod tails;

/// What programs that make tables need, and operations that honour masks, and users do not: no part of the interface.
#[doc(hidden)]
pub mod internals {
    pub use crate::kernels::{MaskQueue, PartMasks};
    pub use crate::pearson::quantiles;
    pub use crate::placed::{MaskPart, PlacedMask};
}

pub use chunk::PowerChunk;
pub use error::InterferenceError;
pub use fringes_cpu::power::{Power, PowerSum};
pub use kernels::{HeapBlocks, MaskKernels, PowerKernels, RowBlocks, VoltageBlocks};
pub use kurtosis::{Moments, spectral_kurtosis};
pub use masker::{Combining, Interference, Masker, Undecided};
pub use pearson::Thresholds;
pub use power_sums::{PowerSums, power_sums};
