#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! FFT microkernels in the registers of a warp: functions that kernels call.
//!
//! | module | holds |
//! |---|---|
//! | [`generated`] | a [`Transform`] for each size, from the solver's assignments |
//! | [`note`] | the FFT note's transform from 256 to 512, to compare with |
//! | the root | formats of samples ([`Format`]), kinds of sums ([`Sums`]), kinds of results ([`Spectra`]) |
//!
//! This crate declares no kernel, so that others can use it: `fringes-kernels-fft-batch` has those for arrays of
//! transforms.
//!
//! # Splits
//! The highest bit `q_j` that a contraction creates and the lowest bit `n_k` that it sums have `j + k` one less than
//! the output's bits, and so `E(q_j, n_k)` is 1 or -1 and `q_j` has no other phase in this contraction. With `e` the
//! sum of the terms with `n_k = 0` and `o` that of the others, the results are `e + o` and `e - o`. The tensor cores
//! compute `e`, then `e + o` in the same accumulators; `e - o` is `2 e - (e + o)`, one fused multiply-add. That halves
//! their work, and the matrix.
//!
//! # Floor
//! 256 to 512 with two factors of four bits: 16 `m16n8k16` (on an H200 1.56 SM-cycles each: 25), 48 half2 operations
//! (0.276 each: 13.2), 16 issue cycles. Measured: 37.9 SM-cycles from registers to registers, about the sum of both
//! pipes; see docs/fft.md. From and to device memory the bytes count: 3072 with samples of f16, 187 SM-cycles at 4.3
//! TB/s.

mod agree;
mod format;
pub mod generated;
pub mod note;
mod spectra;
pub mod sums;
mod transform;

pub use format::{F16, Format, I4, I8};
pub use spectra::{HalfSpectra, Powers, SaturatingSpectra, Spectra};
pub use sums::{Half, Saturating, Sums, Wide};
pub use transform::Transform;
