//! Several integration lengths of one stream, correlated once.
//!
//! The stream is correlated in *units*, the longest length that divides all of them, and a longer sum is made of
//! shorter ones. For lengths of 2, 6, 9 and 12 heaps the unit is one heap long:
//!
//! ```text
//! unit of 1 ──┬──> 2 ───> 6 ───> 12      each sum is added to the next longer ones that it divides,
//!             └──> 9                     when it is complete: 1 + 1/2 + 1/6 additions a heap, and 1 for the 9
//! ```
//!
//! All boundaries are whole multiples of lengths from sample 0 on, so that where a longer sum ends a shorter one that
//! divides it ends too.

use std::marker::PhantomData;

use fringes_backend::Backend;
use fringes_gpu::{Device, Stream};
use fringes_types::{BaselineOrder, ChannelMask, Inputs, TypesError, Visibilities, VoltageSample};

use crate::correlator::not_on_a_device;
use crate::dump::{Form, IntegerDump};
use crate::set_sum::SetSum;
use crate::stream::DumpStream;
use crate::{Chunk, Correlator, CorrelatorError, Dump, DumpSchedule, MissingData};

/// Sums a stream of chunks into dumps of several lengths at once. Each is what an [`Integrator`](crate::Integrator) of
/// its schedule gives, at the cost of correlating once.
///
/// The schedules have the spacing of spectra and the length of heaps in common.
///
/// Dumps are what those of an [`Integrator`](crate::Integrator) are: of 64 bits, or of 32 after
/// [`IntegratorSet::in_32_bits`]; on the host, or on the device after [`IntegratorSet::dumps_on_device`]. Sums of units
/// are added up where the dumps are wanted.
///
/// # Precision
/// Integers: exact, so the same bits as integrators of their own. Float voltages: as [`Correlator`], and each sum that
/// is added to a longer one adds a rounding of `2^-53` in each part.
///
/// ```
/// use fringes_correlator::{DumpSchedule, IntegratorSet};
/// use fringes_backend::Backend;
/// use fringes_types::{Complex, Inputs, SpectrumClock, Voltages};
/// use ndarray::Array3;
///
/// let inputs = Inputs::single_pol(2)?;
/// let clock = SpectrumClock { first_sample: 0, samples_between_spectra: 16, sample_rate_hz: 1e6 };
/// let chunk = Voltages::new(Array3::from_elem((1, 48, 2), Complex::new(1i8, 1)), inputs)?.with_clock(clock)?;
///
/// // Heaps of 8 spectra: dumps of one heap, and of three.
/// let schedules = [DumpSchedule::new(16, 8, 1)?, DumpSchedule::new(16, 8, 3)?];
/// let mut integrators = IntegratorSet::new(&Backend::cpu(), &schedules, inputs, 1)?;
/// let dumps = integrators.push(&chunk)?;
/// let which: Vec<_> = dumps.iter().map(|(schedule, dump)| (*schedule, dump.data()[(0, 1)].re)).collect();
/// assert_eq!(which, [(0, 16), (0, 16), (0, 16), (1, 48), (0, 16), (0, 16), (0, 16), (1, 48)]);
/// # Ok::<(), fringes_correlator::CorrelatorError>(())
/// ```
#[derive(Debug)]
pub struct IntegratorSet<V: VoltageSample, D = Visibilities<<V as VoltageSample>::Accumulator>> {
    stream: DumpStream<V>,
    schedules: Vec<DumpSchedule>,
    /// In the order of their lengths.
    levels: Vec<Level<V>>,
    form: Form,
    /// Where units are added up.
    on_device: bool,
    dump: PhantomData<fn() -> D>,
}

/// The sums of one length.
#[derive(Debug)]
struct Level<V: VoltageSample> {
    /// Which of the schedules this is.
    index: usize,
    schedule: DumpSchedule,
    /// The level that it is made of; `None` for the unit.
    source: Option<usize>,
    /// Packed lower triangles since the last dump, stamped as the dump that they are part of.
    sum: Option<SetSum<V>>,
}

impl<V: VoltageSample> IntegratorSet<V> {
    /// Integrators with nothing accumulated, dumping packed lower triangles.
    ///
    /// # Errors
    /// [`CorrelatorError::Schedules`] if schedules differ in the spacing of spectra or the length of heaps,
    /// [`TypesError::NotPositive`] without a schedule; else as [`Correlator::new`].
    pub fn new(
        backend: &Backend,
        schedules: &[DumpSchedule],
        inputs: Inputs,
        channels: usize,
    ) -> Result<Self, CorrelatorError> {
        let (unit, shortest) = common(schedules)?;
        let correlator = Correlator::new(backend, inputs, channels)?;
        let stream = DumpStream::new(correlator, unit, shortest);
        let levels = levels(schedules);
        let (schedules, form) = (schedules.to_vec(), Form::default());
        Ok(Self { stream, schedules, levels, form, on_device: false, dump: PhantomData })
    }
}

impl<V: VoltageSample, D: Dump<V>> IntegratorSet<V, D> {
    /// Dumps of 32 bits in place of 64, clamped and counted.
    pub fn in_32_bits(self, missing: MissingData) -> IntegratorSet<V, D::In32Bits>
    where
        D: IntegerDump<V>,
    {
        let Self { stream, schedules, levels, form, on_device, .. } = self;
        IntegratorSet { stream, schedules, levels, form: Form { missing, ..form }, on_device, dump: PhantomData }
    }

    /// Dumps on the device in place of the host: units are added up there, on the stream, and nothing waits for them.
    ///
    /// # Errors
    /// [`DeviceError::WrongDevice`](fringes_backend::DeviceError::WrongDevice) if the integrators are on the CPU.
    pub fn dumps_on_device(self) -> Result<IntegratorSet<V, D::OnDevice>, CorrelatorError> {
        if self.stream.correlator.device().is_none() {
            return Err(not_on_a_device().into());
        }
        let Self { stream, schedules, levels, form, .. } = self;
        Ok(IntegratorSet { stream, schedules, levels, form, on_device: true, dump: PhantomData })
    }

    /// Does all work on a stream of the caller's: [`Correlator::on`]. For dumps on the host, sums of every unit come
    /// there, and the host waits for them.
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
    /// [`TypesError::OrderPols`] if the order cannot hold the inputs.
    pub fn with_order(mut self, order: BaselineOrder) -> Result<Self, CorrelatorError> {
        order.check(self.stream.correlator.inputs())?;
        self.form.order = order;
        Ok(self)
    }

    /// Sets how many empty dumps of the shortest schedule one gap may make (64 unless set). A longer gap is an error;
    /// [`IntegratorSet::finish`] and going on leaves any gap out.
    pub fn with_longest_gap(mut self, empty_dumps: u64) -> Self {
        self.stream.set_longest_gap(empty_dumps);
        self
    }

    /// The device that sums lie on; `None` on the CPU.
    pub fn device(&self) -> Option<&Device> {
        self.stream.correlator.device()
    }

    /// The schedules, as they were given.
    pub fn schedules(&self) -> &[DumpSchedule] {
        &self.schedules
    }

    /// What is correlated at once: the longest dump that divides all others.
    pub fn unit(&self) -> DumpSchedule {
        self.stream.schedule()
    }

    /// Stamp that the next spectrum must have at least, `None` before the first chunk (and at the counter's end).
    pub fn next_sample(&self) -> Option<u64> {
        self.stream.next_sample()
    }

    /// Adds a chunk, and gives the dumps that it completes, each with the index of its schedule: in order of the times
    /// at which they end, and shorter ones first.
    ///
    /// # Errors
    /// As [`Integrator::push`](crate::Integrator::push).
    pub fn push(&mut self, chunk: &impl Chunk<V>) -> Result<Vec<(usize, D)>, CorrelatorError> {
        self.push_with(chunk, None)
    }

    /// As [`IntegratorSet::push`], leaving out what is masked:
    /// [`Integrator::push_masked`](crate::Integrator::push_masked).
    ///
    /// # Errors
    /// As there.
    pub fn push_masked(
        &mut self,
        chunk: &impl Chunk<V>,
        mask: &ChannelMask,
    ) -> Result<Vec<(usize, D)>, CorrelatorError> {
        self.push_with(chunk, Some(mask))
    }

    fn push_with(
        &mut self,
        chunk: &impl Chunk<V>,
        mask: Option<&ChannelMask>,
    ) -> Result<Vec<(usize, D)>, CorrelatorError> {
        let mut dumps = Vec::new();
        let (levels, form, on_device) = (&mut self.levels, self.form, self.on_device);
        self.stream.push(chunk, mask, &mut |correlator| unit_ended(levels, correlator, form, on_device, &mut dumps))?;
        Ok(dumps)
    }

    /// The dumps that the stream ended in, their rest counted as not valid; none of a schedule that ended at a dump's
    /// end.
    ///
    /// The next chunk then starts a new stream at any time.
    ///
    /// # Errors
    /// As [`Integrator::finish`](crate::Integrator::finish): all of them are lost then.
    pub fn finish(&mut self) -> Result<Vec<(usize, D)>, CorrelatorError> {
        let mut dumps = Vec::new();
        let (levels, form, on_device) = (&mut self.levels, self.form, self.on_device);
        let mut ended =
            self.stream.finish(&mut |correlator| unit_ended(levels, correlator, form, on_device, &mut dumps));
        let correlator = &mut self.stream.correlator;
        for place in 0..self.levels.len() {
            if let Some(sum) = self.levels[place].sum.take() {
                ended = ended.and_then(|()| complete(&mut self.levels, correlator, place, sum, form, &mut dumps));
            }
        }
        ended.map(|()| dumps)
    }
}

/// The unit of schedules, and the shortest of them.
fn common(schedules: &[DumpSchedule]) -> Result<(DumpSchedule, DumpSchedule), CorrelatorError> {
    let Some(&first) = schedules.first() else {
        return Err(TypesError::NotPositive { quantity: "number of schedules", actual: 0.0 }.into());
    };
    let (mut heaps, mut shortest) = (0, first);
    for schedule in schedules {
        for (quantity, expected, actual) in [
            ("samples_between_spectra", first.samples_between_spectra(), schedule.samples_between_spectra()),
            ("spectra_per_heap", first.spectra_per_heap(), schedule.spectra_per_heap()),
        ] {
            if expected != actual {
                return Err(CorrelatorError::Schedules { quantity, expected, actual });
            }
        }
        heaps = greatest_common_divisor(heaps, schedule.heaps_per_dump());
        if schedule.heaps_per_dump() < shortest.heaps_per_dump() {
            shortest = *schedule;
        }
    }
    Ok((DumpSchedule::new(first.samples_between_spectra(), first.spectra_per_heap(), heaps)?, shortest))
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Levels in the order of their lengths, each made of the longest before it that divides it.
fn levels<V: VoltageSample>(schedules: &[DumpSchedule]) -> Vec<Level<V>> {
    let mut indices: Vec<_> = (0..schedules.len()).collect();
    indices.sort_by_key(|&index| schedules[index].heaps_per_dump());
    let heaps: Vec<_> = indices.iter().map(|&index| schedules[index].heaps_per_dump()).collect();
    let source = |place: usize| (0..place).rev().find(|&shorter| heaps[place].is_multiple_of(heaps[shorter]));
    let level = |(place, &index): (usize, &usize)| Level {
        index,
        schedule: schedules[index],
        source: source(place),
        sum: None,
    };
    indices.iter().enumerate().map(level).collect()
}

/// Adds what a unit has summed to the levels that are made of units, and gives the dumps that end with it.
fn unit_ended<V: VoltageSample, D: Dump<V>>(
    levels: &mut [Level<V>],
    correlator: &mut Correlator<V>,
    form: Form,
    on_device: bool,
    dumps: &mut Vec<(usize, D)>,
) -> Result<(), CorrelatorError> {
    let unit = SetSum::take(correlator, on_device)?;
    let samples = u128::from(unit.times()) * u128::from(unit.clock().samples_between_spectra);
    let end = u128::from(unit.clock().first_sample) + samples;
    add(levels, correlator, None, unit)?;
    for place in 0..levels.len() {
        if end.is_multiple_of(u128::from(levels[place].schedule.timestamp_difference()))
            && let Some(sum) = levels[place].sum.take()
        {
            complete(levels, correlator, place, sum, form, dumps)?;
        }
    }
    Ok(())
}

/// Adds a level's complete sum to those that are made of it, and gives it away.
fn complete<V: VoltageSample, D: Dump<V>>(
    levels: &mut [Level<V>],
    correlator: &mut Correlator<V>,
    place: usize,
    sum: SetSum<V>,
    form: Form,
    dumps: &mut Vec<(usize, D)>,
) -> Result<(), CorrelatorError> {
    if levels.iter().any(|level| level.source == Some(place)) {
        add(levels, correlator, Some(place), sum.copied(correlator)?)?;
    }
    dumps.push((levels[place].index, D::of(correlator, sum, form)?));
    Ok(())
}

/// Adds a sum to all levels that are made of such.
fn add<V: VoltageSample>(
    levels: &mut [Level<V>],
    correlator: &Correlator<V>,
    source: Option<usize>,
    part: SetSum<V>,
) -> Result<(), CorrelatorError> {
    let mut takers = levels.iter_mut().filter(|level| level.source == source).peekable();
    while let Some(level) = takers.next() {
        match level.sum.take() {
            Some(sum) => level.sum = Some(sum.plus(&part, correlator)?),
            None if takers.peek().is_some() => {
                level.sum = Some(part.copied(correlator)?.begin_of(level.schedule)?);
            }
            None => {
                level.sum = Some(part.begin_of(level.schedule)?);
                return Ok(());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use fringes_types::Complex;

    use super::*;

    fn sources(heaps: &[u64]) -> Vec<Option<u64>> {
        let schedules: Vec<_> = heaps.iter().map(|&heaps| DumpSchedule::new(1, 1, heaps).unwrap()).collect();
        let levels = levels::<Complex<i8>>(&schedules);
        let mut sources = vec![None; heaps.len()];
        for level in &levels {
            sources[level.index] = level.source.map(|source| levels[source].schedule.heaps_per_dump());
        }
        sources
    }

    #[test]
    fn a_level_is_made_of_the_longest_that_divides_it() {
        assert_eq!(sources(&[2, 6, 9, 12]), [None, Some(2), None, Some(6)]);
        assert_eq!(sources(&[12, 1, 4, 6]), [Some(6), None, Some(1), Some(1)]);
        assert_eq!(sources(&[5, 5]), [None, Some(5)]);
    }

    #[test]
    fn the_unit_divides_every_length_and_is_the_longest_that_does() {
        let unit = |heaps: &[u64]| {
            let schedules: Vec<_> = heaps.iter().map(|&heaps| DumpSchedule::new(4, 8, heaps).unwrap()).collect();
            common(&schedules).map(|(unit, shortest)| (unit.heaps_per_dump(), shortest.heaps_per_dump()))
        };
        assert_eq!(unit(&[12]), Ok((12, 12)));
        assert_eq!(unit(&[12, 8]), Ok((4, 8)));
        assert_eq!(unit(&[9, 6, 4]), Ok((1, 4)));
        assert!(unit(&[]).is_err());
        let other = [DumpSchedule::new(4, 8, 1).unwrap(), DumpSchedule::new(4, 16, 1).unwrap()];
        let expected = CorrelatorError::Schedules { quantity: "spectra_per_heap", expected: 8, actual: 16 };
        assert_eq!(common(&other), Err(expected));
    }

    #[test]
    fn dumps_on_a_device_need_one() {
        let inputs = Inputs::single_pol(1).unwrap();
        let schedules = [DumpSchedule::new(16, 8, 1).unwrap(), DumpSchedule::new(16, 8, 3).unwrap()];
        let set = IntegratorSet::<Complex<i8>>::new(&Backend::cpu(), &schedules, inputs, 1).unwrap();
        let error = set.dumps_on_device().unwrap_err();
        assert_eq!(error.to_string(), "expected data on a GPU, found it on the CPU");
    }
}
