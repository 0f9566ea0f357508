//! Cases of barriers.

use fringes_device::Shared;
use fringes_device::barrier::*;
use fringes_device::index::tid_x;

kernels! {
    /// Words handed on through shared memory, by all threads.
    #[threads(96)]
    fn rotated(input, output) covers [bar_sync_0] with |case| case.input(|random| random.words(96)).output(96).shared(384) => {
        let i = tid_x() as usize;
        let shared = Shared::<u32>::dynamic();
        shared.store(i, input.load(i));
        bar_sync_0();
        output.store(i, shared.load((i + 37) % 96));
    }

    /// One thread's word seen by all: a barrier between two branches of the same condition.
    #[threads(96)]
    fn from_one_thread(input, output) covers [bar_sync_0] with |case| case.input(|random| random.words(1)).output(96).shared(4) => {
        let i = tid_x() as usize;
        let shared = Shared::<u32>::dynamic();
        if i == 0 {
            shared.store(0, input.load(0));
        }
        bar_sync_0();
        if i == 0 {
            output.store(0, !shared.load(0));
        } else {
            output.store(i, shared.load(0));
        }
    }

    /// Two pairs of warps, each with a barrier of its own; then a warp that only arrives for another.
    #[threads(128)]
    fn named(input, output) covers [bar_sync, bar_arrive] with |case| case.input(|random| random.words(128)).output(160).shared(512) => {
        let i = tid_x() as usize;
        let shared = Shared::<u32>::dynamic();
        shared.store(i, input.load(i));
        if i < 64 {
            bar_sync::<1>(64);
        } else {
            bar_sync::<2>(64);
        }
        output.store(i, shared.load(i ^ 32));
        bar_sync_0();
        if i < 32 {
            shared.store(i, 3 * i as u32);
            bar_arrive::<3>(64);
        } else if i < 64 {
            bar_sync::<3>(64);
            output.store(96 + i, shared.load(i - 32));
        }
    }

    /// Reductions over the block and over pairs of warps.
    #[threads(128)]
    fn reduced(input, output)
    covers [bar_red_popc_u32_0, bar_red_and_pred_0, bar_red_or_pred_0, bar_red_popc_u32, bar_red_and_pred, bar_red_or_pred]
    with |case| case.input(|random| { let first = random.below(4); let mut words = random.many(128, |random| random.below(2)); if first < 2 { words[..100].fill(first); words[100..].fill(first) }; words }).output(768) => {
        let i = tid_x() as usize;
        let a = input.load(i) != 0;
        output.store(i, bar_red_popc_u32_0(a));
        output.store(128 + i, bar_red_and_pred_0(a) as u32);
        output.store(256 + i, bar_red_or_pred_0(a) as u32);
        let (count, all, some) = if i < 64 {
            (bar_red_popc_u32::<4>(64, a), bar_red_and_pred::<4>(64, a), bar_red_or_pred::<4>(64, a))
        } else {
            (bar_red_popc_u32::<5>(64, a), bar_red_and_pred::<5>(64, a), bar_red_or_pred::<5>(64, a))
        };
        output.store(384 + i, count);
        output.store(512 + i, all as u32);
        output.store(640 + i, some as u32);
    }
}
