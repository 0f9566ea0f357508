//! The channelizer on an endless stream of chunks, with delays.

use fringes_backend::Backend;
use fringes_delay::DelayModel;
use fringes_types::{Complex, Inputs, SampleChunk, SpectrumClock, Voltages};

use crate::channelizer::{finish, new_output};
use crate::held::{Held, HeldAndChunk};
use crate::timeline::{Advance, ChunkAxes, Timeline};
use crate::{Channelizer, ChannelizerError};

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
    /// [`DeviceError::MemoryLimit`](fringes_backend::DeviceError::MemoryLimit) if the backend's limit does not hold one window of each input
    /// and the workspace of one spectrum.
    pub fn new(backend: &Backend, plan: Channelizer, inputs: Inputs) -> Result<Self, ChannelizerError> {
        let window = bytes_of(&plan, plan.window_samples() as u64).saturating_mul(inputs.len() as u64);
        plan.split(backend, 1, inputs.len(), window)?;
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
    /// second number is for steps of the delay at an update.
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
    pub fn next_spectrum(&self) -> Option<u64> {
        self.timeline.next_spectrum()
    }

    /// Bytes of samples that are held for coming spectra.
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
    /// [`ChannelizerError::Inputs`], [`ChannelizerError::SampleKind`], [`ChannelizerError::Axis`] if rate or centre
    /// changed, [`ChannelizerError::Counter`], [`ChannelizerError::OutOfOrder`] for a chunk that starts before the end of
    /// the last one, [`ChannelizerError::DelayTooLarge`], [`ChannelizerError::DelayJump`],
    /// [`DeviceError::MemoryLimit`](fringes_backend::DeviceError::MemoryLimit), [`TypesError::TooLarge`](fringes_types::TypesError::TooLarge).
    pub fn push(&mut self, chunk: &dyn SampleChunk) -> Result<Option<Voltages<Complex<f32>>>, ChannelizerError> {
        let Some(advance) = self.timeline.advance(&ChunkAxes::of(chunk))? else { return Ok(None) };
        let span = tracing::debug_span!("channelize chunk", first_sample = chunk.first_sample(), times = chunk.times());
        let _guard = span.enter();
        let output = self.spectra(chunk, &advance)?;
        // Nothing fails from here on.
        for (input, held) in self.held.iter_mut().enumerate() {
            if advance.anew {
                *held = Held::default();
            }
            held.take(chunk, input, advance.keep[input]);
        }
        self.timeline.commit(advance);
        Ok(output)
    }

    /// Computes the spectra that a chunk completes.
    fn spectra(
        &self,
        chunk: &dyn SampleChunk,
        advance: &Advance,
    ) -> Result<Option<Voltages<Complex<f32>>>, ChannelizerError> {
        let (timeline, plan) = (&self.timeline, &self.timeline.plan);
        let (inputs, spectra) = (timeline.inputs.len(), advance.spectra);
        let held = bytes_of(plan, timeline.held_samples(advance));
        let split = plan.split(&self.backend, spectra.max(1), inputs, held)?;
        if spectra == 0 {
            return Ok(None);
        }
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

/// Bytes of samples held as f32.
pub(crate) fn bytes_of(plan: &Channelizer, samples: u64) -> u64 {
    samples.saturating_mul(if plan.is_complex() { 8 } else { 4 })
}
