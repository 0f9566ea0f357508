//! Cases of barrier objects: what one warp writes another reads, phase after phase.

use fringes_device::Shared;
use fringes_device::barrier::bar_sync_0;
use fringes_device::index::tid_x;
use fringes_device::mbarrier::*;

kernels! {
    /// Every thread arrives and waits by token; three phases of one barrier object.
    #[threads(96)]
    fn mbarrier_token(input, output) covers [mbarrier_init_shared_b64, mbarrier_arrive_shared_b64, mbarrier_test_wait_shared_b64, mbarrier_inval_shared_b64]
    with |case| case.input(|random| random.words(288)).output(288).shared(784) => {
        let (i, shared) = (tid_x() as usize, Shared::<u32>::dynamic());
        let mbarrier = shared.address(192);
        if i == 0 {
            mbarrier_init_shared_b64(mbarrier, 96);
        }
        bar_sync_0();
        let mut phase = 0;
        while phase < 3 {
            // Two buffers: a phase's readers may still be behind when the next one's words are written.
            let half = 96 * (phase % 2);
            shared.store(half + i, input.load(96 * phase + i));
            let token = mbarrier_arrive_shared_b64(mbarrier);
            while !mbarrier_test_wait_shared_b64(mbarrier, token) {}
            output.store(96 * phase + i, shared.load(half + 95 - i));
            phase += 1;
        }
        bar_sync_0();
        if i == 0 {
            mbarrier_inval_shared_b64(mbarrier);
        }
    }

    /// One warp produces, two others consume, with one barrier object for full and one for empty.
    #[threads(96)]
    fn mbarrier_parity(input, output) covers [mbarrier_test_wait_parity_shared_b64, mbarrier_arrive_shared_b64]
    with |case| case.input(|random| random.words(256)).output(512).shared(144) => {
        let (i, shared) = (tid_x() as usize, Shared::<u32>::dynamic());
        let (full, empty) = (shared.address(32), shared.address(34));
        if i == 0 {
            mbarrier_init_shared_b64(full, 32);
            mbarrier_init_shared_b64(empty, 64);
        }
        bar_sync_0();
        let mut step = 0;
        while step < 8 {
            let parity = step as u32 % 2;
            if i < 32 {
                // The first wait finds the phase before the first, which counts as complete.
                while !mbarrier_test_wait_parity_shared_b64(empty, parity ^ 1) {}
                shared.store(i, input.load(32 * step + i));
                mbarrier_arrive_shared_b64(full);
            } else {
                while !mbarrier_test_wait_parity_shared_b64(full, parity) {}
                output.store(64 * step + i - 32, shared.load((i + 7) % 32));
                mbarrier_arrive_shared_b64(empty);
            }
            step += 1;
        }
    }

    /// Arrivals that leave for good, and arrivals for several.
    #[threads(64)]
    fn mbarrier_counts(input, output) covers [mbarrier_arrive_drop_shared_b64, mbarrier_arrive_nocomplete_shared_b64]
    with |case| case.input(|random| random.words(128)).output(128).shared(528) => {
        let (i, shared) = (tid_x() as usize, Shared::<u32>::dynamic());
        let mbarrier = shared.address(128);
        if i == 0 {
            // 32 that stay, 32 that leave in the first phase, 5 that thread 0 brings in the first phase and leave with
            // it.
            mbarrier_init_shared_b64(mbarrier, 69);
            mbarrier_arrive_nocomplete_shared_b64(mbarrier, 3);
            mbarrier_arrive_drop_shared_b64(mbarrier);
            mbarrier_arrive_drop_shared_b64(mbarrier);
        }
        bar_sync_0();
        shared.store(i, input.load(i));
        if i < 32 {
            mbarrier_arrive_shared_b64(mbarrier);
        } else {
            mbarrier_arrive_drop_shared_b64(mbarrier);
        }
        while !mbarrier_test_wait_parity_shared_b64(mbarrier, 0) {}
        output.store(i, shared.load(63 - i));
        // Second phase: 69 - 2 - 32 = 35 arrivals.
        shared.store(64 + i, input.load(64 + i));
        bar_sync_0();
        if i < 32 {
            mbarrier_arrive_shared_b64(mbarrier);
            if i < 3 {
                mbarrier_arrive_shared_b64(mbarrier);
            }
        }
        while !mbarrier_test_wait_parity_shared_b64(mbarrier, 1) {}
        output.store(64 + i, shared.load(127 - i));
    }
}
