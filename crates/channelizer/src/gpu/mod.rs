//! The F-engine on a GPU: tables of a plan, jobs of a launch, and the kernels.
//!
//! The kernels are for 256 to 4096 channels (powers of two) of real packed samples, critically sampled, with 4, 8 or 16 taps. How they work and what they are
//! bound by is said in their crate, `kernels-rs/channelizer`.

mod job;
mod kernels;
pub mod tables;

pub use job::{JOB_WORDS, Job};
pub use kernels::{DeviceChannelizer, FrameFormat, JobTable, Place};
