//! Why a chain has no solution.

use thiserror::Error;

use crate::{LayoutError, Name};

/// Why a chain has no solution.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SolveError {
    /// A layout or a name is refused.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// A step uses a bit that its array does not have.
    #[error("{step}: there is no bit {bit} to sum or to depend on")]
    Missing {
        /// The step's result.
        step: String,
        /// The bit.
        bit: Name,
    },
    /// A step creates a bit that its array has.
    #[error("{step}: bit {bit} cannot be created, the array has it already")]
    Exists {
        /// The step's result.
        step: String,
        /// The bit.
        bit: Name,
    },
    /// A bit is listed twice, or as summed and as kept.
    #[error("{step}: bit {bit} is listed twice")]
    Twice {
        /// The step's result.
        step: String,
        /// The bit.
        bit: Name,
    },
    /// The bits of a split are not those of a sum and its result.
    #[error("{step}: it cannot be split at {bit}, which {reason}")]
    Split {
        /// The step's result.
        step: String,
        /// The bit.
        bit: Name,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A phase that the transform needs can be applied nowhere.
    #[error("the phase of ({created}, {summed}) is needed, but {summed} is summed before {created} is created")]
    Phase {
        /// Output bit.
        created: Name,
        /// Input bit.
        summed: Name,
    },
    /// No atom that can be used.
    #[error("no product fits: {reason}")]
    Atom {
        /// Why.
        reason: String,
    },
    /// An array has more bits than the search can hold.
    #[error("{array}: {actual} index bits, at most {limit} can be searched")]
    TooManyBits {
        /// The array.
        array: String,
        /// Its bits.
        actual: usize,
        /// The limit.
        limit: usize,
    },
    /// A fixed or partly fixed layout disagrees with the array.
    #[error("{array}: its layout is fixed, but {reason}: {bit}")]
    Boundary {
        /// The array.
        array: String,
        /// What is wrong.
        reason: &'static str,
        /// The bit.
        bit: Name,
    },
    /// No assignment lets this step be done: the conversions and atoms allowed lead to none.
    #[error("{step}: no reachable layout lets it be done: {reason}")]
    Step {
        /// The step's result.
        step: String,
        /// What is in the way.
        reason: String,
    },
    /// The chain needs more registers than allowed.
    #[error("{step}: at least {needed} registers are needed, {limit} are allowed")]
    Registers {
        /// The step's result, or the whole chain.
        step: String,
        /// Least number found.
        needed: usize,
        /// The limit.
        limit: usize,
    },
}

impl SolveError {
    /// A search without a limit on the cost found nothing and says no more.
    pub(super) fn none(problem: &super::Problem) -> Self {
        Self::Step { step: problem.chain.name.clone(), reason: "nothing was found".into() }
    }
}
