//! Ranks that are the processes of an MPI job.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mpi::datatype::{Partition, PartitionMut};
use mpi::environment::Universe;
use mpi::request::{LocalScope, Request};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Source};
use mpi::{Count, Threading};

use super::pause::Pause;
use super::{Blocks, BlocksMut, Exchange, ExchangeError, Ranks, check_both, check_gather};

/// How long the program has, once a rank is lost, before a lane that cannot end aborts the job.
const GRACE: Duration = Duration::from_secs(5);

/// MPI, from its start to its end. It lives in the main thread, and outlives every lane.
pub struct Mpi {
    universe: Universe,
}

impl std::fmt::Debug for Mpi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mpi").field("size", &self.universe.world().size()).finish()
    }
}

impl Mpi {
    /// Starts MPI in this process; it is started once. Threads of lanes call it beside each other.
    ///
    /// # Errors
    /// [`ExchangeError::Engine`] if it has been started, or its library does not let threads call it.
    pub fn start() -> Result<Self, ExchangeError> {
        let started = mpi::initialize_with_threading(Threading::Multiple);
        let (universe, threading) = started.ok_or_else(|| ExchangeError::Engine("MPI has been started".into()))?;
        if threading != Threading::Multiple {
            let what =
                format!("expected an MPI library that threads may call (MPI_THREAD_MULTIPLE), found {threading:?}");
            return Err(ExchangeError::Engine(what));
        }
        Ok(Self { universe })
    }

    /// Name and version of the library.
    #[must_use]
    pub fn library(&self) -> String {
        let version = mpi::environment::library_version().unwrap_or_else(|_| "MPI".into());
        version
            .lines()
            .next()
            .unwrap_or("MPI")
            .trim_matches(|letter: char| letter == '\0' || letter.is_whitespace())
            .to_owned()
    }

    /// The ranks of the job.
    #[must_use]
    pub fn ranks(&self) -> MpiRanks {
        let world = self.universe.world();
        MpiRanks {
            rank: usize::try_from(world.rank()).unwrap_or(0),
            ranks: usize::try_from(world.size()).unwrap_or(1),
            timeout: Duration::from_secs(60),
            opened: Arc::default(),
            given_up: Arc::default(),
        }
    }

    /// Ends the whole job, all ranks, with this exit code.
    pub fn abort(&self, code: i32) -> ! {
        self.universe.world().abort(code)
    }
}

/// The processes that `mpirun` started.
///
/// A lane is a communicator of its own. Requests are looked at between short sleeps: a rank that waits leaves its
/// processor to others.
///
/// # Lost ranks
/// A process that dies is noticed by MPI's own starter, which ends the job and names it. One that does not answer is
/// named by [`Exchange::all_gather`] after the timeout. What was under way by [`Exchange::all_to_all`] cannot be called
/// back: five seconds later the job is aborted.
#[derive(Debug, Clone)]
pub struct MpiRanks {
    rank: usize,
    ranks: usize,
    timeout: Duration,
    /// Lanes that have been opened.
    opened: Arc<(Mutex<usize>, Condvar)>,
    /// A rank is lost.
    given_up: Arc<AtomicBool>,
}

impl MpiRanks {
    /// Sets how long a rank that does not answer is waited for (60 s unless set).
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

impl Ranks for MpiRanks {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn open(&self, lane: usize) -> Result<Box<dyn Exchange>, ExchangeError> {
        let (count, changed) = &*self.opened;
        let mut opened = count.lock().unwrap_or_else(PoisonError::into_inner);
        let until = Instant::now() + self.timeout;
        // To make a communicator, all ranks come in the same order.
        while *opened < lane {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ExchangeError::Silent { ranks: vec![self.rank], seconds: self.timeout.as_secs() });
            }
            opened = changed.wait_timeout(opened, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        if *opened > lane {
            return Err(ExchangeError::Opened { lane, rank: self.rank });
        }
        let world = SimpleCommunicator::world().duplicate();
        *opened += 1;
        changed.notify_all();
        let given_up = self.given_up.clone();
        Ok(Box::new(MpiLane { world, rank: self.rank, ranks: self.ranks, timeout: self.timeout, given_up }))
    }
}

struct MpiLane {
    world: SimpleCommunicator,
    rank: usize,
    ranks: usize,
    timeout: Duration,
    given_up: Arc<AtomicBool>,
}

/// Counts and places as MPI has them.
fn counts(of: &[usize]) -> Result<(Vec<Count>, Vec<Count>), ExchangeError> {
    let bytes: usize = of.iter().sum();
    let most = Count::MAX as usize;
    if bytes > most {
        return Err(ExchangeError::TooLarge { most, actual: bytes });
    }
    let mut place = 0;
    let mut places = Vec::with_capacity(of.len());
    for &count in of {
        places.push(place as Count);
        place += count;
    }
    Ok((of.iter().map(|&count| count as Count).collect(), places))
}

impl MpiLane {
    /// Waits for a request that cannot be called back: once a rank is lost, the job ends.
    fn complete<'a, D: ?Sized>(&self, mut request: Request<'a, D, &LocalScope<'a>>) -> bool {
        let (start, mut pause, mut doomed) = (Instant::now(), Pause::default(), None);
        loop {
            request = match request.test() {
                Ok(_) => return doomed.is_none(),
                Err(request) => request,
            };
            pause.wait();
            if doomed.is_none() && (self.given_up.load(Ordering::Relaxed) || start.elapsed() > self.timeout) {
                self.given_up.store(true, Ordering::Relaxed);
                doomed = Some(Instant::now());
            }
            if doomed.is_some_and(|since| since.elapsed() > GRACE) {
                tracing::error!(rank = self.rank, "an exchange cannot end: another rank is lost; the job is aborted");
                self.world.abort(1);
            }
        }
    }
}

impl Exchange for MpiLane {
    fn all_to_all(&mut self, send: Blocks<'_>, receive: BlocksMut<'_>) -> Result<(), ExchangeError> {
        check_both(self.ranks, send, &receive)?;
        let ((send_counts, send_places), (counts, places)) = (counts(send.counts)?, counts(receive.counts)?);
        // An empty slice begins at address 1, which is MPI_IN_PLACE to Open MPI.
        let mut nothing = [0];
        let sent = if send.bytes.is_empty() { &[0] } else { send.bytes };
        let received = if receive.bytes.is_empty() { &mut nothing[..] } else { receive.bytes };
        let from = Partition::new(sent, send_counts, send_places);
        let mut to = PartitionMut::new(received, counts, places);
        let done = mpi::request::scope(|scope| {
            self.complete(self.world.immediate_all_to_all_varcount_into(scope, &from, &mut to))
        });
        if done { Ok(()) } else { Err(ExchangeError::Silent { ranks: Vec::new(), seconds: self.timeout.as_secs() }) }
    }

    fn all_gather(&mut self, mine: &[u8], all: &mut [u8]) -> Result<(), ExchangeError> {
        check_gather(self.ranks, mine, all)?;
        if mine.is_empty() {
            return Ok(());
        }
        // One message a pair, so that a rank that does not answer can be named.
        let silent = mpi::request::scope(|scope| {
            let mut receives = Vec::with_capacity(self.ranks);
            for (rank, into) in all.chunks_exact_mut(mine.len()).enumerate() {
                if rank == self.rank {
                    into.copy_from_slice(mine);
                } else {
                    let from = self.world.process_at_rank(rank as i32);
                    receives.push((rank, from.immediate_receive_into_with_tag(scope, into, 0)));
                }
            }
            let mut sends = Vec::with_capacity(self.ranks);
            for rank in (0..self.ranks).filter(|&rank| rank != self.rank) {
                sends.push((rank, self.world.process_at_rank(rank as i32).immediate_send_with_tag(scope, mine, 0)));
            }
            let (start, mut pause) = (Instant::now(), Pause::default());
            loop {
                receives = still_open(receives);
                sends = still_open(sends);
                if receives.is_empty() && sends.is_empty() {
                    return Vec::new();
                }
                if start.elapsed() > self.timeout || self.given_up.load(Ordering::Relaxed) {
                    break;
                }
                pause.wait();
            }
            self.given_up.store(true, Ordering::Relaxed);
            let silent = receives.iter().map(|(rank, _)| *rank).collect();
            for (_, request) in receives {
                request.cancel();
                request.wait_without_status();
            }
            // Messages this short have left.
            for (_, request) in sends {
                request.wait_without_status();
            }
            silent
        });
        if silent.is_empty() {
            Ok(())
        } else {
            Err(ExchangeError::Silent { ranks: silent, seconds: self.timeout.as_secs() })
        }
    }
}

/// The requests that are not done, with the ranks at their other ends.
fn still_open<'a, 'b, D: ?Sized>(
    requests: Vec<(usize, Request<'a, D, &'b LocalScope<'a>>)>,
) -> Vec<(usize, Request<'a, D, &'b LocalScope<'a>>)> {
    requests.into_iter().filter_map(|(rank, request)| request.test().err().map(|request| (rank, request))).collect()
}
