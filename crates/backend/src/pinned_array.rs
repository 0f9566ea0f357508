//! Elements in pinned host memory, which a device reads without a copy by the host.

use bytemuck::Pod;
use fringes_gpu::{Device, PinnedBuffer};
use fringes_types::LinearArray;

use crate::DeviceError;

/// An array in pinned host memory: chunks of it go to a device at the rate of the link, with no copy by the host.
///
/// Changing it waits for the copies that read it.
#[derive(Debug)]
pub struct PinnedArray<T: Pod>(PinnedBuffer<T>);

impl<T: Pod> PinnedArray<T> {
    /// Zeros.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`] with what the driver says.
    pub fn zeroed(device: &Device, length: usize) -> Result<Self, DeviceError> {
        Ok(Self(PinnedBuffer::zeroed(device, length)?))
    }

    /// A copy of host memory.
    ///
    /// # Errors
    /// As [`PinnedArray::zeroed`].
    pub fn from_slice(device: &Device, elements: &[T]) -> Result<Self, DeviceError> {
        Ok(Self(PinnedBuffer::from_slice(device, elements)?))
    }

    /// The elements.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`] with a failure of a copy.
    pub fn as_slice(&self) -> Result<&[T], DeviceError> {
        Ok(self.0.as_slice()?)
    }

    /// The elements, to be changed, after all copies that use them are done.
    ///
    /// # Errors
    /// As [`PinnedArray::as_slice`].
    pub fn as_mut_slice(&mut self) -> Result<&mut [T], DeviceError> {
        Ok(self.0.as_mut_slice()?)
    }

    /// The memory, for copies in the order of a stream.
    #[must_use]
    pub fn buffer(&self) -> &PinnedBuffer<T> {
        &self.0
    }

    /// The memory, for copies in the order of a stream.
    pub fn buffer_mut(&mut self) -> &mut PinnedBuffer<T> {
        &mut self.0
    }
}

impl<T: Pod> From<PinnedBuffer<T>> for PinnedArray<T> {
    fn from(buffer: PinnedBuffer<T>) -> Self {
        Self(buffer)
    }
}

impl<T: Pod> LinearArray<T> for PinnedArray<T> {
    fn len(&self) -> usize {
        self.0.len()
    }
}
