//! Heaps `[batch][antenna][channel][spectrum][pol]`, and blocks of their spectra.
//!
//! Time is `batch * spectra + spectrum`. What a batch, an antenna and a channel have lies together, a *stretch*; the
//! stretches of an antenna's channels follow each other. Blocks of `block` spectra lie on a grid that begins `lead`
//! spectra before the first time, so that the first and the last block may be short:
//!
//! ```text
//! times         0 1 2 3 4 5 6 7 8 9      block = 4, lead = 1
//! blocks        0 0 0 1 1 1 1 2 2 2
//! ```
//!
//! A group of 4, 8, 16 or 32 lanes has a stretch; neighbouring groups have neighbouring channels. So a warp's loads are
//! of neighbouring addresses, in runs of 64 bytes at least, whatever the length of a stretch.

use fringes_device::index::{ctaid_x, ntid_x, tid_x};

/// Four words: a load, a store.
pub type Piece = [u32; 4];

/// Bytes of a piece.
pub const PIECE: u64 = 16;

/// Sizes of heaps, of blocks, and of groups of lanes.
#[derive(Clone, Copy)]
pub struct Heaps {
    /// Batches.
    pub batches: u32,
    /// Antennas.
    pub antennas: u32,
    /// Channels.
    pub channels: u32,
    /// Spectra of a heap.
    pub spectra: u32,
    /// Polarisations of an antenna, 1 or 2.
    pub pols: u32,
    /// Spectra of a block.
    pub block: u32,
    /// Spectra of the first block that lie before the first time, fewer than a block has.
    pub lead: u32,
    /// Lanes of a group: 4, 8, 16 or 32.
    pub lanes: u32,
}

/// The product of two sizes.
#[inline(always)]
pub fn product(a: u32, b: u32) -> u64 {
    a as u64 * b as u64
}

impl Heaps {
    /// Whether times and stretches can be counted in 32 bits, and groups divide a warp.
    #[inline(always)]
    pub fn are_legal(&self) -> bool {
        let (lanes, most) = (self.lanes, i32::MAX as u32);
        let heaps = product(self.batches, self.antennas);
        (lanes == 4 || lanes == 8 || lanes == 16 || lanes == 32)
            && ntid_x().is_multiple_of(32)
            && (1..=2).contains(&self.pols)
            && self.spectra > 0
            && self.lead < self.block
            && self.block <= most
            && product(self.batches, self.spectra) <= most as u64
            && heaps <= u32::MAX as u64
            && product(heaps as u32, self.channels) <= u32::MAX as u64
    }

    /// Times of all batches.
    #[inline(always)]
    pub fn times(&self) -> u32 {
        self.batches.wrapping_mul(self.spectra)
    }

    /// Blocks that have any of the times.
    #[inline(always)]
    pub fn blocks(&self) -> u32 {
        if self.times() == 0 { 0 } else { self.block_of(self.times() - 1) + 1 }
    }

    /// The block of a time.
    #[inline(always)]
    pub fn block_of(&self, time: u32) -> u32 {
        time.wrapping_add(self.lead) / self.block.max(1)
    }

    /// Stretches of all heaps.
    #[inline(always)]
    pub fn stretches(&self) -> u32 {
        self.batches.wrapping_mul(self.antennas).wrapping_mul(self.channels)
    }

    /// Voltages of a stretch.
    #[inline(always)]
    pub fn stretch(&self) -> u32 {
        self.spectra.wrapping_mul(self.pols)
    }

    /// Voltages of all heaps.
    #[inline(always)]
    pub fn voltages(&self) -> u64 {
        product(self.stretches(), self.stretch())
    }

    /// The spectrum that a voltage of a stretch is of.
    #[inline(always)]
    pub fn spectrum(&self, voltage: u32) -> u32 {
        if self.pols == 2 { voltage / 2 } else { voltage }
    }

    /// The first voltage of a stretch.
    #[inline(always)]
    pub fn first(&self, heap: u32, channel: u32) -> u64 {
        product(heap * self.channels + channel, self.stretch())
    }

    /// This group among those of all blocks of the launch.
    #[inline(always)]
    pub fn group(&self) -> u64 {
        let lanes = self.lanes.max(1);
        ctaid_x() as u64 * (ntid_x() / lanes) as u64 + (tid_x() / lanes) as u64
    }

    /// This lane in its group.
    #[inline(always)]
    pub fn lane(&self) -> u32 {
        tid_x() & (self.lanes - 1)
    }
}
