//! What one more GPU buys: band, at the same width of a channel, so that everything but memory of dumps grows with it.
//!
//! ```text
//! band that n GPUs of a kind carry = B x n / the most that a resource asks for
//! band of the instrument           = the least over the kinds of ranks
//! ```

use serde::Serialize;

use super::ranks::{Rank, Role};
use crate::telescope::Telescope;

/// What a GPU more of a kind buys.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MoreBandwidth {
    /// The kind of rank that gets the GPU.
    pub role: Role,
    /// Band that the plan's GPUs carry, Hz.
    pub now: f64,
    /// Band with one more.
    pub then: f64,
}

/// What a GPU more of each kind buys. Antennas and channels are divided at will here.
pub(super) fn one_more(telescope: &Telescope, ranks: &[Rank]) -> Vec<MoreBandwidth> {
    let carried = |more: Option<usize>| {
        let kinds = ranks.iter().enumerate().map(|(index, rank)| {
            let most = rank.needs.iter().map(|need| need.1).fold(0.0, f64::max);
            let gpus = f64::from(rank.gpus) + if more == Some(index) { 1.0 } else { 0.0 };
            telescope.bandwidth_hz * gpus / most
        });
        kinds.fold(f64::INFINITY, f64::min)
    };
    let now = carried(None);
    let kinds = ranks.iter().enumerate();
    kinds.map(|(index, rank)| MoreBandwidth { role: rank.role, now, then: carried(Some(index)) }).collect()
}
