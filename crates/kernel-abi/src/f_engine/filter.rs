//! The polyphase filter by itself: a block has a strip of columns of a section of spectra.

/// Threads of a block.
pub const THREADS: u32 = 128;

/// Columns of a block, two a thread.
pub const STRIP: u32 = 2 * THREADS;

/// Columns that are a whole piece of 16 bytes for samples of any number of bits.
pub const PIECE: u32 = 128;

/// Least bits of a sample.
pub const LEAST_BITS: u32 = 2;

/// Most bits of a sample.
pub const MOST_BITS: u32 = 11;

/// Most columns.
pub const MOST_COLUMNS: u32 = 1 << 20;

/// Passes whose rows are in shared memory: one that is worked on, two that come.
pub const SLOTS: u32 = 3;

/// Pieces from row to row in shared memory: a strip of the widest samples from any bit on.
pub const PITCH: u32 = STRIP * MOST_BITS / PIECE + 1;

/// A kernel: its taps, and its occupancy, blocks of a multiprocessor.
pub const KERNELS: [(usize, usize); 4] = [(4, 10), (8, 8), (16, 5), (32, 3)];

/// Rows of samples that a pass of the loop takes.
#[inline(always)]
pub const fn rows(taps: usize) -> u32 {
    if taps < 16 { 16 } else { taps as u32 }
}

/// Bytes of shared memory of a block.
#[inline(always)]
pub const fn shared_bytes(taps: usize) -> u32 {
    16 * SLOTS * rows(taps) * PITCH
}

/// Blocks of a launch; none for a section of no spectra, and where they are more than 2^32.
#[inline(always)]
pub const fn blocks(columns: u32, spectra: u32, section: u32, inputs: u32) -> Option<u32> {
    if section == 0 {
        return None;
    }
    let of_input = columns.div_ceil(STRIP) as u64 * spectra.div_ceil(section) as u64;
    match of_input.checked_mul(inputs as u64) {
        Some(blocks) if blocks <= u32::MAX as u64 => Some(blocks as u32),
        _ => None,
    }
}

/// Whether [`KERNELS`] has a kernel of `taps` taps with an occupancy of `blocks` blocks.
#[inline(always)]
pub const fn has(taps: usize, blocks: usize) -> bool {
    let mut i = 0;
    while i < KERNELS.len() {
        if KERNELS[i].0 == taps && KERNELS[i].1 == blocks {
            return true;
        }
        i += 1;
    }
    false
}
