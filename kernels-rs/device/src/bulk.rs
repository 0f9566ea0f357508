//! Copies of many bytes between global and shared memory by one thread (`cp.async.bulk`, sm_90).
//!
//! Loads arrive on a mbarrier with their bytes; stores belong to a group of the thread that issues them.

#[cfg(not(target_arch = "nvptx64"))]
use fringes_emulator::memory;

intrinsic! {
    /// Starts loading `bytes` bytes; they arrive on `mbarrier`.
    ///
    /// # PTX
    /// `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [shared], [global], bytes, [mbarrier];`
    /// (sm_90)
    ///
    /// # Safety
    /// Both addresses and `bytes` are multiples of 16, with `bytes` bytes behind both; `mbarrier` is the shared address
    /// of a barrier object that expects them. Until they have arrived nothing uses the destination or writes the
    /// source.
    pub unsafe fn cp_async_bulk_shared_global(shared: u32, global: u64, bytes: u32, mbarrier: u32) {
        device => {
            core::arch::asm!("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{0}], [{1}], {2}, [{3}];", in(reg32) shared, in(reg64) global, in(reg32) bytes, in(reg32) mbarrier, options(nostack));
        }
        emulator => { memory::bulk_load(shared, global, bytes, mbarrier, None) }
    }

    /// Starts loading `bytes` bytes into the shared memory of several blocks of the cluster, those whose bit in `ranks`
    /// is set, at the same offset in each; they arrive on the mbarrier at the same offset in each.
    ///
    /// # PTX
    /// `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [shared], [global], bytes,
    /// [mbarrier], ranks;` (sm_90)
    ///
    /// # Safety
    /// As [`cp_async_bulk_shared_global`] in every block that receives; all of them have started and none has ended.
    pub unsafe fn cp_async_bulk_shared_global_multicast(shared: u32, global: u64, bytes: u32, mbarrier: u32, ranks: u16) {
        device => {
            core::arch::asm!("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [{0}], [{1}], {2}, [{3}], {4};", in(reg32) shared, in(reg64) global, in(reg32) bytes, in(reg32) mbarrier, in(reg16) ranks, options(nostack));
        }
        emulator => { memory::bulk_load(shared, global, bytes, mbarrier, Some(ranks)) }
    }

    /// Starts copying `bytes` bytes to the shared memory of a block of the cluster; they arrive on a mbarrier of that
    /// block.
    ///
    /// # PTX
    /// `cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [to], [from], bytes, [mbarrier];`
    /// (sm_90)
    ///
    /// # Safety
    /// `to` and `mbarrier` are cluster addresses of the same block, which has started and not ended, `from` is a shared
    /// address; `to`, `from` and `bytes` are multiples of 16. Until the bytes have arrived nothing uses the destination
    /// or writes the source.
    pub unsafe fn cp_async_bulk_shared_cluster_shared_cta(to: u32, from: u32, bytes: u32, mbarrier: u32) {
        device => {
            core::arch::asm!("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [{0}], [{1}], {2}, [{3}];", in(reg32) to, in(reg32) from, in(reg32) bytes, in(reg32) mbarrier, options(nostack));
        }
        emulator => { memory::bulk_to_cluster(to, from, bytes, mbarrier) }
    }

    /// Starts storing `bytes` bytes, as part of the thread's current group.
    ///
    /// # PTX
    /// `cp.async.bulk.global.shared::cta.bulk_group [global], [shared], bytes;` (sm_90)
    ///
    /// # Safety
    /// Both addresses and `bytes` are multiples of 16, with `bytes` bytes behind both; the source was written before a
    /// [`fence_proxy_async`](crate::fence::fence_proxy_async). Until the group has been waited for nothing writes the
    /// source or uses the destination.
    pub unsafe fn cp_async_bulk_global_shared(global: u64, shared: u32, bytes: u32) {
        device => {
            core::arch::asm!("cp.async.bulk.global.shared::cta.bulk_group [{0}], [{1}], {2};", in(reg64) global, in(reg32) shared, in(reg32) bytes, options(nostack));
        }
        emulator => { memory::bulk_store(global, shared, bytes) }
    }

    /// Starts fetching `bytes` bytes into L2.
    ///
    /// # PTX
    /// `cp.async.bulk.prefetch.L2.global [global], bytes;` (sm_90)
    ///
    /// # Safety
    /// The address and `bytes` are multiples of 16, with `bytes` bytes behind it.
    pub unsafe fn cp_async_bulk_prefetch_l2_global(global: u64, bytes: u32) {
        device => {
            core::arch::asm!("cp.async.bulk.prefetch.L2.global [{0}], {1};", in(reg64) global, in(reg32) bytes, options(nostack));
        }
        emulator => { memory::bulk_prefetch(global, bytes) }
    }

    /// Makes a group of the thread's stores that belong to none yet.
    ///
    /// # PTX
    /// `cp.async.bulk.commit_group;` (sm_90)
    ///
    /// # Safety
    /// Safe: orders the thread's own stores. An empty group is a group.
    pub fn cp_async_bulk_commit_group() {
        device => { core::arch::asm!("cp.async.bulk.commit_group;", options(nostack)); }
        emulator => { memory::bulk_commit() }
    }

    /// Waits until at most `PENDING` of the thread's newest groups are still under way; the others' bytes are in global
    /// memory.
    ///
    /// # PTX
    /// `cp.async.bulk.wait_group n;` (sm_90)
    ///
    /// # Safety
    /// Safe: waits for the thread's own stores.
    pub fn cp_async_bulk_wait_group<const PENDING: u32>() {
        device => { core::arch::asm!("cp.async.bulk.wait_group {0};", const PENDING, options(nostack)); }
        emulator => { memory::bulk_wait(PENDING, false) }
    }

    /// Waits until the sources of all but at most `PENDING` of the thread's newest groups have been read, and can be
    /// written anew.
    ///
    /// # PTX
    /// `cp.async.bulk.wait_group.read n;` (sm_90)
    ///
    /// # Safety
    /// Safe: waits for the thread's own stores.
    pub fn cp_async_bulk_wait_group_read<const PENDING: u32>() {
        device => { core::arch::asm!("cp.async.bulk.wait_group.read {0};", const PENDING, options(nostack)); }
        emulator => { memory::bulk_wait(PENDING, true) }
    }
}

macro_rules! reductions {
    ($($name:ident, $operation:literal, $size:literal, |$a:ident, $b:ident| $result:expr, $what:literal;)*) => { $(
        intrinsic! {
            #[doc = concat!("Starts replacing values in global memory by their ", $what, " with those in shared memory, as part of the thread's current group.")]
            ///
            /// # PTX
            #[doc = concat!("`cp.reduce.async.bulk.global.shared::cta.bulk_group.", $operation, " [global], [shared], bytes;` (sm_90)")]
            ///
            /// # Safety
            /// As [`cp_async_bulk_global_shared`]; each value is updated atomically.
            pub unsafe fn $name(global: u64, shared: u32, bytes: u32) {
                device => {
                    core::arch::asm!(concat!("cp.reduce.async.bulk.global.shared::cta.bulk_group.", $operation, " [{0}], [{1}], {2};"), in(reg64) global, in(reg32) shared, in(reg32) bytes, options(nostack));
                }
                emulator => { memory::bulk_reduce(global, shared, bytes, $size, |$a, $b| $result) }
            }
        }
    )* };
}

reductions! {
    cp_reduce_async_bulk_global_shared_add_u32, "add.u32", 4, |a, b| u64::from((a as u32).wrapping_add(b as u32)), "sums modulo 2^32";
    cp_reduce_async_bulk_global_shared_add_s32, "add.s32", 4, |a, b| u64::from((a as u32).wrapping_add(b as u32)), "sums modulo 2^32";
    cp_reduce_async_bulk_global_shared_add_u64, "add.u64", 8, |a, b| a.wrapping_add(b), "sums modulo 2^64";
    cp_reduce_async_bulk_global_shared_add_f32, "add.f32", 4, |a, b| u64::from((f32::from_bits(a as u32) + f32::from_bits(b as u32)).to_bits()), "sums, rounded to nearest even";
    cp_reduce_async_bulk_global_shared_min_u32, "min.u32", 4, |a, b| a.min(b), "minima";
    cp_reduce_async_bulk_global_shared_max_u32, "max.u32", 4, |a, b| a.max(b), "maxima";
    cp_reduce_async_bulk_global_shared_xor_b32, "xor.b32", 4, |a, b| a ^ b, "bitwise exclusive or";
}
