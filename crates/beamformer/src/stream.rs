//! Beams of chunk after chunk.

use fringes_backend::Backend;
#[cfg(doc)]
use fringes_backend::DeviceError;
use fringes_gpu::Stream;
use fringes_interference::internals::PlacedMask;
use fringes_types::{ChannelMask, Dimension, Inputs, SpectrumClock, TypesError, VoltageSample};

use crate::counts::Members;
use crate::set::check_length;
use crate::work::{Loaded, Work, add};
use crate::{BeamChunk, BeamSet, BeamformerError, TiedArrayBeams, TiedArrayOutput};

/// Forms beams of chunks that come one after another: [`beamform`](crate::beamform) with kernels, tables and memory
/// that are loaded once.
///
/// A beam at one time depends on the voltages at that time alone, so nothing is kept of them: chunks may come in any
/// order, be of any number of times, and lie on the host or on a device. What comes out lies where the chunk lay.
///
/// Work on a GPU is queued on a stream: the one that [`BeamformerStream::on`] gives, or one of its own. Beams on a
/// device are returned at once and say which stream writes them; beams on the host are there when `push` returns.
///
/// ```
/// use fringes_beamformer::{BeamformerStream, FftBeams};
/// use fringes_backend::Backend;
/// use fringes_types::{Complex, Heaps, Inputs, Voltages};
/// use ndarray::{Array3, Array5};
///
/// // Two lines of four dual-polarisation feeds, powers of 8 beams each.
/// let inputs = Inputs::new(8, 2)?;
/// let fan = FftBeams::new(2, 4, 8)?.with_output::<f32>();
/// let mut stream = BeamformerStream::new(&Backend::auto(), fan, inputs)?;
///
/// let voltages = Voltages::new(Array3::from_elem((3, 5, 16), Complex::new(2i8, -1)), inputs)?;
/// let powers = stream.push(&voltages)?;
/// assert_eq!(powers.data().dim(), (3, 5, 2 * 2 * 8));
/// assert_eq!(powers.data()[(0, 0, 0)], 16.0 * 5.0);
///
/// // Heaps as F-engines send them: 2 batches of 4 spectra.
/// let heaps = Heaps::new(Array5::from_elem((2, 8, 3, 4, 2), Complex::new(2i8, -1)))?;
/// assert_eq!(stream.push(&heaps)?.data().dim(), (3, 8, 32));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct BeamformerStream<V: VoltageSample, B: BeamSet> {
    backend: Backend,
    set: B,
    inputs: Inputs,
    stream: Option<Stream>,
    loaded: Option<Loaded<V, B>>,
    /// Values of each beam that saturated, but those that the kernels still count.
    saturated: Vec<u64>,
    /// Inputs of beams, once they were asked for.
    members: Option<Members>,
    /// Sets that take over at a sample, in the order of the samples.
    later: Vec<(u64, B)>,
}

impl<V: VoltageSample, B: BeamSet> BeamformerStream<V, B> {
    /// A stream of chunks of these inputs.
    ///
    /// # Errors
    /// As [`BeamSet::check`] if the set is not for these inputs.
    pub fn new(backend: &Backend, set: B, inputs: Inputs) -> Result<Self, BeamformerError> {
        set.check(set.channels().unwrap_or(1), inputs)?;
        let (backend, saturated, later) = (backend.clone(), Vec::new(), Vec::new());
        Ok(Self { backend, set, inputs, stream: None, loaded: None, saturated, members: None, later })
    }

    /// Queues work on a GPU on this stream.
    #[must_use]
    pub fn on(mut self, stream: &Stream) -> Self {
        (self.stream, self.loaded) = (Some(stream.clone()), None);
        self
    }

    /// Beams of a chunk, where it lies. The first chunk on a device loads the kernels and waits for that.
    ///
    /// # Precision
    /// As [`beamform`](crate::beamform).
    ///
    /// # Errors
    /// As [`beamform`](crate::beamform), and [`TypesError::Dimension`](fringes_types::TypesError::Dimension) for a
    /// chunk of other inputs than the stream's.
    pub fn push<C: BeamChunk<Sample = V>>(&mut self, chunk: &C) -> Result<C::Beams<B::Output>, BeamformerError> {
        self.push_with(chunk, None)
    }

    /// As [`BeamformerStream::push`], of voltages without what is masked: masked samples count as zero, and
    /// [`Beams::mask`](fringes_types::Beams::mask) says what was masked. The mask covers the whole chunk, and may cover
    /// more; the chunk is not changed.
    ///
    /// Voltages on the host, and rows on a device, are copied where something of them is masked; heaps and voltages on
    /// a device are masked as they become rows, in the order of the stream. FFT beams of voltages on a device have a
    /// masked copy of these.
    ///
    /// # Errors
    /// As [`BeamformerStream::push`]; [`TypesError::Dimension`](fringes_types::TypesError::Dimension) for a mask of
    /// other channels, [`TypesError::MaskGrid`](fringes_types::TypesError::MaskGrid) and
    /// [`TypesError::MaskRange`](fringes_types::TypesError::MaskRange) for one that does not cover the chunk; the
    /// stream is as before then.
    ///
    /// ```
    /// use fringes_backend::Backend;
    /// use fringes_beamformer::{BeamformerStream, IncoherentBeams};
    /// use fringes_types::{ChannelMask, Complex, Inputs, SpectrumClock, Voltages};
    /// use ndarray::{Array3, array};
    ///
    /// let clock = SpectrumClock { first_sample: 0, samples_between_spectra: 16, sample_rate_hz: 1e6 };
    /// let inputs = Inputs::single_pol(2)?;
    /// let chunk = Voltages::new(Array3::from_elem((2, 32, 2), Complex::new(3i8, 4)), inputs)?.with_clock(clock)?;
    /// // Channel 1 is left out in the second of two blocks of 16 spectra.
    /// let mask = ChannelMask::new(array![[false, false], [false, true]], 16, clock)?;
    ///
    /// let mut stream = BeamformerStream::new(&Backend::auto(), IncoherentBeams::sum(inputs), inputs)?;
    /// let powers = stream.push_masked(&chunk, &mask)?;
    /// let power = |channel, time| powers.data()[(channel, time, 0)];
    /// assert_eq!([power(0, 31), power(1, 15), power(1, 16)], [50.0, 50.0, 0.0]);
    /// assert_eq!(powers.mask(), Some(&mask));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn push_masked<C: BeamChunk<Sample = V>>(
        &mut self,
        chunk: &C,
        mask: &ChannelMask,
    ) -> Result<C::Beams<B::Output>, BeamformerError> {
        self.push_with(chunk, Some(mask))
    }

    pub(crate) fn push_with<C: BeamChunk<Sample = V>>(
        &mut self,
        chunk: &C,
        mask: Option<&ChannelMask>,
    ) -> Result<C::Beams<B::Output>, BeamformerError> {
        self.check_inputs(chunk.inputs())?;
        let (times, clock) = chunk.times();
        let mask = placed(mask, chunk.channels(), times, clock)?;
        while let Some(set) = self.due(clock) {
            self.replace(set)?;
        }
        let mut later = self.within(times, clock);
        let Self { backend, set, stream, loaded, saturated, members, .. } = self;
        let stream = stream.as_ref();
        let beams = chunk.beamform(Work { backend, set, stream, loaded, saturated, members, later: &later, mask });
        if beams.is_err() && !later.is_empty() {
            // Kernels may be those of a later set.
            self.loaded = None;
        }
        if let Some((_, set)) = later.pop() {
            (self.set, self.members) = (set, None);
        }
        beams
    }

    /// Takes the next set that takes over at the start of a chunk or before.
    pub(crate) fn due(&mut self, clock: SpectrumClock) -> Option<B> {
        let is_due = self.later.first().is_some_and(|(sample, _)| *sample <= clock.first_sample);
        is_due.then(|| self.later.remove(0).1)
    }

    /// Takes the sets that take over within a chunk, each with the first of its times that is not before the sample.
    pub(crate) fn within(&mut self, times: usize, clock: SpectrumClock) -> Vec<(usize, B)> {
        let time = |sample: u64| {
            let ahead = sample.saturating_sub(clock.first_sample);
            usize::try_from(ahead.div_ceil(clock.samples_between_spectra.max(1))).unwrap_or(usize::MAX)
        };
        let count = self.later.iter().take_while(|(sample, _)| time(*sample) < times).count();
        self.later.drain(..count).map(|(sample, set)| (time(sample), set)).collect()
    }

    /// Turns to a set that has taken over.
    pub(crate) fn taken_over(&mut self, set: B) {
        (self.set, self.members, self.loaded) = (set, None, None);
    }

    /// Antennas and polarisations.
    pub(crate) fn inputs(&self) -> Inputs {
        self.inputs
    }

    /// Which inputs the beams sum.
    pub(crate) fn members(&mut self) -> &Members {
        self.members.get_or_insert_with(|| Members::of(&self.set, self.inputs))
    }

    /// Checks that voltages have the stream's inputs.
    pub(crate) fn check_inputs(&self, actual: Inputs) -> Result<(), BeamformerError> {
        check_length("voltages", Dimension::Antenna, self.inputs.antennas(), actual.antennas())?;
        Ok(check_length("voltages", Dimension::Pol, self.inputs.pols(), actual.pols())?)
    }

    /// Of each beam, the values that were clamped since the last call; waits for what was pushed. Zeros of floats.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) with what the driver says.
    pub fn take_saturated(&mut self) -> Result<Vec<u64>, BeamformerError> {
        let mut counts = std::mem::take(&mut self.saturated);
        counts.resize(self.set.beams(self.inputs), 0);
        if let Some(loaded) = &mut self.loaded {
            add(&mut counts, &loaded.take_saturated()?);
        }
        Ok(counts)
    }

    /// The set of beams.
    pub fn set(&self) -> &B {
        &self.set
    }

    /// Forms other beams from the next chunk on, such as the same with other weights or gains. Tied-array beams of the
    /// same number and precision keep their kernels: other weights are made in the order of the stream, after what was
    /// pushed before, and nothing waits.
    ///
    /// # Errors
    /// As [`BeamformerStream::new`]; the stream then stays as it was. [`DeviceError::Gpu`] with what the driver says.
    pub fn replace(&mut self, set: B) -> Result<(), BeamformerError> {
        set.check(set.channels().unwrap_or(1), self.inputs)?;
        if let Some(mut loaded) = self.loaded.take() {
            let same_channels = self.set.channels() == set.channels();
            let kept = same_channels && loaded.update(&set)?;
            if kept {
                self.loaded = Some(loaded);
            } else {
                add(&mut self.saturated, &loaded.take_saturated()?);
            }
        }
        (self.set, self.members) = (set, None);
        Ok(())
    }
}

/// A mask where a chunk lies in it; `None` if nothing of the chunk is masked.
///
/// # Errors
/// As [`PlacedMask::new`].
pub(crate) fn placed(
    mask: Option<&ChannelMask>,
    channels: usize,
    times: usize,
    clock: SpectrumClock,
) -> Result<Option<PlacedMask<'_>>, TypesError> {
    let mask = mask.filter(|_| times > 0).map(|mask| PlacedMask::new(mask, channels, clock, 0..times));
    Ok(mask.transpose()?.filter(|mask| mask.masks_any(0..times)))
}

impl<V: VoltageSample, O: TiedArrayOutput> BeamformerStream<V, TiedArrayBeams<O>> {
    /// Forms other beams from the first spectrum on whose stamp is not before `sample`, be it within a chunk: as
    /// [`BeamformerStream::replace`] there. Sets may be given long before; those of the same sample follow each other.
    ///
    /// Chunks are told apart by their clocks: one that lies before the sample keeps the beams that were before it.
    ///
    /// # Errors
    /// As [`BeamformerStream::replace`], and [`TypesError::Dimension`](fringes_types::TypesError::Dimension) for beams
    /// of another number or other channels than the stream's.
    pub fn replace_at(&mut self, set: TiedArrayBeams<O>, sample: u64) -> Result<(), BeamformerError> {
        let channels = self.set.channels().unwrap_or(1);
        set.check(channels, self.inputs)?;
        check_length("beam weights", Dimension::Beam, self.set.beams(self.inputs), set.beams(self.inputs))?;
        let place = self.later.iter().take_while(|(at, _)| *at <= sample).count();
        self.later.insert(place, (sample, set));
        Ok(())
    }
}
