//! Cases of asynchronous copies.

use fringes_device::Shared;
use fringes_device::copy_async::*;
use fringes_device::index::tid_x;

kernels! {
    /// Copies of 4 bytes, whole and with a tail of zeros, each group waited for alone.
    #[threads(64)]
    fn copy_4(input, output) covers [cp_async_ca_shared_global_4, cp_async_ca_shared_global_4_src_size, cp_async_commit_group, cp_async_wait_group]
    with |case| case.input(|random| random.words(192)).output(128).shared(512) => {
        let i = tid_x() as usize;
        let shared = Shared::<u32>::dynamic();
        cp_async_ca_shared_global_4(shared.address(i), input.address(i));
        cp_async_commit_group();
        cp_async_ca_shared_global_4_src_size(shared.address(64 + i), input.address(64 + i), input.load(128 + i) % 5);
        cp_async_commit_group();
        cp_async_wait_group::<1>();
        output.store(i, shared.load(i));
        cp_async_wait_group::<0>();
        output.store(64 + i, shared.load(64 + i));
    }
}
