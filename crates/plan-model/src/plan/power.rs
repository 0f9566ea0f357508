//! Power by operation: measured where it was, else the board's limit.
//!
//! ```text
//! watts by energy = operations or samples a second x joules of one
//! measured        = watts by energy, of all operations of a rank no more than its GPUs' boards take
//! ```

use serde::Serialize;

use super::needs::{Need, compute};
use super::ranks::{Rank, Role};
use crate::coefficients::Coefficients;
use crate::error::PlanError;
use crate::machine::Machine;
use crate::telescope::Telescope;

/// What takes energy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Operation {
    /// F-engines.
    F,
    /// X-engines.
    X,
    /// Beams.
    Beams,
}

impl Operation {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::F => "F",
            Self::X => "X",
            Self::Beams => "beams",
        }
    }
}

/// Watts of an operation, boards of GPUs alone: no hosts, no network.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Power {
    /// The operation.
    pub operation: Operation,
    /// Watts by the energy that was measured, no more than the boards of its ranks take; none where it was not
    /// measured.
    pub measured: Option<f64>,
    /// The same for one GPU of its ranks, on average.
    pub a_gpu: Option<f64>,
    /// The GPU that the energy was measured on.
    pub gpu: Option<String>,
    /// Watts at most: GPUs that the operation keeps busy, at the board's limit. Where the energy that was measured is
    /// more than the limit pays for in that time, they are busy longer: no less than `measured`.
    pub most: f64,
}

/// What an operation asks for.
struct Demand {
    operation: Operation,
    /// Watts by energy, and the curve that it is of.
    energy: Option<(f64, &'static str)>,
    /// GPUs that it keeps busy by its rate.
    busy: f64,
}

/// Power of all operations that there are, and where it goes beyond what was measured.
pub(super) fn power(
    telescope: &Telescope,
    machine: &Machine,
    coefficients: &Coefficients,
    needs: &[Need],
    ranks: &[Rank],
) -> Result<(Vec<Power>, Vec<String>), PlanError> {
    let limit = coefficients.board_watts.value;
    let demands = demands(telescope, machine, coefficients, needs)?;
    let mut notes = energy_notes(telescope, coefficients, &demands)?;
    let mut all = Vec::new();
    for demand in &demands {
        let others = demands.iter().filter(|other| on_one_rank(ranks, demand.operation, other.operation));
        let together: f64 = others.filter_map(|other| other.energy).map(|energy| energy.0).sum();
        let gpus = gpus(ranks, demand.operation);
        let share = (gpus * limit / together).min(1.0);
        let measured = demand.energy.map(|energy| energy.0 * share);
        let busy = demand.busy * limit;
        let name = demand.operation.name();
        if let Some((watts, _)) = demand.energy.filter(|energy| energy.0 > 1.01 * busy) {
            notes.push(format!(
                "{name}: by energy it takes {:.2} times as many GPUs, at the board's limit, as compute asks for: rates are \
                 of short runs",
                watts / busy
            ));
        }
        if demand.energy.is_some() && share < 1.0 {
            notes.push(format!(
                "{name}: by energy its ranks would take {:.0} W a GPU, and the board's limit is {limit:.0} W: they do not \
                 keep up in long runs",
                together / gpus
            ));
        }
        let gpu = match demand.energy {
            Some((_, curve)) => Some(coefficients.curve(curve)?.gpu.as_ref().unwrap_or(&coefficients.gpu).clone()),
            None => None,
        };
        all.push(Power {
            operation: demand.operation,
            measured,
            a_gpu: measured.map(|watts| watts / gpus),
            gpu,
            most: busy.max(measured.unwrap_or(0.0)),
        });
    }
    Ok((all, notes))
}

fn demands(
    telescope: &Telescope,
    machine: &Machine,
    coefficients: &Coefficients,
    needs: &[Need],
) -> Result<Vec<Demand>, PlanError> {
    let busy = compute(needs);
    let share = machine.gpu_share;
    let mut all = Vec::new();
    if busy.f > 0.0 {
        let joules = coefficients.f_joules_a_sample(telescope)?;
        let energy = joules.map(|joules| (telescope.sample_rate() * joules, "f_energy_half"));
        all.push(Demand { operation: Operation::F, energy, busy: busy.f * share });
    }
    let a_joule = coefficients.x_operations_a_joule(telescope.inputs(), telescope.voltages)?;
    let energy = a_joule.map(|operations| (telescope.correlation_operations() / operations, "x_energy_i8"));
    all.push(Demand { operation: Operation::X, energy, busy: busy.x * share });
    if let Some(beams) = telescope.beams {
        let a_joule = coefficients.beam_operations_a_joule(f64::from(beams.count), beams.products)?;
        let energy = a_joule.map(|operations| (telescope.beam_operations() / operations, "beams_energy_512"));
        all.push(Demand { operation: Operation::Beams, energy, busy: busy.beams * share });
    }
    Ok(all)
}

/// Whether a rank does an operation.
fn does(rank: &Rank, operation: Operation) -> bool {
    rank.role == Role::Both || (rank.role == Role::F) == (operation == Operation::F)
}

/// Whether two operations are done by the same ranks.
fn on_one_rank(ranks: &[Rank], one: Operation, other: Operation) -> bool {
    ranks.iter().any(|rank| does(rank, one) && does(rank, other))
}

/// GPUs of the ranks that do an operation.
fn gpus(ranks: &[Rank], operation: Operation) -> f64 {
    ranks.iter().filter(|rank| does(rank, operation)).map(|rank| f64::from(rank.gpus)).sum()
}

/// Where energy was not measured, or at other sizes.
fn energy_notes(
    telescope: &Telescope,
    coefficients: &Coefficients,
    demands: &[Demand],
) -> Result<Vec<String>, PlanError> {
    let mut notes = Vec::new();
    for demand in demands {
        let size = match demand.operation {
            Operation::F => f64::from(telescope.channels),
            Operation::X => telescope.inputs(),
            Operation::Beams => continue,
        };
        let outside = match demand.energy {
            Some((_, curve)) => {
                let (first, last) = coefficients.curve(curve)?.ends()?;
                size < first || size > last
            }
            None => false,
        };
        let text = match (demand.operation, demand.energy.is_some()) {
            (Operation::F, false) => "F: energy was measured in half precision with 16 taps alone, 10 bits to 8",
            (Operation::F, true) if outside => {
                "F: energy was measured with 1024 and 4096 channels; outside, a busy GPU is taken to need the same power"
            }
            (Operation::X, false) => "X: energy was measured with voltages of 8 bits alone",
            (Operation::X, true) if outside => {
                "X: energy was measured with 128 and 1024 inputs; beyond, that of an operation stays, below it grows"
            }
            _ => continue,
        };
        notes.push(text.to_owned());
    }
    Ok(notes)
}
