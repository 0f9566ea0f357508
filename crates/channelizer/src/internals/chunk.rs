//! Chunks of samples in device memory, as the kernels read them.

use fringes_backend::DeviceSamples;
use fringes_gpu::BufferView;

use super::format::Numbers;
use super::samples::SampleWords;
use crate::ChannelizerError;
use crate::timeline::ChunkAxes;

/// What the timeline has to know of a chunk.
pub fn axes<'a>(samples: &'a DeviceSamples<'_>) -> ChunkAxes<'a> {
    ChunkAxes {
        format: samples.format(),
        inputs: samples.inputs(),
        times: samples.times(),
        first_sample: samples.first_sample(),
        sample_rate_hz: samples.sample_rate_hz(),
        centre_hz: samples.centre_hz(),
        presence: samples.presence(),
    }
}

/// The rows of a chunk, of which `view` is the array.
///
/// # Errors
/// [`DeviceError::NoKernel`](fringes_backend::DeviceError::NoKernel) for a format that the kernels do not read.
pub fn rows<'a>(samples: &DeviceSamples<'_>, view: BufferView<'a, u32>) -> Result<SampleWords<'a>, ChannelizerError> {
    Ok(SampleWords {
        samples: view,
        inputs: samples.inputs().len(),
        row_bits: 8 * samples.row_bytes() as u64,
        times: samples.times(),
        numbers: Numbers::of(samples.format())?,
    })
}

/// Bytes of device memory for a chunk, saturating.
pub fn bytes(format: fringes_types::ChunkFormat, inputs: fringes_types::Inputs, times: usize) -> u64 {
    let bits = u64::from(format.sample_bits()).saturating_mul(times as u64);
    (bits.div_ceil(8).saturating_add(16)).saturating_mul(inputs.len() as u64).saturating_add(8)
}
