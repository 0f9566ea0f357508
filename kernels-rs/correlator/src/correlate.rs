//! The 8-bit correlator for sm_80: `V[a][b] = sum_t x_a(t) conj(x_b(t))` for inputs `a >= b`, exactly.
//!
//! # Arithmetic
//! Along a row of shared memory lie `re im re im ...`, and so they are `k` of the matrix product. With `x_a` as they are,
//!
//! ```text
//! Re V = sum  a_re b_re + a_im b_im        B as it is
//! Im V = sum  a_im b_re - a_re b_im        B with each (re, im) replaced by (-im, re), in registers
//! ```
//!
//! so that a complex multiply-add takes 8 real operations and none is wasted. The replacement is three instructions for four
//! bytes, on the operand of which a warp holds less.
//!
//! # Floor
//! A tile of 128 x 128 inputs takes 64 warp instructions `mma.m16n8k32` for 16 times of 16 x 8 pairs: 16384 pairs x T times x 8 operations cannot be
//! faster than that instruction alone (on an H200 1170 TOPS, `mma_s8` of the ceilings). Bytes: 128 x 128 a side, tile and block of 64 times from L2, 64
//! operations a byte; device memory sees each row once if L2 holds a channel. Shared memory: a warp reads (64 + 32) x 32 bytes for
//! 32 MMAs, half of the cycles that these take.
//!
//! Measured on an H200 with 1024 inputs: three quarters of what the useful part of that allows, see docs/performance.md. What is lost: copies and
//! barriers of two warps a scheduler, and a prologue and an epilogue that nothing overlaps (one block an SM).
//!
//! # Shape
//! A block of 8 warps computes 128 x 128 pairs, a warp 64 x 32 of them, with 128 accumulators a thread. A stage is one block of
//! 64 times: 128 rows of 128 bytes a side; three stages are in flight. A row's eight chunks of 16 bytes lie XORed with the row modulo 8,
//! so that `ldmatrix` (8 rows at one chunk) and `cp.async` (8 chunks of one row) are both free of bank conflicts.
//! Tiles on the diagonal load their rows once; warps that lie above it, or past the last input, leave out the products.
//!
//! Steps, each measured with 1024 inputs, 128 channels, 4096 times (useful TOPS): copies of a stage at once behind the barrier, with a mask
//! for all of them 667; masks only where something is missing, and a quarter of the copies before each quarter of the products 704;
//! fragments loaded 16 times ahead, across the barrier 808; all warps at one barrier instruction (idle warps
//! had a loop of their own, which synccheck refuses) 753; off the diagonal without looking for idle warps 797;
//! sums through shared memory instead of straight from the fragments 820 (added to 64-bit sums: 714 instead of 594). At the
//! first step four or six stages in place of three changed less than 1 %, and 16 warps of 32 x 32 in place of 8 cost 5 %.
//!
//! # Overflow
//! Sums of one launch are kept in 32 bits: exact up to [`MAX_TIMES`] times of samples within +-127. -128 is no sample.

use fringes_device::arithmetic::prmt_b32;
use fringes_device::barrier::bar_sync_0;
use fringes_device::control::trap;
use fringes_device::copy_async::{
    cp_async_cg_shared_global_16, cp_async_cg_shared_global_16_src_size, cp_async_commit_group, cp_async_wait_group,
};
use fringes_device::index::{ctaid_x, ctaid_y, ctaid_z, nctaid_y, tid_x};
use fringes_device::matrix::ldmatrix_x4_shared_b16;
use fringes_device::mma::mma_m16n8k32_s32_s8;
use fringes_device::warp::bar_warp_sync;
use fringes_device::{Global, GlobalMut, Shared, Value, unroll};

use crate::{places, rows, tile};

/// Most times that one launch may sum: `floor((2^31 - 1) / (2 * 127^2))`.
pub const MAX_TIMES: u32 = 66572;

/// Bytes of one operand of a stage: 128 rows.
const OPERAND: u32 = tile::INPUTS * rows::BYTES as u32;

/// Bytes of a stage.
const STAGE: u32 = 2 * OPERAND;

/// Stages in shared memory.
const STAGES: u32 = 3;

/// Dynamic shared memory of a block.
pub const SHARED_BYTES: u32 = STAGES * STAGE;

/// Which times are summed.
#[derive(Clone, Copy)]
pub struct Times {
    /// Blocks of 64 times that each channel of the rows has.
    pub blocks: u32,
    /// The first block that is summed.
    pub first_block: u32,
    /// Times that are summed, at most [`MAX_TIMES`].
    pub times: u32,
}

/// Where sums go: i32 pairs are overwritten, i64 pairs added to.
pub trait Sum: Value {
    /// Whether what is there is added.
    const ADDS: bool;
    /// No sum.
    const ZERO: Self;
    /// What becomes of `old` and a new sum.
    fn plus(old: Self, new: [i32; 2]) -> Self;
}

impl Sum for [i32; 2] {
    const ADDS: bool = false;
    const ZERO: Self = [0; 2];

    #[inline(always)]
    fn plus(_: Self, new: [i32; 2]) -> Self {
        new
    }
}

impl Sum for [i64; 2] {
    const ADDS: bool = true;
    const ZERO: Self = [0; 2];

    #[inline(always)]
    fn plus(old: Self, new: [i32; 2]) -> Self {
        [old[0] + i64::from(new[0]), old[1] + i64::from(new[1])]
    }
}

/// [`correlate`], after checking that the views hold what the sizes say.
#[inline(always)]
pub fn checked<S: Sum>(rows: Global<u8>, sums: GlobalMut<S>, channels: u32, inputs: u32, times: Times) {
    let steps = times.times.div_ceil(rows::TIMES as u32);
    let baselines = u64::from(inputs) * (u64::from(inputs) + 1) / 2;
    let fits = u64::from(times.first_block) + u64::from(steps) <= u64::from(times.blocks)
        && rows::bytes(channels, u64::from(times.blocks) * rows::TIMES as u64, inputs) <= rows.len() as u64
        && rows::product(channels, baselines) <= sums.len() as u64;
    if fits {
        // SAFETY: the views hold what the sizes say.
        unsafe { correlate(rows, sums, channels, inputs, times) }
    } else {
        trap();
    }
}

/// Correlates the rows of every channel. The grid is ([`tile::count`], y, z) with `y z >= channels`.
///
/// # Safety
/// `rows` holds `channels * blocks * inputs` rows, `sums` `channels * inputs (inputs + 1) / 2` pairs; `times` lie within the blocks.
#[inline(always)]
pub unsafe fn correlate<S: Sum>(rows: Global<u8>, sums: GlobalMut<S>, channels: u32, inputs: u32, times: Times) {
    let shared = Shared::<u8>::dynamic().address(0);
    let (row, column) = tile::position(ctaid_x());
    let channel = ctaid_y() + nctaid_y() * ctaid_z();
    if channel < channels {
        let mut source = Source::new(rows, channel, inputs, times, row, column);
        let warp = Warp::new(row, column, inputs);
        let steps = times.times.div_ceil(rows::TIMES as u32);
        // Stage that is computed on, and stage that is loaded into.
        let (mut computed, mut loaded) = (shared, shared);
        unroll!(_stage in 0 1 {
            source.load_all(loaded);
            source.advance();
            loaded += STAGE;
        });
        arrive();
        // Steps whose copies, two blocks of time ahead, need no mask, and which are not the last one.
        let plain = if source.whole { (times.times / rows::TIMES as u32).saturating_sub(STAGES - 1) } else { 0 };
        let mut accumulators = Accumulators::zero();
        let mut fragments = if warp.idle { Fragments::NONE } else { warp.load(computed, source.diagonal, 0) };
        let mut step = 0;
        // Off the diagonal no warp is idle.
        while step < plain && !source.diagonal {
            let after = next(computed, shared);
            accumulators.step::<true, false>(&mut source, &warp, &mut fragments, [computed, after, loaded], true);
            (computed, loaded) = (after, next(loaded, shared));
            step += 1;
        }
        while step < plain {
            let after = next(computed, shared);
            accumulators.step::<true, true>(&mut source, &warp, &mut fragments, [computed, after, loaded], true);
            (computed, loaded) = (after, next(loaded, shared));
            step += 1;
        }
        while step < steps {
            let (after, goes_on) = (next(computed, shared), step + 1 < steps);
            accumulators.step::<false, true>(&mut source, &warp, &mut fragments, [computed, after, loaded], goes_on);
            (computed, loaded) = (after, next(loaded, shared));
            step += 1;
        }
        if !warp.idle {
            let baselines = inputs as usize * (inputs as usize + 1) / 2;
            accumulators.put(&warp, sums, channel as usize * baselines, row, column, inputs);
        }
        cp_async_wait_group::<0>();
    }
}

/// Waits until the copies of the next step are here for all threads, and all are done with the step before, whose stage is overwritten next.
#[inline(always)]
unsafe fn arrive() {
    cp_async_wait_group::<{ STAGES - 2 }>();
    bar_sync_0();
}

/// The stage after `stage`, of those that start at `shared`.
#[inline(always)]
fn next(stage: u32, shared: u32) -> u32 {
    if stage == shared + (STAGES - 1) * STAGE { shared } else { stage + STAGE }
}

/// The rows that a block reads: chunk `thread % 8` of rows `thread / 8`, + 32, + 64, + 96 of either side.
struct Source {
    /// Global address of this thread's chunk in the first of its rows, at the next block of time.
    sides: [u64; 2],
    /// All rows of both sides exist.
    whole: bool,
    /// The second side is the first one, and is not loaded.
    diagonal: bool,
    /// Rows of a side from this thread's first one on that exist.
    exist: [u32; 2],
    /// Bytes from one block of time to the next.
    stride: u64,
    /// Times from the next block on.
    left: u32,
    /// The chunk.
    chunk: u32,
    /// Where the chunk goes in a stage.
    place: u32,
}

impl Source {
    #[inline(always)]
    unsafe fn new(rows: Global<u8>, channel: u32, inputs: u32, times: Times, row: u32, column: u32) -> Self {
        let (chunk, first) = (tid_x() % 8, tid_x() / 8);
        let start = channel as usize * times.blocks as usize + times.first_block as usize;
        let start = rows.address(0) + (start * inputs as usize * rows::BYTES) as u64;
        let side = |side: u32| {
            let input = side * tile::INPUTS + first;
            start + (input as usize * rows::BYTES) as u64 + u64::from(16 * chunk)
        };
        let exist = |side: u32| inputs.saturating_sub(side * tile::INPUTS + first);
        Self {
            sides: [side(row), side(column)],
            whole: (row + 1) * tile::INPUTS <= inputs,
            diagonal: row == column,
            exist: [exist(row), exist(column)],
            stride: (inputs as usize * rows::BYTES) as u64,
            left: times.times,
            chunk,
            place: places::chunk_of_row(first, chunk),
        }
    }

    /// Starts the copies of row `i` of this thread's four rows of either side into `stage`, of the next block of time (none past the end).
    ///
    /// What lies past the last time or the last input becomes zero. With `PLAIN` nothing does: all rows and times exist.
    #[inline(always)]
    unsafe fn load<const PLAIN: bool>(&self, stage: u32, i: usize) {
        let offset = 32 * i * rows::BYTES;
        let place = stage + self.place + offset as u32;
        if PLAIN {
            cp_async_cg_shared_global_16(place, self.sides[0] + offset as u64);
            if !self.diagonal {
                cp_async_cg_shared_global_16(place + OPERAND, self.sides[1] + offset as u64);
            }
        } else if self.left > 0 {
            let bytes = 2 * self.left.saturating_sub(8 * self.chunk).min(8);
            unroll!(side in 0 1 {
                if side == 0 || !self.diagonal {
                    cp_async_cg_shared_global_16_src_size(
                        place + side as u32 * OPERAND,
                        self.sides[side] + offset as u64,
                        if self.exist[side] > 32 * i as u32 { bytes } else { 0 },
                    );
                }
            });
        }
    }

    /// Starts the copies of a whole block of time.
    #[inline(always)]
    unsafe fn load_all(&self, stage: u32) {
        unroll!(i in 0 1 2 3 { self.load::<false>(stage, i); });
    }

    /// Closes the group of the copies of a block of time and goes on to the next one.
    #[inline(always)]
    fn advance(&mut self) {
        cp_async_commit_group();
        self.sides = [self.sides[0] + self.stride, self.sides[1] + self.stride];
        self.left = self.left.saturating_sub(rows::TIMES as u32);
    }
}

/// A warp's part of the tile: 64 rows by 32 columns.
struct Warp {
    row: u32,
    column: u32,
    lane: u32,
    /// Where in an operand this lane's `ldmatrix` rows lie: A rows 0-7, rows 8-15, then the same 16 bytes on.
    a: u32,
    /// The same for B: rows 0-7, the same 16 bytes on, then 8 rows on.
    b: u32,
    /// Lies above the diagonal or past the last input: nothing to do.
    idle: bool,
}

impl Warp {
    #[inline(always)]
    fn new(tile_row: u32, tile_column: u32, inputs: u32) -> Self {
        let (warp, lane) = (tid_x() / 32, tid_x() % 32);
        let (row, column) = (64 * (warp / 4), 32 * (warp % 4));
        let above = tile_row == tile_column && column >= row + 64;
        // On the diagonal columns end where rows do; elsewhere all columns exist.
        let beyond = tile_row * tile::INPUTS + row >= inputs;
        let ((a_row, a_chunk), (b_row, b_chunk)) = (places::a_row(row, lane), places::b_row(column, lane));
        let (a, b) = (places::chunk_of_row(a_row, a_chunk), places::chunk_of_row(b_row, b_chunk));
        Self { row, column, lane, a, b, idle: above || beyond }
    }

    /// Fragments of quarter `k`, 16 times, of a stage; on the diagonal both sides are one.
    #[inline(always)]
    unsafe fn load(&self, stage: u32, diagonal: bool, k: usize) -> Fragments {
        let (a, b) = (stage + self.a, stage + self.b + if diagonal { 0 } else { OPERAND });
        // The next 32 bytes: two chunks on, whatever they are XORed with.
        let (a, b) = (a ^ (32 * k as u32), b ^ (32 * k as u32));
        Fragments {
            rows: [
                ldmatrix_x4_shared_b16(a),
                ldmatrix_x4_shared_b16(a + 16 * 128),
                ldmatrix_x4_shared_b16(a + 32 * 128),
                ldmatrix_x4_shared_b16(a + 48 * 128),
            ],
            columns: [ldmatrix_x4_shared_b16(b), ldmatrix_x4_shared_b16(b + 16 * 128)],
        }
    }
}

/// Operands of 16 times: four fragments of 16 rows, and four of 8 columns, two in each load.
#[derive(Clone, Copy)]
struct Fragments {
    rows: [[u32; 4]; 4],
    columns: [[u32; 4]; 2],
}

impl Fragments {
    const NONE: Self = Self { rows: [[0; 4]; 4], columns: [[0; 4]; 2] };
}

/// Real and imaginary sums of a warp: `[16 rows][8 columns]` fragments, 4 by 4 of them.
struct Accumulators {
    re: [[[i32; 4]; 4]; 4],
    im: [[[i32; 4]; 4]; 4],
}

impl Accumulators {
    #[inline(always)]
    fn zero() -> Self {
        Self { re: [[[0; 4]; 4]; 4], im: [[[0; 4]; 4]; 4] }
    }

    /// Adds the 64 times of stage `computed`, and starts the copies of the block of time two steps ahead into stage `loaded`.
    ///
    /// `fragments` are those of the first 16 times, and at the end those of the stage after (if it `goes_on`): fragments are loaded
    /// 16 times ahead, so that neither the barrier nor shared memory keeps the tensor cores waiting. A quarter of the copies goes
    /// with each quarter of the products, for the same reason.
    #[inline(always)]
    unsafe fn step<const PLAIN: bool, const IDLE: bool>(
        &mut self,
        source: &mut Source,
        warp: &Warp,
        fragments: &mut Fragments,
        [computed, after, loaded]: [u32; 3],
        goes_on: bool,
    ) {
        // Idle warps, of which there are some with `IDLE` only, copy like the others and meet them at the same barrier.
        if IDLE && warp.idle {
            unroll!(quarter in 0 1 2 3 { source.load::<PLAIN>(loaded, quarter); });
        } else {
            unroll!(quarter in 0 1 2 {
                source.load::<PLAIN>(loaded, quarter);
                let ahead = warp.load(computed, source.diagonal, quarter + 1);
                self.add(fragments);
                *fragments = ahead;
            });
            source.load::<PLAIN>(loaded, 3);
        }
        source.advance();
        arrive();
        if !IDLE || !warp.idle {
            let ahead = if goes_on { warp.load(after, source.diagonal, 0) } else { Fragments::NONE };
            self.add(fragments);
            *fragments = ahead;
        }
    }

    /// Adds 16 times.
    #[inline(always)]
    unsafe fn add(&mut self, fragments: &Fragments) {
        let Fragments { rows, columns } = fragments;
        unroll!(n in 0 1 2 3 {
            let column = places::b_registers(n).map(|register| columns[n / 2][register]);
            let turned = [turn(column[0]), turn(column[1])];
            unroll!(m in 0 1 2 3 {
                self.re[m][n] = mma_m16n8k32_s32_s8(rows[m], column, self.re[m][n]);
                self.im[m][n] = mma_m16n8k32_s32_s8(rows[m], turned, self.im[m][n]);
            });
        });
    }

    /// Writes or adds the sums that lie on or below the diagonal, `first` that of the channel's first baseline.
    ///
    /// They go through shared memory, 32 rows at a time, so that a warp writes 32 neighbouring columns of a row at once. Each warp has 8 KiB
    /// of its own there, in which nothing lies any more: all have passed the last barrier. 16 bytes hold the sums of two columns; those of
    /// odd rows lie XORed with 4, which keeps both directions free of bank conflicts.
    #[inline(always)]
    unsafe fn put<S: Sum>(&self, warp: &Warp, sums: GlobalMut<S>, first: usize, row: u32, column: u32, inputs: u32) {
        let lane = warp.lane as usize;
        let (group, pair) = places::group_and_pair(lane);
        let own = Shared::<[i32; 4]>::dynamic().part(tid_x() as usize / 32 * 512, 512);
        let single = own.cast::<[i32; 2]>();
        let b = (column * tile::INPUTS + warp.column) as usize + lane;
        unroll!(part in 0 1 {
            unroll!(m in 0 1 {
                unroll!(half in 0 1 {
                    let row = places::sum_row(m, half, group);
                    unroll!(n in 0 1 2 3 {
                        let (re, im) = (self.re[2 * part + m][n], self.im[2 * part + m][n]);
                        let value = [re[2 * half], im[2 * half], re[2 * half + 1], im[2 * half + 1]];
                        own.store(places::pair_out(row, 4 * n + pair), value);
                    });
                });
            });
            bar_warp_sync(u32::MAX);
            let a = (row * tile::INPUTS + warp.row) as usize + 32 * part;
            let mut local = 0;
            while local < 32 {
                let mut old = [S::ZERO; 4];
                if S::ADDS {
                    unroll!(i in 0 1 2 3 {
                        let a = a + local + i;
                        if a < inputs as usize && b <= a {
                            old[i] = sums.load(first + a * (a + 1) / 2 + b);
                        }
                    });
                }
                unroll!(i in 0 1 2 3 {
                    let (a, row) = (a + local + i, local + i);
                    if a < inputs as usize && b <= a {
                        let new = single.load(places::column_out(row, i % 2, lane));
                        sums.store(first + a * (a + 1) / 2 + b, S::plus(old[i], new));
                    }
                });
                local += 4;
            }
            bar_warp_sync(u32::MAX);
        });
    }
}

/// Two complex samples (re, im) as (-im, re).
#[inline(always)]
fn turn(samples: u32) -> u32 {
    // The subtraction leaves -im in bytes 1 and 3: what the lower one borrows is what is added to byte 2.
    let negated = 0x0001_0000u32.wrapping_sub(samples & 0xff00_ff00);
    prmt_b32(samples, negated, 0x2705)
}
