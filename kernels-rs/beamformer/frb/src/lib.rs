#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! Kernels of FRB beams: from voltages of lines of feeds to detected, upchannelised beams in one pass. Beams' voltages
//! never leave the multiprocessor.
//!
//! | part of the name `frb_256_512_128_i4_4` | means |
//! |---|---|
//! | `256_512` | inputs and outputs of the transform along a line; a line has as many feeds or fewer |
//! | `128` | times of the transform that upchannelises |
//! | `i4`, `i8` | voltages: a byte of 4+4 bits, the real part high; two signed bytes, the real part first |
//! | `4`, `any` | lines: exactly so many, with weights in registers; any number |
//!
//! `formed_256_512_i4` is the first half alone: voltages of the beams of four full lines, as f16. What it reads is at
//! [`FormedGiven`].
//!
//! | argument | holds |
//! |---|---|
//! | `voltages` | `[time][frequency][pol][line][feed]`, with strides of the first four; feeds lie side by side |
//! | `good` | flags `[frequency][block of times]`, 0 for blocks that are left out; empty if none is |
//! | `weights` | words of f16 `[frequency][pol][out][line][pair][re, im][lane]`, see [`lines`] |
//! | `phases` | the line's transform's table `[register][lane]`, with sums relabelled as [`lines`] says |
//! | `slots` | `[frequency][part][register][lane]`: word of the row of an output, or `UNUSED` |
//! | `rows` | `[frequency][part][beam]`: word of the row that a beam is |
//! | `time_phases` | the table of the transform over time, see [`upchannelise`] |
//! | `factors` | `[frequency][fine]`, in the order of the results |
//! | `powers` | f32 `[frequency][fine][time][out][beam][product]` |
//!
//! The code is in [`form`](mod@form), whose documentation counts what must be done.

mod alone;
pub mod detect;
pub mod form;
mod formed;
mod kernels;
pub mod lines;
pub mod registers;
mod sizes;
#[cfg(not(target_arch = "nvptx64"))]
mod table;
pub mod upchannelise;
mod voltages;

pub use form::divided;
pub use formed::{FormedGiven, FormedSizes};
pub use kernels::*;
pub use registers::Registers;
pub use sizes::Sizes;
#[cfg(not(target_arch = "nvptx64"))]
pub use table::{FormedKernel, FrbKernel};
pub use voltages::{Eight, Four, OFFSET, SIGNED, Voltages};
