//! The transform of a spectrum of `N = 256 R` points in shared memory, in place, by `N / 32` threads: `R`, 16 and 16 points in registers.
//!
//! ```text
//! n = 256 n1 + 16 n2 + n3        n1 < R, n2, n3 < 16          rows of 16 points: row 16 n1 + n2
//! k = k1 + R k2 + 16 R k3        k1 < R, k2, k3 < 16
//!
//! first    over n1: R points apart by 16 rows      -> k1 takes the place of n1
//! middle   over n2: 16 points of 16 rows, twiddle  exp(-2 pi i n2 k1 / (16 R))           -> k2 in the place of n2
//! last     over n3: the points of a row, twiddle   exp(-2 pi i n3 (k1 + R k2) / N)       -> k3, in registers
//! ```
//!
//! After the middle pass, row `16 k1 + k2` has what channels `k1 + R k2 + (N / 16) k3` are made of. A thread takes two neighbouring columns in the first
//! and in the middle pass, 16 bytes a row, and two whole rows in the last.

use fringes_device::{Global, Shared, unroll};

use crate::butterfly::{Radix, TWIDDLES, sixteen_twiddled};
use crate::complex::Complex;
use crate::fir::place;

/// Loads the eight twiddles at `index` of a table of pairs, `stride` apart.
#[inline(always)]
unsafe fn twiddles(table: Global<[f32; 4]>, index: u32, stride: u32) -> [Complex; TWIDDLES] {
    let mut w = [[0.0; 2]; TWIDDLES];
    unroll!(i in 0 1 2 3 {
        let pair = table.load((index + i as u32 * stride) as usize);
        w[2 * i] = [pair[0], pair[1]];
        w[2 * i + 1] = [pair[2], pair[3]];
    });
    w
}

/// The first pass, as thread `thread` of `8 R`.
///
/// # Safety
/// `points` is a spectrum; a barrier of its threads is before and after.
#[inline(always)]
pub unsafe fn first<R: Radix>(points: Shared<[f32; 4]>, thread: u32) {
    let threads = 8 * R::POINTS as u32;
    if R::POINTS == 1 {
        return;
    }
    unroll!(q in 0 1 2 3 4 5 6 7 {
        if q < 16 / R::POINTS {
            let column = thread + q as u32 * threads;
            let (row, chunk) = (column / 8, column % 8);
            let (mut a, mut b) = (R::ZERO, R::ZERO);
            unroll!(n in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
                if n < R::POINTS {
                    let pair = points.load(place(row + 16 * n as u32, chunk) as usize);
                    a.as_mut()[n] = [pair[0], pair[1]];
                    b.as_mut()[n] = [pair[2], pair[3]];
                }
            });
            let (a, b) = (R::transform(a), R::transform(b));
            unroll!(n in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
                if n < R::POINTS {
                    let (a, b) = (a.as_ref()[n], b.as_ref()[n]);
                    points.store(place(row + 16 * n as u32, chunk) as usize, [a[0], a[1], b[0], b[1]]);
                }
            });
        }
    });
}

/// The middle pass, as thread `thread` of `8 R`; `table` is `[k1][4]`, pairs of twiddles.
///
/// # Safety
/// As [`first`].
#[inline(always)]
pub unsafe fn middle(points: Shared<[f32; 4]>, table: Global<[f32; 4]>, thread: u32) {
    let (k1, chunk) = (thread / 8, thread % 8);
    let w = twiddles(table, k1 * 4, 1);
    let (mut a, mut b) = ([[0.0; 2]; 16], [[0.0; 2]; 16]);
    unroll!(n in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
        let pair = points.load(place(16 * k1 + n as u32, chunk) as usize);
        a[n] = [pair[0], pair[1]];
        b[n] = [pair[2], pair[3]];
    });
    let (a, b) = (sixteen_twiddled(a, w), sixteen_twiddled(b, w));
    unroll!(k in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
        points.store(place(16 * k1 + k as u32, chunk) as usize, [a[k][0], a[k][1], b[k][0], b[k][1]]);
    });
}

/// A row for the last pass.
///
/// # Safety
/// As [`first`].
#[inline(always)]
pub unsafe fn row(points: Shared<[f32; 4]>, row: u32) -> [Complex; 16] {
    let mut x = [[0.0; 2]; 16];
    unroll!(chunk in 0 1 2 3 4 5 6 7 {
        let pair = points.load(place(row, chunk as u32) as usize);
        x[2 * chunk] = [pair[0], pair[1]];
        x[2 * chunk + 1] = [pair[2], pair[3]];
    });
    x
}

/// The last pass of a row; `table` is `[4][row]`, pairs of twiddles, of `rows` rows.
///
/// # Safety
/// The table has the row.
#[inline(always)]
pub unsafe fn last(x: [Complex; 16], table: Global<[f32; 4]>, row: u32, rows: u32) -> [Complex; 16] {
    sixteen_twiddled(x, twiddles(table, row, rows))
}

/// The two rows of thread `thread` of `8 R` in the last pass: channel `k` of the one has channel `N - k` in the other.
///
/// Row `16 k1 + k2` goes with row `16 (R - k1) + 15 - k2`; with `k1 = 0` it is row `(16 - k2) % 16`, so that rows 0 and 8 are their own partners and thread 0 has both.
#[inline(always)]
pub const fn rows<R: Radix>(thread: u32) -> (u32, u32) {
    let (k1, b) = (thread / 16, thread % 16);
    let half = R::POINTS as u32 / 2 * 16;
    if k1 > 0 {
        (thread, 16 * (R::POINTS as u32 - k1) + 15 - b)
    } else if b == 0 {
        (0, 8)
    } else if b < 8 {
        (b, 16 - b)
    } else {
        (half + b - 8, half + 23 - b)
    }
}

/// Channel of a row's first value: `k1 + R k2`.
#[inline(always)]
pub const fn first_channel<R: Radix>(row: u32) -> u32 {
    row / 16 + R::POINTS as u32 * (row % 16)
}
