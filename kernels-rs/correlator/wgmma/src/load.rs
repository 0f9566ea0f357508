//! The thread that fills stages.

use fringes_device::tensor::cp_async_bulk_tensor_4d_shared_global;
use fringes_device::{Global, TensorMap};

use crate::ring::{Plan, Ring};
use crate::source::Source;
use crate::work::{Work, place};

/// Fills stages with the steps of all jobs, in their order. `maps`: all samples, and those up to the end of the last
/// row. `list`: where each row lies, if not one after the other.
///
/// # Safety
/// - One thread of the block calls it; `shared` is the address of the ring, whose barriers are made ([`Ring::init`])
///   and seen by it.
/// - `maps` describe samples in device memory, in boxes of the source and the shape: all of them, and those up to the
///   end of the last row.
/// - `list` is empty, or has an element for each row of the work ([`Work::fits`]).
/// - All groups that multiply, and the warps that expand if the source does, take every stage of the same work.
#[inline(always)]
pub(crate) unsafe fn load<S: Source, const SHAPE: u32>(
    shared: u32,
    work: &Work,
    maps: [TensorMap; 2],
    list: Global<u32>,
) {
    let mut ring = Ring::<S, SHAPE>::new(shared, true);
    let mut jobs = work.jobs();
    let bytes = S::INNER * S::BOXES;
    while let Some(job) = jobs.next(work, Plan::<S, SHAPE>::INPUTS) {
        let (mut row, mut byte) = work.start(job.first_step, bytes);
        let both = Plan::<S, SHAPE>::SIDES == 2 && job.row != job.column;
        let expected = if both { 2 * Plan::<S, SHAPE>::SIDE } else { Plan::<S, SHAPE>::SIDE };
        let mut at = place(list, row);
        let mut step = 0;
        while step < job.steps {
            let map = if row == work.last_row { maps[1] } else { maps[0] };
            ring.wait_empty_and_expect(expected);
            copy::<S, SHAPE>(&ring, map, ring.address(), [byte, job.column, job.channel, at]);
            if both {
                let side = ring.address() + Plan::<S, SHAPE>::SIDE;
                copy::<S, SHAPE>(&ring, map, side, [byte, job.row, job.channel, at]);
            }
            ring.advance();
            byte += bytes;
            step += 1;
            if work.ends(row, byte, bytes) && step < job.steps {
                (row, byte) = (row + 1, 0);
                at = place(list, row);
            }
        }
    }
}

/// Copies a side: bytes, tile, channel, row.
///
/// # Safety
/// - The stage is empty, `to` is the address of a side of it, and its barrier expects the bytes of the side.
/// - `map` is a tensor map of boxes of `INNER` bytes by [`Plan::ROWS`] rows.
#[inline(always)]
unsafe fn copy<S: Source, const SHAPE: u32>(
    ring: &Ring<S, SHAPE>,
    map: TensorMap,
    to: u32,
    [byte, tile, channel, row]: [u32; 4],
) {
    let input = (tile * Plan::<S, SHAPE>::ROWS) as i32;
    let mut part = 0;
    while part < S::BOXES {
        let at = [(byte + part * S::INNER) as i32, input, channel as i32, row as i32];
        cp_async_bulk_tensor_4d_shared_global(to + part * Plan::<S, SHAPE>::BOX, map, at, ring.full());
        part += 1;
    }
}
