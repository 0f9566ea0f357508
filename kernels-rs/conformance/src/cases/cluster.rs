//! Cases of sm_90 instructions of barrier objects, fences and clusters that the emulator runs; clusters are of one block.

use fringes_device::Shared;
use fringes_device::barrier::bar_sync_0;
use fringes_device::cluster::*;
use fringes_device::fence::*;
use fringes_device::index::tid_x;
use fringes_device::mbarrier::*;

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

    /// Arrivals for several, waits that may sleep, and fences against the asynchronous proxy, which change nothing here.
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
}
