#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! FFT microkernels from registers to registers: kernels that run them once, and kernels that take their cycles.
//!
//! [`note`] has the FFT note's in all its variants, [`sizes`] the generated ones. Kernels of one warp a block run a
//! transform on arrays of device memory; kernels whose names begin with `time_` repeat it on what they have in
//! registers (see [`measure`]).

pub mod measure;
pub mod note;
pub mod sizes;
#[cfg(not(target_arch = "nvptx64"))]
mod table;

#[cfg(not(target_arch = "nvptx64"))]
pub use table::{NOTE, NoteVariant, Phases, TIMED, Timed};
