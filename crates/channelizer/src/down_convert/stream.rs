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

use super::cpu::{self, CpuStream, Setting};
use super::gpu::{self, GpuStream};
use super::output::{Axes, DeviceRows};
use super::progress::{Progress, Step};
use super::{DownConverter, OPERATION};
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
/// # Missing data
/// An output is marked absent for an input if a sample that it is made of is; it is 0. If a chunk starts after the end
/// of the one before it, no output is made across the gap: the stream begins anew with that chunk, still on the run's
/// grid of outputs, and the `first_sample` of the result says where.
///
/// # On a GPU
/// Samples go there as they are, and those that coming outputs need stay there. Outputs of chunks in device memory stay
/// there as well, as complex samples that a [`ChannelizerStream`](crate::ChannelizerStream) or an F-engine takes.
///
/// # Errors
/// Every method leaves the stream as it was when it fails, but for failures of a GPU's driver.
#[derive(Debug)]
pub struct DownConverterStream {
    backend: Backend,
    plan: DownConverter,
    progress: Progress,
    engine: Engine,
}

/// What computes the outputs, with what it holds between chunks.
#[derive(Debug)]
enum Engine {
    Cpu(CpuStream),
    Gpu(Box<GpuStream>),
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
struct Push<'a>(&'a mut DownConverterStream);

impl SampleOperation for Push<'_> {
    type Host = Option<Samples<Complex<f32>>>;
    type Device = Option<DeviceSamples<'static>>;
    type Error = ChannelizerError;

    fn on_host(self, chunk: &dyn SampleChunk) -> Result<Self::Host, ChannelizerError> {
        self.0.take(chunk)
    }

    fn on_device(self, samples: &DeviceSamples<'_>) -> Result<Self::Device, ChannelizerError> {
        self.0.take_on_device(samples)
    }
}

impl DownConverterStream {
    /// A stream of the given inputs.
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
                let least = gpu::stream_need(&plan, inputs, 0, ChunkFormat::Packed { bits: 2 });
                backend.check_memory(OPERATION, least.smallest_step_bytes)?;
                Engine::Gpu(Box::new(GpuStream::new(device, &plan, inputs)?))
            }
        };
        Ok(Self { backend: backend.clone(), plan, progress: Progress::new(inputs), engine })
    }

    /// Queues all work of a GPU on a stream of the caller's, in place of one of its own.
    ///
    /// # Errors
    /// [`DeviceError::NotOnGpu`] if the down-converter runs on the CPU, [`DeviceError::WrongDevice`] for another
    /// device's stream.
    pub fn on(mut self, stream: &Stream) -> Result<Self, ChannelizerError> {
        self.gpu()?.set_stream(stream)?;
        Ok(self)
    }

    /// The stream that work of a GPU is queued on; `None` on the CPU.
    pub fn stream(&self) -> Option<&Stream> {
        match &self.engine {
            Engine::Cpu(_) => None,
            Engine::Gpu(engine) => Some(engine.stream()),
        }
    }

    /// The plan.
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
    /// limit of `smallest_step_bytes` is enough for the whole stream.
    pub fn memory<S: Sample>(&self, times: usize) -> MemoryNeed {
        match &self.engine {
            Engine::Cpu(_) => cpu::stream_need::<S>(&self.plan, self.inputs().len(), times),
            Engine::Gpu(_) => {
                let format = ChunkFormat::Typed { format: S::FORMAT, complex: S::COMPLEX };
                gpu::stream_need(&self.plan, self.inputs(), times, format)
            }
        }
    }

    /// Forgets all samples: the next chunk begins the stream anew, with any sample counter, type and rate.
    pub fn reset(&mut self) {
        self.progress.reset();
        match &mut self.engine {
            Engine::Cpu(engine) => *engine = CpuStream::new(self.progress.inputs()),
            Engine::Gpu(engine) => engine.reset(),
        }
    }

    /// Takes a chunk and gives the outputs that are complete with it, where it lies; `None` if there are none. On the
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
    ) -> Result<C::Output<Option<Samples<Complex<f32>>>, Option<DeviceSamples<'static>>>, ChannelizerError> {
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
            return gpu::stream_need(plan, inputs, times, format);
        }
        let need = if format.is_complex() {
            cpu::stream_need::<Complex<f32>>(plan, inputs.len(), times)
        } else {
            cpu::stream_need::<f32>(plan, inputs.len(), times)
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
    fn gpu(&mut self) -> Result<&mut GpuStream, ChannelizerError> {
        match &mut self.engine {
            Engine::Gpu(engine) => Ok(engine),
            Engine::Cpu(_) => {
                let (operation, backend) = ("down_convert of samples in device memory".into(), self.backend.name());
                Err(DeviceError::NotOnGpu { operation, backend }.into())
            }
        }
    }

    /// Takes a chunk in host memory.
    fn take(&mut self, chunk: &dyn SampleChunk) -> Result<Option<Samples<Complex<f32>>>, ChannelizerError> {
        let Self { backend, plan, progress, engine } = self;
        let inputs = progress.inputs();
        match engine {
            Engine::Cpu(engine) => engine.take(Setting { backend, plan, inputs }, progress, chunk, true),
            Engine::Gpu(engine) => {
                let axes = ChunkAxes::of(chunk);
                let Some(step) = progress.step(plan, &axes)? else { return Ok(None) };
                check_memory(backend, plan, &axes)?;
                let samples = engine.upload(chunk)?;
                let rows = queue(engine, plan, &step, &samples)?;
                let output = rows.map(|rows| engine.read(rows, &step, plan, inputs)).transpose()?;
                progress.commit(step);
                Ok(output)
            }
        }
    }

    /// Takes a chunk in device memory.
    fn take_on_device(
        &mut self,
        samples: &DeviceSamples<'_>,
    ) -> Result<Option<DeviceSamples<'static>>, ChannelizerError> {
        self.gpu()?.check(samples)?;
        let Self { backend, plan, progress, engine: Engine::Gpu(engine) } = self else { return Ok(None) };
        let axes = chunk::axes(samples);
        let Some(step) = progress.step(plan, &axes)? else { return Ok(None) };
        check_memory(backend, plan, &axes)?;
        let rows = queue(engine, plan, &step, samples)?;
        let output = rows.map(|rows| rows.finish(&step, plan, engine.stream())).transpose()?;
        progress.commit(step);
        Ok(output)
    }
}

/// `Ok` if the backend's limit holds what a chunk needs on a GPU.
fn check_memory(backend: &Backend, plan: &DownConverter, chunk: &ChunkAxes<'_>) -> Result<(), ChannelizerError> {
    let need = gpu::stream_need(plan, chunk.inputs, chunk.times, chunk.format);
    Ok(backend.check_memory(OPERATION, need.smallest_step_bytes)?)
}

/// Queues what a chunk completes.
fn queue(
    engine: &mut GpuStream,
    plan: &DownConverter,
    step: &Step,
    samples: &DeviceSamples<'_>,
) -> Result<Option<DeviceRows>, ChannelizerError> {
    let (first_sample, times) = (step.first_sample, step.times);
    let _span = tracing::debug_span!("down-convert chunk", first_sample, times).entered();
    engine.run(plan, step, samples)
}
