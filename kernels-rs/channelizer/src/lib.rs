#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! The F-engine's kernels: packed samples to quantised, delay-corrected channels, `channelize_b10_t16_i8` and its like.
//!
//! | part of the name | means |
//! |---|---|
//! | `b8`, `b10` | bits of a packed sample ([`decode`]) |
//! | `t4`, `t8`, `t16` | taps of the filter ([`fir`]) |
//! | `i8`, `f32` | format of the output ([`quantise`]) |
//!
//! PTX has one number of channels each, 256 to 4096 ([`transform`]).
//!
//! # A block
//! has one [`job::Job`]: some spectra of one input. The filtered spectra lie in shared memory, all of them; there they are transformed in
//! place, the threads of a spectrum on their own; their values replace them there, and leave as runs of neighbouring spectra. Samples are read once from
//! device memory (and their overlap from L2), values written once.

pub mod butterfly;
pub mod complex;
pub mod decode;
pub mod fir;
pub mod job;
mod kernels;
pub mod phase;
pub mod post;
pub mod quantise;
pub mod run;
pub mod transform;
pub mod write;

pub use kernels::*;
