//! A model of how tensor cores add floating-point products, for the twins of `mma.sync`.
//!
//! The K products of an element of `D` and the accumulator are added in steps of a few products. In a step
//! - products are exact, and their exponent is the sum of the factors' exponents, not normalised;
//! - all terms are aligned to the greatest exponent among those that are not zero, and cut (towards zero) to 23 bits
//!   and some extra bits after the point;
//! - their sum is exact, and becomes the accumulator of the next step, cut to f32, or rounded to nearest even to f16.
//!
//! [`Architecture`] holds the numbers, which published measurements of such units give:
//! <https://arxiv.org/abs/2512.07004> and <https://doi.org/10.7717/peerj-cs.330>.
//!
//! # Precision
//! Whichever numbers hold, so long as a step has 4 products or more and no extra bit less than none, with
//! `S = |c| + sum |a b|` the result differs from the exact sum by at most [`error_bound`]: in each step of n products
//! each of n + 1 terms loses less than `2^-23` of the greatest power of two among them (at most `S`), and the result
//! less than `2^-23` of itself.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod products;

use crate::float::{BF16, F16, F32, Format, Rounding, TF32, power_of_two};

pub use products::{COLUMNS, ROWS, products};

/// Numbers of an architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Architecture {
    /// f16 and bf16 products in a step.
    pub half_terms: usize,
    /// tf32 products in a step.
    pub tf32_terms: usize,
    /// Bits after the 23 of f32 that aligned terms keep.
    pub extra_bits: u32,
}

/// sm_80, sm_86, sm_89.
pub const AMPERE: Architecture = Architecture { half_terms: 8, tf32_terms: 4, extra_bits: 1 };
/// sm_90.
pub const HOPPER: Architecture = Architecture { half_terms: 16, tf32_terms: 8, extra_bits: 2 };
/// What the twins of `mma.sync` compute.
pub const TWIN: Architecture = HOPPER;

/// Type of the factors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Factor {
    /// IEEE binary16.
    F16,
    /// bfloat16.
    BF16,
    /// The high 19 bits of a binary32; the others are ignored.
    TF32,
}

/// Type of `C` and `D`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accumulator {
    /// IEEE binary32.
    F32,
    /// IEEE binary16.
    F16,
}

impl Factor {
    fn format(self) -> Format {
        match self {
            Self::F16 => F16,
            Self::BF16 => BF16,
            Self::TF32 => TF32,
        }
    }

    #[inline]
    fn bits(self, bits: u32) -> u32 {
        if self == Self::TF32 { bits >> 13 } else { bits }
    }

    /// Value of a factor, exactly.
    pub fn value(self, bits: u32) -> f64 {
        self.format().value(self.bits(bits))
    }
}

impl Accumulator {
    fn format(self) -> Format {
        match self {
            Self::F32 => F32,
            Self::F16 => F16,
        }
    }

    /// Value of an accumulator, exactly.
    pub fn value(self, bits: u32) -> f64 {
        self.format().value(bits)
    }

    /// The accumulator that a step's sum becomes.
    fn round(self, sum: f64) -> u32 {
        match self {
            Self::F32 if sum.is_finite() && sum.abs() >= 2f64.powi(128) => {
                F32.round(sum.signum() * f64::INFINITY, Rounding::Zero)
            }
            // A sum that is cut to zero has no sign.
            Self::F32 => match F32.round(sum, Rounding::Zero) {
                0x8000_0000 => 0,
                bits => bits,
            },
            Self::F16 => F16.round(sum, Rounding::NearestEven),
        }
    }
}

/// Most products of a step.
const MOST: usize = 16;

/// A finite term: `significand 2^(exponent - fraction)`.
#[derive(Clone, Copy)]
struct Term {
    negative: bool,
    /// [`NONE`] of zero, which counts for nothing.
    exponent: i32,
    significand: u64,
    fraction: u32,
}

/// Exponent of zero.
const NONE: i32 = i32::MIN / 4;

const ZERO: Term = Term { negative: false, exponent: NONE, significand: 0, fraction: 0 };

impl Term {
    #[inline(always)]
    fn of(format: Format, bits: u32) -> Self {
        let (exponent, significand) = format.parts(bits);
        Self {
            negative: format.is_negative(bits),
            exponent: if significand == 0 { NONE } else { exponent },
            significand: significand.into(),
            fraction: format.significand,
        }
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        let significand = self.significand * other.significand;
        Self {
            negative: self.negative != other.negative,
            exponent: if significand == 0 { NONE } else { self.exponent + other.exponent },
            significand,
            fraction: self.fraction + other.fraction,
        }
    }

    /// In units of the last place that is kept of terms whose greatest exponent is `greatest`, cut.
    #[inline(always)]
    fn aligned(self, greatest: i32, kept: u32) -> i64 {
        let right = self.fraction as i32 + (greatest - self.exponent) - kept as i32;
        let aligned = (if right < 0 { self.significand << -right } else { self.significand >> right.min(63) }) as i64;
        if self.negative { -aligned } else { aligned }
    }
}

/// `c + sum a b` as the architecture computes it; operands and result as bits.
///
/// # Panics
/// If a step of the architecture has more than 16 products.
#[inline]
pub fn dot(architecture: Architecture, factor: Factor, accumulator: Accumulator, a: &[u32], b: &[u32], c: u32) -> u32 {
    let terms = if factor == Factor::TF32 { architecture.tf32_terms } else { architecture.half_terms };
    a.chunks(terms)
        .zip(b.chunks(terms))
        .fold(c, |c, (a, b)| accumulator.round(step(architecture.extra_bits, factor, accumulator, a, b, c)))
}

/// The sum of one step.
#[inline(always)]
fn step(extra_bits: u32, factor: Factor, accumulator: Accumulator, a: &[u32], b: &[u32], c: u32) -> f64 {
    let (format, of_sum) = (factor.format(), accumulator.format());
    let is_finite = |bits: &u32| format.is_finite(factor.bits(*bits));
    if !(a.iter().all(is_finite) && b.iter().all(is_finite) && of_sum.is_finite(c)) {
        let products = a.iter().zip(b).map(|(&a, &b)| factor.value(a) * factor.value(b));
        return products.chain([accumulator.value(c)]).sum();
    }
    let c = Term::of(of_sum, c);
    let (mut products, mut greatest) = ([ZERO; MOST], c.exponent);
    let products = &mut products[..a.len()];
    for ((product, &a), &b) in products.iter_mut().zip(a).zip(b) {
        *product = Term::of(format, factor.bits(a)).times(Term::of(format, factor.bits(b)));
        greatest = greatest.max(product.exponent);
    }
    if greatest == NONE {
        return 0.0;
    }
    let kept = 23 + extra_bits;
    let sum = products.iter().fold(c.aligned(greatest, kept), |sum, term| sum + term.aligned(greatest, kept));
    sum as f64 * power_of_two(greatest - kept as i32)
}

/// Greatest difference from the exact sum of `k` products and an accumulator, `magnitude` the sum of their absolute
/// values (see the [module](self)).
pub fn error_bound(accumulator: Accumulator, k: usize, magnitude: f64) -> f64 {
    // Partial sums stay below `magnitude` times 1 + 1.5 k 2^-23; the factor 2 covers that and the rounding of the bound
    // itself.
    let sums = 2.0 * 1.5 * k.max(4) as f64 * 2f64.powi(-23) * magnitude;
    match accumulator {
        // The least subnormals, where cut results end.
        Accumulator::F32 => sums + 2f64.powi(-149),
        // One rounding to f16 for every step of 4 products or more.
        Accumulator::F16 => sums + k.div_ceil(4) as f64 * (2f64.powi(-10) * magnitude + 2f64.powi(-24)),
    }
}
