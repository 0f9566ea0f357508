//! The race detector finds what nothing orders, and nothing else.

use crate::common;

use common::{get, only, read, run, run_shared, set, write};
use fringes_emulator::block::{Arrival, barrier};
use fringes_emulator::memory::{Space, atomic, fence, load, store};
use fringes_emulator::thread::{block_index, lane, linear_index, warp};
use fringes_emulator::warp::{collective, sync};
use fringes_emulator::{Buffer, FaultKind, GlobalMemory, Launch, Report};

#[track_caller]
fn sync_threads() {
    barrier("bar_sync", 0, None, Arrival::Sync);
}

#[test]
fn a_neighbour_read_without_a_barrier_races() {
    let kernel = |ordered: bool| {
        move || {
            set(linear_index(), 1);
            if ordered {
                sync_threads();
            }
            if linear_index() == 5 {
                get(4);
            }
        }
    };
    let line = line!() - 4;
    run_shared(64, 256, kernel(true)).assert_clean();
    let report = run_shared(64, 256, kernel(false));
    let fault = only(&report, FaultKind::Race, 5, line);
    let store = format!("which thread [4, 0, 0] stores to at {}:{}", file!(), line - 5);
    assert!(
        fault.message.contains("load of 4 bytes at shared address 16") && fault.message.contains(&store),
        "{fault}"
    );
}

#[test]
fn a_store_after_a_read_without_a_barrier_races() {
    let kernel = |ordered: bool| {
        move || {
            if linear_index() == 0 {
                set(0, 7);
            }
            sync_threads();
            get(0);
            if ordered {
                sync_threads();
            }
            if linear_index() == 63 {
                set(0, 8);
            }
        }
    };
    let line = line!() - 4;
    run_shared(64, 4, kernel(true)).assert_clean();
    only(&run_shared(64, 4, kernel(false)), FaultKind::Race, 63, line);
}

#[test]
fn two_stores_of_the_same_value_race() {
    let report = run_shared(2, 4, || set(0, 3));
    only(&report, FaultKind::Race, 1, line!() - 1);
}

#[test]
fn a_barrier_orders_its_participants_only() {
    let kernel = |reader: u32| {
        move || {
            if linear_index() == 0 {
                set(0, 1);
            }
            if warp() < 2 {
                barrier("bar_sync", 1, Some(64), Arrival::Sync);
            } else {
                barrier("bar_sync", 2, Some(64), Arrival::Sync);
            }
            if warp() == reader {
                get(0);
            }
        }
    };
    let line = line!() - 4;
    run_shared(128, 4, kernel(1)).assert_clean();
    only(&run_shared(128, 4, kernel(2)), FaultKind::Race, 64, line);
}

#[test]
fn who_only_arrives_at_a_barrier_learns_nothing() {
    let kernel = |wrong: bool| {
        move || {
            set(linear_index(), 1);
            let arrival = if warp() == 0 { Arrival::Sync } else { Arrival::Arrive };
            barrier("bar", 1, Some(64), arrival);
            if linear_index() == 0 {
                get(32);
            }
            if wrong && linear_index() == 32 {
                get(0);
            }
        }
    };
    let line = line!() - 4;
    run_shared(64, 256, kernel(false)).assert_clean();
    only(&run_shared(64, 256, kernel(true)), FaultKind::Race, 32, line);
}

#[test]
fn a_warp_barrier_orders_and_a_shuffle_does_not() {
    let kernel = |ordered: bool| {
        move || {
            set(lane(), 1);
            if ordered {
                sync("bar_warp_sync", u32::MAX);
            } else {
                collective::<u32, u32>("shfl", u32::MAX, 0, |_, inputs| *inputs);
            }
            if lane() == 3 {
                get(9);
            }
        }
    };
    let line = line!() - 4;
    run_shared(32, 128, kernel(true)).assert_clean();
    only(&run_shared(32, 128, kernel(false)), FaultKind::Race, 3, line);
}

#[test]
fn a_warp_barrier_does_not_order_another_warp() {
    let report = run_shared(64, 4, || {
        if linear_index() == 0 {
            set(0, 1);
        }
        sync("bar_warp_sync", u32::MAX);
        if warp() == 1 {
            get(0);
        }
    });
    only(&report, FaultKind::Race, 32, line!() - 3);
}

#[test]
fn order_is_transitive_through_several_barriers() {
    // Warp 0 writes; barrier of warps 0 and 1, then of warps 1 and 2; warp 2 reads.
    run_shared(96, 4, || {
        if linear_index() == 0 {
            set(0, 1);
        }
        if warp() < 2 {
            barrier("bar_sync", 1, Some(64), Arrival::Sync);
        }
        if warp() > 0 {
            barrier("bar_sync", 2, Some(64), Arrival::Sync);
        }
        if warp() == 2 {
            get(0);
        }
    })
    .assert_clean();
}

#[test]
fn bytes_of_one_word_are_apart() {
    let byte = |index: u32, value: u8| store(Space::Shared, index.into(), &[value]);
    run_shared(4, 4, || byte(linear_index(), 1)).assert_clean();
    let report = run_shared(4, 4, || byte(linear_index() / 2, 1));
    only(&report, FaultKind::Race, 1, line!() - 3);
    // A word read after its bytes were written by four threads, and bytes read after a word was written.
    let kernel = |ordered: bool| {
        move || {
            byte(linear_index(), 1);
            if ordered {
                sync_threads();
            }
            if linear_index() == 3 {
                get(0);
            }
        }
    };
    run_shared(4, 4, kernel(true)).assert_clean();
    assert!(run_shared(4, 4, kernel(false)).found(FaultKind::Race));
}

#[test]
fn a_wide_store_meets_every_word_of_it() {
    let report = run_shared(2, 16, || match linear_index() {
        0 => set(3, 1),
        _ => store(Space::Shared, 0, &[0; 16]),
    });
    only(&report, FaultKind::Race, 1, line!() - 2);
}

#[test]
fn readers_of_sixteen_bytes_are_remembered_when_a_byte_of_them_is_written() {
    for readers in 0..3 {
        let report = run_shared(4, 16, || {
            let t = linear_index();
            // Bytes, then all sixteen, by thread 0: what was apart is one again.
            if t == 0 {
                store(Space::Shared, 5, &[1]);
                store(Space::Shared, 0, &[0; 16]);
            }
            sync_threads();
            if t < readers {
                load(Space::Shared, 0, &mut [0; 16]);
            }
            if t == 3 {
                store(Space::Shared, 5, &[2]);
            }
        });
        assert_eq!(report.found(FaultKind::Race), readers > 0, "{readers} readers");
    }
}

#[test]
fn blocks_of_a_launch_race_in_global_memory() {
    let mut memory = GlobalMemory::new();
    let buffer = memory.upload(&[0_u32; 4]);
    let launch = Launch::new("kernel()", [2, 1, 1], [32, 1, 1]);
    let report = launch.run(&mut memory, || {
        if linear_index() == 7 {
            write(buffer, 2, block_index()[0]);
        }
    });
    let fault = only(&report, FaultKind::Race, 7, line!() - 3);
    assert_eq!(fault.block, [1, 0, 0]);
    assert!(fault.message.contains("thread [7, 0, 0] of block [0, 0, 0]"), "{fault}");
    // Each block its own word, all reading one: clean. The next launch may write what this one wrote.
    for _ in 0..2 {
        let report = launch.run(&mut memory, || {
            read(buffer, 3);
            if linear_index() == 7 {
                write(buffer, block_index()[0], 1);
            }
        });
        report.assert_clean();
    }
}

/// Every block leaves a value; the last one to take a ticket sums them.
fn last_block_sums(fences: [bool; 2]) -> (Report, GlobalMemory, Buffer<u32>) {
    let mut memory = GlobalMemory::new();
    let (parts, ticket, sum) = (memory.allocate::<u32>(4), memory.upload(&[0_u32]), memory.allocate::<u32>(1));
    let launch = Launch::new("kernel()", [4, 1, 1], [32, 1, 1]).shared_bytes(4).seed(3);
    let report = launch.run(&mut memory, || {
        if linear_index() == 0 {
            write(parts, block_index()[0], 10 + block_index()[0]);
            if fences[0] {
                fence();
            }
            let ticket = atomic(Space::Global, ticket.address, 4, |old| old + 1);
            if fences[1] {
                fence();
            }
            set(0, u32::from(ticket == 3));
        }
        sync_threads();
        if get(0) == 1 && linear_index() == 31 {
            write(sum, 0, (0..4).map(|block| read(parts, block)).sum());
        }
    });
    (report, memory, sum)
}

#[test]
fn fences_and_atomics_order_blocks_and_one_fence_alone_does_not() {
    let (report, memory, sum) = last_block_sums([true, true]);
    report.assert_clean();
    assert_eq!(memory.values(sum), [10 + 11 + 12 + 13]);
    for fences in [[true, false], [false, true], [false, false]] {
        let (report, ..) = last_block_sums(fences);
        assert!(
            report.faults.iter().all(|fault| fault.kind == FaultKind::Race) && report.fault_total == 3,
            "{fences:?}"
        );
    }
}

#[test]
fn atomics_race_with_plain_accesses_and_not_with_each_other() {
    let add = || atomic(Space::Shared, 0, 4, |old| old + 1);
    let kernel = |ordered: bool| {
        move || {
            if linear_index() == 0 {
                set(0, 0);
            }
            sync_threads();
            add();
            if ordered {
                sync_threads();
            }
            if linear_index() == 9 {
                get(0);
            }
        }
    };
    let line = line!() - 4;
    run_shared(64, 4, kernel(true)).assert_clean();
    let report = run_shared(64, 4, kernel(false));
    // Thread 9 reads before or after others add: both ways round are races.
    assert!(report.faults.iter().all(|fault| fault.kind == FaultKind::Race));
    assert!(report.faults.iter().any(|fault| fault.thread == [9, 0, 0] && fault.line == line));
}

#[test]
fn what_all_threads_read_is_found_written_by_any_of_them() {
    for writer in [0, 100, 255] {
        let report = run_shared(256, 64, || {
            if linear_index() == 0 {
                set(0, 1);
            }
            sync_threads();
            for _ in 0..3 {
                get(0);
                get(0);
            }
            if linear_index() == writer {
                sync("bar_warp_sync", 1 << lane());
                set(0, 2);
            }
        });
        assert!(report.found(FaultKind::Race), "{writer}");
    }
}

#[test]
fn uninitialised_bytes_are_found_one_by_one() {
    let mut memory = GlobalMemory::new();
    let buffer = memory.allocate::<u32>(4);
    let report = run(1, &mut memory, || {
        store(Space::Global, buffer.address, &[1; 2]);
        store(Space::Global, buffer.address + 3, &[1]);
        let mut bytes = [0; 4];
        load(Space::Global, buffer.address, &mut bytes);
        load(Space::Global, buffer.address, &mut bytes[..2]);
    });
    let fault = only(&report, FaultKind::Uninitialised, 0, line!() - 3);
    assert!(fault.message.contains("byte 2 was never written"), "{fault}");
}
