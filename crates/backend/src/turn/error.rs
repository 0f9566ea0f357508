//! What can be wrong with a corner turn.

use fringes_types::TypesError;

use crate::{DeviceError, UploadError};

/// Frames that make no corner turn, with what was expected and what came; or what a device answers.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TurnError {
    /// No frames at all.
    #[error("a corner turn of no frames")]
    NoFrames,
    /// Frames of another shape than the first.
    #[error("frames {part} of a corner turn, {what}: expected {expected}, found {actual}")]
    Shape {
        /// Which frames, from 0.
        part: usize,
        /// Which of their dimensions.
        what: &'static str,
        /// That of the first frames.
        expected: usize,
        /// Theirs.
        actual: usize,
    },
    /// Frames with another clock or other frequencies than the first.
    #[error("frames {part} of a corner turn, {what}: expected {expected}, found {actual}")]
    Axis {
        /// Which frames, from 0.
        part: usize,
        /// Clock or frequencies.
        what: &'static str,
        /// Those of the first frames.
        expected: String,
        /// Theirs.
        actual: String,
    },
    /// Channels that frames do not have, or none.
    #[error("channels {start}..{end} of a corner turn: frames have 0..{channels}")]
    Channels {
        /// First channel asked for.
        start: usize,
        /// One after the last.
        end: usize,
        /// Channels of the frames.
        channels: usize,
    },
    /// Channels that make no even shares of a power of two of them.
    #[error("{channels} channels in {shares} shares: expected shares of a power of two of channels each")]
    Shares {
        /// Channels of all.
        channels: usize,
        /// Number of shares.
        shares: usize,
    },
    /// Frames that would be written over others that somebody has.
    #[error(
        "frames {wanted:?} of a ring of {places} places: frames {lent:?}, which lie there, are still held; \
         drop them, or make the ring larger"
    )]
    Occupied {
        /// Frames to be written.
        wanted: std::ops::Range<u64>,
        /// Frames that are there.
        lent: std::ops::Range<u64>,
        /// Places of the ring.
        places: usize,
    },
    /// As many frames or shares of channels as there are GPUs must come.
    #[error("{what} of a corner turn: expected {expected}, one a GPU, found {actual}")]
    Ranks {
        /// What there must be of.
        what: &'static str,
        /// Number of GPUs.
        expected: usize,
        /// Number that came.
        actual: usize,
    },
    /// Data that no memory holds.
    #[error(transparent)]
    Types(#[from] TypesError),
    /// What a device answers.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl From<UploadError> for TurnError {
    fn from(error: UploadError) -> Self {
        match error {
            UploadError::Types(error) => error.into(),
            UploadError::Device(error) => error.into(),
        }
    }
}

impl From<fringes_gpu::GpuError> for TurnError {
    fn from(error: fringes_gpu::GpuError) -> Self {
        Self::Device(error.into())
    }
}
