//! Pieces of a recording, `[channel][input][time]`.

use std::sync::Arc;

use fringes_types::{Complex, Dimension, Sample, SampleChunk, SamplePresence, Samples, TypesError, Voltages};
use ndarray::{Array2, Array3, Axis, s};

use super::StreamInfo;
use crate::IoError;

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
    /// What the recording is, the same for all blocks of a reader.
    pub info: Arc<StreamInfo>,
}

/// Samples `[input][time]` of one recorded channel.
#[derive(Debug, Clone, PartialEq)]
pub enum ChannelSamples {
    /// Real samples.
    Real(Samples<f32>),
    /// Complex samples.
    Complex(Samples<Complex<f32>>),
}

impl ChannelSamples {
    /// The samples as operations on chunks take them.
    pub fn as_chunk(&self) -> &dyn SampleChunk {
        match self {
            ChannelSamples::Real(samples) => samples,
            ChannelSamples::Complex(samples) => samples,
        }
    }

    /// Number of samples of each input.
    pub fn times(&self) -> usize {
        self.as_chunk().times()
    }
}

impl Block {
    /// Number of samples of each input and channel.
    pub fn times(&self) -> usize {
        self.data.dim().2
    }

    /// The samples `[input][time]` of one recorded channel, as a copy: what a channelizer takes.
    ///
    /// Sample rate, sample counter, sky frequency of the channel's middle and presence are the recording's; where the
    /// recording does not know its rate, it stays [unset](fringes_types::SpectrumClock::has_sample_rate).
    ///
    /// # Errors
    /// [`TypesError::Dimension`] for a channel that the block does not have: the actual number is the channel, the
    /// expected one the number of channels.
    pub fn samples(&self, channel: usize) -> Result<ChannelSamples, TypesError> {
        let expected = self.data.dim().0;
        if channel >= expected {
            let (array, dimension) = ("block", Dimension::Channel);
            return Err(TypesError::Dimension { array, dimension, expected, actual: channel });
        }
        Ok(match &self.data {
            BlockData::Real(data) => ChannelSamples::Real(self.channel(data, channel)?),
            BlockData::Complex(data) => ChannelSamples::Complex(self.channel(data, channel)?),
        })
    }

    fn channel<S: Sample>(&self, data: &Array3<S>, channel: usize) -> Result<Samples<S>, TypesError> {
        let mut samples = Samples::new(data.index_axis(Axis(0), channel).to_owned(), self.info.inputs)?
            .with_first_sample(self.first_sample);
        if let Some(rate) = self.info.sample_rate_hz {
            samples = samples.with_sample_rate(rate)?;
        }
        if let Some(centre_hz) = self.info.centre_hz(channel) {
            samples = samples.with_centre_frequency(centre_hz)?;
        }
        match &self.presence {
            Some(presence) => samples.with_presence(presence.clone()),
            None => Ok(samples),
        }
    }

    /// The complex samples of a channelised recording as voltages `[channel][time][input]`, with their frequencies
    /// ([`StreamInfo::channel_frequencies`]), stamps and presence: what a correlator takes.
    ///
    /// # Layout
    /// Standard (row-major), a copy.
    ///
    /// # Errors
    /// [`IoError::RealVoltages`] for real samples, which a channelizer has to make channels of first
    /// ([`Block::samples`]).
    pub fn voltages(&self) -> Result<Voltages<Complex<f32>>, IoError> {
        let BlockData::Complex(data) = &self.data else { return Err(IoError::RealVoltages) };
        let data = data.view().permuted_axes([0, 2, 1]).as_standard_layout().into_owned();
        let voltages = Voltages::from_checked(data, self.info.inputs)?
            .with_frequencies(self.info.channel_frequencies())?
            .with_clock(self.info.clock(self.first_sample))?;
        Ok(match &self.presence {
            Some(presence) => {
                let shape = (self.times(), self.info.inputs.len());
                voltages
                    .with_presence(Array2::from_shape_fn(shape, |(time, input)| presence.is_present(input, time)))?
            }
            None => voltages,
        })
    }
}

/// What a reader has met so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FrameCounts {
    /// Frames, blocks or files whose header has been read.
    pub frames: u64,
    /// Frames flagged invalid; their samples are absent.
    pub invalid: u64,
    /// Frames of a thread and time that had come before; they are left out.
    pub duplicate: u64,
    /// Frames that came later than [`OpenOptions::reorder_frames`](super::OpenOptions::reorder_frames); they are left
    /// out.
    pub late: u64,
    /// Frames of a thread that the first frames of the recording do not announce; they are left out.
    pub unknown: u64,
    /// Frames further in the future than
    /// [`OpenOptions::longest_gap_seconds`](super::OpenOptions::longest_gap_seconds); they are left out, and many
    /// in a row are an error.
    pub stray: u64,
    /// Places where reading went on at the next good header
    /// ([`OpenOptions::resynchronise`](super::OpenOptions::resynchronise)).
    pub resynchronised: u64,
    /// Bytes that were passed over at these places, a frame that lost some of its bytes included.
    pub skipped_bytes: u64,
}

impl BlockData {
    /// Zeros of lengths `(channels, inputs, times)`.
    pub(crate) fn zeros(complex: bool, dim: (usize, usize, usize)) -> Self {
        if complex { BlockData::Complex(Array3::zeros(dim)) } else { BlockData::Real(Array3::zeros(dim)) }
    }

    /// How many samples a block may have: at least 1, at most `max_times`, and no more than fit `bytes`.
    pub(crate) fn affordable_times(info: &StreamInfo, bytes: usize, max_times: usize) -> usize {
        let value = if info.complex { 8 } else { 4 };
        max_times.min(bytes / value / info.channels / info.inputs.len()).max(1)
    }
}

/// A piece of a block that is present or absent as a whole: samples `start..start + count` of the block, which are
/// samples `from..from + count` of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) start: usize,
    pub(crate) from: usize,
    pub(crate) count: usize,
}

/// The flags of a block that consists of these pieces of frames of `frame` samples: `None` if everything is present.
/// A flag covers as many samples as makes it end where pieces end.
pub(crate) fn presence(
    pieces: &[Piece],
    frame: usize,
    inputs: usize,
    present: impl Fn(usize, usize) -> bool,
) -> Result<Option<SamplePresence>, TypesError> {
    if (0..pieces.len()).all(|piece| (0..inputs).all(|input| present(piece, input))) {
        return Ok(None);
    }
    let step = match pieces {
        [only] => only.count,
        [first, ..] if first.count != frame => greatest_common_divisor(frame, first.count),
        _ => frame,
    };
    let times = pieces.last().map_or(0, |last| last.start + last.count);
    let mut flags = Array2::from_elem((inputs, times.div_ceil(step)), false);
    for (index, piece) in pieces.iter().enumerate() {
        for input in (0..inputs).filter(|&input| present(index, input)) {
            flags.slice_mut(s![input, piece.start / step..(piece.start + piece.count).div_ceil(step)]).fill(true);
        }
    }
    SamplePresence::new(step, flags).map(Some)
}

fn greatest_common_divisor(mut a: usize, mut b: usize) -> usize {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}
