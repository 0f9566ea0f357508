//! Cases of indices.

use fringes_device::index::*;

kernels! {
    /// Every index of every thread of a grid and a block of three dimensions.
    #[threads(8, 4, 3)]
    fn indices(input, output)
    covers [tid_x, tid_y, tid_z, ntid_x, ntid_y, ntid_z, ctaid_x, ctaid_y, ctaid_z, nctaid_x, nctaid_y, nctaid_z, laneid, lanemask_eq, lanemask_lt, lanemask_le, lanemask_gt, lanemask_ge, dynamic_smem_size]
    with |case| case.grid([3, 2, 2]).input(|random| random.words(1)).output(12 * 96 * 22).shared(4816) => {
        let _ = input;
        let block = ctaid_x() + nctaid_x() * (ctaid_y() + nctaid_y() * ctaid_z());
        let first = 22 * (96 * block + linear_tid()) as usize;
        let indices = [
            tid_x(), tid_y(), tid_z(), ntid_x(), ntid_y(), ntid_z(), ctaid_x(), ctaid_y(), ctaid_z(), nctaid_x(), nctaid_y(), nctaid_z(),
            laneid(), lanemask_eq(), lanemask_lt(), lanemask_le(), lanemask_gt(), lanemask_ge(), dynamic_smem_size(), linear_tid(), warp_index(), warp_count(),
        ];
        let mut i = 0;
        while i < 22 {
            output.store(first + i, indices[i]);
            i += 1;
        }
    }
}
