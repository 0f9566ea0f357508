//! What can be wrong with a call.

use fringes_backend::DeviceError;
use fringes_gpu::GpuError;
use fringes_types::TypesError;

/// Why interference cannot be looked for, with what was expected and what came.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InterferenceError {
    /// A shape or an axis that does not fit.
    #[error(transparent)]
    Types(#[from] TypesError),
    /// A backend that cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A number that must lie in a range does not.
    #[error("{quantity}: expected a number from {} to {}, found {actual}", .expected.0, .expected.1)]
    Range {
        /// Name of the number.
        quantity: &'static str,
        /// The smallest and the largest one.
        expected: (f64, f64),
        /// The number that came.
        actual: f64,
    },
    /// Power sums of two pieces that do not follow each other.
    #[error("expected power sums from ADC sample {expected} on, found some from {actual} on")]
    Continuation {
        /// Stamp of the block after the last one, or of the last one.
        expected: u64,
        /// Stamp of the first block that came.
        actual: u64,
    },
}

impl From<GpuError> for InterferenceError {
    fn from(error: GpuError) -> Self {
        Self::Device(error.into())
    }
}

/// A number in a range, or an error.
pub(crate) fn in_range(quantity: &'static str, actual: f64, expected: (f64, f64)) -> Result<(), InterferenceError> {
    if actual >= expected.0 && actual <= expected.1 {
        Ok(())
    } else {
        Err(InterferenceError::Range { quantity, expected, actual })
    }
}
