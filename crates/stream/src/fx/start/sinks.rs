//! The sinks: their queues, counters and threads.

use std::sync::Arc;

use super::super::PlannedSink;
use super::super::report::{Busy, Counter, SinkCounters};
use super::super::running::Thread;
use super::super::sink_stage::SinkStage;
use super::super::stages::{Shared, SinkQueue, SinkQueues};
use crate::queue::{QueueOut, queue};
use crate::sink::{Overflow, Product, Takes};
use crate::{Stage, StreamError};

/// Products, and when the chunk came that completed them.
type Products = QueueOut<(Product, std::time::Instant)>;

/// Sinks that were not started.
#[derive(Default)]
pub(super) struct Sinks {
    /// Taken for those of the instrument.
    pub(super) counters: Vec<SinkCounters>,
    queues: Vec<(SinkQueue, Takes, Overflow)>,
    inputs: Vec<(PlannedSink, Products)>,
}

impl Sinks {
    /// Sinks with queues of so many messages.
    pub(super) fn new(planned: Vec<PlannedSink>, depth: usize) -> Self {
        let mut all = Self::default();
        for (number, planned) in planned.into_iter().enumerate() {
            let name = planned.sink.name().to_owned();
            let (sends, receives, deepest) = queue(format!("sink {number} {name}"), depth);
            all.counters.push(SinkCounters {
                busy: Busy::new(Stage::Sink(name.clone()).to_string()),
                name,
                written: Counter::default(),
                bytes: Counter::default(),
                dropped: Counter::default(),
                undelivered: Counter::default(),
                latency_total: Counter::default(),
                latency_most: Counter::default(),
                latencies: Counter::default(),
                deepest,
            });
            all.queues.push((sends, planned.sink.takes(), planned.overflow));
            all.inputs.push((planned, receives));
        }
        all
    }

    /// Starts their threads, and gives what products are given to.
    pub(super) fn start(self, shared: &Arc<Shared>, threads: &mut Vec<Thread>) -> Result<SinkQueues, StreamError> {
        let queues = SinkQueues { queues: self.queues, shared: shared.clone() };
        for (number, (planned, input)) in self.inputs.into_iter().enumerate() {
            let stage = Stage::Sink(planned.sink.name().into());
            let of = SinkStage { sink: planned.sink, number, input, shared: shared.clone(), ends: planned.ends };
            threads.push(Thread::start(stage, shared, move || of.run())?);
        }
        Ok(queues)
    }
}
