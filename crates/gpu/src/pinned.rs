//! Pinned host memory, which the device copies to and from while the host goes on.

use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use bytemuck::Pod;

use crate::driver::{self, Doing};
use crate::view::byte_size;
use crate::{Device, Event, GpuError, Stream};

/// Host memory that the device can reach.
///
/// It remembers the copies that use it: reading it waits for the device's writes, changing or dropping it for all. So a
/// copy can return at once without leaving a trap. `PinnedBuffer` is `Send` and `Sync`.
pub struct PinnedBuffer<T> {
    device: Device,
    memory: NonNull<T>,
    length: usize,
    uses: Mutex<Uses>,
}

/// Copies that may still run.
#[derive(Debug, Default)]
struct Uses {
    reads: Vec<Use>,
    writes: Vec<Use>,
}

/// The last copy on a stream.
#[derive(Debug)]
struct Use {
    stream: Stream,
    event: Event,
}

// SAFETY: the memory is owned, as a `Vec`'s is; `T` is plain data.
unsafe impl<T: Send> Send for PinnedBuffer<T> {}
// SAFETY: shared access only reads the memory; the list of uses is behind a mutex.
unsafe impl<T: Sync> Sync for PinnedBuffer<T> {}

impl<T: Pod> PinnedBuffer<T> {
    /// Pinned memory for `length` elements, all zero.
    ///
    /// # Errors
    /// [`GpuError::TooLarge`]; what the driver answers where the host has not so much memory.
    pub fn zeroed(device: &Device, length: usize) -> Result<Self, GpuError> {
        let bytes = byte_size::<T>(length)?;
        let mut memory = NonNull::dangling();
        if bytes > 0 {
            let _entered = device.context.enter()?;
            let mut address = std::ptr::null_mut();
            // Portable: pinned for every context.
            // SAFETY: the pointer is valid for the call; the memory is freed once, when dropped.
            unsafe { driver::cuMemHostAlloc(&raw mut address, bytes, 1) }
                .doing_with(|| format!("allocating {bytes} bytes of pinned memory"))?;
            memory = NonNull::new(address.cast::<T>()).unwrap_or(memory);
            // SAFETY: the driver gave so many bytes, aligned to a page.
            unsafe { memory.as_ptr().cast::<u8>().write_bytes(0, bytes) };
        }
        Ok(Self { device: device.clone(), memory, length, uses: Mutex::default() })
    }

    /// A copy of host memory.
    ///
    /// # Errors
    /// As [`PinnedBuffer::zeroed`].
    pub fn from_slice(device: &Device, elements: &[T]) -> Result<Self, GpuError> {
        let mut buffer = Self::zeroed(device, elements.len())?;
        buffer.as_mut_slice()?.copy_from_slice(elements);
        Ok(buffer)
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The elements, after all copies into them are done.
    ///
    /// # Errors
    /// A failure of asynchronous work before or of such a copy.
    pub fn as_slice(&self) -> Result<&[T], GpuError> {
        let mut uses = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        wait(&mut uses.writes)?;
        // SAFETY: the memory holds `length` elements; the device writes it no more, and writing needs `&mut self`.
        Ok(unsafe { std::slice::from_raw_parts(self.memory.as_ptr(), self.length) })
    }

    /// The elements, after all copies from and into them are done.
    ///
    /// # Errors
    /// A failure of asynchronous work before or of such a copy.
    pub fn as_mut_slice(&mut self) -> Result<&mut [T], GpuError> {
        self.synchronize()?;
        // SAFETY: the memory holds `length` elements, the device uses it no more, and `self` is borrowed uniquely.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.memory.as_ptr(), self.length) })
    }

    /// Enqueues a copy that reads this memory, and remembers it.
    pub(crate) fn device_reads(
        &self,
        stream: &Stream,
        copy: impl FnOnce(*const T) -> Result<(), GpuError>,
    ) -> Result<(), GpuError> {
        let mut uses = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        remember(&mut uses.reads, stream, || copy(self.memory.as_ptr()))
    }

    /// Enqueues a copy that writes this memory, and remembers it.
    pub(crate) fn device_writes(
        &mut self,
        stream: &Stream,
        copy: impl FnOnce(*mut T) -> Result<(), GpuError>,
    ) -> Result<(), GpuError> {
        let uses = self.uses.get_mut().unwrap_or_else(PoisonError::into_inner);
        remember(&mut uses.writes, stream, || copy(self.memory.as_ptr()))
    }
}

impl<T> PinnedBuffer<T> {
    /// Waits for all copies from and into this memory.
    fn synchronize(&mut self) -> Result<(), GpuError> {
        let uses = self.uses.get_mut().unwrap_or_else(PoisonError::into_inner);
        wait(&mut uses.writes)?;
        wait(&mut uses.reads)
    }
}

/// Waits for copies and forgets them.
fn wait(uses: &mut Vec<Use>) -> Result<(), GpuError> {
    while let Some(last) = uses.last() {
        last.event.synchronize()?;
        uses.pop();
    }
    Ok(())
}

/// Enqueues a copy and marks its end.
fn remember(uses: &mut Vec<Use>, stream: &Stream, copy: impl FnOnce() -> Result<(), GpuError>) -> Result<(), GpuError> {
    let device = stream.device();
    let _entered = device.context.enter()?;
    if stream.is_capturing()? {
        return copy(); // Launching the graph is unsafe, and this memory's life one of the conditions.
    }
    if !uses.iter().any(|known| known.stream.is_same(stream)) {
        uses.push(Use { stream: stream.clone(), event: device.new_event()? });
    }
    copy()?;
    let marked = match uses.iter().find(|known| known.stream.is_same(stream)) {
        Some(known) => known.event.record(stream),
        None => Ok(()),
    };
    if marked.is_err() {
        stream.synchronize()?; // The copy cannot be waited for later, so now.
    }
    marked
}

impl<T> Drop for PinnedBuffer<T> {
    fn drop(&mut self) {
        if self.length == 0 || size_of::<T>() == 0 {
            return;
        }
        if let Err(error) = self.synchronize() {
            tracing::error!("waiting for copies of pinned memory, which is not freed now: {error}");
            return;
        }
        match self.device.context.enter() {
            Err(error) => tracing::error!("freeing pinned memory: {error}"),
            Ok(_entered) => {
                // SAFETY: the memory came from the driver, and no copy uses it.
                driver::report(unsafe { driver::cuMemFreeHost(self.memory.as_ptr().cast()) }, "freeing pinned memory");
            }
        }
    }
}

impl<T> std::fmt::Debug for PinnedBuffer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "pinned [{}; {}]", std::any::type_name::<T>(), self.length)
    }
}
