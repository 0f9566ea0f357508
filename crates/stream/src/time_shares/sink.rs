//! Dumps of several instruments, in order of time, for one sink.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::TimeShares;
use crate::BoxError;
use crate::sink::{Product, Sink, Takes};

/// An instrument's way to a sink that has the dumps of several: [`TimeShares::sinks`].
pub struct TimeSink {
    shared: Arc<Shared>,
    name: String,
    takes: Takes,
    rank: usize,
    has_ended: bool,
}

impl std::fmt::Debug for TimeSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TimeSink").field("name", &self.name).field("rank", &self.rank).finish_non_exhaustive()
    }
}

struct Shared {
    shares: TimeShares,
    state: Mutex<State>,
}

/// A cadence, and a bin.
type Key = (usize, Option<usize>);

struct State {
    sink: Box<dyn Sink>,
    ranks: Vec<Progress>,
    /// Dumps that wait for earlier ones, by cadence and bin, by first sample.
    waiting: HashMap<Key, BTreeMap<u64, Product>>,
    /// What the sink said when it failed.
    failure: Option<Arc<str>>,
}

#[derive(Debug, Default)]
struct Progress {
    /// The sample up to which it has given all dumps in its spans, by cadence and bin.
    given: HashMap<Key, u64>,
    has_ended: bool,
}

/// What a sink said when it failed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Failed(Arc<str>);

pub(super) fn divide(shares: TimeShares, sink: Box<dyn Sink>) -> Vec<TimeSink> {
    let (name, takes) = (sink.name().to_owned(), sink.takes());
    let ranks = (0..shares.ranks()).map(|_| Progress::default()).collect();
    let state = State { sink, ranks, waiting: HashMap::new(), failure: None };
    let shared = Arc::new(Shared { shares, state: Mutex::new(state) });
    let of = |rank| TimeSink { shared: shared.clone(), name: name.clone(), takes, rank, has_ended: false };
    (0..shares.ranks()).map(of).collect()
}

impl State {
    /// Whether a rank gives no more dumps of this kind in its spans before `span`.
    fn is_past(&self, shares: TimeShares, rank: usize, span: u64, key: Key) -> bool {
        let (ranks, own) = (shares.ranks() as u64, rank as u64);
        // The last of its spans before.
        let before = span.checked_sub(1).and_then(|before| before.checked_sub(own));
        let Some(last) = before.map(|before| own + before / ranks * ranks) else { return true };
        let progress = &self.ranks[rank];
        let end = (last + 1).saturating_mul(shares.span());
        progress.has_ended || progress.given.get(&key).is_some_and(|&given| given >= end)
    }

    /// Gives the sink what need not wait.
    fn drain(&mut self, shares: TimeShares) -> Result<(), Failed> {
        let keys: Vec<Key> = self.waiting.keys().copied().collect();
        for key in keys {
            while let Some((&first, _)) = self.waiting[&key].first_key_value() {
                let span = shares.span_of(first);
                let others = (0..shares.ranks()).filter(|&rank| rank != shares.rank_of(span));
                if !others.into_iter().all(|rank| self.is_past(shares, rank, span, key)) {
                    break;
                }
                let Some((_, product)) = self.waiting.get_mut(&key).and_then(BTreeMap::pop_first) else { break };
                if let Err(error) = self.sink.write(&product) {
                    let failed: Arc<str> = error.to_string().into();
                    self.failure = Some(failed.clone());
                    self.waiting.clear();
                    return Err(Failed(failed));
                }
            }
        }
        Ok(())
    }

    fn failed(&self) -> Result<(), Failed> {
        self.failure.clone().map_or(Ok(()), |message| Err(Failed(message)))
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for TimeSink {
    fn name(&self) -> &str {
        &self.name
    }

    fn takes(&self) -> Takes {
        self.takes
    }

    fn write(&mut self, product: &Product) -> Result<(), BoxError> {
        let Product::Dump(dump) = product else { return Ok(()) };
        let (shares, first) = (self.shared.shares, dump.sums.first_sample());
        let (span, key) = (shares.span_of(first), (dump.cadence, dump.bin));
        if shares.rank_of(span) != self.rank {
            return Ok(()); // Of a margin, or of the time between two spans.
        }
        let mut state = self.shared.state();
        state.failed()?;
        // A bin has the spectra that are its own, so where its dump ends is not known: the next one tells.
        let samples = if dump.bin.is_none() { dump.sums.samples() } else { 0 };
        state.ranks[self.rank].given.insert(key, first.saturating_add(samples));
        state.waiting.entry(key).or_default().insert(first, product.clone());
        Ok(state.drain(shares)?)
    }

    fn finish(&mut self) -> Result<(), BoxError> {
        if std::mem::replace(&mut self.has_ended, true) {
            return Ok(());
        }
        let mut state = self.shared.state();
        state.ranks[self.rank].has_ended = true;
        let drained = match state.failed() {
            Ok(()) => state.drain(self.shared.shares),
            Err(failed) => Err(failed),
        };
        let is_last = state.ranks.iter().all(|progress| progress.has_ended);
        let finished = if is_last { state.sink.finish() } else { Ok(()) };
        drained?;
        finished
    }
}

impl Drop for TimeSink {
    /// An instrument that never started, or panicked, holds up no other.
    fn drop(&mut self) {
        let _ = self.finish();
    }
}
