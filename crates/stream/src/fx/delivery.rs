//! Dumps on their way to the sinks, and the thread that brings those of a GPU to the host.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use fringes_backend::{DeviceArray, Downloader};
use fringes_cpu::memory::try_zeroed_vec;
use fringes_types::{LinearArray, TypesError, Visibilities};

use super::frames::{StreamSample, subset};
use super::stages::{Shared, SinkQueues};
use crate::queue::QueueOut;
use crate::sink::{Dump, Product};
use crate::{Stage, StreamError, telemetry};

/// A dump that is complete, wherever its sums lie.
pub(super) struct Finished<D> {
    pub(super) cadence: usize,
    pub(super) bin: Option<usize>,
    pub(super) sums: D,
    /// When the chunk came that completed it.
    pub(super) arrived: Instant,
}

/// What gives dumps to the sinks.
pub(super) struct Delivery {
    /// Antennas of each cadence, if not all.
    pub(super) subsets: Vec<Option<Vec<usize>>>,
    pub(super) sinks: SinkQueues,
    pub(super) shared: Arc<Shared>,
    /// Dumps that begin before this sample have been delivered by an earlier run.
    pub(super) from: u64,
}

impl Delivery {
    /// Gives a dump to the sinks that take it; says which, unless an earlier run has delivered it.
    pub(super) fn give<V: StreamSample>(
        &self,
        Finished { cadence, bin, sums, arrived }: Finished<Visibilities<V::Accumulator>>,
    ) -> Result<Option<Arc<Dump>>, StreamError> {
        let first = sums.clock().first_sample;
        if first < self.from {
            return Ok(None);
        }
        let dump = match self.subsets.get(cadence) {
            Some(Some(antennas)) => subset(&sums, antennas)?,
            _ => sums,
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
        let dump = Arc::new(Dump { cadence, bin, sums: V::sums(dump) });
        self.sinks.give(&Product::Dump(dump.clone()), arrived);
        Ok(Some(dump))
    }
}

/// A dump on a device.
pub(super) type OnDevice<V> = Visibilities<
    <V as fringes_types::VoltageSample>::Accumulator,
    DeviceArray<'static, <V as fringes_types::VoltageSample>::Accumulator>,
>;

/// The thread that brings dumps to the host, while the correlator goes on with the next one.
pub(super) struct DumpStage<V: StreamSample> {
    pub(super) downloader: Downloader,
    pub(super) input: QueueOut<Finished<OnDevice<V>>>,
    pub(super) delivery: Delivery,
    /// The last dumps: memory of those that no sink has any more is used again, since pages of new memory cost time.
    pub(super) given: VecDeque<Arc<Dump>>,
}

/// Dumps whose memory is kept.
const KEPT: usize = 2;

impl<V: StreamSample> DumpStage<V> {
    pub(super) fn run(mut self) {
        while let Some(finished) = self.input.receive() {
            if let Err(error) = self.deliver(finished) {
                return self.delivery.shared.fail(StreamError::at(Stage::Correlator, error));
            }
        }
    }

    fn deliver(
        &mut self,
        Finished { cadence, bin, sums, arrived }: Finished<OnDevice<V>>,
    ) -> Result<(), crate::BoxError> {
        // An earlier run has delivered it.
        if sums.clock().first_sample < self.delivery.from {
            return Ok(());
        }
        let memory = self.memory(sums.array().len())?;
        let host = self.downloader.visibilities(&sums, memory)?;
        drop(sums);
        self.given.extend(self.delivery.give::<V>(Finished { cadence, bin, sums: host, arrived })?);
        if self.given.len() > KEPT {
            self.given.pop_front();
        }
        Ok(())
    }

    /// Memory for a dump of so many sums.
    fn memory(&mut self, length: usize) -> Result<Vec<V::Accumulator>, TypesError> {
        let free = self.given.iter().position(|dump| Arc::strong_count(dump) == 1);
        let dump = free.and_then(|place| self.given.remove(place)).and_then(Arc::into_inner);
        let memory = dump.and_then(|dump| V::memory(dump.sums)).filter(|memory| memory.len() == length);
        let too_large = || TypesError::TooLarge { array: "dump", elements: length.to_string() };
        memory.or_else(|| try_zeroed_vec(length)).ok_or_else(too_large)
    }
}
