//! Rows on their way from global to shared memory.
//!
//! A stage holds rows of one time of 16, 128 bytes each: 8 chunks of two complex samples. Chunk `c` of row `r` lies at
//! `128 r + 16 (c ^ (r % 8))`: eight rows read at one chunk, and eight chunks of one row, are free of bank conflicts.

use fringes_device::copy_async::{cp_async_ca_shared_global_8_src_size, cp_async_cg_shared_global_16};
use fringes_device::{opaque, unroll};

use crate::job::{Job, ROW_BYTES, Span};

/// Byte of a stage's operand at which chunk `chunk` of row `row` lies.
#[inline(always)]
pub(crate) const fn chunk_of_row(row: u32, chunk: u32) -> u32 {
    row * ROW_BYTES + 16 * (chunk ^ (row % 8))
}

/// Rows of one side of a tile, as one of `8 STEP` threads copies them: one chunk of rows `thread / 8 + i STEP`, eight
/// of them. `STEP` is a multiple of 8.
#[derive(Clone, Copy)]
pub(crate) struct Side<const STEP: u32> {
    /// Global address of the chunk in this thread's first row, at the first row of time.
    address: u64,
    /// Bytes from one row of time to the next.
    stride: u64,
    /// Rows from this thread's first one on that exist.
    exist: u32,
    /// The chunk.
    chunk: u32,
    /// Where the chunk goes in the operand.
    place: u32,
}

impl<const STEP: u32> Side<STEP> {
    /// The rows from input `first` on, `rows` the address of all rows.
    #[inline(always)]
    pub(crate) fn new(rows: u64, job: &Job, span: &Span, first: u32, thread: u32) -> Self {
        let (row, chunk) = (thread / 8, thread % 8);
        let input = first + row;
        Self {
            address: rows + job.row_byte(span.channel, span.row) + u64::from(input * ROW_BYTES + 16 * chunk),
            stride: u64::from(job.inputs) * u64::from(ROW_BYTES),
            exist: job.inputs.saturating_sub(input),
            chunk,
            place: chunk_of_row(row, chunk),
        }
    }

    /// All eight rows exist, for every thread, of `inputs` inputs from input `first` on.
    #[inline(always)]
    pub(crate) fn whole(first: u32, inputs: u32) -> bool {
        first + 8 * STEP <= inputs
    }

    /// Starts the copies of a row of time into the operand at `target`; goes on to the next.
    ///
    /// With `PLAIN` all rows and times exist and count. Else what does not exist or does not count becomes zero.
    ///
    /// # Safety
    /// The rows hold what the job says; `target` is the shared address of an operand of `8 STEP` rows that nobody uses.
    #[inline(always)]
    pub(crate) unsafe fn copy<const PLAIN: bool>(&mut self, span: &Span, target: u32) {
        let target = target + self.place;
        if PLAIN {
            unroll!(i in 0 1 2 3 4 5 6 7 {
                let offset = i as u32 * STEP * ROW_BYTES;
                cp_async_cg_shared_global_16(target + offset, self.address + u64::from(offset));
            });
        } else {
            let counts = [span.counts(2 * self.chunk), span.counts(2 * self.chunk + 1)];
            // A loop that stays one: few registers for what is rare.
            let end = opaque((8 * STEP) as i32) as u32;
            let mut row = 0;
            while row < end {
                unroll!(time in 0 1 {
                    let at = row * ROW_BYTES + 8 * time as u32;
                    let bytes = if counts[time] && self.exist > row { 8 } else { 0 };
                    cp_async_ca_shared_global_8_src_size(target + at, self.address + u64::from(at), bytes);
                });
                row += STEP;
            }
        }
        self.address += self.stride;
    }
}
