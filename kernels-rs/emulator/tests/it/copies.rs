//! Asynchronous copies: used before they are waited for, or never waited for.

use crate::common;

use common::{get, only, set, write};
use fringes_emulator::block::{Arrival, barrier, mbarrier_arrive, mbarrier_init, mbarrier_test_wait_parity};
use fringes_emulator::memory::{
    copy_async, copy_async_arrive, copy_async_commit, copy_async_wait, copy_async_wait_all,
};
use fringes_emulator::thread::linear_index;
use fringes_emulator::{Buffer, FaultKind, GlobalMemory, Launch, Report};

#[track_caller]
fn sync_threads() {
    barrier("bar_sync", 0, None, Arrival::Sync);
}

/// Runs a kernel of 32 threads with 1 KiB of shared memory on a buffer of the words 0 to 127.
fn on(kernel: impl Fn(Buffer<u32>)) -> Report {
    let mut memory = GlobalMemory::new();
    let x = memory.upload(&(0..128).collect::<Vec<u32>>());
    Launch::new("kernel()", [1, 1, 1], [32, 1, 1]).shared_bytes(1024).run(&mut memory, || kernel(x))
}

/// Copies this thread's four words.
#[track_caller]
fn copy(x: Buffer<u32>) {
    let t = linear_index();
    copy_async(t * 16, x.address + u64::from(t) * 16, 16, 16);
}

#[test]
fn a_destination_is_not_read_before_the_copy_is_waited_for() {
    let kernel = |waits: bool| {
        move |x| {
            copy(x);
            copy_async_commit();
            if waits {
                copy_async_wait(0);
            }
            if linear_index() == 7 {
                get(4 * 7 + 1);
            }
            copy_async_wait_all();
        }
    };
    let line = line!() - 5;
    on(kernel(true)).assert_clean();
    let report = on(kernel(false));
    let fault = only(&report, FaultKind::AsynchronousCopy, 7, line);
    let place = format!("thread [7, 0, 0] copies there asynchronously at {}:{}", file!(), line - 6);
    assert!(fault.message.contains(&place), "{fault}");
}

#[test]
fn waiting_makes_a_copy_visible_to_the_thread_and_a_barrier_to_the_others() {
    let kernel = |ordered: bool| {
        move |x| {
            copy(x);
            copy_async_wait_all();
            get(4 * linear_index());
            if ordered {
                sync_threads();
            }
            get(4 * (linear_index() ^ 1));
        }
    };
    let line = line!() - 3;
    on(kernel(true)).assert_clean();
    // Thread 0 comes before the copy of thread 1, thread 1 after that of thread 0.
    let report = on(kernel(false));
    let kinds = [FaultKind::Uninitialised, FaultKind::Race];
    assert!(report.faults.iter().all(|fault| kinds.contains(&fault.kind)), "{report}");
    let race = report.faults.iter().find(|fault| fault.kind == FaultKind::Race && fault.line == line);
    assert_eq!(race.map(|fault| fault.thread), Some([1, 0, 0]), "{report}");
}

#[test]
fn a_barrier_without_waiting_first_is_not_enough() {
    let report = on(|x| {
        copy(x);
        copy_async_commit();
        sync_threads();
        if linear_index() == 0 {
            get(4 * 5);
        }
        copy_async_wait(0);
    });
    assert!(report.found(FaultKind::AsynchronousCopy));
}

#[test]
fn a_destination_is_not_overwritten_while_the_copy_is_under_way() {
    let report = on(|x| {
        copy(x);
        set(4 * linear_index(), 1);
        copy_async_wait_all();
    });
    only(&report, FaultKind::AsynchronousCopy, 0, line!() - 3);
    // Nor by another copy, nor copied to while it is being read.
    let report = on(|x| {
        copy(x);
        copy(x);
        copy_async_wait_all();
    });
    only(&report, FaultKind::AsynchronousCopy, 0, line!() - 3);
    let report = on(|x| {
        set(4 * linear_index(), 1);
        sync_threads();
        get(4 * (linear_index() ^ 1));
        copy(x);
        copy_async_wait_all();
    });
    assert!(report.faults.iter().any(|fault| fault.kind == FaultKind::Race && fault.line == line!() - 3), "{report}");
}

#[test]
fn a_source_is_not_written_while_the_copy_is_under_way() {
    let kernel = |waits: bool| {
        move |x| {
            copy(x);
            if waits {
                copy_async_wait_all();
            }
            write(x, 4 * linear_index() + 2, 9);
            copy_async_wait_all();
        }
    };
    let line = line!() - 4;
    on(kernel(true)).assert_clean();
    only(&on(kernel(false)), FaultKind::AsynchronousCopy, 0, line);
}

#[test]
fn copies_are_waited_for_before_the_end() {
    let report = on(|x| {
        copy(x);
        if linear_index() == 9 {
            copy_async(512, x.address, 4, 4);
        } else {
            copy_async_wait_all();
        }
    });
    let fault = only(&report, FaultKind::AsynchronousCopy, 9, line!() - 7);
    assert!(fault.message.contains("2 asynchronous copies never waited for"), "{fault}");
}

#[test]
fn groups_complete_in_order() {
    // Four stages, of which the oldest is complete when at most three are pending.
    let kernel = |pending: u32| {
        move |x: Buffer<u32>| {
            if linear_index() == 0 {
                for stage in 0..4 {
                    copy_async(stage * 16, x.address + u64::from(stage) * 16, 16, 16);
                    copy_async_commit();
                }
                copy_async_wait(pending);
                assert_eq!(get(5), if pending < 3 { 5 } else { 0 });
                copy_async_wait(0);
            }
        }
    };
    on(kernel(2)).assert_clean();
    assert!(on(kernel(3)).found(FaultKind::AsynchronousCopy));
}

#[test]
fn a_copy_arrives_on_an_mbarrier() {
    let kernel = |noinc: bool, count: u32, waits: bool| {
        move |x| {
            if linear_index() == 0 {
                mbarrier_init(1000, count);
            }
            sync_threads();
            copy(x);
            copy_async_arrive(1000, noinc);
            if !noinc {
                mbarrier_arrive(1000, 1, false);
            }
            if waits {
                while !mbarrier_test_wait_parity(1000, 0) {}
                assert_eq!(get(4 * (31 - linear_index())), 4 * (31 - linear_index()));
            }
        }
    };
    // With `noinc` the copies' arrivals are the 32 expected; else they come on top of the threads' own.
    on(kernel(true, 32, true)).assert_clean();
    on(kernel(false, 32, true)).assert_clean();
    only(&on(kernel(true, 32, false)), FaultKind::AsynchronousCopy, 0, line!() - 14);
}

#[test]
fn operands_of_copies_are_checked() {
    let find = |kind, shared: u32, offset: u64, bytes: u32, source_bytes: u32| {
        let report = on(|x| {
            if linear_index() == 0 {
                copy_async(shared, x.address + offset, bytes, source_bytes);
                copy_async_wait_all();
            }
        });
        only(&report, kind, 0, line!() - 4);
    };
    find(FaultKind::Operand, 0, 0, 12, 12);
    find(FaultKind::Operand, 0, 0, 8, 9);
    find(FaultKind::Misaligned, 4, 0, 8, 8);
    find(FaultKind::Misaligned, 0, 4, 8, 8);
    find(FaultKind::OutOfBounds, 1024, 0, 16, 16);
    find(FaultKind::OutOfBounds, 0, 512, 16, 4);
    // No byte is read, so no address is wrong.
    on(|_| {
        copy_async(0, 0, 16, 0);
        copy_async_wait_all();
    });
}
