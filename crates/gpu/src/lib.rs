//! GPUs from Rust: devices, streams, typed buffers, kernels whose launches are checked, timing, graphs.
//!
//! The only crate of Fringes that calls the NVIDIA driver. It builds, links and starts on a machine without one, and
//! then says so with [`GpuError::NoDriver`].
//!
//! | what | where |
//! |---|---|
//! | which GPUs there are | [`devices`], [`DeviceInfo`] |
//! | the GPU to work on | [`Device::best`], [`Device::open`] |
//! | queues of work, marks in them | [`Stream`], [`Event`] |
//! | device memory | [`Buffer`], parts of it [`BufferView`] and [`BufferViewMut`], reused [`BufferPool`], over several devices [`SpannedBuffer`] |
//! | host memory for copies that do not wait | [`PinnedBuffer`], [`PinnedPool`] |
//! | kernels | [`PtxSet`], [`Device::load`], [`Module::kernel`], [`Kernel::launch`], [`args!`] |
//! | times | [`time`] |
//! | the fastest variant of a kernel | [`tuning`] |
//! | work captured once and queued again | [`Graph`] |
//! | arrays for the copy engine | [`TensorMap`] |
//! | several GPUs: copies between them, memory that others reach | [`BufferViewMut::copy_across`], [`BufferViewMut::copy_blocks_from`], [`Device::enable_peer_access`] |
//! | several GPUs: messages by NCCL | `nccl`, feature `nccl` |
//! | other software's contexts, streams and memory | [`Device::from_raw_context`], [`Stream::from_raw`], [`Buffer::from_external`], [`Device::check_memory`], features `cudarc` and `cust` |
//!
//! ```no_run
//! use fringes_gpu::{Buffer, Device, GpuError, LaunchConfig, PtxSet, args};
//!
//! # static SAXPY: PtxSet = PtxSet::new("");
//! # fn main() -> Result<(), GpuError> {
//! let device = Device::best()?;
//! let stream = device.new_stream()?;
//! let saxpy = device.load(&SAXPY)?.kernel("saxpy")?; // saxpy(a: f32, x: Global<f32>, y: GlobalMut<f32>) threads=256
//!
//! let x = Buffer::from_slice(&stream, &[1.0f32, 2.0, 3.0])?;
//! let mut y = Buffer::from_slice(&stream, &[10.0f32, 20.0, 30.0])?;
//! let config = LaunchConfig::for_elements(x.len(), 256)?;
//! // SAFETY: `saxpy` stays inside of its views, and no other stream uses the buffers.
//! unsafe { saxpy.launch(&stream, &config, args![2.0f32, &x, &mut y])? };
//! assert_eq!(y.to_vec(&stream)?, [12.0, 24.0, 36.0]);
//! # Ok(())
//! # }
//! ```
//!
//! # Order
//! Calls that take a stream and do not say that they wait return at once; their work is done in the order of the
//! stream. Work on different streams, of one device or of two, is ordered by events ([`Stream::wait`]). Where such an
//! order is missing, numbers can be wrong, but memory of the host is safe: device memory is freed only when the device
//! is done with it, and pinned memory is not shown while the device may write it.
//!
//! # Errors
//! Every failure is a [`GpuError`]. What fails on the device is returned by the next call that meets it, at the latest
//! by the next synchronisation. Where nothing can be returned, in a `Drop`, it is reported through `tracing::error!`,
//! and the next call on the device returns it too.
//!
//! # Threads
//! Every type is `Send` and `Sync`. A call makes its device's context current for its duration only, so that it does
//! not disturb other CUDA software on the thread.

mod argument;
mod blocks;
mod buffer;
mod context;
mod copy;
#[cfg(feature = "cudarc")]
pub mod cudarc;
#[cfg(feature = "cust")]
pub mod cust;
mod device;
mod driver;
mod error;
mod event;
mod foreign;
mod graph;
mod info;
mod kernel;
mod launch;
mod module;
#[cfg(feature = "nccl")]
pub mod nccl;
mod peer;
mod pinned;
mod pinned_pool;
mod pool;
mod ptx;
mod safe_launch;
mod spanned;
mod stream;
mod tensor_map;
mod timing;
pub mod tuning;
mod view;

pub use argument::{Argument, KernelElement};
pub use blocks::{BlockPitch, Blocks};
pub use buffer::Buffer;
pub use device::{DEVICE_VARIABLE, Device, LOWEST_COMPUTE_CAPABILITY, MemoryInfo, device_count, devices};
pub use error::GpuError;
pub use event::Event;
pub use fringes_kernel_declaration as declaration;
pub use graph::Graph;
pub use info::{DeviceInfo, LaunchLimits};
pub use kernel::{Kernel, KernelAttributes};
pub use launch::{LaunchConfig, check_launch};
pub use module::Module;
pub use pinned::PinnedBuffer;
pub use pinned_pool::PinnedPool;
pub use pool::{BufferPool, PoolStatistics};
pub use ptx::{PtxSet, PtxTarget, PtxText};
pub use spanned::SpannedBuffer;
pub use stream::Stream;
pub use tensor_map::{L2Promotion, Swizzle, TensorElement, TensorLayout, TensorMap, TensorView};
pub use timing::{Timing, time};
pub use view::{BufferView, BufferViewMut};

/// The driver's own types, for [`Stream::from_raw`], [`Device::from_raw_context`] and the `raw` functions.
pub mod sys {
    pub use cudarc::driver::sys::{CUcontext, CUevent, CUfunction, CUstream, CUtensorMap};
}
