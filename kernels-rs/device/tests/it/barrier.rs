//! Barriers and indices in the emulator.

use crate::common;

use common::block;
use fringes_device::barrier::*;
use fringes_device::{Shared, index};
use fringes_emulator::FaultKind;

#[test]
fn named_barriers_order_the_warps_that_meet() {
    // SAFETY: the warps meet as the barriers say.
    let (results, report) = block(128, 512, |thread| unsafe {
        let shared = Shared::<u32>::dynamic();
        shared.store(thread, 7 * thread as u32);
        if thread < 64 {
            bar_sync::<1>(64)
        } else {
            bar_sync::<2>(64)
        }
        shared.load(thread ^ 32)
    });
    report.assert_clean();
    for (thread, result) in results.into_iter().enumerate() {
        assert_eq!(result, Some(7 * (thread as u32 ^ 32)));
    }
}

#[test]
fn arriving_does_not_wait_and_does_not_order_later_reads() {
    let run = |reads_early: bool| {
        // SAFETY: the emulator reports what is wrong.
        block(64, 256, move |thread| unsafe {
            let shared = Shared::<u32>::dynamic();
            shared.store(thread, thread as u32);
            if thread < 32 {
                bar_arrive::<3>(64);
                if reads_early { shared.load(thread + 32) } else { 0 }
            } else {
                bar_sync::<3>(64);
                shared.load(thread - 32)
            }
        })
    };
    let (results, report) = run(false);
    report.assert_clean();
    assert_eq!(results[40], Some(8));
    let (_, report) = run(true);
    assert!(report.found(FaultKind::Race) || report.found(FaultKind::Uninitialised), "{:?}", report.faults);
}

#[test]
fn reductions_tell_how_many_whether_all_and_whether_some() {
    for trues in [0, 1, 40, 63, 64] {
        // SAFETY: all threads execute it.
        let (results, report) = block(128, 0, |thread| unsafe {
            let block = thread < 2 * trues;
            let of_block = (bar_red_popc_u32_0(block), bar_red_and_pred_0(block), bar_red_or_pred_0(block));
            let pair = thread % 64 < trues;
            let of_pair = if thread < 64 {
                (bar_red_popc_u32::<1>(64, pair), bar_red_and_pred::<1>(64, pair), bar_red_or_pred::<1>(64, pair))
            } else {
                (bar_red_popc_u32::<2>(64, pair), bar_red_and_pred::<2>(64, pair), bar_red_or_pred::<2>(64, pair))
            };
            (of_block, of_pair)
        });
        report.assert_clean();
        let want = |count: usize| (count as u32, trues == 64, trues > 0);
        for result in results {
            assert_eq!(result, Some((want(2 * trues), want(trues))));
        }
    }
}

#[test]
fn a_cluster_of_one_block_meets_at_its_barrier() {
    // SAFETY: all threads execute it.
    let (results, report) = block(64, 256, |thread| unsafe {
        let shared = Shared::<u32>::dynamic();
        shared.store(thread, thread as u32);
        barrier_cluster_arrive_release_aligned();
        barrier_cluster_wait_acquire_aligned();
        shared.load(63 - thread)
    });
    report.assert_clean();
    assert_eq!(results[5], Some(58));
}

#[test]
fn masks_of_lanes_are_what_their_names_say() {
    let (results, report) = block(96, 0, |thread| {
        let lane = thread as u32 % 32;
        assert_eq!(index::laneid(), lane);
        for other in 0..32 {
            let bits = [
                index::lanemask_eq(),
                index::lanemask_lt(),
                index::lanemask_le(),
                index::lanemask_gt(),
                index::lanemask_ge(),
            ]
            .map(|mask| mask >> other & 1 == 1);
            assert_eq!(bits, [other == lane, other < lane, other <= lane, other > lane, other >= lane]);
        }
        (index::linear_tid(), index::warp_index(), index::warp_count())
    });
    report.assert_clean();
    assert_eq!(results[70], Some((70, 2, 3)));
}
