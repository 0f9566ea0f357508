//! Down-conversion of an endless stream of chunks.
//!
//! ```text
//! absolute samples  | held from the last chunks | chunk                         |
//! output j              [--- S j .. S j + K ---------]                made from both, joined in small rows
//! output j + 1                      [-----------------------]         likewise
//! output j + 2                                   [-----------------------]      read from the chunk in place
//! ```

use fringes_backend::{Backend, DeviceError, DeviceSamples, MemoryNeed};
use fringes_gpu::Stream;
use fringes_types::{ChunkFormat, Complex, Inputs, Sample, SampleChunk, SamplePresence, Samples};

use super::cpu::{self, CpuStream, Setting, Taken};
use super::gpu::{self, GpuStream, Piece};
use super::output::{Axes, DeviceRows};
use super::progress::{Progress, Step};
use super::statistics::{DownConverterStatistics, Sums};
use super::tunings::Tunings;
use super::{DownConvertedSample, DownConverter, OPERATION};
use crate::ChannelizerError;
use crate::internals::chunk;
use crate::sample_input::{SampleInput, SampleOperation};
use crate::timeline::ChunkAxes;

/// A down-converter that takes a stream chunk by chunk and gives the outputs that are complete.
///
/// Chunks of any size give the same bits as [`crate::down_convert`] of the whole stream. The stream holds fewer samples
/// than the filter has taps, of each input, as f32 on the CPU and as they came on a GPU:
/// [`DownConverterStream::memory`]. A backend's limit that holds that holds the whole stream; it is checked with the
/// first chunk.
///
/// Outputs are `Complex<f32>` unless told otherwise ([`DownConverterStream::with_output`]).
///
/// # Missing data
/// An output is marked absent for an input if a sample that it is made of is; it is 0. If a chunk starts after the end
/// of the one before it, no output is made across the gap: the stream begins anew with that chunk, still on the run's
/// grid of outputs, and the `first_sample` of the result says where.
///
/// # Retunes
/// [`DownConverterStream::retune`] changes the centre at a sample, in which the mixer's phase is continuous, for ever,
/// across chunks and gaps. It clears nothing: windows that begin before that sample have the old centre, and others the
/// new one, whatever older samples they hold.
///
/// # Statistics
/// [`DownConverterStream::with_statistics`] counts, from then on, each output once, and samples in blocks of `16 S`:
/// samples `16 S b .. 16 S (b + 1)` are counted with output `16 b`, if that is made; those of them that come later (of
/// a filter of less than `16 S` taps), when they come. So what is counted depends only on where gaps are and how far
/// the stream has come, not on chunks: of a stretch without gaps that begins with a multiple of `16 S` samples all
/// samples but some at its end, less than the filter has taps.
///
/// # On a GPU
/// Samples go there as they are, and those that coming outputs need stay there. Outputs of chunks in device memory stay
/// there as well, as complex samples that a [`ChannelizerStream`](crate::ChannelizerStream) or an F-engine takes.
///
/// # Errors
/// Every method leaves the stream as it was when it fails, but for failures of a GPU's driver.
#[derive(Debug)]
pub struct DownConverterStream<T: DownConvertedSample = Complex<f32>> {
    backend: Backend,
    /// As it was given.
    plan: DownConverter,
    tunings: Tunings<DownConverter>,
    /// Sample of the last retune.
    retuned_at: u64,
    progress: Progress,
    engine: Engine<T>,
    /// What the host has summed up of each input, if there are statistics.
    sums: Option<Vec<Sums>>,
}

/// What computes the outputs, with what it holds between chunks.
#[derive(Debug)]
enum Engine<T: DownConvertedSample> {
    Cpu(CpuStream),
    Gpu(Box<GpuStream<T>>),
}

/// What a chunk would give: axes of outputs.
#[doc(hidden)]
#[derive(Debug, Clone)]
pub struct Preview {
    inputs: Inputs,
    first_output: u64,
    outputs: usize,
    sample_rate_hz: f64,
    centre_hz: Option<f64>,
    presence: Option<SamplePresence>,
}

impl Preview {
    /// The axes of the outputs, as of a chunk of samples of their format.
    pub fn axes(&self, format: ChunkFormat) -> ChunkAxes<'_> {
        ChunkAxes {
            format,
            inputs: self.inputs,
            times: self.outputs,
            first_sample: self.first_output,
            sample_rate_hz: self.sample_rate_hz,
            centre_hz: self.centre_hz,
            presence: self.presence.as_ref(),
        }
    }
}

/// [`DownConverterStream::push`].
struct Push<'a, T: DownConvertedSample>(&'a mut DownConverterStream<T>);

impl<T: DownConvertedSample> SampleOperation for Push<'_, T> {
    type Host = Vec<Samples<T>>;
    type Device = Vec<DeviceSamples<'static>>;
    type Error = ChannelizerError;

    fn on_host(self, chunk: &dyn SampleChunk) -> Result<Self::Host, ChannelizerError> {
        self.0.take(chunk)
    }

    fn on_device(self, samples: &DeviceSamples<'_>) -> Result<Self::Device, ChannelizerError> {
        self.0.take_on_device(samples)
    }
}

impl DownConverterStream {
    /// A stream of the given inputs, whose outputs are `Complex<f32>`.
    ///
    /// # Errors
    /// [`DeviceError::MemoryLimit`] if the backend's limit does not hold the scratch of one output of real samples, or
    /// what a GPU needs at least; [`DeviceError::Gpu`] with what the driver says.
    pub fn new(backend: &Backend, plan: DownConverter, inputs: Inputs) -> Result<Self, ChannelizerError> {
        let engine = match backend.gpu_for(OPERATION, true)? {
            None => {
                backend.check_memory(OPERATION, plan.conversion.scratch_bytes(false, 1))?;
                Engine::Cpu(CpuStream::new(inputs))
            }
            Some(device) => {
                let least = gpu::stream_need::<Complex<f32>>(&plan, inputs, 0, ChunkFormat::Packed { bits: 2 });
                backend.check_memory(OPERATION, least.smallest_step_bytes)?;
                Engine::Gpu(Box::new(GpuStream::new(device, &plan, inputs)?))
            }
        };
        let (backend, progress, tunings) = (backend.clone(), Progress::new(inputs), Tunings::new(plan.clone()));
        Ok(Self { backend, plan, tunings, retuned_at: 0, progress, engine, sums: None })
    }
}

impl<T: DownConvertedSample> DownConverterStream<T> {
    /// The same stream with outputs of another type from now on: `stream.with_output::<Complex<i8>>()`. What came
    /// before stays as it is, statistics too.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`] with what the driver says.
    pub fn with_output<U: DownConvertedSample>(self) -> Result<DownConverterStream<U>, ChannelizerError> {
        let Self { backend, plan, tunings, retuned_at, progress, engine, mut sums } = self;
        let engine = match engine {
            Engine::Cpu(engine) => Engine::Cpu(engine),
            Engine::Gpu(mut engine) => {
                // What the device has summed up of floats is no sum of integers.
                if let Some(sums) = &mut sums {
                    engine.take_sums(sums)?;
                }
                Engine::Gpu(Box::new(engine.with_output::<U>(&tunings)?))
            }
        };
        Ok(DownConverterStream { backend, plan, tunings, retuned_at, progress, engine, sums })
    }

    /// Counts samples and outputs from now on, for [`DownConverterStream::take_statistics`].
    ///
    /// On the CPU that is a pass over the samples and the outputs in the cache or out of it; on a GPU a kernel reads
    /// both once more. Nothing waits for it.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`] with what the driver says.
    pub fn with_statistics(mut self) -> Result<Self, ChannelizerError> {
        if let Engine::Gpu(engine) = &mut self.engine {
            engine.keep_sums(self.progress.inputs())?;
        }
        self.sums.get_or_insert_with(|| vec![Sums::default(); self.progress.inputs().len()]);
        Ok(self)
    }

    /// Statistics of each input since the last call, or since they were switched on; those on a GPU are waited for.
    ///
    /// # Precision
    /// Counts are exact. Sums of the squares of integers, samples and outputs, are exact and rounded once, as long as
    /// there are less than 2^42 samples between calls; they are the same bits on every backend, and however a stream is
    /// cut. Those of floats are sums in f64, in an order that depends on chunks and the backend: within
    /// `(samples + 1) 2^-53` of the sum.
    ///
    /// # Errors
    /// [`ChannelizerError::NoStatistics`] without [`DownConverterStream::with_statistics`], [`DeviceError::Gpu`] with
    /// what the driver says.
    pub fn take_statistics(&mut self) -> Result<Vec<DownConverterStatistics>, ChannelizerError> {
        let sums = self.sums.as_mut().ok_or(ChannelizerError::NoStatistics)?;
        if let Engine::Gpu(engine) = &mut self.engine {
            engine.take_sums(sums)?;
        }
        Ok(sums.iter_mut().map(|sums| std::mem::take(sums).statistics()).collect())
    }

    /// Moves the centre at an absolute sample: outputs whose windows begin at or after `at_sample` have the new one.
    /// The mixer's phase is continuous there, `phi(n) = phi(at_sample) - c' (n - at_sample)` turns for a centre `c'`,
    /// in 2^-64 turns exactly, for ever. Retunes may be queued ahead, in the order of their samples; of several at one
    /// sample the last one counts.
    ///
    /// The centre becomes the nearest multiple of 2^-64, as that of a plan. On a GPU its weights are computed here and
    /// queued to be copied: up to eight retunes wait for nothing.
    ///
    /// # Errors
    /// [`ChannelizerError::Centre`] for a centre outside -1..=1, [`ChannelizerError::RetuneTooLate`] if an output that
    /// begins at or after the sample is made, [`ChannelizerError::RetuneOrder`] for a sample before that of the last
    /// retune, [`DeviceError::Gpu`] with what the driver says.
    pub fn retune(&mut self, at_sample: u64, centre_cycles_per_sample: f64) -> Result<(), ChannelizerError> {
        let tuned = self.tunings.last().retuned(at_sample, centre_cycles_per_sample)?;
        if at_sample < self.retuned_at {
            return Err(ChannelizerError::RetuneOrder { last: self.retuned_at, actual: at_sample });
        }
        let decimation = self.plan.decimation as u64;
        let first_output = at_sample.div_ceil(decimation);
        if let Some(last) = self.progress.last_output().filter(|&last| first_output <= last) {
            return Err(ChannelizerError::RetuneTooLate { made: last * decimation, actual: at_sample });
        }
        if let Engine::Gpu(engine) = &mut self.engine {
            engine.retune(&self.plan, first_output, &tuned)?;
        }
        self.tunings.push(first_output, tuned);
        self.retuned_at = at_sample;
        Ok(())
    }

    /// Frequency that lands on DC in the next output, in cycles per sample: that of the plan, or of the last retune
    /// that counts by then.
    pub fn centre_cycles_per_sample(&self) -> f64 {
        let tuning = self.progress.next_output().map_or(self.tunings.now(), |next| self.tunings.of(next));
        tuning.centre_cycles_per_sample
    }

    /// Queues all work of a GPU on a stream of the caller's, in place of one of its own.
    ///
    /// # Errors
    /// [`DeviceError::NotOnGpu`] if the down-converter runs on the CPU, [`DeviceError::WrongDevice`] for another
    /// device's stream.
    pub fn on(mut self, stream: &Stream) -> Result<Self, ChannelizerError> {
        self.gpu()?;
        if let Engine::Gpu(engine) = &mut self.engine {
            engine.set_stream(stream, &self.tunings)?;
        }
        Ok(self)
    }

    /// The stream that work of a GPU is queued on; `None` on the CPU.
    pub fn stream(&self) -> Option<&Stream> {
        match &self.engine {
            Engine::Cpu(_) => None,
            Engine::Gpu(engine) => Some(engine.stream()),
        }
    }

    /// The plan as it was given, whatever retunes came.
    pub fn plan(&self) -> &DownConverter {
        &self.plan
    }

    /// Inputs of the stream.
    pub fn inputs(&self) -> Inputs {
        self.progress.inputs()
    }

    /// Sample counter that the next chunk starts at if nothing is lost; `None` before the first chunk.
    pub fn expected_sample(&self) -> Option<u64> {
        self.progress.expected_sample()
    }

    /// Stamp of the next output: its number, counted in outputs from sample 0 of the run, as `first_sample` of the
    /// results; `None` before the first chunk.
    pub fn next_stamp(&self) -> Option<u64> {
        self.progress.next_output()
    }

    /// Bytes that are allocated for samples of coming outputs, on the device if the down-converter runs there: on the
    /// CPU all of the stream's memory between chunks.
    pub fn held_bytes(&self) -> u64 {
        match &self.engine {
            Engine::Cpu(engine) => engine.held_bytes(),
            Engine::Gpu(engine) => engine.held_bytes(),
        }
    }

    /// Memory that the stream takes with chunks of `times` samples of type `S` of each input, where it runs.
    ///
    /// The workspace includes what is held between chunks, at most. On the CPU that of the conversion is for samples
    /// that are not contiguous `f32` values; on a GPU it is memory of the device, samples and outputs have their place
    /// there as well, and a chunk is one step; packed samples need no more than those of a type that holds them. A
    /// limit of `smallest_step_bytes` is enough for the whole stream. What statistics take and the weights of retunes
    /// that are queued are not in it: some hundred KiB, and of each retune as much as of the plan.
    pub fn memory<S: Sample>(&self, times: usize) -> MemoryNeed {
        match &self.engine {
            Engine::Cpu(_) => cpu::stream_need::<S, T>(&self.plan, self.inputs().len(), times),
            Engine::Gpu(_) => {
                let format = ChunkFormat::Typed { format: S::FORMAT, complex: S::COMPLEX };
                gpu::stream_need::<T>(&self.plan, self.inputs(), times, format)
            }
        }
    }

    /// Forgets all samples, retunes and statistics: the next chunk begins the stream anew, with any sample counter,
    /// type and rate, at the plan's centre.
    pub fn reset(&mut self) {
        self.progress.reset();
        (self.tunings, self.retuned_at) = (Tunings::new(self.plan.clone()), 0);
        if let Some(sums) = &mut self.sums {
            sums.fill(Sums::default());
        }
        match &mut self.engine {
            Engine::Cpu(engine) => *engine = CpuStream::new(self.progress.inputs()),
            Engine::Gpu(engine) => engine.reset(),
        }
    }

    /// Takes a chunk and gives the outputs that are complete with it, where it lies, in pieces of one centre each: one
    /// piece, none if no output is complete, and one more for each retune that counts from an output among them. On the
    /// CPU packed samples are unpacked to 16 bits first, which counts as workspace.
    ///
    /// A chunk in host memory goes to a GPU through pinned memory, and outputs are waited for. Of a chunk in device
    /// memory everything is queued on the down-converter's stream ([`DownConverterStream::on`]), and nothing waits: the
    /// chunk must stay as it is until the stream has come there, which a
    /// [`DeviceArray`](fringes_backend::DeviceArray) takes care of that owns its memory.
    ///
    /// # Precision
    /// As [`crate::down_convert`].
    ///
    /// # Errors
    /// [`ChannelizerError::Inputs`], [`ChannelizerError::SampleKind`], [`ChannelizerError::Axis`] if format, rate or
    /// centre changed, [`ChannelizerError::Counter`], [`ChannelizerError::OutOfOrder`] for a chunk that starts before
    /// the end of the last one, [`DeviceError::MemoryLimit`],
    /// [`TypesError::TooLarge`](fringes_types::TypesError::TooLarge); [`DeviceError::NotOnGpu`] for a chunk in device
    /// memory if the down-converter runs on the CPU, [`DeviceError::WrongDevice`] if it runs on another device;
    /// [`DeviceError::Gpu`] with what the driver says: the stream is to be [reset](DownConverterStream::reset) then.
    #[allow(clippy::type_complexity, reason = "what comes out in either memory, told in the signature")]
    pub fn push<C: SampleInput + ?Sized>(
        &mut self,
        chunk: &C,
    ) -> Result<C::Output<Vec<Samples<T>>, Vec<DeviceSamples<'static>>>, ChannelizerError> {
        chunk.give_to(Push(self))
    }

    /// What a chunk would give. Changes nothing.
    ///
    /// # Errors
    /// As of [`DownConverterStream::push`], those of axes and counters.
    #[doc(hidden)]
    pub fn preview(&self, chunk: &ChunkAxes<'_>) -> Result<Option<Preview>, ChannelizerError> {
        let step = self.progress.step(&self.plan, chunk)?.filter(|step| step.outputs > 0);
        let Some(step) = step else { return Ok(None) };
        let inputs = self.inputs();
        let Axes { sample_rate_hz, centre_hz, presence } = Axes::new(&step, &self.plan, inputs)?;
        let (first_output, outputs) = (step.first_output, step.outputs);
        Ok(Some(Preview { inputs, first_output, outputs, sample_rate_hz, centre_hz, presence }))
    }

    /// Sets the limit of the backend's memory for chunks that come.
    #[doc(hidden)]
    pub fn set_memory_limit(&mut self, bytes: u64) {
        self.backend = self.backend.clone().with_memory_limit(bytes);
    }

    /// Memory that a stream takes with chunks of `times` samples of a format of each input, before it is made.
    #[doc(hidden)]
    pub fn need(plan: &DownConverter, inputs: Inputs, on_gpu: bool, times: usize, format: ChunkFormat) -> MemoryNeed {
        if on_gpu {
            return gpu::stream_need::<T>(plan, inputs, times, format);
        }
        let need = if format.is_complex() {
            cpu::stream_need::<Complex<f32>, T>(plan, inputs.len(), times)
        } else {
            cpu::stream_need::<f32, T>(plan, inputs.len(), times)
        };
        let all = (times as u64).saturating_mul(inputs.len() as u64);
        // Packed samples are unpacked to 16 bits.
        let unpacked = if matches!(format, ChunkFormat::Packed { .. }) { all.saturating_mul(2) } else { 0 };
        let row = (times as u64).saturating_mul(format.sample_bits().into()).div_ceil(8);
        MemoryNeed {
            input_bytes: row.saturating_mul(inputs.len() as u64),
            workspace_bytes: need.workspace_bytes.saturating_add(unpacked),
            smallest_step_bytes: need.smallest_step_bytes.saturating_add(unpacked),
            ..need
        }
    }

    /// The engine of a GPU.
    fn gpu(&mut self) -> Result<&mut GpuStream<T>, ChannelizerError> {
        match &mut self.engine {
            Engine::Gpu(engine) => Ok(engine),
            Engine::Cpu(_) => {
                let (operation, backend) = ("down_convert of samples in device memory".into(), self.backend.name());
                Err(DeviceError::NotOnGpu { operation, backend }.into())
            }
        }
    }

    /// Takes a chunk in host memory.
    fn take(&mut self, chunk: &dyn SampleChunk) -> Result<Vec<Samples<T>>, ChannelizerError> {
        let Self { backend, plan, tunings, progress, engine, sums, .. } = self;
        let inputs = progress.inputs();
        let outputs = match engine {
            Engine::Cpu(engine) => {
                let setting = Setting { backend, plan, tunings, inputs, hold: true, sums: sums.is_some() };
                let Taken { outputs, sums: more, .. } = engine.take(setting, progress, chunk)?;
                add(sums, more);
                outputs
            }
            Engine::Gpu(engine) => {
                let axes = ChunkAxes::of(chunk);
                let Some(step) = progress.step(plan, &axes)? else { return Ok(Vec::new()) };
                check_memory::<T>(backend, plan, &axes)?;
                let pieces = pieces(tunings, &step);
                let samples = engine.upload(chunk)?;
                let rows = queue(engine, plan, &step, &pieces, &samples)?;
                let read = |(rows, piece): (_, &Piece<'_>)| engine.read(rows, piece, inputs);
                let outputs = rows.into_iter().zip(&pieces).map(read).collect::<Result<_, _>>()?;
                finish(progress, step, engine, sums, &pieces);
                outputs
            }
        };
        self.pass();
        Ok(outputs)
    }

    /// Takes a chunk in device memory.
    fn take_on_device(&mut self, samples: &DeviceSamples<'_>) -> Result<Vec<DeviceSamples<'static>>, ChannelizerError> {
        self.gpu()?.check(samples)?;
        let Self { backend, plan, tunings, progress, engine: Engine::Gpu(engine), sums, .. } = self else {
            return Ok(Vec::new());
        };
        let axes = chunk::axes(samples);
        let Some(step) = progress.step(plan, &axes)? else { return Ok(Vec::new()) };
        check_memory::<T>(backend, plan, &axes)?;
        let pieces = pieces(tunings, &step);
        let rows = queue(engine, plan, &step, &pieces, samples)?;
        let finished =
            rows.into_iter().zip(&pieces).map(|(rows, piece)| rows.finish(&piece.step, piece.plan, engine.stream()));
        let outputs = finished.collect::<Result<_, _>>()?;
        finish(progress, step, engine, sums, &pieces);
        self.pass();
        Ok(outputs)
    }

    /// Forgets tunings that no coming output has.
    fn pass(&mut self) {
        if let Some(next) = self.progress.next_output() {
            self.tunings.pass(next);
            if let Engine::Gpu(engine) = &mut self.engine {
                engine.pass(next);
            }
        }
    }
}

/// Adds what a chunk summed up to statistics, if there are any.
fn add(sums: &mut Option<Vec<Sums>>, more: Vec<Sums>) {
    if let Some(sums) = sums {
        sums.iter_mut().zip(more).for_each(|(sums, more)| sums.add(more));
    }
}

/// The outputs of a step, cut where the centre changes.
fn pieces<'a>(tunings: &'a Tunings<DownConverter>, step: &Step) -> Vec<Piece<'a>> {
    let cut = tunings.cut(step.first_output..step.end_output()).into_iter();
    cut.map(|(outputs, plan)| Piece { step: step.part(&outputs), plan }).collect()
}

/// Takes what a GPU was given: what the host knows of it.
fn finish<T: DownConvertedSample>(
    progress: &mut Progress,
    step: Step,
    engine: &GpuStream<T>,
    sums: &mut Option<Vec<Sums>>,
    pieces: &[Piece<'_>],
) {
    if sums.is_some() {
        add(sums, engine.counts(progress.inputs(), &step, pieces));
    }
    progress.commit(step);
}

/// `Ok` if the backend's limit holds what a chunk needs on a GPU.
fn check_memory<T: DownConvertedSample>(
    backend: &Backend,
    plan: &DownConverter,
    chunk: &ChunkAxes<'_>,
) -> Result<(), ChannelizerError> {
    let need = gpu::stream_need::<T>(plan, chunk.inputs, chunk.times, chunk.format);
    Ok(backend.check_memory(OPERATION, need.smallest_step_bytes)?)
}

/// Queues what a chunk completes.
fn queue<T: DownConvertedSample>(
    engine: &mut GpuStream<T>,
    plan: &DownConverter,
    step: &Step,
    pieces: &[Piece<'_>],
    samples: &DeviceSamples<'_>,
) -> Result<Vec<DeviceRows<T>>, ChannelizerError> {
    let (first_sample, times) = (step.first_sample, step.times);
    let _span = tracing::debug_span!("down-convert chunk", first_sample, times).entered();
    engine.run(plan, step, pieces, samples)
}
