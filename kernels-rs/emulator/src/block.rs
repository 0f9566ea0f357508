//! Barriers of a block. For the twins of intrinsics.

/// What a thread does at a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// `bar.sync`: arrives and waits.
    Sync,
    /// `bar.arrive`: arrives and goes on.
    Arrive,
    /// `bar.red`: arrives, waits, and learns how many arriving threads had a true predicate.
    Reduce {
        /// This thread's predicate.
        predicate: bool,
    },
}

/// Hardware barrier `id` (0..16) with `threads` participants (`None`: all threads of the block). Returns the number of true predicates
/// for [`Arrival::Reduce`], else 0. Orders the memory accesses of the participants.
#[track_caller]
pub fn barrier(name: &'static str, id: u32, threads: Option<u32>, arrival: Arrival) -> u32 {
    let _ = (name, id, threads, arrival);
    unimplemented!()
}

/// `mbarrier.init` of the 8-byte object at shared address `address` with `count` expected arrivals.
#[track_caller]
pub fn mbarrier_init(address: u32, count: u32) {
    let _ = (address, count);
    unimplemented!()
}
/// `mbarrier.inval`.
#[track_caller]
pub fn mbarrier_inval(address: u32) {
    let _ = address;
    unimplemented!()
}
/// `mbarrier.arrive`: `count` arrivals; returns the phase's token. With `drop`, as `mbarrier.arrive_drop`.
#[track_caller]
pub fn mbarrier_arrive(address: u32, count: u32, drop: bool) -> u64 {
    let _ = (address, count, drop);
    unimplemented!()
}
/// `mbarrier.test_wait`: has the phase of `token` completed? Acquires if so. Lets other threads run.
#[track_caller]
pub fn mbarrier_test_wait(address: u32, token: u64) -> bool {
    let _ = (address, token);
    unimplemented!()
}
/// `mbarrier.test_wait.parity`: has the phase of this parity (0 or 1) completed? Acquires if so. Lets other threads run.
#[track_caller]
pub fn mbarrier_test_wait_parity(address: u32, parity: u32) -> bool {
    let _ = (address, parity);
    unimplemented!()
}
