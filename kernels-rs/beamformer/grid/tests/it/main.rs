#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
//! Kernels of a grid in the emulator, against sums in f64.

mod channels;
mod common;
mod emulated;
mod interpolate;
