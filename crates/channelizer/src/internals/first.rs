//! The first kernel of two passes: products on tensor cores for plans and samples that they suit, multiply-adds for
//! others.

use fringes_gpu::LaunchConfig;

use super::Job;
use super::fast_samples::FastSamples;
use super::format::Numbers;
use super::passes::{MOST_TAPS, sixteens};
use super::shape::Shape;
use super::strided::Strided;
use super::tables::{self, Weights};
use crate::{Channelizer, ChannelizerError};

/// Words that a kernel may be told beside what all are.
pub const MOST_TOLD: usize = 5;

/// The first kernel of a plan and a format of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum First {
    /// Products of spectra a step apart, by the kind of samples.
    Products(FastSamples),
    /// Any others.
    Strided(Strided),
}

/// Most taps of products of real samples of 8 and 10 bits, where the first digit has eight points.
const MOST_TAPS_OF_EIGHT: usize = 64;

/// Whether spectra of a plan may be products.
fn has_products(plan: &Channelizer, shape: &Shape, samples: FastSamples) -> bool {
    let most = match samples {
        FastSamples::Real { bits: 8 | 10 } if shape.radix() == 8 => MOST_TAPS_OF_EIGHT,
        _ => MOST_TAPS,
    };
    plan.stride() == plan.step() && plan.taps() <= most && matches!(shape.radix(), 8 | 16)
}

/// Times 16 taps that products have room for: 1, 2 or 4.
fn room(taps: usize) -> usize {
    sixteens(taps).next_power_of_two()
}

impl First {
    /// That of a plan, for samples that are such numbers, where blocks may have so many bytes of shared memory.
    ///
    /// # Errors
    /// As [`Strided::new`].
    pub fn new(
        plan: &Channelizer,
        shape: &Shape,
        numbers: Numbers,
        shared_bytes: u32,
    ) -> Result<Self, ChannelizerError> {
        let needed = |samples: FastSamples| samples.columns(shape, 1, room(plan.taps())).shared_bytes;
        match FastSamples::of(numbers) {
            Ok(samples) if has_products(plan, shape, samples) && needed(samples) <= shared_bytes => {
                Ok(Self::Products(samples))
            }
            _ => Ok(Self::Strided(Strided::new(plan, shape, numbers)?)),
        }
    }

    /// The one whose tables take the most memory.
    ///
    /// # Errors
    /// As [`Strided::new`].
    pub fn largest(plan: &Channelizer, shape: &Shape) -> Result<Self, ChannelizerError> {
        let strided = Strided::largest(plan, shape)?;
        let products = [FastSamples::largest(plan.is_complex()), FastSamples::Real { bits: 10 }];
        let products = products.into_iter().find(|&samples| has_products(plan, shape, samples));
        Ok(match products {
            Some(samples) if samples.is_complex() == plan.is_complex() => Self::Products(samples),
            _ => Self::Strided(strided),
        })
    }

    /// Whether samples are complex.
    pub fn is_complex(&self) -> bool {
        match self {
            Self::Products(samples) => samples.is_complex(),
            Self::Strided(strided) => strided.is_complex(),
        }
    }

    /// Name of the kernel, for so many taps.
    pub fn name(&self, shape: &Shape, taps: usize) -> String {
        match self {
            Self::Products(samples) => samples.columns_name(shape, room(taps)),
            Self::Strided(strided) => strided.name(),
        }
    }

    /// Part of the kernels' PTX that has it, and part and name of the second kernel.
    pub fn parts(&self, shape: &Shape) -> [String; 2] {
        let first = match self {
            Self::Products(samples) => samples.part(),
            Self::Strided(_) => "strided",
        };
        let rows = if self.is_complex() { "complex" } else { "rows" };
        let second = if shape.is_told() {
            format!("{rows}_mixed_{}", shape.rows())
        } else {
            format!("{rows}_{}", shape.channels())
        };
        [first.into(), second]
    }

    /// Its launch for `groups` groups and so many taps.
    pub fn columns(&self, shape: &Shape, groups: usize, taps: usize) -> LaunchConfig {
        match self {
            Self::Products(samples) => samples.columns(shape, groups, room(taps)),
            Self::Strided(strided) => strided.columns(groups),
        }
    }

    /// Weights of columns, as it reads them.
    pub fn weights(&self, weights: &[f64], step: usize) -> Weights {
        match self {
            Self::Products(samples) => samples.weights(weights, step, room(weights.len() / step)),
            Self::Strided(strided) => {
                let exponent = tables::wide_exponent(weights);
                Weights { pairs: strided.weights(weights, exponent), tails: vec![[0; 2]], exponent }
            }
        }
    }

    /// Bytes of these weights of `taps` times `step` columns.
    pub fn weight_bytes(&self, step: usize, taps: usize) -> u64 {
        match self {
            Self::Products(samples) => samples.weight_bytes(step, room(taps)),
            // Both parts of a complex sample have weights, and an entry beside them is not read.
            Self::Strided(strided) => (step * taps * if strided.is_complex() { 8 } else { 4 } + 8) as u64,
        }
    }

    /// What gains are multiplied by, for weights with that exponent.
    pub fn gain_scale(&self, exponent: i32) -> f64 {
        // The step from a complex to a real transform gives twice its values.
        2f64.powi(-exponent) * if self.is_complex() { 1.0 } else { 0.5 }
    }

    /// Roots of the step to a real transform; of complex samples an entry that is not read.
    pub fn roots(&self, shape: &Shape) -> Vec<[f32; 2]> {
        if self.is_complex() { vec![[0.0; 2]] } else { tables::roots(shape) }
    }

    /// How many [`roots`](Self::roots) there are: memory is asked about with every chunk, so none is computed.
    pub fn root_count(&self, shape: &Shape) -> usize {
        if self.is_complex() { 1 } else { shape.channels() + 1 }
    }

    /// What the kernel is told beside what all are, and how many words of it.
    pub fn told(&self) -> ([u32; MOST_TOLD], usize) {
        match self {
            Self::Products(samples) => ([samples.integer_bits(), 0, 0, 0, 0], if samples.is_told() { 1 } else { 0 }),
            Self::Strided(strided) => (strided.told(), MOST_TOLD),
        }
    }

    /// Adds to the phases of a job what its spectra have by their places in time ([`Strided::refer`]).
    pub fn refer(&self, job: &mut Job) {
        if let Self::Strided(strided) = self {
            strided.refer(job);
        }
    }
}

#[cfg(test)]
mod tests {
    use fringes_types::{ChunkFormat, SampleFormat};

    use super::*;

    #[test]
    fn products_are_of_plans_and_samples_that_suit_them() {
        let name_on = |plan: &Channelizer, bits, shared_bytes| {
            let (shape, numbers) = (Shape::new(plan.channels()).unwrap(), Numbers::of(ChunkFormat::Packed { bits }));
            First::new(plan, &shape, numbers.unwrap(), shared_bytes).unwrap().name(&shape, plan.taps())
        };
        let name = |plan: &Channelizer, bits| name_on(plan, bits, 227 << 10);
        let plan = |taps, ratio: (usize, usize)| {
            Channelizer::real(512).taps(taps).oversampling(ratio.0, ratio.1).build().unwrap()
        };
        assert_eq!(name(&plan(32, (1, 1)), 10), "columns_b10_m2_r8");
        assert_eq!(name(&plan(33, (1, 1)), 10), "columns_b10_m4_r8");
        assert_eq!(name(&plan(33, (1, 1)), 12), "strided_b12_r8");
        assert_eq!(name(&Channelizer::real(64).taps(4).build().unwrap(), 10), "strided_b12_r2");
        assert_eq!(name(&plan(4, (1, 1)), 11), "strided_b12_r8");
        // Nor of a first digit that is no power of two.
        for (channels, expected) in [(1536, "strided_b12_r12"), (2560, "strided_b12_r10"), (768, "strided_b12_r6")] {
            assert_eq!(name(&Channelizer::real(channels).taps(4).build().unwrap(), 10), expected);
        }
        assert_eq!(name(&plan(4, (1, 1)), 13), "strided_integers_r8");
        assert_eq!(name(&plan(4, (32, 27)), 16), "strided_integers_r8");
        for (format, expected) in
            [(SampleFormat::Float16, "strided_f16_r8"), (SampleFormat::Float32, "strided_floats_r8")]
        {
            let numbers = Numbers::of(ChunkFormat::Typed { format, complex: false }).unwrap();
            let (plan, shape) = (plan(4, (32, 27)), Shape::new(512).unwrap());
            assert_eq!(First::new(&plan, &shape, numbers, 227 << 10).unwrap().name(&shape, 4), expected);
        }
        // An A100 has 163 KiB.
        let long = Channelizer::real(8192).taps(17).build().unwrap();
        assert_eq!(name(&long, 10), "columns_b10_m2_r16");
        assert_eq!(name_on(&long, 10, 163 << 10), "strided_b12_r16");
    }

    #[test]
    fn bytes_of_weights_are_those_of_the_tables() {
        for (complex, taps) in [(false, 40), (true, 40), (false, 16), (true, 16), (false, 64)] {
            let builder = if complex { Channelizer::complex(256) } else { Channelizer::real(256) };
            let plan = builder.taps(taps).build().unwrap();
            let first = First::largest(&plan, &Shape::new(256).unwrap()).unwrap();
            let weights = first.weights(plan.weights(), plan.step());
            let bytes = 16 * weights.pairs.len() + 8 * weights.tails.len();
            assert_eq!(first.weight_bytes(plan.step(), taps), bytes as u64, "{complex} {taps}");
        }
    }
}
