//! The formats of a frame's values, and the quantiser of one row of channels.

use bytemuck::Zeroable;
use fringes_types::{Complex4, VoltageSample, f16};
use num_complex::Complex;

use super::dither::SpectrumDither;
use crate::pfb::has_avx2_fma;
use crate::quantiser::{self, QuantisedValue};

/// A complex value that frames are made of.
pub trait FrameValue: Zeroable + Copy + Send + Sync {
    /// Whether parts are integers: clamped, rounded half to even, dithered if that is on.
    const INTEGER: bool;
    /// The value nearest to a product, and whether it saturates.
    fn from_product(re: f64, im: f64) -> (Self, bool);
}

macro_rules! integers {
    ($($value:ty),*) => {$(
        impl FrameValue for $value {
            const INTEGER: bool = true;
            #[inline(always)]
            fn from_product(re: f64, im: f64) -> (Self, bool) {
                let (re, re_beyond) = quantiser::part::<Self>(re);
                let (im, im_beyond) = quantiser::part::<Self>(im);
                (Self::from_parts(re, im), re_beyond | im_beyond)
            }
        }
    )*};
}
integers!(Complex<i8>, Complex4);

impl FrameValue for Complex<f32> {
    const INTEGER: bool = false;
    #[inline(always)]
    fn from_product(re: f64, im: f64) -> (Self, bool) {
        (Complex::new(re as f32, im as f32), false)
    }
}

impl FrameValue for Complex<f16> {
    const INTEGER: bool = false;
    #[inline(always)]
    fn from_product(re: f64, im: f64) -> (Self, bool) {
        (Complex::new(f16::from_f64(re), f16::from_f64(im)), false)
    }
}

mod sealed {
    use super::{Complex, Complex4, f16};

    pub trait Sealed {}
    impl Sealed for Complex<i8> {}
    impl Sealed for Complex4 {}
    impl Sealed for Complex<f16> {}
    impl Sealed for Complex<f32> {}
}

/// The formats of frames: `Complex<i8>` (parts of -127 to 127), [`Complex4`] (-7 to 7), `Complex<f16>` and
/// `Complex<f32>`.
///
/// Nothing else can implement it.
pub trait FrameSample: VoltageSample + FrameValue + sealed::Sealed {}

impl FrameSample for Complex<i8> {}
impl FrameSample for Complex4 {}
impl FrameSample for Complex<f16> {}
impl FrameSample for Complex<f32> {}

/// Values `out[k] = gains[k] * voltages[k]`, with the dither of channel `first + k`; gives the number of those that
/// saturate.
pub(super) fn quantise<Q: FrameValue>(
    voltages: &[Complex<f32>],
    gains: &[Complex<f32>],
    dither: Option<SpectrumDither>,
    first: u32,
    out: &mut [Q],
) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if has_avx2_fma() {
        // SAFETY: the processor was found to have AVX2 and FMA.
        #[allow(unsafe_code)]
        unsafe {
            return quantise_avx2(voltages, gains, dither, first, out);
        }
    }
    quantise_all(voltages, gains, dither, first, out)
}

/// [`quantise_all`] compiled for AVX2: the same operations, in vectors.
///
/// # Safety
/// The machine must have AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn quantise_avx2<Q: FrameValue>(
    voltages: &[Complex<f32>],
    gains: &[Complex<f32>],
    dither: Option<SpectrumDither>,
    first: u32,
    out: &mut [Q],
) -> u64 {
    quantise_all(voltages, gains, dither, first, out)
}

#[inline(always)]
fn quantise_all<Q: FrameValue>(
    voltages: &[Complex<f32>],
    gains: &[Complex<f32>],
    dither: Option<SpectrumDither>,
    first: u32,
    out: &mut [Q],
) -> u64 {
    let values = out.iter_mut().zip(voltages.iter().zip(gains));
    let mut saturated = 0;
    let mut put = |(out, (x, g)): (&mut Q, (&Complex<f32>, &Complex<f32>)), (dither_re, dither_im): (f64, f64)| {
        let (xr, xi) = (f64::from(x.re), f64::from(x.im));
        let (gr, gi) = (f64::from(g.re), f64::from(g.im));
        let (value, beyond) = Q::from_product(gr * xr - gi * xi + dither_re, gr * xi + gi * xr + dither_im);
        *out = value;
        saturated += u64::from(beyond);
    };
    match dither {
        None => values.for_each(|value| put(value, (0.0, 0.0))),
        Some(dither) => values.zip(first..).for_each(|(value, channel)| put(value, dither.of(channel))),
    }
    saturated
}
