//! Samples of transforms, their spectra in f64, and the judgement of what a GPU makes of them.

use fringes::fft::{Fft, FftOutput, FftSample, Size};
use fringes::{Complex, Complex4, f16};
use num_complex::Complex64 as C64;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

/// A format of samples.
pub(crate) trait Sample: FftSample {
    /// A sample of random bits: integers of the format's whole range, the most negative too; or numbers from -1 to 1.
    fn from_random(bits: u32) -> Self;
    /// A sample of small integers, -7 to 7.
    fn from_parts(re: i8, im: i8) -> Self;
    /// The sample as a number.
    fn number(self) -> C64;
}

impl Sample for Complex<f16> {
    fn from_random(bits: u32) -> Self {
        let [re, im] = [bits as i16, (bits >> 16) as i16].map(|part| f16::from_f32(f32::from(part) / 32768.0));
        Self::new(re, im)
    }

    fn from_parts(re: i8, im: i8) -> Self {
        Self::new(f16::from(re), f16::from(im))
    }

    fn number(self) -> C64 {
        C64::new(self.re.to_f64(), self.im.to_f64())
    }
}

impl Sample for Complex<i8> {
    fn from_random(bits: u32) -> Self {
        Self::new(bits as i8, (bits >> 16) as i8)
    }

    fn from_parts(re: i8, im: i8) -> Self {
        Self::new(re, im)
    }

    fn number(self) -> C64 {
        C64::new(f64::from(self.re), f64::from(self.im))
    }
}

impl Sample for Complex4 {
    fn from_random(bits: u32) -> Self {
        Self(bits as u8)
    }

    fn from_parts(re: i8, im: i8) -> Self {
        Self((re as u8) << 4 | (im as u8 & 15))
    }

    fn number(self) -> C64 {
        // Two's complement: the highest bit of a nibble weighs -8.
        let value = |nibble: u8| f64::from(nibble & 7) - f64::from(nibble & 8);
        C64::new(value(self.0 >> 4), value(self.0 & 15))
    }
}

/// Outputs that are judged.
pub(crate) trait Output: FftOutput {
    /// How far the output, or the root of a power, is from what it should be.
    fn error(self, expected: C64) -> f64;
}

impl Output for Complex<f16> {
    fn error(self, expected: C64) -> f64 {
        (C64::new(self.re.to_f64(), self.im.to_f64()) - expected).norm()
    }
}

impl Output for f32 {
    fn error(self, expected: C64) -> f64 {
        (f64::from(self).sqrt() - expected.norm()).abs()
    }
}

/// Noise `[transform][n]`.
pub(crate) fn noise<S: Sample>(transforms: usize, size: Size, seed: u64) -> Vec<S> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..transforms * size.inputs()).map(|_| S::from_random(random.random())).collect()
}

/// As many transforms as there are inputs, each of one sample that is not zero, every time another one.
pub(crate) fn impulses<S: Sample>(size: Size) -> Vec<S> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
    let mut samples = vec![S::from_parts(0, 0); size.inputs() * size.inputs()];
    for (n, row) in samples.chunks_exact_mut(size.inputs()).enumerate() {
        row[n] = S::from_parts(random.random_range(1..=7), random.random_range(-7..=7));
    }
    samples
}

/// Spectra `[transform][q]` of samples `[transform][n]`, as the plan defines them.
pub(crate) fn spectra<S: Sample, O: FftOutput>(plan: &Fft<S, O>, samples: &[S]) -> Vec<C64> {
    let outputs = plan.outputs();
    let sign = plan.sign().value();
    let scale = 2f64.powi(plan.scale_exponent());
    let root = |k: usize| {
        let root = fringes_reference::dft::root_of_unity(k as u64, outputs as u64);
        if sign > 0.0 { root } else { root.conj() }
    };
    let roots: Vec<C64> = (0..outputs / 2).map(root).collect();
    let mut spectra = vec![C64::default(); samples.len() / plan.inputs() * outputs];
    spectra.par_chunks_mut(outputs).zip(samples.par_chunks(plan.inputs())).for_each(|(spectrum, samples)| {
        for (value, sample) in spectrum.iter_mut().zip(samples) {
            *value = sample.number() * scale;
        }
        transform(spectrum, &roots);
    });
    spectra
}

/// The transform of a power of two of values in place, halving it again and again; `roots` are the first half of the
/// roots of unity. Held to `fringes_reference::dft` by the tests.
fn transform(values: &mut [C64], roots: &[C64]) {
    let length = values.len();
    let bits = length.trailing_zeros();
    for index in 0..length {
        let other = index.reverse_bits() >> (usize::BITS - bits);
        if index < other {
            values.swap(index, other);
        }
    }
    for stage in 0..bits {
        let half = 1 << stage;
        for block in values.chunks_exact_mut(2 * half) {
            let (low, high) = block.split_at_mut(half);
            for (k, (low, high)) in low.iter_mut().zip(high).enumerate() {
                let turned = *high * roots[k * (length / (2 * half))];
                (*low, *high) = (*low + turned, *low - turned);
            }
        }
    }
}

/// How far outputs are from spectra, relative to the rms of all spectra.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Error {
    pub(crate) rms: f64,
    pub(crate) largest: f64,
    /// Outputs compared.
    count: usize,
}

impl Error {
    /// Of outputs that should be these spectra.
    pub(crate) fn of<O: Output>(spectra: &[C64], outputs: &[O]) -> Self {
        let (mut squares, mut powers, mut largest) = (0.0, 0.0, 0.0f64);
        for (output, expected) in outputs.iter().zip(spectra) {
            let error = output.error(*expected);
            squares += error * error;
            powers += expected.norm_sqr();
            largest = largest.max(error);
        }
        let count = spectra.len();
        let rms = (powers / count as f64).sqrt();
        Self { rms: (squares / powers).sqrt(), largest: largest / rms, count }
    }

    /// Whether the rms is within a bound on rms errors, but for what the rms of so few numbers scatters by; and every
    /// error within six times the bound.
    pub(crate) fn within(&self, bound: f64) -> Result<(), String> {
        let rms_bound = bound * (1.0 + 4.0 / (2.0 * self.count as f64).sqrt());
        // NaN is within nothing.
        let within = self.rms <= rms_bound && self.largest <= 6.0 * bound;
        if within {
            Ok(())
        } else {
            Err(format!("expected rms {rms_bound:.2e} and 6 times that at most, found {self}"))
        }
    }

    /// The larger of both, by rms.
    pub(crate) fn or(self, other: Self) -> Self {
        let largest = self.largest.max(other.largest);
        Self { largest, ..if self.rms >= other.rms { self } else { other } }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rms {:.2e}, largest {:.2e} of the spectra's rms", self.rms, self.largest)
    }
}
