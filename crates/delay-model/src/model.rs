//! The delay of one input over all time: segments in order of their start.

use std::num::NonZeroU64;

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
///
/// # Decimated streams
/// [`DelayModel::decimated`] is the same delay for a stream of every `S`-th sample. Its times and delays are in samples
/// of that stream; its segments stay in samples of the first one.
#[derive(Debug, Clone, PartialEq)]
pub struct DelayModel {
    /// Never empty; starts strictly ascending.
    segments: Vec<Prepared>,
    /// Samples of the segments' clock in one of the model's.
    decimation: NonZeroU64,
}

impl Default for DelayModel {
    fn default() -> Self {
        Self::zero()
    }
}

impl DelayModel {
    /// No delay and no phase, from sample 0.
    pub fn zero() -> Self {
        Self { segments: vec![Prepared::default()], decimation: NonZeroU64::MIN }
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
        Ok(Self { segments: vec![Prepared::new(segment)?], decimation: NonZeroU64::MIN })
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

    /// This delay for the stream that has every `decimation`-th sample, `S`, of this model's stream: sample `t'` of it
    /// is sample `S t'` here, so that
    ///
    /// ```text
    /// d'(t') = d(S t') / S        phase'(t') = phase(S t')
    /// ```
    ///
    /// Both are evaluated as they stand, with no polynomial expanded anew. Segments stay in samples of this model's
    /// stream, those that are queued later as well; one that starts between two samples of the decimated stream holds
    /// from the later one on.
    ///
    /// # Precision
    /// The delay is off by what this model's is, over `S`, and one rounding to f64. The phase is this model's, bit for
    /// bit.
    ///
    /// ```
    /// use fringes_delay_model::{DelayModel, DelaySegment};
    ///
    /// // After 1e14 samples, 100 samples of delay that grow by 1e-3 a sample, for every eighth sample.
    /// let wide = DelayModel::from_segment(DelaySegment::new(100_000_000_000_000, vec![100.0, 1e-3]))?;
    /// let narrow = wide.decimated(8.try_into()?);
    /// let value = narrow.evaluate(12_500_000_000_000 + 125);
    /// assert_eq!((value.coarse, value.fine), (13, -0.375));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decimated(&self, decimation: NonZeroU64) -> Self {
        Self { segments: self.segments.clone(), decimation: self.decimation.saturating_mul(decimation) }
    }

    /// Samples of the segments' clock in one of the model's: 1 unless it was [decimated](DelayModel::decimated).
    pub fn decimation(&self) -> NonZeroU64 {
        self.decimation
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

    /// Start of the last queued segment, on the segments' clock.
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
        self.segments.get(self.index_at(sample)).map_or(0.0, |segment| self.at(segment, sample).0)
    }

    /// The value of segment `index`, which the caller has found to hold at `sample`.
    pub(crate) fn value_of(&self, index: usize, sample: u64) -> DelayValue {
        let (delay, phase) = self.segments.get(index).map_or((0.0, 0), |segment| self.at(segment, sample));
        DelayValue::new(delay, phase)
    }

    /// Delay and phase of a segment.
    fn at(&self, segment: &Prepared, sample: u64) -> (f64, u64) {
        let (delay, phase) = segment.at(self.time(sample));
        (delay / self.decimation.get() as f64, phase)
    }

    /// A sample of the model's clock on that of the segments.
    pub(crate) fn time(&self, sample: u64) -> u64 {
        sample.saturating_mul(self.decimation.get())
    }

    /// The segment of an index.
    pub(crate) fn prepared(&self, index: usize) -> Option<&Prepared> {
        self.segments.get(index)
    }

    /// Index of the segment that holds at `sample`.
    pub(crate) fn index_at(&self, sample: u64) -> usize {
        let time = self.time(sample);
        self.segments.partition_point(|prepared| prepared.segment.start_sample <= time).saturating_sub(1)
    }

    /// The first sample that the segment after `index` holds at, if there is one.
    pub(crate) fn start_after(&self, index: usize) -> Option<u64> {
        self.segments.get(index + 1).map(|prepared| prepared.segment.start_sample.div_ceil(self.decimation.get()))
    }
}
