//! Chunks from a device to the host, beside what goes there and what the device computes.

use bytemuck::Pod;
use fringes_gpu::{Device, Stream};
use fringes_types::{Accumulator, Heaps, TypesError, Visibilities, VoltageSample};

use crate::transfer::{host_heaps, host_visibilities};
use crate::{DeviceArray, DeviceError, DeviceHeaps, DeviceVisibilities, Staging, UploadError};

/// Pieces of pinned memory that are under way.
const PIECES: usize = 4;

/// Copies what operations gave from a device, on a stream of its own and through pinned memory that it keeps: the link
/// carries both directions at once, and kernels go on. The counterpart of [`Uploader`](crate::Uploader).
#[derive(Debug)]
pub struct Downloader {
    stream: Stream,
    staging: Staging,
}

impl Downloader {
    /// Of a device.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`] with what the driver says.
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        Ok(Self { stream: device.new_stream()?, staging: Staging::new(PIECES) })
    }

    /// Visibilities on the host, when they have come. Their memory may be dropped then.
    ///
    /// # Errors
    /// [`UploadError::Types`] without memory for them, [`UploadError::Device`] with what the driver says, a failure of
    /// the work that writes them among it.
    pub fn visibilities<A: Accumulator>(
        &mut self,
        visibilities: &DeviceVisibilities<'_, A>,
    ) -> Result<Visibilities<A>, UploadError> {
        let elements = self.array("visibilities", visibilities.array())?;
        Ok(host_visibilities(visibilities, elements)?)
    }

    /// Heaps on the host, when they have come.
    ///
    /// # Errors
    /// As [`Downloader::visibilities`].
    pub fn heaps<V: VoltageSample>(&mut self, heaps: &DeviceHeaps<'_, V>) -> Result<Heaps<V>, UploadError> {
        let elements = self.array("heaps", heaps.array())?;
        Ok(host_heaps(heaps, elements)?)
    }

    fn array<T: Pod>(&mut self, name: &'static str, array: &DeviceArray<'_, T>) -> Result<Vec<T>, UploadError> {
        let view = array.read_on(&self.stream)?;
        let too_large = || TypesError::TooLarge { array: name, elements: view.len().to_string() };
        // Threads that copy take its pages.
        let mut elements = bytemuck::try_zeroed_vec::<T>(view.len()).map_err(|()| too_large())?;
        let read = self.staging.read(&self.stream, view, &mut elements);
        array.reads_queued(&self.stream)?;
        read?;
        Ok(elements)
    }
}
