//! The channelizer on an endless stream of chunks, with delays.

use fringes_backend::{Backend, DeviceArray, DeviceError, DeviceSamples, DeviceVoltages, MemoryNeed, ToHost};
use fringes_cpu::pfb::Split;
use fringes_delay_model::DelayModel;
use fringes_gpu::Stream;
use fringes_types::{ChunkFormat, Complex, Inputs, SampleChunk, SpectrumClock, Voltages};

use crate::channelize::finish;
use crate::channelizer::new_output;
use crate::held::{Held, HeldAndChunk, Room, history_bytes};
use crate::internals::chunk;
use crate::sample_input::{SampleInput, SampleOperation};
use crate::spectra::voltages::{GpuStream, device_for};
use crate::timeline::{Advance, ChunkAxes, Timeline};
use crate::{Channelizer, ChannelizerError};

/// Name of the operation.
const OPERATION: &str = "channelize";

/// A channelizer that takes a stream chunk by chunk and gives the spectra that are complete.
///
/// Output spectra are stamped with multiples of the plan's stride on the absolute sample counter, beginning with the
/// first whose samples exist for every input. The spectrum stamped `t` of an input with delay `d` is that of
/// [`Channelizer`] with the window starting at sample `t - rint(d(t))`, its phase still referred to `t`, turned by
/// [`DelayValue::channel_phase_turns`](fringes_delay_model::DelayValue::channel_phase_turns): the spectrum of the
/// delayed signal, referred to the middle of the band. Without delays it is [`crate::channelize()`] of the whole stream
/// (from a multiple of the stride on); chunks of any size give the same bits, but for phases on a GPU,
/// as of the F-engine.
///
/// # Missing data
/// A spectrum is flagged absent for an input if a sample of its window is flagged missing, or lies before the first
/// sample of the stream. If a chunk starts after the end of the one before it, no spectrum is made across the gap: the
/// stream begins anew with that chunk, and the clock of the voltages returned says where.
///
/// # Memory
/// Between chunks a stream holds what coming windows need, as f32 on the CPU and as they came on a GPU: of each input a
/// window, a stride, the growth, and as much as its delay may be larger than the smallest one
/// ([`ChannelizerStream::with_delay_limits`]). [`ChannelizerStream::memory`] says what that is at most; a backend's
/// limit that holds it holds the whole stream. It is checked with the first chunk.
///
/// # On a GPU
/// The spectra are those of the F-engine, of the same kernels and plans; [`Backend::auto`] takes
/// the CPU for other plans, at the latest when the first chunk shows the samples' format. Samples go there as they are,
/// and those that coming windows need stay there. Voltages of chunks in device memory stay there as well.
///
/// # Errors
/// Every method leaves the stream as it was when it fails, but for failures of a GPU's driver.
#[derive(Debug)]
pub struct ChannelizerStream {
    backend: Backend,
    timeline: Timeline,
    engine: Engine,
}

/// What computes the spectra, with what it holds between chunks.
#[derive(Debug)]
enum Engine {
    /// What is held of each input.
    Cpu(Vec<Held>),
    Gpu(Box<GpuStream>),
}

impl ChannelizerStream {
    /// A stream of the given inputs, without delays.
    ///
    /// # Errors
    /// [`DeviceError::MemoryLimit`] if the backend's limit does not hold the workspace of one spectrum; what the stream
    /// holds is known with its first chunk. [`DeviceError::NoKernel`] if the backend is a GPU and has no kernel for the
    /// plan; [`DeviceError::Gpu`] with what the driver says.
    pub fn new(backend: &Backend, plan: Channelizer, inputs: Inputs) -> Result<Self, ChannelizerError> {
        let alignment = plan.stride() as u64;
        let timeline = Timeline::new(plan, inputs, alignment);
        let engine = match device_for(backend, &timeline.plan, None)? {
            None => on_the_cpu(backend, &timeline)?,
            Some(device) => {
                backend.check_memory(OPERATION, GpuStream::least_memory(&timeline))?;
                Engine::Gpu(Box::new(GpuStream::new(device, &timeline)?))
            }
        };
        Ok(Self { backend: backend.clone(), timeline, engine })
    }

    /// Queues all work of a GPU on a stream of the caller's, in place of one of its own.
    ///
    /// # Errors
    /// [`DeviceError::NotOnGpu`] if the channelizer runs on the CPU, [`DeviceError::WrongDevice`] for another device's
    /// stream.
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

    /// Sets the delay models, one an input.
    ///
    /// # Errors
    /// [`TypesError::Dimension`](fringes_types::TypesError::Dimension) for another number of models.
    pub fn with_delays(mut self, delays: Vec<DelayModel>) -> Result<Self, ChannelizerError> {
        self.timeline.set_delays(delays)?;
        Ok(self)
    }

    /// Sets the largest coarse delay, either way, and by how much the start of a window may fall behind the latest one,
    /// both in samples. They bound what an input holds: a window, a stride, twice the first and once the second.
    ///
    /// The defaults are 2^24 and 2^16. Models whose delay grows by less than a sample a sample never fall behind; the
    /// second number is for steps of the delay at an update. As long as this was not called, delays that do not change
    /// count as they are in [`ChannelizerStream::memory`], and not as twice the largest.
    pub fn with_delay_limits(mut self, max_delay_samples: u64, max_growth_samples: u64) -> Self {
        self.timeline.set_delay_limits(max_delay_samples, max_growth_samples);
        self
    }

    /// The plan.
    pub fn plan(&self) -> &Channelizer {
        &self.timeline.plan
    }

    /// Inputs of the stream.
    pub fn inputs(&self) -> Inputs {
        self.timeline.inputs
    }

    /// The delay models, one an input.
    pub fn delays(&self) -> &[DelayModel] {
        &self.timeline.delays
    }

    /// The delay models, to queue updates. Segments that no coming spectrum needs are discarded by
    /// [`ChannelizerStream::push`].
    pub fn delays_mut(&mut self) -> &mut [DelayModel] {
        &mut self.timeline.delays
    }

    /// Sample counter that the next chunk starts at if nothing is lost; `None` before the first chunk.
    pub fn expected_sample(&self) -> Option<u64> {
        self.timeline.expected_sample()
    }

    /// Stamp of the next spectrum; `None` before the first chunk.
    pub fn next_stamp(&self) -> Option<u64> {
        self.timeline.next_stamp()
    }

    /// Memory that the stream takes with chunks of `times` samples of each input, where it runs.
    ///
    /// The workspace includes what is held between chunks, at most: by the delays and limits of now. On the CPU input
    /// and output are the caller's; on a GPU the workspace is memory of the device, samples and voltages have their
    /// place there as well, and a chunk is one step. A limit of `smallest_step_bytes` is enough for the whole stream.
    pub fn memory(&self, times: usize, format: ChunkFormat) -> MemoryNeed {
        let (timeline, inputs) = (&self.timeline, self.timeline.inputs.len());
        if let Engine::Gpu(_) = &self.engine {
            return GpuStream::memory(timeline, times, format);
        }
        let plan = &timeline.plan;
        let (history, moving) = history_bytes(timeline);
        let spectra = times.div_ceil(plan.stride());
        let split = Split::choose(plan.pfb(), spectra.max(1), inputs, None);
        let with = |workspace: u64| history.saturating_add(workspace.max(moving));
        MemoryNeed {
            workspace_bytes: with(split.bytes(plan.pfb())),
            smallest_step_bytes: with(Split::smallest_bytes(plan.pfb())),
            ..plan.arrays(inputs, times, spectra, format)
        }
    }

    /// Bytes that are allocated for samples of coming spectra, on the device if the channelizer runs there: on the CPU
    /// all of the stream's memory between chunks.
    pub fn held_bytes(&self) -> u64 {
        match &self.engine {
            Engine::Cpu(held) => held.iter().map(Held::bytes).sum(),
            Engine::Gpu(engine) => engine.held_bytes(),
        }
    }

    /// Forgets all samples: the next chunk begins the stream anew, with any sample counter, format, rate and centre
    /// frequency.
    pub fn reset(&mut self) {
        self.timeline.reset();
        match &mut self.engine {
            Engine::Cpu(held) => held.fill(Held::default()),
            Engine::Gpu(engine) => engine.reset(),
        }
    }

    /// Takes a chunk and gives the spectra that are complete with it, where it lies; `None` if there are none.
    ///
    /// A chunk in host memory goes to a GPU through pinned memory, and voltages are waited for. Of a chunk in device
    /// memory everything is queued on the channelizer's stream ([`ChannelizerStream::on`]), and nothing waits: the
    /// chunk must stay as it is until the stream has come there, which a [`DeviceArray`] takes care of that owns its
    /// memory.
    ///
    /// On a GPU, spectra that are absent are 0.
    ///
    /// # Precision
    /// As [`crate::channelize()`]; where a spectrum is turned, on the CPU `(2 + 2 sqrt 5) 2^-24` of its 2-norm is
    /// added.
    ///
    /// # Errors
    /// [`ChannelizerError::Inputs`], [`ChannelizerError::SampleKind`], [`ChannelizerError::Axis`] if format, rate or
    /// centre changed, [`ChannelizerError::Counter`], [`ChannelizerError::OutOfOrder`] for a chunk that starts before
    /// the end of the last one, [`ChannelizerError::DelayTooLarge`], [`ChannelizerError::DelayJump`],
    /// [`DeviceError::MemoryLimit`], [`TypesError::TooLarge`](fringes_types::TypesError::TooLarge);
    /// [`DeviceError::NotOnGpu`] for a chunk in device memory if the channelizer runs on the CPU,
    /// [`DeviceError::WrongDevice`] if it runs on another device; [`DeviceError::Gpu`] with what the driver says: the
    /// stream is to be [reset](ChannelizerStream::reset) then.
    #[allow(clippy::type_complexity, reason = "what comes out in either memory, told in the signature")]
    pub fn push<C: SampleInput + ?Sized>(
        &mut self,
        chunk: &C,
    ) -> Result<
        C::Output<Option<Voltages<Complex<f32>>>, Option<DeviceVoltages<'static, Complex<f32>>>>,
        ChannelizerError,
    > {
        chunk.give_to(Push(self))
    }

    /// The engine of a GPU.
    fn gpu(&mut self) -> Result<&mut GpuStream, ChannelizerError> {
        match &mut self.engine {
            Engine::Gpu(engine) => Ok(engine),
            Engine::Cpu(_) => {
                let (operation, backend) = ("channelize of samples in device memory".into(), self.backend.name());
                Err(DeviceError::NotOnGpu { operation, backend }.into())
            }
        }
    }

    /// Leaves the GPU at the start of a stream whose format has no kernel there, where the backend may.
    fn settle(&mut self, format: ChunkFormat) -> Result<(), ChannelizerError> {
        let (Engine::Gpu(_), None) = (&self.engine, self.timeline.axes()) else { return Ok(()) };
        // Samples of another kind are refused as such.
        if self.timeline.plan.check_kind(format.is_complex()).is_err() {
            return Ok(());
        }
        if device_for(&self.backend, &self.timeline.plan, Some(format))?.is_none() {
            self.engine = on_the_cpu(&self.backend, &self.timeline)?;
        }
        Ok(())
    }

    /// Takes a chunk in host memory.
    fn take(&mut self, chunk: &dyn SampleChunk) -> Result<Option<Voltages<Complex<f32>>>, ChannelizerError> {
        self.settle(chunk.format())?;
        let Some(advance) = self.timeline.advance(&ChunkAxes::of(chunk))? else { return Ok(None) };
        let span = tracing::debug_span!("channelize chunk", first_sample = chunk.first_sample(), times = chunk.times());
        let _guard = span.enter();
        if self.expected_sample().is_none() {
            let need = self.memory(chunk.times(), chunk.format());
            self.backend.check_memory(OPERATION, need.smallest_step_bytes)?;
        }
        match &mut self.engine {
            Engine::Gpu(engine) => {
                let samples = engine.upload(chunk)?;
                let voltages = self.queue(&samples, advance)?;
                Ok(voltages.as_ref().map(ToHost::to_host).transpose()?)
            }
            Engine::Cpu(held) => {
                let room = Room::new(held, &self.timeline, &advance);
                let smallest = Split::smallest_bytes(self.timeline.plan.pfb());
                let left = room.check(&self.backend, OPERATION, 0, smallest)?;
                room.take(held)?;
                let output = spectra(&self.timeline, held, chunk, &advance, left)?;
                // Nothing fails from here on.
                for (input, held) in held.iter_mut().enumerate() {
                    if advance.anew {
                        held.clear();
                    }
                    held.take(chunk, input, advance.keep[input]);
                }
                self.timeline.commit(advance);
                Ok(output)
            }
        }
    }

    /// Takes a chunk in device memory.
    fn take_on_device(
        &mut self,
        samples: &DeviceSamples<'_>,
    ) -> Result<Option<DeviceVoltages<'static, Complex<f32>>>, ChannelizerError> {
        self.gpu()?.check(samples)?;
        match self.timeline.advance(&chunk::axes(samples))? {
            None => Ok(None),
            Some(advance) => self.queue(samples, advance),
        }
    }

    /// Queues what a chunk in device memory completes, and takes the chunk in.
    fn queue(
        &mut self,
        samples: &DeviceSamples<'_>,
        advance: Advance,
    ) -> Result<Option<DeviceVoltages<'static, Complex<f32>>>, ChannelizerError> {
        let need = self.memory(samples.times(), samples.format());
        self.backend.check_memory(OPERATION, need.smallest_step_bytes)?;
        let Self { timeline, engine: Engine::Gpu(engine), .. } = self else { return Ok(None) };
        let values = engine.run(timeline, &advance, samples)?;
        let (channels, spectra, inputs) = (timeline.plan.channels(), advance.spectra, timeline.inputs);
        let voltages = match values {
            None => None,
            Some(values) => {
                let array = DeviceArray::from(values).written_on(engine.stream());
                Some(with_axes(timeline, &advance, Voltages::from_array(array, channels, spectra, inputs)?)?)
            }
        };
        timeline.commit(advance);
        Ok(voltages)
    }
}

/// [`ChannelizerStream::push`].
struct Push<'a>(&'a mut ChannelizerStream);

impl SampleOperation for Push<'_> {
    type Host = Option<Voltages<Complex<f32>>>;
    type Device = Option<DeviceVoltages<'static, Complex<f32>>>;
    type Error = ChannelizerError;

    fn on_host(self, chunk: &dyn SampleChunk) -> Result<Self::Host, ChannelizerError> {
        self.0.take(chunk)
    }

    fn on_device(self, samples: &DeviceSamples<'_>) -> Result<Self::Device, ChannelizerError> {
        self.0.take_on_device(samples)
    }
}

/// A stream's engine on the CPU, if a limit holds one spectrum.
fn on_the_cpu(backend: &Backend, timeline: &Timeline) -> Result<Engine, ChannelizerError> {
    backend.check_memory(OPERATION, Split::smallest_bytes(timeline.plan.pfb()))?;
    Ok(Engine::Cpu(vec![Held::default(); timeline.inputs.len()]))
}

/// Computes the spectra that a chunk completes on the CPU, with `limit` bytes of workspace.
fn spectra(
    timeline: &Timeline,
    held: &[Held],
    chunk: &dyn SampleChunk,
    advance: &Advance,
    limit: Option<u64>,
) -> Result<Option<Voltages<Complex<f32>>>, ChannelizerError> {
    let (plan, inputs, spectra) = (&timeline.plan, timeline.inputs.len(), advance.spectra);
    if spectra == 0 {
        return Ok(None);
    }
    let split = Split::choose(plan.pfb(), spectra, inputs, limit);
    let source = HeldAndChunk::new(held, chunk, advance.anew);
    let describe = |time: usize, input: usize| timeline.spectrum(advance, time, input);
    let mut data = new_output(plan.channels(), spectra, inputs)?;
    plan.pfb().channelize(&source, &describe, data.view_mut(), &split);
    with_axes(timeline, advance, Voltages::from_checked(data, timeline.inputs)?).map(Some)
}

/// Voltages with the axes and flags of what a chunk completes.
fn with_axes<A>(
    timeline: &Timeline,
    advance: &Advance,
    voltages: Voltages<Complex<f32>, A>,
) -> Result<Voltages<Complex<f32>, A>, ChannelizerError> {
    let plan = &timeline.plan;
    let clock = SpectrumClock {
        first_sample: advance.first_stamp,
        samples_between_spectra: plan.stride() as u64,
        sample_rate_hz: advance.axes.sample_rate_hz,
    };
    let frequencies = plan.frequencies(advance.axes.sample_rate_hz, advance.axes.centre_hz);
    finish(voltages, frequencies, clock, Some(advance.flags()))
}
