//! The kernels of a grid: beams by products of matrices.

mod shape;
mod tables;

pub use shape::{GridKind, GridShape, VOLTAGES};
pub use tables::{GridParts, GridTables};
