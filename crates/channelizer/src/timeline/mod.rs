//! Which spectra a stream of chunks makes of which samples: the one place that knows about delays, gaps, stamps and
//! missing samples.
//!
//! ```text
//! absolute samples    | held from the last chunks | chunk                    |
//! input 0, delay 3        [---- window of spectrum t -----]        starts at t - 3
//! input 1, delay 900  [---- window of spectrum t -----]            starts at t - 900
//! ```
//!
//! [`Timeline::advance`] says what a chunk completes and changes nothing; [`Timeline::commit`] takes it, once that has
//! been computed. Who computes it holds of each input the samples from [`Advance::keep`] on.

mod ready;
mod together;

pub use together::Together;

use std::ops::{Range, RangeInclusive};

use fringes_cpu::pfb::{Rotation, SpectrumInput};
use fringes_delay_model::{DelayModel, DelaySegment, DelayValue, Section};
use fringes_types::{ChunkFormat, Dimension, Inputs, SampleChunk, SamplePresence, TypesError};
use ndarray::{Array2, s};

use crate::channelizer::check_counter;
use crate::presence::MissingSamples;
use crate::{Channelizer, ChannelizerError};

/// Default of the largest coarse delay: 2^24 samples, 9.8 ms at 1.7 GS/s.
const MAX_DELAY: u64 = 1 << 24;
/// Default of the samples that are held beyond need, for delays that grow at a model update.
const MAX_GROWTH: u64 = 1 << 16;

/// Position of a stream, its delays, and what must not change from chunk to chunk.
#[derive(Debug, Clone)]
pub struct Timeline {
    /// The plan.
    pub plan: Channelizer,
    /// Inputs of the stream.
    pub inputs: Inputs,
    /// Delay models, one an input.
    pub delays: Vec<DelayModel>,
    max_delay: u64,
    max_growth: u64,
    /// Whether the caller set these two.
    limits_are_set: bool,
    /// The stream begins with a spectrum stamped with a whole multiple of this, itself one of the stride.
    alignment: u64,
    /// Spectra that are taken together.
    together: Together,
    axes: Option<Axes>,
    position: Option<Position>,
    /// Missing samples of each input that coming windows may hold.
    missing: Vec<MissingSamples>,
}

/// What must not change from chunk to chunk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Axes {
    /// Format of the samples.
    pub format: ChunkFormat,
    /// Samples a second.
    pub sample_rate_hz: f64,
    /// Sky frequency of the middle of the band.
    pub centre_hz: Option<f64>,
}

impl Axes {
    /// `Ok` if they are those that the stream began with.
    pub fn follow(&self, expected: &Self) -> Result<(), ChannelizerError> {
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
pub struct ChunkAxes<'a> {
    /// Format of the samples.
    pub format: ChunkFormat,
    /// Inputs of the chunk.
    pub inputs: Inputs,
    /// Samples of an input.
    pub times: usize,
    /// Counter of the first sample.
    pub first_sample: u64,
    /// Samples a second.
    pub sample_rate_hz: f64,
    /// Sky frequency of the middle of the band.
    pub centre_hz: Option<f64>,
    /// Flags of the samples; all are present without.
    pub presence: Option<&'a SamplePresence>,
}

impl<'a> ChunkAxes<'a> {
    /// Those of a chunk in host memory.
    pub fn of(chunk: &'a dyn SampleChunk) -> Self {
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
#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowPlace {
    /// First sample, counted from the chunk's first one.
    pub start: i64,
    /// Phase of the channels.
    pub phase: fringes_delay_model::ChannelPhase,
}

/// Where a stream is, in absolute samples.
#[derive(Debug, Clone)]
struct Position {
    /// First sample of the stream since it began anew.
    origin: i64,
    /// First sample that a window may begin with: that, or the first one of another centre.
    whole: i64,
    /// The sample after the last one taken.
    received: u64,
    /// Stamp of the next spectrum.
    next: u64,
    /// Latest start of a window of each input so far; until there is one, where the first will start.
    furthest: Vec<i64>,
}

/// The spectra that a chunk completes.
#[derive(Debug)]
pub struct Advance {
    /// Whether the stream begins anew with this chunk.
    pub anew: bool,
    /// Axes of the chunk.
    pub axes: Axes,
    /// First sample of the chunk.
    pub first_sample: i64,
    /// Stamp of the first spectrum.
    pub first_stamp: u64,
    /// Number of spectra.
    pub spectra: usize,
    /// Flags `[time][input]`, true where all samples of the window are present; `None` where all of them are: so many
    /// flags would take longer to write than what else is known of a chunk.
    pub present: Option<Array2<bool>>,
    /// First sample of each input that is to be held.
    pub keep: Vec<i64>,
    /// Sections of one coarse delay, of each input.
    pub sections: Vec<Vec<Section>>,
    missing: Vec<MissingSamples>,
    after: Position,
}

impl Advance {
    /// Whether all samples of all windows are present.
    pub fn is_complete(&self) -> bool {
        self.present.is_none()
    }

    /// Flags `[time][input]`, wherever they lie.
    pub fn flags(&self) -> Array2<bool> {
        let all = || Array2::from_elem((self.spectra, self.sections.len()), true);
        self.present.clone().unwrap_or_else(all)
    }
}

impl Timeline {
    /// Of a stream without delays that begins with a whole multiple of `alignment`.
    pub fn new(plan: Channelizer, inputs: Inputs, alignment: u64) -> Self {
        Self {
            delays: vec![DelayModel::zero(); inputs.len()],
            missing: vec![MissingSamples::default(); inputs.len()],
            plan,
            inputs,
            max_delay: MAX_DELAY,
            max_growth: MAX_GROWTH,
            limits_are_set: false,
            alignment,
            together: Together::SINGLE,
            axes: None,
            position: None,
        }
    }

    /// Sets the delay models, one an input.
    pub fn set_delays(&mut self, delays: Vec<DelayModel>) -> Result<(), ChannelizerError> {
        if delays.len() != self.inputs.len() {
            let (array, expected, actual) = ("delay models", self.inputs.len(), delays.len());
            return Err(TypesError::Dimension { array, dimension: Dimension::Input, expected, actual }.into());
        }
        self.delays = delays;
        Ok(())
    }

    /// Sets the largest delay and growth; 2^52 samples is the largest delay that a model gives.
    pub fn set_delay_limits(&mut self, max_delay_samples: u64, max_growth_samples: u64) {
        self.max_delay = max_delay_samples.min(1 << 52);
        self.max_growth = max_growth_samples.min(1 << 52);
        self.limits_are_set = true;
    }

    /// Takes spectra together.
    pub fn take_together(&mut self, together: Together) {
        self.together = together;
    }

    /// The sample after the last one taken.
    pub fn expected_sample(&self) -> Option<u64> {
        self.position.as_ref().map(|position| position.received)
    }

    /// Stamp of the next spectrum.
    pub fn next_stamp(&self) -> Option<u64> {
        self.position.as_ref().map(|position| position.next)
    }

    /// Rate and centre of the stream.
    pub fn axes(&self) -> Option<Axes> {
        self.axes
    }

    /// Forgets everything but plan, inputs and delays.
    pub fn reset(&mut self) {
        self.axes = None;
        self.position = None;
        self.missing.fill(MissingSamples::default());
    }

    /// Leaves out the spectra up to the next whole multiple of the alignment, and what only they need.
    pub fn skip_to_alignment(&mut self) {
        self.skip(0);
    }

    /// Leaves out the spectra up to the next whole multiple of the alignment that is not before sample `least`.
    fn skip(&mut self, least: u64) {
        let Some(position) = &mut self.position else { return };
        position.next = position.next.max(least).next_multiple_of(self.alignment);
        for (furthest, delay) in position.furthest.iter_mut().zip(&self.delays) {
            let delay = delay.evaluate(position.next);
            if delay.coarse.unsigned_abs() <= self.max_delay {
                *furthest = (position.next as i64 - delay.coarse).max(*furthest);
            }
        }
    }

    /// Has the samples from `first` on, of which none was taken, with another centre. Spectra stamped before it that
    /// are not made are left out, and later ones whose windows begin before it are absent: none has samples of both.
    pub fn change_centre(&mut self, first: u64, centre_hz: Option<f64>) {
        if let Some(axes) = &mut self.axes {
            axes.centre_hz = centre_hz;
        }
        self.skip(first);
        if let Some(position) = &mut self.position {
            position.whole = position.whole.max(first as i64);
        }
    }

    /// `Ok` if chunks can be taken one after another, each behind a frame that is closed and a change of the centre at
    /// a sample, if there is one.
    pub fn check_chunks<'a>(
        &self,
        chunks: impl IntoIterator<Item = (Option<u64>, ChunkAxes<'a>)>,
    ) -> Result<(), ChannelizerError> {
        let chunks: Vec<_> = chunks.into_iter().collect();
        if let [(None, chunk)] = &chunks[..] {
            // Without a copy of the whole.
            return if self.check_gap(chunk)? { Ok(()) } else { self.advance(chunk).map(drop) };
        }
        let mut after = self.clone();
        for (change, chunk) in chunks {
            if let Some(first) = change {
                after.close()?;
                after.change_centre(first, chunk.centre_hz);
            }
            if after.check_gap(&chunk)? {
                after.close()?;
            }
            if let Some(advance) = after.advance(&chunk)? {
                after.commit(advance);
            }
        }
        Ok(())
    }

    /// Takes what was left for a later chunk, and goes on with the next whole multiple of the alignment.
    fn close(&mut self) -> Result<(), ChannelizerError> {
        if let Some(rest) = self.advance_rest()? {
            self.commit(rest);
        }
        self.skip_to_alignment();
        Ok(())
    }

    /// What a chunk completes; `None` for a chunk without samples.
    pub fn advance(&self, chunk: &ChunkAxes<'_>) -> Result<Option<Advance>, ChannelizerError> {
        let axes = self.check(chunk)?;
        if chunk.times == 0 {
            return Ok(None);
        }
        let (position, anew) = match &self.position {
            Some(position) if chunk.first_sample == position.received => (position.clone(), false),
            _ => (self.begin(chunk.first_sample)?, true),
        };
        self.complete(chunk.first_sample, (chunk.times, chunk.presence), (position, anew), axes, true).map(Some)
    }

    /// What the samples taken so far complete that was left for a later chunk; `None` before the first chunk.
    pub fn advance_rest(&self) -> Result<Option<Advance>, ChannelizerError> {
        let (Some(position), Some(axes)) = (self.position.clone(), self.axes) else { return Ok(None) };
        self.complete(position.received, (0, None), (position, false), axes, false).map(Some)
    }

    /// Whether a chunk comes after a gap; an error if what begins with it would be one.
    pub fn check_gap(&self, chunk: &ChunkAxes<'_>) -> Result<bool, ChannelizerError> {
        self.check(chunk)?;
        let gap = self.expected_sample().is_some_and(|expected| chunk.times > 0 && chunk.first_sample > expected);
        if !gap {
            return Ok(false);
        }
        let mut after = self.clone();
        after.close()?;
        after.advance(chunk)?;
        Ok(true)
    }

    /// What samples complete, from a position on.
    fn complete(
        &self,
        first_sample: u64,
        (times, presence): (usize, Option<&SamplePresence>),
        (position, anew): (Position, bool),
        axes: Axes,
        together: bool,
    ) -> Result<Advance, ChannelizerError> {
        let (first_stamp, whole) = (position.next, position.whole);
        let (spectra, sections, after) = self.ready(position, times, together)?;
        let first_sample = first_sample as i64;
        let mut missing = self.missing.clone();
        let mut present: Option<Array2<bool>> = None;
        for (input, (missing, sections)) in missing.iter_mut().zip(&sections).enumerate() {
            if anew {
                *missing = MissingSamples::default();
            }
            missing.append(presence, input, first_sample, times);
            for absent in self.absent(first_stamp, whole, missing, sections).filter(|absent| !absent.is_empty()) {
                let flags = present.get_or_insert_with(|| Array2::from_elem((spectra, self.inputs.len()), true));
                flags.slice_mut(s![absent, input]).fill(false);
            }
        }
        let keep: Vec<i64> = after.furthest.iter().map(|&start| start - self.max_growth as i64).collect();
        for (missing, &keep) in missing.iter_mut().zip(&keep) {
            missing.discard_before(keep.min(after.received as i64));
        }
        let (anew, first_sample) = (anew, first_sample);
        Ok(Advance { anew, axes, first_sample, first_stamp, spectra, present, keep, sections, missing, after })
    }

    /// The spectra of an input whose windows begin before a sample or have one that is missing.
    fn absent<'a>(
        &'a self,
        first_stamp: u64,
        whole: i64,
        missing: &'a MissingSamples,
        sections: &'a [Section],
    ) -> impl Iterator<Item = Range<usize>> + 'a {
        let (window, stride) = (self.plan.window_samples() as i64, self.plan.stride() as i64);
        sections.iter().flat_map(move |section| {
            // The window of spectrum `m` begins at `start + m stride`.
            let (start, spectra) = (first_stamp as i64 - section.coarse, section.spectra.clone());
            // Spectra whose windows begin before a sample: those below this number.
            let before = move |sample: i64| {
                let above = sample.saturating_sub(start);
                let number = above.max(0).unsigned_abs().div_ceil(stride.unsigned_abs().max(1));
                usize::try_from(number).unwrap_or(usize::MAX).clamp(spectra.start, spectra.end)
            };
            let first = section.spectra.start;
            let last = start + (section.spectra.end as i64 - 1) * stride;
            let begin = before(whole);
            let hit = missing.between(start + first as i64 * stride, last + window);
            std::iter::once(first..begin).chain(hit.map(move |gap| before(gap.start - window + 1)..before(gap.end)))
        })
    }

    /// Takes what a chunk completed.
    pub fn commit(&mut self, advance: Advance) {
        for delay in &mut self.delays {
            delay.discard_before(advance.after.next);
        }
        self.position = Some(advance.after);
        self.axes = Some(advance.axes);
        self.missing = advance.missing;
    }

    /// Samples, phase and position of the window of a spectrum, counted from the chunk's first sample.
    pub fn spectrum(&self, advance: &Advance, time: usize, input: usize) -> SpectrumInput {
        let stamp = advance.first_stamp + (time * self.plan.stride()) as u64;
        let delay = self.delays[input].evaluate(stamp);
        SpectrumInput {
            start: stamp as i64 - delay.coarse - advance.first_sample,
            shift: (stamp % self.plan.step() as u64) as usize,
            rotation: Rotation {
                turns: delay.channel_phase_turns(0, self.plan.channels(), self.plan.is_complex()),
                turns_per_channel: -delay.fine / self.plan.step() as f64,
            },
        }
    }

    /// Where a spectrum's window is and how its channels are turned, in fixed point: what jobs are held to.
    #[cfg(test)]
    pub fn window(&self, advance: &Advance, time: usize, input: usize) -> WindowPlace {
        let stamp = advance.first_stamp + (time * self.plan.stride()) as u64;
        let delay = self.delays[input].evaluate(stamp);
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
    pub fn history(&self) -> impl Iterator<Item = u64> {
        let ranges: Vec<_> = self.delays.iter().map(|delay| self.range(delay)).collect();
        let least = ranges.iter().map(|range| *range.start()).min().unwrap_or(0);
        let fixed = (self.least_history() - 1).saturating_add(self.max_growth);
        ranges.into_iter().map(move |range| fixed.saturating_add((range.end() - least).unsigned_abs()))
    }

    /// A window and a stride, and what is left for a later chunk: samples of an input that a stream holds without
    /// delays and growth, at most one of them too many.
    pub fn least_history(&self) -> u64 {
        let later = (self.together.part.max(1) as u64 - 1).saturating_mul(self.plan.stride() as u64);
        (self.plan.window_samples() as u64).saturating_add(self.plan.stride() as u64).saturating_add(later)
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

    /// Spectra that will be made of a chunk of `times` samples after what was advanced to, if no delay changes.
    pub fn spectra_after(&self, advance: &Advance, times: usize) -> usize {
        let (after, stride) = (&advance.after, self.plan.stride() as i64);
        let start = after.furthest.iter().max().map_or(0, |&start| start.saturating_add(stride));
        let end = (after.received as i64).saturating_add(times as i64);
        let left = end.saturating_sub(start.saturating_add(self.plan.window_samples() as i64));
        let ready = if left < 0 { 0 } else { left / stride + 1 };
        self.together.of(after.next / stride.unsigned_abs(), usize::try_from(ready).unwrap_or(0))
    }

    /// Samples of each input that are held after a chunk.
    pub fn held_after(&self, advance: &Advance) -> impl Iterator<Item = u64> {
        let (origin, end) = (advance.after.origin, advance.after.received as i64);
        advance.keep.iter().map(move |&keep| (end - keep.max(origin)).max(0) as u64)
    }

    /// Samples from `first_sample` on that the first spectrum of a stream needs, of which no spectrum was made yet.
    pub fn samples_for_next(&self, first_sample: u64) -> usize {
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

    /// The position of a stream that begins with sample `origin`: the first multiple of the alignment, not before that
    /// after the last spectrum, at which no input's window starts before `origin`.
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
                let (received, origin) = (origin, origin as i64);
                return Ok(Position { origin, whole: origin, received, next, furthest });
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
}

#[cfg(test)]
mod tests;
