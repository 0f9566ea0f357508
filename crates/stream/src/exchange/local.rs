//! Ranks that are threads of one process.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, SendTimeoutError, Sender, bounded};

use super::{Blocks, BlocksMut, Exchange, ExchangeError, Ranks, check_both, check_gather};

/// Messages of one rank to another that may wait.
const DEPTH: usize = 2;

/// Ends of a rank in a lane: what it sends to and receives from each.
type Ends = (Vec<Sender<Vec<u8>>>, Vec<Receiver<Vec<u8>>>);

/// Lanes that have been opened by somebody: the ends of ranks that have not opened them yet.
#[derive(Debug, Default)]
struct Hub {
    lanes: Vec<Vec<Option<Ends>>>,
    /// Ranks that open nothing more.
    gone: Vec<bool>,
}

/// Ranks that are threads of one process.
///
/// Dropped, a rank opens no more lanes: others that wait for it there have [`ExchangeError::Lost`]. So they have in a
/// lane whose other end was dropped.
#[derive(Debug)]
pub struct LocalRanks {
    hub: Arc<Mutex<Hub>>,
    rank: usize,
    ranks: usize,
    timeout: Duration,
}

fn lock(hub: &Mutex<Hub>) -> MutexGuard<'_, Hub> {
    hub.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LocalRanks {
    /// So many ranks, in order.
    #[must_use]
    pub fn new(ranks: usize) -> Vec<Self> {
        let hub = Arc::new(Mutex::new(Hub { lanes: Vec::new(), gone: vec![false; ranks] }));
        let of = |rank| Self { hub: hub.clone(), rank, ranks, timeout: Duration::from_secs(60) };
        (0..ranks).map(of).collect()
    }

    /// Sets how long a rank that does not answer is waited for (60 s unless set).
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

impl Drop for LocalRanks {
    fn drop(&mut self) {
        let mut hub = lock(&self.hub);
        if let Some(gone) = hub.gone.get_mut(self.rank) {
            *gone = true;
        }
        for lane in &mut hub.lanes {
            if let Some(ends) = lane.get_mut(self.rank) {
                *ends = None;
            }
        }
    }
}

/// The ends of all ranks in a new lane; of those that are gone there are none.
fn connect(gone: &[bool]) -> Vec<Option<Ends>> {
    let ranks = gone.len();
    let mut ends: Vec<Ends> = (0..ranks).map(|_| (Vec::with_capacity(ranks), Vec::with_capacity(ranks))).collect();
    // In the order of both, so that each list has its peers in order.
    for from in 0..ranks {
        for to in 0..ranks {
            let (sender, receiver) = bounded(DEPTH);
            ends[from].0.push(sender);
            ends[to].1.push(receiver);
        }
    }
    ends.into_iter().zip(gone).map(|(ends, &gone)| (!gone).then_some(ends)).collect()
}

impl Ranks for LocalRanks {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn open(&self, lane: usize) -> Result<Box<dyn Exchange>, ExchangeError> {
        let mut hub = lock(&self.hub);
        while hub.lanes.len() <= lane {
            let new = connect(&hub.gone);
            hub.lanes.push(new);
        }
        let ends = hub.lanes[lane].get_mut(self.rank).and_then(Option::take);
        let (send, receive) = ends.ok_or(ExchangeError::Opened { lane, rank: self.rank })?;
        Ok(Box::new(LocalLane { rank: self.rank, send, receive, timeout: self.timeout, free: Vec::new() }))
    }
}

/// A lane of a rank.
struct LocalLane {
    rank: usize,
    send: Vec<Sender<Vec<u8>>>,
    receive: Vec<Receiver<Vec<u8>>>,
    timeout: Duration,
    /// Messages that have been read, to be filled again.
    free: Vec<Vec<u8>>,
}

impl LocalLane {
    fn silent(&self, rank: usize) -> ExchangeError {
        ExchangeError::Silent { ranks: vec![rank], seconds: self.timeout.as_secs() }
    }

    fn give(&mut self, rank: usize, bytes: &[u8]) -> Result<(), ExchangeError> {
        let mut message = self.free.pop().unwrap_or_default();
        message.clear();
        message.extend_from_slice(bytes);
        self.send[rank].send_timeout(message, self.timeout).map_err(|error| match error {
            SendTimeoutError::Disconnected(_) => ExchangeError::Lost { rank },
            SendTimeoutError::Timeout(_) => self.silent(rank),
        })
    }

    fn take(&mut self, rank: usize, into: &mut [u8]) -> Result<(), ExchangeError> {
        let message = self.receive[rank].recv_timeout(self.timeout).map_err(|error| match error {
            RecvTimeoutError::Disconnected => ExchangeError::Lost { rank },
            RecvTimeoutError::Timeout => self.silent(rank),
        })?;
        if message.len() != into.len() {
            return Err(ExchangeError::Length { rank, expected: into.len(), actual: message.len() });
        }
        into.copy_from_slice(&message);
        if self.free.len() < self.send.len() {
            self.free.push(message);
        }
        Ok(())
    }

    /// The other ranks, from the next one on: no two ranks send to the same one first.
    fn others(&self, step: usize) -> usize {
        (self.rank + step) % self.send.len()
    }
}

impl Exchange for LocalLane {
    fn all_to_all(&mut self, send: Blocks<'_>, receive: BlocksMut<'_>) -> Result<(), ExchangeError> {
        let ranks = self.send.len();
        check_both(ranks, send, &receive)?;
        if send.counts[self.rank] != receive.counts[self.rank] {
            let (expected, actual) = (send.counts[self.rank], receive.counts[self.rank]);
            return Err(ExchangeError::Length { rank: self.rank, expected, actual });
        }
        let place = |counts: &[usize], rank: usize| {
            let first: usize = counts[..rank].iter().sum();
            first..first + counts[rank]
        };
        receive.bytes[place(receive.counts, self.rank)].copy_from_slice(&send.bytes[place(send.counts, self.rank)]);
        for step in 1..ranks {
            let rank = self.others(step);
            self.give(rank, &send.bytes[place(send.counts, rank)])?;
        }
        for step in 1..ranks {
            let rank = self.others(ranks - step);
            self.take(rank, &mut receive.bytes[place(receive.counts, rank)])?;
        }
        Ok(())
    }

    fn all_gather(&mut self, mine: &[u8], all: &mut [u8]) -> Result<(), ExchangeError> {
        let ranks = self.send.len();
        check_gather(ranks, mine, all)?;
        for step in 1..ranks {
            self.give(self.others(step), mine)?;
        }
        for (rank, into) in all.chunks_exact_mut(mine.len().max(1)).enumerate() {
            if rank == self.rank {
                into.copy_from_slice(mine);
            } else {
                self.take(rank, into)?;
            }
        }
        Ok(())
    }
}
