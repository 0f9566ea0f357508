//! Kernels compute what they should: lanes exchange values, barriers hold, copies arrive.

use crate::common;

use common::{get, read, run, run_shared, set, write};
use fringes_emulator::block::{Arrival, barrier};
use fringes_emulator::memory::{copy_async, copy_async_commit, copy_async_wait};
use fringes_emulator::thread::{block_index, block_size, count, lane, linear_index, thread_index};
use fringes_emulator::warp::collective;
use fringes_emulator::{Count, GlobalMemory, Launch};

#[track_caller]
fn butterfly(value: u32, distance: usize) -> u32 {
    count("butterfly");

    collective("butterfly", u32::MAX, (value, distance), |_, inputs| {
        std::array::from_fn(|lane| inputs[lane ^ inputs[lane].1].0)
    })
}

#[test]
fn every_thread_of_a_grid_runs_once() {
    let mut memory = GlobalMemory::new();
    let ran = memory.upload(&[0_u32; 2 * 3 * 4 * 5]);
    for seed in [None, Some(1), Some(2)] {
        memory.write(ran, &[0; 120]);
        let mut launch = Launch::new("kernel()", [3, 2, 1], [5, 2, 2]);
        launch = seed.map_or(launch.clone(), |seed| launch.seed(seed));
        let report = launch.run(&mut memory, || {
            let [bx, by, _] = block_index();
            let [x, y, z] = thread_index();
            assert_eq!(linear_index(), x + 5 * (y + 2 * z));
            assert_eq!(block_size(), [5, 2, 2]);
            let index = (by * 3 + bx) * 20 + linear_index();
            write(ran, index, read(ran, index) + 1);
        });
        report.assert_clean();
        assert_eq!(memory.values(ran), vec![1; 120]);
    }
}

#[test]
fn a_butterfly_sums_a_warp_and_a_barrier_the_block() {
    let mut memory = GlobalMemory::new();
    let (n, threads) = (1000_u32, 128);
    let values: Vec<u32> = (0..n).map(|i| i * i).collect();
    let (x, sum) = (memory.upload(&values), memory.allocate::<u32>(1));
    let report = Launch::new("block_sum()", [1, 1, 1], [threads, 1, 1]).shared_bytes(16).run(&mut memory, || {
        let t = linear_index();
        let mut s: u32 = (t..n).step_by(128).map(|i| read(x, i)).sum();
        for distance in [16, 8, 4, 2, 1] {
            s += butterfly(s, distance);
        }
        if lane() == 0 {
            set(t / 32, s);
        }
        barrier("bar_sync", 0, None, Arrival::Sync);
        if t == 0 {
            write(sum, 0, (0..4).map(get).sum());
        }
    });
    report.assert_clean();
    assert_eq!(memory.values(sum), [values.iter().sum::<u32>()]);
    assert_eq!(report.count("butterfly"), Count { threads: 128 * 5, warps: 4 * 5 });
}

#[test]
fn lanes_of_disjoint_masks_meet_apart() {
    let mut memory = GlobalMemory::new();
    let out = memory.allocate::<u32>(32);
    let report = run(32, &mut memory, || {
        let mask = if lane() < 8 { 0xff } else { !0xff };
        count("votes");
        let votes = collective("votes", mask, lane() % 2, |mask, inputs| {
            let votes = inputs.iter().sum();
            std::array::from_fn(|lane| if mask >> lane & 1 == 1 { votes } else { 0 })
        });
        write(out, lane(), votes);
    });
    report.assert_clean();
    assert_eq!(memory.values(out), (0..32).map(|lane| if lane < 8 { 4 } else { 12 }).collect::<Vec<u32>>());
    assert_eq!(report.count("votes"), Count { threads: 32, warps: 2 });
}

#[test]
fn a_barrier_counts_true_predicates() {
    let mut memory = GlobalMemory::new();
    let out = memory.allocate::<u32>(96);
    let report = run(96, &mut memory, || {
        let t = linear_index();
        let arrival = Arrival::Reduce { predicate: t.is_multiple_of(3) };
        write(out, t, barrier("bar_red_popc", 1, None, arrival));
    });
    report.assert_clean();
    assert_eq!(memory.values(out), [32; 96]);
}

#[test]
fn named_barriers_hand_a_value_from_one_warp_to_another() {
    let mut memory = GlobalMemory::new();
    let out = memory.allocate::<u32>(32);
    let report = Launch::new("kernel()", [1, 1, 1], [96, 1, 1]).shared_bytes(128).run(&mut memory, || {
        let t = linear_index();
        match t / 32 {
            0 => {
                barrier("bar_sync", 3, Some(64), Arrival::Sync);
                write(out, t, get(31 - t));
            }
            1 => {
                set(t - 32, t);
                barrier("bar_arrive", 3, Some(64), Arrival::Arrive);
            }
            _ => {}
        }
    });
    report.assert_clean();
    assert_eq!(memory.values(out), (32..64).rev().collect::<Vec<u32>>());
}

#[test]
fn an_asynchronous_copy_arrives_and_pads_with_zeros() {
    let mut memory = GlobalMemory::new();
    let x = memory.upload(&(1..=128).collect::<Vec<u32>>());
    let out = memory.allocate::<u32>(128);
    let report = Launch::new("kernel()", [1, 1, 1], [32, 1, 1]).shared_bytes(512).run(&mut memory, || {
        let t = linear_index();
        copy_async(t * 16, x.address + u64::from(t) * 16, 16, if t == 31 { 8 } else { 16 });
        copy_async_commit();
        copy_async_wait(0);
        barrier("bar_sync", 0, None, Arrival::Sync);
        for i in 0..4 {
            write(out, t * 4 + i, get((31 - t) * 4 + i));
        }
    });
    report.assert_clean();
    let expected = (0..128).map(|i| (31 - i / 4) * 4 + i % 4 + 1).map(|v| if v > 126 { 0 } else { v });
    assert_eq!(memory.values(out), expected.collect::<Vec<u32>>());
}

#[test]
fn shared_memory_starts_uninitialised_in_every_block() {
    let report = Launch::new("kernel()", [2, 1, 1], [1, 1, 1]).shared_bytes(4).run(&mut GlobalMemory::new(), || {
        if block_index()[0] == 1 {
            get(0);
        }
        set(0, 1);
    });
    assert_eq!(report.fault_total, 1);
    run_shared(1, 4, || set(0, 1)).assert_clean();
}
