//! Samples in rows, and how they become operands.
//!
//! `A` has 64 times as its rows, from registers, 32 bytes of inputs at a time: a *k-step* of 16 inputs of 8-bit
//! products, 8 of f16. Rows have time along them. `ldmatrix.trans` moves pairs of bytes, and a pair is (re, im) of one
//! 8-bit sample: what a lane gets is the operand as it is. Of 4 bits a pair is two times of one input, which become
//! the lane's two rows. A sample of f16 is one register, loaded alone.

use fringes_device::arithmetic::prmt_b32;
use fringes_device::half2::add_rn_f16x2;
use fringes_device::matrix::ldmatrix_x4_trans_shared_b16;
use fringes_device::{Shared, unroll};

use crate::powers::{power_f16, powers_i8};
use crate::sums::Part;

/// A format of rows and of weights.
pub trait Source {
    /// Sums.
    type Part: Part;
    /// Times of a row.
    const ROW_TIMES: u32;
    /// Inputs of a chunk.
    const INPUTS: u32;
    /// Whether a lane's two rows are neighbouring times; else its own and the one 8 further on.
    const NEIGHBOURS: bool = false;

    /// Whether weights are f16.
    const FLOATS: bool = false;

    /// Blocks of rows of a tile.
    const BLOCKS: u32 = 128 / Self::ROW_TIMES;
    /// Bytes of a chunk of samples.
    const BYTES: u32 = 128 * Self::INPUTS * Self::BLOCKS;

    /// What a lane adds to a chunk's address.
    fn place(group: u32, warp: u32, lane: u32) -> u32;

    /// `A` for the two k-steps of half `half` of a chunk.
    ///
    /// # Safety
    /// - The chunk is in shared memory; `place` is this lane's.
    /// - All lanes of the warp call it together.
    unsafe fn operands(place: u32, half: u32) -> [[u32; 4]; 2];

    /// Samples `(re, im)` as `(im, -re)`.
    fn turned(samples: u32) -> u32;

    /// What powers of operands are multiples of.
    const POWER_UNIT: f32 = 1.0;

    /// Pairs of neighbouring inputs of a k-step that a lane has, from input `2 (lane % 4)` on and eight further on.
    const PAIRS: usize;

    /// `|x|^2` of the samples of a k-step at the lane's two rows: of the inputs of its pairs, one after another.
    fn operand_powers(operands: [u32; 4]) -> [[f32; 4]; 2];
}

/// 8-bit samples and weights.
pub struct RowsI8;

/// 4-bit samples, 8-bit weights.
pub struct RowsI4;

/// 8-bit samples, f16 weights.
pub struct RowsI8ByF16;

/// f16 samples and weights.
pub struct RowsF16;

/// Where a lane finds rows for `ldmatrix`: inputs 0-7 at times 0-7 and 8-15, inputs 8-15.
#[inline(always)]
fn place_of_pairs(group: u32, warp: u32, lane: u32, inputs: u32) -> u32 {
    let row = lane / 16 * 8 + lane % 8;
    128 * inputs * group + 128 * row + 16 * ((2 * warp + lane / 8 % 2) ^ (lane % 8))
}

/// Two complex 8-bit samples, each turned; -128 becomes -128.
#[inline(always)]
fn turned_i8(samples: u32) -> u32 {
    // What a byte lacks is taken from the one above, which is not kept.
    let negated = 0x0100_0100u32.wrapping_sub(samples & 0x00ff_00ff);
    prmt_b32(samples, negated, 0x6341)
}

/// A complex f16 sample, turned.
#[inline(always)]
fn turned_f16(sample: u32) -> u32 {
    prmt_b32(sample, sample, 0x1032) ^ 0x8000_0000
}

/// Real and imaginary parts of two 4-bit samples at an even time, and at the odd one after it, times 16.
#[inline(always)]
pub(crate) fn widened(pairs: u32) -> [u32; 2] {
    const RE: u32 = 0x00f0_00f0;
    const IM: u32 = 0xf000_f000;
    [(pairs & RE) | (pairs << 12 & IM), (pairs >> 8 & RE) | (pairs << 4 & IM)]
}

/// Two complex 8-bit samples as f16.
#[inline(always)]
fn halves(samples: u32) -> [u32; 2] {
    // Bytes plus 128 below the exponent of 1024, less 1152.
    let biased = samples ^ 0x8080_8080;
    [0x4140, 0x4342].map(|selector| add_rn_f16x2(prmt_b32(biased, 0x6464_6464, selector), 0xe480_e480))
}

/// [`Source::operand_powers`] of 8-bit operands, two samples each.
#[inline(always)]
fn powers_of_pairs([a, b, c, d]: [u32; 4]) -> [[f32; 4]; 2] {
    let row = |first: u32, second: u32| {
        let ([a, b], [c, d]) = (powers_i8(first), powers_i8(second));
        [a, b, c, d]
    };
    [row(a, c), row(b, d)]
}

/// [`Source::operand_powers`] of f16 operands, a sample each.
#[inline(always)]
fn powers_of_halves([a, b, c, d]: [u32; 4]) -> [[f32; 4]; 2] {
    let row = |first: u32, second: u32| [power_f16(first), power_f16(second), 0.0, 0.0];
    [row(a, c), row(b, d)]
}

impl Source for RowsI8 {
    type Part = i32;
    const ROW_TIMES: u32 = 64;
    const INPUTS: u32 = 64;

    #[inline(always)]
    fn place(group: u32, warp: u32, lane: u32) -> u32 {
        place_of_pairs(group, warp, lane, Self::INPUTS)
    }

    #[inline(always)]
    unsafe fn operands(place: u32, half: u32) -> [[u32; 4]; 2] {
        let at = place + 4096 * half;
        [ldmatrix_x4_trans_shared_b16(at), ldmatrix_x4_trans_shared_b16(at + 2048)]
    }

    #[inline(always)]
    fn turned(samples: u32) -> u32 {
        turned_i8(samples)
    }

    const PAIRS: usize = 2;

    #[inline(always)]
    fn operand_powers(operands: [u32; 4]) -> [[f32; 4]; 2] {
        powers_of_pairs(operands)
    }
}

impl Source for RowsI4 {
    type Part = i32;
    const ROW_TIMES: u32 = 128;
    const INPUTS: u32 = 64;
    const NEIGHBOURS: bool = true;
    const POWER_UNIT: f32 = 256.0;

    #[inline(always)]
    fn place(group: u32, warp: u32, lane: u32) -> u32 {
        128 * lane + 16 * ((4 * group + warp) ^ (lane % 8))
    }

    #[inline(always)]
    unsafe fn operands(place: u32, half: u32) -> [[u32; 4]; 2] {
        let [a, b, c, d] = ldmatrix_x4_trans_shared_b16(place + 4096 * half).map(widened);
        [[a[0], a[1], b[0], b[1]], [c[0], c[1], d[0], d[1]]]
    }

    #[inline(always)]
    fn turned(samples: u32) -> u32 {
        turned_i8(samples)
    }

    const PAIRS: usize = 2;

    #[inline(always)]
    fn operand_powers(operands: [u32; 4]) -> [[f32; 4]; 2] {
        powers_of_pairs(operands)
    }
}

impl Source for RowsI8ByF16 {
    type Part = f32;
    const ROW_TIMES: u32 = 64;
    const INPUTS: u32 = 32;
    const FLOATS: bool = true;

    #[inline(always)]
    fn place(group: u32, warp: u32, lane: u32) -> u32 {
        place_of_pairs(group, warp, lane, Self::INPUTS)
    }

    #[inline(always)]
    unsafe fn operands(place: u32, half: u32) -> [[u32; 4]; 2] {
        let [a, b, c, d] = ldmatrix_x4_trans_shared_b16(place + 2048 * half).map(halves);
        [[a[0], b[0], a[1], b[1]], [c[0], d[0], c[1], d[1]]]
    }

    #[inline(always)]
    fn turned(samples: u32) -> u32 {
        turned_f16(samples)
    }

    const PAIRS: usize = 1;

    #[inline(always)]
    fn operand_powers(operands: [u32; 4]) -> [[f32; 4]; 2] {
        powers_of_halves(operands)
    }
}

impl Source for RowsF16 {
    type Part = f32;
    const ROW_TIMES: u32 = 32;
    const INPUTS: u32 = 32;
    const FLOATS: bool = true;

    /// The sample of input `2 (lane % 4)` at the lane's first time. The other input is XORed in: its row's swizzle
    /// differs in the lowest bit of the piece.
    #[inline(always)]
    fn place(group: u32, warp: u32, lane: u32) -> u32 {
        let (input, time) = (2 * (lane % 4), 16 * (warp % 2) + lane / 4);
        let block = 2 * group + warp / 2;
        128 * Self::INPUTS * block + 128 * input + 16 * ((time / 4) ^ input) + 4 * (time % 4)
    }

    #[inline(always)]
    unsafe fn operands(place: u32, half: u32) -> [[u32; 4]; 2] {
        // Eight times on are two pieces on: bit 1 of the piece, which is 0 before the swizzle.
        let load = |at: u32| Shared::<u32>::from_raw_parts(at, 1).load(0);
        let mut a = [[0; 4]; 2];
        unroll!(k in 0 1 {
            let at = place + 2048 * half + 1024 * k as u32;
            let next = (at + 128) ^ 16;
            a[k] = [load(at), load(at ^ 32), load(next), load(next ^ 32)];
        });
        a
    }

    #[inline(always)]
    fn turned(samples: u32) -> u32 {
        turned_f16(samples)
    }

    const PAIRS: usize = 1;

    #[inline(always)]
    fn operand_powers(operands: [u32; 4]) -> [[f32; 4]; 2] {
        powers_of_halves(operands)
    }
}
