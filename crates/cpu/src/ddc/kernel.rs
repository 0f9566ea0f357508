//! Pairs of dot products at equal steps through a row of values: the inner loop of down-conversion.
//!
//! For outputs `j`, with `v[j step ..]` the values from `j step` on:
//! `re_j = sum_i a[i] v[j step + i]`, `im_j = sum_i b[i] v[j step + i]`.
//!
//! One algorithm, compiled twice: for the target's base instruction set, and on x86-64 for AVX2 with fused
//! multiply-add, chosen at run time. A dot product is eight partial sums, `lane[l] = sum_m a[8 m + l] v[j step + 8 m +
//! l]`, added as `((l0 + l1) + (l2 + l3)) + ((l4 + l5) + (l6 + l7))`, whichever outputs are worked on together.

use num_complex::Complex;

/// Partial sums of a dot product.
pub const LANES: usize = 8;

/// Outputs that share each load of taps.
const GROUP: usize = 4;

type Lanes = [f32; LANES];

/// `sum + a * v` in every lane, fused where the target has such an instruction.
#[inline(always)]
fn multiply_add<const FUSED: bool>(a: &Lanes, v: &Lanes, sum: &mut Lanes) {
    for lane in 0..LANES {
        sum[lane] = if FUSED { a[lane].mul_add(v[lane], sum[lane]) } else { a[lane] * v[lane] + sum[lane] };
    }
}

/// The partial sums of `N` outputs that start `step` values apart.
#[inline(always)]
fn partial_sums<const FUSED: bool, const N: usize>(
    values: &[f32],
    a: &[f32],
    b: &[f32],
    step: usize,
) -> [[Lanes; 2]; N] {
    let mut sums = [[[0.0; LANES]; 2]; N];
    let (a_whole, a_rest) = a.as_chunks::<LANES>();
    let (b_whole, b_rest) = b.as_chunks::<LANES>();
    let windows: [&[f32]; N] = std::array::from_fn(|n| &values[n * step..n * step + a.len()]);
    let chunks: [&[Lanes]; N] = windows.map(|window| window.as_chunks::<LANES>().0);
    for (m, (a, b)) in a_whole.iter().zip(b_whole).enumerate() {
        for n in 0..N {
            let v = &chunks[n][m];
            multiply_add::<FUSED>(a, v, &mut sums[n][0]);
            multiply_add::<FUSED>(b, v, &mut sums[n][1]);
        }
    }
    if !a_rest.is_empty() {
        for n in 0..N {
            let v = &windows[n][a_whole.len() * LANES..];
            for (lane, ((&a, &b), &v)) in a_rest.iter().zip(b_rest).zip(v).enumerate() {
                let [re, im] = &mut sums[n];
                (re[lane], im[lane]) = if FUSED {
                    (a.mul_add(v, re[lane]), b.mul_add(v, im[lane]))
                } else {
                    (a * v + re[lane], b * v + im[lane])
                };
            }
        }
    }
    sums
}

#[inline(always)]
fn tree(l: &Lanes) -> f32 {
    ((l[0] + l[1]) + (l[2] + l[3])) + ((l[4] + l[5]) + (l[6] + l[7]))
}

#[inline(always)]
fn dot_pairs_with<const FUSED: bool>(values: &[f32], a: &[f32], b: &[f32], step: usize, out: &mut [Complex<f32>]) {
    let (groups, rest) = out.as_chunks_mut::<GROUP>();
    let in_groups = groups.len() * GROUP;
    for (number, group) in groups.iter_mut().enumerate() {
        let sums = partial_sums::<FUSED, GROUP>(&values[number * GROUP * step..], a, b, step);
        for (out, [re, im]) in group.iter_mut().zip(&sums) {
            *out = Complex::new(tree(re), tree(im));
        }
    }
    for (number, out) in rest.iter_mut().enumerate() {
        let [[re, im]] = partial_sums::<FUSED, 1>(&values[(in_groups + number) * step..], a, b, step);
        *out = Complex::new(tree(&re), tree(&im));
    }
}

/// [`dot_pairs_with`] compiled for AVX2 with fused multiply-add.
///
/// # Safety
/// The machine must have AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn dot_pairs_avx2(values: &[f32], a: &[f32], b: &[f32], step: usize, out: &mut [Complex<f32>]) {
    dot_pairs_with::<true>(values, a, b, step, out);
}

/// Writes `re_j + i im_j` (see the [module](self)) to `out[j]`.
///
/// # Panics
/// If the taps differ in length or `values` is shorter than the last output's taps reach.
pub(super) fn dot_pairs(values: &[f32], a: &[f32], b: &[f32], step: usize, out: &mut [Complex<f32>]) {
    assert_eq!(a.len(), b.len(), "taps of the real and imaginary part");
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: the CPU has the features that the function is compiled for, as checked in this line's condition.
        #[allow(unsafe_code)]
        unsafe {
            dot_pairs_avx2(values, a, b, step, out);
        }
        return;
    }
    // Aarch64 always has fused multiply-add; elsewhere without detection it would be a library call.
    dot_pairs_with::<{ cfg!(target_arch = "aarch64") }>(values, a, b, step, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values whose products and sums are exact in f32, so that every order of summation gives the same.
    fn integers(length: usize, seed: usize) -> Vec<f32> {
        (0..length).map(|i| ((i * 37 + seed * 11 + i * i) % 17) as f32 - 8.0).collect()
    }

    #[test]
    fn both_compilations_are_exact_on_small_integers() {
        for (taps, step, outputs) in [(1, 1, 1), (7, 3, 5), (8, 8, 4), (9, 2, 11), (64, 5, 7), (131, 200, 3)] {
            let (a, b) = (integers(taps, 1), integers(taps, 2));
            let values = integers((outputs - 1) * step + taps, 3);
            let expected: Vec<_> = (0..outputs)
                .map(|j| {
                    let dot = |taps: &[f32]| taps.iter().zip(&values[j * step..]).map(|(tap, v)| tap * v).sum();
                    Complex::new(dot(&a), dot(&b))
                })
                .collect();
            let mut out = vec![Complex::new(f32::NAN, f32::NAN); outputs];
            dot_pairs(&values, &a, &b, step, &mut out);
            assert_eq!(out, expected, "chosen at run time: {taps} {step} {outputs}");
            out.fill(Complex::new(f32::NAN, f32::NAN));
            dot_pairs_with::<false>(&values, &a, &b, step, &mut out);
            assert_eq!(out, expected, "base instruction set: {taps} {step} {outputs}");
        }
    }

    #[test]
    fn an_output_has_the_same_bits_in_a_group_and_alone() {
        let values: Vec<f32> = (0..500).map(|i| (i as f32 * 0.37).sin()).collect();
        let (a, b) = (&values[100..143], &values[200..243]);
        let mut together = vec![Complex::new(0.0, 0.0); 50];
        dot_pairs(&values, a, b, 9, &mut together);
        for (j, expected) in together.iter().enumerate() {
            let mut alone = [Complex::new(0.0, 0.0)];
            dot_pairs(&values[9 * j..], a, b, 9, &mut alone);
            assert_eq!(alone[0], *expected);
        }
    }
}
