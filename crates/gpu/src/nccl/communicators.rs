//! Communicators of all GPUs that take part, and the exchange among them.

use std::ffi::{c_int, c_void};

use crate::context::{Handle, Owner};
use crate::nccl::Exchange;
use crate::nccl::library::{self, Comm, Functions};
use crate::{Device, GpuError};

/// The communicators of some GPUs of one process, one a GPU. A GPU's *rank* is its place in the list that they were
/// made of.
#[derive(Debug)]
pub struct Communicators {
    ranks: Vec<Rank>,
}

#[derive(Debug)]
struct Rank {
    device: Device,
    raw: Handle<c_void>,
}

impl Communicators {
    /// Communicators of GPUs, each once, in the order of their ranks. Takes about a second.
    ///
    /// # Errors
    /// [`GpuError::NoNccl`] without the library; [`GpuError::Value`] for no GPU, for one that comes twice, and for a
    /// context that other software made; [`GpuError::Nccl`] with what NCCL answers.
    pub fn new(devices: &[Device]) -> Result<Self, GpuError> {
        const WHAT: &str = "GPUs that communicate";
        let value = |expected: &str, actual: String| GpuError::Value { what: WHAT, expected: expected.into(), actual };
        let functions = library::functions()?;
        let Some(first) = devices.first() else { return Err(value("at least one", "none".into())) };
        for (rank, device) in devices.iter().enumerate() {
            let label = || device.context.label();
            if device.context.owner != Owner::Primary {
                return Err(value("primary contexts", label()));
            }
            if devices[..rank].iter().any(|other| other.is_same(device)) {
                return Err(value("each GPU once", format!("{} twice", label())));
            }
        }
        let count = |number: usize| c_int::try_from(number).map_err(|_| value("less than 2^31", number.to_string()));
        let indices = devices.iter().map(|device| count(device.info().index)).collect::<Result<Vec<_>, _>>()?;
        let mut raw: Vec<Comm> = vec![std::ptr::null_mut(); devices.len()];
        // NCCL changes the thread's current device and puts back the one that it found.
        let _entered = first.context.enter()?;
        // SAFETY: as many places and indices as GPUs, valid for the call; the driver is started.
        let answer = unsafe { (functions.comm_init_all)(raw.as_mut_ptr(), count(devices.len())?, indices.as_ptr()) };
        functions.check(answer, "making communicators")?;
        let rank = |(device, &raw): (&Device, &Comm)| Rank { device: device.clone(), raw: Handle(raw) };
        Ok(Self { ranks: devices.iter().zip(&raw).map(rank).collect() })
    }

    /// Number of GPUs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ranks.len()
    }

    /// Whether there are none; never.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranks.is_empty()
    }

    /// The GPU of a rank.
    #[must_use]
    pub fn device(&self, rank: usize) -> Option<&Device> {
        self.ranks.get(rank).map(|rank| &rank.device)
    }

    /// Sends and receives among all GPUs, each in the order of its own stream: one [`Exchange`] a rank. The first that
    /// rank `a` sends to rank `b` is the first that `b` receives from `a`, and so on. Returns when all is queued.
    ///
    /// # Errors
    /// Before anything is queued: [`GpuError::Value`] unless there is one exchange a rank, every rank that is named
    /// exists, no stream is captured, and as many messages are received as are sent; [`GpuError::Length`] for a message
    /// whose two lengths differ; [`GpuError::WrongDevice`] for memory or a stream of another GPU than the rank's.
    /// [`GpuError::Nccl`] with what NCCL answers.
    pub fn exchange(&mut self, exchanges: &mut [Exchange<'_>]) -> Result<(), GpuError> {
        self.check(exchanges)?;
        let functions = library::functions()?;
        let Some(first) = self.ranks.first() else { return Ok(()) };
        let _entered = first.device.context.enter()?;
        // SAFETY: it has no conditions.
        functions.check(unsafe { (functions.group_start)() }, "beginning an exchange")?;
        let queued = self.queue(functions, exchanges);
        // The group is ended in any case.
        // SAFETY: a group was begun on this thread.
        let ended = functions.check(unsafe { (functions.group_end)() }, "queueing an exchange");
        queued.and(ended)
    }

    /// Queues what every rank sends and receives, inside of a group.
    fn queue(&self, functions: &Functions, exchanges: &mut [Exchange<'_>]) -> Result<(), GpuError> {
        let mut all = self.ranks.iter().zip(exchanges);
        all.try_for_each(|(rank, exchange)| exchange.queue(functions, rank.raw.0))
    }

    /// What would block for ever, or fault, is found here.
    fn check(&self, exchanges: &[Exchange<'_>]) -> Result<(), GpuError> {
        let value = |what, expected: String, actual: String| GpuError::Value { what, expected, actual };
        let ranks = self.ranks.len();
        if exchanges.len() != ranks {
            let (expected, actual) = (format!("{ranks}, one a GPU"), exchanges.len().to_string());
            return Err(value("exchanges", expected, actual));
        }
        for (rank, exchange) in self.ranks.iter().zip(exchanges) {
            exchange.check(&rank.device, ranks)?;
        }
        for (from, to) in (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to))) {
            let sent: Vec<usize> = lengths(&exchanges[from].sends, to, |bytes| bytes.len());
            let received: Vec<usize> = lengths(&exchanges[to].receives, from, |bytes| bytes.len());
            if sent.len() != received.len() {
                let expected = format!("{} from rank {from} to rank {to}", sent.len());
                return Err(value("messages that are received", expected, received.len().to_string()));
            }
            if let Some((&expected, &actual)) = sent.iter().zip(&received).find(|(sent, received)| sent != received) {
                return Err(GpuError::Length { what: "receiving what another GPU sends", expected, actual });
            }
        }
        Ok(())
    }
}

/// Lengths of the messages from or to a rank.
fn lengths<V>(messages: &[(usize, V)], rank: usize, length: impl Fn(&V) -> usize) -> Vec<usize> {
    messages.iter().filter(|(other, _)| *other == rank).map(|(_, bytes)| length(bytes)).collect()
}

impl Drop for Communicators {
    fn drop(&mut self) {
        let (Ok(functions), Some(first)) = (library::functions(), self.ranks.first()) else { return };
        match first.device.context.enter() {
            Err(error) => tracing::error!("ending communicators: {error}"),
            Ok(_entered) => {
                for rank in &self.ranks {
                    // SAFETY: the communicator was made here and is used no more; the call waits for its work.
                    let answer = unsafe { (functions.comm_destroy)(rank.raw.0) };
                    if let Err(error) = functions.check(answer, "ending communicators") {
                        tracing::error!("{error}");
                    }
                }
            }
        }
    }
}
