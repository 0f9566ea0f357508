//! Instruments against the same operations in one call.
#![allow(clippy::unwrap_used, clippy::panic)]

mod beams;
mod changes;
mod chosen_channels;
mod ends;
mod faults;
mod masked_beams;
mod masks;
mod network;
mod ranks;
mod ring;
mod soak;
mod sources;
#[path = "../suite/mod.rs"]
mod suite;
mod support;
mod time_shares;
