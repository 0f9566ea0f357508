#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! Weights of tied-array beams as the kernels that form beams read them (`fringes_kernel_abi::tied_array`), sums of
//! detected beams, and incoherent beams.
//!
//! | kernel | from |
//! |---|---|
//! | `weights_K` | weights `[beam][channel][input]`, complex f32 |
//! | `steer_K` | phases, slopes of phase and gains `[beam][input]` |
//! | `sum_detected` | sums of powers or coherencies over up to 16 times |
//! | `bytes_of_sums` | sums of detected beams |
//! | `incoherent_F` | rows of samples of 4 bits, 8 bits or f16 |
//!
//! `K` is `i8`, `i16` or `f16`. A warp makes one beam of one channel: all its inputs, those that fill up the last chunk
//! and the beams that fill up the last tile as zeros.
//!
//! # Rounding
//! With `m` the largest magnitude of a part of a beam's weights in a channel (of steered weights: the largest gain),
//! integers are `rint(w L / m)`, half to even, `L` being 127 or 32639, and the scale `m / L`. f16 are `w 2^k`, rounded,
//! with `2^13 <= m 2^k < 2^14`, and the scale `2^-k`. A beam whose `m` is below 2^-100 is 0. Scales are multiplied by
//! `scale`.
//!
//! # Steering
//! `w[beam][channel][input] = gain e^(2 pi i (phase + slope channel))`, phase and slope in 2^-64 turns modulo 1, so
//! that no bit is lost however large they were; the rotation is within 2^-23.
//!
//! # Cost
//! Bytes: 8 read and 2 to 4 written a weight. They are made once a change of weights.

mod bytes;
mod incoherent;
mod quantise;
mod source;
mod sum;

pub use fringes_kernel_abi::tied_array;

use fringes_device::{Global, GlobalMut};
use fringes_kernels_beamformer_core::source::{RowsF16, RowsI4, RowsI8};

use bytes::Bytes;
use incoherent::Incoherent;
use quantise::{Table, make};
use source::{Given, Steered};
use sum::Detect;
use tied_array::Weights;

macro_rules! weights {
    ($($given:ident $steered:ident $kind:ident;)*) => { $(
        fringes_device::kernel! {
            #[doc = concat!("Given weights as ", stringify!($kind), ". See the crate.")]
            #[launch(threads(256))]
            pub fn $given(
                weights: Global<[f32; 2]>, table: GlobalMut<u16>, scales: GlobalMut<f32>, channels: u32, inputs: u32,
                beams: u32, columns: u32, most_run: u32, scale: f32,
            ) {
                let table = Table { table, scales, channels, inputs, beams, columns, most_run, scale };
                make(Weights::$kind, &table, &Given { weights, channels, inputs, beams })
            }

            #[doc = concat!("Steered weights as ", stringify!($kind), ". See the crate.")]
            #[launch(threads(256))]
            pub fn $steered(
                phases: Global<u64>, slopes: Global<u64>, gains: Global<f32>, table: GlobalMut<u16>,
                scales: GlobalMut<f32>, channels: u32, inputs: u32, beams: u32, columns: u32, most_run: u32, scale: f32,
            ) {
                let table = Table { table, scales, channels, inputs, beams, columns, most_run, scale };
                make(Weights::$kind, &table, &Steered { phases, slopes, gains, inputs, beams })
            }
        }
    )* };
}

weights! {
    weights_i8 steer_i8 Int8;
    weights_i16 steer_i16 Int16;
    weights_f16 steer_f16 Float16;
}

fringes_device::kernel! {
    /// Sums `[channel][time][beam or pair][4]` to `[channel / m][time / n][beam][product]`. See module `sum`.
    #[launch(threads(256), min_blocks(2))]
    pub fn sum_detected(
        sums: Global<f32>, out: GlobalMut<f32>, carried: Global<f32>, left: GlobalMut<f32>, channels: u32, times: u32,
        beams: u32, channel_sum: u32, time_sum: u32, pending: u32, first: u32, row: u32, products: u32,
    ) {
        let job = Detect {
            sums, out, carried, left, channels, times, beams, channel_sum, time_sum, pending, first, row, products,
        };
        job.run()
    }
}

fringes_device::kernel! {
    /// Sums `[channel][time][beam][product]` as bytes: `offset + scale sum`, rounded half to even, clamped and counted.
    #[launch(threads(256))]
    pub fn bytes_of_sums(
        sums: Global<f32>, scale: Global<f32>, offset: Global<f32>, out: GlobalMut<u8>, saturated: GlobalMut<u64>,
        channels: u32, times: u32, beams: u32, products: u32,
    ) {
        Bytes { sums, scale, offset, out, saturated, channels, times, beams, products }.run()
    }
}

macro_rules! incoherent {
    ($($name:ident $source:ident $shared:literal;)*) => { $(
        fringes_device::kernel! {
            #[doc = concat!("Incoherent beams of `", stringify!($source), "`. See module `incoherent`.")]
            #[launch(threads(256), min_blocks(2), shared_bytes($shared))]
            pub fn $name(
                rows: Global<[u32; 4]>, gains: Global<[f32; 4]>, out: GlobalMut<f32>, channels: u32, inputs: u32,
                count: u32, times: u32, fold: u32,
            ) {
                Incoherent { rows, gains, out, channels, inputs, count, times, fold }.run::<$source>()
            }
        }
    )* };
}

// 8 warps, times of a row, 4 beams of 4 bytes.
incoherent! {
    incoherent_i4 RowsI4 16384;
    incoherent_i8 RowsI8 8192;
    incoherent_f16 RowsF16 4096;
}
