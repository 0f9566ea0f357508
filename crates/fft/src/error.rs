//! What can be wrong with a call.

use fringes_backend::DeviceError;
use fringes_types::TypesError;

use crate::{SCALE_EXPONENTS, SIZES};

/// Why samples cannot be transformed, with what was expected and what came.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FftError {
    /// An array that no memory holds.
    #[error(transparent)]
    Types(#[from] TypesError),
    /// A backend, a memory limit, a device or a device buffer that cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A transform of a size that is not supported.
    #[error("a transform of {inputs} inputs to {outputs} outputs: expected one of {}", sizes())]
    Size {
        /// Inputs asked for.
        inputs: usize,
        /// Outputs asked for.
        outputs: usize,
    },
    /// A scale that the phases cannot take.
    #[error("scale 2^{actual}: expected an exponent of {}..={}", SCALE_EXPONENTS.start(), SCALE_EXPONENTS.end())]
    ScaleExponent {
        /// The exponent asked for.
        actual: i32,
    },
    /// The length of one dimension is not the plan's, or differs between input and output.
    #[error("dimension `{dimension}` of {array}: expected {expected}, found {actual}")]
    Shape {
        /// Which array is wrong.
        array: &'static str,
        /// Which of its dimensions: `transform`, `n` or `q`.
        dimension: &'static str,
        /// The length that the plan or the other array implies.
        expected: usize,
        /// The length that came.
        actual: usize,
    },
}

impl From<fringes_gpu::GpuError> for FftError {
    fn from(error: fringes_gpu::GpuError) -> Self {
        Self::Device(error.into())
    }
}

/// All sizes, as text.
fn sizes() -> String {
    SIZES.map(|size| format!("{size}")).join(", ")
}
