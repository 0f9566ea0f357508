//! The correlator for sm_80: `V[a][b] = sum_t x_a(t) conj(x_b(t))` for inputs `a >= b`.
//!
//! # Arithmetic
//! Along a row of shared memory lie `re im re im ...`, and so they are `k` of the matrix product. With `x_a` as they
//! are,
//!
//! ```text
//! Re V = sum  a_re b_re + a_im b_im        B as it is
//! Im V = sum  a_im b_re - a_re b_im        B with each (re, im) replaced by (-im, re), in registers
//! ```
//!
//! so that a complex multiply-add takes 8 real operations and none is wasted. The replacement is made on the operand of
//! which a warp holds less. [`format`](crate::format) says what 4-bit and f16 samples do, [`order`](crate::order) how
//! heaps become fragments.
//!
//! # Floor
//! 128 bytes of 128 x 128 inputs take 64 x 32 warp instructions `mma.m16n8k32` for 64 times (`mma.m16n8k16` of f16: 32
//! times; 4-bit samples twice as many instructions for 128 times), and these alone are the floor (`mma_s8` and
//! `mma_f16` of the ceilings): parts of tiles that lie above the diagonal take as long as those below. Bytes: a block
//! reads its rows once, 64 (8-bit) operations a byte from L2 for a pair of sides of 128; device memory sees each row
//! once if L2 holds the rows of a channel. Shared memory: a warp of 64 x 32 reads 96 x 32 bytes for 32 instructions,
//! one of 32 x 32 64 x 32 bytes for 16: half and two thirds of the cycles that these take.
//!
//! # Shape
//! [`shape`](mod@crate::shape) has the tiles. Some stages of 128 bytes a row are in flight. A row's eight chunks of 16
//! bytes lie XORed with the row's number, so that `ldmatrix` (8 rows at one chunk) and `cp.async` (8 chunks of one row)
//! are both free of bank conflicts. Tiles on the diagonal load their rows once; warps that lie above it, or past the
//! last input, leave out the products.
//!
//! Steps of the 8-bit kernel on rows, each measured on an H200 with 1024 inputs, 128 channels, 4096 times (useful
//! TOPS): copies of a stage at once behind the barrier, with a mask for all of them 667; masks only where something is
//! missing, and a quarter of the copies before each quarter of the products 704; fragments loaded 16 times ahead,
//! across the barrier 808; all warps at one barrier instruction (idle warps had a loop of their own, which synccheck
//! refuses) 753; off the diagonal without looking for idle warps 797; sums through shared memory instead of straight
//! from the fragments 820 (added to 64-bit sums, as was done then: 714 instead of 594). At the first step four or six
//! stages in place of three changed less than 1 %, and 16 warps of 32 x 32 in place of 8 cost 5 %.
//!
//! # Precision
//! Integers: sums of one launch and part are kept in 32 bits, exact up to [`MAX_TIMES_I8`] times of samples within
//! +-127, and [`MAX_TIMES_I4`] of samples within +-7. -128 and -8 are no samples. Only their negation goes wrong, which
//! is made of imaginary parts of `x_b`: in `Im V[a][b]` an imaginary part of -128 of `x_b` counts as +128 (-8 as +8);
//! in `Re V[a][b]`, and everywhere else, as what it is.
//!
//! f16: products are exact, and sums are those of the tensor cores in f32. A product of 8 times with a sum is within
//! `3 * 16 * 2^-23` of the sum of the absolute values of all terms so far, so that a part of a visibility of `times`
//! times in a row is within `6 (times + 16) 2^-23 S`, `S = sum_t |x_a| |x_b|`, of the exact sum (16: those of heaps are
//! `times + 16` for every batch).

use fringes_device::barrier::bar_sync_0;
use fringes_device::copy_async::cp_async_wait_group;
use fringes_device::index::tid_x;
use fringes_device::{GlobalMut, Shared, opaque, unroll};

use crate::epilogue::Out;
use crate::format::{Format, Part};
use crate::order::Order;
use crate::shape::{self, Shape};
use crate::source::{Source, Steps};
use crate::sums::Sum;

/// Most times that one launch and part may sum of 8-bit samples: `floor((2^31 - 1) / (2 * 127^2))`.
pub const MAX_TIMES_I8: u32 = 66572;

/// Most times that one launch and part may sum of 4-bit samples: `floor((2^31 - 1) / (2 * 7^2 * 256))`.
pub const MAX_TIMES_I4: u32 = 85598;

/// Correlates `steps` of the tile at (`row`, `column`), into the sums `own()` of the channel; `ROWS` is that of the
/// shape.
///
/// # Safety
/// `steps` lie within their memory, `own()` is `inputs (inputs + 1) / 2` sums, of which no other block uses the tile's.
/// All threads of the block call it.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
#[cfg_attr(not(target_arch = "nvptx64"), inline(never))]
pub(crate) unsafe fn correlate<F: Format, O: Order, S: Shape, T: Sum<F::Part>, const ROWS: usize>(
    steps: &Steps,
    own: impl Fn() -> GlobalMut<T::Memory>,
    inputs: u32,
    row: u32,
    column: u32,
) {
    const { assert!(ROWS == S::ROWS && ROWS <= 4 && S::STAGES >= 3) };
    let shared = Shared::<u8>::dynamic().address(0);
    let mut source = Source::<O, S>::new(steps, row, column);
    let warp = Warp::new::<O, S>(row, column, inputs);
    let mut stage = 0;
    while stage < S::STAGES - 1 {
        source.copy_all(shared + stage * shape::stage::<S>(), steps.steps.saturating_sub(stage), F::SAMPLE);
        source.advance();
        stage += 1;
    }
    S::wait();
    if steps.head > 0 {
        source.clear(shared, steps.head);
    }
    bar_sync_0();
    // Steps whose copies, some steps ahead, need no mask, and which are not the last one.
    let plain = if source.whole() { steps.full.saturating_sub(S::STAGES - 1) } else { 0 };
    let mut block = Block::<F, O, S, ROWS> {
        accumulators: Accumulators { re: [[[F::Part::ZERO; 4]; 4]; ROWS], im: [[[F::Part::ZERO; 4]; 4]; ROWS] },
        fragments: Fragments { rows: [[0; 4]; ROWS], columns: [[0; 4]; 2] },
        warp,
        source,
    };
    if S::AHEAD && !block.warp.idle && steps.steps > 0 {
        block.fragments = block.load(shared, 0);
    }
    let (mut computed, mut step) = (shared, 0);
    // Off the diagonal no warp is idle, nor in a whole tile of which all rows exist.
    while step < plain && (S::WHOLE || !block.source.diagonal) {
        block.step::<true, false>(computed, shared, u32::MAX);
        computed = next::<S>(computed, shared);
        step += 1;
    }
    while !S::WHOLE && step < plain {
        block.step::<true, true>(computed, shared, u32::MAX);
        computed = next::<S>(computed, shared);
        step += 1;
    }
    while step < steps.steps {
        block.step::<false, true>(computed, shared, steps.steps - step);
        computed = next::<S>(computed, shared);
        step += 1;
    }
    if !block.warp.idle {
        // Once more, so that registers need not keep them.
        let thread = opaque(tid_x() as i32) as u32;
        let (warp_row, warp_column, _) = S::part(thread / 32, S::WHOLE || row == column);
        let out = Out {
            sums: own(),
            inputs,
            row: row * S::SIDE + warp_row,
            column: column * S::SIDE + warp_column,
            thread: thread as usize,
        };
        let Accumulators { re, im } = &block.accumulators;
        unroll!(m in 0 1 2 3 {
            if m < ROWS {
                out.put::<F, O, T>(16 * m as u32, &re[m], &im[m]);
            }
        });
    }
    cp_async_wait_group::<0>();
}

/// The stage after `stage`, of those that start at `shared`.
#[inline(always)]
fn next<S: Shape>(stage: u32, shared: u32) -> u32 {
    let last = shared + (S::STAGES - 1) * shape::stage::<S>();
    if stage == last { shared } else { stage + shape::stage::<S>() }
}

/// The stage before `stage`: the one that is loaded into while that one is computed on.
#[inline(always)]
fn previous<S: Shape>(stage: u32, shared: u32) -> u32 {
    if stage == shared { shared + (S::STAGES - 1) * shape::stage::<S>() } else { stage - shape::stage::<S>() }
}

/// A warp's part of the tile.
struct Warp {
    /// Where in an operand this lane's part of the first fragment of rows and of columns lies.
    fragments: [u32; 2],
    /// Lies above the diagonal or past the last input: nothing to do.
    idle: bool,
}

impl Warp {
    #[inline(always)]
    fn new<O: Order, S: Shape>(tile_row: u32, tile_column: u32, inputs: u32) -> Self {
        let (warp, lane) = (tid_x() / 32, tid_x() % 32);
        let (row, column, above) = S::part(warp, S::WHOLE || tile_row == tile_column);
        // On the diagonal columns end where rows do; elsewhere all columns exist.
        let beyond = tile_row * S::SIDE + row >= inputs;
        Self { fragments: [O::row(row, lane), O::column(column, lane)], idle: above || beyond }
    }
}

/// Words of a quarter of a stage: fragments of 16 rows, and two of 16 columns.
#[derive(Clone, Copy)]
struct Fragments<const ROWS: usize> {
    rows: [[u32; 4]; ROWS],
    columns: [[u32; 4]; 2],
}

/// Real and imaginary sums of a warp: fragments of 16 rows and 8 columns.
struct Accumulators<P, const ROWS: usize> {
    re: [[[P; 4]; 4]; ROWS],
    im: [[[P; 4]; 4]; ROWS],
}

/// What a thread holds.
struct Block<F: Format, O, S, const ROWS: usize> {
    accumulators: Accumulators<F::Part, ROWS>,
    /// Fragments that are multiplied next, of shapes that load them ahead.
    fragments: Fragments<ROWS>,
    warp: Warp,
    source: Source<O, S>,
}

impl<F: Format, O: Order, S: Shape, const ROWS: usize> Block<F, O, S, ROWS> {
    /// Fragments of quarter `k` of a stage; on the diagonal both sides are one.
    ///
    /// # Safety
    /// - Stage `stage` is filled, and a barrier of the block followed; `k < 4`.
    /// - All lanes of the warp call it together; the warp is not idle.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline(never))]
    unsafe fn load(&self, stage: u32, k: u32) -> Fragments<ROWS> {
        let second = if S::WHOLE || self.source.diagonal { 0 } else { shape::operand::<S>() };
        let [a, b] = self.warp.fragments;
        let (a, b) = (O::quarter(stage + a, S::SIDE, k), O::quarter(stage + b + second, S::SIDE, k));
        let mut fragments = Fragments { rows: [[0; 4]; ROWS], columns: [O::load(b), O::load(b + O::FRAGMENT)] };
        unroll!(m in 0 1 2 3 {
            if m < ROWS {
                fragments.rows[m] = O::load(a + m as u32 * O::FRAGMENT);
            }
        });
        fragments
    }

    /// Adds what stage `computed` holds, of the first of `left` steps, and starts the copies of the step some steps
    /// ahead into the stage before.
    ///
    /// Of shapes that load ahead, `fragments` are those of the first quarter, and at the end those of the stage after:
    /// so neither the barrier nor shared memory keeps the tensor cores waiting. A quarter of the copies goes with each
    /// quarter of the products, for the same reason.
    ///
    /// # Safety
    /// - All threads of the block call it together, with the same arguments; `left` is at least 1.
    /// - Stage `computed` is filled, a barrier followed, and all threads are done with the stage before, which copies
    ///   go to.
    /// - With `PLAIN` all rows exist and all copies that are started are whole; without `IDLE` no warp is idle.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline(never))]
    unsafe fn step<const PLAIN: bool, const IDLE: bool>(&mut self, computed: u32, shared: u32, left: u32) {
        let (loaded, copied) = (previous::<S>(computed, shared), left.saturating_sub(S::STAGES - 1));
        let chunks = PLAIN || !self.source.copied_samples(loaded, copied, F::SAMPLE);
        // Idle warps, of which there are some with `IDLE` only, copy like the others and meet them at the same barrier.
        if IDLE && self.warp.idle {
            unroll!(part in 0 1 2 3 {
                if chunks {
                    self.source.copy::<PLAIN>(loaded, copied, part);
                }
            });
        } else {
            unroll!(part in 0 1 2 3 {
                if chunks {
                    self.source.copy::<PLAIN>(loaded, copied, part);
                }
                if !S::AHEAD {
                    self.load_and_add(computed, part as u32);
                } else if part < 3 {
                    let ahead = self.load(computed, part as u32 + 1);
                    let now = self.fragments;
                    self.add(&now);
                    self.fragments = ahead;
                }
            });
        }
        self.source.advance();
        // The copies of the next step are here for all threads, and all are done with this step's stage, which is
        // overwritten next.
        S::wait();
        bar_sync_0();
        if S::AHEAD && (!IDLE || !self.warp.idle) {
            let now = self.fragments;
            if PLAIN || left > 1 {
                self.fragments = self.load(next::<S>(computed, shared), 0);
            }
            self.add(&now);
        }
    }

    /// Adds the products of fragments.
    ///
    /// # Safety
    /// - All lanes of the warp call it together.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline(never))]
    unsafe fn add(&mut self, fragments: &Fragments<ROWS>) {
        let mut rows = fragments.rows;
        unroll!(m in 0 1 2 3 {
            if m < ROWS {
                rows[m] = O::row_words::<F>(rows[m]);
            }
        });
        let columns = fragments.columns.map(|words| O::column_words::<F>(words));
        unroll!(set in 0 1 {
            if set < F::SETS {
                self.add_columns(&rows, columns[0], 0, set);
                self.add_columns(&rows, columns[1], 1, set);
            }
        });
    }

    /// Loads and adds quarter `k` of a stage, 16 columns after the others: with fewest registers.
    ///
    /// # Safety
    /// - As [`Block::load`].
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline(never))]
    unsafe fn load_and_add(&mut self, stage: u32, k: u32) {
        let second = if S::WHOLE || self.source.diagonal { 0 } else { shape::operand::<S>() };
        let [a, b] = self.warp.fragments;
        let (a, b) = (O::quarter(stage + a, S::SIDE, k), O::quarter(stage + b + second, S::SIDE, k));
        let mut rows = [[0; 4]; ROWS];
        unroll!(m in 0 1 2 3 {
            if m < ROWS {
                rows[m] = O::row_words::<F>(O::load(a + m as u32 * O::FRAGMENT));
            }
        });
        unroll!(j in 0 1 {
            let columns = O::column_words::<F>(O::load(b + j as u32 * O::FRAGMENT));
            unroll!(set in 0 1 {
                if set < F::SETS {
                    self.add_columns(&rows, columns, j, set);
                }
            });
        });
    }

    /// Adds the products of set `set` of all rows and the two halves of columns from `16 j` on.
    ///
    /// # Safety
    /// - All lanes of the warp call it together; `j < 2` and `set < F::SETS`.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline(never))]
    unsafe fn add_columns(&mut self, rows: &[[u32; 4]; ROWS], columns: [[u32; 2]; 2], j: usize, set: usize) {
        unroll!(half in 0 1 {
            let (n, column) = (2 * j + half, F::column(columns[half], set));
            let turned = F::turn(column);
            unroll!(m in 0 1 2 3 {
                if m < ROWS {
                    let row = F::row(rows[m], set);
                    let Accumulators { re, im } = &mut self.accumulators;
                    re[m][n] = F::product(row, column, re[m][n]);
                    im[m][n] = F::product(row, turned, im[m][n]);
                }
            });
        });
    }
}
