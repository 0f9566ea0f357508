//! Typed buffers of device memory.

use std::any::Any;
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::sync::Arc;

use bytemuck::Pod;

use crate::driver::{self, Failure};
use crate::pool::PoolPlace;
use crate::view::{byte_size, cast_length, check_raw};
use crate::{BufferView, BufferViewMut, Device, GpuError, Stream};

/// Device memory that holds elements of one type.
///
/// A new buffer's content is whatever was there: every bit pattern is a value of `T`. Work on a buffer from several
/// streams is ordered by the caller, with events; a missing one makes wrong numbers, and nothing worse, because freeing
/// memory waits for the device. `Buffer` is `Send` and `Sync`.
pub struct Buffer<T> {
    memory: Memory,
    length: usize,
    _element: PhantomData<fn() -> T>,
}

/// A piece of device memory and who gets it back.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) device: Device,
    pub(crate) address: u64,
    pub(crate) bytes: usize,
    pub(crate) origin: Origin,
}

/// Who gets the memory back.
#[derive(Debug)]
pub(crate) enum Origin {
    /// The driver.
    Driver,
    /// Nobody: other software owns it, or there is none.
    External,
    /// A pool.
    Pool(PoolPlace),
    /// What has more than this, once nobody has any of it.
    Kept(#[allow(dead_code, reason = "it is kept")] Arc<dyn Any + Send + Sync>),
}

impl<T: Pod> Buffer<T> {
    /// Memory for `length` elements, with whatever it holds. This may wait for the device: in a loop, use a
    /// [`BufferPool`](crate::BufferPool).
    ///
    /// # Errors
    /// [`GpuError::OutOfMemory`], [`GpuError::TooLarge`], and what the driver answers.
    pub fn alloc(device: &Device, length: usize) -> Result<Self, GpuError> {
        Ok(Self::from_memory(Memory::alloc(device, byte_size::<T>(length)?)?, length))
    }

    /// Memory whose bytes become zero in the order of `stream`.
    ///
    /// # Errors
    /// As [`Buffer::alloc`].
    pub fn zeroed(stream: &Stream, length: usize) -> Result<Self, GpuError> {
        let mut buffer = Self::alloc(stream.device(), length)?;
        buffer.view_mut().zero(stream)?;
        Ok(buffer)
    }

    /// A copy of host memory. Returns when it is copied.
    ///
    /// # Errors
    /// As [`Buffer::alloc`] and [`BufferViewMut::copy_from_slice`].
    pub fn from_slice(stream: &Stream, elements: &[T]) -> Result<Self, GpuError> {
        let mut buffer = Self::alloc(stream.device(), elements.len())?;
        buffer.copy_from_slice(stream, elements)?;
        Ok(buffer)
    }

    /// A buffer over memory that other software owns. Dropping it frees nothing.
    ///
    /// # Errors
    /// As [`BufferView::from_raw`].
    ///
    /// # Safety
    /// - `address` and the `length` elements from it are memory that `device` can read and write, in its context;
    /// - they stay so while the buffer and all work that uses it last;
    /// - nothing else uses them during that work.
    pub unsafe fn from_external(device: &Device, address: u64, length: usize) -> Result<Self, GpuError> {
        check_raw::<T>(address, length)?;
        let bytes = byte_size::<T>(length)?;
        Ok(Self::from_memory(Memory { device: device.clone(), address, bytes, origin: Origin::External }, length))
    }

    /// A buffer over memory that the driver gave to other software of this process, and that is freed with it.
    ///
    /// # Safety
    /// The driver gave the memory for this context and so many elements, and it has no other owner.
    #[cfg(feature = "cust")]
    pub(crate) unsafe fn from_driver_memory(device: &Device, address: u64, length: usize) -> Self {
        let bytes = length * size_of::<T>();
        Self::from_memory(Memory { device: device.clone(), address, bytes, origin: Origin::Driver }, length)
    }

    /// Gives away memory that the driver gave.
    #[cfg(feature = "cust")]
    pub(crate) fn into_driver_memory(mut self) -> Result<u64, GpuError> {
        match &self.memory.origin {
            Origin::Driver => {}
            origin if self.memory.bytes > 0 => {
                return Err(GpuError::Value {
                    what: "memory of a buffer that is given away",
                    expected: "the driver's".into(),
                    actual: if matches!(origin, Origin::Pool(_)) { "a pool's" } else { "other software's" }.into(),
                });
            }
            _ => {}
        }
        self.memory.origin = Origin::External;
        Ok(self.memory.address)
    }

    pub(crate) fn from_memory(memory: Memory, length: usize) -> Self {
        Self { memory, length, _element: PhantomData }
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

    /// Size of the elements in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.length * size_of::<T>()
    }

    /// Address on the device, for other software to use; zero where there is no element.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.memory.address
    }

    /// The device whose memory it is.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.memory.device
    }

    /// The same bytes as other elements.
    ///
    /// # Errors
    /// As [`BufferView::cast`]; the memory is freed then.
    pub fn cast<U: Pod>(self) -> Result<Buffer<U>, GpuError> {
        let length = cast_length::<U>(self.memory.address, self.bytes())?;
        Ok(Buffer::from_memory(self.memory, length))
    }

    /// All elements, to be read.
    #[must_use]
    pub fn view(&self) -> BufferView<'_, T> {
        BufferView::new(&self.memory.device, self.memory.address, self.length)
    }

    /// All elements, to be written.
    #[must_use]
    pub fn view_mut(&mut self) -> BufferViewMut<'_, T> {
        BufferViewMut::new(&self.memory.device, self.memory.address, self.length)
    }

    /// Some of the elements, to be read.
    ///
    /// # Errors
    /// [`GpuError::Range`] where the range is not inside.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<BufferView<'_, T>, GpuError> {
        self.view().slice(range)
    }

    /// Some of the elements, to be written.
    ///
    /// # Errors
    /// [`GpuError::Range`] where the range is not inside.
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<BufferViewMut<'_, T>, GpuError> {
        self.view_mut().slice(range)
    }

    /// Some of the elements as a buffer of their own, which keeps all of them. There may be several at once, of the
    /// same elements too: what they write is ordered by the caller.
    ///
    /// # Errors
    /// [`GpuError::Range`] where the range is not inside.
    pub fn part(self: &Arc<Self>, range: impl RangeBounds<usize>) -> Result<Self, GpuError> {
        let part = self.slice(range)?;
        let (device, address, bytes) = (self.memory.device.clone(), part.address(), part.bytes());
        let memory = Memory { device, address, bytes, origin: Origin::Kept(self.clone()) };
        Ok(Self::from_memory(memory, part.len()))
    }

    /// Copies all elements from host memory: [`BufferViewMut::copy_from_slice`].
    ///
    /// # Errors
    /// As there.
    pub fn copy_from_slice(&mut self, stream: &Stream, from: &[T]) -> Result<(), GpuError> {
        self.view_mut().copy_from_slice(stream, from)
    }

    /// Copies all elements to host memory: [`BufferView::copy_to_slice`].
    ///
    /// # Errors
    /// As there.
    pub fn copy_to_slice(&self, stream: &Stream, to: &mut [T]) -> Result<(), GpuError> {
        self.view().copy_to_slice(stream, to)
    }

    /// All elements in host memory: [`BufferView::to_vec`].
    ///
    /// # Errors
    /// As there.
    pub fn to_vec(&self, stream: &Stream) -> Result<Vec<T>, GpuError> {
        self.view().to_vec(stream)
    }

    /// Makes every element `value`, in the order of `stream`: [`BufferViewMut::fill`].
    ///
    /// # Errors
    /// As there.
    pub fn fill(&mut self, stream: &Stream, value: T) -> Result<(), GpuError> {
        self.view_mut().fill(stream, value)
    }
}

impl<T> std::fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Memory { device, address, .. } = &self.memory;
        write!(f, "[{}; {}] at {address:#x} of GPU {}", std::any::type_name::<T>(), self.length, device.info().index)
    }
}

impl Memory {
    /// Memory from the driver; none for no bytes.
    pub(crate) fn alloc(device: &Device, bytes: usize) -> Result<Self, GpuError> {
        let mut memory = Self { device: device.clone(), address: 0, bytes, origin: Origin::External };
        if bytes == 0 {
            return Ok(memory);
        }
        let entered = device.context.enter()?;
        // SAFETY: the pointer is valid for the call; the memory is freed once, when dropped.
        let answer = unsafe { driver::cuMemAlloc_v2(&raw mut memory.address, bytes) };
        drop(entered);
        match answer {
            Ok(()) => {
                memory.origin = Origin::Driver;
                Ok(memory)
            }
            Err(Failure::Code(driver::OUT_OF_MEMORY)) => {
                let free = device.memory()?;
                Err(GpuError::OutOfMemory {
                    requested_bytes: bytes as u64,
                    free_bytes: free.free_bytes,
                    total_bytes: free.total_bytes,
                })
            }
            Err(failure) => Err(failure.error(format!("allocating {bytes} bytes"))),
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        match std::mem::replace(&mut self.origin, Origin::External) {
            Origin::External | Origin::Kept(_) => {}
            Origin::Pool(place) => place.give_back(self.address, self.bytes),
            Origin::Driver => match self.device.context.enter() {
                Err(error) => tracing::error!("freeing {} bytes of device memory: {error}", self.bytes),
                // SAFETY: the memory came from the driver and has no other name; freeing it waits for work that uses
                // it.
                Ok(_entered) => driver::report(unsafe { driver::cuMemFree_v2(self.address) }, "freeing device memory"),
            },
        }
    }
}
