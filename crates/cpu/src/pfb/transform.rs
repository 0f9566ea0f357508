//! The DFT part of a PFB: one filtered spectrum to its channels, in place in a row of the block.
//!
//! Real input of `2 N` samples gives bins 0 ..= N, of which the last (Nyquist) is dropped: channel `k` is bin `k`. Complex
//! input of `N` samples gives `N` bins; channel `k`, ascending in frequency, is bin `(k + ceil(N / 2)) mod N`.

use std::sync::Arc;

use num_complex::Complex;
use realfft::{RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftPlanner};

/// A planned forward transform, unnormalised.
#[derive(Clone)]
pub(super) enum Transform {
    Real(Arc<dyn RealToComplex<f32>>),
    Complex(Arc<dyn Fft<f32>>),
}

impl std::fmt::Debug for Transform {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Transform::Real(fft) => write!(f, "Real({})", fft.len()),
            Transform::Complex(fft) => write!(f, "Complex({})", fft.len()),
        }
    }
}

impl Transform {
    pub(super) fn real(channels: usize) -> Self {
        Transform::Real(RealFftPlanner::new().plan_fft_forward(2 * channels))
    }

    pub(super) fn complex(channels: usize) -> Self {
        Transform::Complex(FftPlanner::new().plan_fft_forward(channels))
    }

    /// Complex values of scratch that [`Transform::run`] needs.
    pub(super) fn scratch_len(&self) -> usize {
        match self {
            Transform::Real(fft) => fft.get_scratch_len(),
            Transform::Complex(fft) => fft.get_inplace_scratch_len(),
        }
    }

    /// Transforms one filtered spectrum into `row`.
    ///
    /// Real: `filtered` (destroyed) holds the `2 N` samples, `row` has at least `N + 1` values. Complex: `row` holds the
    /// `N` samples, `filtered` is not used.
    pub(super) fn run(&self, filtered: &mut [f32], row: &mut [Complex<f32>], scratch: &mut [Complex<f32>]) {
        match self {
            Transform::Real(fft) => {
                let bins = fft.len() / 2 + 1;
                let filtered = &mut filtered[..fft.len()];
                // The lengths are right by construction, the only error there is.
                fft.process_with_scratch(filtered, &mut row[..bins], scratch).expect("lengths fixed at planning");
            }
            Transform::Complex(fft) => fft.process_with_scratch(&mut row[..fft.len()], scratch),
        }
    }
}
