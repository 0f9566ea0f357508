#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! Down-conversion with FP32 products: any format of samples, any taps, any decimation.
//!
//! ```text
//! y_j = e^(2 pi i (f S j + b)) sum_{k < K} x[S j + k] c_k      c_k = h_k e^(2 pi i f k), S the decimation
//! ```
//!
//! | kernel | samples |
//! |---|---|
//! | `down_convert_integers` | two's complement of 2 to 16 bits, packed or not, real or complex; `x` is the integer |
//! | `down_convert_floats` | f16 or f32, real or complex |
//!
//! # A block
//! of 256 threads is eight warps of four neighbouring outputs each. A lane has four neighbouring numbers, every 128
//! (of complex samples two samples, every 64), of all four outputs, which share what it loads of the weights; the
//! lanes' sums are added in a fixed tree. The order of a sum is that of its taps alone, so outputs have the same bits
//! however a stream is cut.
//!
//! # Precision
//! A lane adds `n` fused products to each part of a sum: `n = 4 ceil(K / 128)` for real and `4 ceil(K / 64)` for
//! complex samples. With `u = 2^-24`, to first order,
//!
//! ```text
//! |y - y_reference| <= (n + 13) u sum_k |x_k| |h_k|            real samples
//!                      (sqrt(2) n + 13) u sum_k |x_k| |h_k|    complex ones
//! ```
//!
//! `n + 5` roundings of a lane's and the lanes' sums: they are relative to the products of parts, which have a norm of
//! up to `|x| |c|` for real `x` and `sqrt(2) |x| |c|` for complex. Weights rounded to f32: 1. The rotation: 2, its
//! phase of 32 bits 0.02, its products and their sum `2 sqrt(2)`. Without `n` that is 10.9 and 12.9. Decoding is exact.
//!
//! # Cost
//! A lane's turn of the loop is 261 instructions for 16 products of real packed integers with weights (sm_90a,
//! counted): 32 multiply-adds, the rest loads, their limits and decoding. That is 16.3 `K / S` a sample, 261 for 16
//! taps a sample of the decimation. An H200 issues 33.5e12 a second: 128 Gsamples/s of those at most.

mod convert;

use fringes_device::control::trap;
use fringes_device::{Global, GlobalMut};

use convert::{Arguments, Floats, Integers, Numbers};

/// Down-converts what fits, and traps where it does not.
#[inline(always)]
fn down_convert<N: Numbers>(arguments: Arguments) {
    if arguments.fit::<N>() {
        // SAFETY: the views hold what the sizes say.
        unsafe { arguments.run::<N>() }
    } else {
        trap()
    }
}

macro_rules! kernels {
    ($($name:ident $numbers:ty, $what:literal;)*) => {
        fringes_device::kernel! { $(
        #[doc = concat!("Samples of ", $what, ".")]
        ///
        /// Input `i`'s first window begins with bit `first_bit + i row_bits`; output `j` of it goes to
        /// `out[i out_row + j]`, and its phase is `phase + j turn`, in 2^-64 turns. A sample is `parts` numbers of
        /// `bits` bits; `little_endian` is 1 for integers of 16 bits that are.
        #[launch(threads(256))]
        pub fn $name(
            samples: Global<u32>,
            weights: Global<[f32; 2]>,
            out: GlobalMut<[f32; 2]>,
            first_bit: u64,
            row_bits: u64,
            bits: u32,
            parts: u32,
            little_endian: u32,
            taps: u32,
            decimation: u32,
            inputs: u32,
            outputs: u32,
            out_row: u64,
            turn: u64,
            phase: u64,
        ) {
            down_convert::<$numbers>(Arguments {
                samples, weights, out, first_bit, row_bits, bits, parts, little_endian, taps, decimation, inputs,
                outputs, out_row, turn, phase,
            })
        }
        )* }
    };
}

kernels! {
    down_convert_integers Integers, "2 to 16 bits";
    down_convert_floats Floats, "f16 or f32";
}
