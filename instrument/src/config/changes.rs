//! What changes while an instrument runs.

use serde::Deserialize;

/// A change at a time. Inputs and channels are those of the whole instrument, also where ranks divide them. What is not
/// named stays as it is.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChangeConfig {
    /// When, in seconds behind sample 0; or `sample`.
    #[serde(default)]
    pub(crate) seconds: Option<f64>,
    /// From which sample on.
    #[serde(default)]
    pub(crate) sample: Option<u64>,
    /// What the gains that `target_rms` makes are multiplied by: one number for all, or one an input.
    #[serde(default)]
    pub(crate) gains: Option<Vec<f64>>,
    /// Channels that are left out of dumps and beams, and no others: numbers, or the first and the one behind the last
    /// (`[5, [100, 120]]`).
    #[serde(default)]
    pub(crate) masked_channels: Option<Vec<ChannelsConfig>>,
    /// Offsets of the beams, as many as in `[beams]`.
    #[serde(default)]
    pub(crate) beam_offsets: Option<Vec<[f64; 2]>>,
}

/// A channel, or those from one to before another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(crate) enum ChannelsConfig {
    One(usize),
    Some([usize; 2]),
}

impl ChannelsConfig {
    /// Numbers of the channels.
    pub(crate) fn channels(self) -> std::ops::Range<usize> {
        match self {
            Self::One(channel) => channel..channel.saturating_add(1),
            Self::Some([first, end]) => first..end,
        }
    }
}
