//! What a recording says about itself.

use fringes_types::{Frequencies, Inputs};

use super::UtcTime;

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
    pub start: Option<UtcTime>,
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
