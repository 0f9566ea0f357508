//! Conversions from [`cudarc`], for people whose code uses it.
//!
//! | `cudarc` | here | call |
//! |---|---|---|
//! | `CudaContext` | [`Device`] | [`Device::from_cudarc`] |
//! | `CudaStream` | [`Stream`] | [`Stream::from_cudarc`] |
//! | `CudaSlice` | [`BufferView`], [`BufferViewMut`] | [`BufferView::from_cudarc`], [`BufferViewMut::from_cudarc`] |
//!
//! The version is that of this crate's own dependency, 0.19.

use std::sync::Arc;

use ::cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DeviceRepr};
use bytemuck::Pod;

use crate::{BufferView, BufferViewMut, Device, GpuError, Stream};

impl Device {
    /// The device of a context of `cudarc`. Both use the device's primary context, each with a reference of its own, so
    /// that either may be dropped first.
    ///
    /// # Errors
    /// As [`Device::open`].
    pub fn from_cudarc(context: &CudaContext) -> Result<Self, GpuError> {
        Self::open(context.ordinal())
    }
}

impl Stream {
    /// A stream of `cudarc`, which lives as long as the returned stream and its clones.
    ///
    /// # Errors
    /// [`GpuError::WrongDevice`] for a stream of another context.
    pub fn from_cudarc(device: &Device, stream: Arc<CudaStream>) -> Result<Self, GpuError> {
        let raw = stream.cu_stream();
        // SAFETY: the stream is valid, and the returned value keeps it so.
        Ok(unsafe { Self::from_raw(device, raw)? }.keeping(stream))
    }
}

impl<'a, T: Pod + DeviceRepr> BufferView<'a, T> {
    /// A slice of `cudarc`, to be read by work on `stream`, which waits for what `cudarc` wrote to it.
    ///
    /// # Errors
    /// [`GpuError::WrongDevice`] for memory of another device, [`GpuError::Alignment`].
    pub fn from_cudarc(device: &'a Device, stream: &'a CudaStream, slice: &'a CudaSlice<T>) -> Result<Self, GpuError> {
        let (address, _written) = slice.device_ptr(stream);
        device.check_memory(address, slice.num_bytes())?;
        // SAFETY: the memory is the slice's, which is borrowed.
        unsafe { Self::from_raw(device, address, slice.len()) }
    }
}

impl<'a, T: Pod + DeviceRepr> BufferViewMut<'a, T> {
    /// A slice of `cudarc`, to be written by work on `stream`, which waits for what `cudarc` did with it.
    ///
    /// # Errors
    /// [`GpuError::WrongDevice`] for memory of another device, [`GpuError::Alignment`].
    pub fn from_cudarc(
        device: &'a Device,
        stream: &'a CudaStream,
        slice: &'a mut CudaSlice<T>,
    ) -> Result<Self, GpuError> {
        let (length, bytes) = (slice.len(), slice.num_bytes());
        let (address, _written) = slice.device_ptr_mut(stream);
        device.check_memory(address, bytes)?;
        // SAFETY: the memory is the slice's, which is borrowed uniquely.
        unsafe { Self::from_raw(device, address, length) }
    }
}
