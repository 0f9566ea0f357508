//! Host memory of a rank of the exchange.
//!
//! ```text
//! block   = frames x spectra x antennas x channels x pols x bytes of a complex value
//! F rank  = (lanes + 1) blocks and a queue of blocks, of its antennas
//! X rank  = (lanes + 1) blocks and a queue of blocks, of its channels
//! ```
//!
//! A lane holds what is on its way; the block more is what is filled, or read, meanwhile.

use serde::Serialize;

use crate::error::PlanError;

/// What the exchange takes at once, over all antennas and channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Block {
    /// Frames of a block.
    pub frames: u32,
    /// Spectra of a frame.
    pub spectra: u32,
    /// Antennas of the array.
    pub antennas: u32,
    /// Channels of the band.
    pub channels: u32,
    /// Polarisations of an antenna.
    pub pols: u32,
    /// Bytes of a complex value.
    pub bytes: u32,
}

/// Host memory that the exchange needs on a rank, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RankMemory {
    /// Blocks of the rank's antennas: `(lanes + 1 + queue) x block x its antennas / antennas`.
    pub f: u64,
    /// Blocks of the rank's channels, likewise.
    pub x: u64,
}

impl RankMemory {
    /// Both roles together.
    pub fn total(self) -> u64 {
        self.f.saturating_add(self.x)
    }
}

impl Block {
    /// Bytes of a block of all antennas and channels.
    pub fn total_bytes(&self) -> Result<u64, PlanError> {
        self.part(self.antennas, self.channels)
    }

    /// Bytes that a rank with `antennas` antennas sends to one with `channels` channels: a message.
    pub fn part(&self, antennas: u32, channels: u32) -> Result<u64, PlanError> {
        let factors = [self.frames, self.spectra, antennas, channels, self.pols, self.bytes];
        let bytes = factors.iter().try_fold(1_u64, |bytes, &factor| bytes.checked_mul(u64::from(factor)));
        bytes.ok_or_else(|| too_many("bytes of a block", factors.iter().map(|&factor| f64::from(factor)).product()))
    }

    /// Memory of a rank with `antennas` antennas and `channels` channels; either is 0 where it has no such role.
    pub fn memory(&self, antennas: u32, channels: u32, lanes: u32, queue_depth: u32) -> Result<RankMemory, PlanError> {
        let blocks = u64::from(lanes) + 1 + u64::from(queue_depth);
        let times = |bytes: u64| {
            let all = bytes.checked_mul(blocks);
            all.ok_or_else(|| too_many("bytes of a rank", bytes as f64 * blocks as f64))
        };
        Ok(RankMemory {
            f: times(self.part(antennas, self.channels)?)?,
            x: times(self.part(self.antennas, channels)?)?,
        })
    }
}

/// More bytes than can be counted.
fn too_many(quantity: &'static str, actual: f64) -> PlanError {
    PlanError::Range { quantity, expected: (0.0, u64::MAX as f64), actual }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: Block = Block { frames: 2, spectra: 256, antennas: 64, channels: 4096, pols: 2, bytes: 2 };

    #[test]
    fn a_block_is_what_its_messages_are_together() {
        assert_eq!(BLOCK.total_bytes(), Ok(2 * 256 * 64 * 4096 * 2 * 2));
        let messages = 8 * 16; // from 8 F ranks to 16 X ranks
        assert_eq!(BLOCK.part(64 / 8, 4096 / 16).map(|bytes| bytes * messages), BLOCK.total_bytes());
    }

    #[test]
    fn a_rank_holds_the_blocks_of_its_lanes_and_queue() {
        let memory = BLOCK.memory(8, 256, 2, 3).unwrap();
        assert_eq!(memory.f, 6 * 2 * 256 * 8 * 4096 * 2 * 2);
        assert_eq!(memory.x, 6 * 2 * 256 * 64 * 256 * 2 * 2);
        assert_eq!(BLOCK.memory(0, 256, 2, 3).unwrap().f, 0);
        assert_eq!(memory.total(), memory.f + memory.x);
    }

    #[test]
    fn a_block_that_no_machine_can_count_is_an_error() {
        let block = Block { frames: u32::MAX, spectra: u32::MAX, ..BLOCK };
        let found = block.total_bytes();
        let more = |actual: f64| actual > u64::MAX as f64;
        assert!(matches!(found, Err(PlanError::Range { actual, .. }) if more(actual)), "{found:?}");
    }
}
