//! The spectra of a stream: which of a chunk go where, and how a GPU makes them. The F-engine's frames, and a
//! channelizer's voltages as frames of their own.
//!
//! ```text
//! batch     which spectra of a chunk go into which frame     shared by all backends, as is the crate's timeline
//! seam      which samples are held, and what moves           host arithmetic, tested without a GPU
//! phases    phases of neighbouring spectra as lines          "
//! order     where values lie                                 "
//! runs      a chunk's spectra as runs, of which jobs are made  "
//! tables    runs and spans on their way to the device, where runs become jobs
//! kernels   which kernel runs them
//! frames    buffers of frames that are complete, and of those that come next
//! engine    buffers and launches
//! statistics of the samples of a chunk
//! voltages  the same for a channelizer: voltages `[channel][time][input]` in place of frames
//! ```

pub mod batch;
mod engine;
mod frames;
mod kernels;
mod order;
mod phases;
mod runs;
pub(crate) mod seam;
mod statistics;
pub(crate) mod tables;
pub(crate) mod voltages;

pub use batch::{Batch, Part, Settings, Work};
pub use engine::GpuEngine;
pub use frames::Queued;
pub use kernels::{check, check_format, spectra_together};
pub use order::{Order, RingOrder};
pub use statistics::DeviceStatistics;
