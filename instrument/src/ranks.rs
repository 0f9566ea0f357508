//! Which ranks there are, and what each of them has.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fringes::stream::exchange::{LocalRanks, Ranks};
use fringes::stream::turn::even_shares;
use fringes::stream::{CornerTurn, TurnPlan};
use fringes::{Backend, Inputs};

use crate::config::{Carrier, Config, RanksConfig};
use crate::failure::{At, Failure, Result};

/// Variables by which starters of MPI jobs tell a process how many there are.
const STARTERS: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"];

/// One rank among all.
#[derive(Debug, Clone)]
pub(crate) struct Rank {
    pub(crate) number: usize,
    pub(crate) count: usize,
    f_engines: Vec<usize>,
    correlators: Vec<usize>,
}

/// Ranks of the list, or all.
fn chosen(what: &str, list: Option<&Vec<usize>>, count: usize) -> Result<Vec<usize>> {
    let Some(list) = list else { return Ok((0..count).collect()) };
    let mut sorted = list.clone();
    sorted.sort_unstable();
    sorted.dedup();
    if sorted.is_empty() || sorted.len() != list.len() || sorted.last().is_some_and(|&last| last >= count) {
        return Err(Failure::at(what, format!("expected different ranks of 0..{count}, found {list:?}")));
    }
    Ok(sorted)
}

/// Shares of the ranks of a list, in order; the others have none.
fn shares(list: &[usize], things: usize, count: usize) -> Vec<Range<usize>> {
    let mut parts = even_shares(things, list.len()).into_iter();
    let mut next = 0;
    (0..count)
        .map(|rank| {
            if list.contains(&rank)
                && let Some(part) = parts.next()
            {
                next = part.end;
                return part;
            }
            next..next
        })
        .collect()
}

impl Rank {
    /// The only one.
    pub(crate) fn alone() -> Self {
        Self { number: 0, count: 1, f_engines: vec![0], correlators: vec![0] }
    }

    pub(crate) fn new(config: &RanksConfig, number: usize, count: usize) -> Result<Self> {
        let f_engines = chosen("ranks: f_engines", config.f_engines.as_ref(), count)?;
        let correlators = chosen("ranks: correlators", config.correlators.as_ref(), count)?;
        Ok(Self { number, count, f_engines, correlators })
    }

    pub(crate) fn antennas(&self, inputs: Inputs) -> Range<usize> {
        shares(&self.f_engines, inputs.antennas(), self.count).swap_remove(self.number)
    }

    pub(crate) fn channels(&self, channels: usize) -> Range<usize> {
        shares(&self.correlators, channels, self.count).swap_remove(self.number)
    }

    /// The channels of all ranks that have some, with their numbers.
    pub(crate) fn all_channels(&self, channels: usize) -> Vec<(usize, Range<usize>)> {
        let all = shares(&self.correlators, channels, self.count).into_iter().enumerate();
        all.filter(|(_, share)| !share.is_empty()).collect()
    }

    /// Folder of a rank's files.
    pub(crate) fn folder(&self, folder: &Path) -> PathBuf {
        if self.count == 1 { folder.into() } else { folder.join(format!("rank-{}", self.number)) }
    }

    /// Where its operations run.
    pub(crate) fn backend<'a>(&self, config: &'a Config) -> &'a str {
        let list = &config.ranks.backends;
        list.get(self.number % list.len().max(1)).unwrap_or(&config.backend)
    }

    /// The corner turn's plan.
    pub(crate) fn plan(
        &self,
        config: &RanksConfig,
        inputs: Inputs,
        channels: usize,
        frame: [u64; 2],
    ) -> Result<TurnPlan> {
        let [stride, spectra] = frame;
        Ok(TurnPlan::new(self.count, inputs, channels, stride, spectra as usize)?
            .with_antenna_shares(shares(&self.f_engines, inputs.antennas(), self.count))?
            .with_channel_shares(shares(&self.correlators, channels, self.count))?
            .with_frames_per_block(config.frames_per_block)?
            .with_lanes(config.blocks_under_way)?)
    }
}

/// What connects the ranks.
pub(crate) enum Connection {
    /// There is one.
    Alone,
    /// Threads of this process.
    Local(LocalRanks),
    /// Processes.
    #[cfg(feature = "mpi")]
    Mpi(fringes::stream::exchange::MpiRanks),
}

impl Connection {
    /// The part of the corner turn of a rank that works there; none if it is alone.
    pub(crate) fn turn(self, plan: TurnPlan, config: &RanksConfig, backend: &Backend) -> Result<Option<CornerTurn>> {
        let timeout = timeout(config)?;
        Ok(match self {
            Self::Alone => None,
            Self::Local(ranks) => Some(turn_of(ranks.with_timeout(timeout), plan, config, backend)?),
            #[cfg(feature = "mpi")]
            Self::Mpi(ranks) => Some(turn_of(ranks.with_timeout(timeout), plan, config, backend)?),
        })
    }
}

/// A corner turn of ranks, with what carries its blocks.
fn turn_of(ranks: impl Ranks + 'static, plan: TurnPlan, config: &RanksConfig, backend: &Backend) -> Result<CornerTurn> {
    match config.exchange {
        Carrier::Default => Ok(CornerTurn::new(ranks, plan)?),
        Carrier::Nccl => by_nccl(ranks, plan, config, backend),
    }
}

#[cfg(feature = "nccl")]
fn by_nccl(ranks: impl Ranks + 'static, plan: TurnPlan, config: &RanksConfig, backend: &Backend) -> Result<CornerTurn> {
    let Some(device) = backend.device() else {
        let what = format!("expected a GPU for each rank with nccl, found {}", backend.name());
        return Err(Failure::at("ranks: exchange", what));
    };
    let ranks = fringes::stream::exchange::NcclRanks::new(ranks, device).with_timeout(timeout(config)?);
    Ok(CornerTurn::new(ranks, plan)?)
}

#[cfg(not(feature = "nccl"))]
fn by_nccl(_: impl Ranks + 'static, _: TurnPlan, _: &RanksConfig, _: &Backend) -> Result<CornerTurn> {
    let what = "expected default by a program built without the feature nccl, found nccl";
    Err(Failure::at("ranks: exchange", what))
}

/// How long a silent rank is waited for.
fn timeout(config: &RanksConfig) -> Result<Duration> {
    Duration::try_from_secs_f64(config.timeout_s).at("ranks: timeout_s")
}

/// Processes that a starter of MPI jobs says it has started; none if there was no such starter.
pub(crate) fn started() -> Option<usize> {
    STARTERS.iter().find_map(|name| std::env::var(name).ok()?.parse().ok())
}

/// The number of ranks that are threads.
pub(crate) fn threads(config: &RanksConfig, asked: Option<usize>) -> Result<usize> {
    let count = asked.or(config.count).unwrap_or(config.backends.len().max(1));
    if count == 0 {
        return Err(Failure::at("ranks", "expected at least 1, found 0"));
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_go_to_the_ranks_of_the_list() {
        assert_eq!(shares(&[1, 3], 5, 4), [0..0, 0..3, 3..3, 3..5]);
        assert_eq!(shares(&[0, 1, 2], 2, 3), [0..1, 1..2, 2..2]);
        let config = RanksConfig { f_engines: Some(vec![1]), ..RanksConfig::default() };
        let rank = Rank::new(&config, 1, 2).unwrap();
        assert_eq!((rank.antennas(Inputs::new(3, 2).unwrap()), rank.channels(5)), (0..3, 3..5));
        for list in [vec![], vec![2], vec![1, 1]] {
            let config = RanksConfig { correlators: Some(list), ..RanksConfig::default() };
            assert!(Rank::new(&config, 0, 2).is_err());
        }
    }
}
