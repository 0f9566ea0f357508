//! Elements in pinned host memory, which a device reads without a copy by the host.

use bytemuck::Pod;
use fringes_gpu::{Device, PinnedBuffer};
use fringes_types::{Heaps, HostArray, HostRows, LinearArray};

use crate::DeviceError;

/// Samples of any format in pinned memory: what a source gives that a GPU is to read at the rate of its link.
pub type PinnedSamples = HostRows<PinnedArray<u32>>;
/// Heaps `[batch][antenna][channel][spectrum][pol]` in pinned memory.
pub type PinnedHeaps<V> = Heaps<V, PinnedArray<V>>;

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

/// Of elements: equal arrays need not be the same memory.
impl<T: Pod + PartialEq> PartialEq for PinnedArray<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_slice_whatever_came() == other.0.as_slice_whatever_came()
    }
}

impl<T: Pod + Sync> HostArray<T> for PinnedArray<T> {
    fn elements(&self) -> &[T] {
        self.0.as_slice_whatever_came()
    }
}

impl<T: Pod> LinearArray<T> for PinnedArray<T> {
    fn len(&self) -> usize {
        self.0.len()
    }
}
