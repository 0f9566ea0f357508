//! Random voltages, their rows by definition, and their exact sums.

use fringes::correlator::internals::Shape;
use fringes::{Complex, Complex4, VoltageSample};
use ndarray::{Array3, ArrayView2, ArrayView3};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

/// Voltages of integers.
pub(crate) trait Voltage: VoltageSample<Accumulator = Complex<i64>> {
    /// A sample of two random bytes, over the format's whole range.
    fn from_random(bytes: [u8; 2]) -> Self;
    /// The sample as 8-bit parts.
    fn parts(self) -> Complex<i8>;
}

impl Voltage for Complex<i8> {
    fn from_random(bytes: [u8; 2]) -> Self {
        let [re, im] = bytes.map(|byte| (byte as i8).max(-127));
        Complex::new(re, im)
    }

    fn parts(self) -> Complex<i8> {
        self
    }
}

impl Voltage for Complex4 {
    fn from_random(bytes: [u8; 2]) -> Self {
        let [re, im] = bytes.map(|byte| ((byte as i8) >> 4).max(-7));
        Complex4(((re as u8) << 4) | (im as u8 & 0x0f))
    }

    fn parts(self) -> Complex<i8> {
        Complex::new(self.re(), self.im())
    }
}

/// Random voltages `[channel][time][input]`.
pub(crate) fn voltages<V: Voltage>(shape: Shape, seed: u64) -> Array3<V> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut word = 0u64;
    let mut left = 0;
    let dimensions = (shape.channels(), shape.times(), shape.inputs());
    Array3::from_shape_simple_fn(dimensions, || {
        if left == 0 {
            (word, left) = (random.random(), 4);
        }
        let sample = V::from_random([word as u8, (word >> 8) as u8]);
        (word, left) = (word >> 16, left - 1);
        sample
    })
}

/// Presence flags `[time][input]`, seven of ten true.
pub(crate) fn flags(shape: Shape, seed: u64) -> ndarray::Array2<bool> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    ndarray::Array2::from_shape_simple_fn((shape.times(), shape.inputs()), || random.random_bool(0.7))
}

/// Rows `[channel][time / 64][input][64]` by their definition; times past the end hold `past`.
pub(crate) fn rows(shape: Shape, voltages: ArrayView3<'_, Complex<i8>>, past: u8) -> Vec<u8> {
    let mut rows = vec![past; shape.row_bytes()];
    let block = shape.inputs() * 128;
    rows.par_chunks_mut(block).enumerate().for_each(|(index, rows)| {
        let (channel, start) = (index / shape.blocks(), index % shape.blocks() * 64);
        for time in start..shape.times().min(start + 64) {
            for input in 0..shape.inputs() {
                let value = voltages[(channel, time, input)];
                let place = input * 128 + 2 * (time - start);
                rows[place] = value.re as u8;
                rows[place + 1] = value.im as u8;
            }
        }
    });
    rows
}

/// Most products for which the reference's loops are fast enough.
const REFERENCE_PRODUCTS: usize = 4_000_000;

/// Exact sums `[channel][baseline]`, and where they come from: the reference's loops where that is quick, else the CPU
/// backend.
pub(crate) fn sums<V: Voltage>(
    shape: Shape,
    voltages: ArrayView3<'_, V>,
    present: Option<ArrayView2<'_, bool>>,
) -> (Vec<Complex<i64>>, &'static str) {
    if shape.visibilities() * shape.times() <= REFERENCE_PRODUCTS {
        let wide = voltages.mapv(|value| {
            let Complex { re, im } = value.parts();
            Complex::new(i64::from(re), i64::from(im))
        });
        let sums = fringes_reference::correlator::correlate_int(wide.view(), present).sums;
        return (sums.into_iter().collect(), "fringes_reference::correlate_int (i64 loops)");
    }
    let mut sums = ndarray::Array2::zeros((shape.channels(), shape.baselines()));
    fringes_cpu::correlator::accumulate(voltages, present, sums.view_mut(), None);
    (sums.into_iter().collect(), "the CPU backend (exact, held to the reference by its tests)")
}
