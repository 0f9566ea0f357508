//! How floating-point products of matrices are judged: the bound that holds for any order of a step's terms, and the
//! bits of the modelled architectures.
//!
//! Inputs are those of the cases of `mma`: `A` (16 rows) and `B` (8 columns) with `row` words each, then `C` by rows.

use fringes_device::tensor_core::{AMPERE, Accumulator, Factor, HOPPER, dot, error_bound};

/// Within the bound that `tensor_core` states.
pub const BOUND: &str =
    "`tensor_core::error_bound` of the sum of magnitudes; what is not finite as the emulator has it";

/// Bits of a modelled architecture.
pub const MODEL: &str = "bit for bit what `tensor_core` gives for one of its architectures";

/// The factors, as bits of elements, and the accumulator of element `index` of `D`.
fn operands(input: &[u32], index: usize, factor: Factor, accumulator: Accumulator) -> (Vec<u32>, Vec<u32>, u32) {
    let sums = if accumulator == Accumulator::F32 { 128 } else { 64 };
    let row = (input.len() - sums) / 24;
    let elements = |line: usize| -> Vec<u32> {
        let words = &input[line * row..(line + 1) * row];
        match factor {
            Factor::TF32 => words.to_vec(),
            _ => words.iter().flat_map(|word| [word & 0xffff, word >> 16]).collect(),
        }
    };
    let c = match accumulator {
        Accumulator::F32 => input[24 * row + index],
        Accumulator::F16 => input[24 * row + index / 2] >> (16 * (index % 2)) & 0xffff,
    };
    (elements(index / 8), elements(16 + index % 8), c)
}

fn modelled(input: &[u32], index: usize, factor: Factor, accumulator: Accumulator, have: u32) -> bool {
    let (a, b, c) = operands(input, index, factor, accumulator);
    [AMPERE, HOPPER].iter().any(|&architecture| dot(architecture, factor, accumulator, &a, &b, c) == have)
}

fn within(input: &[u32], index: usize, factor: Factor, accumulator: Accumulator, want: u32, have: u32) -> bool {
    let (a, b, c) = operands(input, index, factor, accumulator);
    let c = accumulator.value(c);
    let products: Vec<f64> = a.iter().zip(&b).map(|(&a, &b)| factor.value(a) * factor.value(b)).collect();
    let exact = c + products.iter().sum::<f64>();
    let magnitude = c.abs() + products.iter().map(|product| product.abs()).sum::<f64>();
    let (want, have) = (accumulator.value(want), accumulator.value(have));
    if !magnitude.is_finite() {
        return want == have || want.is_nan() && have.is_nan();
    }
    let bound = error_bound(accumulator, a.len(), magnitude);
    let greatest = if accumulator == Accumulator::F32 { f64::from(f32::MAX) } else { 65504.0 };
    // A partial sum may be beyond the greatest number.
    magnitude + bound >= greatest || (have - exact).abs() <= bound
}

macro_rules! judgements {
    ($($within:ident, $modelled:ident, $factor:ident, $accumulator:ident;)*) => { $(
        /// [`BOUND`].
        pub fn $within(input: &[u32], index: usize, want: u32, have: u32) -> bool {
            within(input, index, Factor::$factor, Accumulator::$accumulator, want, have)
        }

        /// [`MODEL`].
        pub fn $modelled(input: &[u32], index: usize, _: u32, have: u32) -> bool {
            modelled(input, index, Factor::$factor, Accumulator::$accumulator, have)
        }
    )* };
}

judgements! {
    f16_within, f16_modelled, F16, F32;
    bf16_within, bf16_modelled, BF16, F32;
    tf32_within, tf32_modelled, TF32, F32;
}

/// [`BOUND`], for words of two f16.
pub fn half_within(input: &[u32], index: usize, want: u32, have: u32) -> bool {
    (0..2).all(|e| {
        let of = |word: u32| word >> (16 * e) & 0xffff;
        within(input, 2 * index + e, Factor::F16, Accumulator::F16, of(want), of(have))
    })
}

/// [`MODEL`], for words of two f16.
pub fn half_modelled(input: &[u32], index: usize, _: u32, have: u32) -> bool {
    (0..2).all(|e| modelled(input, 2 * index + e, Factor::F16, Accumulator::F16, have >> (16 * e) & 0xffff))
}
