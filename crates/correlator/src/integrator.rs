//! A correlator that dumps by itself, at whole multiples of the dump length.

use std::marker::PhantomData;

use fringes_backend::Backend;
use fringes_gpu::Stream;
use fringes_types::{BaselineOrder, ChannelMask, Inputs, Visibilities, VoltageSample};

use crate::correlator::not_on_a_device;
use crate::dump::{Form, IntegerDump};
use crate::stream::DumpStream;
use crate::{Chunk, Correlator, CorrelatorError, Dump, DumpSchedule, MissingData};

/// Sums a stream of chunks into dumps that are aligned to whole multiples of [`DumpSchedule::timestamp_difference`].
///
/// Chunks are voltages, heaps or rows, on the host, in pinned memory or on a device ([`Chunk`]), and may have any
/// length; a dump may begin and end inside one. Every dump covers [`DumpSchedule::spectra_per_dump`] spectra
/// ([`Visibilities::times`]) and is stamped with a whole multiple of the timestamp difference. Spectra that never came
/// count as not valid: before the first chunk, between chunks, and after the last one. A dump that lies wholly inside a
/// gap is produced too, with no valid sample at all.
///
/// Heaps must be as long as the schedule's and begin less than a spectrum after a whole multiple of its
/// [`DumpSchedule::heap_timestamp_step`], so that dump boundaries lie between batches.
///
/// Dumps are [`Visibilities`] of 64 bits, or [`Dump32`](crate::Dump32) after [`Integrator::in_32_bits`]; on the host,
/// or on the device after [`Integrator::dumps_on_device`]. Where they lie is said beforehand, and not by chunks: a dump
/// may be completed by chunks of either place, and the last one by none. For several integration lengths of one stream
/// there is [`IntegratorSet`](crate::IntegratorSet).
///
/// # Precision
/// As [`Correlator`]: exact for integers, wherever chunks are cut.
///
/// # Order
/// As [`Correlator`]: with chunks and dumps on a device, all work is queued on one stream ([`Integrator::on`]) and
/// nothing waits.
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
/// assert_eq!(integrator.finish()?.map(|dump| dump.valid_samples()[0]), Some(16));
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
    pub fn in_32_bits(self, missing: MissingData) -> Integrator<V, D::In32Bits>
    where
        D: IntegerDump<V>,
    {
        Integrator { stream: self.stream, form: Form { missing, ..self.form }, dump: PhantomData }
    }

    /// Dumps on the device in place of the host: they are queued on the stream, and nothing waits for them.
    ///
    /// # Errors
    /// [`DeviceError::WrongDevice`](fringes_backend::DeviceError::WrongDevice) if the integrator is on the CPU.
    pub fn dumps_on_device(self) -> Result<Integrator<V, D::OnDevice>, CorrelatorError> {
        match self.stream.correlator.device() {
            Some(_) => Ok(Integrator { stream: self.stream, form: self.form, dump: PhantomData }),
            None => Err(not_on_a_device().into()),
        }
    }

    /// Does all work on a stream of the caller's: [`Correlator::on`].
    ///
    /// # Errors
    /// As there.
    pub fn on(mut self, stream: &Stream) -> Result<Self, CorrelatorError> {
        self.stream.correlator.set_stream(stream)?;
        Ok(self)
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

    /// Sets how many empty dumps one gap may make (64 unless set). A longer gap is an error, so that a broken sample
    /// counter does not fill the memory; [`Integrator::finish`] and going on leaves any gap out.
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
    /// [`CorrelatorError::SpectrumSpacing`], [`CorrelatorError::Frequencies`], [`CorrelatorError::SampleRate`] if the
    /// chunk is of another stream or schedule; [`CorrelatorError::SpectraPerHeap`] and [`CorrelatorError::HeapStamp`]
    /// if heaps do not fit the schedule; [`CorrelatorError::Backward`] and [`CorrelatorError::Misaligned`] if it starts
    /// before the end of the last chunk or off its grid; [`CorrelatorError::Gap`] if the gap is too long;
    /// [`CorrelatorError::SampleCounter`] if stamps pass 2^64;
    /// [`DeviceError::WrongDevice`](fringes_backend::DeviceError::WrongDevice) and others if the chunk lies where the
    /// integrator cannot read it, as [`Correlator::accumulate`]. The integrator is as before then. Only
    /// [`TypesError::TooLarge`](fringes_types::TypesError::TooLarge), no memory for a dump,
    /// [`DeviceError::MemoryLimit`](fringes_backend::DeviceError::MemoryLimit) (heaps) and
    /// [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) may leave the chunk half added.
    pub fn push(&mut self, chunk: &impl Chunk<V>) -> Result<Vec<D>, CorrelatorError> {
        self.push_with(chunk, None)
    }

    /// As [`Integrator::push`], leaving out what is masked: [`Correlator::accumulate_masked`]. The mask covers the
    /// whole chunk, and may cover more.
    ///
    /// # Errors
    /// As [`Integrator::push`] and [`Correlator::accumulate_masked`]; the integrator is as before then, with the same
    /// exceptions.
    ///
    /// ```
    /// use fringes_correlator::{DumpSchedule, Integrator};
    /// use fringes_backend::Backend;
    /// use fringes_types::{ChannelMask, Complex, Inputs, SpectrumClock, Voltages};
    /// use ndarray::{Array3, array};
    ///
    /// let clock = SpectrumClock { first_sample: 0, samples_between_spectra: 16, sample_rate_hz: 1e6 };
    /// let inputs = Inputs::single_pol(2)?;
    /// let chunk = Voltages::new(Array3::from_elem((2, 32, 2), Complex::new(3i8, 4)), inputs)?.with_clock(clock)?;
    /// // Channel 1 is left out in the second of two blocks of 16 spectra.
    /// let mask = ChannelMask::new(array![[false, false], [false, true]], 16, clock)?;
    ///
    /// let mut integrator = Integrator::new(&Backend::auto(), DumpSchedule::new(16, 8, 4)?, inputs, 2)?;
    /// let dumps = integrator.push_masked(&chunk, &mask)?;
    /// assert_eq!([0, 1].map(|channel| dumps[0].valid(channel, 0)), [32, 16]);
    /// assert_eq!([0, 1].map(|channel| dumps[0].data()[(channel, 0)].re), [32 * 25, 16 * 25]);
    /// # Ok::<(), fringes_correlator::CorrelatorError>(())
    /// ```
    pub fn push_masked(&mut self, chunk: &impl Chunk<V>, mask: &ChannelMask) -> Result<Vec<D>, CorrelatorError> {
        self.push_with(chunk, Some(mask))
    }

    fn push_with(&mut self, chunk: &impl Chunk<V>, mask: Option<&ChannelMask>) -> Result<Vec<D>, CorrelatorError> {
        let (mut dumps, form) = (Vec::new(), self.form);
        self.stream.push(chunk, mask, &mut |correlator| {
            dumps.push(D::take(correlator, form)?);
            Ok(())
        })?;
        Ok(dumps)
    }

    /// The dump that the stream ended in, its rest counted as not valid; `None` if it ended at a dump's end.
    ///
    /// The next chunk then starts a new stream at any time, also after an error.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) if the GPU failed,
    /// [`TypesError::TooLarge`](fringes_types::TypesError::TooLarge) without memory for the dump. It is lost then.
    pub fn finish(&mut self) -> Result<Option<D>, CorrelatorError> {
        let (mut last, form) = (None, self.form);
        self.stream.finish(&mut |correlator| {
            last = Some(D::take(correlator, form)?);
            Ok(())
        })?;
        Ok(last)
    }
}

#[cfg(test)]
mod tests {
    use fringes_backend::DeviceError;
    use fringes_types::{Complex, SpectrumClock, Voltages};
    use ndarray::Array3;

    use super::*;
    use crate::set_sum::SetSum;

    /// A dump that no device can give.
    #[derive(Debug)]
    struct Failing;

    impl crate::dump::Sealed for Failing {}

    impl Dump<Complex<i8>> for Failing {
        type OnDevice = Self;

        fn of(_: &mut Correlator<Complex<i8>>, _: SetSum<Complex<i8>>, _: Form) -> Result<Self, CorrelatorError> {
            Ok(Self)
        }

        fn take(correlator: &mut Correlator<Complex<i8>>, form: Form) -> Result<Self, CorrelatorError> {
            correlator.dump(form.order)?;
            Err(DeviceError::Unavailable { requested: "gpu 0".into(), reason: "it is gone".into() }.into())
        }
    }

    #[test]
    fn what_fails_at_the_end_of_a_stream_is_an_error_and_the_next_stream_begins() {
        let inputs = Inputs::single_pol(1).unwrap();
        let clock = SpectrumClock { first_sample: 160, samples_between_spectra: 16, sample_rate_hz: 1e6 };
        let chunk = Voltages::new(Array3::from_elem((1, 3, 1), Complex::new(1i8, 1)), inputs).unwrap();
        let chunk = chunk.with_clock(clock).unwrap();
        let schedule = DumpSchedule::new(16, 8, 1).unwrap();
        let Integrator { stream, form, .. } = Integrator::new(&Backend::cpu(), schedule, inputs, 1).unwrap();
        let mut integrator = Integrator::<Complex<i8>, Failing> { stream, form, dump: PhantomData };
        for _ in 0..2 {
            assert!(integrator.push(&chunk).unwrap().is_empty());
            let error = integrator.finish().unwrap_err();
            assert!(matches!(error, CorrelatorError::Device(DeviceError::Unavailable { .. })), "{error}");
            assert_eq!(integrator.next_sample(), None);
        }
        assert!(integrator.finish().unwrap().is_none());
    }

    #[test]
    fn a_stream_or_a_dump_of_a_device_needs_one() {
        let inputs = Inputs::single_pol(1).unwrap();
        let schedule = DumpSchedule::new(16, 8, 1).unwrap();
        let integrator = Integrator::<Complex<i8>>::new(&Backend::cpu(), schedule, inputs, 1).unwrap();
        let error = integrator.dumps_on_device().unwrap_err();
        assert_eq!(error.to_string(), "expected data on a GPU, found it on the CPU");
        let mut correlator = Correlator::<Complex<i8>>::new(&Backend::cpu(), inputs, 1).unwrap();
        for error in [
            correlator.dump_on_device(BaselineOrder::Triangle).unwrap_err(),
            correlator.dump32_on_device(BaselineOrder::Triangle, MissingData::Mark).unwrap_err(),
        ] {
            assert!(matches!(error, CorrelatorError::Device(DeviceError::WrongDevice { .. })), "{error}");
        }
    }
}
