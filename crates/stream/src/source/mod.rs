//! Where voltages come from.

mod antennas;
mod blocks;
mod faults;
mod pair;
mod recording;
mod simulated;
mod spead;

use fringes_delay_model::Epoch;
use fringes_types::Inputs;

pub use antennas::Antennas;
pub use blocks::Blocks;
pub use faults::{FaultCounts, FaultInjector, Faults};
pub use pair::PairPolarisations;
pub use recording::Recording;
pub use simulated::Simulated;
pub use spead::{PinnedChunks, ReceivedChunk, Spead};

use crate::{BoxError, HeapBlock, SampleBlock};

/// What a source gives.
#[derive(Debug, Clone, PartialEq)]
pub enum Received {
    /// Samples, for the F-engine.
    Samples(SampleBlock),
    /// Channelised voltages, for the correlator and beams.
    Heaps(HeapBlock),
    /// Nothing came for a while; the source is asked again. A source that waits gives it at least ten times a second,
    /// so that an instrument can be stopped.
    Idle,
}

/// What a source says of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceInfo {
    /// What it is, for messages: a file, an address.
    pub label: String,
    /// Antennas and polarisations.
    pub inputs: Inputs,
    /// Samples a second of an input.
    pub sample_rate_hz: f64,
    /// When sample 0 was taken, if that is known.
    pub sample_zero: Option<Epoch>,
    /// Sample after the last one, if there is a last one and it is known.
    pub end_sample: Option<u64>,
}

/// What a source has met so far. Each is 0 where it does not apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SourceCounts {
    /// Packets or frames that came.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets or frames that never came.
    pub lost: u64,
    /// Those that came too late, and were left out.
    pub late: u64,
    /// Those that had come before.
    pub duplicate: u64,
    /// Those that could not be read, or are not of this stream.
    pub malformed: u64,
    /// Chunks without a partner, of two polarisations that come apart.
    pub unmatched: u64,
    /// Samples that were clamped to the range of their format.
    pub clamped: u64,
}

impl SourceCounts {
    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            packets: self.packets + other.packets,
            bytes: self.bytes + other.bytes,
            lost: self.lost + other.lost,
            late: self.late + other.late,
            duplicate: self.duplicate + other.duplicate,
            malformed: self.malformed + other.malformed,
            unmatched: self.unmatched + other.unmatched,
            clamped: self.clamped + other.clamped,
        }
    }
}

/// A stream of chunks in order of time. It runs on a thread of its own; the queue behind it is bounded, so it waits
/// where the instrument is slower.
pub trait Source: Send {
    /// What the source is.
    fn info(&self) -> &SourceInfo;

    /// The next chunk, or `None` at the end.
    ///
    /// # Errors
    /// Those of the source. It is not asked again after one.
    fn next(&mut self) -> Result<Option<Received>, BoxError>;

    /// What has been met so far.
    fn counts(&self) -> SourceCounts {
        SourceCounts::default()
    }

    /// Goes on at a chunk that holds this sample, or lies before it; says whether it did. A source that cannot is read
    /// on from where it is.
    ///
    /// # Errors
    /// Those of the source.
    fn seek(&mut self, sample: u64) -> Result<bool, BoxError> {
        let _ = sample;
        Ok(false)
    }

    /// Takes a chunk back that the instrument has read, so that its memory can be used again.
    fn recycle(&mut self, block: SampleBlock) {
        drop(block);
    }
}

impl Source for Box<dyn Source> {
    fn info(&self) -> &SourceInfo {
        (**self).info()
    }

    fn next(&mut self) -> Result<Option<Received>, BoxError> {
        (**self).next()
    }

    fn counts(&self) -> SourceCounts {
        (**self).counts()
    }

    fn seek(&mut self, sample: u64) -> Result<bool, BoxError> {
        (**self).seek(sample)
    }

    fn recycle(&mut self, block: SampleBlock) {
        (**self).recycle(block);
    }
}
