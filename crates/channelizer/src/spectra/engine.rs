//! Buffers and launches of a stream's spectra on a GPU: chunks of samples `[input][time]`, packed as they came, become
//! frames as [`Order`](super::Order) has them.
//!
//! Everything is queued on one stream and nothing waits. Memory of frames, tables and chunks comes from a pool; what is
//! held between chunks grows when it has to.

use std::sync::Arc;

use fringes_backend::{DeviceArray, DeviceError, DeviceSamples, MemoryNeed, TurnRing, Uploader};
use fringes_cpu::f_engine::FrameSample;
use fringes_gpu::{Buffer, BufferPool, Device, Event, Stream};
use fringes_types::{ChunkFormat, Inputs, SampleChunk};

use super::frames::{Ahead, Need, Queued};
use super::kernels::{Kernels, memory_bytes, most_spectra};
use super::runs::{LaunchJobs, Places, Runs};
use super::seam::{ChunkRows, MOST_MORE, Seam, Step, pad_bits};
use super::statistics::DeviceStatistics;
use super::tables::{TABLES, Tables, Written};
use super::{Settings, Work};
use crate::internals::chunk;
use crate::internals::format::Numbers;
use crate::internals::samples::{Flags, SampleKernels};
use crate::internals::{Place, RunSizes, Sources, SpectraLaunch, Target, Targets};
use crate::timeline::{Advance, Timeline};
use crate::{Channelizer, ChannelizerError, Precision};

/// Bits that rows of held samples are a multiple of.
const ROW_BITS: u64 = 128;

/// What is kept from chunk to chunk.
#[derive(Debug)]
pub struct GpuEngine<Q: FrameSample> {
    device: Device,
    stream: Stream,
    pool: BufferPool,
    samples: SampleKernels,
    loaded: Option<Loaded>,
    seam: Seam,
    /// Rows of held samples, those of now first, and their length.
    rows: [Buffer<u32>; 2],
    row_bits: u64,
    /// Where no chunk is.
    nothing: Buffer<u32>,
    /// Where no counts are.
    no_counts: Buffer<u32>,
    /// The frame that is not complete.
    ahead: Option<Ahead<Q>>,
    uploader: Uploader,
    /// Statistics of samples, beside their spectra.
    counting: Stream,
    moving: Moving,
    tables: Tables,
    /// Where frames are written, if not to memory of the pool.
    ring: Option<TurnRing<Q>>,
}

/// Where samples that are held are moved: beside the spectra that do not need them.
#[derive(Debug)]
struct Moving {
    /// Blocks of others do not keep it from beginning.
    stream: Stream,
    /// Behind what it waits for, and behind what it moves.
    before: Event,
    moved: Event,
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
pub struct Prepared<Q: FrameSample> {
    frames: Need<Q>,
    step: Step,
    /// Jobs of each launch, and where their values lie.
    launches: Vec<(LaunchJobs, Place)>,
    tables: Written,
    kernels: Arc<Kernels>,
}

/// The chunk as the seam sees it; without one, what was taken so far.
fn chunk_rows(samples: Option<&DeviceSamples<'_>>, advance: &Advance) -> ChunkRows {
    ChunkRows {
        first: advance.first_sample,
        times: samples.map_or(0, DeviceSamples::times),
        sample_bits: advance.axes.format.sample_bits().into(),
        row_bits: samples.map_or(0, |samples| 8 * samples.row_bytes() as u64),
    }
}

impl<Q: FrameSample> GpuEngine<Q> {
    /// Before the first sample, on a stream of its own.
    pub fn new(device: &Device, inputs: Inputs, settings: &Settings) -> Result<Self, ChannelizerError> {
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
            nothing: Buffer::alloc(device, 0)?,
            no_counts: Buffer::alloc(device, 0)?,
            ahead: None,
            uploader: Uploader::new(&stream),
            counting: device.new_stream()?,
            moving: Moving {
                stream: device.new_urgent_stream()?,
                before: device.new_untimed_event()?,
                moved: device.new_untimed_event()?,
            },
            tables: Tables::new(device)?,
            ring: None,
            stream,
        })
    }

    /// What a stream of chunks of `times` samples in host memory needs on the device.
    pub fn memory(timeline: &Timeline, settings: &Settings, times: usize, format: ChunkFormat) -> MemoryNeed {
        let (plan, inputs) = (&timeline.plan, timeline.inputs);
        let of_inputs = |bytes: u64| bytes.saturating_mul(inputs.len() as u64);
        let frame = (settings.order(inputs, 1).elements() as u64).saturating_mul(size_of::<Q>() as u64);
        let spectra = times.div_ceil(plan.stride()) as u64;
        // One more is complete if one was begun.
        let frames = (spectra / settings.spectra_per_frame as u64).saturating_add(1);
        let output_bytes = frame.saturating_mul(frames);
        // The frame that comes next is the first of as many, of this chunk and of the last one; a frame of one spectrum
        // is never begun.
        let ahead = if settings.spectra_per_frame > 1 { output_bytes.saturating_mul(2) } else { 0 };
        let row = |samples: u64| samples.saturating_mul(format.sample_bits().into()).div_ceil(8);
        // Rows are as long as the longest, with the head of a chunk that the windows of a job reach into, and pieces
        // that are begun; there are two buffers, and two more while rows grow.
        let spectra_of_job = most_spectra(plan) as u64;
        let job =
            (spectra_of_job - 1).saturating_mul(plan.stride() as u64).saturating_add(plan.window_samples() as u64);
        let head = (times as u64).min(job);
        let longest = timeline.history().max().unwrap_or(0).saturating_add(head).saturating_add(MOST_MORE);
        let bits = u64::from(format.sample_bits());
        let row_bits = longest.saturating_mul(bits).saturating_add(pad_bits(bits));
        let row_bytes = row_bits.checked_next_multiple_of(ROW_BITS).unwrap_or(u64::MAX) / 8;
        let held = of_inputs(row_bytes).saturating_add(4 * DeviceSamples::PADDING_WORDS as u64).saturating_mul(4);
        let counted = settings.inputs_before().saturating_add(inputs.len());
        let tables = memory_bytes(plan, counted, settings.precision);
        // A job has at least a spectrum, and 80 bytes; an input has two spans of 48. So have the chunks before, and
        // memory that was made has a quarter more.
        let jobs = of_inputs(spectra.saturating_mul(80).saturating_add(2 * 48)).saturating_mul(5 * TABLES as u64 / 4);
        let fixed = ahead.saturating_add(held).saturating_add(tables);
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
    pub fn set_stream(&mut self, stream: &Stream) -> Result<(), ChannelizerError> {
        if !stream.device().is_same(&self.device) {
            return Err(DeviceError::wrong_device(&self.device, stream.device()).into());
        }
        stream.wait_for(&self.stream)?;
        self.uploader = Uploader::new(stream);
        self.stream = stream.clone();
        Ok(())
    }

    /// Writes frames to a ring from here on; what comes out has no values. Settings say where in the ring.
    pub fn set_ring(&mut self, ring: TurnRing<Q>) {
        self.ring = Some(ring);
    }

    /// The stream that everything is queued on.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// What the kernels that were loaded last compute in; `None` before the first chunk.
    pub fn precision(&self) -> Option<Precision> {
        self.loaded.as_ref().map(|loaded| loaded.kernels.precision())
    }

    /// Bytes of held samples, of both buffers.
    pub fn held_bytes(&self) -> u64 {
        self.rows.iter().map(|rows| rows.bytes() as u64).sum()
    }

    /// Forgets all samples, and the frame that is not complete.
    pub fn reset(&mut self) {
        self.seam = self.seam.begin(0);
        self.ahead = None;
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
    pub fn upload(&mut self, chunk: &dyn SampleChunk) -> Result<DeviceSamples<'static>, ChannelizerError> {
        Ok(self.uploader.samples(chunk)?)
    }

    /// `Ok` if a chunk lies on this device and is of a format that the kernels read.
    pub fn check(&self, samples: &DeviceSamples<'_>) -> Result<(), ChannelizerError> {
        Numbers::of(samples.format())?;
        samples.array().read_on(&self.stream)?;
        Ok(())
    }

    /// What the stream was given so far.
    pub fn so_far(&self) -> Result<Event, ChannelizerError> {
        let event = self.device.new_untimed_event()?;
        event.record(&self.stream)?;
        Ok(event)
    }

    /// Queues the statistics of a chunk on the device, by its flags: beside what the stream was given since `before`,
    /// which may write the samples. [`wait_for_statistics`](Self::wait_for_statistics) is to follow.
    pub fn queue_statistics(
        &mut self,
        samples: &DeviceSamples<'_>,
        before: &Event,
    ) -> Result<DeviceStatistics, ChannelizerError> {
        let stream = &self.counting;
        if samples.array().writer().is_none() {
            stream.wait(before)?;
        }
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
        let queued = self.samples.statistics(stream, rows, flags, sums.view_mut());
        samples.array().reads_queued(stream)?;
        queued?;
        DeviceStatistics::new(DeviceArray::from(sums).written_now(stream)?, samples)
    }

    /// Has the stream wait for the statistics that were queued: what it is given next may write the samples.
    pub fn wait_for_statistics(&self) -> Result<(), ChannelizerError> {
        Ok(self.stream.wait_for(&self.counting)?)
    }

    /// Takes what a chunk needs, or what is left of those before. What is held, and the frame that is not complete,
    /// stay as they are.
    pub fn prepare(
        &mut self,
        work: &Work<'_>,
        samples: Option<&DeviceSamples<'_>>,
    ) -> Result<Prepared<Q>, ChannelizerError> {
        let stream = &self.stream.clone();
        let (timeline, advance) = (work.timeline, work.advance);
        let (plan, inputs) = (&timeline.plan, timeline.inputs);
        let chunk = chunk_rows(samples, advance);
        let kernels = self.load(plan, advance.axes.format, work.settings)?;
        let expected = timeline.spectra_after(advance, chunk.times);
        let frames = Need::take(&self.pool, stream, work, self.ahead.as_ref(), expected)?;
        let (given, next) = frames.orders(work, self.ahead.as_ref());
        if let Some(ring) = &self.ring {
            if kernels.precision() != Precision::Half {
                let expected =
                    "samples and a plan with kernels of half precision, for frames in a ring of several GPUs";
                let actual = advance.axes.format.to_string();
                return Err(DeviceError::NoKernel { expected, actual }.into());
            }
            // Before anything changes: the ring has this device, and the stream waits for what is read there.
            ring.memory_on(&self.device)?;
            ring.for_writing(stream, work.frames())?;
        }

        let length = kernels.job_length();
        // Unless frames that come next lie in another order than those that are complete.
        let one_launch = given.place() == next.place() || work.batch.frames == 0;
        let next_waits = frames.zeroes_counts(work, self.ahead.as_ref());
        let runs = Runs::new(work, &Places { chunk, given, next, length, one_launch, next_waits });
        let places = if one_launch { [next.place(); 2] } else { [given.place(), next.place()] };
        let launches = runs.launches().iter().cloned().zip(places).collect();
        let jobs = runs.jobs();
        let seam = if advance.anew { self.seam.begin(chunk.first) } else { self.seam.clone() };
        let read: Vec<i64> = runs.read(inputs.len()).into_iter().map(|end| chunk.first + end).collect();
        let step = seam.step(chunk, &advance.keep, &read);
        self.grow(stream, &seam, &step, chunk.sample_bits)?;
        let (bits, row_bits) = (chunk.sample_bits, self.row_bits);
        let mut runs = runs.place(|input, sample| seam.bit(input, chunk.first + sample, bits, row_bits));
        let before = work.settings.inputs_before() as u32;
        for run in &mut runs {
            run.job.input += before;
            kernels.refer(&mut run.job);
        }
        let spans = step.spans(&seam, chunk, row_bits);

        let sizes = RunSizes {
            frame: work.settings.spectra_per_frame as u32,
            length,
            spectrum_bits: plan.stride() as u64 * chunk.sample_bits,
            periods: given.periods(),
            inputs: inputs.len() as u32,
        };
        let tables = self.tables.write(&spans, (&runs, jobs, sizes))?;
        Ok(Prepared { frames, step, launches, tables, kernels })
    }

    /// The kernels of a format, loaded unless they are there.
    fn load(
        &mut self,
        plan: &Channelizer,
        format: ChunkFormat,
        settings: &Settings,
    ) -> Result<Arc<Kernels>, ChannelizerError> {
        if let Some(loaded) = self.loaded.as_mut().filter(|loaded| loaded.format == format) {
            if loaded.generation != settings.generation {
                loaded.kernels.set_gains(&self.stream, settings)?;
                loaded.generation = settings.generation;
            }
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
            let (bytes, rows_of_spans) = self.tables.write_spans(&spans)?;
            let tables = self.tables.written(bytes)?;
            let held = (self.rows[0].view_mut(), rows[0].view_mut());
            self.samples.move_rows_of_pinned(stream, self.nothing.view(), held, rows_of_spans, tables)?;
        }
        (self.rows, self.row_bits) = (rows, row_bits);
        Ok(())
    }

    /// Queues a chunk's spectra and takes the chunk in; without one, the spectra that are left. Gives the frames that
    /// are complete.
    pub fn run(
        &mut self,
        prepared: Prepared<Q>,
        work: &Work<'_>,
        samples: Option<&DeviceSamples<'_>>,
    ) -> Result<Option<Queued<Q>>, ChannelizerError> {
        let stream = &self.stream.clone();
        let Prepared { frames, step, launches, tables, kernels } = prepared;
        let chunk = match samples {
            None => self.nothing.view(),
            Some(samples) => chunk::rows(samples, samples.array().read_on(stream)?)?.samples,
        };
        if let Some(ring) = self.ring.as_ref().filter(|_| frames.zeros()) {
            zero_in_ring(ring, stream, work)?;
        }
        let mut frames = frames.begin(stream, work, self.ahead.take())?;

        let none = || -> Result<Queued<Q>, ChannelizerError> {
            Ok((Buffer::alloc(&self.device, 0)?, Buffer::alloc(&self.device, 0)?))
        };
        let (mut no_given, mut no_next) = (none()?, none()?);
        let ring = || self.ring.as_ref().map(|ring| ring.memory_on(&self.device)).transpose();
        let mut in_ring = (ring()?, ring()?);
        let [now, later] = &mut self.rows;
        self.tables.send(&self.samples, stream, &tables)?;
        let sent = self.tables.sent(&tables)?;
        let zeros = frames.zeros().unwrap_or_else(|| self.no_counts.view_mut());
        let held = (now.view_mut(), later.view_mut());
        let Moving { stream: moving, before, moved } = &self.moving;
        before.record(stream)?;
        moving.wait(before)?;
        let queued = self.samples.move_rows(moving, chunk, held, tables.rows(), sent.pieces, zeros);
        moved.record(moving)?;
        queued?;
        let queued = launches.iter().try_for_each(|(part, place)| {
            let samples = Sources { chunk, held: now.view() };
            let mut given = target(frames.given.as_mut().unwrap_or(&mut no_given));
            let mut next = target(frames.next.as_mut().map_or(&mut no_next, Ahead::values));
            if let (Some(values), Some(values_next)) = (&mut in_ring.0, &mut in_ring.1) {
                (given.values, next.values) = (values.view_mut(), values_next.view_mut());
            }
            let (jobs, dither) = (sent.part(part, moved)?, work.settings.dither);
            let out = Targets { given, next };
            kernels.launch(stream, SpectraLaunch { samples, jobs, place: *place, dither, out })
        });
        // Also of a chunk that failed: what is moved is given back in the order of the stream.
        stream.wait(moved)?;
        queued?;
        self.tables.read_queued(stream)?;
        self.rows.swap(0, 1);
        self.seam = step.next;
        self.ahead = frames.next;
        if let Some(samples) = samples {
            samples.array().reads_queued(stream)?;
        }
        Ok(frames.given)
    }
}

/// Zeros in the frames of a chunk's work behind the spectra that the first one has.
fn zero_in_ring<Q: FrameSample>(ring: &TurnRing<Q>, stream: &Stream, work: &Work<'_>) -> Result<(), ChannelizerError> {
    let Some(order) = work.settings.ring else { return Ok(()) };
    let (inputs, spectra, shape) = (work.timeline.inputs, work.settings.spectra_per_frame, order.shape);
    let (pols, rows) = (inputs.pols(), inputs.antennas() * shape.channels_of_share);
    let (frames, mut memory) = (work.frames(), ring.memory_on(stream.device())?);
    for (frame, share) in frames.clone().flat_map(|frame| (0..ring.devices().len()).map(move |share| (frame, share))) {
        let filled = if frame == frames.start { work.batch.filled } else { 0 };
        let first = share * shape.spacing + order.frame(frame, spectra, pols) + filled * pols;
        let mut part = memory.slice_mut(first..)?;
        part.zero_rows(stream, spectra * pols, (spectra - filled) * pols, rows)?;
    }
    Ok(())
}

/// Where a launch writes values and counts.
fn target<Q: FrameSample>((values, saturated): &mut Queued<Q>) -> Target<'_, Q> {
    Target { values: values.view_mut(), saturated: saturated.view_mut() }
}
