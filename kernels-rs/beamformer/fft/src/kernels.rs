//! The entry points of every size, and their table.

use fringes_device::{Global, GlobalMut};
use fringes_kernels_fft_microkernel::generated;

#[cfg(not(target_arch = "nvptx64"))]
use crate::BeamKernel;
use crate::form::{Given, Sizes, checked};
use crate::{Eight, Four, HalfBeams, Powers, WideBeams};

/// The kernels of all sizes: for each the pairs and the registers of an input, bytes of shared memory, blocks of a
/// multiprocessor, and the names by voltages and beams.
macro_rules! kernels {
    ($($transform:ident, $part:literal, $pairs:literal, $registers:literal, $shared:literal, $blocks:literal, [$($voltages:ident: $half:ident $power:ident $wide:ident;)*];)*) => {
        $($(
            kernels! { @ $transform, $part, $pairs, $registers, $shared, $blocks, $voltages, HalfBeams, $half }
            kernels! { @ $transform, $part, $pairs, $registers, $shared, $blocks, $voltages, Powers, $power }
            kernels! { @ $transform, $part, $pairs, $registers, $shared, $blocks, $voltages, WideBeams, $wide }
        )*)*

        /// Every kernel.
        #[cfg(not(target_arch = "nvptx64"))]
        pub const KERNELS: &[BeamKernel] = &[$($(
            BeamKernel { declaration: <$half as fringes_device::Kernel>::DECLARATION, run: $half },
            BeamKernel { declaration: <$power as fringes_device::Kernel>::DECLARATION, run: $power },
            BeamKernel { declaration: <$wide as fringes_device::Kernel>::DECLARATION, run: $wide },
        )*)*];
    };
    (@ $transform:ident, $part:literal, $pairs:literal, $registers:literal, $shared:literal, $blocks:literal, $voltages:ident, $beams:ident, $name:ident) => {
        #[cfg(any(not(target_arch = "nvptx64"), feature = $part))]
        fringes_device::kernel! {
            #[doc = concat!("Beams `", stringify!($beams), "` of voltages `", stringify!($voltages), "` by [`", stringify!($transform), "`](generated::", stringify!($transform), ").")]
            #[launch(threads(128), min_blocks($blocks), shared_bytes($shared))]
            pub fn $name(voltages: Global<u8>, present: Global<u8>, gains: Global<u32>, factors: Global<f32>, phases: Global<u32>, beams: GlobalMut<u32>, channels: u32, times: u32, lines: u32, feeds: u32, pols: u32, unit: u32) {
                let given = Given { voltages, present, gains, factors, phases };
                let sizes = Sizes { channels, times, lines, feeds, pols, unit };
                checked::<generated::$transform, $voltages, $beams, $pairs, $registers, $shared>(given, beams, sizes);
            }
        }
    };
}

kernels! {
    Fft64To64, "64_64", 1, 2, 2048, 4, [
        Four: beams_64_64_i4_f16 beams_64_64_i4_power beams_64_64_i4_c32;
        Eight: beams_64_64_i8_f16 beams_64_64_i8_power beams_64_64_i8_c32;
    ];
    Fft64To128, "64_128", 1, 2, 2048, 4, [
        Four: beams_64_128_i4_f16 beams_64_128_i4_power beams_64_128_i4_c32;
        Eight: beams_64_128_i8_f16 beams_64_128_i8_power beams_64_128_i8_c32;
    ];
    Fft128To128, "128_128", 2, 4, 4096, 4, [
        Four: beams_128_128_i4_f16 beams_128_128_i4_power beams_128_128_i4_c32;
        Eight: beams_128_128_i8_f16 beams_128_128_i8_power beams_128_128_i8_c32;
    ];
    Fft128To256, "128_256", 2, 4, 4096, 4, [
        Four: beams_128_256_i4_f16 beams_128_256_i4_power beams_128_256_i4_c32;
        Eight: beams_128_256_i8_f16 beams_128_256_i8_power beams_128_256_i8_c32;
    ];
    Fft256To256, "256_256", 4, 8, 8192, 4, [
        Four: beams_256_256_i4_f16 beams_256_256_i4_power beams_256_256_i4_c32;
        Eight: beams_256_256_i8_f16 beams_256_256_i8_power beams_256_256_i8_c32;
    ];
    Fft256To512, "256_512", 4, 8, 8192, 4, [
        Four: beams_256_512_i4_f16 beams_256_512_i4_power beams_256_512_i4_c32;
        Eight: beams_256_512_i8_f16 beams_256_512_i8_power beams_256_512_i8_c32;
    ];
    Fft512To512, "512_512", 8, 16, 16384, 2, [
        Four: beams_512_512_i4_f16 beams_512_512_i4_power beams_512_512_i4_c32;
        Eight: beams_512_512_i8_f16 beams_512_512_i8_power beams_512_512_i8_c32;
    ];
    Fft512To1024, "512_1024", 8, 16, 16384, 2, [
        Four: beams_512_1024_i4_f16 beams_512_1024_i4_power beams_512_1024_i4_c32;
        Eight: beams_512_1024_i8_f16 beams_512_1024_i8_power beams_512_1024_i8_c32;
    ];
    Fft1024To1024, "1024_1024", 16, 32, 32768, 2, [
        Four: beams_1024_1024_i4_f16 beams_1024_1024_i4_power beams_1024_1024_i4_c32;
        Eight: beams_1024_1024_i8_f16 beams_1024_1024_i8_power beams_1024_1024_i8_c32;
    ];
}
