//! What can be wrong with what is shifted or rotated.

use fringes_backend::{DeviceError, UploadError};
use fringes_delay_model::DelayModelError;
use fringes_types::TypesError;

/// Data, a model or a layout that cannot be used, with what was expected and what came.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DelayError {
    /// A delay model or a geometry.
    #[error(transparent)]
    Model(#[from] DelayModelError),
    /// Data that does not fit.
    #[error(transparent)]
    Types(#[from] TypesError),
    /// A backend, a device or a device buffer that cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A count that must be at least 1 is 0.
    #[error("{quantity}: expected at least 1, found 0")]
    Zero {
        /// Name of the count.
        quantity: &'static str,
    },
    /// Samples of a number of bits that a shift does not take.
    #[error("samples of a shift have 1 to 64 bits, found {actual}")]
    SampleBits {
        /// The number that came.
        actual: u32,
    },
    /// Rows that would overlap.
    #[error("rows of {expected} bytes: expected at least as many from one to the next, found {actual}")]
    RowStride {
        /// Bytes of a row.
        expected: usize,
        /// Bytes from a row to the next.
        actual: usize,
    },
}

impl From<fringes_gpu::GpuError> for DelayError {
    fn from(error: fringes_gpu::GpuError) -> Self {
        Self::Device(error.into())
    }
}

impl From<UploadError> for DelayError {
    fn from(error: UploadError) -> Self {
        match error {
            UploadError::Types(error) => Self::Types(error),
            UploadError::Device(error) => Self::Device(error),
        }
    }
}
