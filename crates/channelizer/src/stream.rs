//! The channelizer on an endless stream of chunks, with delays.

use fringes_backend::{Backend, MemoryNeed};
use fringes_cpu::pfb::Split;
use fringes_delay::DelayModel;
use fringes_types::{Complex, Inputs, SampleChunk, SpectrumClock, Voltages};

use crate::channelizer::{finish, new_output};
use crate::held::{Held, HeldAndChunk, Room, history_bytes};
use crate::timeline::{Advance, ChunkAxes, Timeline};
use crate::{Channelizer, ChannelizerError};

/// Name of the operation.
const OPERATION: &str = "channelize";

/// A channelizer that takes a stream chunk by chunk and gives the spectra that are complete.
///
/// Output spectra are stamped with multiples of the plan's stride on the absolute sample counter, beginning with the
/// first whose samples exist for every input. The spectrum stamped `t` of an input with delay `d` is that of
/// [`Channelizer`] with the window starting at sample `t - rint(d(t))`, its phase still referred to `t`, turned by
/// [`DelayValue::channel_phase_turns`](fringes_delay::DelayValue::channel_phase_turns): the spectrum of the delayed signal, referred to the middle of the band. Without
/// delays it is [`crate::channelize`] of the whole stream (from a multiple of the stride on); chunks of any size give the
/// same bits.
///
/// # Missing data
/// A spectrum is flagged absent for an input if a sample of its window is flagged missing, or lies before the first
/// sample of the stream. If a chunk starts after the end of the one before it, no spectrum is made across the gap: the
/// stream begins anew with that chunk, and the clock of the voltages returned says where.
///
/// # Memory
/// Between chunks a stream holds what coming windows need, as f32: of each input a window, a stride, the growth, and as
/// much as its delay may be larger than the smallest one ([`ChannelizerStream::with_delay_limits`]).
/// [`ChannelizerStream::memory`] says what that is at most; a backend's limit that holds it holds the whole stream. It
/// is checked with the first chunk.
///
/// # Errors
/// Every method leaves the stream as it was when it fails.
#[derive(Debug, Clone)]
pub struct ChannelizerStream {
    backend: Backend,
    timeline: Timeline,
    /// What is held of each input.
    held: Vec<Held>,
}

impl ChannelizerStream {
    /// A stream of the given inputs, without delays.
    ///
    /// # Errors
    /// [`DeviceError::MemoryLimit`](fringes_backend::DeviceError::MemoryLimit) if the backend's limit does not hold the
    /// workspace of one spectrum; what the stream holds is known with its first chunk.
    pub fn new(backend: &Backend, plan: Channelizer, inputs: Inputs) -> Result<Self, ChannelizerError> {
        backend.check_cpu(OPERATION, Split::smallest_bytes(plan.pfb()))?;
        let alignment = plan.stride() as u64;
        let (backend, held) = (backend.clone(), vec![Held::default(); inputs.len()]);
        Ok(Self { backend, timeline: Timeline::new(plan, inputs, alignment), held })
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

    /// Memory that the stream takes with chunks of `times` samples of each input, 32-bit floats, on the CPU.
    ///
    /// The workspace includes what is held between chunks, at most: by the delays and limits of now. Input and output
    /// are the caller's. A limit of `smallest_step_bytes` is enough for the whole stream.
    pub fn memory(&self, times: usize) -> MemoryNeed {
        let (timeline, inputs) = (&self.timeline, self.timeline.inputs.len());
        let plan = &timeline.plan;
        let (history, moving) = history_bytes(timeline);
        let spectra = times.div_ceil(plan.stride());
        let split = Split::choose(plan.pfb(), spectra.max(1), inputs, None);
        let with = |workspace: u64| history.saturating_add(workspace.max(moving));
        MemoryNeed {
            workspace_bytes: with(split.bytes(plan.pfb())),
            smallest_step_bytes: with(Split::smallest_bytes(plan.pfb())),
            ..plan.arrays(inputs, times, spectra)
        }
    }

    /// Bytes that are allocated for samples of coming spectra: all of the stream's memory between chunks.
    pub fn held_bytes(&self) -> u64 {
        self.held.iter().map(Held::bytes).sum()
    }

    /// Forgets all samples: the next chunk begins the stream anew, with any sample counter, rate and centre frequency.
    pub fn reset(&mut self) {
        self.timeline.reset();
        self.held.fill(Held::default());
    }

    /// Takes a chunk, [`Samples`](fringes_types::Samples) or [`PackedSamples`](fringes_types::PackedSamples), and gives the spectra that are
    /// complete with it, `None` if there are none.
    ///
    /// # Precision
    /// As [`crate::channelize`]; where a spectrum is turned, `(2 + 2 sqrt 5) 2^-24` of its 2-norm is added.
    ///
    /// # Errors
    /// [`ChannelizerError::Inputs`], [`ChannelizerError::SampleKind`], [`ChannelizerError::Axis`] if format, rate or
    /// centre changed, [`ChannelizerError::Counter`], [`ChannelizerError::OutOfOrder`] for a chunk that starts before
    /// the end of the last one, [`ChannelizerError::DelayTooLarge`], [`ChannelizerError::DelayJump`],
    /// [`DeviceError::MemoryLimit`](fringes_backend::DeviceError::MemoryLimit),
    /// [`TypesError::TooLarge`](fringes_types::TypesError::TooLarge).
    pub fn push(&mut self, chunk: &dyn SampleChunk) -> Result<Option<Voltages<Complex<f32>>>, ChannelizerError> {
        let Some(advance) = self.timeline.advance(&ChunkAxes::of(chunk))? else { return Ok(None) };
        let span = tracing::debug_span!("channelize chunk", first_sample = chunk.first_sample(), times = chunk.times());
        let _guard = span.enter();
        if self.expected_sample().is_none() {
            self.backend.check_memory(OPERATION, self.memory(chunk.times()).smallest_step_bytes)?;
        }
        let room = Room::new(&self.held, &self.timeline, &advance);
        let smallest = Split::smallest_bytes(self.timeline.plan.pfb());
        let left = room.check(&self.backend, OPERATION, 0, smallest)?;
        room.take(&mut self.held)?;
        let output = self.spectra(chunk, &advance, left)?;
        // Nothing fails from here on.
        for (input, held) in self.held.iter_mut().enumerate() {
            if advance.anew {
                held.clear();
            }
            held.take(chunk, input, advance.keep[input]);
        }
        self.timeline.commit(advance);
        Ok(output)
    }

    /// Computes the spectra that a chunk completes, with `limit` bytes of workspace.
    fn spectra(
        &self,
        chunk: &dyn SampleChunk,
        advance: &Advance,
        limit: Option<u64>,
    ) -> Result<Option<Voltages<Complex<f32>>>, ChannelizerError> {
        let (timeline, plan) = (&self.timeline, &self.timeline.plan);
        let (inputs, spectra) = (timeline.inputs.len(), advance.spectra);
        if spectra == 0 {
            return Ok(None);
        }
        let split = Split::choose(plan.pfb(), spectra, inputs, limit);
        let source = HeldAndChunk::new(&self.held, chunk, advance.anew);
        let describe = |time: usize, input: usize| timeline.spectrum(advance, time, input);
        let mut data = new_output(plan.channels(), spectra, inputs)?;
        plan.pfb().channelize(&source, &describe, data.view_mut(), &split);

        let clock = SpectrumClock {
            first_sample: advance.first_stamp,
            samples_between_spectra: plan.stride() as u64,
            sample_rate_hz: advance.axes.sample_rate_hz,
        };
        let frequencies = plan.frequencies(advance.axes.sample_rate_hz, advance.axes.centre_hz);
        finish(data, timeline.inputs, frequencies, clock, Some(advance.present.clone())).map(Some)
    }
}
