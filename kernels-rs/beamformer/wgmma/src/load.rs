//! The thread that fills stages.

use fringes_device::TensorMap;
use fringes_device::bulk::cp_async_bulk_shared_global;
use fringes_device::tensor::cp_async_bulk_tensor_4d_shared_global;

use crate::ring::Ring;
use crate::tied_array::CHUNK_BYTES;
use fringes_kernels_beamformer_core::source::Source;
use fringes_kernels_beamformer_core::work::Work;

/// Fills stages with the chunks of all jobs, in their order.
///
/// # Safety
/// - One thread of the block calls it; `shared` is the address of the ring, whose barriers are made ([`Ring::init`])
///   and seen by it.
/// - `map` describes rows in device memory, in boxes of the source: bytes, inputs, blocks of time, channels. Bytes
///   outside are zero.
/// - All groups that multiply take every stage of the same work, whose table is there ([`Work::fits`]).
#[inline(always)]
pub(crate) unsafe fn load<S: Source, const N: u32>(shared: u32, work: &Work, map: TensorMap) {
    let mut ring = Ring::<S, N>::new(shared, true);
    let mut jobs = work.jobs(N);
    let (chunks, tiles) = (work.chunks::<S>(), work.tiles(N));
    let bytes = CHUNK_BYTES * N;
    while let Some(job) = jobs.next(work, N) {
        let tile = u64::from(job.channel) * u64::from(tiles) + u64::from(job.column);
        let mut weights = work.table.address(0).wrapping_add(tile * u64::from(chunks) * u64::from(bytes));
        let mut chunk = 0;
        while chunk < chunks {
            ring.wait_empty_and_expect();
            let at = [0, (chunk * S::INPUTS) as i32, (job.time * S::BLOCKS) as i32, job.channel as i32];
            cp_async_bulk_tensor_4d_shared_global(ring.address(), map, at, ring.full());
            cp_async_bulk_shared_global(ring.address() + S::BYTES, weights, bytes, ring.full());
            weights = weights.wrapping_add(u64::from(bytes));
            ring.advance();
            chunk += 1;
        }
    }
}
