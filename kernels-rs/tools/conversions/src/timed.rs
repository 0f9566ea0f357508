//! What a conversion takes when nothing else is in its way: SM-cycles a warp and conversion, to compare with the
//! planner's sums.
//!
//! Each kernel is to run as one block an SM, [`WARPS`] warps, and converts the registers of every warp `steps` times
//! over; `cycles[block]` is what that takes. The pipes overlap here, so that a conversion that uses several takes less
//! than the sum of its instructions' costs. `values` receives one word a thread that depends on all registers.

use fringes_device::barrier::bar_sync_0;
use fringes_device::clock::clock64;
use fringes_device::control::trap;
use fringes_device::index::{ctaid_x, tid_x};
use fringes_device::warp::bar_warp_sync;
use fringes_device::{GlobalMut, Shared, unroll};

use crate::generated;

/// Warps of a block.
pub const WARPS: u32 = 16;

/// Bytes of dynamic shared memory of every kernel here.
pub const SHARED_BYTES: u32 = WARPS * 2048;

/// Repeats `convert` on 16 registers a lane between two readings of the clock.
#[inline(always)]
fn measure(
    cycles: GlobalMut<u64>,
    values: GlobalMut<u32>,
    steps: u32,
    convert: impl Fn([u32; 16], Shared<u32>) -> [u32; 16],
) {
    let (tid, shared) = (tid_x(), Shared::<u32>::dynamic());
    if shared.len() < 512 * WARPS as usize {
        trap();
        return;
    }
    let seed = tid.wrapping_mul(0x9e37_79b9) ^ ctaid_x();
    let mut value = [0; 16];
    unroll!(i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 { value[i] = seed.wrapping_add(i as u32).wrapping_mul(0x85eb_ca6b); });
    // SAFETY: there are 512 words a warp; all threads meet at the barriers.
    unsafe {
        let own = shared.part(512 * (tid as usize / 32), 512);
        bar_sync_0();
        let start = clock64();
        let mut step = 0;
        while step < steps {
            value = convert(value, own);
            step += 1;
        }
        bar_sync_0();
        let end = clock64();
        let mut all = 0u32;
        unroll!(i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 { all = all.rotate_left(1) ^ value[i]; });
        let thread = 512 * ctaid_x() as usize + tid as usize;
        if thread < values.len() {
            values.store(thread, all);
        }
        if tid == 0 && (ctaid_x() as usize) < cycles.len() {
            cycles.store(ctaid_x() as usize, end - start);
        }
    }
}

macro_rules! timed {
    ($($kernel:ident, $name:literal, |$x:ident, $shared:ident| $convert:expr;)*) => { $(
        fringes_device::kernel! {
            #[doc = concat!("Cycles of `", $name, "`.")]
            #[launch(threads(512), max_registers(128), shared_bytes(32768))]
            pub fn $kernel(cycles: GlobalMut<u64>, values: GlobalMut<u32>, steps: u32) {
                measure(cycles, values, steps, |$x, $shared| {
                    let _ = $shared;
                    #[allow(unused_unsafe)] // Some conversions are safe.
                    // SAFETY: whole warps are here, and `shared` is the warp's own.
                    unsafe { $convert }
                });
            }
        }
    )* };
}

timed! {
    time_z3_primed_to_z3_by_shuffles, "z3_primed_to_z3_by_shuffles", |x, shared| generated::z3_primed_to_z3_by_shuffles(x);
    time_z3_primed_to_z3_by_transposes, "z3_primed_to_z3_by_transposes", |x, shared| generated::z3_primed_to_z3_by_transposes(x);
    time_z3_primed_to_z3_by_words, "z3_primed_to_z3_by_words", |x, shared| {
        let y = generated::z3_primed_to_z3_by_words(x, shared);
        bar_warp_sync(u32::MAX); // before the next stores
        y
    };
    time_y_primed_to_y, "y_primed_to_y", |x, shared| generated::y_primed_to_y(x);
}

/// Conversions by instructions that sm_90 brought.
#[cfg(any(fringes_sm_90a, not(target_arch = "nvptx64")))]
mod hopper {
    use fringes_device::GlobalMut;
    use fringes_device::warp::bar_warp_sync;

    use super::measure;
    use crate::generated;

    timed! {
        time_z3_primed_to_z3, "z3_primed_to_z3", |x, shared| {
            let y = generated::z3_primed_to_z3(x, shared);
            bar_warp_sync(u32::MAX); // before the next stores
            y
        };
    }
}
#[cfg(any(fringes_sm_90a, not(target_arch = "nvptx64")))]
pub use hopper::time_z3_primed_to_z3;
