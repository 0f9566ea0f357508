//! How long an access takes. Prints; asserts nothing about time.

mod common;

use std::time::Instant;

use common::{get, read, set, write};
use fringes_emulator::block::{Arrival, barrier};
use fringes_emulator::memory::{Space, load, store};
use fringes_emulator::thread::{block_index, count, linear_index};
use fringes_emulator::warp::collective;
use fringes_emulator::{GlobalMemory, Launch};

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
