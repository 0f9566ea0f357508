//! Transforms on the GPU: stream-ordered operations on device buffers.

mod batch;
mod kernels;
mod ptx;
mod texts;

pub use batch::gpu_memory;
pub(crate) use batch::transform;
pub use kernels::FftKernels;
pub use ptx::has_kernel;
