//! A block's work: a job.

use fringes_device::barrier::{bar_sync, bar_sync_0};
use fringes_device::control::trap;
use fringes_device::index::{ctaid_x, tid_x};
use fringes_device::warp::{bar_warp_sync, redux_sync_add_u32};
use fringes_device::{Global, GlobalMut, Shared, Value, opaque};

use crate::butterfly::Radix;
use crate::fir::Filter;
use crate::job::{JOB_WORDS, Job, Launch};
use crate::phase::{self, ENTRY};
use crate::post::{Channels, PIECES, Post};
use crate::quantise::Output;
use crate::{transform, write};

/// Threads of a block.
pub const THREADS: u32 = 384;

/// Bytes of shared memory for `spectra` spectra of `channels` channels.
pub const fn shared_bytes(channels: u32, spectra: u32) -> u32 {
    spectra * (channels * 8 + ENTRY * 16)
}

/// Everything that a kernel gets.
#[derive(Clone, Copy)]
pub struct Arguments<T> {
    /// Samples, weights, bias.
    pub filter: Filter,
    /// Twiddles of the middle and of the last pass.
    pub twiddles: (Global<[f32; 4]>, Global<[f32; 4]>),
    /// Roots and gains, `[input][m][piece][thread]` ([`crate::post`]).
    pub tables: Global<[f32; 4]>,
    /// Jobs.
    pub jobs: Global<[u32; 4]>,
    /// Number of jobs.
    pub count: u32,
    /// What they share.
    pub launch: Launch,
    /// Output.
    pub out: GlobalMut<T>,
    /// Counts of saturated values.
    pub saturated: GlobalMut<u32>,
}

/// Waits for the threads of a spectrum, `threads` of them, which are group `group` of the block.
#[inline(always)]
unsafe fn meet(threads: u32, group: u32) {
    if threads <= 32 {
        bar_warp_sync(u32::MAX);
    } else {
        match group {
            0 => bar_sync::<1>(threads),
            1 => bar_sync::<2>(threads),
            2 => bar_sync::<3>(threads),
            3 => bar_sync::<4>(threads),
            4 => bar_sync::<5>(threads),
            _ => bar_sync::<6>(threads),
        }
    }
}

/// Whether a launch and a block's job keep to the views.
#[inline(always)]
fn fits<const BITS: u32, const STEP: u32, const TAPS: usize, const S: usize, T: Value>(
    arguments: &Arguments<T>,
    job: &Job,
) -> bool {
    let Arguments { filter, twiddles, tables, launch, out, saturated, .. } = arguments;
    let channels = STEP / 2;
    let columns = (STEP / 4) as usize;
    let words = (job.first_bit / 32)
        .wrapping_add((BITS * (STEP / 32)) as u64 * (job.spectra as u64).wrapping_add(TAPS as u64 - 1))
        .wrapping_add(1);
    launch.slots % S as u32 == 0
        && launch.slots <= THREADS
        && Shared::<u8>::dynamic().len() >= shared_bytes(channels, launch.slots) as usize
        && job.spectra <= launch.slots
        && job.first_bit < 1 << 60
        && words < filter.samples.len() as u64
        && filter.weights.len() >= TAPS * columns
        && filter.bias.len() >= columns
        && twiddles.0.len() >= (channels / 64) as usize
        && twiddles.1.len() >= (channels / 4) as usize
        && job.input < 1 << 20
        && tables.len() as u64 >= (job.input as u64 + 1) * (8 * PIECES * (channels / 32)) as u64
        && (job.count as usize) < saturated.len()
        && launch.holds(job, out.len())
}

/// Runs this block's job.
///
/// Traps if the views do not hold what the job asks for.
///
/// # Safety
/// A block of [`THREADS`] threads, all of which call it.
#[inline(always)]
pub unsafe fn run<const BITS: u32, const STEP: u32, const TAPS: usize, const S: usize, R: Radix, O: Output>(
    arguments: Arguments<O::Stored>,
) {
    let Arguments { filter, twiddles, tables, jobs, count, launch, out, saturated } = arguments;
    if ctaid_x() >= count {
        return;
    }
    if (ctaid_x() as usize + 1) * JOB_WORDS > jobs.len()
        || !fits::<BITS, STEP, TAPS, S, _>(&arguments, &Job::load(jobs, ctaid_x() as usize))
    {
        trap();
        return;
    }
    let channels = STEP / 2;
    let rows = channels / 16;
    // Threads of a spectrum.
    let team = channels / 32;
    let teams = THREADS / team;
    let (thread, group) = (tid_x(), tid_x() / team);
    // Computed anew in every pass: LLVM would keep what depends on it in registers.
    let member = || opaque((thread % team) as i32) as u32;
    let shared = Shared::<[f32; 4]>::dynamic();
    let slot = channels / 2;
    let slots = shared.part(0, (launch.slots * slot) as usize);
    let entries = shared.part((launch.slots * slot) as usize, (launch.slots * ENTRY) as usize).cast::<[u32; 4]>();
    // Values of a spectrum lie in its slot, turned by some banks from spectrum to spectrum.
    let values = |s: u32| {
        let turn = if O::Stored::BYTES < 8 { s % 8 } else { 0 };
        slots.part((s * slot + turn) as usize, (slot - turn) as usize).cast::<O::Stored>()
    };
    let index = ctaid_x();
    let job = Job::load(jobs, index as usize);
    let here = opaque(thread as i32) as u32;
    phase::prepare(entries, &job, &launch, rows, here, THREADS);
    filter.run::<BITS, STEP, TAPS, S>(job.first_bit, job.spectra, slots, here, THREADS);
    bar_sync_0();
    let mut beyond = 0;
    // Teams of one warp run together.
    let mut first = if team < 32 { group - group % (32 / team) } else { group };
    while first < job.spectra {
        let s = if team < 32 { first + group % (32 / team) } else { first };
        let here = team >= 32 || s < job.spectra;
        let points = slots.part((if here { s } else { 0 } * slot) as usize, slot as usize);
        if here {
            transform::first::<R>(points, member());
        }
        if R::POINTS > 1 {
            meet(team, group);
        }
        if here {
            transform::middle(points, twiddles.0, member());
        }
        meet(team, group);
        let pair = transform::rows::<R>(member());
        let (mut a, mut b) = ([[0.0; 2]; 16], [[0.0; 2]; 16]);
        if here {
            a = transform::row(points, pair.0);
            b = transform::row(points, pair.1);
        }
        meet(team, group);
        if here {
            let a = transform::last(a, twiddles.1, pair.0, rows);
            let b = transform::last(b, twiddles.1, pair.1, rows);
            let member = member();
            let input = Job::input(jobs, opaque(index as i32) as usize);
            let tables = tables.part((input * 8 * PIECES * team) as usize, (8 * PIECES * team) as usize);
            let channels = Channels::new::<R>(member);
            let post = Post { team, member, channels, tables, entries };
            beyond += if O::INTEGER && launch.dither {
                post.run::<O, true>(s, a, b, values(s))
            } else {
                post.run::<O, false>(s, a, b, values(s))
            };
        }
        first += teams;
    }
    bar_sync_0();
    let here = opaque(thread as i32) as u32;
    // Loaded anew, so that it takes no registers meanwhile.
    let job = Job::load(jobs, opaque(index as i32) as usize);
    write::run::<R, _>(out, values, &job, &launch, here, THREADS);
    if O::INTEGER {
        let beyond = redux_sync_add_u32(beyond, u32::MAX);
        if beyond > 0 && thread % 32 == 0 {
            saturated.atomic_add(job.count as usize, beyond);
        }
    }
}
