//! A correlator that dumps by itself, at whole multiples of the dump length.

use fringes_types::{
    Backend, BaselineOrder, Frequencies, Inputs, SpectrumClock, Visibilities, VoltageSample, Voltages,
};

use crate::correlator::check_axes;
use crate::{Correlator, CorrelatorError, DumpSchedule};

/// Empty dumps that a gap may make, unless [`Integrator::with_longest_gap`] says otherwise.
const LONGEST_GAP: u64 = 64;

/// Sums a stream of chunks into dumps that are aligned to whole multiples of [`DumpSchedule::timestamp_difference`].
///
/// Chunks may have any length; a dump may begin and end inside one. Every dump covers
/// [`DumpSchedule::spectra_per_dump`] spectra ([`Visibilities::times`]) and is stamped with a whole multiple of the timestamp
/// difference. Spectra that never came count as not valid: before the first chunk, between chunks, and after the last one.
/// A dump that lies wholly inside a gap is produced too, with no valid sample at all.
///
/// Several integration lengths of one stream are several integrators that are given the same chunks.
///
/// # Precision
/// As [`Correlator`]: exact for integers, wherever chunks are cut.
///
/// ```
/// use fringes_correlator::{DumpSchedule, Integrator};
/// use fringes_types::{Backend, Complex, Inputs, SpectrumClock, Voltages};
/// use ndarray::Array3;
///
/// let inputs = Inputs::single_pol(2)?;
/// let schedule = DumpSchedule::new(16, 8, 4)?; // 32 spectra, 512 ADC samples
/// let mut integrator = Integrator::new(&Backend::cpu(), schedule, inputs, 1)?;
/// let clock = SpectrumClock { first_sample: 480, samples_between_spectra: 16, sample_rate_hz: 1e6 };
/// let chunk = Voltages::new(Array3::from_elem((1, 50, 2), Complex::new(1i8, 1)), inputs)?.with_clock(clock)?;
/// let dumps = integrator.push(&chunk)?;
/// // The last 2 spectra of the dump at 0, all 32 of the one at 512, 16 of the next.
/// assert_eq!(dumps.iter().map(|dump| dump.clock().first_sample).collect::<Vec<_>>(), [0, 512]);
/// assert_eq!(dumps.iter().map(|dump| dump.valid_samples()[0]).collect::<Vec<_>>(), [2, 32]);
/// assert_eq!(integrator.finish().map(|dump| dump.valid_samples()[0]), Some(16));
/// # Ok::<(), fringes_correlator::CorrelatorError>(())
/// ```
#[derive(Debug)]
pub struct Integrator<V: VoltageSample> {
    correlator: Correlator<V>,
    schedule: DumpSchedule,
    order: BaselineOrder,
    longest_gap: u64,
    stream: Option<Stream>,
}

/// Where the stream is.
#[derive(Debug, Clone, Copy)]
struct Stream {
    frequencies: Frequencies,
    clock: SpectrumClock,
    /// Stamp of the next spectrum; may be just past the end of the 64-bit counter.
    next: u128,
}

impl<V: VoltageSample> Integrator<V> {
    /// An integrator with nothing accumulated, dumping packed lower triangles.
    ///
    /// # Errors
    /// As [`Correlator::new`].
    pub fn new(
        backend: &Backend,
        schedule: DumpSchedule,
        inputs: Inputs,
        channels: usize,
    ) -> Result<Self, CorrelatorError> {
        let correlator = Correlator::new(backend, inputs, channels)?;
        Ok(Self { correlator, schedule, order: BaselineOrder::Triangle, longest_gap: LONGEST_GAP, stream: None })
    }

    /// Sets the order of the dumps' baselines.
    ///
    /// # Errors
    /// [`TypesError::OrderPols`](fringes_types::TypesError::OrderPols) if the order cannot hold the inputs.
    pub fn with_order(mut self, order: BaselineOrder) -> Result<Self, CorrelatorError> {
        order.check(self.correlator.inputs())?;
        self.order = order;
        Ok(self)
    }

    /// Sets how many empty dumps one gap may make (64 unless set). A longer gap is an error, so that a broken sample counter
    /// does not fill the memory; [`Integrator::finish`] and going on leaves any gap out.
    pub fn with_longest_gap(mut self, empty_dumps: u64) -> Self {
        self.longest_gap = empty_dumps;
        self
    }

    /// The schedule.
    pub fn schedule(&self) -> DumpSchedule {
        self.schedule
    }

    /// Stamp that the next spectrum must have at least, `None` before the first chunk (and at the counter's end).
    pub fn next_sample(&self) -> Option<u64> {
        self.stream.and_then(|stream| u64::try_from(stream.next).ok())
    }

    /// Adds a chunk, and gives the dumps that it completes, in order of time.
    ///
    /// # Errors
    /// [`CorrelatorError::Inputs`], [`TypesError::Dimension`](fringes_types::TypesError::Dimension) (channels),
    /// [`CorrelatorError::SpectrumSpacing`], [`CorrelatorError::Frequencies`], [`CorrelatorError::SampleRate`] if the chunk is
    /// of another stream or schedule; [`CorrelatorError::Backward`] and [`CorrelatorError::Misaligned`] if it starts before
    /// the end of the last chunk or off its grid; [`CorrelatorError::Gap`] if the gap is too long;
    /// [`CorrelatorError::SampleCounter`] if stamps pass 2^64. The integrator is as before then. Only
    /// [`TypesError::TooLarge`](fringes_types::TypesError::TooLarge), no memory for a dump, may leave the chunk half added.
    pub fn push(&mut self, chunk: &Voltages<V>) -> Result<Vec<Visibilities<V::Accumulator>>, CorrelatorError> {
        self.correlator.check(chunk)?;
        let clock = chunk.clock();
        let spacing = self.schedule.samples_between_spectra();
        if clock.samples_between_spectra != spacing {
            let actual = clock.samples_between_spectra;
            return Err(CorrelatorError::SpectrumSpacing { expected: spacing, actual });
        }
        if let Some(stream) = self.stream {
            check_axes(stream.frequencies, stream.clock, chunk)?;
        }
        if chunk.times() == 0 {
            return Ok(Vec::new());
        }
        let first = clock.first_sample;
        let last = u128::from(first) + (chunk.times() as u128 - 1) * u128::from(spacing);
        if last > u128::from(u64::MAX) {
            return Err(CorrelatorError::SampleCounter { first_sample: first, times: chunk.times() });
        }
        let missing = self.check_start(first)?;
        if self.stream.is_none() {
            // From the start of the first spectrum's dump, as if the stream had begun there.
            let next = u128::from(first) - u128::from(missing) * u128::from(spacing);
            self.stream = Some(Stream { frequencies: chunk.frequencies(), clock, next });
        }
        let mut dumps = Vec::new();
        let mut rest = missing;
        while rest > 0 {
            let spectra = rest.min(self.spectra_left());
            self.correlator.skip(spectra)?;
            self.advance(spectra, &mut dumps)?;
            rest -= spectra;
        }
        let mut start = 0;
        while start < chunk.times() {
            // The remaining spectra of a dump may be more than usize can count; those of the chunk are not.
            let spectra = self.spectra_left().min((chunk.times() - start) as u64);
            self.correlator.accumulate(chunk, start..start + spectra as usize)?;
            self.advance(spectra, &mut dumps)?;
            start += spectra as usize;
        }
        Ok(dumps)
    }

    /// The dump that the stream ended in, its rest counted as not valid; `None` if it ended at a dump's end.
    ///
    /// The next chunk then starts a new stream at any time.
    pub fn finish(&mut self) -> Option<Visibilities<V::Accumulator>> {
        self.stream?;
        let mut dumps = Vec::new();
        if self.correlator.spectra() > 0 {
            let spectra = self.spectra_left();
            // Errors cannot be: the order was checked, and a dump's length is within the correlator's limit.
            self.correlator.skip(spectra).and_then(|()| self.advance(spectra, &mut dumps)).ok()?;
        }
        self.stream = None;
        dumps.pop()
    }

    /// Number of spectra missing before a chunk that starts at `first`: since the last chunk, or since the start of the dump.
    fn check_start(&self, first: u64) -> Result<u64, CorrelatorError> {
        let spacing = self.schedule.samples_between_spectra();
        let length = self.schedule.timestamp_difference();
        let Some(stream) = self.stream else {
            return Ok(first % length / spacing);
        };
        let expected = u64::try_from(stream.next).unwrap_or(u64::MAX);
        if u128::from(first) < stream.next {
            return Err(CorrelatorError::Backward { expected, actual: first });
        }
        if !(first - expected).is_multiple_of(spacing) {
            return Err(CorrelatorError::Misaligned { expected, actual: first, spacing });
        }
        // Dumps between the one that is open (or would open next) and the chunk's; an open one is not empty.
        let passed = first / length - expected / length;
        let empty_dumps = passed - u64::from(passed > 0 && self.correlator.spectra() > 0);
        if empty_dumps > self.longest_gap {
            return Err(CorrelatorError::Gap { expected, actual: first, empty_dumps, limit: self.longest_gap });
        }
        Ok((first - expected) / spacing)
    }

    /// Spectra from the next one to the end of its dump, at least 1.
    fn spectra_left(&self) -> u64 {
        self.schedule.spectra_per_dump() - self.correlator.spectra()
    }

    /// Moves on by spectra that were accumulated or skipped, and dumps at a dump's end.
    fn advance(&mut self, spectra: u64, dumps: &mut Vec<Visibilities<V::Accumulator>>) -> Result<(), CorrelatorError> {
        let Some(stream) = self.stream.as_mut() else { return Ok(()) };
        let stamp = stream.next;
        stream.next += u128::from(spectra) * u128::from(self.schedule.samples_between_spectra());
        if self.correlator.spectra() == self.schedule.spectra_per_dump() {
            // All spectra just covered are of one dump.
            let first_sample = self.schedule.dump_timestamp(u64::try_from(stamp).unwrap_or(u64::MAX));
            self.correlator.set_axes(stream.frequencies, SpectrumClock { first_sample, ..stream.clock });
            dumps.push(self.correlator.dump(self.order)?);
        }
        Ok(())
    }
}
