//! Instruments in one process: voltages in, dumps and beams out, every queue bounded, every fault counted.
//!
//! - [`Fx`] is the instrument: F-engine, correlator and beams as stages on threads of their own.
//! - [`source`] has where voltages come from: recordings, SPEAD, a simulator, chunks of a program, two polarisations
//!   that come apart, faults on purpose. [`source::Source`] is the trait of others.
//! - [`sink`] has where dumps and beams go: UVH5, UVFITS, npz, filterbanks, SPEAD, memory. [`sink::Sink`] is the trait
//!   of others.
//! - [`turn`] spreads an instrument over GPUs and hosts, by an [`exchange`].
//! - [`telemetry`] has the names of what is counted.
//!
//! Source: the stages and their queues are those of MeerKAT's correlator (katgpucbf's documentation, "Queues" and
//! "Transfers"), in one process.

mod chunk;
mod error;
pub mod exchange;
pub mod fx;
#[cfg(debug_assertions)]
#[doc(hidden)]
pub mod instances;
mod queue;
mod ring;
pub mod sink;
pub mod source;
pub mod telemetry;
pub mod time_shares;
pub mod turn;

pub use chunk::{HeapBlock, SampleBlock};
pub use error::{BoxError, Stage, StreamError};
pub use fx::{Change, Control, Ended, Fx, InstrumentControl, Report, Running, SinkReport, StreamSample};
pub use ring::{RingFormat, RingWritten};
pub use time_shares::TimeShares;
pub use turn::{CornerTurn, TurnPlan};
