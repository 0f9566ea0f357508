//! What becomes of the results: where and as what a lane stores them.
//!
//! A lane stores two neighbouring results at once.

use fringes_device::GlobalMut;
use fringes_device::arithmetic::fma_rn_f32;

use crate::{Half, Saturating, Sums, Wide};

/// A place for results.
pub trait Spectra: Copy {
    /// How the last contraction keeps its sums.
    type Sums: Sums;
    /// How the others do.
    type Inner: Sums<Register = u32>;

    /// Stores results `2 pair` and `2 pair + 1`, one a register.
    ///
    /// # Safety
    /// They are in the view, and no other thread stores them.
    unsafe fn store(self, pair: usize, results: [<Self::Sums as Sums>::Register; 2]);
}

/// Complex f16.
#[derive(Clone, Copy)]
pub struct HalfSpectra(pub GlobalMut<[u32; 2]>);

impl Spectra for HalfSpectra {
    type Sums = Half;
    type Inner = Half;

    #[inline(always)]
    unsafe fn store(self, pair: usize, results: [u32; 2]) {
        self.0.store(pair, results);
    }
}

/// Complex f16, clamped to the range of finite numbers.
#[derive(Clone, Copy)]
pub struct SaturatingSpectra(pub GlobalMut<[u32; 2]>);

impl Spectra for SaturatingSpectra {
    type Sums = Saturating;
    type Inner = Saturating;

    #[inline(always)]
    unsafe fn store(self, pair: usize, results: [u32; 2]) {
        self.0.store(pair, results);
    }
}

/// Powers `|Y|^2` in f32.
#[derive(Clone, Copy)]
pub struct Powers(pub GlobalMut<[f32; 2]>);

impl Spectra for Powers {
    type Sums = Wide;
    type Inner = Half;

    #[inline(always)]
    unsafe fn store(self, pair: usize, results: [[f32; 2]; 2]) {
        self.0.store(pair, [power(results[0]), power(results[1])]);
    }
}

/// `re^2 + im^2`.
///
/// # Precision
/// Rounded twice.
#[inline(always)]
fn power([re, im]: [f32; 2]) -> f32 {
    fma_rn_f32(re, re, im * im)
}
