//! An instrument that is spread over ranks.

use serde::Deserialize;

/// What ranks divide among themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum By {
    /// F-engines the antennas, correlators the channels.
    Channels,
    /// Time: each has all antennas and channels of some spans. Ranks are threads of one process, and have one source
    /// and the sinks of one instrument.
    Time,
}

/// What carries blocks of the corner turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Carrier {
    /// Between threads copies, from GPU to GPU where voltages lie there; between processes MPI, through the host's
    /// memory.
    Default,
    /// NCCL, from GPU to GPU: each rank has one of its own.
    Nccl,
}

/// Ranks: threads of this process, or the processes that `mpirun` started. F-engines divide the antennas among
/// themselves, correlators the channels. Each rank's files go to a folder of its own, `rank-0`, `rank-1`, ...; those
/// that take turns in time have the files of one instrument.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RanksConfig {
    /// What is divided. Default `channels`.
    pub(crate) by: By,
    /// Dumps of a span, where ranks take turns: of the longest cadence, whose length is to be a multiple of the
    /// others'. A span of samples waits in memory for each rank. Default 1.
    pub(crate) dumps_per_span: u64,
    /// How many; under `mpirun` as many as it started. Default: as many as `backends`, else 1.
    pub(crate) count: Option<usize>,
    /// Ranks with F-engines. Default: all.
    pub(crate) f_engines: Option<Vec<usize>>,
    /// Ranks with correlators (and beams and sinks). Default: all.
    pub(crate) correlators: Option<Vec<usize>>,
    /// Where the operations of rank 0, 1, ... run, over again from the first if there are more ranks. Default: all at
    /// `backend`.
    pub(crate) backends: Vec<String>,
    /// What carries blocks: `default` or `nccl`.
    pub(crate) exchange: Carrier,
    /// Frames of a block of the corner turn. Default 16.
    pub(crate) frames_per_block: usize,
    /// Blocks of the corner turn that are under way at once. Default 2.
    pub(crate) blocks_under_way: usize,
    /// Seconds that a rank that does not answer is waited for. Default 60.
    pub(crate) timeout_s: f64,
}

impl Default for RanksConfig {
    fn default() -> Self {
        Self {
            by: By::Channels,
            dumps_per_span: 1,
            count: None,
            f_engines: None,
            correlators: None,
            backends: Vec::new(),
            exchange: Carrier::Default,
            frames_per_block: 16,
            blocks_under_way: 2,
            timeout_s: 60.0,
        }
    }
}
