//! What beams are made of.

use std::ops::RangeInclusive;

use bytemuck::Pod;
use fringes_types::f16;
use num_complex::Complex;

type C32 = Complex<f32>;

mod sealed {
    pub trait Sealed {}
}

/// What beams are made of: `Complex<f32>` or `Complex<f16>` for voltages, `f32` for powers.
///
/// Sealed: the outputs are these three.
pub trait BeamOutput: sealed::Sealed + Pod + Send + Sync + PartialEq + std::fmt::Debug {
    /// The name that FFT kernels have for it.
    #[doc(hidden)]
    const KERNEL: &'static str;

    /// Exponents `k` for which FFT kernels can multiply beams by `2^k`.
    #[doc(hidden)]
    const EXPONENTS: RangeInclusive<i32>;

    /// What FFT kernels multiply by for beams times `2^exponent`.
    #[doc(hidden)]
    fn factor(exponent: i32) -> f32;

    /// The output for a beam.
    #[doc(hidden)]
    fn from_c32(beam: C32) -> Self;
}

impl sealed::Sealed for C32 {}
impl BeamOutput for C32 {
    const KERNEL: &'static str = "c32";
    const EXPONENTS: RangeInclusive<i32> = -126..=127;

    fn factor(exponent: i32) -> f32 {
        2f32.powi(exponent)
    }

    #[inline(always)]
    fn from_c32(beam: C32) -> Self {
        beam
    }
}

impl sealed::Sealed for Complex<f16> {}
impl BeamOutput for Complex<f16> {
    const KERNEL: &'static str = "f16";
    /// The powers of two that f16 holds.
    const EXPONENTS: RangeInclusive<i32> = -24..=15;

    fn factor(exponent: i32) -> f32 {
        2f32.powi(exponent)
    }

    #[inline(always)]
    fn from_c32(beam: C32) -> Self {
        Complex::new(f16::from_f32(beam.re), f16::from_f32(beam.im))
    }
}

impl sealed::Sealed for f32 {}
impl BeamOutput for f32 {
    const KERNEL: &'static str = "power";
    const EXPONENTS: RangeInclusive<i32> = -63..=63;

    fn factor(exponent: i32) -> f32 {
        2f32.powi(2 * exponent)
    }

    #[inline(always)]
    fn from_c32(beam: C32) -> Self {
        beam.norm_sqr()
    }
}
