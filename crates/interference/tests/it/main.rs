//! Interference against its reference, and against noise.
#![allow(clippy::unwrap_used)] // a failed check in a helper ends the test

mod false_alarms;
mod found;
mod sums;
