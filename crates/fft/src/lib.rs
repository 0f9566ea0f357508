//! Batched Fourier transforms of telescope voltages: 64 to 1024 points, zero-padded to twice as many or not, many at a
//! time.
//!
//! `Y[q] = 2^k sum_n exp(sign 2 pi i q n / outputs) X[n]` with `inputs` samples `n`, `outputs` outputs `q` and
//! `outputs = inputs` or `2 inputs`.
//!
//! | what | in | out |
//! |---|---|---|
//! | [`Fft::transform`] | samples `[transform][n]` of f16, 8 or 4 bits, on the host | spectra in f16, or their powers, `[transform][q]` |
//! | [`FftKernels::transform`] | the same in device buffers | the same, in the order of a stream |
//!
//! [`Fft::transform`] runs on the backend it is given: on a GPU each warp does a transform in its registers, on tensor
//! cores; on the CPU it is a transform in f32 whose outputs are rounded. FFT beams of lines of feeds, with gains, are
//! an operation of the crate `fringes-beamformer`.
//!
//! ```
//! use fringes_fft::{Fft, Sign};
//! use fringes_backend::Backend;
//! use fringes_types::Complex4;
//! use ndarray::Array2;
//!
//! // Powers of 512 beams of a line of 256 feeds, from 4+4-bit voltages at 1000 times.
//! let fft = Fft::<Complex4, f32>::new(256, 512)?.with_sign(Sign::Positive);
//! let wave = Complex4::new(3, -4).ok_or("outside -7..=7")?; // from straight above
//! let voltages = Array2::from_elem((1000, 256), wave);
//! let powers = fft.transform(&Backend::auto(), voltages.view())?;
//! assert_eq!(powers.dim(), (1000, 512));
//! let (expected, power) = ((3f32.powi(2) + 4f32.powi(2)) * 256f32.powi(2), powers[(0, 0)]);
//! assert!((power / expected - 1.0).abs() < 2e-3, "{power}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cpu;
mod error;
mod generated;
mod gpu;
mod one_call;
mod phases;
mod plan;
mod sample;
mod size;

pub use error::FftError;
pub use gpu::FftKernels;
pub use plan::{Fft, Overflow, SCALE_EXPONENTS, Sign};
pub use sample::{FftOutput, FftSample};
pub use size::{SIZES, Size};

/// What other crates of Fringes, tests and measurements use: no promise is made about it.
#[doc(hidden)]
pub mod internals {
    pub use crate::gpu::{gpu_memory, has_kernel};
    pub use crate::phases::{input_places, output_places, phase_power, phase_table, split_phase_table};
}
