//! The entry points.

use fringes_device::{Global, GlobalMut};

use crate::butterfly::{Eight, Four, One, Sixteen, Two};
use crate::fir::Filter;
use crate::job::Launch;
use crate::quantise::{F32, I8};
use crate::run::{self, Arguments};

/// Spectra of a thread in the filter.
pub const SPECTRA: usize = 6;

/// The kernels of one number of channels: bits, taps, format, element.
macro_rules! kernels {
    ($module:ident $part:literal $step:literal $radix:ident; $($name:ident $bits:literal $taps:literal $output:ident $element:ty;)*) => {
        #[doc = concat!("Kernels of ", $part, " channels.")]
        #[cfg(any(not(target_arch = "nvptx64"), feature = $part))]
        pub mod $module {
            use super::*;

            $(fringes_device::kernel! {
                #[doc = concat!("Samples of ", $bits, " bits, ", $taps, " taps, `", stringify!($output), "` out, ", $part, " channels.")]
                ///
                /// See [`run`](crate::run) and [`Launch`].
                #[launch(threads(384), min_blocks(1))]
                pub fn $name(
                    samples: Global<u32>,
                    weights: Global<[f32; 4]>,
                    bias: Global<[f32; 4]>,
                    middle: Global<[f32; 4]>,
                    last: Global<[f32; 4]>,
                    tables: Global<[f32; 4]>,
                    jobs: Global<[u32; 4]>,
                    out: GlobalMut<$element>,
                    saturated: GlobalMut<u32>,
                    count: u32,
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
                        slots,
                    };
                    let arguments = Arguments {
                        filter: Filter { samples, weights, bias },
                        twiddles: (middle, last),
                        tables,
                        jobs,
                        count,
                        launch,
                        out,
                        saturated,
                    };
                    // SAFETY: a block has the threads that it asks for, and all of them are here.
                    unsafe { run::run::<$bits, $step, $taps, SPECTRA, $radix, $output>(arguments) };
                }
            })*
        }
    };
}

/// The kernels of every number of channels.
macro_rules! sizes {
    ($($module:ident $part:literal $step:literal $radix:ident;)*) => { $(
        kernels! { $module $part $step $radix;
            channelize_b8_t16_i8 8 16 I8 u16;
            channelize_b10_t4_i8 10 4 I8 u16;
            channelize_b10_t8_i8 10 8 I8 u16;
            channelize_b10_t16_i8 10 16 I8 u16;
            channelize_b10_t16_f32 10 16 F32 [f32; 2];
        }
    )* };
}

sizes! {
    channels_256 "256" 512 One;
    channels_512 "512" 1024 Two;
    channels_1024 "1024" 2048 Four;
    channels_2048 "2048" 4096 Eight;
    channels_4096 "4096" 8192 Sixteen;
}
