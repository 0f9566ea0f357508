//! The thread of the correlator: frames to dumps.

use std::sync::Arc;
use std::time::Instant;

use fringes_correlator::{CorrelatorError, IntegratorSet};
use fringes_types::Visibilities;

use super::frames::{FrameData, StreamSample, subset};
use super::stages::{FromFEngine, Shared, SinkQueues};
use crate::queue::QueueOut;
use crate::sink::{Dump, Product};
use crate::{Stage, StreamError, telemetry};

pub(super) struct XStage<V: StreamSample> {
    pub(super) integrators: IntegratorSet<V>,
    /// Antennas of each cadence, if not all.
    pub(super) subsets: Vec<Option<Vec<usize>>>,
    pub(super) input: QueueOut<FromFEngine<V>>,
    pub(super) sinks: SinkQueues,
    pub(super) shared: Arc<Shared>,
    /// Dumps that begin before this sample have been delivered by an earlier run.
    pub(super) from: u64,
}

impl<V: StreamSample> XStage<V> {
    pub(super) fn run(mut self) {
        let mut arrived = Instant::now();
        while let Some(message) = self.input.receive() {
            let start = Instant::now();
            let done = match message {
                FromFEngine::Frames(frames, at) => {
                    arrived = at;
                    self.frames(&frames, at)
                }
                FromFEngine::Restart => self.finish(None, arrived),
                FromFEngine::End(until) => self.finish(until, arrived),
            };
            self.shared.counters.correlator.since(start);
            if let Err(error) = done {
                return self.shared.fail(StreamError::at(Stage::Correlator, error));
            }
        }
    }

    fn frames(&mut self, frames: &FrameData<V>, arrived: Instant) -> Result<(), StreamError> {
        let clock = frames.clock();
        if self.integrators.next_sample().is_some_and(|next| clock.sample_of(frames.times()) <= next) {
            // Heaps from a network may come late; frames of an F-engine do not.
            self.shared.counters.late.add(1);
            metrics::counter!(telemetry::CHUNKS, "fate" => "late").increment(1);
            return Ok(());
        }
        let _span = tracing::trace_span!("correlator", first = clock.first_sample, times = frames.times()).entered();
        let push = |integrators: &mut IntegratorSet<V>| match frames {
            FrameData::Host(heaps) => integrators.push(heaps),
            FrameData::Device(heaps) => integrators.push(heaps),
        };
        let dumps = match push(&mut self.integrators) {
            Err(CorrelatorError::Gap { .. }) => {
                tracing::warn!(found = clock.first_sample, "a gap of too many dumps: the stream begins anew");
                self.shared.counters.clock_jumps.add(1);
                metrics::counter!(telemetry::CLOCK_JUMPS).increment(1);
                self.finish(None, arrived)?;
                push(&mut self.integrators)?
            }
            dumps => dumps?,
        };
        dumps.into_iter().try_for_each(|(cadence, dump)| self.give(cadence, dump, arrived))
    }

    fn give(
        &mut self,
        cadence: usize,
        dump: Visibilities<V::Accumulator>,
        arrived: Instant,
    ) -> Result<(), StreamError> {
        let first = dump.clock().first_sample;
        if first < self.from {
            return Ok(());
        }
        let dump = match self.subsets.get(cadence) {
            Some(Some(antennas)) => subset(&dump, antennas)?,
            _ => dump,
        };
        let counters = &self.shared.counters;
        counters.dumps.add(1);
        if cadence == 0 {
            counters.last_dump.raise(first + 1);
        }
        let all = dump.times().saturating_mul(dump.valid_samples().len() as u64);
        let invalid = 1.0 - dump.valid_samples().sum() as f64 / all.max(1) as f64;
        metrics::counter!(telemetry::DUMPS, "cadence" => cadence.to_string()).increment(1);
        metrics::gauge!(telemetry::INVALID, "cadence" => cadence.to_string()).set(invalid);
        tracing::debug!(cadence, first, invalid, "dump");
        let product = Product::Dump(Arc::new(Dump { cadence, sums: V::sums(dump) }));
        self.sinks.give(&product, arrived);
        Ok(())
    }

    /// Gives the dumps under way that begin before a sample, unless nothing of them came.
    fn finish(&mut self, until: Option<u64>, arrived: Instant) -> Result<(), StreamError> {
        for (cadence, dump) in self.integrators.finish()? {
            let wanted = until.is_none_or(|until| dump.clock().first_sample < until);
            if wanted && dump.valid_samples().iter().any(|&valid| valid > 0) {
                self.give(cadence, dump, arrived)?;
            }
        }
        Ok(())
    }
}
