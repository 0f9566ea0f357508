//! What outputs may be.

use fringes_cpu::ddc::OutputValue;
use fringes_gpu::KernelElement;
use fringes_types::{Complex, f16};

mod sealed {
    pub trait Sealed {}
}

/// The formats that down-conversion gives, complex all of them:
///
/// | type | parts | a value that does not fit |
/// |---|---|---|
/// | `Complex<f32>` | as they are | |
/// | `Complex<f16>` | rounded to the nearest, within +-65504 | is clamped; a NaN stays one |
/// | `Complex<i16>` | rounded half to even, within +-32767 | is clamped; a NaN becomes 0 |
/// | `Complex<i8>` | rounded half to even, within +-127 | is clamped; a NaN becomes 0 |
///
/// The most negative integer never comes out. A value with a part that is beyond the limit before rounding, or NaN, has
/// saturated, and counts once.
///
/// Nothing else can implement it.
pub trait DownConvertedSample: OutputValue + sealed::Sealed {
    /// A value as kernels have it.
    #[doc(hidden)]
    type Stored: KernelElement;
    /// Its name in those of kernels.
    #[doc(hidden)]
    const NAME: &'static str;
}

macro_rules! samples {
    ($($part:ty, $stored:ty, $name:literal;)*) => {$(
        impl sealed::Sealed for Complex<$part> {}
        impl DownConvertedSample for Complex<$part> {
            type Stored = $stored;
            const NAME: &'static str = $name;
        }
    )*};
}

samples! {
    f32, [f32; 2], "f32";
    f16, u32, "f16";
    i16, u32, "i16";
    i8, u16, "i8";
}
