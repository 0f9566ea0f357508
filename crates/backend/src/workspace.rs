//! What calls on a device need and may keep for the next one: pinned memory, a stream for copies, pools.

use std::sync::{Mutex, PoisonError};

use fringes_gpu::{BufferPool, Device, Stream};

use crate::{DeviceError, Staging};

/// Pieces of pinned memory: one is filled, others are copied.
const PIECES: usize = 4;

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
    copies: Stream,
    staging: Staging,
}

/// Pinned memory and a stream for copies, for one call. When it is dropped, the next call on that device gets it: no
/// call allocates pinned memory once its sizes have come.
///
/// What was queued may still run then: a piece of pinned memory waits for its copies before it is filled again.
#[derive(Debug)]
pub struct Workspace {
    /// The stream that copies are queued on, beside the one that computes.
    pub copies: Stream,
    /// Pinned memory in four pieces.
    pub staging: Staging,
}

impl Workspace {
    /// One that is free, or a new one.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`] with what the driver says where a stream cannot be made.
    pub fn of(device: &Device) -> Result<Self, DeviceError> {
        let free = with(device, |kept| kept.free.pop());
        let Tools { copies, staging } = match free {
            Some(tools) => tools,
            None => Tools { copies: device.new_stream()?, staging: Staging::new(PIECES) },
        };
        Ok(Self { copies, staging })
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
        let tools = Tools { copies: self.copies.clone(), staging: std::mem::take(&mut self.staging) };
        let mut rest = Some(tools);
        with(self.copies.device(), |kept| {
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
