#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! The F-engine's kernels: packed samples to quantised, delay-corrected channels in two passes, `columns_b10_m1_r8` and
//! `rows_128_i8` and their like.
//!
//! | part of the name | means |
//! |---|---|
//! | `b8`, `b10` | bits of a packed sample ([`decode`](fringes_kernels_common::decode::eight)) |
//! | `m1`, `m2` | up to 16 or 32 taps of the filter ([`columns`]) |
//! | `r8`, `r16` | points of the first digit of the transform, `R` |
//! | `rows_128` | points of the rest of the transform, so `128 R` channels ([`rows`]) |
//! | `i8`, `i4`, `f16`, `f32` | format of the output ([`quantise`](fringes_kernels_common::quantise)) |
//!
//! `channelize_1024_i8` and its like are both passes in one launch ([`fused`]).
//!
//! Between the passes points lie in a workspace that stays in L2. Samples are read once from device memory, values
//! written once.

pub mod butterfly;
pub mod columns;
pub mod fused;
pub mod job;
mod kernels;
pub mod post;
pub mod rows;

pub use kernels::*;
