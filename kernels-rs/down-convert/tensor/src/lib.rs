#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! Down-conversion of real packed samples on tensor cores: mixer, low-pass and decimation in one kernel. Outputs are
//! f32, or f16, i16 or i8 with a gain, clamped, and those that saturate are counted where asked.
//!
//! ```text
//! y_j = e^(2 pi i (f S j + b)) sum_{k < K} x[S j + k] h_k e^(2 pi i f k)      f = -centre, S the decimation
//! ```
//!
//! The mixer is in the weights, but for one rotation an output. Kernels are called `down_convert_B_P_Q`: bits of a
//! sample, outputs of a block, sets of weights.
//!
//! # The product
//! A row of the product `m64 n(2 P Q) k16` is a *segment* of the stream, and time is the loop. A block of `P S` samples
//! of each of 64 segments is multiplied with `Q` sets of weights at once, those of all blocks of outputs that the
//! samples belong to. So each sample is read once and decoded once, straight into the registers of `A`: the order of
//! the sum is free, and the weights have that of [`tensor::sample`].
//!
//! ```text
//! samples of a segment     | block 0 | block 1 | block 2 | block 3 | ...
//! outputs 0 to P - 1       | set 0     set 1     set 2   |                     accumulators 0
//! outputs P to 2 P - 1               | set 0     set 1     set 2   |           accumulators 1
//! outputs 2 P to 3 P - 1                       | set 0     set 1  ...          accumulators 2
//! the next P                                             | set 0  ...          accumulators 0 again
//! ```
//!
//! Accumulators stay where they are, and `B` turns: the table in shared memory has the columns of sets
//! `Q-1 .. 0 Q-1 .. 1`, and the descriptor begins at one of `Q` places ([`tensor::set`]).
//!
//! Weights are two f16, high and low, so each step is two products; scaled so that the largest is below 2^14.
//!
//! # A block
//! of 512 threads (384 of 16 bits, 256 with `P = 12`) is four groups of four warps, or as many as there are, each with
//! tiles of 64 segments of its own, which it takes in turn; where `P = 4` and a block of outputs has four groups of
//! samples or more, the fourth has none. The first tiles have the first blocks of all inputs, 64 inputs each, made of
//! held samples, which lie elsewhere than the chunk. A warp brings its 16 segments' samples by `cp.async`, 64 samples
//! of each at a time, two or three such groups ahead of their use; no barrier of the block follows the table's.
//! Segments are whole 16 bytes long, so all rows begin at the same bit, whichever that is. A tile reads `Q` blocks
//! beyond its segments: the beginning of the next ones.
//!
//! Where all groups of samples begin with a piece of 16 bytes, which they do in chunks that begin with one and with a
//! multiple of 64 samples, `down_convert_B_8_Q_aligned` copy no piece more than that, load no word more, and take bytes
//! from words as they lie: 139 instructions of a group's 169.
//!
//! # Precision
//! Samples are exact in f16 (of 16 bits as two numbers, of which the low one is not multiplied with the low weights:
//! 2^-21 of full scale at most), weights to 2^-22 of the largest one, sums f32 in the tensor cores' order, rotations
//! within 2^-19.9. Of full scale `2^(B-1) sum |h_k|`: 2e-5 at most, 2e-6 rms. The order of a sum is that of its samples
//! from its block's beginning, so outputs have the same bits however a stream is cut.
//!
//! # Cost
//! For 1024 samples of 10 bits, 128 taps and a decimation of 8 (`P = 8`, `Q = 3`), in cycles of an SM of an H200: 2304
//! bytes of device memory at 4060 GB/s are 148; products 48 (three quarters of them useful; half as many again of 16
//! bits); shared memory 70. So memory is the bound, 1815 Gsamples/s. Measured through the public stream: 1290 to 1355
//! by runs, and 46 % of the issue slots; 1140 to 1240 with 12 warps a multiprocessor in place of 16 (D-205).

mod decode;
mod load;
mod multiply;
mod output;
mod product;

pub use fringes_kernel_abi::down_convert::tensor;

use fringes_device::{Global, GlobalMut};

use multiply::{Arguments, run};

macro_rules! kernels {
    ($terms:literal $together:literal $aligned:literal; $($name:ident $bits:literal $outputs:literal $sets:literal $half:literal $threads:literal;)*) => {
        $( const _: () = assert!(tensor::threads($outputs, $bits, $terms) == $threads); )*
        const _: () = assert!(tensor::blocks_together($terms) == $together);

        fringes_device::kernel! { $(
        #[doc = concat!("Samples of ", $bits, " bits, blocks of ", $outputs, " outputs, ", $sets, " sets of weights of ", $terms, " terms.")]
        /// See the crate.
        #[launch(threads($threads), min_blocks($together))]
        pub fn $name(
            samples: Global<u32>,
            held: Global<u32>,
            table: Global<[u32; 4]>,
            out: GlobalMut<u16>,
            saturated: GlobalMut<u64>,
            present: Global<u8>,
            first_bit: u64,
            row_bits: u64,
            held_bit: u64,
            held_row_bits: u64,
            out_row: u64,
            present_row: u64,
            turn: u64,
            phase: u64,
            outputs: u32,
            skip: u32,
            inputs: u32,
            held_blocks: u32,
            tiles: u32,
            blocks: u32,
            groups: u32,
            block_bits: u32,
            little_endian: u32,
            format: u32,
            scale: f32,
            limit: f32,
        ) {
            let arguments = Arguments {
                samples, held, table, out, saturated, present, first_bit, row_bits, held_bit, held_row_bits, out_row,
                present_row, turn, phase, outputs, skip, inputs, held_blocks, tiles, blocks, groups, block_bits,
                little_endian, format, scale, limit,
            };
            // SAFETY: the launch has the threads; what the arguments say is checked against the views.
            unsafe { run::<$bits, $outputs, $sets, $half, { tensor::stages($outputs) }, $terms, $aligned>(&arguments) }
        }
        )* }
    };
}

/// Weights of two f16.
#[cfg(any(not(target_arch = "nvptx64"), feature = "single"))]
pub mod single {
    use super::*;

    kernels! {
        2 1 false;
        down_convert_4_8_2 4 8 2 16 512;
        down_convert_4_8_3 4 8 3 24 512;
        down_convert_4_4_5 4 4 5 20 512;
        down_convert_4_12_4 4 12 4 48 256;
        down_convert_8_8_2 8 8 2 16 512;
        down_convert_8_8_3 8 8 3 24 512;
        down_convert_8_4_5 8 4 5 20 512;
        down_convert_8_12_4 8 12 4 48 256;
        down_convert_10_8_2 10 8 2 16 512;
        down_convert_10_8_3 10 8 3 24 512;
        down_convert_10_4_5 10 4 5 20 512;
        down_convert_10_12_4 10 12 4 48 256;
        down_convert_12_8_2 12 8 2 16 512;
        down_convert_12_8_3 12 8 3 24 512;
        down_convert_12_4_5 12 4 5 20 512;
        down_convert_12_12_4 12 12 4 48 256;
        down_convert_16_8_2 16 8 2 16 384;
        down_convert_16_8_3 16 8 3 24 384;
        down_convert_16_4_5 16 4 5 20 384;
        down_convert_16_12_4 16 12 4 48 256;
    }

    // Of samples whose groups begin with pieces of 16 bytes.
    kernels! {
        2 1 true;
        down_convert_4_8_2_aligned 4 8 2 16 512;
        down_convert_4_8_3_aligned 4 8 3 24 512;
        down_convert_8_8_2_aligned 8 8 2 16 512;
        down_convert_8_8_3_aligned 8 8 3 24 512;
        down_convert_10_8_2_aligned 10 8 2 16 512;
        down_convert_10_8_3_aligned 10 8 3 24 512;
        down_convert_12_8_2_aligned 12 8 2 16 512;
        down_convert_12_8_3_aligned 12 8 3 24 512;
    }
}

/// Weights of one f16.
#[cfg(any(not(target_arch = "nvptx64"), feature = "half"))]
pub mod half {
    use super::*;

    kernels! {
        1 2 false;
        down_convert_8_8_2_half 8 8 2 16 256;
        down_convert_8_8_3_half 8 8 3 24 256;
        down_convert_8_4_5_half 8 4 5 20 256;
        down_convert_10_8_2_half 10 8 2 16 256;
        down_convert_10_8_3_half 10 8 3 24 256;
        down_convert_10_4_5_half 10 4 5 20 256;
        down_convert_12_8_2_half 12 8 2 16 256;
        down_convert_12_8_3_half 12 8 3 24 256;
        down_convert_12_4_5_half 12 4 5 20 256;
    }

    // Of samples whose groups begin with pieces of 16 bytes.
    kernels! {
        1 2 true;
        down_convert_8_8_2_half_aligned 8 8 2 16 256;
        down_convert_8_8_3_half_aligned 8 8 3 24 256;
        down_convert_10_8_2_half_aligned 10 8 2 16 256;
        down_convert_10_8_3_half_aligned 10 8 3 24 256;
        down_convert_12_8_2_half_aligned 12 8 2 16 256;
        down_convert_12_8_3_half_aligned 12 8 3 24 256;
    }
}
