//! The sum of lines: `H[n] = sum over lines of w[line][n] x[line][n]`, in the registers that the line's transform
//! begins with.
//!
//! # Layout
//! The transform takes `X` registers of complex numbers, real part in the low half. Its first contraction sums the
//! real-or-imaginary bit, three bits of `n` at lanes and the highest bit of `n`, which is the highest of the registers'
//! numbers. For a sum these bits have no order. So the highest bit of `n` takes the place inside of registers here and
//! the real-or-imaginary bit its place among them: register `p < X / 2` has the real parts of what the transform calls
//! registers `p` and `p + X / 2`, and register `p + X / 2` their imaginary parts. A product with a weight is then four
//! operations for two numbers, with no permutes. In the table of phases the matrix of the first contraction is changed
//! alike: in each fragment of four registers `a0` to `a3` the low halves of `a0` and `a2` (`a1` and `a3`) come first
//! and their high halves second.
//!
//! Weights lie in the same way: `[pair][re, im]` of a lane.

use fringes_device::half2::{fma_rn_f16x2, mul_rn_f16x2, neg_f16x2};

use crate::Voltages;

/// `w x` of two feeds.
///
/// # Precision
/// Each part is rounded twice.
#[inline(always)]
pub fn product([re, im]: [u32; 2], weight: [u32; 2]) -> [u32; 2] {
    let minus = neg_f16x2(weight[1]);
    [fma_rn_f16x2(im, minus, mul_rn_f16x2(re, weight[0])), fma_rn_f16x2(im, weight[0], mul_rn_f16x2(re, weight[1]))]
}

/// `sum + w x` of two feeds.
///
/// # Precision
/// Each part is rounded twice.
#[inline(always)]
pub fn added(sum: [u32; 2], [re, im]: [u32; 2], weight: [u32; 2]) -> [u32; 2] {
    let minus = neg_f16x2(weight[1]);
    [
        fma_rn_f16x2(im, minus, fma_rn_f16x2(re, weight[0], sum[0])),
        fma_rn_f16x2(im, weight[0], fma_rn_f16x2(re, weight[1], sum[1])),
    ]
}

/// Parts of pair `pair` of the `P` pairs of a line, of which `words[k]` has the registers `2 k` and `2 k + 1`.
#[inline(always)]
pub fn parts<V: Voltages, const P: usize>(words: &[u32; P], pair: usize, signs: u32) -> [u32; 2] {
    V::parts(words[pair / 2], words[pair / 2 + P / 2], pair % 2, signs)
}
