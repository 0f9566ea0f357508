//! Cases of asynchronous copies.

use fringes_device::barrier::bar_sync_0;
use fringes_device::copy_async::*;
use fringes_device::index::tid_x;
use fringes_device::mbarrier::{
    mbarrier_arrive_shared_b64, mbarrier_init_shared_b64, mbarrier_test_wait_parity_shared_b64,
};
use fringes_device::{Global, GlobalMut, Shared};

/// Copies an access whole, and one with a tail of zeros whose length is an input word, each in a group of its own.
macro_rules! copies {
    ($input:ident, $output:ident, $words:literal, $copy:ident, $copy_part:ident) => {
        let i = tid_x() as usize;
        let shared = Shared::<u32>::dynamic();
        let (whole, part) = (i * $words, (64 + i) * $words);
        let mut word = 0;
        while word < $words {
            shared.store(part + word, 0xdead_beef);
            word += 1;
        }
        $copy(shared.address(whole), $input.address(whole));
        cp_async_commit_group();
        $copy_part(shared.address(part), $input.address(part), $input.load(128 * $words + i) % (4 * $words + 1));
        cp_async_commit_group();
        cp_async_wait_group::<1>();
        store_words($output, whole, shared, $words);
        cp_async_wait_group::<0>();
        store_words($output, part, shared, $words);
    };
}

/// Words of shared memory to the same words of the output.
///
/// # Safety
/// - Both views have words `first` to `first + words - 1`, and this thread's copies to them are complete.
/// - No other thread stores them.
#[inline(always)]
unsafe fn store_words(output: GlobalMut<u32>, first: usize, shared: Shared<u32>, words: usize) {
    let mut word = 0;
    while word < words {
        output.store(first + word, shared.load(first + word));
        word += 1;
    }
}

/// Starts a copy of 16 bytes for each of 64 threads.
///
/// # Safety
/// - Both views have words `4 i` to `4 i + 3`, at a multiple of 16 bytes; nobody uses those of shared memory before a
///   wait.
#[inline(always)]
unsafe fn start(shared: Shared<u32>, input: Global<u32>, i: usize) {
    cp_async_cg_shared_global_16(shared.address(4 * i), input.address(4 * i));
}

kernels! {
    /// Copies of 4 bytes, cached at all levels.
    #[threads(64)]
    fn copy_4(input, output) covers [cp_async_ca_shared_global_4, cp_async_ca_shared_global_4_src_size, cp_async_commit_group, cp_async_wait_group]
    with |case| case.input(|random| random.words(192)).output(128).shared(512) => {
        copies!(input, output, 1, cp_async_ca_shared_global_4, cp_async_ca_shared_global_4_src_size);
    }

    /// Copies of 8 bytes, cached at all levels.
    #[threads(64)]
    fn copy_8(input, output) covers [cp_async_ca_shared_global_8, cp_async_ca_shared_global_8_src_size]
    with |case| case.input(|random| random.words(320)).output(256).shared(1024) => {
        copies!(input, output, 2, cp_async_ca_shared_global_8, cp_async_ca_shared_global_8_src_size);
    }

    /// Copies of 16 bytes, cached at all levels.
    #[threads(64)]
    fn copy_16(input, output) covers [cp_async_ca_shared_global_16, cp_async_ca_shared_global_16_src_size]
    with |case| case.input(|random| random.words(576)).output(512).shared(2048) => {
        copies!(input, output, 4, cp_async_ca_shared_global_16, cp_async_ca_shared_global_16_src_size);
    }

    /// Copies of 16 bytes, cached in L2.
    #[threads(64)]
    fn copy_16_l2(input, output) covers [cp_async_cg_shared_global_16, cp_async_cg_shared_global_16_src_size]
    with |case| case.input(|random| random.words(576)).output(512).shared(2048) => {
        copies!(input, output, 4, cp_async_cg_shared_global_16, cp_async_cg_shared_global_16_src_size);
    }

    /// Copies of 16 bytes, cached in L2 with the 128 bytes around them.
    #[threads(64)]
    fn copy_16_l2_128(input, output) covers [cp_async_cg_shared_global_l2_128b_16, cp_async_cg_shared_global_l2_128b_16_src_size]
    with |case| case.input(|random| random.words(576)).output(512).shared(2048) => {
        copies!(input, output, 4, cp_async_cg_shared_global_l2_128b_16, cp_async_cg_shared_global_l2_128b_16_src_size);
    }

    /// Copies of 16 bytes, cached in L2 with the 256 bytes around them.
    #[threads(64)]
    fn copy_16_l2_256(input, output) covers [cp_async_cg_shared_global_l2_256b_16, cp_async_cg_shared_global_l2_256b_16_src_size]
    with |case| case.input(|random| random.words(576)).output(512).shared(2048) => {
        copies!(input, output, 4, cp_async_cg_shared_global_l2_256b_16, cp_async_cg_shared_global_l2_256b_16_src_size);
    }

    /// A line that is asked for is what it was.
    #[threads(64)]
    fn prefetch(input, output) covers [prefetch_global_l2]
    with |case| case.output(64) => {
        let i = tid_x() as usize;
        prefetch_global_l2(input.address(i));
        output.store(i, input.load(i));
    }

    /// Everything waited for at once, without a group; read by another warp.
    #[threads(64)]
    fn copy_wait_all(input, output) covers [cp_async_wait_all]
    with |case| case.output(256).shared(1024) => {
        let (i, shared) = (tid_x() as usize, Shared::<u32>::dynamic());
        start(shared, input, i);
        cp_async_wait_all();
        bar_sync_0();
        output.store(i, shared.load(255 - i));
        output.store(64 + i, shared.load(191 - i));
        output.store(128 + i, shared.load(127 - i));
        output.store(192 + i, shared.load(63 - i));
    }

    /// Arrival when the copies are there, counted by the barrier object.
    #[threads(64)]
    fn copy_arrive_noinc(input, output) covers [cp_async_mbarrier_arrive_noinc_shared_b64, mbarrier_init_shared_b64, mbarrier_test_wait_parity_shared_b64]
    with |case| case.output(256).shared(1040) => {
        let (i, shared) = (tid_x() as usize, Shared::<u32>::dynamic());
        let mbarrier = shared.address(256);
        if i == 0 {
            mbarrier_init_shared_b64(mbarrier, 64);
        }
        bar_sync_0();
        start(shared, input, i);
        cp_async_mbarrier_arrive_noinc_shared_b64(mbarrier);
        while !mbarrier_test_wait_parity_shared_b64(mbarrier, 0) {}
        output.store(i, shared.load(255 - i));
        output.store(64 + i, shared.load(191 - i));
        output.store(128 + i, shared.load(127 - i));
        output.store(192 + i, shared.load(63 - i));
    }

    /// Arrival when the copies are there, beside the count of the barrier object.
    #[threads(64)]
    fn copy_arrive(input, output) covers [cp_async_mbarrier_arrive_shared_b64, mbarrier_arrive_shared_b64]
    with |case| case.output(256).shared(1040) => {
        let (i, shared) = (tid_x() as usize, Shared::<u32>::dynamic());
        let mbarrier = shared.address(256);
        if i == 0 {
            mbarrier_init_shared_b64(mbarrier, 64);
        }
        bar_sync_0();
        start(shared, input, i);
        cp_async_mbarrier_arrive_shared_b64(mbarrier);
        mbarrier_arrive_shared_b64(mbarrier);
        while !mbarrier_test_wait_parity_shared_b64(mbarrier, 0) {}
        output.store(i, shared.load(255 - i));
        output.store(64 + i, shared.load(191 - i));
        output.store(128 + i, shared.load(127 - i));
        output.store(192 + i, shared.load(63 - i));
    }
}
