//! Barriers of a block and of a cluster.

#[cfg(not(target_arch = "nvptx64"))]
use fringes_emulator::block::{self, Arrival};

intrinsic! {
    /// Waits until all threads of the block arrive; orders their memory accesses.
    ///
    /// # PTX
    /// `bar.sync 0;`
    ///
    /// # Safety
    /// Every thread of the block that has not returned executes the same instruction.
    pub unsafe fn bar_sync_0() {
        device => { core::arch::asm!("bar.sync 0;", options(nostack)) }
        emulator => { block::barrier("bar_sync_0", 0, None, Arrival::Sync); }
    }

    /// Waits until `threads` threads have arrived at barrier `ID`; orders their memory accesses.
    ///
    /// # PTX
    /// `bar.sync ID, threads;`
    ///
    /// # Safety
    /// `ID < 16`; `threads` is a multiple of 32, the same for all who meet; whole warps arrive together.
    pub unsafe fn bar_sync<const ID: u32>(threads: u32) {
        device => { core::arch::asm!("bar.sync {0}, {1};", const ID, in(reg32) threads, options(nostack)) }
        emulator => { block::barrier("bar_sync", ID, Some(threads), Arrival::Sync); }
    }

    /// Arrives at barrier `ID`, where `threads` threads meet, and goes on. Those who wait see this thread's earlier memory accesses.
    ///
    /// # PTX
    /// `bar.arrive ID, threads;`
    ///
    /// # Safety
    /// `ID < 16`; `threads` is a multiple of 32, the same for all who meet; whole warps arrive together.
    pub unsafe fn bar_arrive<const ID: u32>(threads: u32) {
        device => { core::arch::asm!("bar.arrive {0}, {1};", const ID, in(reg32) threads, options(nostack)) }
        emulator => { block::barrier("bar_arrive", ID, Some(threads), Arrival::Arrive); }
    }
}
