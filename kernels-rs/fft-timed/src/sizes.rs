//! The generated transforms, size by size.

use fringes_device::control::trap;
use fringes_device::index::laneid;
use fringes_device::{Global, GlobalMut};
use fringes_kernels_fft::generated::Fft256To512;
use fringes_kernels_fft::{Half, Transform};

use crate::measure::measure;

/// Repeats a transform with sums in f16.
///
/// # Safety
/// The block has as many warps as [`measure`] asks.
#[inline(always)]
unsafe fn time<T, const I: usize, const O: usize>(
    phases: Global<u32>,
    cycles: GlobalMut<u64>,
    values: GlobalMut<u32>,
    steps: u32,
) where
    T: Transform<Input = [u32; I], Output<u32> = [u32; O]>,
{
    if phases.len() < 32 * T::PHASE_REGISTERS {
        trap();
        return;
    }
    let phases = T::phases(phases, laneid());
    measure(cycles, values, steps, 0, |x, _| T::transform::<Half, Half>(x, &phases));
}

macro_rules! sizes {
    ($($kernel:ident, $transform:ident, $inputs:literal, $outputs:literal, [$($registers:tt)*];)*) => { $(
        fringes_device::kernel! {
            #[doc = concat!("Cycles of [`", stringify!($transform), "`].")]
            #[launch(threads(128) $($registers)*)]
            pub fn $kernel(phases: Global<u32>, cycles: GlobalMut<u64>, values: GlobalMut<u32>, steps: u32) {
                // SAFETY: the block is four whole warps.
                unsafe { time::<$transform, $inputs, $outputs>(phases, cycles, values, steps) };
            }
        }
    )* };
}

sizes! {
    time_fft_256_512, Fft256To512, 8, 16, [, max_registers(128)];
}
