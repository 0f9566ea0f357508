//! Transforms of an array: each warp takes every `n`-th group of one to four, `n` the number of warps of the grid.
//!
//! The samples of a warp's next group are loaded before the present one is computed, and so arrive while it is. Phases
//! stay in registers. Groups are for small transforms, of which one alone would leave too few bytes under way.
//!
//! # Floor
//! Bytes: a transform from 256 to 512 reads 1024 bytes of f16 (512 of 8-bit, 256 of 4+4-bit samples) and writes 2048
//! bytes of f16 or of powers. At an H200's 4.3 TB/s these are 0.71 ns (0.60, 0.54), 187 SM-cycles (157, 141); the
//! microkernel takes 25 of the tensor pipe. Measured: 0.775, 0.655, 0.602 ns (docs/fft.md has all sizes).
//!
//! Steps, measured: groups of four in place of single transforms 0.084 in place of 0.100 ns for 64 points of 4+4 bits;
//! streaming stores (`.cs`) change nothing; eight rounds of blocks in place of one, up to 4 % (`DevicePlan`).

use fringes_device::control::trap;
use fringes_device::index::{ctaid_x, laneid, nctaid_x, tid_x};
use fringes_device::{Global, unroll};
use fringes_kernels_fft_microkernel::{Format, Spectra, Transform};

/// Warps of a block.
pub const WARPS: u32 = 4;

/// Transforms all of `samples`, after checking that the views are large enough: `spectra_pairs` is the number of pairs
/// of results that `spectra` has.
#[inline(always)]
pub fn checked<T: Transform, F: Format, O: Spectra, const GROUP: usize>(
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
        unsafe { transform_all::<T, F, O, GROUP>(samples, phases, spectra, transforms) }
    } else {
        trap();
    }
}

/// Transforms all of `samples`.
///
/// # Safety
/// The views hold `transforms` transforms and the phases.
#[inline(always)]
unsafe fn transform_all<T: Transform, F: Format, O: Spectra, const GROUP: usize>(
    samples: Global<F::Pair>,
    phases: Global<u32>,
    spectra: O,
    transforms: u32,
) {
    const { assert!(GROUP >= 1 && GROUP <= 4) };
    let lane = laneid();
    let warps = nctaid_x() * WARPS;
    let groups = (transforms / GROUP as u32) + (transforms % GROUP as u32).min(1);
    let mut group = ctaid_x() * WARPS + tid_x() / 32;
    if group >= groups {
        return;
    }
    let phases = T::phases(phases, lane);
    let (from, to) = (T::input_pair(lane) as usize, T::output_pair(lane) as usize);
    // Behind the last transform the last one is loaded again, and not stored.
    let load = |group: u32, member: usize| {
        let transform = (group as usize * GROUP + member).min(transforms as usize - 1);
        T::load::<F>(samples, (transform << (T::INPUT_BITS - 1)) + from)
    };
    let mut pairs: [T::Pairs<F::Pair>; GROUP] = core::array::from_fn(|member| load(group, member));
    loop {
        let x: [T::Input; GROUP] = core::array::from_fn(|member| T::unpack::<F>(pairs[member]));
        // Fewer than 2^32 warps beyond fewer than 2^32 groups: if the sum wraps, it is less than before.
        let next = group.wrapping_add(warps);
        let goes_on = next < groups && next > group;
        if goes_on {
            pairs = core::array::from_fn(|member| load(next, member));
        }
        unroll!(member in 0 1 2 3 {
            if member < GROUP {
                let transform = group as usize * GROUP + member;
                if transform < transforms as usize {
                    let y = T::transform::<O::Inner, O::Sums>(x[member], &phases);
                    T::store(y, spectra, (transform << (T::OUTPUT_BITS - 1)) + to);
                }
            }
        });
        if !goes_on {
            return;
        }
        group = next;
    }
}
