//! The F-engine as a stream, and as one call.

use std::marker::PhantomData;
use std::ops::Range;

use fringes_backend::{Backend, DeviceArray, DeviceError, DeviceSamples, MemoryNeed};
use fringes_channelizer::internals::{self, Advance, Axes, ChunkAxes, GpuEngine, Timeline, Together, batch, chunk};
use fringes_channelizer::{Channelizer, ChannelizerError, Precision};
use fringes_cpu::f_engine::{InputStatistics, statistics};
use fringes_delay_model::DelayModel;
use fringes_gpu::{Device, Stream};
use fringes_types::{ChunkFormat, Frequencies, Gains, Heaps, Inputs, SampleChunk, SpectrumClock};
use ndarray::Array2;

use super::cpu::CpuEngine;
use super::input::Push;
use super::output::{ChannelizedOnDevice, DeviceFrames, Header};
use super::{Batch, Channelized, FEngineBuilder, FrameLayout, FrameSample, Frames, HeapFrames, Settings, Work};
use fringes_channelizer::SampleInput;

/// An F-engine: takes samples chunk by chunk and gives quantised, delayed channels in frames.
///
/// Samples `[input][time]`, packed ([`PackedSamples`](fringes_types::PackedSamples)) or typed
/// ([`Samples`](fringes_types::Samples)), become frames `[frame][antenna][channel][spectrum][pol]`
/// ([`Heaps`](fringes_types::Heaps)) of `Complex<i8>`, [`Complex4`](fringes_types::Complex4), `Complex<f16>` or
/// `Complex<f32>`, or rows of the correlator ([`FEngineBuilder::build_rows`]). The spectrum stamped `t`, a whole
/// multiple of the plan's stride, of an input with delay `d`:
///
/// 1. the window starts at sample `t - rint(d(t))`, the spectrum is that of [`Channelizer`], its phase referred to `t`,
///    turned by [`DelayValue::channel_phase_turns`](fringes_delay_model::DelayValue::channel_phase_turns);
/// 2. `v = gain[channel][input] X[channel]`;
/// 3. integers, with dither: `v` plus two numbers of (-1/2, 1/2). Philox4x32-10 with the counter `(s low, s high,
///    input, 0)`, `s = t / stride`, and the key `(seed low, seed high)` gives `a, b`, its first two words. With `k` the
///    channel's number within the plan and `fold(x)` the two halves of a product of 64 bits, one exclusive-or the
///    other, `h = (k 0x9E3779B9 + a) mod 2^32; h = fold(h 0x21f0aaad) ^ b; h = fold(h 0xd35a2d97)`; the real part's
///    number is `(h mod 65536 + 1/2) / 65536 - 1/2`, the imaginary part's that of `h >> 16`. They depend on seed,
///    input, spectrum and channel alone, so that any chunk can be computed again identically;
/// 4. integers: clamped to +-127 or +-7, rounded half to even; a value with a part beyond the limit (or NaN, which
///    gives 0) before rounding counts as saturated, once. Floats are rounded to their format.
///
/// # Frames
/// A frame is `spectra_per_frame` spectra, the first stamped with a whole multiple of `spectra_per_frame` strides, so
/// that the correlator's batches align. The first frame is the first for which every input's samples exist. Frames are
/// filled across chunks and steps of the delays at whatever cadence results: chunks of any size give the same bits, but
/// for phases on a GPU (see there).
///
/// # Missing data
/// A spectrum is absent for an input if a sample of its window is flagged missing, or lies before the first of the
/// stream: its values are 0 and do not count. A frame is absent for an antenna if one of its spectra is absent for one
/// of its inputs. If a chunk starts after the end of the one before it, no spectrum is made across the gap: the frame
/// that was begun is closed, the rest of it absent, and the stream begins anew with the next frame whose samples exist.
///
/// ```
/// use fringes_channelizer::Channelizer;
/// use fringes_f_engine::FEngine;
/// use fringes_backend::Backend;
/// use fringes_types::{Complex, Gains, Inputs, PackedSamples};
/// use ndarray::Array2;
///
/// // Two antennas with two polarisations, 10-bit samples.
/// let inputs = Inputs::new(2, 2)?;
/// let plan = Channelizer::real(64).taps(8).build()?;
/// let engine = FEngine::builder(plan, inputs).spectra_per_frame(16).channels(8..56);
/// let mut engine = engine.gains(Gains::uniform(0.25)?).dither(1).build::<Complex<i8>>(&Backend::auto())?;
///
/// let noise = |input: usize, time: usize| ((input * 7919 + time * 104729) % 401) as i16 - 200;
/// for chunk in 0..3u64 {
///     let samples = Array2::from_shape_fn((4, 5000), |(input, time)| noise(input, 5000 * chunk as usize + time));
///     let packed = PackedSamples::pack(samples.view(), 10, inputs)?.with_first_sample(5000 * chunk);
///     let channelized = engine.push(&packed)?;
///     assert_eq!(channelized.statistics[0].samples, 5000);
///     for frames in channelized.frames {
///         assert_eq!(frames.voltages.data().dim(), (frames.frames(), 2, 48, 16, 2));
///         assert_eq!(frames.first_stamp() % (16 * 128), 0);
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Precision
/// Voltages are those of [`channelize`](fringes_channelizer::channelize()), within its bound of the exact ones; where a
/// spectrum is turned, `(2 + 2 sqrt 5) 2^-24` of its 2-norm is added. Product and dither are in f64 on the CPU, so
/// integers differ from those of exact voltages only where a part is nearer to a rounding tie than the voltage's error
/// times the gain.
///
/// On a GPU, with `u = 2^-24` and `A` the sum of the magnitudes of weights times samples of a window, a value is within
/// `u g A` times `4 (taps + 1) + sum_r (3 + 3 log2 r) + 11 + 2^4.2` of the exact one, `g` the gain's magnitude and `r`
/// the radices of the transform's passes (at most 16): samples come to the filter with an offset, the step to a real
/// transform has 6, products with the factor 5, and the factor of a channel is within `2^-19.8`. That is of the general
/// kernels. With [`TwoPassKernels`](fringes_channelizer::internals::TwoPassKernels)'s, a filtered sample of `B` bits is
/// within `(taps + 4 m + 3) 2^-22 2^(B - 1)` times the sum of the magnitudes of its weights, `m` a sixteenth of the
/// taps rounded up, whatever the samples are, and the rest as there. Of complex i8 that holds for each part with
/// `B = 8`, of f16 with the largest magnitude of a part in place of `2^(B - 1)`, and of i16 and f32 with
/// `(1.5 taps + 6 m + 5) 2^-22` times that magnitude. Where the filter is made of multiply-adds (128 channels,
/// oversampled plans, long filters, samples of other widths), it is within `(taps + 1) 2^-24` times the sum of the
/// magnitudes of weights times samples. Product and dither are in f32 there, and within `2^-15` of their exact sum.
///
/// That is [`Precision::Single`]. In [`Precision::Half`] a GPU has f16 between the stages, and errors of `4.6e-4` of
/// the values' rms, from 4096 channels on `5.5e-4`, for the plans and samples that have such kernels. Complex i16 are
/// rounded to 11 bits: `5.1e-4` and `5.9e-4`. f16 were compared at an rms of 1/3: weights are scaled so that no
/// samples overflow, be they 65504, and much smaller ones lose bits.
///
/// # On a GPU
/// Plans of up to 65536 channels of factors 2, 3 and 5, with up to 64 taps, have a kernel; those of powers of two from
/// 64 to 65536 channels, and of 6, 10 or 12 times a power of two from 32 to 1024, faster ones; the fastest are powers
/// of two from 256 on, critically sampled with up to 32 taps. [`Backend::auto`] takes the CPU for others, at the latest
/// when the first chunk shows the samples' format. Samples go there as they are, and those that coming windows need
/// stay there. Phases of neighbouring spectra are on lines, within `2^-28` turns of the models': with delays, float
/// frames depend on where chunks are cut by that much, and integers where they are as near to a tie; without, chunks of
/// any size give the same bits. Frames of chunks in device memory stay there.
///
/// A push queues all it does at once. Spectra are made 64 at a time where the faster kernels make them, and rows at a
/// time; fewer wait as samples for the next chunk, or for [`FEngine::flush`], unless they complete a frame: no frame
/// comes later for it. [`FEngine::next_stamp`] says which spectrum is made next: the first that gains or delays that
/// are set now count for.
///
/// # Errors
/// Every method leaves the stream as it was when it fails, but for failures of a GPU's driver.
#[derive(Debug)]
pub struct FEngine<Q: FrameSample, L: FrameLayout = HeapFrames> {
    backend: Backend,
    pub(super) timeline: Timeline,
    pub(super) settings: Settings,
    /// Format of the stream's samples.
    format: Option<ChunkFormat>,
    /// Flags `[spectrum][input]` of the open frame.
    open: Array2<bool>,
    engine: Engine<Q>,
    /// The frame that a gap cut off, of chunks in host memory: with the next that is pushed.
    cut_off: Option<Frames<L::Host<Q>>>,
    /// The clock of what comes out, if it is not that of the samples.
    clock: Option<OuterClock>,
    /// Whether there are statistics of chunks in device memory.
    statistics: bool,
    layout: PhantomData<fn() -> L>,
}

/// The clock of frames of samples that another stage decimated: that of the samples which came to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct OuterClock {
    /// Samples of it in one of the F-engine's.
    pub(super) decimation: u64,
    /// Its samples a second.
    pub(super) sample_rate_hz: f64,
}

/// What computes the spectra.
#[derive(Debug)]
enum Engine<Q: FrameSample> {
    Cpu(CpuEngine<Q>),
    Gpu(Box<GpuEngine<Q>>),
}

/// What a chunk completes, and where it goes. Nothing has been changed yet.
#[derive(Debug)]
struct Taken {
    advance: Advance,
    batch: Batch,
    format: ChunkFormat,
    finish: bool,
}

/// Makes frames of what was queued for them on a stream.
pub(super) type Give<'a, Q, F> = dyn Fn(internals::Queued<Q>, &Stream, Header) -> Result<F, ChannelizerError> + 'a;

/// The header of the frames that are complete, and the flags of the frame that stays open.
struct Headers {
    given: Option<Header>,
    open: Array2<bool>,
}

impl<Q: FrameSample, L: FrameLayout> FEngine<Q, L> {
    pub(super) fn new(backend: &Backend, mut timeline: Timeline, settings: Settings) -> Result<Self, ChannelizerError> {
        let engine = match device_for(backend, internals::check(&timeline.plan))? {
            None => Engine::Cpu(CpuEngine::new(backend, &timeline, &settings)?),
            Some(device) => {
                timeline.take_together(together(&timeline.plan, &settings));
                // No format needs less than the smallest of these: the first chunk says which it is.
                let need = |bits| GpuEngine::<Q>::memory(&timeline, &settings, 0, ChunkFormat::Packed { bits });
                let least = [2, 8, 10].map(|bits| need(bits).smallest_step_bytes).into_iter().min().unwrap_or(0);
                backend.check_memory("f_engine", least)?;
                Engine::Gpu(Box::new(GpuEngine::new(device, timeline.inputs, &settings)?))
            }
        };
        let open = Array2::from_elem((settings.spectra_per_frame, timeline.inputs.len()), false);
        let (backend, layout) = (backend.clone(), PhantomData);
        Ok(Self {
            backend,
            timeline,
            settings,
            format: None,
            open,
            engine,
            cut_off: None,
            clock: None,
            statistics: false,
            layout,
        })
    }

    /// Queues all work of a GPU on a stream of the caller's, in place of one of its own.
    ///
    /// # Errors
    /// [`DeviceError::NotOnGpu`] if the F-engine runs on the CPU, [`DeviceError::WrongDevice`] for another device's
    /// stream.
    pub fn on(mut self, stream: &Stream) -> Result<Self, ChannelizerError> {
        self.gpu()?.set_stream(stream)?;
        Ok(self)
    }

    /// Makes statistics of the samples of chunks in device memory as well, which reads them once more.
    #[must_use]
    pub fn with_statistics(self) -> Self {
        Self { statistics: true, ..self }
    }

    /// The stream that work of a GPU is queued on; `None` on the CPU.
    pub fn stream(&self) -> Option<&Stream> {
        match &self.engine {
            Engine::Cpu(_) => None,
            Engine::Gpu(engine) => Some(engine.stream()),
        }
    }

    /// What a stream on a backend needs.
    pub(super) fn memory_on(
        backend: &Backend,
        timeline: &Timeline,
        settings: &Settings,
        times: usize,
        format: ChunkFormat,
    ) -> Result<MemoryNeed, ChannelizerError> {
        timeline.plan.check_kind(format.is_complex())?;
        Ok(match device_for(backend, internals::check_format(&timeline.plan, format))? {
            None => CpuEngine::<Q>::memory(timeline, settings, times, format.sample_bits()),
            Some(_) => {
                let mut timeline = timeline.clone();
                timeline.take_together(together(&timeline.plan, settings));
                GpuEngine::<Q>::memory(&timeline, settings, times, format)
            }
        })
    }

    /// The plan.
    pub fn plan(&self) -> &Channelizer {
        &self.timeline.plan
    }

    /// Inputs of the stream.
    pub fn inputs(&self) -> Inputs {
        self.timeline.inputs
    }

    /// Spectra of a frame.
    pub fn spectra_per_frame(&self) -> usize {
        self.settings.spectra_per_frame
    }

    /// Channels of the plan that come out.
    pub fn channels(&self) -> Range<usize> {
        self.settings.channels.clone()
    }

    /// What spectra are computed in: [`Precision::Half`] if [`FEngineBuilder::precision`] asks for it and the GPU has
    /// kernels for plan and samples, else [`Precision::Single`]. `None` on a GPU before the first chunk, whose format
    /// counts.
    pub fn precision(&self) -> Option<Precision> {
        match &self.engine {
            Engine::Cpu(_) => Some(Precision::Single),
            Engine::Gpu(engine) => self.format.and_then(|_| engine.precision()),
        }
    }

    /// The delay models, one an input.
    pub fn delays(&self) -> &[DelayModel] {
        &self.timeline.delays
    }

    /// The delay models, to queue updates. Segments that no coming spectrum needs are discarded by [`FEngine::push`].
    pub fn delays_mut(&mut self) -> &mut [DelayModel] {
        &mut self.timeline.delays
    }

    /// Sets the gains of all spectra that are not computed yet.
    ///
    /// # Errors
    /// [`TypesError::Dimension`](fringes_types::TypesError::Dimension) for gains of other channels or inputs.
    pub fn set_gains(&mut self, gains: &Gains) -> Result<(), ChannelizerError> {
        let gains = gains.expand(self.settings.channels.len(), self.timeline.inputs.len())?;
        self.settings.gains = gains.t().as_standard_layout().into_owned();
        self.settings.generation += 1;
        Ok(())
    }

    /// Sample counter that the next chunk starts at if nothing is lost; `None` before the first chunk.
    pub fn expected_sample(&self) -> Option<u64> {
        self.timeline.expected_sample()
    }

    /// Stamp of the next spectrum; `None` before the first chunk.
    pub fn next_stamp(&self) -> Option<u64> {
        self.timeline.next_stamp()
    }

    /// Bytes that are allocated for samples of coming spectra, on the device if the F-engine runs there.
    pub fn held_bytes(&self) -> u64 {
        match &self.engine {
            Engine::Cpu(engine) => engine.held_bytes(),
            Engine::Gpu(engine) => engine.held_bytes(),
        }
    }

    /// Memory that a stream with chunks of `times` samples of each input takes, where the F-engine runs: see
    /// [`FEngineBuilder::memory`].
    pub fn memory(&self, times: usize, format: ChunkFormat) -> MemoryNeed {
        match &self.engine {
            Engine::Cpu(_) => CpuEngine::<Q>::memory(&self.timeline, &self.settings, times, format.sample_bits()),
            Engine::Gpu(_) => GpuEngine::<Q>::memory(&self.timeline, &self.settings, times, format),
        }
    }

    /// Forgets all samples and the frame that is not complete: the next chunk begins the stream anew, with any sample
    /// counter, format, rate and centre frequency.
    pub fn reset(&mut self) {
        self.timeline.reset();
        self.format = None;
        self.cut_off = None;
        match &mut self.engine {
            Engine::Cpu(engine) => engine.reset(),
            Engine::Gpu(engine) => engine.reset(),
        }
    }

    /// Takes back frames of the CPU that nobody needs any more: those to come are written to their memory, whose pages
    /// need not be taken from the system again. On a GPU it does nothing.
    pub fn recycle(&mut self, frames: L::Host<Q>) {
        if let Engine::Cpu(engine) = &mut self.engine
            && let Some(values) = L::values(frames)
        {
            engine.recycle(values);
        }
    }

    /// Takes a chunk and gives the frames that are complete with it: in host memory, with statistics of the samples, of
    /// a chunk in host memory; in device memory of one that lies there.
    ///
    /// A chunk in host memory goes to a GPU through pinned memory, and frames and statistics are waited for. Of a chunk
    /// in device memory everything is queued on the F-engine's stream ([`FEngine::on`]), statistics too if they are
    /// asked for ([`FEngine::with_statistics`]), and nothing waits: the chunk must stay as it is until the stream has
    /// come there, which a [`DeviceArray`](fringes_backend::DeviceArray) takes care of that owns its memory. Memory for
    /// frames comes from a pool of the F-engine: nothing is allocated once the sizes have come.
    ///
    /// # Errors
    /// [`ChannelizerError::Inputs`], [`ChannelizerError::SampleKind`], [`ChannelizerError::Axis`] if format, rate or
    /// centre changed, [`ChannelizerError::Counter`], [`ChannelizerError::OutOfOrder`] for a chunk that starts
    /// before the end of the last one, [`ChannelizerError::DelayTooLarge`], [`ChannelizerError::DelayJump`],
    /// [`DeviceError::MemoryLimit`], [`TypesError::TooLarge`](fringes_types::TypesError::TooLarge);
    /// [`DeviceError::NotOnGpu`] for a chunk in device memory if the F-engine runs on the CPU,
    /// [`DeviceError::WrongDevice`] if it runs on another device; [`DeviceError::Gpu`] with what the driver says:
    /// the stream is to be [reset](FEngine::reset) then.
    #[allow(clippy::type_complexity, reason = "what comes out in either memory, told in the signature")]
    pub fn push<C: SampleInput + ?Sized>(
        &mut self,
        chunk: &C,
    ) -> Result<C::Output<Channelized<Frames<L::Host<Q>>>, ChannelizedOnDevice<Q, L>>, ChannelizerError> {
        chunk.give_to(Push(self))
    }

    /// The frame that is not complete, in host memory, the rest of it absent; `None` if there is none. The stream goes
    /// on with the next frame.
    ///
    /// # Errors
    /// [`TypesError::TooLarge`](fringes_types::TypesError::TooLarge) if there is no memory for another frame.
    pub fn flush(&mut self) -> Result<Option<Frames<L::Host<Q>>>, ChannelizerError> {
        if let Some(frames) = self.cut_off.take() {
            return Ok(Some(frames));
        }
        if matches!(self.engine, Engine::Gpu(_)) {
            return self.rest()?.map(|frames| frames.to_host_as::<Q, L>()).transpose();
        }
        let Some(header) = self.flushed() else { return Ok(None) };
        let filled = self.filled();
        let mut frames = None;
        if let Engine::Cpu(engine) = &mut self.engine {
            let (data, saturated) = engine.close(filled, &self.settings, self.timeline.inputs)?;
            frames = Some(header.clone().frames_of(L::host(&header, data)?, saturated));
        }
        self.timeline.skip_to_alignment();
        Ok(frames)
    }

    /// As [`FEngine::flush`], in device memory.
    ///
    /// # Errors
    /// [`DeviceError::NotOnGpu`] if the F-engine runs on the CPU, [`DeviceError::Gpu`] with what the driver says.
    pub fn flush_on_device(&mut self) -> Result<Option<DeviceFrames<L::Device<Q>>>, ChannelizerError> {
        self.gpu()?;
        self.rest()
    }

    fn rest(&mut self) -> Result<Option<DeviceFrames<L::Device<Q>>>, ChannelizerError> {
        self.rest_as(&device_frames::<Q, L>)
    }

    /// The frame that is not complete, with the spectra that were left for a later chunk, from a GPU.
    pub(super) fn rest_as<F>(&mut self, give: &Give<'_, Q, F>) -> Result<Option<F>, ChannelizerError> {
        let Some(advance) = self.timeline.advance_rest()? else { return Ok(None) };
        let (filled, format) = (self.filled(), advance.axes.format);
        if filled + advance.spectra == 0 {
            return Ok(None);
        }
        let batch = Batch::new(self.settings.spectra_per_frame, filled, advance.spectra, true);
        self.queue(None, Taken { advance, batch, format, finish: true }, give)
    }

    /// Sets the clock that frames have.
    pub(super) fn set_clock(&mut self, clock: OuterClock) {
        self.clock = Some(clock);
    }

    /// Sets the limit of the backend's memory for chunks that come.
    pub(super) fn set_memory_limit(&mut self, bytes: u64) {
        self.backend = self.backend.clone().with_memory_limit(bytes);
    }

    /// `Ok` if chunks of such axes can be pushed, each behind a change of the centre at a sample, if there is one.
    /// Changes nothing.
    pub(super) fn check_chunks<'a>(
        &self,
        chunks: impl IntoIterator<Item = (Option<u64>, ChunkAxes<'a>)>,
    ) -> Result<(), ChannelizerError> {
        self.timeline.check_chunks(chunks)
    }

    /// Has frames from sample `first` on, of which none was taken, with another centre: see
    /// [`Timeline::change_centre`]. Gives the frame that is not complete.
    pub(super) fn change_centre(
        &mut self,
        first: u64,
        centre_hz: f64,
    ) -> Result<Option<Frames<L::Host<Q>>>, ChannelizerError> {
        let frames = self.flush()?;
        self.timeline.change_centre(first, Some(centre_hz));
        Ok(frames)
    }

    /// As [`FEngine::change_centre`], in device memory.
    pub(super) fn change_centre_on_device(
        &mut self,
        first: u64,
        centre_hz: f64,
    ) -> Result<Option<DeviceFrames<L::Device<Q>>>, ChannelizerError> {
        let frames = self.flush_on_device()?;
        self.timeline.change_centre(first, Some(centre_hz));
        Ok(frames)
    }

    /// The engine of a GPU.
    pub(super) fn gpu(&mut self) -> Result<&mut GpuEngine<Q>, ChannelizerError> {
        match &mut self.engine {
            Engine::Gpu(engine) => Ok(engine),
            Engine::Cpu(_) => {
                let (operation, backend) = ("f_engine of samples in device memory".into(), self.backend.name());
                Err(DeviceError::NotOnGpu { operation, backend }.into())
            }
        }
    }

    /// Takes a chunk in host memory; with `finish`, gives the last frame though it is not complete.
    pub(super) fn take(
        &mut self,
        chunk: &dyn SampleChunk,
        finish: bool,
    ) -> Result<Channelized<Frames<L::Host<Q>>>, ChannelizerError> {
        self.settle(chunk.format())?;
        if matches!(self.engine, Engine::Cpu(_)) {
            let frames = self.take_on_cpu(chunk, finish)?;
            return Ok(Channelized { frames, statistics: statistics(chunk) });
        }
        let Some(taken) = self.begin_on_host(chunk, finish)? else {
            let statistics = vec![InputStatistics::default(); self.timeline.inputs.len()];
            return Ok(Channelized { frames: Vec::new(), statistics });
        };
        let engine = self.gpu()?;
        let samples = engine.upload(chunk)?;
        let before = engine.so_far()?;
        let queued = self.queue(Some(&samples), taken, &device_frames::<Q, L>)?;
        let sums = self.gpu()?.queue_statistics(&samples, &before)?;
        let frames = queued.iter().map(DeviceFrames::to_host_as::<Q, L>);
        let mut frames = frames.collect::<Result<Vec<_>, _>>()?;
        let statistics = sums.to_host()?;
        frames.splice(..0, self.cut_off.take());
        Ok(Channelized { frames, statistics })
    }

    /// Takes a chunk on the CPU: frames without statistics.
    pub(super) fn take_on_cpu(
        &mut self,
        chunk: &dyn SampleChunk,
        finish: bool,
    ) -> Result<Vec<Frames<L::Host<Q>>>, ChannelizerError> {
        let Some(taken) = self.begin_on_host(chunk, finish)? else { return Ok(Vec::new()) };
        let Engine::Cpu(engine) = &mut self.engine else { return Ok(Vec::new()) };
        let span = tracing::debug_span!("f-engine chunk", first_sample = chunk.first_sample(), times = chunk.times());
        let _guard = span.enter();
        let work = taken.work(&self.settings, &self.timeline);
        let prepared = engine.prepare(&self.backend, &work)?;
        let (data, saturated) = engine.run(prepared, &work, chunk);
        // Nothing fails from here on: frames that were computed have a shape, a rate and a spacing that were checked.
        let headers = self.headers(&taken);
        let mut frames = Vec::new();
        if let Some(header) = headers.given {
            let voltages = L::host(&header, data)?;
            frames.push(header.frames_of(voltages, saturated));
        }
        self.commit(taken, headers.open);
        frames.splice(..0, self.cut_off.take());
        Ok(frames)
    }

    /// What a chunk in host memory completes, once the frame that a gap before it cuts off is closed.
    fn begin_on_host(&mut self, chunk: &dyn SampleChunk, finish: bool) -> Result<Option<Taken>, ChannelizerError> {
        let axes = ChunkAxes::of(chunk);
        if self.timeline.check_gap(&axes)? && self.cut_off.is_none() {
            self.cut_off = self.flush()?;
        }
        self.begin(&axes, finish)
    }

    /// Takes a chunk in device memory.
    pub(super) fn take_on_device(
        &mut self,
        samples: &DeviceSamples<'_>,
    ) -> Result<ChannelizedOnDevice<Q, L>, ChannelizerError> {
        if !self.statistics {
            return Ok(Channelized {
                frames: self.take_on_device_as(samples, &device_frames::<Q, L>)?,
                statistics: None,
            });
        }
        let before = self.gpu()?.so_far()?;
        let frames = self.take_on_device_as(samples, &device_frames::<Q, L>)?;
        let statistics = self.gpu()?.queue_statistics(samples, &before);
        self.gpu()?.wait_for_statistics()?;
        Ok(Channelized { frames, statistics: Some(statistics?) })
    }

    /// Takes a chunk in device memory; frames are what is made of what was queued for them.
    pub(super) fn take_on_device_as<F>(
        &mut self,
        samples: &DeviceSamples<'_>,
        give: &Give<'_, Q, F>,
    ) -> Result<Vec<F>, ChannelizerError> {
        self.gpu()?.check(samples)?;
        let axes = chunk::axes(samples);
        let mut frames = Vec::new();
        if self.timeline.check_gap(&axes)? {
            // What can be refused is refused before the frame is given away.
            self.check_limit(samples.times(), samples.format())?;
            frames.extend(self.rest_as(give)?);
        }
        if let Some(taken) = self.begin(&axes, false)? {
            frames.extend(self.queue(Some(samples), taken, give)?);
        }
        Ok(frames)
    }

    /// Leaves the GPU at the start of a stream whose format has no kernel there, where the backend may.
    fn settle(&mut self, format: ChunkFormat) -> Result<(), ChannelizerError> {
        let (Engine::Gpu(_), None) = (&self.engine, self.format) else { return Ok(()) };
        let plan = &self.timeline.plan;
        // Samples of another kind are refused as such.
        if plan.check_kind(format.is_complex()).is_err() {
            return Ok(());
        }
        if device_for(&self.backend, internals::check_format(plan, format))?.is_none() {
            self.timeline.take_together(Together::SINGLE);
            self.engine = Engine::Cpu(CpuEngine::new(&self.backend, &self.timeline, &self.settings)?);
        }
        Ok(())
    }

    /// `Ok` if the backend's limit holds what a chunk needs on a GPU.
    fn check_limit(&self, times: usize, format: ChunkFormat) -> Result<(), ChannelizerError> {
        let need = GpuEngine::<Q>::memory(&self.timeline, &self.settings, times, format);
        Ok(self.backend.check_memory("f_engine", need.smallest_step_bytes)?)
    }

    /// Queues what a chunk in device memory completes, or what those before it left.
    fn queue<F>(
        &mut self,
        samples: Option<&DeviceSamples<'_>>,
        taken: Taken,
        give: &Give<'_, Q, F>,
    ) -> Result<Option<F>, ChannelizerError> {
        let headers = self.headers(&taken);
        self.check_limit(samples.map_or(0, DeviceSamples::times), taken.format)?;
        let work = taken.work(&self.settings, &self.timeline);
        let mut frames = None;
        if let Engine::Gpu(engine) = &mut self.engine {
            let prepared = engine.prepare(&work, samples)?;
            let given = engine.run(prepared, &work, samples)?;
            if let Some((header, queued)) = headers.given.zip(given) {
                frames = Some(give(queued, engine.stream(), header)?);
            }
        }
        self.commit(taken, headers.open);
        Ok(frames)
    }

    /// What a chunk completes; `None` for a chunk without samples.
    fn begin(&self, axes: &ChunkAxes<'_>, finish: bool) -> Result<Option<Taken>, ChannelizerError> {
        let Some(advance) = self.timeline.advance(axes)? else { return Ok(None) };
        let filled = self.filled();
        let filled = if advance.anew { 0 } else { filled };
        let batch = Batch::new(self.settings.spectra_per_frame, filled, advance.spectra, finish);
        Ok(Some(Taken { advance, batch, format: axes.format, finish }))
    }

    /// What is known of the frames that a chunk completes.
    fn headers(&self, taken: &Taken) -> Headers {
        let Taken { advance, batch, .. } = taken;
        let (flags, open) =
            batch::flags(batch, advance.present.as_ref().map(|present| present.view()), self.open.view());
        let first = || advance.first_stamp - self.samples(batch.filled);
        let given = (batch.frames > 0).then(|| self.header(flags, first(), advance.axes));
        Headers { given, open }
    }

    /// Takes a chunk whose spectra were computed.
    fn commit(&mut self, taken: Taken, open: Array2<bool>) {
        self.open = open;
        self.format = Some(taken.format);
        self.timeline.commit(taken.advance);
        if taken.finish {
            self.timeline.skip_to_alignment();
        }
    }

    /// The header of the frame that is not complete, if there is one.
    fn flushed(&self) -> Option<Header> {
        let (filled, next, axes) = (self.filled(), self.timeline.next_stamp(), self.timeline.axes());
        let (next, axes) = next.zip(axes).filter(|_| filled > 0)?;
        Some(self.header(self.closed_flags(filled), next - self.samples(filled), axes))
    }

    /// Spectra that the open frame has.
    fn filled(&self) -> usize {
        let spectra = self.timeline.next_stamp().unwrap_or(0) / self.timeline.plan.stride() as u64;
        (spectra % self.settings.spectra_per_frame as u64) as usize
    }

    /// Samples from a spectrum to the one `spectra` later.
    fn samples(&self, spectra: usize) -> u64 {
        (spectra * self.timeline.plan.stride()) as u64
    }

    /// Flags of the open frame, of which `filled` spectra are filled.
    fn closed_flags(&self, filled: usize) -> Array2<bool> {
        let mut flags = self.open.clone();
        flags.slice_mut(ndarray::s![filled.., ..]).fill(false);
        flags
    }

    /// What is known of frames with their axes and flags.
    fn header(&self, spectra_present: Array2<bool>, first_sample: u64, axes: Axes) -> Header {
        let plan = &self.timeline.plan;
        let all = plan.frequencies(axes.sample_rate_hz, axes.centre_hz);
        let same = OuterClock { decimation: 1, sample_rate_hz: axes.sample_rate_hz };
        let OuterClock { decimation, sample_rate_hz } = self.clock.unwrap_or(same);
        Header {
            inputs: self.timeline.inputs,
            channels: self.settings.channels.len(),
            spectra_per_frame: self.settings.spectra_per_frame,
            frequencies: Frequencies { first_hz: all.channel_hz(self.settings.channels.start), ..all },
            clock: SpectrumClock {
                first_sample: first_sample.saturating_mul(decimation),
                samples_between_spectra: (plan.stride() as u64).saturating_mul(decimation),
                sample_rate_hz,
            },
            spectra_present,
        }
    }
}

impl Taken {
    /// The chunk's work, for whatever backend.
    fn work<'a>(&'a self, settings: &'a Settings, timeline: &'a Timeline) -> Work<'a> {
        Work { settings, timeline, advance: &self.advance, batch: self.batch }
    }
}

/// Spectra that a GPU takes together: jobs of the fast kernels, and whole rows.
fn together(plan: &Channelizer, settings: &Settings) -> Together {
    let part = internals::spectra_together(plan).max(settings.row.unwrap_or(1));
    Together { frame: settings.spectra_per_frame, part }
}

/// The GPU that the F-engine runs on, by whether it has a kernel; `None` for the CPU.
pub(super) fn device_for(
    backend: &Backend,
    kernel: Result<(), ChannelizerError>,
) -> Result<Option<&Device>, ChannelizerError> {
    match kernel {
        Ok(()) => Ok(backend.gpu_for("f_engine", true)?),
        // Says why there is no kernel, where nothing else may be used.
        Err(missing) => backend.gpu_for("f_engine", false).map_err(|_| missing),
    }
}

/// Frames that were queued on a stream.
fn device_frames<Q: FrameSample, L: FrameLayout>(
    (values, saturated): internals::Queued<Q>,
    stream: &Stream,
    header: Header,
) -> Result<DeviceFrames<L::Device<Q>>, ChannelizerError> {
    let voltages = L::device(&header, DeviceArray::from(values).written_now(stream)?)?;
    Ok(header.frames_of(voltages, DeviceArray::from(saturated).written_now(stream)?))
}

/// All frames of one chunk: [`FEngine::push`] and [`FEngine::flush`] in one call. The last frame may be partial, the
/// rest of it absent; the result has exactly one piece.
///
/// ```
/// use fringes_channelizer::Channelizer;
/// use fringes_f_engine::{FEngine, f_engine};
/// use fringes_backend::Backend;
/// use fringes_types::{Complex, Inputs, Samples};
/// use ndarray::Array2;
///
/// let inputs = Inputs::single_pol(1)?;
/// let plan = Channelizer::complex(32).taps(4).build()?;
/// let engine = FEngine::builder(plan, inputs).spectra_per_frame(8);
/// let samples = Samples::new(Array2::from_elem((1, 1000), Complex::new(1i8, 0)), inputs)?;
/// let channelized = f_engine::<Complex<f32>>(&Backend::auto(), &samples, engine)?;
/// // 28 spectra: three whole frames and half of one.
/// assert_eq!(channelized.frames[0].voltages.data().dim(), (4, 1, 32, 8, 1));
/// assert_eq!(channelized.frames[0].spectra_present.column(0).iter().filter(|&&present| present).count(), 28);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`FEngineBuilder::build`] and [`FEngine::push`]; [`ChannelizerError::TooShort`] if the chunk does not hold the
/// first spectrum of a frame.
pub fn f_engine<Q: FrameSample>(
    backend: &Backend,
    chunk: &dyn SampleChunk,
    engine: FEngineBuilder,
) -> Result<Channelized<Frames<Heaps<Q>>>, ChannelizerError> {
    let mut engine = engine.build::<Q>(backend)?;
    let channelized = engine.take(chunk, true)?;
    if channelized.frames.is_empty() {
        let needed = engine.timeline.samples_for_next(chunk.first_sample());
        return Err(ChannelizerError::TooShort { needed, actual: chunk.times() });
    }
    Ok(channelized)
}
