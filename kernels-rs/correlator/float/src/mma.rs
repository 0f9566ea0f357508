//! Products in three times tf32 by `mma.sync`, for every device. Tiles, stages and sums in global memory are those of
//! [`plain`](crate::plain).
//!
//! # Arithmetic
//! Every sample is split into two tf32, `x = hi + lo` ([`tf32`](crate::tf32)), and a product is
//! `hi hi' + hi lo' + lo hi'`. The sum along which `m16n8k8` multiplies holds four times: first their real parts, then
//! their imaginary ones, so that a lane has both parts of a sample:
//!
//! ```text
//! Re V = a_re b_re + a_im b_im        A = (re, re, re, re, im, im, im, im)    B alike
//! Im V = a_im b_re - a_re b_im        A = (im, im, im, im, -re, -re, -re, -re)
//! ```
//!
//! A warp has 64 rows and 32 columns, 128 sums in f32. The tensor cores start from zero for every four times, small
//! products first; what they give is added to the sums by `FADD`, to nearest. On the diagonal the second warp leaves
//! out the rows above its columns.
//!
//! # Floor
//! Four times of a warp's part are 96 `mma.m16n8k8`; three products of each pair. An H200 takes 1.53 cycles of an SM
//! for one: 350 TFLOP/s, a third of it 117, of which 97 % are useful with 1024 inputs. Beside them 12 `LDS.64`, about
//! 90 instructions that split, and 128 `FADD`: 330 slots of the scheduler's 590 cycles.
//!
//! # Precision
//! Relative to `sum |a| |b|`, with what the tensor cores do as [`wgmma`](crate::wgmma) has it:
//!
//! ```text
//! left out and cut                2 (2^-22 + 2 2^-23), of either sign
//! cut by the tensor cores         20 2^-23 at most: ten terms of the last product, and what the first two lose
//! rounded, sums of 4 times        256 u within 1024 times, B u of those in global memory;
//!                                 1 / 3 of their square roots as standard deviation
//! ```
use fringes_device::index::tid_x;
use fringes_device::mma::mma_m16n8k8_f32_tf32;
use fringes_device::{Shared, opaque, unroll};

use crate::job::ROW_BYTES;
use crate::plain::Accumulators;
use crate::stage::chunk_of_row;
use crate::tf32::{SIGN, row_of_group, split};

/// Columns of a warp.
const COLUMNS: u32 = 32;

/// Sums of a warp: 64 rows by 32 columns, in fragments `[16 rows][8 columns]`.
pub(crate) struct Tensor {
    re: [[[f32; 4]; 4]; 4],
    im: [[[f32; 4]; 4]; 4],
}

/// A row's complex sample whose bytes lie at this shared address.
///
/// # Safety
/// - `address` is the shared address of a sample that has been written, a multiple of 8.
#[inline(always)]
unsafe fn load(address: u32) -> [f32; 2] {
    Shared::<[f32; 2]>::from_raw_parts(address, 1).load(0)
}

/// Hi and lo of a fragment: of 8 columns by 4 times real and imaginary part, of 16 rows by 4 times those of both rows
/// of a lane.
#[derive(Clone, Copy)]
struct Split<const N: usize> {
    hi: [u32; N],
    lo: [u32; N],
}

impl<const N: usize> Split<N> {
    #[inline(always)]
    fn new(samples: [f32; N]) -> Self {
        let parts = samples.map(split);
        Self { hi: parts.map(|(hi, _)| hi), lo: parts.map(|(_, lo)| lo) }
    }
}

impl Tensor {
    /// Adds a stage, the first 32 rows of the tile unless it is to `skip` them.
    ///
    /// # Safety
    /// - Rows and columns of a stage lie at the shared addresses, and a barrier followed their copies.
    /// - All lanes of the warp call it together, in a block of two warps.
    #[inline(always)]
    unsafe fn stage(&mut self, rows: u32, columns: u32, skip: bool) {
        let lane = tid_x() % 32;
        let (row, time) = (row_of_group(lane / 4), lane % 4);
        let place = chunk_of_row(row, time / 2) + 8 * (time % 2);
        let (rows, columns) = (rows + place, columns + place + tid_x() / 32 * COLUMNS * ROW_BYTES);
        let mut k = 0;
        while k < 4 {
            // Four times further on are two chunks further on.
            let (rows, columns) = (rows ^ (32 * k), columns ^ (32 * k));
            let mut b = [Split { hi: [0; 2], lo: [0; 2] }; 4];
            unroll!(n in 0 1 2 3 { b[n] = Split::new(load(columns + n as u32 * 8 * ROW_BYTES)); });
            unroll!(m in 2 3 { self.row(m, rows, &b); });
            if !skip {
                unroll!(m in 0 1 { self.row(m, rows, &b); });
            }
            k += 1;
        }
    }

    /// Adds four times to row `m` of fragments.
    ///
    /// # Safety
    /// - As [`Tensor::stage`], with `rows` this lane's address and `m < 4`.
    #[inline(always)]
    unsafe fn row(&mut self, m: usize, rows: u32, b: &[Split<2>; 4]) {
        let address = rows + m as u32 * 16 * ROW_BYTES;
        let (first, second) = (load(address), load(address + 8 * ROW_BYTES));
        let a = Split::new([first[0], second[0], first[1], second[1]]);
        // Re V = a_re b_re + a_im b_im, Im V = a_im b_re + (-a_re) b_im.
        let turn = |[re, re_next, im, im_next]: [u32; 4]| [im, im_next, re ^ SIGN, re_next ^ SIGN];
        let turned = Split { hi: turn(a.hi), lo: turn(a.lo) };
        unroll!(pair in 0 1 { self.add(m, 2 * pair, [a, turned], b); });
    }

    /// Adds four times to fragments `(m, n)` and `(m, n + 1)`.
    ///
    /// Small products first, from zero: they lose little, and the sum loses at the last product only. Two fragments at
    /// a time: four sums under way, of eight that the two warps of a scheduler have.
    ///
    /// # Safety
    /// - All lanes of the warp call it together; `m < 4`, `n < 3`.
    #[inline(always)]
    unsafe fn add(&mut self, m: usize, n: usize, [a, turned]: [Split<4>; 2], b: &[Split<2>; 4]) {
        let (mut re, mut im) = ([[0.0; 4]; 2], [[0.0; 4]; 2]);
        unroll!(i in 0 1 {
            re[i] = mma_m16n8k8_f32_tf32(a.lo, b[n + i].hi, [0.0; 4]);
            im[i] = mma_m16n8k8_f32_tf32(turned.lo, b[n + i].hi, [0.0; 4]);
        });
        unroll!(i in 0 1 {
            re[i] = mma_m16n8k8_f32_tf32(a.hi, b[n + i].lo, re[i]);
            im[i] = mma_m16n8k8_f32_tf32(turned.hi, b[n + i].lo, im[i]);
        });
        unroll!(i in 0 1 {
            re[i] = mma_m16n8k8_f32_tf32(a.hi, b[n + i].hi, re[i]);
            im[i] = mma_m16n8k8_f32_tf32(turned.hi, b[n + i].hi, im[i]);
        });
        unroll!(i in 0 1 {
            unroll!(register in 0 1 2 3 {
                self.re[m][n + i][register] += re[i][register];
                self.im[m][n + i][register] += im[i][register];
            });
        });
    }
}

impl Accumulators for Tensor {
    #[inline(always)]
    fn zero() -> Self {
        // SAFETY: all bits zero are numbers. (An array expression becomes a loop, which keeps the array in memory.)
        unsafe { core::mem::zeroed() }
    }

    #[inline(always)]
    unsafe fn step(&mut self, rows: u32, columns: u32, diagonal: bool) {
        // On the diagonal the first 32 rows lie above the second warp's columns.
        self.stage(rows, columns, diagonal && tid_x() >= 32);
    }

    #[inline(always)]
    fn half(&self, half: usize, put: impl Fn(u32, u32, [f32; 2])) {
        // Places made here, and not in front of the loop, where they would take registers.
        let thread = opaque(tid_x() as i32) as u32;
        let (warp, lane) = (thread / 32, thread % 32);
        unroll!(m in 0 1 {
            unroll!(n in 0 1 2 3 {
                // Rows lane / 4 and 8 more, columns 2 (lane % 4) and one more of a fragment.
                unroll!(i in 0 1 2 3 {
                    let row = 16 * m as u32 + 8 * (i as u32 / 2) + row_of_group(lane / 4);
                    let column = COLUMNS * warp + 8 * n as u32 + row_of_group(lane % 4 * 2 + i as u32 % 2);
                    put(row, column, [self.re[2 * half + m][n][i], self.im[2 * half + m][n][i]]);
                });
            });
        });
    }
}
