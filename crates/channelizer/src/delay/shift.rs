//! Coarse shift of host arrays, on either backend.

use fringes_backend::{Backend, MemoryNeed};
use fringes_cpu::delay as cpu;
use fringes_gpu::{Buffer, Device};
use fringes_types::{Dimension, PackedSamples, Sample, SamplePresence, Samples, TypesError};
use ndarray::Array2;

use super::layout::ShiftShape;
use super::shift_kernels::ShiftKernels;
use crate::ChannelizerError;

/// Samples of a flag, where the samples have no flags of their own.
const BLOCK: usize = 16;

/// Name of the operation.
const OPERATION: &str = "coarse_shift";

impl ShiftShape {
    /// Memory that [`coarse_shift`] and [`coarse_shift_packed`] take on a backend.
    ///
    /// On a GPU the workspace has copies of both arrays in its memory. On the CPU there is none, except for packed
    /// samples whose rows are not contiguous: a row for each thread, which is not counted here. The work is not split.
    ///
    /// # Errors
    /// None so far: there are kernels for every GPU.
    pub fn memory(&self, backend: &Backend) -> Result<MemoryNeed, ChannelizerError> {
        let saturating = |bytes: Result<usize, _>| bytes.map_or(u64::MAX, |bytes: usize| bytes as u64);
        let (input_bytes, output_bytes) = (saturating(self.from_bytes()), saturating(self.to_bytes()));
        let workspace_bytes = match backend.gpu_for(OPERATION, true)? {
            None => 0,
            Some(_) => {
                // Rows of `y` lie at multiples of 16 bytes there, and each input has a delay.
                let padding = (self.inputs as u64).saturating_mul(16 + 8);
                input_bytes.saturating_add(output_bytes).saturating_add(padding)
            }
        };
        Ok(MemoryNeed { input_bytes, output_bytes, workspace_bytes, smallest_step_bytes: workspace_bytes })
    }
}

/// Delays each input by whole samples: `y[input][n] = x[input][n - coarse[input]]`, zero where `x` has no sample.
///
/// Axes stay as they are: `y` has as many samples, and its first one the same stamp. The zeros are flagged as missing:
/// a block of `y` is present if all of its samples come from present ones of `x`. Blocks are those of the flags of `x`,
/// or of 16 samples if it has none. Only if `x` has no flags and all delays are 0, `y` has none either.
///
/// On a GPU the samples are copied there, shifted and copied back; [`ShiftKernels`] does it to buffers on a device.
///
/// # Precision
/// Exact, and the same on all backends.
///
/// # Errors
/// [`TypesError::Dimension`] unless there is one delay an input, [`DeviceError::MemoryLimit`](fringes_backend::DeviceError::MemoryLimit) if a GPU's copies exceed the backend's limit,
/// [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) with what the driver says.
pub fn coarse_shift<S: Sample>(
    backend: &Backend,
    samples: &Samples<S>,
    coarse: &[i64],
) -> Result<Samples<S>, ChannelizerError> {
    let (inputs, times) = samples.data().dim();
    let _span = tracing::debug_span!("coarse_shift", inputs, times).entered();
    check_delays(inputs, coarse)?;
    let shifted = match backend.gpu_for(OPERATION, true)? {
        None => cpu::coarse_shift(samples.data(), coarse, times),
        Some(device) => {
            let shape = ShiftShape::samples::<S>(inputs, times);
            backend.check_memory(OPERATION, shape.memory(backend)?.smallest_step_bytes)?;
            let data = samples.data();
            let data = data.as_standard_layout();
            let bytes = on_device(device, shape, coarse, bytemuck::cast_slice(data.as_slice().unwrap_or_default()))?;
            rows(inputs, times, bytemuck::pod_collect_to_vec(&bytes))?
        }
    };
    let mut shifted = Samples::new(shifted, samples.inputs())?
        .with_sample_rate(samples.sample_rate_hz())?
        .with_first_sample(samples.first_sample());
    if let Some(centre_hz) = samples.centre_hz() {
        shifted = shifted.with_centre_frequency(centre_hz)?;
    }
    match late(samples.presence(), coarse, times)? {
        Some(presence) => Ok(shifted.with_presence(presence)?),
        None => Ok(shifted),
    }
}

/// As [`coarse_shift`], of packed samples.
///
/// # Errors
/// As [`coarse_shift`].
pub fn coarse_shift_packed(
    backend: &Backend,
    samples: &PackedSamples,
    coarse: &[i64],
) -> Result<PackedSamples, ChannelizerError> {
    let (bits, times) = (samples.bits(), samples.times());
    let (inputs, bytes) = samples.data().dim();
    let _span = tracing::debug_span!("coarse_shift_packed", inputs, times, bits).entered();
    check_delays(inputs, coarse)?;
    let shifted = match backend.gpu_for(OPERATION, true)? {
        None => cpu::coarse_shift_packed(samples.data(), bits, times, coarse, times),
        Some(device) => {
            let shape = ShiftShape::packed(bits, inputs, times);
            backend.check_memory(OPERATION, shape.memory(backend)?.smallest_step_bytes)?;
            let data = samples.data();
            let data = data.as_standard_layout();
            rows(inputs, bytes, on_device(device, shape, coarse, data.as_slice().unwrap_or_default())?)?
        }
    };
    let mut shifted = PackedSamples::new(shifted, bits, times, samples.inputs())?
        .with_sample_rate(samples.sample_rate_hz())?
        .with_first_sample(samples.first_sample());
    if let Some(centre_hz) = samples.centre_hz() {
        shifted = shifted.with_centre_frequency(centre_hz)?;
    }
    match late(samples.presence(), coarse, times)? {
        Some(presence) => Ok(shifted.with_presence(presence)?),
        None => Ok(shifted),
    }
}

fn check_delays(expected: usize, coarse: &[i64]) -> Result<(), ChannelizerError> {
    let actual = coarse.len();
    if actual == expected {
        return Ok(());
    }
    Err(TypesError::Dimension { array: "delays", dimension: Dimension::Input, expected, actual }.into())
}

fn rows<T>(inputs: usize, length: usize, values: Vec<T>) -> Result<Array2<T>, ChannelizerError> {
    Array2::from_shape_vec((inputs, length), values).map_err(|_| {
        let elements = format!("{inputs} x {length}");
        TypesError::TooLarge { array: "samples", elements }.into()
    })
}

/// Rows of bytes, shifted on a device. Rows of `y` lie at multiples of 16 bytes there.
fn on_device(device: &Device, shape: ShiftShape, coarse: &[i64], from: &[u8]) -> Result<Vec<u8>, ChannelizerError> {
    let row = shape.check()?;
    if shape.inputs == 0 || row == 0 {
        return Ok(Vec::new());
    }
    let to_stride = row.next_multiple_of(16);
    let shape = ShiftShape { to_stride, ..shape };
    let stream = device.new_stream()?;
    let kernels = ShiftKernels::load(device)?;
    let (from, coarse) = (Buffer::from_slice(&stream, from)?, Buffer::from_slice(&stream, coarse)?);
    let mut to = Buffer::<u8>::alloc(device, shape.inputs.saturating_mul(to_stride))?;
    kernels.shift(&stream, shape, coarse.view(), from.view(), &mut to.view_mut())?;
    let padded = to.to_vec(&stream)?;
    Ok(padded.chunks_exact(to_stride).flat_map(|padded| padded.iter().take(row)).copied().collect())
}

/// Flags of samples that are late; `None` if everything is present.
fn late(
    presence: Option<&SamplePresence>,
    coarse: &[i64],
    times: usize,
) -> Result<Option<SamplePresence>, ChannelizerError> {
    if presence.is_none() && coarse.iter().all(|&delay| delay == 0) {
        return Ok(None);
    }
    let block = presence.map_or(BLOCK, SamplePresence::samples_per_block);
    let there = |input: usize, time: i64| {
        usize::try_from(time)
            .is_ok_and(|time| time < times && presence.is_none_or(|presence| presence.is_present(input, time)))
    };
    let flags = Array2::from_shape_fn((coarse.len(), times.div_ceil(block)), |(input, number)| {
        let (start, end) = (number * block, times.min((number + 1) * block));
        // One sample of each block that these come from, and the two ends.
        let delay = coarse.get(input).copied().unwrap_or(0);
        let source = |time: usize| (time as i64).saturating_sub(delay);
        (start..end).step_by(block).chain([end.saturating_sub(1)]).all(|time| there(input, source(time)))
    });
    Ok(Some(SamplePresence::new(block, flags)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fringes_types::Inputs;

    #[test]
    fn flags_come_late_with_their_samples() {
        // Blocks of 4 of 10 samples; block 1, samples 4 to 7, is lost.
        let flags = Array2::from_shape_vec((1, 3), vec![true, false, true]).unwrap();
        let samples = Samples::new(Array2::from_elem((1, 10), 1i8), Inputs::single_pol(1).unwrap()).unwrap();
        let samples = samples.with_presence(SamplePresence::new(4, flags).unwrap()).unwrap();
        for coarse in -12..=12i64 {
            let shifted = coarse_shift(&Backend::cpu(), &samples, &[coarse]).unwrap();
            for block in 0..3i64 {
                let expected = (4 * block..(4 * block + 4).min(10))
                    .all(|time| (0..10).contains(&(time - coarse)) && !(4..8).contains(&(time - coarse)));
                let presence = shifted.presence().unwrap();
                assert_eq!(presence.flags()[(0, block as usize)], expected, "{coarse} {block}");
            }
        }
    }

    #[test]
    fn the_zeros_that_fill_are_flagged() {
        let inputs = Inputs::single_pol(3).unwrap();
        let samples = Samples::new(Array2::from_elem((3, 100), 1i16), inputs).unwrap();
        let packed = PackedSamples::pack(samples.data(), 10, inputs).unwrap();
        for delays in [[3, 0, -20], [0, 200, -200], [-1, 16, 1]] {
            let shifted = coarse_shift(&Backend::cpu(), &samples, &delays).unwrap();
            let presence = shifted.presence().unwrap();
            for input in 0..3 {
                for block in 0..7 {
                    let times = 16 * block..(16 * block + 16).min(100);
                    let is_filled = times.clone().any(|time| shifted.data()[(input, time)] == 0);
                    assert_eq!(presence.is_present(input, times.start), !is_filled, "{delays:?} {input} {block}");
                }
            }
            let shifted = coarse_shift_packed(&Backend::cpu(), &packed, &delays).unwrap();
            assert_eq!(shifted.presence(), Some(presence));
        }
        assert_eq!(coarse_shift(&Backend::cpu(), &samples, &[0; 3]).unwrap().presence(), None);
    }
}
