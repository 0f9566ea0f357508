//! All results, one after the other.

use fringes_device::barrier::bar_sync_0;
use fringes_device::control::trap;
use fringes_device::fence::fence_proxy_async_shared_cta;
use fringes_device::index::{ctaid_x, nctaid_x, nctaid_y, tid_x};
use fringes_device::{GlobalMut, Shared, opaque};
use fringes_kernels_beamformer_frb::divided;

use crate::beams::{self, Place, Powers};
use crate::copies::{self, Start};
use crate::feeds::{Feeds, Matrices, Turned, Turns, matrices};
use crate::transform::PHASES;
use crate::{
    ChannelisedGiven, ChannelisedSizes, FEEDS, FINE, MATRICES, OUTS, PASSES, ROUNDS, SHARED_BYTES, WEIGHT_WORDS,
};

/// A unit of work, and who does it.
#[derive(Clone, Copy)]
pub(crate) struct Unit {
    /// Result over time.
    pub(crate) time: u32,
    /// Frequency.
    pub(crate) frequency: u32,
    /// The thread.
    pub(crate) thread: u32,
}

/// Makes all results, after checking that the views are large enough.
#[inline(always)]
pub(crate) fn checked(given: ChannelisedGiven, powers: GlobalMut<f32>, sizes: ChannelisedSizes) {
    let ChannelisedSizes { frequencies, times, beams, pols, summed, blocks, order, strides, .. } = sizes;
    let of = |counts: &[u32]| counts.iter().fold(1u64, |product, &count| product.saturating_mul(count.into()));
    let last = |count: u32, stride: u32| u64::from(count.saturating_sub(1)) * u64::from(stride);
    // SAFETY: addresses, which are not used.
    let aligned = unsafe {
        given.weights.address(0)
            | given.phases.address(0)
            | given.matrices.address(0)
            | u64::from(strides[0] | strides[1])
    };
    let products = divided(pols, summed).0;
    let fits = nctaid_y() == 1
        && (1..=2).contains(&pols)
        && (summed == 1 || summed == pols)
        && blocks > 0
        && beams > 0
        && order < FINE
        && aligned & 15 == 0
        && of(&[frequencies, times]) <= u32::MAX.into()
        && of(&[frequencies, FINE]) <= u32::MAX.into()
        && of(&[frequencies, beams]) <= u32::MAX.into()
        && last(frequencies, strides[0]) + last(pols, strides[1]) + u64::from(FEEDS) < 1 << 31
        && of(&[times, blocks, crate::TIMES]) < 1 << 31
        && (given.good.is_empty() || of(&[frequencies, times, blocks]) <= given.good.len() as u64)
        && of(&[frequencies, pols, WEIGHT_WORDS]) <= given.weights.len() as u64
        && 32 * PHASES <= given.phases.len()
        && PASSES as usize * 2 * MATRICES * 32 <= given.matrices.len()
        && of(&[frequencies, beams]) <= given.places.len() as u64
        && of(&[frequencies, FINE]) <= given.factors.len() as u64
        && of(&[frequencies, FINE, times, OUTS, beams, products]) <= powers.len() as u64
        && SHARED_BYTES as usize <= Shared::<u8>::dynamic().len();
    if fits {
        // SAFETY: the views hold what the sizes say.
        unsafe { work(given, powers, sizes) }
    } else {
        trap();
    }
}

/// Blocks of times, of one polarisation or more, whose powers are summed before they are added in memory: sums of f16
/// round more often the more there are, and overflow from the eighth on.
const HELD_BLOCKS: u32 = 6;

/// Blocks of times of the polarisations that a result sums.
#[derive(Clone, Copy)]
struct Blocks {
    sizes: ChannelisedSizes,
    time: u32,
    frequency: u32,
    /// The first polarisation.
    pol: u32,
}

impl Blocks {
    /// How many there are.
    #[inline(always)]
    fn count(&self) -> u32 {
        self.sizes.summed * self.sizes.blocks
    }

    /// The first good one from this one on, or [`count`](Self::count).
    ///
    /// # Safety
    /// The views hold what the sizes say.
    #[inline(always)]
    unsafe fn good_from(&self, given: ChannelisedGiven, mut at: u32) -> u32 {
        let flags = (self.frequency * self.sizes.times + self.time) as usize * self.sizes.blocks as usize;
        while at < self.count()
            && !given.good.is_empty()
            && given.good.load(flags + divided(at, self.sizes.blocks).1 as usize) == 0
        {
            at += 1;
        }
        at
    }

    /// The polarisation of one, of those that are summed.
    #[inline(always)]
    fn pol_of(&self, at: u32) -> u32 {
        divided(at, self.sizes.blocks).0
    }

    /// Where one begins.
    #[inline(always)]
    fn start(&self, at: u32) -> Start {
        let (pol, block) = divided(at, self.sizes.blocks);
        let [of_frequency, of_pol] = self.sizes.strides;
        Start {
            byte: self.frequency * of_frequency + (self.pol + pol) * of_pol,
            block: self.time * self.sizes.blocks + block,
        }
    }
}

/// What the rounds of a pass are followed by: the block of times of this pass, and the next good one.
#[derive(Clone, Copy)]
struct Ahead {
    now: Start,
    next: Option<Start>,
    pass: u32,
}

impl Ahead {
    /// Fills the place of a round, if there is one.
    ///
    /// # Safety
    /// As [`copies::fill`].
    #[inline(always)]
    unsafe fn fill(&self, given: ChannelisedGiven, round: u32) {
        if round < ROUNDS || self.pass + 1 < PASSES {
            copies::fill(given.voltages, round, self.now);
        } else if let Some(next) = self.next {
            copies::fill(given.voltages, round, next);
        }
    }
}

/// Makes the sums over lines of a pass, and `z` of the first round of the next pass, if there is one.
///
/// # Order
/// The four rounds follow each other without a loop: a loop of one round, with a branch for odd passes or a copy of the
/// code for each, takes 2 to 7 % longer.
///
/// # Safety
/// As [`work`]; `z` is that of the first round, and the pass is `ODD` as it says.
#[inline(always)]
unsafe fn sum<const ODD: bool, const NEXT_ODD: bool>(
    given: ChannelisedGiven,
    signs: u32,
    z: &mut Turned,
    thread: u32,
    ahead: Ahead,
    matrices: &Matrices,
) {
    let feeds = Feeds::new(thread);
    let turns = Turns::new(ahead.pass, signs);
    macro_rules! rounds {
        ($($round:literal)*) => { $(
            if thread == 0 {
                ahead.fill(given, $round + 2);
            }
            copies::wait_for($round + 1);
            let next = feeds.sum_and_turn::<ODD>(z, $round, turns.minus, &turns, matrices);
            *z = next.z;
            copies::give_back($round + 1, next.lane);
        )* };
    }
    rounds!(0 1 2);
    if thread == 0 {
        ahead.fill(given, ROUNDS + 1);
    }
    let more = ahead.pass + 1 < PASSES || ahead.next.is_some();
    if more {
        copies::wait_for(ROUNDS);
    }
    let of_next = Turns::new((ahead.pass + 1) % PASSES, signs);
    // After the last pass `z` is made of what is there, and not used.
    let next = feeds.sum_and_turn::<NEXT_ODD>(z, ROUNDS - 1, turns.minus, &of_next, matrices);
    *z = next.z;
    if more {
        copies::give_back(ROUNDS, next.lane);
    }
}

/// Makes all results.
///
/// # Safety
/// The views hold what the sizes say.
#[inline(always)]
unsafe fn work(given: ChannelisedGiven, out: GlobalMut<f32>, sizes: ChannelisedSizes) {
    // Numbers and addresses of a thread are made where they are used, as beams leave no registers to keep them.
    let thread = || opaque(tid_x() as i32) as u32;
    if thread() == 0 {
        copies::init();
    }
    bar_sync_0();
    let phases = beams::phases(given.phases, tid_x() % 32);
    let products = divided(sizes.pols, sizes.summed).0;
    // Weights until now.
    let mut weights = 0;
    let mut number = ctaid_x();
    while number < sizes.frequencies * sizes.times {
        let (time, frequency) = divided(number, sizes.frequencies);
        let mut product = 0;
        while product < products {
            let blocks = Blocks { sizes, time, frequency, pol: product * sizes.summed };
            let mut at = blocks.good_from(given, 0);
            let mut weights_of = u32::MAX;
            let fill_weights = |pol: u32| {
                let row = frequency * sizes.pols + blocks.pol + pol;
                copies::fill_weights(given.weights.part(row as usize * WEIGHT_WORDS as usize, WEIGHT_WORDS as usize));
            };
            if at < blocks.count() && thread() == 0 {
                copies::fill(given.voltages, 0, blocks.start(at));
                copies::fill(given.voltages, 1, blocks.start(at));
                fill_weights(blocks.pol_of(at));
            }
            let mut z: Turned = [[0; 2]; 8];
            if at < blocks.count() {
                let (feeds, turns) = (Feeds::new(thread()), Turns::new(0, sizes.signs));
                copies::wait_for(0);
                z = feeds.turned::<false>(0, &turns);
                // Nothing is made of them yet.
                fence_proxy_async_shared_cta();
                copies::give_back(0, thread() % 32);
            }
            let mut good = 0;
            let mut block = blocks.good_from(given, 0);
            while block < sizes.blocks {
                good += 1;
                block = blocks.good_from(given, block + 1);
            }
            let mut stored = false;
            loop {
                let mut powers: Powers = [[0; 8]; 8];
                let mut held = 0;
                while at < blocks.count() && held < HELD_BLOCKS {
                    let following = blocks.good_from(given, at + 1);
                    let next = if following < blocks.count() { Some(blocks.start(following)) } else { None };
                    if blocks.pol_of(at) != weights_of {
                        weights_of = blocks.pol_of(at);
                        copies::wait_for_weights(weights);
                        weights += 1;
                    }
                    let mut pass = 0;
                    while pass < PASSES {
                        let number = thread();
                        let ahead = Ahead { now: blocks.start(at), next, pass };
                        let matrices = matrices(given.matrices, pass, number);
                        // All have made their beams of the sums before.
                        bar_sync_0();
                        if pass % 2 == 1 {
                            sum::<true, false>(given, sizes.signs, &mut z, number, ahead, &matrices);
                        } else {
                            sum::<false, true>(given, sizes.signs, &mut z, number, ahead, &matrices);
                        }
                        bar_sync_0();
                        // All have used the weights.
                        let of_other = following < blocks.count() && blocks.pol_of(following) != weights_of;
                        if pass + 1 == PASSES && of_other && thread() == 0 {
                            fill_weights(blocks.pol_of(following));
                        }
                        beams::detect(&phases, &mut powers, thread());
                        pass += 1;
                    }
                    at = following;
                    held += 1;
                }
                // All have made their beams.
                bar_sync_0();
                let unit = Unit { time, frequency, thread: thread() };
                let place = Place { product: [product, products], good, stored };
                beams::store(given, out, sizes, unit, &powers, place);
                stored = true;
                if at >= blocks.count() {
                    break;
                }
            }
            product += 1;
        }
        number = match number.checked_add(nctaid_x()) {
            Some(next) => next,
            None => return,
        };
    }
}
