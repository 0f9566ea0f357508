//! Where dumps and beams go.

use std::path::PathBuf;

use serde::Deserialize;

/// A sink.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum SinkConfig {
    /// UVH5, appended dump by dump; `--resume` goes on with it.
    Uvh5 {
        /// The file.
        path: PathBuf,
        /// Which cadence. Default 0.
        #[serde(default)]
        cadence: usize,
        /// What becomes of dumps that it is too slow for: `block` or `drop`. Default `block`.
        #[serde(default)]
        overflow: OverflowConfig,
    },
    /// UVFITS.
    Uvfits {
        /// The file.
        path: PathBuf,
        /// Which cadence. Default 0.
        #[serde(default)]
        cadence: usize,
        /// As of UVH5.
        #[serde(default)]
        overflow: OverflowConfig,
    },
    /// npz, a file a dump; `--resume` goes on with the folder.
    Npz {
        /// The folder.
        folder: PathBuf,
        /// Which cadence. Default 0.
        #[serde(default)]
        cadence: usize,
        /// As of UVH5.
        #[serde(default)]
        overflow: OverflowConfig,
    },
    /// Dumps by SPEAD over UDP, as MeerKAT's correlator sends them: 32-bit integers, of `int4` and `int8`.
    Spead {
        /// Where to: addresses or multicast groups, each with a part of the channels.
        destinations: Vec<std::net::SocketAddr>,
        /// Channels of a heap. Default: all.
        #[serde(default)]
        channels_per_heap: Option<usize>,
        /// Most bytes a second. Default: as fast as it goes.
        #[serde(default)]
        bytes_per_second: Option<f64>,
        /// Which cadence. Default 0.
        #[serde(default)]
        cadence: usize,
        /// As of UVH5.
        #[serde(default)]
        overflow: OverflowConfig,
    },
    /// SIGPROC filterbanks of the beams.
    Filterbank {
        /// The folder.
        folder: PathBuf,
        /// As of UVH5.
        #[serde(default)]
        overflow: OverflowConfig,
    },
}

/// What becomes of products that a sink is too slow for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OverflowConfig {
    /// The instrument waits.
    #[default]
    Block,
    /// The newest is dropped and counted.
    Drop,
}
