//! Faults of single accesses and of launches: each is found where it is, and its clean twin passes.

use crate::common;

use common::{get, only, read, run, run_shared, set, write};
use fringes_emulator::memory::{Space, atomic, load, store};
use fringes_emulator::thread::{block_index, fault, linear_index};
use fringes_emulator::{FaultKind, GlobalMemory, Launch};

#[test]
fn an_index_beyond_a_buffer_is_out_of_bounds_and_meets_no_other_buffer() {
    for index in [8_u32, 9, 4096, 1 << 28] {
        let mut memory = GlobalMemory::new();
        let x = memory.upload(&[1_u32; 8]);
        let other = memory.upload(&[2_u32; 8]);
        assert_eq!((x.address % 256, other.address % 256), (0, 0));
        let report = run(40, &mut memory, || {
            if linear_index() == 33 {
                assert_eq!(read(x, index), 0);
                write(x, index, 7);
            }
        });
        assert_eq!((report.faults.len(), report.fault_total), (2, 2));
        for (fault, line) in report.faults.iter().zip([line!() - 5, line!() - 4]) {
            assert_eq!((fault.kind, fault.thread, fault.line), (FaultKind::OutOfBounds, [33, 0, 0], line));
            assert_eq!(fault.file, file!());
            assert!(
                fault.message.contains(&format!("byte {} of a global buffer of 32 bytes", u64::from(index) * 4)),
                "{fault}"
            );
        }
        assert_eq!((memory.values(x), memory.values(other)), (vec![1; 8], vec![2; 8]));
    }
    let mut memory = GlobalMemory::new();
    let x = memory.upload(&[1_u32; 8]);
    run(40, &mut memory, || assert_eq!(read(x, 7), 1)).assert_clean();
}

#[test]
fn the_end_of_shared_memory_is_the_launch_s() {
    run_shared(1, 64, || set(15, 1)).assert_clean();
    let report = run_shared(1, 64, || set(16, 1));
    let fault = only(&report, FaultKind::OutOfBounds, 0, line!() - 1);
    assert!(fault.message.contains("shared address 64; the block has 64 bytes"), "{fault}");
    // Partly inside is out of bounds, too.
    let report = run_shared(1, 72, || store(Space::Shared, 64, &[0; 16]));
    only(&report, FaultKind::OutOfBounds, 0, line!() - 1);
}

#[test]
fn an_address_without_a_buffer_is_out_of_bounds() {
    for address in [0, 4, u64::MAX - 3] {
        let report = run(1, &mut GlobalMemory::new(), || load(Space::Global, address, &mut [0; 4]));
        only(&report, FaultKind::OutOfBounds, 0, line!() - 1);
    }
}

#[test]
fn an_address_is_a_multiple_of_the_size_of_the_access() {
    for bytes in [2, 4, 8, 16] {
        for offset in 0..=16 {
            let report = run_shared(1, 64, || store(Space::Shared, offset, &[0; 16][..bytes]));
            let line = line!() - 1;
            if (offset as usize).is_multiple_of(bytes) {
                report.assert_clean();
            } else {
                only(&report, FaultKind::Misaligned, 0, line);
            }
        }
    }
    let mut memory = GlobalMemory::new();
    let x = memory.upload(&[0_u8; 64]);
    let report = run(1, &mut memory, || load(Space::Global, x.address + 4, &mut [0; 8]));
    only(&report, FaultKind::Misaligned, 0, line!() - 1);
}

#[test]
fn shared_memory_is_read_after_it_is_written() {
    let report = run_shared(33, 8, || {
        if linear_index() == 32 {
            set(0, 1);
            get(0);
            get(1);
        }
    });
    let fault = only(&report, FaultKind::Uninitialised, 32, line!() - 3);
    assert!(fault.message.contains("byte 4 was never written"), "{fault}");
}

#[test]
fn global_memory_keeps_what_launches_wrote_and_knows_what_none_did() {
    let mut memory = GlobalMemory::new();
    let x = memory.allocate::<[u16; 2]>(3);
    run(1, &mut memory, || store(Space::Global, x.address + 4, &[1, 0, 2, 0])).assert_clean();
    assert_eq!(memory.download(x), [None, Some([1, 2]), None]);
    let second = || load(Space::Global, x.address + 4, &mut [0; 4]);
    run(1, &mut memory, second).assert_clean();
    let report = run(1, &mut memory, || load(Space::Global, x.address + 8, &mut [0; 4]));
    only(&report, FaultKind::Uninitialised, 0, line!() - 1);
    // Partly written is not written.
    let wide = memory.allocate::<u64>(1);
    run(1, &mut memory, || store(Space::Global, wide.address, &[0; 4])).assert_clean();
    assert_eq!(memory.download(wide), [None]);
}

#[test]
fn faults_repeat_once_a_line_and_are_all_counted() {
    let report = Launch::new("k()", [3, 1, 1], [8, 1, 1]).run(&mut GlobalMemory::new(), || {
        load(Space::Shared, 0, &mut [0; 4]);
        fault(FaultKind::Operand, format!("block {:?}", block_index()));
    });
    assert_eq!((report.faults.len(), report.fault_total), (2, 2 * 3 * 8));
    let text = report.faults[1].to_string();
    let line = line!() - 4;
    let place = format!("Operand in k, block [0, 0, 0], thread [0, 0, 0], at {}:{line}: block [0, 0, 0]", file!());
    assert_eq!(text, place);
}

#[test]
fn widths_of_accesses_are_those_of_instructions() {
    for bytes in [3, 5, 12, 32] {
        let report = run_shared(1, 64, || store(Space::Shared, 0, &[0; 32][..bytes]));
        only(&report, FaultKind::Operand, 0, line!() - 1);
    }
    let report = run_shared(1, 64, || {
        atomic(Space::Shared, 0, 16, |old| old);
    });
    only(&report, FaultKind::Operand, 0, line!() - 2);
}

#[test]
fn a_panic_ends_the_launch_and_drops_what_threads_hold() {
    struct Held<'a>(&'a std::cell::Cell<u32>);
    impl Drop for Held<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() - 1);
        }
    }
    let held = std::cell::Cell::new(0);
    let report = Launch::new("k()", [2, 1, 1], [64, 1, 1]).shared_bytes(4).run(&mut GlobalMemory::new(), || {
        held.set(held.get() + 1);
        let _held = Held(&held);
        if linear_index() == 40 {
            set(0, 1);
            panic!("thread {}", linear_index());
        }
        fringes_emulator::block::barrier("bar_sync", 0, None, fringes_emulator::block::Arrival::Sync);
    });
    let fault = only(&report, FaultKind::Panic, 40, line!() - 5);
    assert!(fault.message.ends_with("thread 40"), "{fault}");
    assert_eq!(held.get(), 0);
}

#[test]
fn a_launch_keeps_to_the_declaration_and_to_what_devices_take() {
    let declared = "k(x: u32) threads=64 shared_bytes=1024";
    let ran = std::cell::Cell::new(false);
    let broken = |declaration, grid, block, bytes| {
        ran.set(false);
        let launch = Launch::new(declaration, grid, block).shared_bytes(bytes);
        let line = line!() - 1;
        let report = launch.run(&mut GlobalMemory::new(), || ran.set(true));
        assert_eq!(ran.get(), report.faults.is_empty());
        assert!(report.faults.iter().all(|fault| fault.kind == FaultKind::Launch && fault.line == line));
        report.fault_total
    };
    assert_eq!(broken(declared, [1, 1, 1], [64, 1, 1], 1024), 0);
    assert_eq!(broken(declared, [1, 1, 1], [64, 1, 1], 1023), 1);
    assert_eq!(broken(declared, [1, 1, 1], [32, 2, 1], 1024), 1);
    assert_eq!(broken(declared, [1, 1, 1], [32, 1, 1], 0), 2);
    assert_eq!(broken("k() cluster=2", [3, 1, 1], [32, 1, 1], 0), 1);
    assert_eq!(broken("k() cluster=2", [4, 1, 1], [32, 1, 1], 0), 0);
    assert_eq!(broken("k() colour=2", [1, 1, 1], [32, 1, 1], 0), 1);
    assert_eq!(broken("k()", [1, 1, 1], [1025, 1, 1], 0), 1);
    assert_eq!(broken("k()", [1, 1, 1], [0, 1, 1], 0), 1);
    assert_eq!(broken("k()", [1, 65536, 1], [1, 1, 1], 0), 1);
    assert_eq!(broken("k()", [1, 0, 1], [1, 1, 1], 0), 1);
    assert_eq!(broken("k()", [1, 1, 1], [1, 1, 1], 227 * 1024 + 1), 1);
}

#[test]
fn a_seed_shows_what_depends_on_the_order_of_threads() {
    let sum = |seed| {
        let mut memory = GlobalMemory::new();
        let out = memory.upload(&[0_u32]);
        let report = Launch::new("k()", [4, 1, 1], [8, 1, 1]).seed(seed).run(&mut memory, || {
            atomic(Space::Global, out.address, 4, |old| old.wrapping_mul(31) + u64::from(linear_index()));
        });
        report.assert_clean();
        memory.values(out)[0]
    };
    assert_eq!(sum(1), sum(1));
    assert_ne!(sum(1), sum(2));
}
