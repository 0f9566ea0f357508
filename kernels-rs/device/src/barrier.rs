//! Barriers of a block and of a cluster.

#[cfg(not(target_arch = "nvptx64"))]
use fringes_emulator::block::{self, Arrival};
#[cfg(not(target_arch = "nvptx64"))]
use fringes_emulator::cluster;

intrinsic! {
    /// Waits until all threads of the block arrive; orders their memory accesses.
    ///
    /// # PTX
    /// `bar.sync 0;`
    ///
    /// # Safety
    /// Every thread of the block that has not returned executes the same instruction.
    pub unsafe fn bar_sync_0() {
        device => { crate::intrinsic::convergent(); core::arch::asm!("bar.sync 0;", options(nostack)) }
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
        device => { crate::intrinsic::convergent(); core::arch::asm!("bar.sync {0}, {1};", const ID, in(reg32) threads, options(nostack)) }
        emulator => { block::barrier("bar_sync", ID, Some(threads), Arrival::Sync); }
    }

    /// Arrives at barrier `ID`, where `threads` threads meet, and goes on. Those who wait see this thread's earlier
    /// memory accesses.
    ///
    /// # PTX
    /// `bar.arrive ID, threads;`
    ///
    /// # Safety
    /// `ID < 16`; `threads` is a multiple of 32, the same for all who meet; whole warps arrive together.
    pub unsafe fn bar_arrive<const ID: u32>(threads: u32) {
        device => { crate::intrinsic::convergent(); core::arch::asm!("bar.arrive {0}, {1};", const ID, in(reg32) threads, options(nostack)) }
        emulator => { block::barrier("bar_arrive", ID, Some(threads), Arrival::Arrive); }
    }
}

/// Reductions at the block's barrier 0 and at a named one. The twin counts `$vote` of the threads' predicates.
macro_rules! reductions {
    ($($block:ident, $named:ident, $operation:literal, $register:literal, $result:literal, $type:ty, |$d:ident| $from:expr, |$p:ident| $vote:expr, |$count:ident| $to:expr, $what:literal;)*) => { intrinsic! { $(
        #[doc = concat!("Waits until all threads of the block arrive, orders their memory accesses, and tells ", $what, ".")]
        ///
        /// # PTX
        #[doc = concat!("`bar.red.", $operation, " d, 0, predicate;`")]
        ///
        /// # Safety
        /// Every thread of the block that has not returned executes the same instruction.
        pub unsafe fn $block(predicate: bool) -> $type {
            device => {
                crate::intrinsic::convergent();
                let $d: u32;
                core::arch::asm!(concat!("{{ .reg .pred p; .reg ", $register, " d; setp.ne.u32 p, {1}, 0; bar.red.", $operation, " d, 0, p; ", $result, " }}"), out(reg32) $d, in(reg32) predicate as u32, options(nostack));
                $from
            }
            emulator => {
                let $p = predicate;
                let $count = block::barrier(stringify!($block), 0, None, Arrival::Reduce { predicate: $vote });
                $to
            }
        }

        #[doc = concat!("Waits until `threads` threads have arrived at barrier `ID`, orders their memory accesses, and tells ", $what, ".")]
        ///
        /// # PTX
        #[doc = concat!("`bar.red.", $operation, " d, ID, threads, predicate;`")]
        ///
        /// # Safety
        /// `ID < 16`; `threads` is a multiple of 32, the same for all who meet; whole warps arrive together.
        pub unsafe fn $named<const ID: u32>(threads: u32, predicate: bool) -> $type {
            device => {
                crate::intrinsic::convergent();
                let $d: u32;
                core::arch::asm!(concat!("{{ .reg .pred p; .reg ", $register, " d; setp.ne.u32 p, {1}, 0; bar.red.", $operation, " d, {2}, {3}, p; ", $result, " }}"), out(reg32) $d, in(reg32) predicate as u32, const ID, in(reg32) threads, options(nostack));
                $from
            }
            emulator => {
                let $p = predicate;
                let $count = block::barrier(stringify!($named), ID, Some(threads), Arrival::Reduce { predicate: $vote });
                $to
            }
        }
    )* } };
}

reductions! {
    bar_red_popc_u32_0, bar_red_popc_u32, "popc.u32", ".u32", "mov.u32 {0}, d;", u32, |d| d, |p| p, |count| count, "how many predicates are true";
    bar_red_and_pred_0, bar_red_and_pred, "and.pred", ".pred", "selp.u32 {0}, 1, 0, d;", bool, |d| d != 0, |p| !p, |count| count == 0, "whether all predicates are true";
    bar_red_or_pred_0, bar_red_or_pred, "or.pred", ".pred", "selp.u32 {0}, 1, 0, d;", bool, |d| d != 0, |p| p, |count| count != 0, "whether some predicate is true";
}

intrinsic! {
    /// Arrives at the cluster's barrier and goes on. Threads of the cluster that wait see this thread's earlier memory
    /// accesses.
    ///
    /// # PTX
    /// `barrier.cluster.arrive.release.aligned;` (sm_90)
    ///
    /// # Safety
    /// All threads of the warp execute it together, every thread of the cluster does so, and each waits before it
    /// arrives again.
    pub unsafe fn barrier_cluster_arrive_release_aligned() {
        device => { crate::intrinsic::convergent(); core::arch::asm!("barrier.cluster.arrive.release.aligned;", options(nostack)) }
        emulator => { cluster::arrive(true) }
    }

    /// Arrives at the cluster's barrier and goes on, without order of memory accesses.
    ///
    /// # PTX
    /// `barrier.cluster.arrive.relaxed.aligned;` (sm_90)
    ///
    /// # Safety
    /// All threads of the warp execute it together, every thread of the cluster does so, and each waits before it
    /// arrives again.
    pub unsafe fn barrier_cluster_arrive_relaxed_aligned() {
        device => { crate::intrinsic::convergent(); core::arch::asm!("barrier.cluster.arrive.relaxed.aligned;", options(nostack)) }
        emulator => { cluster::arrive(false) }
    }

    /// Waits until all threads of the cluster have arrived at its barrier.
    ///
    /// # PTX
    /// `barrier.cluster.wait.acquire.aligned;` (sm_90)
    ///
    /// # Safety
    /// All threads of the warp execute it together, each once after it arrived.
    pub unsafe fn barrier_cluster_wait_acquire_aligned() {
        device => { crate::intrinsic::convergent(); core::arch::asm!("barrier.cluster.wait.acquire.aligned;", options(nostack)) }
        emulator => { cluster::wait() }
    }
}
