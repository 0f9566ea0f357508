//! Where voltages come from.

use std::path::PathBuf;

use fringes_simulator::Simulation;
use serde::Deserialize;

/// The source.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum SourceConfig {
    /// Simulated voltages.
    Simulation {
        /// How long. Default: for ever.
        #[serde(default)]
        seconds: Option<f64>,
        /// Bits of a sample, 2 to 16. Default 8.
        #[serde(default = "eight")]
        bits: u32,
        /// Samples of a chunk. Default 65536.
        #[serde(default = "chunk")]
        chunk_samples: usize,
        /// What is simulated: see the crate `fringes-simulator`.
        simulation: Box<Simulation>,
    },
    /// A recording: VDIF, GUPPI raw or PSRDADA.
    Recording {
        /// Its files, in order of time.
        files: Vec<PathBuf>,
        /// Which of its recorded channels. Default 0.
        #[serde(default)]
        channel: usize,
        /// Samples of a chunk. Default 65536.
        #[serde(default = "chunk")]
        chunk_samples: usize,
        /// Samples a second, if the recording does not say it.
        #[serde(default)]
        sample_rate_hz: Option<f64>,
        /// Middle of the band in Hz, if the recording does not say it.
        #[serde(default)]
        centre_frequency_hz: Option<f64>,
        /// What its streams are: `thread:antenna pol`, such as `0:0x,1:0y`.
        #[serde(default)]
        map: Option<String>,
    },
}

fn eight() -> u32 {
    8
}

fn chunk() -> usize {
    65_536
}
