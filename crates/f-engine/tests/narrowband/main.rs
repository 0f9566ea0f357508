//! The narrowband F-engine by its public interface: against the reference, as a stream, on signals that are known in
//! closed form, and what it refuses.
//!
//! Every test takes its backends from [`support::backends`]: the CPU, and a GPU where there is one.

#![allow(clippy::unwrap_used)] // helpers of tests, outside the test functions themselves

mod errors;
mod gaps;
mod qualification;
mod reference;
mod response;
mod retunes;
mod stream;
mod support;
