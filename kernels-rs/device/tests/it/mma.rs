//! Twins of `mma.sync` against plain products of matrices, and the model of sums against what is published of the
//! hardware.

use crate::common;

use common::{Random, warp};
use fringes_device::mma::*;
use fringes_device::tensor_core::{AMPERE, Accumulator, COLUMNS, Factor, HOPPER, ROWS, dot, error_bound, products};
use half::{bf16, f16};

/// Three matrices of small integers: `A` (16 x k), `B` (k x 8), `C` (16 x 8), by rows.
struct Matrices {
    k: usize,
    a: Vec<i32>,
    b: Vec<i32>,
    c: Vec<i32>,
}

impl Matrices {
    /// Elements of `A` and `B` in `lowest..=highest`.
    fn new(k: usize, lowest: i32, highest: i32, sums: u32) -> Self {
        let mut random = Random(k as u64);
        let mut many = |count: usize, lowest: i32, span: u32| {
            (0..count).map(|_| lowest.wrapping_add(random.below(span) as i32)).collect()
        };
        let span = (highest - lowest + 1) as u32;
        let (a, b) = (many(16 * k, lowest, span), many(8 * k, lowest, span));
        let c = many(128, -((sums / 2) as i32), sums);
        Self { k, a, b, c }
    }

    /// Element of `C + A B`.
    fn product(&self, row: usize, column: usize) -> i32 {
        let terms = (0..self.k).map(|k| self.a[row * self.k + k].wrapping_mul(self.b[8 * k + column]));
        terms.fold(self.c[8 * row + column], i32::wrapping_add)
    }

    /// A lane's registers of `A`, from the bits of an element.
    fn a<const R: usize>(&self, lane: usize, width: usize, bits: fn(i32) -> u32) -> [u32; R] {
        let n = 32 / width;
        core::array::from_fn(|r| {
            let (row, column) = (lane / 4 + 8 * (r % 2), n * (lane % 4) + 4 * n * (r / 2));
            packed(width, (0..n).map(|e| bits(self.a[row * self.k + column + e])))
        })
    }

    /// A lane's registers of `B`.
    fn b<const R: usize>(&self, lane: usize, width: usize, bits: fn(i32) -> u32) -> [u32; R] {
        let n = 32 / width;
        core::array::from_fn(|r| {
            let (row, column) = (n * (lane % 4) + 4 * n * r, lane / 4);
            packed(width, (0..n).map(|e| bits(self.b[8 * (row + e) + column])))
        })
    }

    /// A lane's elements of `C`.
    fn c(&self, lane: usize) -> [i32; 4] {
        place(lane).map(|(row, column)| self.c[8 * row + column])
    }

    /// A lane's elements of `D`.
    fn d(&self, lane: usize) -> [i32; 4] {
        place(lane).map(|(row, column)| self.product(row, column))
    }
}

/// Rows and columns of a lane's four elements of `C` and `D`.
fn place(lane: usize) -> [(usize, usize); 4] {
    let (row, column) = (lane / 4, 2 * (lane % 4));
    [(row, column), (row, column + 1), (row + 8, column), (row + 8, column + 1)]
}

/// Elements in a word, the first in the lowest bits.
fn packed(width: usize, elements: impl Iterator<Item = u32>) -> u32 {
    let mask = u32::MAX >> (32 - width);
    elements.enumerate().fold(0, |word, (e, bits)| word | (bits & mask) << (width * e))
}

macro_rules! integer_products {
    ($($test:ident, $intrinsic:ident, $width:literal, $k:literal, $lowest:literal, $highest:literal;)*) => { $(
        #[test]
        fn $test() {
            let matrices = Matrices::new($k, $lowest, $highest, u32::MAX);
            let bits = |x: i32| x as u32;
            // SAFETY: all lanes execute it together.
            let results = warp(0, |lane| unsafe { $intrinsic(matrices.a(lane, $width, bits), matrices.b(lane, $width, bits), matrices.c(lane)) });
            for (lane, result) in results.into_iter().enumerate() {
                assert_eq!(result, matrices.d(lane), "lane {lane}");
            }
        }
    )* };
}

integer_products! {
    s8_k16_is_the_product, mma_m16n8k16_s32_s8, 8, 16, -128, 127;
    s8_k32_is_the_product, mma_m16n8k32_s32_s8, 8, 32, -128, 127;
    u8_k16_is_the_product, mma_m16n8k16_s32_u8, 8, 16, 0, 255;
    u8_k32_is_the_product, mma_m16n8k32_s32_u8, 8, 32, 0, 255;
    s4_k32_is_the_product, mma_m16n8k32_s32_s4, 4, 32, -8, 7;
    s4_k64_is_the_product, mma_m16n8k64_s32_s4, 4, 64, -8, 7;
}

macro_rules! float_products {
    ($($test:ident, $intrinsic:ident, $width:literal, $k:literal, $bits:expr;)*) => { $(
        #[test]
        fn $test() {
            // Every sum is a whole number that f32 holds.
            let matrices = Matrices::new($k, -100, 100, 2000);
            // SAFETY: all lanes execute it together.
            let results = warp(0, |lane| unsafe { $intrinsic(matrices.a(lane, $width, $bits), matrices.b(lane, $width, $bits), matrices.c(lane).map(|c| c as f32)) });
            for (lane, result) in results.into_iter().enumerate() {
                assert_eq!(result, matrices.d(lane).map(|d| d as f32), "lane {lane}");
            }
        }
    )* };
}

float_products! {
    f16_k8_is_the_product_where_it_is_exact, mma_m16n8k8_f32_f16, 16, 8, |x| f16::from_f32(x as f32).to_bits().into();
    f16_k16_is_the_product_where_it_is_exact, mma_m16n8k16_f32_f16, 16, 16, |x| f16::from_f32(x as f32).to_bits().into();
    bf16_k8_is_the_product_where_it_is_exact, mma_m16n8k8_f32_bf16, 16, 8, |x| bf16::from_f32(x as f32).to_bits().into();
    bf16_k16_is_the_product_where_it_is_exact, mma_m16n8k16_f32_bf16, 16, 16, |x| bf16::from_f32(x as f32).to_bits().into();
    tf32_k4_is_the_product_where_it_is_exact, mma_m16n8k4_f32_tf32, 32, 4, |x| (x as f32).to_bits() | 0x1fff;
    tf32_k8_is_the_product_where_it_is_exact, mma_m16n8k8_f32_tf32, 32, 8, |x| (x as f32).to_bits() | 0x1fff;
}

macro_rules! half_products {
    ($($test:ident, $intrinsic:ident, $k:literal;)*) => { $(
        #[test]
        fn $test() {
            // Every sum is a whole number up to 2048 in magnitude.
            let matrices = Matrices::new($k, -9, 9, 1000);
            let bits = |x: i32| u32::from(f16::from_f32(x as f32).to_bits());
            let pairs = |c: [i32; 4]| [bits(c[0]) | bits(c[1]) << 16, bits(c[2]) | bits(c[3]) << 16];
            // SAFETY: all lanes execute it together.
            let results = warp(0, |lane| unsafe { $intrinsic(matrices.a(lane, 16, bits), matrices.b(lane, 16, bits), pairs(matrices.c(lane))) });
            for (lane, result) in results.into_iter().enumerate() {
                assert_eq!(result, pairs(matrices.d(lane)), "lane {lane}");
            }
        }
    )* };
}

half_products! {
    half_k8_is_the_product_where_it_is_exact, mma_m16n8k8_f16_f16, 8;
    half_k16_is_the_product_where_it_is_exact, mma_m16n8k16_f16_f16, 16;
}

/// `dot` of f16 factors given as numbers.
fn sum(architecture: fringes_device::tensor_core::Architecture, a: &[f32], b: &[f32], c: f32) -> f32 {
    let bits = |x: &[f32]| -> Vec<u32> { x.iter().map(|&x| f16::from_f32(x).to_bits().into()).collect() };
    f32::from_bits(dot(architecture, Factor::F16, Accumulator::F32, &bits(a), &bits(b), c.to_bits()))
}

#[test]
fn terms_are_cut_below_the_last_place_that_is_kept() {
    let ones = |count: usize| vec![1.0; count];
    for (architecture, extra) in [(AMPERE, 1), (HOPPER, 2)] {
        // Two terms of half a unit in the last place of 1 make one unit; those below the extra bits are lost, however
        // many they are.
        let half_place = 2f32.powi(-24);
        assert_eq!(sum(architecture, &[half_place, half_place], &ones(2), 1.0), 1.0 + f32::EPSILON);
        // Eight of the last place that is kept count; of the place below it none does.
        let kept = vec![2f32.powi(-12); 8];
        let factor = vec![2f32.powi(-12 - extra + 1); 8];
        assert_eq!(sum(architecture, &kept, &factor, 1.0), 1.0 + if extra == 1 { 8.0 } else { 4.0 } * half_place);
        let lost = vec![2f32.powi(-12 - extra); 8];
        assert_eq!(sum(architecture, &kept, &lost, 1.0), 1.0);
        // Cut, not rounded: on both sides of zero towards it.
        assert_eq!(sum(architecture, &[half_place], &[1.0], 1.0), 1.0);
        assert_eq!(sum(architecture, &[-half_place], &[1.0], -1.0), -1.0);
    }
}

#[test]
fn steps_have_the_lengths_of_the_architecture() {
    // A great term in the second half hides small ones of its own step only.
    let mut a = vec![2f32.powi(-14); 16];
    a[15] = 1.0;
    let b: Vec<f32> = (0..16).map(|i| if i == 15 { 1.0 } else { 2f32.powi(-12) }).collect();
    let small = 2f32.powi(-26);
    assert_eq!(sum(HOPPER, &a, &b, 0.0), 1.0);
    // Eight of 2^-26 are 2^-23, which is kept.
    assert_eq!(sum(AMPERE, &a, &b, 0.0), 1.0 + 8.0 * small);
}

#[test]
fn sums_with_infinities_and_nan() {
    let inf = f32::INFINITY;
    assert_eq!(sum(HOPPER, &[inf], &[2.0], 1.0), inf);
    assert_eq!(sum(HOPPER, &[inf], &[-2.0], 1.0), -inf);
    assert_eq!(sum(HOPPER, &[inf], &[0.0], 1.0).to_bits(), 0x7fff_ffff);
    assert_eq!(sum(HOPPER, &[inf, inf], &[1.0, -1.0], 1.0).to_bits(), 0x7fff_ffff);
    assert_eq!(sum(HOPPER, &[inf], &[1.0], -inf).to_bits(), 0x7fff_ffff);
    assert_eq!(sum(HOPPER, &[1.0], &[1.0], f32::NAN).to_bits(), 0x7fff_ffff);
    assert_eq!(sum(HOPPER, &[60000.0; 2], &[60000.0; 2], f32::MAX), f32::MAX);
}

#[test]
fn products_of_matrices_are_those_of_each_row_and_column() {
    let mut random = Random(31);
    for round in 0..400 {
        let (architecture, k) = ([AMPERE, HOPPER][round % 2], [4, 8, 16][round / 2 % 3]);
        for factor in [Factor::F16, Factor::BF16, Factor::TF32] {
            for accumulator in [Accumulator::F32, Accumulator::F16] {
                // Numbers of a few exponents, of all, with zeros and subnormals, and now and then infinities and NaN.
                let few = round % 5 < 3;
                let mut bits = |wide: bool, significand: u32, exponents: u32, middle: u32| {
                    let exponent = match random.below(24) {
                        0 => 0,
                        1 if round % 7 == 0 && random.below(40) == 0 => exponents,
                        _ if few => middle - 4 + random.below(9),
                        _ => random.below(exponents),
                    };
                    let fraction = if random.below(8) == 0 { 0 } else { random.word() & ((1 << significand) - 1) };
                    let word = (random.word() & 1) << if wide { 31 } else { 15 } | exponent << significand | fraction;
                    if random.below(16) == 0 { 0 } else { word }
                };
                let mut factors = |n: usize| -> Vec<u32> {
                    let of = |bits: &mut dyn FnMut(bool, u32, u32, u32) -> u32| match factor {
                        Factor::F16 => bits(false, 10, 31, 15),
                        Factor::BF16 => bits(false, 7, 255, 127),
                        Factor::TF32 => bits(true, 23, 255, 127),
                    };
                    (0..n).map(|_| of(&mut bits)).collect()
                };
                let (a, b) = (factors(ROWS * k), factors(COLUMNS * k));
                let c: [u32; ROWS * COLUMNS] = std::array::from_fn(|_| match accumulator {
                    Accumulator::F32 => bits(true, 23, 255, 127),
                    Accumulator::F16 => bits(false, 10, 31, 15),
                });
                let found = products(architecture, factor, accumulator, &a, &b, &c);
                for (i, (&found, &c)) in found.iter().zip(&c).enumerate() {
                    let (a, b) = (&a[i / COLUMNS * k..][..k], &b[i % COLUMNS * k..][..k]);
                    let expected = dot(architecture, factor, accumulator, a, b, c);
                    assert_eq!(found, expected, "{factor:?} {accumulator:?}, {k} terms: {a:x?} {b:x?} {c:x}");
                }
            }
        }
    }
}

#[test]
fn sums_lie_within_the_bound() {
    let mut random = Random(12);
    let mut worst = 0.0f64;
    for architecture in [AMPERE, HOPPER] {
        for _ in 0..20_000 {
            let mut half = || (random.word() & 0x83ff | (8 + random.below(14)) << 10) as u16;
            let (a, b): (Vec<_>, Vec<_>) = (0..16).map(|_| (u32::from(half()), u32::from(half()))).unzip();
            let c = f16::from_bits(half()).to_f32();
            let products = || a.iter().zip(&b).map(|(&a, &b)| Factor::F16.value(a) * Factor::F16.value(b));
            // Exact in f64: multiples of 2^-40 below 2^20.
            let exact = f64::from(c) + products().sum::<f64>();
            let magnitude = f64::from(c.abs()) + products().map(f64::abs).sum::<f64>();
            for (accumulator, c) in
                [(Accumulator::F32, c.to_bits()), (Accumulator::F16, f16::from_f32(c).to_bits().into())]
            {
                let d = accumulator.value(dot(architecture, Factor::F16, accumulator, &a, &b, c));
                let bound = error_bound(accumulator, 16, magnitude);
                if accumulator == Accumulator::F16 && magnitude + bound >= 65504.0 {
                    continue;
                }
                assert!((d - exact).abs() <= bound, "{d} for {exact}, bound {bound}");
                worst = worst.max((d - exact).abs() / bound);
            }
        }
    }
    // The bound is no looser than it has to be for its claim about any hardware.
    assert!(worst > 0.02, "worst {worst}");
}
