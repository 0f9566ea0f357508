#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! Tied-array beams for sm_90a: `y[channel][time][beam] = scale sum_input w[beam][channel][input]
//! x[channel][time][input]`, of rows of 4-bit, 8-bit and f16 samples, by the copy engine (TMA) and products of
//! warpgroups (`wgmma`).
//!
//! Kernels are called `tied_array_F_N_O`: format of the samples (`i4`, `i8`, `f16`; `i8_f16` are 8-bit samples with f16
//! weights), columns of a tile, output (`f32`, `f16`, `i8`, `power`, `coherency`); `_held_C` are those of up to 64 `C`
//! inputs, whose samples stay in registers. The grid is any number of blocks, as
//! many as run at once: they share out the jobs (channel, tile of times, tile of columns).
//!
//! # The product
//! Times are the rows of the product, from registers, inputs its depth, beams its columns, from shared memory:
//!
//! ```text
//! Re y = sum  x_re w_re - x_im w_im       A = (re, im) as it is,      B = (w_re, -w_im)
//! Im y = sum  x_im w_re + x_re w_im       A = (im, -re), in registers, the same B
//! ```
//!
//! so that a complex multiply-add takes 8 real operations, none is wasted, and weights lie in memory once. 16-bit
//! weights are two columns, `256 high + low`, joined in f32: exact sums in any order. Weights lie in memory as shared
//! memory has them (`fringes_kernel_abi::tied_array`); samples are rows as the F-engine writes them.
//!
//! # Strips
//! A block forms tiles of the same columns one after another, a *strip*, and their weights stay in shared memory, while
//! samples come through a ring of stages. So the L2 is read half as much. With strips of one tile weights come with the
//! samples, each time: where there is no room for all of them, or where few inputs are summed, and what matters is that
//! blocks that run together write beams that lie together.
//!
//! Where samples are held, strips go across: tiles of columns follow each other, of the same times. A strip's samples
//! become operands once, and weights come through a ring of whole tiles of columns, with the beams' scales.
//!
//! # Warps
//! Two groups of four warps multiply 64 times each; of four more warps one thread fills a ring of stages with the copy
//! engine, across tiles, and another one slots with weights that stay. Where the ring has room for all inputs of a
//! tile, but for few of them, the groups take turns: the one multiplies while the other stores. With 16 columns a
//! multiprocessor has two blocks, but of coherencies.
//!
//! # Incoherent beam
//! Kernels of powers make an incoherent beam beside the others, if gains are given: of the operands that the warps have
//! anyway, in the tiles of the first columns.
//!
//! # Floor
//! For 64 inputs, 128 times, `N` columns: tensor cores `8 N` cycles of a multiprocessor for integers (4096
//! multiply-adds a cycle); bytes from L2 16384, and 128 N where weights do not stay; from device memory 16384 of
//! samples where all columns are one tile or L2 holds the times, and the beams. An H200's 4080 GB/s are 16 to 17.6
//! bytes a cycle and multiprocessor: up to 64 columns its bytes are the bound. Measured through the public stream,
//! 8-bit weights, 512 inputs: 0.82 to 0.90 of the bytes' bound up to 64 beams, 1255 useful TOPS with 1024; with 128
//! inputs, which are held, 893, bound by the part that stores.
//!
//! # Precision
//! Sums of integers are exact (at most 2^14 inputs), and become f32 with one rounding, two of 16-bit weights; the scale
//! is one more. f16: products are exact, sums of 16 are added to an f32 at the precision of the tensor cores.
//!
//! # Overflow
//! -128 and -8 are no samples: their negation stays what it is.

mod form;
mod format;
mod held;
mod load;
mod multiply;
mod ring;
mod scales;
mod strips;

pub use fringes_kernel_abi::tied_array;

use fringes_device::{Global, GlobalMut, TensorMap};

use fringes_kernels_beamformer_core::{incoherent::Incoherent, output, source, work::Work};

macro_rules! kernels {
    ($($part:literal $name:ident $source:ident $output:ident $columns:literal $half:literal $samples:literal $shared:literal $blocks:literal;)*) => { $(
        const _: () = assert!(ring::shared_bytes($columns) == $shared);
        const _: () = assert!(form::blocks($columns, <output::$output as output::Put>::OUTPUT) == $blocks);
        const _: () = assert!(<source::$source as source::Source>::BYTES == $samples);

        kernel!($output $part $name [$source, " in tiles of ", $columns, " columns"] $shared $blocks
            form::form::<source::$source, output::$output, $columns, $half>);
    )* };
}

macro_rules! held_kernels {
    ($($part:literal $name:ident $source:ident $output:ident $columns:literal $half:literal $chunks:literal $shared:literal;)*) => { $(
        const _: () = assert!(held::Shape::of::<source::$source>($columns, $chunks).shared_bytes() == $shared);

        kernel!($output $part $name [$source, " of ", $chunks, " chunks of inputs, which are held"] $shared 1
            held::form::<source::$source, output::$output, $columns, $half, $chunks>);
    )* };
}

/// A kernel, whose body is `$form`.
macro_rules! kernel {
    (Power $part:literal $name:ident [$source:ident $(, $what:literal)*] $shared:literal $blocks:literal $form:expr) => {
        #[cfg(any(not(target_arch = "nvptx64"), feature = $part))]
        fringes_device::kernel! {
            #[doc = concat!("Powers of beams of `", stringify!($source), "`" $(, $what)*, ", and of an incoherent one.")]
            /// See the crate.
            #[launch(threads(384), min_blocks($blocks), shared_bytes($shared))]
            pub fn $name(
                samples: TensorMap, table: Global<[u32; 4]>, scales: Global<f32>, beams: GlobalMut<u16>,
                saturated: GlobalMut<u64>, seed: u64, spectrum: u64, channels: u32, inputs: u32, count: u32, times: u32,
                first: u32, end: u32, digits: u32, fold: u32, channel: u32, dither: u32, strip: u32,
                gains: Global<[f32; 2]>, incoherent: GlobalMut<f32>,
            ) {
                let work = Work {
                    table, scales, beams, saturated, channels, inputs, count, times, first, end, digits, fold, seed,
                    spectrum, channel, dither,
                };
                let incoherent = Incoherent { gains, out: incoherent };
                $form(samples, work, strip, Some(incoherent))
            }
        }
    };
    ($output:ident $part:literal $name:ident [$source:ident $(, $what:literal)*] $shared:literal $blocks:literal $form:expr) => {
        #[cfg(any(not(target_arch = "nvptx64"), feature = $part))]
        fringes_device::kernel! {
            #[doc = concat!("Beams of `", stringify!($source), "`" $(, $what)*, ", as `", stringify!($output), "`.")]
            /// See the crate.
            #[launch(threads(384), min_blocks($blocks), shared_bytes($shared))]
            pub fn $name(
                samples: TensorMap, table: Global<[u32; 4]>, scales: Global<f32>, beams: GlobalMut<u16>,
                saturated: GlobalMut<u64>, seed: u64, spectrum: u64, channels: u32, inputs: u32, count: u32, times: u32,
                first: u32, end: u32, digits: u32, fold: u32, channel: u32, dither: u32, strip: u32,
            ) {
                let work = Work {
                    table, scales, beams, saturated, channels, inputs, count, times, first, end, digits, fold, seed,
                    spectrum, channel, dither,
                };
                $form(samples, work, strip, None)
            }
        }
    };
}

kernels! {
    "i4_to_f32" tied_array_i4_16_f32 RowsI4 F32 16 8 8192 115248 2;
    "i4_to_f32" tied_array_i4_64_f32 RowsI4 F32 64 32 8192 217584 1;
    "i4_to_f32" tied_array_i4_128_f32 RowsI4 F32 128 64 8192 217456 1;
    "i4_to_f16" tied_array_i4_16_f16 RowsI4 F16 16 8 8192 115248 2;
    "i4_to_f16" tied_array_i4_64_f16 RowsI4 F16 64 32 8192 217584 1;
    "i4_to_f16" tied_array_i4_128_f16 RowsI4 F16 128 64 8192 217456 1;
    "i4_to_i8" tied_array_i4_16_i8 RowsI4 I8 16 8 8192 115248 2;
    "i4_to_i8" tied_array_i4_64_i8 RowsI4 I8 64 32 8192 217584 1;
    "i4_to_i8" tied_array_i4_128_i8 RowsI4 I8 128 64 8192 217456 1;
    "i4_to_power" tied_array_i4_16_power RowsI4 Power 16 8 8192 115248 2;
    "i4_to_power" tied_array_i4_64_power RowsI4 Power 64 32 8192 217584 1;
    "i4_to_power" tied_array_i4_128_power RowsI4 Power 128 64 8192 217456 1;
    "i4_to_coherency" tied_array_i4_16_coherency RowsI4 Coherency 16 8 8192 115248 1;
    "i4_to_coherency" tied_array_i4_64_coherency RowsI4 Coherency 64 32 8192 217584 1;
    "i4_to_coherency" tied_array_i4_128_coherency RowsI4 Coherency 128 64 8192 217456 1;
    "i8_to_f32" tied_array_i8_16_f32 RowsI8 F32 16 8 16384 115248 2;
    "i8_to_f32" tied_array_i8_64_f32 RowsI8 F32 64 32 16384 217584 1;
    "i8_to_f32" tied_array_i8_128_f32 RowsI8 F32 128 64 16384 217456 1;
    "i8_to_f16" tied_array_i8_16_f16 RowsI8 F16 16 8 16384 115248 2;
    "i8_to_f16" tied_array_i8_64_f16 RowsI8 F16 64 32 16384 217584 1;
    "i8_to_f16" tied_array_i8_128_f16 RowsI8 F16 128 64 16384 217456 1;
    "i8_to_i8" tied_array_i8_16_i8 RowsI8 I8 16 8 16384 115248 2;
    "i8_to_i8" tied_array_i8_64_i8 RowsI8 I8 64 32 16384 217584 1;
    "i8_to_i8" tied_array_i8_128_i8 RowsI8 I8 128 64 16384 217456 1;
    "i8_to_power" tied_array_i8_16_power RowsI8 Power 16 8 16384 115248 2;
    "i8_to_power" tied_array_i8_64_power RowsI8 Power 64 32 16384 217584 1;
    "i8_to_power" tied_array_i8_128_power RowsI8 Power 128 64 16384 217456 1;
    "i8_to_coherency" tied_array_i8_16_coherency RowsI8 Coherency 16 8 16384 115248 1;
    "i8_to_coherency" tied_array_i8_64_coherency RowsI8 Coherency 64 32 16384 217584 1;
    "i8_to_coherency" tied_array_i8_128_coherency RowsI8 Coherency 128 64 16384 217456 1;
    "i8_f16_to_f32" tied_array_i8_f16_16_f32 RowsI8ByF16 F32 16 8 8192 115248 2;
    "i8_f16_to_f32" tied_array_i8_f16_64_f32 RowsI8ByF16 F32 64 32 8192 217584 1;
    "i8_f16_to_f32" tied_array_i8_f16_128_f32 RowsI8ByF16 F32 128 64 8192 217456 1;
    "i8_f16_to_f16" tied_array_i8_f16_16_f16 RowsI8ByF16 F16 16 8 8192 115248 2;
    "i8_f16_to_f16" tied_array_i8_f16_64_f16 RowsI8ByF16 F16 64 32 8192 217584 1;
    "i8_f16_to_f16" tied_array_i8_f16_128_f16 RowsI8ByF16 F16 128 64 8192 217456 1;
    "i8_f16_to_i8" tied_array_i8_f16_16_i8 RowsI8ByF16 I8 16 8 8192 115248 2;
    "i8_f16_to_i8" tied_array_i8_f16_64_i8 RowsI8ByF16 I8 64 32 8192 217584 1;
    "i8_f16_to_i8" tied_array_i8_f16_128_i8 RowsI8ByF16 I8 128 64 8192 217456 1;
    "i8_f16_to_power" tied_array_i8_f16_16_power RowsI8ByF16 Power 16 8 8192 115248 2;
    "i8_f16_to_power" tied_array_i8_f16_64_power RowsI8ByF16 Power 64 32 8192 217584 1;
    "i8_f16_to_power" tied_array_i8_f16_128_power RowsI8ByF16 Power 128 64 8192 217456 1;
    "i8_f16_to_coherency" tied_array_i8_f16_16_coherency RowsI8ByF16 Coherency 16 8 8192 115248 1;
    "i8_f16_to_coherency" tied_array_i8_f16_64_coherency RowsI8ByF16 Coherency 64 32 8192 217584 1;
    "i8_f16_to_coherency" tied_array_i8_f16_128_coherency RowsI8ByF16 Coherency 128 64 8192 217456 1;
    "f16_to_f32" tied_array_f16_16_f32 RowsF16 F32 16 8 16384 115248 2;
    "f16_to_f32" tied_array_f16_64_f32 RowsF16 F32 64 32 16384 217584 1;
    "f16_to_f32" tied_array_f16_128_f32 RowsF16 F32 128 64 16384 217456 1;
    "f16_to_f16" tied_array_f16_16_f16 RowsF16 F16 16 8 16384 115248 2;
    "f16_to_f16" tied_array_f16_64_f16 RowsF16 F16 64 32 16384 217584 1;
    "f16_to_f16" tied_array_f16_128_f16 RowsF16 F16 128 64 16384 217456 1;
    "f16_to_i8" tied_array_f16_16_i8 RowsF16 I8 16 8 16384 115248 2;
    "f16_to_i8" tied_array_f16_64_i8 RowsF16 I8 64 32 16384 217584 1;
    "f16_to_i8" tied_array_f16_128_i8 RowsF16 I8 128 64 16384 217456 1;
    "f16_to_power" tied_array_f16_16_power RowsF16 Power 16 8 16384 115248 2;
    "f16_to_power" tied_array_f16_64_power RowsF16 Power 64 32 16384 217584 1;
    "f16_to_power" tied_array_f16_128_power RowsF16 Power 128 64 16384 217456 1;
    "f16_to_coherency" tied_array_f16_16_coherency RowsF16 Coherency 16 8 16384 115248 1;
    "f16_to_coherency" tied_array_f16_64_coherency RowsF16 Coherency 64 32 16384 217584 1;
    "f16_to_coherency" tied_array_f16_128_coherency RowsF16 Coherency 128 64 16384 217456 1;
}

held_kernels! {
    "i4_to_f16_held" tied_array_i4_128_f16_held_1 RowsI4 F16 128 32 1 84144;
    "i4_to_f16_held" tied_array_i4_128_f16_held_2 RowsI4 F16 128 32 2 166064;
    "i4_to_i8_held" tied_array_i4_128_i8_held_1 RowsI4 I8 128 32 1 84144;
    "i4_to_i8_held" tied_array_i4_128_i8_held_2 RowsI4 I8 128 32 2 166064;
    "i4_to_power_held" tied_array_i4_128_power_held_1 RowsI4 Power 128 32 1 84144;
    "i4_to_power_held" tied_array_i4_128_power_held_2 RowsI4 Power 128 32 2 166064;
    "i8_to_f16_held" tied_array_i8_128_f16_held_1 RowsI8 F16 128 32 1 100528;
    "i8_to_f16_held" tied_array_i8_128_f16_held_2 RowsI8 F16 128 32 2 198832;
    "i8_to_i8_held" tied_array_i8_128_i8_held_1 RowsI8 I8 128 32 1 100528;
    "i8_to_i8_held" tied_array_i8_128_i8_held_2 RowsI8 I8 128 32 2 198832;
    "i8_to_power_held" tied_array_i8_128_power_held_1 RowsI8 Power 128 32 1 100528;
    "i8_to_power_held" tied_array_i8_128_power_held_2 RowsI8 Power 128 32 2 198832;
}
