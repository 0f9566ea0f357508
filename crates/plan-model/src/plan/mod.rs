//! The plan: ranks, loads, bytes, memory, power, and what one more GPU buys.
//!
//! Everything follows from *needs*: how many GPUs a resource alone asks for, were work divisible at will. An F-engine's
//! needs grow with antennas, an X-engine's with channels; ranks have whole antennas and whole channels.
//!
//! ```text
//! need = demand of all ranks / what one GPU gives and may be used of it
//! load of a rank = need of F x its antennas / antennas + need of X x its channels / channels, at most 1
//! ```

mod gain;
mod needs;
mod power;
mod ranks;
mod rates;

use serde::Serialize;

pub use gain::MoreBandwidth;
pub use needs::Resource;
pub use power::{Operation, Power};
pub use ranks::{Bottleneck, Rank, Role};
pub use rates::{Link, Rates};

use crate::coefficients::{Coefficients, is_mixed};
use crate::error::PlanError;
use crate::machine::Machine;
use crate::memory::RankMemory;
use crate::telescope::{Precision, Products, Samples, Telescope, Voltages};

/// What a telescope needs of a machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// The question's telescope.
    pub telescope: Telescope,
    /// The question's machine.
    pub machine: Machine,
    /// The GPU that the rates are of.
    pub gpu: String,
    /// Kinds of ranks: F-engines (none where voltages come), X-engines with beams; or one kind that is both.
    pub ranks: Vec<Rank>,
    /// GPUs that F-engines, X-engines and beams alone would keep busy, in fractions of what may be used.
    pub compute: Compute,
    /// Bytes a second.
    pub rates: Rates,
    /// Bytes from one rank to another for one block, of the ranks with the most antennas and channels.
    pub message_bytes: u64,
    /// Seconds of signal in a block.
    pub block_seconds: f64,
    /// Host memory of the exchange for each kind of rank, of the rank that has the most.
    pub rank_memory: Vec<RankMemory>,
    /// GPU memory for each kind of rank, bytes, of the rank that has the most.
    pub gpu_memory: Vec<f64>,
    /// Energy by operation.
    pub power: Vec<Power>,
    /// Watts of all boards at their limit.
    pub most_watts: f64,
    /// The resource that is used most.
    pub bottleneck: Bottleneck,
    /// What a GPU more of each kind of rank buys.
    pub one_more: Vec<MoreBandwidth>,
    /// Where the model goes beyond what was measured.
    pub notes: Vec<String>,
}

/// GPUs that an operation alone would keep busy.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Compute {
    /// F-engines.
    pub f: f64,
    /// X-engines.
    pub x: f64,
    /// Beams.
    pub beams: f64,
}

impl Plan {
    /// The plan for a telescope on a machine, with rates of an H200.
    pub fn new(telescope: &Telescope, machine: &Machine) -> Result<Self, PlanError> {
        Self::with_coefficients(telescope, machine, &Coefficients::h200()?)
    }

    /// The plan with other rates.
    pub fn with_coefficients(
        telescope: &Telescope,
        machine: &Machine,
        coefficients: &Coefficients,
    ) -> Result<Self, PlanError> {
        telescope.check()?;
        machine.check()?;
        let block = machine.block(telescope);
        block.total_bytes()?;
        let needs = needs::needs(telescope, machine, coefficients)?;
        let ranks = ranks::ranks(telescope, machine, &needs)?;
        let rates = rates::rates(telescope, machine, &ranks);
        let holders = |antennas: bool| {
            let share = |rank: &Rank| if antennas { rank.antennas } else { rank.channels };
            ranks.iter().map(share).max().unwrap_or(0)
        };
        let (antennas, channels) = (holders(true), holders(false));
        let memory = |rank: &Rank| block.memory(rank.antennas, rank.channels, machine.lanes, machine.queue_depth);
        let rank_memory = ranks.iter().map(memory).collect::<Result<Vec<_>, _>>()?;
        // Where voltages come from elsewhere, a message is what one antenna sends.
        let message_antennas = if telescope.samples == Samples::Channelised { 1 } else { antennas };
        let (power, energy) = power::power(telescope, machine, coefficients, &needs, &ranks)?;
        let gpus: u32 = ranks.iter().map(|rank| rank.gpus).sum();
        Ok(Self {
            gpu: coefficients.gpu.clone(),
            compute: needs::compute(&needs),
            rates,
            message_bytes: block.part(message_antennas, channels)?,
            block_seconds: f64::from(machine.frames_per_block)
                * f64::from(machine.spectra_per_frame)
                * f64::from(telescope.channels)
                / telescope.bandwidth_hz,
            rank_memory,
            gpu_memory: ranks.iter().map(|rank| needs::gpu_memory(telescope, machine, rank)).collect(),
            power,
            most_watts: f64::from(gpus) * coefficients.board_watts.value,
            bottleneck: ranks::bottleneck(&ranks)?,
            one_more: gain::one_more(telescope, &ranks),
            notes: [notes(telescope), energy].concat(),
            ranks,
            telescope: telescope.clone(),
            machine: machine.clone(),
        })
    }

    /// GPUs of all kinds of ranks.
    pub fn gpus(&self) -> u32 {
        self.ranks.iter().map(|rank| rank.gpus).sum()
    }

    /// Hosts of all kinds of ranks.
    pub fn hosts(&self) -> u32 {
        self.ranks.iter().map(|rank| rank.hosts).sum()
    }
}

/// Where the model goes beyond what was measured.
fn notes(telescope: &Telescope) -> Vec<String> {
    let mut notes = Vec::new();
    let mut note = |text: &str| notes.push(text.to_owned());
    if telescope.samples != Samples::Channelised {
        if telescope.samples == Samples::Complex {
            note("F: complex samples were measured at 1024 channels alone; that rate is used for all");
        } else if is_mixed(telescope.channels) && telescope.precision == Precision::Single {
            note(
                "F: numbers of channels with a factor of 3 or 5 were measured at eight of them; rates between are taken from those",
            );
        } else if !telescope.channels.is_power_of_two() || telescope.channels < 64 {
            note("F: the general kernels; measured from 64 to 3072 channels, the nearest rate is used outside");
        }
        if telescope.precision == Precision::Single && telescope.sample_bits != 10 {
            note("F: rates were measured with samples of 10 bits");
        }
        if telescope.voltages == Voltages::Half {
            note(
                "F: rates were measured with voltages of 8 bits; f16 ones were slower by 3 to 8 % at 1024 and 4096 channels",
            );
        }
    }
    let inputs = telescope.inputs();
    if inputs > 2048.0 {
        note("X: measured up to 2048 inputs; that rate is used beyond");
    } else if inputs < 64.0 {
        note("X: measured from 64 inputs on; below, the rate is taken to fall with the inputs");
    }
    if telescope.voltages != Voltages::Bits8 {
        note("X: what the public call reaches of the kernel's rate was measured with 8 bits");
    }
    if let Some(beams) = telescope.beams {
        if telescope.antennas > 1024 || beams.count > 1024 {
            note("beams: measured up to 1024 beams of 1024 inputs; those rates are used beyond");
        }
        if telescope.voltages != Voltages::Bits8 {
            note("beams: rates were measured with voltages of 8 bits");
        }
        if matches!(beams.products, Products::Powers { spectra } if spectra != 16) {
            note("beams: detected ones were measured with powers of 16 spectra");
        }
    }
    notes
}
