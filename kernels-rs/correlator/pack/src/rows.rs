//! The rows that the pack kernels write, and how their work is divided.
//!
//! Rows are `[channel][time / R][input][R]` of 128 bytes, `R = 128 / S` samples of `S` bytes. Eight pieces of 16 bytes
//! are a row.

use fringes_device::GlobalMut;
use fringes_device::index::{ctaid_x, nctaid_x, tid_x};

use crate::pieces::Piece;

/// Threads of a block of a pack kernel.
pub const THREADS: u32 = fringes_kernel_abi::correlator::PACK_THREADS;

/// Warps of a block, each of which packs tiles of its own.
pub const WARPS: u32 = THREADS / 32;

/// Bytes of a row.
pub const BYTES: u64 = fringes_kernel_abi::rows::BYTES as u64;

/// Samples of a row.
#[inline(always)]
pub const fn times<const S: usize>() -> u32 {
    fringes_kernel_abi::rows::times(S) as u32
}

/// Samples of a piece.
#[inline(always)]
pub const fn piece<const S: usize>() -> u32 {
    (16 / S) as u32
}

/// Rows of some channels, blocks of time and inputs.
#[derive(Clone, Copy)]
pub struct Rows {
    pieces: GlobalMut<Piece>,
    blocks: u32,
    inputs: u32,
}

impl Rows {
    /// The rows of a view, if it holds as many.
    #[inline(always)]
    pub fn new<const S: usize>(view: GlobalMut<u8>, channels: u32, all_times: u32, inputs: u32) -> Option<Self> {
        let blocks = all_times.div_ceil(times::<S>());
        let bytes = product(product(u64::from(channels), blocks), inputs).saturating_mul(BYTES);
        // SAFETY: the host gives views at multiples of 16 bytes.
        (bytes <= view.len() as u64).then(|| Self { pieces: unsafe { view.cast() }, blocks, inputs })
    }

    /// Blocks of time of a channel.
    #[inline(always)]
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Stores a piece of a row.
    ///
    /// # Safety
    /// The row exists, and `piece < 8`.
    #[inline(always)]
    pub unsafe fn store(&self, channel: u32, block: u32, input: u32, piece: u32, value: Piece) {
        let row = (u64::from(channel) * u64::from(self.blocks) + u64::from(block)) * u64::from(self.inputs)
            + u64::from(input);
        self.pieces.store(8 * row as usize + piece as usize, value);
    }
}

/// `a b`; the largest number where it does not fit.
#[inline(always)]
pub const fn product(a: u64, b: u32) -> u64 {
    a.saturating_mul(b as u64)
}

/// A divisor, for divisions in five instructions: with `m = floor((2^32 - 1) / d)`, `floor(n m / 2^32)` is the quotient
/// or one less.
///
/// For `m = 2^32 / d - e`, `0 <= e <= 1`, and `n < 2^32`: `n m / 2^32 = n / d - e n / 2^32 > n / d - 1`.
#[derive(Clone, Copy)]
pub struct Divisor {
    divisor: u32,
    reciprocal: u32,
}

impl Divisor {
    /// By `divisor`, which is not zero (or counts as one: nothing here panics).
    #[inline(always)]
    pub const fn new(divisor: u32) -> Self {
        let divisor = if divisor == 0 { 1 } else { divisor };
        Self { divisor, reciprocal: u32::MAX / divisor }
    }

    /// Quotient and remainder.
    #[inline(always)]
    pub const fn divide(self, n: u32) -> (u32, u32) {
        let quotient = ((n as u64 * self.reciprocal as u64) >> 32) as u32;
        let rest = n - quotient * self.divisor;
        if rest >= self.divisor { (quotient + 1, rest - self.divisor) } else { (quotient, rest) }
    }
}

/// Calls `work` for every tile that is this warp's: those of its number in the grid, and so on in steps of the grid's
/// warps.
#[inline(always)]
pub fn each_tile(tiles: u32, work: impl Fn(u32)) {
    let step = nctaid_x() * WARPS;
    let mut tile = ctaid_x() * WARPS + tid_x() / 32;
    while tile < tiles {
        work(tile);
        if tiles - tile <= step {
            return;
        }
        tile += step;
    }
}

#[cfg(test)]
mod tests {
    use super::Divisor;

    #[test]
    fn quotients_and_remainders_are_exact() {
        let edges = |x: u32| [x.saturating_sub(1), x, x.saturating_add(1)];
        let around: Vec<u32> =
            (0..32).flat_map(|bit| edges(1 << bit)).chain(edges(u32::MAX)).chain([3, 5, 160, 12_880]).collect();
        for &divisor in around.iter().filter(|&&divisor| divisor > 0) {
            let multiples = (0..32).flat_map(|bit| edges(divisor.saturating_mul(1 << bit)));
            let multiples = multiples.chain(edges(u32::MAX / divisor * divisor)).chain(around.iter().copied());
            for n in multiples.chain((0..1000).map(|i: u32| i.wrapping_mul(0x9e37_79b9))) {
                assert_eq!(Divisor::new(divisor).divide(n), (n / divisor, n % divisor), "{n} by {divisor}");
            }
        }
        assert_eq!(Divisor::new(0).divide(7), (7, 0));
    }
}
