//! The threads that fill the ring.

use fringes_device::TensorMap;
use fringes_device::bulk::cp_async_bulk_shared_global;
use fringes_device::tensor::cp_async_bulk_tensor_4d_shared_global;

use crate::ring::{Places, Ring};
use crate::strips::Strips;
use fringes_kernels_beamformer_core::source::Source;
use fringes_kernels_beamformer_core::work::{Job, Work};

/// Address of the weights of a tile's first chunk.
///
/// # Safety
/// `work` is what fits ([`Work::fits`]), and has the job.
#[inline(always)]
pub(crate) unsafe fn weights<S: Source, const N: u32>(work: &Work, job: Job) -> u64 {
    let tile = u64::from(job.channel) * u64::from(work.tiles(N)) + u64::from(job.column);
    let chunk = tile * u64::from(work.chunks::<S>());
    work.table.address(0).wrapping_add(chunk * u64::from(Places::<S, N>::SLOT))
}

/// Fills stages with the samples of all tiles, in their order, and slots with weights that do not stay.
///
/// # Safety
/// - One thread of the block calls it; `shared` is the address of the ring, whose barriers are made ([`Places::init`])
///   and seen by it; the strips' step is there ([`put_step`](crate::strips::put_step)).
/// - `map` describes rows in device memory, in boxes of the source: bytes, inputs, blocks of time, channels. Bytes
///   outside are zero.
/// - All groups that multiply take every stage of the same work, whose table is there ([`Work::fits`]).
#[inline(always)]
pub(crate) unsafe fn load<S: Source, const N: u32>(
    shared: u32,
    work: &Work,
    mut strips: Strips<false>,
    map: TensorMap,
) {
    let chunks = work.chunks::<S>();
    let (places, mut ring) = (Places::<S, N>::new(shared, chunks, strips.stay()), Ring::new(true));
    while strips.go_on(work) {
        let mut tiles = strips.next(work, N);
        let weights = weights::<S, N>(work, tiles.job());
        while tiles.go_on() {
            let tile = tiles.next();
            let mut from = weights;
            let mut chunk = 0;
            while chunk < chunks {
                ring.wait_empty_and_expect(&places);
                let [samples, slot] = ring.chunk(&places, chunk);
                let job = tile.job;
                let at = [0, (chunk * S::INPUTS) as i32, (job.time * S::BLOCKS) as i32, job.channel as i32];
                cp_async_bulk_tensor_4d_shared_global(samples, map, at, ring.full(&places));
                if !places.resident {
                    cp_async_bulk_shared_global(slot, from, Places::<S, N>::SLOT, ring.full(&places));
                    from = from.wrapping_add(u64::from(Places::<S, N>::SLOT));
                }
                ring.advance(&places);
                chunk += 1;
            }
        }
    }
}

/// Fills slots with the weights of all strips, in their order, where they stay.
///
/// # Safety
/// As [`load`], and another thread calls that.
#[inline(always)]
pub(crate) unsafe fn load_weights<S: Source, const N: u32>(shared: u32, work: &Work, mut strips: Strips<false>) {
    let chunks = work.chunks::<S>();
    let (places, mut ring) = (Places::<S, N>::new(shared, chunks, strips.stay()), Ring::new(true));
    if !places.resident {
        return;
    }
    while strips.go_on(work) {
        let tiles = strips.next(work, N);
        let mut from = weights::<S, N>(work, tiles.job());
        let mut chunk = 0;
        while chunk < chunks {
            ring.wait_empty_weights_and_expect(&places, chunk);
            let [_, slot] = ring.chunk(&places, chunk);
            cp_async_bulk_shared_global(slot, from, Places::<S, N>::SLOT, places.full_weights(chunk));
            from = from.wrapping_add(u64::from(Places::<S, N>::SLOT));
            chunk += 1;
        }
        ring.advance_strip();
    }
}
