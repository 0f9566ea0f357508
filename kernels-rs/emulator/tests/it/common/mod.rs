//! Typed loads and stores for the tests' kernels.
#![allow(unreachable_pub)] // A module of a test program.

use fringes_emulator::memory::{Space, load, store};
use fringes_emulator::{Buffer, Fault, FaultKind, GlobalMemory, Launch, Report};

/// Runs a kernel without shared memory on one block.
pub fn run(threads: u32, memory: &mut GlobalMemory, kernel: impl Fn()) -> Report {
    Launch::new("kernel()", [1, 1, 1], [threads, 1, 1]).run(memory, kernel)
}

/// Runs a kernel on one block with `bytes` of shared memory and no buffers.
pub fn run_shared(threads: u32, bytes: u32, kernel: impl Fn()) -> Report {
    Launch::new("kernel()", [1, 1, 1], [threads, 1, 1]).shared_bytes(bytes).run(&mut GlobalMemory::new(), kernel)
}

/// The only fault, of this kind, of the x-th thread, at this line.
#[track_caller]
pub fn only(report: &Report, kind: FaultKind, thread: u32, line: u32) -> &Fault {
    assert_eq!(report.faults.len(), 1, "{:#?}", report.faults);
    let fault = &report.faults[0];
    assert_eq!((fault.kind, fault.thread, fault.line), (kind, [thread, 0, 0], line), "{fault}");
    fault
}

/// Word `index` of shared memory.
#[track_caller]
pub fn get(index: u32) -> u32 {
    let mut bytes = [0; 4];
    load(Space::Shared, u64::from(index) * 4, &mut bytes);
    u32::from_le_bytes(bytes)
}

/// Sets word `index` of shared memory.
#[track_caller]
pub fn set(index: u32, value: u32) {
    store(Space::Shared, u64::from(index) * 4, &value.to_le_bytes());
}

/// Word `index` of a buffer.
#[track_caller]
pub fn read(buffer: Buffer<u32>, index: u32) -> u32 {
    let mut bytes = [0; 4];
    load(Space::Global, buffer.address + u64::from(index) * 4, &mut bytes);
    u32::from_le_bytes(bytes)
}

/// Sets word `index` of a buffer.
#[track_caller]
pub fn write(buffer: Buffer<u32>, index: u32, value: u32) {
    store(Space::Global, buffer.address + u64::from(index) * 4, &value.to_le_bytes());
}
