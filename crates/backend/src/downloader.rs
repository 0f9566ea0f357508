//! Chunks from a device to the host, beside what goes there and what the device computes.

use bytemuck::Pod;
use fringes_gpu::{Device, Event, Stream};
use fringes_types::{Accumulator, Heaps, Visibilities, VoltageSample};

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
    /// When what is read has been written.
    there: Event,
}

impl Downloader {
    /// Of a device.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`] with what the driver says.
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        Ok(Self { stream: device.new_stream()?, staging: Staging::new(PIECES), there: device.new_sleeping_event()? })
    }

    /// Visibilities on the host, in memory of their length that the caller gives, when they have come. Their memory on
    /// the device may be dropped then.
    ///
    /// # Errors
    /// [`UploadError::Device`] with [`DeviceError::Length`] for memory of another length, and with what the driver
    /// says, a failure of the work that writes the visibilities among it.
    pub fn visibilities<A: Accumulator>(
        &mut self,
        visibilities: &DeviceVisibilities<'_, A>,
        mut elements: Vec<A>,
    ) -> Result<Visibilities<A>, UploadError> {
        self.read(visibilities.array(), &mut elements)?;
        Ok(host_visibilities(visibilities, elements)?)
    }

    /// Heaps on the host, when they have come.
    ///
    /// # Errors
    /// As [`Downloader::visibilities`].
    pub fn heaps<V: VoltageSample>(
        &mut self,
        heaps: &DeviceHeaps<'_, V>,
        mut elements: Vec<V>,
    ) -> Result<Heaps<V>, UploadError> {
        self.read(heaps.array(), &mut elements)?;
        Ok(host_heaps(heaps, elements)?)
    }

    /// The elements of an array on the host, when they have come.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`] with what the driver says, a failure of the work that writes them among it.
    pub fn elements<T: Pod>(&mut self, array: &DeviceArray<'_, T>) -> Result<Vec<T>, DeviceError> {
        let mut elements = vec![T::zeroed(); array.view().len()];
        self.read(array, &mut elements)?;
        Ok(elements)
    }

    fn read<T: Pod>(&mut self, array: &DeviceArray<'_, T>, to: &mut [T]) -> Result<(), DeviceError> {
        let view = array.read_on(&self.stream)?;
        if view.len() != to.len() {
            let (expected, actual) = (view.len(), to.len());
            return Err(DeviceError::Length { buffer: "memory for what a device gave", expected, actual });
        }
        // What writes the array may take long: that is slept for.
        self.there.record(&self.stream)?;
        self.there.synchronize()?;
        let read = self.staging.read(&self.stream, view, to);
        array.reads_queued(&self.stream)?;
        read
    }
}
