//! How long an access takes. Prints; asserts nothing about time.

use crate::common;

use std::time::Instant;

use common::{get, read, set, write};
use fringes_emulator::block::{
    Arrival, barrier, mbarrier_arrive, mbarrier_expect_bytes, mbarrier_init, mbarrier_test_wait_parity,
};
use fringes_emulator::memory::{Space, fence_mbarrier_init, load, store, tensor_load};
use fringes_emulator::thread::{block_index, count, linear_index};
use fringes_emulator::warp::collective;
use fringes_emulator::warpgroup::{self, Elements, Left, Product};
use fringes_emulator::{GlobalMemory, Launch, TensorLayout};
use fringes_layout_core::atoms::descriptor::{Descriptor, Swizzle};

#[test]
fn words_are_counted_and_print_their_time_per_access() {
    let mut memory = GlobalMemory::new();
    let n = 1 << 18;
    let (x, y) = (memory.upload(&vec![1_u32; n]), memory.allocate::<u32>(n));
    let launch = Launch::new("kernel() threads=256", [64, 1, 1], [256, 1, 1]).shared_bytes(1024);
    let start = Instant::now();
    let report = launch.run(&mut memory, || {
        let (t, block) = (linear_index(), block_index()[0]);
        for i in (0..n as u32 / 64).step_by(256) {
            set(t, read(x, block * (n as u32 / 64) + i + t));
            get(t);
            write(y, block * (n as u32 / 64) + i + t, t);
        }
    });
    let time = start.elapsed();
    report.assert_clean();
    assert_eq!((report.global_requests, report.global_sectors), (2 * n as u64 / 32, 2 * n as u64 / 8));
    println!("{} accesses of 4 bytes: {time:?}, {:.1} ns an access", 4 * n, time.as_nanos() as f64 / (4 * n) as f64);
}

#[test]
fn a_tiled_kernel_runs_and_prints_its_time_per_access() {
    const STEPS: u32 = 32;
    let mut memory = GlobalMemory::new();
    let x = memory.upload(&vec![1_u8; 256 * 16 * STEPS as usize]);
    let out = memory.allocate::<u32>(256 * 4);
    let start = Instant::now();
    let launch = Launch::new("kernel() threads=256", [4, 1, 1], [256, 1, 1]).shared_bytes(256 * 16);
    let report = launch.run(&mut memory, || {
        let t = u64::from(linear_index());
        let mut sum = 0;
        for step in 0..u64::from(STEPS) {
            let mut line = [0; 16];
            load(Space::Global, x.address + (step * 256 + t) * 16, &mut line);
            store(Space::Shared, t * 16, &line);
            barrier("bar_sync", 0, None, Arrival::Sync);
            for i in 0..24 {
                // A row of 16 bytes as for ldmatrix: each is read by several warps.
                let mut row = [0; 16];
                load(Space::Shared, (t * 5 + i * 8) % 256 * 16, &mut row);
                if i % 8 == 0 {
                    count("mma");
                    sum += collective("mma", u32::MAX, u32::from(row[0]), |_, inputs| *inputs);
                }
            }
            barrier("bar_sync", 0, None, Arrival::Sync);
        }
        store(Space::Global, out.address + (u64::from(linear_index()) * 4), &sum.to_le_bytes());
    });
    let time = start.elapsed();
    let accesses = 4 * 256 * STEPS * 26;
    assert_eq!(report.fault_total, 3 * 256, "only the blocks' stores of the same words race");
    println!(
        "{accesses} accesses of 16 bytes, {} barriers, {} mma: {time:?}, {:.1} ns an access",
        4 * 2 * STEPS,
        4 * 8 * 3 * STEPS,
        time.as_nanos() as f64 / f64::from(accesses)
    );
}

#[test]
fn products_of_warpgroups_print_their_time() {
    const STEPS: u32 = 32;
    const STAGE: u32 = 2 * 128 * 128;
    let (full, empty) = (2 * STAGE, 2 * STAGE + 16);
    let mut memory = GlobalMemory::new();
    let x = memory.upload(&vec![1_u8; 128 * 128]);
    let map = memory.map_tensor(x, &TensorLayout::packed(1, &[128, 128], &[128, 128]).with_swizzle(128));
    let out = memory.allocate::<u32>(256);
    let launch = Launch::new("kernel() threads=384", [1; 3], [384, 1, 1]).shared_bytes(2 * STAGE + 64);
    let start = Instant::now();
    let report = launch.run(&mut memory, || {
        let thread = linear_index();
        if thread == 0 {
            for slot in 0..2 {
                mbarrier_init(full + 8 * slot, 1);
                mbarrier_init(empty + 8 * slot, 8);
            }
            fence_mbarrier_init();
        }
        barrier("bar_sync", 0, None, Arrival::Sync);
        let mut d = [0; 64];
        for step in 0..STEPS {
            let (slot, parity) = (step % 2, step / 2 % 2);
            let (full, empty) = (full + 8 * slot, empty + 8 * slot);
            if thread == 256 {
                while !mbarrier_test_wait_parity(empty, parity ^ 1) {}
                mbarrier_expect_bytes(full, STAGE);
                mbarrier_arrive(full, 1, false);
                tensor_load(STAGE * slot, map.address, &[0, 0], full, None);
                tensor_load(STAGE * slot + STAGE / 2, map.address, &[0, 0], full, None);
            } else if thread < 256 {
                while !mbarrier_test_wait_parity(full, parity) {}
                warpgroup::fence();
                for k in 0..4 {
                    let of =
                        |side: u32| Descriptor::new(STAGE * slot + side, 0, 1024, Swizzle::Bytes128).advance(32 * k);
                    let (a, b) = (Left::Shared(of(thread / 128 * 8192)), of(STAGE / 2));
                    let product =
                        Product { elements: Elements::S8, a, b, transposed: [false; 2], accumulate: step + k > 0 };
                    warpgroup::multiply(product, &mut d);
                }
                warpgroup::commit();
                warpgroup::wait(0);
                if thread.is_multiple_of(32) {
                    mbarrier_arrive(empty, 1, false);
                }
            }
        }
        if thread < 256 {
            warpgroup::hold(&mut d);
            write(out, thread, d[17]);
        }
    });
    let time = start.elapsed();
    report.assert_clean();
    assert!(memory.values(out).iter().all(|&sum| sum == 128 * STEPS));
    let products = 2 * 4 * STEPS;
    println!(
        "{products} products of 64 x 128 x 32: {time:?}, {:.1} us each",
        time.as_micros() as f64 / f64::from(products)
    );
}
