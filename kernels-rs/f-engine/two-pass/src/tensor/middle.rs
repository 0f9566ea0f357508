//! A pass between the two, for more channels than a block of the second one has room for: another digit of the
//! transform, in the workspace.
//!
//! With `n2 = N' i + n3`, `i, c < D`, `e(x) = exp(-2 pi i x)`:
//!
//! ```text
//! y'[k1 + R c][n3] = sum_i e(i (k1 + R c) / (R D)) y[k1][N' i + n3]
//! ```
//!
//! The second pass goes on with `R D` rows of `N'` points. Points lie in the workspace as `[n3][i][k1]`, so that every
//! warp writes where it has read: `[n3][c][k1]`, which is the row's number.
//!
//! A warp has one `k1`, whose matrix stays in registers, and takes points of 32 slots at a time, as the second pass
//! does with its first digit. It reads and writes 4 bytes a point and term, in L2.
//!
//! # Precision
//! As that of the [second pass](super::rows): of one term two more roundings to 11 bits, of the matrix and of the
//! point.

use fringes_device::warp::bar_warp_sync;
use fringes_device::{Global, GlobalMut, opaque, unroll};

use super::rows::{fragment, product};
use super::terms;
use crate::columns::SLOTS;

pub use fringes_kernel_abi::f_engine::tensor::{MIDDLE_ITEMS, THREADS};
use fringes_kernel_abi::f_engine::tensor::{SPAN, middle_pieces, workspace_pieces};

/// Fragments of a side of the matrix of the longest digit, of 32 points.
const MOST_SIDE: usize = 4;

/// Everything that the kernels get.
#[derive(Clone, Copy)]
pub struct Arguments {
    /// Workspace, read and written.
    pub workspace: GlobalMut<[u32; 4]>,
    /// Fragments of the matrices, `[k1][fragment][term][lane]`, row of fragments by row.
    pub matrices: Global<[u32; 4]>,
    /// Points of a row after it, `N'`.
    pub rows: u32,
}

/// Whether the views hold what the first `places` groups of a workspace need.
#[inline(always)]
pub fn holds<const RADIX: u32, const DIGIT: u32, const TERMS: usize>(arguments: &Arguments, places: u32) -> bool {
    let terms = TERMS as u32;
    arguments.rows > 0
        && arguments.rows <= 1 << 12
        && (places as usize) * workspace_pieces(RADIX * DIGIT * arguments.rows, terms) as usize
            <= arguments.workspace.len()
        && arguments.matrices.len() as u32 >= middle_pieces(RADIX, DIGIT, terms)
}

/// Runs the items `first`, `first + 1`, ..., [`MIDDLE_ITEMS`] of them, of group `local` of the launch; an item is the
/// points of all `k1` of one `n3` and of one span of slots.
///
/// # Safety
/// A block of [`THREADS`] threads, all of which call it; [`holds`] for more places than `local`, and there are the
/// items.
#[inline(always)]
pub unsafe fn run<const RADIX: u32, const DIGIT: u32, const TERMS: usize>(
    arguments: Arguments,
    first: u32,
    local: u32,
    thread: u32,
) {
    let Arguments { workspace, matrices, rows } = arguments;
    let (warp, lane) = (thread / 32, thread % 32);
    let (g, t) = (lane / 4, lane % 4);
    let side = DIGIT / 8;
    let spans = SLOTS / SPAN;
    let mut k1 = warp;
    while k1 < RADIX {
        let mut a = [[[0u32; 4]; TERMS]; MOST_SIDE * MOST_SIDE];
        unroll!(f in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
            if (f as u32) < side * side {
                a[f] = fragment::<TERMS>(matrices, k1 * side * side + f as u32, lane);
            }
        });
        let mut item = first;
        while item < first + MIDDLE_ITEMS {
            let (n3, span) = (opaque((item / spans) as i32) as u32, item % spans);
            // Piece of point 0 of the row.
            let at = ((local * rows + n3) * DIGIT * RADIX + k1) * 32 * TERMS as u32 + span * (SPAN / 4);
            let here = workspace.part(at as usize, workspace.len() - at as usize);
            let mut b = [[[0u32; 4]; TERMS]; 2 * MOST_SIDE];
            unroll!(i in 0 1 2 3 4 5 6 7 {
                if (i as u32) < 2 * side {
                    unroll!(term in 0 1 {
                        if term < TERMS {
                            let point = (4 * i as u32 + t) * RADIX * TERMS as u32 + term as u32;
                            b[i][term] = here.load((point * 32 + g) as usize);
                        }
                    });
                }
            });
            // All lanes have read what this one may write.
            bar_warp_sync(u32::MAX);
            unroll!(half in 0 1 2 3 {
                if (half as u32) < side {
                    let mut sums = [[0.0f32; 4]; 4];
                    unroll!(j in 0 1 2 3 {
                        unroll!(k in 0 1 2 3 {
                            if (k as u32) < side {
                                let mut factor = [[0; 2]; TERMS];
                                unroll!(term in 0 1 {
                                    if term < TERMS {
                                        factor[term] = [b[2 * k][term][j], b[2 * k + 1][term][j]];
                                    }
                                });
                                sums[j] = product::<TERMS>(a[side as usize * half + k], factor, sums[j]);
                            }
                        });
                    });
                    // Row g of the fragment's values; columns 2 t and 2 t + 1 are two pieces.
                    unroll!(column in 0 1 {
                        let mut words = [[0u32; 4]; TERMS];
                        unroll!(j in 0 1 2 3 {
                            let word = terms::<TERMS>([sums[j][column], sums[j][2 + column]]);
                            unroll!(term in 0 1 {
                                if term < TERMS {
                                    words[term][j] = word[term];
                                }
                            });
                        });
                        unroll!(term in 0 1 {
                            if term < TERMS {
                                let value = (8 * half as u32 + g) * RADIX * TERMS as u32 + term as u32;
                                here.store((value * 32 + 2 * t + column as u32) as usize, words[term]);
                            }
                        });
                    });
                }
            });
            item += 1;
        }
        k1 += THREADS / 32;
    }
}
