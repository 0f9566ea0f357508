//! Pools of pinned memory, for sources that must not allocate.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytemuck::Pod;

use crate::pinned::PinnedMemory;
use crate::pool::size_class;
use crate::view::byte_size;
use crate::{Device, GpuError, PinnedBuffer};

/// Pinned host memory that is used again: allocating and freeing it takes milliseconds and waits for the device.
///
/// A buffer that is dropped goes back at once, whatever copies still read it: whoever gets it next waits for them when
/// the elements are to be changed ([`PinnedBuffer::as_mut_slice`]). Clones are the same pool. Memory goes back to the
/// driver with the last clone, that of buffers with them. `PinnedPool` is `Send` and `Sync`.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use fringes_gpu::{Device, PinnedPool};
///
/// let pool = PinnedPool::new(&Device::best()?);
/// for chunk in 0..100u8 {
///     let mut buffer = pool.take::<u8>(1 << 20)?;
///     buffer.as_mut_slice()?.fill(chunk);
///     // A copy is queued that reads it; dropped, it is taken again once that is done.
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct PinnedPool {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    device: Device,
    /// Free pieces by their size in bytes, that which came back first first.
    free: Mutex<BTreeMap<usize, Vec<PinnedMemory>>>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<usize, Vec<PinnedMemory>>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The pool that a buffer's memory goes back to.
#[derive(Debug)]
pub(crate) struct Home(Weak<Shared>);

impl Home {
    /// Makes memory free again; without the pool it is freed.
    pub(crate) fn give_back(&self, memory: PinnedMemory) {
        if let Some(pool) = self.0.upgrade()
            && memory.bytes() > 0
        {
            pool.lock().entry(memory.bytes()).or_default().push(memory);
        }
    }
}

impl PinnedPool {
    /// An empty pool.
    #[must_use]
    pub fn new(device: &Device) -> Self {
        Self { shared: Arc::new(Shared { device: device.clone(), free: Mutex::default() }) }
    }

    /// Memory for `length` elements, with whatever it holds.
    ///
    /// # Errors
    /// [`GpuError::TooLarge`]; what the driver answers where the host has not so much memory.
    pub fn take<T: Pod>(&self, length: usize) -> Result<PinnedBuffer<T>, GpuError> {
        let bytes = size_class(byte_size::<T>(length)?);
        let free = {
            let mut free = self.shared.lock();
            // What came back first, so that its copies are done.
            free.get_mut(&bytes).filter(|pieces| !pieces.is_empty()).map(|pieces| pieces.remove(0))
        };
        let memory = free.map_or_else(|| PinnedMemory::zeroed(&self.shared.device, bytes), Ok)?;
        Ok(PinnedBuffer::of(memory, length, Some(Home(Arc::downgrade(&self.shared)))))
    }

    /// Bytes that are free in the pool.
    #[must_use]
    pub fn free_bytes(&self) -> u64 {
        self.shared.lock().iter().map(|(bytes, pieces)| (*bytes * pieces.len()) as u64).sum()
    }
}
