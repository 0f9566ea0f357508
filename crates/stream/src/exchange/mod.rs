//! All-to-all of byte blocks between the ranks of a job: threads of a process, processes of many hosts.
//!
//! - [`LocalRanks`] are threads of one process, connected by queues.
//! - `MpiRanks` (feature `mpi`) are the processes that `mpirun` started.
//! - `NcclRanks` (feature `nccl`) are either of them with a GPU each: blocks go from GPU to GPU by NCCL.
//!
//! A rank opens lanes. Every lane is an all-to-all of its own: with two lanes one block is under way while the next is
//! packed. Engines that exist do the work; there is no transport here.

use std::any::Any;
use std::sync::Arc;

use fringes_gpu::{BufferView, BufferViewMut, Device, Stream};

mod error;
mod local;
#[cfg(feature = "mpi")]
mod mpi;
#[cfg(feature = "nccl")]
mod nccl;
#[cfg(any(feature = "mpi", feature = "nccl"))]
mod pause;

pub use error::ExchangeError;
pub use local::LocalRanks;
#[cfg(feature = "mpi")]
pub use mpi::{Mpi, MpiRanks};
#[cfg(feature = "nccl")]
pub use nccl::NcclRanks;

/// The ranks of a job, as one of them sees them.
pub trait Ranks: Send + Sync + std::fmt::Debug {
    /// The number of this rank, from 0.
    fn rank(&self) -> usize;

    /// How many there are.
    fn ranks(&self) -> usize;

    /// Opens a lane. Every rank opens the lanes 0, 1, 2, ... once each, from any thread; a lane stays with the thread
    /// that has opened it. Lane `n` opens when the lanes before it have been opened.
    ///
    /// # Errors
    /// [`ExchangeError::Opened`] of a lane that has been opened, others as the engine says.
    fn open(&self, lane: usize) -> Result<Box<dyn Exchange>, ExchangeError>;
}

/// A lane: the ranks call its operations in the same order.
pub trait Exchange {
    /// Sends a block to every rank and receives one of every rank. Both ends know how many bytes go; blocks may be
    /// empty. It returns when `receive` is filled and `send` is free.
    ///
    /// # Errors
    /// [`ExchangeError::Blocks`] if counts are not one a rank or do not add up to the bytes; [`ExchangeError::Lost`]
    /// and [`ExchangeError::Silent`] for a rank that is gone, others as the engine says.
    fn all_to_all(&mut self, send: Blocks<'_>, receive: BlocksMut<'_>) -> Result<(), ExchangeError>;

    /// Gives a short message of every rank, of as many bytes as this one's, to all: `all` has them in the order of
    /// ranks.
    ///
    /// # Errors
    /// As [`Exchange::all_to_all`]; a rank that does not answer is named.
    fn all_gather(&mut self, mine: &[u8], all: &mut [u8]) -> Result<(), ExchangeError>;

    /// The GPU between whose memory and that of others the lane exchanges blocks without the host, if there is one.
    fn device(&self) -> Option<&Device> {
        None
    }

    /// Queues an all-to-all of blocks in the memory of GPUs on a stream: what goes to each rank, and where what comes
    /// of each lies then; nothing for the rank itself. Both ends know how many bytes go. The first of a lane waits for
    /// all ranks.
    ///
    /// # Errors
    /// [`ExchangeError::Blocks`] unless there is one a rank and none for the rank itself; [`ExchangeError::Engine`]
    /// without a device, and as the engine says.
    fn queue(
        &mut self,
        stream: &Stream,
        send: Vec<Option<BufferView<'_, u8>>>,
        receive: Vec<Option<BufferViewMut<'_, u8>>>,
    ) -> Result<(), ExchangeError> {
        let _ = (stream, send, receive);
        Err(ExchangeError::Engine("ranks without GPUs exchange no memory of GPUs".into()))
    }

    /// Waits until all is done that [`Exchange::queue`] has queued on a stream, and what was queued there beside it.
    ///
    /// # Errors
    /// [`ExchangeError::Silent`] if it takes too long: what was under way is aborted; as [`Exchange::queue`].
    fn wait(&mut self, stream: &Stream) -> Result<(), ExchangeError> {
        Ok(stream.synchronize()?)
    }

    /// Whether ranks are of one process, and can give each other values as they are.
    fn shares(&self) -> bool {
        false
    }

    /// Gives a value of every rank to all, in the order of ranks.
    ///
    /// # Errors
    /// As [`Exchange::all_gather`]; [`ExchangeError::Engine`] between processes.
    fn share(&mut self, mine: Value) -> Result<Vec<Value>, ExchangeError> {
        drop(mine);
        Err(ExchangeError::Engine("ranks of other processes share no values".into()))
    }
}

/// A value that ranks of one process share.
pub type Value = Arc<dyn Any + Send + Sync>;

/// Bytes to be sent: the blocks of all ranks one after the other.
#[derive(Debug, Clone, Copy)]
pub struct Blocks<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// Bytes of each block.
    pub counts: &'a [usize],
}

/// Where blocks are received: those of all ranks one after the other.
#[derive(Debug)]
pub struct BlocksMut<'a> {
    /// The bytes.
    pub bytes: &'a mut [u8],
    /// Bytes of each block.
    pub counts: &'a [usize],
}

/// Checks that there is a count for each rank, and that they add up.
fn check(what: &'static str, ranks: usize, bytes: usize, counts: &[usize]) -> Result<(), ExchangeError> {
    if counts.len() != ranks {
        return Err(ExchangeError::Blocks { what: "counts of blocks", expected: ranks, actual: counts.len() });
    }
    let sum = counts.iter().fold(0usize, |sum, &count| sum.saturating_add(count));
    if sum != bytes {
        return Err(ExchangeError::Blocks { what, expected: sum, actual: bytes });
    }
    Ok(())
}

/// Checks both sides of an all-to-all.
fn check_both(ranks: usize, send: Blocks<'_>, receive: &BlocksMut<'_>) -> Result<(), ExchangeError> {
    check("bytes to be sent", ranks, send.bytes.len(), send.counts)?;
    check("bytes to be received", ranks, receive.bytes.len(), receive.counts)
}

/// Checks the bytes of a gather.
fn check_gather(ranks: usize, mine: &[u8], all: &[u8]) -> Result<(), ExchangeError> {
    let expected = ranks.saturating_mul(mine.len());
    if all.len() != expected {
        return Err(ExchangeError::Blocks { what: "bytes of all messages", expected, actual: all.len() });
    }
    Ok(())
}
