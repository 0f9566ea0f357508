//! Samples of every format, and the transform by its definition.
#![allow(clippy::unwrap_used)] // helpers of tests

use fringes_fft::{Fft, FftOutput, FftSample, Size};
use fringes_reference::dft::dft;
use fringes_types::{Complex4, f16};
use ndarray::{Array2, ArrayView1};
use num_complex::{Complex, Complex64 as C64};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A format whose samples tests can make from numbers.
pub(crate) trait TestSample: FftSample {
    /// The sample nearest to a pair of numbers within +-1, at nearly full range for integers.
    fn near(re: f64, im: f64) -> Self;
    /// The sample as a complex number, by the format's definition.
    fn number(self) -> C64;
}

impl TestSample for Complex<f16> {
    fn near(re: f64, im: f64) -> Self {
        Complex::new(f16::from_f64(re), f16::from_f64(im))
    }
    fn number(self) -> C64 {
        C64::new(self.re.to_f64(), self.im.to_f64())
    }
}

impl TestSample for Complex<i8> {
    fn near(re: f64, im: f64) -> Self {
        Complex::new((127.0 * re).round() as i8, (127.0 * im).round() as i8)
    }
    fn number(self) -> C64 {
        C64::new(f64::from(self.re), f64::from(self.im))
    }
}

impl TestSample for Complex4 {
    fn near(re: f64, im: f64) -> Self {
        let [re, im] = [re, im].map(|part| (7.0 * part).round() as u8 & 15);
        Complex4(re << 4 | im)
    }
    fn number(self) -> C64 {
        // Two's complement by hand: the highest bit of a nibble weighs -8.
        let value = |nibble: u8| f64::from(nibble & 7) - f64::from(nibble & 8);
        C64::new(value(self.0 >> 4), value(self.0 & 15))
    }
}

/// Noise `[transform][n]`, uniform over the format's range.
pub(crate) fn noise<S: TestSample>(transforms: usize, inputs: usize, seed: u64) -> Array2<S> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    Array2::from_shape_simple_fn((transforms, inputs), || {
        S::near(rng.random_range(-1.0..=1.0), rng.random_range(-1.0..=1.0))
    })
}

/// The transform of a row as the plan defines it, in f64.
pub(crate) fn expected<S: TestSample, O: FftOutput>(plan: &Fft<S, O>, row: ArrayView1<'_, S>) -> Vec<C64> {
    let mut padded: Vec<C64> = row.iter().map(|sample| sample.number() * 2f64.powi(plan.scale_exponent())).collect();
    padded.resize(plan.outputs(), C64::default());
    dft(&padded, plan.sign().value())
}

/// A plan of a size.
pub(crate) fn plan<S: TestSample, O: FftOutput>(size: Size) -> Fft<S, O> {
    Fft::new(size.inputs(), size.outputs()).unwrap()
}

/// Half a unit of the last place of an f16 number of this magnitude, and at least half the smallest number.
pub(crate) fn half_rounding(magnitude: f64) -> f64 {
    (magnitude * 2f64.powi(-11)).max(2f64.powi(-25))
}

/// Bound on any output's error before it is rounded: `7 log2(outputs) u sqrt(outputs) ||2^k x||` holds for the root of
/// the sum of their squares.
pub(crate) fn f32_bound(outputs: usize, norm: f64) -> f64 {
    7.0 * (outputs as f64).log2() * 2f64.powi(-24) * (outputs as f64).sqrt() * norm
}
