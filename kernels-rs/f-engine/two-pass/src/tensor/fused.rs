//! Both passes in one launch, as [`fused`](crate::fused) says: blocks take tickets, of which one is a strip of the first
//! pass and the next ones are blocks of the second pass, of a group that is `lag` groups earlier.

use fringes_device::atomic::{atom_acq_rel_gpu_global_add_u32, ld_acquire_gpu_global_u32};
use fringes_device::barrier::bar_sync_0;
use fringes_device::control::trap;
use fringes_device::index::tid_x;
use fringes_device::{GlobalMut, Shared, opaque};

use super::eight::Eight;
use super::{columns, rows};
use crate::butterfly::Radix;
use crate::columns::SLOTS;
use crate::fused::{COUNTERS, MOST_GROUPS, MOST_PLACES};

use fringes_kernel_abi::f_engine::columns::strips;
use fringes_kernel_abi::f_engine::tensor::{blocks, blocks_of_strip, fused_shared_bytes, slots};

/// What a ticket is for.
#[derive(Clone, Copy)]
struct Work {
    group: u32,
    /// The group's place, and how many had it before.
    place: u32,
    turn: u32,
    /// Number of the strip, or of the block, within the group.
    index: u32,
    first_pass: bool,
    /// Whether there is such a group.
    there: bool,
}

/// Takes tickets and runs what they say, until there are no more.
///
/// # Safety
/// A block of [`rows::THREADS`] threads with the shared memory of both passes, all of which call it; `counters` are
/// zeros when the grid begins.
#[inline(always)]
pub unsafe fn run<const ROWS: u32, const RADIX: u32, const BITS: u32, const TERMS: usize, R: Radix, O: Eight>(
    filter: columns::Arguments,
    rest: rows::Arguments<O::Stored>,
    counters: GlobalMut<u32>,
    (ring, lag): (u32, u32),
) {
    let (strips, terms) = (strips(ROWS), TERMS as u32);
    let (of_strip, of_group) = (blocks_of_strip(ROWS, RADIX, terms), blocks(ROWS, RADIX, terms));
    let tiles = SLOTS / slots(ROWS, terms);
    // The ticket lies behind what the passes use.
    let shared = Shared::<u32>::dynamic();
    let note = (fused_shared_bytes(ROWS, RADIX, terms) / 4 - 1) as usize;
    if ring == 0
        || ring > MOST_PLACES
        || lag == 0
        || lag >= ring
        || filter.count > 2 * MOST_GROUPS
        || counters.len() < COUNTERS as usize
        || shared.len() * 4 < fused_shared_bytes(ROWS, RADIX, terms) as usize
        || filter.rows != ROWS
        || !columns::holds::<1, R, TERMS>(&filter, ring)
        || !rows::holds::<ROWS, RADIX, TERMS, O::Stored>(&rest, ring)
    {
        trap();
        return;
    }
    let strips_filled = |place: u32| counters.address((1 + place) as usize);
    let blocks_read = |place: u32| counters.address((1 + MOST_PLACES + place) as usize);
    // What follows from the arguments is computed anew where it is needed, and takes no registers meanwhile.
    let anew = |value: u32| opaque(value as i32) as u32;
    let work = |ticket: u32| {
        let (round, which) = (ticket / (1 + of_strip), ticket % (1 + of_strip));
        let first_pass = which == 0;
        let index = if first_pass { round } else { of_strip * round + which - 1 };
        let of_group = if first_pass { strips } else { of_group };
        let group = if first_pass { index / of_group } else { (index / of_group).wrapping_sub(anew(lag)) };
        let there = group < anew(filter.count).div_ceil(2);
        let ring = anew(ring).max(1);
        Work { group, place: group % ring, turn: group / ring, index: index % of_group, first_pass, there }
    };
    // One thread takes tickets and waits for what they depend on, meanwhile another one signs for what is done.
    let (takes, signs) = (tid_x() == 32, tid_x() == 0);
    let take = || if takes { counters.atomic_add(0, 1) } else { 0 };
    let mut next = take();
    loop {
        if takes {
            let Work { place, turn, first_pass, there, .. } = work(next);
            if there {
                let (counter, wanted) = if first_pass {
                    (blocks_read(place), turn * of_group)
                } else {
                    (strips_filled(place), (turn + 1) * strips)
                };
                while ld_acquire_gpu_global_u32(counter) < wanted {}
            }
            shared.store(note, next);
        }
        bar_sync_0();
        let ticket = shared.load(note);
        if ticket >= (1 + of_strip) * strips * (anew(filter.count).div_ceil(2) + anew(lag)) {
            return;
        }
        let Work { group, place, index, first_pass, there, .. } = work(ticket);
        // The next one comes meanwhile.
        next = take();
        let (first_group, count) = (group.wrapping_sub(place), anew(filter.count));
        if there && first_pass {
            let arguments = columns::Arguments { rows: ROWS, first_group, count, ..filter };
            columns::run::<1, R, BITS, TERMS>(arguments, (index, place));
        } else if there {
            let arguments = rows::Arguments { first_group, count, ..rest };
            let tile = rows::Tile { tile: index % tiles, pair: index / tiles, local: place, thread: anew(tid_x()) };
            rows::run::<ROWS, RADIX, TERMS, O>(arguments, tile);
        }
        let Work { place, first_pass, there, .. } = work(shared.load(note));
        bar_sync_0();
        if signs && there {
            let counter = if first_pass { strips_filled(place) } else { blocks_read(place) };
            atom_acq_rel_gpu_global_add_u32(counter, 1);
        }
    }
}
