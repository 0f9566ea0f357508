//! What calls on a device need and may keep for the next one: pinned memory, streams for copies, pools.

use std::sync::{Mutex, PoisonError};

use fringes_gpu::{BufferPool, Device, Stream};

use crate::{DeviceError, Staging};

/// Pieces of pinned memory: one is filled, others are copied.
const PIECES: usize = 4;

/// Pieces of pinned memory for what comes back.
const READS: usize = 16;

/// Streams of copies to the device.
const COPIES: usize = 3;

/// Workspaces that are kept for a device: as many calls at once find one.
const KEPT: usize = 4;

/// Bytes of a device's pool that are kept free at most when an operation ends.
const KEPT_BYTES: u64 = 1 << 30;

/// What is kept for the devices of this process.
static DEVICES: Mutex<Vec<Kept>> = Mutex::new(Vec::new());

#[derive(Debug)]
struct Kept {
    pool: BufferPool,
    free: Vec<Tools>,
}

#[derive(Debug)]
struct Tools {
    copies: [Stream; COPIES],
    staging: Staging,
    reads: Stream,
    read_staging: Staging,
}

impl Tools {
    fn new(device: &Device) -> Result<Self, DeviceError> {
        let copies = [device.new_stream()?, device.new_stream()?, device.new_stream()?];
        let (staging, read_staging) = (Staging::new(PIECES), Staging::new(READS));
        Ok(Self { copies, staging, reads: device.new_stream()?, read_staging })
    }
}

/// Pinned memory and streams for copies, for one call. When it is dropped, the next call on that device gets it: no
/// call allocates pinned memory once its sizes have come.
///
/// What was queued may still run then: a piece of pinned memory waits for its copies before it is filled again.
#[derive(Debug)]
pub struct Workspace {
    /// Streams that copies to the device are queued on in turn, beside the one that computes: while a copy waits for
    /// its memory or ends, the link goes on with another stream's.
    pub copies: [Stream; COPIES],
    /// Pinned memory in four pieces, for what goes to the device.
    pub staging: Staging,
    /// The stream that copies to the host are queued on.
    pub reads: Stream,
    /// Pinned memory in sixteen pieces, for what comes back beside what goes there.
    pub read_staging: Staging,
}

impl Workspace {
    /// One that is free, or a new one.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`] with what the driver says where a stream cannot be made.
    pub fn of(device: &Device) -> Result<Self, DeviceError> {
        let free = with(device, |kept| kept.free.pop());
        let Tools { copies, staging, reads, read_staging } = match free {
            Some(tools) => tools,
            None => Tools::new(device)?,
        };
        Ok(Self { copies, staging, reads, read_staging })
    }

    /// The pool of a device's memory that the operations of this process share.
    #[must_use]
    pub fn pool(device: &Device) -> BufferPool {
        with(device, |kept| kept.pool.clone())
    }

    /// Gives memory of the pool back to the driver if more than a gibibyte of it is free: for the end of an operation,
    /// since it may wait for the device.
    pub fn trim(device: &Device) {
        let pool = Self::pool(device);
        if pool.statistics().free_bytes > KEPT_BYTES {
            pool.trim();
        }
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        let [staging, read_staging] = [&mut self.staging, &mut self.read_staging].map(std::mem::take);
        let tools = Tools { copies: self.copies.clone(), staging, reads: self.reads.clone(), read_staging };
        let mut rest = Some(tools);
        with(self.reads.device(), |kept| {
            if kept.free.len() < KEPT {
                kept.free.extend(rest.take());
            }
        });
        // Freed outside of the lock: that waits for copies.
        drop(rest);
    }
}

/// Does something with what is kept for a device.
fn with<R>(device: &Device, work: impl FnOnce(&mut Kept) -> R) -> R {
    let mut devices = DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
    let known = devices.iter().position(|kept| kept.pool.device().is_same(device));
    let place = known.unwrap_or_else(|| {
        devices.push(Kept { pool: BufferPool::new(device), free: Vec::new() });
        devices.len() - 1
    });
    work(&mut devices[place])
}
