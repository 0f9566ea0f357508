//! The DFT part of a PFB: one filtered spectrum to its channels, in place in a row of the block.
//!
//! Complex input of `N` samples gives `N` bins; channel `k`, ascending in frequency, is bin `(k + ceil(N / 2)) mod N`.
//!
//! Real input of `2 N` samples gives bins `0 ..= N`, of which the last (Nyquist) is dropped: channel `k` is bin `k`.
//! Even and odd samples are taken for the real and imaginary parts of `N` complex ones, whose transform `Z` is that of
//! both:
//!
//! ```text
//! E_k = (Z_k + conj Z_(N-k)) / 2          transform of the even samples
//! O_k = (Z_k - conj Z_(N-k)) / (2 i)      of the odd ones
//! X_k = E_k + w_k O_k,   X_(N-k) = conj(E_k - w_k O_k),   w_k = exp(-pi i k / N)
//! ```
//!
//! One pass over the pairs `k, N - k`, eight of them at a time, from both ends of the row to its middle.

use std::f64::consts::PI;
use std::sync::Arc;

use num_complex::Complex;
use rustfft::{Fft, FftPlanner};

use super::simd::has_avx2_fma;
use crate::memory::is_there_memory;

/// Pairs of bins that are separated together.
const PAIRS: usize = 8;

/// A planned forward transform, unnormalised.
#[derive(Clone)]
pub(super) struct Transform {
    fft: Arc<dyn Fft<f32>>,
    /// For real input, `w_k` for `k = 1 ..= (N - 1) / 2`; of complex input there is nothing to separate.
    twiddles: Option<Vec<Complex<f32>>>,
    /// Whether code compiled for AVX2 can run here.
    pub(super) vectorised: bool,
}

impl std::fmt::Debug for Transform {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Transform({} {})", self.fft.len(), if self.twiddles.is_some() { "real pairs" } else { "complex" })
    }
}

impl Transform {
    /// Bytes of the tables of a transform, from above: RustFFT's twiddles are a little more than the points for sizes
    /// of small factors; others are convolutions of up to four times the points, with a kernel, twiddles of their own,
    /// and scratch while they are planned.
    pub(super) fn bytes(channels: usize, complex: bool) -> u64 {
        let mut rest = channels.max(1);
        for factor in [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31] {
            while rest.is_multiple_of(factor) {
                rest /= factor;
            }
        }
        let points = if rest == 1 { 2 } else { 16 } + u64::from(!complex);
        (channels as u64).saturating_mul(points * size_of::<Complex<f32>>() as u64)
    }

    /// The transform of `2 channels` real samples, or of `channels` complex ones. `None` if there is no memory.
    ///
    /// (RustFFT aborts where there is none: it is asked for before.)
    pub(super) fn new(channels: usize, complex: bool) -> Option<Self> {
        let twiddle = |k: usize| {
            let (sin, cos) = (PI * k as f64 / channels as f64).sin_cos();
            Complex::new(cos as f32, -sin as f32)
        };
        if !is_there_memory(Self::bytes(channels, complex)) {
            return None;
        }
        let mut twiddles = Vec::new();
        if !complex {
            twiddles.try_reserve_exact(channels.div_ceil(2) - 1).ok()?;
            twiddles.extend((1..channels.div_ceil(2)).map(twiddle));
        }
        Some(Self {
            fft: FftPlanner::new().plan_fft_forward(channels),
            twiddles: (!complex).then_some(twiddles),
            vectorised: has_avx2_fma(),
        })
    }

    /// Complex values of scratch that [`Transform::run`] needs.
    pub(super) fn scratch_len(&self) -> usize {
        self.fft.get_inplace_scratch_len()
    }

    /// Transforms `row`, which holds `N` complex samples or `2 N` real ones, to `N` bins in place.
    pub(super) fn run(&self, row: &mut [Complex<f32>], scratch: &mut [Complex<f32>]) {
        self.fft.process_with_scratch(row, scratch);
        let Some(twiddles) = &self.twiddles else { return };
        #[cfg(target_arch = "x86_64")]
        if self.vectorised {
            // SAFETY: `vectorised` is true only where the processor was found to have AVX2 and FMA.
            #[allow(unsafe_code)]
            unsafe {
                return separate_avx2(row, twiddles);
            }
        }
        separate(row, twiddles);
    }
}

/// [`separate`] compiled for AVX2.
///
/// # Safety
/// The machine must have AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn separate_avx2(row: &mut [Complex<f32>], twiddles: &[Complex<f32>]) {
    separate(row, twiddles);
}

/// Makes the bins of `2 N` real samples from the transform of `N` complex ones, in place.
#[inline(always)]
fn separate(row: &mut [Complex<f32>], twiddles: &[Complex<f32>]) {
    let Some((first, rest)) = row.split_first_mut() else { return };
    *first = Complex::new(first.re + first.im, 0.0);
    // What is left are pairs from both ends, and the middle of an even N, which is its own pair with w = -i.
    let (low, high) = rest.split_at_mut(twiddles.len());
    let (middle, high) = high.split_at_mut(high.len() - twiddles.len());
    middle.iter_mut().for_each(|middle| *middle = middle.conj());
    let (low, low_rest) = low.as_chunks_mut::<PAIRS>();
    let (high_rest, high) = high.as_rchunks_mut::<PAIRS>();
    let (twiddles, twiddles_rest) = twiddles.as_chunks::<PAIRS>();
    for ((low, high), twiddles) in low.iter_mut().zip(high.iter_mut().rev()).zip(twiddles) {
        separate_pairs(low, high, twiddles);
    }
    for ((low, high), twiddle) in low_rest.iter_mut().zip(high_rest.iter_mut().rev()).zip(twiddles_rest) {
        separate_pairs(std::array::from_mut(low), std::array::from_mut(high), &[*twiddle]);
    }
}

/// Separates bins `k ..` in `low` and their partners `N - k ..` downwards in `high`.
#[inline(always)]
fn separate_pairs<const N: usize>(
    low: &mut [Complex<f32>; N],
    high: &mut [Complex<f32>; N],
    twiddles: &[Complex<f32>; N],
) {
    let lanes = |f: &dyn Fn(usize) -> f32| -> [f32; N] { std::array::from_fn(f) };
    let (a_re, a_im) = (lanes(&|i| low[i].re), lanes(&|i| low[i].im));
    let (b_re, b_im) = (lanes(&|i| high[N - 1 - i].re), lanes(&|i| high[N - 1 - i].im));
    let (w_re, w_im) = (lanes(&|i| twiddles[i].re), lanes(&|i| twiddles[i].im));
    let (even_re, even_im) = (lanes(&|i| 0.5 * (a_re[i] + b_re[i])), lanes(&|i| 0.5 * (a_im[i] - b_im[i])));
    let (odd_re, odd_im) = (lanes(&|i| 0.5 * (a_im[i] + b_im[i])), lanes(&|i| -0.5 * (a_re[i] - b_re[i])));
    let turned_re = lanes(&|i| w_re[i] * odd_re[i] - w_im[i] * odd_im[i]);
    let turned_im = lanes(&|i| w_re[i] * odd_im[i] + w_im[i] * odd_re[i]);
    *low = std::array::from_fn(|i| Complex::new(even_re[i] + turned_re[i], even_im[i] + turned_im[i]));
    *high = std::array::from_fn(|i| {
        let i = N - 1 - i;
        Complex::new(even_re[i] - turned_re[i], turned_im[i] - even_im[i])
    });
}
