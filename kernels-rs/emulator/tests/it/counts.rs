//! Counts of requests against numbers worked out by hand.

use crate::common;

use common::{get, run, run_shared, set, write};
use fringes_emulator::block::{Arrival, barrier};
use fringes_emulator::memory::{Space, atomic, copy_async, copy_async_wait_all, load, store};
use fringes_emulator::thread::{count, lane, linear_index};
use fringes_emulator::warp::collective;
use fringes_emulator::{AccessKind, Count, GlobalMemory, LineAccesses, Report};

/// Requests, wavefronts and ideal wavefronts of one warp that stores `bytes` bytes a lane at these addresses.
fn shared(bytes: usize, address: impl Fn(u32) -> u32) -> [u64; 3] {
    let report = run_shared(32, 32 * 1024, || store(Space::Shared, address(lane()).into(), &[0; 16][..bytes]));
    [report.shared_requests, report.shared_wavefronts, report.shared_wavefronts_ideal]
}

/// Requests, sectors and ideal sectors of one warp that loads `bytes` bytes a lane at these addresses.
fn global(bytes: usize, address: impl Fn(u32) -> u32) -> [u64; 3] {
    let mut memory = GlobalMemory::new();
    let buffer = memory.upload(&vec![0_u8; 64 * 1024]);
    let report = run(32, &mut memory, || {
        load(Space::Global, buffer.address + u64::from(address(lane())), &mut [0; 16][..bytes])
    });
    report.assert_clean();
    [report.global_requests, report.global_sectors, report.global_sectors_ideal]
}

#[test]
fn words_of_different_banks_take_one_wavefront() {
    assert_eq!(shared(4, |lane| lane * 4), [1, 1, 1]);
    assert_eq!(shared(4, |lane| (lane ^ 21) * 4), [1, 1, 1]);
    assert_eq!(shared(4, |lane| lane * 33 * 4), [1, 1, 1]);
}

#[test]
fn words_of_one_bank_take_a_wavefront_each() {
    assert_eq!(shared(4, |lane| lane * 8), [1, 2, 1]);
    assert_eq!(shared(4, |lane| lane * 128), [1, 32, 1]);
    assert_eq!(shared(4, |lane| lane % 16 * 128), [1, 16, 1]);
}

#[test]
fn lanes_with_one_word_share_a_wavefront() {
    assert_eq!(shared(4, |_| 64), [1, 1, 1]);
    assert_eq!(shared(1, |lane| lane), [1, 1, 1]);
    assert_eq!(shared(2, |lane| lane * 2), [1, 1, 1]);
    assert_eq!(shared(2, |lane| lane * 128), [1, 32, 1]);
}

#[test]
fn wide_accesses_go_by_halves_and_quarters_of_a_warp() {
    assert_eq!(shared(8, |lane| lane * 8), [1, 2, 2]);
    assert_eq!(shared(8, |lane| lane * 16), [1, 4, 2]);
    assert_eq!(shared(16, |lane| lane * 16), [1, 4, 4]);
    assert_eq!(shared(16, |lane| lane * 128), [1, 32, 4]);
    // Rows of 128 bytes with 16-byte chunks exchanged by row: what a swizzle is for.
    assert_eq!(shared(16, |lane| lane * 128 + (lane % 8) * 16), [1, 4, 4]);
}

#[test]
fn rows_of_a_matrix_load_count_by_eight() {
    // The lanes that supply addresses load 16 bytes each, for 8 rows a matrix: 8, 16 or 32 lanes.
    for matrices in [1, 2, 4] {
        let rows = |stride: u32| {
            let report = run_shared(32, 16 * 1024, || {
                if lane() < 8 * matrices {
                    store(Space::Shared, u64::from(lane() * stride), &[0; 16]);
                }
            });
            [report.shared_requests, report.shared_wavefronts, report.shared_wavefronts_ideal]
        };
        let m = u64::from(matrices);
        assert_eq!(rows(16), [1, m, m]);
        assert_eq!(rows(144), [1, m, m]);
        assert_eq!(rows(128), [1, 8 * m, m]);
        assert_eq!(rows(32), [1, 2 * m, m]);
    }
}

#[test]
fn atomics_on_one_word_take_turns() {
    let report = run_shared(32, 4, || {
        if lane() == 0 {
            set(0, 0);
        }
        barrier("bar_sync", 0, None, Arrival::Sync);
        atomic(Space::Shared, 0, 4, |old| old + 1);
    });
    report.assert_clean();
    assert_eq!([report.shared_requests, report.shared_wavefronts, report.shared_wavefronts_ideal], [2, 1 + 32, 2]);
}

#[test]
fn neighbouring_words_of_global_memory_fill_sectors() {
    assert_eq!(global(4, |lane| lane * 4), [1, 4, 4]);
    assert_eq!(global(4, |lane| (31 - lane) * 4), [1, 4, 4]);
    assert_eq!(global(4, |lane| lane * 4 + 4), [1, 5, 4]);
    assert_eq!(global(4, |lane| lane * 32), [1, 32, 4]);
    assert_eq!(global(4, |lane| lane * 8), [1, 8, 4]);
    assert_eq!(global(4, |_| 128), [1, 1, 1]);
    assert_eq!(global(1, |lane| lane), [1, 1, 1]);
    assert_eq!(global(16, |lane| lane * 16), [1, 16, 16]);
    assert_eq!(global(16, |lane| lane * 32), [1, 32, 16]);
    assert_eq!(global(8, |lane| lane * 1024), [1, 32, 8]);
}

#[test]
fn copies_count_on_both_sides() {
    let mut memory = GlobalMemory::new();
    let x = memory.upload(&[0_u8; 1024]);
    let launch = fringes_emulator::Launch::new("kernel()", [1, 1, 1], [32, 1, 1]).shared_bytes(512);
    let report = launch.run(&mut memory, || {
        copy_async(lane() * 16, x.address + u64::from(lane()) * 32, 16, 16);
        copy_async_wait_all();
    });
    report.assert_clean();
    assert_eq!([report.shared_requests, report.shared_wavefronts, report.shared_wavefronts_ideal], [1, 4, 4]);
    assert_eq!([report.global_requests, report.global_sectors, report.global_sectors_ideal], [1, 32, 16]);
}

/// Requests in one line.
fn line_of(report: &Report, line: u32) -> LineAccesses {
    *report.accesses.iter().find(|accesses| accesses.line == line).expect("no access in this line")
}

#[test]
fn lines_are_counted_apart_and_lanes_that_skip_one_meet_again() {
    let report = run_shared(64, 8192, || {
        for step in 0..4 {
            if step == 0 && lane() >= 16 {
                set(1024 + lane(), step);
            }
            if step > 0 || lane() < 16 {
                set(linear_index() * 2, step);
            }
            collective::<(), ()>("vote", u32::MAX, (), |_, _| [(); 32]);
        }
        get(linear_index() * 2);
    });
    let first = line!() - 9;
    // Two warps: one request each by half of the lanes; then 4 requests each, of which the first is by half of the
    // lanes.
    let [a, b] = [line_of(&report, first), line_of(&report, first + 3)];
    assert_eq!((a.kind, a.space, a.requests, a.transactions, a.ideal), (AccessKind::Store, Space::Shared, 2, 2, 2));
    assert_eq!((b.kind, b.requests, b.transactions, b.ideal), (AccessKind::Store, 8, 2 + 6 * 2, 8));
    let c = line_of(&report, first + 7);
    assert_eq!((c.kind, c.requests, c.transactions), (AccessKind::Load, 2, 4));
    assert_eq!(report.shared_requests, 12);
    let table = report.to_string();
    assert!(table.contains("wavefronts") && table.contains(&format!("{}:{first}", file!())), "{table}");
}

#[test]
fn instructions_count_by_threads_and_by_warps() {
    let mut memory = GlobalMemory::new();
    let out = memory.allocate::<u32>(80);
    let report = run(80, &mut memory, || {
        count("prmt");
        if lane() < 3 {
            count("lop3");
            count("lop3");
        }
        if linear_index() == 70 {
            count("lop3");
        }
        write(out, linear_index(), 0);
    });
    report.assert_clean();
    assert_eq!(report.count("prmt"), Count { threads: 80, warps: 3 });
    assert_eq!(report.count("lop3"), Count { threads: 19, warps: 6 });
    assert_eq!(report.count("mma"), Count::default());
}
