//! The F-engine: samples to quantised, delayed channels in frames, in one pass.
//!
//! ```text
//! builder   what is computed                        FEngineBuilder
//! engine    the stream: chunks in, frames out       FEngine, channelize_frames
//! output    what comes out                          Channelized, Frames
//! batch     which spectra of a chunk go where       shared by all backends, as is the crate's timeline of spectra
//! cpu       the spectra computed on the CPU
//! gpu       the spectra computed on a GPU, and frames in its memory
//! ```

mod batch;
mod builder;
mod cpu;
mod engine;
mod gpu;
mod output;

pub use builder::FEngineBuilder;
pub use engine::{FEngine, channelize_frames};
pub use gpu::{DeviceChannelized, DeviceFrames};
pub use output::{Channelized, FrameSample, Frames};

use batch::{Batch, Job, Settings};
