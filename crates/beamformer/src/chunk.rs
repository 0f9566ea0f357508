//! The chunks that [`beamform`](crate::beamform) takes, and the beams that it gives.

use std::ops::Range;

#[cfg(doc)]
use fringes_backend::DeviceError;
use fringes_backend::{DeviceBeams, DeviceHeaps, DeviceRows, DeviceVoltages, PinnedArray};
use fringes_cpu::memory::try_zeroed_vec;
use fringes_interference::internals::PlacedMask;
use fringes_types::{Beams, Frequencies, Heaps, Inputs, Rows, SpectrumClock, TypesError, VoltageSample, Voltages};
use ndarray::{Array2, Array3, ArrayView2, ArrayView3, ArrayView5, CowArray, Ix2, Ix3, s};

use crate::work::Work;
use crate::{BeamOutput, BeamSet, BeamformerError};

/// Voltages of a kind and place that beams are formed from.
///
/// | chunk | beams | formed |
/// |---|---|---|
/// | [`Voltages<V>`], in pinned memory as well | [`Beams<O>`] | where the backend says |
/// | [`Heaps<V>`], in pinned memory as well | [`Beams<O>`] | the same, of a copy `[channel][time][input]` |
/// | [`DeviceVoltages<V>`] | [`DeviceBeams<O>`] | where they lie, in the order of a stream |
/// | [`DeviceHeaps<V>`] | [`DeviceBeams<O>`] | the same, of a copy in rows; FFT beams have [`DeviceError::NoKernel`] |
/// | [`DeviceRows<V>`] | [`DeviceBeams<O>`] | the same, without a copy; FFT beams have [`DeviceError::NoKernel`] |
/// | [`Rows<V>`] | [`Beams<O>`] | where the backend says, of a copy `[channel][time][input]` |
///
/// Sealed: the chunks are these.
pub trait BeamChunk: sealed::Sealed {
    /// Format of the voltages.
    type Sample: VoltageSample;
    /// The beams, which lie where the voltages lie.
    type Beams<O: BeamOutput>;

    /// Antennas and polarisations.
    #[doc(hidden)]
    fn inputs(&self) -> Inputs;

    /// Number of channels.
    #[doc(hidden)]
    fn channels(&self) -> usize;

    /// Number of times, and when they are.
    #[doc(hidden)]
    fn times(&self) -> (usize, SpectrumClock);

    /// Forms the beams.
    #[doc(hidden)]
    fn beamform<B: BeamSet>(&self, work: Work<'_, Self::Sample, B>) -> Result<Self::Beams<B::Output>, BeamformerError>;
}

mod sealed {
    pub trait Sealed {}
}

/// Voltages in host memory: borrowed, or a copy in the order that beams are formed in.
#[derive(Debug)]
pub struct HostVoltages<'a, V> {
    /// `[channel][time][input]`.
    data: CowArray<'a, V, Ix3>,
    /// `[time][input]`.
    presence: Option<CowArray<'a, bool, Ix2>>,
    pub(crate) inputs: Inputs,
    pub(crate) frequencies: Frequencies,
    pub(crate) clock: SpectrumClock,
}

impl<'a, V: VoltageSample> HostVoltages<'a, V> {
    /// Voltages `[channel][time][input]`, with the header of a chunk of them.
    pub(crate) fn borrowed<A>(data: ArrayView3<'a, V>, header: &'a Voltages<V, A>) -> Self {
        Self {
            data: data.into(),
            presence: header.presence().map(CowArray::from),
            inputs: header.inputs(),
            frequencies: header.frequencies(),
            clock: header.clock(),
        }
    }

    /// Voltages that nobody else has.
    fn owned(voltages: Voltages<V>) -> Self {
        let (inputs, frequencies, clock) = (voltages.inputs(), voltages.frequencies(), voltages.clock());
        let presence = voltages.presence().map(|flags| CowArray::from(flags.to_owned()));
        Self { data: voltages.into_data().into(), presence, inputs, frequencies, clock }
    }

    /// The same with zeros where a mask says so: of voltages that are somebody else's, a copy.
    ///
    /// # Errors
    /// [`TypesError::TooLarge`] without memory for a copy.
    pub(crate) fn masked(self, mask: PlacedMask<'_>) -> Result<Self, TypesError> {
        let (channels, times, inputs) = self.data.dim();
        let Some(part) = mask.part(0..channels, 0..times) else { return Ok(self) };
        let mut data = if self.data.is_view() {
            let shape = (channels, times, inputs);
            let too_large = || TypesError::TooLarge { array: "masked voltages", elements: format!("{shape:?}") };
            let zeros = try_zeroed_vec::<V>(self.data.len()).ok_or_else(too_large)?;
            let mut copy = Array3::from_shape_vec(shape, zeros).map_err(|_| too_large())?;
            copy.assign(&self.data);
            copy
        } else {
            self.data.into_owned()
        };
        for ((channel, block), _) in part.masked().indexed_iter().filter(|(_, masked)| **masked) {
            data.slice_mut(s![channel, part.times_of(block, times), ..]).fill(V::zeroed());
        }
        Ok(Self { data: data.into(), ..self })
    }

    /// A copy of heaps `[batch][antenna][channel][spectrum][pol]`, with their header.
    fn of_heaps<A>(data: ArrayView5<'_, V>, header: &Heaps<V, A>) -> Result<Self, TypesError> {
        let (inputs, spectra) = (header.inputs(), header.spectra_per_heap());
        let shape = (header.channels(), header.times(), inputs.len());
        let ordered = data.permuted_axes([2, 0, 3, 1, 4]); // [channel][batch][spectrum][antenna][pol]
        let flat = ordered.as_standard_layout().into_owned();
        let too_large = |_| TypesError::TooLarge {
            array: "voltages",
            elements: format!("{} x {} x {}", shape.0, shape.1, shape.2),
        };
        let data = flat.into_shape_with_order(shape).map_err(too_large)?;
        let presence = header.presence().map(|flags| {
            let flag = |(time, input)| flags[(time / spectra, input / inputs.pols())];
            CowArray::from(Array2::from_shape_fn((shape.1, shape.2), flag))
        });
        Ok(Self { data: data.into(), presence, inputs, frequencies: header.frequencies(), clock: header.clock() })
    }

    /// Some of the times.
    pub(crate) fn part(&self, times: Range<usize>) -> HostVoltages<'_, V> {
        let clock = SpectrumClock { first_sample: self.clock.sample_of(times.start), ..self.clock };
        let presence = self.presence.as_ref().map(|flags| flags.slice(s![times.clone(), ..]).into());
        let data = self.data.slice(s![.., times, ..]).into();
        HostVoltages { data, presence, inputs: self.inputs, frequencies: self.frequencies, clock }
    }

    /// The voltages `[channel][time][input]`.
    pub(crate) fn data(&self) -> ArrayView3<'_, V> {
        self.data.view()
    }

    /// Presence flags `[time][input]`, `None` if everything is present.
    pub(crate) fn presence(&self) -> Option<ArrayView2<'_, bool>> {
        self.presence.as_ref().map(|presence| presence.view())
    }
}

impl<V: VoltageSample> sealed::Sealed for Voltages<V> {}
impl<V: VoltageSample> BeamChunk for Voltages<V> {
    type Sample = V;
    type Beams<O: BeamOutput> = Beams<O>;

    fn inputs(&self) -> Inputs {
        self.inputs()
    }

    fn channels(&self) -> usize {
        self.channels()
    }

    fn times(&self) -> (usize, SpectrumClock) {
        (self.times(), self.clock())
    }

    fn beamform<B: BeamSet>(&self, work: Work<'_, V, B>) -> Result<Beams<B::Output>, BeamformerError> {
        work.on_host(HostVoltages::borrowed(self.data(), self))
    }
}

impl<V: VoltageSample> sealed::Sealed for Voltages<V, PinnedArray<V>> {}
impl<V: VoltageSample> BeamChunk for Voltages<V, PinnedArray<V>> {
    type Sample = V;
    type Beams<O: BeamOutput> = Beams<O>;

    fn inputs(&self) -> Inputs {
        self.inputs()
    }

    fn channels(&self) -> usize {
        self.channels()
    }

    fn times(&self) -> (usize, SpectrumClock) {
        (self.times(), self.clock())
    }

    fn beamform<B: BeamSet>(&self, work: Work<'_, V, B>) -> Result<Beams<B::Output>, BeamformerError> {
        let shape = (self.channels(), self.times(), self.inputs().len());
        let elements = self.array().as_slice()?;
        let data = ArrayView3::from_shape(shape, elements).map_err(|_| wrong_length("voltages", elements.len()))?;
        work.on_host(HostVoltages::borrowed(data, self))
    }
}

impl<V: VoltageSample> sealed::Sealed for Heaps<V> {}
impl<V: VoltageSample> BeamChunk for Heaps<V> {
    type Sample = V;
    type Beams<O: BeamOutput> = Beams<O>;

    fn inputs(&self) -> Inputs {
        self.inputs()
    }

    fn channels(&self) -> usize {
        self.channels()
    }

    fn times(&self) -> (usize, SpectrumClock) {
        (self.times(), self.clock())
    }

    fn beamform<B: BeamSet>(&self, work: Work<'_, V, B>) -> Result<Beams<B::Output>, BeamformerError> {
        work.check(self.channels(), self.inputs())?;
        work.on_host(HostVoltages::of_heaps(self.data(), self)?)
    }
}

impl<V: VoltageSample> sealed::Sealed for Heaps<V, PinnedArray<V>> {}
impl<V: VoltageSample> BeamChunk for Heaps<V, PinnedArray<V>> {
    type Sample = V;
    type Beams<O: BeamOutput> = Beams<O>;

    fn inputs(&self) -> Inputs {
        self.inputs()
    }

    fn channels(&self) -> usize {
        self.channels()
    }

    fn times(&self) -> (usize, SpectrumClock) {
        (self.times(), self.clock())
    }

    fn beamform<B: BeamSet>(&self, work: Work<'_, V, B>) -> Result<Beams<B::Output>, BeamformerError> {
        work.check(self.channels(), self.inputs())?;
        let inputs = self.inputs();
        let shape = (self.batches(), inputs.antennas(), self.channels(), self.spectra_per_heap(), inputs.pols());
        let elements = self.array().as_slice()?;
        let data = ArrayView5::from_shape(shape, elements).map_err(|_| wrong_length("heaps", elements.len()))?;
        work.on_host(HostVoltages::of_heaps(data, self)?)
    }
}

impl<V: VoltageSample> sealed::Sealed for DeviceVoltages<'_, V> {}
impl<V: VoltageSample> BeamChunk for DeviceVoltages<'_, V> {
    type Sample = V;
    type Beams<O: BeamOutput> = DeviceBeams<'static, O>;

    fn inputs(&self) -> Inputs {
        self.inputs()
    }

    fn channels(&self) -> usize {
        self.channels()
    }

    fn times(&self) -> (usize, SpectrumClock) {
        (self.times(), self.clock())
    }

    fn beamform<B: BeamSet>(&self, work: Work<'_, V, B>) -> Result<DeviceBeams<'static, B::Output>, BeamformerError> {
        work.on_device(self)
    }
}

impl<V: VoltageSample> sealed::Sealed for DeviceHeaps<'_, V> {}
impl<V: VoltageSample> BeamChunk for DeviceHeaps<'_, V> {
    type Sample = V;
    type Beams<O: BeamOutput> = DeviceBeams<'static, O>;

    fn inputs(&self) -> Inputs {
        self.inputs()
    }

    fn channels(&self) -> usize {
        self.channels()
    }

    fn times(&self) -> (usize, SpectrumClock) {
        (self.times(), self.clock())
    }

    fn beamform<B: BeamSet>(&self, work: Work<'_, V, B>) -> Result<DeviceBeams<'static, B::Output>, BeamformerError> {
        work.of_heaps(self)
    }
}

impl<V: VoltageSample> sealed::Sealed for Rows<V> {}
impl<V: VoltageSample> BeamChunk for Rows<V> {
    type Sample = V;
    type Beams<O: BeamOutput> = Beams<O>;

    fn inputs(&self) -> Inputs {
        self.inputs()
    }

    fn channels(&self) -> usize {
        self.channels()
    }

    fn times(&self) -> (usize, SpectrumClock) {
        (self.times(), self.clock())
    }

    fn beamform<B: BeamSet>(&self, work: Work<'_, V, B>) -> Result<Beams<B::Output>, BeamformerError> {
        work.check(self.channels(), self.inputs())?;
        work.on_host(HostVoltages::owned(self.to_voltages()))
    }
}

impl<V: VoltageSample> sealed::Sealed for DeviceRows<'_, V> {}
impl<V: VoltageSample> BeamChunk for DeviceRows<'_, V> {
    type Sample = V;
    type Beams<O: BeamOutput> = DeviceBeams<'static, O>;

    fn inputs(&self) -> Inputs {
        self.inputs()
    }

    fn channels(&self) -> usize {
        self.channels()
    }

    fn times(&self) -> (usize, SpectrumClock) {
        (self.times(), self.clock())
    }

    fn beamform<B: BeamSet>(&self, work: Work<'_, V, B>) -> Result<DeviceBeams<'static, B::Output>, BeamformerError> {
        work.of_rows(self)
    }
}

/// Pinned memory that is not of its header's shape, which a header does not allow.
fn wrong_length(array: &'static str, elements: usize) -> TypesError {
    TypesError::TooLarge { array, elements: elements.to_string() }
}
