//! The entry points.

use fringes_device::{Global, GlobalMut};
use fringes_kernels_common::format::{F16, F32, I4, I8};
use fringes_kernels_f_engine_two_pass::job::Launch;

use crate::run::{self, Arguments};
use crate::shape::{Cut, Shape};
use crate::{columns, rows};
use fringes_kernels_f_engine_two_pass::numbers::{Floats, Integers};

/// The kernels: name, part, samples, whether they are complex, output, element.
macro_rules! kernels {
    ($($name:ident $part:literal $source:ident $complex:literal $output:ident $element:ty, $what:literal;)*) => { $(
        #[cfg(any(not(target_arch = "nvptx64"), feature = $part))]
        fringes_device::kernel! {
            #[doc = $what]
            ///
            /// Arguments are those of [`run::Arguments`] and of what it is made of.
            #[launch(threads(256), min_blocks(2))]
            pub fn $name(
                samples: Global<u32>,
                held: Global<u32>,
                weights: Global<[f32; 4]>,
                twiddles: Global<[f32; 4]>,
                pairs: Global<[u32; 4]>,
                channel_of: Global<u32>,
                gains: Global<[f32; 2]>,
                jobs: Global<[u32; 4]>,
                out: GlobalMut<$element>,
                saturated: GlobalMut<u32>,
                next: GlobalMut<$element>,
                next_saturated: GlobalMut<u32>,
                count: u32,
                points: u32,
                radices: u64,
                taps: u32,
                stride: u32,
                bits: u32,
                little_endian: u32,
                slots: u32,
                first_channel: u32,
                channels: u32,
                channel_stride: u64,
                period: u32,
                period_stride: u64,
                time_stride: u32,
                seed: u64,
                dither: u32,
            ) {
                let launch = Launch {
                    first_channel,
                    channels,
                    channel_stride,
                    period,
                    period_stride,
                    time_stride,
                    seed,
                    dither: dither != 0,
                };
                run::run::<$source, $output, $complex>(Arguments {
                    samples,
                    held,
                    weights,
                    twiddles,
                    pairs,
                    channels: channel_of,
                    gains,
                    jobs,
                    count,
                    shape: Shape { points, radices, taps, stride, bits, slots },
                    little_endian: little_endian != 0,
                    out: [out, next],
                    saturated: [saturated, next_saturated],
                    launch,
                });
            }
        }
    )* };
}

kernels! {
    channelize_integers_real_i8 "integers_real" Integers false I8 u16, "Real integers to signed bytes.";
    channelize_integers_real_i4 "integers_real" Integers false I4 u8, "Real integers to 4+4 bits.";
    channelize_integers_real_f16 "integers_real" Integers false F16 u32, "Real integers to f16.";
    channelize_integers_real_f32 "integers_real" Integers false F32 [f32; 2], "Real integers to f32.";
    channelize_integers_complex_i8 "integers_complex" Integers true I8 u16, "Complex integers to signed bytes.";
    channelize_integers_complex_i4 "integers_complex" Integers true I4 u8, "Complex integers to 4+4 bits.";
    channelize_integers_complex_f16 "integers_complex" Integers true F16 u32, "Complex integers to f16.";
    channelize_integers_complex_f32 "integers_complex" Integers true F32 [f32; 2], "Complex integers to f32.";
    channelize_floats_real_i8 "floats_real" Floats false I8 u16, "Real floats to signed bytes.";
    channelize_floats_real_i4 "floats_real" Floats false I4 u8, "Real floats to 4+4 bits.";
    channelize_floats_real_f16 "floats_real" Floats false F16 u32, "Real floats to f16.";
    channelize_floats_real_f32 "floats_real" Floats false F32 [f32; 2], "Real floats to f32.";
    channelize_floats_complex_i8 "floats_complex" Floats true I8 u16, "Complex floats to signed bytes.";
    channelize_floats_complex_i4 "floats_complex" Floats true I4 u8, "Complex floats to 4+4 bits.";
    channelize_floats_complex_f16 "floats_complex" Floats true F16 u32, "Complex floats to f16.";
    channelize_floats_complex_f32 "floats_complex" Floats true F32 [f32; 2], "Complex floats to f32.";
}

/// The first kernels of two launches: name, samples.
macro_rules! columns {
    ($($name:ident $source:ident, $what:literal;)*) => { $(
        #[cfg(any(not(target_arch = "nvptx64"), feature = "columns"))]
        fringes_device::kernel! {
            #[doc = $what]
            ///
            /// Arguments are those of [`columns::Arguments`] and of what it is made of.
            #[launch(threads(256), min_blocks(2))]
            pub fn $name(
                samples: Global<u32>,
                held: Global<u32>,
                weights: Global<[f32; 4]>,
                twiddles: Global<[f32; 4]>,
                jobs: Global<[u32; 4]>,
                workspace: GlobalMut<[f32; 2]>,
                count: u32,
                first_job: u32,
                points: u32,
                radices: u64,
                rows: u32,
                width: u32,
                period: u32,
                part: u32,
                taps: u32,
                stride: u32,
                bits: u32,
                little_endian: u32,
                slots: u32,
            ) {
                columns::run::<$source>(columns::Arguments {
                    samples,
                    held,
                    weights,
                    twiddles,
                    jobs,
                    workspace,
                    shape: Shape { points, radices, taps, stride, bits, slots },
                    cut: Cut { rows, count, first_job },
                    width,
                    period,
                    part,
                    little_endian: little_endian != 0,
                });
            }
        }
    )* };
}

columns! {
    columns_integers Integers, "Integers to filtered points, transformed over rows.";
    columns_floats Floats, "Floats to filtered points, transformed over rows.";
}

/// The second kernels of two launches: name, part, whether samples are complex, output, element.
macro_rules! rows {
    ($($name:ident $part:literal $complex:literal $output:ident $element:ty, $what:literal;)*) => { $(
        #[cfg(any(not(target_arch = "nvptx64"), feature = $part))]
        fringes_device::kernel! {
            #[doc = $what]
            ///
            /// Arguments are those of [`rows::Arguments`] and of what it is made of.
            #[launch(threads(256), min_blocks(3))]
            pub fn $name(
                workspace: Global<[f32; 2]>,
                twiddles: Global<[f32; 4]>,
                blocks: Global<[u32; 4]>,
                pairs: Global<[u32; 4]>,
                channel_of: Global<u32>,
                gains: Global<[f32; 2]>,
                jobs: Global<[u32; 4]>,
                out: GlobalMut<$element>,
                saturated: GlobalMut<u32>,
                next: GlobalMut<$element>,
                next_saturated: GlobalMut<u32>,
                count: u32,
                first_job: u32,
                points: u32,
                radices: u64,
                rows: u32,
                first_twiddle: u32,
                stride: u32,
                slots: u32,
                part: u32,
                first_channel: u32,
                channels: u32,
                channel_stride: u64,
                period: u32,
                period_stride: u64,
                time_stride: u32,
                seed: u64,
                dither: u32,
            ) {
                let launch = Launch {
                    first_channel,
                    channels,
                    channel_stride,
                    period,
                    period_stride,
                    time_stride,
                    seed,
                    dither: dither != 0,
                };
                rows::run::<$output, $complex>(rows::Arguments {
                    workspace,
                    twiddles,
                    blocks,
                    pairs,
                    channels: channel_of,
                    gains,
                    jobs,
                    // There are no samples any more.
                    shape: Shape { points, radices, taps: 1, stride, bits: 1, slots },
                    cut: Cut { rows, count, first_job },
                    first_twiddle,
                    part,
                    out: [out, next],
                    saturated: [saturated, next_saturated],
                    launch,
                });
            }
        }
    )* };
}

rows! {
    rows_real_i8 "rows_real" false I8 u16, "Rows of real samples to signed bytes.";
    rows_real_i4 "rows_real" false I4 u8, "Rows of real samples to 4+4 bits.";
    rows_real_f16 "rows_real" false F16 u32, "Rows of real samples to f16.";
    rows_real_f32 "rows_real" false F32 [f32; 2], "Rows of real samples to f32.";
    rows_complex_i8 "rows_complex" true I8 u16, "Rows of complex samples to signed bytes.";
    rows_complex_i4 "rows_complex" true I4 u8, "Rows of complex samples to 4+4 bits.";
    rows_complex_f16 "rows_complex" true F16 u32, "Rows of complex samples to f16.";
    rows_complex_f32 "rows_complex" true F32 [f32; 2], "Rows of complex samples to f32.";
}
