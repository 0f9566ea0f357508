//! The F-engine: samples to quantised, delayed channels in frames, in one pass.
//!
//! ```text
//! builder   what is computed                        FEngineBuilder
//! engine    the stream: chunks in, frames out       FEngine, channelize_frames
//! output    what comes out                          Channelized, Frames
//! batch     which spectra of a chunk go where       shared by all backends, as is the crate's timeline of spectra
//! cpu       the spectra computed on the CPU
//! ```

mod batch;
mod builder;
mod cpu;
mod engine;
mod output;

pub use builder::FEngineBuilder;
pub use engine::{FEngine, channelize_frames};
pub use output::{Channelized, FrameSample, Frames};

use batch::{Batch, Job, Settings};
