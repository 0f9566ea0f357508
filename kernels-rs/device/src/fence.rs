//! Fences: order between the accesses of one thread, as other threads see them.
//!
//! In the emulator each of those that order generic accesses is one kind of fence, the strongest. Those against the
//! asynchronous proxy show what the thread has written to bulk copies, tensor copies and `wgmma`, which need a barrier
//! besides.

#[cfg(not(target_arch = "nvptx64"))]
use fringes_emulator::memory::{self, Space};

macro_rules! fences {
    ($($name:ident, $ptx:literal, $sm:literal, $twin:expr, $what:literal;)*) => { $(
        intrinsic! {
            #[doc = $what]
            ///
            /// # PTX
            #[doc = concat!("`", $ptx, ";` (", $sm, ")")]
            ///
            /// # Safety
            /// Safe: orders the thread's own accesses.
            pub fn $name() {
                device => { core::arch::asm!(concat!($ptx, ";"), options(nostack)); }
                emulator => { $twin }
            }
        }
    )* };
}

fences! {
    membar_cta, "membar.cta", "sm_80", memory::fence(), "The thread's earlier accesses come before its later ones, for the threads of the block.";
    membar_gl, "membar.gl", "sm_80", memory::fence(), "The thread's earlier accesses come before its later ones, for the threads of the device.";
    membar_sys, "membar.sys", "sm_80", memory::fence(), "The thread's earlier accesses come before its later ones, for the host and other devices too.";
    fence_acq_rel_cta, "fence.acq_rel.cta", "sm_80", memory::fence(), "Acquires and releases, among the threads of the block.";
    fence_acq_rel_gpu, "fence.acq_rel.gpu", "sm_80", memory::fence(), "Acquires and releases, among the threads of the device.";
    fence_acq_rel_sys, "fence.acq_rel.sys", "sm_80", memory::fence(), "Acquires and releases, with the host and other devices too.";
    fence_acq_rel_cluster, "fence.acq_rel.cluster", "sm_90", memory::fence(), "Acquires and releases, among the threads of the cluster.";
    fence_sc_cta, "fence.sc.cta", "sm_80", memory::fence(), "As `fence.acq_rel`, and in one order with all such fences, among the threads of the block.";
    fence_sc_gpu, "fence.sc.gpu", "sm_80", memory::fence(), "As `fence.acq_rel`, and in one order with all such fences, among the threads of the device.";
    fence_proxy_async, "fence.proxy.async", "sm_90", memory::fence_proxy_async(None), "Orders the thread's accesses to memory against those of bulk copies, tensor copies and `wgmma`.";
    fence_proxy_async_shared_cta, "fence.proxy.async.shared::cta", "sm_90", memory::fence_proxy_async(Some(Space::Shared)), "Orders the thread's accesses to the block's shared memory against those of bulk copies, tensor copies and `wgmma`.";
    fence_proxy_async_global, "fence.proxy.async.global", "sm_90", memory::fence_proxy_async(Some(Space::Global)), "Orders the thread's accesses to global memory against those of bulk and tensor copies.";
    fence_mbarrier_init_release_cluster, "fence.mbarrier_init.release.cluster", "sm_90", memory::fence_mbarrier_init(), "Has the thread's `mbarrier.init`s come before what the threads of the cluster and asynchronous copies do after they synchronise with it.";
}
