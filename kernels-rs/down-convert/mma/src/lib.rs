#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! Down-conversion of real packed samples on tensor cores of compute capability 8.0 and higher: mixer, low-pass and
//! decimation in one kernel.
//!
//! ```text
//! y_j = e^(2 pi i (f S j + b)) sum_{k < K} x[S j + k] h_k e^(2 pi i f k)      f = -centre, S the decimation
//! ```
//!
//! The mixer is in the weights, but for one rotation an output. Kernels are called `down_convert_mma_B_P_Q`: bits of a
//! sample, outputs of a block, sets of weights.
//!
//! # The product
//! is that of `fringes-kernels-down-convert-tensor`: a row is a *segment* of the stream, and time is the loop. A block
//! of `P S` samples of each segment is multiplied with `Q` sets of weights at once, those of all blocks of outputs that
//! the samples belong to, in `m16n8k16`. Each sample is read once and decoded once, straight into the registers of `A`.
//!
//! ```text
//! samples of a segment     | block 0 | block 1 | block 2 | block 3 | ...
//! outputs 0 to P - 1       | set 0     set 1     set 2   |
//! outputs P to 2 P - 1               | set 0     set 1     set 2   |
//! outputs 2 P to 3 P - 1                       | set 0     set 1  ...
//! ```
//!
//! Sums of the `Q` blocks of outputs under way are kept oldest first. When the oldest is complete, all move by one
//! place: 24 moves for 1024 samples, which cost less than code that is written out `Q` times. So the table has each set
//! once, and a set always has the same sums.
//!
//! A lane loads 16 bytes of the table at a time, what it holds of `B` for two steps ([`mma::place`]). A warp has 32
//! segments, two tiles of 16 rows, so that shared memory gives each `B` once for two products.
//!
//! Weights are two f16, high and low, so each step is two products; scaled so that the largest is below 2^14. Samples
//! of 16 bits are two f16 as well: three products, without that of the low ones.
//!
//! # A block
//! of 256 threads is eight warps, each with tiles of 32 segments of its own, which it takes in turn. A warp brings its
//! samples by `cp.async`, 64 samples of each segment at a time, one or two such groups ahead of their use: two where
//! shared memory has room, which the kernel sees from its size. No barrier of the block follows the table's. Segments
//! are whole 16 bytes long, so all rows begin at the same bit, whichever that is. A tile reads `Q - 1` blocks beyond
//! its segments: the beginning of the next ones.
//!
//! # Precision
//! Of full scale `2^(B-1) sum |h_k|`: 1.3e-5 at most for 128 taps and a decimation of 8, below 2e-5 for all plans.
//! `MmaShape::bound` of the host derives it, from what is proven of any tensor core, and for any samples. Tensor cores
//! cut what they add relative to the sum; so each group of 64 samples has sums of its own, which begin with low weights
//! and low terms, and f32 additions join them. Without that, samples that add up all the way would lose in proportion
//! to the number of products, which is 320 for 2048 taps. Found in the emulator, whose sine and cosine are exact: 3e-8
//! at most and 8e-9 rms for random samples of 10 bits, 128 taps; 3.1e-7 where all products add up.
//!
//! The order of a sum is that of its samples from its block's beginning, so outputs have the same bits however a stream
//! is cut.
//!
//! # Cost
//! For 1024 samples of 10 bits, in cycles of an SM of an H200, 132 of them at 1.98 GHz, without history:
//!
//! | taps / decimation | 128 / 8 | 256 / 16 | 512 / 32 | from |
//! |---|---|---|---|---|
//! | device memory | 148 | 115 | 98 | 2.25, 1.75, 1.5 bytes a sample at 4060 GB/s |
//! | issue slots | 87 | 78 | 66 | 346, 310, 263 instructions of a warp, by SASS |
//! | shared memory | 84 | 76 | 76 | wavefronts: `B` 48, 40, 40; `cp.async` 24; samples 12 |
//! | tensor cores | 73 | 61 | 61 | 48, 40, 40 products at 1.53 |
//! | lookups, shifts, integers | 57 | 53 | 50 | 112, 104, 98 instructions at 0.51 |
//!
//! Rates are those of the record `ceilings` for an H200; 720 Gsamples/s are 372 cycles. Of other bits with 128 taps and
//! a decimation of 8:
//!
//! | bits | 4 | 8 | 10 | 12 | 16 |
//! |---|---|---|---|---|---|
//! | instructions | 299 | 331 | 346 | 396 | 433 |
//! | shared memory, wavefronts | 66 | 98 | 84 | 90 | 162 |
//! | tensor cores | 73 | 73 | 73 | 73 | 110 |
//!
//! Lanes of a row that begin whole pieces of 16 bytes apart (8 and 16 bits) read the same banks, four at a time.
//!
//! Shared memory is 96 KiB for 128 taps, a decimation of 8 and 10 bits with two groups ahead, 68 KiB with one. What
//! does not fit the device has no kernel, and 12 outputs of samples of 16 bits have none, as they need too many
//! registers. All others have 124 to 255 registers on all architectures, and nothing spills. Not measured on a GPU yet.

mod arguments;
mod decode;
mod epilogue;
mod load;
mod multiply;

pub use fringes_kernel_abi::down_convert::mma;

use fringes_device::{Global, GlobalMut};

use arguments::Arguments;
use multiply::run;

macro_rules! kernels {
    ($($name:ident $bits:literal $outputs:literal $sets:literal $half:literal;)*) => {
        const _: () = assert!(mma::THREADS == 256);

        fringes_device::kernel! { $(
        #[doc = concat!("Samples of ", $bits, " bits, blocks of ", $outputs, " outputs, ", $sets, " sets of weights.")]
        /// See the crate.
        #[launch(threads(256))]
        pub fn $name(
            samples: Global<u32>,
            table: Global<[u32; 4]>,
            out: GlobalMut<[f32; 2]>,
            first_bit: u64,
            row_bits: u64,
            out_row: u64,
            turn: u64,
            phase: u64,
            outputs: u32,
            skip: u32,
            inputs: u32,
            tiles: u32,
            blocks: u32,
            groups: u32,
            block_bits: u32,
            scale: f32,
        ) {
            let arguments = Arguments {
                samples, table, out, first_bit, row_bits, out_row, turn, phase, outputs, skip, inputs, tiles, blocks,
                groups, block_bits, scale,
            };
            // SAFETY: the launch has the threads; what the arguments say is checked against the views.
            unsafe { run::<[f32; 2], $bits, $outputs, $sets, $half>(&arguments) }
        }
        )* }
    };
}

kernels! {
    down_convert_mma_4_8_2 4 8 2 16;
    down_convert_mma_4_8_3 4 8 3 24;
    down_convert_mma_4_4_5 4 4 5 20;
    down_convert_mma_4_12_4 4 12 4 48;
    down_convert_mma_8_8_2 8 8 2 16;
    down_convert_mma_8_8_3 8 8 3 24;
    down_convert_mma_8_4_5 8 4 5 20;
    down_convert_mma_8_12_4 8 12 4 48;
    down_convert_mma_10_8_2 10 8 2 16;
    down_convert_mma_10_8_3 10 8 3 24;
    down_convert_mma_10_4_5 10 4 5 20;
    down_convert_mma_10_12_4 10 12 4 48;
    down_convert_mma_12_8_2 12 8 2 16;
    down_convert_mma_12_8_3 12 8 3 24;
    down_convert_mma_12_4_5 12 4 5 20;
    down_convert_mma_12_12_4 12 12 4 48;
    down_convert_mma_16_8_2 16 8 2 16;
    down_convert_mma_16_8_3 16 8 3 24;
    down_convert_mma_16_4_5 16 4 5 20;
}
