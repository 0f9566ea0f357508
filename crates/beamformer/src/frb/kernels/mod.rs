//! The kernels of FRB beams: beamforming, upchannelisation and detection in one launch.

mod parts;
mod tables;

pub use parts::Parts;
pub use tables::{Weights, time_phases, time_powers, time_transform};
