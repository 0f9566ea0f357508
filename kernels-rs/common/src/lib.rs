#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! What kernels must agree on, once. Functions of registers, inlined into the kernels that call them; no kernel is
//! here.
//!
//! | module | what |
//! |---|---|
//! | [`complex`] | complex numbers as pairs of f32 |
//! | [`rotation`] | phases in fixed point to rotations |
//! | [`dither`] | Philox, the hash of a channel, and the dither that they give |
//! | [`decode`] | packed samples of 2 to 16 bits, f16 and f32 to numbers |
//! | [`quantise`] | one value to the output: clamped, rounded, packed |
//! | [`mod@format`] | voltages out of the words that they are loaded in, and back |
//!
//! # Several forms of one thing
//! Where kernels are tuned to a form, the module has each form, says which one it is, and its test holds the forms to
//! one another:
//!
//! | what | forms | differ in |
//! |---|---|---|
//! | rotation | [`rotation::unit`], [`rotation::unit_approx`] | error, 2^-23 and 2^-19.9; instructions |
//! | words of the dither | [`dither::words`], [`dither::words_looped`] | size of the code; same words |
//! | dither of a value | [`dither::parts`], [`dither::add`] | rounding: exact, and within 2^-16 |
//! | product | [`complex::mul`], [`rotation::product`] | which product is rounded first |
//! | rounding | [`quantise::Output`], [`format::Format`] | a value by itself, and the words of a load |

pub mod complex;
pub mod decode;
pub mod dither;
pub mod format;
pub mod quantise;
pub mod rotation;

#[cfg(test)]
mod emulated;
