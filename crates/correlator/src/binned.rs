//! Several sums of one stream at once: a correlator for each bin, and an integrator that dumps them together.

use std::marker::PhantomData;
use std::ops::Range;

use fringes_backend::Backend;
use fringes_gpu::{Device, Stream};
use fringes_types::{
    BaselineOrder, ChannelMask, Frequencies, Inputs, SpectrumClock, TypesError, Visibilities, VoltageSample,
};

use crate::chunk::Layout;
use crate::correlator::not_on_a_device;
use crate::dump::{Form, IntegerDump};
use crate::selection::Times;
use crate::stream::{DumpStream, Sink};
use crate::{Bins, Chunk, Correlator, CorrelatorError, Dump, DumpSchedule, MissingData};

/// Dumps of all bins over one time.
#[derive(Debug, Clone, PartialEq)]
pub struct BinnedDump<D> {
    /// A dump for each bin, in their order. [`Visibilities::times`] is the number of the bin's spectra.
    pub bins: Vec<D>,
    /// Spectra that are in no bin, present or not.
    pub outside: u64,
}

/// An [`Integrator`](crate::Integrator) with a sum for each of several [`Bins`]: for noise diodes, Walsh states, gates
/// and pulsars.
///
/// Dumps are at the same times and of the same kinds as an integrator's. Each has a sum for every bin, with the spectra
/// of that bin; [`Visibilities::times`] and the numbers of valid samples count those alone, also where they never came.
/// What is in no bin is counted ([`BinnedDump::outside`]) and summed nowhere.
///
/// # Cost
/// On the CPU every spectrum is correlated once, in the bin that it has, wherever it lies. Bins cost memory for their
/// sums, and little time: two bins take 0 to 7 % more than one where runs of one bin have 100 spectra or more, up to a
/// quarter where bins change with every spectrum, since each goes through the voltages by itself.
///
/// On a GPU every addition reads and writes all sums of a bin. Heaps on the device are read where they lie, whatever
/// runs they have, if a bin has at least 4 times as many of a chunk's spectra as there are inputs. Of heaps with fewer,
/// copies wait on the device until there are 8 times as many spectra as inputs, or a dump ends: they take at most twice
/// the memory of the bin's sums, and 2 GiB for all bins. With 128 inputs two bins take 0.61 to 0.78 of the time of one
/// in chunks of 256 spectra, and in longer chunks with both bins 1.6 (1024 spectra) and 1.3 (4096). Voltages and rows
/// are added run by run. Chunks on the host are sent run by run, or as copies of each bin's spectra where runs are
/// short.
///
/// Heaps on a device are added by whole batches, so there a bin cannot begin inside one.
///
/// # Precision
/// As [`Correlator`]. For integers the sums of all bins, and of what is outside, are together the sum without bins, bit
/// for bit.
///
/// ```
/// use fringes_correlator::{BinnedIntegrator, Bins, DumpSchedule};
/// use fringes_backend::Backend;
/// use fringes_types::{Complex, Inputs, SpectrumClock, Voltages};
/// use ndarray::Array3;
///
/// // A noise diode is on in every fourth spectrum.
/// let inputs = Inputs::single_pol(2)?;
/// let clock = SpectrumClock { first_sample: 0, samples_between_spectra: 16, sample_rate_hz: 1e6 };
/// let data = Array3::from_shape_fn((1, 40, 2), |(_, time, _)| Complex::new(if time % 4 == 0 { 3i8 } else { 1 }, 0));
/// let chunk = Voltages::new(data, inputs)?.with_clock(clock)?;
///
/// let bins = Bins::table(2, 1, vec![Some(1), Some(0), Some(0), Some(0)])?;
/// let schedule = DumpSchedule::new(16, 8, 5)?;
/// let mut integrator = BinnedIntegrator::new(&Backend::auto(), schedule, bins, inputs, 1)?;
/// let dump = integrator.push(&chunk)?.remove(0);
/// let of = |bin: usize| (dump.bins[bin].data()[(0, 1)].re, dump.bins[bin].times());
/// assert_eq!((of(0), of(1), dump.outside), ((30, 30), (90, 10), 0));
/// # Ok::<(), fringes_correlator::CorrelatorError>(())
/// ```
#[derive(Debug)]
pub struct BinnedIntegrator<V: VoltageSample, D = Visibilities<<V as VoltageSample>::Accumulator>> {
    stream: DumpStream<V, BinSums<V>>,
    form: Form,
    dump: PhantomData<fn() -> D>,
}

impl<V: VoltageSample> BinnedIntegrator<V> {
    /// An integrator with nothing accumulated, dumping packed lower triangles.
    ///
    /// # Errors
    /// As [`Correlator::new`], which is asked once for each bin.
    pub fn new(
        backend: &Backend,
        schedule: DumpSchedule,
        bins: Bins,
        inputs: Inputs,
        channels: usize,
    ) -> Result<Self, CorrelatorError> {
        let sums = BinSums::new(backend, bins, inputs, channels)?;
        let stream = DumpStream::new(sums, schedule, schedule);
        Ok(Self { stream, form: Form::default(), dump: PhantomData })
    }
}

impl<V: VoltageSample, D: Dump<V>> BinnedIntegrator<V, D> {
    /// Dumps of 32 bits in place of 64: [`Integrator::in_32_bits`](crate::Integrator::in_32_bits).
    pub fn in_32_bits(self, missing: MissingData) -> BinnedIntegrator<V, D::In32Bits>
    where
        D: IntegerDump<V>,
    {
        BinnedIntegrator { stream: self.stream, form: Form { missing, ..self.form }, dump: PhantomData }
    }

    /// Dumps on the device in place of the host: they are queued on the stream, and nothing waits for them.
    ///
    /// # Errors
    /// [`DeviceError::WrongDevice`](fringes_backend::DeviceError::WrongDevice) if the integrator is on the CPU.
    pub fn dumps_on_device(self) -> Result<BinnedIntegrator<V, D::OnDevice>, CorrelatorError> {
        match self.stream.correlator.correlator().device() {
            Some(_) => Ok(BinnedIntegrator { stream: self.stream, form: self.form, dump: PhantomData }),
            None => Err(not_on_a_device().into()),
        }
    }

    /// Does all work on a stream of the caller's: [`Correlator::on`].
    ///
    /// # Errors
    /// As there.
    pub fn on(mut self, stream: &Stream) -> Result<Self, CorrelatorError> {
        let correlators = &mut self.stream.correlator.correlators;
        correlators.iter_mut().try_for_each(|correlator| correlator.set_stream(stream))?;
        Ok(self)
    }

    /// Sets the order of the dumps' baselines.
    ///
    /// # Errors
    /// [`TypesError::OrderPols`] if the order cannot hold the inputs.
    pub fn with_order(mut self, order: BaselineOrder) -> Result<Self, CorrelatorError> {
        order.check(self.stream.correlator.correlator().inputs())?;
        self.form.order = order;
        Ok(self)
    }

    /// Sets how many empty dumps one gap may make:
    /// [`Integrator::with_longest_gap`](crate::Integrator::with_longest_gap).
    pub fn with_longest_gap(mut self, empty_dumps: u64) -> Self {
        self.stream.set_longest_gap(empty_dumps);
        self
    }

    /// The device that sums lie on; `None` on the CPU.
    pub fn device(&self) -> Option<&Device> {
        self.stream.correlator.correlator().device()
    }

    /// The bins.
    pub fn bins(&self) -> &Bins {
        &self.stream.correlator.bins
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
    /// As [`Integrator::push`](crate::Integrator::push); [`CorrelatorError::CutHeaps`] for heaps on a device in which a
    /// bin begins inside a batch. The integrator is as before then, with the exceptions named there.
    pub fn push(&mut self, chunk: &impl Chunk<V>) -> Result<Vec<BinnedDump<D>>, CorrelatorError> {
        self.push_with(chunk, None)
    }

    /// As [`BinnedIntegrator::push`], leaving out what is masked:
    /// [`Integrator::push_masked`](crate::Integrator::push_masked).
    ///
    /// # Errors
    /// As both.
    pub fn push_masked(
        &mut self,
        chunk: &impl Chunk<V>,
        mask: &ChannelMask,
    ) -> Result<Vec<BinnedDump<D>>, CorrelatorError> {
        self.push_with(chunk, Some(mask))
    }

    fn push_with(
        &mut self,
        chunk: &impl Chunk<V>,
        mask: Option<&ChannelMask>,
    ) -> Result<Vec<BinnedDump<D>>, CorrelatorError> {
        let (mut dumps, form) = (Vec::new(), self.form);
        self.stream.push(chunk, mask, &mut |sums| {
            dumps.push(sums.take(form)?);
            Ok(())
        })?;
        Ok(dumps)
    }

    /// The dump that the stream ended in, its rest counted as not valid; `None` if it ended at a dump's end.
    ///
    /// # Errors
    /// As [`Integrator::finish`](crate::Integrator::finish).
    pub fn finish(&mut self) -> Result<Option<BinnedDump<D>>, CorrelatorError> {
        let (mut last, form) = (None, self.form);
        self.stream.finish(&mut |sums| {
            last = Some(sums.take(form)?);
            Ok(())
        })?;
        Ok(last)
    }
}

/// A correlator for each bin.
#[derive(Debug)]
struct BinSums<V: VoltageSample> {
    bins: Bins,
    /// At least one.
    correlators: Vec<Correlator<V>>,
    spectra: u64,
    outside: u64,
    /// Times of each bin, to be used again.
    times: Vec<Vec<usize>>,
}

impl<V: VoltageSample> BinSums<V> {
    fn new(backend: &Backend, bins: Bins, inputs: Inputs, channels: usize) -> Result<Self, CorrelatorError> {
        let correlators = (0..bins.count()).map(|_| Correlator::new(backend, inputs, channels));
        let (mut correlators, times) = (correlators.collect::<Result<Vec<_>, _>>()?, vec![Vec::new(); bins.count()]);
        if bins.count() > 1 {
            let count = bins.count();
            correlators.iter_mut().for_each(|correlator| correlator.hold_short_runs(count));
        }
        if correlators.is_empty() {
            return Err(TypesError::NotPositive { quantity: "number of bins", actual: 0.0 }.into());
        }
        Ok(Self { bins, correlators, spectra: 0, outside: 0, times })
    }

    /// The dumps of all bins, which start again from zero.
    fn take<D: Dump<V>>(&mut self, form: Form) -> Result<BinnedDump<D>, CorrelatorError> {
        let (_, outside) = (std::mem::take(&mut self.spectra), std::mem::take(&mut self.outside));
        let bins = self.correlators.iter_mut().map(|correlator| D::take(correlator, form));
        Ok(BinnedDump { bins: bins.collect::<Result<_, _>>()?, outside })
    }
}

/// Times `range` of a chunk by their bins, the first of them being spectrum `first`. Gives how many are in none.
fn sort(bins: &Bins, range: Range<usize>, first: u64, times: &mut [Vec<usize>]) -> u64 {
    times.iter_mut().for_each(Vec::clear);
    let mut outside = 0;
    for (time, spectrum) in range.zip(first..) {
        match bins.bin(spectrum).and_then(|bin| times.get_mut(bin)) {
            Some(times) => times.push(time),
            None => outside += 1,
        }
    }
    outside
}

/// Listed times of a chunk, as a range where that is one.
fn times_of<'a>(layout: Layout, list: &'a [usize]) -> Times<'a> {
    match layout {
        Layout::Heaps { spectra } => Times::of_heaps(list, spectra),
        Layout::Voltages | Layout::Rows => Times::of(list),
    }
}

impl<V: VoltageSample> Sink<V> for BinSums<V> {
    fn correlator(&self) -> &Correlator<V> {
        &self.correlators[0]
    }

    fn spectra(&self) -> u64 {
        self.spectra
    }

    fn check(
        &self,
        chunk: &impl Chunk<V>,
        times: Range<usize>,
        first: u64,
        mask: Option<&ChannelMask>,
    ) -> Result<(), CorrelatorError> {
        if mask.is_some() {
            self.correlator().check_selection(chunk, &Times::Range(times.clone()), mask)?;
        }
        let layout = chunk.description().layout;
        if matches!(layout, Layout::Heaps { .. }) && chunk.place().device().is_some() {
            let mut lists = vec![Vec::new(); self.bins.count()];
            sort(&self.bins, times, first, &mut lists);
            for list in &lists {
                self.correlator().check_selection(chunk, &times_of(layout, list), None)?;
            }
        }
        Ok(())
    }

    fn add(
        &mut self,
        chunk: &impl Chunk<V>,
        times: Range<usize>,
        first: u64,
        mask: Option<&ChannelMask>,
    ) -> Result<(), CorrelatorError> {
        let layout = chunk.description().layout;
        let spectra = times.len() as u64;
        let outside = sort(&self.bins, times, first, &mut self.times);
        for (correlator, list) in self.correlators.iter_mut().zip(&self.times) {
            if !list.is_empty() {
                correlator.add(chunk, &times_of(layout, list), mask)?;
            }
        }
        self.outside += outside;
        self.spectra += spectra;
        Ok(())
    }

    fn skip(&mut self, spectra: u64, first: u64) -> Result<(), CorrelatorError> {
        let mut counts = vec![0; self.correlators.len()];
        let mut outside = 0;
        for spectrum in (0..spectra).map(|n| first.saturating_add(n)) {
            *self.bins.bin(spectrum).and_then(|bin| counts.get_mut(bin)).unwrap_or(&mut outside) += 1;
        }
        for (correlator, count) in self.correlators.iter_mut().zip(counts) {
            correlator.skip(count)?;
        }
        self.outside += outside;
        self.spectra += spectra;
        Ok(())
    }

    fn set_axes(&mut self, frequencies: Frequencies, clock: SpectrumClock) {
        self.correlators.iter_mut().for_each(|correlator| correlator.set_axes(frequencies, clock));
    }
}
