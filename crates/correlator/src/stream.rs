//! Where a stream is, and where its dumps end: chunks in, one call at the end of every dump.

use std::marker::PhantomData;
use std::ops::Range;

use fringes_types::{ChannelMask, Frequencies, SpectrumClock, VoltageSample};

use crate::chunk::{Description, Layout};
use crate::correlator::{check_axes, check_shape};
use crate::selection::Times;
use crate::{Chunk, Correlator, CorrelatorError, DumpSchedule};

/// Empty dumps that a gap may make unless something else is said.
pub(crate) const LONGEST_GAP: u64 = 64;

/// What a stream's spectra go to.
pub(crate) trait Sink<V: VoltageSample> {
    /// A correlator of the same inputs and channels.
    fn correlator(&self) -> &Correlator<V>;

    /// Spectra covered since the last dump.
    fn spectra(&self) -> u64;

    /// Whether spectra of a chunk can be added; nothing is changed.
    fn check(
        &self,
        chunk: &impl Chunk<V>,
        times: Range<usize>,
        first: u64,
        mask: Option<&ChannelMask>,
    ) -> Result<(), CorrelatorError>;

    /// Adds spectra of a chunk, of which the first is spectrum `first` of the stream.
    fn add(
        &mut self,
        chunk: &impl Chunk<V>,
        times: Range<usize>,
        first: u64,
        mask: Option<&ChannelMask>,
    ) -> Result<(), CorrelatorError>;

    /// Covers spectra that never came, from spectrum `first` of the stream on.
    fn skip(&mut self, spectra: u64, first: u64) -> Result<(), CorrelatorError>;

    /// Sets the axes of the integration.
    fn set_axes(&mut self, frequencies: Frequencies, clock: SpectrumClock);
}

impl<V: VoltageSample> Sink<V> for Correlator<V> {
    fn correlator(&self) -> &Correlator<V> {
        self
    }

    fn spectra(&self) -> u64 {
        Correlator::spectra(self)
    }

    fn check(
        &self,
        chunk: &impl Chunk<V>,
        times: Range<usize>,
        _: u64,
        mask: Option<&ChannelMask>,
    ) -> Result<(), CorrelatorError> {
        // Without a mask there is nothing that the stream has not looked at.
        if mask.is_some() {
            self.check_selection(chunk, &Times::Range(times), mask)?;
        }
        Ok(())
    }

    fn add(
        &mut self,
        chunk: &impl Chunk<V>,
        times: Range<usize>,
        _: u64,
        mask: Option<&ChannelMask>,
    ) -> Result<(), CorrelatorError> {
        Correlator::add(self, chunk, &Times::Range(times), mask)
    }

    fn skip(&mut self, spectra: u64, _: u64) -> Result<(), CorrelatorError> {
        Correlator::skip(self, spectra)
    }

    fn set_axes(&mut self, frequencies: Frequencies, clock: SpectrumClock) {
        Correlator::set_axes(self, frequencies, clock);
    }
}

/// A correlator that is told, at the end of every dump of a schedule, to give its sums away.
#[derive(Debug)]
pub(crate) struct DumpStream<V: VoltageSample, C: Sink<V> = Correlator<V>> {
    pub(crate) correlator: C,
    sample: PhantomData<fn() -> V>,
    /// Which spectra are correlated into one sum.
    schedule: DumpSchedule,
    /// Whose empty dumps a gap is measured by: a whole multiple of `schedule`.
    gap_schedule: DumpSchedule,
    longest_gap: u64,
    place: Option<Place>,
}

/// Where the stream is.
#[derive(Debug, Clone, Copy)]
struct Place {
    frequencies: Frequencies,
    clock: SpectrumClock,
    /// Stamp of the next spectrum; may be just past the end of the 64-bit counter.
    next: u128,
}

impl<V: VoltageSample, C: Sink<V>> DumpStream<V, C> {
    pub(crate) fn new(correlator: C, schedule: DumpSchedule, gap_schedule: DumpSchedule) -> Self {
        let sample = PhantomData;
        Self { correlator, sample, schedule, gap_schedule, longest_gap: LONGEST_GAP, place: None }
    }

    pub(crate) fn set_longest_gap(&mut self, empty_dumps: u64) {
        self.longest_gap = empty_dumps;
    }

    /// The schedule that the correlator's sums are of.
    pub(crate) fn schedule(&self) -> DumpSchedule {
        self.schedule
    }

    /// Stamp that the next spectrum must have at least, `None` before the first chunk (and at the counter's end).
    pub(crate) fn next_sample(&self) -> Option<u64> {
        self.place.and_then(|place| u64::try_from(place.next).ok())
    }

    /// Adds a chunk, but for what is masked. `at_end` gets the correlator, its axes set, at the end of every dump.
    pub(crate) fn push(
        &mut self,
        chunk: &impl Chunk<V>,
        mask: Option<&ChannelMask>,
        at_end: &mut impl FnMut(&mut C) -> Result<(), CorrelatorError>,
    ) -> Result<(), CorrelatorError> {
        let about = chunk.description();
        let missing = self.check(chunk, &about, mask)?;
        if about.times == 0 {
            return Ok(());
        }
        let spacing = self.schedule.samples_between_spectra();
        if self.place.is_none() {
            // From the start of the first spectrum's dump, as if the stream had begun there.
            let next = u128::from(about.clock.first_sample) - u128::from(missing) * u128::from(spacing);
            self.place = Some(Place { frequencies: about.frequencies, clock: about.clock, next });
        }
        let mut rest = missing;
        while rest > 0 {
            let spectra = rest.min(self.spectra_left());
            let first = self.next_spectrum();
            self.correlator.skip(spectra, first)?;
            self.advance(spectra, at_end)?;
            rest -= spectra;
        }
        let mut start = 0;
        while start < about.times {
            // The remaining spectra of a dump may be more than usize can count; those of the chunk are not.
            let spectra = self.spectra_left().min((about.times - start) as u64);
            let first = self.next_spectrum();
            self.correlator.add(chunk, start..start + spectra as usize, first, mask)?;
            self.advance(spectra, at_end)?;
            start += spectra as usize;
        }
        Ok(())
    }

    /// Ends the stream: the rest of a dump that was begun is missing.
    pub(crate) fn finish(
        &mut self,
        at_end: &mut impl FnMut(&mut C) -> Result<(), CorrelatorError>,
    ) -> Result<(), CorrelatorError> {
        let mut ended = Ok(());
        if self.place.is_some() && self.correlator.spectra() > 0 {
            let (spectra, first) = (self.spectra_left(), self.next_spectrum());
            ended = self.correlator.skip(spectra, first).and_then(|()| self.advance(spectra, at_end));
        }
        self.place = None;
        ended
    }

    /// Whether a chunk continues the stream, and how many spectra are missing before it.
    fn check(
        &self,
        chunk: &impl Chunk<V>,
        about: &Description<'_>,
        mask: Option<&ChannelMask>,
    ) -> Result<u64, CorrelatorError> {
        let correlator = self.correlator.correlator();
        check_shape(correlator.inputs(), correlator.channels(), about)?;
        let spacing = self.schedule.samples_between_spectra();
        let actual = about.clock.samples_between_spectra;
        if actual != spacing {
            return Err(CorrelatorError::SpectrumSpacing { expected: spacing, actual });
        }
        if let Some(place) = self.place {
            check_axes(place.frequencies, place.clock, about)?;
        }
        if about.times == 0 {
            return Ok(0);
        }
        self.check_heaps(about)?;
        correlator.check_place(about, &chunk.place())?;
        let first_sample = about.clock.first_sample;
        let last = u128::from(first_sample) + (about.times as u128 - 1) * u128::from(spacing);
        if last > u128::from(u64::MAX) {
            return Err(CorrelatorError::SampleCounter { first_sample, times: about.times });
        }
        let missing = self.check_start(first_sample)?;
        self.correlator.check(chunk, 0..about.times, first_sample / spacing, mask)?;
        Ok(missing)
    }

    /// Number of the next spectrum, counted from ADC sample 0 in steps of the spacing.
    fn next_spectrum(&self) -> u64 {
        let spacing = u128::from(self.schedule.samples_between_spectra());
        self.place.map_or(0, |place| u64::try_from(place.next / spacing).unwrap_or(u64::MAX))
    }

    /// Whether the boundaries of heaps can be those of dumps.
    fn check_heaps(&self, about: &Description<'_>) -> Result<(), CorrelatorError> {
        let Layout::Heaps { spectra: actual } = about.layout else { return Ok(()) };
        let expected = self.schedule.spectra_per_heap();
        if expected != actual as u64 {
            return Err(CorrelatorError::SpectraPerHeap { expected, actual });
        }
        // All spectra of a batch are of one dump if the first stamp is less than a spectrum behind a whole multiple of
        // the step.
        let (step, actual) = (self.schedule.heap_timestamp_step(), about.clock.first_sample);
        if actual % step >= self.schedule.samples_between_spectra() {
            return Err(CorrelatorError::HeapStamp { step, actual });
        }
        Ok(())
    }

    /// Number of spectra missing before a chunk that starts at `first`: since the last chunk, or since the start of the
    /// dump.
    fn check_start(&self, first: u64) -> Result<u64, CorrelatorError> {
        let spacing = self.schedule.samples_between_spectra();
        let Some(place) = self.place else {
            return Ok(first % self.schedule.timestamp_difference() / spacing);
        };
        let expected = u64::try_from(place.next).unwrap_or(u64::MAX);
        if u128::from(first) < place.next {
            return Err(CorrelatorError::Backward { expected, actual: first });
        }
        if !(first - expected).is_multiple_of(spacing) {
            return Err(CorrelatorError::Misaligned { expected, actual: first, spacing });
        }
        // Dumps between the one that is open (or would open next) and the chunk's; an open one is not empty.
        let length = self.gap_schedule.timestamp_difference();
        let passed = first / length - expected / length;
        let is_open = expected % length >= spacing;
        let empty_dumps = passed - u64::from(passed > 0 && is_open);
        if empty_dumps > self.longest_gap {
            return Err(CorrelatorError::Gap { expected, actual: first, empty_dumps, limit: self.longest_gap });
        }
        Ok((first - expected) / spacing)
    }

    /// Spectra from the next one to the end of its dump, at least 1.
    fn spectra_left(&self) -> u64 {
        self.schedule.spectra_per_dump() - self.correlator.spectra()
    }

    /// Moves on by spectra that were accumulated or skipped, and calls `at_end` at a dump's end.
    fn advance(
        &mut self,
        spectra: u64,
        at_end: &mut impl FnMut(&mut C) -> Result<(), CorrelatorError>,
    ) -> Result<(), CorrelatorError> {
        let Some(place) = self.place.as_mut() else { return Ok(()) };
        let stamp = place.next;
        place.next += u128::from(spectra) * u128::from(self.schedule.samples_between_spectra());
        if self.correlator.spectra() == self.schedule.spectra_per_dump() {
            // All spectra just covered are of one dump.
            let first_sample = self.schedule.dump_timestamp(u64::try_from(stamp).unwrap_or(u64::MAX));
            self.correlator.set_axes(place.frequencies, SpectrumClock { first_sample, ..place.clock });
            at_end(&mut self.correlator)?;
        }
        Ok(())
    }
}
