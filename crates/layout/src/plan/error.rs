//! Why a conversion is refused.

use fringes_layout_core::{LayoutError, Name};

use crate::program::Mismatch;

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The layout to come needs a bit of the index of which the layout before holds only one value.
    #[error("bit {bit} is needed but the layout before does not hold it")]
    NotHeld {
        /// The logical bit.
        bit: Name,
    },
    /// A physical bit that a register array does not have.
    #[error("physical bit {bit}: expected b, r, t0 to t4 or w")]
    Place {
        /// The physical bit.
        bit: Name,
    },
    /// More bits inside a register than 8-bit elements have, or different numbers of them before and afterwards.
    #[error("{actual} bits b, expected {expected}")]
    Parts {
        /// Bits `b` of the layout to come.
        actual: usize,
        /// Bits `b` that there can be.
        expected: usize,
    },
    /// More bits than the planner handles.
    #[error("{actual} bits of physical space, at most {limit}")]
    TooMany {
        /// Bits.
        actual: usize,
        /// Limit.
        limit: usize,
    },
    /// A bit moves between warps, and a program is one warp's.
    #[error("bit {bit} moves between warps")]
    Warps {
        /// The logical bit.
        bit: Name,
    },
    /// The options leave no way.
    #[error("no program within the options")]
    NoWay,
    /// The layouts themselves.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The program that was made is refused by its check: a fault of the planner.
    #[error("the program does not convert: {0}")]
    Program(#[from] Mismatch),
}
