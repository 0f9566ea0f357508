#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! The correlator for sm_90a: `V[a][b] = sum_t x_a(t) conj(x_b(t))` for inputs `a >= b`, of 4-bit, 8-bit and f16
//! samples, by the copy engine (TMA) and products of warpgroups (`wgmma`).
//!
//! | part of the name | means |
//! |---|---|
//! | `i4`, `i8`, `f16` | format of the samples |
//! | `heaps` | heaps `[batch][antenna][channel][spectrum][pol]` of two polarisations |
//! | no `heaps` | rows `[channel][time / R][input][R]`; heaps of one polarisation, which differ in strides only |
//! | `small`, `whole`, neither | tiles of up to 64 inputs, of up to 160, of 128 x 128 (module `ring`) |
//! | `add` | added to pairs of i32 or, of f16, f64; otherwise pairs of i32 or f32 are overwritten |
//!
//! Sums are `[part][channel][baseline]`, packed lower triangle. The grid is any number of blocks, as many as run at
//! once: they are persistent, and share out the jobs (tile, channel, part: module `work`). Kernels that overwrite write
//! nothing where there are no sums at all (a view of length zero): what the products alone take.
//!
//! Heaps may be a part of those that there are: `list` says which batch is the first, the second and so on; without it
//! (a view of length zero) they follow each other.
//!
//! # Arithmetic
//! Along a row lie `re im re im ...`, and so they are `k` of the matrix product. `A`, 64 columns `b` of the tile, comes
//! from registers; `B`, rows `a`, from shared memory:
//!
//! ```text
//! Re V = sum  b_re a_re + b_im a_im       A as it is
//! Im V = sum -b_im a_re + b_re a_im       A with each (re, im) replaced by (-im, re), in registers
//! ```
//!
//! so that a complex multiply-add takes 8 real operations, none is wasted, and no second copy of `B` is needed. 4-bit
//! samples become bytes of 16 times their value (products of 256 times theirs: exact, shifted at the end).
//!
//! # Warps
//! Two groups of four warps multiply 64 columns each, with 128 accumulators a thread; one thread fills a ring of stages
//! in shared memory with the copy engine, ahead of them and across jobs; three warps make `B` where what is copied is
//! not it. Tiles on the diagonal copy one side, and the second group leaves out the rows before its columns: three
//! quarters of the tile are computed.
//!
//! # Floor
//! A k-step of 64 x 128 pairs takes the tensor cores 64 cycles a product, two of them for 16 times: 4096 multiply-adds
//! of 8 bits a cycle and multiprocessor (on an H200 2140 TOPS at 1980 MHz, which its power does not allow for long).
//! Bytes from L2: 256 rows of 128 bytes a tile and 64 times, 32 bytes a cycle; from shared memory `B` 64, `A` 16, and
//! 32 written, of 128 bytes a cycle. Device memory sees each row once where L2 holds a channel; with 64 inputs its
//! bytes are the bound. See docs/performance/correlator.md for what was measured.
//!
//! # Precision
//! Integers: exact, for at most 66572 times a part and launch (85598 of 4-bit samples): `floor((2^31 - 1) / (2 *
//! 127^2))`, and within +-127 and +-7; sums that are added to, for as many times of 8-bit samples in all (21913098 of
//! 4-bit ones). f16: products are exact, sums of 8 times are added to an f32 at the precision of the tensor
//! cores, which truncate: see `fringes_device::tensor_core`.
//!
//! # Overflow
//! -128 and -8 are no samples: their negation stays what it is, so that imaginary parts with them are wrong.

mod correlate;
mod expand;
mod format;
mod load;
mod multiply;
mod ring;
mod source;
mod store;
mod work;

use fringes_device::{Global, GlobalMut, TensorMap};

use work::Work;

macro_rules! correlate {
    ($($part:literal $name:ident $source:ident $sum:ident $memory:ty, $shape:ident $threads:literal $blocks:literal $shared:literal, $what:literal;)*) => { $(
        #[cfg(any(not(target_arch = "nvptx64"), feature = $part))]
        fringes_device::kernel! {
            #[doc = $what]
            #[launch(threads($threads), min_blocks($blocks), shared_bytes($shared))]
            pub fn $name(
                samples: TensorMap, last: TensorMap, list: Global<u32>, sums: GlobalMut<$memory>, channels: u32, inputs: u32,
                first_row: u32, head: u32, head_chunks: u32, chunks: u32, last_row: u32, steps: u32, parts: u32, rotate: u32,
            ) {
                let work = Work { channels, inputs, first_row, head, head_chunks, chunks, last_row, steps, parts, rotate };
                correlate::correlate::<source::$source, store::$sum, { ring::$shape }>([samples, last], list, sums, work)
            }
        }
    )* };
}

correlate! {
    "i8" correlate_i8 RowsI8 Overwritten [i32; 2], SQUARE 384 1 196752, "8-bit rows to `[part][channel][baseline]` pairs of i32.";
    "i8" correlate_i8_add RowsI8 Added [i32; 2], SQUARE 384 1 196752, "8-bit rows, added to pairs of i32.";
    "i4" correlate_i4 RowsI4 Overwritten [i32; 2], SQUARE 384 1 196752, "4-bit rows to pairs of i32.";
    "i4" correlate_i4_add RowsI4 Added [i32; 2], SQUARE 384 1 196752, "4-bit rows, added to pairs of i32.";
    "f16" correlate_f16 RowsF16 Overwritten [f32; 2], SQUARE 384 1 196752, "f16 rows to pairs of f32.";
    "f16" correlate_f16_add RowsF16 Added [f64; 2], SQUARE 384 1 196752, "f16 rows, added to pairs of f64.";
    "heaps_i8" correlate_heaps_i8 HeapsI8 Overwritten [i32; 2], SQUARE 384 1 196704, "8-bit heaps of two polarisations to pairs of i32.";
    "heaps_i8" correlate_heaps_i8_add HeapsI8 Added [i32; 2], SQUARE 384 1 196704, "8-bit heaps of two polarisations, added to pairs of i32.";
    "heaps_i4" correlate_heaps_i4 HeapsI4 Overwritten [i32; 2], SQUARE 384 1 196752, "4-bit heaps of two polarisations to pairs of i32.";
    "heaps_i4" correlate_heaps_i4_add HeapsI4 Added [i32; 2], SQUARE 384 1 196752, "4-bit heaps of two polarisations, added to pairs of i32.";
    "heaps_f16" correlate_heaps_f16 HeapsF16 Overwritten [f32; 2], SQUARE 384 1 196704, "f16 heaps of two polarisations to pairs of f32.";
    "heaps_f16" correlate_heaps_f16_add HeapsF16 Added [f64; 2], SQUARE 384 1 196704, "f16 heaps of two polarisations, added to pairs of f64.";
    "i8" correlate_small_i8 RowsI8 Overwritten [i32; 2], SMALL 256 2 106808, "8-bit rows of up to 64 inputs to pairs of i32.";
    "i8" correlate_small_i8_add RowsI8 Added [i32; 2], SMALL 256 2 106808, "8-bit rows of up to 64 inputs, added to pairs of i32.";
    "i4" correlate_small_i4 RowsI4 Overwritten [i32; 2], SMALL 256 2 110808, "4-bit rows of up to 64 inputs to pairs of i32.";
    "i4" correlate_small_i4_add RowsI4 Added [i32; 2], SMALL 256 2 110808, "4-bit rows of up to 64 inputs, added to pairs of i32.";
    "f16" correlate_small_f16 RowsF16 Overwritten [f32; 2], SMALL 256 2 106808, "f16 rows of up to 64 inputs to pairs of f32.";
    "f16" correlate_small_f16_add RowsF16 Added [f64; 2], SMALL 256 2 106808, "f16 rows of up to 64 inputs, added to pairs of f64.";
    "heaps_i8" correlate_small_heaps_i8 HeapsI8 Overwritten [i32; 2], SMALL 256 2 98448, "8-bit heaps of up to 32 antennas to pairs of i32.";
    "heaps_i8" correlate_small_heaps_i8_add HeapsI8 Added [i32; 2], SMALL 256 2 98448, "8-bit heaps of up to 32 antennas, added to pairs of i32.";
    "heaps_i4" correlate_small_heaps_i4 HeapsI4 Overwritten [i32; 2], SMALL 256 2 110808, "4-bit heaps of up to 32 antennas to pairs of i32.";
    "heaps_i4" correlate_small_heaps_i4_add HeapsI4 Added [i32; 2], SMALL 256 2 110808, "4-bit heaps of up to 32 antennas, added to pairs of i32.";
    "heaps_f16" correlate_small_heaps_f16 HeapsF16 Overwritten [f32; 2], SMALL 256 2 98448, "f16 heaps of up to 32 antennas to pairs of f32.";
    "heaps_f16" correlate_small_heaps_f16_add HeapsF16 Added [f64; 2], SMALL 256 2 98448, "f16 heaps of up to 32 antennas, added to pairs of f64.";
    "i8" correlate_whole_i8 RowsI8 Overwritten [i32; 2], WHOLE 384 1 205040, "8-bit rows of up to 160 inputs to pairs of i32.";
    "i8" correlate_whole_i8_add RowsI8 Added [i32; 2], WHOLE 384 1 205040, "8-bit rows of up to 160 inputs, added to pairs of i32.";
    "i4" correlate_whole_i4 RowsI4 Overwritten [i32; 2], WHOLE 384 1 184464, "4-bit rows of up to 160 inputs to pairs of i32.";
    "i4" correlate_whole_i4_add RowsI4 Added [i32; 2], WHOLE 384 1 184464, "4-bit rows of up to 160 inputs, added to pairs of i32.";
    "f16" correlate_whole_f16 RowsF16 Overwritten [f32; 2], WHOLE 384 1 205040, "f16 rows of up to 160 inputs to pairs of f32.";
    "f16" correlate_whole_f16_add RowsF16 Added [f64; 2], WHOLE 384 1 205040, "f16 rows of up to 160 inputs, added to pairs of f64.";
    "heaps_i8" correlate_whole_heaps_i8 HeapsI8 Overwritten [i32; 2], WHOLE 384 1 204920, "8-bit heaps of two polarisations of up to 160 inputs to pairs of i32.";
    "heaps_i8" correlate_whole_heaps_i8_add HeapsI8 Added [i32; 2], WHOLE 384 1 204920, "8-bit heaps of two polarisations of up to 160 inputs, added to pairs of i32.";
    "heaps_i4" correlate_whole_heaps_i4 HeapsI4 Overwritten [i32; 2], WHOLE 384 1 184464, "4-bit heaps of two polarisations of up to 160 inputs to pairs of i32.";
    "heaps_i4" correlate_whole_heaps_i4_add HeapsI4 Added [i32; 2], WHOLE 384 1 184464, "4-bit heaps of two polarisations of up to 160 inputs, added to pairs of i32.";
    "heaps_f16" correlate_whole_heaps_f16 HeapsF16 Overwritten [f32; 2], WHOLE 384 1 204920, "f16 heaps of two polarisations of up to 160 inputs to pairs of f32.";
    "heaps_f16" correlate_whole_heaps_f16_add HeapsF16 Added [f64; 2], WHOLE 384 1 204920, "f16 heaps of two polarisations of up to 160 inputs, added to pairs of f64.";
}
