//! Cases of products of matrices.
//!
//! The input is `A` by rows, `B` by columns, `C` by rows, each row or column of `A` and `B` in words of several
//! elements; the output is `D` by rows. So the kernels show the layout of fragments as well.

use fringes_device::index::laneid;
use fringes_device::mma::*;
use fringes_device::{Global, GlobalMut};

#[cfg(not(target_arch = "nvptx64"))]
use crate::Random;
#[cfg(not(target_arch = "nvptx64"))]
use crate::products::*;

/// A lane's registers of `A` and `B`.
///
/// # Safety
/// The input is a case's of this module; one warp.
#[inline(always)]
unsafe fn factors<const A: usize, const B: usize>(input: Global<u32>) -> ([u32; A], [u32; B]) {
    let (g, t, row) = (laneid() as usize / 4, laneid() as usize % 4, 4 * B);
    (
        core::array::from_fn(|r| input.load((g + 8 * (r % 2)) * row + t + 4 * (r / 2))),
        core::array::from_fn(|r| input.load((16 + g) * row + t + 4 * r)),
    )
}

/// Where a lane's register of `C` and `D` lies, of words of one element.
#[inline(always)]
fn wide(r: usize) -> usize {
    let (g, t) = (laneid() as usize / 4, laneid() as usize % 4);
    (g + 8 * (r / 2)) * 8 + 2 * t + r % 2
}

/// A lane's registers of `C`, in words of one element.
///
/// # Safety
/// The input is a case's of this module with `row` words in a row of `A`; one warp.
#[inline(always)]
unsafe fn sums(input: Global<u32>, row: usize) -> [u32; 4] {
    core::array::from_fn(|r| input.load(24 * row + wide(r)))
}

/// Stores a lane's registers of `D`, in words of one element.
///
/// # Safety
/// The output is a case's of this module; one warp.
#[inline(always)]
unsafe fn store(output: GlobalMut<u32>, d: [u32; 4]) {
    output.store(wide(0), d[0]);
    output.store(wide(1), d[1]);
    output.store(wide(2), d[2]);
    output.store(wide(3), d[3]);
}

/// Declares the cases: kernel, intrinsic, registers of `A` and `B`; of floating-point ones the generator of factors and
/// the judgement.
macro_rules! products {
    (integers { $($exact:ident, $integer:ident, $ia:literal $ib:literal;)* } floats { $($bound:ident, $float:ident, $fa:literal $fb:literal, $generator:ident, $formula:ident, $holds:ident;)* }
     halves { $($packed:ident, $half:ident, $ha:literal $hb:literal, $half_formula:ident, $half_holds:ident;)* }) => { kernels! {
        $(
            /// Exact product of integers.
            #[threads(32)]
            fn $exact(input, output) covers [$integer] with |case| case.input(|random| random.words(96 * $ib + 128)).output(128) => {
                let (a, b) = factors::<$ia, $ib>(input);
                let c = sums(input, 4 * $ib).map(|c| c as i32);
                store(output, $integer(a, b, c).map(|d| d as u32));
            }
        )*
        $(
            /// Product with f32 accumulators.
            #[threads(32)]
            fn $bound(input, output) covers [$float] with |case| case.input(|random| $generator(random, 96 * $fb)).output(128).within($formula, $holds) => {
                let (a, b) = factors::<$fa, $fb>(input);
                let c = sums(input, 4 * $fb).map(f32::from_bits);
                store(output, $float(a, b, c).map(f32::to_bits));
            }
        )*
        $(
            /// Product with f16 accumulators.
            #[threads(32)]
            fn $packed(input, output) covers [$half] with |case| case.input(|random| halves(random, 96 * $hb, 64)).output(64).within($half_formula, $half_holds) => {
                let (a, b) = factors::<$ha, $hb>(input);
                let lane = laneid() as usize;
                let d = $half(a, b, [input.load(96 * $hb + lane), input.load(96 * $hb + 32 + lane)]);
                output.store(lane, d[0]);
                output.store(32 + lane, d[1]);
            }
        )*
    } };
}

/// `factors` words of pairs of halves and `sums` of the same.
#[cfg(not(target_arch = "nvptx64"))]
fn halves(random: &mut Random, factors: usize, sums: usize) -> Vec<u32> {
    let word = if random.below(4) == 0 { Random::half2 } else { Random::half2_finite };
    random.many(factors + sums, word)
}

/// Words of pairs of f16 and 128 of f32.
#[cfg(not(target_arch = "nvptx64"))]
fn f16_and_f32(random: &mut Random, factors: usize) -> Vec<u32> {
    mixed(random, factors, Random::half2, Random::half2_finite)
}

/// Words of pairs of bf16 and 128 of f32.
#[cfg(not(target_arch = "nvptx64"))]
fn bf16_and_f32(random: &mut Random, factors: usize) -> Vec<u32> {
    mixed(random, factors, Random::bfloat2, Random::bfloat2_finite)
}

/// Words of f32, all bits of them, and 128 of f32.
#[cfg(not(target_arch = "nvptx64"))]
fn tf32_and_f32(random: &mut Random, factors: usize) -> Vec<u32> {
    mixed(random, factors, Random::float, Random::finite)
}

/// Factors and f32 sums: of everyday size, or (one round in four) anything; sometimes all sums zero.
#[cfg(not(target_arch = "nvptx64"))]
fn mixed(random: &mut Random, factors: usize, any: fn(&mut Random) -> u32, finite: fn(&mut Random) -> u32) -> Vec<u32> {
    let kind = random.below(4);
    let mut words = random.many(factors, if kind == 0 { any } else { finite });
    words.extend(match kind {
        0 => random.many(128, Random::float),
        1 => vec![0; 128],
        _ => random.many(128, Random::finite),
    });
    words
}

products! {
    integers {
        product_s8_k16, mma_m16n8k16_s32_s8, 2 1;
        product_s8_k32, mma_m16n8k32_s32_s8, 4 2;
        product_u8_k16, mma_m16n8k16_s32_u8, 2 1;
        product_u8_k32, mma_m16n8k32_s32_u8, 4 2;
        product_s4_k32, mma_m16n8k32_s32_s4, 2 1;
        product_s4_k64, mma_m16n8k64_s32_s4, 4 2;
    }
    floats {
        product_f16_k8, mma_m16n8k8_f32_f16, 2 1, f16_and_f32, BOUND, f16_within;
        product_f16_k16, mma_m16n8k16_f32_f16, 4 2, f16_and_f32, BOUND, f16_within;
        product_bf16_k8, mma_m16n8k8_f32_bf16, 2 1, bf16_and_f32, BOUND, bf16_within;
        product_bf16_k16, mma_m16n8k16_f32_bf16, 4 2, bf16_and_f32, BOUND, bf16_within;
        product_tf32_k4, mma_m16n8k4_f32_tf32, 2 1, tf32_and_f32, BOUND, tf32_within;
        product_tf32_k8, mma_m16n8k8_f32_tf32, 4 2, tf32_and_f32, BOUND, tf32_within;
        product_f16_k8_bits, mma_m16n8k8_f32_f16, 2 1, f16_and_f32, MODEL, f16_modelled;
        product_f16_k16_bits, mma_m16n8k16_f32_f16, 4 2, f16_and_f32, MODEL, f16_modelled;
        product_bf16_k8_bits, mma_m16n8k8_f32_bf16, 2 1, bf16_and_f32, MODEL, bf16_modelled;
        product_bf16_k16_bits, mma_m16n8k16_f32_bf16, 4 2, bf16_and_f32, MODEL, bf16_modelled;
        product_tf32_k4_bits, mma_m16n8k4_f32_tf32, 2 1, tf32_and_f32, MODEL, tf32_modelled;
        product_tf32_k8_bits, mma_m16n8k8_f32_tf32, 4 2, tf32_and_f32, MODEL, tf32_modelled;
    }
    halves {
        product_half_k8, mma_m16n8k8_f16_f16, 2 1, BOUND, half_within;
        product_half_k16, mma_m16n8k16_f16_f16, 4 2, BOUND, half_within;
        product_half_k8_bits, mma_m16n8k8_f16_f16, 2 1, MODEL, half_modelled;
        product_half_k16_bits, mma_m16n8k16_f16_f16, 4 2, MODEL, half_modelled;
    }
}
