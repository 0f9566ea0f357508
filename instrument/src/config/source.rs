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
    /// Samples of digitisers by SPEAD over UDP, as MeerKAT's send them: a heap an input and so many samples. On a GPU
    /// chunks are received in pinned memory, of which there is enough for 12 from the start.
    Spead {
        /// Addresses that are listened to: ports of this machine, or multicast groups.
        addresses: Vec<std::net::SocketAddr>,
        /// Antennas.
        antennas: usize,
        /// Polarisations of an antenna. Default 2.
        #[serde(default = "two")]
        pols: usize,
        /// Bits of a sample: 2 to 16, packed. Default 10.
        #[serde(default = "ten")]
        bits: u32,
        /// Samples a second.
        sample_rate_hz: f64,
        /// Middle of the band on the sky in Hz. Default: a quarter of the sample rate, the first Nyquist zone.
        #[serde(default)]
        centre_frequency_hz: Option<f64>,
        /// Samples of a heap. Default 4096.
        #[serde(default = "heap")]
        heap_samples: usize,
        /// Heaps of each input in a chunk. Default 16.
        #[serde(default = "sixteen")]
        heaps_per_chunk: usize,
        /// Chunks that are open for late heaps. Default 2.
        #[serde(default = "open")]
        window_chunks: usize,
        /// Identifiers of the digitisers, one an input. Default: 0, 1, 2, ...
        #[serde(default)]
        digitisers: Option<Vec<u64>>,
        /// Stop packets after which the stream ends; 0 for none. Default 0.
        #[serde(default)]
        stops: u64,
    },
}

fn two() -> usize {
    2
}

fn ten() -> u32 {
    10
}

fn heap() -> usize {
    4096
}

fn sixteen() -> usize {
    16
}

fn open() -> usize {
    2
}

fn eight() -> u32 {
    8
}

fn chunk() -> usize {
    65_536
}
