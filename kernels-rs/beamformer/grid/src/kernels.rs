//! The entry points, and their tables.

use fringes_device::{Global, GlobalMut};
use fringes_kernels_fft_microkernel::generated;

use crate::Sizes;
use crate::channels::{ChannelSizes, few, many};
use crate::form::{Given, checked};
use crate::interpolate::{self, PositionSizes};
use crate::load::{Eight, Four, Halves};
use crate::products::{Any, Kept};
use crate::results::{NARROW, Powers, Voltages};
use crate::sizes::of;
#[cfg(not(target_arch = "nvptx64"))]
use crate::table::{ChannelKernel, GridKernel, Run};

/// Number of powers.
#[inline(always)]
fn powers(sizes: Sizes) -> Option<u64> {
    let Sizes { frequencies, fine, times, outs, beams, .. } = sizes;
    Some(of(&[frequencies, fine, times, outs, beams, sizes.products()]))
}

/// The kernels: name, what it is for, type and kind of its results, how many there are, its products, and the format of
/// voltages.
macro_rules! kernels {
    ($($name:ident, $what:literal, [$($bound:ident($value:literal)),*], $out:ident: $type:ty, $kind:ident, $elements:expr, $products:ty, $format:ty;)*) => {
        $(
            fringes_device::kernel! {
                #[doc = $what]
                #[launch($($bound($value)),*)]
                pub fn $name(voltages: Global<u8>, good: Global<u8>, gains: Global<[u32; 4]>, phases: Global<[u32; 4]>, matrix: Global<[u32; 4]>, factors: Global<f32>, places: Global<u32>, $out: GlobalMut<$type>, frequencies: u32, fine: u32, times: u32, first: u32, results: u32, outs: u32, beams: u32, lines: u32, feeds: u32, pols: u32, summed: u32, blocks: u32, group: u32, centre: u32, signs: u32, columns: u32, groups: u32, buffers: u32, out_parts: u32, beam_parts: u32, splits: u32, block_stride: u64, frequency_stride: u64, fine_stride: u64, pol_stride: u64, line_stride: u64, out_frequency_stride: u64, out_time_stride: u64, out_pol_stride: u64, out_beam_stride: u64, places_out: u32, kind: u32) {
                    let given = Given { voltages, good, gains, phases, matrix, factors, places };
                    let sizes = Sizes { frequencies, fine, times, first, results, outs, beams, lines, feeds, pols, summed, blocks, group, centre, signs, columns, groups, buffers, out_parts, beam_parts, splits, strides: [block_stride, frequency_stride, fine_stride, pol_stride, line_stride], out_strides: [out_frequency_stride, out_time_stride, out_pol_stride, out_beam_stride], places_out, kind };
                    checked::<$products, $format>(given, $out, sizes, $elements);
                }
            }
        )*

        /// Every kernel.
        #[cfg(not(target_arch = "nvptx64"))]
        pub const KERNELS: &[GridKernel] = &[$(
            GridKernel {
                declaration: <$name as fringes_device::Kernel>::DECLARATION,
                run: Run::$kind(|given, out, sizes| {
                    let Given { voltages, good, gains, phases, matrix, factors, places } = given;
                    let Sizes { frequencies, fine, times, first, results, outs, beams, lines, feeds, pols, summed, blocks, group, centre, signs, columns, groups, buffers, out_parts, beam_parts, splits, strides: [block, frequency, channel, pol, line], out_strides: [out_frequency, out_time, out_pol, out_beam], places_out, kind } = sizes;
                    $name(voltages, good, gains, phases, matrix, factors, places, out, frequencies, fine, times, first, results, outs, beams, lines, feeds, pols, summed, blocks, group, centre, signs, columns, groups, buffers, out_parts, beam_parts, splits, block, frequency, channel, pol, line, out_frequency, out_time, out_pol, out_beam, places_out, kind);
                }),
            },
        )*];
    };
}

kernels! {
    grid_powers_1_6_i4, "Powers of up to 8 lines of 41 to 48 feeds, 4+4 bits.", [max_registers(128)], powers_out: f32, Powers, powers,
        Kept<Powers<2, 3>, 1, 6, 2, 3>, Four;
    grid_powers_1_6_i8, "Powers of up to 8 lines of 41 to 48 feeds, 8 bits.", [max_registers(128)], powers_out: f32, Powers, powers,
        Kept<Powers<2, 3>, 1, 6, 2, 3>, Eight;
    grid_powers_1_6_f16, "Powers of up to 8 lines of 41 to 48 feeds, f16.", [max_registers(128)], powers_out: f32, Powers, powers,
        Kept<Powers<2, 3>, 1, 6, 2, 3>, Halves;
    grid_powers_3_3_i4, "Powers of 17 to 24 lines of 17 to 24 feeds, 4+4 bits.", [max_registers(144)], powers_out: f32, Powers, powers,
        Kept<Powers<1, 3>, 3, 3, 1, 3>, Four;
    grid_powers_3_3_i8, "Powers of 17 to 24 lines of 17 to 24 feeds, 8 bits.", [max_registers(144)], powers_out: f32, Powers, powers,
        Kept<Powers<1, 3>, 3, 3, 1, 3>, Eight;
    grid_powers_3_3_f16, "Powers of 17 to 24 lines of 17 to 24 feeds, f16.", [max_registers(144)], powers_out: f32, Powers, powers,
        Kept<Powers<1, 3>, 3, 3, 1, 3>, Halves;
    grid_powers_any_i4, "Powers of any lines, 4+4 bits.", [max_registers(240)], powers_out: f32, Powers, powers,
        Any<Powers<2, 3>, 2, 3>, Four;
    grid_powers_any_i8, "Powers of any lines, 8 bits.", [max_registers(240)], powers_out: f32, Powers, powers,
        Any<Powers<2, 3>, 2, 3>, Eight;
    grid_powers_any_f16, "Powers of any lines, f16.", [max_registers(240)], powers_out: f32, Powers, powers,
        Any<Powers<2, 3>, 2, 3>, Halves;
    grid_voltages_any_i4, "Voltages of any lines, 4+4 bits.", [max_registers(240)], voltages_out: u32, Voltages, voltages,
        Any<Voltages, 2, 3>, Four;
    grid_voltages_any_i8, "Voltages of any lines, 8 bits.", [max_registers(240)], voltages_out: u32, Voltages, voltages,
        Any<Voltages, 2, 3>, Eight;
}

/// Words of voltages that come out, in elements of a word or two.
#[inline(always)]
fn voltages(sizes: Sizes) -> Option<u64> {
    let elements = sizes.out_elements();
    let one = sizes.fine == 1 && sizes.blocks == 1 && sizes.group == 1;
    one.then(|| if sizes.kind & NARROW != 0 { elements } else { elements.saturating_mul(2) })
}

/// The kernels of finer channels: name, what it is for, its bounds, and the call.
macro_rules! channels {
    ($($name:ident, $what:literal, [$($bound:ident($value:literal)),*], |$voltages:ident, $phases:ident, $channels:ident, $sizes:ident| $call:expr;)*) => {
        $(
            fringes_device::kernel! {
                #[doc = $what]
                #[launch($($bound($value)),*)]
                pub fn $name($voltages: Global<u8>, $phases: Global<u32>, $channels: GlobalMut<u32>, blocks: u32, frequencies: u32, pols: u32, lines: u32, feeds: u32, format: u32, signs: u32, negative: u32, scale: f32, time_stride: u64, frequency_stride: u64, pol_stride: u64, line_stride: u64) {
                    let $sizes = ChannelSizes { blocks, frequencies, pols, lines, feeds, format, signs, negative, scale, strides: [time_stride, frequency_stride, pol_stride, line_stride] };
                    $call;
                }
            }
        )*

        /// Every kernel of finer channels.
        #[cfg(not(target_arch = "nvptx64"))]
        pub const CHANNEL_KERNELS: &[ChannelKernel] = &[$(
            ChannelKernel {
                declaration: <$name as fringes_device::Kernel>::DECLARATION,
                run: |voltages, phases, channels, sizes| {
                    let ChannelSizes { blocks, frequencies, pols, lines, feeds, format, signs, negative, scale, strides: [time, frequency, pol, line] } = sizes;
                    $name(voltages, phases, channels, blocks, frequencies, pols, lines, feeds, format, signs, negative, scale, time, frequency, pol, line);
                },
            },
        )*];
    };
}

channels! {
    channels_2, "Two channels.", [threads(256)], |voltages, _phases, channels, sizes| few::<[[f32; 2]; 2]>(voltages, channels, sizes);
    channels_4, "4 channels.", [threads(256)], |voltages, _phases, channels, sizes| few::<[[f32; 2]; 4]>(voltages, channels, sizes);
    channels_8, "8 channels.", [threads(256)], |voltages, _phases, channels, sizes| few::<[[f32; 2]; 8]>(voltages, channels, sizes);
    channels_16, "16 channels.", [threads(256)], |voltages, _phases, channels, sizes| few::<[[f32; 2]; 16]>(voltages, channels, sizes);
    channels_32, "32 channels.", [threads(256)], |voltages, _phases, channels, sizes| few::<[[f32; 2]; 32]>(voltages, channels, sizes);
    channels_64, "64 channels.", [threads(256)], |voltages, phases, channels, sizes| many::<generated::Fft64To64, 2>(voltages, phases, channels, sizes);
    channels_128, "128 channels.", [threads(256)], |voltages, phases, channels, sizes| many::<generated::Fft128To128, 4>(voltages, phases, channels, sizes);
    channels_256, "256 channels.", [threads(256)], |voltages, phases, channels, sizes| many::<generated::Fft256To256, 8>(voltages, phases, channels, sizes);
    channels_512, "512 channels.", [threads(256)], |voltages, phases, channels, sizes| many::<generated::Fft512To512, 16>(voltages, phases, channels, sizes);
    channels_1024, "1024 channels.", [threads(256)], |voltages, phases, channels, sizes| many::<generated::Fft1024To1024, 32>(voltages, phases, channels, sizes);
}

fringes_device::kernel! {
    /// Powers at positions between beams.
    #[launch(threads(512))]
    pub fn interpolate_powers(powers: Global<f32>, places: Global<[u32; 4]>, positions_out: GlobalMut<f32>, frequencies: u32, fine: u32, times: u32, outs: u32, beams: u32, products: u32, positions: u32) {
        let sizes = PositionSizes { frequencies, fine, times, outs, beams, products, positions };
        interpolate::checked(powers, places, positions_out, sizes);
    }
}
