//! The entry points of every size, and their table.

use fringes_device::{Global, GlobalMut};
use fringes_kernels_fft::{F16, HalfSpectra, I4, I8, Powers, SaturatingSpectra, generated};

use crate::batch;
#[cfg(not(target_arch = "nvptx64"))]
use crate::{BatchKernel, Run};

/// The kernels of all sizes: for each the names by samples and results.
macro_rules! kernels {
    ($($transform:ident, $part:literal, [$($name:ident $format:ident $spectra:ident $value:ty, $run:ident;)*];)*) => {
        $($(
            #[cfg(any(not(target_arch = "nvptx64"), fringes_part = $part))]
            fringes_device::kernel! {
                #[doc = concat!("[`", stringify!($transform), "`](generated::", stringify!($transform), ") of samples `", stringify!($format), "` to `", stringify!($spectra), "`.")]
                #[launch(threads(128), min_blocks(4))]
                pub fn $name(samples: Global<u32>, phases: Global<u32>, spectra: GlobalMut<$value>, transforms: u32) {
                    batch::checked::<generated::$transform, $format, _>(samples, phases, $spectra(spectra), spectra.len(), transforms);
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
    Fft256To512, "256_512", [
        fft_256_512_f16_f16 F16 HalfSpectra [u32; 2], Half;
        fft_256_512_f16_f16_saturating F16 SaturatingSpectra [u32; 2], Half;
        fft_256_512_f16_power F16 Powers [f32; 2], Power;
        fft_256_512_i8_f16 I8 HalfSpectra [u32; 2], Half;
        fft_256_512_i8_f16_saturating I8 SaturatingSpectra [u32; 2], Half;
        fft_256_512_i8_power I8 Powers [f32; 2], Power;
        fft_256_512_i4_f16 I4 HalfSpectra [u32; 2], Half;
        fft_256_512_i4_f16_saturating I4 SaturatingSpectra [u32; 2], Half;
        fft_256_512_i4_power I4 Powers [f32; 2], Power;
    ];
}
