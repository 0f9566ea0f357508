//! Coarse shift of samples, wherever they lie.

use fringes_backend::{Backend, DeviceArray, DeviceSamples, MemoryNeed, Workspace, sample_row_bytes};
use fringes_cpu::delay as cpu;
use fringes_gpu::{Buffer, Device};
use fringes_types::{Dimension, PackedSamples, Sample, SamplePresence, Samples, TypesError};
use ndarray::Array2;

use super::layout::ShiftShape;
use super::shift_kernels::ShiftKernels;
use crate::DelayError;

/// Samples of a flag, where the samples have no flags of their own.
const BLOCK: usize = 16;

/// Name of the operation.
const OPERATION: &str = "shift";

impl ShiftShape {
    /// Rows of samples in device memory, and where they go: rows without gaps, from multiples of 16 bytes on.
    ///
    /// # Errors
    /// [`TypesError::TooLarge`], [`TypesError::PackedBits`].
    pub(super) fn of_device_samples(samples: &DeviceSamples<'_>) -> Result<Self, DelayError> {
        let (format, times) = (samples.format(), samples.times());
        Ok(Self {
            inputs: samples.inputs().len(),
            bits: format.sample_bits(),
            from_times: times,
            to_times: times,
            from_stride: samples.row_bytes(),
            to_stride: sample_row_bytes(format, times)?,
        })
    }

    /// Memory that [`shift`] takes on a backend, of samples in host memory.
    ///
    /// On a GPU the workspace has copies of both arrays in its memory; of samples that lie there it has the delays
    /// alone. On the CPU there is none, except for packed samples whose rows are not contiguous: a row for each thread,
    /// which is not counted here. The work is not split.
    ///
    /// # Errors
    /// None so far: there are kernels for every GPU.
    pub fn memory(&self, backend: &Backend) -> Result<MemoryNeed, DelayError> {
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

/// Samples that [`shift`] takes; what comes out is the same kind of chunk, where it lies:
///
/// | samples | shifted |
/// |---|---|
/// | [`Samples`], [`PackedSamples`] in host memory | the same; the backend says what moves them |
/// | [`DeviceSamples`] | `DeviceSamples` on the same device |
///
/// Nothing else can implement it.
pub trait ShiftInput: sealed::Sealed {
    /// The shifted samples.
    type Shifted;

    /// [`shift`] of these samples.
    #[doc(hidden)]
    fn shift_by(&self, backend: &Backend, coarse: &[i64]) -> Result<Self::Shifted, DelayError>;
}

mod sealed {
    use super::{DeviceSamples, PackedSamples, Sample, Samples};

    pub trait Sealed {}
    impl<S: Sample> Sealed for Samples<S> {}
    impl Sealed for PackedSamples {}
    impl Sealed for DeviceSamples<'_> {}
}

/// Delays each input by whole samples: `y[input][n] = x[input][n - coarse[input]]`, zero where `x` has no sample.
///
/// Axes stay as they are: `y` has as many samples, and its first one the same stamp. The zeros are flagged as missing:
/// a block of `y` is present if all of its samples come from present ones of `x`. Blocks are those of the flags of `x`,
/// or of 16 samples if it has none. Only if `x` has no flags and all delays are 0, `y` has none either.
///
/// # On a GPU
/// Samples in host memory are copied there, shifted and copied back. Those in device memory are shifted there, on the
/// stream that wrote them ([`DeviceArray::written_on`]), or the device's default one: the work is queued, and the
/// result is there in that stream's order. [`ShiftKernels`] does it to buffers on a device, and allocates nothing.
///
/// # Precision
/// Exact, and the same on all backends.
///
/// # Errors
/// [`TypesError::Dimension`] unless there is one delay an input,
/// [`DeviceError::MemoryLimit`](fringes_backend::DeviceError::MemoryLimit) if a GPU's copies exceed the backend's
/// limit, [`DeviceError::WrongDevice`](fringes_backend::DeviceError::WrongDevice) for samples on a device that is not
/// the backend's, [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) with what the driver says.
pub fn shift<C: ShiftInput>(backend: &Backend, samples: &C, coarse: &[i64]) -> Result<C::Shifted, DelayError> {
    samples.shift_by(backend, coarse)
}

impl<S: Sample> ShiftInput for Samples<S> {
    type Shifted = Samples<S>;

    fn shift_by(&self, backend: &Backend, coarse: &[i64]) -> Result<Samples<S>, DelayError> {
        let (inputs, times) = self.data().dim();
        let _span = tracing::debug_span!("shift", inputs, times).entered();
        check_delays(inputs, coarse)?;
        let shifted = match backend.gpu_for(OPERATION, true)? {
            None => cpu::coarse_shift(self.data(), coarse, times),
            Some(device) => {
                let shape = ShiftShape::samples::<S>(inputs, times);
                backend.check_memory(OPERATION, shape.memory(backend)?.smallest_step_bytes)?;
                let data = self.data();
                let data = data.as_standard_layout();
                let bytes = bytemuck::cast_slice(data.as_slice().unwrap_or_default());
                rows(inputs, times, bytemuck::pod_collect_to_vec(&there_and_back(device, shape, coarse, bytes)?))?
            }
        };
        let mut shifted = Samples::new(shifted, self.inputs())?
            .with_sample_rate(self.sample_rate_hz())?
            .with_first_sample(self.first_sample());
        if let Some(centre_hz) = self.centre_hz() {
            shifted = shifted.with_centre_frequency(centre_hz)?;
        }
        match late(self.presence(), coarse, times)? {
            Some(presence) => Ok(shifted.with_presence(presence)?),
            None => Ok(shifted),
        }
    }
}

impl ShiftInput for PackedSamples {
    type Shifted = PackedSamples;

    fn shift_by(&self, backend: &Backend, coarse: &[i64]) -> Result<PackedSamples, DelayError> {
        let (bits, times) = (self.bits(), self.times());
        let (inputs, bytes) = self.data().dim();
        let _span = tracing::debug_span!("shift", inputs, times, bits).entered();
        check_delays(inputs, coarse)?;
        let shifted = match backend.gpu_for(OPERATION, true)? {
            None => cpu::coarse_shift_packed(self.data(), bits, times, coarse, times),
            Some(device) => {
                let shape = ShiftShape::packed(bits, inputs, times);
                backend.check_memory(OPERATION, shape.memory(backend)?.smallest_step_bytes)?;
                let data = self.data();
                let data = data.as_standard_layout();
                rows(inputs, bytes, there_and_back(device, shape, coarse, data.as_slice().unwrap_or_default())?)?
            }
        };
        let mut shifted = PackedSamples::new(shifted, bits, times, self.inputs())?
            .with_sample_rate(self.sample_rate_hz())?
            .with_first_sample(self.first_sample());
        if let Some(centre_hz) = self.centre_hz() {
            shifted = shifted.with_centre_frequency(centre_hz)?;
        }
        match late(self.presence(), coarse, times)? {
            Some(presence) => Ok(shifted.with_presence(presence)?),
            None => Ok(shifted),
        }
    }
}

impl ShiftInput for DeviceSamples<'_> {
    type Shifted = DeviceSamples<'static>;

    fn shift_by(&self, backend: &Backend, coarse: &[i64]) -> Result<DeviceSamples<'static>, DelayError> {
        let (inputs, times, format) = (self.inputs(), self.times(), self.format());
        let _span = tracing::debug_span!("shift", inputs = inputs.len(), times).entered();
        let device = backend.gpu_with(self.array().device())?;
        check_delays(inputs.len(), coarse)?;
        let shape = ShiftShape::of_device_samples(self)?;
        // Input and output are the caller's: the delays alone are not.
        backend.check_memory(OPERATION, size_of_val(coarse) as u64)?;
        let stream = self.array().writer().cloned().unwrap_or_else(|| device.default_stream());
        let (pool, mut workspace) = (Workspace::pool(device), Workspace::of(device)?);
        let kernels = ShiftKernels::load(device)?;
        let delays = workspace.staging.send(&stream, &pool, coarse)?;
        let view = self.array().read_on(&stream)?;
        let words = shape.to_bytes()?.div_ceil(4).saturating_add(DeviceSamples::PADDING_WORDS);
        let mut to = pool.take::<u32>(&stream, words)?;
        let queued = kernels.shift(&stream, shape, delays.view(), view.cast()?, &mut to.view_mut().cast()?);
        // Part of the work may be queued even if it failed.
        self.array().reads_queued(&stream)?;
        queued?;
        let array = DeviceArray::from(to).written_on(&stream);
        let mut shifted = DeviceSamples::new(array, shape.to_stride, format, times, inputs)?
            .with_sample_rate(self.sample_rate_hz())?
            .with_first_sample(self.first_sample());
        if let Some(centre_hz) = self.centre_hz() {
            shifted = shifted.with_centre_frequency(centre_hz)?;
        }
        match late(self.presence(), coarse, times)? {
            Some(presence) => Ok(shifted.with_presence(presence)?),
            None => Ok(shifted),
        }
    }
}

fn check_delays(expected: usize, coarse: &[i64]) -> Result<(), DelayError> {
    let actual = coarse.len();
    if actual == expected {
        return Ok(());
    }
    Err(TypesError::Dimension { array: "delays", dimension: Dimension::Input, expected, actual }.into())
}

fn rows<T>(inputs: usize, length: usize, values: Vec<T>) -> Result<Array2<T>, DelayError> {
    Array2::from_shape_vec((inputs, length), values).map_err(|_| {
        let elements = format!("{inputs} x {length}");
        TypesError::TooLarge { array: "samples", elements }.into()
    })
}

/// Rows of bytes, shifted on a device. Rows of `y` lie at multiples of 16 bytes there.
fn there_and_back(device: &Device, shape: ShiftShape, coarse: &[i64], from: &[u8]) -> Result<Vec<u8>, DelayError> {
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
fn late(presence: Option<&SamplePresence>, coarse: &[i64], times: usize) -> Result<Option<SamplePresence>, DelayError> {
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
            let shifted = shift(&Backend::cpu(), &samples, &[coarse]).unwrap();
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
            let shifted = shift(&Backend::cpu(), &samples, &delays).unwrap();
            let presence = shifted.presence().unwrap();
            for input in 0..3 {
                for block in 0..7 {
                    let times = 16 * block..(16 * block + 16).min(100);
                    let is_filled = times.clone().any(|time| shifted.data()[(input, time)] == 0);
                    assert_eq!(presence.is_present(input, times.start), !is_filled, "{delays:?} {input} {block}");
                }
            }
            let shifted = shift(&Backend::cpu(), &packed, &delays).unwrap();
            assert_eq!(shifted.presence(), Some(presence));
        }
        assert_eq!(shift(&Backend::cpu(), &samples, &[0; 3]).unwrap().presence(), None);
    }
}
