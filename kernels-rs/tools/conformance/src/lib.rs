#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! Kernels that show whether every intrinsic of `fringes-device` means the same on a GPU as in the emulator.
//!
//! A [`Case`] is one kernel from words to words, with what it needs to be run: launch, inputs, and how outputs are
//! compared. The kernels are compiled twice, to PTX (`ptx/`) and for the host. `tools/src/conformance` runs both on
//! the same inputs, many rounds of random words mixed with edge values, and compares. The tests of this crate run every
//! case in the emulator, and check that every intrinsic has a case.
//!
//! Cases are declared with two macros: `elementwise!` for functions of a thread's own words, `kernels!` for everything
//! else.

#[macro_use]
pub mod macros;
#[cfg(not(target_arch = "nvptx64"))]
pub mod bounds;
#[cfg(not(target_arch = "nvptx64"))]
mod case;
pub mod cases;
#[cfg(not(target_arch = "nvptx64"))]
pub mod products;
#[cfg(not(target_arch = "nvptx64"))]
mod random;
#[cfg(not(target_arch = "nvptx64"))]
mod run;

#[cfg(not(target_arch = "nvptx64"))]
pub use case::{Case, Compare, Entry, Oracle, Tensor, three};
#[cfg(not(target_arch = "nvptx64"))]
pub use cases::cases;
#[cfg(not(target_arch = "nvptx64"))]
pub use random::Random;
#[cfg(not(target_arch = "nvptx64"))]
pub use run::{Mismatch, compare, emulate, expected};
