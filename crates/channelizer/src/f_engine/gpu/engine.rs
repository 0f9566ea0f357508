//! Buffers and launches of an F-engine on a GPU.
//!
//! Everything is queued on one stream and nothing waits. Memory of frames, tables and chunks comes from a pool; what is held between chunks grows when it
//! has to.

use fringes_backend::{DeviceError, DeviceSamples, MemoryNeed, Staging, Uploader};
use fringes_cpu::f_engine::InputStatistics;
use std::sync::Arc;

use fringes_gpu::{Buffer, BufferPool, Device, Stream};
use fringes_types::{ChunkFormat, Inputs, SampleChunk, TypesError};

use super::super::{FrameSample, Job, Settings};
use super::jobs::{Launch, Places, Source, Target, launches};
use super::kernels::{Kernels, memory_bytes};
use super::order::Order;
use super::seam::{ChunkRows, Seam, Step};
use super::tables::{Piece, Sent, Tables};
use crate::gpu::chunk;
use crate::gpu::format::Numbers;
use crate::gpu::samples::{Flags, SampleKernels};
use crate::timeline::Timeline;
use crate::{Channelizer, ChannelizerError};

/// Bits that rows of held samples are a multiple of.
const ROW_BITS: u64 = 128;

/// Values and counts of saturated ones of some frames.
pub(in crate::f_engine) type Queued<Q> = (Buffer<Q>, Buffer<u32>);

/// What is kept from chunk to chunk.
#[derive(Debug)]
pub(in crate::f_engine) struct GpuEngine<Q: FrameSample> {
    device: Device,
    stream: Stream,
    pool: BufferPool,
    samples: SampleKernels,
    loaded: Option<Loaded>,
    seam: Seam,
    /// Rows of held samples, those of now first, and their length.
    rows: [Buffer<u32>; 2],
    row_bits: u64,
    /// The frame that is not complete, and the counts of its inputs.
    open: Buffer<Q>,
    open_saturated: Buffer<u32>,
    uploader: Uploader,
    tables: Staging,
}

/// The kernel, and what it was loaded for.
#[derive(Debug)]
struct Loaded {
    kernels: Arc<Kernels>,
    format: ChunkFormat,
    generation: u64,
}

/// All that a chunk needs and that may fail to be had.
#[derive(Debug)]
pub(in crate::f_engine) struct Prepared<Q: FrameSample> {
    /// The frames that are given away.
    given: Queued<Q>,
    /// The frame that is closed before.
    closed: Option<Queued<Q>>,
    seam: Seam,
    step: Step,
    sent: Sent,
    launches: Vec<(Source, Target, Piece)>,
    head: Option<Piece>,
    kept: Piece,
    added: Piece,
    kernels: Arc<Kernels>,
    given_order: Order,
    open_order: Order,
    chunk: ChunkRows,
}

/// The chunk as the seam sees it.
fn chunk_rows(samples: &DeviceSamples<'_>) -> ChunkRows {
    ChunkRows {
        first: samples.first_sample() as i64,
        times: samples.times(),
        sample_bits: samples.format().sample_bits().into(),
        row_bits: 8 * samples.row_bytes() as u64,
    }
}

impl<Q: FrameSample> GpuEngine<Q> {
    pub(in crate::f_engine) fn new(
        device: &Device,
        inputs: Inputs,
        settings: &Settings,
    ) -> Result<Self, ChannelizerError> {
        let order = settings.order(inputs, 1);
        // Counts of a frame have 32 bits.
        let values = settings.channels.len().saturating_mul(settings.spectra_per_frame);
        let limit = u32::MAX as usize;
        if values > limit {
            return Err(ChannelizerError::Device(DeviceError::TooLarge {
                what: "values of an input's frame",
                actual: values,
                limit,
            }));
        }
        let stream = device.new_stream()?;
        Ok(Self {
            device: device.clone(),
            pool: BufferPool::new(device),
            samples: SampleKernels::load(device)?,
            loaded: None,
            seam: Seam::new(inputs.len()),
            rows: [Buffer::alloc(device, 0)?, Buffer::alloc(device, 0)?],
            row_bits: 0,
            open: Buffer::zeroed(&stream, order.elements())?,
            open_saturated: Buffer::zeroed(&stream, inputs.len())?,
            uploader: Uploader::new(&stream),
            tables: Staging::default(),
            stream,
        })
    }

    /// What a stream of chunks of `times` samples in host memory needs on the device.
    pub(in crate::f_engine) fn memory(
        timeline: &Timeline,
        settings: &Settings,
        times: usize,
        format: ChunkFormat,
    ) -> MemoryNeed {
        let (plan, inputs) = (&timeline.plan, timeline.inputs);
        let of_inputs = |bytes: u64| bytes.saturating_mul(inputs.len() as u64);
        let frame = (settings.order(inputs, 1).elements() as u64).saturating_mul(size_of::<Q>() as u64);
        let spectra = times.div_ceil(plan.stride()) as u64;
        let frames = (spectra / settings.spectra_per_frame as u64).saturating_add(1);
        let output_bytes = frame.saturating_mul(frames);
        let row = |samples: u64| samples.saturating_mul(format.sample_bits().into()).div_ceil(8);
        // Rows are as long as the longest, with the head of a chunk; there are two buffers, and two more while rows
        // grow.
        let head = (times as u64).min(plan.window_samples() as u64 - 1);
        let longest = timeline.history().max().unwrap_or(0).saturating_add(head);
        let row_bits = longest.saturating_mul(format.sample_bits().into());
        let row_bytes = row_bits.checked_next_multiple_of(ROW_BITS).unwrap_or(u64::MAX) / 8;
        let held = of_inputs(row_bytes).saturating_add(4 * DeviceSamples::PADDING_WORDS as u64).saturating_mul(4);
        let tables = memory_bytes(plan, format, inputs.len());
        // A job has at least a spectrum, and 80 bytes.
        let jobs = of_inputs(spectra.saturating_mul(80));
        let fixed = frame.saturating_add(held).saturating_add(tables);
        let parts = [chunk::bytes(format, inputs, times), output_bytes, jobs, fixed];
        let workspace_bytes = parts.into_iter().fold(0, u64::saturating_add);
        MemoryNeed {
            input_bytes: of_inputs(row(times as u64)),
            output_bytes,
            workspace_bytes,
            smallest_step_bytes: workspace_bytes,
        }
    }

    /// Queues all work on another stream, which waits for what the one before was given.
    pub(in crate::f_engine) fn set_stream(&mut self, stream: &Stream) -> Result<(), ChannelizerError> {
        if !stream.device().is_same(&self.device) {
            return Err(DeviceError::wrong_device(&self.device, stream.device()).into());
        }
        stream.wait_for(&self.stream)?;
        self.uploader = Uploader::new(stream);
        self.stream = stream.clone();
        Ok(())
    }

    /// The stream that everything is queued on.
    pub(in crate::f_engine) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Bytes of held samples, of both buffers.
    pub(in crate::f_engine) fn held_bytes(&self) -> u64 {
        self.rows.iter().map(|rows| rows.bytes() as u64).sum()
    }

    /// Forgets all samples.
    pub(in crate::f_engine) fn reset(&mut self) {
        self.seam = self.seam.begin(0);
        // So that they are made anew with the next chunk.
        self.row_bits = 0;
        for rows in &mut self.rows {
            // Nothing is asked of the driver for no bytes.
            if let Ok(none) = Buffer::alloc(self.stream.device(), 0) {
                *rows = none;
            }
        }
    }

    /// Copies a chunk to the device.
    pub(in crate::f_engine) fn upload(
        &mut self,
        chunk: &dyn SampleChunk,
    ) -> Result<DeviceSamples<'static>, ChannelizerError> {
        Ok(self.uploader.samples(chunk)?)
    }

    /// `Ok` if a chunk lies on this device and is of a format that the kernels read.
    pub(in crate::f_engine) fn check(&self, samples: &DeviceSamples<'_>) -> Result<(), ChannelizerError> {
        Numbers::of(samples.format())?;
        samples.array().read_on(&self.stream)?;
        Ok(())
    }

    /// Statistics of a chunk on the device, by its flags: sums in parts, for [`GpuEngine::statistics`].
    pub(in crate::f_engine) fn queue_statistics(
        &mut self,
        samples: &DeviceSamples<'_>,
    ) -> Result<Buffer<u64>, ChannelizerError> {
        let stream = &self.stream;
        let rows = chunk::rows(samples, samples.array().read_on(stream)?)?;
        let mut sums = self.pool.take(stream, SampleKernels::sums(rows.inputs, rows.times, rows.numbers))?;
        let flags = match samples.presence() {
            None => Buffer::alloc(&self.device, 0)?,
            Some(presence) => {
                let flags: Vec<u8> = presence.flags().iter().map(|&present| present.into()).collect();
                let mut sent = self.pool.take(stream, flags.len())?;
                sent.copy_from_slice(stream, &flags)?;
                sent
            }
        };
        let (blocks, length) = match samples.presence() {
            None => (0, 1),
            Some(presence) => (presence.flags().ncols(), presence.samples_per_block()),
        };
        let flags = Flags { flags: flags.view(), blocks, length };
        self.samples.statistics(stream, rows, flags, sums.view_mut())?;
        Ok(sums)
    }

    /// Statistics of sums in parts, when they are there.
    pub(in crate::f_engine) fn statistics(
        &self,
        sums: &Buffer<u64>,
        samples: &DeviceSamples<'_>,
    ) -> Result<Vec<InputStatistics>, ChannelizerError> {
        let (axes, numbers) = (chunk::axes(samples), Numbers::of(samples.format())?);
        let sums = SampleKernels::total(&sums.to_vec(&self.stream)?, axes.inputs.len(), numbers);
        let of = |(input, (sum_of_squares, clipped)): (usize, (f64, u64))| {
            let samples = axes.presence.map_or(axes.times as u64, |presence| {
                let (length, times) = (presence.samples_per_block(), axes.times);
                let flags = presence.flags();
                let blocks = flags.row(input).into_iter().enumerate().filter(|(_, present)| **present);
                blocks.map(|(block, _)| length.min(times.saturating_sub(block.saturating_mul(length))) as u64).sum()
            });
            InputStatistics { samples, sum_of_squares, clipped }
        };
        Ok(sums.into_iter().enumerate().map(of).collect())
    }

    /// Takes what a chunk needs. What is held, and the frame that is not complete, stay as they are.
    pub(in crate::f_engine) fn prepare(
        &mut self,
        work: &Job<'_>,
        samples: &DeviceSamples<'_>,
    ) -> Result<Prepared<Q>, ChannelizerError> {
        let stream = &self.stream.clone();
        let (timeline, advance, batch) = (work.timeline, work.advance, &work.batch);
        let (plan, inputs) = (&timeline.plan, timeline.inputs);
        let chunk = chunk_rows(samples);
        let kernels = self.load(plan, samples.format(), work.settings)?;
        let seam = if advance.anew { self.seam.begin(chunk.first) } else { self.seam.clone() };
        let step = seam.step(chunk, &advance.keep, plan.window_samples());
        self.grow(stream, &seam, &step, chunk.sample_bits)?;

        let (given_order, open_order) = (work.settings.order(inputs, batch.frames), work.settings.order(inputs, 1));
        let order = &open_order;
        let elements = order.elements().checked_mul(batch.frames);
        let too_large =
            || TypesError::TooLarge { array: "frames", elements: format!("{} x {}", batch.frames, order.elements()) };
        let elements = elements.ok_or_else(too_large)?;
        let given = (self.pool.take(stream, elements)?, self.pool.take(stream, batch.frames * inputs.len())?);
        let closed = match work.close {
            None => None,
            Some(_) => Some((self.pool.take(stream, order.elements())?, self.pool.take(stream, inputs.len())?)),
        };
        let most = |spectrum| kernels.spectra_of_job(spectrum);
        let (held_row_bits, given_place) = (self.row_bits, given_order);
        let places = Places { seam: &seam, held_row_bits, chunk, given: given_place, open: open_order, most: &most };
        let mut tables = Tables::default();
        let launches: Vec<_> = launches(work, &places)
            .into_iter()
            .map(|Launch { source, target, jobs }| (source, target, tables.jobs(&jobs)))
            .collect();
        let reads_held = launches.iter().any(|(source, ..)| *source == Source::Held);
        let head = reads_held.then(|| tables.spans(&step.head(&seam, chunk, self.row_bits)));
        let kept = tables.spans(&step.kept(&seam, chunk, self.row_bits));
        let added = tables.spans(&step.added(chunk, self.row_bits));
        let sent = tables.send(stream, &self.pool, &mut self.tables)?;
        Ok(Prepared {
            given,
            closed,
            seam,
            step,
            sent,
            launches,
            head,
            kept,
            added,
            kernels,
            given_order,
            open_order,
            chunk,
        })
    }

    /// The kernels of a format, loaded unless they are there.
    fn load(
        &mut self,
        plan: &Channelizer,
        format: ChunkFormat,
        settings: &Settings,
    ) -> Result<Arc<Kernels>, ChannelizerError> {
        let known = |loaded: &&Loaded| (loaded.format, loaded.generation) == (format, settings.generation);
        if let Some(loaded) = self.loaded.as_ref().filter(known) {
            return Ok(Arc::clone(&loaded.kernels));
        }
        let kernels = Arc::new(Kernels::load::<Q>(&self.device, plan, format, settings)?);
        self.loaded = Some(Loaded { kernels: Arc::clone(&kernels), format, generation: settings.generation });
        Ok(kernels)
    }

    /// Makes the rows of held samples longer if they have to be.
    fn grow(&mut self, stream: &Stream, seam: &Seam, step: &Step, sample_bits: u64) -> Result<(), ChannelizerError> {
        if step.row_bits <= self.row_bits {
            return Ok(());
        }
        let row_bits = step.row_bits.next_multiple_of(ROW_BITS);
        let words = seam.rows().saturating_mul((row_bits / 32) as usize).saturating_add(DeviceSamples::PADDING_WORDS);
        let mut rows = [Buffer::zeroed(stream, words)?, Buffer::zeroed(stream, words)?];
        if seam.samples() > 0 {
            let spans = seam.moved(sample_bits, self.row_bits, row_bits);
            let most = spans.iter().map(|span| span.bits).max().unwrap_or(0);
            let spans: Vec<u64> = spans.into_iter().flat_map(|span| span.words()).collect();
            let spans = Buffer::from_slice(stream, &spans)?;
            self.samples.append(stream, self.rows[0].view(), rows[0].view_mut(), spans.view(), most)?;
        }
        (self.rows, self.row_bits) = (rows, row_bits);
        Ok(())
    }

    /// Queues a chunk's spectra and takes the chunk in. Gives the frame that was closed, if one was, and those that are complete.
    pub(in crate::f_engine) fn run(
        &mut self,
        prepared: Prepared<Q>,
        work: &Job<'_>,
        samples: &DeviceSamples<'_>,
    ) -> Result<(Option<Queued<Q>>, Queued<Q>), ChannelizerError> {
        let stream = &self.stream.clone();
        let input = chunk::rows(samples, samples.array().read_on(stream)?)?;
        let Prepared { mut given, mut closed, step, sent, launches, head, kept, added, chunk, seam, .. } = prepared;
        let (kernels, given_order, open_order) = (prepared.kernels, prepared.given_order, prepared.open_order);
        if let Some(closed) = &mut closed {
            self.copy_open(stream, closed)?;
        }
        self.begin_frames(stream, work, &mut given, &given_order, &open_order)?;

        if let Some(head) = &head {
            let most = chunk.times as u64 * chunk.sample_bits;
            self.samples.append(stream, input.samples, self.rows[0].view_mut(), sent.spans(head)?, most)?;
        }
        for (source, target, jobs) in &launches {
            let from = if *source == Source::Held { self.rows[0].view() } else { input.samples };
            let (out, saturated, place) = match target {
                Target::Given => (&mut given.0, &mut given.1, given_order.place()),
                Target::Open => (&mut self.open, &mut self.open_saturated, open_order.place()),
            };
            let dither = work.settings.dither;
            let (out, saturated) = (out.view_mut(), saturated.view_mut());
            kernels.launch::<Q>(stream, from, sent.jobs(jobs)?, place, dither, out, saturated)?;
        }

        let [now, next] = &mut self.rows;
        let most = self.row_bits;
        if seam.samples() > 0 {
            self.samples.append(stream, now.view(), next.view_mut(), sent.spans(&kept)?, most)?;
        }
        self.samples.append(stream, input.samples, next.view_mut(), sent.spans(&added)?, most)?;
        self.rows.swap(0, 1);
        self.seam = step.next;
        samples.array().reads_queued(stream)?;
        Ok((closed, given))
    }

    /// Puts what the first frame has already where it goes, and zeros where nothing will be written.
    fn begin_frames(
        &mut self,
        stream: &Stream,
        work: &Job<'_>,
        given: &mut Queued<Q>,
        given_order: &Order,
        open_order: &Order,
    ) -> Result<(), ChannelizerError> {
        let (batch, spf) = (&work.batch, work.settings.spectra_per_frame);
        let (all, inputs) = (batch.filled + batch.spectra, work.timeline.inputs.len());
        if batch.frames > 0 {
            let partial = all < batch.frames * spf || work.advance.present.iter().any(|present| !present);
            if partial {
                given.0.view_mut().zero(stream)?;
            }
            given.1.view_mut().zero(stream)?;
            if batch.filled > 0 {
                let (width, to_pitch, pieces) = given_order.head(batch.filled);
                let (_, from_pitch, _) = open_order.head(batch.filled);
                let mut to = given.0.view_mut();
                to.copy_rows_from(stream, to_pitch, self.open.view(), from_pitch, width, pieces)?;
                given.1.slice_mut(..inputs)?.copy_from(stream, self.open_saturated.view())?;
            }
        }
        if (batch.frames > 0 || batch.filled == 0) && all > batch.frames * spf {
            self.open.view_mut().zero(stream)?;
            self.open_saturated.view_mut().zero(stream)?;
        }
        Ok(())
    }

    /// The frame that is not complete.
    pub(in crate::f_engine) fn close(&mut self) -> Result<Queued<Q>, ChannelizerError> {
        let stream = &self.stream;
        let mut closed = (self.pool.take(stream, self.open.len())?, self.pool.take(stream, self.open_saturated.len())?);
        self.copy_open(stream, &mut closed)?;
        Ok(closed)
    }

    fn copy_open(&self, stream: &Stream, closed: &mut Queued<Q>) -> Result<(), ChannelizerError> {
        closed.0.view_mut().copy_from(stream, self.open.view())?;
        closed.1.view_mut().copy_from(stream, self.open_saturated.view())?;
        Ok(())
    }
}
