//! `S1 = sum |x|^2` and `S2 = sum |x|^4` of rows `[channel][time / R][input][R]`, of each channel, block of times and
//! input.
//!
//! A row has 128 bytes, `R` voltages. Eight lanes have a channel, a block and an input, 16 bytes each of a row, four
//! rows in flight; neighbouring groups have neighbouring inputs, so that a warp loads 512 bytes that lie together.
//! Blocks lie on a grid that begins `lead` times before the first one, as those of [heaps](crate::heaps); a row that
//! has parts of two blocks is loaded by both.
//!
//! Floor: as that of [heaps](crate::power): every voltage is read once, 16 bytes are written for each sum.

use fringes_device::index::{ctaid_x, ntid_x, tid_x};
use fringes_device::{Global, GlobalMut, unroll};

use crate::formats::{Format, Sum};
use crate::heaps::{PIECE, Piece, product};
use crate::rows::ROW;

/// Lanes of a row.
const LANES: u32 = ROW / PIECE as u32;

/// Rows, and where their sums go.
#[derive(Clone, Copy)]
pub struct RowSums<F: Format> {
    /// The rows.
    pub rows: Global<u8>,
    /// `[2][channel][block][input]`: of powers, then of their squares.
    pub sums: GlobalMut<F::Sum>,
    /// Channels.
    pub channels: u32,
    /// Rows of an input and a channel: times over `R`.
    pub lines: u32,
    /// Inputs.
    pub inputs: u32,
    /// Times of a block.
    pub block: u32,
    /// Times of the first block that lie before the first time, fewer than a block has.
    pub lead: u32,
    /// Blocks that are summed, of those that have any of the times the first ones.
    pub blocks: u32,
}

impl<F: Format> RowSums<F> {
    /// Voltages of a lane.
    const VOLTAGES: u32 = PIECE as u32 / F::BYTES as u32;
    /// Voltages of a row.
    const TIMES: u32 = ROW / F::BYTES as u32;

    /// Whether the views hold what the sizes say, and groups can be counted.
    #[inline(always)]
    pub fn fit(&self) -> bool {
        let (most, times) = (i32::MAX as u64, product(self.lines, Self::TIMES));
        // SAFETY: no view is without an address.
        let address = unsafe { self.rows.address(0) };
        let (rows, cells) = (product(self.channels, self.lines), product(self.channels, self.blocks));
        ntid_x().is_multiple_of(32)
            && address.is_multiple_of(PIECE)
            && self.lead < self.block
            && self.block as u64 <= most
            && times <= most
            && rows <= most
            && cells <= most
            && product(rows as u32, self.inputs) <= self.rows.len() as u64 / ROW as u64
            && product(cells as u32, self.inputs) <= u32::MAX as u64
            && 2 * product(cells as u32, self.inputs) <= self.sums.len() as u64
            && product(self.blocks, self.block) < times + self.lead as u64 + self.block as u64
    }

    /// Sums what a group has.
    ///
    /// # Safety
    /// The sizes [fit](Self::fit) the views.
    #[inline(always)]
    pub unsafe fn run(&self) {
        let group = ctaid_x() as u64 * (ntid_x() / LANES) as u64 + (tid_x() / LANES) as u64;
        let all = product(self.channels * self.blocks, self.inputs);
        // Groups past the last one sum nothing: a warp's lanes exchange sums together.
        let is_used = group < all;
        let number = if is_used { group as u32 } else { 0 };
        let (inputs, blocks) = (self.inputs.max(1), self.blocks.max(1));
        let (input, rest) = (number % inputs, number / inputs);
        let (block, channel) = (rest % blocks, rest / blocks);
        let lane = tid_x() % LANES;
        let mut sums = [F::Sum::ZERO; 4];
        if is_used {
            let times = self.lines * Self::TIMES;
            let start = product(block, self.block).saturating_sub(self.lead as u64) as u32;
            let end = (product(block + 1, self.block) - self.lead as u64).min(times as u64) as u32;
            let pieces = self.rows.cast::<Piece>();
            let (mut line, last) = (start / Self::TIMES, end.div_ceil(Self::TIMES));
            while line < last {
                let mut x: [Piece; 4] = [[0; 4]; 4];
                unroll!(i in 0 1 2 3 {
                    let at = line + i as u32;
                    if at < last {
                        let row = product(channel * self.lines + at, self.inputs) + input as u64;
                        x[i] = pieces.load((row * LANES as u64 + lane as u64) as usize);
                    }
                });
                if line * Self::TIMES < start || product(line + 4, Self::TIMES) > end as u64 {
                    unroll!(i in 0 1 2 3 {
                        let first = (line + i as u32) * Self::TIMES + lane * Self::VOLTAGES;
                        let from = start.saturating_sub(first).min(Self::VOLTAGES);
                        let to = end.saturating_sub(first).min(Self::VOLTAGES);
                        x[i] = kept::<F>(x[i], from, to);
                    });
                }
                F::add(&mut sums, x);
                line += 4;
            }
        }
        // Lanes of the first half of a group add up powers, the others their squares.
        let (first, second) = (sums[0].plus(sums[1]), sums[2].plus(sums[3]));
        let is_second = lane & 4 != 0;
        let (mine, given) = if is_second { (second, first) } else { (first, second) };
        let mut sum = mine.plus(given.across(4));
        unroll!(step in 0 1 { sum = sum.plus(sum.across(2 - step as u32)); });
        if is_used && lane & 3 == 0 {
            let cell = product(channel * self.blocks + block, self.inputs) + input as u64;
            self.sums.store((cell + if is_second { all } else { 0 }) as usize, sum);
        }
    }
}

/// A piece with zeros in place of its voltages before one and from another on.
#[inline(always)]
fn kept<F: Format>(piece: Piece, from: u32, to: u32) -> Piece {
    let (from, to) = (from * F::BYTES as u32, to * F::BYTES as u32);
    // The low bytes of a word.
    let low = |bytes: u32| if bytes >= 4 { u32::MAX } else { (1u32 << (8 * bytes)) - 1 };
    let mut value = piece;
    unroll!(word in 0 1 2 3 {
        let at = 4 * word as u32;
        value[word] &= low(to.saturating_sub(at)) & !low(from.saturating_sub(at));
    });
    value
}
