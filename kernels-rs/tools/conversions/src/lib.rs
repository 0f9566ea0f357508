#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! Conversions between layouts as kernels: what `fringes_layout::program` emits, run on every element.
//!
//! `generated` is written by `cargo xtask conversions`. The tests run every kernel in the emulator, `fringes-tools
//! validate` on a GPU, and `fringes-tools bench` takes the cycles of some ([`timed`]).

pub mod generated;
#[cfg(not(target_arch = "nvptx64"))]
mod table;
pub mod timed;

#[cfg(not(target_arch = "nvptx64"))]
pub use generated::CONVERSIONS;
#[cfg(not(target_arch = "nvptx64"))]
pub use table::{Conversion, Counts};
