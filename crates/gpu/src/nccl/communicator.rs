//! The communicator of one GPU among those of other threads and processes.

use std::ffi::{c_int, c_void};

use crate::context::{Handle, Owner};
use crate::nccl::Exchange;
use crate::nccl::library::{self, ID_BYTES, RawId};
use crate::{Device, GpuError};

/// What the GPUs of a [`Communicator`] have in common: one of them makes it, and gives its bytes to all others by
/// other means.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CommunicatorId([u8; ID_BYTES]);

impl std::fmt::Debug for CommunicatorId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommunicatorId").finish_non_exhaustive()
    }
}

impl CommunicatorId {
    /// Its bytes.
    pub const BYTES: usize = ID_BYTES;

    /// A new one.
    ///
    /// # Errors
    /// [`GpuError::NoNccl`] without the library; [`GpuError::Nccl`] with what NCCL answers, such as that no network
    /// interface is found.
    pub fn new() -> Result<Self, GpuError> {
        let functions = library::functions()?;
        let mut id = RawId([0; ID_BYTES]);
        // SAFETY: the pointer is valid for the call.
        functions.check(unsafe { (functions.get_unique_id)(&raw mut id) }, "naming a communicator")?;
        Ok(Self(id.0))
    }

    /// The one of these bytes, which [`CommunicatorId::as_bytes`] gave elsewhere.
    #[must_use]
    pub fn from_bytes(bytes: [u8; ID_BYTES]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; ID_BYTES] {
        &self.0
    }
}

/// The communicator of one GPU, which is a rank among those of other threads, processes or hosts. Where one thread has
/// them all, [`Communicators`](crate::nccl::Communicators) are checked against each other.
#[derive(Debug)]
pub struct Communicator {
    device: Device,
    rank: usize,
    ranks: usize,
    /// Null once it was aborted.
    raw: Handle<c_void>,
}

impl Communicator {
    /// Joins a GPU to the others as a rank of so many. All ranks call it with the same id, each once and from a thread
    /// of its own; it returns when all have come. NCCL wants a GPU once among the ranks.
    ///
    /// # Errors
    /// [`GpuError::NoNccl`] without the library; [`GpuError::Value`] for a rank that is not below their number, and for
    /// a context that other software made; [`GpuError::Nccl`] with what NCCL answers.
    pub fn new(device: &Device, id: &CommunicatorId, rank: usize, ranks: usize) -> Result<Self, GpuError> {
        let functions = library::functions()?;
        let value = |what, expected: String, actual: String| GpuError::Value { what, expected, actual };
        if device.context.owner != Owner::Primary {
            return Err(value("a GPU that communicates", "its primary context".into(), device.context.label()));
        }
        let count = c_int::try_from(ranks).unwrap_or(c_int::MAX);
        let number = c_int::try_from(rank).ok().filter(|&rank| rank < count);
        let Some(number) = number else {
            return Err(value("rank of a GPU", format!("less than {count}"), rank.to_string()));
        };
        let mut raw = std::ptr::null_mut();
        // NCCL takes the thread's current device.
        let _entered = device.context.enter()?;
        // SAFETY: the pointer is valid for the call; the driver is started.
        let answer = unsafe { (functions.comm_init_rank)(&raw mut raw, count, RawId(id.0), number) };
        functions.check(answer, "joining other GPUs")?;
        Ok(Self { device: device.clone(), rank, ranks, raw: Handle(raw) })
    }

    /// The GPU.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The number of this GPU among the ranks.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Number of ranks.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// Sends and receives, in the order of the exchange's stream. What one rank sends to another and what that one
    /// receives from it are as many messages of the same lengths, in the same order: nothing can check it, and what has
    /// no counterpart never ends. Returns when all is queued; the first exchange of two ranks connects them, and waits
    /// for both.
    ///
    /// # Errors
    /// Before anything is queued: [`GpuError::Value`] for a rank that there is not, and for a stream that is captured;
    /// [`GpuError::WrongDevice`] for memory or a stream of another GPU. [`GpuError::Nccl`] with what NCCL answers, and
    /// once it was aborted.
    pub fn exchange(&mut self, mut exchange: Exchange<'_>) -> Result<(), GpuError> {
        exchange.check(&self.device, self.ranks)?;
        let functions = library::functions()?;
        self.expect_open("queueing an exchange")?;
        let _entered = self.device.context.enter()?;
        // SAFETY: it has no conditions.
        functions.check(unsafe { (functions.group_start)() }, "beginning an exchange")?;
        let queued = exchange.queue(functions, self.raw.0);
        // The group is ended in any case.
        // SAFETY: a group was begun on this thread.
        let ended = functions.check(unsafe { (functions.group_end)() }, "queueing an exchange");
        queued.and(ended)
    }

    /// What NCCL has found wrong meanwhile, such as a connection that broke.
    ///
    /// # Errors
    /// [`GpuError::Nccl`].
    pub fn check(&self) -> Result<(), GpuError> {
        let functions = library::functions()?;
        self.expect_open("asking how exchanges are")?;
        let mut error = 0;
        // SAFETY: the communicator is open, the pointer valid for the call.
        let answer = unsafe { (functions.comm_get_async_error)(self.raw.0, &raw mut error) };
        functions.check(answer, "asking how exchanges are")?;
        functions.check(error, "an exchange under way")
    }

    /// Ends exchanges that are under way, whatever has come of them: for those that a lost rank would keep for ever.
    ///
    /// # Errors
    /// [`GpuError::Nccl`] with what NCCL answers.
    pub fn abort(&mut self) -> Result<(), GpuError> {
        let functions = library::functions()?;
        if self.raw.0.is_null() {
            return Ok(());
        }
        let _entered = self.device.context.enter()?;
        let raw = std::mem::replace(&mut self.raw.0, std::ptr::null_mut());
        // SAFETY: the communicator was open, and is used no more.
        functions.check(unsafe { (functions.comm_abort)(raw) }, "aborting exchanges")
    }

    fn expect_open(&self, doing: &'static str) -> Result<(), GpuError> {
        if !self.raw.0.is_null() {
            return Ok(());
        }
        // ncclInvalidUsage.
        Err(GpuError::Nccl { code: 5, message: "the communicator was aborted".into(), doing })
    }
}

impl Drop for Communicator {
    fn drop(&mut self) {
        let (Ok(functions), false) = (library::functions(), self.raw.0.is_null()) else { return };
        match self.device.context.enter() {
            Err(error) => tracing::error!("leaving other GPUs: {error}"),
            Ok(_entered) => {
                // SAFETY: the communicator was made here and is used no more; the call waits for its work.
                let answer = unsafe { (functions.comm_destroy)(self.raw.0) };
                if let Err(error) = functions.check(answer, "leaving other GPUs") {
                    tracing::error!("{error}");
                }
            }
        }
    }
}
