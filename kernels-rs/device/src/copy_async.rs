//! Asynchronous copies from global to shared memory, a few bytes per thread (`cp.async`), and to the L2.
//!
//! A thread starts copies, closes a group with [`cp_async_commit_group`] and waits for groups in order with
//! [`cp_async_wait_group`]; other threads see the bytes after a barrier that follows the wait.

#[cfg(not(target_arch = "nvptx64"))]
use fringes_emulator::{
    FaultKind,
    memory::{self, Space},
    thread,
};

/// Copies of a whole access and copies whose tail is zeros: one pair per cache operator and size.
macro_rules! copies {
    ($($name:ident, $name_src_size:ident, $ptx:literal, $bytes:literal, $cached:literal;)*) => {
        intrinsic! { $(
            #[doc = concat!("Starts copying ", $bytes, " bytes from global to shared memory, cached ", $cached, ".")]
            ///
            /// # PTX
            #[doc = concat!("`", $ptx, " [shared], [global], ", $bytes, ";` (sm_80)")]
            ///
            /// # Safety
            #[doc = concat!("Both addresses are multiples of ", $bytes, " with ", $bytes, " bytes behind them. Until the copy has been waited for, nothing writes the source and nothing uses the destination. (The emulator checks.)")]
            pub unsafe fn $name(shared: u32, global: u64) {
                device => {
                    core::arch::asm!(concat!($ptx, " [{0}], [{1}], ", $bytes, ";"), in(reg32) shared, in(reg64) global, options(nostack));
                }
                emulator => { memory::copy_async(shared, global, $bytes, $bytes) }
            }

            #[doc = concat!("Starts filling ", $bytes, " bytes of shared memory: `source_bytes` from global memory, cached ", $cached, ", then zeros.")]
            ///
            /// # PTX
            #[doc = concat!("`", $ptx, " [shared], [global], ", $bytes, ", source_bytes;` (sm_80)")]
            ///
            /// # Safety
            #[doc = concat!("`source_bytes <= ", $bytes, "`; both addresses are multiples of ", $bytes, "; ", $bytes, " bytes follow `shared` and `source_bytes` follow `global` (none: the address is not used). Until the copy has been waited for, nothing writes the source and nothing uses the destination. (The emulator checks.)")]
            pub unsafe fn $name_src_size(shared: u32, global: u64, source_bytes: u32) {
                device => {
                    core::arch::asm!(concat!($ptx, " [{0}], [{1}], ", $bytes, ", {2};"), in(reg32) shared, in(reg64) global, in(reg32) source_bytes, options(nostack));
                }
                emulator => {
                    if source_bytes > $bytes {
                        thread::fault(FaultKind::Operand, format!("source size {source_bytes} above the copy's {} bytes", $bytes));
                    } else {
                        memory::copy_async(shared, global, $bytes, source_bytes);
                    }
                }
            }
        )* }
    };
}

copies! {
    cp_async_ca_shared_global_4, cp_async_ca_shared_global_4_src_size, "cp.async.ca.shared.global", 4, "at all levels";
    cp_async_ca_shared_global_8, cp_async_ca_shared_global_8_src_size, "cp.async.ca.shared.global", 8, "at all levels";
    cp_async_ca_shared_global_16, cp_async_ca_shared_global_16_src_size, "cp.async.ca.shared.global", 16, "at all levels";
    cp_async_cg_shared_global_16, cp_async_cg_shared_global_16_src_size, "cp.async.cg.shared.global", 16, "in L2 only";
    cp_async_cg_shared_global_l2_128b_16, cp_async_cg_shared_global_l2_128b_16_src_size, "cp.async.cg.shared.global.L2::128B", 16, "in L2 only, with the 128 bytes around them";
    cp_async_cg_shared_global_l2_256b_16, cp_async_cg_shared_global_l2_256b_16_src_size, "cp.async.cg.shared.global.L2::256B", 16, "in L2 only, with the 256 bytes around them";
}

intrinsic! {
    /// Asks for the line of an address in the L2. How many of its bytes come, PTX does not say.
    ///
    /// # PTX
    /// `prefetch.global.L2 [address];` (sm_80)
    ///
    /// # Safety
    /// There is a byte of global memory at the address. (The emulator loads it.)
    pub unsafe fn prefetch_global_l2(address: u64) {
        device => { core::arch::asm!("prefetch.global.L2 [{0}];", in(reg64) address, options(nostack)); }
        emulator => { memory::load(Space::Global, address, &mut [0]) }
    }

    /// Makes a group of the thread's copies that belong to none yet.
    ///
    /// # PTX
    /// `cp.async.commit_group;` (sm_80)
    ///
    /// # Safety
    /// Safe: orders the thread's own copies. An empty group is a group.
    pub fn cp_async_commit_group() {
        device => { core::arch::asm!("cp.async.commit_group;", options(nostack)); }
        emulator => { memory::copy_async_commit() }
    }

    /// Waits until at most `PENDING` of the thread's newest groups are still under way. The bytes of the others can be
    /// read by this thread, and by others after a barrier.
    ///
    /// # PTX
    /// `cp.async.wait_group n;` (sm_80)
    ///
    /// # Safety
    /// Safe: waits for the thread's own copies.
    pub fn cp_async_wait_group<const PENDING: u32>() {
        device => { core::arch::asm!("cp.async.wait_group {0};", const PENDING, options(nostack)); }
        emulator => { memory::copy_async_wait(PENDING) }
    }

    /// Waits for all the thread's copies, those without a group too.
    ///
    /// # PTX
    /// `cp.async.wait_all;` (sm_80)
    ///
    /// # Safety
    /// Safe: waits for the thread's own copies.
    pub fn cp_async_wait_all() {
        device => { core::arch::asm!("cp.async.wait_all;", options(nostack)); }
        emulator => {
            memory::copy_async_commit();
            memory::copy_async_wait(0);
        }
    }

    /// Arrives on a mbarrier once the thread's earlier copies are complete. The pending count of the phase rises by one
    /// with the instruction and falls by one with the arrival: the count given at initialisation does not include it.
    ///
    /// # PTX
    /// `cp.async.mbarrier.arrive.shared.b64 [mbarrier];` (sm_80)
    ///
    /// # Safety
    /// `mbarrier` is the shared address of an initialised mbarrier.
    pub unsafe fn cp_async_mbarrier_arrive_shared_b64(mbarrier: u32) {
        device => { core::arch::asm!("cp.async.mbarrier.arrive.shared.b64 [{0}];", in(reg32) mbarrier, options(nostack)); }
        emulator => { memory::copy_async_arrive(mbarrier, false) }
    }

    /// Arrives on a mbarrier once the thread's earlier copies are complete: one of the arrivals that its count expects.
    ///
    /// # PTX
    /// `cp.async.mbarrier.arrive.noinc.shared.b64 [mbarrier];` (sm_80)
    ///
    /// # Safety
    /// `mbarrier` is the shared address of an initialised mbarrier.
    pub unsafe fn cp_async_mbarrier_arrive_noinc_shared_b64(mbarrier: u32) {
        device => { core::arch::asm!("cp.async.mbarrier.arrive.noinc.shared.b64 [{0}];", in(reg32) mbarrier, options(nostack)); }
        emulator => { memory::copy_async_arrive(mbarrier, true) }
    }
}
