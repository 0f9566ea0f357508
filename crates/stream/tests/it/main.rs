//! Instruments against the same operations in one call.
#![allow(clippy::unwrap_used, clippy::panic)]

mod beams;
mod changes;
mod ends;
mod faults;
mod masks;
mod network;
mod soak;
mod sources;
mod support;
