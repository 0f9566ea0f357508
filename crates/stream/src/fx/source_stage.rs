//! The thread of a source.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crossbeam_channel::Receiver;

use super::stages::{FromSource, Shared};
use crate::queue::{QueueIn, Sent};
use crate::source::{Received, Source};
use crate::{SampleBlock, Stage, StreamError, telemetry};

/// How long a source that has nothing is waited for after a stop.
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) struct SourceStage<S> {
    pub(super) source: S,
    pub(super) out: QueueIn<FromSource>,
    pub(super) returned: Receiver<SampleBlock>,
    pub(super) shared: Arc<Shared>,
    /// Samples from one dump to the next.
    pub(super) dump_samples: u64,
    /// Where an earlier run is continued: first sample that is needed, without the lead of a spectrum.
    pub(super) from: Option<u64>,
}

/// First sample and the one after the last.
fn extent(received: &Received) -> Option<[u64; 2]> {
    match received {
        Received::Samples(block) => Some([block.first_sample(), block.end_sample()]),
        Received::Heaps(block) => Some([block.clock().first_sample, block.clock().sample_of(block.times())]),
        Received::Idle => None,
    }
}

impl<S: Source> SourceStage<S> {
    pub(super) fn run(mut self) {
        if let Err(error) = self.read() {
            self.shared.fail(error);
        }
        self.note_counts();
    }

    fn note_counts(&self) {
        let counts = self.source.counts();
        *self.shared.counters.source_counts.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = counts;
    }

    fn read(&mut self) -> Result<(), StreamError> {
        let failed = |error| StreamError::at(Stage::Source, error);
        let needed = self.from.map(|from| from.saturating_sub(self.shared.lead.load(Ordering::Relaxed)));
        if let Some(needed) = needed {
            self.source.seek(needed).map_err(failed)?;
        }
        // The first sample of a dump at which the instrument stops, and when that was said.
        let mut stop: Option<(u64, Instant)> = None;
        let mut last_end = 0;
        loop {
            if self.shared.stop_now.load(Ordering::Relaxed) {
                break;
            }
            if stop.is_none() && self.shared.stop_at_dump.load(Ordering::Relaxed) {
                stop = Some(((last_end / self.dump_samples + 1).saturating_mul(self.dump_samples), Instant::now()));
            }
            if let Some((until, asked)) = stop {
                let there = until.saturating_add(self.shared.lead.load(Ordering::Relaxed)) <= last_end;
                if there || asked.elapsed() > PATIENCE {
                    let _ = self.out.send(FromSource::End(Some(until)));
                    return Ok(());
                }
            }
            while let Ok(block) = self.returned.try_recv() {
                self.source.recycle(block);
            }
            let start = Instant::now();
            let received = self.source.next().map_err(failed)?;
            self.shared.counters.source.since(start);
            let Some(received) = received else { break };
            let Some([_, end]) = extent(&received) else { continue };
            self.note_counts();
            if needed.is_some_and(|needed| end <= needed) {
                self.shared.counters.skipped.add(1);
                metrics::counter!(telemetry::CHUNKS, "fate" => "skipped").increment(1);
                continue;
            }
            last_end = end;
            if let Some((_, asked)) = &mut stop {
                *asked = Instant::now();
            }
            if self.out.send(FromSource::Chunk(received, Instant::now())) == Sent::Closed {
                // The F-engine has failed, and has said so.
                return Ok(());
            }
        }
        let _ = self.out.send(FromSource::End(None));
        Ok(())
    }
}
