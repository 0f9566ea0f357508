//! The correlator on the GPU: stream-ordered operations on device buffers.
//!
//! [`correlate`](crate::correlate) and [`Correlator`](crate::Correlator) use these for 8-bit and 4+4-bit voltages. Software that has its
//! data on the device already calls them itself:
//!
//! ```no_run
//! use fringes_correlator::gpu::{CorrelatorKernels, Shape};
//! use fringes_gpu::{Buffer, Device};
//! use num_complex::Complex;
//!
//! let device = Device::best()?;
//! let stream = device.new_stream()?;
//! let kernels = CorrelatorKernels::load(&device)?;
//! let shape = Shape::new(128, 4096, 1024).ok_or("too large")?; // channels, times, inputs
//! let voltages = Buffer::<Complex<i8>>::zeroed(&stream, shape.samples())?; // [channel][time][input]
//! let mut rows = Buffer::<u8>::alloc(&device, shape.row_bytes())?; // [channel][time / 64][input][64]
//! let mut sums = Buffer::<Complex<i32>>::alloc(&device, shape.visibilities())?; // [channel][baseline]
//! kernels.pack(&stream, shape, voltages.view(), None, &mut rows.view_mut())?;
//! kernels.correlate(&stream, shape, rows.view(), &mut sums.view_mut())?;
//! let visibilities = sums.to_vec(&stream)?; // waits for the stream
//! # let _ = visibilities;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Precision
//! Exact: 32-bit sums of up to [`MAX_LAUNCH_TIMES`] times within a launch, 64-bit sums across launches.

mod kernels;
mod shape;
mod sums;

pub use kernels::{CorrelatorKernels, DeviceVoltage};
pub use shape::{MAX_LAUNCH_TIMES, ROW_BYTES, ROW_TIMES, Shape};
pub use sums::memory;
pub(crate) use sums::{DeviceSums, has_kernel};
