//! Barriers and mbarriers: what holds, what hangs, what breaks their rules.

use crate::common;

use common::{get, only, run, run_shared, set};
use fringes_emulator::block::{
    Arrival, barrier, mbarrier_arrive, mbarrier_init, mbarrier_inval, mbarrier_pending_count, mbarrier_test_wait,
    mbarrier_test_wait_parity,
};
use fringes_emulator::memory::{Space, atomic, fence};
use fringes_emulator::thread::{lane, linear_index, warp};
use fringes_emulator::{FaultKind, GlobalMemory, Launch, Report};

#[track_caller]
fn sync_threads() {
    barrier("bar_sync", 0, None, Arrival::Sync);
}

fn on(threads: u32, kernel: impl Fn()) -> Report {
    run(threads, &mut GlobalMemory::new(), kernel)
}

#[test]
fn a_barrier_that_some_returned_before_is_a_fault_and_lets_the_others_go_on() {
    let kernel = |returns: bool| {
        move || {
            if returns && linear_index() == 33 {
                return;
            }
            set(linear_index(), 1);
            sync_threads();
            get(linear_index() ^ 2);
        }
    };
    let line = line!() - 4;
    run_shared(64, 256, kernel(false)).assert_clean();
    let report = run_shared(64, 256, kernel(true));
    let fault = report.faults.iter().find(|fault| fault.kind == FaultKind::Barrier).expect("a fault of the barrier");
    assert_eq!((fault.thread, fault.line), ([0, 0, 0], line));
    assert!(fault.message.contains("1 threads returned before it: thread [33, 0, 0]"), "{fault}");
}

#[test]
fn a_barrier_with_too_few_participants_waits_for_ever() {
    let kernel = |threads: u32| {
        move || {
            if warp() > 0 {
                barrier("bar_sync", 4, Some(threads), Arrival::Sync);
            }
        }
    };
    let line = line!() - 4;
    on(96, kernel(64)).assert_clean();
    let report = on(96, kernel(96));
    let fault = only(&report, FaultKind::Barrier, 32, line);
    assert!(
        fault.message.contains("barrier 4 of 96 threads: 64 came; thread [0, 0, 0] returned from the kernel"),
        "{fault}"
    );
}

#[test]
fn warps_at_different_barriers_wait_for_ever() {
    let report = on(64, || {
        if warp() == 0 {
            sync_threads();
        } else {
            barrier("bar_sync", 1, None, Arrival::Sync);
        }
    });
    let line = line!() - 5;
    let places: Vec<_> = report.faults.iter().map(|fault| (fault.kind, fault.thread[0], fault.line)).collect();
    assert_eq!(places, [(FaultKind::Barrier, 0, line), (FaultKind::Barrier, 32, line + 2)]);
}

#[test]
fn participants_agree_on_their_number() {
    let report = on(64, || {
        barrier("bar_sync", 1, if warp() == 0 { None } else { Some(64) }, Arrival::Sync);
    });
    let fault = only(&report, FaultKind::Barrier, 32, line!() - 2);
    assert!(fault.message.contains("Some(64)") && fault.message.contains("None"), "{fault}");
}

#[test]
fn operands_of_barriers_are_checked() {
    for (id, threads, arrival) in [
        (16, None, Arrival::Sync),
        (1, Some(0), Arrival::Sync),
        (1, Some(33), Arrival::Sync),
        (1, Some(96), Arrival::Sync),
        (1, None, Arrival::Arrive),
    ] {
        let report = on(64, || _ = barrier("bar", id, threads, arrival));
        only(&report, FaultKind::Operand, 0, line!() - 1);
    }
    // A last warp of 8 lanes counts as 32.
    on(40, || _ = barrier("bar_sync", 1, Some(64), Arrival::Sync)).assert_clean();
}

#[test]
#[allow(clippy::if_same_then_else)] // The lines of the two are what differs.
fn lanes_of_a_warp_come_to_an_aligned_barrier_together() {
    let kernel = |name: &'static str| {
        move || {
            if lane() < 16 {
                barrier(name, 0, None, Arrival::Sync);
            } else {
                barrier(name, 0, None, Arrival::Sync);
            }
        }
    };
    let line = line!() - 6;
    on(32, kernel("barrier_sync")).assert_clean();
    let report = on(32, kernel("bar_sync"));
    let fault = only(&report, FaultKind::Divergence, 0, line);
    assert!(fault.message.contains("thread [16, 0, 0] of the same warp came by"), "{fault}");
    // Sixteen lanes of each of two warps are not 32 threads.
    let report = on(64, || {
        if lane() < 16 {
            barrier("bar_sync", 2, Some(32), Arrival::Sync);
        }
    });
    assert!(report.found(FaultKind::Divergence));
}

/// Waits as kernels do.
#[track_caller]
fn wait(mbarrier: u32, parity: u32) {
    while !mbarrier_test_wait_parity(mbarrier, parity) {}
}

/// A producer warp and a consumer warp hand a value over `rounds` times through two mbarriers at addresses 0 and 8.
fn pipeline(rounds: u32, consumer_waits: bool, consumer_frees: bool) -> Report {
    run_shared(64, 256, || {
        if linear_index() == 0 {
            mbarrier_init(0, 32);
            mbarrier_init(8, 32);
        }
        sync_threads();
        for round in 0..rounds {
            if warp() == 0 {
                if consumer_frees {
                    wait(8, (round % 2) ^ 1);
                }
                set(32 + lane(), round);
                mbarrier_arrive(0, 1, false);
            } else {
                if consumer_waits {
                    wait(0, round % 2);
                }
                assert!(!consumer_waits || get(32 + lane() / 2) == round);
                mbarrier_arrive(8, 1, false);
            }
        }
    })
}

#[test]
fn mbarriers_hand_values_from_warp_to_warp() {
    pipeline(5, true, true).assert_clean();
    for report in [pipeline(1, true, false), pipeline(1, true, true)] {
        report.assert_clean();
    }
    // Without waiting until it is free, the producer overwrites what is being read.
    let report = pipeline(2, true, false);
    assert!(!report.faults.is_empty());
}

#[test]
fn an_mbarrier_orders_those_who_saw_the_phase_complete() {
    let kernel = |waits: bool| {
        move || {
            if linear_index() == 0 {
                mbarrier_init(0, 1);
            }
            sync_threads();
            if warp() == 0 {
                set(32 + lane(), 1);
                if lane() == 31 {
                    mbarrier_arrive(0, 1, false);
                }
            } else if lane() == 0 {
                if waits {
                    wait(0, 0);
                }
                get(32 + 31);
            }
        }
    };
    let line = line!() - 4;
    run_shared(64, 256, kernel(true)).assert_clean();
    only(&run_shared(64, 256, kernel(false)), FaultKind::Race, 32, line);
    // The arrival of lane 31 says nothing about what lane 30 wrote.
    let report = run_shared(64, 256, || {
        if linear_index() == 0 {
            mbarrier_init(0, 1);
        }
        sync_threads();
        if warp() == 0 {
            set(32 + lane(), 1);
            if lane() == 31 {
                mbarrier_arrive(0, 1, false);
            }
        } else if lane() == 0 {
            wait(0, 0);
            get(32 + 30);
        }
    });
    only(&report, FaultKind::Race, 32, line!() - 3);
}

#[test]
fn tokens_tell_phases_and_dropped_arrivals_are_expected_no_more() {
    run_shared(2, 8, || {
        if linear_index() == 0 {
            mbarrier_init(0, 3);
        }
        sync_threads();
        if linear_index() == 0 {
            assert_eq!(mbarrier_pending_count(0), 3);
            let token = mbarrier_arrive(0, 2, false);
            while !mbarrier_test_wait(0, token) {}
            // Two arrivals are left of three.
            let second = mbarrier_arrive(0, 2, false);
            assert!(token != second && mbarrier_test_wait(0, second));
        } else {
            mbarrier_arrive(0, 1, true);
        }
    })
    .assert_clean();
}

#[test]
fn an_mbarrier_is_initialised_once_and_used_while_it_lives() {
    let find = |kernel: fn(), line: u32| {
        let report = run_shared(1, 64, kernel);
        only(&report, FaultKind::Operand, 0, line).message.clone()
    };
    find(|| _ = mbarrier_arrive(0, 1, false), line!());
    find(|| _ = mbarrier_test_wait_parity(0, 0), line!());
    find(|| mbarrier_init(0, 0), line!());
    find(|| mbarrier_inval(0), line!());
    let live = || mbarrier_init(0, 1);
    let message = find(
        || {
            mbarrier_init(8, 1);
            mbarrier_init(8, 1);
        },
        line!() - 2,
    );
    assert!(message.contains(&format!("initialised at {}:{}", file!(), line!() - 5)), "{message}");
    find(
        || {
            mbarrier_init(8, 1);
            mbarrier_inval(8);
            mbarrier_arrive(8, 1, false);
        },
        line!() - 2,
    );
    find(
        || {
            mbarrier_init(8, 1);
            set(3, 0);
        },
        line!() - 2,
    );
    find(
        || {
            mbarrier_init(8, 1);
            mbarrier_arrive(8, 2, false);
        },
        line!() - 2,
    );
    find(
        || {
            mbarrier_init(8, 1);
            mbarrier_test_wait(8, 7);
        },
        line!() - 2,
    );
    run_shared(1, 64, || {
        live();
        mbarrier_inval(0);
        set(0, 1);
        live();
    })
    .assert_clean();
    let report = run_shared(1, 64, || mbarrier_init(4, 1));
    only(&report, FaultKind::Misaligned, 0, line!() - 1);
}

#[test]
fn an_mbarrier_is_used_after_something_orders_its_initialisation() {
    let report = run_shared(32, 8, || {
        if linear_index() == 0 {
            mbarrier_init(0, 32);
        }
        mbarrier_arrive(0, 1, false);
    });
    only(&report, FaultKind::Race, 1, line!() - 2);
}

#[test]
fn polling_for_what_never_comes_ends_with_a_fault() {
    let report = run_shared(64, 8, || {
        if linear_index() == 0 {
            mbarrier_init(0, 33);
        }
        sync_threads();
        if warp() == 1 {
            mbarrier_arrive(0, 1, false);
            while !mbarrier_test_wait_parity(0, 0) {}
        }
    });
    let fault = only(&report, FaultKind::Barrier, 32, line!() - 3);
    assert!(fault.message.contains("32 threads poll for ever"), "{fault}");
    let report = run_shared(1, 4, || {
        set(0, 0);
        while atomic(Space::Shared, 0, 4, |old| old) == 0 {}
    });
    only(&report, FaultKind::Barrier, 0, line!() - 2);
    let report = run_shared(1, 4, || {
        set(0, 0);
        while get(0) == 0 {}
    });
    only(&report, FaultKind::Barrier, 0, line!() - 2);
}

#[test]
fn a_lock_of_atomics_and_fences_orders_its_holders() {
    let kernel = |fences: bool| {
        move || {
            if linear_index() == 0 {
                set(0, 0);
                set(1, 0);
            }
            sync_threads();
            while atomic(Space::Shared, 0, 4, |old| old | 1) == 1 {}
            if fences {
                fence();
            }
            set(1, get(1) + 1);
            if fences {
                fence();
            }
            atomic(Space::Shared, 0, 4, |_| 0);
            sync_threads();
            assert_eq!(get(1), 64);
        }
    };
    let line = line!() - 9;
    for seed in 0..4 {
        let launch = Launch::new("k()", [1, 1, 1], [64, 1, 1]).shared_bytes(8).seed(seed);
        launch.run(&mut GlobalMemory::new(), kernel(true)).assert_clean();
        let report = launch.run(&mut GlobalMemory::new(), kernel(false));
        assert!(report.faults.iter().all(|fault| fault.kind == FaultKind::Race && fault.line == line), "{report}");
        assert!(report.fault_total > 0);
    }
}
