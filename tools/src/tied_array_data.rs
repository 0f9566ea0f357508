//! Weights and voltages of tied-array beams that are known exactly: whole numbers.

use fringes::beamformer::WeightPrecision;
use fringes::types::SampleFormat;
use fringes::{BeamWeights, Complex, TypesError, VoltageSample};
use ndarray::Array3;
use num_complex::Complex64 as C64;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Largest part of weights that a precision holds as they are, if each beam and channel has it.
pub(crate) fn largest(precision: WeightPrecision, format: SampleFormat) -> i32 {
    match precision {
        _ if format == SampleFormat::Float16 => 1023,
        WeightPrecision::Int8 => 127,
        WeightPrecision::Int16 => 32_639,
        // In place of f16, 16-bit integers.
        WeightPrecision::Float16 if format == SampleFormat::Int4 => 32_639,
        WeightPrecision::Float16 => 1023,
    }
}

/// Weights `[beam][channel][input]` of whole parts, the largest of each beam and channel being `most`.
pub(crate) fn weights(shape: [usize; 3], most: i32, seed: u64) -> Result<BeamWeights, TypesError> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let [beams, channels, inputs] = shape;
    BeamWeights::new(Array3::from_shape_fn((beams, channels, inputs), |(beam, channel, input)| {
        let mut part = || random.random_range(-most..=most) as f32;
        let (re, im) = (part(), part());
        if input == (beam + channel) % inputs { Complex::new(-(most as f32), im) } else { Complex::new(re, im) }
    }))
}

/// Voltages `[channel][time][input]` that are samples: no most negative values; f16 are multiples of 1/256.
pub(crate) fn voltages<V: VoltageSample>(shape: [usize; 3], seed: u64, of: impl Fn([i32; 2]) -> V) -> Array3<V> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let most = match V::FORMAT {
        SampleFormat::Int4 => 7,
        SampleFormat::Int8 => 127,
        _ => 1000,
    };
    Array3::from_shape_simple_fn((shape[0], shape[1], shape[2]), || {
        of([random.random_range(-most..=most), random.random_range(-most..=most)])
    })
}

/// A number.
pub(crate) fn wide(value: Complex<f32>) -> C64 {
    C64::new(value.re.into(), value.im.into())
}
