//! Fine rotation of voltages, wherever they lie.

use fringes_backend::{Backend, DeviceArray, DeviceHeaps, DeviceRows, DeviceVoltages, MemoryNeed};
use fringes_cpu::delay as cpu;
use fringes_cpu::f_engine::FrameSample;
use fringes_delay_model::ChannelPhase;
use fringes_gpu::{Buffer, Device};
use fringes_types::{Complex, Dimension, Gains, Heaps, SpectrumClock, TypesError, Voltages};
use ndarray::{Array1, Array2, Array3, Array5, Axis};

use super::layout::{RotationLayout, product};
use super::rotate_device::{self as device, Chunk};
use super::rotate_kernels::{Factors, RotateKernels};
use crate::DelayError;

/// Name of the operation.
pub(super) const OPERATION: &str = "rotate";

/// What voltages are multiplied by: phases, gains, and what quantising takes.
#[derive(Debug, Clone, PartialEq)]
pub struct FineRotation {
    pub(super) phases: Array2<ChannelPhase>,
    gains: Option<Gains>,
    pub(super) first_channel: usize,
    pub(super) seed: Option<u64>,
}

impl FineRotation {
    /// Phases `[time][input]`, gains of 1, no dither.
    pub fn new(phases: Array2<ChannelPhase>) -> Self {
        Self { phases, gains: None, first_channel: 0, seed: None }
    }

    /// Sets gains, of the channels that are rotated.
    pub fn with_gains(mut self, gains: Gains) -> Self {
        self.gains = Some(gains);
        self
    }

    /// Sets the number of the first channel in the band, for voltages that are a part of it: phases and dither go by
    /// it.
    pub fn with_first_channel(mut self, first_channel: usize) -> Self {
        self.first_channel = first_channel;
        self
    }

    /// Sets the seed of the dither, which is added to integer formats before they are rounded: numbers of (-1/2, 1/2)
    /// that depend on seed, input, channel and the spectrum's number alone, its stamp over the samples between spectra.
    pub fn with_dither(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Memory that [`rotate`] takes on a backend for voltages of this shape in host memory.
    ///
    /// The workspace has phases and gains, on a GPU also a copy of the voltages, in its memory; of voltages that lie
    /// there it has none. The work is not split.
    ///
    /// # Errors
    /// None so far: there are kernels for every GPU.
    pub fn memory<V: FrameSample>(
        &self,
        backend: &Backend,
        channels: usize,
        times: usize,
        inputs: usize,
    ) -> Result<MemoryNeed, DelayError> {
        let bytes = |sizes: &[usize]| sizes.iter().fold(1u64, |bytes, &size| bytes.saturating_mul(size as u64));
        let voltages = bytes(&[channels, times, inputs, size_of::<V>()]);
        let phases = bytes(&[times, inputs, size_of::<ChannelPhase>()]);
        let gains = self.gains.as_ref().map_or(0, |_| bytes(&[channels, inputs, size_of::<Complex<f32>>()]));
        let own = match backend.gpu_for(OPERATION, true)? {
            Some(_) => voltages,
            None => cpu::rotate_scratch_bytes(),
        };
        let parts = [phases, gains, bytes(&[inputs, size_of::<u64>()]), own];
        let workspace_bytes = parts.into_iter().fold(0, u64::saturating_add);
        let (input_bytes, output_bytes) = (voltages, voltages);
        Ok(MemoryNeed { input_bytes, output_bytes, workspace_bytes, smallest_step_bytes: workspace_bytes })
    }

    /// Gains in standard layout, if they and the phases fit.
    pub(super) fn expand(
        &self,
        [channels, times, inputs]: [usize; 3],
    ) -> Result<Option<Array2<Complex<f32>>>, DelayError> {
        let dimensions =
            [(Dimension::Time, times, self.phases.nrows()), (Dimension::Input, inputs, self.phases.ncols())];
        for (dimension, expected, actual) in dimensions {
            if expected != actual {
                return Err(TypesError::Dimension { array: "phases", dimension, expected, actual }.into());
            }
        }
        let gains = self.gains.as_ref().map(|gains| gains.expand(channels, inputs)).transpose()?;
        let standard = |gains: Array2<_>| {
            if gains.is_standard_layout() { gains } else { gains.as_standard_layout().into_owned() }
        };
        Ok(gains.map(standard))
    }
}

/// Rotated voltages, and how many of them were too large. `T` is the chunk of voltages, `S` the array of the counts;
/// both lie where the voltages lay.
#[derive(Debug, Clone, PartialEq)]
pub struct Rotated<T, S = Array1<u64>> {
    /// The voltages; axes and presence are those of the input.
    pub values: T,
    /// Complex values of each input that were beyond the format's limit, summed over channels and times; 0 for floats.
    pub saturated: S,
}

/// Voltages that [`rotate`] takes; what comes out is the same kind of chunk, where it lies:
///
/// | voltages | rotated |
/// |---|---|
/// | [`Voltages`], [`Heaps`] in host memory | `Rotated` of the same; the backend says what computes it |
/// | [`DeviceVoltages`], [`DeviceHeaps`], [`DeviceRows`] | the same with a `DeviceArray<u64>`, on the same device |
///
/// Nothing else can implement it.
pub trait RotationInput: sealed::Sealed {
    /// The rotated voltages.
    type Rotated;

    /// [`rotate`] of these voltages.
    #[doc(hidden)]
    fn rotate_by(&self, backend: &Backend, rotation: &FineRotation) -> Result<Self::Rotated, DelayError>;
}

mod sealed {
    use super::{DeviceHeaps, DeviceRows, DeviceVoltages, FrameSample, Heaps, Voltages};

    pub trait Sealed {}
    impl<V: FrameSample> Sealed for Voltages<V> {}
    impl<V: FrameSample> Sealed for Heaps<V> {}
    impl<V: FrameSample> Sealed for DeviceVoltages<'_, V> {}
    impl<V: FrameSample> Sealed for DeviceHeaps<'_, V> {}
    impl<V: FrameSample> Sealed for DeviceRows<'_, V> {}
}

/// Multiplies voltages that are channelised already by gains and phases:
///
/// ```text
/// y[channel][time][input] = gain[channel][input] exp(2 pi i (base + k slope)) x[channel][time][input]
/// k = first channel + channel
/// ```
///
/// Integers are then dithered if wanted, clamped and rounded half to even, and those beyond the limit counted, as by
/// the channelizer's `quantise`. Voltages marked as missing give 0 and do not count. Time of heaps
/// `[batch][antenna][channel][spectrum][pol]` is `batch * spectra + spectrum`.
///
/// # On a GPU
/// Voltages in host memory are copied there, rotated and copied back. Those in device memory are rotated there, on the
/// stream that wrote them ([`DeviceArray::written_on`]), or the device's default one: the work is queued, and voltages
/// and counts are there in that stream's order. Where some are missing, those are cleared first, piece by piece: of
/// voltages that follow each other in memory. [`RotateKernels`] does it to buffers on a device, and allocates nothing.
///
/// # Precision
/// On the CPU factors are within `4e-14` of their formula, on a GPU as [`RotateKernels`] says; integers are those of
/// the exact product except where it is as close, times its magnitude, to a rounding tie.
///
/// # Errors
/// [`TypesError::Dimension`] if phases or gains have other channels, times or inputs,
/// [`DeviceError::MemoryLimit`](fringes_backend::DeviceError::MemoryLimit) if the workspace of [`FineRotation::memory`]
/// exceeds the backend's limit, [`DeviceError::WrongDevice`](fringes_backend::DeviceError::WrongDevice) for voltages on
/// a device that is not the backend's, [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) with what the driver
/// says.
pub fn rotate<C: RotationInput>(
    backend: &Backend,
    voltages: &C,
    rotation: &FineRotation,
) -> Result<C::Rotated, DelayError> {
    voltages.rotate_by(backend, rotation)
}

impl<V: FrameSample> RotationInput for Voltages<V> {
    type Rotated = Rotated<Voltages<V>>;

    fn rotate_by(&self, backend: &Backend, rotation: &FineRotation) -> Result<Self::Rotated, DelayError> {
        let (channels, times, inputs) = self.data().dim();
        let _span = tracing::debug_span!("rotate", channels, times, inputs).entered();
        let mut data: Array3<V> = self.data().as_standard_layout().into_owned();
        if let Some(presence) = self.presence() {
            for ((time, input), _) in presence.indexed_iter().filter(|(_, present)| !**present) {
                data.index_axis_mut(Axis(1), time).index_axis_mut(Axis(1), input).fill(V::zeroed());
            }
        }
        let layout = RotationLayout::Voltages { channels, times, inputs };
        let saturated = run(backend, layout, rotation, self.clock(), data.as_slice_mut().unwrap_or_default())?;
        let mut values = Voltages::from_checked(data, self.inputs())?
            .with_frequencies(self.frequencies())?
            .with_clock(self.clock())?;
        if let Some(presence) = self.presence() {
            values = values.with_presence(presence.to_owned())?;
        }
        Ok(Rotated { values, saturated })
    }
}

impl<V: FrameSample> RotationInput for Heaps<V> {
    type Rotated = Rotated<Heaps<V>>;

    fn rotate_by(&self, backend: &Backend, rotation: &FineRotation) -> Result<Self::Rotated, DelayError> {
        let (batches, antennas, channels, spectra, pols) = self.data().dim();
        let _span = tracing::debug_span!("rotate", batches, antennas, channels, spectra, pols).entered();
        let mut data: Array5<V> = self.data().as_standard_layout().into_owned();
        if let Some(presence) = self.presence() {
            for ((batch, antenna), _) in presence.indexed_iter().filter(|(_, present)| !**present) {
                data.index_axis_mut(Axis(0), batch).index_axis_mut(Axis(0), antenna).fill(V::zeroed());
            }
        }
        let layout = RotationLayout::Heaps { batches, antennas, channels, spectra, pols };
        let saturated = run(backend, layout, rotation, self.clock(), data.as_slice_mut().unwrap_or_default())?;
        let mut values = Heaps::from_checked(data)?.with_frequencies(self.frequencies())?.with_clock(self.clock())?;
        if let Some(presence) = self.presence() {
            values = values.with_presence(presence.to_owned())?;
        }
        Ok(Rotated { values, saturated })
    }
}

/// Voltages of any layout in device memory.
macro_rules! on_the_device {
    ($chunk:ident, |$voltages:ident| $layout:expr) => {
        impl<V: FrameSample> RotationInput for $chunk<'_, V> {
            type Rotated = Rotated<$chunk<'static, V>, DeviceArray<'static, u64>>;

            fn rotate_by(&self, backend: &Backend, rotation: &FineRotation) -> Result<Self::Rotated, DelayError> {
                let $voltages = self;
                let layout = $layout;
                let chunk = Chunk { layout, clock: self.clock(), presence: self.presence(), array: self.array() };
                let (values, saturated) = device::rotate(backend, &chunk, rotation)?;
                Ok(Rotated { values: self.with_array(values)?, saturated })
            }
        }
    };
}

on_the_device!(DeviceVoltages, |voltages| RotationLayout::Voltages {
    channels: voltages.channels(),
    times: voltages.times(),
    inputs: voltages.inputs().len(),
});
on_the_device!(DeviceHeaps, |heaps| RotationLayout::Heaps {
    batches: heaps.batches(),
    antennas: heaps.inputs().antennas(),
    channels: heaps.channels(),
    spectra: heaps.spectra_per_heap(),
    pols: heaps.inputs().pols(),
});
on_the_device!(DeviceRows, |rows| RotationLayout::Rows {
    channels: rows.channels(),
    times: rows.times(),
    inputs: rows.inputs().len(),
});

/// Rotates voltages in standard layout where they are.
fn run<V: FrameSample>(
    backend: &Backend,
    layout: RotationLayout,
    rotation: &FineRotation,
    clock: SpectrumClock,
    voltages: &mut [V],
) -> Result<Array1<u64>, DelayError> {
    let sizes = [layout.channels(), layout.times(), layout.inputs()];
    let [channels, times, inputs] = sizes;
    let first_spectrum = clock.first_sample.checked_div(clock.samples_between_spectra).unwrap_or(0);
    let dither = rotation.seed.map(|seed| (seed, first_spectrum));
    let need = rotation.memory::<V>(backend, channels, times, inputs)?;
    backend.check_memory(OPERATION, need.smallest_step_bytes)?;
    let gains = rotation.expand(sizes)?;
    if let Some(device) = backend.gpu_for(OPERATION, true)? {
        let first_channel = rotation.first_channel;
        let phases = rotation.phases.as_standard_layout();
        let phases = phases.as_slice().unwrap_or_default();
        return there_and_back(device, layout, phases, gains.as_ref(), (first_channel, dither), voltages);
    }
    let phases = rotation.phases.mapv(|ChannelPhase { base, slope }| [base, slope]);
    let rotation = cpu::Rotation {
        phases: phases.view(),
        gains: gains.as_ref().map(|gains| gains.view()),
        first_channel: rotation.first_channel,
        dither,
    };
    let layout = match layout {
        RotationLayout::Heaps { spectra, pols, .. } => cpu::Layout::Heaps { spectra, pols },
        _ => cpu::Layout::Voltages,
    };
    Ok(Array1::from_vec(cpu::rotate(voltages, layout, channels, &rotation)))
}

/// Rotates voltages on a device, and copies them there and back.
fn there_and_back<V: FrameSample>(
    device: &Device,
    layout: RotationLayout,
    phases: &[ChannelPhase],
    gains: Option<&Array2<Complex<f32>>>,
    (first_channel, dither): (usize, Option<(u64, u64)>),
    voltages: &mut [V],
) -> Result<Array1<u64>, DelayError> {
    let inputs = layout.inputs();
    if product("voltages", &[layout.channels(), layout.times(), inputs])? == 0 {
        return Ok(Array1::zeros(inputs));
    }
    let stream = device.new_stream()?;
    let kernels = RotateKernels::<V>::load(device)?;
    let mut on_device = Buffer::from_slice(&stream, voltages)?;
    let phases = Buffer::from_slice(&stream, phases)?;
    let gains = gains.map(|gains| Buffer::from_slice(&stream, gains.as_slice().unwrap_or_default())).transpose()?;
    let mut saturated = Buffer::<u64>::zeroed(&stream, inputs)?;
    let factors = Factors {
        phases: phases.view(),
        gains: gains.as_ref().map(Buffer::view),
        first_channel,
        dither,
        saturated: saturated.view_mut(),
    };
    kernels.rotate_in_place(&stream, layout, factors, &mut on_device.view_mut())?;
    on_device.copy_to_slice(&stream, voltages)?;
    Ok(Array1::from_vec(saturated.to_vec(&stream)?))
}
