//! What a thread knows about itself. For the twins of intrinsics.

use std::panic::Location;

use crate::machine::with;

/// `%tid`.
pub fn thread_index() -> [u32; 3] {
    with(|m| m.threads[m.current].index)
}
/// `%ctaid`.
pub fn block_index() -> [u32; 3] {
    with(|m| m.block_of(m.current))
}
/// `%ntid`.
pub fn block_size() -> [u32; 3] {
    with(|m| m.shape.block)
}
/// `%nctaid`.
pub fn grid_size() -> [u32; 3] {
    with(|m| m.shape.grid)
}
/// Linear index of the thread in its block, `x + ntid.x * (y + ntid.y * z)`.
pub fn linear_index() -> u32 {
    with(|m| (m.current % m.block_size()) as u32)
}
/// `%laneid`: linear index modulo 32.
pub fn lane() -> u32 {
    linear_index() % 32
}
/// Number of the warp in the block (linear index / 32).
pub fn warp() -> u32 {
    linear_index() / 32
}
/// Lanes of this warp that exist (a block's last warp may be partial), as a mask.
pub fn lanes_present() -> u32 {
    with(|m| m.lanes(m.warp_start(), |_| true))
}
/// Lanes of this warp that have not returned from the kernel yet, as a mask.
pub fn lanes_running() -> u32 {
    with(|m| m.running_lanes(m.warp_start()))
}
/// Dynamic shared memory of the launch, in bytes. Dynamic shared memory starts at shared address 0.
pub fn dynamic_shared_bytes() -> u32 {
    with(|m| m.shape.shared_bytes)
}
/// A counter that grows with every step of the emulator, for `%clock64` and `%globaltimer`.
pub fn clock() -> u64 {
    with(|m| {
        m.clock += 1;
        m.clock
    })
}
/// Counts one executed instruction of this name by this thread.
#[track_caller]
pub fn count(instruction: &'static str) {
    let at = Location::caller();
    with(|m| {
        let number = m.names.number(instruction);
        let counts = &mut m.counts[m.current];
        if counts.len() <= usize::from(number) {
            counts.resize(usize::from(number) + 1, 0);
        }
        counts[usize::from(number)] += 1;
        m.clock += 1;
        let thread = m.thread();
        thread.at = at;
        thread.instruction = Some(number);
    });
}
/// Reports that the running thread broke a rule of the instruction it executes (bad operand, value beyond a view's
/// length). Execution goes on; the instruction's twin returns something harmless.
#[track_caller]
pub fn fault(kind: crate::FaultKind, message: String) {
    let at = Location::caller();
    with(|m| m.fault(kind, at, message));
}
