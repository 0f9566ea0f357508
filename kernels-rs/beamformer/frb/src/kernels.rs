//! The entry points, and their table.

use fringes_device::{Global, GlobalMut};
use fringes_kernels_fft_microkernel::generated;

use crate::alone::Alone;
use crate::form::{Given, checked};
use crate::formed::{FormedGiven, FormedSizes, formed};
use crate::{Eight, Four, Sizes};
#[cfg(not(target_arch = "nvptx64"))]
use crate::{FormedKernel, FrbKernel};

/// The kernels: name, what it is for, its bounds, what it is built for, and its front.
macro_rules! kernels {
    ($($name:ident, $what:literal, [$($bound:ident($value:literal)),*], [$($built:tt)*], $front:ty;)*) => {
        $(
            #[cfg(any(not(target_arch = "nvptx64"), $($built)*))]
            fringes_device::kernel! {
                #[doc = $what]
                #[launch($($bound($value)),*)]
                pub fn $name(voltages: Global<u8>, good: Global<u8>, weights: Global<u32>, phases: Global<u32>, slots: Global<u32>, rows: Global<u32>, time_phases: Global<u32>, factors: Global<f32>, powers: GlobalMut<f32>, frequencies: u32, times: u32, outs: u32, parts: u32, beams: u32, part_beams: u32, slot_count: u32, lines: u32, feeds: u32, pols: u32, summed: u32, blocks: u32, group_bits: u32, centre: u32, signs: u32, time_stride: u64, frequency_stride: u64, pol_stride: u64, line_stride: u64) {
                    let given = Given { voltages, good, weights, phases, slots, rows, time_phases, factors };
                    let sizes = Sizes { frequencies, times, outs, parts, beams, part_beams, slots: slot_count, lines, feeds, pols, summed, blocks, group_bits, centre, signs, strides: [time_stride, frequency_stride, pol_stride, line_stride] };
                    checked::<$front>(given, powers, sizes);
                }
            }
        )*

        /// Every kernel.
        #[cfg(not(target_arch = "nvptx64"))]
        pub const KERNELS: &[FrbKernel] = &[$(
            FrbKernel {
                declaration: <$name as fringes_device::Kernel>::DECLARATION,
                run: |given, powers, sizes| {
                    let Given { voltages, good, weights, phases, slots, rows, time_phases, factors } = given;
                    let Sizes { frequencies, times, outs, parts, beams, part_beams, slots: slot_count, lines, feeds, pols, summed, blocks, group_bits, centre, signs, strides: [time, frequency, pol, line] } = sizes;
                    $name(voltages, good, weights, phases, slots, rows, time_phases, factors, powers, frequencies, times, outs, parts, beams, part_beams, slot_count, lines, feeds, pols, summed, blocks, group_bits, centre, signs, time, frequency, pol, line);
                },
            },
        )*];
    };
}

kernels! {
    frb_256_512_128_i4_4, "4+4 bits, four full lines.", [threads(384), min_blocks(1)], [feature = "256_512_128"],
        Alone<generated::Fft256To512, Four, 4, 8, 4, 16>;
    frb_256_512_128_i4_any, "4+4 bits, any lines.", [threads(384), min_blocks(1)], [feature = "256_512_128"],
        Alone<generated::Fft256To512, Four, 0, 8, 4, 16>;
    frb_256_512_128_i8_any, "8 bits, any lines.", [threads(384), min_blocks(1)], [feature = "256_512_128"],
        Alone<generated::Fft256To512, Eight, 0, 8, 4, 16>;
    frb_128_256_128_i4_any, "4+4 bits, any lines.", [threads(384), min_blocks(1)], [feature = "128_256_128"],
        Alone<generated::Fft128To256, Four, 0, 4, 2, 8>;
    frb_128_256_128_i8_any, "8 bits, any lines.", [threads(384), min_blocks(1)], [feature = "128_256_128"],
        Alone<generated::Fft128To256, Eight, 0, 4, 2, 8>;
    frb_256_256_128_i4_any, "4+4 bits, any lines.", [threads(384), min_blocks(1)], [feature = "256_256_128"],
        Alone<generated::Fft256To256, Four, 0, 8, 4, 8>;
    frb_256_256_128_i8_any, "8 bits, any lines.", [threads(384), min_blocks(1)], [feature = "256_256_128"],
        Alone<generated::Fft256To256, Eight, 0, 8, 4, 8>;
}

/// The kernels of voltages of 4+4 bits: name, what it is for, its bounds, what it is built for, and transform.
macro_rules! formed_kernels {
    ($($name:ident, $what:literal, [$($bound:ident($value:literal)),*], [$($built:tt)*], $transform:ty;)*) => {
        $(
            #[cfg(any(not(target_arch = "nvptx64"), $($built)*))]
            fringes_device::kernel! {
                #[doc = $what]
                #[launch($($bound($value)),*)]
                pub fn $name(voltages: Global<u8>, weights: Global<u32>, phases: Global<u32>, rows: Global<u32>, scales: Global<u32>, voltages_out: GlobalMut<u32>, frequencies: u32, times: u32, splits: u32, outs: u32, beams: u32, pols: u32, signs: u32, time_stride: u64, frequency_stride: u64, pol_stride: u64, line_stride: u64, out_frequency_stride: u64, out_time_stride: u64) {
                    let given = FormedGiven { voltages, weights, phases, rows, scales };
                    let sizes = FormedSizes { frequencies, times, splits, outs, beams, pols, signs, strides: [time_stride, frequency_stride, pol_stride, line_stride], out_strides: [out_frequency_stride, out_time_stride] };
                    formed::<$transform>(given, voltages_out, sizes);
                }
            }
        )*

        /// Every kernel of voltages.
        #[cfg(not(target_arch = "nvptx64"))]
        pub const FORMED_KERNELS: &[FormedKernel] = &[$(
            FormedKernel {
                declaration: <$name as fringes_device::Kernel>::DECLARATION,
                run: |given, out, sizes| {
                    let FormedGiven { voltages, weights, phases, rows, scales } = given;
                    let FormedSizes { frequencies, times, splits, outs, beams, pols, signs, strides: [time, frequency, pol, line], out_strides: [out_frequency, out_time] } = sizes;
                    $name(voltages, weights, phases, rows, scales, out, frequencies, times, splits, outs, beams, pols, signs, time, frequency, pol, line, out_frequency, out_time);
                },
            },
        )*];
    };
}

formed_kernels! {
    formed_256_512_i4, "4+4 bits, four full lines.", [threads(512), min_blocks(1)], [feature = "256_512_128"],
        generated::Fft256To512;
}
