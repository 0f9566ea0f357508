//! The F-engine by its public interface: against the reference, as a stream, and what it refuses.
//!
//! Every test takes its backends from [`support::backends`], so that a backend is tested by being listed there.

#![allow(clippy::unwrap_used)] // helpers of tests, outside the test functions themselves

mod dither;
mod errors;
mod gaps;
mod physics;
mod precision;
mod reference;
mod rows;
mod stream;
mod support;
