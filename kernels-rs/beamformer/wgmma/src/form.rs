//! A block's work, divided among its warps.

use fringes_device::barrier::{bar_arrive, bar_sync, bar_sync_0};
use fringes_device::control::trap;
use fringes_device::fence::fence_mbarrier_init_release_cluster;
use fringes_device::index::tid_x;
use fringes_device::opaque;
use fringes_device::tensor::prefetch_tensormap;
use fringes_device::wgmma::{setmaxnreg_dec, setmaxnreg_inc};
use fringes_device::{Shared, TensorMap};

use fringes_kernels_beamformer_core::incoherent::{Incoherent, Powers};
use fringes_kernels_beamformer_core::output::{Lane, Put, SCALE_BYTES};
use fringes_kernels_beamformer_core::source::Source;
use fringes_kernels_beamformer_core::work::Work;

use crate::format::Product;
use crate::load::{load, load_weights};
use crate::multiply::Tile;
use crate::ring::{Places, Ring, most_slots, ring_bytes, step_at};
use crate::scales::Scales;
use crate::strips::{self, Strips, put_step};
use crate::tied_array::Output;

/// Blocks of a multiprocessor: with few columns two, so that one loads and multiplies while the other stores, but of
/// coherencies, which take more registers than that leaves.
pub(crate) const fn blocks(columns: u32, output: Output) -> u32 {
    if columns == 16 && !matches!(output, Output::Coherency) { 2 } else { 1 }
}

/// Most tiles of a strip.
pub(crate) const MOST_STRIP: u32 = 1 << 24;

/// Forms beams in tiles of `N = 2 H` columns, in strips of `strip`, and an incoherent one if the output
/// may have some, after checking the numbers.
#[inline(always)]
pub(crate) fn form<S: Source, O: Put, const N: u32, const H: usize>(
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
    let resident = strip > 1;
    let stay = !resident || work.chunks::<S>() <= most_slots(N);
    if !(work.fits::<S>(N, O::OUTPUT) && fits && stay && strip >= 1 && strip <= MOST_STRIP) {
        trap();
        return;
    }
    // SAFETY: the table and the beams are there, and copies of rows end where their map does.
    unsafe {
        let shared = Shared::<u8>::dynamic().address(0);
        let thread = tid_x();
        if thread == 0 {
            Places::<S, N>::new(shared, 1, false).init();
            put_step::<false>(&work, strip, N, shared + step_at(N));
            fence_mbarrier_init_release_cluster();
        }
        bar_sync_0();
        // In all no more registers than the block was started with: 3 * 168 for each thread of four warps, 3 * 80 where
        // a multiprocessor has two blocks.
        let alone = blocks(N, O::OUTPUT) == 1;
        if thread >= 256 {
            setmaxnreg_dec::<40>();
            if thread == 256 {
                prefetch_tensormap(map);
                load::<S, N>(shared, &work, Strips::new(&work, strip, N, shared + step_at(N)), map);
            } else if thread == 288 {
                load_weights::<S, N>(shared, &work, Strips::new(&work, strip, N, shared + step_at(N)));
            }
        } else {
            if alone {
                setmaxnreg_inc::<232>()
            } else {
                setmaxnreg_inc::<96>()
            }
            multiply::<S, O, N, H>(
                shared,
                &work,
                Strips::new(&work, strip, N, shared + step_at(N)),
                incoherent,
                thread,
            );
        }
    }
}

/// What the groups do that multiply.
///
/// # Safety
/// - `shared` is the address of the ring, whose barriers are made ([`Places::init`]) and seen by all threads.
/// - All threads of both groups call it, with their number `thread < 256` in the block.
/// - `work` and `incoherent` are what fits ([`Work::fits`], [`Incoherent::fits`]), and threads of other warps run
///   [`load`] and [`load_weights`] for it.
#[inline(always)]
unsafe fn multiply<S: Source, O: Put, const N: u32, const H: usize>(
    shared: u32,
    work: &Work,
    mut strips: Strips<false>,
    incoherent: Option<Incoherent>,
    thread: u32,
) where
    S::Part: Product<H>,
{
    let (group, warp, lane) = (thread / 128, thread / 32 % 4, thread % 32);
    let place = S::place(group, warp, lane);
    let scales_at = shared + ring_bytes(N) + SCALE_BYTES * (4 * group + warp);
    let chunks = work.chunks::<S>();
    let mut ring = Ring::new(false);
    // The groups take turns: the one multiplies while the other stores. That takes stages for all chunks of a tile, and
    // was measured not to pay with one or two.
    let turns = blocks(N, O::OUTPUT) == 1
        && chunks > 2
        && chunks <= Places::<S, N>::new(shared, chunks, strips.stay()).stages();
    if turns && group == 1 {
        pass(0);
    }
    while strips.go_on(work) {
        let mut tiles = strips.next(work, N);
        while tiles.go_on() {
            let strips::Tile { job, first, last } = tiles.next();
            let scales = Scales::start(work, job, N, scales_at, lane);
            let mut tile = Tile::<S::Part, H>::new();
            if turns {
                wait(group);
            }
            // Computed anew: kept for all tiles it takes registers that there are not.
            let places = Places::<S, N>::new(shared, opaque(chunks as i32) as u32, strips.stay());
            // Of one tile of columns.
            let incoherent = incoherent.filter(|of| of.is_there() && job.column == 0);
            let beside = |powers: &mut Powers, operands, [chunk, half]: [u32; 2]| {
                if let Some(of) = &incoherent {
                    powers.add::<S>(of, operands, [chunk, half, lane % 4]);
                }
            };
            tile.sum(&mut ring, places, place, chunks, [first, last], lane == 0, beside, || {
                if turns {
                    pass(1 - group)
                }
            });
            let lane = Lane::new::<S>(work, job, N, [group, warp, lane], scales.wait());
            if let Some(of) = &incoherent {
                tile.powers.put::<S>(of, work, &lane);
            }
            if work.digits == 1 || S::FLOATS {
                O::put::<S, H, 1>(&tile.sums, work, &lane);
            } else {
                O::put::<S, H, 2>(&tile.sums, work, &lane);
            }
        }
        ring.advance_strip();
    }
    // The last turn that was passed.
    if turns && group == 0 {
        wait(0);
    }
}

/// Waits for the turn of group 0 or 1.
///
/// # Safety
/// All threads of the group call it, and those of the other one [`pass`] the turn.
#[inline(always)]
pub(crate) unsafe fn wait(group: u32) {
    if group == 0 { bar_sync::<1>(256) } else { bar_sync::<2>(256) }
}

/// Passes the turn to group 0 or 1.
///
/// # Safety
/// All threads of the other group call it, and those of the group [`wait`] for the turn.
#[inline(always)]
pub(crate) unsafe fn pass(group: u32) {
    if group == 0 { bar_arrive::<1>(256) } else { bar_arrive::<2>(256) }
}
