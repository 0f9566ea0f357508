//! The conversion planner: the cheapest program that turns one register layout into another.
//!
//! [`plan`] takes two layouts of an array over the registers (`b`, `t`, `r`) of a warp and a cost table, and gives a
//! program, its exact counts, its cost and a lower bound beside it.
//!
//! ```
//! use fringes_layout::layout;
//! use fringes_layout::plan::{Costs, Options, plan};
//!
//! let from = layout!("b<->q3  t0 t1 t2 t3 t4<->q4 q5 q6 q7 q8  r<->q0 q1 q2 ReIm");
//! let to = layout!("b<->ReIm  t0 t1 t2 t3 t4<->q4 q5 q6 q7 q8  r<->q0 q1 q2 q3");
//! let plan = plan(&from, &to, &Costs::NOTE, &Options::default())?;
//! assert!(plan.to_string().starts_with("local transpose b <-> r (q3, ReIm)\n16 permutes; 8.00 SM-cycles"));
//! # Ok::<(), fringes_layout::plan::PlanError>(())
//! ```
//!
//! Which programs are compared:
//!
//! | conversion | programs |
//! |---|---|
//! | permutation of bits, and an offset | sequences of [`Move`]s, searched exactly ([`cheapest`]) |
//! | any linear map, broadcasts and projections too | lane-dependent renamings around one shuffle, with one warp transpose and local transposes at the ends; pairs of registers that mix `b`, one `t` and one `r`; gathers |
//! | both, without an offset, that mix four bits of places at most | with [`Options::exhaustive`]: sequences of layers and `movmatrix`, searched exactly |
//! | both | through shared memory, with up to two local transposes |
//!
//! What is known of the result ([`Optimality`]). *Proven*: its cost is the lower bound for all programs. *In the move
//! set*: no sequence of moves, and no way through shared memory that the table lists, is cheaper. *Exhaustive*: no
//! program of layers is (below). *Best found*: none of these. By exhaustive search over instructions
//! (`tests/plan_proof.rs`): on two lanes no program of selects, permutes and shuffles is cheaper than the plan for any
//! linear map of one or two registers of whole elements or of one or two registers of halves (6, 6 and 168 maps); on
//! four lanes with two registers no program of three instructions is cheaper for any permutation of bits.
//!
//! For every linear map of arrays with 4 bits of places, without shared memory, the plan has been compared with an
//! exhaustive search over layers of selects or permutes around shuffles, gathers and `movmatrix`
//! (`tests/plan_matrices.rs`); it may be dearer. Over all maps, up to the names of registers (for [`Costs::NOTE`] and
//! [`Costs::H200`]):
//!
//! | bits | maps | plan dearer for | of them permutations of bits | all plans together dearer by | one plan at most |
//! |---|---|---|---|---|---|
//! | `t1 r3`, and `b1 r3` | 120 | 0, 0 | 0, 0 | 0, 0 | |
//! | `t2 r2` | 3360 | 775, 663 | 2, 6 | 2.8 %, 2.1 % | 1.67, 1.50 times |
//! | `t3 r1` | 20160 | 252, 4697 | 0, 15 | 0.3 %, 0.3 % | 1.67, 1.50 times |
//! | `b1 t1 r2` | 3360 | 2237, 2237 | 0, 0 | 39.7 %, 35.3 % | 2.75, 2.33 times |
//! | `b1 t2 r1` | 20160 | 18101, 17419 | 2, 6 | 80.7 %, 65.5 % | 3.17, 2.74 times |
//!
//! So sums in which `b` takes part are the planner's weak point. For permutations of bits the plan is dearer by
//! 10.1 % at most, and mostly by less than 1 %.
//!
//! [`Options::exhaustive`] has the planner do that search itself, for arrays of any size, where a conversion mixes four
//! bits of places at most, at most one of them a `b`: bits that stay where they are and that no other bit depends on
//! are not mixed, whatever the registers are called before and afterwards. The plan then costs no more than any
//! sequence, on these bits (filled up to four), of
//!
//! 1. layers: registers packed by at most one select or permute of two each, shuffled by affine maps of the lanes, and
//!    outputs put together by at most one of two each;
//! 2. gathers: outputs put together by one select or permute of two inputs, shuffled whole;
//! 3. `movmatrix` of all registers, where the elements have 16 bits (or the upper part is mixed) and `t2`, which it
//!    would take to `b`, is not mixed.
//!
//! It is not the default because its tables take time when first needed, and are then kept: with optimisation, on one
//! core, about 1.1 s where two of the four bits are lanes and one is `b`, 0.6 s with three lane bits and `b`, 0.4 s
//! with one, and 0.1 s or less without lanes or without `b`.
//!
//! Not proven: that the moves
//! are enough for larger arrays, that lanes which a conversion leaves alone cannot help, and programs that send only a
//! part of an array through shared memory (the lower bound holds for those too).
//!
//! A program through shared memory has one barrier, between its stores and its loads. Where it runs again on the same
//! memory, another is needed before it.

mod arrangement;
mod bound;
mod costs;
mod error;
mod exhaustive;
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
    /// Whether conversions that mix four bits of places at most, at most one of them a `b`, are also searched
    /// exhaustively. The tables for that are computed when first needed, in up to about a second for each kind of
    /// mixed bits and cost table, and kept.
    pub exhaustive: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { shared: true, matrix: true, exhaustive: false }
    }
}

/// What is known about the cost of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Optimality {
    /// It is as low as the bound: no program of these instructions is cheaper.
    Proven,
    /// The cheapest sequence of the planner's moves.
    InMoveSet,
    /// No program of layers of selects or permutes around shuffles, of gathers and of `movmatrix` on the mixed bits is
    /// cheaper ([`Options::exhaustive`]).
    Exhaustive,
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
