//! Which spectra a stream of chunks makes of which samples: the one place that knows about delays, gaps, stamps and missing samples.
//!
//! ```text
//! absolute samples    | held from the last chunks | chunk                    |
//! input 0, delay 3        [---- window of spectrum t -----]        starts at t - 3
//! input 1, delay 900  [---- window of spectrum t -----]            starts at t - 900
//! ```
//!
//! [`Timeline::advance`] says what a chunk completes and changes nothing; [`Timeline::commit`] takes it, once that has been computed. Who
//! computes it holds of each input the samples from [`Advance::keep`] on.

use std::ops::RangeInclusive;

use fringes_cpu::pfb::{Rotation, SpectrumInput};
use fringes_delay::{ChannelPhase, DelayModel, DelaySegment, DelayValue};
use fringes_types::{ChunkFormat, Dimension, Inputs, SampleChunk, SamplePresence, TypesError};
use ndarray::{Array2, ArrayViewMut1, Axis};
use rayon::prelude::*;

use crate::channelizer::check_counter;
use crate::presence::MissingSamples;
use crate::{Channelizer, ChannelizerError};

/// Default of the largest coarse delay: 2^24 samples, 9.8 ms at 1.7 GS/s.
const MAX_DELAY: u64 = 1 << 24;
/// Default of the samples that are held beyond need, for delays that grow at a model update.
const MAX_GROWTH: u64 = 1 << 16;

/// Delays from which on threads share the work of evaluating them, and most that are evaluated at once.
const PARALLEL: usize = 1 << 12;
const MOST_AT_ONCE: usize = 1 << 20;

/// Position of a stream, its delays, and what must not change from chunk to chunk.
#[derive(Debug, Clone)]
pub(crate) struct Timeline {
    pub(crate) plan: Channelizer,
    pub(crate) inputs: Inputs,
    pub(crate) delays: Vec<DelayModel>,
    max_delay: u64,
    max_growth: u64,
    /// Whether the caller set these two.
    limits_are_set: bool,
    /// The stream begins with a spectrum stamped with a whole multiple of this, itself one of the stride.
    alignment: u64,
    axes: Option<Axes>,
    position: Option<Position>,
    /// Missing samples of each input that coming windows may hold.
    missing: Vec<MissingSamples>,
}

/// What must not change from chunk to chunk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Axes {
    pub(crate) format: ChunkFormat,
    pub(crate) sample_rate_hz: f64,
    pub(crate) centre_hz: Option<f64>,
}

impl Axes {
    /// `Ok` if they are those that the stream began with.
    pub(crate) fn follow(&self, expected: &Self) -> Result<(), ChannelizerError> {
        let differs = |quantity, expected: String, actual: String| {
            if expected == actual { Ok(()) } else { Err(ChannelizerError::Axis { quantity, expected, actual }) }
        };
        differs("sample format", expected.format.to_string(), self.format.to_string())?;
        differs("sample rate in Hz", expected.sample_rate_hz.to_string(), self.sample_rate_hz.to_string())?;
        differs("centre frequency in Hz", format!("{:?}", expected.centre_hz), format!("{:?}", self.centre_hz))
    }
}

/// What the timeline has to know of a chunk, wherever its samples are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChunkAxes<'a> {
    pub(crate) format: ChunkFormat,
    pub(crate) inputs: Inputs,
    pub(crate) times: usize,
    pub(crate) first_sample: u64,
    pub(crate) sample_rate_hz: f64,
    pub(crate) centre_hz: Option<f64>,
    pub(crate) presence: Option<&'a SamplePresence>,
}

impl<'a> ChunkAxes<'a> {
    /// Those of a chunk in host memory.
    pub(crate) fn of(chunk: &'a dyn SampleChunk) -> Self {
        Self {
            format: chunk.format(),
            inputs: chunk.inputs(),
            times: chunk.times(),
            first_sample: chunk.first_sample(),
            sample_rate_hz: chunk.sample_rate_hz(),
            centre_hz: chunk.centre_hz(),
            presence: chunk.presence(),
        }
    }
}

/// The window of a spectrum and its phases in fixed point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct WindowPlace {
    /// First sample, counted from the chunk's first one.
    pub(crate) start: i64,
    /// Phase of the channels.
    pub(crate) phase: ChannelPhase,
}

/// Where a stream is, in absolute samples.
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

/// The spectra that a chunk completes.
#[derive(Debug)]
pub(crate) struct Advance {
    /// Whether the stream begins anew with this chunk.
    pub(crate) anew: bool,
    pub(crate) axes: Axes,
    /// First sample of the chunk.
    pub(crate) first_sample: i64,
    /// Stamp of the first spectrum.
    pub(crate) first_stamp: u64,
    /// Number of spectra.
    pub(crate) spectra: usize,
    /// Flags `[time][input]`, true where all samples of the window are present.
    pub(crate) present: Array2<bool>,
    /// First sample of each input that is to be held.
    pub(crate) keep: Vec<i64>,
    /// Delays `[time][input]`.
    delays: Vec<DelayValue>,
    missing: Vec<MissingSamples>,
    after: Position,
}

impl Timeline {
    /// Of a stream without delays that begins with a whole multiple of `alignment`.
    pub(crate) fn new(plan: Channelizer, inputs: Inputs, alignment: u64) -> Self {
        Self {
            delays: vec![DelayModel::zero(); inputs.len()],
            missing: vec![MissingSamples::default(); inputs.len()],
            plan,
            inputs,
            max_delay: MAX_DELAY,
            max_growth: MAX_GROWTH,
            limits_are_set: false,
            alignment,
            axes: None,
            position: None,
        }
    }

    /// Sets the delay models, one an input.
    pub(crate) fn set_delays(&mut self, delays: Vec<DelayModel>) -> Result<(), ChannelizerError> {
        if delays.len() != self.inputs.len() {
            let (array, expected, actual) = ("delay models", self.inputs.len(), delays.len());
            return Err(TypesError::Dimension { array, dimension: Dimension::Input, expected, actual }.into());
        }
        self.delays = delays;
        Ok(())
    }

    /// Sets the largest delay and growth; 2^52 samples is the largest delay that a model gives.
    pub(crate) fn set_delay_limits(&mut self, max_delay_samples: u64, max_growth_samples: u64) {
        self.max_delay = max_delay_samples.min(1 << 52);
        self.max_growth = max_growth_samples.min(1 << 52);
        self.limits_are_set = true;
    }

    /// The sample after the last one taken.
    pub(crate) fn expected_sample(&self) -> Option<u64> {
        self.position.as_ref().map(|position| position.received)
    }

    /// Stamp of the next spectrum.
    pub(crate) fn next_stamp(&self) -> Option<u64> {
        self.position.as_ref().map(|position| position.next)
    }

    /// Rate and centre of the stream.
    pub(crate) fn axes(&self) -> Option<Axes> {
        self.axes
    }

    /// Forgets everything but plan, inputs and delays.
    pub(crate) fn reset(&mut self) {
        self.axes = None;
        self.position = None;
        self.missing.fill(MissingSamples::default());
    }

    /// Leaves out the spectra up to the next whole multiple of the alignment, and what only they need.
    pub(crate) fn skip_to_alignment(&mut self) {
        let Some(position) = &mut self.position else { return };
        position.next = position.next.next_multiple_of(self.alignment);
        for (furthest, delay) in position.furthest.iter_mut().zip(&self.delays) {
            let delay = delay.evaluate(position.next);
            if delay.coarse.unsigned_abs() <= self.max_delay {
                *furthest = (position.next as i64 - delay.coarse).max(*furthest);
            }
        }
    }

    /// What a chunk completes; `None` for a chunk without samples.
    pub(crate) fn advance(&self, chunk: &ChunkAxes<'_>) -> Result<Option<Advance>, ChannelizerError> {
        let axes = self.check(chunk)?;
        if chunk.times == 0 {
            return Ok(None);
        }
        let (position, anew) = match &self.position {
            Some(position) if chunk.first_sample == position.received => (position.clone(), false),
            _ => (self.begin(chunk.first_sample)?, true),
        };
        let (first_stamp, origin) = (position.next, position.origin);
        let (spectra, delays, after) = self.ready(position, chunk.times)?;
        let first_sample = chunk.first_sample as i64;
        let mut missing = self.missing.clone();
        let mut present = Array2::from_elem((spectra, self.inputs.len()), true);
        for (input, missing) in missing.iter_mut().enumerate() {
            if anew {
                *missing = MissingSamples::default();
            }
            missing.append(chunk.presence, input, first_sample, chunk.times);
        }
        let (inputs, window) = (self.inputs.len(), self.plan.window_samples() as i64);
        let flags_of = |(time, mut present): (usize, ArrayViewMut1<'_, bool>)| {
            let stamp = (first_stamp + (time * self.plan.stride()) as u64) as i64;
            for ((present, delay), missing) in present.iter_mut().zip(&delays[time * inputs..]).zip(&missing) {
                let start = stamp - delay.coarse;
                *present = start >= origin && !missing.any_in(start..start + window);
            }
        };
        if delays.len() < PARALLEL {
            present.outer_iter_mut().enumerate().for_each(flags_of);
        } else {
            present.axis_iter_mut(Axis(0)).into_par_iter().enumerate().for_each(flags_of);
        }
        let keep: Vec<i64> = after.furthest.iter().map(|&start| start - self.max_growth as i64).collect();
        for (missing, &keep) in missing.iter_mut().zip(&keep) {
            missing.discard_before(keep.min(after.received as i64));
        }
        Ok(Some(Advance { anew, axes, first_sample, first_stamp, spectra, present, keep, delays, missing, after }))
    }

    /// Takes what a chunk completed.
    pub(crate) fn commit(&mut self, advance: Advance) {
        for delay in &mut self.delays {
            delay.discard_before(advance.after.next);
        }
        self.position = Some(advance.after);
        self.axes = Some(advance.axes);
        self.missing = advance.missing;
    }

    /// Samples, phase and position of the window of a spectrum, counted from the chunk's first sample.
    pub(crate) fn spectrum(&self, advance: &Advance, time: usize, input: usize) -> SpectrumInput {
        let delay = &advance.delays[time * self.inputs.len() + input];
        let stamp = advance.first_stamp + (time * self.plan.stride()) as u64;
        SpectrumInput {
            start: stamp as i64 - delay.coarse - advance.first_sample,
            shift: (stamp % self.plan.step() as u64) as usize,
            rotation: Rotation {
                turns: delay.channel_phase_turns(0, self.plan.channels(), self.plan.is_complex()),
                turns_per_channel: -delay.fine / self.plan.step() as f64,
            },
        }
    }

    /// Where a spectrum's window is and how its channels are turned, in fixed point.
    pub(crate) fn window(&self, advance: &Advance, time: usize, input: usize) -> WindowPlace {
        let delay = &advance.delays[time * self.inputs.len() + input];
        let stamp = advance.first_stamp + (time * self.plan.stride()) as u64;
        WindowPlace {
            start: stamp as i64 - delay.coarse - advance.first_sample,
            phase: delay.channel_phase(self.plan.channels(), self.plan.is_complex()),
        }
    }

    /// Samples of each input that the stream holds between chunks, at most.
    ///
    /// An input waits for the one whose window ends last: what is received is less than a window ahead of that one's
    /// next start, the next start of this one is earlier by as much as the delays differ, and its last one a stride
    /// before that. Samples from the growth before that on are held.
    pub(crate) fn history(&self) -> impl Iterator<Item = u64> {
        let ranges: Vec<_> = self.delays.iter().map(|delay| self.range(delay)).collect();
        let least = ranges.iter().map(|range| *range.start()).min().unwrap_or(0);
        let fixed = (self.least_history() - 1).saturating_add(self.max_growth);
        ranges.into_iter().map(move |range| fixed.saturating_add((range.end() - least).unsigned_abs()))
    }

    /// A window and a stride: samples of an input that a stream holds without delays and growth, at most one of them
    /// too many.
    pub(crate) fn least_history(&self) -> u64 {
        (self.plan.window_samples() as u64).saturating_add(self.plan.stride() as u64)
    }

    /// Coarse delays that an input may come to have: all within the limits if the caller set them, else those of the
    /// model if it consists of constants.
    fn range(&self, delay: &DelayModel) -> RangeInclusive<i64> {
        let limit = self.max_delay as i64;
        let constant = |segment: &DelaySegment| segment.delay_samples.iter().skip(1).all(|&higher| higher == 0.0);
        if self.limits_are_set || !delay.segments().all(constant) {
            return -limit..=limit;
        }
        let coarse = delay.segments().map(|segment| delay.evaluate(segment.start_sample).coarse.clamp(-limit, limit));
        let (least, most) = coarse.fold((i64::MAX, i64::MIN), |(least, most), one| (least.min(one), most.max(one)));
        least..=most.max(least)
    }

    /// Samples of each input that are held after a chunk.
    pub(crate) fn held_after(&self, advance: &Advance) -> impl Iterator<Item = u64> {
        let (origin, end) = (advance.after.origin, advance.after.received as i64);
        advance.keep.iter().map(move |&keep| (end - keep.max(origin)).max(0) as u64)
    }

    /// Samples from `first_sample` on that the first spectrum of a stream needs, of which no spectrum was made yet.
    pub(crate) fn samples_for_next(&self, first_sample: u64) -> usize {
        let latest = self.position.iter().flat_map(|position| &position.furthest).max();
        let start = latest.map_or(0, |&start| start - first_sample as i64).max(0) as usize;
        start + self.plan.window_samples()
    }

    /// The chunk's axes, if it fits the stream.
    fn check(&self, chunk: &ChunkAxes<'_>) -> Result<Axes, ChannelizerError> {
        self.plan.check_kind(chunk.format.is_complex())?;
        if chunk.inputs != self.inputs {
            return Err(ChannelizerError::Inputs { expected: self.inputs, actual: chunk.inputs });
        }
        check_counter(chunk.first_sample, chunk.times)?;
        let axes = Axes { format: chunk.format, sample_rate_hz: chunk.sample_rate_hz, centre_hz: chunk.centre_hz };
        if let Some(expected) = &self.axes {
            axes.follow(expected)?;
        }
        match self.expected_sample() {
            Some(expected) if chunk.first_sample < expected => {
                Err(ChannelizerError::OutOfOrder { expected, actual: chunk.first_sample })
            }
            _ => Ok(axes),
        }
    }

    /// The position of a stream that begins with sample `origin`: the first multiple of the alignment, not before that after the last
    /// spectrum, at which no input's window starts before `origin`.
    ///
    /// The delays are asked for at the origin first, and only as far from it as they can matter: polynomials may be
    /// good near the stream alone. Rates of up to half a sample a sample are assumed before the origin.
    fn begin(&self, origin: u64) -> Result<Position, ChannelizerError> {
        let alignment = self.alignment;
        // A stamp before the origin needs delays that are all negative there. The first one is where the largest delay
        // equals the distance from the origin, which is at most twice the largest delay at the origin.
        let latest = self.delays.iter().map(|delay| delay.evaluate(origin).coarse).max().unwrap_or(0);
        let before = latest.min(0).unsigned_abs().saturating_mul(2).min(self.max_delay);
        let earliest = origin.saturating_sub(before).max(self.next_stamp().unwrap_or(0));
        // No delay is larger than this, so that no stream begins later.
        let end = (origin + self.max_delay).next_multiple_of(alignment).max(earliest.next_multiple_of(alignment));
        let mut next = earliest.next_multiple_of(alignment);
        loop {
            let delays: Vec<DelayValue> = self.delays.iter().map(|delay| delay.evaluate(next)).collect();
            let starts = delays.iter().map(|delay| next as i64 - delay.coarse);
            let late = starts.clone().map(|start| origin as i64 - start).max().unwrap_or(0);
            if late <= 0 {
                let furthest = starts.collect();
                return Ok(Position { origin: origin as i64, received: origin, next, furthest });
            }
            if next >= end {
                let at_origin: Vec<DelayValue> = self.delays.iter().map(|delay| delay.evaluate(origin)).collect();
                self.check_delays(origin, &at_origin)?;
                self.check_delays(next, &delays)?;
            }
            // Half of what is missing, so that delays that change by up to a sample a sample are not overshot.
            let step = (late as u64 / 2 / alignment).max(1).saturating_mul(alignment);
            next = next.saturating_add(step).min(end.max(next + alignment));
        }
    }

    /// `Ok` if no delay is larger than allowed.
    fn check_delays(&self, sample: u64, delays: &[DelayValue]) -> Result<(), ChannelizerError> {
        match delays.iter().position(|delay| delay.coarse.unsigned_abs() > self.max_delay) {
            None => Ok(()),
            Some(input) => {
                let (actual, limit) = (self.delays[input].delay_samples(sample), self.max_delay);
                Err(ChannelizerError::DelayTooLarge { input, sample, actual, limit })
            }
        }
    }

    /// The spectra that `times` more samples complete: how many, their delays `[time][input]`, and the position after them.
    fn ready(
        &self,
        mut position: Position,
        times: usize,
    ) -> Result<(usize, Vec<DelayValue>, Position), ChannelizerError> {
        let window = self.plan.window_samples() as i64;
        let (mut spectra, mut all) = (0, Vec::new());
        position.received += times as u64;
        let inputs = self.inputs.len().max(1);
        loop {
            // Delays of some spectra at once, of which those that the samples do not complete are dropped: by the delays of now, about as
            // many as will be.
            let (first, from, stride) = (position.next, all.len(), self.plan.stride() as u64);
            let latest = position.furthest.iter().max().map_or(0, |&start| start.max(0));
            let left = (position.received as i64).saturating_sub(latest.saturating_add(window)).max(0) as u64 / stride;
            let stamps = (left as usize).saturating_add(1).min(MOST_AT_ONCE.div_ceil(inputs));
            let evaluate = |place: usize| {
                let stamp = first.saturating_add((place / inputs) as u64 * stride);
                self.delays[place % inputs].evaluate(stamp)
            };
            if stamps * inputs < PARALLEL {
                all.extend((0..stamps * inputs).map(evaluate));
            } else {
                all.par_extend((0..stamps * inputs).into_par_iter().map(evaluate));
            }
            for stamp in 0..stamps {
                let (sample, from) = (position.next, from + stamp * inputs);
                let delays = &all[from..from + inputs];
                self.check_delays(sample, delays)?;
                let starts = delays.iter().map(|delay| sample as i64 - delay.coarse);
                for (input, (start, &furthest)) in starts.clone().zip(&position.furthest).enumerate() {
                    let earliest = furthest - self.max_growth as i64;
                    if start < earliest {
                        return Err(ChannelizerError::DelayJump { input, sample, start, earliest });
                    }
                }
                if starts.clone().any(|start| start + window > position.received as i64) {
                    all.truncate(from);
                    return Ok((spectra, all, position));
                }
                for (furthest, start) in position.furthest.iter_mut().zip(starts) {
                    *furthest = start.max(*furthest);
                }
                spectra += 1;
                position.next += stride;
            }
        }
    }
}
