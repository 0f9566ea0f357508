//! The F-engine: samples to quantised, delayed channels in frames, in one pass.
//!
//! ```text
//! builder   what is computed                        FEngineBuilder
//! engine    the stream: chunks in, frames out       FEngine, f_engine
//! input     what goes in, wherever it lies          SampleInput
//! output    what comes out                          Channelized, Frames
//! layout    how values of frames lie                HeapFrames, RowFrames
//! batch     which spectra of a chunk go where       shared by all backends, as is the crate's timeline of spectra
//! cpu       the spectra computed on the CPU
//! gpu       the spectra computed on a GPU, and frames in its memory
//! ```

mod batch;
mod builder;
mod cpu;
mod engine;
mod gpu;
mod input;
mod layout;
mod output;

pub use builder::FEngineBuilder;
pub use engine::{FEngine, f_engine};
pub use input::SampleInput;
pub use layout::{FrameLayout, HeapFrames, RowFrames};
pub use output::{Channelized, DeviceFrames, FrameSample, Frames};

use batch::{Batch, Job, Settings};
