//! Products in single precision by `fma`, for every device; and the frame of stages that [`mma`](crate::mma) uses too.
//!
//! # Shape
//! A block of 64 threads computes a tile of 64 x 64 pairs. A thread has rows `y + 8 i` and columns `x + 8 j` of it, `i`
//! and `j` from 0 to 7 (`y = thread / 8`, `x = thread % 8`): 8 x 8 pairs, 128 accumulators. On the diagonal it leaves
//! out `i < j`, which for every thread alike are 28 of 64 pairs: such a tile takes 9 / 16 of the time of another, and
//! no thread waits for others.
//!
//! Two stages of 16 times lie in shared memory. One is loaded while the other one is used, with one barrier a stage;
//! four blocks of an SM are at different places. From a stage a thread loads two times of a row in 16 bytes: 8 rows
//! that stay for a chunk of two times and 8 columns one after another. A row's register is loaded again as soon as its
//! last product is under way.
//!
//! # Floor
//! A chunk of two times takes a warp 512 `FFMA`, each one slot of its scheduler, with the sign of `-a_re b_im` in the
//! instruction; beside them 17 `LDS.128` and 2 `LOP3`, and a sixteenth of a stage's 16 copies, its barrier and its
//! addresses: 4096 of about 4330 slots a stage are products, 95 %. With 128 products a cycle and SM an H200 (1980 MHz)
//! can do 67 TFLOP/s, of which with 1024 inputs 99 % are useful. Shared memory: a load of 16 bytes takes four cycles
//! for a warp, 17 of them for 8 warps 544 of the 1024 cycles that a chunk's products take. L2: 16 KiB for 64 x 64
//! pairs, 16 times, 8 operations: 32 operations a byte.
//!
//! # Precision
//! With `u = 2^-24`, `L = 1024` times that registers sum (each time rounds twice) and `B = ceil(T / L)` such sums that
//! are added in global memory (in f64 without loss, in f32 with a rounding each), whatever the voltages are
//!
//! ```text
//! |dV_ab| <= (2 min(L, T) + B) u sum |a| |b|, up to terms of u^2        (f64: without B)
//! ```
//!
//! That is attained only if all roundings go the same way; they are to nearest, and so of either sign. With errors
//! independent and uniform within half a last place, sums that grow steadily have a standard deviation of at most
//! `u / 3 sqrt(2 min(L, T) / B + B) sqrt(V_aa V_bb)` (a sum of n terms has `u / sqrt(3)` of every partial sum,
//! `sqrt(n / 3)` of the last in all; `B` of them are averaged). That is 9e-7 at its highest, for `T = 1024`, and 2e-7
//! for `T = 65536`.

use fringes_device::arithmetic::{fma_rn_f32, fnma_rn_f32};
use fringes_device::barrier::bar_sync_0;
use fringes_device::copy_async::{cp_async_commit_group, cp_async_wait_group};
use fringes_device::index::{ctaid_x, tid_x};
use fringes_device::{Global, GlobalMut, Shared, opaque, unroll};
use fringes_kernels_correlator_core::tile;

use crate::job::{FLUSH_ROWS, Job, ROW_BYTES, ROW_TIMES, Span};
use crate::stage::{Side, chunk_of_row};
use crate::sum::{Sum, Triangle};

pub use fringes_kernel_abi::correlator::float::{SHARED_BYTES, TILE};

/// Bytes of one side of a stage.
const OPERAND: u32 = TILE * ROW_BYTES;

/// Bytes of a stage.
const STAGE: u32 = 2 * OPERAND;

const _: () = assert!(SHARED_BYTES == 2 * STAGE);

/// Rows of both sides of a tile: the source of the stages.
struct Source {
    span: Span,
    rows: Side<8>,
    columns: Side<8>,
    /// All inputs of the tile exist.
    whole: bool,
    /// Both sides are one, and are copied once.
    diagonal: bool,
}

impl Source {
    /// The sides of tile (`row`, `column`) of the rows of a span.
    ///
    /// # Safety
    /// - `rows` holds what the job says ([`Job::fits`]); the block has 64 threads and the tile a row and a column
    ///   below the inputs.
    #[inline(always)]
    unsafe fn new(rows: Global<u8>, job: &Job, span: Span, row: u32, column: u32) -> Self {
        let side = |tile: u32| Side::new(rows.address(0), job, &span, tile * TILE, tid_x());
        Self {
            span,
            rows: side(row),
            columns: side(column),
            whole: Side::<8>::whole(row * TILE, job.inputs),
            diagonal: row == column,
        }
    }

    /// Starts the copies of the next row of time into the stage at `stage`, if there is one, and closes their group.
    ///
    /// # Safety
    /// - `stage` is the address of a stage in shared memory that no thread reads before a wait for the copies and a
    ///   barrier.
    /// - All threads of the block call it, each for its own part.
    #[inline(always)]
    unsafe fn copy(&mut self, stage: u32) {
        if self.span.rows() > 0 {
            if self.whole && self.span.whole() {
                self.rows.copy::<true>(&self.span, stage);
                if !self.diagonal {
                    self.columns.copy::<true>(&self.span, stage + OPERAND);
                }
            } else {
                self.rows.copy::<false>(&self.span, stage);
                if !self.diagonal {
                    self.columns.copy::<false>(&self.span, stage + OPERAND);
                }
            }
            self.span.row += 1;
        }
        cp_async_commit_group();
    }
}

/// What a kind of arithmetic does with stages.
pub(crate) trait Accumulators {
    fn zero() -> Self;

    /// Adds the 16 times of the stage whose rows lie at `rows` and whose columns lie at `columns`.
    ///
    /// # Safety
    /// - The rows of the stage lie at `rows`, its columns at `columns`; a barrier followed their copies.
    /// - All threads of the block, 64, call it together; `diagonal` says whether both sides are one.
    unsafe fn step(&mut self, rows: u32, columns: u32, diagonal: bool);

    /// Calls `put` with row (of 32), column and sum of what this thread has in this half of the tile's rows.
    fn half(&self, half: usize, put: impl Fn(u32, u32, [f32; 2]));
}

/// Where the sum of a row and a column of half a tile lies in the epilogue, in units of 8 bytes.
///
/// Half a warp writes 8 columns of two rows that follow each other, or 4 columns of four rows that are 2 apart; it
/// reads 16 columns of a row. All are free of bank conflicts.
#[inline(always)]
const fn place_out(row: u32, column: u32) -> usize {
    (row * TILE + (column ^ (8 * ((row ^ (row / 2)) % 2)) ^ (2 * (row / 4 % 2)))) as usize
}

/// Adds the sums of a tile to those in global memory, by way of the stage at `stage`, which all threads have done with
/// after a barrier: half of the rows at a time, so that neighbouring threads write neighbouring columns of a row.
///
/// # Safety
/// - All threads of the block call it together; none uses the stage, and no copy is under way to it.
/// - The sums of the tile are in `triangle`, and no other block uses them.
#[inline(always)]
unsafe fn put<A: Accumulators, S: Sum>(accumulators: &A, triangle: &Triangle<S>, stage: u32, row: u32, column: u32) {
    let out = Shared::<[f32; 2]>::from_raw_parts(stage, (TILE / 2 * TILE) as usize);
    unroll!(half in 0 1 {
        let thread = opaque(tid_x() as i32) as u32;
        bar_sync_0();
        accumulators.half(half, |row, column, sum| out.store(place_out(row, column), sum));
        bar_sync_0();
        let mut local = 0;
        while local < TILE / 2 {
            let read = |i: u32| out.load(place_out(local + i, thread));
            triangle.add(row + TILE / 2 * half as u32 + local, column + thread, read);
            local += 4;
        }
    });
}

/// Correlates rows: two stages, tiles of 64 x 64, 64 threads. The grid is (tiles, y, z) with `y z >= channels parts`.
///
/// # Safety
/// The views hold what the job says.
#[inline(always)]
pub(crate) unsafe fn correlate<A: Accumulators, S: Sum>(rows: Global<u8>, sums: GlobalMut<S>, job: Job) {
    let (row, column) = tile::position(ctaid_x());
    if let Some(slot) = job.slot()
        && row < job.inputs.div_ceil(TILE)
    {
        let shared = Shared::<u8>::dynamic().address(0);
        let mut source = Source::new(rows, &job, job.span(slot), row, column);
        let mut triangle = Triangle::new(sums, &job, slot);
        let (mut stage, mut other) = (shared, shared + STAGE);
        let mut left = source.span.rows();
        source.copy(stage);
        loop {
            let mut accumulators = A::zero();
            let mut rows = left.min(FLUSH_ROWS);
            left -= rows;
            while rows > 0 {
                // The stage is here for all threads, and all are done with the other one.
                cp_async_wait_group::<0>();
                bar_sync_0();
                source.copy(other);
                let columns = if source.diagonal { stage } else { stage + OPERAND };
                accumulators.step(stage, columns, source.diagonal);
                (stage, other) = (other, stage);
                rows -= 1;
            }
            // The stage before, which nothing is loaded into until the next step.
            put(&accumulators, &triangle, other, row * TILE, column * TILE);
            triangle.again = true;
            if left == 0 {
                break;
            }
        }
    }
}

/// Sums of a thread: rows `tid / 8 + 8 i` and columns `tid % 8 + 8 j` of the tile.
pub(crate) struct Plain {
    re: [[f32; 8]; 8],
    im: [[f32; 8]; 8],
}

/// Two complex samples of the row whose chunk lies at this shared address.
///
/// # Safety
/// - `address` is the shared address of 16 bytes that have been written, a multiple of 16.
#[inline(always)]
unsafe fn load(address: u32) -> [f32; 4] {
    Shared::<[f32; 4]>::from_raw_parts(address, 1).load(0)
}

impl Plain {
    /// Adds the products of two samples of row `i` and of column `j`.
    #[inline(always)]
    fn add(&mut self, i: usize, j: usize, a: [f32; 4], b: [f32; 4]) {
        unroll!(time in 0 1 {
            let [(a_re, a_im), (b_re, b_im)] = [(a[2 * time], a[2 * time + 1]), (b[2 * time], b[2 * time + 1])];
            self.re[i][j] = fma_rn_f32(a_re, b_re, self.re[i][j]);
            self.im[i][j] = fma_rn_f32(a_im, b_re, self.im[i][j]);
            self.re[i][j] = fma_rn_f32(a_im, b_im, self.re[i][j]);
            self.im[i][j] = fnma_rn_f32(b_im, a_re, self.im[i][j]);
        });
    }

    /// Adds a stage; with `DIAGONAL` only rows `i >= j`.
    ///
    /// # Safety
    /// - As [`Accumulators::step`]; with `DIAGONAL` both sides are one.
    #[inline(always)]
    unsafe fn stage<const DIAGONAL: bool>(&mut self, rows: u32, columns: u32) {
        let (y, x) = (tid_x() / 8, tid_x() % 8);
        let (rows, columns) = (rows + chunk_of_row(y, 0), columns + chunk_of_row(x, 0));
        let mut a = [[0.0; 4]; 8];
        unroll!(i in 0 1 2 3 4 5 6 7 { a[i] = load(rows + i as u32 * 8 * ROW_BYTES); });
        let mut b = load(columns);
        let mut chunk = 0;
        while chunk < ROW_TIMES / 2 {
            // Behind the last chunk the first one is loaded again, and not used.
            let after = 16 * ((chunk + 1) % (ROW_TIMES / 2));
            let (next_rows, column, next_column) = (rows ^ after, columns ^ (16 * chunk), columns ^ after);
            unroll!(j in 0 1 2 3 4 5 6 7 {
                let next = load(if j < 7 { column + (j as u32 + 1) * 8 * ROW_BYTES } else { next_column });
                unroll!(i in 0 1 2 3 4 5 6 7 {
                    if !DIAGONAL || i >= j {
                        self.add(i, j, a[i], b);
                    }
                    // A row is loaded as soon as the last product with it is under way.
                    if j == if DIAGONAL { i } else { 7 } {
                        a[i] = load(next_rows + i as u32 * 8 * ROW_BYTES);
                    }
                });
                b = next;
            });
            chunk += 1;
        }
    }
}

impl Accumulators for Plain {
    #[inline(always)]
    fn zero() -> Self {
        // SAFETY: all bits zero are numbers. (An array expression becomes a loop, which keeps the array in memory.)
        unsafe { core::mem::zeroed() }
    }

    #[inline(always)]
    unsafe fn step(&mut self, rows: u32, columns: u32, diagonal: bool) {
        if diagonal {
            self.stage::<true>(rows, columns);
        } else {
            self.stage::<false>(rows, columns);
        }
    }

    #[inline(always)]
    fn half(&self, half: usize, put: impl Fn(u32, u32, [f32; 2])) {
        // Places made here, and not in front of the loop, where they would take registers.
        let thread = opaque(tid_x() as i32) as u32;
        let (y, x) = (thread / 8, thread % 8);
        unroll!(i in 0 1 2 3 {
            unroll!(j in 0 1 2 3 4 5 6 7 {
                put(y + 8 * i as u32, x + 8 * j as u32, [self.re[4 * half + i][j], self.im[4 * half + i][j]]);
            });
        });
    }
}
