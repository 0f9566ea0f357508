//! The corner turn: of all channels of some antennas, in several places, to all antennas of some channels in one.
//!
//! ```text
//! F-engines                       X-engines
//! antennas 0..3, channels 0..8 ─┬─> channels 0..5, antennas 0..5
//! antennas 3..5, channels 0..8 ─┴─> channels 5..8, antennas 0..5
//! ```
//!
//! Heaps are `[batch][antenna][channel][spectrum][pol]`, so that the wanted channels of an antenna and a batch lie one
//! after the other, and what an F-engine has for an X-engine is a block of rows: one copy with strides, without
//! packing.

mod error;
mod header;
mod host;
#[cfg(feature = "nccl")]
mod nccl;
mod peer;
mod ring;
mod ring_memory;

pub use error::TurnError;
pub use host::turn_channels_on_host;
#[cfg(feature = "nccl")]
pub use nccl::NcclTurn;
pub use peer::turn_channels;
pub use ring::{RingShape, TurnRing, TurnedFrames, TurnedHeader};
