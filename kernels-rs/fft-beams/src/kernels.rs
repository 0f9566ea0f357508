//! The entry points of every size, and their table.

use fringes_device::{Global, GlobalMut};
use fringes_kernels_fft::generated;

#[cfg(not(target_arch = "nvptx64"))]
use crate::BeamKernel;
use crate::form::{Given, Sizes, checked};
use crate::{Dual4, Dual8, HalfBeams, Powers, Single4, Single8, WideBeams};

/// The kernels of all sizes: for each the pairs and the registers of an input, and the names by voltages and beams.
macro_rules! kernels {
    ($($transform:ident, $part:literal, $pairs:literal, $registers:literal, $blocks:literal, [$($voltages:ident: $half:ident $power:ident $wide:ident;)*];)*) => {
        $($(
            kernels! { @ $transform, $part, $pairs, $registers, $blocks, $voltages, HalfBeams, $half }
            kernels! { @ $transform, $part, $pairs, $registers, $blocks, $voltages, Powers, $power }
            kernels! { @ $transform, $part, $pairs, $registers, $blocks, $voltages, WideBeams, $wide }
        )*)*

        /// Every kernel.
        #[cfg(not(target_arch = "nvptx64"))]
        pub const KERNELS: &[BeamKernel] = &[$($(
            BeamKernel { declaration: <$half as fringes_device::Kernel>::DECLARATION, run: $half },
            BeamKernel { declaration: <$power as fringes_device::Kernel>::DECLARATION, run: $power },
            BeamKernel { declaration: <$wide as fringes_device::Kernel>::DECLARATION, run: $wide },
        )*)*];
    };
    (@ $transform:ident, $part:literal, $pairs:literal, $registers:literal, $blocks:literal, $voltages:ident, $beams:ident, $name:ident) => {
        #[cfg(any(not(target_arch = "nvptx64"), fringes_part = $part))]
        fringes_device::kernel! {
            #[doc = concat!("Beams `", stringify!($beams), "` of voltages `", stringify!($voltages), "` by [`", stringify!($transform), "`](generated::", stringify!($transform), ").")]
            #[launch(threads(128), min_blocks($blocks))]
            pub fn $name(voltages: Global<u8>, present: Global<u8>, gains: Global<u32>, factors: Global<f32>, phases: Global<u32>, beams: GlobalMut<u32>, channels: u32, times: u32, lines: u32, feeds: u32, unit: u32) {
                let given = Given { voltages, present, gains, factors, phases };
                let sizes = Sizes { channels, times, lines, feeds, unit };
                checked::<generated::$transform, $voltages, $beams, $pairs, $registers>(given, beams, sizes);
            }
        }
    };
}

kernels! {
    Fft256To512, "256_512", 4, 8, 4, [
        Single4: beams_256_512_i4_single_f16 beams_256_512_i4_single_power beams_256_512_i4_single_c32;
        Dual4: beams_256_512_i4_dual_f16 beams_256_512_i4_dual_power beams_256_512_i4_dual_c32;
        Single8: beams_256_512_i8_single_f16 beams_256_512_i8_single_power beams_256_512_i8_single_c32;
        Dual8: beams_256_512_i8_dual_f16 beams_256_512_i8_dual_power beams_256_512_i8_dual_c32;
    ];
}
