//! The generated transforms, size by size.

use fringes_device::control::trap;
use fringes_device::index::laneid;
use fringes_device::{Global, GlobalMut};
use fringes_kernels_fft_microkernel::generated::{
    Fft64To64, Fft64To128, Fft128To128, Fft128To256, Fft256To256, Fft256To512, Fft512To512, Fft512To1024, Fft1024To1024,
};
use fringes_kernels_fft_microkernel::{Half, Transform};

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
    time_fft_64_64, Fft64To64, 2, 2, [, max_registers(64)];
    time_fft_64_128, Fft64To128, 2, 4, [, max_registers(64)];
    time_fft_128_128, Fft128To128, 4, 4, [, max_registers(64)];
    time_fft_128_256, Fft128To256, 4, 8, [, max_registers(64)];
    time_fft_256_256, Fft256To256, 8, 8, [, max_registers(80)];
    time_fft_256_512, Fft256To512, 8, 16, [, max_registers(128)];
    time_fft_512_512, Fft512To512, 16, 16, [, max_registers(168)];
    time_fft_512_1024, Fft512To1024, 16, 32, [, max_registers(255)];
    time_fft_1024_1024, Fft1024To1024, 32, 32, [, max_registers(255)];
}
