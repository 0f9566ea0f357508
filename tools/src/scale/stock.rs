//! Random bytes on every GPU, to fill buffers from.

use bytemuck::Pod;
use fringes_gpu::{Buffer, Device, Stream};

use crate::bench::random::Source;
use crate::end::End;

/// A GPU, and random bytes there.
pub(crate) struct Stock {
    pub(crate) device: Device,
    source: Source<u8>,
}

impl Stock {
    /// Of a GPU.
    pub(crate) fn new(device: &Device) -> Result<Self, End> {
        let stream = device.new_stream()?;
        Ok(Self { device: device.clone(), source: Source::bytes(&stream)? })
    }

    /// A buffer of random bytes, none of them -128, written on `stream`.
    pub(crate) fn buffer<T: Pod>(&self, stream: &Stream, length: usize) -> Result<Buffer<T>, End> {
        let mut buffer = Buffer::<T>::alloc(&self.device, length)?;
        self.source.fill(stream, &mut buffer.view_mut().cast::<u8>()?)?;
        Ok(buffer)
    }
}
