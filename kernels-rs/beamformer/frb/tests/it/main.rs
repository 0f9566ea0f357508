//! The kernels in the emulator, with all its detectors, against the chain in f64.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod channelised;
mod common;
mod emulated;
mod formed;
