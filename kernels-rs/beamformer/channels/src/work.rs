//! All results, one after the other.

use fringes_device::barrier::bar_sync_0;
use fringes_device::control::trap;
use fringes_device::copy_async::{cp_async_commit_group, cp_async_wait_all};
use fringes_device::index::{ctaid_x, nctaid_x, tid_x};
use fringes_device::{GlobalMut, Shared, opaque};

use crate::beams::{self, Beams, Powers};
use crate::copies::{self, Copies};
use crate::feeds::{Feeds, Turns, matrices};
use crate::{
    ChannelisedGiven, ChannelisedSizes, FEEDS, FINE, LINES, MATRICES, OUTS, PASSES, ROUNDS, SHARED_BYTES, TIMES,
    WEIGHT_WORDS,
};
use fringes_kernels_beamformer_frb::divided;

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
pub(crate) fn checked<T: Beams>(given: ChannelisedGiven, powers: GlobalMut<f32>, sizes: ChannelisedSizes) {
    let ChannelisedSizes { frequencies, times, beams, pols, summed, blocks, centre, strides, .. } = sizes;
    let of = |counts: &[u32]| counts.iter().fold(1u64, |product, &count| product.saturating_mul(count.into()));
    let last = |count: u64, stride: u64| count.saturating_sub(1).saturating_mul(stride);
    let [time, frequency, pol, line] = strides;
    let end = u64::from(FEEDS)
        .saturating_add(last(of(&[times, blocks, TIMES]), time))
        .saturating_add(last(frequencies.into(), frequency))
        .saturating_add(last(pols.into(), pol))
        .saturating_add(last(LINES.into(), line));
    // SAFETY: addresses, which are not used.
    let aligned = unsafe {
        given.voltages.address(0)
            | given.weights.address(0)
            | given.phases.address(0)
            | given.matrices.address(0)
            | strides.iter().fold(0, |all, stride| all | stride)
    };
    let (_, products) = (summed, divided(pols, summed).0);
    let fits = (1..=2).contains(&pols)
        && (summed == 1 || summed == pols)
        && blocks > 0
        && beams > 0
        && centre < FINE
        && aligned & 15 == 0
        && of(&[frequencies, times]) <= u32::MAX.into()
        && of(&[frequencies, FINE]) <= u32::MAX.into()
        && of(&[frequencies, beams]) <= u32::MAX.into()
        && end <= given.voltages.len() as u64
        && (given.good.is_empty() || of(&[frequencies, times, blocks]) <= given.good.len() as u64)
        && of(&[frequencies, pols, WEIGHT_WORDS]) <= given.weights.len() as u64
        && 32 * T::PHASE_REGISTERS <= given.phases.len()
        && PASSES as usize * MATRICES * 32 <= given.matrices.len()
        && of(&[frequencies, beams]) <= given.places.len() as u64
        && of(&[frequencies, FINE]) <= given.factors.len() as u64
        && of(&[frequencies, FINE, times, OUTS, beams, products]) <= powers.len() as u64
        && SHARED_BYTES as usize <= Shared::<u8>::dynamic().len();
    if fits {
        // SAFETY: the views hold what the sizes say.
        unsafe { work::<T>(given, powers, sizes) }
    } else {
        trap();
    }
}

/// Makes all results.
///
/// # Safety
/// The views hold what the sizes say.
#[inline(always)]
unsafe fn work<T: Beams>(given: ChannelisedGiven, out: GlobalMut<f32>, sizes: ChannelisedSizes) {
    // Numbers and addresses of a thread are made where they are used: sums of powers leave no registers to keep them.
    let thread = || opaque(tid_x() as i32) as u32;
    let [time_stride, frequency_stride, pol_stride, line_stride] = sizes.strides;
    let products = divided(sizes.pols, sizes.summed).0;
    let mut number = ctaid_x();
    while number < sizes.frequencies * sizes.times {
        let (time, frequency) = divided(number, sizes.frequencies);
        let of_result = u64::from(time * sizes.blocks * TIMES) * time_stride + u64::from(frequency) * frequency_stride;
        let mut product = 0;
        while product < products {
            let mut powers: Powers = [[0.0; 16]; 8];
            // Blocks of times of all polarisations that are summed, which are good.
            let total = sizes.summed * sizes.blocks;
            let flags = (frequency * sizes.times + time) as usize * sizes.blocks as usize;
            let next = |mut at: u32| {
                while at < total
                    && !given.good.is_empty()
                    && given.good.load(flags + divided(at, sizes.blocks).1 as usize) == 0
                {
                    at += 1;
                }
                at
            };
            let first_of = |at: u32| {
                let (pol, block) = divided(at, sizes.blocks);
                of_result
                    + u64::from(product * sizes.summed + pol) * pol_stride
                    + u64::from(block * TIMES) * time_stride
            };
            let mut at = next(0);
            let mut good = 0;
            let mut weights_of = u32::MAX;
            if at < total {
                Copies::new(thread(), time_stride, line_stride).start(given.voltages, first_of(at), 0);
                cp_async_commit_group();
            }
            while at < total {
                let first = first_of(at);
                let following = next(at + 1);
                let pol = divided(at, sizes.blocks).0;
                if pol != weights_of {
                    weights_of = pol;
                    let row = frequency * sizes.pols + product * sizes.summed + pol;
                    let start = row as usize * WEIGHT_WORDS as usize;
                    copies::start_weights(given.weights.part(start, WEIGHT_WORDS as usize));
                    cp_async_commit_group();
                }
                let mut pass = 0;
                while pass < PASSES {
                    let turns = Turns::new(pass, sizes.signs);
                    let thread_number = thread();
                    let matrices = matrices(given.matrices, pass, thread_number);
                    let feeds = Feeds::new(thread_number);
                    let copies = Copies::new(thread_number, time_stride, line_stride);
                    let mut round = 0;
                    while round < ROUNDS {
                        cp_async_wait_all();
                        bar_sync_0();
                        if round + 1 < ROUNDS {
                            copies.start(given.voltages, first, round + 1);
                        } else if pass + 1 < PASSES {
                            copies.start(given.voltages, first, 0);
                        } else if following < total {
                            copies.start(given.voltages, first_of(following), 0);
                        }
                        cp_async_commit_group();
                        feeds.round(round, &turns, &matrices);
                        round += 1;
                    }
                    bar_sync_0();
                    beams::detect::<T>(given.phases, &mut powers, thread());
                    pass += 1;
                }
                good += u32::from(pol == 0);
                at = following;
            }
            // Everyone has read the sums.
            bar_sync_0();
            let unit = Unit { time, frequency, thread: thread() };
            beams::store(given, out, sizes, unit, &powers, [product, products], good);
            product += 1;
        }
        number = match number.checked_add(nctaid_x()) {
            Some(next) => next,
            None => return,
        };
    }
}
