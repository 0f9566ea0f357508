//! Runs GPU kernels on the CPU, thread by thread, and finds their faults.
//!
//! A kernel written against `fringes-device` compiles for the host as well; there each of its intrinsics calls into this
//! crate. [`Launch`] runs the kernel with one stackful coroutine per CUDA thread.
//!
//! Two sides use this crate: tests, through [`Launch`], [`GlobalMemory`] and [`Report`]; and the host twins of the intrinsics,
//! through [`thread`], [`warp`], [`block`] and [`memory`].

mod asynchronous;
pub mod block;
mod buffer;
mod fault;
mod launch;
mod machine;
mod mbarrier;
pub mod memory;
mod order;
mod region;
mod report;
mod schedule;
mod shadow;
mod site;
pub mod thread;
mod trace;
pub mod warp;

pub use buffer::{Buffer, Element, GlobalMemory};
pub use fault::{Fault, FaultKind};
pub use launch::Launch;
pub use report::{AccessKind, Count, LineAccesses, Report};
