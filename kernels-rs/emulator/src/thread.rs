//! What a thread knows about itself. For the twins of intrinsics.

/// `%tid`.
pub fn thread_index() -> [u32; 3] {
    unimplemented!()
}
/// `%ctaid`.
pub fn block_index() -> [u32; 3] {
    unimplemented!()
}
/// `%ntid`.
pub fn block_size() -> [u32; 3] {
    unimplemented!()
}
/// `%nctaid`.
pub fn grid_size() -> [u32; 3] {
    unimplemented!()
}
/// Linear index of the thread in its block, `x + ntid.x * (y + ntid.y * z)`.
pub fn linear_index() -> u32 {
    unimplemented!()
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
    unimplemented!()
}
/// Lanes of this warp that have not returned from the kernel yet, as a mask.
pub fn lanes_running() -> u32 {
    unimplemented!()
}
/// Dynamic shared memory of the launch, in bytes. Dynamic shared memory starts at shared address 0.
pub fn dynamic_shared_bytes() -> u32 {
    unimplemented!()
}
/// A counter that grows with every step of the emulator, for `%clock64` and `%globaltimer`.
pub fn clock() -> u64 {
    unimplemented!()
}
/// Counts one executed instruction of this name by this thread.
#[track_caller]
pub fn count(_instruction: &'static str) {
    unimplemented!()
}
/// Reports that the running thread broke a rule of the instruction it executes (bad operand, value beyond a view's length).
/// Execution goes on; the instruction's twin returns something harmless.
#[track_caller]
pub fn fault(_kind: crate::FaultKind, _message: String) {
    unimplemented!()
}
