//! What beams are made of.

use std::ops::RangeInclusive;

use bytemuck::Pod;
use fringes_cpu::f_engine::FrameValue;
use fringes_kernel_abi::tied_array::Output;
use fringes_types::f16;
use num_complex::Complex;

type C32 = Complex<f32>;

mod sealed {
    pub trait Sealed {}
}

/// What beams are made of: `Complex<f32>`, `Complex<f16>` or `Complex<i8>` for voltages, `f32` for powers.
///
/// Sealed: the outputs are these four.
pub trait BeamOutput: sealed::Sealed + Pod + Send + Sync + PartialEq + std::fmt::Debug {}

/// What [`FftBeams`](crate::FftBeams) are made of: `Complex<f32>`, `Complex<f16>`, or powers in `f32`.
pub trait FftBeamOutput: BeamOutput {
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

/// What [`TiedArrayBeams`](crate::TiedArrayBeams) are made of: `Complex<f32>`, `Complex<f16>` or `Complex<i8>`.
pub trait TiedArrayOutput: BeamOutput + FrameValue {
    /// The kernels' output.
    #[doc(hidden)]
    const OUTPUT: Output;
}

impl sealed::Sealed for C32 {}
impl BeamOutput for C32 {}
impl FftBeamOutput for C32 {
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

impl TiedArrayOutput for C32 {
    const OUTPUT: Output = Output::Float32;
}

impl sealed::Sealed for Complex<f16> {}
impl BeamOutput for Complex<f16> {}
impl FftBeamOutput for Complex<f16> {
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

impl TiedArrayOutput for Complex<f16> {
    const OUTPUT: Output = Output::Float16;
}

impl sealed::Sealed for Complex<i8> {}
impl BeamOutput for Complex<i8> {}
impl TiedArrayOutput for Complex<i8> {
    const OUTPUT: Output = Output::Int8;
}

impl sealed::Sealed for f32 {}
impl BeamOutput for f32 {}
impl FftBeamOutput for f32 {
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
