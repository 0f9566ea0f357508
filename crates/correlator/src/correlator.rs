//! The accumulator: chunks of voltages in, sums out whenever they are asked for.

use std::ops::Range;

use fringes_backend::{Backend, MemoryNeed};
use fringes_cpu::correlator as cpu;
use fringes_gpu::Device;
use fringes_types::{
    Accumulator, BaselineOrder, Complex, Dimension, Frequencies, Heaps, Inputs, SpectrumClock, TypesError,
    Visibilities, VoltageSample, Voltages,
};
use ndarray::{Array1, Array2, s};

use crate::chunk::Description;
use crate::gpu::{self, DeviceSums};
use crate::{Chunk, CorrelatorError, Dump32, MissingData};

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
/// Float voltages on the CPU: each part of a sum over one call's `S` segments of 8192 spectra is within
/// `(129 u / (1 - 129 u) + (128 + S) 2^-53) sum_t |x_a| |x_b|` with `u = 2^-24`, and each call adds one rounding of
/// `2^-53`; see [`fringes_cpu::correlator`]. Of heaps, each piece of whole batches of at most 8192 spectra together is a segment.
///
/// Float voltages on a GPU: sums of at most 8192 spectra are f32, added up in f64 (`2^-53` each). f16: products are exact, and a part of
/// such a sum of `T` spectra is within `6 (T + 16) 2^-23 sum_t |x_a| |x_b|`, or `6 (T + 16 B) 2^-23 ...` of `B` batches of heaps, if all
/// roundings go one way. f32: as [`gpu::float`].
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
    /// Valid spectra of each pair of inputs, beside those that all have.
    valid: Vec<u64>,
    all_valid: u64,
    spectra: u64,
    axes: Option<(Frequencies, SpectrumClock)>,
}

/// Where the sums are.
#[derive(Debug)]
enum Sums<V: VoltageSample> {
    Host(Array2<V::Accumulator>),
    Device(Box<DeviceSums>),
}

impl<V: VoltageSample> Correlator<V> {
    /// A correlator of `channels` channels with nothing accumulated.
    ///
    /// # Errors
    /// [`TypesError::Empty`] without channels, [`TypesError::TooLarge`] if the sums do not fit memory,
    /// [`DeviceError::MemoryLimit`](fringes_backend::DeviceError::MemoryLimit) if the backend's limit is below the smallest step, [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) if the sums do not fit a
    /// GPU's memory.
    pub fn new(backend: &Backend, inputs: Inputs, channels: usize) -> Result<Self, CorrelatorError> {
        if channels == 0 {
            return Err(TypesError::Empty { array: "correlator", dimension: Dimension::Channel }.into());
        }
        let operation = format!("correlation of {} voltages", V::FORMAT);
        let sums = match backend.gpu_for(&operation, gpu::has_kernel(V::FORMAT))? {
            Some(device) => {
                backend.check_memory("correlation", gpu::memory::<V>(inputs, channels, 1).smallest_step_bytes)?;
                Sums::Device(Box::new(DeviceSums::new::<V>(device, inputs, channels, backend.memory_limit())?))
            }
            None => {
                backend.check_memory("correlation", memory::<V>(inputs, channels, 1).smallest_step_bytes)?;
                Sums::Host(zeros(channels, inputs)?)
            }
        };
        let valid = zero_counts(inputs)?;
        Ok(Self { backend: backend.clone(), inputs, channels, sums, valid, all_valid: 0, spectra: 0, axes: None })
    }

    /// The GPU that does the work, `None` for the CPU.
    pub fn device(&self) -> Option<&Device> {
        match self.sums {
            Sums::Host(_) => None,
            Sums::Device(_) => self.backend.device(),
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

    /// Adds the products of the spectra `times` of a chunk. Inputs that are absent at a time count as zero there.
    ///
    /// The first spectrum that is accumulated stamps the integration.
    ///
    /// # Errors
    /// [`CorrelatorError::Inputs`], [`TypesError::Dimension`] (channels), [`CorrelatorError::TimeRange`] if the chunk does
    /// not fit; [`CorrelatorError::Frequencies`], [`CorrelatorError::SpectrumSpacing`], [`CorrelatorError::SampleRate`] if
    /// it does not continue what was accumulated before; [`CorrelatorError::TooManySpectra`] past [`MAX_SPECTRA`]. Nothing
    /// is accumulated then. [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) if the GPU fails: the sums since the last dump are lost then.
    pub fn accumulate(&mut self, voltages: &Voltages<V>, times: Range<usize>) -> Result<(), CorrelatorError> {
        self.check(&voltages.description())?;
        if times.start > times.end || times.end > voltages.times() {
            return Err(CorrelatorError::TimeRange { start: times.start, end: times.end, times: voltages.times() });
        }
        let spectra = self.spectra_with(times.len() as u64)?;
        let _span = tracing::debug_span!("accumulate", channels = self.channels(), spectra = times.len()).entered();
        self.stamp(voltages.frequencies(), voltages.clock(), times.start);
        self.spectra = spectra;
        let presence = voltages.presence();
        let presence = presence.as_ref().map(|flags| flags.slice(s![times.clone(), ..]));
        match presence {
            None => self.all_valid += times.len() as u64,
            Some(flags) => cpu::count_valid(flags, &mut self.valid),
        }
        let data = voltages.data();
        let data = data.slice(s![.., times, ..]);
        match &mut self.sums {
            Sums::Host(sums) => cpu::accumulate(data, presence, sums.view_mut(), self.backend.memory_limit()),
            Sums::Device(sums) => sums.accumulate(data, presence)?,
        }
        Ok(())
    }

    /// Adds the products of some batches of a chunk of heaps. Heaps that are absent count as zero.
    ///
    /// The first spectrum that is accumulated stamps the integration.
    ///
    /// # Errors
    /// As [`Correlator::accumulate`], with [`CorrelatorError::BatchRange`] for a range that is not inside the chunk, and
    /// [`DeviceError::MemoryLimit`](fringes_backend::DeviceError::MemoryLimit) if the backend's limit is below the smallest step for heaps of this length ([`memory_of_heaps`]).
    pub fn accumulate_batches(&mut self, heaps: &Heaps<V>, batches: Range<usize>) -> Result<(), CorrelatorError> {
        self.check(&heaps.description())?;
        if batches.start > batches.end || batches.end > heaps.batches() {
            let Range { start, end } = batches;
            return Err(CorrelatorError::BatchRange { start, end, batches: heaps.batches() });
        }
        let (pols, spectra_per_heap) = (self.inputs.pols(), heaps.spectra_per_heap());
        let times = batches.len() as u64 * spectra_per_heap as u64;
        let spectra = self.spectra_with(times)?;
        if matches!(self.sums, Sums::Host(_)) {
            let need = memory_of_heaps::<V>(self.inputs, self.channels, batches.len(), spectra_per_heap);
            self.backend.check_memory("correlation of heaps", need.smallest_step_bytes)?;
        }
        let _span = tracing::debug_span!("accumulate", channels = self.channels, spectra = times).entered();
        self.stamp(heaps.frequencies(), heaps.clock(), batches.start * spectra_per_heap);
        self.spectra = spectra;
        let presence = heaps.presence();
        let presence = presence.as_ref().map(|flags| flags.slice(s![batches.clone(), ..]));
        match presence {
            None => self.all_valid += times,
            Some(flags) => cpu::count_valid_heaps(flags, pols, spectra_per_heap as u64, &mut self.valid),
        }
        let data = heaps.data();
        let data = data.slice(s![batches, .., .., .., ..]);
        match &mut self.sums {
            Sums::Host(sums) => cpu::accumulate_heaps(data, presence, sums.view_mut(), self.backend.memory_limit()),
            Sums::Device(sums) => sums.accumulate_heaps(data, presence)?,
        }
        Ok(())
    }

    /// Covers `spectra` spectra that never came: they count in [`Visibilities::times`] and for no baseline.
    ///
    /// # Errors
    /// [`CorrelatorError::TooManySpectra`] past [`MAX_SPECTRA`].
    pub fn skip(&mut self, spectra: u64) -> Result<(), CorrelatorError> {
        self.spectra = self.spectra_with(spectra)?;
        Ok(())
    }

    /// The sums since the last dump, and starts again from zero. Nothing accumulated gives zeros with no valid sample,
    /// on default axes.
    ///
    /// # Errors
    /// [`TypesError::OrderPols`] if the order cannot hold the inputs, [`TypesError::TooLarge`] if there is no memory for
    /// new sums; nothing is lost then.
    pub fn dump(&mut self, order: BaselineOrder) -> Result<Visibilities<V::Accumulator>, CorrelatorError> {
        order.check(self.inputs)?;
        let zero = zero_counts(self.inputs)?;
        let (sums, of) = match &mut self.sums {
            Sums::Host(sums) => (std::mem::replace(sums, zeros(self.channels, self.inputs)?), BaselineOrder::Triangle),
            Sums::Device(sums) => (sums.take(order, gpu::is_integer(V::FORMAT))?, order),
        };
        let Counts { valid, spectra, frequencies, clock } = self.take_counts(zero);
        let valid = in_order(&valid, of, self.inputs);
        let dump = Visibilities::new(sums, self.inputs, of, valid, spectra, frequencies, clock)?;
        Ok(if order == of { dump } else { dump.reordered(order)? })
    }

    /// Takes everything but the sums, and starts again from these zeros.
    fn take_counts(&mut self, zero: Vec<u64>) -> Counts {
        let mut valid = std::mem::replace(&mut self.valid, zero);
        let all_valid = std::mem::take(&mut self.all_valid);
        valid.iter_mut().for_each(|count| *count += all_valid);
        let (frequencies, clock) = self.axes.take().unwrap_or_default();
        Counts { valid, spectra: std::mem::take(&mut self.spectra), frequencies, clock }
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
    fn check(&self, chunk: &Description) -> Result<(), CorrelatorError> {
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
    /// The sums since the last dump in 32 bits, clamped and counted ([`Dump32`]), and starts again from zero.
    ///
    /// # Errors
    /// As [`Correlator::dump`].
    pub fn dump32(&mut self, order: BaselineOrder, missing: MissingData) -> Result<Dump32, CorrelatorError> {
        let Sums::Device(sums) = &mut self.sums else { return Ok(Dump32::new(&self.dump(order)?, missing)) };
        order.check(self.inputs)?;
        let zero = zero_counts(self.inputs)?;
        let affected: Vec<bool> = self.valid.iter().map(|&valid| valid + self.all_valid < self.spectra).collect();
        let (data, saturated) = sums.take32(order, missing, &affected)?;
        let Counts { valid, spectra, frequencies, clock } = self.take_counts(zero);
        let valid = in_order(&valid, order, self.inputs);
        Ok(Dump32::from_device(data, saturated, missing, (self.inputs, order), valid, spectra, (frequencies, clock)))
    }
}

/// What a dump has beside its sums.
struct Counts {
    /// Packed lower triangle.
    valid: Vec<u64>,
    spectra: u64,
    frequencies: Frequencies,
    clock: SpectrumClock,
}

/// Numbers of the packed lower triangle in an order.
fn in_order(triangle: &[u64], order: BaselineOrder, inputs: Inputs) -> Array1<u64> {
    let positions = 0..order.len(inputs);
    let of = |position| order.product(inputs, position).and_then(|product| triangle.get(product.triangle().0));
    positions.map(|position| of(position).copied().unwrap_or(0)).collect()
}

/// Whether a chunk has these inputs and so many channels.
pub(crate) fn check_shape(inputs: Inputs, channels: usize, chunk: &Description) -> Result<(), CorrelatorError> {
    if chunk.inputs != inputs {
        return Err(CorrelatorError::Inputs { expected: inputs, actual: chunk.inputs });
    }
    if chunk.channels != channels {
        let (array, dimension) = (chunk.array, Dimension::Channel);
        return Err(TypesError::Dimension { array, dimension, expected: channels, actual: chunk.channels }.into());
    }
    Ok(())
}

/// Whether a chunk has these frequencies, this spacing and this sample rate.
pub(crate) fn check_axes(
    frequencies: Frequencies,
    clock: SpectrumClock,
    chunk: &Description,
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

/// Correlates a whole chunk: `V[a][b] = sum_t x_a(t) conj(x_b(t))` for every channel.
///
/// Shapes: voltages `[channel][time][input]`, visibilities `[channel][baseline]` in the given order. Inputs that are absent
/// at a time count as zero there; [`Visibilities::valid_samples`] says how many spectra each baseline has.
///
/// # Precision
/// As [`Correlator`]. The backend's memory limit splits the work by time and does not change the result.
///
/// # Errors
/// [`TypesError::OrderPols`] if the order cannot hold the inputs, [`TypesError::TooLarge`] if the sums do not fit memory,
/// [`DeviceError::MemoryLimit`](fringes_backend::DeviceError::MemoryLimit) if the backend's limit is below the smallest step.
pub fn correlate<V: VoltageSample>(
    backend: &Backend,
    voltages: &Voltages<V>,
    order: BaselineOrder,
) -> Result<Visibilities<V::Accumulator>, CorrelatorError> {
    order.check(voltages.inputs())?;
    let mut correlator = Correlator::new(backend, voltages.inputs(), voltages.channels())?;
    correlator.accumulate(voltages, 0..voltages.times())?;
    correlator.dump(order)
}

/// Memory that [`correlate`] needs for voltages of a shape.
///
/// The workspace is that of every thread of the current rayon pool; the smallest step is one thread's with the shortest
/// block of time. A limit in between ([`Backend::with_memory_limit`]) makes blocks shorter and jobs fewer.
pub fn memory<V: VoltageSample>(inputs: Inputs, channels: usize, times: usize) -> MemoryNeed {
    let workspace = cpu::workspace(V::FORMAT, channels, times, inputs.len());
    let bytes = |count: usize, elements: usize, size: usize| {
        (count as u64).saturating_mul(elements as u64).saturating_mul(size as u64)
    };
    MemoryNeed {
        input_bytes: bytes(channels, times, size_of::<V>()).saturating_mul(inputs.len() as u64),
        output_bytes: bytes(channels, inputs.triangle_len(), size_of::<V::Accumulator>()),
        workspace_bytes: workspace.full_bytes,
        smallest_step_bytes: workspace.smallest_bytes,
    }
}

/// Memory that accumulating heaps takes on the CPU: as [`memory`], with a copy of a piece of whole batches in the order of time.
///
/// The smallest step holds one channel of as many whole batches as have 8192 spectra together, or of one batch.
pub fn memory_of_heaps<V: VoltageSample>(
    inputs: Inputs,
    channels: usize,
    batches: usize,
    spectra_per_heap: usize,
) -> MemoryNeed {
    let workspace = cpu::heaps_workspace::<V>(channels, batches, spectra_per_heap, inputs.len());
    MemoryNeed {
        workspace_bytes: workspace.full_bytes,
        smallest_step_bytes: workspace.smallest_bytes,
        ..memory::<V>(inputs, channels, batches.saturating_mul(spectra_per_heap))
    }
}

/// Zeros `[channel][baseline]`, packed lower triangle.
fn zeros<A: Accumulator>(channels: usize, inputs: Inputs) -> Result<Array2<A>, CorrelatorError> {
    let baselines = inputs.triangle_len();
    let elements = channels.checked_mul(baselines);
    let too_large = || TypesError::TooLarge { array: "visibilities", elements: format!("{channels} x {baselines}") };
    let data = bytemuck::try_zeroed_vec(elements.ok_or_else(too_large)?).map_err(|()| too_large())?;
    Ok(Array2::from_shape_vec((channels, baselines), data).map_err(|_| too_large())?)
}

fn zero_counts(inputs: Inputs) -> Result<Vec<u64>, CorrelatorError> {
    let elements = inputs.triangle_len();
    let too_large = |()| TypesError::TooLarge { array: "valid samples", elements: elements.to_string() };
    Ok(bytemuck::try_zeroed_vec(elements).map_err(too_large)?)
}
