//! What beams are made of.

use std::ops::RangeInclusive;

use bytemuck::Pod;
use fringes_types::{Complex4, VoltageSample, f16};
use num_complex::Complex;

type C32 = Complex<f32>;

mod sealed {
    pub trait Sealed {}
}

/// Voltages of FFT beams: `Complex<i8>` or [`Complex4`].
///
/// Integers are taken as the numbers that they are, the most negative ones too.
pub trait BeamSample: sealed::Sealed + VoltageSample {
    /// The kernels' name for it.
    #[doc(hidden)]
    const KERNEL: &'static str;
}

impl sealed::Sealed for Complex<i8> {}
impl BeamSample for Complex<i8> {
    const KERNEL: &'static str = "i8";
}

impl sealed::Sealed for Complex4 {}
impl BeamSample for Complex4 {
    const KERNEL: &'static str = "i4";
}

/// What FFT beams are made of: `Complex<f32>`, `Complex<f16>`, or `f32` for powers.
pub trait BeamOutput: sealed::Sealed + Pod + Send + Sync + PartialEq + std::fmt::Debug {
    /// The kernels' name for it.
    #[doc(hidden)]
    const KERNEL: &'static str;

    /// Exponents `k` for which the kernels can multiply beams by `2^k`.
    #[doc(hidden)]
    const EXPONENTS: RangeInclusive<i32>;

    /// What the kernels multiply by for beams times `2^exponent`.
    #[doc(hidden)]
    fn factor(exponent: i32) -> f32;

    /// The output for a beam.
    #[doc(hidden)]
    fn from_c32(beam: C32) -> Self;

    /// The output itself, if it is of `Complex<f32>`.
    #[doc(hidden)]
    fn as_c32(_: &mut [Self]) -> Option<&mut [C32]> {
        None
    }
}

impl sealed::Sealed for C32 {}
impl BeamOutput for C32 {
    const KERNEL: &'static str = "c32";
    const EXPONENTS: RangeInclusive<i32> = -126..=127;

    fn factor(exponent: i32) -> f32 {
        2f32.powi(exponent)
    }

    fn from_c32(beam: C32) -> Self {
        beam
    }

    fn as_c32(out: &mut [Self]) -> Option<&mut [C32]> {
        Some(out)
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

    fn from_c32(beam: C32) -> Self {
        beam.norm_sqr()
    }
}
