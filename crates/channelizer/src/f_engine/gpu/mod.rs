//! The F-engine's spectra on a GPU.
//!
//! ```text
//! seam      which samples are held, and what moves     host arithmetic, tested without a GPU
//! phases    phases of neighbouring spectra as lines    "
//! order     where values lie                           "
//! jobs      a chunk's spectra as jobs of launches      "
//! tables    jobs and spans on their way to the device
//! kernels   which kernel runs them
//! engine    buffers and launches
//! ```

mod engine;
mod jobs;
mod kernels;
mod order;
mod phases;
mod seam;
mod tables;

pub(super) use engine::{GpuEngine, Queued};
pub(super) use kernels::{check, check_format};
pub(super) use order::Order;
