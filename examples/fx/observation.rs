//! What is observed: the facts of a run, and its samples piece by piece, whether they are recorded or simulated.

use fringes::delay::{AntennaArray, Epoch, Source};
use fringes::io::read::Block;
use fringes::{Frequencies, Inputs, Samples};

use crate::failure::Result;
use crate::frames::Frames;
use crate::simulate::geometry::Track;

/// What is known of a run before its first sample.
pub(crate) struct Observation {
    /// What it is, for titles.
    pub(crate) label: String,
    /// Format of the data, for the table.
    pub(crate) format: String,
    /// Antennas and polarisations.
    pub(crate) inputs: Inputs,
    /// Short names of the inputs.
    pub(crate) input_names: Vec<String>,
    /// Whether samples are complex.
    pub(crate) complex: bool,
    /// Whether the recorded channels are a correlator's channels already.
    pub(crate) channelised: bool,
    /// Recorded channels of each input.
    pub(crate) recorded_channels: usize,
    /// Bits of a real sample or of a part of a complex one.
    pub(crate) bits: u32,
    /// Samples a second of one recorded channel.
    pub(crate) sample_rate_hz: f64,
    /// Sky frequencies of the centres of the recorded channels.
    pub(crate) centres: Option<Frequencies>,
    /// When sample 0 was taken.
    pub(crate) start: Option<Epoch>,
    /// Samples in all, if that is known beforehand.
    pub(crate) total_samples: Option<u64>,
    /// Antenna positions.
    pub(crate) array: Option<AntennaArray>,
    /// Phase centre.
    pub(crate) phase_centre: Option<Source>,
    /// Telescope.
    pub(crate) telescope: String,
    /// Name of the source at the phase centre.
    pub(crate) source_name: String,
    /// Where the simulated source is.
    pub(crate) track: Option<Track>,
}

impl Observation {
    /// Sky frequency of the centre of a recorded channel.
    pub(crate) fn centre_hz(&self, channel: usize) -> Option<f64> {
        self.centres.map(|centres| centres.channel_hz(channel))
    }

    /// Bandwidth of all recorded channels together in Hz.
    pub(crate) fn bandwidth_hz(&self) -> f64 {
        let one = if self.complex { self.sample_rate_hz } else { self.sample_rate_hz / 2.0 };
        one * self.recorded_channels as f64
    }
}

/// Samples of all inputs over some time.
pub(crate) enum Chunk {
    /// Integer samples of a simulated ADC, one recorded channel.
    Integer(Box<Samples<i16>>),
    /// A piece of a recording.
    Recorded(Box<Block>),
}

impl Chunk {
    /// Samples of each input.
    pub(crate) fn times(&self) -> usize {
        match self {
            Chunk::Integer(samples) => samples.times(),
            Chunk::Recorded(block) => block.times(),
        }
    }
}

/// Where samples come from.
pub(crate) trait SampleSource {
    /// What is known beforehand.
    fn observation(&self) -> &Observation;

    /// The next samples, at most `times` of each input, or `None` at the end.
    fn next_chunk(&mut self, times: usize) -> Result<Option<Chunk>>;

    /// Samples so far that were beyond the range of their format and were clamped.
    fn clamped(&self) -> u64;

    /// Frames so far, of a recording.
    fn frames(&self) -> Option<Frames> {
        None
    }
}
