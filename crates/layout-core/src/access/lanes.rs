//! Requests with any addresses, counted lane by lane.

use super::{GlobalCost, LANES, SharedCost, Width};

/// One load or store of a warp: the byte address of each active lane.
///
/// Widths are at most 16 bytes and addresses multiples of the width, or the hardware refuses the access;
/// [`misaligned`](Self::misaligned) finds a lane that breaks this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneAddresses {
    addresses: [u64; LANES],
    active: u32,
    width: Width,
}

impl LaneAddresses {
    /// A request of all lanes.
    pub const fn full(addresses: [u64; LANES], width: Width) -> Self {
        Self { addresses, active: u32::MAX, width }
    }

    /// A request of no lane yet.
    pub const fn empty(width: Width) -> Self {
        Self { addresses: [0; LANES], active: 0, width }
    }

    /// The request with a lane's address. A lane beyond 31 is none.
    pub const fn with(mut self, lane: usize, address: u64) -> Self {
        if lane < LANES {
            self.addresses[lane] = address;
            self.active |= 1 << lane;
        }
        self
    }

    /// The address of a lane, if it takes part.
    pub const fn address(&self, lane: usize) -> Option<u64> {
        if lane < LANES && self.active >> lane & 1 == 1 { Some(self.addresses[lane]) } else { None }
    }

    /// The first lane whose address is no multiple of the width.
    pub const fn misaligned(&self) -> Option<usize> {
        let mut lane = 0;
        while lane < LANES {
            if let Some(address) = self.address(lane)
                && address % self.width.bytes() != 0
            {
                return Some(lane);
            }
            lane += 1;
        }
        None
    }

    /// Wavefronts of shared memory.
    pub const fn shared(&self) -> SharedCost {
        self.phases(self.width.phase_bits(), false)
    }

    /// Wavefronts of shared memory for an atomic operation, whose lanes do not share a word.
    pub const fn atomic(&self) -> SharedCost {
        self.phases(self.width.phase_bits(), true)
    }

    /// Wavefronts of an `ldmatrix` or `stmatrix`: the active lanes give the addresses of rows of 16 bytes, eight lanes
    /// a matrix. The request's width does not matter.
    pub const fn matrices(&self) -> SharedCost {
        let rows = Self { width: Width::B16, ..*self };
        let (mut matrices, mut matrix) = (0, 0);
        while matrix < 4 {
            matrices += (self.active >> (8 * matrix) & 0xff != 0) as u32;
            matrix += 1;
        }
        SharedCost { ideal: matrices, ..rows.phases(3, false) }
    }

    const fn phases(&self, phase_bits: usize, atomic: bool) -> SharedCost {
        let (mut wavefronts, mut distinct, mut worst) = (0, 0, 0);
        let mut phase = 0;
        while phase < LANES >> phase_bits {
            let (depth, words) = self.phase(phase << phase_bits, (phase + 1) << phase_bits, atomic);
            wavefronts += depth;
            distinct += words;
            worst = if depth > worst { depth } else { worst };
            phase += 1;
        }
        SharedCost { wavefronts, ideal: distinct.div_ceil(32), degree: worst }
    }

    /// Of lanes `from..to`: most words of one bank, and distinct words.
    const fn phase(&self, from: usize, to: usize, atomic: bool) -> (u32, u32) {
        let (mut words, mut count) = ([0; 2 * LANES], 0);
        let (mut depth, mut worst) = ([0; 32], 0);
        let mut lane = from;
        while lane < to {
            if let Some(address) = self.address(lane) {
                let mut word = address / 4;
                while word < address.saturating_add(self.width.bytes()).div_ceil(4) {
                    let bank = (word % 32) as usize;
                    let known = contains(&words, count, word);
                    if !known {
                        words[count] = word;
                        count += 1;
                    }
                    if !known || atomic {
                        depth[bank] += 1;
                    }
                    worst = if depth[bank] > worst { depth[bank] } else { worst };
                    word += 1;
                }
            }
            lane += 1;
        }
        (worst, count as u32)
    }

    /// Sectors of global memory.
    pub const fn global(&self) -> GlobalCost {
        let (mut sectors, mut sector_count) = ([0; 2 * LANES], 0);
        let mut bytes = 0;
        let mut lane = 0;
        while lane < LANES {
            if let Some(address) = self.address(lane) {
                let mut sector = address / 32;
                while sector < address.saturating_add(self.width.bytes()).div_ceil(32) {
                    if !contains(&sectors, sector_count, sector) {
                        sectors[sector_count] = sector;
                        sector_count += 1;
                    }
                    sector += 1;
                }
                bytes += self.new_bytes(lane, address);
            }
            lane += 1;
        }
        GlobalCost { sectors: sector_count as u32, ideal: bytes.div_ceil(32) }
    }

    /// Bytes at `address` that no lane below accesses.
    const fn new_bytes(&self, lane: usize, address: u64) -> u32 {
        let (mut new, mut byte) = (0, address);
        while byte < address.saturating_add(self.width.bytes()) {
            let (mut known, mut other) = (false, 0);
            while other < lane {
                if let Some(start) = self.address(other) {
                    known |= byte >= start && byte - start < self.width.bytes();
                }
                other += 1;
            }
            new += !known as u32;
            byte += 1;
        }
        new
    }
}

/// Whether `value` is among the first `count`.
const fn contains(values: &[u64; 2 * LANES], count: usize, value: u64) -> bool {
    let mut at = 0;
    while at < count {
        if values[at] == value {
            return true;
        }
        at += 1;
    }
    false
}
