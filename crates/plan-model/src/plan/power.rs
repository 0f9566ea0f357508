//! Power by operation: measured where it was, else the board's limit.

use serde::Serialize;

use super::needs::{Need, compute};
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Power {
    /// The operation.
    pub operation: Operation,
    /// Watts by the energy that was measured; none where it was not measured.
    pub measured: Option<f64>,
    /// Watts at most: GPUs that the operation keeps busy, at the board's limit.
    pub most: f64,
}

/// Power of all operations that there are.
pub(super) fn power(
    telescope: &Telescope,
    machine: &Machine,
    coefficients: &Coefficients,
    needs: &[Need],
) -> Result<Vec<Power>, PlanError> {
    let busy = compute(needs);
    let most = |gpus: f64| gpus * machine.gpu_share * coefficients.board_watts.value;
    let mut all = Vec::new();
    if busy.f > 0.0 {
        all.push(Power { operation: Operation::F, measured: None, most: most(busy.f) });
    }
    all.push(Power { operation: Operation::X, measured: None, most: most(busy.x) });
    if let Some(beams) = telescope.beams {
        let a_joule = coefficients.beam_operations_a_joule(f64::from(beams.count), beams.products)?;
        let measured = a_joule.map(|operations| telescope.beam_operations() / operations);
        all.push(Power { operation: Operation::Beams, measured, most: most(busy.beams) });
    }
    Ok(all)
}
