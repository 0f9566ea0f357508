#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! Kernels of beams of a grid of feeds by products of matrices: from voltages to powers, or to voltages of beams. They
//! take any number of lines, feeds, beams and outs, and any outputs of a line's transform.
//!
//! | part of the name `grid_powers_1_6_i4` | means |
//! |---|---|
//! | `powers`, `voltages` | what comes out |
//! | `1_6` | lines of up to 8 x 1 of up to 8 x 6 feeds, with the matrix along a line in registers |
//! | `any` | any lines and feeds |
//! | `i4`, `i8`, `f16` | voltages: a byte of 4+4 bits, the real part high; two signed bytes; two f16, of channels |
//!
//! | argument | holds |
//! |---|---|
//! | `voltages` | `[block][frequency][fine][pol][line][feed]`, with strides of the first five; feeds lie side by side |
//! | `good` | flags `[frequency][block]`, 0 for blocks that are left out; empty if none is |
//! | `gains` | words of f16 `[frequency][pol][line][quad][feed of the quad][(re, re), (-im, im)]` |
//! | `phases` | fragments of the matrix along a line, see [`fragments`] |
//! | `matrix` | fragments of the matrix of lines, see [`fragments`] |
//! | `factors` | f32 `[frequency][fine out]`, in the order of the results |
//! | `places` | of voltages: `[out][beam]`, where a beam goes, or [`NOWHERE`] |
//! | `results` | f32 powers `[frequency][fine out][time][out][beam][product]`, or voltages with strides |
//!
//! `channels_16` and the like upchannelise the voltages before: they transform the voltages of each feed over time, 16
//! times or so many, to f16. That commutes with both products, and there are fewer feeds than beams. See [`channels`].
//!
//! `interpolate` makes powers at positions between beams of powers of all of them, see
//! [`interpolate`](mod@interpolate).
//!
//! A result is a sum over `blocks` blocks and `group` neighbouring fine channels. Voltages that are not upchannelised
//! have blocks of one time and one fine channel.
//!
//! The code is in [`form`](mod@form), whose documentation counts what must be done.

pub mod channels;
pub mod form;
pub mod fragments;
pub mod interpolate;
mod kernels;
mod load;
mod products;
mod raw;
mod results;
mod sizes;
mod steps;
#[cfg(not(target_arch = "nvptx64"))]
mod table;

pub use channels::ChannelSizes;
pub use form::Given;
pub use interpolate::PositionSizes;
pub use kernels::*;
pub use load::{EIGHT, FOUR};
pub use results::{CONJUGATED, NARROW, NOWHERE};
pub use sizes::Sizes;
#[cfg(not(target_arch = "nvptx64"))]
pub use table::{ChannelKernel, GridKernel, Run};
