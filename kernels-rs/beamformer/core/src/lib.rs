#![cfg_attr(target_arch = "nvptx64", no_std)]
//! What the kernels of tied-array beams share: how rows of samples become operands ([`source`]), what there is to do
//! ([`work`]), how sums become beams in device memory ([`output`]), incoherent beams beside
//! them ([`incoherent`]), and powers of samples ([`powers`]).
//!
//! Tensor cores of every generation have the same operands and sums in a lane's registers, for 16 times of a warp: `A`
//! as `mma.m16n8k32` takes it, and of each eight columns four sums.

pub mod incoherent;
pub mod output;
pub mod powers;
pub mod source;
pub mod sums;
pub mod work;

pub use fringes_kernel_abi::tied_array;
