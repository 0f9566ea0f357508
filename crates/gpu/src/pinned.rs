//! Pinned host memory, which the device copies to and from while the host goes on.

use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use bytemuck::Pod;

use crate::driver::{self, Doing};
use crate::pinned_pool::Home;
use crate::view::byte_size;
use crate::{Device, Event, GpuError, Stream};

/// Host memory that the device can reach.
///
/// It remembers the copies that use it: reading it waits for the device's writes, changing it for all. So a copy can
/// return at once without leaving a trap. Dropping it waits for all as well, unless it is of a
/// [`PinnedPool`](crate::PinnedPool). `PinnedBuffer` is `Send` and `Sync`.
pub struct PinnedBuffer<T> {
    /// `None` once it has gone back to a pool.
    memory: Option<PinnedMemory>,
    length: usize,
    home: Option<Home>,
    _element: PhantomData<T>,
}

/// Pinned bytes, and the copies that use them.
pub(crate) struct PinnedMemory {
    device: Device,
    address: NonNull<u8>,
    bytes: usize,
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

// SAFETY: the memory is owned, as a `Vec`'s is; what lies there is plain data.
unsafe impl Send for PinnedMemory {}
// SAFETY: shared access only reads the memory; the list of uses is behind a mutex.
unsafe impl Sync for PinnedMemory {}

impl<T: Pod> PinnedBuffer<T> {
    /// Pinned memory for `length` elements, all zero.
    ///
    /// # Errors
    /// [`GpuError::TooLarge`]; what the driver answers where the host has not so much memory.
    pub fn zeroed(device: &Device, length: usize) -> Result<Self, GpuError> {
        Ok(Self::of(PinnedMemory::zeroed(device, byte_size::<T>(length)?)?, length, None))
    }

    /// `length` elements in memory that has their bytes.
    pub(crate) fn of(memory: PinnedMemory, length: usize, home: Option<Home>) -> Self {
        Self { memory: Some(memory), length, home, _element: PhantomData }
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
        if let Some(memory) = &self.memory {
            wait(&mut memory.lock().writes)?;
        }
        // SAFETY: the device writes the memory no more, and writing needs `&mut self`.
        Ok(unsafe { self.elements() })
    }

    /// Waits for all copies from this memory.
    ///
    /// # Errors
    /// A failure of asynchronous work before or of such a copy.
    pub fn wait_for_reads(&self) -> Result<(), GpuError> {
        match &self.memory {
            Some(memory) => wait(&mut memory.lock().reads),
            None => Ok(()),
        }
    }

    /// As [`PinnedBuffer::as_slice`], where nobody could take an error: a copy that failed is reported through
    /// `tracing::error!`, and the elements are whatever it left.
    #[must_use]
    pub fn as_slice_whatever_came(&self) -> &[T] {
        self.as_slice().unwrap_or_else(|error| {
            tracing::error!(%error, "a copy to pinned memory failed");
            // SAFETY: a failed wait says that the context's work has ended: the device writes the memory no more.
            unsafe { self.elements() }
        })
    }

    /// The elements, after all copies from and into them are done.
    ///
    /// # Errors
    /// A failure of asynchronous work before or of such a copy.
    pub fn as_mut_slice(&mut self) -> Result<&mut [T], GpuError> {
        let Some(memory) = &mut self.memory else { return Ok(&mut []) };
        memory.synchronize()?;
        // SAFETY: the memory holds `length` elements, the device uses it no more, and `self` is borrowed uniquely.
        Ok(unsafe { std::slice::from_raw_parts_mut(memory.address.cast::<T>().as_ptr(), self.length) })
    }

    /// The elements as they are.
    ///
    /// # Safety
    /// - The device does not write the memory.
    unsafe fn elements(&self) -> &[T] {
        match &self.memory {
            None => &[],
            // SAFETY: the memory holds `length` elements, aligned to a page or without any.
            Some(memory) => unsafe { std::slice::from_raw_parts(memory.address.cast::<T>().as_ptr(), self.length) },
        }
    }

    /// Enqueues a copy that reads this memory, and remembers it.
    pub(crate) fn device_reads(
        &self,
        stream: &Stream,
        copy: impl FnOnce(*const T) -> Result<(), GpuError>,
    ) -> Result<(), GpuError> {
        let Some(memory) = &self.memory else { return Ok(()) };
        remember(&mut memory.lock().reads, stream, || copy(memory.address.cast::<T>().as_ptr()))
    }

    /// Enqueues a copy that writes this memory, and remembers it.
    pub(crate) fn device_writes(
        &mut self,
        stream: &Stream,
        copy: impl FnOnce(*mut T) -> Result<(), GpuError>,
    ) -> Result<(), GpuError> {
        let Some(memory) = &self.memory else { return Ok(()) };
        remember(&mut memory.lock().writes, stream, || copy(memory.address.cast::<T>().as_ptr()))
    }
}

impl PinnedMemory {
    /// So many bytes, all zero.
    pub(crate) fn zeroed(device: &Device, bytes: usize) -> Result<Self, GpuError> {
        // Aligned for every element, as no bytes have no address.
        let mut place = NonNull::<u128>::dangling().cast::<u8>();
        if bytes > 0 {
            let _entered = device.context.enter()?;
            let mut address = std::ptr::null_mut();
            // Portable: pinned for every context.
            // SAFETY: the pointer is valid for the call; the memory is freed once, when dropped.
            unsafe { driver::cuMemHostAlloc(&raw mut address, bytes, 1) }
                .doing_with(|| format!("allocating {bytes} bytes of pinned memory"))?;
            place = NonNull::new(address.cast::<u8>()).unwrap_or(place);
            // SAFETY: the driver gave so many bytes.
            unsafe { place.as_ptr().write_bytes(0, bytes) };
        }
        Ok(Self { device: device.clone(), address: place, bytes, uses: Mutex::default() })
    }

    /// Bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Uses> {
        self.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }

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
        uses.push(Use { stream: stream.clone(), event: device.new_untimed_event()? });
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
        if let (Some(home), Some(memory)) = (&self.home, self.memory.take()) {
            home.give_back(memory);
        }
    }
}

impl Drop for PinnedMemory {
    fn drop(&mut self) {
        if self.bytes == 0 {
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
                let freed = unsafe { driver::cuMemFreeHost(self.address.as_ptr().cast()) };
                driver::report(freed, "freeing pinned memory");
            }
        }
    }
}

impl<T> std::fmt::Debug for PinnedBuffer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "pinned [{}; {}]", std::any::type_name::<T>(), self.length)
    }
}

impl std::fmt::Debug for PinnedMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes of pinned memory", self.bytes)
    }
}
