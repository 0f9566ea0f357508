//! What can be wrong with a set of beams or with voltages for it.

use fringes_backend::DeviceError;
use fringes_correlator::CorrelatorError;
use fringes_gpu::GpuError;
use fringes_types::{DetectedProducts, TypesError};

use crate::SCALE_EXPONENTS;

/// Beams that cannot be formed, with what was expected and what came.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BeamformerError {
    /// Data that does not fit.
    #[error(transparent)]
    Types(#[from] TypesError),
    /// A backend, a memory limit, a device or a device buffer that cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Rows that cannot be made of voltages or heaps on a device.
    #[error(transparent)]
    Rows(#[from] CorrelatorError),
    /// A beam that looks in a direction that it shall not hear.
    #[error("beam {beam} in channel {channel}: nothing is left of it without the directions of the nulls")]
    Nulled {
        /// The beam.
        beam: usize,
        /// The channel.
        channel: usize,
    },
    /// A count that must be at least 1 is 0.
    #[error("{quantity}: expected at least 1, found 0")]
    Zero {
        /// Name of the count.
        quantity: &'static str,
    },
    /// A line is padded to fewer values than it has feeds, or to more than a transform may have.
    #[error("a line of {feeds} feeds cannot be padded to {padded}: expected {feeds} to {limit}")]
    Padding {
        /// Feeds of a line.
        feeds: usize,
        /// Length asked for.
        padded: usize,
        /// The largest length supported.
        limit: usize,
    },
    /// The antennas of the voltages are not the feeds of the lines.
    #[error("{lines} lines of {feeds} feeds are {} antennas, found {actual}", .lines.saturating_mul(*.feeds))]
    Feeds {
        /// Number of lines.
        lines: usize,
        /// Feeds of a line.
        feeds: usize,
        /// Antennas of the voltages.
        actual: usize,
    },
    /// A chunk that does not go on where the one before ended, or as it was.
    #[error("{quantity}: expected {expected} after the chunk before, found {actual}")]
    Continuation {
        /// What differs.
        quantity: &'static str,
        /// What follows from the chunk before.
        expected: String,
        /// What the chunk says.
        actual: String,
    },
    /// Incoherent beams beside beams of which more than powers are detected.
    #[error("incoherent beams have powers alone: expected Power or StokesI, found {actual:?}")]
    Products {
        /// What is detected.
        actual: DetectedProducts,
    },
    /// A scale beyond what f32 holds of powers.
    #[error("scale 2^{actual}: expected an exponent of {}..={}", SCALE_EXPONENTS.start(), SCALE_EXPONENTS.end())]
    ScaleExponent {
        /// The exponent asked for.
        actual: i32,
    },
}

impl From<GpuError> for BeamformerError {
    fn from(error: GpuError) -> Self {
        Self::Device(error.into())
    }
}
