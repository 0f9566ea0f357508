#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
//! Down-conversion with FP32 products: any format of samples, any taps, any decimation.
//!
//! ```text
//! y_j = g e^(2 pi i (f S j + b)) sum_{k < K} x[S j + k] c_k      c_k = h_k e^(2 pi i f k), S the decimation, g a gain
//! ```
//!
//! | kernel | samples |
//! |---|---|
//! | `down_convert_integers_` | two's complement of 2 to 16 bits, packed or not, real or complex; `x` is the integer |
//! | `down_convert_floats_` | f16 or f32, real or complex |
//!
//! and behind that the outputs: `f32`; `f16` within +-65504; `i16` within +-32767 and `i8` within +-127, rounded half
//! to even, NaN to 0. Values with a part that is clamped, or NaN, are counted, once each.
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
//! |y - y_reference| <= (n + 13) u |g| sum_k |x_k| |h_k|            real samples
//!                      (sqrt(2) n + 15) u |g| sum_k |x_k| |h_k|    complex ones
//! ```
//!
//! `n + 5` roundings of a lane's and the lanes' sums: they are relative to the products of parts, which have a norm of
//! up to `|x| |c|` for real `x` and `sqrt(2) |x| |c|` for complex. Weights rounded to f32: 1. The rotation: 2, its
//! phase of 32 bits 0.02, its products and their sum `2 sqrt(2)`. The gain rounded to f32 and its product: 2. Without
//! `n` that is 12.9 and 14.9. Decoding is exact. Integers and f16 are the nearest ones of such f32.
//!
//! # Cost
//! A lane's turn of the loop is 261 instructions for 16 products of real packed integers with weights (sm_90a,
//! counted): 32 multiply-adds, the rest loads, their limits and decoding. That is 16.3 `K / S` a sample, 261 for 16
//! taps a sample of the decimation. An H200 issues 33.5e12 a second: 128 Gsamples/s of those at most.

mod convert;
mod output;

use fringes_device::control::trap;
use fringes_device::{Global, GlobalMut};

use convert::{Arguments, Floats, Integers, Numbers};
use output::{F16, F32, I8, I16, Output};

/// Down-converts what fits, and traps where it does not.
#[inline(always)]
fn down_convert<N: Numbers, O: Output>(arguments: Arguments<O>) {
    if arguments.fit::<N>() {
        // SAFETY: the views hold what the sizes say.
        unsafe { arguments.run::<N>() }
    } else {
        trap()
    }
}

macro_rules! kernels {
    ($($name:ident $numbers:ty, $output:ty, $stored:ty, $what:literal;)*) => {
        fringes_device::kernel! { $(
        #[doc = concat!("Samples of ", $what, ".")]
        ///
        /// Input `i`'s first window begins with bit `first_bit + i row_bits`; output `j` of it goes to
        /// `out[i out_row + j]`, and its phase is `phase + j turn`, in 2^-64 turns. A sample is `parts` numbers of
        /// `bits` bits; `little_endian` is 1 for integers of 16 bits that are. The number of input `i`'s outputs that
        /// saturated is added to `saturated[i]`, if that has values, but for those whose flag
        /// `present[i present_row + j]` is 0, if there are flags.
        #[launch(threads(256))]
        pub fn $name(
            samples: Global<u32>,
            weights: Global<[f32; 2]>,
            out: GlobalMut<$stored>,
            present: Global<u8>,
            saturated: GlobalMut<u64>,
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
            present_row: u64,
            turn: u64,
            phase: u64,
            gain: f32,
        ) {
            down_convert::<$numbers, $output>(Arguments {
                samples, weights, out, present, saturated, first_bit, row_bits, bits, parts, little_endian, taps,
                decimation, inputs, outputs, out_row, present_row, turn, phase, gain,
            })
        }
        )* }
    };
}

kernels! {
    down_convert_integers_f32 Integers, F32, [f32; 2], "2 to 16 bits to f32";
    down_convert_integers_f16 Integers, F16, u32, "2 to 16 bits to f16";
    down_convert_integers_i16 Integers, I16, u32, "2 to 16 bits to integers of 16 bits";
    down_convert_integers_i8 Integers, I8, u16, "2 to 16 bits to bytes";
    down_convert_floats_f32 Floats, F32, [f32; 2], "f16 or f32 to f32";
    down_convert_floats_f16 Floats, F16, u32, "f16 or f32 to f16";
    down_convert_floats_i16 Floats, I16, u32, "f16 or f32 to integers of 16 bits";
    down_convert_floats_i8 Floats, I8, u16, "f16 or f32 to bytes";
}
