//! Cases of instructions of a warp.

use fringes_device::index::{laneid, tid_x};
use fringes_device::warp::*;

/// All lanes.
const ALL: u32 = u32::MAX;

kernels! {
    /// Shuffles of a whole warp, with any operands.
    #[threads(64)]
    fn shuffles(input, output)
    covers [shfl_sync_up_b32, shfl_sync_down_b32, shfl_sync_bfly_b32, shfl_sync_idx_b32, shfl_sync_up_b32_pred, shfl_sync_down_b32_pred, shfl_sync_bfly_b32_pred, shfl_sync_idx_b32_pred]
    with |case| case.input(|random| random.words(192)).output(768) => {
        let i = tid_x() as usize;
        let (a, b, c) = (input.load(i), input.load(64 + i), input.load(128 + i));
        output.store(i, shfl_sync_up_b32(a, b, c, ALL));
        output.store(64 + i, shfl_sync_down_b32(a, b, c, ALL));
        output.store(128 + i, shfl_sync_bfly_b32(a, b, c, ALL));
        output.store(192 + i, shfl_sync_idx_b32(a, b, c, ALL));
        let results = [
            shfl_sync_up_b32_pred(a, b, c, ALL),
            shfl_sync_down_b32_pred(a, b, c, ALL),
            shfl_sync_bfly_b32_pred(a, b, c, ALL),
            shfl_sync_idx_b32_pred(a, b, c, ALL),
        ];
        output.store(256 + i, results[0].0);
        output.store(320 + i, results[0].1 as u32);
        output.store(384 + i, results[1].0);
        output.store(448 + i, results[1].1 as u32);
        output.store(512 + i, results[2].0);
        output.store(576 + i, results[2].1 as u32);
        output.store(640 + i, results[3].0);
        output.store(704 + i, results[3].1 as u32);
    }

    /// Shuffles of each half of a warp on its own, in branches.
    #[threads(32)]
    fn shuffles_of_halves(input, output) covers [shfl_sync_idx_b32, shfl_sync_bfly_b32] with |case| case.input(|random| random.words(64)).output(32) => {
        let i = tid_x() as usize;
        let (a, b) = (input.load(i), input.load(32 + i));
        let d = if i < 16 { shfl_sync_idx_b32(a, b, 0x101f, 0xffff) } else { shfl_sync_bfly_b32(a, b & 15, 31, 0xffff_0000) };
        output.store(i, d);
    }

    /// Votes of all lanes, of a few, and unanimous ones.
    #[threads(64)]
    fn votes(input, output) covers [vote_sync_all_pred, vote_sync_any_pred, vote_sync_uni_pred, vote_sync_ballot_b32]
    with |case| case.input(|random| { let first = random.below(4); let mut words = random.many(64, |random| random.below(2)); if first < 2 { words.fill(first) }; words }).output(512) => {
        let i = tid_x() as usize;
        let a = input.load(i) != 0;
        output.store(i, vote_sync_all_pred(a, ALL) as u32);
        output.store(64 + i, vote_sync_any_pred(a, ALL) as u32);
        output.store(128 + i, vote_sync_uni_pred(a, ALL) as u32);
        output.store(192 + i, vote_sync_ballot_b32(a, ALL));
        let mask = if laneid().is_multiple_of(3) { 0x4924_9249 } else { !0x4924_9249 };
        if mask == 0x4924_9249 {
            output.store(256 + i, vote_sync_all_pred(a, mask) as u32);
            output.store(320 + i, vote_sync_any_pred(a, mask) as u32);
            output.store(384 + i, vote_sync_uni_pred(a, mask) as u32);
            output.store(448 + i, vote_sync_ballot_b32(a, mask));
        } else {
            output.store(256 + i, vote_sync_all_pred(!a, mask) as u32);
            output.store(320 + i, vote_sync_any_pred(!a, mask) as u32);
            output.store(384 + i, vote_sync_uni_pred(!a, mask) as u32);
            output.store(448 + i, vote_sync_ballot_b32(!a, mask));
        }
    }

    /// Matches among few values.
    #[threads(64)]
    fn matches(input, output) covers [match_any_sync_b32, match_all_sync_b32, match_any_sync_b64, match_all_sync_b64]
    with |case| case.input(|random| { let most = 1 + random.below(4); random.many(64, |random| random.below(most)) }).output(384) => {
        let i = tid_x() as usize;
        let a = input.load(i);
        let wide = (a as u64 & 1) << 40 | a as u64 >> 1;
        output.store(i, match_any_sync_b32(a, ALL));
        let (mask, same) = match_all_sync_b32(a, ALL);
        output.store(64 + i, mask);
        output.store(128 + i, same as u32);
        output.store(192 + i, match_any_sync_b64(wide, ALL));
        let (mask, same) = match_all_sync_b64(wide, ALL);
        output.store(256 + i, mask);
        output.store(320 + i, same as u32);
    }

    /// Reductions over a warp, and over parts of it.
    #[threads(64)]
    fn reductions(input, output)
    covers [redux_sync_add_s32, redux_sync_add_u32, redux_sync_min_s32, redux_sync_min_u32, redux_sync_max_s32, redux_sync_max_u32, redux_sync_and_b32, redux_sync_or_b32, redux_sync_xor_b32, bar_warp_sync]
    with |case| case.input(|random| random.words(64)).output(640) => {
        let i = tid_x() as usize;
        let a = input.load(i);
        output.store(i, redux_sync_add_s32(a as i32, ALL) as u32);
        output.store(64 + i, redux_sync_add_u32(a, ALL));
        output.store(128 + i, redux_sync_min_s32(a as i32, ALL) as u32);
        output.store(192 + i, redux_sync_min_u32(a, ALL));
        output.store(256 + i, redux_sync_max_s32(a as i32, ALL) as u32);
        output.store(320 + i, redux_sync_max_u32(a, ALL));
        output.store(384 + i, redux_sync_and_b32(a, ALL));
        output.store(448 + i, redux_sync_or_b32(a, ALL));
        output.store(512 + i, redux_sync_xor_b32(a, ALL));
        let d = if laneid() < 10 { redux_sync_add_u32(a, 0x3ff) } else { redux_sync_max_s32(a as i32, !0x3ff) as u32 };
        bar_warp_sync(ALL);
        output.store(576 + i, d);
    }

    /// The active lanes: at least this one, and none that returned.
    #[threads(64)]
    fn active_lanes(input, output) covers [activemask_b32] with |case| case.input(|random| random.words(1)).output(64) => {
        let _ = input;
        output.store(tid_x() as usize, activemask_b32() >> laneid() & 1);
    }
}
