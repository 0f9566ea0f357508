//! The thread of a sink.

use std::sync::Arc;
use std::time::Instant;

use super::stages::Shared;
use crate::queue::QueueOut;
use crate::sink::{Product, Sink};
use crate::{Stage, StreamError, telemetry};

pub(super) struct SinkStage {
    pub(super) sink: Box<dyn Sink>,
    /// Its place among the sinks.
    pub(super) number: usize,
    pub(super) input: QueueOut<(Product, Instant)>,
    pub(super) shared: Arc<Shared>,
    /// Whether its error ends the instrument.
    pub(super) ends: bool,
}

impl SinkStage {
    pub(super) fn run(mut self) {
        let shared = self.shared.clone();
        let Some(counters) = shared.counters.sinks.get(self.number) else { return };
        let fate = |fate: &'static str| {
            let sink = counters.name.clone();
            metrics::counter!(telemetry::PRODUCTS, "sink" => sink, "fate" => fate).increment(1);
        };
        let bytes = metrics::counter!(telemetry::BYTES, "sink" => counters.name.clone());
        let latency = metrics::histogram!(telemetry::LATENCY, "sink" => counters.name.clone());
        let mut failed = false;
        while let Some((product, arrived)) = self.input.receive() {
            if failed {
                counters.undelivered.add(1);
                fate("undelivered");
                continue;
            }
            let start = Instant::now();
            let written = self.sink.write(&product);
            counters.busy.since(start);
            match written {
                Ok(()) => {
                    counters.written.add(1);
                    counters.bytes.add(product.bytes());
                    bytes.increment(product.bytes());
                    fate("written");
                    if matches!(product, Product::Dump(_)) {
                        let took = arrived.elapsed();
                        counters.latencies.add(1);
                        counters.latency_total.add(took.as_nanos() as u64);
                        counters.latency_most.raise(took.as_nanos() as u64);
                        latency.record(took.as_secs_f64());
                    }
                }
                Err(error) => {
                    counters.undelivered.add(1);
                    fate("undelivered");
                    failed = true;
                    self.fail(error);
                }
            }
        }
        let start = Instant::now();
        let finished = self.sink.finish();
        counters.busy.since(start);
        if let Err(error) = finished
            && !failed
        {
            self.fail(error);
        }
    }

    fn fail(&self, error: crate::BoxError) {
        let error = StreamError::at(Stage::Sink(self.sink.name().into()), error);
        if self.ends {
            self.shared.fail(error);
        } else {
            tracing::error!(%error, "a sink failed; the instrument goes on without it");
        }
    }
}
