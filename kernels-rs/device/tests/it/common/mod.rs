//! One warp or one block in the emulator, and a generator of words.
#![allow(unreachable_pub)] // A module of a test program.

use std::cell::RefCell;

use fringes_emulator::{GlobalMemory, Launch, Report};

/// Lanes of a warp.
pub const LANES: usize = 32;

/// Runs `kernel(thread)` on a block of `threads`; what each thread gives, and the report.
pub fn block<T: Copy>(threads: usize, shared_bytes: u32, kernel: impl Fn(usize) -> T) -> (Vec<Option<T>>, Report) {
    let results = RefCell::new(vec![None; threads]);
    let report = Launch::new("kernel()", [1; 3], [threads as u32, 1, 1]).shared_bytes(shared_bytes).run(
        &mut GlobalMemory::new(),
        || {
            let thread = fringes_device::index::tid_x() as usize;
            let result = kernel(thread);
            results.borrow_mut()[thread] = Some(result);
        },
    );
    (results.into_inner(), report)
}

/// Runs `kernel(lane)` on one warp without faults: what each lane gives.
pub fn warp<T: Copy>(shared_bytes: u32, kernel: impl Fn(usize) -> T) -> Vec<T> {
    let (results, report) = block(LANES, shared_bytes, kernel);
    report.assert_clean();
    results.into_iter().map(|result| result.expect("the lane ran to its end")).collect()
}

/// What `kernel` gives on one thread, without faults.
pub fn thread<T: Copy>(kernel: impl Fn() -> T) -> T {
    let (results, report) = block(1, 0, |_| kernel());
    report.assert_clean();
    results[0].expect("the thread ran to its end")
}

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn word(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 32) as u32
    }

    pub fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(self.word()) * u64::from(bound)) >> 32) as u32
    }
}
