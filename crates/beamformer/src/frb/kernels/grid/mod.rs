//! The kernels of a grid: beams by products of matrices, of any lines and feeds, after finer channels where there are
//! any.

mod channels;
mod launch;
mod positions;
mod prepared;
mod shape;
mod tables;
mod texts;
mod voltages;

pub(super) use launch::{Grid, Launch, Out};
pub use positions::FrbInterpolationKernels;
pub(in crate::frb) use prepared::GridPrepared;
pub use shape::{GridKind, GridShape, VOLTAGES};
pub use tables::{GridParts, GridTables};
pub use voltages::{FrbVoltageKernels, FrbVoltageOutput};
