//! The corner turn: from all channels of some antennas to all antennas of some channels, over the ranks of a job.
//!
//! A [`TurnPlan`] says which rank has what; a [`CornerTurn`] is a plan and the [`Ranks`] that carry it out.
//! [`Fx::turned`](crate::Fx::turned) puts it between the F-engine and the correlator.
//!
//! # Blocks
//! Frames go in blocks of a fixed number, counted from sample 0, so that ranks need not agree on chunks. Before each
//! block every rank says which it has next (256 bytes to each other rank); the earliest is turned, with zero bytes of
//! those that do not have it: their antennas are absent. Two blocks are under way at a time unless set otherwise. A
//! rank whose source is silent says so twice a second, and the others wait for it.
//!
//! Ranks of one process do not pack: each takes what it correlates from the frames of the others, on GPUs by copies
//! from one to the other. Ranks that NCCL connects (`NcclRanks`) pack, exchange and place on the GPUs, which may be of
//! other processes and hosts. Else voltages go through memory of the host.
//!
//! # Ends
//! The turn ends when all F-engines have ended. A rank that is told to stop tells the others, and what is dumped ends
//! where the first of them ends. A rank that fails says why: the others end with [`StreamError::Rank`], all dumps that
//! were complete delivered.

mod block;
mod header;
mod lane;
mod lead;
mod on_gpus;
mod order;
mod plan;
mod shared;
mod stage;
mod wanted;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use plan::{TurnPlan, even_shares};
pub(crate) use stage::{TurnIn, TurnThreads};

use crate::StreamError;
use crate::exchange::{ExchangeError, Ranks};

/// A plan and the ranks that carry it out, as one of them has it.
#[derive(Debug, Clone)]
pub struct CornerTurn {
    pub(crate) ranks: Arc<dyn Ranks>,
    pub(crate) plan: TurnPlan,
    /// Lanes that agreements have used; behind them are one of headers and those of blocks.
    agreements: Arc<AtomicUsize>,
}

impl CornerTurn {
    /// The part of a rank.
    ///
    /// # Errors
    /// [`StreamError::Plan`] for a plan of another number of ranks.
    pub fn new(ranks: impl Ranks + 'static, plan: TurnPlan) -> Result<Self, StreamError> {
        if ranks.ranks() != plan.ranks() {
            let (what, expected) = ("ranks of a corner turn", plan.ranks().to_string());
            return Err(StreamError::Plan { what, expected, actual: ranks.ranks().to_string() });
        }
        Ok(Self { ranks: Arc::new(ranks), plan, agreements: Arc::default() })
    }

    /// The lane of headers; that of blocks `n` is `n + 1` behind it.
    fn first_lane(&self) -> usize {
        self.agreements.load(Ordering::Relaxed)
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &TurnPlan {
        &self.plan
    }

    /// The number of this rank.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.ranks.rank()
    }

    /// Antennas whose F-engine this rank has.
    #[must_use]
    pub fn antennas(&self) -> std::ops::Range<usize> {
        self.plan.antennas_of(self.rank())
    }

    /// Channels that this rank correlates.
    #[must_use]
    pub fn channels(&self) -> std::ops::Range<usize> {
        self.plan.channels_of(self.rank())
    }

    /// The dump behind which all ranks go on: the earliest of those that ranks with files name, `None` if one has
    /// none. `last` is `None` on a rank without files. All ranks call it, before they start.
    ///
    /// # Errors
    /// As [`Ranks::open`] and [`Exchange::all_gather`](crate::exchange::Exchange::all_gather).
    pub fn agree_on_last_dump(&self, last: Option<Option<u64>>) -> Result<Option<u64>, ExchangeError> {
        let mut lane = self.ranks.open(self.agreements.fetch_add(1, Ordering::Relaxed))?;
        let (code, dump) = last.map_or((0u64, 0), |dump| dump.map_or((1, 0), |dump| (2, dump)));
        let mut mine = [0; 16];
        mine[..8].copy_from_slice(&code.to_le_bytes());
        mine[8..].copy_from_slice(&dump.to_le_bytes());
        let mut all = vec![0; 16 * self.plan.ranks()];
        lane.all_gather(&mine, &mut all)?;
        let mut least: Option<Option<u64>> = None;
        for message in all.chunks_exact(16) {
            let word =
                |at: usize| message[8 * at..8 * at + 8].iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
            let dump = match word(0) {
                1 => None,
                2 => Some(word(1)),
                _ => continue,
            };
            least = Some(least.map_or(dump, |least| least.min(dump)));
        }
        Ok(least.flatten())
    }
}
