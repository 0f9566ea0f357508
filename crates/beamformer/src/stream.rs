//! Beams of chunk after chunk.

use fringes_backend::Backend;
#[cfg(doc)]
use fringes_backend::DeviceError;
use fringes_gpu::Stream;
use fringes_types::{Dimension, Inputs, VoltageSample};

use crate::set::check_length;
use crate::work::{Loaded, Work, add};
use crate::{BeamChunk, BeamSet, BeamformerError};

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
}

impl<V: VoltageSample, B: BeamSet> BeamformerStream<V, B> {
    /// A stream of chunks of these inputs.
    ///
    /// # Errors
    /// As [`BeamSet::check`] if the set is not for these inputs.
    pub fn new(backend: &Backend, set: B, inputs: Inputs) -> Result<Self, BeamformerError> {
        set.check(set.channels().unwrap_or(1), inputs)?;
        Ok(Self { backend: backend.clone(), set, inputs, stream: None, loaded: None, saturated: Vec::new() })
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
        self.check_inputs(chunk.inputs())?;
        let Self { backend, set, stream, loaded, saturated, .. } = self;
        chunk.beamform(Work { backend, set, stream: stream.as_ref(), loaded, saturated })
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
        self.set = set;
        Ok(())
    }
}
