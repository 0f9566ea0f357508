//! Detected tied-array beams: formed, detected and summed in one pass over the voltages.

#[cfg(doc)]
use fringes_backend::DeviceError;
use fringes_backend::{Backend, DeviceArray, DeviceDetectedBeams, DeviceHeaps, DeviceRows, DeviceVoltages, Staging};
use fringes_gpu::{Buffer, BufferPool, BufferView, Stream};
use fringes_kernel_abi::tied_array::Output;
#[cfg(doc)]
use fringes_types::TypesError;
use fringes_types::{
    DetectedBeams, DetectedProducts, Detection, Frequencies, Heaps, Inputs, Rows, SpectrumClock, VoltageSample,
    Voltages,
};
use num_complex::Complex;

use super::kernels::{Former, Part, Summer};
use crate::work::sent_flags;
use crate::{BeamSet, BeamformerError, BeamformerStream, DetectStream, TiedArrayBeams};

/// Tied-array beams of chunk after chunk, detected: powers, Stokes parameters or coherencies, summed over spectra and
/// channels.
///
/// Of a chunk on a GPU the voltages of beams never reach memory: the kernel sums products over up to 16 spectra in
/// registers, and a second one over the rest. Such a chunk must have whole sums. Of a chunk on the host the beams are
/// formed where the backend says, and detected on the CPU ([`DetectStream`]), which carries sums from chunk to chunk.
///
/// ```
/// use fringes_backend::Backend;
/// use fringes_beamformer::{TiedArrayBeams, TiedArrayDetector};
/// use fringes_types::{BeamWeights, Complex, DetectedProducts, Detection, Inputs, Voltages};
/// use ndarray::Array3;
///
/// // Two beams of each polarisation of 8 antennas: beams 2 n and 2 n + 1 are the polarisations of beam n.
/// let inputs = Inputs::new(8, 2)?;
/// let weights = BeamWeights::new(Array3::from_shape_fn((4, 3, 16), |(beam, _, input)| {
///     Complex::new(if beam % 2 == input % 2 { 1.0 } else { 0.0 }, 0.0)
/// }))?;
/// let detection = Detection::new(DetectedProducts::StokesI, 50, 1)?;
/// let mut stream = TiedArrayDetector::new(&Backend::auto(), TiedArrayBeams::new(weights), inputs, detection)?;
/// let voltages = Voltages::new(Array3::from_elem((3, 100, 16), Complex::new(3i8, 4)), inputs)?;
/// let powers = stream.push(&voltages)?;
/// assert_eq!(powers.data().dim(), (3, 2, 2, 1));
/// assert!((powers.data()[(0, 0, 0, 0)] / (50.0 * 2.0 * 64.0 * 25.0) - 1.0).abs() < 1e-4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Precision
/// Beams as [`TiedArrayBeams`] says. With `u = 2^-24`, a sum of `n` spectra and `m` channels is, of those beams, within
/// `(4 + log2(16) + n / 16 + m) u` of the sum of powers on a GPU; on the CPU as [`detect`](crate::detect).
#[derive(Debug)]
pub struct TiedArrayDetector<V: VoltageSample> {
    stream: Option<Stream>,
    loaded: Option<Loaded<V>>,
    /// The beams, and those of chunks on the host.
    beams: BeamformerStream<V, TiedArrayBeams>,
    /// How they are detected, and the sums of chunks on the host.
    sums: DetectStream,
}

/// Kernels on a device.
#[derive(Debug)]
struct Loaded<V> {
    former: Former<V>,
    summer: Summer,
    stream: Stream,
    pool: BufferPool,
    staging: Staging,
    /// Nothing is counted.
    none: Buffer<u64>,
}

/// Voltages of a kind and place that beams are detected of.
///
/// | chunk | detected beams |
/// |---|---|
/// | [`Voltages<V>`], [`Heaps<V>`], [`Rows<V>`] | [`DetectedBeams<f32>`] |
/// | [`DeviceRows<V>`]; [`DeviceVoltages<V>`] and [`DeviceHeaps<V>`], which become rows first | [`DeviceDetectedBeams<f32>`] |
///
/// Sealed: the chunks are these.
pub trait DetectChunk: sealed::Sealed {
    /// Format of the voltages.
    type Sample: VoltageSample;
    /// The detected beams, which lie where the voltages lie.
    type Detected;

    /// Detects beams.
    #[doc(hidden)]
    fn detect(&self, by: &mut TiedArrayDetector<Self::Sample>) -> Result<Self::Detected, BeamformerError>;
}

mod sealed {
    pub trait Sealed {}
}

impl<V: VoltageSample> TiedArrayDetector<V> {
    /// A stream of chunks of these inputs. The scale of the beams counts for their voltages.
    ///
    /// # Errors
    /// As [`BeamSet::check`] if the set is not for these inputs; [`TypesError::Multiple`] for channels or polarisations
    /// that are no whole number of sums.
    pub fn new(
        backend: &Backend,
        set: TiedArrayBeams,
        inputs: Inputs,
        detection: Detection,
    ) -> Result<Self, BeamformerError> {
        check_sums(&detection, &set)?;
        let beams = BeamformerStream::new(backend, set, inputs)?;
        Ok(Self { stream: None, loaded: None, beams, sums: DetectStream::new(detection) })
    }

    /// Queues work on a GPU on this stream.
    #[must_use]
    pub fn on(mut self, stream: &Stream) -> Self {
        self.beams = self.beams.on(stream);
        (self.stream, self.loaded) = (Some(stream.clone()), None);
        self
    }

    /// The sums that a chunk has, where it lies; of chunks on the host those that it completes. The first chunk on a
    /// device loads the kernels and waits for that.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] for a chunk of other channels or inputs, [`TypesError::Multiple`] for a chunk on a
    /// device whose spectra are no whole number of sums, as [`DetectStream::push`] for one on the host;
    /// [`DeviceError::NoKernel`] and [`DeviceError::TooLarge`] for what [`TiedArrayBeams`] says that there is no kernel
    /// of; [`DeviceError::Gpu`] if the GPU fails.
    pub fn push<C: DetectChunk<Sample = V>>(&mut self, chunk: &C) -> Result<C::Detected, BeamformerError> {
        chunk.detect(self)
    }

    /// The beams.
    pub fn set(&self) -> &TiedArrayBeams {
        self.beams.set()
    }

    /// How they are detected.
    pub fn detection(&self) -> &Detection {
        self.sums.detection()
    }

    /// Detects other beams from the next chunk on; as [`BeamformerStream::replace`].
    ///
    /// # Errors
    /// As there, and as [`TiedArrayDetector::new`].
    pub fn replace(&mut self, set: TiedArrayBeams) -> Result<(), BeamformerError> {
        check_sums(self.detection(), &set)?;
        self.beams.replace(set)?;
        if let Some(mut loaded) = self.loaded.take() {
            let set = self.beams.set();
            let same = loaded.former.channels() == set.weights.channels();
            if same && loaded.former.replace(&loaded.stream, set)? {
                self.loaded = Some(loaded);
            }
        }
        Ok(())
    }

    /// Beams of a chunk on a device.
    fn on_device(
        &mut self,
        array: &DeviceArray<'_, V>,
        [channels, times]: [usize; 2],
        (inputs, frequencies, clock): (Inputs, Frequencies, SpectrumClock),
        rows: impl FnOnce(&mut Loaded<V>, BufferView<'_, V>) -> Result<Option<Buffer<u8>>, BeamformerError>,
    ) -> Result<DeviceDetectedBeams<'static, f32>, BeamformerError> {
        let _span = tracing::debug_span!("detect beams", channels, times, inputs = inputs.len()).entered();
        self.beams.check_inputs(inputs)?;
        let (set, detection) = (self.beams.set(), *self.sums.detection());
        set.check(channels, inputs)?;
        let beams = detection.beams_of(set.weights.beams())?;
        let shape = [detection.channels_of(channels)?, detection.times_of(times)?, beams];
        let axes = (detection.frequencies(frequencies), detection.clock(clock)?);
        let products = detection.products();
        let device = array.device();
        let loaded = match self.loaded.take().filter(|loaded| {
            let same = loaded.former.channels() == channels && loaded.former.inputs() == inputs;
            same && loaded.stream.device().is_same(device)
        }) {
            Some(loaded) => loaded,
            None => {
                set.check_kernel(V::FORMAT, inputs)?;
                let stream = match &self.stream {
                    Some(stream) => stream.clone(),
                    None => device.new_stream()?,
                };
                let summer = Summer::load(&stream, detection)?;
                let output = if summer.of_powers() { Output::Power } else { Output::Coherency };
                let former = Former::load(&stream, set, output, channels, inputs)?;
                let none = Buffer::zeroed(&stream, 0)?;
                let (pool, staging) = (BufferPool::new(device), Staging::default());
                Loaded { former, summer, stream, pool, staging, none }
            }
        };
        let loaded = self.loaded.insert(loaded);
        let stream = loaded.stream.clone();
        let view = array.read_on(&stream)?;
        let queued = (|| {
            let rows = rows(loaded, view)?;
            let view = match &rows {
                Some(rows) => rows.view().cast::<V>()?,
                None => view,
            };
            loaded.queue(shape, [channels, times], products, view)
        })();
        // Part of the work may be queued even if it failed.
        array.reads_queued(&stream)?;
        let out = DeviceArray::from(queued?).written_on(&stream);
        Ok(DetectedBeams::from_array(out, shape, products, axes.0, axes.1)?)
    }
}

/// Checks that beams are whole sums of channels and polarisations.
fn check_sums(detection: &Detection, set: &TiedArrayBeams) -> Result<(), BeamformerError> {
    detection.channels_of(set.weights.channels())?;
    detection.beams_of(set.weights.beams())?;
    Ok(())
}

impl<V: VoltageSample> Loaded<V> {
    /// Queues both kernels.
    fn queue(
        &mut self,
        [out_channels, out_times, beams]: [usize; 3],
        [channels, times]: [usize; 2],
        products: DetectedProducts,
        rows: BufferView<'_, V>,
    ) -> Result<Buffer<f32>, BeamformerError> {
        let Self { former, summer, stream, pool, none, .. } = self;
        let fold = summer.fold();
        // A coherency is four numbers of two beams.
        let numbers = if summer.of_powers() { 1 } else { 2 };
        let length = former.length(channels, times, fold)?.saturating_mul(numbers);
        let mut sums = pool.take::<f32>(stream, length)?;
        let part = Part { channels: 0..channels, times, fold };
        former.form(stream, part, None, rows, sums.view_mut().cast::<u16>()?, none.view_mut())?;
        let out = [out_channels, out_times, beams, products.count()];
        let mut out = pool.take::<f32>(stream, out.into_iter().product())?;
        if !out.is_empty() {
            summer.sum(stream, [channels, times / fold, beams], &sums, &mut out)?;
        }
        Ok(out)
    }
}

macro_rules! on_the_host {
    ($($chunk:ident)*) => { $(
        impl<V: VoltageSample> sealed::Sealed for $chunk<V> {}
        impl<V: VoltageSample> DetectChunk for $chunk<V> {
            type Sample = V;
            type Detected = DetectedBeams<f32>;

            fn detect(&self, by: &mut TiedArrayDetector<V>) -> Result<DetectedBeams<f32>, BeamformerError> {
                let beams: fringes_types::Beams<Complex<f32>> = by.beams.push(self)?;
                by.sums.push(&beams)
            }
        }
    )* };
}

on_the_host!(Voltages Heaps Rows);

impl<V: VoltageSample> sealed::Sealed for DeviceRows<'_, V> {}
impl<V: VoltageSample> DetectChunk for DeviceRows<'_, V> {
    type Sample = V;
    type Detected = DeviceDetectedBeams<'static, f32>;

    fn detect(&self, by: &mut TiedArrayDetector<V>) -> Result<Self::Detected, BeamformerError> {
        let axes = (self.inputs(), self.frequencies(), self.clock());
        by.on_device(self.array(), [self.channels(), self.times()], axes, |_, _| Ok(None))
    }
}

impl<V: VoltageSample> sealed::Sealed for DeviceVoltages<'_, V> {}
impl<V: VoltageSample> DetectChunk for DeviceVoltages<'_, V> {
    type Sample = V;
    type Detected = DeviceDetectedBeams<'static, f32>;

    fn detect(&self, by: &mut TiedArrayDetector<V>) -> Result<Self::Detected, BeamformerError> {
        let axes = (self.inputs(), self.frequencies(), self.clock());
        let shape = [self.channels(), self.times()];
        by.on_device(self.array(), shape, axes, |loaded, view| {
            let Loaded { former, stream, pool, staging, .. } = loaded;
            let flags = sent_flags(staging, stream, pool, self.presence())?;
            let present = flags.as_ref().map(|flags| flags.view());
            Ok(Some(former.rows_of_voltages(stream, shape[0], shape[1], view, present)?))
        })
    }
}

impl<V: VoltageSample> sealed::Sealed for DeviceHeaps<'_, V> {}
impl<V: VoltageSample> DetectChunk for DeviceHeaps<'_, V> {
    type Sample = V;
    type Detected = DeviceDetectedBeams<'static, f32>;

    fn detect(&self, by: &mut TiedArrayDetector<V>) -> Result<Self::Detected, BeamformerError> {
        let axes = (self.inputs(), self.frequencies(), self.clock());
        let heaps = [self.batches(), self.spectra_per_heap()];
        by.on_device(self.array(), [self.channels(), self.times()], axes, |loaded, view| {
            let Loaded { former, stream, pool, staging, .. } = loaded;
            let flags = sent_flags(staging, stream, pool, self.presence())?;
            let present = flags.as_ref().map(|flags| flags.view());
            Ok(Some(former.rows_of_heaps(stream, heaps, view, present)?))
        })
    }
}
