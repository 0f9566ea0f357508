//! What an FX correlator and beamformer needs, computed from measured rates.
//!
//! ```text
//! Telescope ─┐                        ┌─ ranks, needs by resource, bottleneck
//! Machine   ─┼─ Plan::new ── Plan ────┼─ bytes a second, all-to-all volume, memory
//! Exchange  ─┘      ^                 └─ power, what one more GPU buys
//!             Coefficients: rows of measurement records
//! ```
//!
//! [`exchange`] simulates the all-to-all on a fat tree, [`published`] compares the model with telescopes that were
//! described elsewhere. Nothing here measures or calls a GPU.
//!
//! ```
//! use fringes_plan_model::{Machine, Plan, Resource, Telescope};
//!
//! let telescope = Telescope { antennas: 64, bandwidth_hz: 856e6, channels: 4096, ..Telescope::default() };
//! let plan = Plan::new(&telescope, &Machine::default())?;
//! assert!(plan.bottleneck.load <= 1.0); // it keeps up
//! assert_eq!(plan.rates.voltages, 64.0 * 2.0 * 856e6 * 2.0); // bytes a second from F to X
//! # Ok::<(), fringes_plan_model::PlanError>(())
//! ```
#![forbid(unsafe_code)]

mod coefficients;
mod error;
pub mod exchange;
mod machine;
mod memory;
mod plan;
pub mod published;
mod telescope;

pub use coefficients::{BoardPower, Coefficients, Curve, Difference, Point};
pub use error::PlanError;
pub use machine::{Machine, Roles};
pub use memory::{Block, RankMemory};
pub use plan::{Bottleneck, Compute, Link, MoreBandwidth, Operation, Plan, Power, Rank, Rates, Resource, Role};
pub use telescope::{Beams, Precision, Products, Samples, Telescope, Voltages};
