//! Cycles of a transform when nothing else is in its way.
//!
//! Each kernel is to run with as many blocks an SM as fill it with the warps wanted, [`WARPS`] a block, all of them
//! resident. Every warp transforms its registers `steps` times over. `cycles[block]` is [`RECORD`] numbers: the block's
//! cycles, and when it began and ended in nanoseconds of the GPU's timer. Blocks of an SM do not advance alike (the
//! first to come may end when the last is half way), so what all of them take is from the first beginning to the last
//! end; the cycles of a block only tell how many there are in a nanosecond. SM-cycles of a transform are these cycles /
//! (steps x warps of an SM). `values` receives one word a thread that depends on all registers.
//!
//! The next step's input is the last one's output: `x[i] = y[i] y[j] + s`, clamped to 0..=1, with `j` the next register
//! (of the other half where the output is larger) and `s` numbers of the thread's own. That is one half2 operation a
//! register of the input. With phases of scale 1 most results are far from 0 and 1, so that their signs decide: the
//! values stay finite, and a test finds them go on changing.

use fringes_device::barrier::bar_sync_0;
use fringes_device::clock::{clock64, globaltimer};
use fringes_device::half2::fma_rn_sat_f16x2;
use fringes_device::index::{ctaid_x, tid_x};
use fringes_device::{GlobalMut, Shared, unroll};

/// Warps of a block.
pub const WARPS: u32 = 4;

/// Numbers that each block leaves in `cycles`.
pub const RECORD: usize = 3;

/// A block for each of `$n` registers, 32 at most, unrolled.
macro_rules! registers {
    ($i:ident of $n:ident $body:block) => {
        unroll!($i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 { if $i < $n $body });
    };
}

/// Repeats `transform` on `I` registers a lane between two readings of the clock. It gets `words` of the block's shared
/// memory a warp.
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
    // Numbers of either sign below 1.
    registers!(i of I { x[i] = seed.wrapping_add(i as u32).wrapping_mul(0x85eb_ca6b) & 0xbbff_bbff; });
    bar_sync_0();
    let (start, began) = (clock64(), globaltimer());
    let mut step = 0;
    while step < steps {
        let y = transform(x, own);
        registers!(i of I { x[i] = fma_rn_sat_f16x2(y[i], y[O - I + (i + 1) % I], own_numbers); });
        step += 1;
    }
    bar_sync_0();
    let (end, ended) = (clock64(), globaltimer());
    let mut all = 0u32;
    registers!(i of I { all = all.rotate_left(1) ^ x[i]; });
    let thread = 32 * WARPS as usize * ctaid_x() as usize + tid as usize;
    if thread < values.len() {
        values.store(thread, all);
    }
    let record = RECORD * ctaid_x() as usize;
    if tid == 0 && record + RECORD <= cycles.len() {
        cycles.store(record, end - start);
        cycles.store(record + 1, began);
        cycles.store(record + 2, ended);
    }
}
