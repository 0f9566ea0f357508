//! The thread that fills stages, and has sums that are added to brought to the L2 before they are needed.

use fringes_device::bulk::cp_async_bulk_prefetch_l2_global;
use fringes_device::tensor::cp_async_bulk_tensor_4d_shared_global;
use fringes_device::{Global, GlobalMut, TensorMap, Value, opaque};

use crate::ring::{Plan, Ring, SQUARE};
use crate::source::Source;
use crate::store::Sum;
use crate::work::{Job, Work, place};

/// Bytes of a row of samples of a job, an input's or, of heaps, those of both polarisations, from which on its sums are
/// brought ahead. In chunks of 256 spectra of 8-bit heaps, 1024 bytes, that takes a fifth less time; fewer were not
/// timed.
const PREFETCHED: u32 = 512;

/// Fills stages with the steps of all jobs, in their order. `maps`: all samples, and those up to the end of the last
/// row. `list`: where each row lies, if not one after the other. `sums`: what the jobs add to.
///
/// # Safety
/// - One thread of the block calls it; `shared` is the address of the ring, whose barriers are made ([`Ring::init`])
///   and seen by it.
/// - `maps` describe samples in device memory, in boxes of the source and the shape: all of them, and those up to the
///   end of the last row.
/// - `sums` are those of the work, or empty where they are overwritten ([`Work::fits`]).
/// - `list` is empty, or has an element for each row of the work ([`Work::fits`]).
/// - All groups that multiply, and the warps that expand if the source does, take every stage of the same work.
#[inline(always)]
pub(crate) unsafe fn load<S: Source, V: Sum<S::Part>, const SHAPE: u32>(
    shared: u32,
    work: &Work,
    maps: [TensorMap; 2],
    list: Global<u32>,
    sums: GlobalMut<V::Memory>,
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
        if V::ADDS && job.steps * bytes >= PREFETCHED {
            prefetch::<S, V, SHAPE>(work, job, sums);
        }
    }
}

/// Has the sums of a job brought to the L2: its products take a while yet, and those of the job before.
///
/// # Safety
/// The sums are those of the work, which fits them ([`Work::fits`]), and has the job.
#[inline(always)]
unsafe fn prefetch<S: Source, V: Sum<S::Part>, const SHAPE: u32>(work: &Work, job: Job, sums: GlobalMut<V::Memory>) {
    // Computed where it is used, not kept in registers.
    let (all, side) = (u64::from(opaque(work.inputs as i32) as u32), Plan::<S, SHAPE>::INPUTS);
    let baselines = all * (all + 1) / 2;
    let matrix = u64::from(job.matrix) * baselines;
    if SHAPE != SQUARE {
        // All of a matrix.
        prefetch_run(sums, matrix, baselines as u32);
        return;
    }
    let (mut row, column) = (job.row * side, job.column * side);
    let end = (row + side).min(work.inputs);
    while row < end {
        let before = row * (row + 1) / 2 + column;
        prefetch_run(sums, matrix + u64::from(before), (row + 1 - column).min(side));
        row += 1;
    }
}

/// Has `count` neighbouring sums brought to the L2, but for half of 16 bytes at either end.
///
/// # Safety
/// There are these sums.
#[inline(always)]
unsafe fn prefetch_run<M: Value>(sums: GlobalMut<M>, first: u64, count: u32) {
    const BYTES: u32 = 8192;
    let (start, size) = (sums.address(first as usize), size_of::<M>() as u32);
    let mut at = start.next_multiple_of(16);
    let mut left = (size * count).saturating_sub((at - start) as u32) / 16 * 16;
    while left > 0 {
        let bytes = left.min(BYTES);
        cp_async_bulk_prefetch_l2_global(at, bytes);
        at += u64::from(bytes);
        left -= bytes;
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
