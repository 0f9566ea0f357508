//! Delays: [models and geometry](fringes_delay_model), coarse shift of samples, and fine rotation of voltages that are
//! channelised already.
//!
//! | what | one call, wherever the data lies | buffers of a device, in the order of a stream |
//! |---|---|---|
//! | samples, each input late by whole samples | [`shift()`] | [`ShiftKernels`] |
//! | voltages times gains and phases, quantised | [`rotate()`] | [`RotateKernels`] |
//! | phases of delay models | [`channel_phases`] | |
//!
//! Models, positions, sources and tracks are those of the crate [`fringes_delay_model`], which needs no driver; all of
//! them are here as well. A channelizer and an F-engine apply delays themselves; these are for data that others made.
//!
//! ```
//! use fringes_delay::{DelayModel, FineRotation, Windows, channel_phases, rotate};
//! use fringes_backend::Backend;
//! use fringes_types::{Complex, Inputs, SpectrumClock, Voltages};
//! use ndarray::Array3;
//!
//! // 64 channels of complex samples, 3 spectra, one input: a wave that came 2.5 samples early.
//! let early = |channel: usize| {
//!     let turns = 2.5 * (channel as f32 - 32.0) / 64.0;
//!     Complex::from_polar(1.0, std::f32::consts::TAU * turns)
//! };
//! let data = Array3::from_shape_fn((64, 3, 1), |(channel, _, _)| early(channel));
//! let clock = SpectrumClock { first_sample: 0, samples_between_spectra: 64, sample_rate_hz: 1e6 };
//! let voltages = Voltages::new(data, Inputs::single_pol(1)?)?.with_clock(clock)?;
//!
//! let model = DelayModel::constant(2.5, 0.0)?;
//! let phases = channel_phases(&[model], clock, 3, 64, true, Windows::Unmoved)?;
//! let aligned = rotate(&Backend::auto(), &voltages, &FineRotation::new(phases))?;
//! assert!(aligned.values.data().iter().all(|value| (value - Complex::new(1.0, 0.0)).norm() < 1e-5));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod kernels;
mod layout;
mod phases;
mod rotate;
mod rotate_device;
mod rotate_kernels;
mod shift;
mod shift_kernels;
mod texts;

pub use error::DelayError;
pub use layout::{RotationLayout, ShiftShape};
pub use phases::{Windows, channel_phases};
pub use rotate::{FineRotation, Rotated, RotationInput, rotate};
pub use rotate_kernels::{Factors, RotateKernels};
pub use shift::{ShiftInput, shift};
pub use shift_kernels::ShiftKernels;

pub use fringes_cpu::f_engine::FrameSample;
#[doc(inline)]
pub use fringes_delay_model::*;
