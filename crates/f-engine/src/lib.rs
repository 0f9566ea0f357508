//! The F-engine: samples to quantised, delayed channels in frames, in one pass.
//!
//! [`FEngine`] does all that an F-engine does: packed or typed samples `[input][time]` become quantised, delayed
//! channels in frames `[frame][antenna][channel][spectrum][pol]`, or the correlator's rows; [`f_engine()`] does it to
//! one array; [`NarrowbandFEngine`] has a down-converter in front of it. The plan is a
//! [`Channelizer`](fringes_channelizer::Channelizer), delays are
//! [models](fringes_delay_model::DelayModel), and what is wrong with a plan, samples or gains is a
//! [`ChannelizerError`](fringes_channelizer::ChannelizerError).
//!
//! # Streams
//! An F-engine has the methods of all streams: see [`fringes_channelizer`]. It alone has [`FEngine::flush`], which
//! gives the frame that was begun, the rest of it absent; the stream goes on behind it.
//!
//! # Modules
//! Which spectra a chunk completes, where they go, and how a GPU makes them is the channelizer's, whose stream does the
//! same.
//!
//! ```text
//! builder   what is computed                        FEngineBuilder
//! engine    the stream: chunks in, frames out       FEngine, f_engine
//! input     a chunk on its way in, wherever it lies
//! output    what comes out                          Channelized, Frames
//! layout    how values of frames lie                HeapFrames, RowFrames
//! cpu       the spectra computed on the CPU
//! turned    frames written where X-engines of several GPUs read them   TurnedFEngine
//! narrowband   a down-converter in front, with one clock   NarrowbandFEngine
//! ```

mod builder;
mod cpu;
mod engine;
mod input;
mod layout;
mod narrowband;
mod output;
mod turned;

pub use builder::FEngineBuilder;
pub use engine::{FEngine, f_engine};
pub use layout::{FrameLayout, HeapFrames, RowFrames};
pub use narrowband::{Intermediate, NarrowbandFEngine, NarrowbandFEngineBuilder};
pub use output::{Channelized, ChannelizedOnDevice, DeviceFrames, Frames};
pub use turned::{Turned, TurnedFEngine};

pub use fringes_channelizer::{DeviceStatistics, Precision};
pub use fringes_cpu::f_engine::{FrameSample, InputStatistics};

use fringes_channelizer::internals::{Batch, Settings, Work};
