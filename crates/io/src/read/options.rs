//! How a recording is to be read.

use std::str::FromStr;

use super::{FileFormat, InputMap};

/// Order of channels and polarisations within one time of a PSRDADA file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DadaOrder {
    /// `[time][pol][channel]`, TPF.
    PolChannel,
    /// `[time][channel][pol]`, TFP.
    ChannelPol,
}

impl FromStr for DadaOrder {
    type Err = String;

    /// Reads `TPF` and `TFP`, in any case.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.to_ascii_uppercase().as_str() {
            "TPF" => Ok(DadaOrder::PolChannel),
            "TFP" => Ok(DadaOrder::ChannelPol),
            _ => Err(format!("PSRDADA order: expected TPF or TFP, found `{text}`")),
        }
    }
}

/// How a recording is to be read. The default takes everything from the files.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenOptions {
    /// Format of the files; `None`: told from their first bytes.
    pub format: Option<FileFormat>,
    /// Which part of the recording is which input; `None`: the rule of the [module](super#inputs).
    pub mapping: Option<InputMap>,
    /// Sample rate of one channel in Hz, instead of what the files say.
    pub sample_rate_hz: Option<f64>,
    /// Sky frequency in Hz of the middle of the channels that blocks hold, instead of what the files say. Channels
    /// keep the distance that the files give, or else touch each other.
    pub centre_frequency_hz: Option<f64>,
    /// Order of channels and polarisations of PSRDADA files, instead of what their `ORDER` says (TPF if it is
    /// missing).
    pub dada_order: Option<DadaOrder>,
    /// Whether reading goes on at the next good VDIF header where headers are damaged, bytes are lost, or a file
    /// begins or ends inside a frame (false by default: these are errors). See
    /// [Missing and damaged data](super#missing-and-damaged-data).
    pub resynchronise: bool,
    /// Whether the recorded channels are those of a filter bank, instead of the rule of the format: GUPPI raw and
    /// PSRDADA of several channels are channelised, VDIF is not.
    pub channelised: Option<bool>,
    /// The longest hole in the recording that is filled with zeros, in seconds (60 by default).
    pub longest_gap_seconds: f64,
    /// How many frame durations a VDIF frame may come late (32 by default).
    pub reorder_frames: usize,
    /// The most memory that the samples of one block may take, in bytes (256 MiB by default); a call that asks for
    /// more samples gets fewer.
    pub block_bytes: usize,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            format: None,
            mapping: None,
            sample_rate_hz: None,
            centre_frequency_hz: None,
            dada_order: None,
            resynchronise: false,
            channelised: None,
            longest_gap_seconds: 60.0,
            reorder_frames: 32,
            block_bytes: 256 << 20,
        }
    }
}
