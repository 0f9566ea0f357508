//! The kernels: formats, sizes and names.

use fringes_device::control::trap;
use fringes_device::index::{ctaid_x, ctaid_y, ctaid_z, tid_x};
use fringes_device::{Global, GlobalMut};
use fringes_kernels_common::format::{F16, F32, I4, I8};

use super::bring::Real;
use super::{columns, middle, rows};
use crate::butterfly::{Eight, FourTwice, Sixteen};
use crate::columns::{Limits, STRIP};
use crate::half::Half;
use crate::job::Launch;
use crate::kernels::BIG_ENDIAN;

/// Kernels of the first pass: what samples are, their value and type, a last parameter; name, sixteens of taps, digit,
/// blocks, terms.
macro_rules! columns {
    ($what:literal $samples:expr, $type:ty, $last:tt; $($name:ident $m:literal $radix:ident $blocks:literal $terms:literal;)*) => {
        $(columns! { @ $what $samples, $type, $last $name $m $radix $blocks $terms })*
    };
    (@ $what:literal $samples:expr, $type:ty, [$($last:tt)*] $name:ident $m:literal $radix:ident $blocks:literal $terms:literal) => {
        fringes_device::kernel! {
            #[doc = concat!("The filter of up to ", stringify!($m), " times 16 taps, and the first digit, of ", $what, "; ", stringify!($terms), " terms.")]
            ///
            /// See [`columns`] and [`Launch`].
            #[launch(threads(256), min_blocks($blocks))]
            pub fn $name(
                samples: Global<u32>,
                held: Global<u32>,
                weights: Global<[u32; 2]>,
                tails: Global<u32>,
                jobs: Global<[u32; 4]>,
                workspace: GlobalMut<[u32; 4]>,
                out_len: u64,
                saturated_len: u32,
                next_len: u64,
                next_saturated_len: u32,
                inputs: u32,
                taps: u32,
                count: u32,
                first_group: u32,
                rows: u32,
                row_bits: u32,
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
                let limits =
                    Limits { out: [out_len, next_len], saturated: [saturated_len, next_saturated_len], inputs, launch };
                let arguments =
                    columns::Arguments { samples, held, weights, tails, jobs, workspace, limits, taps, count, first_group, rows, row_bits };
                if ctaid_x() >= rows / STRIP || !columns::holds::<$m, $radix, $type, $terms>(&arguments, ctaid_y() + 1) {
                    trap();
                    return;
                }
                // SAFETY: a block has the threads that it asks for, and all of them are here; the views were checked.
                unsafe { columns::run::<$m, $radix, $type, $terms>($samples, arguments, (ctaid_x(), ctaid_y())) };
            }
        }
    };
}

/// Kernels of the first pass.
#[cfg(any(not(target_arch = "nvptx64"), feature = "tensor_columns"))]
pub mod filter {
    use super::*;

    columns! {
        "samples of 8 bits; `ahead`, blocks from one to that whose samples it asks for, 0 for none"
        Real::<8> { ahead }, Real<8>, [ahead: u32,];
        tensor_b8_m1_r4_half 1 FourTwice 2 1;
        tensor_b8_m2_r4_half 2 FourTwice 1 1;
        tensor_b8_m1_r8_half 1 Eight 2 1;
        tensor_b8_m2_r8_half 2 Eight 1 1;
        tensor_b8_m1_r16_half 1 Sixteen 1 1;
        tensor_b8_m2_r16_half 2 Sixteen 1 1;
    }

    columns! {
        "samples of 10 bits; `ahead`, blocks from one to that whose samples it asks for, 0 for none"
        Real::<10> { ahead }, Real<10>, [ahead: u32,];
        tensor_b10_m1_r4_half 1 FourTwice 2 1;
        tensor_b10_m2_r4_half 2 FourTwice 1 1;
        tensor_b10_m1_r8_half 1 Eight 2 1;
        tensor_b10_m2_r8_half 2 Eight 1 1;
        tensor_b10_m1_r16_half 1 Sixteen 1 1;
        tensor_b10_m2_r16_half 2 Sixteen 1 1;
    }

    columns! {
        "complex samples of f16, or integers of 8 or 16 bits (`integer_bits`, 0 for f16)"
        Half::<1> { bytes: integer_bits == 8, shorts: integer_bits == 16, swapped: false }, Half<1>, [integer_bits: u32,];
        tensor_complex_m1_r4_half 1 FourTwice 2 1;
        tensor_complex_m2_r4_half 2 FourTwice 1 1;
        tensor_complex_m1_r8_half 1 Eight 2 1;
        tensor_complex_m2_r8_half 2 Eight 1 1;
        tensor_complex_m1_r16_half 1 Sixteen 1 1;
        tensor_complex_m2_r16_half 2 Sixteen 1 1;
    }
}

/// Kernels of the first pass of other real samples.
#[cfg(any(not(target_arch = "nvptx64"), feature = "tensor_more_columns"))]
pub mod more_filter {
    use super::*;

    columns! {
        "samples of 12 bits; `ahead`, blocks from one to that whose samples it asks for, 0 for none"
        Real::<12> { ahead }, Real<12>, [ahead: u32,];
        tensor_b12_m1_r4_half 1 FourTwice 2 1;
        tensor_b12_m2_r4_half 2 FourTwice 1 1;
        tensor_b12_m1_r8_half 1 Eight 2 1;
        tensor_b12_m2_r8_half 2 Eight 1 1;
        tensor_b12_m1_r16_half 1 Sixteen 1 1;
        tensor_b12_m2_r16_half 2 Sixteen 1 1;
    }

    columns! {
        "real samples of f16, or integers of 16 bits (`integer_bits`, 0 for f16), big-endian ones of 256 bits more"
        Half::<2> { bytes: false, shorts: integer_bits != 0, swapped: integer_bits >= BIG_ENDIAN }, Half<2>, [integer_bits: u32,];
        tensor_real_m1_r4_half 1 FourTwice 2 1;
        tensor_real_m2_r4_half 2 FourTwice 1 1;
        tensor_real_m1_r8_half 1 Eight 2 1;
        tensor_real_m2_r8_half 2 Eight 1 1;
        tensor_real_m1_r16_half 1 Sixteen 1 1;
        tensor_real_m2_r16_half 2 Sixteen 1 1;
    }
}

/// Kernels of the pass between the two: first digit, digit, terms, blocks, name.
macro_rules! middle {
    ($($radix:literal $digit:literal $terms:literal $blocks:literal $name:ident;)*) => { $(
        fringes_device::kernel! {
            #[doc = concat!("A digit of ", stringify!($digit), " points behind one of ", stringify!($radix), "; ", stringify!($terms), " terms.")]
            ///
            /// See [`middle`].
            #[launch(threads(256), min_blocks($blocks))]
            pub fn $name(workspace: GlobalMut<[u32; 4]>, matrices: Global<[u32; 4]>, rows: u32) {
                let arguments = middle::Arguments { workspace, matrices, rows };
                if ctaid_x() >= rows * 4 / middle::MIDDLE_ITEMS
                    || !middle::holds::<$radix, $digit, $terms>(&arguments, ctaid_y() + 1)
                {
                    trap();
                    return;
                }
                // SAFETY: a block has the threads that it asks for, and all of them are here; the views were checked.
                unsafe {
                    let first = ctaid_x() * middle::MIDDLE_ITEMS;
                    middle::run::<$radix, $digit, $terms>(arguments, first, ctaid_y(), tid_x())
                };
            }
        }
    )* };
}

/// Kernels of the pass between the two.
#[cfg(any(not(target_arch = "nvptx64"), feature = "tensor_columns"))]
pub mod between {
    use super::*;

    middle! {
        8 8 1 2 tensor_middle_r8_8_half;
        8 16 1 2 tensor_middle_r8_16_half;
        8 32 1 1 tensor_middle_r8_32_half;
    }
}

/// Kernels of the second pass of one number of channels: module, feature, channels, points of a row, whether channels
/// of the inner half alone come out; name, blocks, terms, format, element.
macro_rules! rows {
    ($module:ident $part:literal $channels:literal $rows:literal $inner:literal; $($name:ident $blocks:literal $terms:literal $output:ident $element:ty;)*) => {
        #[doc = concat!("Kernels of the second pass for ", $channels, " channels; of complex samples and their inner half: ", stringify!($inner), ".")]
        #[cfg(any(not(target_arch = "nvptx64"), feature = $part))]
        pub mod $module {
            use super::*;

            $(fringes_device::kernel! {
                #[doc = concat!("The rest of the transform of ", $channels, " channels, ", $rows, " points, and `", stringify!($output), "` out; ", stringify!($terms), " terms.")]
                ///
                /// See [`rows`](super::rows) and [`Launch`].
                #[launch(threads(256), min_blocks($blocks))]
                pub fn $name(
                    workspace: Global<[u32; 4]>,
                    first: Global<[u32; 4]>,
                    second: Global<[u32; 4]>,
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
                    share_bits: u32,
                    share_jump: u64,
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
                    let arguments = rows::Arguments {
                        // SAFETY: the same view; it is only read.
                        workspace: unsafe { GlobalMut::from_raw_parts(workspace.address(0), workspace.len()) },
                        first,
                        second,
                        gains,
                        jobs,
                        out: [out, next],
                        saturated: [saturated, next_saturated],
                        count,
                        channels: $channels,
                        first_group,
                        launch,
                        shares: rows::Shares { bits: share_bits, jump: share_jump },
                    };
                    let tile = rows::Tile { tile: ctaid_x(), pair: ctaid_y(), local: ctaid_z(), thread: tid_x() };
                    if tile.tile >= crate::columns::SLOTS / rows::slots($rows, $terms)
                        || tile.pair >= $channels / $rows / 2
                        || !rows::holds::<$rows, { $channels / $rows }, $terms, $inner, $element>(&arguments, tile.local + 1)
                    {
                        trap();
                        return;
                    }
                    // SAFETY: a block has the threads that it asks for, and all of them are here; the views were
                    // checked.
                    unsafe { rows::run::<$rows, { $channels / $rows }, $terms, $inner, $output>(arguments, tile) };
                }
            })*
        }
    };
}

rows! {
    tensor_256 "tensor_256" 256 64 false;
    tensor_256_i8_half 2 1 I8 u16;
    tensor_256_i4_half 2 1 I4 u8;
    tensor_256_f16_half 2 1 F16 u32;
    tensor_256_f32_half 2 1 F32 [f32; 2];
}

rows! {
    tensor_512 "tensor_512" 512 64 false;
    tensor_512_i8_half 2 1 I8 u16;
    tensor_512_i4_half 2 1 I4 u8;
    tensor_512_f16_half 2 1 F16 u32;
    tensor_512_f32_half 2 1 F32 [f32; 2];
}

rows! {
    tensor_1024 "tensor_1024" 1024 128 false;
    tensor_1024_i8_half 2 1 I8 u16;
    tensor_1024_i4_half 2 1 I4 u8;
    tensor_1024_f16_half 2 1 F16 u32;
    tensor_1024_f32_half 2 1 F32 [f32; 2];
}

rows! {
    tensor_2048 "tensor_2048" 2048 256 false;
    tensor_2048_i8_half 2 1 I8 u16;
    tensor_2048_i4_half 2 1 I4 u8;
    tensor_2048_f16_half 2 1 F16 u32;
    tensor_2048_f32_half 2 1 F32 [f32; 2];
}

rows! {
    tensor_4096 "tensor_4096" 4096 256 false;
    tensor_4096_i8_half 2 1 I8 u16;
    tensor_4096_i4_half 2 1 I4 u8;
    tensor_4096_f16_half 2 1 F16 u32;
    tensor_4096_f32_half 2 1 F32 [f32; 2];
}

rows! {
    tensor_8192 "tensor_8192" 8192 64 false;
    tensor_8192_i8_half 2 1 I8 u16;
    tensor_8192_i4_half 2 1 I4 u8;
    tensor_8192_f16_half 2 1 F16 u32;
    tensor_8192_f32_half 2 1 F32 [f32; 2];
}

rows! {
    tensor_16384 "tensor_16384" 16384 128 false;
    tensor_16384_i8_half 2 1 I8 u16;
    tensor_16384_i4_half 2 1 I4 u8;
    tensor_16384_f16_half 2 1 F16 u32;
    tensor_16384_f32_half 2 1 F32 [f32; 2];
}

rows! {
    tensor_32768 "tensor_32768" 32768 256 false;
    tensor_32768_i8_half 2 1 I8 u16;
    tensor_32768_i4_half 2 1 I4 u8;
    tensor_32768_f16_half 2 1 F16 u32;
    tensor_32768_f32_half 2 1 F32 [f32; 2];
}

rows! {
    tensor_65536 "tensor_65536" 65536 256 false;
    tensor_65536_i8_half 2 1 I8 u16;
    tensor_65536_i4_half 2 1 I4 u8;
    tensor_65536_f16_half 2 1 F16 u32;
    tensor_65536_f32_half 2 1 F32 [f32; 2];
}

rows! {
    tensor_inner_256 "tensor_inner_256" 256 64 true;
    tensor_inner_256_i8_half 2 1 I8 u16;
    tensor_inner_256_i4_half 2 1 I4 u8;
    tensor_inner_256_f16_half 2 1 F16 u32;
    tensor_inner_256_f32_half 2 1 F32 [f32; 2];
}

rows! {
    tensor_inner_512 "tensor_inner_512" 512 64 true;
    tensor_inner_512_i8_half 2 1 I8 u16;
    tensor_inner_512_i4_half 2 1 I4 u8;
    tensor_inner_512_f16_half 2 1 F16 u32;
    tensor_inner_512_f32_half 2 1 F32 [f32; 2];
}

rows! {
    tensor_inner_1024 "tensor_inner_1024" 1024 128 true;
    tensor_inner_1024_i8_half 2 1 I8 u16;
    tensor_inner_1024_i4_half 2 1 I4 u8;
    tensor_inner_1024_f16_half 2 1 F16 u32;
    tensor_inner_1024_f32_half 2 1 F32 [f32; 2];
}

rows! {
    tensor_inner_2048 "tensor_inner_2048" 2048 256 true;
    tensor_inner_2048_i8_half 2 1 I8 u16;
    tensor_inner_2048_i4_half 2 1 I4 u8;
    tensor_inner_2048_f16_half 2 1 F16 u32;
    tensor_inner_2048_f32_half 2 1 F32 [f32; 2];
}

rows! {
    tensor_inner_4096 "tensor_inner_4096" 4096 64 true;
    tensor_inner_4096_i8_half 2 1 I8 u16;
    tensor_inner_4096_i4_half 2 1 I4 u8;
    tensor_inner_4096_f16_half 2 1 F16 u32;
    tensor_inner_4096_f32_half 2 1 F32 [f32; 2];
}

rows! {
    tensor_inner_8192 "tensor_inner_8192" 8192 64 true;
    tensor_inner_8192_i8_half 2 1 I8 u16;
    tensor_inner_8192_i4_half 2 1 I4 u8;
    tensor_inner_8192_f16_half 2 1 F16 u32;
    tensor_inner_8192_f32_half 2 1 F32 [f32; 2];
}

rows! {
    tensor_inner_16384 "tensor_inner_16384" 16384 128 true;
    tensor_inner_16384_i8_half 2 1 I8 u16;
    tensor_inner_16384_i4_half 2 1 I4 u8;
    tensor_inner_16384_f16_half 2 1 F16 u32;
    tensor_inner_16384_f32_half 2 1 F32 [f32; 2];
}

rows! {
    tensor_inner_32768 "tensor_inner_32768" 32768 256 true;
    tensor_inner_32768_i8_half 2 1 I8 u16;
    tensor_inner_32768_i4_half 2 1 I4 u8;
    tensor_inner_32768_f16_half 2 1 F16 u32;
    tensor_inner_32768_f32_half 2 1 F32 [f32; 2];
}

rows! {
    tensor_inner_65536 "tensor_inner_65536" 65536 256 true;
    tensor_inner_65536_i8_half 2 1 I8 u16;
    tensor_inner_65536_i4_half 2 1 I4 u8;
    tensor_inner_65536_f16_half 2 1 F16 u32;
    tensor_inner_65536_f32_half 2 1 F32 [f32; 2];
}

/// Kernels of two terms, as exact as those of single precision: in the emulator alone, no PTX has them.
#[cfg(not(target_arch = "nvptx64"))]
pub mod two_terms {
    use super::*;

    columns! {
        "samples of 10 bits; `ahead`, blocks from one to that whose samples it asks for, 0 for none"
        Real::<10> { ahead }, Real<10>, [ahead: u32,];
        tensor_b10_m1_r8_single 1 Eight 1 2;
    }

    middle! {
        8 16 2 2 tensor_middle_r8_16_single;
    }

    rows! {
        tensor_512 "tensor_512" 512 64 false;
        tensor_512_f32_single 1 2 F32 [f32; 2];
    }

    rows! {
        tensor_1024 "tensor_1024" 1024 128 false;
        tensor_1024_f32_single 1 2 F32 [f32; 2];
    }

    rows! {
        tensor_8192 "tensor_8192" 8192 64 false;
        tensor_8192_i8_single 1 2 I8 u16;
    }
}
