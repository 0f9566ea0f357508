//! Sums of squares and clipped samples of stretches of each input's samples, added to what was summed before.
//!
//! ```text
//! stretches   | input 0: (bit, samples) (bit, samples) | input 1: (bit, samples) | ...     ends   | 2 | 3 | ...
//! ```
//!
//! A block has an input and a slice: of each stretch groups of four numbers, every so many. What a warp has it adds to
//! its own sum, `[input][slice][warp][2]`, as [`statistics`](crate::statistics) has them: the order of a sum is that of
//! the launches, and nothing waits for another. Integers are summed modulo 2^64, and so exactly up to there.

use fringes_device::index::{ctaid_x, ntid_x, tid_x};
use fringes_device::warp::shfl_sync_bfly_b32;
use fringes_device::{Global, GlobalMut, unroll};

use crate::THREADS;
use crate::statistics::{Source, WARPS};
use crate::stretch::{Numbers, Share, Stretch, Total};

/// Stretches of samples, and where their sums go.
#[derive(Clone, Copy)]
pub struct Sums {
    /// Words of samples; what is behind them is 0.
    pub samples: Global<u32>,
    /// First bit and number of samples of each stretch, those of an input after one another.
    pub stretches: Global<[u64; 2]>,
    /// The stretch after the last one of each input.
    pub ends: Global<u32>,
    /// Sums `[input][slice][warp][2]`.
    pub out: GlobalMut<u64>,
    /// Inputs.
    pub inputs: u32,
    /// Slices of a stretch: blocks of an input.
    pub slices: u32,
    /// Bits of a number: of a sample, or a part of a complex one.
    pub bits: u32,
    /// Numbers of a sample.
    pub parts: u32,
    /// Whether numbers of 16 bits are little-endian.
    pub little_endian: bool,
}

impl Sums {
    /// Whether the views hold what the sizes say, and there are such numbers. Stretches are looked at when they are
    /// read.
    #[inline(always)]
    pub fn fit<I: Source>(&self) -> bool {
        let inputs = self.inputs as u64;
        let sums = inputs.saturating_mul(self.slices as u64).saturating_mul(2 * WARPS as u64);
        ntid_x() == THREADS
            && I::has(self.bits)
            && (self.parts == 1 || self.parts == 2)
            && inputs <= self.ends.len() as u64
            && sums <= self.out.len() as u64
    }

    /// Sums a block's part.
    ///
    /// # Safety
    /// The views [fit](Self::fit).
    #[inline(always)]
    pub unsafe fn run<I: Source>(&self) {
        let slices = self.slices.max(1);
        let (input, slice) = (ctaid_x() / slices, ctaid_x() % slices);
        if input >= self.inputs {
            return;
        }
        let order = I::order(self.little_endian);
        let numbers = Numbers { samples: self.samples, bits: self.bits, parts: self.parts, order };
        let share = Share { index: slice as u64 * THREADS as u64 + tid_x() as u64, of: slices as u64 * THREADS as u64 };
        let mut total = Total { sum: I::ZERO, clipped: 0 };
        let mut stretch = if input == 0 { 0 } else { self.ends.load(input as usize - 1) };
        let end = self.ends.load(input as usize);
        while stretch < end && (stretch as usize) < self.stretches.len() {
            let [first_bit, samples] = self.stretches.load(stretch as usize);
            let of = Stretch { first_bit, numbers: samples.saturating_mul(self.parts as u64) };
            total = numbers.all::<I>(of, share, total);
            stretch += 1;
        }
        let Total { mut sum, mut clipped } = total;
        unroll!(i in 0 1 2 3 4 {
            let half = |half: u32| shfl_sync_bfly_b32(half, 1 << i, 31, u32::MAX) as u64;
            let other = |bits: u64| half(bits as u32) | half((bits >> 32) as u32) << 32;
            sum = I::join(sum, other(I::bits(sum)));
            clipped = clipped.wrapping_add(other(clipped));
        });
        if tid_x().is_multiple_of(32) {
            let place =
                ((input as u64 * slices as u64 + slice as u64) * WARPS as u64 + (tid_x() / 32) as u64) as usize * 2;
            self.out.store(place, I::bits(I::join(sum, self.out.load(place))));
            self.out.store(place + 1, clipped.wrapping_add(self.out.load(place + 1)));
        }
    }
}
