//! How a recording is to be read.

use super::{FileFormat, InputMap};

/// How a recording is to be read. The default takes everything from the files.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenOptions {
    /// Format of the files; `None`: told from their first bytes.
    pub format: Option<FileFormat>,
    /// Which part of the recording is which input; `None`: the rule of the [module](super#inputs).
    pub mapping: Option<InputMap>,
    /// Sample rate of one channel in Hz, instead of what the files say.
    pub sample_rate_hz: Option<f64>,
    /// Whether the recorded channels are those of a filter bank, instead of the rule of the format: GUPPI raw and PSRDADA
    /// of several channels are channelised, VDIF is not.
    pub channelised: Option<bool>,
    /// The longest hole in the recording that is filled with zeros, in seconds (60 by default).
    pub longest_gap_seconds: f64,
    /// How many frame durations a VDIF frame may come late (32 by default).
    pub reorder_frames: usize,
    /// The most memory that the samples of one block may take, in bytes (256 MiB by default); a call that asks for more
    /// samples gets fewer.
    pub block_bytes: usize,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            format: None,
            mapping: None,
            sample_rate_hz: None,
            channelised: None,
            longest_gap_seconds: 60.0,
            reorder_frames: 32,
            block_bytes: 256 << 20,
        }
    }
}
