//! Batched Fourier transforms of telescope voltages: 64 to 1024 points, zero-padded to twice as many or not, many at a time.
//!
//! `Y[q] = 2^k sum_n exp(sign 2 pi i q n / outputs) X[n]` with `inputs` samples `n`, `outputs` outputs `q` and `outputs = inputs` or `2 inputs`.
//!
//! | what | in | out |
//! |---|---|---|
//! | [`Plan::execute`] | samples `[transform][n]` of f16, 8 or 4 bits, on the host | spectra in f16, or their powers, `[transform][q]` |
//! | [`gpu::DevicePlan`] | the same in device buffers | the same, in the order of a stream |
//! | [`BeamFft::form`] | voltages `[channel][time][input]` of lines of feeds, 8 or 4 bits, and gains | FFT beams `[channel][time][beam]`, or their powers |
//! | [`gpu::DeviceBeams`] | the same in device buffers | the same, in the order of a stream |
//!
//! [`Plan::execute`] runs on the backend it is given: on a GPU each warp does a transform in its registers, on tensor cores; on the CPU it is
//! a transform in f32 whose outputs are rounded.
//!
//! ```
//! use fringes_fft::{Plan, Sign};
//! use fringes_backend::Backend;
//! use fringes_types::Complex4;
//! use ndarray::Array2;
//!
//! // Powers of 512 beams of a line of 256 feeds, from 4+4-bit voltages at 1000 times.
//! let plan = Plan::<Complex4, f32>::new(256, 512)?.with_sign(Sign::Positive);
//! let voltages = Array2::from_elem((1000, 256), Complex4::new(3, -4).ok_or("outside -7..=7")?); // a wave from straight above
//! let powers = plan.execute(&Backend::auto(), voltages.view())?;
//! assert_eq!(powers.dim(), (1000, 512));
//! let (expected, power) = ((3f32.powi(2) + 4f32.powi(2)) * 256f32.powi(2), powers[(0, 0)]);
//! assert!((power / expected - 1.0).abs() < 2e-3, "{power}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod beam;
mod cpu;
mod error;
mod execute;
mod generated;
pub mod gpu;
mod phases;
mod plan;
mod sample;
mod size;

#[doc(hidden)]
pub use beam::gain_exponents;
pub use beam::{BeamFft, BeamOutput, BeamSample, FeedLines};
pub use error::FftError;
#[doc(hidden)]
pub use phases::phase_table;
pub use plan::{Overflow, Plan, SCALE_EXPONENTS, Sign};
pub use sample::{FftOutput, FftSample};
pub use size::{SIZES, Size};
