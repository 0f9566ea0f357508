//! Sums of powers over neighbouring fine channels, in shared memory.
//!
//! A warp has the powers of a beam as [`upchannelise`](crate::upchannelise) leaves them: of fine channel
//! `f = l + 16 h`, `l0` and `l3` are numbers of registers, `l1 l2 h0 h1 h2` the lane. Each beam belongs to one warp,
//! which adds to its row of sums with no barrier.

use fringes_device::Shared;
use fringes_device::index::laneid;
use fringes_device::warp::shfl_sync_bfly_b32;

/// All lanes.
const ALL: u32 = u32::MAX;

/// The value of another lane.
///
/// # Safety
/// All 32 lanes of the warp execute it together.
#[inline(always)]
unsafe fn other(value: f32, distance: u32) -> f32 {
    f32::from_bits(shfl_sync_bfly_b32(value.to_bits(), distance, 31, ALL))
}

/// Adds powers of groups of eight fine channels of two beams to their sums, or sets the sums if `first`. Given are the
/// sums over `l0` of each beam, `[l3]`.
///
/// Of the four sums of a lane and its neighbours each lane keeps one: lane bit 0 chooses the beam, bit 1 `l3`.
///
/// # Safety
/// All 32 lanes of the warp execute it together; the sums, 16 words from `rows[beam]` on of a beam that is `there`, are
/// of this warp.
#[inline(always)]
pub unsafe fn add_eights([a, b]: [[f32; 2]; 2], rows: [u32; 2], there: [bool; 2], first: bool) {
    let lane = laneid();
    let (second, upper) = (lane & 1 != 0, lane & 2 != 0);
    let choose = |which: bool, no: f32, yes: f32| if which { yes } else { no };
    let low = choose(second, a[0], b[0]) + other(choose(second, b[0], a[0]), 1);
    let high = choose(second, a[1], b[1]) + other(choose(second, b[1], a[1]), 1);
    let sum = choose(upper, low, high) + other(choose(upper, high, low), 2);
    let fine = (lane >> 2) << 1 | (lane >> 1 & 1);
    if if second { there[1] } else { there[0] } {
        let at = (if second { rows[1] } else { rows[0] }) + fine;
        let sums = Shared::<f32>::dynamic();
        let before = if first { 0.0 } else { sums.load(at as usize) };
        sums.store(at as usize, before + sum);
    }
}

/// Adds powers of groups of `2^group_bits` fine channels of a beam to its sums, or sets the sums if `first`.
///
/// # Safety
/// All 32 lanes of the warp execute it together; the sums, from word `row` on, are of this warp.
#[inline(always)]
pub unsafe fn add(powers: [[f32; 2]; 2], row: u32, group_bits: u32, first: bool) {
    let lane = laneid();
    let [[mut p00, p01], [mut p10, p11]] = powers;
    if group_bits >= 1 {
        (p00, p10) = (p00 + p01, p10 + p11);
    }
    if group_bits >= 2 {
        (p00, p10) = (p00 + other(p00, 1), p10 + other(p10, 1));
    }
    if group_bits >= 3 {
        (p00, p10) = (p00 + other(p00, 2), p10 + other(p10, 2));
    }
    if group_bits >= 4 {
        p00 += p10;
    }
    if group_bits >= 5 {
        p00 += other(p00, 4);
    }
    if group_bits >= 6 {
        p00 += other(p00, 8);
    }
    if group_bits >= 7 {
        p00 += other(p00, 16);
    }
    // Lanes that have the same sum: the first of them adds it.
    let same = match group_bits {
        0 | 1 => 0,
        2 => 1,
        3 | 4 => 3,
        bits => (1 << (bits - 2)) - 1,
    };
    if lane & same != 0 {
        return;
    }
    let channel = (lane & 3) << 1 | (lane >> 2) << 4;
    let sums = Shared::<f32>::dynamic();
    let put = |fine: u32, power: f32| {
        let at = (row + (fine >> group_bits)) as usize;
        let before = if first { 0.0 } else { sums.load(at) };
        sums.store(at, before + power);
    };
    put(channel, p00);
    if group_bits < 1 {
        put(channel | 1, p01);
        put(channel | 9, p11);
    }
    if group_bits < 4 {
        put(channel | 8, p10);
    }
}
