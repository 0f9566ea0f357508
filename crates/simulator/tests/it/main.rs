//! What the simulator claims, one module a subject.

#![allow(clippy::unwrap_used)] // helpers of tests, too

mod clocks_and_delays;
mod cuts;
mod errors;
mod losses;
mod polarisation;
mod pulses;
mod receivers;
mod spectra;
mod text;
mod tones;
