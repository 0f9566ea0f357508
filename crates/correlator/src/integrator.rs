//! A correlator that dumps by itself, at whole multiples of the dump length.

use std::marker::PhantomData;

use fringes_backend::Backend;

use fringes_types::{BaselineOrder, Complex, Inputs, Visibilities, VoltageSample};

use crate::dump::Form;
use crate::stream::DumpStream;
use crate::{Chunk, Correlator, CorrelatorError, Dump, Dump32, DumpSchedule, MissingData};

/// Sums a stream of chunks into dumps that are aligned to whole multiples of [`DumpSchedule::timestamp_difference`].
///
/// Chunks are [`Voltages`](fringes_types::Voltages) or [`Heaps`](fringes_types::Heaps) and may have any length; a dump may begin and end
/// inside one. Every dump covers [`DumpSchedule::spectra_per_dump`] spectra ([`Visibilities::times`]) and is stamped with a whole
/// multiple of the timestamp difference. Spectra that never came count as not valid: before the first chunk, between chunks, and
/// after the last one. A dump that lies wholly inside a gap is produced too, with no valid sample at all.
///
/// Heaps must be as long as the schedule's and begin less than a spectrum after a whole multiple of its
/// [`DumpSchedule::heap_timestamp_step`], so that dump boundaries lie between batches.
///
/// Dumps are [`Visibilities`] of 64 bits, or [`Dump32`] after [`Integrator::in_32_bits`]. For several integration lengths of one stream
/// there is [`IntegratorSet`](crate::IntegratorSet).
///
/// # Precision
/// As [`Correlator`]: exact for integers, wherever chunks are cut.
///
/// ```
/// use fringes_correlator::{DumpSchedule, Integrator};
/// use fringes_backend::Backend;
/// use fringes_types::{Complex, Inputs, SpectrumClock, Voltages};
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
///
/// Heaps of two antennas, one of which is missing in the second batch, in 32 bits with MeerKAT's mark:
///
/// ```
/// use fringes_correlator::{DumpSchedule, Integrator, MISSING_MARK, MissingData};
/// use fringes_backend::Backend;
/// use fringes_types::{Complex, Heaps, Inputs, SpectrumClock};
/// use ndarray::{Array5, array};
///
/// let clock = SpectrumClock { first_sample: 0, samples_between_spectra: 16, sample_rate_hz: 1e6 };
/// let data = Array5::from_elem((3, 2, 1, 8, 1), Complex::new(3i8, 4)); // [batch][antenna][channel][spectrum][pol]
/// let presence = array![[true, true], [true, false], [true, true]];
/// let heaps = Heaps::new(data)?.with_clock(clock)?.with_presence(presence)?;
///
/// let schedule = DumpSchedule::new(16, 8, 2)?; // two batches: the chunk's third one is of the next dump
/// let integrator = Integrator::new(&Backend::cpu(), schedule, heaps.inputs(), 1)?;
/// let dumps = integrator.in_32_bits(MissingData::Mark).push(&heaps)?;
/// assert_eq!(dumps[0].data().row(0).to_vec(), [Complex::new(25 * 16, 0), MISSING_MARK, MISSING_MARK]);
/// assert_eq!(dumps[0].valid_samples().to_vec(), [16, 8, 8]);
/// # Ok::<(), fringes_correlator::CorrelatorError>(())
/// ```
#[derive(Debug)]
pub struct Integrator<V: VoltageSample, D = Visibilities<<V as VoltageSample>::Accumulator>> {
    stream: DumpStream<V>,
    form: Form,
    dump: PhantomData<fn() -> D>,
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
        Ok(Self { stream: DumpStream::new(correlator, schedule, schedule), form: Form::default(), dump: PhantomData })
    }
}

impl<V: VoltageSample, D: Dump<V>> Integrator<V, D> {
    /// Dumps of 32 bits in place of 64, clamped and counted, as [`Correlator::dump32`] gives them.
    pub fn in_32_bits(self, missing: MissingData) -> Integrator<V, Dump32>
    where
        V: VoltageSample<Accumulator = Complex<i64>>,
    {
        Integrator { stream: self.stream, form: Form { missing, ..self.form }, dump: PhantomData }
    }

    /// Sets the order of the dumps' baselines.
    ///
    /// # Errors
    /// [`TypesError::OrderPols`](fringes_types::TypesError::OrderPols) if the order cannot hold the inputs.
    pub fn with_order(mut self, order: BaselineOrder) -> Result<Self, CorrelatorError> {
        order.check(self.stream.correlator.inputs())?;
        self.form.order = order;
        Ok(self)
    }

    /// Sets how many empty dumps one gap may make (64 unless set). A longer gap is an error, so that a broken sample counter
    /// does not fill the memory; [`Integrator::finish`] and going on leaves any gap out.
    pub fn with_longest_gap(mut self, empty_dumps: u64) -> Self {
        self.stream.set_longest_gap(empty_dumps);
        self
    }

    /// The schedule.
    pub fn schedule(&self) -> DumpSchedule {
        self.stream.schedule()
    }

    /// Stamp that the next spectrum must have at least, `None` before the first chunk (and at the counter's end).
    pub fn next_sample(&self) -> Option<u64> {
        self.stream.next_sample()
    }

    /// Adds a chunk, and gives the dumps that it completes, in order of time.
    ///
    /// # Errors
    /// [`CorrelatorError::Inputs`], [`TypesError::Dimension`](fringes_types::TypesError::Dimension) (channels),
    /// [`CorrelatorError::SpectrumSpacing`], [`CorrelatorError::Frequencies`], [`CorrelatorError::SampleRate`] if the chunk is
    /// of another stream or schedule; [`CorrelatorError::SpectraPerHeap`] and [`CorrelatorError::HeapStamp`] if heaps do not fit the
    /// schedule; [`CorrelatorError::Backward`] and [`CorrelatorError::Misaligned`] if it starts before the end of the last chunk or
    /// off its grid; [`CorrelatorError::Gap`] if the gap is too long; [`CorrelatorError::SampleCounter`] if stamps pass 2^64. The
    /// integrator is as before then. Only [`TypesError::TooLarge`](fringes_types::TypesError::TooLarge), no memory for a dump,
    /// [`DeviceError::MemoryLimit`](fringes_backend::DeviceError::MemoryLimit) (heaps) and [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) may leave the chunk half
    /// added.
    pub fn push(&mut self, chunk: &impl Chunk<V>) -> Result<Vec<D>, CorrelatorError> {
        let (mut dumps, form) = (Vec::new(), self.form);
        self.stream.push(chunk, &mut |correlator| {
            dumps.push(D::take(correlator, form)?);
            Ok(())
        })?;
        Ok(dumps)
    }

    /// The dump that the stream ended in, its rest counted as not valid; `None` if it ended at a dump's end.
    ///
    /// The next chunk then starts a new stream at any time.
    pub fn finish(&mut self) -> Option<D> {
        let (mut last, form) = (None, self.form);
        // Only a GPU can fail here: the order was checked, and a dump's length is within the correlator's limit.
        let ended = self.stream.finish(&mut |correlator| {
            last = Some(D::take(correlator, form)?);
            Ok(())
        });
        if let Err(error) = ended {
            tracing::error!(%error, "the last dump of a stream is lost");
        }
        last
    }
}
