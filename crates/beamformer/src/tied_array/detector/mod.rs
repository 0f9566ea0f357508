//! Detected tied-array beams: formed, detected and summed in one pass over the voltages.

mod chunks;
mod loaded;

#[cfg(doc)]
use fringes_backend::DeviceError;
use fringes_backend::{Backend, DeviceArray, DeviceDetectedBeams};
use fringes_gpu::{Buffer, BufferView, Device, Stream};
use fringes_interference::internals::PlacedMask;
use fringes_types::{
    Beams, ChannelMask, DetectedBeams, DetectedProducts, Detection, InputCounts, Inputs, SpectrumClock, TypesError,
    VoltageSample,
};
use ndarray::{Array3, Axis, concatenate};
use num_complex::Complex;

pub use self::chunks::DetectChunk;
use self::chunks::Header;
use self::loaded::Loaded;
use crate::counts::{Members, SummedCounts, joined, paired};
use crate::detect::{Axes, PowerSums, with_counts};
use crate::masked_counts::{MaskedCounts, Summed};
use crate::stream::placed;
use crate::{BeamChunk, BeamSet, BeamformerError, BeamformerStream, DetectStream, IncoherentBeams, TiedArrayBeams};

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

/// The sum under way of chunks on a device.
#[derive(Debug)]
struct Carried {
    /// Of the chunk that comes next.
    axes: Axes,
    spectra: usize,
    /// What there is of tied-array and of incoherent beams; nothing without spectra.
    sums: [Option<Buffer<f32>>; 2],
    counts: SummedCounts,
    masked: MaskedCounts,
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
        chunk.detect(self, None)
    }

    /// As [`TiedArrayDetector::push`], of voltages without what is masked: masked samples count as zero, and
    /// [`DetectedBeams::masked_spectra`] says how many spectra of each sum were. The mask covers the whole chunk, and
    /// may cover more; the chunk is not changed. Where what is masked is copied:
    /// [`BeamformerStream::push_masked`].
    ///
    /// # Errors
    /// As [`TiedArrayDetector::push`]; [`TypesError::Dimension`] for a mask of other channels, [`TypesError::MaskGrid`]
    /// and [`TypesError::MaskRange`] for one that does not cover the chunk. The detector is as before then.
    ///
    /// ```
    /// use fringes_backend::Backend;
    /// use fringes_beamformer::{TiedArrayBeams, TiedArrayDetector};
    /// use fringes_types::{BeamWeights, ChannelMask, Complex, DetectedProducts, Detection};
    /// use fringes_types::{Inputs, SpectrumClock, Voltages};
    /// use ndarray::{Array3, array};
    ///
    /// let clock = SpectrumClock { first_sample: 0, samples_between_spectra: 16, sample_rate_hz: 1e6 };
    /// let inputs = Inputs::single_pol(2)?;
    /// let chunk = Voltages::new(Array3::from_elem((2, 32, 2), Complex::new(3i8, 4)), inputs)?.with_clock(clock)?;
    /// // Channel 1 is left out in the second of four blocks of 8 spectra.
    /// let no = false;
    /// let mask = ChannelMask::new(array![[no, no, no, no], [no, true, no, no]], 8, clock)?;
    ///
    /// let beams = TiedArrayBeams::new(BeamWeights::new(Array3::from_elem((1, 2, 2), Complex::new(1.0, 0.0)))?);
    /// let detection = Detection::new(DetectedProducts::Power, 16, 1)?;
    /// let mut detector = TiedArrayDetector::new(&Backend::auto(), beams, inputs, detection)?;
    /// let sums = detector.push_masked(&chunk, &mask)?;
    /// let kept = sums.masked_spectra().ok_or("something is masked")?;
    /// assert_eq!([(0, 0), (1, 0), (1, 1)].map(|(channel, time)| kept.kept(channel, time)), [16, 8, 16]);
    /// // A power of 100 in each spectrum.
    /// assert!((sums.data()[(1, 0, 0, 0)] / kept.kept(1, 0) as f32 - 100.0).abs() < 1e-2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn push_masked<C: DetectChunk<Sample = V>>(
        &mut self,
        chunk: &C,
        mask: &ChannelMask,
    ) -> Result<C::Detected, BeamformerError> {
        chunk.detect(self, Some(mask))
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
    fn on_host<C>(&mut self, chunk: &C, mask: Option<&ChannelMask>) -> Result<DetectedBeams<f32>, BeamformerError>
    where
        C: BeamChunk<Sample = V, Beams<Complex<f32>> = Beams<Complex<f32>>, Beams<f32> = Beams<f32>>,
    {
        self.check_place(false)?;
        let beams = self.beams.push_with(chunk, mask)?;
        let detected = self.sums.push(&beams)?;
        let Some(Incoherent { beams, sums }) = &mut self.incoherent else { return Ok(detected) };
        let powers = beams.push_with(chunk, mask)?;
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

    /// Begins with a chunk on a device: turns to the beams that take over there. Gives the mask if anything of the
    /// chunk is masked.
    fn begin<'m>(
        &mut self,
        of: Header,
        mask: Option<&'m ChannelMask>,
    ) -> Result<Option<PlacedMask<'m>>, BeamformerError> {
        self.beams.check_inputs(of.inputs)?;
        self.check_place(true)?;
        let mask = placed(mask, of.channels, of.times, of.clock)?;
        while let Some(set) = self.beams.due(of.clock) {
            self.replace(set)?;
        }
        Ok(mask)
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
        let incoherent = self.incoherent.as_ref().map(|of| of.beams.set());
        Loaded::load(stream, (set, incoherent), *self.sums.detection(), channels, inputs)
    }

    /// Beams of a chunk on a device. `counts` are those of its tied-array and of its incoherent beams.
    fn on_device(
        &mut self,
        array: &DeviceArray<'_, V>,
        (header, mask): (Header, Option<PlacedMask<'_>>),
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
        let (pending, mut carried_counts, mut carried_masked) = match &self.carried {
            Some(of) => (of.spectra, of.counts.clone(), of.masked.clone()),
            None => Default::default(),
        };
        let out_clock = axes.sums_clock(&detection, pending)?;
        let spectra = [pending, times, detection.times()];
        let counts = carried_counts.sum(counts.as_ref(), spectra)?;
        let chunk = Summed { channels, times, clock, pending };
        let masked = carried_masked.sum(mask.map(|mask| mask.mask()), chunk, &detection)?;
        let mut loaded = self.take_loaded(array.device(), channels, inputs)?;

        let later = self.beams.within(times, clock);
        let cuts = later.iter().map(|(time, _)| time.trailing_zeros()).min().unwrap_or(4);
        let fold = times_together(detection.times(), pending, times, cuts);
        let shape = [groups, (pending + times) / detection.times(), beams + incoherent];
        let stream = loaded.stream.clone();
        let view = array.read_on(&stream)?;
        let before = self.carried.take();
        let queued = (|| {
            let mut rows = rows(&mut loaded, view)?;
            let copy = loaded.mask([channels, times], mask, view, rows.as_mut())?;
            let view = match (&copy, &rows) {
                (Some(copy), _) => copy.view(),
                (None, Some(rows)) => rows.view().cast::<V>()?,
                (None, None) => view,
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
        self.carried = Some(Carried { axes, spectra, sums, counts: carried_counts, masked: carried_masked });
        let out = DeviceArray::from(out).written_on(&stream);
        let out = DetectedBeams::from_array(out, shape, products, detection.frequencies(frequencies), out_clock)?;
        with_counts(out, counts, masked)
    }
}

/// Times of a chunk that kernels of beams sum together, of sums of `of_sum` times of which `pending` are there: 1, 2,
/// 4, 8 or 16, at most `2^cuts`. Such groups neither begin before a sum nor end behind it; the last one may have fewer
/// times, if it does not complete a sum as a whole one would.
fn times_together(of_sum: usize, pending: usize, times: usize, cuts: u32) -> usize {
    let most = of_sum.trailing_zeros().min(pending.trailing_zeros()).min(cuts).min(4);
    let fold = 1usize << most;
    let sums = |times: usize| (pending + times) / of_sum;
    if sums(times.next_multiple_of(fold)) > sums(times) { 1 << most.min(times.trailing_zeros()) } else { fold }
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
    let counts = match detected.input_counts().zip(counts.as_ref()) {
        Some((first, second)) => Some(joined(first, second)?),
        None => None,
    };
    with_counts(all, counts, detected.masked_spectra().cloned())
}

/// Checks that beams are whole sums of channels and polarisations.
fn check_sums(detection: &Detection, set: &TiedArrayBeams) -> Result<(), BeamformerError> {
    detection.channels_of(set.weights.channels())?;
    detection.beams_of(set.weights.beams())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::times_together;

    #[test]
    fn groups_of_times_are_within_sums_and_complete_none_that_is_not_complete() {
        for of_sum in [1, 6, 16, 24, 40, 256] {
            for pending in 0..of_sum {
                for times in 1..70 {
                    for cuts in [0, 2, 9] {
                        let fold = times_together(of_sum, pending, times, cuts);
                        let case = format!("{times} times behind {pending} of {of_sum}, {fold} together");
                        assert!(fold <= 16 && fold <= 1 << cuts, "{case}");
                        assert!(of_sum.is_multiple_of(fold) && pending.is_multiple_of(fold), "{case}");
                        let groups = times.div_ceil(fold);
                        assert_eq!((pending / fold + groups) / (of_sum / fold), (pending + times) / of_sum, "{case}");
                    }
                }
            }
        }
        // 20 times are 16 and 4: in groups of 16 they would be two sums. 28 of 24 are no more than one.
        assert_eq!((times_together(16, 0, 20, 9), times_together(24, 0, 28, 9)), (4, 8));
        assert_eq!((times_together(24, 16, 4, 9), times_together(256, 0, 4096, 9)), (4, 16));
    }
}
