//! The channelizer on an endless stream of chunks, with delays.
//!
//! ```text
//! absolute samples    | held from the last chunks | chunk                    |
//! input 0, delay 3        [---- window of spectrum t -----]        starts at t - 3
//! input 1, delay 900  [---- window of spectrum t -----]            starts at t - 900
//! ```
//!
//! Each input holds what its next window needs, and as much before it as the delay may grow.

use fringes_cpu::pfb::{ArraySource, Rotation, SpectrumInput};
use fringes_delay::{DelayModel, DelayValue};
use fringes_types::{Backend, Complex, Dimension, Inputs, Sample, Samples, SpectrumClock, TypesError, Voltages};
use ndarray::Array2;

use crate::channelizer::{check_counter, finish, new_output};
use crate::held::{Held, HeldAndChunk};
use crate::{Channelizer, ChannelizerError};

/// Default of the largest coarse delay: 2^24 samples, 9.8 ms at 1.7 GS/s.
const MAX_DELAY: u64 = 1 << 24;
/// Default of the samples that are held beyond need, for delays that grow at a model update.
const MAX_GROWTH: u64 = 1 << 16;

/// A channelizer that takes a stream chunk by chunk and gives the spectra that are complete.
///
/// Output spectra are stamped with multiples of the plan's stride on the absolute sample counter, beginning with the
/// first whose samples exist for every input. The spectrum stamped `t` of an input with delay `d` is that of
/// [`Channelizer`] with the window starting at sample `t - rint(d(t))`, its phase still referred to `t`, turned by
/// [`DelayValue::channel_phase_turns`]: the spectrum of the delayed signal, referred to the middle of the band. Without
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
    plan: Channelizer,
    inputs: Inputs,
    delays: Vec<DelayModel>,
    max_delay: u64,
    max_growth: u64,
    axes: Option<Axes>,
    position: Option<Position>,
    /// What is held of each input.
    held: Vec<Held>,
}

/// What must not change from chunk to chunk.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Axes {
    sample_rate_hz: f64,
    centre_hz: Option<f64>,
}

/// Where the stream is, in absolute samples.
#[derive(Debug, Clone)]
struct Position {
    /// First sample of the stream since it began anew.
    origin: i64,
    /// The sample after the last one taken.
    received: u64,
    /// Stamp of the next spectrum.
    next: u64,
    /// Latest start of a window of each input so far; until there is one, where the first will start.
    furthest: Vec<i64>,
}

/// The spectra that a chunk completes: their delays `[time][input]`, and the position after them.
struct Ready {
    spectra: usize,
    delays: Vec<DelayValue>,
    after: Position,
}

impl ChannelizerStream {
    /// A stream of the given inputs, without delays.
    ///
    /// # Errors
    /// [`TypesError::MemoryLimit`] if the backend's limit does not hold one window of each input and the workspace of one
    /// spectrum.
    pub fn new(backend: &Backend, plan: Channelizer, inputs: Inputs) -> Result<Self, ChannelizerError> {
        let delays = vec![DelayModel::zero(); inputs.len()];
        let window = bytes_of(&plan, plan.window_samples() as u64).saturating_mul(inputs.len() as u64);
        plan.split(backend, 1, inputs.len(), window)?;
        Ok(Self {
            backend: backend.clone(),
            plan,
            inputs,
            delays,
            max_delay: MAX_DELAY,
            max_growth: MAX_GROWTH,
            axes: None,
            position: None,
            held: vec![Held::default(); inputs.len()],
        })
    }

    /// Sets the delay models, one an input.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] for another number of models.
    pub fn with_delays(mut self, delays: Vec<DelayModel>) -> Result<Self, ChannelizerError> {
        if delays.len() != self.inputs.len() {
            let (expected, actual) = (self.inputs.len(), delays.len());
            return Err(
                TypesError::Dimension { array: "delay models", dimension: Dimension::Input, expected, actual }.into()
            );
        }
        self.delays = delays;
        Ok(self)
    }

    /// Sets the largest coarse delay, either way, and by how much the start of a window may fall behind the latest one,
    /// both in samples. They bound what an input holds: a window, a stride, twice the first and once the second.
    ///
    /// The defaults are 2^24 and 2^16. Models whose delay grows by less than a sample a sample never fall behind; the
    /// second number is for steps of the delay at an update.
    pub fn with_delay_limits(mut self, max_delay_samples: u64, max_growth_samples: u64) -> Self {
        // 2^52 samples is the largest delay that a model gives.
        self.max_delay = max_delay_samples.min(1 << 52);
        self.max_growth = max_growth_samples.min(1 << 52);
        self
    }

    /// The plan.
    pub fn plan(&self) -> &Channelizer {
        &self.plan
    }

    /// Inputs of the stream.
    pub fn inputs(&self) -> Inputs {
        self.inputs
    }

    /// The delay models, one an input.
    pub fn delays(&self) -> &[DelayModel] {
        &self.delays
    }

    /// The delay models, to queue updates. Segments that no coming spectrum needs are discarded by
    /// [`ChannelizerStream::push`].
    pub fn delays_mut(&mut self) -> &mut [DelayModel] {
        &mut self.delays
    }

    /// Sample counter that the next chunk starts at if nothing is lost; `None` before the first chunk.
    pub fn expected_sample(&self) -> Option<u64> {
        self.position.as_ref().map(|position| position.received)
    }

    /// Stamp of the next spectrum; `None` before the first chunk.
    pub fn next_spectrum(&self) -> Option<u64> {
        self.position.as_ref().map(|position| position.next)
    }

    /// Bytes of samples that are held for coming spectra.
    pub fn held_bytes(&self) -> u64 {
        self.held.iter().map(Held::bytes).sum()
    }

    /// Forgets all samples: the next chunk begins the stream anew, with any sample counter, rate and centre frequency.
    pub fn reset(&mut self) {
        self.axes = None;
        self.position = None;
        self.held.fill(Held::default());
    }

    /// Takes a chunk and gives the spectra that are complete with it, `None` if there are none.
    ///
    /// # Precision
    /// As [`crate::channelize`]; where a spectrum is turned, `(2 + 2 sqrt 5) 2^-24` of its 2-norm is added.
    ///
    /// # Errors
    /// [`ChannelizerError::Inputs`], [`ChannelizerError::SampleKind`], [`ChannelizerError::Axis`] if rate or centre
    /// changed, [`ChannelizerError::Counter`], [`ChannelizerError::OutOfOrder`] for a chunk that starts before the end of
    /// the last one, [`ChannelizerError::DelayTooLarge`], [`ChannelizerError::DelayJump`], [`TypesError::MemoryLimit`],
    /// [`TypesError::TooLarge`].
    pub fn push<S: Sample>(&mut self, chunk: &Samples<S>) -> Result<Option<Voltages<Complex<f32>>>, ChannelizerError> {
        let axes = self.check(chunk)?;
        if chunk.times() == 0 {
            return Ok(None);
        }
        let span = tracing::debug_span!("channelize chunk", first_sample = chunk.first_sample(), times = chunk.times());
        let _guard = span.enter();
        let (position, anew) = match &self.position {
            Some(position) if chunk.first_sample() == position.received => (position.clone(), false),
            _ => (self.begin(chunk.first_sample())?, true),
        };
        let ready = self.ready(position.clone(), chunk.times())?;
        let keep: Vec<i64> = ready.after.furthest.iter().map(|&start| start - self.max_growth as i64).collect();
        let output = self.spectra(chunk, axes, &position, &ready, &keep, anew)?;
        // Nothing fails from here on.
        for (input, held) in self.held.iter_mut().enumerate() {
            if anew {
                *held = Held::default();
            }
            held.missing.append(chunk.presence(), input, chunk.first_sample() as i64, chunk.times());
            held.take(chunk, input, keep[input]);
        }
        for delay in &mut self.delays {
            delay.discard_before(ready.after.next);
        }
        self.position = Some(ready.after);
        self.axes = Some(axes);
        Ok(output)
    }

    /// The chunk's axes, if it fits the stream.
    fn check<S: Sample>(&self, chunk: &Samples<S>) -> Result<Axes, ChannelizerError> {
        self.plan.check_kind::<S>()?;
        if chunk.inputs() != self.inputs {
            return Err(ChannelizerError::Inputs { expected: self.inputs, actual: chunk.inputs() });
        }
        check_counter(chunk.first_sample(), chunk.times())?;
        let axes = Axes { sample_rate_hz: chunk.sample_rate_hz(), centre_hz: chunk.centre_hz() };
        if let Some(expected) = self.axes {
            let differs = |quantity, expected: String, actual: String| {
                if expected == actual { Ok(()) } else { Err(ChannelizerError::Axis { quantity, expected, actual }) }
            };
            differs("sample rate in Hz", expected.sample_rate_hz.to_string(), axes.sample_rate_hz.to_string())?;
            differs("centre frequency in Hz", format!("{:?}", expected.centre_hz), format!("{:?}", axes.centre_hz))?;
        }
        match self.expected_sample() {
            Some(expected) if chunk.first_sample() < expected => {
                Err(ChannelizerError::OutOfOrder { expected, actual: chunk.first_sample() })
            }
            _ => Ok(axes),
        }
    }

    /// The position of a stream that begins with sample `origin`: the first multiple of the stride at which no input's
    /// window starts before `origin`.
    fn begin(&self, origin: u64) -> Result<Position, ChannelizerError> {
        let stride = self.plan.stride() as u64;
        // No delay is less than -max_delay, so no earlier stamp can do.
        let mut next = origin.saturating_sub(self.max_delay).next_multiple_of(stride);
        loop {
            let delays: Vec<DelayValue> = self.delays.iter().map(|delay| delay.evaluate(next)).collect();
            let starts = delays.iter().map(|delay| next as i64 - delay.coarse);
            let late = starts.clone().map(|start| origin as i64 - start).max().unwrap_or(0);
            if late <= 0 {
                let furthest = starts.collect();
                return Ok(Position { origin: origin as i64, received: origin, next, furthest });
            }
            if next > origin + self.max_delay {
                self.check_delays(next, &delays)?;
            }
            // Half of what is missing, so that delays that change by up to a sample a sample are not overshot.
            next = next.saturating_add((late as u64 / 2 / stride).max(1) * stride);
        }
    }

    /// `Ok` if no delay is larger than allowed.
    fn check_delays(&self, sample: u64, delays: &[DelayValue]) -> Result<(), ChannelizerError> {
        match delays.iter().position(|delay| delay.coarse.unsigned_abs() > self.max_delay) {
            None => Ok(()),
            Some(input) => {
                let (actual, limit) = (delays[input].coarse, self.max_delay);
                Err(ChannelizerError::DelayTooLarge { input, sample, actual, limit })
            }
        }
    }

    /// The spectra that `times` more samples complete.
    fn ready(&self, position: Position, times: usize) -> Result<Ready, ChannelizerError> {
        let window = self.plan.window_samples() as i64;
        let mut ready = Ready { spectra: 0, delays: Vec::new(), after: position };
        ready.after.received += times as u64;
        let end = ready.after.received as i64;
        loop {
            let sample = ready.after.next;
            let from = ready.delays.len();
            ready.delays.extend(self.delays.iter().map(|delay| delay.evaluate(sample)));
            let delays = &ready.delays[from..];
            self.check_delays(sample, delays)?;
            let starts: Vec<i64> = delays.iter().map(|delay| sample as i64 - delay.coarse).collect();
            for (input, (&start, &furthest)) in starts.iter().zip(&ready.after.furthest).enumerate() {
                let earliest = furthest - self.max_growth as i64;
                if start < earliest {
                    return Err(ChannelizerError::DelayJump { input, sample, start, earliest });
                }
            }
            if starts.iter().any(|start| start + window > end) {
                ready.delays.truncate(from);
                return Ok(ready);
            }
            for (furthest, start) in ready.after.furthest.iter_mut().zip(starts) {
                *furthest = start.max(*furthest);
            }
            ready.spectra += 1;
            ready.after.next += self.plan.stride() as u64;
        }
    }

    /// Computes the spectra that a chunk completes.
    fn spectra<S: Sample>(
        &self,
        chunk: &Samples<S>,
        axes: Axes,
        position: &Position,
        ready: &Ready,
        keep: &[i64],
        anew: bool,
    ) -> Result<Option<Voltages<Complex<f32>>>, ChannelizerError> {
        let (inputs, spectra) = (self.inputs.len(), ready.spectra);
        let end = ready.after.received as i64;
        let held_samples = keep.iter().map(|&keep| (end - keep.max(position.origin)).max(0) as u64);
        let held = held_samples.fold(0u64, |sum, samples| sum.saturating_add(bytes_of(&self.plan, samples)));
        let split = self.plan.split(&self.backend, spectra.max(1), inputs, held)?;
        if spectra == 0 {
            return Ok(None);
        }
        let first = chunk.first_sample() as i64;
        let stamp = |time: usize| position.next + (time * self.plan.stride()) as u64;
        let (channels, complex) = (self.plan.channels(), self.plan.is_complex());
        let describe = |time: usize, input: usize| {
            let delay = &ready.delays[time * inputs + input];
            SpectrumInput {
                start: stamp(time) as i64 - delay.coarse - first,
                shift: (stamp(time) % self.plan.step() as u64) as usize,
                rotation: Rotation {
                    turns: delay.channel_phase_turns(0, channels, complex),
                    turns_per_channel: -delay.fine / self.plan.step() as f64,
                },
            }
        };
        let held = self.held.iter().map(|held| if anew { &[][..] } else { held.samples() }).collect();
        let source = HeldAndChunk { held, chunk: ArraySource::new(chunk.data()) };
        let mut data = new_output(channels, spectra, inputs)?;
        self.plan.pfb().channelize(&source, &describe, data.view_mut(), &split);

        let mut presence = Array2::from_elem((spectra, inputs), true);
        for (input, mut presence) in presence.columns_mut().into_iter().enumerate() {
            let mut missing = if anew { Default::default() } else { self.held[input].missing.clone() };
            missing.append(chunk.presence(), input, first, chunk.times());
            for (time, present) in presence.iter_mut().enumerate() {
                let start = describe(time, input).start + first;
                let window = start..start + self.plan.window_samples() as i64;
                *present = start >= position.origin && !missing.any_in(window);
            }
        }
        let clock = SpectrumClock {
            first_sample: position.next,
            samples_between_spectra: self.plan.stride() as u64,
            sample_rate_hz: axes.sample_rate_hz,
        };
        let frequencies = self.plan.frequencies(axes.sample_rate_hz, axes.centre_hz);
        finish(data, self.inputs, frequencies, clock, Some(presence)).map(Some)
    }
}

/// Bytes of samples held as f32.
fn bytes_of(plan: &Channelizer, samples: u64) -> u64 {
    samples.saturating_mul(if plan.is_complex() { 8 } else { 4 })
}
