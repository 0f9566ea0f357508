//! Cases of bulk copies.

use fringes_device::barrier::bar_sync_0;
use fringes_device::bulk::*;
use fringes_device::cluster::mapa_shared_cluster_u32;
use fringes_device::fence::*;
use fringes_device::index::tid_x;
use fringes_device::mbarrier::*;
use fringes_device::{GlobalMut, Shared};

/// A barrier object at word `at` with one arrival to come, for all threads to use.
///
/// # Safety
/// - All threads of the block call it together; words `at` and the next are shared memory that nobody uses, at a
///   multiple of 8 bytes.
#[inline(always)]
pub(super) unsafe fn barrier_at(shared: Shared<u32>, at: usize) -> u32 {
    let mbarrier = shared.address(at);
    if tid_x() == 0 {
        mbarrier_init_shared_b64(mbarrier, 1);
        fence_mbarrier_init_release_cluster();
    }
    bar_sync_0();
    mbarrier
}

/// `words` words of shared memory to the output.
///
/// # Safety
/// - `shared` has `words` words that have been written, and a barrier followed; `output` has as many from `to` on.
/// - Each of `threads` threads of the block calls it.
#[inline(always)]
pub(super) unsafe fn copy_out(shared: Shared<u32>, output: GlobalMut<u32>, to: usize, words: usize, threads: usize) {
    let mut i = tid_x() as usize;
    while i < words {
        output.store(to + i, shared.load(i));
        i += threads;
    }
}

/// What each 64 words become: sums, sums, sums of 64 bits, sums of f32, minima, maxima, exclusive or.
#[cfg(not(target_arch = "nvptx64"))]
fn reduced(input: &[u32]) -> Vec<u32> {
    let (old, new) = input.split_at(448);
    let mut output = Vec::new();
    for (index, (a, b)) in old.iter().copied().zip(new.iter().copied()).enumerate() {
        output.push(match index / 64 {
            0 | 1 => a.wrapping_add(b),
            2 => {
                let long = |words: &[u32]| u64::from(words[index & !1]) | u64::from(words[index | 1]) << 32;
                let sum = long(old).wrapping_add(long(new));
                if index.is_multiple_of(2) { sum as u32 } else { (sum >> 32) as u32 }
            }
            3 => (f32::from_bits(a) + f32::from_bits(b)).to_bits(),
            4 => a.min(b),
            5 => a.max(b),
            _ => a ^ b,
        });
    }
    output
}

kernels! {
    /// A load that arrives with its bytes, one to the whole (trivial) cluster, and one after a fetch into L2.
    #[threads(64)]
    fn bulk_load(input, output) covers [cp_async_bulk_shared_global, cp_async_bulk_shared_global_multicast, cp_async_bulk_prefetch_l2_global, mbarrier_expect_tx_shared_b64, mbarrier_arrive_expect_tx_shared_b64]
    with |case| case.capability(9, 0).input(|random| random.words(768)).output(768).shared(3088).expect(<[u32]>::to_vec) => {
        let shared = Shared::<u32>::dynamic();
        let mbarrier = barrier_at(shared, 768);
        if tid_x() == 0 {
            cp_async_bulk_prefetch_l2_global(input.address(512), 1024);
            mbarrier_expect_tx_shared_b64(mbarrier, 1024);
            cp_async_bulk_shared_global(shared.address(0), input.address(0), 1024, mbarrier);
            mbarrier_arrive_expect_tx_shared_b64(mbarrier, 2048);
            cp_async_bulk_shared_global_multicast(shared.address(256), input.address(256), 1024, mbarrier, 1);
            cp_async_bulk_shared_global(shared.address(512), input.address(512), 1024, mbarrier);
        }
        while !mbarrier_try_wait_parity_shared_b64(mbarrier, 0) {}
        copy_out(shared, output, 0, 768, 64);
    }

    /// From shared memory to shared memory, by the cluster's addresses.
    #[threads(64)]
    fn bulk_between_blocks(input, output) covers [cp_async_bulk_shared_cluster_shared_cta]
    with |case| case.capability(9, 0).in_clusters(1).input(|random| random.words(64)).output(64).shared(528).expect(<[u32]>::to_vec) => {
        let (i, shared) = (tid_x() as usize, Shared::<u32>::dynamic());
        shared.store(64 + i, input.load(i));
        fence_proxy_async();
        let mbarrier = barrier_at(shared, 128);
        if i == 0 {
            mbarrier_arrive_expect_tx_shared_b64(mbarrier, 256);
            let (to, arrive) = (mapa_shared_cluster_u32(shared.address(0), 0), mapa_shared_cluster_u32(mbarrier, 0));
            cp_async_bulk_shared_cluster_shared_cta(to, shared.address(64), 256, arrive);
        }
        while !mbarrier_try_wait_parity_shared_b64(mbarrier, 0) {}
        output.store(i, shared.load(i));
    }

    /// Two groups of stores, the second waited for with the first.
    #[threads(64)]
    fn bulk_store(input, output) covers [cp_async_bulk_global_shared, cp_async_bulk_commit_group, cp_async_bulk_wait_group, cp_async_bulk_wait_group_read]
    with |case| case.capability(9, 0).input(|random| random.words(128)).output(128).shared(512).expect(<[u32]>::to_vec) => {
        let (i, shared) = (tid_x() as usize, Shared::<u32>::dynamic());
        shared.store(i, input.load(i));
        shared.store(64 + i, input.load(64 + i));
        fence_proxy_async_shared_cta();
        bar_sync_0();
        if i == 0 {
            cp_async_bulk_global_shared(output.address(0), shared.address(0), 256);
            cp_async_bulk_commit_group();
            cp_async_bulk_global_shared(output.address(64), shared.address(64), 256);
            cp_async_bulk_commit_group();
            cp_async_bulk_wait_group_read::<1>();
            cp_async_bulk_wait_group::<0>();
        }
    }

    /// Every reduction, on 64 words each.
    #[threads(64)]
    fn bulk_reduce(input, output) covers [cp_reduce_async_bulk_global_shared_add_u32, cp_reduce_async_bulk_global_shared_add_s32, cp_reduce_async_bulk_global_shared_add_u64, cp_reduce_async_bulk_global_shared_add_f32, cp_reduce_async_bulk_global_shared_min_u32, cp_reduce_async_bulk_global_shared_max_u32, cp_reduce_async_bulk_global_shared_xor_b32]
    with |case| case.capability(9, 0).input(|random| (0..896).map(|i| if i / 64 % 7 == 3 { random.finite() } else { random.word() }).collect()).output(448).shared(1792).expect(reduced) => {
        let (mut i, shared) = (tid_x() as usize, Shared::<u32>::dynamic());
        while i < 448 {
            output.store(i, input.load(i));
            shared.store(i, input.load(448 + i));
            i += 64;
        }
        fence_proxy_async();
        bar_sync_0();
        if tid_x() == 0 {
            cp_reduce_async_bulk_global_shared_add_u32(output.address(0), shared.address(0), 256);
            cp_reduce_async_bulk_global_shared_add_s32(output.address(64), shared.address(64), 256);
            cp_reduce_async_bulk_global_shared_add_u64(output.address(128), shared.address(128), 256);
            cp_reduce_async_bulk_global_shared_add_f32(output.address(192), shared.address(192), 256);
            cp_reduce_async_bulk_global_shared_min_u32(output.address(256), shared.address(256), 256);
            cp_reduce_async_bulk_global_shared_max_u32(output.address(320), shared.address(320), 256);
            cp_reduce_async_bulk_global_shared_xor_b32(output.address(384), shared.address(384), 256);
            cp_async_bulk_commit_group();
            cp_async_bulk_wait_group::<0>();
        }
    }

    /// An arrival by the cluster's address; the wait is bounded.
    #[threads(64)]
    fn mbarrier_remote(input, output) covers [mbarrier_arrive_release_cluster_shared_cluster_b64]
    with |case| case.capability(9, 0).input(|random| random.words(64)).output(64).shared(16).expect(|_| vec![1; 64]) => {
        let i = tid_x() as usize;
        let mbarrier = barrier_at(Shared::<u32>::dynamic(), 0);
        if i == input.load(0) as usize % 64 {
            mbarrier_arrive_release_cluster_shared_cluster_b64(mapa_shared_cluster_u32(mbarrier, 0));
        }
        bar_sync_0();
        let mut tries = 0;
        while tries < 200 && !mbarrier_try_wait_parity_shared_b64(mbarrier, 0) {
            tries += 1;
        }
        output.store(i, u32::from(tries < 200));
    }
}
