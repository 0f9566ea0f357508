//! What can be wrong with a call.

use fringes_types::TypesError;

use crate::{SCALE_EXPONENTS, SIZES};

/// Why samples cannot be transformed, with what was expected and what came.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FftError {
    /// A backend, a memory limit or an array that does not fit.
    #[error(transparent)]
    Types(#[from] TypesError),
    /// A transform of other sizes than there are.
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
    /// More transforms than one launch counts.
    #[error("{actual} transforms in one launch, at most {limit} are possible")]
    TooManyTransforms {
        /// Transforms asked for.
        actual: usize,
        /// How many are possible.
        limit: usize,
    },
    /// There is no kernel of these sizes.
    #[error("a transform of {inputs} inputs to {outputs} outputs has no GPU kernel")]
    NoKernel {
        /// Inputs of a transform.
        inputs: usize,
        /// Outputs of a transform.
        outputs: usize,
    },
    /// A device buffer is too short.
    #[error("device buffer of {buffer}: expected at least {expected} elements, found {actual}")]
    DeviceLength {
        /// Which buffer.
        buffer: &'static str,
        /// Elements that the transforms need.
        expected: usize,
        /// Elements that came.
        actual: usize,
    },
    /// A device buffer starts at an address that the kernels cannot use.
    #[error("device buffer of {buffer}: expected a multiple of {expected} bytes, found address {address:#x}")]
    DeviceAlignment {
        /// Which buffer.
        buffer: &'static str,
        /// Alignment needed.
        expected: u64,
        /// Address that came.
        address: u64,
    },
    /// What the GPU or its driver answered.
    #[error(transparent)]
    Gpu(Box<fringes_gpu::GpuError>),
}

impl From<fringes_gpu::GpuError> for FftError {
    fn from(error: fringes_gpu::GpuError) -> Self {
        Self::Gpu(Box::new(error))
    }
}

/// All sizes, as text.
fn sizes() -> String {
    SIZES.map(|size| format!("{size}")).join(", ")
}
