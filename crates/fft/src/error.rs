//! What can be wrong with a call.

use fringes_backend::DeviceError;
use fringes_types::TypesError;

use crate::{FeedLines, SCALE_EXPONENTS, SIZES};

/// Why samples cannot be transformed, with what was expected and what came.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FftError {
    /// A backend, a memory limit or an array that does not fit.
    #[error(transparent)]
    Types(#[from] TypesError),
    /// A backend, a device or a device buffer that cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
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
    /// A line that no transform takes.
    #[error(
        "a line of {feeds} feeds padded to {padded}: expected 1 to {padded} feeds, padded to 64, 128, 256, 512 or 1024"
    )]
    BeamPadding {
        /// Feeds of a line.
        feeds: usize,
        /// Length asked for.
        padded: usize,
    },
    /// No beams, or more than can be.
    #[error("{lines} lines x {pols} polarisations x {padded} beams: expected 1 to {limit} beams")]
    BeamCount {
        /// Number of lines.
        lines: usize,
        /// Polarisations of a feed.
        pols: usize,
        /// Beams of a line and polarisation.
        padded: usize,
        /// Most beams.
        limit: usize,
    },
    /// Gains so small or so large that f32 beams might not hold them.
    #[error("the largest gain of channel {channel}: expected 0 or 2^-60 to below 2^60, found {largest:e}")]
    GainRange {
        /// Which channel.
        channel: usize,
        /// Its largest absolute value.
        largest: f64,
    },
    /// Gains times the scale that the output's format cannot be multiplied by.
    #[error(
        "gains and scale of channel {channel} are a factor of 2^{actual} at the end: expected 2^{least} to 2^{greatest}"
    )]
    BeamScale {
        /// Which channel.
        channel: usize,
        /// Exponent of the factor: the scale's, and 3 more than that of the channel's largest gain.
        actual: i32,
        /// Least exponent.
        least: i32,
        /// Greatest exponent.
        greatest: i32,
    },
    /// A plan of other lines than those loaded.
    #[error("expected {expected:?}, found {actual:?}")]
    BeamLines {
        /// The lines loaded.
        expected: FeedLines,
        /// The plan's.
        actual: FeedLines,
    },
    /// More work than one launch counts, or none.
    #[error("{channels} channels x {times} times x {lines} lines in one launch: expected 1 to 2^32 - 1")]
    BeamShape {
        /// Channels.
        channels: usize,
        /// Times.
        times: usize,
        /// Lines of feeds.
        lines: usize,
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
