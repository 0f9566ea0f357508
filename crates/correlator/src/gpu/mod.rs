//! The correlator on the GPU: stream-ordered operations on device buffers.
//!
//! [`correlate`](crate::correlate) and [`Correlator`](crate::Correlator) use such kernels for all formats, and choose among them by size
//! ([`sweep`] measures them). Software that has its data on the device already calls them itself:
//!
//! ```no_run
//! use fringes_correlator::gpu::{CorrelatorKernels, PackKernels, Shape};
//! use fringes_correlator::layout::VoltageShape;
//! use fringes_gpu::{Buffer, Device};
//! use num_complex::Complex;
//!
//! let device = Device::best()?;
//! let stream = device.new_stream()?;
//! let (pack, kernels) = (PackKernels::load(&device)?, CorrelatorKernels::load(&device)?);
//! let layout = VoltageShape { channels: 128, times: 4096, inputs: 1024 };
//! let shape = Shape::new(128, 4096, 1024).ok_or("too large")?; // channels, times, inputs
//! let voltages = Buffer::<Complex<i8>>::zeroed(&stream, shape.samples())?; // [channel][time][input]
//! let mut rows = Buffer::<u8>::alloc(&device, shape.row_bytes())?; // [channel][time / 64][input][64]
//! let mut sums = Buffer::<Complex<i32>>::alloc(&device, shape.visibilities())?; // [channel][baseline]
//! pack.pack(&stream, layout, 0..layout.times, voltages.view(), None, &mut rows.view_mut())?;
//! kernels.correlate(&stream, shape, rows.view(), &mut sums.view_mut())?;
//! let visibilities = sums.to_vec(&stream)?; // waits for the stream
//! # let _ = visibilities;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Precision
//! Exact: 32-bit sums of up to [`MAX_LAUNCH_TIMES`] times within a launch, 64-bit sums across launches.

mod engine;
pub mod float;
mod kernels;
pub mod mma;
mod pack;
mod reduce;
mod shape;
mod sums;
mod texts;
pub mod wgmma;

pub use engine::{Measured, OPERATIONS, sweep};
pub use kernels::{CorrelatorKernels, Path};
pub use pack::PackKernels;
pub use reduce::{Clamp, DeviceSum, NarrowSum, ReduceKernels, Reduction};
pub use shape::{MAX_LAUNCH_TIMES, ROW_BYTES, ROW_TIMES, Shape};
pub use sums::memory;
pub(crate) use sums::{DeviceSums, has_kernel, is_integer};
