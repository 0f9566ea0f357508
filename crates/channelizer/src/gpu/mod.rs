//! The F-engine on a GPU: tables of a plan, jobs of a launch, and the kernels.
//!
//! | kernels | of |
//! |---|---|
//! | [`DeviceChannelizer`] | 256 to 65536 channels (powers of two) of real packed samples of 8 or 10 bits, critically sampled, with up to 32 taps |
//! | [`DeviceGeneral`] | any plan of up to 16384 channels of factors 2, 3 and 5, up to 64 taps, all formats |
//! | [`DeviceFilter`] | the filter alone, to f32: multiples of 64 channels, real packed samples of 2 to 11 bits, critically sampled, up to 32 taps |
//!
//! How they work and what they are bound by is said in their crates, `kernels-rs/f-engine/two-pass`, `kernels-rs/f-engine/one-pass` and `kernels-rs/f-engine/filter`.

pub(crate) mod chunk;
mod filter;
pub(crate) mod format;
pub(crate) mod general;
mod job;
mod kernels;
pub(crate) mod samples;
pub mod shape;
pub mod tables;
mod texts;

pub use filter::{DeviceFilter, FilterShape};
pub use general::DeviceGeneral;
pub use job::{JOB_PIECES, JOB_WORDS, Job};
pub use kernels::{DeviceChannelizer, FrameFormat, JobTable, Place};
