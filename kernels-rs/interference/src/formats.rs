//! Powers of the voltages of a piece of 16 bytes, and of their squares.
//!
//! Places in a piece are even and odd: those of two polarisations. Sums are `[even, odd]` of `|x|^2`, then of `|x|^4`.
//!
//! # Precision
//! Integers: exact. Floats: the parts of a voltage are exact in f64, and so are their squares; a power is rounded once,
//! `|x|^4` and the sum that it is added to together once more. Sums of zeros are exact, so that a sum of `n` voltages
//! has `n - 1` roundings at most, however they are put together: within `(n + 4) 2^-53` of the true one.

use fringes_device::arithmetic::{dp4a_s32_s32, dp4a_u32_u32, fma_rn_f64, prmt_b32};
use fringes_device::convert::cvt_f32_f16;
use fringes_device::warp::shfl_sync_bfly_b32;
use fringes_device::{Value, unroll};

use crate::heaps::Piece;

/// A sum of powers.
pub trait Sum: Value {
    /// Nothing.
    const ZERO: Self;

    /// The sum of two.
    fn plus(self, other: Self) -> Self;

    /// The sum of the lane so far away.
    ///
    /// # Safety
    /// All lanes of the warp execute it together.
    unsafe fn across(self, lanes: u32) -> Self;
}

impl Sum for u64 {
    const ZERO: Self = 0;

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[inline(always)]
    unsafe fn across(self, lanes: u32) -> Self {
        let low = shfl_sync_bfly_b32(self as u32, lanes, 31, u32::MAX);
        let high = shfl_sync_bfly_b32((self >> 32) as u32, lanes, 31, u32::MAX);
        (high as u64) << 32 | low as u64
    }
}

impl Sum for f64 {
    const ZERO: Self = 0.0;

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self + other
    }

    #[inline(always)]
    unsafe fn across(self, lanes: u32) -> Self {
        f64::from_bits(self.to_bits().across(lanes))
    }
}

/// A format of voltages.
pub trait Format: Copy {
    /// Bytes of a voltage.
    const BYTES: usize;
    /// What its powers are summed in.
    type Sum: Sum;

    /// Adds the voltages of four pieces.
    fn add(sums: &mut [Self::Sum; 4], pieces: [Piece; 4]);
}

/// 4+4 bits, the real part in the high ones.
#[derive(Clone, Copy)]
pub struct I4;

/// The squares of four numbers of 4 bits in the low half of a word, in bytes.
///
/// `prmt` looks them up: those of 0 to 7 in a table, and 0 for the others, as no byte of the table has its highest bit
/// set; those of -8 to -1 in another one.
///
/// # PTX
/// 2 `prmt.b32`
#[inline(always)]
fn squares(four: u32, flipped: u32) -> u32 {
    prmt_b32(0x0904_0100, 0x3124_1910, four) + prmt_b32(0x1924_3140, 0x0104_0910, flipped)
}

/// Powers of four voltages, from their imaginary parts in the low half of a word and their real parts in the high one.
#[inline(always)]
pub(crate) fn powers(parts: u32) -> u32 {
    let flipped = parts ^ 0x8888_8888;
    squares(parts, flipped) + squares(parts >> 16, flipped >> 16)
}

impl Format for I4 {
    const BYTES: usize = 1;
    type Sum = u64;

    #[inline(always)]
    fn add(sums: &mut [u64; 4], pieces: [Piece; 4]) {
        // Of 32 voltages each, powers of at most 128: far from 2^32.
        let mut narrow = [0u32; 4];
        unroll!(piece in 0 1 2 3 { unroll!(pair in 0 1 {
            let (a, b) = (pieces[piece][2 * pair], pieces[piece][2 * pair + 1]);
            let low = a & 0x0f0f_0f0f | b << 4 & 0xf0f0_f0f0;
            let high = a >> 4 & 0x0f0f_0f0f | b & 0xf0f0_f0f0;
            unroll!(pol in 0 1 {
                let power = powers(prmt_b32(low, high, [0x6420, 0x7531][pol]));
                narrow[pol] = dp4a_u32_u32(power, 0x0101_0101, narrow[pol]);
                narrow[2 + pol] = dp4a_u32_u32(power, power, narrow[2 + pol]);
            });
        }); });
        unroll!(i in 0 1 2 3 { sums[i] = sums[i].plus(narrow[i] as u64); });
    }
}

/// Two bytes, the real part first.
#[derive(Clone, Copy)]
pub struct I8;

impl Format for I8 {
    const BYTES: usize = 2;
    type Sum = u64;

    #[inline(always)]
    fn add(sums: &mut [u64; 4], pieces: [Piece; 4]) {
        let mut narrow = [0u32; 2];
        unroll!(piece in 0 1 2 3 {
            // Four squares of at most (2 127^2)^2 are below 2^32.
            let mut squares = [0u32; 2];
            unroll!(word in 0 1 2 3 { unroll!(pol in 0 1 {
                let two = pieces[piece][word];
                let power = dp4a_s32_s32(two & [0xffff, 0xffff_0000][pol], two, 0) as u32;
                narrow[pol] = narrow[pol].wrapping_add(power);
                squares[pol] = squares[pol].wrapping_add(power.wrapping_mul(power));
            }); });
            unroll!(pol in 0 1 { sums[2 + pol] = sums[2 + pol].plus(squares[pol] as u64); });
        });
        unroll!(pol in 0 1 { sums[pol] = sums[pol].plus(narrow[pol] as u64); });
    }
}

/// Adds a voltage to sums of powers and of their squares.
#[inline(always)]
pub(crate) fn power_of_float(sums: &mut [f64; 2], re: f32, im: f32) {
    let (re, im) = (re as f64, im as f64);
    let power = fma_rn_f64(re, re, im * im);
    sums[0] += power;
    sums[1] = fma_rn_f64(power, power, sums[1]);
}

/// Adds a voltage.
#[inline(always)]
fn add_float(sums: &mut [f64; 4], pol: usize, re: f32, im: f32) {
    let mut of = [sums[pol], sums[2 + pol]];
    power_of_float(&mut of, re, im);
    [sums[pol], sums[2 + pol]] = of;
}

/// Two f16, the real part first.
#[derive(Clone, Copy)]
pub struct F16;

impl Format for F16 {
    const BYTES: usize = 4;
    type Sum = f64;

    #[inline(always)]
    fn add(sums: &mut [f64; 4], pieces: [Piece; 4]) {
        unroll!(piece in 0 1 2 3 { unroll!(word in 0 1 2 3 {
            let voltage = pieces[piece][word];
            add_float(sums, word % 2, cvt_f32_f16(voltage as u16), cvt_f32_f16((voltage >> 16) as u16));
        }); });
    }
}

/// Two f32, the real part first.
#[derive(Clone, Copy)]
pub struct F32;

impl Format for F32 {
    const BYTES: usize = 8;
    type Sum = f64;

    #[inline(always)]
    fn add(sums: &mut [f64; 4], pieces: [Piece; 4]) {
        unroll!(piece in 0 1 2 3 { unroll!(pol in 0 1 {
            let [re, im] = [pieces[piece][2 * pol], pieces[piece][2 * pol + 1]].map(f32::from_bits);
            add_float(sums, pol, re, im);
        }); });
    }
}
