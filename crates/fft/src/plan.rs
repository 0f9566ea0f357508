//! The plan: what a transform computes.

use std::marker::PhantomData;
use std::ops::RangeInclusive;

use fringes_backend::{Backend, DeviceError, MemoryNeed};
use fringes_gpu::Device;
use fringes_types::{SampleFormat, f16};
use num_complex::Complex;

use crate::{FftError, FftOutput, FftSample, Size, cpu, gpu};

/// The sign of the exponent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Sign {
    /// `exp(+2 pi i q n / outputs)`, as FFT beams have it.
    Positive,
    /// `exp(-2 pi i q n / outputs)`, the forward transform.
    #[default]
    Negative,
}

impl Sign {
    /// +1 or -1.
    pub const fn value(self) -> f64 {
        match self {
            Self::Positive => 1.0,
            Self::Negative => -1.0,
        }
    }
}

/// What becomes of values that f16 cannot hold, 65520 and more in magnitude.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Overflow {
    /// They become infinite, and what is computed from them infinite or NaN.
    #[default]
    Infinity,
    /// They become +-65504, and finite input never gives infinity or NaN. On a GPU the arrays inside a transform are
    /// treated likewise.
    Saturate,
}

/// Exponents `k` of scales `2^k` that a plan can have: the phases of the first stage times `2^k` are zero or normal f16
/// numbers.
pub const SCALE_EXPONENTS: RangeInclusive<i32> = -10..=10;

/// A batch of transforms `Y[q] = 2^k sum_n exp(sign 2 pi i q n / outputs) X[n]` of samples `S` to outputs `O`.
///
/// | `S` | samples |
/// |---|---|
/// | `Complex<f16>` | real and imaginary part, half precision |
/// | `Complex<i8>` | real and imaginary part, 8 bits |
/// | [`Complex4`](fringes_types::Complex4) | 4 + 4 bits in a byte, real part in the high nibble |
///
/// | `O` | outputs |
/// |---|---|
/// | `Complex<f16>` | `Y[q]` |
/// | `f32` | `|Y[q]|^2` |
///
/// Inputs and outputs are one of [`SIZES`](crate::SIZES); with twice as many outputs as inputs, the input is as if
/// padded with zeros. A new plan is the forward transform, `sign = -1`, with scale 1.
///
/// # Layout
/// Samples are `[transform][n]` and outputs `[transform][q]`, `q` ascending from 0.
///
/// # Precision
/// On a GPU, f16 with one rounding a tensor-core instruction: see [`Fft::relative_error`]. On the CPU, f32, and f16
/// outputs rounded once. Where a component of an input exceeds [`Fft::largest_safe_input`], values inside a transform
/// may exceed f16's range: see [`Overflow`].
///
/// ```
/// use fringes_fft::{Fft, Sign};
/// use fringes_backend::Backend;
/// use fringes_types::{Complex, f16};
/// use ndarray::Array2;
///
/// // Three zero-padded transforms of a wave that turns by 3/512 from sample to sample.
/// let plan = Fft::<Complex<f16>, Complex<f16>>::new(256, 512)?.with_sign(Sign::Negative);
/// let samples = Array2::from_shape_fn((3, 256), |(_, n)| {
///     let wave = Complex::cis(std::f32::consts::TAU * 3.0 * n as f32 / 512.0);
///     Complex::new(f16::from_f32(wave.re), f16::from_f32(wave.im))
/// });
/// let spectra = plan.transform(&Backend::auto(), samples.view())?;
/// assert_eq!(spectra.dim(), (3, 512));
/// assert!((spectra[(0, 3)].re.to_f32() - 256.0).abs() < 1.0);
/// # Ok::<(), fringes_fft::FftError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fft<S, O> {
    size: Size,
    sign: Sign,
    scale_exponent: i32,
    overflow: Overflow,
    types: PhantomData<fn(S) -> O>,
}

impl<S: FftSample, O: FftOutput> Fft<S, O> {
    /// The forward transform of `inputs` samples to `outputs` outputs, with scale 1.
    ///
    /// # Errors
    /// [`FftError::Size`] if the sizes are none of [`SIZES`](crate::SIZES).
    pub fn new(inputs: usize, outputs: usize) -> Result<Self, FftError> {
        Ok(Self::of(Size::new(inputs, outputs)?))
    }

    /// The forward transform of this size, with scale 1.
    pub fn of(size: Size) -> Self {
        Self { size, sign: Sign::Negative, scale_exponent: 0, overflow: Overflow::Infinity, types: PhantomData }
    }

    /// Sets the sign of the exponent.
    pub fn with_sign(self, sign: Sign) -> Self {
        Self { sign, ..self }
    }

    /// Scales `Y` by `2^exponent`, and powers by `2^(2 exponent)`. On a GPU the scale is part of the first stage's
    /// phases: it costs nothing, and keeps the arrays inside the transform within f16's range as it does `Y`.
    ///
    /// # Precision
    /// The scale itself is exact. Values below `2^-14` are subnormal f16 numbers: each of them is rounded to a multiple
    /// of `2^-24`.
    ///
    /// # Errors
    /// [`FftError::ScaleExponent`] if it is not in [`SCALE_EXPONENTS`].
    pub fn with_scale_exponent(self, exponent: i32) -> Result<Self, FftError> {
        if !SCALE_EXPONENTS.contains(&exponent) {
            return Err(FftError::ScaleExponent { actual: exponent });
        }
        Ok(Self { scale_exponent: exponent, ..self })
    }

    /// Inputs and outputs.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Samples of a transform.
    pub fn inputs(&self) -> usize {
        self.size.inputs()
    }

    /// Outputs of a transform.
    pub fn outputs(&self) -> usize {
        self.size.outputs()
    }

    /// The sign of the exponent.
    pub fn sign(&self) -> Sign {
        self.sign
    }

    /// The exponent of the scale.
    pub fn scale_exponent(&self) -> i32 {
        self.scale_exponent
    }

    /// What becomes of values that f16 cannot hold.
    pub fn overflow(&self) -> Overflow {
        self.overflow
    }

    /// Bytes of the samples of so many transforms.
    pub fn input_bytes(&self, transforms: usize) -> u64 {
        bytes::<S>(transforms, self.inputs())
    }

    /// Bytes of the outputs of so many transforms.
    pub fn output_bytes(&self, transforms: usize) -> u64 {
        bytes::<O>(transforms, self.outputs())
    }

    /// What [`Fft::transform`] needs on a backend for so many transforms.
    ///
    /// On the CPU the workspace is that of every thread of the current rayon pool, the smallest step one thread's. On a
    /// GPU both are device memory for samples and outputs, the workspace that of parts of at most 1 GiB.
    ///
    /// # Errors
    /// [`DeviceError::NotOnGpu`] if the backend is a GPU and nothing else and there is no kernel of this size.
    pub fn memory(&self, backend: &Backend, transforms: usize) -> Result<MemoryNeed, DeviceError> {
        Ok(match self.gpu(backend)? {
            Some(_) => gpu::gpu_memory(self, transforms),
            None => cpu::memory(self, transforms),
        })
    }

    /// The GPU that transforms on a backend, `None` for the CPU.
    pub(crate) fn gpu<'a>(&self, backend: &'a Backend) -> Result<Option<&'a Device>, DeviceError> {
        backend.gpu_for(&format!("FFT of {} {} samples", self.size, S::FORMAT), gpu::has_kernel(self.size))
    }

    /// The largest magnitude of real and imaginary parts of samples with which no value inside a transform can exceed
    /// f16's range, for any signal.
    ///
    /// Every value inside a transform, and every partial sum, is a sum of samples times phases, each sample at most
    /// once. So its magnitude is at most `2^k inputs sqrt(2) m` for parts of at most `m`, but for roundings: each phase
    /// and each result is within `2^-11` of itself, and no value comes from more than 32 roundings one after another,
    /// so that they make it larger by less than a 32nd. The result is `65504 (1 - 1/32) / (2^k inputs sqrt(2))`: 175 at
    /// 256 inputs and scale 1.
    ///
    /// This is for the worst signal there is. Noise of larger values stays within f16 too, where the rms of a part
    /// times `2^k sqrt(inputs)` is several times below 65504.
    pub fn largest_safe_input(&self) -> f64 {
        let growth = 2f64.powi(self.scale_exponent) * self.inputs() as f64 * std::f64::consts::SQRT_2;
        f64::from(f16::MAX.to_f32()) * (1.0 - 1.0 / 32.0) / growth
    }

    /// Whether every value that the sample type can hold, in any signal, stays below [`Fft::largest_safe_input`]. Never
    /// so for f16 samples, whose largest value is that of f16 itself.
    pub fn is_safe(&self) -> bool {
        let largest = match S::FORMAT {
            SampleFormat::Int4 => 8.0,
            SampleFormat::Int8 => 128.0,
            _ => f64::from(f16::MAX.to_f32()),
        };
        largest <= self.largest_safe_input()
    }

    /// Bound on the rms error of `Y` relative to the rms of `Y`, over the outputs of a transform on a GPU, of noise
    /// within [`Fft::largest_safe_input`]: f16 arithmetic with f32 sums inside an instruction.
    ///
    /// The root of a power has at most the error of `Y`.
    ///
    /// | inputs | bound | noise, f16 outputs | saturating |
    /// |---|---|---|---|
    /// | 64 | 5.5e-4 | 4.3e-4 | 4.3e-4 |
    /// | 128 | 6.0e-4 | 5.1e-4 | 4.7e-4 |
    /// | 256 | 6.2e-4 | 5.2e-4 | 4.4e-4 |
    /// | 512 | 6.6e-4 | 5.7e-4 | 4.5e-4 |
    /// | 1024 | 7.0e-4 | 6.1e-4 | 4.4e-4 |
    ///
    /// The last columns are the largest rms errors of noise in any format that the kernels' tests see, of 1 to 33
    /// transforms.
    pub fn relative_error(&self) -> f64 {
        match self.inputs() {
            ..=64 => 5.5e-4,
            65..=128 => 6.0e-4,
            129..=256 => 6.2e-4,
            257..=512 => 6.6e-4,
            _ => 7.0e-4,
        }
    }
}

impl<S: FftSample> Fft<S, Complex<f16>> {
    /// Sets what becomes of values that f16 cannot hold. Powers, which are f32, have no such choice.
    pub fn with_overflow(self, overflow: Overflow) -> Self {
        Self { overflow, ..self }
    }
}

/// Bytes of `[rows][columns]`.
fn bytes<T>(rows: usize, columns: usize) -> u64 {
    (rows as u64).saturating_mul(columns as u64).saturating_mul(size_of::<T>() as u64)
}
