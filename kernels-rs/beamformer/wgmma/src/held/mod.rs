//! Beams of few inputs: operands of all inputs of a tile's times stay in registers, and tiles of columns come one after
//! another.
//!
//! A block's strips go [across](crate::strips). Samples come to shared memory a strip ahead, become operands once, and
//! are given back; weights and scales come through a ring of whole tiles of columns. So products hardly wait for
//! operands, nothing but weights and scales comes from the L2 for a tile, and what two groups of warps do is nearly
//! products, conversions and stores alone.

mod multiply;
mod places;

use fringes_device::Shared;
use fringes_device::TensorMap;
use fringes_device::barrier::bar_sync_0;
use fringes_device::bulk::cp_async_bulk_shared_global;
use fringes_device::control::trap;
use fringes_device::fence::fence_mbarrier_init_release_cluster;
use fringes_device::index::tid_x;
use fringes_device::tensor::{cp_async_bulk_tensor_4d_shared_global, prefetch_tensormap};
use fringes_device::wgmma::{setmaxnreg_dec, setmaxnreg_inc};

use fringes_kernels_beamformer_core::incoherent::Incoherent;
use fringes_kernels_beamformer_core::output::{Put, scales};
use fringes_kernels_beamformer_core::source::Source;
use fringes_kernels_beamformer_core::work::Work;

use crate::form::MOST_STRIP;
use crate::format::Product;
use crate::load::weights;
use crate::strips::{Strips, put_step};
use multiply::multiply;
use places::Places;
pub(crate) use places::Shape;

/// Forms beams of `C` chunks of inputs in tiles of `N = 4 H` columns, in strips across of `strip`, and an incoherent
/// one if the output may have some, after checking the numbers.
#[inline(always)]
pub(crate) fn form<S: Source, O: Put, const N: u32, const H: usize, const C: usize>(
    map: TensorMap,
    work: Work,
    strip: u32,
    incoherent: Option<Incoherent>,
) where
    S::Part: Product<H>,
{
    let fits = match &incoherent {
        Some(incoherent) => O::INCOHERENT && incoherent.fits(&work),
        None => true,
    };
    let strips = strip >= 1 && strip <= MOST_STRIP;
    if !(work.fits::<S>(N, O::OUTPUT) && fits && work.chunks::<S>() == C as u32 && strips) {
        trap();
        return;
    }
    // SAFETY: the table and the beams are there, and copies of rows end where their map does.
    unsafe {
        let places = Places::<S, N, C>::new(Shared::<u8>::dynamic().address(0));
        let thread = tid_x();
        if thread == 0 {
            places.init();
            put_step::<true>(&work, strip, N, places.step());
            fence_mbarrier_init_release_cluster();
        }
        bar_sync_0();
        let strips = || Strips::<true>::new(&work, strip, N, places.step());
        // In all no more registers than the block was started with: 3 * 168 for each thread of four warps.
        if thread >= 256 {
            setmaxnreg_dec::<24>();
            if thread == 256 {
                prefetch_tensormap(map);
                load_samples(places, &work, strips(), map);
            } else if thread == 288 {
                load_weights(places, &work, strips());
            }
        } else {
            setmaxnreg_inc::<240>();
            multiply::<S, O, N, H, C>(places, &work, incoherent, thread);
        }
    }
}

/// Fills stages with the samples of all strips, in their order.
///
/// # Safety
/// - One thread of the block calls it; the barriers are made ([`Places::init`]) and seen by it, and the strips' step is
///   there ([`put_step`]).
/// - `map` describes rows in device memory, in boxes of the source: bytes, inputs, blocks of time, channels. Bytes
///   outside are zero.
/// - The groups that multiply take every stage of the same work.
#[inline(always)]
unsafe fn load_samples<S: Source, const N: u32, const C: usize>(
    places: Places<S, N, C>,
    work: &Work,
    mut strips: Strips<true>,
    map: TensorMap,
) {
    let [_, mut stage] = Places::<S, N, C>::TO_FILL;
    while strips.go_on(work) {
        let job = strips.next(work, N).job();
        places.samples_wanted(stage);
        let mut chunk = 0;
        while chunk < C as u32 {
            let at = [0, (chunk * S::INPUTS) as i32, (job.time * S::BLOCKS) as i32, job.channel as i32];
            let to = places.samples(stage) + chunk * S::BYTES;
            cp_async_bulk_tensor_4d_shared_global(to, map, at, places.samples_full(stage));
            chunk += 1;
        }
        stage.advance();
    }
}

/// Fills slots with the weights and scales of all tiles, in their order, and says behind them that there are no more.
///
/// # Safety
/// As [`load_samples`], and another thread calls that; the work's table is there ([`Work::fits`]).
#[inline(always)]
unsafe fn load_weights<S: Source, const N: u32, const C: usize>(
    places: Places<S, N, C>,
    work: &Work,
    mut strips: Strips<true>,
) {
    let [mut slot, _] = Places::<S, N, C>::TO_FILL;
    while strips.go_on(work) {
        let mut tiles = strips.next(work, N);
        while tiles.go_on() {
            let tile = tiles.next();
            let job = tile.job;
            let (first, fours) = scales(work, job, N);
            places.weights_wanted(slot, Some(tile), 16 * fours);
            let (from, full) = (weights::<S, N>(work, job), places.weights_full(slot));
            cp_async_bulk_shared_global(places.weights(slot), from, Places::<S, N, C>::SLOT, full);
            let from = work.scales.address(0).wrapping_add(16 * first);
            cp_async_bulk_shared_global(places.scales_to(slot), from, 16 * fours, full);
            slot.advance();
        }
    }
    places.weights_wanted(slot, None, 0);
}
