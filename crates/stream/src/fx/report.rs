//! What an instrument has done: counters that its stages share, and what is read of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::source::SourceCounts;
use crate::{Stage, StreamError};

/// A counter that a stage adds to.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn raise(&self, to: u64) {
        self.0.fetch_max(to, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Time that a stage, or a device for it, has worked.
#[derive(Debug)]
pub(crate) struct Busy {
    nanoseconds: Counter,
    metric: metrics::Counter,
}

impl Busy {
    pub(crate) fn new(stage: String) -> Self {
        let metric = metrics::counter!(crate::telemetry::STAGE_TIME, "stage" => stage);
        Self { nanoseconds: Counter::default(), metric }
    }

    /// Of a device.
    pub(crate) fn on_device(work: &'static str) -> Self {
        let metric = metrics::counter!(crate::telemetry::DEVICE_TIME, "work" => work);
        Self { nanoseconds: Counter::default(), metric }
    }

    /// Adds the time since.
    pub(crate) fn since(&self, start: Instant) {
        self.add(start.elapsed());
    }

    /// Adds a time.
    pub(crate) fn add(&self, spent: Duration) {
        self.nanoseconds.add(spent.as_nanos() as u64);
        self.metric.increment(spent.as_micros() as u64);
    }

    pub(crate) fn get(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.get())
    }
}

/// Counters of a sink.
#[derive(Debug)]
pub(crate) struct SinkCounters {
    pub(crate) name: String,
    pub(crate) written: Counter,
    pub(crate) bytes: Counter,
    pub(crate) dropped: Counter,
    pub(crate) undelivered: Counter,
    pub(crate) busy: Busy,
    pub(crate) latency_total: Counter,
    pub(crate) latency_most: Counter,
    pub(crate) latencies: Counter,
    pub(crate) deepest: Arc<AtomicUsize>,
}

/// Counters of a corner turn.
#[derive(Debug, Default)]
pub(crate) struct TurnCounters {
    blocks: Counter,
    sent: Counter,
    received: Counter,
    /// Nanoseconds of packing, exchange, placing.
    spent: [Counter; 3],
    changes: Counter,
}

impl TurnCounters {
    /// Notes a block: bytes to and from other ranks, and the time of packing, exchange and placing.
    pub(crate) fn note(&self, sent: u64, received: u64, spent: [Duration; 3]) {
        self.blocks.add(1);
        self.sent.add(sent);
        self.received.add(received);
        for (counter, spent) in self.spent.iter().zip(spent) {
            counter.add(spent.as_nanos() as u64);
        }
        metrics::counter!(crate::telemetry::TURN_BYTES, "way" => "sent").increment(sent);
        metrics::counter!(crate::telemetry::TURN_BYTES, "way" => "received").increment(received);
    }

    /// Notes a change that all ranks were told of.
    pub(crate) fn note_change(&self) {
        self.changes.add(1);
    }

    fn report(&self) -> TurnReport {
        let [packing, exchange, placing] = self.spent.each_ref().map(|spent| Duration::from_nanos(spent.get()));
        TurnReport {
            blocks: self.blocks.get(),
            bytes_sent: self.sent.get(),
            bytes_received: self.received.get(),
            packing,
            exchange,
            placing,
            changes: self.changes.get(),
        }
    }
}

/// What a corner turn has done: the sums of its lanes, which work beside each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct TurnReport {
    /// Blocks of frames.
    pub blocks: u64,
    /// Bytes that went to other ranks.
    pub bytes_sent: u64,
    /// Bytes that came from other ranks.
    pub bytes_received: u64,
    /// Time of packing; from GPU to GPU, of queueing it.
    pub packing: Duration,
    /// Time in the exchange, other ranks' delays included; from GPU to GPU with the packing and placing that is queued
    /// there.
    pub exchange: Duration,
    /// Time of placing; none from GPU to GPU.
    pub placing: Duration,
    /// Changes that one rank has told all of ([`InstrumentControl::change`](super::InstrumentControl::change)).
    pub changes: u64,
}

/// Counters of an instrument.
#[derive(Debug)]
pub(crate) struct Counters {
    pub(crate) samples: Counter,
    pub(crate) used: Counter,
    pub(crate) late: Counter,
    pub(crate) overlapping: Counter,
    pub(crate) skipped: Counter,
    pub(crate) clock_jumps: Counter,
    pub(crate) clipped: Counter,
    pub(crate) frames: Counter,
    pub(crate) saturated: Counter,
    pub(crate) dumps: Counter,
    pub(crate) mask_cells: Counter,
    pub(crate) masked: Counter,
    pub(crate) beam_sums: Counter,
    pub(crate) beam_gaps: Counter,
    pub(crate) last_dump: Counter,
    pub(crate) next_sample: Counter,
    pub(crate) source: Busy,
    pub(crate) f_engine: Busy,
    pub(crate) correlator: Busy,
    pub(crate) beamformer: Busy,
    /// Copies to a device, its F-engine, its correlator.
    pub(crate) on_device: [Busy; 3],
    pub(crate) sinks: Vec<SinkCounters>,
    pub(crate) turn: TurnCounters,
    pub(crate) queues: Vec<(&'static str, Arc<AtomicUsize>)>,
    pub(crate) source_counts: std::sync::Mutex<SourceCounts>,
}

/// What a sink has done.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SinkReport {
    /// Its name.
    pub name: String,
    /// Products written.
    pub written: u64,
    /// Bytes of their arrays.
    pub bytes: u64,
    /// Products dropped because it was too slow ([`Overflow::DropNewest`](crate::sink::Overflow::DropNewest)).
    pub dropped: u64,
    /// Products that were made after it had failed.
    pub undelivered: u64,
    /// Time it has worked.
    pub busy: Duration,
    /// Mean time from the chunk that completes a dump to its being written; zero without a dump.
    pub mean_latency: Duration,
    /// The longest such time.
    pub longest_latency: Duration,
    /// Most products that waited for it.
    pub deepest_queue: usize,
}

/// What an instrument has done so far.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// What the source has met.
    pub source: SourceCounts,
    /// Samples of all inputs in the chunks that were used.
    pub samples: u64,
    /// Chunks that were used.
    pub chunks: u64,
    /// Chunks that came after their time, and were left out.
    pub late_chunks: u64,
    /// Samples of each input that came a second time with a chunk whose rest was used.
    pub overlapping_samples: u64,
    /// Chunks before the first sample that is needed, where an earlier run is continued.
    pub skipped_chunks: u64,
    /// Jumps of the clock, longer than the longest gap, behind which the stream began anew.
    pub clock_jumps: u64,
    /// Samples at the ends of the digitiser's range; not counted on a GPU.
    pub clipped: u64,
    /// Frames of the F-engine, or batches of heaps that came.
    pub frames: u64,
    /// Channelised values beyond the quantiser's range.
    pub saturated: u64,
    /// Dumps of the correlator, of all cadences.
    pub dumps: u64,
    /// Channels and blocks of spectra that were masked, and all of them. A block is the masker's; without one, a frame.
    pub masked: [u64; 2],
    /// The sample behind the last chunk of samples that was used.
    pub next_sample: u64,
    /// First sample of the last dump of cadence 0.
    pub last_dump: Option<u64>,
    /// Sums of detected beams.
    pub beam_sums: u64,
    /// Gaps behind which beams began anew.
    pub beam_gaps: u64,
    /// The corner turn; zeros without one.
    pub turn: TurnReport,
    /// Time that the stages have worked: source, F-engine, correlator, beamformer.
    pub busy: [Duration; 4],
    /// Time that a GPU has worked: copies of chunks to it, F-engine, correlator, which go on beside each other. Zeros
    /// on the CPU.
    pub device: [Duration; 3],
    /// Most messages that waited, of each queue.
    pub deepest_queues: Vec<(&'static str, usize)>,
    /// The sinks.
    pub sinks: Vec<SinkReport>,
}

impl Counters {
    /// Zeros, with the counters of sinks and the depths that queues reach.
    pub(super) fn new(sinks: Vec<SinkCounters>, queues: Vec<(&'static str, Arc<AtomicUsize>)>) -> Self {
        let busy = |stage: Stage| Busy::new(stage.to_string());
        Self {
            samples: Counter::default(),
            used: Counter::default(),
            late: Counter::default(),
            overlapping: Counter::default(),
            skipped: Counter::default(),
            clock_jumps: Counter::default(),
            clipped: Counter::default(),
            frames: Counter::default(),
            saturated: Counter::default(),
            dumps: Counter::default(),
            mask_cells: Counter::default(),
            masked: Counter::default(),
            beam_sums: Counter::default(),
            beam_gaps: Counter::default(),
            last_dump: Counter::default(),
            next_sample: Counter::default(),
            source: busy(Stage::Source),
            f_engine: busy(Stage::FEngine),
            correlator: busy(Stage::Correlator),
            beamformer: busy(Stage::Beamformer),
            on_device: ["copies", "f-engine", "correlator"].map(Busy::on_device),
            sinks,
            turn: TurnCounters::default(),
            queues,
            source_counts: std::sync::Mutex::default(),
        }
    }

    pub(crate) fn report(&self) -> Report {
        let source = *self.source_counts.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let sink = |sink: &SinkCounters| SinkReport {
            name: sink.name.clone(),
            written: sink.written.get(),
            bytes: sink.bytes.get(),
            dropped: sink.dropped.get(),
            undelivered: sink.undelivered.get(),
            busy: sink.busy.get(),
            mean_latency: Duration::from_nanos(sink.latency_total.get() / sink.latencies.get().max(1)),
            longest_latency: Duration::from_nanos(sink.latency_most.get()),
            deepest_queue: sink.deepest.load(Ordering::Relaxed),
        };
        Report {
            source,
            samples: self.samples.get(),
            chunks: self.used.get(),
            late_chunks: self.late.get(),
            overlapping_samples: self.overlapping.get(),
            skipped_chunks: self.skipped.get(),
            clock_jumps: self.clock_jumps.get(),
            clipped: self.clipped.get(),
            frames: self.frames.get(),
            saturated: self.saturated.get(),
            dumps: self.dumps.get(),
            masked: [self.masked.get(), self.mask_cells.get()],
            next_sample: self.next_sample.get(),
            last_dump: self.last_dump.get().checked_sub(1),
            beam_sums: self.beam_sums.get(),
            beam_gaps: self.beam_gaps.get(),
            turn: self.turn.report(),
            busy: [self.source.get(), self.f_engine.get(), self.correlator.get(), self.beamformer.get()],
            device: self.on_device.each_ref().map(Busy::get),
            deepest_queues: self.queues.iter().map(|(name, most)| (*name, most.load(Ordering::Relaxed))).collect(),
            sinks: self.sinks.iter().map(sink).collect(),
        }
    }
}

/// How an instrument ended.
#[derive(Debug)]
pub struct Ended {
    /// What it has done.
    pub report: Report,
    /// What ended it, if not the end of the source or a stop; what was complete was delivered nevertheless.
    pub error: Option<StreamError>,
}

impl Ended {
    /// The report of a run without an error.
    ///
    /// # Errors
    /// The run's.
    pub fn into_result(self) -> Result<Report, StreamError> {
        match self.error {
            None => Ok(self.report),
            Some(error) => Err(error),
        }
    }
}
