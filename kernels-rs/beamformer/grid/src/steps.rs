//! Steps: the samples of all feeds at one block, fine channel and polarisation, in the order in which they are summed.
//!
//! A step is twice four words in shared memory: where its voltages begin (two words, in bytes from the first voltage),
//! its flags, and its result over time; then what those need who decode it ([`Loading`]). The threads of a block list
//! some steps at once, so that divisions are rare.

use fringes_device::Shared;
use fringes_device::index::tid_x;
use fringes_kernels_beamformer_frb::divided;

use crate::Sizes;
use crate::form::{Given, Item};
use crate::fragments::SIDE;

/// Steps of a list at most.
pub(crate) const MOST: u32 = 72;

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

/// Bytes of a step.
pub(crate) const BYTES: u32 = 32;

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

/// Of a step, what those need who decode it.
#[derive(Clone, Copy)]
pub(crate) struct Loading {
    pub(crate) flags: u32,
    /// Bytes from the list's first copied voltage to the step's first, and the lowest bits of that one's address.
    pub(crate) raw: u32,
    /// Words from the first tile to the step's columns.
    pub(crate) samples: u32,
    /// Number of the first gain of its polarisation, in four words.
    pub(crate) gains: u32,
}

/// Where the steps of a list go.
#[derive(Clone, Copy)]
pub(crate) struct Ways {
    /// Steps of a list, and tiles that have consecutive ones.
    pub(crate) count: u32,
    pub(crate) together: u32,
    /// Bytes of a step's copied voltages, words of a tile, and quads of a step.
    pub(crate) step_bytes: u32,
    pub(crate) tile_words: u32,
    pub(crate) quads: u32,
}

/// Lists the `count` steps from `first` on, in list `number`; steps beyond the last one have no flags.
///
/// # Safety
/// The views hold what the sizes say; shared memory has the lists of so many steps; nobody reads this one.
#[inline(always)]
pub(crate) unsafe fn list(given: Given, sizes: Sizes, item: Item, ways: Ways, number: u32, first: u32) {
    let (thread, count) = (tid_x(), ways.count);
    if thread >= count {
        return;
    }
    let step = first + thread;
    let (rest, fine) = divided(step, sizes.group);
    let (rest, block) = divided(rest, sizes.blocks);
    let (rest, pol) = divided(rest, sizes.pols);
    let time = item.first_time + rest;
    let (mut words, mut loading) = ([0; 4], [0; 4]);
    if time < item.end_time {
        let block_number = time * sizes.blocks + block;
        let all_blocks = sizes.times * sizes.blocks;
        let good = given.good.is_empty() || {
            let flag = item.frequency as usize * all_blocks as usize + block_number as usize;
            given.good.load(flag) != 0
        };
        let of_voltages = (time - sizes.first) * sizes.blocks + block;
        let channel = (item.fine ^ sizes.centre) * sizes.group + fine;
        let [of_block, of_frequency, of_channel, of_pol, _] = sizes.strides;
        let at = u64::from(of_voltages) * of_block
            + u64::from(item.frequency) * of_frequency
            + u64::from(channel) * of_channel
            + u64::from(pol) * of_pol;
        let last = fine + 1 == sizes.group && block + 1 == sizes.blocks && (sizes.summed == 1 || pol + 1 == sizes.pols);
        let mut flags = pol << POL;
        flags |= if good { GOOD } else { 0 };
        flags |= if fine == 0 { BLOCK } else { 0 };
        flags |= if fine == 0 && block == 0 { FIRST } else { 0 };
        flags |= if last { LAST } else { 0 };
        words = [at as u32, (at >> 32) as u32, flags, time];
        let (group, of_group) = divided(thread, ways.together * sizes.steps_of_tile());
        let (place, tile) = divided(of_group, ways.together);
        loading = [
            flags,
            thread * ways.step_bytes + ((given.voltages.address(0) as u32).wrapping_add(at as u32) & 15),
            (group * ways.together + tile) * ways.tile_words + place * sizes.columns * SIDE,
            2 * pol * ways.quads,
        ];
    }
    lists().store((2 * (number * count + thread)) as usize, words);
    lists().store((2 * (number * count + thread) + 1) as usize, loading);
}

/// Step `step` of a list.
///
/// # Safety
/// The list has been written, with `count` steps.
#[inline(always)]
pub(crate) unsafe fn step(list: u32, count: u32, step: u32) -> Step {
    let [low, high, flags, time] = lists().load((2 * (list * count + step)) as usize);
    Step { at: u64::from(low) | u64::from(high) << 32, flags, time }
}

/// What those need who decode step `step` of a list.
///
/// # Safety
/// As [`step`].
#[inline(always)]
pub(crate) unsafe fn loading(list: u32, count: u32, step: u32) -> Loading {
    let [flags, raw, samples, gains] = lists().load((2 * (list * count + step) + 1) as usize);
    Loading { flags, raw, samples, gains }
}

/// All lists, at the beginning of shared memory.
#[inline(always)]
fn lists() -> Shared<[u32; 4]> {
    // SAFETY: shared memory begins at a multiple of 16 bytes.
    unsafe { Shared::<u32>::dynamic().cast() }
}
