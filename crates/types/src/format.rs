//! Sample formats as types: what a real or complex sample looks like in memory.

use bytemuck::{Pod, Zeroable};
use half::f16;
use ndarray::ArrayView2;
use num_complex::Complex;

use crate::SampleView;

/// Name of a sample format, for messages and run-time choices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SampleFormat {
    /// 4-bit real in the high nibble, 4-bit imaginary in the low nibble, two's complement.
    Int4,
    /// 8-bit two's complement.
    Int8,
    /// 16-bit two's complement.
    Int16,
    /// IEEE half precision.
    Float16,
    /// IEEE single precision.
    Float32,
}

impl SampleFormat {
    /// Largest magnitude of a real or imaginary part: 7, 127 or 32767; infinite for floats.
    pub fn limit(self) -> f64 {
        match self {
            SampleFormat::Int4 => 7.0,
            SampleFormat::Int8 => 127.0,
            SampleFormat::Int16 => 32767.0,
            SampleFormat::Float16 | SampleFormat::Float32 => f64::INFINITY,
        }
    }
}

impl std::fmt::Display for SampleFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            SampleFormat::Int4 => "4-bit integer",
            SampleFormat::Int8 => "8-bit integer",
            SampleFormat::Int16 => "16-bit integer",
            SampleFormat::Float16 => "16-bit float",
            SampleFormat::Float32 => "32-bit float",
        })
    }
}

/// A complex sample of 4 + 4 bits in a byte: real in the high nibble, imaginary in the low nibble, two's complement.
///
/// Values are -7 to 7; -8 is not a sample ([`Complex4::is_sample`]).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Pod, Zeroable)]
#[repr(transparent)]
pub struct Complex4(pub u8);

impl Complex4 {
    /// Packs a real and an imaginary part, or `None` if one is outside -7..=7.
    pub fn new(re: i8, im: i8) -> Option<Self> {
        ((-7..=7).contains(&re) && (-7..=7).contains(&im)).then_some(Self(((re as u8) << 4) | (im as u8 & 0x0f)))
    }

    /// Real part, sign-extended.
    pub fn re(self) -> i8 {
        (self.0 as i8) >> 4
    }

    /// Imaginary part, sign-extended.
    pub fn im(self) -> i8 {
        ((self.0 << 4) as i8) >> 4
    }

    /// Whether neither part is the excluded value -8.
    pub fn is_sample(self) -> bool {
        self.re() != -8 && self.im() != -8
    }
}

impl std::fmt::Debug for Complex4 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{:+}i", self.re(), self.im())
    }
}

mod sealed {
    pub trait Sealed {}
}

/// What [`Samples`](crate::Samples) hold: `i8`, `i16`, `f16`, `f32` and complex pairs of them.
pub trait Sample: sealed::Sealed + Pod + Send + Sync + PartialEq + std::fmt::Debug {
    /// Format of a real value.
    const FORMAT: SampleFormat;
    /// Whether a sample is a complex pair.
    const COMPLEX: bool;
    /// The sample as a complex f32 (exact), with imaginary part 0 for real formats.
    fn to_c32(self) -> Complex<f32>;
    /// Real part as f32 (exact).
    fn re_f32(self) -> f32;
    /// An array of samples as a view whose format is known at run time.
    fn view(data: ArrayView2<'_, Self>) -> SampleView<'_>;
}

macro_rules! samples {
    ($($real:ty => $format:ident, $complex:ident);*) => {$(
        impl sealed::Sealed for $real {}
        impl Sample for $real {
            const FORMAT: SampleFormat = SampleFormat::$format;
            const COMPLEX: bool = false;
            #[inline(always)]
            fn to_c32(self) -> Complex<f32> {
                Complex::new(f32::from(self), 0.0)
            }
            #[inline(always)]
            fn re_f32(self) -> f32 {
                f32::from(self)
            }
            fn view(data: ArrayView2<'_, Self>) -> SampleView<'_> {
                SampleView::$format(data)
            }
        }
        impl sealed::Sealed for Complex<$real> {}
        impl Sample for Complex<$real> {
            const FORMAT: SampleFormat = SampleFormat::$format;
            const COMPLEX: bool = true;
            #[inline(always)]
            fn to_c32(self) -> Complex<f32> {
                Complex::new(f32::from(self.re), f32::from(self.im))
            }
            #[inline(always)]
            fn re_f32(self) -> f32 {
                f32::from(self.re)
            }
            fn view(data: ArrayView2<'_, Self>) -> SampleView<'_> {
                SampleView::$complex(data)
            }
        }
    )*};
}
samples!(i8 => Int8, ComplexInt8; i16 => Int16, ComplexInt16; f16 => Float16, ComplexFloat16; f32 => Float32, ComplexFloat32);

/// What a sum of voltage products is made of: `i64` for integer voltages (exact), `f64` for float voltages.
pub trait Accumulator: sealed::Sealed + Pod + Send + Sync + PartialEq + std::fmt::Debug + Default {
    /// The sum as complex f64 (exact up to 2^53).
    fn to_c64(self) -> Complex<f64>;
    /// Sum of two accumulators (wrapping for integers; no legal run reaches 2^63).
    fn add(self, other: Self) -> Self;
    /// Complex conjugate.
    fn conj(self) -> Self;
}

impl sealed::Sealed for Complex<i64> {}
impl Accumulator for Complex<i64> {
    fn to_c64(self) -> Complex<f64> {
        Complex::new(self.re as f64, self.im as f64)
    }
    fn add(self, other: Self) -> Self {
        Complex::new(self.re.wrapping_add(other.re), self.im.wrapping_add(other.im))
    }
    fn conj(self) -> Self {
        Complex::new(self.re, self.im.wrapping_neg())
    }
}

impl sealed::Sealed for Complex<f64> {}
impl Accumulator for Complex<f64> {
    fn to_c64(self) -> Complex<f64> {
        self
    }
    fn add(self, other: Self) -> Self {
        self + other
    }
    fn conj(self) -> Self {
        Complex::conj(&self)
    }
}

/// What [`Voltages`](crate::Voltages) hold: [`Complex4`], `Complex<i8>`, `Complex<f16>` or `Complex<f32>`.
pub trait VoltageSample: sealed::Sealed + Pod + Send + Sync + PartialEq + std::fmt::Debug {
    /// Format of a real or imaginary part.
    const FORMAT: SampleFormat;
    /// Type of a sum of products: `Complex<i64>` (exact) or `Complex<f64>`.
    type Accumulator: Accumulator;
    /// Type of sums that a GPU adds to: `Complex<i32>`, exact for a limited number of times, or `Complex<f64>`.
    type PartialSum: Pod + Send + Sync + std::fmt::Debug;
    /// The voltage as complex f32 (exact).
    fn to_c32(self) -> Complex<f32>;
    /// Whether the value is legal: false for the most negative integers, true for every float.
    fn is_sample(self) -> bool;
}

impl sealed::Sealed for Complex4 {}
impl VoltageSample for Complex4 {
    const FORMAT: SampleFormat = SampleFormat::Int4;
    type Accumulator = Complex<i64>;
    type PartialSum = Complex<i32>;
    #[inline(always)]
    fn to_c32(self) -> Complex<f32> {
        Complex::new(f32::from(self.re()), f32::from(self.im()))
    }
    fn is_sample(self) -> bool {
        Complex4::is_sample(self)
    }
}

impl VoltageSample for Complex<i8> {
    const FORMAT: SampleFormat = SampleFormat::Int8;
    type Accumulator = Complex<i64>;
    type PartialSum = Complex<i32>;
    #[inline(always)]
    fn to_c32(self) -> Complex<f32> {
        Complex::new(f32::from(self.re), f32::from(self.im))
    }
    fn is_sample(self) -> bool {
        self.re != i8::MIN && self.im != i8::MIN
    }
}

impl VoltageSample for Complex<f16> {
    const FORMAT: SampleFormat = SampleFormat::Float16;
    type Accumulator = Complex<f64>;
    type PartialSum = Complex<f64>;
    #[inline(always)]
    fn to_c32(self) -> Complex<f32> {
        Complex::new(self.re.to_f32(), self.im.to_f32())
    }
    fn is_sample(self) -> bool {
        true
    }
}

impl VoltageSample for Complex<f32> {
    const FORMAT: SampleFormat = SampleFormat::Float32;
    type Accumulator = Complex<f64>;
    type PartialSum = Complex<f64>;
    #[inline(always)]
    fn to_c32(self) -> Complex<f32> {
        self
    }
    fn is_sample(self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complex4_packs_and_unpacks_every_legal_pair() {
        for re in -7..=7 {
            for im in -7..=7 {
                let packed = Complex4::new(re, im).unwrap();
                assert_eq!((packed.re(), packed.im()), (re, im));
                assert!(packed.is_sample());
            }
        }
        assert_eq!(Complex4::new(1, -1).unwrap().0, 0x1f);
        assert_eq!(Complex4::new(-8, 0), None);
        assert!(!Complex4(0x80).is_sample());
        assert!(!Complex4(0x08).is_sample());
    }
}
