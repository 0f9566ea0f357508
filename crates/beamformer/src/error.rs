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
    /// An array of another shape than the others need.
    #[error("{array}: expected shape {expected:?}, found {actual:?}")]
    Shape {
        /// The array with its dimensions.
        array: &'static str,
        /// The shape that is needed.
        expected: Vec<usize>,
        /// The shape that came.
        actual: Vec<usize>,
    },
    /// A count that must be a power of two in a range is not.
    #[error("{quantity}: expected a power of two from {least} to {most}, found {actual}")]
    PowerOfTwo {
        /// Name of the count.
        quantity: &'static str,
        /// The least.
        least: usize,
        /// The most.
        most: usize,
        /// What came.
        actual: usize,
    },
    /// A count or an index outside its range.
    #[error("{quantity}: expected {least} to {most}, found {actual}{}", place(.index))]
    OutOfRange {
        /// Name of the count.
        quantity: &'static str,
        /// The least.
        least: usize,
        /// The most.
        most: usize,
        /// What came.
        actual: usize,
        /// Where in an array it is; empty if it is no part of one.
        index: Vec<usize>,
    },
    /// A place that has no four beams around it toward east and west.
    #[error("position {actual} toward east{}: expected {least} to {most}, in beams", place(.index))]
    Position {
        /// The least.
        least: f64,
        /// The most.
        most: f64,
        /// What came.
        actual: f64,
        /// Its index.
        index: Vec<usize>,
    },
    /// Frequencies whose finer channels would not be evenly spaced.
    #[error("frequency {index}: expected {expected_hz} Hz for evenly spaced channels, found {actual_hz} Hz")]
    Spacing {
        /// Which frequency.
        index: usize,
        /// The frequency that follows from the others.
        expected_hz: f64,
        /// The frequency that came.
        actual_hz: f64,
    },
}

/// ` at [2, 3]`, or nothing of a value that is no part of an array.
fn place(index: &[usize]) -> String {
    if index.is_empty() { String::new() } else { format!(" at {index:?}") }
}

impl From<GpuError> for BeamformerError {
    fn from(error: GpuError) -> Self {
        Self::Device(error.into())
    }
}
