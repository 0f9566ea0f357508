//! Chunks on a GPU: everything is queued on one stream, and nothing waits.
//!
//! ```text
//! held rows  |held held held|head of the chunk|      outputs that begin before the chunk, and up to 15 more
//! chunk                     |chunk chunk chunk       all others read it where it is
//! ```

use fringes_backend::{DeviceError, DeviceSamples, MemoryNeed, Staging, Uploader};
use fringes_gpu::{BufferPool, BufferView, Device, Stream};
use fringes_types::{ChunkFormat, Complex, Inputs, SampleChunk, Samples};

use super::DownConverter;
use super::cpu::zeros;
use super::held_rows::{HeldRows, Move};
use super::kernels::{DownConvertKernels, WindowRows};
use super::output::{self, DeviceRows};
use super::progress::Step;
use crate::ChannelizerError;
use crate::internals::chunk;
use crate::internals::format::Numbers;
use crate::spectra::seam::ChunkRows;

/// Outputs that launches are divided at multiples of: kernels may compute so many together.
const TOGETHER: u64 = 16;

/// Largest decimation for which they are. Of a larger one so many outputs are more samples than are worth a copy.
const MOST_DECIMATION: usize = 1 << 12;

/// What a stream on a GPU has beside its position.
#[derive(Debug)]
pub(super) struct GpuStream {
    stream: Stream,
    pool: BufferPool,
    kernels: DownConvertKernels,
    held: HeldRows,
    uploader: Uploader,
    reads: Staging,
}

/// Memory for a stream of chunks of `times` samples.
pub(super) fn stream_need(plan: &DownConverter, inputs: Inputs, times: usize, format: ChunkFormat) -> MemoryNeed {
    let (taps, decimation) = (plan.filter.len() as u64, plan.decimation as u64);
    let outputs = (times as u64).div_ceil(decimation);
    let output_bytes = DeviceRows::bytes(inputs, outputs);
    // The last window of the rows begins less than so many outputs behind what is held.
    let rounded = if plan.decimation <= MOST_DECIMATION { TOGETHER * decimation } else { 0 };
    let head = (times as u64).min(taps.saturating_add(rounded));
    let held = HeldRows::most_bytes(format, inputs, taps - 1, head);
    let input_bytes = chunk::bytes(format, inputs, times);
    let parts = [input_bytes, output_bytes, held, DownConvertKernels::bytes(plan)];
    let workspace_bytes = parts.into_iter().fold(0, u64::saturating_add);
    MemoryNeed { input_bytes, output_bytes, workspace_bytes, smallest_step_bytes: workspace_bytes }
}

/// Outputs that are made of the held rows, those that begin before the chunk among them, and the sample that the rows
/// are read to.
fn from_held(step: &Step, plan: &DownConverter) -> (u64, u64) {
    let joined = step.joined(plan.decimation) as u64;
    if joined == 0 {
        return (0, step.first_sample);
    }
    let end = step.first_output + joined;
    let rounded = if plan.decimation <= MOST_DECIMATION { end.next_multiple_of(TOGETHER) } else { end };
    let end = rounded.min(step.end_output());
    (end - step.first_output, (end - 1) * plan.decimation as u64 + plan.filter.len() as u64)
}

impl GpuStream {
    /// Before the first chunk, on a stream of its own.
    pub(super) fn new(device: &Device, plan: &DownConverter, inputs: Inputs) -> Result<Self, ChannelizerError> {
        let stream = device.new_stream()?;
        Ok(Self {
            pool: BufferPool::new(device),
            kernels: DownConvertKernels::load(device, plan)?,
            held: HeldRows::new(device, inputs)?,
            uploader: Uploader::new(&stream),
            reads: Staging::default(),
            stream,
        })
    }

    /// Queues all work on another stream, which waits for what the one before was given.
    pub(super) fn set_stream(&mut self, stream: &Stream) -> Result<(), ChannelizerError> {
        let device = self.stream.device();
        if !stream.device().is_same(device) {
            return Err(DeviceError::wrong_device(device, stream.device()).into());
        }
        stream.wait_for(&self.stream)?;
        self.uploader = Uploader::new(stream);
        self.stream = stream.clone();
        Ok(())
    }

    /// The stream that everything is queued on.
    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Bytes of samples that are held.
    pub(super) fn held_bytes(&self) -> u64 {
        self.held.bytes()
    }

    /// Forgets all samples.
    pub(super) fn reset(&mut self) {
        self.held.reset();
    }

    /// `Ok` if a chunk lies on this device and is of a format that the kernels read.
    pub(super) fn check(&self, samples: &DeviceSamples<'_>) -> Result<(), ChannelizerError> {
        Numbers::of(samples.format())?;
        samples.array().read_on(&self.stream)?;
        Ok(())
    }

    /// Copies a chunk to the device.
    pub(super) fn upload(&mut self, chunk: &dyn SampleChunk) -> Result<DeviceSamples<'static>, ChannelizerError> {
        Ok(self.uploader.samples(chunk)?)
    }

    /// Copies outputs to the host, when they are there.
    pub(super) fn read(
        &mut self,
        mut rows: DeviceRows,
        step: &Step,
        plan: &DownConverter,
        inputs: Inputs,
    ) -> Result<Samples<Complex<f32>>, ChannelizerError> {
        let mut data = zeros(inputs, "down-converted samples", step.outputs)?;
        rows.read(&mut self.reads, &self.stream, data.view_mut())?;
        output::on_host(step, plan, data, inputs)
    }

    /// Queues the outputs that a chunk completes, of which absent ones are 0, and holds what coming ones need.
    pub(super) fn run(
        &mut self,
        plan: &DownConverter,
        step: &Step,
        samples: &DeviceSamples<'_>,
    ) -> Result<Option<DeviceRows>, ChannelizerError> {
        let stream = &self.stream.clone();
        let numbers = Numbers::of(samples.format())?;
        let chunk = ChunkRows {
            first: step.first_sample as i64,
            times: step.times,
            sample_bits: numbers.sample_bits(),
            row_bits: 8 * samples.row_bytes() as u64,
        };
        let (joined, read) = from_held(step, plan);
        let keep = step.end() - step.keep as u64;
        let moved = self.held.prepare(stream, chunk, step.anew, keep as i64, read as i64)?;
        let mut out = match step.outputs {
            0 => None,
            outputs => Some(DeviceRows::take(&self.pool, stream, samples.inputs(), step.first_output, outputs)?),
        };
        let view = samples.array().read_on(stream)?;
        let queued = self.queue(plan, step, (samples, view), &moved, (joined, read), out.as_mut());
        // Part of the work may be queued even if it failed.
        samples.array().reads_queued(stream)?;
        queued?;
        self.held.commit(moved);
        Ok(out)
    }

    /// Queues everything.
    fn queue(
        &mut self,
        plan: &DownConverter,
        step: &Step,
        (samples, view): (&DeviceSamples<'_>, BufferView<'_, u32>),
        moved: &Move,
        (joined, read): (u64, u64),
        out: Option<&mut DeviceRows>,
    ) -> Result<(), ChannelizerError> {
        let stream = &self.stream;
        self.held.run(stream, view, moved)?;
        let Some(out) = out else { return Ok(()) };
        let row = out.row();
        let middle = step.first_output + joined;
        let mut parts = [None, None];
        if joined > 0 {
            let first = step.first_output * plan.decimation as u64;
            let rows = self.held.windows(moved, Numbers::of(samples.format())?, first, (read - first) as usize);
            parts[0] = Some((rows, step.first_output..middle));
        }
        if middle < step.end_output() {
            parts[1] = Some((WindowRows::of_chunk(samples, view)?, middle..step.end_output()));
        }
        self.kernels.launch_over(stream, parts, out.values()?, row)?;
        out.zero_absent(step, plan, stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::down_convert::progress::Progress;
    use crate::timeline::ChunkAxes;

    #[test]
    fn launches_are_divided_at_multiples_of_16_outputs() {
        for (taps, decimation) in [(20, 7), (64, 1), (5, 5), (128, 8), (9, 5000), (20_000, 5000)] {
            let plan = DownConverter::new(0.1, decimation, vec![1.0; taps]).unwrap();
            let inputs = Inputs::single_pol(1).unwrap();
            let mut progress = Progress::new(inputs);
            let mut first_sample = 1003;
            for times in [taps, 1, 3 * taps, 40 * decimation, 7, 100 * decimation] {
                let format = ChunkFormat::Packed { bits: 10 };
                let (sample_rate_hz, centre_hz, presence) = (1.0, None, None);
                let axes = ChunkAxes { format, inputs, times, first_sample, sample_rate_hz, centre_hz, presence };
                let step = progress.step(&plan, &axes).unwrap().unwrap();
                let (joined, read) = from_held(&step, &plan);
                let least = step.joined(decimation) as u64;
                assert!((least..least + 16).contains(&joined));
                assert_eq!(joined == 0, least == 0);
                let middle = step.first_output + joined;
                assert!(middle == step.end_output() || joined == 0 || decimation > 4096 || middle.is_multiple_of(16));
                assert!(read <= step.end());
                // The stated memory has room for the chunk's part of the rows.
                let head = read.saturating_sub(first_sample);
                let rounded = if decimation > 4096 { 0 } else { 16 * decimation };
                assert!(head as usize <= times.min(taps + rounded), "{taps} {decimation} {times} {head}");
                assert!(step.keep < taps);
                first_sample = step.end();
                progress.commit(step);
            }
        }
    }

    #[test]
    fn a_stream_needs_its_chunk_its_outputs_and_its_rows() {
        let plan = DownConverter::new(0.1, 8, vec![1.0; 128]).unwrap();
        let need = stream_need(&plan, Inputs::single_pol(3).unwrap(), 80_000, ChunkFormat::Packed { bits: 10 });
        // 10 000 outputs, what may be before the first one, and the padding.
        assert_eq!(need.output_bytes, 3 * 10_000 * 8 + 15 * 8 + 4 * DeviceSamples::PADDING_WORDS as u64);
        let held = need.workspace_bytes - need.input_bytes - need.output_bytes - DownConvertKernels::bytes(&plan);
        // Four times three rows of 127 held samples, 256 of the chunk, 32 and a pad of 16: 540 bytes, 544 in 16.
        assert_eq!(held, 4 * (3 * 544 + 4 * DeviceSamples::PADDING_WORDS as u64));
        assert_eq!(need.smallest_step_bytes, need.workspace_bytes);
    }
}
