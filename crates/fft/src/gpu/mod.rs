//! Transforms on the GPU: stream-ordered operations on device buffers.
//!
//! [`Plan::execute`](crate::Plan::execute) uses these. Software that has its samples on the device already calls them itself:
//!
//! ```no_run
//! use fringes_fft::{Plan, gpu::DevicePlan};
//! use fringes_gpu::{Buffer, Device};
//! use fringes_types::{Complex, Complex4, f16};
//!
//! let device = Device::best()?;
//! let stream = device.new_stream()?;
//! let plan = Plan::<Complex4, Complex<f16>>::new(256, 512)?;
//! let transform = DevicePlan::load(&device, &plan)?; // once
//! let samples = Buffer::<Complex4>::zeroed(&stream, 1000 * 256)?; // [transform][n]
//! let mut spectra = Buffer::<Complex<f16>>::alloc(&device, 1000 * 512)?; // [transform][q]
//! transform.execute(&stream, samples.view(), &mut spectra.view_mut(), 1000)?;
//! let spectra = spectra.to_vec(&stream)?; // waits for the stream
//! # let _ = spectra;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Precision
//! See [`Plan::relative_error`](crate::Plan::relative_error).

mod batch;
mod beam;
mod device_plan;
mod ptx;
mod texts;

pub(crate) use batch::execute;
pub use batch::memory;
pub(crate) use beam::form_beams;
pub use beam::{BLOCK_WARPS, BeamLaunch, BeamShape, DeviceBeams, memory as beam_memory};
pub use device_plan::{DevicePlan, MAX_LAUNCH_TRANSFORMS};
pub use ptx::{has_beam_kernel, has_kernel};
