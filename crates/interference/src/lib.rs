//! wip

mod chunk;
mod error;
mod kurtosis;
mod pearson;
mod power_sums;
pub mod quantisation;

pub use chunk::PowerChunk;
pub use error::InterferenceError;
pub use fringes_cpu::power::{Power, PowerSum};
pub use kurtosis::{Moments, spectral_kurtosis};
pub use pearson::Thresholds;
pub use power_sums::{PowerSums, power_sums};
