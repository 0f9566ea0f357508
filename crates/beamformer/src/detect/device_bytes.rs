//! Detected beams as bytes, on a device.

use fringes_backend::{DeviceArray, DeviceDetectedBeams, DeviceError};
use fringes_gpu::{Buffer, LaunchConfig, Stream, args};
use fringes_types::{DetectedBeams, LinearArray};

use super::bytes::check_shape;
use crate::tied_array::kernels::weights_texts;
use crate::{BeamformerError, ByteScale};

/// Detected beams in bytes on a device, and how many sums did not fit.
#[derive(Debug)]
pub struct DeviceDetectedBytes {
    /// The beams; axes are those of the sums.
    pub beams: DeviceDetectedBeams<'static, u8>,
    /// Sums of each beam that were clamped or were not numbers, over all channels, times and products.
    pub saturated: DeviceArray<'static, u64>,
}

/// Sums on a device in bytes, there, in the order of a stream: the same bytes and counts as [`to_u8`](crate::to_u8)
/// gives.
///
/// # Errors
/// [`TypesError::Dimension`](fringes_types::TypesError::Dimension) for scales of other channels, beams or products;
/// [`DeviceError::TooLarge`] for sizes that no launch can count, [`DeviceError::Gpu`] with what the driver says, or for
/// a stream of another device.
pub fn to_u8_on_device(
    stream: &Stream,
    beams: &DeviceDetectedBeams<'_, f32>,
    scale: &ByteScale,
) -> Result<DeviceDetectedBytes, BeamformerError> {
    let [channels, times, count] = [beams.channels(), beams.times(), beams.beams()];
    let products = beams.products().count();
    check_shape("scales of bytes", (channels, count, products), scale.scale().dim())?;
    let device = beams.array().device();
    if !stream.device().is_same(device) {
        return Err(DeviceError::wrong_device(stream.device(), device).into());
    }
    let kernel = device.load(&weights_texts::TIED_ARRAY_WEIGHTS)?.kernel("bytes_of_sums")?;
    let mut numbers = [0u32; 4];
    for (number, actual) in numbers.iter_mut().zip([channels, times, count, products]) {
        let (what, limit) = ("detected beams", u32::MAX as usize);
        *number = u32::try_from(actual).map_err(|_| DeviceError::TooLarge { what, actual, limit })?;
    }
    let scales: Vec<f32> = scale.scale().iter().copied().collect();
    let offsets: Vec<f32> = scale.offset().iter().copied().collect();
    let (scales, offsets) = (Buffer::from_slice(stream, &scales)?, Buffer::from_slice(stream, &offsets)?);
    let mut bytes = Buffer::<u8>::alloc(device, beams.array().len())?;
    let mut saturated = Buffer::<u64>::zeroed(stream, count)?;
    let sums = beams.array().read_on(stream)?;
    let queued = if bytes.is_empty() {
        Ok(())
    } else {
        let most = 32 * device.info().multiprocessors.max(1) as usize;
        let config = LaunchConfig::new([bytes.len().div_ceil(256).clamp(1, most) as u32, 1, 1], [256, 1, 1]);
        let [channels, times, count, products] = numbers;
        let arguments = args![sums, &scales, &offsets, &mut bytes, &mut saturated, channels, times, count, products];
        kernel.launch_safe(stream, &config, arguments)
    };
    // Part of the work may be queued even if it failed.
    beams.array().reads_queued(stream)?;
    queued?;
    let array = DeviceArray::from(bytes).written_on(stream);
    let shape = [channels, times, count];
    let mut out = DetectedBeams::from_array(array, shape, beams.products(), beams.frequencies(), beams.clock())?;
    if let Some(counts) = beams.input_counts() {
        out = out.with_input_counts(counts.clone())?;
    }
    if let Some(masked) = beams.masked_spectra() {
        out = out.with_masked_spectra(masked.clone())?;
    }
    Ok(DeviceDetectedBytes { beams: out, saturated: DeviceArray::from(saturated).written_on(stream) })
}
