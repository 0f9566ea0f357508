//! Cases of sm_90 instructions of barrier objects, fences and clusters.

use fringes_device::Shared;
use fringes_device::barrier::*;
use fringes_device::bulk::*;
use fringes_device::cluster::*;
use fringes_device::fence::*;
use fringes_device::index::*;
use fringes_device::mbarrier::*;

/// All threads of the cluster meet.
///
/// # Safety
/// - All threads of the cluster call it together.
#[inline(always)]
unsafe fn meet() {
    barrier_cluster_arrive_release_aligned();
    barrier_cluster_wait_acquire_aligned();
}

/// A barrier object with `count` arrivals to come, for all threads of the cluster.
///
/// # Safety
/// - All threads of the cluster call it together; words `at` and the next are shared memory that nobody uses, at a
///   multiple of 8 bytes.
#[inline(always)]
unsafe fn cluster_barrier_at(shared: Shared<u32>, at: usize, count: u32) -> u32 {
    let mbarrier = shared.address(at);
    if tid_x() == 0 {
        mbarrier_init_shared_b64(mbarrier, count);
        fence_mbarrier_init_release_cluster();
    }
    meet();
    mbarrier
}

kernels! {
    /// Words through the cluster's addresses, between warps.
    #[threads(64)]
    fn cluster_memory(input, output) covers [mapa_shared_cluster_u32, ld_shared_cluster_u32, st_shared_cluster_u32, fence_acq_rel_cluster]
    with |case| case.capability(9, 0).input(|random| random.words(64)).output(64).shared(256) => {
        let (i, shared) = (tid_x() as usize, Shared::<u32>::dynamic());
        st_shared_cluster_u32(mapa_shared_cluster_u32(shared.address(i), 0), input.load(i));
        fence_acq_rel_cluster();
        bar_sync_0();
        output.store(i, ld_shared_cluster_u32(mapa_shared_cluster_u32(shared.address(63 - i), 0)));
    }

    /// Arrivals for several, waits that may sleep, and fences against the asynchronous proxy, which change nothing
    /// here.
    #[threads(64)]
    fn mbarrier_try(input, output) covers [mbarrier_arrive_count_shared_b64, mbarrier_try_wait_shared_b64, mbarrier_try_wait_parity_shared_b64, fence_mbarrier_init_release_cluster, fence_proxy_async, fence_proxy_async_shared_cta, fence_proxy_async_global]
    with |case| case.capability(9, 0).input(|random| random.words(128)).output(128).shared(528) => {
        let (i, shared) = (tid_x() as usize, Shared::<u32>::dynamic());
        let mbarrier = shared.address(128);
        if i == 0 {
            mbarrier_init_shared_b64(mbarrier, 96);
            fence_mbarrier_init_release_cluster();
        }
        bar_sync_0();
        shared.store(i, input.load(i));
        fence_proxy_async();
        let token = mbarrier_arrive_count_shared_b64(mbarrier, 1 + i as u32 / 32);
        while !mbarrier_try_wait_shared_b64(mbarrier, token) {}
        output.store(i, shared.load(63 - i));
        shared.store(64 + i, input.load(64 + i));
        fence_proxy_async_shared_cta();
        mbarrier_arrive_count_shared_b64(mbarrier, 2 - i as u32 / 32);
        while !mbarrier_try_wait_parity_shared_b64(mbarrier, 1) {}
        output.store(64 + i, shared.load(127 - i));
        fence_proxy_async_global();
    }

    /// Words through the shared memory of the other block of a cluster of two, and the indices of such clusters.
    #[threads(64)]
    fn cluster_exchange(input, output) covers [mapa_shared_cluster_u32, ld_shared_cluster_u32, st_shared_cluster_u32, barrier_cluster_arrive_release_aligned, barrier_cluster_wait_acquire_aligned, clusterid_x, nclusterid_x, cluster_ctaid_x, cluster_nctaid_x, cluster_ctarank, cluster_nctarank]
    with |case| case.capability(9, 0).grid([6, 1, 1]).in_clusters(2).input(|random| random.words(768)).output(6 * 134).shared(512) => {
        let (i, block, shared) = (tid_x() as usize, ctaid_x() as usize, Shared::<u32>::dynamic());
        let other = cluster_ctarank() ^ 1;
        meet();
        shared.store(i, input.load(128 * block + i));
        st_shared_cluster_u32(mapa_shared_cluster_u32(shared.address(64 + i), other), input.load(128 * block + 64 + i));
        meet();
        output.store(134 * block + i, ld_shared_cluster_u32(mapa_shared_cluster_u32(shared.address(63 - i), other)));
        output.store(134 * block + 64 + i, shared.load(64 + i));
        if i == 0 {
            let first = 134 * block + 128;
            output.store(first, clusterid_x());
            output.store(first + 1, nclusterid_x());
            output.store(first + 2, cluster_ctaid_x());
            output.store(first + 3, cluster_nctaid_x());
            output.store(first + 4, cluster_ctarank());
            output.store(first + 5, cluster_nctarank());
        }
        // Nobody leaves while its memory is read.
        meet();
    }

    /// Copies by each block of a cluster of two into both, and of one block's shared memory into the other's.
    #[threads(64)]
    fn cluster_copies(input, output) covers [cp_async_bulk_shared_global_multicast, cp_async_bulk_shared_cluster_shared_cta]
    with |case| case.capability(9, 0).grid([4, 1, 1]).in_clusters(2).input(|random| random.words(256)).output(4 * 192).shared(1040) => {
        let (i, block, shared) = (tid_x() as usize, ctaid_x() as usize, Shared::<u32>::dynamic());
        let rank = cluster_ctarank();
        let mbarrier = cluster_barrier_at(shared, 256, 1);
        shared.store(192 + i, !input.load(64 * block + i));
        fence_proxy_async();
        bar_sync_0();
        if i == 0 {
            mbarrier_arrive_expect_tx_shared_b64(mbarrier, 768);
            cp_async_bulk_shared_global_multicast(shared.address(64 * rank as usize), input.address(64 * block), 256, mbarrier, 3);
            let (to, arrive) = (mapa_shared_cluster_u32(shared.address(128), rank ^ 1), mapa_shared_cluster_u32(mbarrier, rank ^ 1));
            cp_async_bulk_shared_cluster_shared_cta(to, shared.address(192), 256, arrive);
        }
        while !mbarrier_try_wait_parity_shared_b64(mbarrier, 0) {}
        output.store(192 * block + i, shared.load(i));
        output.store(192 * block + 64 + i, shared.load(64 + i));
        output.store(192 * block + 128 + i, shared.load(128 + i));
        // A block's own copy has read its words when it has arrived in the other block.
        meet();
    }

    /// Each block's threads arrive on the other's barrier object after they have written there.
    #[threads(64)]
    fn cluster_arrivals(input, output) covers [mbarrier_arrive_release_cluster_shared_cluster_b64]
    with |case| case.capability(9, 0).grid([4, 1, 1]).in_clusters(2).input(|random| random.words(256)).output(256).shared(272) => {
        let (i, block, shared) = (tid_x() as usize, ctaid_x() as usize, Shared::<u32>::dynamic());
        let (other, mbarrier) = (cluster_ctarank() ^ 1, cluster_barrier_at(shared, 64, 64));
        st_shared_cluster_u32(mapa_shared_cluster_u32(shared.address(i), other), input.load(64 * block + i));
        mbarrier_arrive_release_cluster_shared_cluster_b64(mapa_shared_cluster_u32(mbarrier, other));
        while !mbarrier_try_wait_parity_shared_b64(mbarrier, 0) {}
        fence_acq_rel_cluster();
        output.store(64 * block + i, shared.load(63 - i));
        meet();
    }
}
