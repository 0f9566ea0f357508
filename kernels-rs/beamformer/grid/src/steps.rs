//! Steps: the samples of all feeds at one block, fine channel and polarisation, in the order in which they are summed.
//!
//! A step is a word of four numbers in shared memory: where its samples begin (two numbers, in bytes from the first
//! voltage), its flags, and its result over time. The threads of a block list some steps at once, so that divisions are
//! rare.

use fringes_device::Shared;
use fringes_device::index::tid_x;
use fringes_kernels_beamformer_frb::divided;

use crate::Sizes;
use crate::form::{Given, Item};

/// Steps of a list at most.
pub(crate) const MOST: u32 = 64;

/// The block is good: there are samples.
pub(crate) const GOOD: u32 = 1;
/// The first step of a block.
pub(crate) const BLOCK: u32 = 2;
/// The first step of a polarisation.
pub(crate) const FIRST: u32 = 4;
/// The last step of a result.
pub(crate) const LAST: u32 = 8;
/// Where the number of the polarisation begins.
pub(crate) const POL: u32 = 4;

/// Lists: of steps that are multiplied, loaded, copied, and listed.
pub(crate) const LISTS: u32 = 4;

/// A step.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    /// Byte of the first sample.
    pub(crate) at: u64,
    pub(crate) flags: u32,
    /// The result over time.
    pub(crate) time: u32,
}

impl Step {
    /// The polarisation.
    #[inline(always)]
    pub(crate) fn pol(self) -> u32 {
        self.flags >> POL
    }
}

/// Lists the `count` steps from `first` on, in list `number`; steps beyond the last one have no flags.
///
/// # Safety
/// The views hold what the sizes say; shared memory has the lists of so many steps; nobody reads this one.
#[inline(always)]
pub(crate) unsafe fn list(given: Given, sizes: Sizes, item: Item, number: u32, count: u32, first: u32) {
    let thread = tid_x();
    if thread >= count {
        return;
    }
    let step = first + thread;
    let (rest, fine) = divided(step, sizes.group);
    let (rest, block) = divided(rest, sizes.blocks);
    let (rest, pol) = divided(rest, sizes.pols);
    let time = item.first_time + rest;
    let mut words = [0; 4];
    if time < item.end_time {
        let block_number = time * sizes.blocks + block;
        let all_blocks = sizes.times * sizes.blocks;
        let good = given.good.is_empty() || {
            let flag = item.frequency as usize * all_blocks as usize + block_number as usize;
            given.good.load(flag) != 0
        };
        let of_voltages = (time - sizes.first) * sizes.blocks + block;
        let channel = (item.fine ^ sizes.centre) * sizes.group + fine;
        let counts = [of_voltages, item.frequency, channel, pol];
        let mut at = 0;
        let mut dimension = 0;
        while dimension < 4 {
            at += u64::from(counts[dimension]) * sizes.strides[dimension];
            dimension += 1;
        }
        let last = fine + 1 == sizes.group && block + 1 == sizes.blocks && (sizes.summed == 1 || pol + 1 == sizes.pols);
        let mut flags = pol << POL;
        flags |= if good { GOOD } else { 0 };
        flags |= if fine == 0 { BLOCK } else { 0 };
        flags |= if fine == 0 && block == 0 { FIRST } else { 0 };
        flags |= if last { LAST } else { 0 };
        words = [at as u32, (at >> 32) as u32, flags, time];
    }
    lists().store((number * count + thread) as usize, words);
}

/// Step `step` of a list.
///
/// # Safety
/// The list has been written, with `count` steps.
#[inline(always)]
pub(crate) unsafe fn step(list: u32, count: u32, step: u32) -> Step {
    let [low, high, flags, time] = lists().load((list * count + step) as usize);
    Step { at: u64::from(low) | u64::from(high) << 32, flags, time }
}

/// All lists, at the beginning of shared memory.
#[inline(always)]
fn lists() -> Shared<[u32; 4]> {
    // SAFETY: shared memory begins at a multiple of 16 bytes.
    unsafe { Shared::<u32>::dynamic().cast() }
}
