//! Twins of a warp's instructions against what each lane should get.

use crate::common;

use common::{LANES, Random, block, warp};
use fringes_device::warp::*;
use fringes_emulator::FaultKind;

/// The whole warp.
const ALL: u32 = u32::MAX;

#[test]
fn shuffles_stay_in_their_segments() {
    for width in [1, 2, 4, 8, 16, 32u32] {
        let c = (32 - width) << 8;
        for b in 0..40 {
            // SAFETY: all lanes execute it together.
            let results = warp(0, |lane| unsafe {
                let a = 100 + lane as u32;
                [
                    shfl_sync_up_b32_pred(a, b, c, ALL),
                    shfl_sync_down_b32_pred(a, b, c | 31, ALL),
                    shfl_sync_bfly_b32_pred(a, b, c | 31, ALL),
                    shfl_sync_idx_b32_pred(a, b, c | 31, ALL),
                ]
            });
            for (lane, result) in results.into_iter().enumerate() {
                let lane = lane as u32;
                let (first, last, step) = (lane / width * width, lane / width * width + width - 1, b % 32);
                let pick = |source: u32, valid: bool| if valid { (100 + source, true) } else { (100 + lane, false) };
                let up = pick(lane.wrapping_sub(step), lane >= first + step);
                let down = pick(lane + step, lane + step <= last);
                let bfly = pick(lane ^ step, (lane ^ step) <= last);
                let idx = pick(first + step % width, true);
                assert_eq!(result, [up, down, bfly, idx], "lane {lane}, width {width}, b {b}");
            }
        }
    }
}

#[test]
fn shuffles_end_at_the_clamp() {
    // SAFETY: all lanes execute it together.
    let results = warp(0, |lane| unsafe {
        let a = lane as u32;
        [
            shfl_sync_down_b32_pred(a, 4, 20, ALL),
            shfl_sync_up_b32_pred(a, 4, 10, ALL),
            shfl_sync_idx_b32_pred(a, 21, 20, ALL),
            shfl_sync_idx_b32_pred(a, 20, 20, ALL),
        ]
    });
    for (lane, result) in (0..).zip(results) {
        let down = if lane + 4 <= 20 { (lane + 4, true) } else { (lane, false) };
        let up = if lane >= 14 { (lane - 4, true) } else { (lane, false) };
        assert_eq!(result, [down, up, (lane, false), (20, true)], "lane {lane}");
    }
}

#[test]
fn the_forms_without_predicate_give_the_same() {
    let mut random = Random(7);
    let operands: Vec<[u32; 3]> = (0..LANES).map(|_| [random.word(), random.word(), random.word()]).collect();
    // SAFETY: all lanes execute it together.
    warp(0, |lane| unsafe {
        let [a, b, c] = operands[lane];
        assert_eq!(shfl_sync_up_b32(a, b, c, ALL), shfl_sync_up_b32_pred(a, b, c, ALL).0);
        assert_eq!(shfl_sync_down_b32(a, b, c, ALL), shfl_sync_down_b32_pred(a, b, c, ALL).0);
        assert_eq!(shfl_sync_bfly_b32(a, b, c, ALL), shfl_sync_bfly_b32_pred(a, b, c, ALL).0);
        assert_eq!(shfl_sync_idx_b32(a, b, c, ALL), shfl_sync_idx_b32_pred(a, b, c, ALL).0);
    });
}

#[test]
fn a_shuffle_from_outside_of_its_mask_is_a_fault() {
    // SAFETY: the emulator reports what is wrong.
    let (_, report) = block(LANES, 0, |lane| unsafe { if lane < 8 { shfl_sync_idx_b32(1, 9, 31, 0xff) } else { 0 } });
    assert!(report.found(FaultKind::Operand), "{:?}", report.faults);
}

#[test]
fn votes_count_the_lanes_of_their_masks() {
    let mut random = Random(8);
    for round in 0..40 {
        let predicates = match round {
            0 => 0,
            1 => ALL,
            _ => random.word(),
        };
        let mask = random.word() | 1 << random.below(32);
        // SAFETY: the lanes of each mask execute it together.
        let results = warp(0, |lane| unsafe {
            let (p, mine) = (predicates >> lane & 1 == 1, if mask >> lane & 1 == 1 { mask } else { !mask });
            (
                vote_sync_ballot_b32(p, mine),
                vote_sync_all_pred(p, mine),
                vote_sync_any_pred(p, mine),
                vote_sync_uni_pred(p, mine),
            )
        });
        for (lane, result) in results.into_iter().enumerate() {
            let mask = if mask >> lane & 1 == 1 { mask } else { !mask };
            let (yes, no) = (predicates & mask, !predicates & mask);
            assert_eq!(result, (yes, no == 0, yes != 0, yes == 0 || no == 0), "{predicates:#x} {mask:#x}");
        }
    }
}

#[test]
fn matches_find_equal_values() {
    let mut random = Random(9);
    for most in [1, 2, 5, 40] {
        let values: Vec<u32> = (0..LANES).map(|_| random.below(most)).collect();
        // SAFETY: the lanes of each mask execute it together.
        let results = warp(0, |lane| unsafe {
            let (a, mask) = (values[lane], if lane < 20 { 0xf_ffff } else { !0xf_ffff });
            let wide = u64::from(a) << 32;
            (
                match_any_sync_b32(a, mask),
                match_any_sync_b64(wide, mask),
                match_all_sync_b32(a, mask),
                match_all_sync_b64(wide, mask),
            )
        });
        for (lane, result) in results.into_iter().enumerate() {
            let lanes = if lane < 20 { 0..20 } else { 20..32 };
            let mask = lanes.clone().fold(0, |mask, lane| mask | 1u32 << lane);
            let same = lanes.filter(|&other| values[other] == values[lane]).fold(0, |mask, other| mask | 1u32 << other);
            let all = if same == mask { (mask, true) } else { (0, false) };
            assert_eq!(result, (same, same, all, all), "lane {lane}");
        }
    }
}

#[test]
fn reductions_cover_the_lanes_of_their_masks() {
    let mut random = Random(10);
    for _ in 0..20 {
        let values: Vec<u32> = (0..LANES).map(|_| random.word()).collect();
        let mask = random.word() | 1 << random.below(32);
        // SAFETY: the lanes of each mask execute it together.
        let results = warp(0, |lane| unsafe {
            let (a, mask) = (values[lane], if mask >> lane & 1 == 1 { mask } else { !mask });
            [
                redux_sync_add_u32(a, mask),
                redux_sync_add_s32(a as i32, mask) as u32,
                redux_sync_min_u32(a, mask),
                redux_sync_max_u32(a, mask),
                redux_sync_min_s32(a as i32, mask) as u32,
                redux_sync_max_s32(a as i32, mask) as u32,
                redux_sync_and_b32(a, mask),
                redux_sync_or_b32(a, mask),
                redux_sync_xor_b32(a, mask),
            ]
        });
        for (lane, result) in results.into_iter().enumerate() {
            let mask = if mask >> lane & 1 == 1 { mask } else { !mask };
            let mut members: Vec<u32> =
                (0..LANES).filter(|&other| mask >> other & 1 == 1).map(|other| values[other]).collect();
            let sum = members.iter().map(|&x| u64::from(x)).sum::<u64>() as u32;
            let bits = |op: fn(u32, u32) -> u32, start| members.iter().fold(start, |x, &y| op(x, y));
            let (and, or, xor) = (bits(|x, y| x & y, ALL), bits(|x, y| x | y, 0), bits(|x, y| x ^ y, 0));
            members.sort_unstable();
            let (least, greatest) = (members[0], members[members.len() - 1]);
            members.sort_unstable_by_key(|&x| x as i32);
            let signed = (members[0], members[members.len() - 1]);
            assert_eq!(result, [sum, sum, least, greatest, signed.0, signed.1, and, or, xor]);
        }
    }
}

#[test]
fn one_member_is_elected() {
    let mask = 0xf00f_0f00u32;
    // SAFETY: the lanes of the mask execute it together.
    let results = warp(0, |lane| unsafe { (mask >> lane & 1 == 1).then(|| elect_sync(mask)) });
    let leaders: Vec<u32> = results.iter().flatten().map(|(leader, _)| *leader).collect();
    assert!(leaders.iter().all(|leader| *leader == leaders[0] && mask >> leader & 1 == 1));
    for (lane, result) in results.iter().enumerate().filter_map(|(lane, result)| Some((lane, (*result)?))) {
        assert_eq!(result.1, lane as u32 == leaders[0]);
    }
}
