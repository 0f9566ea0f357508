//! Conversions to and from [`cust`], for people whose code uses it.
//!
//! | `cust` | here | call |
//! |---|---|---|
//! | `Context` | [`Device`] | [`Device::from_cust`] |
//! | [`Device`] | `Context` | [`Device::to_cust`] |
//! | `Stream` | [`Stream`] | [`Stream::from_cust`]; both at once: [`Stream::shared_with_cust`] |
//! | order of two streams | | [`Stream::wait_for_cust`], [`Stream::make_cust_wait`] |
//! | `DeviceBuffer` | [`Buffer`] | [`Buffer::from_cust`], borrowed: [`BufferView::from_cust`], [`BufferViewMut::from_cust`] |
//! | [`Buffer`] | `DeviceBuffer` | [`Buffer::into_cust`] |
//!
//! `cust` has no way to make its `Stream` of an existing one; [`Stream::shared_with_cust`] makes a stream that both
//! know. The crate links to the driver's library, so that with this feature a program needs it when it is built.

use std::mem::ManuallyDrop;
use std::sync::Arc;

use ::cust::context::Context;
use ::cust::error::CudaError;
use ::cust::memory::{DeviceBuffer, DeviceCopy, DevicePointer};
use ::cust::stream::StreamFlags;
use bytemuck::Pod;

use crate::driver::{self, Doing};
use crate::view::{byte_size, check_raw};
use crate::{Buffer, BufferView, BufferViewMut, Device, GpuError, Stream};

/// The typed error of one of `cust`.
fn error(error: CudaError, doing: &str) -> GpuError {
    driver::Failure::Code(error as u32).error(doing.to_owned())
}

/// Refuses memory of another context.
fn expect_context(device: &Device, address: u64) -> Result<(), GpuError> {
    /// `CU_POINTER_ATTRIBUTE_CONTEXT`.
    const CONTEXT: u32 = 1;
    let entered = device.context.enter()?;
    let mut owner: crate::sys::CUcontext = std::ptr::null_mut();
    let (mut attribute, mut value) = (CONTEXT, (&raw mut owner).cast());
    // SAFETY: one attribute, a context, and one value; the pointers are valid for the call.
    unsafe { driver::cuPointerGetAttributes(1, &raw mut attribute, &raw mut value, address) }
        .doing("asking whose context a cust buffer belongs to")?;
    drop(entered);
    if owner == device.raw_context() {
        return Ok(());
    }
    Err(GpuError::WrongDevice {
        what: "the cust buffer",
        expected: device.context.label(),
        actual: format!("context {owner:p}"),
    })
}

impl Device {
    /// The device of a context of `cust`. Both use the device's primary context, each with a reference of its own, so
    /// that either may be dropped first. For a context of `cust::context::legacy` there is
    /// [`Device::from_raw_context`].
    ///
    /// # Errors
    /// As [`Device::open`]; [`GpuError::WrongDevice`] where the context is not the device's primary one.
    pub fn from_cust(context: &Context) -> Result<Self, GpuError> {
        // SAFETY: the context is valid while it is borrowed, and this name for it is dropped before.
        let index = unsafe { Self::from_raw_context(context.as_raw().cast()) }?.info().index;
        let device = Self::open(index)?;
        device.expect_raw(context.as_raw().cast())?;
        Ok(device)
    }

    /// A context of `cust` for this device. Unlike other calls this makes it current on the thread, as `cust` does.
    ///
    /// # Errors
    /// What the driver answers; [`GpuError::WrongDevice`] for a device in a context that is not the primary one.
    pub fn to_cust(&self) -> Result<Context, GpuError> {
        const DOING: &str = "making a context of cust";
        ::cust::init(::cust::CudaFlags::empty()).map_err(|answer| error(answer, DOING))?;
        let index = u32::try_from(self.info().index).unwrap_or(u32::MAX);
        let device = ::cust::device::Device::get_device(index).map_err(|answer| error(answer, DOING))?;
        let context = Context::new(device).map_err(|answer| error(answer, DOING))?;
        self.expect_raw(context.as_raw().cast())?;
        Ok(context)
    }

    /// Refuses another context.
    fn expect_raw(&self, raw: crate::sys::CUcontext) -> Result<(), GpuError> {
        if raw == self.raw_context() {
            return Ok(());
        }
        let (expected, actual) = (self.context.label(), format!("context {raw:p}"));
        Err(GpuError::WrongDevice { what: "the cust context", expected, actual })
    }
}

impl Stream {
    /// A stream of `cust`, which lives as long as the returned stream and its clones.
    ///
    /// # Errors
    /// [`GpuError::WrongDevice`] for a stream of another context.
    pub fn from_cust(device: &Device, stream: Arc<::cust::stream::Stream>) -> Result<Self, GpuError> {
        let raw = stream.as_inner().cast();
        // SAFETY: the stream is valid, and the returned value keeps it so.
        Ok(unsafe { Self::from_raw(device, raw)? }.keeping(stream))
    }

    /// A new stream that both this crate and `cust` know.
    ///
    /// # Errors
    /// As [`Device::to_cust`].
    pub fn shared_with_cust(device: &Device) -> Result<(Self, Arc<::cust::stream::Stream>), GpuError> {
        let entered = device.context.enter()?;
        let stream = ::cust::stream::Stream::new(StreamFlags::NON_BLOCKING, None)
            .map_err(|answer| error(answer, "making a stream of cust"))?;
        drop(entered);
        let stream = Arc::new(stream);
        Ok((Self::from_cust(device, Arc::clone(&stream))?, stream))
    }

    /// Makes later work of this stream wait for all work queued so far on a stream of `cust`. Returns at once.
    ///
    /// # Errors
    /// As [`Stream::wait`].
    pub fn wait_for_cust(&self, other: &::cust::stream::Stream) -> Result<(), GpuError> {
        // SAFETY: the stream is valid while it is borrowed, and this name for it is dropped before.
        self.wait_for(&unsafe { Self::from_raw(self.device(), other.as_inner().cast()) }?)
    }

    /// Makes later work of a stream of `cust` wait for all work queued so far on this one. Returns at once.
    ///
    /// # Errors
    /// As [`Stream::wait`].
    pub fn make_cust_wait(&self, other: &::cust::stream::Stream) -> Result<(), GpuError> {
        // SAFETY: the stream is valid while it is borrowed, and this name for it is dropped before.
        unsafe { Self::from_raw(self.device(), other.as_inner().cast()) }?.wait_for(self)
    }
}

impl<T: Pod + DeviceCopy> Buffer<T> {
    /// A buffer of `cust`, whose memory is now this one's.
    ///
    /// # Errors
    /// [`GpuError::WrongDevice`] for memory of another context, [`GpuError::Alignment`].
    pub fn from_cust(device: &Device, buffer: DeviceBuffer<T>) -> Result<Self, GpuError> {
        let (address, length) = (buffer.as_device_ptr().as_raw(), buffer.len());
        let bytes = byte_size::<T>(length)?;
        if bytes == 0 {
            return Self::alloc(device, length);
        }
        check_raw::<T>(address, length)?;
        expect_context(device, address)?;
        let _moved = ManuallyDrop::new(buffer);
        // SAFETY: the memory came from the driver, in this context, and has no other owner any more.
        Ok(unsafe { Self::from_driver_memory(device, address, length) })
    }

    /// A buffer of `cust` with the memory of this one.
    ///
    /// # Errors
    /// [`GpuError::Value`] where this buffer's memory is a pool's or other software's: that cannot be given away. The
    /// buffer is dropped then.
    pub fn into_cust(self) -> Result<DeviceBuffer<T>, GpuError> {
        let length = self.len();
        let address = self.into_driver_memory()?;
        // SAFETY: the memory came from the driver for so many elements, and has no other owner any more.
        Ok(unsafe { DeviceBuffer::from_raw_parts(DevicePointer::from_raw(address), length) })
    }
}

impl<'a, T: Pod + DeviceCopy> BufferView<'a, T> {
    /// A buffer of `cust`, to be read.
    ///
    /// # Errors
    /// [`GpuError::WrongDevice`] for memory of another context, [`GpuError::Alignment`].
    pub fn from_cust(device: &'a Device, buffer: &'a DeviceBuffer<T>) -> Result<Self, GpuError> {
        let (address, length) = check_cust(device, buffer)?;
        Ok(Self::new(device, address, length))
    }
}

impl<'a, T: Pod + DeviceCopy> BufferViewMut<'a, T> {
    /// A buffer of `cust`, to be written.
    ///
    /// # Errors
    /// [`GpuError::WrongDevice`] for memory of another context, [`GpuError::Alignment`].
    pub fn from_cust(device: &'a Device, buffer: &'a mut DeviceBuffer<T>) -> Result<Self, GpuError> {
        let (address, length) = check_cust(device, buffer)?;
        Ok(Self::new(device, address, length))
    }
}

/// Address and length of a buffer of `cust` that belongs to this context.
fn check_cust<T: Pod + DeviceCopy>(device: &Device, buffer: &DeviceBuffer<T>) -> Result<(u64, usize), GpuError> {
    let length = buffer.len();
    if byte_size::<T>(length)? == 0 {
        return Ok((0, length)); // cust gives empty buffers an address that is none.
    }
    let address = buffer.as_device_ptr().as_raw();
    check_raw::<T>(address, length)?;
    expect_context(device, address)?;
    Ok((address, length))
}
