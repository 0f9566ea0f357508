//! Products in three times tf32 by `wgmma`, for sm_90a. Arithmetic as in [`mma`](crate::mma).
//!
//! # Shape
//! A block computes 128 rows by 64 columns: two warpgroups multiply 64 rows each, a third one loads. Blocks count tiles
//! of `2 i + 2` columns in tile row `i`; a warpgroup whose tile lies above the diagonal or past the last input has
//! nothing to do.
//!
//! A stage is 16 times. Rows go by `cp.async` into shared memory as they are, and from there into registers, where
//! their warpgroup splits them. Columns are loaded into registers a stage ahead, split, and written as hi and lo in
//! blocks of 8 columns by 16 bytes (four times of one part), in the order `-im`, `re`, `im`:
//!
//! ```text
//! Re V = a_re b_re + a_im b_im        B from `re` on
//! Im V = a_re (-b_im) + a_im b_re     B from `-im` on
//! ```
//!
//! so that both products take the same registers of A. The warpgroups take turns: one gives the tensor cores 24
//! products of 64 x 64 x 8 at once while the other one adds what it got to its sums, loads and splits. There are four
//! stages, each with a barrier for "loaded" and one for "done with", on which every thread arrives for what it did
//! itself. A thread that loads arrives when it has started the copies of the next stage and those of its own are
//! complete.
//!
//! # Floor
//! A stage takes 48 `m64n64k8` of 32 cycles: 1536 cycles of the tensor cores for 128 x 64 pairs and 16 times. Shared
//! memory in these cycles: 768 that products read, 128 copies of rows, 192 columns written, 128 rows read: 80 %. An
//! H200's tf32 is 495 TFLOP/s (412 through cuBLAS), a third of it 165 (137); of 1024 inputs' tiles 94 % are needed, and
//! of 72 blocks 8 have one warpgroup: 0.89 of that is useful.
//!
//! # Precision
//! Relative to `sum |a| |b|`: what is left out and cut of the factors is `2 (2^-22 + 2 2^-23)` at most, of either sign.
//! The tensor cores cut (towards zero), which is a bias: sums of positive products, autocorrelations, come out too
//! small. In each product every term loses less than 2^-23 of the greatest, if they keep no bits behind f32's, and the
//! sum less than 2^-23; with two bits more, as measured by others on this architecture, about 1.6 2^-23 of the sum so
//! far on average. Small products come first, when the sum is 2^-10 of what it becomes. Then four products of a stage
//! follow from zero, so that the bias is about `(1/4 + 2/4 + 3/4 + 1) 1.6 2^-23 0.7`, 3e-7, and at most 40 2^-23.
//!
//! After every stage (`interval` of them in the kernel that measures the bias, which then is as many times larger) the
//! sums are promoted: added to others by `FADD`, rounded to nearest. These are 64 within 1024 times, and
//! `B = ceil(T / 1024)` in global memory: a standard deviation of `u / 3 sqrt(64 / B + B)`.

use fringes_device::barrier::{bar_arrive, bar_sync, bar_sync_0};
use fringes_device::copy_async::{cp_async_commit_group, cp_async_wait_group};
use fringes_device::fence::fence_proxy_async_shared_cta;
use fringes_device::index::{ctaid_x, tid_x};
use fringes_device::mbarrier::{
    mbarrier_arrive_shared_b64, mbarrier_init_shared_b64, mbarrier_try_wait_parity_shared_b64,
};
use fringes_device::warp::bar_warp_sync;
use fringes_device::wgmma::{
    Accumulator, Descriptor, Swizzle, setmaxnreg_dec, setmaxnreg_inc, wgmma_commit_group, wgmma_fence,
    wgmma_mma_async_m64n64k8_f32_tf32_tf32_a_registers as product, wgmma_wait_group,
};
use fringes_device::{Global, GlobalMut, Shared, unroll};
use fringes_kernels_correlator_core::tile;

use crate::job::{FLUSH_ROWS, Job, ROW_BYTES, Span};
use crate::stage::{Side, chunk_of_row};
use crate::sum::{Sum, Triangle};
use crate::tf32::{SIGN, row_of_group, split};

/// Rows of a warpgroup, and columns of a tile.
pub const SIDE: u32 = 64;

/// Rows of a tile: two warpgroups.
pub const ROWS: u32 = 2 * SIDE;

// A block is two warpgroups that multiply, and one that loads.
pub use fringes_kernel_abi::correlator::float::{
    WGMMA_SHARED_BYTES as SHARED_BYTES, WGMMA_THREADS as THREADS, wgmma_tiles,
};

/// Bytes of 64 rows.
const OPERAND: u32 = SIDE * ROW_BYTES;

/// Bytes of four times of one part of 64 columns: blocks of 8 columns by 16 bytes.
const PART: u32 = SIDE * 16;

/// Bytes of hi, or of lo, of 64 columns: for each four times `-im`, `re`, `im`.
const COLUMNS: u32 = 4 * 3 * PART;

/// Bytes of a stage: 128 rows as they are, then hi and lo of 64 columns.
const STAGE: u32 = 2 * OPERAND + 2 * COLUMNS;

/// Stages.
const STAGES: u32 = 4;

/// Bytes of a warp for sums in the epilogue: 16 rows by 32 columns.
const OUT: u32 = 16 * 32 * 8;

// The stages, two barriers for each, and sums in the epilogue.
const _: () = assert!(SHARED_BYTES == STAGES * (STAGE + 16) + 8 * OUT && THREADS == 3 * 128);

/// Where the sum of a row and a column of a warp lies in the epilogue, in units of 8 bytes.
///
/// Half a warp writes every second of 8 columns of four rows that are 2 apart, and reads 16 columns of a row, both
/// without bank conflicts.
#[inline(always)]
const fn place_out(row: u32, column: u32) -> usize {
    (row * 32 + (column ^ (8 * (row / 2 % 2)) ^ (row / 4 % 2))) as usize
}

/// Tile row (128 inputs) and column (64 inputs) of block `index`: row `i` has columns 0 to `2 i + 1`.
#[inline(always)]
const fn position(index: u32) -> (u32, u32) {
    let (row, half) = tile::position(index / 2);
    (row, 2 * half + index % 2)
}

/// A stage, the phase of its barriers, and where they lie.
#[derive(Clone, Copy)]
struct Ring {
    start: u32,
    slot: u32,
    parity: u32,
}

impl Ring {
    #[inline(always)]
    fn stage(&self) -> u32 {
        self.start + self.slot * STAGE
    }

    /// What is complete when the stage is loaded.
    #[inline(always)]
    fn full(&self) -> u32 {
        self.start + STAGES * STAGE + 16 * self.slot
    }

    /// What is complete when all have done with the stage.
    #[inline(always)]
    fn empty(&self) -> u32 {
        self.full() + 8
    }

    #[inline(always)]
    fn advance(&mut self) {
        self.slot += 1;
        if self.slot == STAGES {
            self.slot = 0;
            self.parity ^= 1;
        }
    }
}

/// The order in which both warpgroups give products to the tensor cores: one multiplies while the other one gets ready.
#[derive(Clone, Copy, PartialEq)]
enum Turns {
    First,
    Second,
    /// The other one has nothing to do.
    Alone,
}

impl Turns {
    /// Of warpgroup `group`, which lets the first one begin.
    ///
    /// # Safety
    /// - All threads of a warpgroup call it, once, and both warpgroups do.
    #[inline(always)]
    unsafe fn of(group: u32) -> Self {
        if group == 0 {
            Self::First
        } else {
            bar_arrive::<1>(256);
            Self::Second
        }
    }

    /// Waits for this one's turn.
    ///
    /// # Safety
    /// - All threads of the warpgroup call it together, `pass` and `wait` by turns.
    /// - Unless alone, the other warpgroup passes as often as this one waits: else this waits for ever.
    #[inline(always)]
    unsafe fn wait(self) {
        match self {
            Self::First => bar_sync::<1>(256),
            Self::Second => bar_sync::<2>(256),
            Self::Alone => {}
        }
    }

    /// Passes the turn to the other one; after the `last` time of both there is no one.
    ///
    /// # Safety
    /// - All threads of the warpgroup call it together, once after each wait; the other warpgroup waits for it, but
    ///   after the `last` time.
    #[inline(always)]
    unsafe fn pass(self, last: bool) {
        match self {
            Self::First => bar_arrive::<2>(256),
            Self::Second if !last => bar_arrive::<1>(256),
            _ => {}
        }
    }
}

/// Waits for the phase of this parity.
///
/// # Safety
/// - `barrier` is the shared address of a barrier that is made; the phase of that parity ends, or has ended.
#[inline(always)]
unsafe fn wait(barrier: u32, parity: u32) {
    while !mbarrier_try_wait_parity_shared_b64(barrier, parity) {}
}

/// Correlates rows. Partial sums of the tensor cores are promoted every `interval` rows of time. The grid is
/// ([`wgmma_tiles`], y, z) with `y z >= channels parts`.
///
/// # Safety
/// The views hold what the job says; `interval` is not zero.
#[inline(always)]
pub(crate) unsafe fn correlate<S: Sum>(rows: Global<u8>, sums: GlobalMut<S>, job: Job, interval: u32) {
    let (row, column) = position(ctaid_x());
    let Some(slot) = job.slot() else { return };
    if row * ROWS >= job.inputs || column * SIDE >= job.inputs {
        return;
    }
    let span = job.span(slot);
    let ring = Ring { start: Shared::<u8>::dynamic().address(0), slot: 0, parity: 0 };
    // The first warpgroup lies above the diagonal in every second tile on it, the second one past the last input in the
    // last row.
    let works = |group: u32| 2 * row + group >= column && (2 * row + group) * SIDE < job.inputs;
    if tid_x() == 0 {
        let mut each = ring;
        while each.parity == 0 {
            // Every thread that loads arrives, when its copies are complete.
            mbarrier_init_shared_b64(each.full(), 128);
            mbarrier_init_shared_b64(each.empty(), 128 * (works(0) as u32 + works(1) as u32));
            each.advance();
        }
    }
    bar_sync_0();
    let group = tid_x() / 128;
    if group == 2 {
        setmaxnreg_dec::<72>();
        load(rows, job, span, ring, row, column);
    } else {
        setmaxnreg_inc::<216>();
        if works(group) {
            let triangle = Triangle::new(sums, &job, slot);
            let turns = if works(1 - group) { Turns::of(group) } else { Turns::Alone };
            multiply(triangle, span.rows(), ring, turns, row * ROWS + group * SIDE, column * SIDE, interval);
        }
    }
}

/// Which column of 32, and which four times of 16, a thread loads. Eight threads write 128 bytes that follow each
/// other.
#[inline(always)]
const fn loaded(thread: u32) -> (u32, u32) {
    (thread % 8 + 8 * (thread / 32), thread / 8 % 4)
}

/// What a thread that loads has of the columns: four complex samples of each of two columns, 32 apart.
struct Columns {
    rows: Global<[f32; 4]>,
    /// Index of the first 16 bytes of this thread at the next row of time.
    index: usize,
    stride: usize,
    exist: u32,
    samples: [[f32; 8]; 2],
}

impl Columns {
    /// Loads the next row of time; what does not exist or does not count is zero.
    ///
    /// # Safety
    /// - What the span says lies in `rows`, and `index` is that of its next row; `thread < 128`.
    #[inline(always)]
    unsafe fn load(&mut self, span: &Span, thread: u32) {
        unroll!(i in 0 1 {
            let mut samples = [0.0; 8];
            if self.exist > 32 * i as u32 {
                let index = self.index + i * 32 * (ROW_BYTES / 16) as usize;
                let (first, second) = (self.rows.load(index), self.rows.load(index + 1));
                samples = [first[0], first[1], first[2], first[3], second[0], second[1], second[2], second[3]];
            }
            if !span.whole() {
                unroll!(time in 0 1 2 3 {
                    if !span.counts(4 * loaded(thread).1 + time as u32) {
                        samples[2 * time] = 0.0;
                        samples[2 * time + 1] = 0.0;
                    }
                });
            }
            self.samples[i] = samples;
        });
        self.index += self.stride;
    }

    /// Writes hi and lo to the parts at `target`.
    ///
    /// # Safety
    /// - `target` is the address of the columns of a stage that no thread uses before its barrier is complete;
    ///   `thread < 128`.
    #[inline(always)]
    unsafe fn store(&self, target: u32, thread: u32) {
        let (column, four) = loaded(thread);
        let put = |i: u32, part: u32, values: [(u32, u32); 4]| {
            let place = target + (3 * four + part) * PART + (column + 32 * i) * 16;
            Shared::<[u32; 4]>::from_raw_parts(place, 1).store(0, values.map(|(hi, _)| hi));
            Shared::<[u32; 4]>::from_raw_parts(place + COLUMNS, 1).store(0, values.map(|(_, lo)| lo));
        };
        unroll!(i in 0 1 {
            let s = self.samples[i];
            let re = [s[0], s[2], s[4], s[6]].map(split);
            let im = [s[1], s[3], s[5], s[7]].map(split);
            put(i as u32, 0, im.map(|(hi, lo)| (hi ^ SIGN, lo ^ SIGN)));
            put(i as u32, 1, re);
            put(i as u32, 2, im);
        });
    }
}

/// Loads stages: rows as they are, columns as hi and lo.
///
/// # Safety
/// - The last 128 threads of a block of 384 call it.
/// - `rows` holds what the job says; the barriers of `ring` are made, and both warpgroups that have work take as many
///   stages as the span has rows.
#[inline(always)]
unsafe fn load(rows: Global<u8>, job: Job, mut span: Span, mut ring: Ring, row: u32, column: u32) {
    let thread = tid_x() - 256;
    let mut side = Side::<16>::new(rows.address(0), &job, &span, row * ROWS, thread);
    let whole = Side::<16>::whole(row * ROWS, job.inputs);
    let input = column * SIDE + loaded(thread).0;
    let first = job.row_byte(span.channel, span.row) + u64::from(input * ROW_BYTES + 32 * loaded(thread).1);
    let mut columns = Columns {
        rows: rows.cast(),
        index: (first / 16) as usize,
        stride: (job.inputs * (ROW_BYTES / 16)) as usize,
        exist: job.inputs.saturating_sub(input),
        samples: [[0.0; 8]; 2],
    };
    if span.rows() > 0 {
        columns.load(&span, thread);
    }
    // The stage before this one, whose copies are under way, if there is any.
    let (mut behind, mut any) = (ring, false);
    while span.rows() > 0 {
        // The first time round nobody has used the stage: the phase before the first one counts as complete.
        wait(ring.empty(), ring.parity ^ 1);
        let stage = ring.stage();
        columns.store(stage + 2 * OPERAND, thread);
        // What was written is seen by the products. (The copies come after it: the fence may wait for those under way.)
        fence_proxy_async_shared_cta();
        if whole && span.whole() {
            side.copy::<true>(&span, stage);
        } else {
            side.copy::<false>(&span, stage);
        }
        cp_async_commit_group();
        span.row += 1;
        if span.rows() > 0 {
            columns.load(&span, thread);
        }
        ring.advance();
        if any {
            cp_async_wait_group::<1>();
            mbarrier_arrive_shared_b64(behind.full());
            behind.advance();
        }
        any = true;
    }
    if any {
        cp_async_wait_group::<0>();
        mbarrier_arrive_shared_b64(behind.full());
    }
}

/// A row's complex sample whose bytes lie at this shared address.
///
/// # Safety
/// - `address` is the shared address of a sample that has been written, a multiple of 8.
#[inline(always)]
unsafe fn sample(address: u32) -> [f32; 2] {
    Shared::<[f32; 2]>::from_raw_parts(address, 1).load(0)
}

/// A lane's samples of two rows, 8 apart, at four times 4 apart: real parts, then imaginary ones.
///
/// # Safety
/// - `stage` is the address of a stage whose barrier is complete; `place` is that of this lane's first row and time.
#[inline(always)]
unsafe fn samples(stage: u32, place: u32) -> [[f32; 4]; 4] {
    let mut samples = [[0.0; 4]; 4];
    unroll!(k in 0 1 2 3 {
        let address = (stage + place) ^ (32 * k as u32);
        let (first, second) = (sample(address), sample(address + 8 * ROW_BYTES));
        samples[k] = [first[0], second[0], first[1], second[1]];
    });
    samples
}

/// Multiplies the rows of a warpgroup with the columns of every stage; `a` and `b` are their first inputs.
///
/// # Safety
/// - All 128 threads of a warpgroup call it together, with the same arguments but for what is this thread's in
///   `triangle`.
/// - The barriers of `ring` are made, and the last warpgroup fills `left` stages.
/// - `interval` is not zero. The sums of rows from `a` and columns from `b` on are in `triangle`, and no other
///   warpgroup uses them.
/// - `turns` is what [`Turns::of`] gave this warpgroup, or alone if the other has no work.
#[inline(always)]
unsafe fn multiply<S: Sum>(
    mut triangle: Triangle<S>,
    mut left: u32,
    mut ring: Ring,
    turns: Turns,
    a: u32,
    b: u32,
    interval: u32,
) {
    let (warp, lane) = (tid_x() / 32 % 4, tid_x() % 32);
    let (row, time) = (16 * warp + row_of_group(lane / 4), lane % 4);
    let place = tid_x() / 128 * OPERAND + chunk_of_row(row, time / 2) + 8 * (time % 2);
    let (mut re, mut im): ([f32; 32], [f32; 32]) = (Accumulator::zero(), Accumulator::zero());
    loop {
        let (mut sums_re, mut sums_im): ([f32; 32], [f32; 32]) = (Accumulator::zero(), Accumulator::zero());
        let mut rows = left.min(FLUSH_ROWS);
        left -= rows;
        let mut since = 0;
        while rows > 0 {
            wait(ring.full(), ring.parity);
            let factors = samples(ring.stage(), place).map(|four| four.map(split));
            let (hi, lo) = (factors.map(|four| four.map(|(hi, _)| hi)), factors.map(|four| four.map(|(_, lo)| lo)));
            // Re V = a_re b_re + a_im b_im, Im V = a_re (-b_im) + a_im b_re.
            let parts = ring.stage() + 2 * OPERAND;
            let turned_hi = Descriptor::new(parts, PART, 128, Swizzle::None);
            let (columns_hi, turned_lo) = (turned_hi.advance(PART), turned_hi.advance(COLUMNS));
            let columns_lo = turned_lo.advance(PART);
            turns.wait();
            wgmma_fence();
            // Small products first: they lose little while the sums are small.
            unroll!(k in 0 1 2 3 {
                let further = 3 * PART * k as u32;
                product(&mut re, lo[k], columns_hi.advance(further), k > 0 || since > 0);
                product(&mut im, lo[k], turned_hi.advance(further), k > 0 || since > 0);
                product(&mut re, hi[k], columns_lo.advance(further), true);
                product(&mut im, hi[k], turned_lo.advance(further), true);
            });
            unroll!(k in 0 1 2 3 {
                let further = 3 * PART * k as u32;
                product(&mut re, hi[k], columns_hi.advance(further), true);
                product(&mut im, hi[k], turned_hi.advance(further), true);
            });
            wgmma_commit_group();
            turns.pass(left == 0 && rows == 1);
            wgmma_wait_group::<0>();
            re.hold();
            im.hold();
            // Each thread speaks for its own loads from the stage.
            mbarrier_arrive_shared_b64(ring.empty());
            ring.advance();
            rows -= 1;
            since += 1;
            if since == interval || rows == 0 {
                since = 0;
                unroll!(i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 {
                    sums_re[i] += re[i];
                    sums_im[i] += im[i];
                });
            }
        }
        // 16 rows of a warp, half of their columns at a time.
        let out = Shared::<[f32; 2]>::from_raw_parts(ring.start + STAGES * (STAGE + 16) + tid_x() / 32 * OUT, 512);
        unroll!(half in 0 1 {
            unroll!(n in 0 1 2 3 {
                unroll!(i in 0 1 2 3 {
                    let row = row_of_group(lane / 4) + 8 * (i as u32 / 2);
                    let register = 16 * half + 4 * n + i;
                    out.store(place_out(row, 8 * n as u32 + 2 * (lane % 4) + i as u32 % 2), [sums_re[register], sums_im[register]]);
                });
            });
            bar_warp_sync(u32::MAX);
            let mut local = 0;
            while local < 16 {
                let read = |i: u32| out.load(place_out(local + i, lane));
                triangle.add(a + 16 * warp + local, b + 32 * half as u32 + lane, read);
                local += 4;
            }
            bar_warp_sync(u32::MAX);
        });
        triangle.again = true;
        if left == 0 {
            break;
        }
    }
}
