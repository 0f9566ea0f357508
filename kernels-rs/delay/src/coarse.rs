//! Coarse shift: `y[input][n] = x[input][n - coarse[input]]`, zero where `x` has no sample.
//!
//! Samples have `bits` bits, 1 to 64, and rows are streams of bits, the most significant one of each byte first: packed
//! samples of 2 to 16 bits as they are, and whole bytes of 8-bit, 16-bit, 32-bit and 64-bit samples, whose order within
//! a sample does not matter. So one kernel shifts all.
//!
//! Floor: every sample is read once and written once. A thread writes pieces of 16 bytes. What goes into one lies in
//! two pieces of the source, which it loads, selects five words from, and shifts by the bits that are left:
//!
//! ```text
//! source   |...............:..|.:.............|...     two loads, at multiples of 16 bytes
//!                          [---- 128 bits ---)         from bit 8 A + r on
//! y            |..................|                    one store
//! ```
//!
//! Its neighbour loads one of the two as well, at the same time, so that it comes from memory once. This needs rows of
//! `y` at multiples of 16 bytes; rows of `x` begin at any byte. For other rows of `y` there is the kernel that moves
//! single bytes.

use fringes_device::arithmetic::{prmt_b32, shf_l_wrap_b32};
use fringes_device::index::tid_x;
use fringes_device::{Global, GlobalMut, unroll};
use fringes_kernel_abi::delay as abi;

use crate::work::{Tiles, divide, product};

/// Pieces of 16 bytes that a thread writes at once.
pub const PIECES: u32 = abi::SHIFT_PIECES;

/// Bytes that a thread of the other kernel writes at once.
pub const BYTES: u32 = abi::SHIFT_BYTES;

/// Samples of a row, at most; any delay beyond them leaves nothing.
pub const MOST_TIMES: u64 = abi::MOST_SHIFT_TIMES;

/// Rows of samples and their delays.
#[derive(Clone, Copy)]
pub struct Shift {
    /// `[input]` rows `x`.
    pub from: Global<u8>,
    /// `[input]` rows `y`.
    pub to: GlobalMut<u8>,
    /// `[input]`: delay in samples.
    pub coarse: Global<i64>,
    /// Inputs.
    pub inputs: u32,
    /// Bits of a sample.
    pub bits: u32,
    /// Samples of a row of `x`.
    pub from_times: u64,
    /// Samples of a row of `y`.
    pub to_times: u64,
    /// Bytes from a row of `x` to the next.
    pub from_stride: u64,
    /// Bytes from a row of `y` to the next.
    pub to_stride: u64,
}

impl Shift {
    /// Bytes of a row of so many samples.
    #[inline(always)]
    fn row(&self, times: u64) -> u64 {
        (times * u64::from(self.bits)).div_ceil(8)
    }

    /// Bytes of rows of so many samples.
    #[inline(always)]
    fn rows(&self, times: u64, stride: u64) -> u64 {
        if self.inputs == 0 { 0 } else { product(stride, u64::from(self.inputs) - 1).saturating_add(self.row(times)) }
    }

    /// Whether the views hold all rows and delays, and rows do not overlap.
    #[inline(always)]
    pub fn fit(&self) -> bool {
        (1..=64).contains(&self.bits)
            && self.from_times <= MOST_TIMES
            && self.to_times <= MOST_TIMES
            && self.row(self.to_times) <= self.to_stride
            && self.rows(self.from_times, self.from_stride) <= self.from.len() as u64
            && self.rows(self.to_times, self.to_stride) <= self.to.len() as u64
            && u64::from(self.inputs) <= self.coarse.len() as u64
    }

    /// Whether rows of `y` begin at multiples of 16 bytes of it.
    #[inline(always)]
    pub fn whole(&self) -> bool {
        self.to_stride.is_multiple_of(16) || self.inputs <= 1
    }

    /// Tiles of a row and of all rows, if they can be counted: 32 times `units` units of `bytes` bytes.
    #[inline(always)]
    pub fn tiles(&self, bytes: u32, units: u32) -> Option<(u32, u32)> {
        let of_a_row = self.row(self.to_times).div_ceil(u64::from(32 * bytes * units));
        let tiles = u32::try_from(product(of_a_row, self.inputs.into())).ok()?;
        Some((of_a_row as u32, tiles))
    }

    /// Bit of row `input` of `x` that becomes the first one of `y`, if any sample of `x` is left.
    ///
    /// # Safety
    /// - There is a delay of the input, and the sizes [fit](Self::fit).
    #[inline(always)]
    unsafe fn first_bit(&self, input: u32) -> Option<i64> {
        let coarse = self.coarse.load(input as usize);
        // Both are at most 2^48, and a sample has at most 64 bits.
        let left = coarse < self.to_times as i64 && coarse > -(self.from_times as i64);
        left.then(|| coarse.wrapping_neg().wrapping_mul(i64::from(self.bits)))
    }

    /// Shifts by pieces.
    ///
    /// # Safety
    /// The views [fit](Self::fit), lie at multiples of 16 bytes, and rows of `y` are [whole](Self::whole).
    #[inline(always)]
    pub unsafe fn pieces(&self, (of_a_row, tiles): (u32, u32)) {
        let bytes = self.row(self.to_times);
        let mut tiles = Tiles::new(tiles);
        while let Some(tile) = tiles.take() {
            let (input, group) = divide(tile, of_a_row);
            let first = self.first_bit(input);
            let mut windows = [Window::EMPTY; PIECES as usize];
            let byte =
                |i: usize| (u64::from(group) * 32 * u64::from(PIECES) + 32 * i as u64 + u64::from(tid_x() % 32)) * 16;
            unroll!(i in 0 1 2 3 {
                if let Some(first) = first && byte(i) < bytes {
                    windows[i] = self.window(input, first + 8 * byte(i) as i64);
                }
            });
            unroll!(i in 0 1 2 3 {
                if byte(i) < bytes {
                    let value = self.masked(windows[i].shifted(), windows[i].bit, byte(i));
                    self.store(input, byte(i), bytes, value);
                }
            });
        }
    }

    /// The two pieces of the source that hold 128 bits from bit `bit` of row `input` on, zero where it has none.
    ///
    /// # Safety
    /// - The views [fit](Self::fit), `from` lies at a multiple of 16 bytes, and there is the input.
    #[inline(always)]
    unsafe fn window(&self, input: u32, bit: i64) -> Window {
        let bits = (self.from_times * u64::from(self.bits)) as i64;
        if bit >= bits || bit <= -128 {
            return Window::EMPTY;
        }
        let start = (u64::from(input) * self.from_stride) as i64 + (bit >> 3);
        let piece = start >> 4;
        let [a, b] = [self.piece(piece), self.piece(piece + 1)];
        Window {
            words: [a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]],
            offset: ((start & 15) << 3 | (bit & 7)) as u32,
            bit,
        }
    }

    /// Piece `piece` of the source; zero outside of it.
    ///
    /// # Safety
    /// - The source lies at a multiple of 16 bytes.
    #[inline(always)]
    unsafe fn piece(&self, piece: i64) -> [u32; 4] {
        let pieces = self.from.cast::<[u32; 4]>();
        if piece >= 0 && (piece as u64) < pieces.len() as u64 {
            return pieces.load(piece as usize);
        }
        let mut words = [0; 4];
        unroll!(i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
            let byte = 16 * piece + i as i64;
            if byte >= 0 && (byte as u64) < self.from.len() as u64 {
                words[i / 4] |= u32::from(self.from.load(byte as usize)) << (8 * (i % 4));
            }
        });
        words
    }

    /// A piece without the bits that no sample of `x` has and those behind the last sample of `y`.
    #[inline(always)]
    fn masked(&self, mut words: [u32; 4], bit: i64, byte: u64) -> [u32; 4] {
        let from = (self.from_times * u64::from(self.bits)) as i64;
        let to = (self.to_times * u64::from(self.bits) - 8 * byte) as i64;
        if bit < 0 || bit + 128 > from || to < 128 {
            let end = (from - bit).min(to);
            unroll!(i in 0 1 2 3 {
                let at = |edge: i64| (edge - 32 * i as i64).clamp(0, 32) as u32;
                words[i] &= turned(first_bits(at(end)) & !first_bits(at(-bit)));
            });
        }
        words
    }

    /// Stores a piece of a row, of the last one what the row has of it.
    ///
    /// # Safety
    /// - The views [fit](Self::fit), `to` lies at a multiple of 16 bytes, and rows of it are [whole](Self::whole).
    /// - There is the input; `byte` is a multiple of 16 below `bytes`, those of a row. No other thread stores the
    ///   piece.
    #[inline(always)]
    unsafe fn store(&self, input: u32, byte: u64, bytes: u64, words: [u32; 4]) {
        let at = u64::from(input) * self.to_stride + byte;
        if byte + 16 <= bytes {
            self.to.cast::<[u32; 4]>().store((at / 16) as usize, words);
        } else {
            unroll!(i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
                if byte + (i as u64) < bytes {
                    self.to.store((at + i as u64) as usize, (words[i / 4] >> (8 * (i % 4))) as u8);
                }
            });
        }
    }

    /// Shifts byte by byte.
    ///
    /// # Safety
    /// The views [fit](Self::fit).
    #[inline(always)]
    pub unsafe fn bytes(&self, (of_a_row, tiles): (u32, u32)) {
        let bytes = self.row(self.to_times);
        let from = (self.from_times * u64::from(self.bits)) as i64;
        let mut tiles = Tiles::new(tiles);
        while let Some(tile) = tiles.take() {
            let (input, group) = divide(tile, of_a_row);
            let first = self.first_bit(input);
            unroll!(i in 0 1 2 3 4 5 6 7 {
                let byte = u64::from(group) * 32 * u64::from(BYTES) + 32 * i as u64 + u64::from(tid_x() % 32);
                if byte < bytes {
                    let mut value = 0;
                    if let Some(first) = first {
                        let bit = first + 8 * byte as i64;
                        let part = |number: i64| {
                            // Bytes of the row alone, which may end within one.
                            let there = number >= 0 && 8 * number < from;
                            let at = (u64::from(input) * self.from_stride).wrapping_add(number as u64);
                            if there { u32::from(self.from.load(at as usize)) } else { 0 }
                        };
                        let both = part(bit >> 3) << 8 | part((bit >> 3) + 1);
                        let end = (from - bit).min((self.to_times * u64::from(self.bits) - 8 * byte) as i64);
                        value = (both << (bit & 7)) >> 8 & first_bits(end.clamp(0, 8) as u32) >> 24 & !(first_bits((-bit).clamp(0, 8) as u32) >> 24);
                    }
                    self.to.store((u64::from(input) * self.to_stride + byte) as usize, value as u8);
                }
            });
        }
    }
}

/// Eight words of the source, and where 128 bits of them begin.
#[derive(Clone, Copy)]
struct Window {
    words: [u32; 8],
    /// Bits before the first one, below 128.
    offset: u32,
    /// Number of that bit in the row.
    bit: i64,
}

impl Window {
    /// Nothing but zeros.
    const EMPTY: Self = Self { words: [0; 8], offset: 0, bit: 0 };

    /// The 128 bits.
    #[inline(always)]
    fn shifted(&self) -> [u32; 4] {
        let mut words = self.words;
        if self.offset & 64 != 0 {
            words = [words[2], words[3], words[4], words[5], words[6], words[7], 0, 0];
        }
        if self.offset & 32 != 0 {
            words = [words[1], words[2], words[3], words[4], words[5], words[6], 0, 0];
        }
        let mut shifted = [0; 4];
        unroll!(i in 0 1 2 3 {
            shifted[i] = turned(shf_l_wrap_b32(turned(words[i + 1]), turned(words[i]), self.offset));
        });
        shifted
    }
}

/// The first `n` bits set, at most 32.
#[inline(always)]
fn first_bits(n: u32) -> u32 {
    if n == 0 { 0 } else { u32::MAX << (32 - n.min(32)) }
}

/// A word with its bytes in the other order.
#[inline(always)]
fn turned(word: u32) -> u32 {
    prmt_b32(word, 0, 0x0123)
}
