//! Copies of voltages and weights to shared memory.
//!
//! # Layout
//! The voltages of a round are `[time][line][16 bytes]` with four pieces of 16 bytes a line; piece `q` of time `t` lies
//! in place `q ^ (t / 4) mod 4`, so that the lanes of a load, which have four lines and four times 4 apart, meet in two
//! at each bank.

use fringes_device::copy_async::cp_async_cg_shared_global_16;
use fringes_device::index::tid_x;
use fringes_device::{Global, Shared};

use crate::{ROUND_BYTES, ROUND_FEEDS, SUM_WORDS, WARPS, WEIGHT_WORDS};
use fringes_kernels_beamformer_frb::Registers;

/// Threads of a block.
const THREADS: u32 = 32 * WARPS;

/// The first byte of the voltages of a round.
#[inline(always)]
pub(crate) const fn round_at(round: u32) -> u32 {
    4 * (SUM_WORDS + WEIGHT_WORDS) + round % 2 * ROUND_BYTES
}

/// What a thread copies of a round.
#[derive(Clone, Copy)]
pub(crate) struct Copies {
    /// Bytes from the first voltage of a block of times.
    from: u64,
    /// Bytes from a copy to the next, which is 16 times later.
    step: u64,
    /// Address in shared memory of even rounds.
    to: u32,
}

impl Copies {
    /// The copies of a thread, of voltages with these distances.
    ///
    /// # Safety
    /// The block has its shared memory.
    #[inline(always)]
    pub(crate) unsafe fn new(thread: u32, time_stride: u64, line_stride: u64) -> Self {
        let (time, line, piece) = (thread >> 4, thread >> 2 & 3, thread & 3);
        let place = piece ^ (time >> 2 & 3);
        Self {
            from: u64::from(time) * time_stride + u64::from(line) * line_stride + u64::from(16 * piece),
            step: 16 * time_stride,
            to: Shared::<u8>::dynamic().address(0) + round_at(0) + 256 * time + 64 * line + 16 * place,
        }
    }

    /// Begins to copy the voltages of a round, of the block of times that begins at byte `first`.
    ///
    /// # Safety
    /// The voltages are in the view, at multiples of 16 bytes; nobody uses their place.
    #[inline(always)]
    pub(crate) unsafe fn start(&self, voltages: Global<u8>, first: u64, round: u32) {
        let mut from = voltages.address(0) + first + self.from + u64::from(ROUND_FEEDS * round);
        let to = self.to + round % 2 * ROUND_BYTES;
        let _ = <[(); (ROUND_BYTES / 16 / THREADS) as usize]>::each(|piece| {
            cp_async_cg_shared_global_16(to + piece as u32 * 16 * THREADS, from);
            from += self.step;
        });
    }
}

/// Begins to copy the weights of a polarisation.
///
/// # Safety
/// They are in the view, at multiples of 16 bytes; nobody uses their place.
#[inline(always)]
pub(crate) unsafe fn start_weights(weights: Global<u32>) {
    let to = Shared::<u8>::dynamic().address(0) + 4 * SUM_WORDS + 16 * tid_x();
    let from = weights.address(4 * tid_x() as usize);
    let mut piece = 0;
    while piece < WEIGHT_WORDS / 4 / THREADS {
        cp_async_cg_shared_global_16(to + 16 * THREADS * piece, from + u64::from(16 * THREADS * piece));
        piece += 1;
    }
}
