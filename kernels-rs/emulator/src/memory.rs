//! Shared and global memory. For the twins of intrinsics.
//!
//! Shared addresses are byte offsets from the start of the block's dynamic shared memory. Global addresses are those of the
//! buffers of a [`GlobalMemory`](crate::GlobalMemory).

/// A state space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    /// A block's shared memory.
    Shared,
    /// Memory of the device.
    Global,
}

/// Loads `bytes.len()` bytes (1, 2, 4, 8 or 16) from `address`, which must be a multiple of that length. On a fault zeros come.
#[track_caller]
pub fn load(space: Space, address: u64, bytes: &mut [u8]) {
    let _ = (space, address, bytes);
    unimplemented!()
}
/// Stores, as [`load`]. On a fault nothing is stored.
#[track_caller]
pub fn store(space: Space, address: u64, bytes: &[u8]) {
    let _ = (space, address, bytes);
    unimplemented!()
}
/// An atomic read-modify-write of a word of 2, 4 or 8 bytes: stores `update(old)` and returns `old`.
#[track_caller]
pub fn atomic(space: Space, address: u64, bytes: usize, update: impl FnOnce(u64) -> u64) -> u64 {
    let _ = (space, address, bytes, update(0));
    unimplemented!()
}
/// `fence.acq_rel` / `membar`: orders this thread's accesses (with atomics, other threads may synchronise through them).
#[track_caller]
pub fn fence() {
    unimplemented!()
}
/// `cp.async`: copies `source_bytes` of the `bytes` (4, 8, 16) from global to shared memory, zeros for the rest, not before the
/// copy is committed and waited for is the result there to be read.
#[track_caller]
pub fn copy_async(shared: u32, global: u64, bytes: u32, source_bytes: u32) {
    let _ = (shared, global, bytes, source_bytes);
    unimplemented!()
}
/// `cp.async.commit_group`.
#[track_caller]
pub fn copy_async_commit() {
    unimplemented!()
}
/// `cp.async.wait_group`: until at most `pending` of this thread's newest groups are pending.
#[track_caller]
pub fn copy_async_wait(pending: u32) {
    let _ = pending;
    unimplemented!()
}
/// `cp.async.mbarrier.arrive`: arrives on the mbarrier when this thread's earlier copies are complete. `noinc`: as the PTX suffix.
#[track_caller]
pub fn copy_async_arrive(mbarrier: u32, noinc: bool) {
    let _ = (mbarrier, noinc);
    unimplemented!()
}
