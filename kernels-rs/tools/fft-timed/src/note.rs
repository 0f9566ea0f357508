//! The FFT note's microkernel, variant by variant.

use fringes_device::index::{ctaid_x, laneid};
use fringes_device::{Global, GlobalMut, Shared};
use fringes_kernels_fft_microkernel::note::{Packed, Phases, Transposes, Unpacked, transform, transposes};

use crate::measure::measure;

/// Whether the views of a kernel that runs once hold the arrays of a block, and the phases, and shared memory so many
/// words.
#[inline(always)]
fn holds<P: Phases>(
    (x, phases, y): (Global<u32>, Global<u32>, GlobalMut<u32>),
    block: usize,
    shared: Shared<u32>,
    words: usize,
) -> bool {
    let arrays = 256 * (block + 1) <= x.len() && 512 * (block + 1) <= y.len();
    // SAFETY: the views are not empty where the addresses count.
    arrays
        && 32 * P::REGISTERS <= phases.len()
        && words <= shared.len()
        && unsafe { x.address(0) | y.address(0) }.is_multiple_of(16)
}

/// Transforms the block's array.
///
/// # Safety
/// The block is one warp, the views hold what [`holds`] asks, and what `memory` needs.
#[inline(always)]
unsafe fn once<T: Transposes, P: Phases>(
    x: Global<u32>,
    phases: Global<u32>,
    y: GlobalMut<u32>,
    block: usize,
    memory: T::Memory,
) {
    let lane = laneid() as usize;
    let phases = P::load(phases, lane as u32);
    let (before, after) = (x.cast::<[u32; 4]>(), y.cast::<[u32; 4]>());
    let at = 2 * (32 * block + lane);
    let ([a, b, c, d], [e, f, g, h]) = (before.load(at), before.load(at + 1));
    let y = transform::<T>([a, b, c, d, e, f, g, h], &phases, memory);
    let at = 4 * (32 * block + lane);
    after.store(at, [y[0], y[1], y[2], y[3]]);
    after.store(at + 1, [y[4], y[5], y[6], y[7]]);
    after.store(at + 2, [y[8], y[9], y[10], y[11]]);
    after.store(at + 3, [y[12], y[13], y[14], y[15]]);
}

/// Kernels of a variant: one that runs it once, one that takes its cycles; transposes, phases, and what their memory is
/// made of.
macro_rules! variants {
    ($($once:ident, $time:ident, $transposes:ident, $phases:ident, [$($shared:tt)*], |$memory:ident| $own:expr;)*) => { $(
        variants!(@once $once, $transposes, $phases, [$($shared)*], $memory, $own);
        variants!(@time $time, $transposes, $phases, [$($shared)*], $memory, $own);
    )* };
    (@once $once:ident, $transposes:ident, $phases:ident, [], $memory:ident, $own:expr) => {
        variants!(@once $once, $transposes, $phases, [threads(32)], 0, $memory, $own);
    };
    (@once $once:ident, $transposes:ident, $phases:ident, [shared], $memory:ident, $own:expr) => {
        variants!(@once $once, $transposes, $phases, [threads(32), shared_bytes(2048)], 512, $memory, $own);
    };
    (@time $time:ident, $transposes:ident, $phases:ident, [], $memory:ident, $own:expr) => {
        variants!(@time $time, $transposes, $phases, [threads(128), max_registers(64)], 0, $memory, $own);
    };
    (@time $time:ident, $transposes:ident, $phases:ident, [shared], $memory:ident, $own:expr) => {
        variants!(@time $time, $transposes, $phases, [threads(128), max_registers(64), shared_bytes(8192)], 512, $memory, $own);
    };
    (@once $once:ident, $transposes:ident, $phases:ident, [$($launch:tt)*], $words:literal, $memory:ident, $own:expr) => {
        fringes_device::kernel! {
            #[doc = concat!("Transforms arrays [`", stringify!($transposes), "`](transposes::", stringify!($transposes), ") with [`", stringify!($phases), "`] phases, one a block.")]
            ///
            /// `x` is `[transform][lane][8 registers]`, `y` `[transform][lane][16 registers]`, aligned to 16 bytes;
            /// `phases` the table `[register][lane]`.
            #[launch($($launch)*)]
            pub fn $once(x: Global<u32>, phases: Global<u32>, y: GlobalMut<u32>) {
                let (block, shared) = (ctaid_x() as usize, Shared::<u32>::dynamic());
                if holds::<$phases>((x, phases, y), block, shared, $words) {
                    let $memory = shared;
                    let _ = $memory;
                    // SAFETY: the block is one warp, which shared memory belongs to; the views hold its arrays,
                    // aligned.
                    unsafe { once::<transposes::$transposes, $phases>(x, phases, y, block, $own) };
                }
            }
        }
    };
    (@time $time:ident, $transposes:ident, $phases:ident, [$($launch:tt)*], $words:literal, $memory:ident, $own:expr) => {
        fringes_device::kernel! {
            #[doc = concat!("Cycles of a transform [`", stringify!($transposes), "`](transposes::", stringify!($transposes), ") with [`", stringify!($phases), "`] phases.")]
            #[launch($($launch)*)]
            pub fn $time(phases: Global<u32>, cycles: GlobalMut<u64>, values: GlobalMut<u32>, steps: u32) {
                let needed: usize = 4 * $words;
                if phases.len() < 32 * $phases::REGISTERS || Shared::<u32>::dynamic().len() < needed {
                    fringes_device::control::trap();
                    return;
                }
                // SAFETY: the table is whole; the block is whole warps, each with memory of its own.
                unsafe {
                    let phases = $phases::load(phases, laneid());
                    measure(cycles, values, steps, $words, |x, $memory| {
                        let _ = $memory;
                        transform::<transposes::$transposes>(x, &phases, $own)
                    });
                }
            }
        }
    };
}

variants! {
    note_by_transposes_packed, time_note_by_transposes_packed, ByTransposes, Packed, [], |_memory| ();
    note_by_transposes_unpacked, time_note_by_transposes_unpacked, ByTransposes, Unpacked, [], |_memory| ();
    note_by_shuffles_packed, time_note_by_shuffles_packed, ByShuffles, Packed, [], |_memory| ();
    note_by_shuffles_unpacked, time_note_by_shuffles_unpacked, ByShuffles, Unpacked, [], |_memory| ();
    note_by_words_packed, time_note_by_words_packed, ByWords, Packed, [shared], |memory| memory;
    note_by_words_unpacked, time_note_by_words_unpacked, ByWords, Unpacked, [shared], |memory| memory;
    note_by_matrix_loads_packed, time_note_by_matrix_loads_packed, ByMatrixLoads, Packed, [shared], |memory| memory;
    note_by_matrix_loads_unpacked, time_note_by_matrix_loads_unpacked, ByMatrixLoads, Unpacked, [shared], |memory| memory;
}

/// Variants by instructions that sm_90 brought.
#[cfg(any(fringes_sm_90a, not(target_arch = "nvptx64")))]
mod hopper {
    use fringes_device::index::{ctaid_x, laneid};
    use fringes_device::{Global, GlobalMut, Shared};
    use fringes_kernels_fft_microkernel::note::{Packed, Phases, Unpacked, transform, transposes};

    use super::{holds, once};
    use crate::measure::measure;

    variants! {
        note_by_matrices_packed, time_note_by_matrices_packed, ByMatrices, Packed, [shared], |memory| memory;
        note_by_matrices_unpacked, time_note_by_matrices_unpacked, ByMatrices, Unpacked, [shared], |memory| memory;
        note_by_halves_packed, time_note_by_halves_packed, ByHalves, Packed, [shared], |memory| memory;
        note_by_halves_unpacked, time_note_by_halves_unpacked, ByHalves, Unpacked, [shared], |memory| memory;
    }
}
#[cfg(any(fringes_sm_90a, not(target_arch = "nvptx64")))]
pub use hopper::*;
