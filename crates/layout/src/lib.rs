//! Where each element of an array lies: in which register of which lane, at which address of a memory.

pub mod frb;
pub mod picture;
pub mod plan;
pub mod program;
pub mod solve;

pub use fringes_layout_core::*;
