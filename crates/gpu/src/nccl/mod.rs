//! Messages between GPUs, of one process or many, by NVIDIA's library NCCL.
//!
//! ```no_run
//! use fringes_gpu::nccl::{Communicators, Exchange};
//! use fringes_gpu::{Buffer, Device, GpuError};
//!
//! # fn main() -> Result<(), GpuError> {
//! let devices = [Device::open(0)?, Device::open(1)?];
//! let streams = [devices[0].new_stream()?, devices[1].new_stream()?];
//! let mut communicators = Communicators::new(&devices)?;
//! // GPU 0 sends three bytes to GPU 1, and gets five.
//! let sent = [Buffer::from_slice(&streams[0], &[1u8, 2, 3])?, Buffer::from_slice(&streams[1], &[4u8; 5])?];
//! let mut got = [Buffer::<u8>::zeroed(&streams[0], 5)?, Buffer::<u8>::zeroed(&streams[1], 3)?];
//! let [to_0, to_1] = &mut got;
//! communicators.exchange(&mut [
//!     Exchange::new(&streams[0]).send(1, sent[0].view()).receive(1, to_0.view_mut()),
//!     Exchange::new(&streams[1]).send(0, sent[1].view()).receive(0, to_1.view_mut()),
//! ])?;
//! assert_eq!(got[1].to_vec(&streams[1])?, [1, 2, 3]);
//! # Ok(())
//! # }
//! ```
//!
//! # The library
//! Nothing is needed where a program is built. When NCCL is first asked for, the file that the environment variable
//! `FRINGES_NCCL` names is loaded, or else `libnccl.so.2` or `libnccl.so` by the system's rules (`LD_LIBRARY_PATH`
//! among them); any version from 2.7 on has what is called. Without one, the error is
//! [`GpuError::NoNccl`](crate::GpuError::NoNccl). The Python packages `nvidia-nccl-cu13` and `nvidia-nccl-cu12`, which
//! PyTorch brings, have it in their folder `nvidia/nccl/lib`.

mod communicator;
mod communicators;
mod exchange;
mod library;

pub use communicator::{Communicator, CommunicatorId};
pub use communicators::Communicators;
pub use exchange::Exchange;
pub use library::{LIBRARY_VARIABLE, version};
