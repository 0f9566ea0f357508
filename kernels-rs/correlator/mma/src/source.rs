//! The copies of a block: from rows or heaps in global memory to stages in shared memory.
//!
//! Thread `t` copies chunk `t % 8`, 16 bytes, of rows `t / 8`, `t / 8 + threads / 8`, ... of a side, of 128 bytes at a
//! time. What lies before the first time is cleared in shared memory once the first stage is there; what lies past the
//! end, or past the last row, is copied as zeros. Heaps whose rows are no multiples of 16 bytes are copied sample by
//! sample, through registers.

use core::marker::PhantomData;

use fringes_device::copy_async::{
    cp_async_cg_shared_global_16, cp_async_cg_shared_global_16_src_size, cp_async_commit_group,
};
use fringes_device::index::tid_x;
use fringes_device::{Global, Shared, opaque, unroll};

use crate::order::Order;
use crate::places;
use crate::shape::{self, Shape};

/// What a block copies: steps of the time, of the rows of one channel.
#[derive(Clone, Copy)]
pub(crate) struct Steps {
    /// Global address of the first byte of row 0 at the first step.
    pub start: u64,
    /// Rows that exist: inputs, or antennas.
    pub rows: u32,
    /// Bytes from a row to the next one.
    pub row_stride: u64,
    /// Bytes from a step to the next one, of rows.
    pub step_stride: u64,
    /// Bytes from the last step of a batch to the first one of the next.
    pub batch_stride: u64,
    /// Steps of a batch, of heaps.
    pub per_batch: u32,
    /// Which step of its batch the first one is.
    pub index: u32,
    /// Steps.
    pub steps: u32,
    /// How many of them, from the first one on, have all their bytes.
    pub full: u32,
    /// Bytes of a row in the last step of a batch of heaps, or the last one of these steps of rows.
    pub last: u32,
    /// Bytes of the first step that come before the first time.
    pub head: u32,
    /// Rows begin at multiples of 16 bytes in every step.
    pub aligned: bool,
}

/// The copies of a thread, from the next step on. (Few registers live as long as this does: what is needed once, at the
/// end, is computed then.)
pub(crate) struct Source<O, S> {
    /// Global address of the first row of either side; of heaps of this thread's chunk in the first of its rows.
    sides: [u64; 2],
    /// Row and column of the tile.
    tile: [u32; 2],
    /// The second side is the first one, and is not copied.
    pub(crate) diagonal: bool,
    rows: u32,
    row_stride: u64,
    step_stride: u64,
    batch_stride: u64,
    per_batch: u32,
    index: u32,
    last: u32,
    aligned: bool,
    /// Where the chunk of the first of its rows goes in a stage.
    place: u32,
    kind: PhantomData<(O, S)>,
}

impl<O: Order, S: Shape> Source<O, S> {
    /// Rows of a side.
    const ROWS: u32 = S::SIDE / O::POLARISATIONS;
    /// Rows that the threads copy at once.
    const AT_ONCE: u32 = S::WARPS * 4;
    /// Copies of a thread for a side of a stage.
    const COPIES: u32 = Self::ROWS.div_ceil(Self::AT_ONCE) * O::POLARISATIONS;

    #[inline(always)]
    pub(crate) fn new(steps: &Steps, row: u32, column: u32) -> Self {
        const { assert!(Self::COPIES <= 8 && Self::AT_ONCE % 4 == 0 && Self::ROWS % 16 == 0) };
        let (chunk, first) = (tid_x() % 8, tid_x() / 8);
        let side = |side: u32| {
            let own = u64::from(first) * steps.row_stride + u64::from(16 * chunk);
            steps.start + u64::from(side * Self::ROWS) * steps.row_stride + if O::HEAPS { own } else { 0 }
        };
        Self {
            sides: [side(row), side(column)],
            tile: [row, column],
            diagonal: S::WHOLE || row == column,
            rows: steps.rows,
            row_stride: steps.row_stride,
            step_stride: steps.step_stride,
            batch_stride: steps.batch_stride,
            per_batch: steps.per_batch,
            index: steps.index,
            last: steps.last,
            aligned: !O::HEAPS || steps.aligned,
            place: places::chunk_of_row(first, chunk),
            kind: PhantomData,
        }
    }

    /// Whether all rows of both sides exist.
    #[inline(always)]
    pub(crate) fn whole(&self) -> bool {
        (self.tile[0] + 1) * Self::ROWS <= self.rows
    }

    /// Whether a row, counted from this thread's first one, exists.
    #[inline(always)]
    fn exists(&self, side: usize, row: u32) -> bool {
        let tile = if S::WHOLE { 0 } else { self.tile[side] };
        tile * Self::ROWS + tid_x() / 8 + row < self.rows
    }

    /// Copy `i`: row after this thread's first one, which 128 bytes of it, and where in a stage they go.
    #[inline(always)]
    fn copy_of(&self, i: u32) -> (u32, u32, u32) {
        let (pass, half) = if O::DUAL { (i / 2, i % 2) } else { (i, 0) };
        let row = pass * Self::AT_ONCE;
        // Rows that are four apart modulo eight have their chunks XORed with two.
        let place = self.place ^ if row % 8 == 4 { 32 } else { 0 };
        (row, half, place + 128 * (row + half * Self::ROWS))
    }

    /// Whether copy `i` is one of this thread's: the last rows may be fewer than the threads have.
    #[inline(always)]
    fn has(&self, row: u32) -> bool {
        // A place is 128 times the row, and something less than 128.
        row + Self::AT_ONCE <= Self::ROWS || self.place < 128 * (Self::ROWS - row)
    }

    /// Bytes from the address of a side to this thread's chunk in a row, counted from its first one.
    #[inline(always)]
    fn offset(&self, row: u32) -> u64 {
        if O::HEAPS {
            u64::from(row) * self.row_stride
        } else {
            // 32 bits are enough for the rows of a side; computed here, for all copies' 64 bits would take registers
            // otherwise.
            u64::from(opaque(16 * tid_x() as i32) as u32 + row * 128)
        }
    }

    /// Bytes of the next step, of which `left` are left, that the `half`-th 128 bytes of a row have from this thread's
    /// chunk on.
    #[inline(always)]
    fn bytes(&self, half: u32, left: u32) -> u32 {
        let is_last = if O::HEAPS { self.index + 1 == self.per_batch } else { left == 1 };
        let row = if is_last { self.last } else { O::BYTES };
        row.saturating_sub(128 * half + 16 * (tid_x() % 8)).min(16)
    }

    /// Starts the copies of either side that are the `part`-th quarter of this thread's into `stage`, of the next step,
    /// of which `left` are left (none if none is).
    ///
    /// With `PLAIN` all rows and bytes exist.
    ///
    /// # Safety
    /// - `stage` is the address of a stage in shared memory that no thread reads before a wait for the copies and a
    ///   barrier.
    /// - The source is at a step of which `left` are left, and what its sizes say lies in device memory; with `PLAIN`
    ///   all rows and bytes of it exist and `left > 0`.
    /// - Addresses of rows are multiples of 16.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline(never))]
    pub(crate) unsafe fn copy<const PLAIN: bool>(&self, stage: u32, left: u32, part: usize) {
        unroll!(copy in 0 1 2 3 4 5 6 7 {
            if copy % 4 == part && (copy as u32) < Self::COPIES {
                let (row, half, place) = self.copy_of(copy as u32);
                if (PLAIN || left > 0) && self.has(row) {
                    unroll!(side in 0 1 {
                        if side == 0 || !(S::WHOLE || self.diagonal) {
                            let to = stage + place + side as u32 * shape::operand::<S>();
                            let from = self.sides[side] + self.offset(row) + u64::from(128 * half);
                            if PLAIN {
                                cp_async_cg_shared_global_16(to, from);
                            } else {
                                let bytes = if self.exists(side, row) { self.bytes(half, left) } else { 0 };
                                cp_async_cg_shared_global_16_src_size(to, from, bytes);
                            }
                        }
                    });
                }
            }
        });
    }

    /// Copies all of the next step through registers, sample by sample of `SAMPLE` bytes.
    ///
    /// # Safety
    /// - As [`Source::copy`] without `PLAIN`, but addresses are multiples of `SAMPLE`, the bytes of a sample.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline(never))]
    unsafe fn copy_samples<const SAMPLE: u32>(&self, stage: u32, left: u32) {
        let mut at = 0;
        let sides = if self.diagonal { 1 } else { 2 };
        while at < sides * Self::COPIES && left > 0 {
            let (copy, side) = if at < Self::COPIES { (at, 0) } else { (at - Self::COPIES, 1) };
            let (row, half, place) = self.copy_of(copy);
            if self.has(row) {
                let to = stage + place + side * shape::operand::<S>();
                let (start, exists) =
                    if side == 0 { (self.sides[0], self.exists(0, row)) } else { (self.sides[1], self.exists(1, row)) };
                let from = start + self.offset(row) + u64::from(128 * half);
                let bytes = if exists { self.bytes(half, left) } else { 0 };
                let mut byte = 0;
                while byte < 16 {
                    let (here, from, to) = (byte < bytes, from + u64::from(byte), to + byte);
                    match SAMPLE {
                        1 => {
                            let value = if here { Global::<u8>::from_raw_parts(from, 1).load(0) } else { 0 };
                            Shared::<u8>::from_raw_parts(to, 1).store(0, value);
                        }
                        2 => {
                            let value = if here { Global::<u16>::from_raw_parts(from, 1).load(0) } else { 0 };
                            Shared::<u16>::from_raw_parts(to, 1).store(0, value);
                        }
                        _ => {
                            let value = if here { Global::<u32>::from_raw_parts(from, 1).load(0) } else { 0 };
                            Shared::<u32>::from_raw_parts(to, 1).store(0, value);
                        }
                    }
                    byte += SAMPLE;
                }
            }
            at += 1;
        }
    }

    /// Copies what cannot be copied in chunks of 16 bytes; whether that was so.
    ///
    /// # Safety
    /// - As [`Source::copy`] without `PLAIN`, but addresses are multiples of 16 only if the source says that they
    ///   are; `sample` is the bytes of a sample.
    #[inline(always)]
    pub(crate) unsafe fn copied_samples(&self, stage: u32, left: u32, sample: u32) -> bool {
        if self.aligned {
            return false;
        }
        match sample {
            1 => self.copy_samples::<1>(stage, left),
            2 => self.copy_samples::<2>(stage, left),
            _ => self.copy_samples::<4>(stage, left),
        }
        true
    }

    /// Starts all copies of the next step.
    ///
    /// # Safety
    /// - As [`Source::copied_samples`].
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline(never))]
    pub(crate) unsafe fn copy_all(&self, stage: u32, left: u32, sample: u32) {
        if !self.copied_samples(stage, left, sample) {
            unroll!(part in 0 1 2 3 { self.copy::<false>(stage, left, part); });
        }
    }

    /// Closes the group of a step's copies and goes on to the next step.
    #[inline(always)]
    pub(crate) fn advance(&mut self) {
        cp_async_commit_group();
        let mut stride = self.step_stride;
        if O::HEAPS {
            stride = u64::from(O::BYTES);
            self.index += 1;
            if self.index == self.per_batch {
                (self.index, stride) = (0, self.batch_stride);
            }
        }
        self.sides = [self.sides[0] + stride, self.sides[1] + stride];
    }

    /// Clears the first `head` bytes of the rows of a stage that this thread has copied, after they have come.
    ///
    /// # Safety
    /// - This thread's copies into `stage` are complete ([`Shape::wait`](crate::shape::Shape::wait)), and no thread
    ///   reads the stage before a barrier.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline(never))]
    pub(crate) unsafe fn clear(&self, stage: u32, head: u32) {
        let mut at = 0;
        let sides = if self.diagonal { 1 } else { 2 };
        while at < sides * Self::COPIES {
            let (copy, side) = if at < Self::COPIES { (at, 0) } else { (at - Self::COPIES, 1) };
            let (row, _, place) = self.copy_of(copy);
            if self.has(row) {
                let to = stage + place + side * shape::operand::<S>();
                let mut byte = 0;
                while byte < 16 && 16 * (tid_x() % 8) + byte < head {
                    Shared::<u8>::from_raw_parts(to + byte, 1).store(0, 0);
                    byte += 1;
                }
            }
            at += 1;
        }
    }
}
