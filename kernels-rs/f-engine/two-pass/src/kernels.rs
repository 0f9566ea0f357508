//! The entry points.

use fringes_device::control::trap;
use fringes_device::index::{ctaid_x, ctaid_y, ctaid_z, tid_x};
use fringes_device::{Global, GlobalMut};

use crate::butterfly::{Eight, Four, Six, Sixteen, Ten, Twelve, Two};
use crate::columns::Filter;
use crate::half::Half;
use crate::job::Launch;
use crate::numbers::{Halves, Integers, Singles};
use crate::packed::Real;
use crate::tf32::Wide;
use crate::{between, columns, rows, strided};
use fringes_kernels_common::format::{F16, F32, I4, I8};

/// Beside the bits of integers that are big-endian, in the number that says what samples are.
pub(crate) const BIG_ENDIAN: u32 = 256;

/// The first pass: what samples are, and the filter, its type, a last parameter; name, taps in units of 16, points,
/// blocks.
macro_rules! columns {
    ($what:literal $filter:expr, $type:ty, $last:tt; $($name:ident $m:literal $radix:ident $blocks:literal;)*) => {
        $(columns! { @ $what $filter, $type, $last $name $m $radix $blocks })*
    };
    (@ $what:literal $filter:expr, $type:ty, [$($last:tt)*] $name:ident $m:literal $radix:ident $blocks:literal) => {
        fringes_device::kernel! {
            #[doc = concat!("Filter of ", $what, " with up to 16 times ", $m, " taps, and the transform over the first digit of the points.")]
            ///
            /// See [`columns`].
            #[launch(threads(256), min_blocks($blocks))]
            pub fn $name(
                samples: Global<u32>,
                held: Global<u32>,
                weights: Global<[u32; 4]>,
                tails: Global<[u32; 2]>,
                jobs: Global<[u32; 4]>,
                workspace: GlobalMut<[f32; 4]>,
                out_len: u64,
                saturated_len: u32,
                next_len: u64,
                next_saturated_len: u32,
                inputs: u32,
                taps: u32,
                count: u32,
                first_group: u32,
                rows: u32,
                first_channel: u32,
                channels: u32,
                channel_stride: u64,
                period: u32,
                period_stride: u64,
                time_stride: u32,
                $($last)*
            ) {
                let launch = Launch {
                    first_channel,
                    channels,
                    channel_stride,
                    period,
                    period_stride,
                    time_stride,
                    seed: 0,
                    dither: false,
                };
                let limits = columns::Limits {
                    out: [out_len, next_len],
                    saturated: [saturated_len, next_saturated_len],
                    inputs,
                    launch,
                };
                let arguments =
                    columns::Arguments { samples, held, weights, tails, jobs, workspace, limits, taps, count, first_group, rows };
                if ctaid_x() >= rows / <$type as Filter>::STRIP || !columns::holds::<$m, $radix, $type>(&arguments, ctaid_y() + 1) {
                    trap();
                    return;
                }
                // SAFETY: a block has the threads that it asks for, and all of them are here; the views were checked.
                unsafe { columns::run::<$m, $radix, $type>($filter, arguments, (ctaid_x(), ctaid_y())) };
            }
        }
    };
}

/// Kernels of the first pass.
#[cfg(any(not(target_arch = "nvptx64"), feature = "columns"))]
pub mod filter {
    use super::*;

    columns! {
        "samples of 8 bits" Real::<8>, Real<8>, [];
        columns_b8_m1_r8 1 Eight 2;
        columns_b8_m2_r8 2 Eight 1;
        columns_b8_m4_r8 4 Eight 1;
        columns_b8_m1_r16 1 Sixteen 1;
        columns_b8_m2_r16 2 Sixteen 1;
    }

    columns! {
        "samples of 10 bits" Real::<10>, Real<10>, [];
        columns_b10_m1_r8 1 Eight 2;
        columns_b10_m2_r8 2 Eight 1;
        columns_b10_m4_r8 4 Eight 1;
        columns_b10_m1_r16 1 Sixteen 1;
        columns_b10_m2_r16 2 Sixteen 1;
    }
}

/// Kernels of the first pass of other real samples; `integer_bits` is 0 for floats, and 256 more of big-endian
/// integers.
#[cfg(any(not(target_arch = "nvptx64"), feature = "more_columns"))]
pub mod more_filter {
    use super::*;

    columns! {
        "samples of 12 bits" Real::<12>, Real<12>, [];
        columns_b12_m1_r8 1 Eight 2;
        columns_b12_m2_r8 2 Eight 1;
        columns_b12_m1_r16 1 Sixteen 1;
        columns_b12_m2_r16 2 Sixteen 1;
    }

    columns! {
        "real samples of f16" Half::<2> { bytes: false, shorts: false, swapped: false }, Half<2>, [];
        columns_real_f16_m1_r8 1 Eight 2;
        columns_real_f16_m2_r8 2 Eight 1;
        columns_real_f16_m1_r16 1 Sixteen 1;
        columns_real_f16_m2_r16 2 Sixteen 1;
    }

    columns! {
        "real samples of f32 or 16 bits"
        Wide::<2> { integers: integer_bits != 0, swapped: integer_bits >= BIG_ENDIAN }, Wide<2>, [integer_bits: u32,];
        columns_real_tf32_m1_r8 1 Eight 2;
        columns_real_tf32_m2_r8 2 Eight 1;
        columns_real_tf32_m1_r16 1 Sixteen 1;
        columns_real_tf32_m2_r16 2 Sixteen 1;
    }
}

/// Kernels of the first pass of complex samples; `integer_bits` is 0 for floats.
#[cfg(any(not(target_arch = "nvptx64"), feature = "complex_columns"))]
pub mod complex_filter {
    use super::*;

    columns! {
        "complex samples of f16 or 8 bits"
        Half::<1> { bytes: integer_bits != 0, shorts: false, swapped: false }, Half<1>, [integer_bits: u32,];
        columns_f16_m1_r8 1 Eight 2;
        columns_f16_m2_r8 2 Eight 1;
        columns_f16_m1_r16 1 Sixteen 1;
        columns_f16_m2_r16 2 Sixteen 1;
    }

    columns! {
        "complex samples of f32 or 16 bits"
        Wide::<1> { integers: integer_bits != 0, swapped: false }, Wide<1>, [integer_bits: u32,];
        columns_tf32_m1_r8 1 Eight 2;
        columns_tf32_m2_r8 2 Eight 1;
        columns_tf32_m1_r16 1 Sixteen 1;
        columns_tf32_m2_r16 2 Sixteen 1;
    }
}

/// The first pass of spectra any number of points apart: the kind of numbers; name, how they are kept, points, blocks.
macro_rules! strided {
    ($what:literal $source:ident; $($name:ident $kept:ident $radix:ident $blocks:literal;)*) => {
        $(fringes_device::kernel! {
            #[doc = concat!("Filter of ", $what, ", spectra `stride` points apart, and the transform over the first digit of the points.")]
            ///
            /// See [`strided`].
            #[launch(threads(256), min_blocks($blocks))]
            pub fn $name(
                samples: Global<u32>,
                held: Global<u32>,
                weights: Global<[u32; 4]>,
                tails: Global<[u32; 2]>,
                jobs: Global<[u32; 4]>,
                workspace: GlobalMut<[f32; 4]>,
                out_len: u64,
                saturated_len: u32,
                next_len: u64,
                next_saturated_len: u32,
                inputs: u32,
                taps: u32,
                count: u32,
                first_group: u32,
                rows: u32,
                first_channel: u32,
                channels: u32,
                channel_stride: u64,
                period: u32,
                period_stride: u64,
                time_stride: u32,
                bits: u32,
                little_endian: u32,
                stride: u32,
                unit: u32,
                width: u32,
            ) {
                let launch = Launch {
                    first_channel,
                    channels,
                    channel_stride,
                    period,
                    period_stride,
                    time_stride,
                    seed: 0,
                    dither: false,
                };
                let limits = columns::Limits {
                    out: [out_len, next_len],
                    saturated: [saturated_len, next_saturated_len],
                    inputs,
                    launch,
                };
                let arguments =
                    columns::Arguments { samples, held, weights, tails, jobs, workspace, limits, taps, count, first_group, rows };
                let sizes = strided::Sizes { stride, unit, width, bits, little_endian: little_endian != 0 };
                if !strided::holds::<strided::$kept, $radix>(&arguments, &sizes, ctaid_y() + 1)
                    || ctaid_x() >= unit / width
                {
                    trap();
                    return;
                }
                // SAFETY: a block has the threads that it asks for, and all of them are here; the views were checked.
                unsafe {
                    strided::run::<$source, strided::$kept, $radix>(arguments, sizes, (ctaid_x(), ctaid_y()))
                };
            }
        })*
    };
}

/// Kernels of the first pass of spectra any number of points apart, and of samples of any width.
#[cfg(any(not(target_arch = "nvptx64"), feature = "strided"))]
pub mod strided_filter {
    use super::*;

    strided! {
        "integers of up to 12 bits" Integers;
        strided_b12_r2 Half Two 3;
        strided_b12_r4 Half Four 3;
        strided_b12_r6 Half Six 3;
        strided_b12_r8 Half Eight 3;
        strided_b12_r10 Half Ten 2;
        strided_b12_r12 Half Twelve 2;
        strided_b12_r16 Half Sixteen 2;
    }

    strided! {
        "integers of up to 16 bits" Integers;
        strided_integers_r2 Whole Two 3;
        strided_integers_r4 Whole Four 3;
        strided_integers_r6 Whole Six 3;
        strided_integers_r8 Whole Eight 3;
        strided_integers_r10 Whole Ten 2;
        strided_integers_r12 Whole Twelve 2;
        strided_integers_r16 Whole Sixteen 2;
    }

    strided! {
        "f16" Halves;
        strided_f16_r2 Half Two 3;
        strided_f16_r4 Half Four 3;
        strided_f16_r6 Half Six 3;
        strided_f16_r8 Half Eight 3;
        strided_f16_r10 Half Ten 2;
        strided_f16_r12 Half Twelve 2;
        strided_f16_r16 Half Sixteen 2;
    }

    strided! {
        "f32" Singles;
        strided_floats_r2 Single Two 2;
        strided_floats_r4 Single Four 2;
        strided_floats_r6 Single Six 2;
        strided_floats_r8 Single Eight 2;
        strided_floats_r10 Single Ten 2;
        strided_floats_r12 Single Twelve 2;
        strided_floats_r16 Single Sixteen 2;
    }
}

/// A kernel between the two: name, points of the digit before.
macro_rules! between {
    ($($name:ident $radix:literal;)*) => { $(
        fringes_device::kernel! {
            #[doc = concat!("A digit of 16 points behind one of ", $radix, ".")]
            ///
            /// See [`between`].
            #[launch(threads(256), min_blocks(2))]
            pub fn $name(workspace: GlobalMut<[f32; 4]>, factors: Global<[f32; 4]>, rows: u32) {
                let arguments = between::Arguments { workspace, factors, rows };
                if !between::holds::<$radix>(&arguments, ctaid_y() + 1) || ctaid_x() >= between::blocks($radix, rows) {
                    trap();
                    return;
                }
                // SAFETY: a block has the threads that it asks for; the views were checked.
                unsafe { between::run::<$radix>(arguments, (ctaid_x(), ctaid_y()), tid_x()) };
            }
        }
    )* };
}

/// The pass between the two.
#[cfg(any(not(target_arch = "nvptx64"), feature = "between"))]
pub mod digits_between {
    use super::*;

    between! {
        between_r8 8;
        between_r16 16;
    }
}

/// A kernel of the second pass: how many channels, in words and as a number or 0, and what the kernel is told of that;
/// points of a row, threads, last digit, whether samples are complex; name, blocks, format, element.
macro_rules! row {
    ($what:literal $channels:literal [$($radix:ident)?] $rows:literal $threads:literal $last:ident $complex:literal; $name:ident $blocks:literal $output:ident $element:ty) => {
        fringes_device::kernel! {
        #[doc = concat!("The rest of the transform of ", $what, " channels, ", $rows, " points, and `", stringify!($output), "` out.")]
        ///
        /// See [`rows`](crate::rows) and [`Launch`].
        #[launch(threads($threads), min_blocks($blocks))]
        pub fn $name(
            workspace: Global<[f32; 2]>,
            first: Global<[f32; 4]>,
            middle: Global<[f32; 4]>,
            last: Global<[f32; 2]>,
            roots: Global<[f32; 2]>,
            gains: Global<[f32; 2]>,
            jobs: Global<[u32; 4]>,
            out: GlobalMut<$element>,
            saturated: GlobalMut<u32>,
            next: GlobalMut<$element>,
            next_saturated: GlobalMut<u32>,
            count: u32,
            first_group: u32,
            first_channel: u32,
            channels: u32,
            channel_stride: u64,
            period: u32,
            period_stride: u64,
            time_stride: u32,
            seed: u64,
            dither: u32,
            $($radix: u32,)?
        ) {
            let radix = 0 $(+ $radix)?;
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
            let arguments = rows::Arguments {
                // SAFETY: the same view; it is only read.
                workspace: unsafe { GlobalMut::from_raw_parts(workspace.address(0), workspace.len()) },
                digits: (first, middle),
                last,
                roots,
                gains,
                jobs,
                out: [out, next],
                saturated: [saturated, next_saturated],
                count,
                first_group,
                radix,
                launch,
            };
            let tile =
                rows::Tile { tile: ctaid_x(), pair: ctaid_y(), local: ctaid_z(), thread: tid_x() };
            if tile.tile >= columns::SLOTS / rows::slots($rows)
                || tile.pair >= ($channels / $rows + radix) / 2
                || !rows::holds::<$rows, { $channels / $rows }, $last, $element, $complex>(&arguments, tile.local + 1)
            {
                trap();
                return;
            }
            // SAFETY: a block has the threads that it asks for, and all of them are here; the views were
            // checked.
            unsafe { rows::run::<$rows, { $channels / $rows }, $last, $output, $complex>(arguments, tile) };
        }
    }
    };
}

/// The second pass of one number of channels, or of even multiples of one: module, feature, then as [`row`] has it.
macro_rules! rows {
    ($module:ident $part:literal $what:literal $channels:literal $told:tt $rows:literal $threads:literal $last:ident $complex:literal; $($name:ident $blocks:literal $output:ident $element:ty;)*) => {
        #[doc = concat!("Kernels of the second pass for ", $what, " channels.")]
        #[cfg(any(not(target_arch = "nvptx64"), feature = $part))]
        pub mod $module {
            use super::*;

            $(row! { $what $channels $told $rows $threads $last $complex; $name $blocks $output $element })*
        }
    };
}

/// The kernels of every number of channels; 4-bit ones have blocks of their own, so that no register is spilled.
macro_rules! sizes {
    ($complex:literal; $($module:ident $part:literal $channels:literal $rows:literal $threads:literal $blocks:literal $fewer:literal $last:ident $i8:ident $i4:ident $f16:ident $f32:ident;)*) => { $(
        rows! { $module $part $channels $channels [] $rows $threads $last $complex; $i8 $blocks I8 u16; $i4 $fewer I4 u8; $f16 $blocks F16 u32; $f32 $blocks F32 [f32; 2]; }
    )* };
}

sizes! {
    false;
    channels_64 "rows_64" 64 32 64 8 8 Two rows_64_i8 rows_64_i4 rows_64_f16 rows_64_f32;
    channels_128 "rows_128" 128 32 64 8 8 Two rows_128_i8 rows_128_i4 rows_128_f16 rows_128_f32;
    channels_256 "rows_256" 256 32 64 8 8 Two rows_256_i8 rows_256_i4 rows_256_f16 rows_256_f32;
    channels_512 "rows_512" 512 64 128 4 4 Four rows_512_i8 rows_512_i4 rows_512_f16 rows_512_f32;
    channels_1024 "rows_1024" 1024 128 256 2 1 Eight rows_1024_i8 rows_1024_i4 rows_1024_f16 rows_1024_f32;
    channels_2048 "rows_2048" 2048 256 256 1 1 Sixteen rows_2048_i8 rows_2048_i4 rows_2048_f16 rows_2048_f32;
    channels_4096 "rows_4096" 4096 512 256 2 2 Two rows_4096_i8 rows_4096_i4 rows_4096_f16 rows_4096_f32;
    channels_8192 "rows_8192" 8192 512 256 2 2 Two rows_8192_i8 rows_8192_i4 rows_8192_f16 rows_8192_f32;
    channels_16384 "rows_16384" 16384 1024 512 1 1 Four rows_16384_i8 rows_16384_i4 rows_16384_f16 rows_16384_f32;
    channels_32768 "rows_32768" 32768 128 256 2 1 Eight rows_32768_i8 rows_32768_i4 rows_32768_f16 rows_32768_f32;
    channels_65536 "rows_65536" 65536 256 256 1 1 Sixteen rows_65536_i8 rows_65536_i4 rows_65536_f16 rows_65536_f32;
}

sizes! {
    true;
    complex_64 "complex_64" 64 32 64 8 8 Two complex_64_i8 complex_64_i4 complex_64_f16 complex_64_f32;
    complex_128 "complex_128" 128 32 64 8 8 Two complex_128_i8 complex_128_i4 complex_128_f16 complex_128_f32;
    complex_256 "complex_256" 256 32 64 8 8 Two complex_256_i8 complex_256_i4 complex_256_f16 complex_256_f32;
    complex_512 "complex_512" 512 64 128 4 4 Four complex_512_i8 complex_512_i4 complex_512_f16 complex_512_f32;
    complex_1024 "complex_1024" 1024 128 256 2 1 Eight complex_1024_i8 complex_1024_i4 complex_1024_f16 complex_1024_f32;
    complex_2048 "complex_2048" 2048 256 256 1 1 Sixteen complex_2048_i8 complex_2048_i4 complex_2048_f16 complex_2048_f32;
    complex_4096 "complex_4096" 4096 512 256 2 2 Two complex_4096_i8 complex_4096_i4 complex_4096_f16 complex_4096_f32;
    complex_8192 "complex_8192" 8192 512 256 2 2 Two complex_8192_i8 complex_8192_i4 complex_8192_f16 complex_8192_f32;
    complex_16384 "complex_16384" 16384 1024 512 1 1 Four complex_16384_i8 complex_16384_i4 complex_16384_f16 complex_16384_f32;
    complex_32768 "complex_32768" 32768 128 256 2 1 Eight complex_32768_i8 complex_32768_i4 complex_32768_f16 complex_32768_f32;
    complex_65536 "complex_65536" 65536 256 256 1 1 Sixteen complex_65536_i8 complex_65536_i4 complex_65536_f16 complex_65536_f32;
}

/// The kernels of every number of points of a row, for numbers of channels that are not powers of two.
macro_rules! mixed {
    ($complex:literal; $($module:ident $part:literal $what:literal $rows:literal $threads:literal $blocks:literal $fewer:literal $last:ident $i8:ident $i4:ident $f16:ident $f32:ident;)*) => { $(
        rows! { $module $part $what 0 [radix_of_rows] $rows $threads $last $complex; $i8 $blocks I8 u16; $i4 $fewer I4 u8; $f16 $blocks F16 u32; $f32 $blocks F32 [f32; 2]; }
    )* };
}

mixed! {
    false;
    mixed_32 "rows_mixed_32" "2 to 16, or 128, times 32" 32 64 8 8 Two rows_mixed_32_i8 rows_mixed_32_i4 rows_mixed_32_f16 rows_mixed_32_f32;
    mixed_64 "rows_mixed_64" "2 to 16, or 128, times 64" 64 128 4 4 Four rows_mixed_64_i8 rows_mixed_64_i4 rows_mixed_64_f16 rows_mixed_64_f32;
    mixed_128 "rows_mixed_128" "2 to 16, or 128, times 128" 128 256 2 1 Eight rows_mixed_128_i8 rows_mixed_128_i4 rows_mixed_128_f16 rows_mixed_128_f32;
    mixed_256 "rows_mixed_256" "2 to 16, or 128, times 256" 256 256 1 1 Sixteen rows_mixed_256_i8 rows_mixed_256_i4 rows_mixed_256_f16 rows_mixed_256_f32;
    mixed_512 "rows_mixed_512" "2 to 16, or 128, times 512" 512 256 2 2 Two rows_mixed_512_i8 rows_mixed_512_i4 rows_mixed_512_f16 rows_mixed_512_f32;
    mixed_1024 "rows_mixed_1024" "2 to 16, or 128, times 1024" 1024 512 1 1 Four rows_mixed_1024_i8 rows_mixed_1024_i4 rows_mixed_1024_f16 rows_mixed_1024_f32;
}

mixed! {
    true;
    complex_mixed_32 "complex_mixed_32" "2 to 16, or 128, times 32" 32 64 8 8 Two complex_mixed_32_i8 complex_mixed_32_i4 complex_mixed_32_f16 complex_mixed_32_f32;
    complex_mixed_64 "complex_mixed_64" "2 to 16, or 128, times 64" 64 128 4 4 Four complex_mixed_64_i8 complex_mixed_64_i4 complex_mixed_64_f16 complex_mixed_64_f32;
    complex_mixed_128 "complex_mixed_128" "2 to 16, or 128, times 128" 128 256 2 1 Eight complex_mixed_128_i8 complex_mixed_128_i4 complex_mixed_128_f16 complex_mixed_128_f32;
    complex_mixed_256 "complex_mixed_256" "2 to 16, or 128, times 256" 256 256 1 1 Sixteen complex_mixed_256_i8 complex_mixed_256_i4 complex_mixed_256_f16 complex_mixed_256_f32;
    complex_mixed_512 "complex_mixed_512" "2 to 16, or 128, times 512" 512 256 2 2 Two complex_mixed_512_i8 complex_mixed_512_i4 complex_mixed_512_f16 complex_mixed_512_f32;
    complex_mixed_1024 "complex_mixed_1024" "2 to 16, or 128, times 1024" 1024 512 1 1 Four complex_mixed_1024_i8 complex_mixed_1024_i4 complex_mixed_1024_f16 complex_mixed_1024_f32;
}
