//! Pieces of 16 bytes: what one instruction loads or stores, and what becomes of their samples between the two.
//!
//! A piece holds `16 / S` samples of `S` bytes: 16 of 4+4 bits, 8 of 8-bit pairs, 4 of f16 pairs, 2 of f32 pairs.
//! Pieces of voltages hold inputs or polarisations side by side, pieces of rows times.

use fringes_device::arithmetic::{prmt_b32, shf_r_wrap_b32};
use fringes_device::{Global, unroll};

/// Four words: a load, a store.
pub type Piece = [u32; 4];

/// `16 / S` pieces with an input at each place, one piece a time, to pieces with a time at each place, one piece an
/// input: a square of samples transposed.
///
/// # PTX
/// `prmt.b32`, 128 for 16 x 16 bytes, 32 for 8 x 8 pairs of bytes; larger samples are whole words and cost nothing.
#[inline(always)]
pub fn transposed<const S: usize>(x: [Piece; 16]) -> [Piece; 16] {
    let mut y = [[0; 4]; 16];
    match S {
        8 => {
            y[0] = [x[0][0], x[0][1], x[1][0], x[1][1]];
            y[1] = [x[0][2], x[0][3], x[1][2], x[1][3]];
        }
        4 => {
            unroll!(input in 0 1 2 3 { y[input] = [x[0][input], x[1][input], x[2][input], x[3][input]]; });
        }
        2 => {
            unroll!(word in 0 1 2 3 { unroll!(pair in 0 1 2 3 {
                let (early, late) = (x[2 * pair][word], x[2 * pair + 1][word]);
                y[2 * word][pair] = prmt_b32(early, late, 0x5410);
                y[2 * word + 1][pair] = prmt_b32(early, late, 0x7632);
            }); });
        }
        _ => {
            unroll!(word in 0 1 2 3 { unroll!(four in 0 1 2 3 {
                let [a, b, c, d] = [x[4 * four][word], x[4 * four + 1][word], x[4 * four + 2][word], x[4 * four + 3][word]];
                let (ab, cd) = (prmt_b32(a, b, 0x5140), prmt_b32(c, d, 0x5140)); // inputs 0 and 1
                y[4 * word][four] = prmt_b32(ab, cd, 0x5410);
                y[4 * word + 1][four] = prmt_b32(ab, cd, 0x7632);
                let (ab, cd) = (prmt_b32(a, b, 0x7362), prmt_b32(c, d, 0x7362)); // inputs 2 and 3
                y[4 * word + 2][four] = prmt_b32(ab, cd, 0x5410);
                y[4 * word + 3][four] = prmt_b32(ab, cd, 0x7632);
            }); });
        }
    }
    y
}

/// A piece with two polarisations side by side at each time, as the half pieces of the two.
#[inline(always)]
pub fn polarisations<const S: usize>(x: Piece) -> [[u32; 2]; 2] {
    let by_bytes = |selector| [prmt_b32(x[0], x[1], selector), prmt_b32(x[2], x[3], selector)];
    match S {
        8 => [[x[0], x[1]], [x[2], x[3]]],
        4 => [[x[0], x[2]], [x[1], x[3]]],
        2 => [by_bytes(0x5410), by_bytes(0x7632)],
        _ => [by_bytes(0x6420), by_bytes(0x7531)],
    }
}

/// The first `bytes` bytes of a piece (or all), zeros behind them.
#[inline(always)]
pub fn first_bytes(mut x: Piece, bytes: u32) -> Piece {
    if bytes < 16 {
        unroll!(word in 0 1 2 3 {
            let left = bytes.saturating_sub(4 * word as u32);
            if left < 4 {
                x[word] &= (1 << (8 * left)) - 1;
            }
        });
    }
    x
}

/// The whole pieces of some bytes, which are pieces that begin at multiples of 16 of the address: to load 16 bytes from
/// any place, as two of them.
#[derive(Clone, Copy)]
pub struct Aligned {
    pieces: Global<Piece>,
    /// Bytes before the first piece.
    skipped: u64,
}

impl Aligned {
    /// Of the first `bytes` bytes of a view.
    ///
    /// # Safety
    /// The view holds them.
    #[inline(always)]
    pub unsafe fn new(view: Global<u8>, bytes: u64) -> Self {
        let skipped = view.address(0).wrapping_neg() % 16;
        let number = bytes.saturating_sub(skipped) / 16;
        // Of no pieces no address is used.
        Self { pieces: Global::from_raw_parts(view.address(0).wrapping_add(skipped), number as usize), skipped }
    }

    /// Whether both pieces exist that hold 16 bytes, for all of them that begin at bytes from `first` to `last`.
    #[inline(always)]
    pub fn hold(&self, first: u64, last: u64) -> bool {
        first >= self.skipped && (last - self.skipped) / 16 + 2 <= self.pieces.len() as u64
    }

    /// Both pieces that hold the 16 bytes from byte `byte` on.
    ///
    /// # Safety
    /// They [exist](Self::hold).
    #[inline(always)]
    pub unsafe fn both(&self, byte: u64) -> [Piece; 2] {
        let index = ((byte - self.skipped) / 16) as usize;
        [self.pieces.load(index), self.pieces.load(index + 1)]
    }

    /// The 16 bytes from byte `byte` on, a multiple of `S`, in both pieces that hold them.
    ///
    /// # PTX
    /// 11 `selp.b32`, and 4 `shf.r.wrap.b32` for samples that are no whole words.
    #[inline(always)]
    pub fn cut<const S: usize>(&self, [low, high]: [Piece; 2], byte: u64) -> Piece {
        let bytes = (byte.wrapping_sub(self.skipped) % 16) as u32;
        let mut x = [low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3]];
        unroll!(word in 0 1 2 3 4 5 { x[word] = if bytes & 8 == 0 { x[word] } else { x[word + 2] }; });
        if S < 8 {
            unroll!(word in 0 1 2 3 4 { x[word] = if bytes & 4 == 0 { x[word] } else { x[word + 1] }; });
        }
        if S < 4 {
            unroll!(word in 0 1 2 3 { x[word] = shf_r_wrap_b32(x[word], x[word + 1], 8 * bytes); });
        }
        [x[0], x[1], x[2], x[3]]
    }
}

/// A piece without the samples whose flag, a byte each, is zero.
#[inline(always)]
pub fn flagged<const S: usize>(mut x: Piece, flags: Piece) -> Piece {
    unroll!(word in 0 1 2 3 {
        // Words of flags, and which of their bytes the bytes of this word go by.
        let (from, selector) = match S {
            8 => (0, 0x8888 + 0x1111 * (word as u32 / 2)),
            4 => (0, 0x8888 + 0x1111 * word as u32),
            2 => (word / 2, if word.is_multiple_of(2) { 0x9988 } else { 0xbbaa }),
            _ => (word, 0xba98),
        };
        // The high bit of each byte that is not zero; a selector with its own high bit copies it to all eight.
        let some = ((flags[from] & 0x7f7f_7f7f) + 0x7f7f_7f7f) | flags[from];
        x[word] &= prmt_b32(some, 0, selector);
    });
    x
}

/// The `16 / S` flags from `first` on, a multiple of as many, a byte each.
///
/// # Safety
/// The flags lie within the view, whose address is a multiple of their number.
#[inline(always)]
pub unsafe fn flags<const S: usize>(present: Global<u8>, first: usize) -> Piece {
    match S {
        8 => [u32::from(present.cast::<u16>().load(first / 2)), 0, 0, 0],
        4 => [present.cast::<u32>().load(first / 4), 0, 0, 0],
        2 => {
            let [low, high] = present.cast::<[u32; 2]>().load(first / 8);
            [low, high, 0, 0]
        }
        _ => present.cast::<[u32; 4]>().load(first / 16),
    }
}

/// A piece with the real parts of 4+4-bit samples in the other nibbles.
#[inline(always)]
pub fn other_nibbles(mut x: Piece) -> Piece {
    unroll!(word in 0 1 2 3 { x[word] = ((x[word] >> 4) & 0x0f0f_0f0f) | ((x[word] << 4) & 0xf0f0_f0f0); });
    x
}

/// A piece of samples that lie anywhere: `index` gives the sample at each place, or none where it is zero.
///
/// # Safety
/// The indices lie within the view, in samples of `S` bytes, and the view's address is a multiple of `S`.
#[inline(always)]
pub unsafe fn gathered<const S: usize>(samples: Global<u8>, index: impl Fn(u32) -> Option<usize>) -> Piece {
    let mut x = [0; 4];
    unroll!(place in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
        if place < 16 / S && let Some(index) = index(place as u32) {
            match S {
                8 => {
                    let [re, im] = samples.cast::<[u32; 2]>().load(index);
                    x[2 * (place % 2)] = re;
                    x[2 * (place % 2) + 1] = im;
                }
                4 => x[place % 4] = samples.cast::<u32>().load(index),
                2 => x[place / 2 % 4] |= u32::from(samples.cast::<u16>().load(index)) << (16 * (place % 2)),
                _ => x[place / 4] |= u32::from(samples.load(index)) << (8 * (place % 4)),
            }
        }
    });
    x
}
