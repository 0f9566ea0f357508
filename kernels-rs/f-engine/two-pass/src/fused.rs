//! Both passes in one launch.
//!
//! The first pass waits for the memory and for the ways to it, the second one computes: blocks of both on one
//! multiprocessor take less time than one after the other, and there is no launch at whose end multiprocessors are
//! empty.
//!
//! # Order
//! Blocks take *tickets*, numbers in the order in which they are taken, one after the other as long as there are any.
//! Of three, one has a strip of the first pass and two have tiles of the second one, of a group that is `lag` groups
//! earlier. Group `g` has place `g % ring` of the workspace. Two counters of a place say how often a block of the first
//! pass has filled its part of it, and how often one of the second has read its:
//!
//! ```text
//! strip of group g    waits until tiles of g / ring groups have been read      (the place is free)
//! tile of group g     waits until strips of g / ring + 1 groups are there      (the points are there)
//! ```
//!
//! What a block waits for has smaller tickets, as `lag < ring`. Of the tickets that are taken and not done, the
//! smallest waits for nothing, and the block that has it is at it: nothing waits for ever, whatever order blocks begin
//! in and however many there is room for. With `lag` groups of more blocks than run together, they hardly wait at all.
//!
//! A block signs for all its threads after a barrier by an atomic addition that releases at the GPU's scope; a load
//! that acquires, and a barrier, are before what depends on it.

use fringes_device::atomic::{atom_acq_rel_gpu_global_add_u32, ld_acquire_gpu_global_u32};
use fringes_device::barrier::bar_sync_0;
use fringes_device::control::trap;
use fringes_device::index::tid_x;
use fringes_device::{GlobalMut, Shared, opaque};
use fringes_kernels_common::format::I8;

use crate::butterfly::{Eight, Twiddled};
use crate::job::Launch;
use crate::packed::Real;
use crate::{columns, rows};

pub use fringes_kernel_abi::f_engine::fused::{COUNTERS, MOST_GROUPS, MOST_PLACES, parts, shared_bytes};

/// What a ticket is for.
#[derive(Clone, Copy)]
struct Work {
    group: u32,
    /// The group's place, and how many had it before.
    place: u32,
    turn: u32,
    /// Number of the strip, or of the tiles, within the group.
    index: u32,
    first_pass: bool,
    /// Whether there is such a group.
    there: bool,
}

/// Takes tickets and runs what they say, until there are no more.
///
/// # Safety
/// A block of [`columns::THREADS`] threads with the shared memory of both passes, all of which call it; `counters` are
/// zeros when the grid begins.
#[inline(always)]
pub unsafe fn run<const ROWS: u32, const RADIX: u32, L: Twiddled>(
    filter: columns::Arguments,
    rest: rows::Arguments<u16>,
    counters: GlobalMut<u32>,
    (ring, lag): (u32, u32),
) {
    let strips = ROWS / columns::STRIP;
    // Parts of a block with a tile each, and blocks of a group and two rows.
    let parts = parts(ROWS);
    let tiles = columns::SLOTS / rows::slots(ROWS) / parts;
    let blocks = tiles * (RADIX / 2);
    // The ticket lies behind what the passes use.
    let shared = Shared::<u32>::dynamic();
    let note = (shared_bytes(ROWS, RADIX) / 4 - 1) as usize;
    if ring == 0
        || ring > MOST_PLACES
        || lag == 0
        || lag >= ring
        || filter.count > 2 * MOST_GROUPS
        || counters.len() < COUNTERS as usize
        || shared.len() * 4 < shared_bytes(ROWS, RADIX) as usize
        || filter.rows != ROWS
        || !columns::holds::<1, Eight, Real<10>>(&filter, ring)
        || !rows::holds::<ROWS, RADIX, L, u16, false>(&rest, ring, parts)
    {
        trap();
        return;
    }
    let strips_filled = |place: u32| counters.address((1 + place) as usize);
    let tiles_read = |place: u32| counters.address((1 + MOST_PLACES + place) as usize);
    // What follows from the arguments is computed anew where it is needed, and takes no registers meanwhile. Which
    // arguments these have to be, of each number of rows, so that no architecture's machine code spills a register, was
    // found by trial.
    let anew = |value: u32| opaque(value as i32) as u32;
    let work = |ticket: u32| {
        let (three, which) = (ticket / 3, ticket % 3);
        let index = if which == 0 { three } else { 2 * three + which - 1 };
        let of_group = if which == 0 { strips } else { blocks };
        let group = if which == 0 { index / of_group } else { (index / of_group).wrapping_sub(anew(lag)) };
        let there = group < anew(filter.count).div_ceil(2);
        let ring = anew(ring).max(1);
        Work { group, place: group % ring, turn: group / ring, index: index % of_group, first_pass: which == 0, there }
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
                    (tiles_read(place), turn * blocks)
                } else {
                    (strips_filled(place), (turn + 1) * strips)
                };
                while ld_acquire_gpu_global_u32(counter) < wanted {}
            }
            shared.store(note, next);
        }
        bar_sync_0();
        let ticket = shared.load(note);
        if ticket >= 3 * strips * (anew(filter.count).div_ceil(2) + anew(lag)) {
            return;
        }
        let Work { group, place, index, first_pass, there, .. } = work(ticket);
        let again = |launch: Launch| Launch {
            channels: anew(launch.channels),
            period: anew(launch.period),
            dither: anew(launch.dither as u32) != 0,
            ..launch
        };
        let (first_group, count) = (group - place, anew(filter.count));
        if there && first_pass {
            let limits = columns::Limits { launch: again(filter.limits.launch), ..filter.limits };
            let of_64 = |value: u32| if ROWS == 64 { anew(value) } else { value };
            let (taps, rows) = (of_64(filter.taps), of_64(filter.rows));
            let arguments = columns::Arguments { taps, rows, first_group, count, limits, ..filter };
            columns::run::<1, Eight, _>(Real::<10>, arguments, (index, place));
        } else if there {
            let arguments = rows::Arguments { first_group, count, launch: again(rest.launch), ..rest };
            let thread = anew(tid_x());
            let (part, thread) = (thread / rows::threads(ROWS), thread % rows::threads(ROWS));
            let tile =
                rows::Tile { tile: index % tiles * parts + part, pair: index / tiles, local: place, thread, part };
            rows::run::<ROWS, RADIX, L, I8, false>(arguments, tile);
        }
        next = take();
        let Work { place, first_pass, there, .. } = work(shared.load(note));
        bar_sync_0();
        if signs && there {
            let counter = if first_pass { strips_filled(place) } else { tiles_read(place) };
            atom_acq_rel_gpu_global_add_u32(counter, 1);
        }
    }
}
