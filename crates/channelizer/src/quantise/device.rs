//! Quantisation on a GPU, of voltages on the host and on the device.
//!
//! Voltages on the host go there in steps of whole channels, which follow each other in memory before and after.

use std::ops::Range;

use fringes_backend::{Backend, DeviceArray, DeviceError, DeviceVoltages, Staging, Workspace, copy};
use fringes_cpu::memory::try_zeroed_vec;
use fringes_gpu::{Buffer, BufferPool, Device, Stream};
use fringes_types::{Complex, Gains, TypesError, Voltages};
use ndarray::{Array1, Array2, Array3, ArrayView3, s};

use super::{OPERATION, QuantiseKernels, Quantised, QuantisedSample, ScaledVoltages, with_axes_of};
use crate::ChannelizerError;

/// Device memory that a step is to take at most, where no limit is lower: 1 GiB.
const STEP_BYTES: u64 = 1 << 30;

/// Bytes of device memory for so many channels at once, with their place before and after.
pub(super) fn step_bytes<Q>(channels: usize, times: usize, inputs: usize) -> u64 {
    let product = |factors: &[usize]| factors.iter().fold(1u64, |product, &size| product.saturating_mul(size as u64));
    let values = product(&[channels, times, inputs, size_of::<Complex<f32>>() + size_of::<Q>()]);
    let gains = product(&[channels, inputs, size_of::<Complex<f32>>()]);
    let flags_and_counts = product(&[times, inputs]).saturating_add(product(&[inputs, size_of::<u64>()]));
    values.saturating_add(gains).saturating_add(flags_and_counts)
}

/// Channels of a step: as many as a limit allows, at least one.
pub(super) fn channels_of_step<Q>(channels: usize, times: usize, inputs: usize, limit: Option<u64>) -> usize {
    let most = limit.unwrap_or(u64::MAX).min(STEP_BYTES);
    let (none, one) = (step_bytes::<Q>(0, times, inputs), step_bytes::<Q>(1, times, inputs));
    let of_channel = one.saturating_sub(none).max(1);
    usize::try_from(most.saturating_sub(none) / of_channel).unwrap_or(usize::MAX).clamp(1, channels.max(1))
}

/// Sends some channels' voltages.
fn send(
    stream: &Stream,
    pool: &BufferPool,
    staging: &mut Staging,
    voltages: ArrayView3<'_, Complex<f32>>,
) -> Result<Buffer<Complex<f32>>, DeviceError> {
    staging.send_with(stream, pool, voltages.len(), |to| match voltages.as_slice() {
        Some(values) => copy(bytemuck::cast_slice(values), to),
        None => {
            let places = to.chunks_exact_mut(size_of::<Complex<f32>>());
            voltages.iter().zip(places).for_each(|(value, to)| to.copy_from_slice(bytemuck::bytes_of(value)));
        }
    })
}

/// Voltages on the host, on a GPU in steps that keep to the backend's limit.
pub(super) fn of_host<Q: QuantisedSample>(
    backend: &Backend,
    device: &Device,
    voltages: &Voltages<Complex<f32>>,
    gains: &Array2<Complex<f32>>,
) -> Result<(Array3<Q>, Array1<u64>), ChannelizerError> {
    let shape = voltages.data().dim();
    let (channels, times, inputs) = shape;
    let too_large =
        || TypesError::TooLarge { array: "quantised voltages", elements: format!("{channels} x {times} x {inputs}") };
    let mut data = try_zeroed_vec::<Q>(voltages.data().len()).ok_or_else(too_large)?;
    let (stream, pool, mut workspace) = (device.new_stream()?, Workspace::pool(device), Workspace::of(device)?);
    let staging = &mut workspace.staging;
    let kernels = QuantiseKernels::<Q>::load(device)?;
    let present = staging.send_flags(&stream, &pool, voltages.presence())?;
    let mut saturated = pool.take_zeroed::<u64>(&stream, inputs)?;
    let together = channels_of_step::<Q>(channels, times, inputs, backend.memory_limit());
    for start in (0..channels).step_by(together) {
        let step: Range<usize> = start..channels.min(start + together);
        let values = send(&stream, &pool, staging, voltages.data().slice(s![step.clone(), .., ..]))?;
        let of_step = gains.slice(s![step.clone(), ..]);
        let of_step = staging.send(&stream, &pool, of_step.as_slice().unwrap_or_default())?;
        let mut to = pool.take::<Q>(&stream, values.len())?;
        let from = ScaledVoltages {
            shape: [step.len(), times, inputs],
            voltages: values.view(),
            gains: of_step.view(),
            present: present.as_ref().map(Buffer::view),
        };
        kernels.quantise(&stream, from, to.view_mut(), saturated.view_mut())?;
        let of_channel = times * inputs;
        staging.read(&stream, to.view(), &mut data[step.start * of_channel..step.end * of_channel])?;
    }
    let saturated = Array1::from_vec(saturated.to_vec(&stream)?);
    Workspace::trim(device);
    Ok((Array3::from_shape_vec(shape, data).map_err(|_| too_large())?, saturated))
}

/// Voltages on a device, queued there.
pub(super) fn of_device<Q: QuantisedSample>(
    backend: &Backend,
    voltages: &DeviceVoltages<'_, Complex<f32>>,
    gains: &Gains,
) -> Result<Quantised<DeviceVoltages<'static, Q>, DeviceArray<'static, u64>>, ChannelizerError> {
    let (channels, times, inputs) = (voltages.channels(), voltages.times(), voltages.inputs().len());
    let _span = tracing::debug_span!("quantise", channels, times, inputs).entered();
    let device = backend.gpu_with(voltages.array().device())?;
    let gains = gains.expand(channels, inputs)?;
    let gains = gains.as_standard_layout();
    // Of a step all but the voltages, before and after.
    let values = step_bytes::<Q>(channels, times, inputs);
    let arrays = voltages.array().view().len() as u64 * (size_of::<Complex<f32>>() + size_of::<Q>()) as u64;
    backend.check_memory(OPERATION, values.saturating_sub(arrays))?;
    let stream = voltages.array().writer().cloned().unwrap_or_else(|| device.default_stream());
    let (pool, mut workspace) = (Workspace::pool(device), Workspace::of(device)?);
    let staging = &mut workspace.staging;
    let kernels = QuantiseKernels::<Q>::load(device)?;
    let present = staging.send_flags(&stream, &pool, voltages.presence())?;
    let gains = staging.send(&stream, &pool, gains.as_slice().unwrap_or_default())?;
    let view = voltages.array().read_on(&stream)?;
    let mut to = pool.take::<Q>(&stream, view.len())?;
    let mut saturated = pool.take_zeroed::<u64>(&stream, inputs)?;
    let from = ScaledVoltages {
        shape: [channels, times, inputs],
        voltages: view,
        gains: gains.view(),
        present: present.as_ref().map(Buffer::view),
    };
    let queued = kernels.quantise(&stream, from, to.view_mut(), saturated.view_mut());
    // Part of the work may be queued even if it failed.
    voltages.array().reads_queued(&stream)?;
    queued?;
    let array = DeviceArray::from(to).written_on(&stream);
    let quantised = Voltages::from_array(array, channels, times, voltages.inputs())?;
    Ok(Quantised {
        voltages: with_axes_of(voltages, quantised)?,
        saturated: DeviceArray::from(saturated).written_on(&stream),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_whole_channels_within_a_limit() {
        let bytes = |channels| step_bytes::<Complex<i8>>(channels, 100, 7);
        // 700 voltages and 7 gains a channel; 700 flags, 7 counts.
        assert_eq!(bytes(3), 3 * (7000 + 56) + 700 + 56);
        for (limit, expected) in [(0, 1), (bytes(1), 1), (bytes(5), 5), (bytes(6) - 1, 5), (u64::MAX, 64)] {
            assert_eq!(channels_of_step::<Complex<i8>>(64, 100, 7, Some(limit)), expected);
        }
        let many = channels_of_step::<Complex<i8>>(usize::MAX, 100, 7, None);
        assert!(bytes(many) <= STEP_BYTES && bytes(many + 1) > STEP_BYTES);
    }
}
