//! What is transformed, and what comes out.

use bytemuck::Pod;
use fringes_gpu::KernelElement;
use fringes_types::{Complex4, VoltageSample, f16};
use num_complex::Complex;

use crate::Overflow;

mod sealed {
    pub trait Sealed {}
}

/// What a transform reads: `Complex<f16>`, `Complex<i8>` or [`Complex4`].
///
/// Integers are taken as the numbers that they are, the most negative ones too.
pub trait FftSample: sealed::Sealed + VoltageSample {
    /// The kernels' name for it.
    #[doc(hidden)]
    const KERNEL: &'static str;
}

impl sealed::Sealed for Complex<f16> {}
impl FftSample for Complex<f16> {
    const KERNEL: &'static str = "f16";
}

impl sealed::Sealed for Complex<i8> {}
impl FftSample for Complex<i8> {
    const KERNEL: &'static str = "i8";
}

impl sealed::Sealed for Complex4 {}
impl FftSample for Complex4 {
    const KERNEL: &'static str = "i4";
}

/// What a transform writes: `Complex<f16>` for spectra, `f32` for their powers `|Y|^2`.
pub trait FftOutput: sealed::Sealed + Pod + Send + Sync + PartialEq + std::fmt::Debug {
    /// Two of them, as kernels store them.
    #[doc(hidden)]
    type Pair: KernelElement;

    /// The kernels' name for it.
    #[doc(hidden)]
    fn kernel(overflow: Overflow) -> &'static str;

    /// The output for one value of a spectrum.
    #[doc(hidden)]
    fn from_c32(value: Complex<f32>, overflow: Overflow) -> Self;
}

impl FftOutput for Complex<f16> {
    type Pair = [u32; 2];

    fn kernel(overflow: Overflow) -> &'static str {
        match overflow {
            Overflow::Infinity => "f16",
            Overflow::Saturate => "f16_saturating",
        }
    }

    #[inline(always)]
    fn from_c32(value: Complex<f32>, overflow: Overflow) -> Self {
        let limit = f32::from(f16::MAX);
        let [re, im] = [value.re, value.im].map(|part| match overflow {
            Overflow::Infinity => f16::from_f32(part),
            Overflow::Saturate => f16::from_f32(part.clamp(-limit, limit)),
        });
        Complex::new(re, im)
    }
}

impl sealed::Sealed for f32 {}
impl FftOutput for f32 {
    type Pair = [f32; 2];

    fn kernel(_: Overflow) -> &'static str {
        "power"
    }

    #[inline(always)]
    fn from_c32(value: Complex<f32>, _: Overflow) -> Self {
        value.norm_sqr()
    }
}
