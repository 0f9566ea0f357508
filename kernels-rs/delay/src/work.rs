//! How the work of a kernel is divided among warps.

use fringes_device::index::{ctaid_x, nctaid_x, tid_x};

pub use fringes_kernel_abi::delay::{THREADS, WARPS};

/// `a b`; the largest number where it does not fit.
#[inline(always)]
pub const fn product(a: u64, b: u64) -> u64 {
    a.saturating_mul(b)
}

/// Quotient and remainder; a divisor of zero counts as one.
#[inline(always)]
pub const fn divide(n: u32, divisor: u32) -> (u32, u32) {
    let divisor = if divisor == 0 { 1 } else { divisor };
    (n / divisor, n % divisor)
}

/// The tiles of a warp: those of its number in the grid, and so on in steps of the grid's warps.
///
/// (Not an iterator, and no closure: the work of a tile has to be inlined whatever its size.)
#[derive(Clone, Copy)]
pub struct Tiles {
    next: u32,
    tiles: u32,
    step: u32,
}

impl Tiles {
    /// Of so many tiles in all.
    #[inline(always)]
    pub fn new(tiles: u32) -> Self {
        Self { next: ctaid_x() * WARPS + tid_x() / 32, tiles, step: nctaid_x() * WARPS }
    }

    /// The next one.
    #[inline(always)]
    pub fn take(&mut self) -> Option<u32> {
        let tile = self.next;
        if tile >= self.tiles {
            return None;
        }
        // Past the last one, and not around.
        self.next = if self.tiles - tile <= self.step { self.tiles } else { tile + self.step };
        Some(tile)
    }
}
