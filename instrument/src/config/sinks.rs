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
