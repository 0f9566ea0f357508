//! Ranks that are threads of one process.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, SendTimeoutError, Sender, bounded};

use super::{Blocks, BlocksMut, Exchange, ExchangeError, Ranks, Value, check_both, check_gather};

/// Messages of one rank to another that may wait.
const DEPTH: usize = 2;

/// What goes from one rank to another.
enum Message {
    Bytes(Vec<u8>),
    Value(Value),
}

/// Ends of a rank in a lane: what it sends to and receives from each.
type Ends = (Vec<Sender<Message>>, Vec<Receiver<Message>>);

/// Lanes that have been opened by somebody: the ends of ranks that have not opened them yet.
#[derive(Default)]
struct Hub {
    lanes: Vec<Vec<Option<Ends>>>,
    /// Ranks that open nothing more.
    gone: Vec<bool>,
}

/// Ranks that are threads of one process.
///
/// Dropped, a rank opens no more lanes: others that wait for it there have [`ExchangeError::Lost`]. So they have in a
/// lane whose other end was dropped.
pub struct LocalRanks {
    hub: Arc<Mutex<Hub>>,
    rank: usize,
    ranks: usize,
    timeout: Duration,
}

impl std::fmt::Debug for LocalRanks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalRanks").field("rank", &self.rank).field("ranks", &self.ranks).finish_non_exhaustive()
    }
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
    send: Vec<Sender<Message>>,
    receive: Vec<Receiver<Message>>,
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
        self.put(rank, Message::Bytes(message))
    }

    fn put(&self, rank: usize, message: Message) -> Result<(), ExchangeError> {
        self.send[rank].send_timeout(message, self.timeout).map_err(|error| match error {
            SendTimeoutError::Disconnected(_) => ExchangeError::Lost { rank },
            SendTimeoutError::Timeout(_) => self.silent(rank),
        })
    }

    fn get(&self, rank: usize) -> Result<Message, ExchangeError> {
        self.receive[rank].recv_timeout(self.timeout).map_err(|error| match error {
            RecvTimeoutError::Disconnected => ExchangeError::Lost { rank },
            RecvTimeoutError::Timeout => self.silent(rank),
        })
    }

    fn take(&mut self, rank: usize, into: &mut [u8]) -> Result<(), ExchangeError> {
        let Message::Bytes(message) = self.get(rank)? else {
            return Err(ExchangeError::Engine(format!("expected bytes from rank {rank}, found a value")));
        };
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

    fn shares(&self) -> bool {
        true
    }

    fn share(&mut self, mine: Value) -> Result<Vec<Value>, ExchangeError> {
        let ranks = self.send.len();
        for step in 1..ranks {
            self.put(self.others(step), Message::Value(mine.clone()))?;
        }
        let of = |rank: usize| match rank {
            rank if rank == self.rank => Ok(mine.clone()),
            rank => match self.get(rank)? {
                Message::Value(value) => Ok(value),
                Message::Bytes(_) => {
                    Err(ExchangeError::Engine(format!("expected a value from rank {rank}, found bytes")))
                }
            },
        };
        (0..ranks).map(of).collect()
    }
}
