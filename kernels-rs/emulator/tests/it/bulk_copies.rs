//! Bulk and tensor copies: what they move, and what is found when they are used before they are there.

use crate::common;

use common::{get, only, read, set, write};
use fringes_emulator::block::{
    Arrival, barrier, mbarrier_arrive, mbarrier_expect_bytes, mbarrier_init, mbarrier_test_wait_parity,
};
use fringes_emulator::memory::{
    Space, bulk_commit, bulk_load, bulk_reduce, bulk_store, bulk_wait, fence_mbarrier_init, fence_proxy_async,
    tensor_load, tensor_store,
};
use fringes_emulator::thread::linear_index;
use fringes_emulator::{Buffer, FaultKind, GlobalMemory, Launch, Report, TensorLayout};

/// Shared address of the mbarrier.
const MBARRIER: u32 = 4096;

#[track_caller]
fn sync_threads() {
    barrier("bar_sync", 0, None, Arrival::Sync);
}

#[track_caller]
fn wait(mbarrier: u32, parity: u32) {
    while !mbarrier_test_wait_parity(mbarrier, parity) {}
}

/// An mbarrier with one arrival to come, for all threads and for copies.
#[track_caller]
fn mbarrier() {
    if linear_index() == 0 {
        mbarrier_init(MBARRIER, 1);
        fence_mbarrier_init();
    }
    sync_threads();
}

/// Runs a kernel of 64 threads with 8 KiB of shared memory on two buffers of the words 0 to 1023.
fn on(kernel: impl Fn(Buffer<u32>, Buffer<u32>)) -> Report {
    let mut memory = GlobalMemory::new();
    let words = (0..1024).collect::<Vec<u32>>();
    let (x, y) = (memory.upload(&words), memory.upload(&words));
    Launch::new("kernel()", [1; 3], [64, 1, 1]).shared_bytes(8192).run(&mut memory, || kernel(x, y))
}

/// Thread 0 has the phase expect `expected` bytes, arrives, and loads the first 256 bytes.
#[track_caller]
fn load_words(x: Buffer<u32>, expected: u32) {
    if linear_index() == 0 {
        mbarrier_expect_bytes(MBARRIER, expected);
        mbarrier_arrive(MBARRIER, 1, false);
        bulk_load(0, x.address, 256, MBARRIER, None);
    }
}

#[test]
fn a_load_is_not_used_before_its_phase_completes() {
    let kernel = |waits: bool| {
        move |x, _| {
            mbarrier();
            load_words(x, 256);
            if waits {
                wait(MBARRIER, 0);
            }
            if linear_index() == 40 {
                assert_eq!(get(40), 40);
            }
            wait(MBARRIER, 0);
        }
    };
    let line = line!() - 5;
    on(kernel(true)).assert_clean();
    let report = on(kernel(false));
    let fault = only(&report, FaultKind::AsynchronousCopy, 40, line);
    assert!(fault.message.contains("nothing waits for it"), "{fault}");
}

#[test]
fn a_barrier_of_the_block_does_not_wait_for_a_load() {
    let report = on(|x, _| {
        mbarrier();
        load_words(x, 256);
        sync_threads();
        get(linear_index());
        wait(MBARRIER, 0);
    });
    only(&report, FaultKind::AsynchronousCopy, 0, line!() - 3);
    // One thread's wait and a barrier after it are enough.
    let report = on(|x, _| {
        mbarrier();
        load_words(x, 256);
        if linear_index() == 9 {
            wait(MBARRIER, 0);
        }
        sync_threads();
        get(linear_index());
    });
    report.assert_clean();
}

#[test]
fn a_destination_is_not_overwritten_while_the_load_is_under_way() {
    let report = on(|x, _| {
        mbarrier();
        load_words(x, 256);
        if linear_index() == 0 {
            set(3, 7);
        }
        wait(MBARRIER, 0);
    });
    only(&report, FaultKind::AsynchronousCopy, 0, line!() - 4);
    // Nor by another load.
    let report = on(|x, _| {
        mbarrier();
        load_words(x, 512);
        if linear_index() == 0 {
            bulk_load(128, x.address, 256, MBARRIER, None);
        }
        wait(MBARRIER, 0);
    });
    only(&report, FaultKind::AsynchronousCopy, 0, line!() - 4);
}

#[test]
fn a_source_is_not_written_while_the_load_is_under_way() {
    let kernel = |waits: bool| {
        move |x, _| {
            mbarrier();
            load_words(x, 256);
            if waits {
                wait(MBARRIER, 0);
            }
            if linear_index() == 0 {
                write(x, 5, 9);
            }
            wait(MBARRIER, 0);
        }
    };
    let line = line!() - 5;
    on(kernel(true)).assert_clean();
    only(&on(kernel(false)), FaultKind::AsynchronousCopy, 0, line);
}

#[test]
fn a_wrong_byte_count_is_found() {
    let kernel = |expected: u32| {
        move |x, _| {
            mbarrier();
            load_words(x, expected);
            wait(MBARRIER, 0);
        }
    };
    let line = line!() - 4;
    on(kernel(256)).assert_clean();
    let report = on(kernel(240));
    let fault = report.faults.iter().find(|fault| fault.kind == FaultKind::ByteCount).expect("a wrong byte count");
    assert!(fault.message.contains("copies bring 256 bytes to phase 0"), "{fault}");
    assert!(fault.message.contains("expects 240"), "{fault}");
    // More than comes: the phase never completes.
    let report = on(kernel(272));
    let fault = report.faults.iter().find(|fault| fault.kind == FaultKind::ByteCount).expect("a wrong byte count");
    assert!(fault.message.contains("expects 272 bytes; copies bring 256"), "{fault}");
    assert!(report.faults.iter().any(|fault| fault.kind == FaultKind::Barrier && fault.line == line + 1), "{report}");
    // More than a phase can expect.
    let report = on(|_, _| {
        mbarrier();
        if linear_index() == 0 {
            mbarrier_expect_bytes(MBARRIER, 1 << 20);
        }
    });
    assert!(report.found(FaultKind::Operand) && report.found(FaultKind::ByteCount), "{report}");
}

#[test]
fn a_load_that_no_one_waits_for_is_found() {
    let report = on(|x, _| {
        mbarrier();
        load_words(x, 256);
    });
    assert_eq!(report.faults.len(), 1, "{report}");
    assert_eq!(report.faults[0].kind, FaultKind::AsynchronousCopy);
    assert!(report.faults[0].message.contains("256 bytes never waited for"), "{report}");
}

#[test]
fn copies_arrive_on_mbarriers_that_are_fenced_after_their_initialisation() {
    let report = on(|x, _| {
        if linear_index() == 0 {
            mbarrier_init(MBARRIER, 1);
        }
        sync_threads();
        load_words(x, 256);
        wait(MBARRIER, 0);
    });
    assert_eq!(report.faults.len(), 1, "{report}");
    assert_eq!(report.faults[0].kind, FaultKind::Proxy);
}

/// A producer thread loads four stages through two buffers of 256 bytes; a warp reads them.
fn pipeline(waits_for_empty: bool, waits_for_full: bool) -> Report {
    const STAGES: u32 = 4;
    let (full, empty) = (MBARRIER, MBARRIER + 16);
    on(|x, y| {
        let thread = linear_index();
        if thread == 0 {
            for i in 0..2 {
                mbarrier_init(full + 8 * i, 1);
                mbarrier_init(empty + 8 * i, 32);
            }
            fence_mbarrier_init();
        }
        sync_threads();
        for stage in 0..STAGES {
            let (slot, parity) = (stage % 2, stage / 2 % 2);
            if thread == 0 {
                if waits_for_empty {
                    wait(empty + 8 * slot, parity ^ 1);
                }
                mbarrier_expect_bytes(full + 8 * slot, 256);
                mbarrier_arrive(full + 8 * slot, 1, false);
                bulk_load(256 * slot, x.address + 256 * u64::from(stage), 256, full + 8 * slot, None);
            } else if thread >= 32 {
                if waits_for_full {
                    wait(full + 8 * slot, parity);
                }
                let i = thread - 32;
                let word = get(64 * slot + i);
                write(y, 32 * stage + i, word);
                mbarrier_arrive(empty + 8 * slot, 1, false);
            }
        }
    })
}

#[test]
fn a_pipeline_through_two_buffers_is_clean_and_each_missing_wait_is_found() {
    pipeline(true, true).assert_clean();
    assert!(!pipeline(false, true).faults.is_empty());
    assert!(pipeline(true, false).found(FaultKind::AsynchronousCopy));
}

/// Threads write 256 bytes, thread 0 stores them to `x`.
fn store_words(x: Buffer<u32>, fences: bool, syncs: bool) {
    set(linear_index(), 100 + linear_index());
    if fences {
        fence_proxy_async(Some(Space::Shared));
    }
    if syncs {
        sync_threads();
    }
    if linear_index() == 0 {
        bulk_store(x.address, 0, 256);
        bulk_commit();
    }
}

#[test]
fn what_threads_wrote_is_stored_after_a_fence_and_a_barrier() {
    let kernel = |fences: bool, syncs: bool| {
        move |x, _| {
            store_words(x, fences, syncs);
            if linear_index() == 0 {
                bulk_wait(0, false);
                for i in 0..64 {
                    assert_eq!(read(x, i), 100 + i);
                }
            }
        }
    };
    on(kernel(true, true)).assert_clean();
    let report = on(kernel(false, true));
    assert_eq!(report.faults.len(), 1, "{report}");
    assert_eq!((report.faults[0].kind, report.faults[0].thread), (FaultKind::Proxy, [0; 3]), "{report}");
    assert!(!on(|x, _| store_words(x, true, false)).faults.is_empty());
    // A fence for the other space does not help, nor one before the write.
    let report = on(|x, _| {
        fence_proxy_async(None);
        set(linear_index(), 1);
        fence_proxy_async(Some(Space::Global));
        sync_threads();
        if linear_index() == 0 {
            bulk_store(x.address, 0, 256);
            bulk_commit();
            bulk_wait(0, false);
        }
    });
    only(&report, FaultKind::Proxy, 0, line!() - 5);
}

#[test]
fn a_store_is_waited_for_before_its_memory_is_used() {
    // The source, after a wait for reads; the destination, after a wait for all.
    let kernel = |writes_source: bool, waits: Option<bool>| {
        move |x, _| {
            store_words(x, true, true);
            if linear_index() == 0 {
                if let Some(read) = waits {
                    bulk_wait(0, read);
                }
                if writes_source {
                    set(1, 1);
                } else {
                    read(x, 1);
                }
                bulk_wait(0, false);
            }
        }
    };
    let line = line!() - 8;
    on(kernel(true, Some(true))).assert_clean();
    on(kernel(true, Some(false))).assert_clean();
    on(kernel(false, Some(false))).assert_clean();
    only(&on(kernel(true, None)), FaultKind::AsynchronousCopy, 0, line);
    only(&on(kernel(false, None)), FaultKind::AsynchronousCopy, 0, line + 2);
    only(&on(kernel(false, Some(true))), FaultKind::AsynchronousCopy, 0, line + 2);
    // The end of the kernel waits for the writes of a store, not for its reads.
    let ends = |waits: bool| {
        move |x, _| {
            store_words(x, true, true);
            if waits && linear_index() == 0 {
                bulk_wait(0, true);
            }
        }
    };
    on(ends(true)).assert_clean();
    assert!(on(ends(false)).found(FaultKind::AsynchronousCopy));
}

#[test]
fn groups_of_stores_complete_in_order() {
    let kernel = |pending: u32| {
        move |x: Buffer<u32>, _| {
            set(linear_index(), linear_index());
            fence_proxy_async(None);
            sync_threads();
            if linear_index() == 0 {
                for group in 0..4 {
                    bulk_store(x.address + 16 * group, 16 * group as u32, 16);
                    bulk_commit();
                }
                bulk_wait(pending, true);
                set(4, 9);
                bulk_wait(0, true);
            }
        }
    };
    on(kernel(2)).assert_clean();
    assert!(on(kernel(3)).found(FaultKind::AsynchronousCopy));
}

#[test]
fn reductions_combine_with_what_is_there() {
    let mut memory = GlobalMemory::new();
    let x = memory.upload(&[10_u64, 20, u64::MAX, 40]);
    let report = Launch::new("kernel()", [1; 3], [1, 1, 1]).shared_bytes(64).run(&mut memory, || {
        for i in 0..8 {
            set(i, u32::from(i % 2 == 0) * (i + 1));
        }
        fence_proxy_async(None);
        bulk_reduce(x.address, 0, 32, 8, u64::wrapping_add);
        bulk_commit();
        bulk_wait(0, false);
    });
    report.assert_clean();
    assert_eq!(memory.values(x), [11, 23, 4, 47]);
}

#[test]
fn operands_of_bulk_copies_are_checked() {
    let find = |kind, shared: u32, offset: u64, bytes: u32| {
        let report = on(|x, _| {
            mbarrier();
            if linear_index() == 0 {
                bulk_load(shared, x.address + offset, bytes, MBARRIER, None);
            }
        });
        only(&report, kind, 0, line!() - 3);
    };
    find(FaultKind::Misaligned, 8, 0, 16);
    find(FaultKind::Misaligned, 0, 8, 16);
    find(FaultKind::Misaligned, 0, 0, 8);
    find(FaultKind::OutOfBounds, 8192 - 16, 0, 32);
    find(FaultKind::OutOfBounds, 0, 4096 - 16, 32);
}

/// Byte `i` of the tensors below.
fn byte(i: usize) -> u8 {
    (i * 7 + i / 256 * 13) as u8
}

/// Loads a box of a tensor of bytes of `dimensions`; the shared memory that it fills.
fn loaded(layout: &TensorLayout, coordinates: &[i32], expected: u32) -> (Vec<u8>, Report) {
    let mut memory = GlobalMemory::new();
    let bytes: u64 = layout.dimensions.iter().product::<u64>() * layout.element_bytes;
    let x = memory.upload(&(0..bytes as usize).map(byte).collect::<Vec<u8>>());
    let out = memory.upload(&vec![0_u32; layout.block_bytes() as usize / 4]);
    let map = memory.map_tensor(x, layout);
    let report = Launch::new("kernel()", [1; 3], [32, 1, 1]).shared_bytes(8192).run(&mut memory, || {
        mbarrier();
        if linear_index() == 0 {
            mbarrier_expect_bytes(MBARRIER, expected);
            mbarrier_arrive(MBARRIER, 1, false);
            tensor_load(1024, map.address, coordinates, MBARRIER, None);
        }
        wait(MBARRIER, 0);
        for i in (linear_index()..out.len as u32).step_by(32) {
            write(out, i, get(256 + i));
        }
    });
    (memory.values(out).into_iter().flat_map(u32::to_le_bytes).collect(), report)
}

#[test]
fn boxes_are_loaded_with_every_permutation() {
    for (swizzle, row) in [(0, 48), (32, 32), (64, 64), (128, 128)] {
        let layout = TensorLayout::packed(1, &[256, 20], &[row, 16]).with_swizzle(swizzle);
        let (got, report) = loaded(&layout, &[64, 3], 16 * row);
        report.assert_clean();
        for (place, got) in got.into_iter().enumerate() {
            // The permutation on addresses: bits 4.. by bits 7.., as many as the span has beyond 16 bytes.
            let offset = match swizzle {
                0 => place,
                _ => place ^ ((place >> 7 & (swizzle as usize / 16 - 1)) << 4),
            };
            let (line, column) = (offset / row as usize, offset % row as usize);
            assert_eq!(got, byte(256 * (3 + line) + 64 + column), "span {swizzle}, byte {place}");
        }
    }
}

#[test]
fn what_lies_outside_of_a_tensor_is_zeros_and_counts() {
    let layout = TensorLayout::packed(2, &[16, 6, 3], &[16, 4, 2]);
    for coordinates in [[8, 4, 2], [-8, -2, -1], [0, 0, 0], [16, 0, 0], [0, -7, 0]] {
        let (got, report) = loaded(&layout, &coordinates, 256);
        report.assert_clean();
        for (i, &got) in got.iter().enumerate() {
            let element = i / 2;
            let place = [element % 16, element / 16 % 4, element / 64];
            let at: [i64; 3] = std::array::from_fn(|axis| i64::from(coordinates[axis]) + place[axis] as i64);
            let inside = at.iter().zip(&layout.dimensions).all(|(at, size)| (0..*size as i64).contains(at));
            let index = 2 * (at[0] + 16 * (at[1] + 6 * at[2])) + (i % 2) as i64;
            assert_eq!(got, if inside { byte(index as usize) } else { 0 }, "{coordinates:?}, byte {i}");
        }
    }
    // The bytes of the whole box are expected, not those inside alone.
    assert!(loaded(&layout, &[8, 4, 2], 64).1.found(FaultKind::ByteCount));
}

#[test]
fn boxes_are_stored_without_what_lies_outside() {
    for swizzle in [0, 32, 64, 128] {
        let row = if swizzle == 0 { 16 } else { swizzle / 4 };
        let mut memory = GlobalMemory::new();
        let x = memory.upload(&vec![7_u32; 64 * 10]);
        let map = memory.map_tensor(x, &TensorLayout::packed(4, &[64, 10], &[row, 4]).with_swizzle(swizzle));
        let (column, line) = (64 - row / 2, 8);
        let report = Launch::new("kernel()", [1; 3], [1, 1, 1]).shared_bytes(4096).run(&mut memory, || {
            for i in 0..4 * row {
                set(256 + i, i);
            }
            fence_proxy_async(None);
            tensor_store(map.address, &[column as i32, line], 1024);
            bulk_commit();
            bulk_wait(0, false);
        });
        report.assert_clean();
        for (i, value) in memory.values(x).into_iter().enumerate() {
            let (i, line) = (i as u32, line as u32);
            let inside = i / 64 >= line && i % 64 >= column;
            let expected = if inside {
                let place = 4 * ((i / 64 - line) * row + i % 64 - column);
                let mask = if swizzle == 0 { 0 } else { swizzle / 16 - 1 };
                (place ^ (place >> 7 & mask) << 4) / 4
            } else {
                7
            };
            assert_eq!(value, expected, "span {swizzle}, word {i}");
        }
    }
}

#[test]
fn operands_of_tensor_copies_are_checked() {
    let find = |kind, shared: u32, coordinates: &[i32], stores: bool| {
        let mut memory = GlobalMemory::new();
        let x = memory.upload(&vec![0_u8; 256 * 16]);
        let map = memory.map_tensor(x, &TensorLayout::packed(1, &[256, 16], &[128, 8]).with_swizzle(128));
        let report = Launch::new("kernel()", [1; 3], [32, 1, 1]).shared_bytes(8192).run(&mut memory, || {
            mbarrier();
            if linear_index() == 0 && stores {
                tensor_store(map.address, coordinates, shared);
            } else if linear_index() == 0 {
                tensor_load(shared, map.address, coordinates, MBARRIER, None);
            }
        });
        only(&report, kind, 0, if stores { line!() - 5 } else { line!() - 3 });
    };
    find(FaultKind::Misaligned, 128, &[0, 0], false);
    find(FaultKind::OutOfBounds, 8192, &[0, 0], false);
    find(FaultKind::Operand, 0, &[8, 0], false);
    find(FaultKind::Operand, 0, &[0, 0, 0], false);
    find(FaultKind::Operand, 0, &[-16, 0], true);
    let report = on(|_, _| {
        mbarrier();
        if linear_index() == 0 {
            tensor_load(0, 128, &[0], MBARRIER, None);
        }
    });
    only(&report, FaultKind::Operand, 0, line!() - 3);
}

#[test]
fn layouts_that_the_hardware_refuses_are_refused() {
    let refused = |layout: &TensorLayout| {
        let mut memory = GlobalMemory::new();
        let x = memory.upload(&vec![0_u8; 4096]);
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| memory.map_tensor(x, layout))).is_err()
    };
    assert!(!refused(&TensorLayout::packed(1, &[256, 16], &[128, 8])));
    assert!(refused(&TensorLayout::packed(1, &[256, 17], &[128, 8])));
    assert!(refused(&TensorLayout::packed(1, &[250, 16], &[128, 8])));
    assert!(refused(&TensorLayout::packed(1, &[256, 16], &[8, 8])));
    assert!(refused(&TensorLayout::packed(1, &[256, 16], &[256, 257])));
    assert!(refused(&TensorLayout::packed(1, &[256, 16], &[128, 8]).with_swizzle(64)));
    assert!(refused(&TensorLayout::packed(3, &[64, 16], &[16, 8])));
}
