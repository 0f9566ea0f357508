//! What a recording says about itself.

use fringes_delay_model::Epoch;
use fringes_types::{Frequencies, Inputs, SpectrumClock};

use super::OpenOptions;

/// File format of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileFormat {
    /// VLBI Data Interchange Format.
    Vdif,
    /// GUPPI raw: blocks of channelised voltages behind FITS-like cards.
    GuppiRaw,
    /// PSRDADA: voltages behind an ASCII header.
    Dada,
}

impl FileFormat {
    /// Name of the format.
    pub fn name(self) -> &'static str {
        match self {
            FileFormat::Vdif => "VDIF",
            FileFormat::GuppiRaw => "GUPPI raw",
            FileFormat::Dada => "PSRDADA",
        }
    }
}

impl std::fmt::Display for FileFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for FileFormat {
    type Err = String;

    /// Reads `vdif`, `guppi` (or `raw`) and `dada`, in any case.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.to_ascii_lowercase().as_str() {
            "vdif" => Ok(FileFormat::Vdif),
            "guppi" | "raw" | "guppi raw" => Ok(FileFormat::GuppiRaw),
            "dada" | "psrdada" => Ok(FileFormat::Dada),
            _ => Err(format!("file format: expected vdif, guppi or dada, found `{text}`")),
        }
    }
}

/// The source that a recording was pointed at.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceInfo {
    /// Name as recorded.
    pub name: String,
    /// Right ascension in degrees, if it is recorded.
    pub ra_deg: Option<f64>,
    /// Declination in degrees, if it is recorded.
    pub dec_deg: Option<f64>,
}

/// What a recording says about itself, after the map of its inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamInfo {
    /// Format of the files.
    pub format: FileFormat,
    /// Whether samples are complex.
    pub complex: bool,
    /// Antennas and polarisations that blocks hold.
    pub inputs: Inputs,
    /// What each input is in the recording, e.g. `thread 3`.
    pub input_names: Vec<String>,
    /// Channels of each input.
    pub channels: usize,
    /// Bits of a real sample, or of each part of a complex one.
    pub bits: u32,
    /// Samples a second of one channel (complex samples where samples are complex).
    pub sample_rate_hz: Option<f64>,
    /// Centres of the recorded channels, ascending, where the recording gives a sky frequency.
    pub frequencies: Option<Frequencies>,
    /// When sample 0 was taken: sample `n` is `n / sample_rate_hz` seconds later.
    pub start: Option<Epoch>,
    /// Telescope or station, as recorded.
    pub telescope: Option<String>,
    /// Source, as recorded.
    pub source: Option<SourceInfo>,
    /// Samples from the first to the last, missing ones included, as far as can be told without reading everything.
    pub total_samples: Option<u64>,
    /// Whether the recording has been through a filter bank: its channels are the channels of a correlator.
    pub channelised: bool,
    /// Whether the recorded band runs against the sky (lower sideband). Blocks are turned to ascending frequency: the
    /// channels are reversed, complex samples conjugated, and real samples negated at odd sample numbers.
    pub inverted: bool,
}

impl StreamInfo {
    /// The time axis of a channelised recording from sample `first_sample` on: every sample is a spectrum. The sample
    /// rate is [unset](SpectrumClock::has_sample_rate) where it is not known.
    pub fn clock(&self, first_sample: u64) -> SpectrumClock {
        let sample_rate_hz = self.sample_rate_hz.unwrap_or(SpectrumClock::UNSET_SAMPLE_RATE_HZ);
        SpectrumClock { first_sample, samples_between_spectra: 1, sample_rate_hz }
    }

    /// Centres of the recorded channels in Hz: those on the sky, or else offsets from the middle of the band, as if
    /// neighbouring channels touched. Where the sample rate is not known either, one channel is 1 Hz.
    pub fn channel_frequencies(&self) -> Frequencies {
        let centred = || Frequencies::around(0.0, self.channels, channel_width_hz(self.complex, self.sample_rate_hz));
        self.frequencies.unwrap_or_else(centred)
    }

    /// Sky frequency of the middle of a recorded channel in Hz, where the recording or the caller gives it.
    pub fn centre_hz(&self, channel: usize) -> Option<f64> {
        self.frequencies.map(|frequencies| frequencies.channel_hz(channel))
    }
}

/// Width of a channel that is sampled no faster than it needs; 1 Hz where the sample rate is not known.
fn channel_width_hz(complex: bool, sample_rate_hz: Option<f64>) -> f64 {
    sample_rate_hz.map_or(1.0, |rate| if complex { rate } else { rate / 2.0 })
}

/// Frequencies of the channels of a recording: those that it says, moved to the middle that the caller gives.
pub(crate) fn sky_frequencies(
    recorded: Option<Frequencies>,
    options: &OpenOptions,
    channels: usize,
    complex: bool,
    sample_rate_hz: Option<f64>,
) -> Option<Frequencies> {
    let Some(centre_hz) = options.centre_frequency_hz else { return recorded };
    let step_hz = recorded.map(|recorded| recorded.step_hz);
    let step_hz = step_hz.or(sample_rate_hz.map(|_| channel_width_hz(complex, sample_rate_hz)));
    match step_hz {
        Some(step_hz) => Some(Frequencies::around(centre_hz, channels, step_hz)),
        // Of a single channel the middle alone matters.
        None => (channels == 1).then_some(Frequencies { first_hz: centre_hz, step_hz: 1.0 }),
    }
}
