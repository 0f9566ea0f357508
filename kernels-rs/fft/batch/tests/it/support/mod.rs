//! Samples of a kernel, its run in the emulator, and what it must compute.

use fringes_emulator::{GlobalMemory, Launch, Report};
use fringes_fft::internals::phase_table;
use fringes_fft::{Sign, Size};
use fringes_kernels_fft_batch::{BatchKernel, Run, batch::WARPS};
use fringes_reference::dft::dft;
use half::f16;
use num_complex::Complex64;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// What a kernel stored.
pub(crate) enum Outputs {
    /// Complex results.
    Spectra(Vec<Complex64>),
    /// Powers.
    Powers(Vec<f64>),
}

/// Samples for a kernel.
pub(crate) struct Case<'a> {
    kernel: &'a BatchKernel,
    size: Size,
    /// As numbers, which the format has exactly.
    samples: Vec<Complex64>,
}

/// Root of the mean square.
pub(crate) fn rms(values: &[Complex64]) -> f64 {
    (values.iter().map(|y| y.norm_sqr()).sum::<f64>() / values.len() as f64).sqrt()
}

/// The results as numbers, one after the other.
pub(crate) fn values(outputs: Outputs) -> Vec<f64> {
    match outputs {
        Outputs::Spectra(values) => values.into_iter().flat_map(|y| [y.re, y.im]).collect(),
        Outputs::Powers(values) => values,
    }
}

/// The results as bits.
pub(crate) fn bits(outputs: Outputs) -> Vec<u64> {
    values(outputs).into_iter().map(f64::to_bits).collect()
}

impl<'a> Case<'a> {
    /// Samples by transform and `n`.
    pub(crate) fn of(kernel: &'a BatchKernel, transforms: usize, sample: impl Fn(usize, usize) -> Complex64) -> Self {
        let (inputs, outputs) = kernel.size().unwrap();
        let size = Size::new(inputs, outputs).unwrap();
        let samples = (0..transforms * inputs).map(|at| sample(at / inputs, at % inputs)).collect();
        Self { kernel, size, samples }
    }

    /// Noise that uses the whole range of the format (f16: about 1).
    pub(crate) fn noise(kernel: &'a BatchKernel, transforms: usize, seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut part = || match kernel.samples() {
            "f16" => f16::from_f64((0..12).map(|_| random.random_range(-0.5..0.5)).sum::<f64>()).to_f64(),
            "i8" => f64::from(random.random_range(-127..=127)),
            _ => f64::from(random.random_range(-7..=7)),
        };
        let mut case = Self::of(kernel, transforms, |_, _| Complex64::default());
        case.samples.fill_with(|| Complex64::new(part(), part()));
        case
    }

    /// One transform for each `n`, with a sample of 5 there.
    pub(crate) fn impulses(kernel: &'a BatchKernel, inputs: usize) -> Self {
        Self::of(kernel, inputs, |transform, n| Complex64::from(if transform == n { 5.0 } else { 0.0 }))
    }

    /// The samples as the kernel reads them.
    fn words(&self) -> Vec<u32> {
        let bytes: Vec<u8> = match self.kernel.samples() {
            "f16" => {
                self.samples.iter().flat_map(|x| [x.re, x.im]).flat_map(|x| f16::from_f64(x).to_le_bytes()).collect()
            }
            "i8" => self.samples.iter().flat_map(|x| [x.re as i8 as u8, x.im as i8 as u8]).collect(),
            _ => self.samples.iter().map(|x| (x.re as i8 as u8) << 4 | x.im as i8 as u8 & 15).collect(),
        };
        bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
    }

    /// Equation (1) in f64.
    pub(crate) fn expected(&self, sign: Sign) -> Vec<Complex64> {
        let sign = if sign == Sign::Positive { 1.0 } else { -1.0 };
        let transforms = self.samples.chunks(self.size.inputs());
        let padded = transforms.map(|x| {
            let mut x = x.to_vec();
            x.resize(self.size.outputs(), Complex64::default());
            x
        });
        padded.flat_map(|x| dft(&x, sign)).collect()
    }

    /// Runs the kernel on two blocks.
    pub(crate) fn run(&self, sign: Sign, scale_exponent: i32, seed: Option<u64>) -> (Outputs, Report) {
        self.run_on(2, sign, scale_exponent, seed)
    }

    /// Runs the kernel on so many blocks.
    pub(crate) fn run_on(&self, blocks: u32, sign: Sign, scale_exponent: i32, seed: Option<u64>) -> (Outputs, Report) {
        let transforms = self.samples.len() / self.size.inputs();
        let results = transforms * self.size.outputs();
        let mut memory = GlobalMemory::new();
        let samples = memory.upload(&self.words());
        let phases = memory.upload(&phase_table(self.size, sign, scale_exponent));
        let mut launch = Launch::new(self.kernel.declaration, [blocks, 1, 1], [32 * WARPS, 1, 1]);
        if let Some(seed) = seed {
            launch = launch.seed(seed);
        }
        match self.kernel.run {
            Run::Half(kernel) => {
                let spectra = memory.allocate::<[u32; 2]>(results / 2);
                let run = || kernel(samples.into(), phases.into(), spectra.into(), transforms as u32);
                let report = launch.run(&mut memory, run);
                let half = |bits: u32| f16::from_bits(bits as u16).to_f64();
                let pairs = memory.values(spectra);
                let spectra = pairs.into_iter().flatten().map(|y| Complex64::new(half(y), half(y >> 16))).collect();
                (Outputs::Spectra(spectra), report)
            }
            Run::Power(kernel) => {
                let powers = memory.allocate::<[f32; 2]>(results / 2);
                let run = || kernel(samples.into(), phases.into(), powers.into(), transforms as u32);
                let report = launch.run(&mut memory, run);
                let powers = memory.values(powers).into_iter().flatten().map(f64::from).collect();
                (Outputs::Powers(powers), report)
            }
        }
    }
}
