//! The entry points of every size, and their table.

use fringes_device::{Global, GlobalMut};
use fringes_kernels_fft_microkernel::{F16, HalfSpectra, I4, I8, Powers, SaturatingSpectra, generated};

use crate::batch;
#[cfg(not(target_arch = "nvptx64"))]
use crate::{BatchKernel, Run};

/// The kernels of all sizes: for each the least number of blocks an SM, and the kernels: name, samples, transforms of a
/// group, results.
macro_rules! kernels {
    ($($transform:ident, $part:literal, $blocks:literal, [$($name:ident $format:ident $group:literal $spectra:ident $value:ty, $run:ident;)*];)*) => {
        $($(
            #[cfg(any(not(target_arch = "nvptx64"), feature = $part))]
            fringes_device::kernel! {
                #[doc = concat!("[`", stringify!($transform), "`](generated::", stringify!($transform), ") of samples `", stringify!($format), "` to `", stringify!($spectra), "`.")]
                #[launch(threads(128), min_blocks($blocks))]
                pub fn $name(samples: Global<u32>, phases: Global<u32>, spectra: GlobalMut<$value>, transforms: u32) {
                    batch::checked::<generated::$transform, $format, _, $group>(samples, phases, $spectra(spectra), spectra.len(), transforms);
                }
            }
        )*)*

        /// Every kernel.
        #[cfg(not(target_arch = "nvptx64"))]
        pub const KERNELS: &[BatchKernel] = &[$($(
            BatchKernel { declaration: <$name as fringes_device::Kernel>::DECLARATION, run: Run::$run($name) },
        )*)*];
    };
}

kernels! {
    Fft64To64, "64_64", 4, [
        fft_64_64_f16_f16 F16 4 HalfSpectra [u32; 2], Half;
        fft_64_64_f16_f16_saturating F16 4 SaturatingSpectra [u32; 2], Half;
        fft_64_64_f16_power F16 4 Powers [f32; 2], Power;
        fft_64_64_i8_f16 I8 4 HalfSpectra [u32; 2], Half;
        fft_64_64_i8_f16_saturating I8 4 SaturatingSpectra [u32; 2], Half;
        fft_64_64_i8_power I8 4 Powers [f32; 2], Power;
        fft_64_64_i4_f16 I4 4 HalfSpectra [u32; 2], Half;
        fft_64_64_i4_f16_saturating I4 4 SaturatingSpectra [u32; 2], Half;
        fft_64_64_i4_power I4 4 Powers [f32; 2], Power;
    ];
    Fft64To128, "64_128", 4, [
        fft_64_128_f16_f16 F16 4 HalfSpectra [u32; 2], Half;
        fft_64_128_f16_f16_saturating F16 4 SaturatingSpectra [u32; 2], Half;
        fft_64_128_f16_power F16 4 Powers [f32; 2], Power;
        fft_64_128_i8_f16 I8 4 HalfSpectra [u32; 2], Half;
        fft_64_128_i8_f16_saturating I8 4 SaturatingSpectra [u32; 2], Half;
        fft_64_128_i8_power I8 4 Powers [f32; 2], Power;
        fft_64_128_i4_f16 I4 4 HalfSpectra [u32; 2], Half;
        fft_64_128_i4_f16_saturating I4 4 SaturatingSpectra [u32; 2], Half;
        fft_64_128_i4_power I4 4 Powers [f32; 2], Power;
    ];
    Fft128To128, "128_128", 4, [
        fft_128_128_f16_f16 F16 2 HalfSpectra [u32; 2], Half;
        fft_128_128_f16_f16_saturating F16 2 SaturatingSpectra [u32; 2], Half;
        fft_128_128_f16_power F16 2 Powers [f32; 2], Power;
        fft_128_128_i8_f16 I8 4 HalfSpectra [u32; 2], Half;
        fft_128_128_i8_f16_saturating I8 4 SaturatingSpectra [u32; 2], Half;
        fft_128_128_i8_power I8 4 Powers [f32; 2], Power;
        fft_128_128_i4_f16 I4 4 HalfSpectra [u32; 2], Half;
        fft_128_128_i4_f16_saturating I4 4 SaturatingSpectra [u32; 2], Half;
        fft_128_128_i4_power I4 4 Powers [f32; 2], Power;
    ];
    Fft128To256, "128_256", 4, [
        fft_128_256_f16_f16 F16 2 HalfSpectra [u32; 2], Half;
        fft_128_256_f16_f16_saturating F16 2 SaturatingSpectra [u32; 2], Half;
        fft_128_256_f16_power F16 2 Powers [f32; 2], Power;
        fft_128_256_i8_f16 I8 2 HalfSpectra [u32; 2], Half;
        fft_128_256_i8_f16_saturating I8 2 SaturatingSpectra [u32; 2], Half;
        fft_128_256_i8_power I8 2 Powers [f32; 2], Power;
        fft_128_256_i4_f16 I4 4 HalfSpectra [u32; 2], Half;
        fft_128_256_i4_f16_saturating I4 4 SaturatingSpectra [u32; 2], Half;
        fft_128_256_i4_power I4 4 Powers [f32; 2], Power;
    ];
    Fft256To256, "256_256", 4, [
        fft_256_256_f16_f16 F16 1 HalfSpectra [u32; 2], Half;
        fft_256_256_f16_f16_saturating F16 1 SaturatingSpectra [u32; 2], Half;
        fft_256_256_f16_power F16 1 Powers [f32; 2], Power;
        fft_256_256_i8_f16 I8 2 HalfSpectra [u32; 2], Half;
        fft_256_256_i8_f16_saturating I8 2 SaturatingSpectra [u32; 2], Half;
        fft_256_256_i8_power I8 2 Powers [f32; 2], Power;
        fft_256_256_i4_f16 I4 2 HalfSpectra [u32; 2], Half;
        fft_256_256_i4_f16_saturating I4 2 SaturatingSpectra [u32; 2], Half;
        fft_256_256_i4_power I4 2 Powers [f32; 2], Power;
    ];
    Fft256To512, "256_512", 4, [
        fft_256_512_f16_f16 F16 1 HalfSpectra [u32; 2], Half;
        fft_256_512_f16_f16_saturating F16 1 SaturatingSpectra [u32; 2], Half;
        fft_256_512_f16_power F16 1 Powers [f32; 2], Power;
        fft_256_512_i8_f16 I8 1 HalfSpectra [u32; 2], Half;
        fft_256_512_i8_f16_saturating I8 1 SaturatingSpectra [u32; 2], Half;
        fft_256_512_i8_power I8 1 Powers [f32; 2], Power;
        fft_256_512_i4_f16 I4 2 HalfSpectra [u32; 2], Half;
        fft_256_512_i4_f16_saturating I4 2 SaturatingSpectra [u32; 2], Half;
        fft_256_512_i4_power I4 2 Powers [f32; 2], Power;
    ];
    Fft512To512, "512_512", 3, [
        fft_512_512_f16_f16 F16 1 HalfSpectra [u32; 2], Half;
        fft_512_512_f16_f16_saturating F16 1 SaturatingSpectra [u32; 2], Half;
        fft_512_512_f16_power F16 1 Powers [f32; 2], Power;
        fft_512_512_i8_f16 I8 1 HalfSpectra [u32; 2], Half;
        fft_512_512_i8_f16_saturating I8 1 SaturatingSpectra [u32; 2], Half;
        fft_512_512_i8_power I8 1 Powers [f32; 2], Power;
        fft_512_512_i4_f16 I4 1 HalfSpectra [u32; 2], Half;
        fft_512_512_i4_f16_saturating I4 1 SaturatingSpectra [u32; 2], Half;
        fft_512_512_i4_power I4 1 Powers [f32; 2], Power;
    ];
    Fft512To1024, "512_1024", 2, [
        fft_512_1024_f16_f16 F16 1 HalfSpectra [u32; 2], Half;
        fft_512_1024_f16_f16_saturating F16 1 SaturatingSpectra [u32; 2], Half;
        fft_512_1024_f16_power F16 1 Powers [f32; 2], Power;
        fft_512_1024_i8_f16 I8 1 HalfSpectra [u32; 2], Half;
        fft_512_1024_i8_f16_saturating I8 1 SaturatingSpectra [u32; 2], Half;
        fft_512_1024_i8_power I8 1 Powers [f32; 2], Power;
        fft_512_1024_i4_f16 I4 1 HalfSpectra [u32; 2], Half;
        fft_512_1024_i4_f16_saturating I4 1 SaturatingSpectra [u32; 2], Half;
        fft_512_1024_i4_power I4 1 Powers [f32; 2], Power;
    ];
    Fft1024To1024, "1024_1024", 2, [
        fft_1024_1024_f16_f16 F16 1 HalfSpectra [u32; 2], Half;
        fft_1024_1024_f16_f16_saturating F16 1 SaturatingSpectra [u32; 2], Half;
        fft_1024_1024_f16_power F16 1 Powers [f32; 2], Power;
        fft_1024_1024_i8_f16 I8 1 HalfSpectra [u32; 2], Half;
        fft_1024_1024_i8_f16_saturating I8 1 SaturatingSpectra [u32; 2], Half;
        fft_1024_1024_i8_power I8 1 Powers [f32; 2], Power;
        fft_1024_1024_i4_f16 I4 1 HalfSpectra [u32; 2], Half;
        fft_1024_1024_i4_f16_saturating I4 1 SaturatingSpectra [u32; 2], Half;
        fft_1024_1024_i4_power I4 1 Powers [f32; 2], Power;
    ];
}
