//! Rows of bits behind rows of bits: `to[to_bit + i] = from[from_bit + i]` for `i < bits`, the bits of a byte from the
//! highest on.
//!
//! ```text
//! to     |held held he:ld|       |       |      to_bit anywhere: the bits before it stay
//! from       |ch:unk chunk chunk|               from_bit anywhere
//! to     |held held he:ch|unk chu|nk ....|      bits of the last word behind the end become anything
//! ```
//!
//! A thread writes words of 32 bits, each of two words of the source. Samples of whole bytes keep their bytes' order,
//! since only whole bytes move.

use fringes_device::arithmetic::shf_l_wrap_b32;
use fringes_device::control::trap;
use fringes_device::index::{ctaid_x, ntid_x, tid_x};
use fringes_device::{Global, GlobalMut, unroll};
use fringes_kernels_common::decode::{BIG_ENDIAN, in_order};

use crate::THREADS;

pub use fringes_kernel_abi::f_engine::samples::{APPEND_WORDS as WORDS, SPAN};

/// Rows to be put somewhere.
#[derive(Clone, Copy)]
pub struct Append {
    /// Where the rows come from.
    pub from: Global<u32>,
    /// Where they go.
    pub to: GlobalMut<u32>,
    /// `[row][SPAN]`.
    pub spans: Global<u64>,
    /// Rows.
    pub rows: u32,
    /// Tiles of a row: blocks.
    pub tiles: u32,
}

/// A word with its bytes in the other order: its bits in that of the stream.
#[inline(always)]
fn turned(word: u32) -> u32 {
    in_order(word, BIG_ENDIAN)
}

impl Append {
    /// Writes a block's tile.
    ///
    /// # Safety
    /// Spans do not overlap.
    #[inline(always)]
    pub unsafe fn run(self) {
        let (row, tile) = (ctaid_x() / self.tiles.max(1), ctaid_x() % self.tiles.max(1));
        if row >= self.rows {
            return;
        }
        if ntid_x() != THREADS || self.spans.len() as u64 / (SPAN as u64) < self.rows as u64 {
            return trap();
        }
        let number = |i: usize| self.spans.load(row as usize * SPAN + i);
        let (from_bit, to_bit, bits) = (number(0), number(1), number(2));
        let holds = |first: u64, words: usize| {
            // At most 2^58 words of 32 bits.
            first.saturating_add(bits) <= words as u64 * 32
        };
        if !holds(from_bit, self.from.len()) || !holds(to_bit, self.to.len()) {
            return trap();
        }
        let before = to_bit % 32;
        let words = (before + bits).div_ceil(32);
        let first = (to_bit / 32) as usize;
        unroll!(i in 0 1 2 3 {
            let word = (tile as u64 * WORDS as u64 + i as u64) * THREADS as u64 + tid_x() as u64;
            if bits > 0 && word < words {
                // The source's bit of the word's first one, for the first word perhaps before the span.
                let at = from_bit.wrapping_add(32 * word).wrapping_sub(before) as i64;
                let (source, shift) = (at >> 5, at as u32 & 31);
                let load = |index: i64| {
                    if index >= 0 && (index as u64) < self.from.len() as u64 { turned(self.from.load(index as usize)) } else { 0 }
                };
                let mut value = shf_l_wrap_b32(load(source + 1), load(source), shift);
                let place = first + word as usize;
                if word == 0 && before > 0 {
                    let mask = u32::MAX >> before;
                    value = (turned(self.to.load(place)) & !mask) | (value & mask);
                }
                self.to.store(place, turned(value));
            }
        });
    }
}
