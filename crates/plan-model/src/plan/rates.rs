//! Bytes a second, of all and of the links.

use serde::Serialize;

use super::ranks::{Rank, Role};
use crate::machine::Machine;
use crate::telescope::{Samples, Telescope};

/// Bytes a second.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rates {
    /// Samples into all F-engines.
    pub samples: f64,
    /// Voltages of all antennas: what F-engines give, and X-engines take.
    pub voltages: f64,
    /// What of them goes from one rank to another.
    pub between_ranks: f64,
    /// What of them goes from one host to another.
    pub between_hosts: f64,
    /// Dumps out of all X-engines.
    pub dumps: f64,
    /// Beams.
    pub beams: f64,
    /// A host's link by kind of rank: in and out, all that comes and goes, of the host with the most.
    pub links: Vec<Link>,
}

/// A host's link.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Link {
    /// What the host's ranks do.
    pub role: Role,
    /// Bytes a second into the host.
    pub into: f64,
    /// Bytes a second out of it.
    pub out: f64,
    /// What of `into` is the exchange.
    pub exchange_into: f64,
    /// What of `out` is the exchange.
    pub exchange_out: f64,
}

/// Rates with these ranks. Ranks that are both keep what is for themselves, and hosts what is for ranks of theirs.
pub(super) fn rates(telescope: &Telescope, machine: &Machine, ranks: &[Rank]) -> Rates {
    let voltages = telescope.voltage_bytes();
    let samples = telescope.sample_bytes();
    let dumps = telescope.dump_bytes() / telescope.dump_seconds;
    let beams = telescope.beam_bytes();
    let part = |of: u32, all: u32| (f64::from(of) / f64::from(all)).min(1.0);
    let mut between = (voltages, voltages);
    let links = ranks
        .iter()
        .map(|rank| {
            let gpus = machine.gpus_per_host.min(rank.gpus);
            let antennas = part(rank.antennas.saturating_mul(gpus), telescope.antennas);
            let channels = part(rank.channels.saturating_mul(gpus), telescope.channels);
            let (stays_in, stays_out) = if rank.role == Role::Both { (antennas, channels) } else { (0.0, 0.0) };
            if rank.role == Role::Both {
                between.0 *= 1.0 - 1.0 / f64::from(rank.gpus);
                between.1 *= 1.0 - 1.0 / f64::from(rank.hosts);
            }
            let exchange_into = voltages * channels * (1.0 - stays_in);
            let has_f = telescope.samples != Samples::Channelised && rank.role != Role::X;
            let exchange_out = if has_f { voltages * antennas * (1.0 - stays_out) } else { 0.0 };
            Link {
                role: rank.role,
                into: samples * antennas + exchange_into,
                out: (dumps + beams) * channels + exchange_out,
                exchange_into,
                exchange_out,
            }
        })
        .collect();
    Rates { samples, voltages, between_ranks: between.0, between_hosts: between.1, dumps, beams, links }
}
