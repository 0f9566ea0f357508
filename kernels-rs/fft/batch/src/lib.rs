#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! Kernels of batched transforms: `fft_256_512_i4_power` and its like.
//!
//! | part of the name | means |
//! |---|---|
//! | `256_512` | inputs and outputs of a transform |
//! | `f16`, `i8`, `i4` | samples `[transform][n]`: complex f16; signed bytes, real first; 4+4 bits, real part high |
//! | `f16`, `f16_saturating`, `power` | spectra `[transform][q]`: complex f16; clamped to finite ones; powers in f32 |
//!
//! Arguments: samples as words, the table of phases `[register][lane]`, spectra, the number of transforms. All views
//! start at multiples of 16 bytes. A launch has any number of blocks. The code is in [`batch`]; PTX has one size each.

pub mod batch;
mod kernels;
#[cfg(not(target_arch = "nvptx64"))]
mod table;

pub use kernels::*;
#[cfg(not(target_arch = "nvptx64"))]
pub use table::{BatchKernel, Entry, Run};
