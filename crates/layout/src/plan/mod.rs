//! The conversion planner: the cheapest program that turns one register layout into another.

mod arrangement;
mod bound;
mod costs;
mod error;
mod gather;
mod grouped;
mod linear;
mod lower;
mod menu;
mod model;
mod moves;
mod pair;
mod planner;
mod search;
mod shared;
mod swizzle;

pub use arrangement::{Arrangement, Bit, LANE_BITS, Shape};
pub use costs::{Costs, Rates};
pub use error::PlanError;
pub use menu::{Neighbour, neighbours};
pub use moves::{Access, Move, permuting};
pub use planner::plan;
pub use search::{Path, cheapest};

use crate::Layout;
use crate::program::{Counts, Program};

/// What a plan may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Whether data may go through shared memory.
    pub shared: bool,
    /// Whether `movmatrix`, `ldmatrix` and `stmatrix` may be used.
    pub matrix: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { shared: true, matrix: true }
    }
}

/// What is known about the cost of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Optimality {
    /// It is as low as the bound: no program of these instructions is cheaper.
    Proven,
    /// The cheapest sequence of the planner's moves.
    InMoveSet,
    /// The best that was found.
    BestFound,
}

/// Lower bounds on the cost of programs for a conversion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// Shuffles (and `movmatrix`) that a program without shared memory needs.
    pub shuffles: u32,
    /// Selects and permutes that a program without shared memory needs.
    pub operations: u32,
    /// Cost that no program without shared memory is below.
    pub registers: f64,
    /// Cost that no program is below, with shared memory or without.
    pub any: f64,
}

/// A conversion's program and what is known about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Layout before.
    pub from: Layout,
    /// Layout afterwards.
    pub to: Layout,
    /// The steps.
    pub moves: Vec<Move>,
    /// The instructions.
    pub program: Program,
    /// How many of which.
    pub counts: Counts,
    /// What they cost.
    pub cost: f64,
    /// What is the least that they could cost.
    pub bound: Bound,
    /// Whether there may be a cheaper program.
    pub optimal: Optimality,
}
