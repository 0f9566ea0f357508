#![cfg_attr(target_arch = "nvptx64", no_std)]
//! What the kernels of the correlator share: where rows lie ([`rows`]), which part of the visibilities a block computes
//! ([`tile`]), and the orders of baselines ([`baseline`]).

pub mod baseline;
pub mod rows;
pub mod tile;
