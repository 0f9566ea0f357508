//! Voltages and weights in shared memory, by the copy engine.
//!
//! # Layout
//! The voltages of a round are `[t / 16][t mod 4][line][t / 4 mod 4][64 bytes]`, permuted by 64 bytes as the copy
//! engine does: piece `q` of 16 bytes is in place `q ^ (t / 8 mod 2 + 2 (line mod 2))`. So the lanes of a load, which
//! have four lines and four times 4 apart, meet in two at each bank. The array that the host describes has the
//! dimensions bytes of a time, `t / 4 mod 4`, line, `t mod 4`, `t / 16`.
//!
//! Two places hold the voltages of two rounds. A place is filled when all warps have said that they are done with what
//! was there. A pass has four rounds, so each of them has its place, and its parity of the barriers, in all passes:
//! rounds are counted from the beginning of a pass, those from 4 on are of the next one.

use fringes_device::bulk::cp_async_bulk_shared_global;
use fringes_device::fence::fence_mbarrier_init_release_cluster;
use fringes_device::mbarrier::{
    mbarrier_arrive_expect_tx_shared_b64, mbarrier_arrive_shared_b64, mbarrier_init_shared_b64,
    mbarrier_try_wait_parity_shared_b64,
};
use fringes_device::tensor::cp_async_bulk_tensor_5d_shared_global;
use fringes_device::warp::bar_warp_sync;
use fringes_device::{Global, Shared, TensorMap};

use crate::{ROUND_BYTES, ROUND_FEEDS, ROUNDS, SUM_WORDS, TIMES, WARPS, WEIGHT_WORDS};

const _: () = assert!(ROUNDS == 4, "two places with two parities");

/// The first byte of the weights.
pub(crate) const WEIGHTS_AT: u32 = 4 * SUM_WORDS;

/// The first byte of the barriers: two that are full, two that are empty, one for weights.
const BARRIERS_AT: u32 = WEIGHTS_AT + 4 * WEIGHT_WORDS + 2 * ROUND_BYTES;

/// The first byte of the voltages of a round.
#[inline(always)]
pub(crate) const fn round_at(round: u32) -> u32 {
    WEIGHTS_AT + 4 * WEIGHT_WORDS + round % 2 * ROUND_BYTES
}

/// Address of a byte of shared memory.
///
/// # Safety
/// The block has it.
#[inline(always)]
pub(crate) unsafe fn shared_at(byte: u32) -> u32 {
    Shared::<u8>::dynamic().address(byte as usize)
}

/// Makes the barriers.
///
/// # Safety
/// One thread calls it, before a barrier of the block that precedes all else.
#[inline(always)]
pub(crate) unsafe fn init() {
    let first = shared_at(BARRIERS_AT);
    mbarrier_init_shared_b64(first, 1);
    mbarrier_init_shared_b64(first + 8, 1);
    mbarrier_init_shared_b64(first + 16, WARPS);
    mbarrier_init_shared_b64(first + 24, WARPS);
    mbarrier_init_shared_b64(first + 32, 1);
    fence_mbarrier_init_release_cluster();
}

/// Waits until a phase of a barrier is over.
///
/// # Safety
/// The barrier is made; the phase of that parity ends, or has ended.
#[inline(always)]
unsafe fn wait(barrier: u32, parity: u32) {
    while !mbarrier_try_wait_parity_shared_b64(barrier, parity) {}
}

/// Where a block of times begins in the array of the voltages.
#[derive(Clone, Copy)]
pub(crate) struct Start {
    /// Byte within a time.
    pub(crate) byte: u32,
    /// Blocks of times before.
    pub(crate) block: u32,
}

/// Fills the place of a round with its voltages, of the pass that has it, from a block of times that begins there.
///
/// # Safety
/// One thread calls it, round after round; the map describes the voltages, and all warps give places back.
#[inline(always)]
pub(crate) unsafe fn fill(map: TensorMap, round: u32, start: Start) {
    let full = shared_at(BARRIERS_AT) + 8 * (round % 2);
    wait(full + 16, (round / 2 % 2) ^ 1);
    mbarrier_arrive_expect_tx_shared_b64(full, ROUND_BYTES);
    let at = [(start.byte + ROUND_FEEDS * (round % ROUNDS)) as i32, 0, 0, 0, (start.block * (TIMES / 16)) as i32];
    cp_async_bulk_tensor_5d_shared_global(shared_at(round_at(round)), map, at, full);
}

/// Waits for the voltages of a round.
///
/// # Safety
/// They are being copied, or have been.
#[inline(always)]
pub(crate) unsafe fn wait_for(round: u32) {
    wait(shared_at(BARRIERS_AT) + 8 * (round % 2), round / 2 % 2);
}

/// Gives the place of a round back. The arrival does not wait for loads under way, and the copy engine may fill the
/// place when all warps have arrived.
///
/// # Safety
/// All 32 lanes of each warp execute it together, once a round. All that is loaded of the place is there: what is
/// stored before or the lane is computed from it, or a fence precedes.
#[inline(always)]
pub(crate) unsafe fn give_back(round: u32, lane: u32) {
    bar_warp_sync(u32::MAX);
    if lane == 0 {
        mbarrier_arrive_shared_b64(shared_at(BARRIERS_AT) + 16 + 8 * (round % 2));
    }
}

/// Begins to copy the weights of a polarisation.
///
/// # Safety
/// One thread calls it, in turn with [`wait_for_weights`]; the weights are in the view, at a multiple of 16 bytes, and
/// nobody uses those before.
#[inline(always)]
pub(crate) unsafe fn fill_weights(weights: Global<u32>) {
    let barrier = shared_at(BARRIERS_AT + 32);
    mbarrier_arrive_expect_tx_shared_b64(barrier, 4 * WEIGHT_WORDS);
    cp_async_bulk_shared_global(shared_at(WEIGHTS_AT), weights.address(0), 4 * WEIGHT_WORDS, barrier);
}

/// Waits for the weights that were copied as number `count` of all.
///
/// # Safety
/// They are being copied, or have been.
#[inline(always)]
pub(crate) unsafe fn wait_for_weights(count: u32) {
    wait(shared_at(BARRIERS_AT + 32), count % 2);
}
