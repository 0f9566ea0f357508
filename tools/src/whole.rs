//! Voltages of whole numbers in every format, whose sums are exact.

use fringes::{Complex, Complex4, VoltageSample, f16};

/// A voltage of whole numbers, small enough that float sums are exact: below 2^24 for as long as a stream is.
pub(crate) trait Whole: VoltageSample {
    /// The largest part.
    const LARGEST: i8;
    /// A voltage of these parts.
    fn of(re: i8, im: i8) -> Self;
}

impl Whole for Complex4 {
    const LARGEST: i8 = 7;
    fn of(re: i8, im: i8) -> Self {
        Self(((re as u8) << 4) | (im as u8 & 0x0f))
    }
}

impl Whole for Complex<i8> {
    const LARGEST: i8 = 127;
    fn of(re: i8, im: i8) -> Self {
        Self::new(re, im)
    }
}

impl Whole for Complex<f16> {
    const LARGEST: i8 = 15;
    fn of(re: i8, im: i8) -> Self {
        Self::new(f16::from(re), f16::from(im))
    }
}

impl Whole for Complex<f32> {
    const LARGEST: i8 = 15;
    fn of(re: i8, im: i8) -> Self {
        Self::new(re.into(), im.into())
    }
}
