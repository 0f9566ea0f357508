//! Barrier objects in shared memory (`mbarrier`): 8 bytes, any threads arrive, any threads wait, phase after phase.
//!
//! A phase completes when as many arrivals as its count have come, and all bytes that it expects (`expect_tx`). A
//! thread waits for the phase of a token that its arrival gave, or for the phase of a parity: 0 for the first, 1 for
//! the second, and so on in turn.

#[cfg(not(target_arch = "nvptx64"))]
use fringes_emulator::block;

intrinsic! {
    /// Makes a barrier object whose phases expect `count` arrivals.
    ///
    /// # PTX
    /// `mbarrier.init.shared.b64 [mbarrier], count;` (sm_80)
    ///
    /// # Safety
    /// `mbarrier` is a shared address, a multiple of 8, with 8 bytes behind it; `1 <= count < 2^20`. Other threads use
    /// it after a barrier only.
    pub unsafe fn mbarrier_init_shared_b64(mbarrier: u32, count: u32) {
        device => { core::arch::asm!("mbarrier.init.shared.b64 [{0}], {1};", in(reg32) mbarrier, in(reg32) count, options(nostack)); }
        emulator => { block::mbarrier_init(mbarrier, count) }
    }

    /// Ends the use of a barrier object: its bytes can hold other things.
    ///
    /// # PTX
    /// `mbarrier.inval.shared.b64 [mbarrier];` (sm_80)
    ///
    /// # Safety
    /// `mbarrier` is the shared address of a barrier object that no thread uses any more.
    pub unsafe fn mbarrier_inval_shared_b64(mbarrier: u32) {
        device => { core::arch::asm!("mbarrier.inval.shared.b64 [{0}];", in(reg32) mbarrier, options(nostack)); }
        emulator => { block::mbarrier_inval(mbarrier) }
    }

    /// Arrives once: the thread's earlier accesses come before the phase completes. Returns the phase's token.
    ///
    /// # PTX
    /// `mbarrier.arrive.shared.b64 token, [mbarrier];` (sm_80)
    ///
    /// # Safety
    /// `mbarrier` is the shared address of a barrier object whose phase still expects an arrival.
    pub unsafe fn mbarrier_arrive_shared_b64(mbarrier: u32) -> u64 {
        device => {
            let token: u64;
            core::arch::asm!("mbarrier.arrive.shared.b64 {0}, [{1}];", out(reg64) token, in(reg32) mbarrier, options(nostack));
            token
        }
        emulator => { block::mbarrier_arrive(mbarrier, 1, false) }
    }

    /// Arrives `count` times. Returns the phase's token.
    ///
    /// # PTX
    /// `mbarrier.arrive.shared::cta.b64 token, [mbarrier], count;` (sm_90)
    ///
    /// # Safety
    /// `mbarrier` is the shared address of a barrier object whose phase still expects `count` arrivals, at least one.
    pub unsafe fn mbarrier_arrive_count_shared_b64(mbarrier: u32, count: u32) -> u64 {
        device => {
            let token: u64;
            core::arch::asm!("mbarrier.arrive.shared::cta.b64 {0}, [{1}], {2};", out(reg64) token, in(reg32) mbarrier, in(reg32) count, options(nostack));
            token
        }
        emulator => { block::mbarrier_arrive(mbarrier, count, false) }
    }

    /// Arrives `count` times, not for the last time of the phase. Returns the phase's token.
    ///
    /// # PTX
    /// `mbarrier.arrive.noComplete.shared.b64 token, [mbarrier], count;` (sm_80)
    ///
    /// # Safety
    /// `mbarrier` is the shared address of a barrier object whose phase still expects more than `count` arrivals,
    /// `count` at least one.
    pub unsafe fn mbarrier_arrive_nocomplete_shared_b64(mbarrier: u32, count: u32) -> u64 {
        device => {
            let token: u64;
            core::arch::asm!("mbarrier.arrive.noComplete.shared.b64 {0}, [{1}], {2};", out(reg64) token, in(reg32) mbarrier, in(reg32) count, options(nostack));
            token
        }
        emulator => { block::mbarrier_arrive(mbarrier, count, false) }
    }

    /// Arrives once and lowers the count of all later phases by one. Returns the phase's token.
    ///
    /// # PTX
    /// `mbarrier.arrive_drop.shared.b64 token, [mbarrier];` (sm_80)
    ///
    /// # Safety
    /// `mbarrier` is the shared address of a barrier object whose phase still expects an arrival.
    pub unsafe fn mbarrier_arrive_drop_shared_b64(mbarrier: u32) -> u64 {
        device => {
            let token: u64;
            core::arch::asm!("mbarrier.arrive_drop.shared.b64 {0}, [{1}];", out(reg64) token, in(reg32) mbarrier, options(nostack));
            token
        }
        emulator => { block::mbarrier_arrive(mbarrier, 1, true) }
    }

    /// Whether the phase of `token` is complete; if so, accesses before its arrivals come before the thread's later
    /// ones.
    ///
    /// # PTX
    /// `mbarrier.test_wait.shared.b64 p, [mbarrier], token;` (sm_80)
    ///
    /// # Safety
    /// `mbarrier` is the shared address of a barrier object, `token` one of its current or last phase.
    pub unsafe fn mbarrier_test_wait_shared_b64(mbarrier: u32, token: u64) -> bool {
        device => {
            let complete: u32;
            core::arch::asm!("{{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [{1}], {2}; selp.u32 {0}, 1, 0, p; }}", out(reg32) complete, in(reg32) mbarrier, in(reg64) token, options(nostack));
            complete != 0
        }
        emulator => { block::mbarrier_test_wait(mbarrier, token) }
    }

    /// Whether the phase of this parity (0 or 1) is complete; if so, accesses before its arrivals come before the
    /// thread's later ones.
    ///
    /// # PTX
    /// `mbarrier.test_wait.parity.shared.b64 p, [mbarrier], parity;` (sm_80)
    ///
    /// # Safety
    /// `mbarrier` is the shared address of a barrier object, `parity` that of its current or last phase.
    pub unsafe fn mbarrier_test_wait_parity_shared_b64(mbarrier: u32, parity: u32) -> bool {
        device => {
            let complete: u32;
            core::arch::asm!("{{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [{1}], {2}; selp.u32 {0}, 1, 0, p; }}", out(reg32) complete, in(reg32) mbarrier, in(reg32) parity, options(nostack));
            complete != 0
        }
        emulator => { block::mbarrier_test_wait_parity(mbarrier, parity) }
    }

    /// As [`mbarrier_test_wait_shared_b64`], but the thread may sleep for a while before the answer.
    ///
    /// # PTX
    /// `mbarrier.try_wait.shared::cta.b64 p, [mbarrier], token;` (sm_90)
    ///
    /// # Safety
    /// As [`mbarrier_test_wait_shared_b64`].
    pub unsafe fn mbarrier_try_wait_shared_b64(mbarrier: u32, token: u64) -> bool {
        device => {
            let complete: u32;
            core::arch::asm!("{{ .reg .pred p; mbarrier.try_wait.shared::cta.b64 p, [{1}], {2}; selp.u32 {0}, 1, 0, p; }}", out(reg32) complete, in(reg32) mbarrier, in(reg64) token, options(nostack));
            complete != 0
        }
        emulator => { block::mbarrier_test_wait(mbarrier, token) }
    }

    /// As [`mbarrier_test_wait_parity_shared_b64`], but the thread may sleep for a while before the answer.
    ///
    /// # PTX
    /// `mbarrier.try_wait.parity.shared::cta.b64 p, [mbarrier], parity;` (sm_90)
    ///
    /// # Safety
    /// As [`mbarrier_test_wait_parity_shared_b64`].
    pub unsafe fn mbarrier_try_wait_parity_shared_b64(mbarrier: u32, parity: u32) -> bool {
        device => {
            let complete: u32;
            core::arch::asm!("{{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [{1}], {2}; selp.u32 {0}, 1, 0, p; }}", out(reg32) complete, in(reg32) mbarrier, in(reg32) parity, options(nostack));
            complete != 0
        }
        emulator => { block::mbarrier_test_wait_parity(mbarrier, parity) }
    }

    /// Has the current phase expect `bytes` more bytes of bulk or tensor copies.
    ///
    /// # PTX
    /// `mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [mbarrier], bytes;` (sm_90)
    ///
    /// # Safety
    /// `mbarrier` is the shared address of a barrier object; its phase expects less than 2^20 bytes in all.
    pub unsafe fn mbarrier_expect_tx_shared_b64(mbarrier: u32, bytes: u32) {
        device => { core::arch::asm!("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [{0}], {1};", in(reg32) mbarrier, in(reg32) bytes, options(nostack)); }
        emulator => { block::mbarrier_expect_bytes(mbarrier, bytes) }
    }

    /// Has the current phase expect `bytes` more bytes of bulk or tensor copies, then arrives once. Returns the phase's
    /// token.
    ///
    /// # PTX
    /// `mbarrier.arrive.expect_tx.shared::cta.b64 token, [mbarrier], bytes;` (sm_90)
    ///
    /// # Safety
    /// `mbarrier` is the shared address of a barrier object whose phase still expects an arrival, and less than 2^20
    /// bytes in all.
    pub unsafe fn mbarrier_arrive_expect_tx_shared_b64(mbarrier: u32, bytes: u32) -> u64 {
        device => {
            let token: u64;
            core::arch::asm!("mbarrier.arrive.expect_tx.shared::cta.b64 {0}, [{1}], {2};", out(reg64) token, in(reg32) mbarrier, in(reg32) bytes, options(nostack));
            token
        }
        emulator => {
            block::mbarrier_expect_bytes(mbarrier, bytes);
            block::mbarrier_arrive(mbarrier, 1, false)
        }
    }

    /// Arrives once on a barrier object of a block of the cluster.
    ///
    /// # PTX
    /// `mbarrier.arrive.release.cluster.shared::cluster.b64 _, [mbarrier];` (sm_90)
    ///
    /// # Safety
    /// `mbarrier` is the cluster address ([`mapa_shared_cluster_u32`](crate::cluster::mapa_shared_cluster_u32)) of a
    /// barrier object whose phase still expects an arrival, in a block that has not ended.
    pub unsafe fn mbarrier_arrive_release_cluster_shared_cluster_b64(mbarrier: u32) {
        device => { core::arch::asm!("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [{0}];", in(reg32) mbarrier, options(nostack)); }
        emulator => { block::mbarrier_arrive_remote(mbarrier) }
    }
}
