//! Cycles of a transform when nothing else is in its way.
//!
//! Each kernel is to run with as many blocks an SM as fill it with the warps wanted, [`WARPS`] a block, all of them resident. Every warp transforms its
//! registers `steps` times over; `cycles[block]` is what that takes, so the SM-cycles of a transform are cycles / (steps x warps of an SM). `values` receives one word a
//! thread that depends on all registers.
//!
//! The next step's input is the last one's output: `x[i] = y[i] y[j] + s`, clamped to 0..=1, with `j` = `i` or (where the output is larger) its
//! other half, and `s` numbers of the thread's own. That is one half2 operation a register of the input. With phases of scale 1 most results are far
//! from 0 and 1, so that their signs decide: the values stay finite, and a test finds them go on changing.

use fringes_device::barrier::bar_sync_0;
use fringes_device::clock::clock64;
use fringes_device::half2::fma_rn_sat_f16x2;
use fringes_device::index::{ctaid_x, tid_x};
use fringes_device::{GlobalMut, Shared};

/// Warps of a block.
pub const WARPS: u32 = 4;

/// Repeats `transform` on `I` registers a lane between two readings of the clock. It gets `words` of the block's shared memory a warp.
///
/// # Safety
/// The block has [`WARPS`] warps and `words` of shared memory for each.
#[inline(always)]
pub(crate) unsafe fn measure<const I: usize, const O: usize>(
    cycles: GlobalMut<u64>,
    values: GlobalMut<u32>,
    steps: u32,
    words: usize,
    transform: impl Fn([u32; I], Shared<u32>) -> [u32; O],
) {
    let (tid, shared) = (tid_x(), Shared::<u32>::dynamic());
    let own = shared.part(words * (tid as usize / 32), words);
    let seed = tid.wrapping_mul(0x9e37_79b9) ^ ctaid_x().wrapping_mul(0xc2b2_ae35);
    let own_numbers = seed.wrapping_mul(0x85eb_ca6b) & 0x3bff_3bff; // below 1
    let mut x = [0; I];
    let mut i = 0;
    while i < I {
        // Numbers of either sign below 1.
        x[i] = seed.wrapping_add(i as u32).wrapping_mul(0x85eb_ca6b) & 0xbbff_bbff;
        i += 1;
    }
    bar_sync_0();
    let start = clock64();
    let mut step = 0;
    while step < steps {
        let y = transform(x, own);
        let mut i = 0;
        while i < I {
            x[i] = fma_rn_sat_f16x2(y[i], y[O - I + i], own_numbers);
            i += 1;
        }
        step += 1;
    }
    bar_sync_0();
    let end = clock64();
    let (mut all, mut i) = (0u32, 0);
    while i < I {
        all = all.rotate_left(1) ^ x[i];
        i += 1;
    }
    let thread = 32 * WARPS as usize * ctaid_x() as usize + tid as usize;
    if thread < values.len() {
        values.store(thread, all);
    }
    if tid == 0 && (ctaid_x() as usize) < cycles.len() {
        cycles.store(ctaid_x() as usize, end - start);
    }
}
