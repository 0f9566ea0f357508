//! Cases of fences: a message through a flag, from one warp to another.

use fringes_device::Shared;
use fringes_device::atomic::*;
use fringes_device::barrier::bar_sync_0;
use fringes_device::fence::*;
use fringes_device::index::tid_x;

/// Warp 0 writes words and, after the fence, a flag; warp 1 waits for the flag and reads after the fence.
macro_rules! message {
    ($input:ident, $output:ident, $base:literal, $fence:ident) => {
        let (i, words, flags) =
            (tid_x() as usize, Shared::<u32>::dynamic().part($base, 32), Shared::<u32>::dynamic().part($base + 32, 32));
        if i < 32 {
            flags.store(i, 0);
        }
        bar_sync_0();
        if i < 32 {
            words.store(i, $input.load($base / 2 + i));
            $fence();
            atom_relaxed_cta_shared_exch_b32(flags.address(i), 1);
        } else {
            while atom_relaxed_cta_shared_add_u32(flags.address(i - 32), 0) == 0 {}
            $fence();
            $output.store($base / 2 + i - 32, words.load(i - 32));
        }
        bar_sync_0();
    };
}

kernels! {
    /// Messages ordered by each fence in turn.
    #[threads(64)]
    fn fences(input, output) covers [membar_cta, membar_gl, membar_sys, fence_acq_rel_cta, fence_acq_rel_gpu, fence_acq_rel_sys, fence_sc_cta, fence_sc_gpu]
    with |case| case.input(|random| random.words(256)).output(256).shared(2048) => {
        message!(input, output, 0, membar_cta);
        message!(input, output, 64, membar_gl);
        message!(input, output, 128, membar_sys);
        message!(input, output, 192, fence_acq_rel_cta);
        message!(input, output, 256, fence_acq_rel_gpu);
        message!(input, output, 320, fence_acq_rel_sys);
        message!(input, output, 384, fence_sc_cta);
        message!(input, output, 448, fence_sc_gpu);
    }
}
