//! The delay of one input over all time: segments in order of their start.

use crate::segment::Prepared;
use crate::{DelayModelError, DelaySegment, DelayValue};

/// Piecewise polynomial delay and phase of one input, with updates queued ahead of time.
///
/// At output sample `t` the segment with the last `start_sample <= t` holds. Before the first segment, the first
/// segment's polynomials are evaluated backwards in time; a model that shall be 0 there is [`DelayModel::zero`] with
/// the segment pushed onto it. `d(t)` is the delay of the sample that comes *out* at time `t`.
///
/// # Precision
/// `t - start_sample` is an integer difference, taken before anything becomes f64, so the counter's size costs nothing.
/// With `n = t - start_sample` and delay coefficients `c_i`, the delay is off by at most
/// `(2 degree + 1) 2^-53 sum_i |c_i n^i|` samples. The phase of a segment without higher terms is off by at most
/// `(n + 1) 2^-65 + 2^-54` turns: 2.8e-6 turns after 1e14 samples, and none of it where the f64 rate is a multiple of
/// 2^-64. Higher terms of the phase add `(2 degree + 1) 2^-53` of their size. Delays are clamped to +-2^52 samples.
#[derive(Debug, Clone, PartialEq)]
pub struct DelayModel {
    /// Never empty; starts strictly ascending.
    segments: Vec<Prepared>,
}

impl Default for DelayModel {
    fn default() -> Self {
        Self::zero()
    }
}

impl DelayModel {
    /// No delay and no phase, from sample 0.
    pub fn zero() -> Self {
        Self { segments: vec![Prepared::default()] }
    }

    /// A delay in samples and a phase in turns that do not change.
    ///
    /// # Errors
    /// [`DelayModelError::NotFinite`].
    pub fn constant(delay_samples: f64, phase_turns: f64) -> Result<Self, DelayModelError> {
        Self::from_segment(DelaySegment::new(0, vec![delay_samples]).with_phase(phase_turns, 0.0))
    }

    /// A model of one segment, which also holds before its start.
    ///
    /// # Errors
    /// As [`DelaySegment::check`].
    pub fn from_segment(segment: DelaySegment) -> Result<Self, DelayModelError> {
        Ok(Self { segments: vec![Prepared::new(segment)?] })
    }

    /// A model of several segments in order of their start.
    ///
    /// # Errors
    /// As [`DelayModel::push`]. No segments give [`DelayModel::zero`].
    pub fn from_segments(segments: impl IntoIterator<Item = DelaySegment>) -> Result<Self, DelayModelError> {
        let mut segments = segments.into_iter();
        let Some(first) = segments.next() else { return Ok(Self::zero()) };
        let mut model = Self::from_segment(first)?;
        for segment in segments {
            model.push(segment)?;
        }
        Ok(model)
    }

    /// Queues a segment. One with the start of the last queued segment replaces it.
    ///
    /// # Errors
    /// As [`DelaySegment::check`]; [`DelayModelError::OutOfOrder`] if it starts before the last queued segment (then
    /// [`DelayModel::replace_from`] may be meant). The model is unchanged on error.
    pub fn push(&mut self, segment: DelaySegment) -> Result<(), DelayModelError> {
        let last_start_sample = self.last_start();
        if segment.start_sample < last_start_sample {
            return Err(DelayModelError::OutOfOrder { start_sample: segment.start_sample, last_start_sample });
        }
        self.replace_from(segment)
    }

    /// Queues a segment that supersedes every queued segment with the same or a later start.
    ///
    /// # Errors
    /// As [`DelaySegment::check`]. The model is unchanged on error.
    pub fn replace_from(&mut self, segment: DelaySegment) -> Result<(), DelayModelError> {
        let prepared = Prepared::new(segment)?;
        let start = prepared.segment.start_sample;
        let keep = self.segments.partition_point(|queued| queued.segment.start_sample < start);
        self.segments.truncate(keep);
        self.segments.push(prepared);
        Ok(())
    }

    /// Forgets the segments that no sample from `sample` on needs. At least one remains. Evaluation before `sample`
    /// then uses the first that remains.
    pub fn discard_before(&mut self, sample: u64) {
        let holding = self.index_at(sample);
        self.segments.drain(..holding);
    }

    /// The queued segments in order of their start.
    pub fn segments(&self) -> impl ExactSizeIterator<Item = &DelaySegment> {
        self.segments.iter().map(|prepared| &prepared.segment)
    }

    /// Start of the last queued segment.
    pub fn last_start(&self) -> u64 {
        self.segments.last().map_or(0, |prepared| prepared.segment.start_sample)
    }

    /// Delay and phase of the sample that comes out at time `sample`.
    pub fn evaluate(&self, sample: u64) -> DelayValue {
        self.value_of(self.index_at(sample), sample)
    }

    /// The delay in samples as the polynomials give it at time `sample`, where [`DelayModel::evaluate`] clamps it to
    /// +-2^52: for limits and messages.
    pub fn delay_samples(&self, sample: u64) -> f64 {
        self.segments.get(self.index_at(sample)).map_or(0.0, |segment| segment.at(sample).0)
    }

    /// The value of segment `index`, which the caller has found to hold at `sample`.
    pub(crate) fn value_of(&self, index: usize, sample: u64) -> DelayValue {
        let (delay, phase) = self.segments.get(index).map_or((0.0, 0), |segment| segment.at(sample));
        DelayValue::new(delay, phase)
    }

    /// The segment of an index.
    pub(crate) fn prepared(&self, index: usize) -> Option<&Prepared> {
        self.segments.get(index)
    }

    /// Index of the segment that holds at `sample`.
    pub(crate) fn index_at(&self, sample: u64) -> usize {
        self.segments.partition_point(|prepared| prepared.segment.start_sample <= sample).saturating_sub(1)
    }

    /// Start of the segment after `index`, if there is one.
    pub(crate) fn start_after(&self, index: usize) -> Option<u64> {
        self.segments.get(index + 1).map(|prepared| prepared.segment.start_sample)
    }
}
