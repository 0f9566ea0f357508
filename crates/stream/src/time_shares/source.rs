//! One source, read by a thread, for several instruments.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::TimeShares;
use crate::source::{Received, Source, SourceCounts, SourceInfo};
use crate::{BoxError, SampleBlock};

/// How long an instrument waits for a chunk before it is told that there is none yet.
const PATIENCE: Duration = Duration::from_millis(50);

/// A part in time of a source: [`TimeShares::sources`].
pub struct TimeSource {
    shared: Arc<Shared>,
    info: SourceInfo,
    rank: usize,
}

impl std::fmt::Debug for TimeSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TimeSource").field("info", &self.info).field("rank", &self.rank).finish_non_exhaustive()
    }
}

struct Shared {
    shares: TimeShares,
    state: Mutex<State>,
    /// A chunk came or went, or something ended.
    changed: Condvar,
}

struct State {
    /// Until the first chunk is asked for.
    source: Option<Box<dyn Source>>,
    queues: Vec<Queue>,
    counts: SourceCounts,
    /// Chunks that instruments have read.
    returned: Vec<SampleBlock>,
    /// First samples of chunks that several got, which are copies.
    copied: Vec<u64>,
    end: Option<End>,
    /// An instrument takes nothing more.
    closed: bool,
}

#[derive(Default)]
struct Queue {
    chunks: VecDeque<Received>,
    samples: u64,
}

#[derive(Clone)]
enum End {
    Source,
    Failed(Arc<str>),
}

/// What a source said when it failed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Failed(Arc<str>);

pub(super) fn divide(shares: TimeShares, source: Box<dyn Source>) -> Vec<TimeSource> {
    let info = source.info().clone();
    let state = State {
        source: Some(source),
        queues: (0..shares.ranks()).map(|_| Queue::default()).collect(),
        counts: SourceCounts::default(),
        returned: Vec::new(),
        copied: Vec::new(),
        end: None,
        closed: false,
    };
    let shared = Arc::new(Shared { shares, state: Mutex::new(state), changed: Condvar::new() });
    let of = |rank| TimeSource { shared: shared.clone(), info: info.clone(), rank };
    (0..shares.ranks()).map(of).collect()
}

/// First sample, and that behind the last.
fn range(received: &Received) -> Option<std::ops::Range<u64>> {
    match received {
        Received::Samples(block) => Some(block.first_sample()..block.end_sample()),
        Received::Heaps(heaps) => {
            let clock = heaps.clock();
            let samples = clock.samples_between_spectra.saturating_mul(heaps.times() as u64);
            Some(clock.first_sample..clock.first_sample.saturating_add(samples))
        }
        Received::Idle => None,
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, PATIENCE).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Reads the source to its end, or until an instrument has ended.
    fn read(&self, mut source: Box<dyn Source>) {
        let end = loop {
            let returned = std::mem::take(&mut self.state().returned);
            returned.into_iter().for_each(|block| source.recycle(block));
            let received = source.next();
            self.state().counts = source.counts();
            match received {
                Ok(Some(received)) => {
                    if !self.give(received) {
                        break End::Source;
                    }
                }
                Ok(None) => break End::Source,
                Err(error) => break End::Failed(error.to_string().into()),
            }
        };
        self.state().end = Some(end);
        self.changed.notify_all();
    }

    /// Gives a chunk to those that want it, when they have room; whether there is anybody left.
    fn give(&self, received: Received) -> bool {
        let Some(range) = range(&received) else { return !self.state().closed };
        let (samples, ranks) = (range.end - range.start, self.shares.wanted(range.clone()));
        // A span can be handed out while the one before is at work.
        let most = self.shares.span().saturating_add(self.shares.margin().saturating_mul(2));
        let (mut left, others) = (Some(received), ranks.len().saturating_sub(1));
        for (number, &rank) in ranks.iter().enumerate() {
            let mut state = self.state();
            loop {
                if state.closed {
                    return false;
                }
                let queued = state.queues[rank].samples;
                if queued == 0 || queued.saturating_add(samples) <= most {
                    break;
                }
                state = self.wait(state);
            }
            let part = if number == others { left.take() } else { left.clone() };
            // Heaps are not given back.
            if number > 0 && matches!(part, Some(Received::Samples(_))) {
                state.copied.push(range.start);
            }
            state.queues[rank].samples += samples;
            state.queues[rank].chunks.extend(part);
            self.changed.notify_all();
        }
        true
    }
}

impl Source for TimeSource {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn next(&mut self) -> Result<Option<Received>, BoxError> {
        let mut state = self.shared.state();
        if let Some(source) = state.source.take() {
            let shared = self.shared.clone();
            std::thread::Builder::new().name("source in turns".into()).spawn(move || shared.read(source))?;
        }
        if state.queues[self.rank].chunks.is_empty() && state.end.is_none() {
            state = self.shared.wait(state);
        }
        let queue = &mut state.queues[self.rank];
        if let Some(received) = queue.chunks.pop_front() {
            queue.samples -= range(&received).map_or(0, |range| range.end - range.start);
            drop(state);
            self.shared.changed.notify_all();
            return Ok(Some(received));
        }
        match &state.end {
            None => Ok(Some(Received::Idle)),
            Some(End::Source) => Ok(None),
            Some(End::Failed(message)) => Err(Failed(message.clone()).into()),
        }
    }

    /// What the source has met, of the first instrument's part; the others' have nothing of their own.
    fn counts(&self) -> SourceCounts {
        if self.rank == 0 { self.shared.state().counts } else { SourceCounts::default() }
    }

    fn recycle(&mut self, block: SampleBlock) {
        let mut state = self.shared.state();
        // Of those that had a copy each, the last gives it back.
        match state.copied.iter().position(|&first| first == block.first_sample()) {
            Some(place) => drop(state.copied.swap_remove(place)),
            None => state.returned.push(block),
        }
    }
}

impl Drop for TimeSource {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.closed = true;
        state.queues[self.rank].chunks.clear();
        drop(state);
        self.shared.changed.notify_all();
    }
}
