//! Rows of 128 bytes, one an input: `[channel][time / R][input][R]`; and heaps of one polarisation, which differ in
//! strides only.

use fringes_device::matrix::ldmatrix_x4_shared_b16;
use fringes_device::{Shared, unroll};

use super::{Place, Source, THREADS, turned_apart, turned_f16, turned_i8, widened};

/// 8-bit samples: `re im` of 64 times in a row. A k-step is 16 times as they lie.
#[derive(Clone, Copy)]
pub(crate) struct RowsI8;

/// f16 samples: `re im` of 32 times in a row. A k-step is 8 times as they lie.
#[derive(Clone, Copy)]
pub(crate) struct RowsF16;

/// 4-bit samples, a byte each, 64 times of a row at once. A k-step is 16 times: 16 real parts, then 16 imaginary ones,
/// all times 16.
#[derive(Clone, Copy)]
pub(crate) struct RowsI4;

/// Where a lane finds rows of `A` for `ldmatrix`: rows 0-7, rows 8-15, then the next 16 bytes of both.
#[inline(always)]
fn place_of_128(group: u32, warp: u32, lane: u32) -> Place {
    let row = 64 * group + 16 * warp + lane % 16;
    Place { row: 128 * row, chunk: 16 * ((lane / 16) ^ (row % 8)) }
}

/// Rows of `A` for two k-steps, of rows of 128 bytes.
///
/// # Safety
/// - The side is in shared memory and has the row of `place`; `half < 2`.
/// - All lanes of the warp call it together.
#[inline(always)]
unsafe fn operands_of_128(side: u32, place: Place, half: u32) -> [[u32; 4]; 2] {
    let at = side + place.row;
    [
        ldmatrix_x4_shared_b16(at + (place.chunk ^ (64 * half))),
        ldmatrix_x4_shared_b16(at + (place.chunk ^ (64 * half + 32))),
    ]
}

/// Loads a chunk of 4-bit samples.
///
/// # Safety
/// - `at` is the shared address of 16 bytes that have been written, a multiple of 16.
#[inline(always)]
unsafe fn packed(at: u32) -> [u32; 4] {
    Shared::<[u32; 4]>::from_raw_parts(at, 1).load(0)
}

/// Stores what becomes of it: real and imaginary parts.
///
/// # Safety
/// - `to` are shared addresses of 16 bytes of the block, multiples of 16, which no other thread uses before a
///   barrier.
#[inline(always)]
unsafe fn put_widened(to: [u32; 2], samples: [u32; 4]) {
    let (mut re, mut im) = ([0; 4], [0; 4]);
    unroll!(i in 0 1 2 3 { (re[i], im[i]) = widened(samples[i]); });
    Shared::<[u32; 4]>::from_raw_parts(to[0], 1).store(0, re);
    Shared::<[u32; 4]>::from_raw_parts(to[1], 1).store(0, im);
}

macro_rules! in_order {
    () => {
        #[inline(always)]
        fn column(group: u32, warp: u32, lane: u32) -> (u32, u32) {
            (64 * group + 16 * warp + lane / 4, 8)
        }

        #[inline(always)]
        fn row(j: u32, i: u32) -> u32 {
            8 * j + i
        }
    };
}

impl Source for RowsI8 {
    type Part = i32;
    const INNER: u32 = 128;
    const BOXES: u32 = 1;
    const POLS: u32 = 1;
    const EXPANDS: bool = false;
    in_order!();

    #[inline(always)]
    fn place(group: u32, warp: u32, lane: u32) -> Place {
        place_of_128(group, warp, lane)
    }

    #[inline(always)]
    unsafe fn operands(side: u32, _: u32, place: Place, half: u32) -> [[u32; 4]; 2] {
        operands_of_128(side, place, half)
    }

    #[inline(always)]
    fn turned(a: [u32; 4]) -> [u32; 4] {
        a.map(turned_i8)
    }

    #[inline(always)]
    unsafe fn expand(_: u32, _: u32, _: u32, _: u32, _: u32) {}
}

impl Source for RowsF16 {
    type Part = f32;
    const INNER: u32 = 128;
    const BOXES: u32 = 1;
    const POLS: u32 = 1;
    const EXPANDS: bool = false;
    const AHEAD: bool = false;
    in_order!();

    #[inline(always)]
    fn place(group: u32, warp: u32, lane: u32) -> Place {
        place_of_128(group, warp, lane)
    }

    #[inline(always)]
    unsafe fn operands(side: u32, _: u32, place: Place, half: u32) -> [[u32; 4]; 2] {
        operands_of_128(side, place, half)
    }

    #[inline(always)]
    fn turned(a: [u32; 4]) -> [u32; 4] {
        a.map(turned_f16)
    }

    #[inline(always)]
    unsafe fn expand(_: u32, _: u32, _: u32, _: u32, _: u32) {}
}

impl Source for RowsI4 {
    type Part = i32;
    const INNER: u32 = 64;
    const BOXES: u32 = 1;
    const POLS: u32 = 1;
    const EXPANDS: bool = true;
    const AHEAD: bool = false;
    in_order!();

    /// Rows of 64 bytes: the swizzle XORs the chunk with the row's bits 1 and 2.
    #[inline(always)]
    fn place(group: u32, warp: u32, lane: u32) -> Place {
        let row = 64 * group + 16 * warp + lane % 16;
        Place { row: 64 * row, chunk: 16 * ((lane / 16) ^ (row / 2 % 4)) }
    }

    #[inline(always)]
    unsafe fn operands(side: u32, _: u32, place: Place, half: u32) -> [[u32; 4]; 2] {
        let [a, a_8, b, b_8] = ldmatrix_x4_shared_b16(side + place.row + (place.chunk ^ (32 * half))).map(widened);
        [[a.0, a_8.0, a.1, a_8.1], [b.0, b_8.0, b.1, b_8.1]]
    }

    #[inline(always)]
    fn turned(a: [u32; 4]) -> [u32; 4] {
        turned_apart(a)
    }

    /// Chunk `k` of a row becomes chunk `2 k` of the real and `2 k + 1` of the imaginary parts. A thread takes one
    /// chunk of every 24th row, two rows at a time: the swizzle is the same for all of them.
    #[inline(always)]
    unsafe fn expand(side: u32, to: u32, _: u32, rows: u32, thread: u32) {
        const APART: u32 = THREADS / 4;
        let (mut row, chunk) = (thread / 4, thread % 4);
        let mut from = side + 64 * row + 16 * (chunk ^ (row / 2 % 4));
        let mut to = [0, 1].map(|part| to + 128 * row + 16 * ((2 * chunk + part) ^ (row % 8)));
        while row < rows {
            let first = packed(from);
            let second = if row + APART < rows { packed(from + 64 * APART) } else { first };
            put_widened(to, first);
            if row + APART < rows {
                put_widened(to.map(|to| to + 128 * APART), second);
            }
            row += 2 * APART;
            from += 64 * 2 * APART;
            to = to.map(|to| to + 128 * 2 * APART);
        }
    }

    #[inline(always)]
    fn sum(part: i32) -> i32 {
        part >> 8
    }
}
