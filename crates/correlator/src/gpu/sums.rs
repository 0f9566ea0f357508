//! Sums that live on a device, fed from host arrays.

use std::borrow::Cow;

use fringes_gpu::{Buffer, Device, Stream};
use fringes_types::{Accumulator, Complex, Complex4, Inputs, MemoryNeed, SampleFormat, VoltageSample};
use ndarray::{Array2, ArrayView2, ArrayView3, s};

use crate::CorrelatorError;
use crate::gpu::{CorrelatorKernels, ROW_TIMES, Shape};

/// Device memory for voltages, rows and flags of one step where the backend sets no limit.
const WORKSPACE_BYTES: u64 = 1 << 30;

/// Most times of a step: a multiple of 64 that 32-bit sums allow.
const STEP_TIMES: usize = 65536;

/// Whether there is a GPU kernel for a format.
pub(crate) fn has_kernel(format: SampleFormat) -> bool {
    matches!(format, SampleFormat::Int4 | SampleFormat::Int8)
}

/// Device memory that correlating voltages of a shape takes. The workspace is what the default step of at most 1 GiB needs; a limit
/// ([`Backend::with_memory_limit`](fringes_types::Backend::with_memory_limit)) makes steps smaller.
pub fn memory<V: VoltageSample>(inputs: Inputs, channels: usize, times: usize) -> MemoryNeed {
    let product = |numbers: &[usize]| numbers.iter().fold(1u64, |product, &n| product.saturating_mul(n as u64));
    let step = Step::new::<V>(inputs.len(), channels, times, None);
    MemoryNeed {
        input_bytes: product(&[channels, times, inputs.len(), size_of::<V>()]),
        output_bytes: product(&[channels, inputs.triangle_len(), size_of::<Complex<i64>>()]),
        workspace_bytes: step.bytes::<V>(inputs.len()),
        smallest_step_bytes: Step { channels: 1, times: ROW_TIMES }.bytes::<V>(inputs.len()),
    }
}

/// How much is sent at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step {
    channels: usize,
    times: usize,
}

impl Step {
    /// The largest step within the limit: all times if they fit, then as many channels as fit.
    fn new<V: VoltageSample>(inputs: usize, channels: usize, times: usize, limit: Option<u64>) -> Self {
        let limit = limit.unwrap_or(WORKSPACE_BYTES);
        let row = Self { channels: 1, times: ROW_TIMES }.bytes::<V>(inputs).max(1);
        let blocks = usize::try_from(limit / row).unwrap_or(usize::MAX).max(1);
        let times = times.div_ceil(ROW_TIMES).clamp(1, blocks.min(STEP_TIMES / ROW_TIMES));
        Self { channels: (blocks / times).clamp(1, channels.max(1)), times: times * ROW_TIMES }
    }

    /// Device memory of voltages, rows and flags.
    fn bytes<V>(&self, inputs: usize) -> u64 {
        let samples = (self.channels as u64).saturating_mul(self.times as u64).saturating_mul(inputs as u64);
        let flags = (self.times as u64).saturating_mul(inputs as u64);
        samples.saturating_mul(size_of::<V>() as u64 + 2).saturating_add(flags)
    }
}

/// 64-bit sums `[channel][baseline]` on a device, and the workspace to add to them.
#[derive(Debug)]
pub(crate) struct DeviceSums {
    kernels: CorrelatorKernels,
    stream: Stream,
    inputs: usize,
    channels: usize,
    limit: Option<u64>,
    sums: Buffer<Complex<i64>>,
    /// Voltages, flags and rows of a step; as large as the largest so far.
    workspace: [Option<Buffer<u8>>; 3],
}

impl DeviceSums {
    /// Zero sums.
    pub(crate) fn new(
        device: &Device,
        inputs: usize,
        channels: usize,
        limit: Option<u64>,
    ) -> Result<Self, CorrelatorError> {
        let too_large = || CorrelatorError::DeviceShape { channels, times: 1, inputs };
        let shape = Shape::new(channels, 1, inputs).ok_or_else(too_large)?;
        let stream = device.new_stream()?;
        let sums = Buffer::zeroed(&stream, shape.visibilities())?;
        let kernels = CorrelatorKernels::load(device)?;
        Ok(Self { kernels, stream, inputs, channels, limit, sums, workspace: [None, None, None] })
    }

    /// Adds the products of voltages `[channel][time][input]`.
    pub(crate) fn accumulate<V: VoltageSample>(
        &mut self,
        voltages: ArrayView3<'_, V>,
        presence: Option<ArrayView2<'_, bool>>,
    ) -> Result<(), CorrelatorError> {
        let (channels, times, _) = voltages.dim();
        let step = Step::new::<V>(self.inputs, channels, times, self.limit);
        for time in (0..times).step_by(step.times) {
            let end = times.min(time + step.times);
            if let Some(presence) = &presence {
                let flags: Vec<u8> = presence.slice(s![time..end, ..]).iter().map(|&flag| u8::from(flag)).collect();
                self.upload(1, &flags)?;
            }
            for channel in (0..channels).step_by(step.channels) {
                let last = channels.min(channel + step.channels);
                let part = voltages.slice(s![channel..last, time..end, ..]);
                let part = part.as_slice().map_or_else(|| Cow::Owned(part.iter().copied().collect()), Cow::Borrowed);
                self.upload(0, bytemuck::cast_slice::<V, u8>(&part))?;
                self.step::<V>(channel..last, end - time, presence.is_some())?;
            }
        }
        // The host may reuse its array, and errors belong to this call.
        self.stream.synchronize()?;
        Ok(())
    }

    /// Copies bytes into workspace `index`.
    fn upload(&mut self, index: usize, bytes: &[u8]) -> Result<(), CorrelatorError> {
        let buffer = grown(&mut self.workspace[index], &self.stream, bytes.len())?;
        buffer.slice_mut(..bytes.len())?.copy_from_slice(&self.stream, bytes)?;
        Ok(())
    }

    /// Packs and correlates what has been uploaded.
    fn step<V: VoltageSample>(
        &mut self,
        channels: std::ops::Range<usize>,
        times: usize,
        flagged: bool,
    ) -> Result<(), CorrelatorError> {
        let inputs = self.inputs;
        let too_large = CorrelatorError::DeviceShape { channels: channels.len(), times, inputs };
        let shape = Shape::new(channels.len(), times, inputs).ok_or(too_large)?;
        let [voltages, flags, rows] = &mut self.workspace;
        let rows = grown(rows, &self.stream, shape.row_bytes())?;
        let missing = || CorrelatorError::DeviceLength { buffer: "voltages", expected: shape.samples(), actual: 0 };
        let voltages = voltages.as_ref().ok_or_else(missing)?.slice(..shape.samples() * size_of::<V>())?;
        let flags = flags.as_ref().filter(|_| flagged).map(Buffer::view);
        let (stream, kernels) = (&self.stream, &self.kernels);
        let rows_view = &mut rows.view_mut();
        if V::FORMAT == SampleFormat::Int4 {
            kernels.pack(stream, shape, voltages.cast::<Complex4>()?, flags, rows_view)?;
        } else {
            kernels.pack(stream, shape, voltages.cast::<Complex<i8>>()?, flags, rows_view)?;
        }
        let baselines = shape.baselines();
        let mut sums = self.sums.slice_mut(channels.start * baselines..channels.end * baselines)?;
        kernels.accumulate(stream, shape, rows.view(), &mut sums)
    }

    /// Takes the sums, as the accumulators of integer voltages, and starts again from zero.
    pub(crate) fn take<A: Accumulator>(&mut self) -> Result<Array2<A>, CorrelatorError> {
        let sums = self.sums.view().cast::<A>()?.to_vec(&self.stream)?;
        self.sums.view_mut().zero(&self.stream)?;
        let (channels, baselines) = (self.channels, self.inputs * (self.inputs + 1) / 2);
        let wrong =
            CorrelatorError::DeviceLength { buffer: "sums", expected: channels * baselines, actual: sums.len() };
        Array2::from_shape_vec((channels, baselines), sums).map_err(|_| wrong)
    }
}

/// A buffer of at least `bytes` bytes.
fn grown<'a>(
    buffer: &'a mut Option<Buffer<u8>>,
    stream: &Stream,
    bytes: usize,
) -> Result<&'a mut Buffer<u8>, CorrelatorError> {
    let small = buffer.as_ref().is_none_or(|buffer| buffer.len() < bytes);
    if small {
        *buffer = None; // frees the old one first
    }
    match buffer {
        Some(buffer) => Ok(buffer),
        none => Ok(none.insert(Buffer::alloc(stream.device(), bytes)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_stay_within_the_limit_and_cover_whole_rows() {
        let bytes = |step: Step| step.bytes::<Complex<i8>>(128);
        let step = |limit| Step::new::<Complex<i8>>(128, 100, 1000, limit);
        assert_eq!(step(None), Step { channels: 100, times: 1024 });
        let least = Step { channels: 1, times: 64 };
        for limit in [1, bytes(least), 3 * bytes(least), 1 << 20, 1 << 23] {
            let step = step(Some(limit));
            assert!(step == least || bytes(step) <= limit, "{step:?} at {limit}");
            assert_eq!(step.times % 64, 0);
        }
        assert_eq!(Step::new::<Complex<i8>>(1, 1, 1 << 20, None).times, STEP_TIMES);
        const { assert!(STEP_TIMES <= crate::gpu::MAX_LAUNCH_TIMES) };
    }
}
