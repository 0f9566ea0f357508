//! Pieces of a recording, `[channel][input][time]`.

use fringes_types::{Complex, SamplePresence};
use ndarray::Array3;

/// Samples `[channel][input][time]`, real or complex.
#[derive(Debug, Clone, PartialEq)]
pub enum BlockData {
    /// Real samples.
    Real(Array3<f32>),
    /// Complex samples.
    Complex(Array3<Complex<f32>>),
}

impl BlockData {
    /// Lengths `(channels, inputs, times)`.
    pub fn dim(&self) -> (usize, usize, usize) {
        match self {
            BlockData::Real(data) => data.dim(),
            BlockData::Complex(data) => data.dim(),
        }
    }
}

/// A piece of a recording. Blocks follow each other without a hole: missing data is there, as zeros that
/// [`Block::presence`] flags.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Number of the first sample, counted from [`StreamInfo::start`](super::StreamInfo::start).
    pub first_sample: u64,
    /// The samples, at least one of each input.
    pub data: BlockData,
    /// Which samples are present, `None` if all are.
    pub presence: Option<SamplePresence>,
    /// Samples that held the most negative value of 4 or 8 bits, which was clamped to -7 or -127. A complex sample
    /// counts once.
    pub clamped: u64,
}

impl Block {
    /// Number of samples of each input and channel.
    pub fn times(&self) -> usize {
        self.data.dim().2
    }
}
