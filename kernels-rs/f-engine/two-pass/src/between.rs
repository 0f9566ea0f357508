//! A pass between the two, for more channels than a block of the second one has room for: another digit of the
//! transform, in the workspace.
//!
//! With `n2 = N' i + n3`, `i, c < 16`, `e(x) = exp(-2 pi i x)`:
//!
//! ```text
//! y'[k1 + R c][n3] = sum_i e(i (k1 + R c) / (16 R)) y[k1][N' i + n3]
//! ```
//!
//! The second pass goes on with `16 R` rows of `N'` points. Points lie as `[i][n3][k1]` before it and as `[c][n3][k1]`
//! after it: a thread writes where it has read, two slots of one `n3` and `k1`, and a warp has 512 neighbouring bytes
//! of every point.
//!
//! It reads and writes 8 bytes a point, of which there are half as many as real samples. In place of it the second pass
//! would have rows of which a block's shared memory takes one to four slots: pieces of 8 to 32 bytes.
//!
//! # Precision
//! As a digit of the second pass ([`crate::butterfly`]).

use fringes_device::{Global, GlobalMut, unroll};
use fringes_kernels_common::complex::Complex;

use crate::butterfly::sixteen_twiddled;
use crate::columns::SPECTRA;
use crate::rows::factors;

use fringes_kernel_abi::f_engine::rows::DIGIT;
pub use fringes_kernel_abi::f_engine::tensor::THREADS;

/// Everything that the kernels get.
#[derive(Clone, Copy)]
pub struct Arguments {
    /// What [`columns`](crate::columns) wrote.
    pub workspace: GlobalMut<[f32; 4]>,
    /// Factors of the digit, `[k1]`, pairs of complex numbers.
    pub factors: Global<[f32; 4]>,
    /// Points of a row after it, `N'`.
    pub rows: u32,
}

/// Blocks of a group.
#[inline(always)]
pub const fn blocks(radix: u32, rows: u32) -> u32 {
    radix * rows * SPECTRA / THREADS
}

/// Whether the views hold what the first `places` groups of a workspace need.
#[inline(always)]
pub fn holds<const RADIX: u32>(arguments: &Arguments, places: u32) -> bool {
    let Arguments { workspace, factors, rows } = arguments;
    *rows > 0
        && *rows <= 1 << 12
        && places as usize * (DIGIT * RADIX * rows * SPECTRA) as usize <= workspace.len()
        && factors.len() as u32 >= 4 * RADIX
}

/// Runs block `block` of [`blocks`] of group `local` of the launch.
///
/// # Safety
/// A block of [`THREADS`] threads; [`holds`] for more places than `local`, and there is the block.
#[inline(always)]
pub unsafe fn run<const RADIX: u32>(arguments: Arguments, (block, local): (u32, u32), thread: u32) {
    let Arguments { workspace, factors: table, rows } = arguments;
    let item = block * THREADS + thread;
    let k1 = item / SPECTRA % RADIX;
    let stride = (rows * RADIX * SPECTRA) as usize;
    let at = (local * DIGIT) as usize * stride + item as usize;
    let here = workspace.part(at, workspace.len() - at);
    let mut both = [[0.0f32; 4]; 16];
    unroll!(i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
        both[i] = here.load(i * stride);
    });
    let w = factors(table, k1);
    let (mut a, mut b) = ([[0.0; 2]; 16], [[0.0; 2]; 16]);
    unroll!(i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
        a[i] = [both[i][0], both[i][1]];
        b[i] = [both[i][2], both[i][3]];
    });
    let (a, b): ([Complex; 16], [Complex; 16]) = (sixteen_twiddled(a, w), sixteen_twiddled(b, w));
    unroll!(c in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
        here.store(c * stride, [a[c][0], a[c][1], b[c][0], b[c][1]]);
    });
}
