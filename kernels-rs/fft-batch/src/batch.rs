//! Transforms of an array, one after the other: each warp takes every `n`-th, `n` the number of warps of the grid.
//!
//! The samples of a warp's next transform are loaded before the present one is computed, and so arrive while it is. Phases stay in registers.
//!
//! # Floor
//! Bytes: a transform from 256 to 512 reads 1024 bytes of f16 (512 of 8-bit, 256 of 4+4-bit samples) and writes 2048 bytes of f16 or of powers. At an H200's
//! 4.3 TB/s these are 0.71 ns (0.60, 0.54), 187 SM-cycles (157, 141); the microkernel takes 25 of the tensor pipe.

use fringes_device::control::trap;
use fringes_device::index::{ctaid_x, laneid, nctaid_x, tid_x};
use fringes_device::{Global, Value};
use fringes_kernels_fft::{Format, Spectra, Transform};

/// Warps of a block.
pub const WARPS: u32 = 4;

/// Transforms all of `samples`, after checking that the views are large enough: `spectra_pairs` is the number of pairs of results that `spectra` has.
#[inline(always)]
pub fn checked<T: Transform, F: Format, O: Spectra>(
    samples: Global<u32>,
    phases: Global<u32>,
    spectra: O,
    spectra_pairs: usize,
    transforms: u32,
) {
    // SAFETY: the host gives addresses that are multiples of 16, and the emulator looks at each access.
    let samples = unsafe { samples.cast::<F::Pair>() };
    let pairs = |bits: u32| u64::from(transforms) << (bits - 1);
    let fits = pairs(T::INPUT_BITS) <= samples.len() as u64
        && pairs(T::OUTPUT_BITS) <= spectra_pairs as u64
        && 32 * T::PHASE_REGISTERS <= phases.len();
    if fits {
        // SAFETY: the views hold what the sizes say.
        unsafe { transform_all::<T, F, O>(samples, phases, spectra, transforms) }
    } else {
        trap();
    }
}

/// Transforms all of `samples`.
///
/// # Safety
/// The views hold `transforms` transforms and the phases.
#[inline(always)]
unsafe fn transform_all<T: Transform, F: Format, O: Spectra>(
    samples: Global<F::Pair>,
    phases: Global<u32>,
    spectra: O,
    transforms: u32,
) {
    const { assert!(F::Pair::BYTES >= 2) };
    let lane = laneid();
    let warps = nctaid_x() * WARPS;
    let mut transform = ctaid_x() * WARPS + tid_x() / 32;
    if transform >= transforms {
        return;
    }
    let phases = T::phases(phases, lane);
    let input = |transform: u32| ((transform as usize) << (T::INPUT_BITS - 1)) + T::input_pair(lane) as usize;
    let output = |transform: u32| ((transform as usize) << (T::OUTPUT_BITS - 1)) + T::output_pair(lane) as usize;
    let mut pairs = T::load::<F>(samples, input(transform));
    loop {
        let x = T::unpack::<F>(pairs);
        // No sum overflows: there are fewer warps than 2^31.
        let next = transform + warps;
        let goes_on = next < transforms && next > transform;
        if goes_on {
            pairs = T::load::<F>(samples, input(next));
        }
        let y = T::transform::<O::Inner, O::Sums>(x, &phases);
        T::store(y, spectra, output(transform));
        if !goes_on {
            return;
        }
        transform = next;
    }
}
