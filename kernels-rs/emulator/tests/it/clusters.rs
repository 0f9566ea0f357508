//! Clusters: blocks that run together, use each other's shared memory, and receive copies together.

use crate::common;

use common::{get, only, read, set, write};
use fringes_emulator::block::{
    Arrival, barrier, mbarrier_arrive, mbarrier_arrive_remote, mbarrier_expect_bytes, mbarrier_init,
    mbarrier_test_wait_parity,
};
use fringes_emulator::cluster::{self, map_address};
use fringes_emulator::memory::{bulk_load, bulk_to_cluster, fence_mbarrier_init, fence_proxy_async, tensor_load};
use fringes_emulator::thread::{block_index, linear_index};
use fringes_emulator::{Buffer, FaultKind, GlobalMemory, Launch, Report, TensorLayout};

/// Shared address of the mbarrier.
const MBARRIER: u32 = 1024;

/// Runs a kernel on two clusters of two blocks of 32 threads, with a buffer of the words 0 to 255 and one of 128 zeros.
fn on(kernel: impl Fn(Buffer<u32>, Buffer<u32>)) -> (Vec<u32>, Report) {
    let mut memory = GlobalMemory::new();
    let x = memory.upload(&(0..256).collect::<Vec<u32>>());
    let y = memory.upload(&[0_u32; 128]);
    let launch = Launch::new("kernel() threads=32 cluster=2", [4, 1, 1], [32, 1, 1]).shared_bytes(1100);
    let report = launch.run(&mut memory, || kernel(x, y));
    (memory.values(y), report)
}

#[track_caller]
fn sync_cluster() {
    cluster::arrive(true);
    cluster::wait();
}

#[track_caller]
fn wait(parity: u32) {
    while !mbarrier_test_wait_parity(MBARRIER, parity) {}
}

#[test]
fn blocks_have_indices_in_the_grid_and_in_their_cluster() {
    let mut memory = GlobalMemory::new();
    let out = memory.allocate::<u32>(32);
    let launch = Launch::new("kernel()", [4, 4, 2], [32, 1, 1]).cluster([2, 2, 1]);
    let report = launch.run(&mut memory, || {
        let ([x, y, z], [i, j, k]) = (block_index(), cluster::block_in_cluster());
        assert_eq!((cluster::rank(), cluster::size()), (i + 2 * j, [2, 2, 1]));
        assert_eq!([x / 2 * 2 + i, y / 2 * 2 + j, z + k], [x, y, z]);
        assert_eq!(cluster::index(), [x / 2, y / 2, z]);
        if linear_index() == 0 {
            write(out, x + 4 * (y + 4 * z), 1);
        }
    });
    report.assert_clean();
    assert_eq!(memory.values(out), [1; 32]);
}

/// Each thread leaves a number, and reads that of the other block.
fn exchange(starts: bool, orders: bool, stays: bool) -> (Vec<u32>, Report) {
    on(move |_, y| {
        let (thread, block) = (linear_index(), block_index()[0]);
        if starts {
            sync_cluster();
        }
        set(thread, 100 * block + thread);
        cluster::arrive(orders);
        cluster::wait();
        let mut word = [0; 4];
        cluster::load(map_address(4 * thread, 1 - cluster::rank()), &mut word);
        write(y, 32 * block + thread, u32::from_le_bytes(word));
        if stays {
            sync_cluster();
        }
    })
}

#[test]
fn shared_memory_of_the_other_block_is_read_after_a_barrier_of_the_cluster() {
    let (got, report) = exchange(true, true, true);
    report.assert_clean();
    for (i, got) in (0_u32..).zip(got) {
        assert_eq!(got, 100 * ((i / 32) ^ 1) + i % 32);
    }
    assert!(exchange(true, false, true).1.found(FaultKind::Race));
}

#[test]
fn memory_is_written_across_blocks() {
    let kernel = |syncs: bool| {
        move |_, y| {
            sync_cluster();
            let (thread, block) = (linear_index(), block_index()[0]);
            cluster::store(map_address(4 * thread, 1 - cluster::rank()), &(block + thread).to_le_bytes());
            if syncs {
                sync_cluster();
            }
            write(y, 32 * block + thread, get(thread));
            sync_cluster();
        }
    };
    let (got, report) = on(kernel(true));
    report.assert_clean();
    assert!((0_u32..).zip(got).all(|(i, got)| got == ((i / 32) ^ 1) + i % 32));
    assert!(!on(kernel(false)).1.faults.is_empty());
}

#[test]
fn a_block_is_not_reached_before_it_has_started_or_after_it_has_ended() {
    let reads = |starts: bool, stays: bool| {
        on(move |_, _| {
            set(linear_index(), 1);
            if starts {
                sync_cluster();
            }
            if cluster::rank() == 1 {
                let mut word = [0; 4];
                cluster::load(map_address(0, 0), &mut word);
            }
            if stays {
                sync_cluster();
            }
        })
        .1
    };
    reads(true, true).assert_clean();
    let report = reads(false, true);
    assert!(report.faults.iter().any(|fault| fault.message.contains("that it has started")), "{report}");
    let report = reads(true, false);
    assert!(report.faults.iter().any(|fault| fault.message.contains("have returned")), "{report}");
    let (_, report) = on(|_, _| _ = map_address(0, 2));
    only(&report, FaultKind::Operand, 0, line!() - 1);
}

#[test]
fn a_barrier_of_the_cluster_is_arrived_at_and_waited_for_in_turn() {
    let (_, report) = on(|_, _| {
        if cluster::rank() == 0 || linear_index() < 31 {
            cluster::arrive(true);
        } else {
            barrier("bar_sync", 1, None, Arrival::Sync);
        }
        cluster::wait();
    });
    let fault =
        report.faults.iter().find(|fault| fault.message.contains("barrier.cluster: 63 came")).expect("{report}");
    assert!(fault.message.contains("thread [31, 0, 0] of block [1, 0, 0] waits in bar_sync"), "{fault}");
    let (_, report) = on(|_, _| cluster::wait());
    only(&report, FaultKind::Barrier, 0, line!() - 1);
    let (_, report) = on(|_, _| {
        cluster::arrive(true);
        cluster::arrive(true);
    });
    only(&report, FaultKind::Barrier, 0, line!() - 2);
    // Who has returned is not waited for.
    let (_, report) = on(|_, _| {
        if linear_index() < 16 {
            sync_cluster();
        }
    });
    report.assert_clean();
}

#[test]
fn blocks_arrive_on_each_others_mbarriers() {
    let kernel = |others: u32| {
        move |_, y| {
            let (thread, block) = (linear_index(), block_index()[0]);
            if thread == 0 {
                mbarrier_init(MBARRIER, 32);
                fence_mbarrier_init();
            }
            sync_cluster();
            write(y, 32 * block + thread, block);
            // Threads below `others` arrive on the other block's.
            let rank = cluster::rank() ^ u32::from(thread < others);
            mbarrier_arrive_remote(map_address(MBARRIER, rank));
            wait(0);
            read(y, 32 * (block ^ u32::from(thread >= 32 - others)) + 31 - thread);
            sync_cluster();
        }
    };
    on(kernel(32)).1.assert_clean();
    // Its own threads' arrivals order nothing of the other block.
    on(kernel(0)).1.assert_clean();
    let (_, report) = on(move |x: Buffer<u32>, y| {
        kernel(32)(x, y);
        if linear_index() == 0 {
            read(y, 32 * block_index()[0]);
            mbarrier_arrive_remote(map_address(MBARRIER + 8, 1 - cluster::rank()));
        }
        sync_cluster();
    });
    assert!(report.found(FaultKind::Operand), "no mbarrier there: {report}");
}

/// One block loads words for both.
fn multicast(ranks: u16, expected: u32) -> (Vec<u32>, Report) {
    on(move |x, y| {
        let (thread, block) = (linear_index(), block_index()[0]);
        if thread == 0 {
            mbarrier_init(MBARRIER, 1);
            fence_mbarrier_init();
        }
        sync_cluster();
        if thread == 0 {
            mbarrier_expect_bytes(MBARRIER, expected);
            mbarrier_arrive(MBARRIER, 1, false);
            if cluster::rank() == 0 {
                bulk_load(0, x.address + 128 * u64::from(block), 128, MBARRIER, Some(ranks));
            }
        }
        wait(0);
        write(y, 32 * block + thread, get(thread));
        sync_cluster();
    })
}

#[test]
fn a_copy_arrives_in_all_blocks_that_it_is_for() {
    let (got, report) = multicast(0b11, 128);
    report.assert_clean();
    assert!((0_u32..).zip(got).all(|(i, got)| got == 32 * ((i / 32) & !1) + i % 32));
    // One that gets none waits for ever.
    assert!(multicast(0b01, 128).1.found(FaultKind::ByteCount));
    assert!(multicast(0b11, 64).1.found(FaultKind::ByteCount));
    assert!(multicast(0b111, 128).1.found(FaultKind::Operand));
}

#[test]
fn boxes_arrive_in_all_blocks() {
    const MBARRIER: u32 = 2048;
    let mut memory = GlobalMemory::new();
    let x = memory.upload(&(0..1024).collect::<Vec<u32>>());
    let y = memory.allocate::<u32>(1024);
    let map = memory.map_tensor(x, &TensorLayout::packed(4, &[32, 32], &[32, 8]));
    let launch = Launch::new("kernel() threads=32 cluster=2", [2, 1, 1], [32, 1, 1]).shared_bytes(2056);
    let report = launch.run(&mut memory, || {
        let (thread, rank) = (linear_index(), cluster::rank());
        if thread == 0 {
            mbarrier_init(MBARRIER, 1);
            fence_mbarrier_init();
            mbarrier_expect_bytes(MBARRIER, 2048);
            mbarrier_arrive(MBARRIER, 1, false);
        }
        sync_cluster();
        // Each block loads half of what both get.
        if thread == 0 {
            tensor_load(1024 * rank, map.address, &[0, 8 * rank as i32], MBARRIER, Some(0b11));
        }
        while !mbarrier_test_wait_parity(MBARRIER, 0) {}
        for i in (thread..512).step_by(32) {
            write(y, 512 * rank + i, get(i));
        }
        sync_cluster();
    });
    report.assert_clean();
    assert!((0_u32..).zip(memory.values(y)).all(|(i, got)| got == i % 512));
}

#[test]
fn shared_memory_is_copied_to_the_other_block() {
    let kernel = |fences: bool, waits: bool| {
        move |x: Buffer<u32>, y| {
            let (thread, block) = (linear_index(), block_index()[0]);
            if thread == 0 {
                mbarrier_init(MBARRIER, 1);
                fence_mbarrier_init();
            }
            set(thread, read(x, 32 * block + thread));
            if fences {
                fence_proxy_async(None);
            }
            sync_cluster();
            if thread == 0 {
                mbarrier_expect_bytes(MBARRIER, 128);
                mbarrier_arrive(MBARRIER, 1, false);
                let other = |address| map_address(address, 1 - cluster::rank());
                bulk_to_cluster(other(512), 0, 128, other(MBARRIER));
            }
            if waits {
                wait(0);
            }
            write(y, 32 * block + thread, get(128 + thread));
            wait(0);
            sync_cluster();
        }
    };
    let (got, report) = on(kernel(true, true));
    report.assert_clean();
    assert!((0_u32..).zip(got).all(|(i, got)| got == (i ^ 32)));
    assert!(on(kernel(false, true)).1.found(FaultKind::Proxy));
    assert!(!on(kernel(true, false)).1.faults.is_empty());
}

#[test]
fn launches_of_clusters_are_checked() {
    let refused = |grid: [u32; 3], threads: u32, cluster: [u32; 3]| {
        let launch = Launch::new("kernel()", grid, [threads, 1, 1]).cluster(cluster);
        launch.run(&mut GlobalMemory::new(), || ()).found(FaultKind::Launch)
    };
    assert!(!refused([4, 1, 1], 32, [4, 1, 1]));
    assert!(refused([3, 1, 1], 32, [2, 1, 1]));
    assert!(refused([32, 1, 1], 32, [32, 1, 1]));
    assert!(refused([2, 1, 1], 40, [2, 1, 1]));
    assert!(refused([2, 1, 1], 32, [0, 1, 1]));
}
