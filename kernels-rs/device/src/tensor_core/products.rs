//! Products of matrices by the model: the same bits as [`dot`] of each row and column, all of them at once.
//!
//! Terms are f64, which products of two factors are exactly, and their exponents lie beside them. A sum of a step is
//! that of terms as multiples of the last place that is kept, cut to integers.

#[cfg(target_arch = "x86_64")]
use super::avx2;
use super::{Accumulator, Architecture, Factor, MOST, dot};

/// Rows of `A` and columns of `B` of [`products`].
pub const ROWS: usize = 16;
/// Columns of `B`.
pub const COLUMNS: usize = 8;

/// Elements of `C` or `D`, `[row][column]`.
type Elements = [u32; ROWS * COLUMNS];

/// Exponent of a number that is zero: with any other one below [`NOTHING`].
const LEAST: i16 = -8192;
/// Products of a lesser exponent are zero.
pub(super) const NOTHING: i16 = -4096;

/// Most bits after the point of terms that are summed: 16 of them have room in 32 bits.
const MOST_KEPT: u32 = 25;

/// Numbers, and their exponents ([`LEAST`] of zero).
#[derive(Clone, Copy)]
pub(super) struct Numbers<const N: usize> {
    pub(super) values: [f64; N],
    pub(super) exponents: [i16; N],
}

impl<const N: usize> Numbers<N> {
    const NONE: Self = Self { values: [0.0; N], exponents: [LEAST; N] };

    /// Finite numbers of a format with `E` bits of the exponent and `S` of the significand, in a loop without a branch.
    #[inline(always)]
    fn of<const E: u32, const S: u32>(bits: &[u32; N]) -> Self {
        let mut all = Self::NONE;
        for ((value, to), bits) in all.values.iter_mut().zip(&mut all.exponents).zip(bits) {
            let (sign, fraction) = (bits >> (E + S) & 1, bits & ((1 << S) - 1));
            let biased = bits >> S & ((1 << E) - 1);
            let significand = fraction | u32::from(biased != 0) << S;
            let exponent = (biased.max(1) as i32).wrapping_sub((1 << (E - 1)) - 1);
            let signed = (significand as i32 ^ (sign as i32).wrapping_neg()).wrapping_add(sign as i32);
            *value = f64::from(signed) * power(exponent.wrapping_sub(S as i32));
            *to = if significand == 0 { LEAST } else { exponent as i16 };
        }
        all
    }
}

/// `2^exponent`, without a look at the exponent.
#[inline(always)]
fn power(exponent: i32) -> f64 {
    f64::from_bits(u64::from(exponent.wrapping_add(1023) as u32) << 52)
}

/// What a step adds to a row of accumulators `[column]`.
pub(super) struct Step<'a> {
    /// Factors of the row.
    pub(super) row: &'a Numbers<MOST>,
    /// Those of all columns, term by term.
    pub(super) columns: &'a [Numbers<COLUMNS>; MOST],
    /// The accumulators.
    pub(super) c: &'a Numbers<COLUMNS>,
    /// Bits after the point that are kept.
    pub(super) kept: i32,
}

/// How the sums of a step are made.
trait Sums: Copy {
    fn sums(self, step: Step<'_>) -> [f64; COLUMNS];
}

/// By any processor.
#[derive(Clone, Copy)]
struct Portable;

impl Sums for Portable {
    #[inline(always)]
    fn sums(self, Step { row, columns, c, kept }: Step<'_>) -> [f64; COLUMNS] {
        std::array::from_fn(|column| {
            let mut greatest = c.exponents[column];
            for (a, b) in row.exponents.iter().zip(columns) {
                greatest = greatest.max(a.wrapping_add(b.exponents[column]));
            }
            // Where all terms are zero any power of two does.
            let greatest = if greatest < NOTHING { 0 } else { i32::from(greatest) };
            let unit = power(kept.wrapping_sub(greatest));
            let mut sum = (c.values[column] * unit) as i64;
            for (a, b) in row.values.iter().zip(columns) {
                sum = sum.wrapping_add((a * b.values[column] * unit) as i64);
            }
            sum as f64 * power(greatest.wrapping_sub(kept))
        })
    }
}

/// By processors with registers of 256 bits.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Sums for Avx2 {
    #[inline(always)]
    fn sums(self, step: Step<'_>) -> [f64; COLUMNS] {
        // SAFETY: used by `one_step_avx2` alone.
        unsafe { avx2::sums(step) }
    }
}

/// f32 cut off, or `None` if one is neither a normal number nor zero.
#[inline(always)]
fn cut_to_f32(totals: &[f64; COLUMNS]) -> Option<[u32; COLUMNS]> {
    let (mut cut, mut others) = ([0; COLUMNS], false);
    for (cut, total) in cut.iter_mut().zip(totals) {
        let bits = total.to_bits();
        others |= (bits != 0) & ((bits >> 52 & 0x7ff).wrapping_sub(897) > 1150 - 897);
        // A normal f32 is the f64 without its last bits.
        *cut = (f64::from_bits(bits & !((1 << 29) - 1)) as f32).to_bits();
    }
    (!others).then_some(cut)
}

/// f16 rounded to nearest even, or `None` if one is neither a normal number nor zero.
#[inline(always)]
fn round_to_f16(totals: &[f64; COLUMNS]) -> Option<[u32; COLUMNS]> {
    let (mut rounded, mut others) = ([0; COLUMNS], false);
    for (rounded, total) in rounded.iter_mut().zip(totals) {
        let bits = total.to_bits();
        let up = bits.wrapping_add((1 << 41) - 1).wrapping_add(bits >> 42 & 1) >> 42;
        let exponent = (up >> 10 & 0x7ff) as u32;
        // Exponents -14 to 15, the least one before it is rounded too.
        others |= (bits != 0) & ((exponent.wrapping_sub(1009) > 1038 - 1009) | ((bits >> 52 & 0x7ff) < 1009));
        let magnitude = exponent.wrapping_sub(1008) << 10 | (up & 0x3ff) as u32;
        *rounded = if bits == 0 { 0 } else { magnitude | ((bits >> 63) as u32) << 15 };
    }
    (!others).then_some(rounded)
}

/// [`products`] of finite numbers in one step, of factors with `E` and `S` bits behind which `D` are not looked at.
#[inline(always)]
fn one_step<const E: u32, const S: u32, const D: u32>(
    sums: impl Sums,
    accumulator: Accumulator,
    kept: u32,
    a: &[u32],
    b: &[u32],
    d: &mut Elements,
) {
    let k = a.len() / ROWS;
    let mut terms = [[0; COLUMNS]; MOST];
    for (column, b) in b.chunks_exact(k).enumerate() {
        for (term, b) in terms.iter_mut().zip(b) {
            term[column] = b >> D;
        }
    }
    let mut columns = [Numbers::NONE; MOST];
    for (term, column) in terms.iter().zip(&mut columns) {
        *column = Numbers::of::<E, S>(term);
    }
    for (a, d) in a.chunks_exact(k).zip(d.as_chunks_mut().0) {
        let mut row = [0; MOST];
        for (to, a) in row.iter_mut().zip(a) {
            *to = a >> D;
        }
        let row = &Numbers::of::<E, S>(&row);
        let c = &match accumulator {
            Accumulator::F32 => Numbers::of::<8, 23>(d),
            Accumulator::F16 => Numbers::of::<5, 10>(d),
        };
        let totals = sums.sums(Step { row, columns: &columns, c, kept: kept as i32 });
        let found = match accumulator {
            Accumulator::F32 => cut_to_f32(&totals),
            Accumulator::F16 => round_to_f16(&totals),
        };
        *d = found.unwrap_or_else(|| totals.map(|total| accumulator.round(total)));
    }
}

/// [`one_step`] of the factors.
#[inline(always)]
fn one_step_of(
    sums: impl Sums,
    factor: Factor,
    accumulator: Accumulator,
    kept: u32,
    a: &[u32],
    b: &[u32],
    d: &mut Elements,
) {
    match factor {
        Factor::F16 => one_step::<5, 10, 0>(sums, accumulator, kept, a, b, d),
        Factor::BF16 => one_step::<8, 7, 0>(sums, accumulator, kept, a, b, d),
        Factor::TF32 => one_step::<8, 10, 13>(sums, accumulator, kept, a, b, d),
    }
}

/// The same in registers of 256 bits.
///
/// # Safety
/// The machine must have AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn one_step_avx2(factor: Factor, accumulator: Accumulator, kept: u32, a: &[u32], b: &[u32], d: &mut Elements) {
    one_step_of(Avx2, factor, accumulator, kept, a, b, d);
}

/// [`dot`] of each of [`ROWS`] rows of `a` and each of [`COLUMNS`] columns of `b`, both one after another; `c` and the
/// result `[row][column]`. The same bits, but faster than one by one.
///
/// # Panics
/// As [`dot`].
pub fn products(
    architecture: Architecture,
    factor: Factor,
    accumulator: Accumulator,
    a: &[u32],
    b: &[u32],
    c: &[u32; ROWS * COLUMNS],
) -> [u32; ROWS * COLUMNS] {
    let terms = if factor == Factor::TF32 { architecture.tf32_terms } else { architecture.half_terms };
    let (k, kept) = (a.len() / ROWS, 23 + architecture.extra_bits);
    let mut d = *c;
    let (format, of_sum) = (factor.format(), accumulator.format());
    let finite = |bits: &[u32]| bits.iter().all(|&bits| format.is_finite(factor.bits(bits)));
    let one_step = k <= terms && k <= MOST && kept <= MOST_KEPT;
    if one_step && finite(a) && finite(b) && c.iter().all(|&c| of_sum.is_finite(c)) {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the machine has it.
            unsafe { one_step_avx2(factor, accumulator, kept, a, b, &mut d) };
            return d;
        }
        one_step_of(Portable, factor, accumulator, kept, a, b, &mut d);
        return d;
    }
    for (row, d) in a.chunks_exact(k).zip(d.chunks_exact_mut(COLUMNS)) {
        for (column, d) in b.chunks_exact(k).zip(d) {
            *d = dot(architecture, factor, accumulator, row, column, *d);
        }
    }
    d
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor_core::HOPPER;

    /// Finite bits of a format with `exponent` and `significand` bits, of few exponents or of all.
    fn finite(random: &mut u32, [exponent, significand]: [u32; 2], few: bool) -> u32 {
        *random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (word, most) = (*random ^ *random >> 15, (1 << exponent) - 1);
        let exponents = if few { most / 2 - 4 + word % 9 } else { word % most };
        let fraction = (word >> 4).wrapping_mul(0x9e37_79b9) >> (32 - significand);
        if word % 13 == 0 {
            0
        } else {
            (word >> 8 & 1) << (exponent + significand) | exponents << significand | fraction
        }
    }

    #[test]
    fn every_way_has_the_bits_of_a_product_by_itself() {
        let mut random = 7;
        for round in 0..200 {
            for (factor, format, shift) in
                [(Factor::F16, [5, 10], 0), (Factor::BF16, [8, 7], 0), (Factor::TF32, [8, 10], 13)]
            {
                for (accumulator, of_sum) in [(Accumulator::F32, [8, 23]), (Accumulator::F16, [5, 10])] {
                    let (k, few, kept) = (if factor == Factor::TF32 { 8 } else { 16 }, round % 3 > 0, 25);
                    let mut factors = |n: usize| -> Vec<u32> {
                        (0..n * k).map(|_| finite(&mut random, format, few) << shift).collect()
                    };
                    let (a, b) = (factors(ROWS), factors(COLUMNS));
                    let c: Elements = std::array::from_fn(|_| finite(&mut random, of_sum, few));
                    let expected: Elements = std::array::from_fn(|i| {
                        let (a, b) = (&a[i / COLUMNS * k..][..k], &b[i % COLUMNS * k..][..k]);
                        dot(HOPPER, factor, accumulator, a, b, c[i])
                    });
                    let mut found = c;
                    one_step_of(Portable, factor, accumulator, kept, &a, &b, &mut found);
                    assert_eq!(found, expected, "{factor:?} {accumulator:?}");
                    assert_eq!(
                        products(HOPPER, factor, accumulator, &a, &b, &c),
                        expected,
                        "{factor:?} {accumulator:?}"
                    );
                }
            }
        }
    }
}
