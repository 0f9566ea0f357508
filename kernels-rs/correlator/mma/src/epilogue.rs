//! Epilogue: sums from fragments through shared memory to global memory.
//!
//! 16 rows of a warp at a time, so that it writes 32 neighbouring columns of a row at once. Each warp has 4 KiB of its
//! own in the stages, in which nothing lies any more: all have passed the last barrier. 16 bytes hold the sums of two
//! columns, XORed with the row's number so that both directions are free of bank conflicts.

use fringes_device::warp::bar_warp_sync;
use fringes_device::{GlobalMut, Shared, Value, unroll};

use crate::format::{Format, Part};
use crate::order::Order;
use crate::places;
use crate::sums::Sum;

/// Units of 16 bytes that a warp has.
const UNITS: usize = 256;

/// Where a warp's sums go.
pub(crate) struct Out<M> {
    /// Those of the channel.
    pub(crate) sums: GlobalMut<M>,
    pub(crate) inputs: u32,
    /// First inputs of the warp's part.
    pub(crate) row: u32,
    pub(crate) column: u32,
    pub(crate) thread: usize,
}

impl<M> Out<M> {
    /// Writes or adds those of 16 rows from row `down` of the warp's part on, as far as they lie on or below the
    /// diagonal.
    ///
    /// # Safety
    /// - All lanes of the warp call it together, `thread` being their number in the block; `down` is a multiple of 16
    ///   within the warp's part.
    /// - Shared memory has 4 KiB a warp, which nobody uses any more: all threads have passed the last barrier, and no
    ///   copy is under way to it.
    /// - `sums` has `inputs (inputs + 1) / 2` sums, of which no other warp uses this one's part.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline(never))]
    pub(crate) unsafe fn put<F: Format, O: Order, T: Sum<F::Part, Memory = M>>(
        &self,
        down: u32,
        re: &[[F::Part; 4]; 4],
        im: &[[F::Part; 4]; 4],
    ) where
        M: Value,
    {
        let lane = self.thread % 32;
        let own = Shared::<[u32; 4]>::dynamic().part(self.thread / 32 * UNITS, UNITS);
        let single = own.cast::<[u32; 2]>();
        let (group, pair) = places::group_and_pair(lane);
        unroll!(half in 0 1 {
            let row = places::sum_row(O::DUAL, half, group);
            unroll!(n in 0 1 2 3 {
                let (columns, [[first, one], [second, other]]) = places::pair_of_columns(O::DUAL, n / 2, n % 2, pair);
                let (one, other) = (2 * half + one, 2 * half + other);
                let values = [re[first][one], im[first][one], re[second][other], im[second][other]];
                own.store(places::pair_out(row, columns), values.map(|value| value.bits()));
            });
        });
        bar_warp_sync(u32::MAX);
        let (b, mut local) = (self.column + lane as u32, 0);
        while local < 16 {
            let a = self.row + down + local as u32;
            let mut old = [T::ZERO; 4];
            if T::ADDS {
                unroll!(i in 0 1 2 3 {
                    let a = a + i as u32;
                    if a < self.inputs && b <= a {
                        old[i] = self.sums.load((a * (a + 1) / 2 + b) as usize);
                    }
                });
            }
            unroll!(i in 0 1 2 3 {
                let a = a + i as u32;
                let new = single.load(places::column_out(local + i, i, lane)).map(|bits| F::sum(bits));
                if a < self.inputs && b <= a {
                    self.sums.store((a * (a + 1) / 2 + b) as usize, T::plus(old[i], new));
                }
            });
            local += 4;
        }
        bar_warp_sync(u32::MAX);
    }
}
