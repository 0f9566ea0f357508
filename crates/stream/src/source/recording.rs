//! Recordings as a source.

use fringes_io::read::{ChannelSamples, StreamInfo, VoltageReader};
use fringes_types::TypesError;

use super::{Received, Source, SourceCounts, SourceInfo};
use crate::{BoxError, StreamError};

/// One recorded channel of VDIF, GUPPI raw or PSRDADA files, as f32 samples.
///
/// Levels are those that [`fringes_io::read`] gives: 2-bit samples are 1 and 3.3359, others whole numbers.
pub struct Recording {
    reader: Box<dyn VoltageReader>,
    info: SourceInfo,
    channel: usize,
    times: usize,
    clamped: u64,
    bytes: u64,
}

impl std::fmt::Debug for Recording {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recording").field("info", &self.info).field("channel", &self.channel).finish_non_exhaustive()
    }
}

impl Recording {
    /// A recorded channel, in chunks of at most `times` samples of each input.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] for a channel that the recording does not have (the actual number is the channel);
    /// [`StreamError::Input`] if the recording does not say its sample rate.
    pub fn new(reader: Box<dyn VoltageReader>, channel: usize, times: usize) -> Result<Self, StreamError> {
        let about: &StreamInfo = reader.info();
        if channel >= about.channels {
            let (array, dimension) = ("recording", fringes_types::Dimension::Channel);
            return Err(TypesError::Dimension { array, dimension, expected: about.channels, actual: channel }.into());
        }
        let sample_rate_hz = about.sample_rate_hz.ok_or_else(|| StreamError::Input {
            expected: "a recording that says its sample rate".into(),
            actual: format!("{} without one", about.format),
        })?;
        let info = SourceInfo {
            label: format!("{} recording", about.format),
            inputs: about.inputs,
            sample_rate_hz,
            sample_zero: about.start,
            end_sample: about.total_samples,
        };
        Ok(Self { reader, info, channel, times: times.max(1), clamped: 0, bytes: 0 })
    }
}

impl Source for Recording {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn next(&mut self) -> Result<Option<Received>, BoxError> {
        let Some(block) = self.reader.read(self.times)? else { return Ok(None) };
        self.clamped += block.clamped;
        let samples = match block.samples(self.channel)? {
            ChannelSamples::Real(samples) => samples.into(),
            ChannelSamples::Complex(samples) => crate::SampleBlock::from(samples),
        };
        self.bytes += samples.bytes();
        Ok(Some(Received::Samples(samples)))
    }

    fn counts(&self) -> SourceCounts {
        let frames = self.reader.counts();
        SourceCounts {
            packets: frames.frames,
            bytes: self.bytes,
            late: frames.late,
            duplicate: frames.duplicate,
            malformed: frames.invalid + frames.unknown + frames.stray + frames.resynchronised,
            clamped: self.clamped,
            ..SourceCounts::default()
        }
    }
}
