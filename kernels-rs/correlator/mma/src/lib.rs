#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
// Without a feature that chooses kernels a PTX has none, and nothing is used.
#![cfg_attr(target_arch = "nvptx64", allow(unused_macros, unused_imports, dead_code))]
//! Kernels of the correlator for sm_80: rows and heaps into visibilities.
//!
//! | kernel | in | out |
//! |---|---|---|
//! | `correlate_i4`, `_i8`, `_f16` | rows of such samples | `[part][channel][baseline]` of i32 or f32 pairs |
//! | `correlate_heaps_i4`, `_i8`, `_f16` | heaps `[batch][antenna][channel][spectrum][pol]` | the same |
//! | `..._add` | | added to `[part][channel][baseline]` of i64 or f64 pairs |
//!
//! *Rows* are `[channel][time / R][input][R]` complex samples: 128 bytes, time fastest ([`rows`]); R is 128, 64 or 32.
//! Baselines are the packed lower triangle, `a (a + 1) / 2 + b` for inputs `a >= b`. [`kernels`] lists the shapes that
//! each kernel has.
//!
//! The entry points are thin: [`mod@correlate`] holds the code. (For the emulator the larger functions are kept apart,
//! or compiling so many kernels would take minutes.) A PTX has the kernels of one format and order, which a feature of
//! this crate chooses.

pub mod correlate;
mod epilogue;
pub mod format;
pub mod kernels;
pub mod launch;
pub mod order;
mod places;
pub mod shape;
mod source;
pub mod sums;

pub use fringes_kernels_correlator_core::{rows, tile};

pub use kernels::*;
