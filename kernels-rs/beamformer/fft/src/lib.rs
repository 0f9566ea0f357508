#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! Kernels of FFT beams: `beams_256_512_i4_power` and its like.
//!
//! | part of the name | means |
//! |---|---|
//! | `256_512` | inputs and outputs of the transform; a line has as many feeds or fewer |
//! | `i4`, `i8` | voltages `[channel][time][line][feed][pol]`: 4+4 bits, real part high; signed bytes, real first |
//! | `f16`, `power`, `c32` | beams `[channel][time][line][pol][q]`: complex f16; powers in f32; complex f32 |
//!
//! | argument | holds |
//! |---|---|
//! | `voltages` | see above; `i8` at an even address |
//! | `present` | flags `[time][line][feed][pol]`, 0 for voltages that count as zero; empty if all are present |
//! | `gains` | complex f16 `[channel][line][feed][pol]`, the real part in the low half |
//! | `factors` | f32 of each channel, by which beams (or powers) are multiplied |
//! | `phases` | the transform's table `[register][lane]` |
//! | `beams` | see above, at a multiple of 16 bytes |
//! | `channels`, `times`, `lines`, `feeds`, `pols` | sizes |
//! | `unit` | times that a warp does with the same gains |
//!
//! A launch has any number of blocks. The code is in [`form`](mod@form); PTX has one size each.

mod beams;
pub mod form;
mod kernels;
mod registers;
#[cfg(not(target_arch = "nvptx64"))]
mod table;
mod voltages;

pub use beams::{HalfBeams, Powers, Scaled, WideBeams};
pub use kernels::*;
#[cfg(not(target_arch = "nvptx64"))]
pub use table::{Arguments, BeamKernel};
pub use voltages::{Eight, Four, Voltages};
