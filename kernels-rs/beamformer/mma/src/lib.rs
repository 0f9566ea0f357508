#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! Tied-array beams for sm_80 and later: `y[channel][time][beam] = scale sum_input w[beam][channel][input]
//! x[channel][time][input]`, of rows of 4-bit, 8-bit and f16 samples, by `cp.async` and products of warps (`mma`).
//!
//! Kernels are called `tied_array_F_N_O`, as those of sm_90a, with tiles of 16, 32 or 64 columns. Eight warps have 16
//! times of a tile each, all columns of it, and the whole block loads chunks of inputs three or four stages ahead, also
//! those of the next tile. Two blocks fit on a multiprocessor, but one where 64 columns need more registers:
//! those that are detected, f16 weights of 8-bit samples, and integers that become floats.
//!
//! # Floor
//! For 64 inputs, 128 times, `N` columns, in cycles of a multiprocessor of an A100 (2048 8-bit multiply-adds a cycle):
//! products `16 N`; shared memory `8 N` for the columns that each warp loads, 128 for samples. So tensor cores are the
//! bound, and device memory up to 16 columns or so.
//!
//! # Precision, overflow
//! As the kernels of sm_90a.

mod load;
mod multiply;
mod scales;

use fringes_device::{Global, GlobalMut};
use fringes_kernels_beamformer_core::{output, source, work::Work};

pub use fringes_kernels_beamformer_core::tied_array;

/// Threads of a block.
pub(crate) const THREADS: u32 = 256;

macro_rules! kernels {
    ($($part:literal $name:ident $source:ident $output:ident $columns:literal $half:literal $samples:literal $stages:literal $shared:literal $blocks:literal;)*) => { $(
        const _: () = assert!(load::shared_bytes($samples, $columns) == $shared);
        const _: () = assert!(<source::$source as source::Source>::BYTES == $samples);

        #[cfg(any(not(target_arch = "nvptx64"), feature = $part))]
        fringes_device::kernel! {
            #[doc = concat!("Beams of `", stringify!($source), "` in tiles of ", $columns, " columns as `", stringify!($output), "`.")]
            /// See the crate.
            #[launch(threads(256), min_blocks($blocks), shared_bytes($shared))]
            pub fn $name(
                samples: Global<[u32; 4]>, table: Global<[u32; 4]>, scales: Global<f32>, beams: GlobalMut<u16>,
                saturated: GlobalMut<u64>, seed: u64, spectrum: u64, channels: u32, inputs: u32, count: u32, times: u32,
                first: u32, end: u32, digits: u32, fold: u32, channel: u32, dither: u32,
            ) {
                let work = Work {
                    table, scales, beams, saturated, channels, inputs, count, times, first, end, digits, fold, seed,
                    spectrum, channel, dither,
                };
                multiply::form::<source::$source, output::$output, $columns, $half, { $stages - 2 }>(samples, work)
            }
        }
    )* };
}

kernels! {
    "i4_to_f32" tied_array_i4_16_f32 RowsI4 F32 16 8 8192 4 45056 2;
    "i4_to_f32" tied_array_i4_64_f32 RowsI4 F32 64 32 8192 4 69632 1;
    "i4_to_f16" tied_array_i4_16_f16 RowsI4 F16 16 8 8192 4 45056 2;
    "i4_to_f16" tied_array_i4_64_f16 RowsI4 F16 64 32 8192 4 69632 2;
    "i4_to_i8" tied_array_i4_16_i8 RowsI4 I8 16 8 8192 4 45056 2;
    "i4_to_i8" tied_array_i4_64_i8 RowsI4 I8 64 32 8192 4 69632 2;
    "i4_to_power" tied_array_i4_16_power RowsI4 Power 16 8 8192 4 45056 2;
    "i4_to_power" tied_array_i4_64_power RowsI4 Power 64 32 8192 4 69632 1;
    "i4_to_coherency" tied_array_i4_16_coherency RowsI4 Coherency 16 8 8192 4 45056 2;
    "i4_to_coherency" tied_array_i4_64_coherency RowsI4 Coherency 64 32 8192 4 69632 1;
    "i8_to_f32" tied_array_i8_16_f32 RowsI8 F32 16 8 16384 4 77824 2;
    "i8_to_f32" tied_array_i8_64_f32 RowsI8 F32 64 32 16384 3 77824 1;
    "i8_to_f16" tied_array_i8_16_f16 RowsI8 F16 16 8 16384 4 77824 2;
    "i8_to_f16" tied_array_i8_64_f16 RowsI8 F16 64 32 16384 3 77824 1;
    "i8_to_i8" tied_array_i8_16_i8 RowsI8 I8 16 8 16384 4 77824 2;
    "i8_to_i8" tied_array_i8_64_i8 RowsI8 I8 64 32 16384 3 77824 2;
    "i8_to_power" tied_array_i8_16_power RowsI8 Power 16 8 16384 4 77824 2;
    "i8_to_power" tied_array_i8_64_power RowsI8 Power 64 32 16384 3 77824 1;
    "i8_to_coherency" tied_array_i8_16_coherency RowsI8 Coherency 16 8 16384 4 77824 2;
    "i8_to_coherency" tied_array_i8_64_coherency RowsI8 Coherency 64 32 16384 3 77824 1;
    "i8_f16_to_f32" tied_array_i8_f16_16_f32 RowsI8ByF16 F32 16 8 8192 4 45056 2;
    "i8_f16_to_f32" tied_array_i8_f16_64_f32 RowsI8ByF16 F32 64 32 8192 4 69632 1;
    "i8_f16_to_f16" tied_array_i8_f16_16_f16 RowsI8ByF16 F16 16 8 8192 4 45056 2;
    "i8_f16_to_f16" tied_array_i8_f16_64_f16 RowsI8ByF16 F16 64 32 8192 4 69632 1;
    "i8_f16_to_i8" tied_array_i8_f16_16_i8 RowsI8ByF16 I8 16 8 8192 4 45056 2;
    "i8_f16_to_i8" tied_array_i8_f16_64_i8 RowsI8ByF16 I8 64 32 8192 4 69632 1;
    "i8_f16_to_power" tied_array_i8_f16_16_power RowsI8ByF16 Power 16 8 8192 4 45056 2;
    "i8_f16_to_power" tied_array_i8_f16_64_power RowsI8ByF16 Power 64 32 8192 4 69632 1;
    "i8_f16_to_coherency" tied_array_i8_f16_16_coherency RowsI8ByF16 Coherency 16 8 8192 4 45056 2;
    "i8_f16_to_coherency" tied_array_i8_f16_64_coherency RowsI8ByF16 Coherency 64 32 8192 4 69632 1;
    "f16_to_f32" tied_array_f16_16_f32 RowsF16 F32 16 8 16384 4 77824 2;
    "f16_to_f32" tied_array_f16_64_f32 RowsF16 F32 64 32 16384 3 77824 1;
    "f16_to_f16" tied_array_f16_16_f16 RowsF16 F16 16 8 16384 4 77824 2;
    "f16_to_f16" tied_array_f16_64_f16 RowsF16 F16 64 32 16384 3 77824 1;
    "f16_to_i8" tied_array_f16_16_i8 RowsF16 I8 16 8 16384 4 77824 2;
    "f16_to_i8" tied_array_f16_64_i8 RowsF16 I8 64 32 16384 3 77824 1;
    "f16_to_power" tied_array_f16_16_power RowsF16 Power 16 8 16384 4 77824 2;
    "f16_to_power" tied_array_f16_64_power RowsF16 Power 64 32 16384 3 77824 1;
    "f16_to_coherency" tied_array_f16_16_coherency RowsF16 Coherency 16 8 16384 4 77824 2;
    "f16_to_coherency" tied_array_f16_64_coherency RowsF16 Coherency 64 32 16384 3 77824 1;
}
