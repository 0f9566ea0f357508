//! How many ranks, each with whole antennas and whole channels.

use serde::Serialize;

use super::needs::{Need, Resource, together};
use crate::error::PlanError;
use crate::machine::Machine;
use crate::telescope::{Samples, Telescope};

/// What a rank does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Role {
    /// F-engines of some antennas.
    F,
    /// X-engines of some channels, and their beams.
    X,
    /// Both.
    Both,
}

impl Role {
    /// Its name in a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Self::F => "F",
            Self::X => "X and beams",
            Self::Both => "F, X and beams",
        }
    }
}

/// A kind of ranks, as the one that has the most to do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rank {
    /// What it does.
    pub role: Role,
    /// Ranks of the kind, a GPU each.
    pub gpus: u32,
    /// Hosts of the kind.
    pub hosts: u32,
    /// Antennas of a rank, at most.
    pub antennas: u32,
    /// Channels of a rank, at most.
    pub channels: u32,
    /// GPUs that each resource alone asks for, all ranks of the kind together.
    pub needs: Vec<(Resource, f64)>,
    /// Share of what may be used that the rank with the most uses, by resource.
    pub loads: Vec<(Resource, f64)>,
}

/// The resource that is used most.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bottleneck {
    /// Of which ranks.
    pub role: Role,
    /// The resource.
    pub resource: Resource,
    /// Share of what may be used.
    pub load: f64,
}

/// The kinds of ranks.
pub(super) fn ranks(telescope: &Telescope, machine: &Machine, needs: &[Need]) -> Result<Vec<Rank>, PlanError> {
    let (antennas, channels) = (telescope.antennas, telescope.channels);
    let by_antennas = machine.antennas_per_f.map(|share| antennas.div_ceil(share));
    let by_channels = machine.channels_per_x.map(|share| channels.div_ceil(share));
    if together(telescope, machine) {
        let given = by_antennas.max(by_channels).map(|gpus| rank(Role::Both, telescope, machine, needs, gpus));
        return Ok(vec![given.map_or_else(|| both(telescope, machine, needs), Ok)?]);
    }
    let gpus = |given: Option<u32>, all: u32, of: &dyn Fn(&Need) -> f64, what| match given {
        Some(gpus) => Ok(gpus),
        None => share(all, most(needs, of), what).map(|share| all.div_ceil(share)),
    };
    let mut kinds = Vec::new();
    if telescope.samples != Samples::Channelised {
        let gpus = gpus(by_antennas, antennas, &|need| need.f, "an antenna")?;
        kinds.push(rank(Role::F, telescope, machine, needs, gpus));
    }
    let gpus = gpus(by_channels, channels, &Need::by_channels, "a channel")?;
    kinds.push(rank(Role::X, telescope, machine, needs, gpus));
    Ok(kinds)
}

/// The resource that is used most, of all ranks.
pub(super) fn bottleneck(ranks: &[Rank]) -> Result<Bottleneck, PlanError> {
    let all = ranks.iter().flat_map(|rank| rank.loads.iter().map(|&load| (rank.role, load)));
    all.map(|(role, (resource, load))| Bottleneck { role, resource, load })
        .max_by(|a, b| a.load.total_cmp(&b.load))
        .ok_or_else(|| PlanError::Coefficients("no resource".to_owned()))
}

/// The most demanding resource, and GPUs that it asks for.
fn most(needs: &[Need], of: impl Fn(&Need) -> f64) -> (Resource, f64) {
    let all = needs.iter().map(|need| (need.resource, of(need)));
    all.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((Resource::Compute, 0.0))
}

/// Antennas or channels that a GPU can have: `all / need`, whole ones.
fn share(all: u32, most: (Resource, f64), what: &'static str) -> Result<u32, PlanError> {
    let one = most.1 / f64::from(all);
    if one > 1.0 {
        return Err(PlanError::TooMuch { what, resource: most.0.name(), actual: one });
    }
    // A load of exactly 1 must not be lost by rounding.
    let whole = (1.0 / one * (1.0 + 1e-12)).floor();
    Ok(if whole >= f64::from(all) { all } else { (whole as u32).max(1) })
}

/// Ranks that are both: the least number with which no rank has too much.
fn both(telescope: &Telescope, machine: &Machine, needs: &[Need]) -> Result<Rank, PlanError> {
    let most = most(needs, |need| need.f + need.by_channels());
    let limit = telescope.antennas.max(telescope.channels);
    let mut gpus = most.1.ceil().clamp(1.0, f64::from(limit)) as u32;
    loop {
        let rank = rank(Role::Both, telescope, machine, needs, gpus);
        let load = rank.loads.iter().map(|load| load.1).fold(0.0, f64::max);
        if load <= 1.0 + 1e-12 {
            return Ok(rank);
        }
        if gpus >= limit {
            let what = "an antenna with a channel";
            return Err(PlanError::TooMuch { what, resource: most.0.name(), actual: load });
        }
        // A step of a hundredth more at most, so that many ranks are found soon.
        gpus = gpus.saturating_add((gpus / 128).max(1)).min(limit);
    }
}

/// A kind of `gpus` ranks. Where fewer ranks have as many antennas and channels each, there are fewer.
fn rank(role: Role, telescope: &Telescope, machine: &Machine, needs: &[Need], gpus: u32) -> Rank {
    let (has_f, has_x) = (role != Role::X, role != Role::F);
    let antennas = if has_f { telescope.antennas.div_ceil(gpus) } else { 0 };
    let channels = if has_x { telescope.channels.div_ceil(gpus) } else { 0 };
    let by_antennas = if has_f { telescope.antennas.div_ceil(antennas.max(1)) } else { 0 };
    let by_channels = if has_x { telescope.channels.div_ceil(channels.max(1)) } else { 0 };
    let gpus = by_antennas.max(by_channels);
    let parts = |need: &Need| {
        let f = if has_f { need.f } else { 0.0 };
        let x = if has_x { need.by_channels() } else { 0.0 };
        (f, x)
    };
    let load = |need: &Need| {
        let (f, x) = parts(need);
        f * f64::from(antennas) / f64::from(telescope.antennas)
            + x * f64::from(channels) / f64::from(telescope.channels)
    };
    Rank {
        role,
        gpus,
        hosts: gpus.div_ceil(machine.gpus_per_host),
        antennas,
        channels,
        needs: needs.iter().map(|need| (need.resource, parts(need).0 + parts(need).1)).collect(),
        loads: needs.iter().map(|need| (need.resource, load(need))).collect(),
    }
}
