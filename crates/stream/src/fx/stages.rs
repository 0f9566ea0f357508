//! What the stages of an instrument share, and the messages between them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::changes::{Change, Part};
use super::controls::Controls;
use super::frames::FrameData;
use super::report::Counters;
use crate::queue::{QueueIn, Sent};
use crate::sink::{Overflow, Product, Takes};
use crate::source::Received;
use crate::{SampleBlock, StreamError, TimeShares, telemetry};
use fringes_types::VoltageSample;

/// From the source.
#[allow(clippy::large_enum_variant, reason = "one message of a run is no chunk")]
pub(super) enum FromSource {
    /// A chunk, and when it came.
    Chunk(Received, Instant),
    /// No more comes. Dumps that begin at this sample or later are not wanted.
    End(Option<u64>),
}

/// From the F-engine.
pub(crate) enum FromFEngine<V: VoltageSample> {
    /// Frames, and when the chunk came that completed them.
    Frames(Arc<FrameData<V>>, Instant),
    /// What follows is another stream.
    Restart,
    /// No more comes. Dumps that begin at this sample or later are not wanted.
    End(Option<u64>),
}

impl<V: VoltageSample> Clone for FromFEngine<V> {
    fn clone(&self) -> Self {
        match self {
            Self::Frames(frames, arrived) => Self::Frames(frames.clone(), *arrived),
            Self::Restart => Self::Restart,
            Self::End(until) => Self::End(*until),
        }
    }
}

/// What all threads see.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) counters: Counters,
    pub(super) controls: Controls,
    /// What is this rank's of the instrument.
    pub(super) part: Part,
    /// Stop when the dump under way is complete.
    pub(crate) stop_at_dump: AtomicBool,
    /// Stop now.
    pub(super) stop_now: AtomicBool,
    /// Samples behind the start of a spectrum that it needs.
    pub(super) lead: AtomicU64,
    pub(super) error: Mutex<Option<StreamError>>,
    /// Changes that the other ranks are to be told of, and how many ranks the corner turn has.
    pub(super) to_tell: Mutex<Vec<Change>>,
    pub(super) ranks: usize,
    /// The furthest sample that another rank's source has come to, as far as this one was told.
    pub(crate) others_next_sample: AtomicU64,
    /// How the instrument takes turns with others, and its number among them.
    pub(super) turns: Option<(TimeShares, usize)>,
}

impl Shared {
    /// Keeps the first error.
    pub(crate) fn fail(&self, error: StreamError) {
        tracing::error!(%error, "a stage failed");
        let mut first = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_none() {
            *first = Some(error);
        }
        drop(first);
        self.stop_now.store(true, Ordering::Relaxed);
    }

    /// A stream begins anew at a sample that is far behind the expected one: the clock jumped, unless that is the time
    /// of other instruments.
    pub(super) fn jumped(&self, expected: u64, found: u64) {
        if self.turns.is_some_and(|(shares, rank)| shares.is_of_others(rank, expected..found)) {
            tracing::debug!(expected, found, "the next span begins");
            return;
        }
        tracing::warn!(expected, found, "the clock jumped; the stream begins anew");
        self.counters.clock_jumps.add(1);
        metrics::counter!(telemetry::CLOCK_JUMPS).increment(1);
    }
}

impl Shared {
    /// Changes that the other ranks are to be told of, which they are then.
    pub(crate) fn take_to_tell(&self) -> Vec<Change> {
        std::mem::take(&mut *self.to_tell.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes this rank's part of a change that all ranks have been told of.
    ///
    /// # Errors
    /// [`StreamError::Change`] for what does not fit the whole instrument.
    pub(crate) fn change(&self, change: &Change) -> Result<(), StreamError> {
        self.counters.turn.note_change();
        self.part.change(change, &self.controls)
    }

    /// The first error in words.
    pub(crate) fn failure(&self) -> Option<String> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(ToString::to_string)
    }
}

/// The queue of a sink: products, and when the chunk came that completed them.
pub(super) type SinkQueue = QueueIn<(Product, Instant)>;

/// The queues of the sinks.
#[derive(Clone)]
pub(super) struct SinkQueues {
    pub(super) queues: Vec<(SinkQueue, Takes, Overflow)>,
    pub(super) shared: Arc<Shared>,
}

impl SinkQueues {
    /// Gives a product to all sinks that take it.
    pub(super) fn give(&self, product: &Product, arrived: Instant) {
        for ((queue, takes, overflow), counters) in self.queues.iter().zip(&self.shared.counters.sinks) {
            if !takes.includes(product) {
                continue;
            }
            let sent = match overflow {
                Overflow::Block => queue.send((product.clone(), arrived)),
                Overflow::DropNewest => queue.try_send((product.clone(), arrived)),
            };
            let fate = match sent {
                Sent::Queued => continue,
                Sent::Full => {
                    counters.dropped.add(1);
                    "dropped"
                }
                Sent::Closed => {
                    counters.undelivered.add(1);
                    "undelivered"
                }
            };
            let sink = counters.name.clone();
            metrics::counter!(telemetry::PRODUCTS, "sink" => sink, "fate" => fate).increment(1);
        }
    }
}

/// Chunks on their way back to the source.
pub(super) type Returned = crossbeam_channel::Sender<SampleBlock>;
