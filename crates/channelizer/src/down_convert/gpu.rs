//! Chunks on a GPU: everything is queued on one stream, and nothing waits.
//!
//! ```text
//! held rows  |held held held|head of the chunk|      outputs that begin before the chunk, and up to 15 more
//! chunk                     |chunk chunk chunk       all others read it where it is
//! ```

use std::ops::Range;

use fringes_backend::{DeviceError, DeviceSamples, MemoryNeed, Staging, Uploader};
use fringes_cpu::f_engine::SampleSums;
use fringes_gpu::{Buffer, BufferPool, BufferView, Device, Stream};
use fringes_types::{ChunkFormat, Inputs, SampleChunk, Samples};

use super::cpu::zeros;
use super::device_sums::{DeviceSums, Of};
use super::held_rows::{HeldRows, Move};
use super::kernels::{DownConvertKernels, Saturated, WindowRows};
use super::output::{self, DeviceRows};
use super::progress::Step;
use super::statistics::Sums;
use super::tunings::Tunings;
use super::{DownConvertedSample, DownConverter};
use crate::ChannelizerError;
use crate::internals::chunk;
use crate::internals::format::Numbers;
use crate::spectra::seam::ChunkRows;

/// Outputs that launches are divided at multiples of: kernels may compute so many together.
const TOGETHER: u64 = 16;

/// Largest decimation for which they are. Of a larger one so many outputs are more samples than are worth a copy.
const MOST_DECIMATION: usize = 1 << 12;

/// Tables of retunes that may be on their way to the device: two of each of eight retunes.
const TABLES: usize = 16;

/// What a stream on a GPU has beside its position.
#[derive(Debug)]
pub(super) struct GpuStream<T: DownConvertedSample> {
    stream: Stream,
    pool: BufferPool,
    kernels: Tunings<DownConvertKernels<T>>,
    held: HeldRows,
    uploader: Uploader,
    reads: Staging,
    tables: Staging,
    sums: Option<DeviceSums>,
    /// Whether the sums are to begin anew.
    sums_are_old: bool,
    /// Whether the weights are to be those of the plan again.
    kernels_are_old: bool,
}

/// Outputs of a step with one tuning.
#[derive(Debug)]
pub(super) struct Piece<'a> {
    /// The outputs.
    pub(super) step: Step,
    /// The plan with the tuning.
    pub(super) plan: &'a DownConverter,
}

/// Memory for a stream of chunks of `times` samples.
pub(super) fn stream_need<T: DownConvertedSample>(
    plan: &DownConverter,
    inputs: Inputs,
    times: usize,
    format: ChunkFormat,
) -> MemoryNeed {
    let (taps, decimation) = (plan.filter.len() as u64, plan.decimation as u64);
    let outputs = (times as u64).div_ceil(decimation);
    let output_bytes = DeviceRows::<T>::bytes(inputs, outputs);
    // The last window of the rows begins less than so many outputs behind what is held.
    let rounded = if plan.decimation <= MOST_DECIMATION { TOGETHER * decimation } else { 0 };
    let head = (times as u64).min(taps.saturating_add(rounded));
    let held = HeldRows::most_bytes(format, inputs, taps - 1, head);
    let input_bytes = chunk::bytes(format, inputs, times);
    let parts = [input_bytes, output_bytes, held, DownConvertKernels::<T>::bytes(plan)];
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

impl<T: DownConvertedSample> GpuStream<T> {
    /// Before the first chunk, on a stream of its own.
    pub(super) fn new(device: &Device, plan: &DownConverter, inputs: Inputs) -> Result<Self, ChannelizerError> {
        let stream = device.new_stream()?;
        let (pool, mut tables) = (BufferPool::new(device), Staging::new(TABLES));
        // In memory of the pool, which goes back without a wait when a retune takes its place.
        let kernels = DownConvertKernels::load(device, plan)?.retuned(plan, (&stream, &pool, &mut tables))?;
        Ok(Self {
            pool,
            kernels: Tunings::new(kernels),
            held: HeldRows::new(device, inputs)?,
            uploader: Uploader::new(&stream),
            reads: Staging::default(),
            tables,
            sums: None,
            sums_are_old: false,
            kernels_are_old: false,
            stream,
        })
    }

    /// The same stream with outputs of another type.
    pub(super) fn with_output<U: DownConvertedSample>(
        mut self,
        tunings: &Tunings<DownConverter>,
    ) -> Result<GpuStream<U>, ChannelizerError> {
        let loaded = DownConvertKernels::<U>::load(self.stream.device(), tunings.now())?;
        let kernels = tunings.try_map(|plan| loaded.retuned(plan, (&self.stream, &self.pool, &mut self.tables)))?;
        let Self { stream, pool, held, uploader, reads, tables, sums, sums_are_old, .. } = self;
        let kernels_are_old = false;
        Ok(GpuStream { stream, pool, kernels, held, uploader, reads, tables, sums, sums_are_old, kernels_are_old })
    }

    /// Queues the weights of a tuning of the plan that counts from an output on.
    pub(super) fn retune(
        &mut self,
        plan: &DownConverter,
        first_output: u64,
        tuned: &DownConverter,
    ) -> Result<(), ChannelizerError> {
        self.renew_kernels(plan)?;
        let retuned = self.kernels.last().retuned(tuned, (&self.stream, &self.pool, &mut self.tables))?;
        self.kernels.push(first_output, retuned);
        Ok(())
    }

    /// Gives back weights that no output from `next` on has, once the launches that read them are done.
    pub(super) fn pass(&mut self, next: u64) {
        self.kernels.pass(next);
    }

    /// Sums up samples and outputs from now on.
    pub(super) fn keep_sums(&mut self, inputs: Inputs) -> Result<(), ChannelizerError> {
        if self.sums.is_none() {
            self.sums = Some(DeviceSums::new(&self.stream, inputs)?);
        }
        Ok(())
    }

    /// Adds what the device has summed up, when it is there, and begins anew.
    pub(super) fn take_sums(&mut self, sums: &mut [Sums]) -> Result<(), ChannelizerError> {
        self.renew_sums()?;
        self.sums.as_mut().map_or(Ok(()), |of_device| of_device.take(&self.stream, sums))
    }

    /// Forgets sums of before a reset.
    fn renew_sums(&mut self) -> Result<(), ChannelizerError> {
        if self.sums_are_old
            && let Some(sums) = &mut self.sums
        {
            sums.clear(&self.stream)?;
        }
        self.sums_are_old = false;
        Ok(())
    }

    /// What the host knows of the sums of a step: numbers of samples and outputs.
    pub(super) fn counts(&self, inputs: Inputs, step: &Step, pieces: &[Piece<'_>]) -> Vec<Sums> {
        let of = |samples| SampleSums { samples, ..SampleSums::default() };
        let of_input = |input| {
            let samples = step.counted(input).iter().map(|stretch| (stretch.end - stretch.start) as u64).sum();
            let outputs = pieces.iter().map(|piece| piece.step.present_outputs(piece.plan, input)).sum();
            Sums { samples: of(samples), outputs: of(outputs) }
        };
        (0..inputs.len()).map(of_input).collect()
    }

    /// Queues all work on another stream, which waits for what the one before was given.
    pub(super) fn set_stream(
        &mut self,
        stream: &Stream,
        tunings: &Tunings<DownConverter>,
    ) -> Result<(), ChannelizerError> {
        let device = self.stream.device();
        if !stream.device().is_same(device) {
            return Err(DeviceError::wrong_device(device, stream.device()).into());
        }
        stream.wait_for(&self.stream)?;
        // Weights go back to the pool in the order of the stream that they were taken for.
        let tables = &mut self.tables;
        self.kernels = tunings.try_map(|plan| self.kernels.last().retuned(plan, (stream, &self.pool, &mut *tables)))?;
        self.kernels_are_old = false;
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

    /// Forgets all samples and sums, and the tunings but that of the plan.
    pub(super) fn reset(&mut self) {
        self.held.reset();
        // What can fail waits for what is next.
        (self.sums_are_old, self.kernels_are_old) = (true, true);
    }

    /// Brings back the weights of the plan after a reset.
    fn renew_kernels(&mut self, plan: &DownConverter) -> Result<(), ChannelizerError> {
        if self.kernels_are_old {
            let kernels = self.kernels.last().retuned(plan, (&self.stream, &self.pool, &mut self.tables))?;
            self.kernels = Tunings::new(kernels);
        }
        self.kernels_are_old = false;
        Ok(())
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
        mut rows: DeviceRows<T>,
        piece: &Piece<'_>,
        inputs: Inputs,
    ) -> Result<Samples<T>, ChannelizerError> {
        let mut data = zeros(inputs, "down-converted samples", piece.step.outputs)?;
        rows.read(&mut self.reads, &self.stream, data.view_mut())?;
        output::on_host(&piece.step, piece.plan, data, inputs)
    }

    /// Queues the outputs that a chunk completes, of which absent ones are 0, and holds what coming ones need.
    pub(super) fn run(
        &mut self,
        plan: &DownConverter,
        step: &Step,
        pieces: &[Piece<'_>],
        samples: &DeviceSamples<'_>,
    ) -> Result<Vec<DeviceRows<T>>, ChannelizerError> {
        self.renew_sums()?;
        self.renew_kernels(plan)?;
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
        let take = |Piece { step, .. }: &Piece<'_>| {
            DeviceRows::take(&self.pool, stream, samples.inputs(), step.first_output, step.outputs)
        };
        let mut out = pieces.iter().map(take).collect::<Result<Vec<_>, _>>()?;
        let view = samples.array().read_on(stream)?;
        let seam = (step.first_output + joined, read);
        let queued = self.queue(step, pieces, (samples, view), &moved, seam, &mut out);
        // Part of the work may be queued even if it failed.
        samples.array().reads_queued(stream)?;
        queued?;
        self.held.commit(moved);
        Ok(out)
    }

    /// Queues everything: outputs before `middle` read the held rows, up to sample `read`.
    fn queue(
        &mut self,
        step: &Step,
        pieces: &[Piece<'_>],
        (samples, view): (&DeviceSamples<'_>, BufferView<'_, u32>),
        moved: &Move,
        (middle, read): (u64, u64),
        out: &mut [DeviceRows<T>],
    ) -> Result<(), ChannelizerError> {
        self.held.run(&self.stream, view, moved)?;
        for (piece, out) in pieces.iter().zip(out) {
            self.queue_piece(piece, (samples, view), moved, (middle, read), out)?;
        }
        self.queue_sums(step, (samples, view), moved)
    }

    /// Queues outputs of one tuning, and their sums.
    fn queue_piece(
        &mut self,
        piece: &Piece<'_>,
        (samples, view): (&DeviceSamples<'_>, BufferView<'_, u32>),
        moved: &Move,
        (middle, read): (u64, u64),
        out: &mut DeviceRows<T>,
    ) -> Result<(), ChannelizerError> {
        let Self { stream, pool, kernels, held, sums, .. } = self;
        let Piece { step, plan } = piece;
        let kernels = kernels.of(step.first_output);
        let (first, end, row, inputs) = (step.first_output, step.end_output(), out.row(), samples.inputs().len());
        let flags = match sums {
            Some(sums) if T::LIMIT.is_finite() => {
                let flags = absent_flags(step, plan, inputs);
                if flags.is_empty() { None } else { Some(sums.send_flags(stream, pool, &flags)?) }
            }
            _ => None,
        };
        let (none, mut no_counts) = (Buffer::alloc(stream.device(), 0)?, Buffer::alloc(stream.device(), 0)?);
        let present = flags.as_ref().map_or(none.view(), |flags| flags.view());
        let counts = match sums {
            Some(sums) if T::LIMIT.is_finite() => sums.saturated(),
            _ => no_counts.view_mut(),
        };
        let saturated = Saturated { counts, present, present_row: step.outputs };
        let middle = middle.clamp(first, end);
        let mut parts = [None, None];
        if first < middle {
            let sample = first * plan.decimation as u64;
            let rows = held.windows(moved, Numbers::of(samples.format())?, sample, (read - sample) as usize);
            parts[0] = Some((rows, first..middle));
        }
        if middle < end {
            parts[1] = Some((WindowRows::of_chunk(samples, view)?, middle..end));
        }
        kernels.launch_counted(stream, parts, (out.values()?, row), saturated)?;
        out.zero_absent(step, plan, stream)?;
        let Some(sums) = sums else { return Ok(()) };
        let row_bits = 8 * (row * size_of::<T>()) as u64;
        let stretches: Vec<_> = (0..inputs as u64).map(|input| vec![[input * row_bits, step.outputs as u64]]).collect();
        let numbers = Numbers::of(ChunkFormat::Typed { format: T::FORMAT, complex: T::COMPLEX })?;
        sums.add((stream, pool), Of::Outputs, out.words()?, numbers, &stretches)
    }

    /// Queues the sums of the samples that are counted with a chunk: those before it lie in the held rows.
    fn queue_sums(
        &mut self,
        step: &Step,
        (samples, view): (&DeviceSamples<'_>, BufferView<'_, u32>),
        moved: &Move,
    ) -> Result<(), ChannelizerError> {
        let Self { stream, pool, held, sums: Some(sums), .. } = self else { return Ok(()) };
        let numbers = Numbers::of(samples.format())?;
        let (bits, row_bits) = (numbers.sample_bits(), 8 * samples.row_bytes() as u64);
        let first = step.first_sample as i64;
        let (mut before, mut behind) = (Vec::new(), Vec::new());
        for input in 0..samples.inputs().len() {
            let stretches = step.counted(input);
            let part = |stretch: &Range<i64>, bit: u64| [bit, (stretch.end - stretch.start) as u64];
            let of_held = stretches.iter().map(|stretch| stretch.start..stretch.end.min(first));
            let of_held = of_held.filter(|stretch| !stretch.is_empty());
            before.push(of_held.map(|stretch| part(&stretch, held.bit(moved, input, stretch.start, bits))).collect());
            let of_chunk = stretches.iter().map(|stretch| stretch.start.max(first)..stretch.end);
            let of_chunk = of_chunk.filter(|stretch| !stretch.is_empty());
            let bit = |sample: i64| input as u64 * row_bits + (sample - first) as u64 * bits;
            behind.push(of_chunk.map(|stretch| part(&stretch, bit(stretch.start))).collect());
        }
        sums.add((stream, pool), Of::Samples, held.words(), numbers, &before)?;
        sums.add((stream, pool), Of::Samples, view, numbers, &behind)
    }
}

/// Flags `[input][output]` of the outputs of a step, 0 of absent ones; none if all are there.
pub(super) fn absent_flags(step: &Step, plan: &DownConverter, inputs: usize) -> Vec<u8> {
    let absent: Vec<_> = (0..inputs).map(|input| step.absent(plan, input)).collect();
    if absent.iter().all(Vec::is_empty) {
        return Vec::new();
    }
    let mut flags = vec![1; inputs * step.outputs];
    for (flags, runs) in flags.chunks_mut(step.outputs).zip(absent) {
        for run in runs {
            flags[run].fill(0);
        }
    }
    flags
}

#[cfg(test)]
mod tests {
    use fringes_types::Complex;

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
        let need = stream_need::<Complex<f32>>(
            &plan,
            Inputs::single_pol(3).unwrap(),
            80_000,
            ChunkFormat::Packed { bits: 10 },
        );
        // 10 000 outputs, up to 15 of a line of memory before them, and the padding.
        assert_eq!(need.output_bytes, (3 * 10_000 + 15) * 8 + 4 * DeviceSamples::PADDING_WORDS as u64);
        let held = need.workspace_bytes
            - need.input_bytes
            - need.output_bytes
            - DownConvertKernels::<Complex<f32>>::bytes(&plan);
        // Four times three rows of 127 held samples, 256 of the chunk, 32 and a pad of 16: 540 bytes, 544 in 16.
        assert_eq!(held, 4 * (3 * 544 + 4 * DeviceSamples::PADDING_WORDS as u64));
        assert_eq!(need.smallest_step_bytes, need.workspace_bytes);
    }
}
