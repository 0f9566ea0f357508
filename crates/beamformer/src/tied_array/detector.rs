//! Detected tied-array beams: formed, detected and summed in one pass over the voltages.

#[cfg(doc)]
use fringes_backend::DeviceError;
use fringes_backend::{Backend, DeviceArray, DeviceDetectedBeams, DeviceHeaps, DeviceRows, DeviceVoltages, Staging};
use fringes_gpu::{Buffer, BufferPool, BufferView, Device, Stream};
use fringes_kernel_abi::tied_array::Output;
use fringes_types::{
    Beams, DetectedBeams, DetectedProducts, Detection, Frequencies, Heaps, InputCounts, Inputs, Rows, SpectrumClock,
    TypesError, VoltageSample, Voltages,
};
use ndarray::{Array3, Axis, concatenate};
use num_complex::Complex;

use super::kernels::{self, Former, Out, Part, Place, Summer, Sums, paired_gains};
use crate::counts::{Members, SummedCounts, joined, paired};
use crate::detect::{Axes, PowerSums};
use crate::packing::product;
use crate::work::sent_flags;
use crate::{
    BeamChunk, BeamSet, BeamformerError, BeamformerStream, DetectStream, IncoherentBeams, IncoherentKernels,
    TiedArrayBeams,
};

/// Tied-array beams of chunk after chunk, detected: powers, Stokes parameters or coherencies, summed over spectra and
/// channels.
///
/// Of a chunk on a GPU the voltages of beams never reach memory: the kernel sums products over up to 16 spectra in
/// registers, and a second one over the rest. Of a chunk on the host the beams are formed where the backend says, and
/// detected on the CPU ([`DetectStream`]). Either way sums go on from one chunk to the next, and chunks follow each
/// other. It pays on a GPU if chunks and sums have a multiple of 16 spectra.
///
/// Powers of 16 spectra and less of single channels are written by the first kernel as they are asked for.
///
/// [Incoherent beams](TiedArrayDetector::with_incoherent) follow the others.
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
/// `(4 + log2 f + n / f + m) u` of the sum of powers on a GPU, `f` being the largest power of two up to 16 that divides
/// `n`, the spectra of the sum before each chunk, and the times at which weights change; on the CPU as
/// [`detect`](crate::detect). Incoherent beams are as [`IncoherentBeams`] says, and the same roundings of sums.
#[derive(Debug)]
pub struct TiedArrayDetector<V: VoltageSample> {
    backend: Backend,
    stream: Option<Stream>,
    loaded: Option<Loaded<V>>,
    /// The beams, and those of chunks on the host.
    beams: BeamformerStream<V, TiedArrayBeams>,
    /// How they are detected, and the sums of chunks on the host.
    sums: DetectStream,
    incoherent: Option<Incoherent<V>>,
    /// Where chunks on a device go on.
    carried: Option<Carried>,
}

/// Incoherent beams, and the sums of chunks on the host.
#[derive(Debug)]
struct Incoherent<V: VoltageSample> {
    beams: BeamformerStream<V, IncoherentBeams>,
    sums: PowerSums,
}

/// Kernels on a device.
#[derive(Debug)]
struct Loaded<V> {
    former: Former<V>,
    incoherent: IncoherentOnDevice<V>,
    summer: Summer,
    stream: Stream,
    pool: BufferPool,
    staging: Staging,
    /// Nothing is counted.
    none: Buffer<u64>,
}

/// How incoherent beams are made on a device.
#[derive(Debug)]
struct IncoherentOnDevice<V> {
    /// Gains of the one that the kernel of the powers makes, of the same samples; empty if it makes none.
    gains: Buffer<[f32; 2]>,
    /// By a kernel of their own, that reads the rows again.
    apart: Option<IncoherentKernels<V>>,
}

impl<V: VoltageSample> IncoherentOnDevice<V> {
    fn load(
        stream: &Stream,
        former: &Former<V>,
        set: Option<&IncoherentBeams>,
        inputs: Inputs,
    ) -> Result<Self, BeamformerError> {
        let none = || Ok::<_, BeamformerError>(Buffer::zeroed(stream, 0)?);
        let Some(set) = set else { return Ok(Self { gains: none()?, apart: None }) };
        if set.gains().nrows() == 1 && former.takes_incoherent() {
            let gains = Buffer::from_slice(stream, &paired_gains(set.gains().row(0)))?;
            return Ok(Self { gains, apart: None });
        }
        let apart = Some(IncoherentKernels::load(stream.device(), set, inputs)?);
        Ok(Self { gains: none()?, apart })
    }

    fn beams(&self) -> usize {
        usize::from(!self.gains.is_empty()) + self.apart.as_ref().map_or(0, IncoherentKernels::beams)
    }
}

/// The sum under way of chunks on a device.
#[derive(Debug)]
struct Carried {
    /// Of the chunk that comes next.
    axes: Axes,
    spectra: usize,
    /// What there is of tied-array and of incoherent beams; nothing without spectra.
    sums: [Option<Buffer<f32>>; 2],
    counts: SummedCounts,
}

/// What a chunk on a device says of itself.
struct Header {
    channels: usize,
    times: usize,
    inputs: Inputs,
    frequencies: Frequencies,
    clock: SpectrumClock,
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
        let (backend, sums) = (backend.clone(), DetectStream::new(detection));
        Ok(Self { backend, stream: None, loaded: None, beams, sums, incoherent: None, carried: None })
    }

    /// Makes incoherent beams as well, after the tied-array ones: weighted sums of the powers of the inputs, over the
    /// same spectra and channels. On a GPU of compute capability 9.0 the kernel of the tied-array beams makes a single
    /// one of the samples that it has read; several, and those of other GPUs, have a kernel that reads the rows again.
    ///
    /// # Errors
    /// [`BeamformerError::Products`] unless powers or Stokes I are detected; as [`BeamSet::check`] if they are not for
    /// the inputs.
    pub fn with_incoherent(mut self, set: IncoherentBeams) -> Result<Self, BeamformerError> {
        let actual = self.detection().products();
        if !matches!(actual, DetectedProducts::Power | DetectedProducts::StokesI) {
            return Err(BeamformerError::Products { actual });
        }
        let beams = BeamformerStream::new(&self.backend, set, self.beams.inputs())?;
        let beams = match &self.stream {
            Some(stream) => beams.on(stream),
            None => beams,
        };
        (self.incoherent, self.loaded) = (Some(Incoherent { beams, sums: PowerSums::default() }), None);
        Ok(self)
    }

    /// Queues work on a GPU on this stream.
    #[must_use]
    pub fn on(mut self, stream: &Stream) -> Self {
        self.beams = self.beams.on(stream);
        self.incoherent = self.incoherent.map(|of| Incoherent { beams: of.beams.on(stream), ..of });
        (self.stream, self.loaded, self.carried) = (Some(stream.clone()), None, None);
        self
    }

    /// The sums that a chunk completes, where it lies. The first chunk on a device loads the kernels and waits for
    /// that.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] for a chunk of other channels or inputs; [`BeamformerError::Continuation`] for a chunk
    /// with other axes than those before, that does not begin where the one before ended, or that lies elsewhere while
    /// a sum is under way ([`TiedArrayDetector::reset`] begins anew); [`DeviceError::NoKernel`] and
    /// [`DeviceError::TooLarge`] for what [`TiedArrayBeams`] says that there is no kernel of; [`DeviceError::Gpu`] if
    /// the GPU fails.
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

    /// Spectra of the sum under way.
    pub fn pending(&self) -> usize {
        self.carried.as_ref().map_or(0, |carried| carried.spectra) + self.sums.pending()
    }

    /// Forgets the sum under way and what chunks look like: the next chunk may be any.
    pub fn reset(&mut self) {
        self.carried = None;
        self.sums.reset();
        if let Some(incoherent) = &mut self.incoherent {
            incoherent.sums.reset();
        }
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

    /// Detects other beams from the first spectrum on whose stamp is not before `sample`, be it within a chunk or a
    /// sum; as [`BeamformerStream::replace_at`].
    ///
    /// # Errors
    /// As there, and as [`TiedArrayDetector::new`].
    pub fn replace_at(&mut self, set: TiedArrayBeams, sample: u64) -> Result<(), BeamformerError> {
        check_sums(self.detection(), &set)?;
        self.beams.replace_at(set, sample)
    }

    /// Detected beams of a chunk on the host.
    fn on_host<C>(&mut self, chunk: &C) -> Result<DetectedBeams<f32>, BeamformerError>
    where
        C: BeamChunk<Sample = V, Beams<Complex<f32>> = Beams<Complex<f32>>, Beams<f32> = Beams<f32>>,
    {
        self.check_place(false)?;
        let beams = self.beams.push(chunk)?;
        let detected = self.sums.push(&beams)?;
        let Some(Incoherent { beams, sums }) = &mut self.incoherent else { return Ok(detected) };
        let powers = beams.push(chunk)?;
        let (powers, counts) = sums.push(&powers, self.sums.detection())?;
        with_powers(&detected, powers, counts)
    }

    /// How many inputs of the detected beams of a chunk were there, counted in the same way for all.
    fn counts(
        &mut self,
        count: impl Fn(&Members) -> Result<InputCounts, TypesError>,
    ) -> Result<Option<InputCounts>, BeamformerError> {
        let tied = paired(&count(self.beams.members())?, self.detection().products().pols())?;
        Ok(Some(match &mut self.incoherent {
            Some(of) => joined(&tied, &count(of.beams.members())?)?,
            None => tied,
        }))
    }

    /// Begins with a chunk on a device: turns to the beams that take over there.
    fn begin(&mut self, inputs: Inputs, clock: SpectrumClock) -> Result<(), BeamformerError> {
        self.beams.check_inputs(inputs)?;
        self.check_place(true)?;
        while let Some(set) = self.beams.due(clock) {
            self.replace(set)?;
        }
        Ok(())
    }

    /// Checks that no sum is under way elsewhere.
    fn check_place(&self, device: bool) -> Result<(), BeamformerError> {
        let name = |device: bool| String::from(if device { "a device" } else { "the host" });
        let other = if device { self.sums.pending() } else { self.carried.as_ref().map_or(0, |of| of.spectra) };
        if other == 0 {
            return Ok(());
        }
        let (expected, actual) = (name(!device), name(device));
        Err(BeamformerError::Continuation { quantity: "place of the voltages", expected, actual })
    }

    /// Takes what is loaded, or loads it.
    fn take_loaded(&mut self, device: &Device, channels: usize, inputs: Inputs) -> Result<Loaded<V>, BeamformerError> {
        let fits = |loaded: &Loaded<V>| {
            let same = loaded.former.channels() == channels && loaded.former.inputs() == inputs;
            same && loaded.stream.device().is_same(device)
        };
        if let Some(loaded) = self.loaded.take().filter(fits) {
            return Ok(loaded);
        }
        let set = self.beams.set();
        set.check_kernel(V::FORMAT, inputs)?;
        let stream = match &self.stream {
            Some(stream) => stream.clone(),
            None => device.new_stream()?,
        };
        let summer = Summer::load(&stream, *self.sums.detection())?;
        let output = if summer.of_powers() { Output::Power } else { Output::Coherency };
        let former = Former::load(&stream, set, output, channels, inputs)?;
        let set = self.incoherent.as_ref().map(|of| of.beams.set());
        let incoherent = IncoherentOnDevice::load(&stream, &former, set, inputs)?;
        let none = Buffer::zeroed(&stream, 0)?;
        let (pool, staging) = (BufferPool::new(device), Staging::default());
        Ok(Loaded { former, incoherent, summer, stream, pool, staging, none })
    }

    /// Beams of a chunk on a device. `counts` are those of its tied-array and of its incoherent beams.
    fn on_device(
        &mut self,
        array: &DeviceArray<'_, V>,
        header: Header,
        counts: Option<InputCounts>,
        rows: impl FnOnce(&mut Loaded<V>, BufferView<'_, V>) -> Result<Option<Buffer<u8>>, BeamformerError>,
    ) -> Result<DeviceDetectedBeams<'static, f32>, BeamformerError> {
        let Header { channels, times, inputs, frequencies, clock } = header;
        let _span = tracing::debug_span!("detect beams", channels, times, inputs = inputs.len()).entered();
        let (set, detection) = (self.beams.set(), *self.sums.detection());
        set.check(channels, inputs)?;
        let (count, products) = (set.weights.beams(), detection.products());
        let beams = detection.beams_of(count)?;
        let incoherent = self.incoherent.as_ref().map_or(0, |of| of.beams.set().gains().nrows());
        let groups = detection.channels_of(channels)?;
        let found = Axes { channels, beams: count, frequencies, clock };
        let axes = Axes::continued(self.carried.as_ref().map(|carried| carried.axes), found)?;
        let (pending, mut carried_counts) =
            self.carried.as_ref().map_or((0, SummedCounts::default()), |of| (of.spectra, of.counts.clone()));
        let out_clock = axes.sums_clock(&detection, pending)?;
        let spectra = [pending, times, detection.times()];
        let counts = carried_counts.sum(counts.as_ref(), spectra)?;
        let mut loaded = self.take_loaded(array.device(), channels, inputs)?;

        let later = self.beams.within(times, clock);
        let cuts = later.iter().map(|(time, _)| time.trailing_zeros()).min().unwrap_or(4);
        let whole = detection.times().trailing_zeros().min(pending.trailing_zeros());
        let fold = 1usize << whole.min(cuts).min(4);
        let shape = [groups, (pending + times) / detection.times(), beams + incoherent];
        let stream = loaded.stream.clone();
        let view = array.read_on(&stream)?;
        let before = self.carried.take();
        let queued = (|| {
            let rows = rows(&mut loaded, view)?;
            let view = match &rows {
                Some(rows) => rows.view().cast::<V>()?,
                None => view,
            };
            let length = shape.iter().product::<usize>() * products.count();
            let mut out = loaded.pool.take::<f32>(&stream, length)?;
            let left = loaded.queue([channels, times, fold], shape[2], &later, before.as_ref(), view, &mut out)?;
            Ok::<_, BeamformerError>((out, left))
        })();
        // Part of the work may be queued even if it failed.
        array.reads_queued(&stream)?;
        if let Some((_, set)) = later.into_iter().next_back() {
            self.beams.taken_over(set);
        }
        // After an error kernels may be those of a later set, and the sum under way is lost.
        let (out, mut sums) = queued?;
        self.loaded = Some(loaded);
        if times == 0 {
            sums = before.map(|before| before.sums).unwrap_or_default();
        }
        let spectra = (pending + times) % detection.times();
        let clock = SpectrumClock { first_sample: axes.clock.sample_of(times), ..axes.clock };
        let axes = Axes { clock, ..axes };
        self.carried = Some(Carried { axes, spectra, sums, counts: carried_counts });
        let out = DeviceArray::from(out).written_on(&stream);
        let out = DetectedBeams::from_array(out, shape, products, detection.frequencies(frequencies), out_clock)?;
        Ok(match counts {
            Some(counts) => out.with_input_counts(counts)?,
            None => out,
        })
    }
}

/// Tied-array beams, and incoherent ones after them.
fn with_powers(
    detected: &DetectedBeams<f32>,
    powers: Array3<f32>,
    counts: Option<InputCounts>,
) -> Result<DetectedBeams<f32>, BeamformerError> {
    let (products, frequencies, clock) = (detected.products(), detected.frequencies(), detected.clock());
    let powers = powers.insert_axis(Axis(3));
    let too_large = |_| TypesError::TooLarge { array: "detected beams", elements: format!("{:?}", powers.dim()) };
    let all = concatenate(Axis(2), &[detected.data(), powers.view()]).map_err(too_large)?;
    let all = DetectedBeams::new(all, products, frequencies, clock)?;
    Ok(match detected.input_counts().zip(counts.as_ref()) {
        Some((first, second)) => all.with_input_counts(joined(first, second)?)?,
        None => all,
    })
}

/// Checks that beams are whole sums of channels and polarisations.
fn check_sums(detection: &Detection, set: &TiedArrayBeams) -> Result<(), BeamformerError> {
    detection.channels_of(set.weights.channels())?;
    detection.beams_of(set.weights.beams())?;
    Ok(())
}

impl<V: VoltageSample> Loaded<V> {
    /// Queues all kernels. Gives what is left of sums that do not end, of tied-array and of incoherent beams.
    fn queue(
        &mut self,
        [channels, times, fold]: [usize; 3],
        row: usize,
        later: &[(usize, TiedArrayBeams)],
        carried: Option<&Carried>,
        rows: BufferView<'_, V>,
        out: &mut Buffer<f32>,
    ) -> Result<[Option<Buffer<f32>>; 2], BeamformerError> {
        let Self { former, incoherent, summer, stream, pool, none, .. } = self;
        let before = |which: usize| {
            let carried = carried?;
            Some((carried.sums[which].as_ref()?, carried.spectra))
        };
        if times == 0 {
            return Ok([None, None]);
        }
        // A coherency is four numbers of two beams.
        let numbers = if summer.of_powers() { 1 } else { 2 };
        let length = former.length(channels, times, fold)?.saturating_mul(numbers);
        // Nothing is under way then: sums of more times than a launch sums would be.
        let direct = incoherent.beams() == 0 && summer.is_done_by(fold) && times % fold == 0;
        let mut sums = pool.take::<f32>(stream, if direct { 0 } else { length })?;
        let beams = if direct { &mut *out } else { &mut sums };
        let groups = times.div_ceil(fold);
        let mut powers =
            pool.take::<f32>(stream, product("incoherent beams", &[channels, groups, incoherent.beams()])?)?;
        let starts = std::iter::once((0, None)).chain(later.iter().map(|(time, set)| (*time, Some(set))));
        let ends = later.iter().map(|&(time, _)| time).chain(std::iter::once(times));
        for ((start, set), end) in starts.zip(ends) {
            if let Some(set) = set
                && !former.replace(stream, set)?
            {
                *former = Former::load(stream, set, former.output(), channels, former.inputs())?;
            }
            let part = Part { channels: 0..channels, times, formed: start..end, fold };
            let gains = incoherent.gains.view();
            let beside = former.takes_incoherent().then(|| kernels::Incoherent { gains, sums: powers.view_mut() });
            let beams = beams.view_mut().cast::<u16>()?;
            former.form(stream, part, None, rows, Out { beams, saturated: none.view_mut(), incoherent: beside })?;
        }
        if direct {
            return Ok([None, None]);
        }
        let tied = row - incoherent.beams();
        let of = Sums { shape: [channels, groups, tied], fold, carried: before(0) };
        let left = summer.sum(stream, pool, of, &sums, out, Place { first: 0, row })?;
        if incoherent.beams() == 0 {
            return Ok([left, None]);
        }
        if let Some(kernels) = &incoherent.apart {
            kernels.sum_rows(stream, [channels, times, fold], rows, powers.view_mut())?;
        }
        let of = Sums { shape: [channels, groups, incoherent.beams()], fold, carried: before(1) };
        let place = Place { first: tied, row };
        Ok([left, summer.sum_powers(stream, pool, of, &powers, out, place)?])
    }
}

macro_rules! header {
    ($chunk:ident) => {
        Header {
            channels: $chunk.channels(),
            times: $chunk.times(),
            inputs: $chunk.inputs(),
            frequencies: $chunk.frequencies(),
            clock: $chunk.clock(),
        }
    };
}

macro_rules! on_the_host {
    ($($chunk:ident)*) => { $(
        impl<V: VoltageSample> sealed::Sealed for $chunk<V> {}
        impl<V: VoltageSample> DetectChunk for $chunk<V> {
            type Sample = V;
            type Detected = DetectedBeams<f32>;

            fn detect(&self, by: &mut TiedArrayDetector<V>) -> Result<DetectedBeams<f32>, BeamformerError> {
                by.on_host(self)
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
        by.begin(self.inputs(), self.clock())?;
        let counts = match self.presence() {
            Some(flags) => by.counts(|members| members.count(flags, 1))?,
            None => None,
        };
        by.on_device(self.array(), header!(self), counts, |_, _| Ok(None))
    }
}

impl<V: VoltageSample> sealed::Sealed for DeviceVoltages<'_, V> {}
impl<V: VoltageSample> DetectChunk for DeviceVoltages<'_, V> {
    type Sample = V;
    type Detected = DeviceDetectedBeams<'static, f32>;

    fn detect(&self, by: &mut TiedArrayDetector<V>) -> Result<Self::Detected, BeamformerError> {
        by.begin(self.inputs(), self.clock())?;
        let counts = match self.presence() {
            Some(flags) => by.counts(|members| members.count(flags, 1))?,
            None => None,
        };
        let shape = [self.channels(), self.times()];
        by.on_device(self.array(), header!(self), counts, |loaded, view| {
            let Loaded { former, stream, pool, staging, .. } = loaded;
            let flags = sent_flags(staging, stream, pool, self.presence())?;
            let present = flags.as_ref().map(|flags| flags.view());
            Ok(Some(former.packing().voltages(stream, shape, view, present)?))
        })
    }
}

impl<V: VoltageSample> sealed::Sealed for DeviceHeaps<'_, V> {}
impl<V: VoltageSample> DetectChunk for DeviceHeaps<'_, V> {
    type Sample = V;
    type Detected = DeviceDetectedBeams<'static, f32>;

    fn detect(&self, by: &mut TiedArrayDetector<V>) -> Result<Self::Detected, BeamformerError> {
        by.begin(self.inputs(), self.clock())?;
        let (inputs, heaps) = (self.inputs(), [self.batches(), self.spectra_per_heap()]);
        let counts = match self.presence() {
            Some(flags) => by.counts(|members| members.count_heaps(flags, inputs, heaps[1]))?,
            None => None,
        };
        by.on_device(self.array(), header!(self), counts, |loaded, view| {
            let Loaded { former, stream, pool, staging, .. } = loaded;
            let flags = sent_flags(staging, stream, pool, self.presence())?;
            let present = flags.as_ref().map(|flags| flags.view());
            Ok(Some(former.packing().heaps(stream, self.channels(), heaps, view, present)?))
        })
    }
}
