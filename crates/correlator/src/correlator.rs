//! The accumulator: chunks of voltages in, sums out whenever they are asked for.

use std::ops::Range;

use fringes_backend::{Backend, DeviceError, DeviceVisibilities, MemoryNeed};
use fringes_gpu::{Device, Stream};
use fringes_interference::internals::PlacedMask;
use fringes_types::{
    Accumulator, BaselineOrder, ChannelMask, Complex, Dimension, Frequencies, Inputs, MaskedSamples, SpectrumClock,
    TypesError, ValidSamples, Visibilities, VoltageSample,
};
use ndarray::{Array1, Array2};

use crate::chunk::{Description, HostView, Layout, Place};
use crate::counts::{Counted, Counting, masked_in_order};
use crate::device::{self, DeviceSums};
use crate::dump32::Header;
use crate::selection::Times;
use crate::set_sum::with_array;
use crate::{Chunk, CorrelatorError, DeviceDump32, Dump32, MissingData, host, kernels};

/// Most spectra in one integration: with parts of up to 128 in magnitude, `2^48 * 2 * 128^2 = 2^63` is where 64 bits
/// end. At a million spectra a second this is nine years.
pub const MAX_SPECTRA: u64 = (1 << 48) - 1;

/// Sums products of voltages over any number of chunks: `V[a][b] = sum_t x_a(t) conj(x_b(t))`.
///
/// # Layout
/// Sums are kept as the packed lower triangle `[channel][baseline]`; [`Correlator::dump`] gives any [`BaselineOrder`].
///
/// # Precision
/// Integer voltages: exact.
///
/// Float voltages on the CPU: each part of a sum over one call's `S` segments of 8192 spectra is within `(129 u / (1 -
/// 129 u) + (128 + S) 2^-53) sum_t |x_a| |x_b|` with `u = 2^-24`, and each call adds one rounding of `2^-53`; see
/// [`fringes_cpu::correlator`]. Of heaps, each piece of whole batches of at most 8192 spectra together is a segment; of
/// rows, each piece of at most 8192 spectra.
///
/// Float voltages on a GPU: sums of at most 8192 spectra are f32, within what [`kernels`] states, added up in f64
/// (`2^-53` each).
///
/// # Order
/// On a GPU all work is queued on one stream: the correlator's own, or the caller's ([`Correlator::on`]). For chunks on
/// the device nothing waits. For chunks on the host, [`Correlator::accumulate`] returns when the host's array may be
/// used again; of one in pinned memory that is at once, and changing it waits. So a failure of the GPU may be reported
/// by a later call, at the latest by the dump.
///
/// These bounds hold where products neither overflow nor underflow: products of f32 voltages and their sums over a
/// segment are f32, so that magnitudes below about 1e-19 lose digits and vanish (1e-30 gives 0), and above about 1e19,
/// less what the sum adds, become infinite (1e25). Scale such voltages first.
///
/// ```
/// use fringes_correlator::Correlator;
/// use fringes_backend::Backend;
/// use fringes_types::{BaselineOrder, Complex, Inputs, Voltages};
/// use ndarray::Array3;
///
/// let inputs = Inputs::single_pol(2)?;
/// let voltages = Voltages::new(Array3::from_elem((1, 100, 2), Complex::new(3i8, 4)), inputs)?;
/// let mut correlator = Correlator::new(&Backend::cpu(), inputs, 1)?;
/// correlator.accumulate(&voltages, 0..60)?; // a dump may end inside a chunk
/// let first = correlator.dump(BaselineOrder::Triangle)?;
/// correlator.accumulate(&voltages, 60..100)?;
/// let second = correlator.dump(BaselineOrder::Triangle)?;
/// assert_eq!(first.data()[(0, 1)], Complex::new(25 * 60, 0));
/// assert_eq!(second.data()[(0, 1)], Complex::new(25 * 40, 0));
/// # Ok::<(), fringes_correlator::CorrelatorError>(())
/// ```
#[derive(Debug)]
pub struct Correlator<V: VoltageSample> {
    backend: Backend,
    inputs: Inputs,
    channels: usize,
    sums: Sums<V>,
    counting: Counting,
    spectra: u64,
    axes: Option<(Frequencies, SpectrumClock)>,
}

/// Where the sums are.
#[derive(Debug)]
enum Sums<V: VoltageSample> {
    Host(Array2<V::Accumulator>),
    Device(Box<DeviceSums<V>>),
}

impl<V: VoltageSample> Correlator<V> {
    /// A correlator of `channels` channels with nothing accumulated.
    ///
    /// # Errors
    /// [`TypesError::Empty`] without channels, [`TypesError::TooLarge`] if the sums do not fit memory,
    /// [`DeviceError::MemoryLimit`] if the backend's limit is below the smallest step ([`Correlator::memory`]),
    /// [`DeviceError::Gpu`] if the sums do not fit a GPU's memory.
    pub fn new(backend: &Backend, inputs: Inputs, channels: usize) -> Result<Self, CorrelatorError> {
        Self::with_most_parts(backend, inputs, channels, usize::MAX)
    }

    /// A correlator whose sums on a GPU have so many parts at most.
    fn with_most_parts(
        backend: &Backend,
        inputs: Inputs,
        channels: usize,
        parts: usize,
    ) -> Result<Self, CorrelatorError> {
        if channels == 0 {
            return Err(TypesError::Empty { array: "correlator", dimension: Dimension::Channel }.into());
        }
        let device = on_gpu::<V>(backend)?;
        backend.check_memory("correlation", Self::memory(backend, inputs, channels, 1)?.smallest_step_bytes)?;
        let sums = match device {
            Some(device) => {
                let limit = backend.memory_limit();
                Sums::Device(Box::new(DeviceSums::new(device, inputs, channels, parts, limit)?))
            }
            None => Sums::Host(zeros(channels, inputs)?),
        };
        let counting = Counting::new(inputs, channels);
        Ok(Self { backend: backend.clone(), inputs, channels, sums, counting, spectra: 0, axes: None })
    }

    /// Memory that correlating chunks of so many times takes on a backend.
    ///
    /// | backend | workspace | smallest step |
    /// |---|---|---|
    /// | CPU | every thread's of the rayon pool | one thread's with the shortest block of time |
    /// | GPU | pieces of the chunk in pinned and in device memory, and their rows | one row of time of one channel |
    ///
    /// A limit in between ([`Backend::with_memory_limit`]) makes blocks and pieces shorter; the result is the same.
    /// Heaps and rows need a copy of a piece of their own on the CPU: a limit that is too small for that is an error
    /// which says how much it takes. Sums that are divided in time, where channels alone would not fill a GPU, and
    /// dumps in another form than the sums' come on top of the output. A correlator keeps its pieces from chunk to
    /// chunk; process-wide pools keep up to a gibibyte of a device's memory for the next call, and pinned memory of the
    /// largest pieces so far and of 40 MiB of dumps.
    ///
    /// # Errors
    /// [`DeviceError::NotOnGpu`] for a format without kernels on a backend that is a GPU and nothing else.
    pub fn memory(
        backend: &Backend,
        inputs: Inputs,
        channels: usize,
        times: usize,
    ) -> Result<MemoryNeed, CorrelatorError> {
        Ok(match on_gpu::<V>(backend)? {
            Some(_) => device::memory::<V>(inputs, channels, times),
            None => host::memory::<V>(inputs, channels, times),
        })
    }

    /// Does all work on a stream of the caller's, after what was queued so far; it is queued there in the order of the
    /// calls.
    ///
    /// # Errors
    /// [`DeviceError::WrongDevice`] if the correlator is on the CPU or on another device, [`DeviceError::Gpu`] with
    /// what the driver says.
    pub fn on(mut self, stream: &Stream) -> Result<Self, CorrelatorError> {
        self.set_stream(stream)?;
        Ok(self)
    }

    pub(crate) fn set_stream(&mut self, stream: &Stream) -> Result<(), CorrelatorError> {
        match &mut self.sums {
            Sums::Host(_) => Err(wrong_device(None, stream.device()).into()),
            Sums::Device(sums) => sums.set_stream(stream),
        }
    }

    /// Heaps of short runs on the device wait for others, for so many sums of which each has a part of the spectra.
    pub(crate) fn hold_short_runs(&mut self, sums: usize) {
        if let Sums::Device(on_device) = &mut self.sums {
            on_device.hold_short_runs(sums);
        }
    }

    /// The GPU that does the work, `None` for the CPU.
    pub fn device(&self) -> Option<&Device> {
        match &self.sums {
            Sums::Host(_) => None,
            Sums::Device(sums) => Some(sums.device()),
        }
    }

    /// Antennas and polarisations.
    pub fn inputs(&self) -> Inputs {
        self.inputs
    }

    /// Number of channels.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// Spectra covered since the last dump, present or not.
    pub fn spectra(&self) -> u64 {
        self.spectra
    }

    /// Adds the products of the spectra `times` of a chunk, wherever it lies. Inputs that are absent at a time, and
    /// heaps that are absent, count as zero; the chunk is not changed. Of heaps, whole batches alone can be added.
    ///
    /// The first spectrum that is accumulated stamps the integration.
    ///
    /// # Errors
    /// [`CorrelatorError::Inputs`], [`TypesError::Dimension`] (channels), [`CorrelatorError::TimeRange`] if the chunk
    /// does not fit; [`CorrelatorError::CutHeaps`] for a range that begins or ends inside a batch;
    /// [`CorrelatorError::Frequencies`], [`CorrelatorError::SpectrumSpacing`], [`CorrelatorError::SampleRate`] if it
    /// does not continue what was accumulated before; [`CorrelatorError::TooManySpectra`] past [`MAX_SPECTRA`];
    /// [`DeviceError::WrongDevice`] for a chunk on a device that is not the correlator's, [`DeviceError::Alignment`]
    /// for one that begins where no kernel can read it, [`DeviceError::Gpu`] for memory of other software that is not
    /// there any more or ends early; [`DeviceError::MemoryLimit`] if the backend's limit is below the smallest step of
    /// such heaps or rows. Nothing is accumulated then, and nothing is launched. Another [`DeviceError::Gpu`] is a
    /// failure of the GPU: the sums since the last dump are lost then.
    pub fn accumulate(&mut self, chunk: &impl Chunk<V>, times: Range<usize>) -> Result<(), CorrelatorError> {
        self.add(chunk, &Times::Range(times), None)
    }

    /// As [`Correlator::accumulate`], leaving out what is masked: masked samples count as zero, and
    /// [`Visibilities::valid`] says how many spectra of a channel are left. Masked spectra are covered spectra
    /// ([`Visibilities::times`]); they are not missing.
    ///
    /// On a GPU, a chunk on the host is masked on its way there, in a copy. Of heaps and rows on the device a masked
    /// copy is made there, and voltages are masked as they become rows, in the order of the stream and in steps that
    /// keep to the backend's limit; the chunk is not changed.
    ///
    /// # Errors
    /// As [`Correlator::accumulate`]; [`TypesError::Dimension`] for a mask of other channels, [`TypesError::MaskGrid`]
    /// and [`TypesError::MaskRange`] for one that does not cover these spectra of the chunk;
    /// [`DeviceError::MemoryLimit`] if the backend's limit is below a copy of one batch of heaps,
    /// [`TypesError::TooLarge`] without memory for counts. Nothing is accumulated then.
    pub fn accumulate_masked(
        &mut self,
        chunk: &impl Chunk<V>,
        times: Range<usize>,
        mask: &ChannelMask,
    ) -> Result<(), CorrelatorError> {
        self.add(chunk, &Times::Range(times), Some(mask))
    }

    /// Adds times of a chunk, and leaves out what is masked.
    pub(crate) fn add(
        &mut self,
        chunk: &impl Chunk<V>,
        times: &Times<'_>,
        mask: Option<&ChannelMask>,
    ) -> Result<(), CorrelatorError> {
        let (about, place, mask) = self.admit(chunk, times, mask)?;
        let _span = tracing::debug_span!("accumulate", channels = self.channels(), spectra = times.len()).entered();
        let limit = self.backend.memory_limit();
        match &mut self.sums {
            Sums::Host(sums) => {
                if let Some(view) = place.on_host(&about)? {
                    host::accumulate(&view, &about, times, mask, sums, limit);
                }
                Ok(())
            }
            Sums::Device(sums) => match (place, times, mask) {
                (Place::Device(array), times, None) => sums.add_device_times(&about, array, times),
                (Place::Device(array), times, Some(mask)) => {
                    let mut runs = times.runs().into_iter();
                    runs.try_for_each(|run| sums.add_masked_device_chunk(&about, array, run, mask))
                }
                (place, Times::Range(range), None) => sums.add_host_chunk(&about, &place, range.clone()),
                (place, times, None) if times.has_long_runs(about.layout) => {
                    times.runs().into_iter().try_for_each(|run| sums.add_host_chunk(&about, &place, run))
                }
                (place, times, mask) => {
                    let Some(view) = place.on_host(&about)? else { return Ok(()) };
                    for piece in host::pieces::<V>(&about, times, limit) {
                        let copy = host::selected(&view, &about, &piece, mask)?;
                        let times = copy.dim().1;
                        let about = Description { layout: Layout::Voltages, times, presence: None, ..about };
                        sums.add_host_chunk(&about, &Place::Host(HostView::Voltages(copy.view())), 0..times)?;
                    }
                    Ok(())
                }
            },
        }
    }

    /// Checks times of a chunk that continues what was accumulated, and where a mask has them, without a change.
    fn check_times<'a, 'm>(
        &self,
        chunk: &'a impl Chunk<V>,
        times: &Times<'_>,
        mask: Option<&'m ChannelMask>,
    ) -> Result<Admitted<'a, 'm, V>, CorrelatorError> {
        self.check(&chunk.description())?;
        self.spectra_with(times.len() as u64)?;
        self.check_selection(chunk, times, mask)
    }

    /// Checks times of a chunk of the right shape, and where a mask has them, without a change.
    pub(crate) fn check_selection<'a, 'm>(
        &self,
        chunk: &'a impl Chunk<V>,
        times: &Times<'_>,
        mask: Option<&'m ChannelMask>,
    ) -> Result<Admitted<'a, 'm, V>, CorrelatorError> {
        let (about, place) = (chunk.description(), chunk.place());
        let Range { start, end } = times.span();
        if start > end || end > about.times {
            return Err(CorrelatorError::TimeRange { start, end, times: about.times });
        }
        let on_device = place.device().is_some();
        if let Layout::Heaps { spectra } = about.layout
            && (on_device || times.list().is_none())
        {
            // Kernels read whole batches, and ranges are of whole ones; listed times are copied.
            let cut = times.runs().into_iter().find(|run| !(run.start % spectra == 0 && run.end % spectra == 0));
            if let Some(Range { start, end }) = cut {
                return Err(CorrelatorError::CutHeaps { start, end, spectra });
            }
        }
        self.check_place(&about, &place)?;
        let mask = match mask {
            Some(mask) => Some(PlacedMask::new(mask, self.channels, about.clock, times.span())?),
            None => None,
        };
        match &self.sums {
            Sums::Host(_) => host::check_memory::<V>(&self.backend, &about, times)?,
            Sums::Device(sums) if on_device && mask.is_some() => sums.check_mask(&about)?,
            Sums::Device(_) => {}
        }
        Ok((about, place, mask))
    }

    /// Checks times of a chunk, stamps and counts them.
    fn admit<'a, 'm, C: Chunk<V>>(
        &mut self,
        chunk: &'a C,
        times: &Times<'_>,
        mask: Option<&'m ChannelMask>,
    ) -> Result<Admitted<'a, 'm, V>, CorrelatorError> {
        let (about, place, mask) = self.check_times(chunk, times, mask)?;
        self.counting.add(&about, times, mask)?;
        self.stamp(about.frequencies, about.clock, times.span().start);
        self.spectra = self.spectra_with(times.len() as u64)?;
        Ok((about, place, mask))
    }

    /// All of one chunk, and its dump: [`correlate`].
    fn only(
        mut self,
        chunk: &impl Chunk<V>,
        order: BaselineOrder,
    ) -> Result<Visibilities<V::Accumulator>, CorrelatorError> {
        let times = 0..chunk.description().times;
        let from_host = chunk.place().device().is_none();
        if !(from_host && matches!(self.sums, Sums::Device(_))) {
            self.accumulate(chunk, times)?;
            return self.dump(order);
        }
        let (about, place, _) = self.admit(chunk, &Times::Range(times.clone()), None)?;
        let _span = tracing::debug_span!("correlate", channels = self.channels(), spectra = times.len()).entered();
        let Sums::Device(sums) = &mut self.sums else { return self.dump(order) };
        let sums = sums.correlate_host_chunk(&about, &place, times, order)?;
        self.dump_of(sums, order, order)
    }

    /// Whether a chunk lies where this correlator can read it.
    pub(crate) fn check_place(&self, about: &Description<'_>, place: &Place<'_, V>) -> Result<(), CorrelatorError> {
        match (&self.sums, place) {
            (_, Place::Host(_) | Place::Pinned(_)) => Ok(()),
            (Sums::Host(_), Place::Device(array)) => Err(wrong_device(None, array.device()).into()),
            (Sums::Device(sums), Place::Device(array)) => sums.ready(about, array).map(|_| ()),
        }
    }

    /// Covers `spectra` spectra that never came: they count in [`Visibilities::times`] and for no baseline.
    ///
    /// # Errors
    /// [`CorrelatorError::TooManySpectra`] past [`MAX_SPECTRA`].
    pub fn skip(&mut self, spectra: u64) -> Result<(), CorrelatorError> {
        self.spectra = self.spectra_with(spectra)?;
        Ok(())
    }

    /// The sums since the last dump on the host, and starts again from zero. Nothing accumulated gives zeros with no
    /// valid sample, on default axes.
    ///
    /// # Errors
    /// [`TypesError::OrderPols`] if the order cannot hold the inputs, [`TypesError::TooLarge`] if there is no memory
    /// for new sums; nothing is lost then. [`DeviceError::Gpu`] if the GPU failed at any of what was accumulated.
    pub fn dump(&mut self, order: BaselineOrder) -> Result<Visibilities<V::Accumulator>, CorrelatorError> {
        order.check(self.inputs)?;
        let (sums, of) = match &mut self.sums {
            Sums::Host(sums) => (std::mem::replace(sums, zeros(self.channels, self.inputs)?), BaselineOrder::Triangle),
            Sums::Device(sums) => (sums.take(order)?, order),
        };
        self.dump_of(sums, of, order)
    }

    /// A dump of sums in the order `of`, with what was counted, which starts again from zero.
    fn dump_of(
        &mut self,
        sums: Array2<V::Accumulator>,
        of: BaselineOrder,
        order: BaselineOrder,
    ) -> Result<Visibilities<V::Accumulator>, CorrelatorError> {
        let Counts { valid, masked, spectra, frequencies, clock } = self.take_counts();
        let valid = in_order(valid, of, self.inputs);
        let dump = Visibilities::new(sums, self.inputs, of, valid, spectra, frequencies, clock)?;
        let dump = with_masked(dump, masked, of)?;
        Ok(if order == of { dump } else { dump.reordered(order)? })
    }

    /// As [`Correlator::dump`], on the correlator's device: added up and brought into their order in the order of the
    /// stream; nothing waits.
    ///
    /// # Errors
    /// As [`Correlator::dump`]; [`DeviceError::WrongDevice`] if the correlator is on the CPU.
    pub fn dump_on_device(
        &mut self,
        order: BaselineOrder,
    ) -> Result<DeviceVisibilities<'static, V::Accumulator>, CorrelatorError> {
        order.check(self.inputs)?;
        let Sums::Device(sums) = &mut self.sums else { return Err(not_on_a_device().into()) };
        let data = sums.take_on_device(order)?;
        let Counts { valid, masked, spectra, frequencies, clock } = self.take_counts();
        let (valid, channels) = (in_order(valid, order, self.inputs), self.channels);
        let dump = Visibilities::from_array(data, channels, self.inputs, order, valid, spectra, frequencies, clock)?;
        with_masked(dump, masked, order)
    }

    /// The sum of packed lower triangles on the correlator's device, under the first one's header.
    pub(crate) fn sum_on_device(
        &self,
        sums: &[&DeviceVisibilities<'static, V::Accumulator>],
    ) -> Result<DeviceVisibilities<'static, V::Accumulator>, CorrelatorError> {
        let (Sums::Device(device), Some(first)) = (&self.sums, sums.first()) else {
            return Err(not_on_a_device().into());
        };
        let arrays: Vec<_> = sums.iter().map(|sum| sum.array()).collect();
        let mut valid = ValidSamples::same(0, self.inputs.triangle_len());
        let mut masked: Option<MaskedSamples> = None;
        for sum in sums {
            valid = valid.plus(sum.valid_counts());
            masked = match (masked, sum.masked_samples()) {
                (Some(masked), Some(more)) => Some(masked.plus(more)?),
                (masked, more) => masked.or_else(|| more.cloned()),
            };
        }
        let sum = with_array(first, BaselineOrder::Triangle, valid, device.added(&arrays)?)?;
        with_masked(sum, masked, BaselineOrder::Triangle)
    }

    /// A packed lower triangle in another order, on the correlator's device.
    pub(crate) fn reordered_on_device(
        &self,
        sum: &DeviceVisibilities<'static, V::Accumulator>,
        order: BaselineOrder,
    ) -> Result<DeviceVisibilities<'static, V::Accumulator>, CorrelatorError> {
        let Sums::Device(device) = &self.sums else { return Err(not_on_a_device().into()) };
        let valid = in_order(sum.valid_counts().clone(), order, self.inputs);
        let reordered = with_array(sum, order, valid, device.reordered(sum.array(), order)?)?;
        with_masked(reordered, sum.masked_samples().cloned(), order)
    }

    /// A packed lower triangle from the host on the correlator's device.
    pub(crate) fn uploaded(
        &self,
        sum: &Visibilities<V::Accumulator>,
    ) -> Result<DeviceVisibilities<'static, V::Accumulator>, CorrelatorError> {
        let Sums::Device(device) = &self.sums else { return Err(not_on_a_device().into()) };
        let data = sum.data();
        let elements: Vec<_> = data.iter().copied().collect();
        let there = with_array(sum, sum.order(), sum.valid_counts().clone(), device.uploaded(&elements)?)?;
        // Sums that are added up are packed lower triangles.
        with_masked(there, sum.masked_samples().cloned(), BaselineOrder::Triangle)
    }

    /// Takes everything but the sums, and starts again from zero.
    fn take_counts(&mut self) -> Counts {
        let Counted { valid, masked } = self.counting.take();
        let (frequencies, clock) = self.axes.take().unwrap_or_default();
        Counts { valid, masked, spectra: std::mem::take(&mut self.spectra), frequencies, clock }
    }

    /// Sets the axes of the integration, in place of the first spectrum's.
    pub(crate) fn set_axes(&mut self, frequencies: Frequencies, clock: SpectrumClock) {
        self.axes = Some((frequencies, clock));
    }

    /// Stamps an integration that has no stamp yet with spectrum `time` of a chunk.
    fn stamp(&mut self, frequencies: Frequencies, clock: SpectrumClock, time: usize) {
        if self.axes.is_none() {
            self.axes = Some((frequencies, SpectrumClock { first_sample: clock.sample_of(time), ..clock }));
        }
    }

    /// Whether a chunk has the correlator's inputs and channels and continues its axes.
    fn check(&self, chunk: &Description<'_>) -> Result<(), CorrelatorError> {
        check_shape(self.inputs, self.channels, chunk)?;
        match self.axes {
            Some((frequencies, clock)) => check_axes(frequencies, clock, chunk),
            None => Ok(()),
        }
    }

    /// Spectra covered after `more`, if that is allowed.
    fn spectra_with(&self, more: u64) -> Result<u64, CorrelatorError> {
        let actual = u128::from(self.spectra) + u128::from(more);
        match u64::try_from(actual) {
            Ok(spectra) if spectra <= MAX_SPECTRA => Ok(spectra),
            _ => Err(CorrelatorError::TooManySpectra { actual, limit: MAX_SPECTRA }),
        }
    }
}

impl<V: VoltageSample<Accumulator = Complex<i64>>> Correlator<V> {
    /// The sums since the last dump in 32 bits on the host, clamped and counted ([`Dump32`]), and starts again from
    /// zero.
    ///
    /// # Errors
    /// As [`Correlator::dump`].
    pub fn dump32(&mut self, order: BaselineOrder, missing: MissingData) -> Result<Dump32, CorrelatorError> {
        order.check(self.inputs)?;
        let affected = self.counting.affected(self.spectra);
        let Sums::Device(sums) = &mut self.sums else { return Ok(Dump32::new(&self.dump(order)?, missing)) };
        let (data, saturated) = sums.take32(order, missing, &affected)?;
        let counts = self.take_counts();
        Ok(Dump32::of(data, saturated, missing, self.header(order, counts)))
    }

    /// As [`Correlator::dump32`], on the correlator's device, in the order of the stream; nothing waits.
    ///
    /// # Errors
    /// As [`Correlator::dump_on_device`].
    pub fn dump32_on_device(
        &mut self,
        order: BaselineOrder,
        missing: MissingData,
    ) -> Result<DeviceDump32, CorrelatorError> {
        order.check(self.inputs)?;
        let affected = self.counting.affected(self.spectra);
        let Sums::Device(sums) = &mut self.sums else { return Err(not_on_a_device().into()) };
        let (data, saturated) = sums.take32_on_device(order, missing, &affected)?;
        let counts = self.take_counts();
        Ok(Dump32::of(data, saturated, missing, self.header(order, counts)))
    }

    /// A packed lower triangle in an order and in 32 bits, on the correlator's device.
    pub(crate) fn clamped_on_device(
        &mut self,
        sum: &DeviceVisibilities<'static, V::Accumulator>,
        order: BaselineOrder,
        missing: MissingData,
    ) -> Result<DeviceDump32, CorrelatorError> {
        let Sums::Device(device) = &mut self.sums else { return Err(not_on_a_device().into()) };
        let affected: Vec<bool> = sum.valid_samples().iter().map(|&valid| valid < sum.times()).collect();
        let (data, saturated) = device.clamped(sum.array(), order, missing, &affected)?;
        let header = Header {
            channels: sum.channels(),
            inputs: self.inputs,
            order,
            valid_samples: in_order(sum.valid_counts().clone(), order, self.inputs),
            masked_samples: sum.masked_samples().map(|masked| masked_in_order(masked.clone(), order, self.inputs)),
            times: sum.times(),
            frequencies: sum.frequencies(),
            clock: sum.clock(),
        };
        Ok(Dump32::of(data, saturated, missing, header))
    }

    fn header(&self, order: BaselineOrder, counts: Counts) -> Header {
        let Counts { valid, masked, spectra, frequencies, clock } = counts;
        let (channels, valid_samples) = (self.channels, in_order(valid, order, self.inputs));
        let masked_samples = masked.map(|masked| masked_in_order(masked, order, self.inputs));
        let (inputs, times) = (self.inputs, spectra);
        Header { channels, inputs, order, valid_samples, masked_samples, times, frequencies, clock }
    }
}

/// A chunk that fits: what it is, where it lies, and a mask that covers what is added of it.
type Admitted<'a, 'm, V> = (Description<'a>, Place<'a, V>, Option<PlacedMask<'m>>);

/// A dump with what masks took of the packed lower triangle.
fn with_masked<A: Accumulator, D>(
    dump: Visibilities<A, D>,
    masked: Option<MaskedSamples>,
    order: BaselineOrder,
) -> Result<Visibilities<A, D>, CorrelatorError> {
    let inputs = dump.inputs();
    Ok(match masked {
        Some(masked) => dump.with_masked_samples(masked_in_order(masked, order, inputs))?,
        None => dump,
    })
}

/// The GPU that correlates on a backend, `None` for the CPU.
fn on_gpu<V: VoltageSample>(backend: &Backend) -> Result<Option<&Device>, CorrelatorError> {
    let operation = format!("correlation of {} voltages", V::FORMAT);
    Ok(backend.gpu_for(&operation, kernels::has_kernel(V::FORMAT))?)
}

/// Data on a device where the CPU (or another device) was expected.
fn wrong_device(expected: Option<&Device>, actual: &Device) -> DeviceError {
    expected.map_or_else(|| DeviceError::not_on_the_cpu(actual), |expected| DeviceError::wrong_device(expected, actual))
}

/// A correlator on the CPU where one on a device was expected.
pub(crate) fn not_on_a_device() -> DeviceError {
    DeviceError::WrongDevice { expected: "a GPU".into(), actual: "the CPU".into() }
}

/// What a dump has beside its sums.
struct Counts {
    /// Packed lower triangle.
    valid: ValidSamples,
    masked: Option<MaskedSamples>,
    spectra: u64,
    frequencies: Frequencies,
    clock: SpectrumClock,
}

/// Numbers of the packed lower triangle in an order. Rows are counted: the root that a position's row takes would cost
/// a millisecond at 512 inputs.
fn in_order(triangle: ValidSamples, order: BaselineOrder, inputs: Inputs) -> ValidSamples {
    if let Some(all) = triangle.all() {
        return ValidSamples::same(all, order.len(inputs));
    }
    let of = |a: usize, b: usize| {
        let (high, low) = (a.max(b), a.min(b));
        triangle.get(high * (high + 1) / 2 + low).unwrap_or(0)
    };
    let ordered: Array1<u64> = match order {
        BaselineOrder::Triangle => return triangle,
        BaselineOrder::AntennaPairs => {
            let pairs = (0..inputs.antennas()).flat_map(|second| (0..=second).map(move |first| (first, second)));
            let products = |(first, second): (usize, usize)| {
                [0, 1, 2, 3].map(|product| of(2 * first + product % 2, 2 * second + product / 2))
            };
            pairs.flat_map(products).collect()
        }
        BaselineOrder::Full => {
            (0..inputs.len()).flat_map(|a| (0..inputs.len()).map(move |b| (a, b))).map(|(a, b)| of(a, b)).collect()
        }
    };
    ordered.into()
}

/// Whether a chunk has these inputs and so many channels.
pub(crate) fn check_shape(inputs: Inputs, channels: usize, chunk: &Description<'_>) -> Result<(), CorrelatorError> {
    if chunk.inputs != inputs {
        return Err(CorrelatorError::Inputs { expected: inputs, actual: chunk.inputs });
    }
    if chunk.channels != channels {
        let (array, dimension) = (chunk.layout.name(), Dimension::Channel);
        return Err(TypesError::Dimension { array, dimension, expected: channels, actual: chunk.channels }.into());
    }
    Ok(())
}

/// Whether a chunk has these frequencies, this spacing and this sample rate.
pub(crate) fn check_axes(
    frequencies: Frequencies,
    clock: SpectrumClock,
    chunk: &Description<'_>,
) -> Result<(), CorrelatorError> {
    let actual = chunk.clock;
    if chunk.frequencies != frequencies {
        return Err(CorrelatorError::Frequencies { expected: frequencies, actual: chunk.frequencies });
    }
    if actual.samples_between_spectra != clock.samples_between_spectra {
        return Err(CorrelatorError::SpectrumSpacing {
            expected: clock.samples_between_spectra,
            actual: actual.samples_between_spectra,
        });
    }
    if actual.sample_rate_hz != clock.sample_rate_hz {
        return Err(CorrelatorError::SampleRate { expected: clock.sample_rate_hz, actual: actual.sample_rate_hz });
    }
    Ok(())
}

/// Correlates a whole chunk: `V[a][b] = sum_t x_a(t) conj(x_b(t))` for every channel, to the host.
///
/// Shapes: voltages `[channel][time][input]`, or heaps, or rows; visibilities `[channel][baseline]` in the given order.
/// Inputs that are absent at a time count as zero there; [`Visibilities::valid_samples`] says how many spectra each
/// baseline has.
///
/// The backend says where chunks on the host are correlated; one on a device is correlated there, whatever the backend
/// is.
///
/// # Precision
/// As [`Correlator`]. The backend's memory limit splits the work by time and does not change the result.
///
/// # Errors
/// [`TypesError::OrderPols`] if the order cannot hold the inputs, [`TypesError::TooLarge`] if the sums do not fit
/// memory; else as [`Correlator::new`] and [`Correlator::accumulate`].
pub fn correlate<V: VoltageSample>(
    backend: &Backend,
    chunk: &impl Chunk<V>,
    order: BaselineOrder,
) -> Result<Visibilities<V::Accumulator>, CorrelatorError> {
    let about = chunk.description();
    order.check(about.inputs)?;
    let there = chunk.place().device().map(|device| {
        let there = Backend::on(device.clone());
        backend.memory_limit().map_or(there.clone(), |limit| there.with_memory_limit(limit))
    });
    let parts =
        if there.is_some() { usize::MAX } else { device::parts_from_host::<V>(about.channels, about.inputs.len()) };
    let backend = there.as_ref().unwrap_or(backend);
    Correlator::with_most_parts(backend, about.inputs, about.channels, parts)?.only(chunk, order)
}

/// Zeros `[channel][baseline]`, packed lower triangle.
fn zeros<A: Accumulator>(channels: usize, inputs: Inputs) -> Result<Array2<A>, CorrelatorError> {
    let baselines = inputs.triangle_len();
    let elements = channels.checked_mul(baselines);
    let too_large = || TypesError::TooLarge { array: "visibilities", elements: format!("{channels} x {baselines}") };
    let data = bytemuck::try_zeroed_vec(elements.ok_or_else(too_large)?).map_err(|()| too_large())?;
    Ok(Array2::from_shape_vec((channels, baselines), data).map_err(|_| too_large())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_lie_where_their_products_do() {
        for (antennas, pols) in [(1, 1), (1, 2), (2, 2), (7, 2), (5, 1)] {
            let inputs = Inputs::new(antennas, pols).unwrap();
            let triangle: Vec<u64> = (0..inputs.triangle_len() as u64).map(|count| 3 * count + 1).collect();
            for order in [BaselineOrder::Triangle, BaselineOrder::AntennaPairs, BaselineOrder::Full] {
                if order.check(inputs).is_err() {
                    continue;
                }
                let counts = in_order(Array1::from(triangle.clone()).into(), order, inputs);
                assert_eq!(counts.len(), order.len(inputs));
                for (position, &count) in counts.view().iter().enumerate() {
                    let product = order.product(inputs, position).unwrap();
                    assert_eq!(count, triangle[product.triangle().0], "{order:?}, {position}");
                }
                let same = ValidSamples::same(7, inputs.triangle_len());
                assert_eq!(in_order(same, order, inputs), ValidSamples::same(7, order.len(inputs)));
            }
        }
    }
}
