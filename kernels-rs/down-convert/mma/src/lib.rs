#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! Down-conversion of real packed samples on tensor cores of compute capability 8.0 and higher.

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
