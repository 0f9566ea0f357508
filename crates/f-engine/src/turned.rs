//! An F-engine whose frames are written where X-engines of several GPUs read them.

use fringes_backend::{DeviceArray, DeviceError, DeviceSamples, TurnError, TurnRing, TurnedFrames, TurnedHeader};
use fringes_channelizer::internals::RingOrder;
use fringes_channelizer::{ChannelizerError, Precision};
use fringes_delay_model::DelayModel;
use fringes_gpu::Stream;
use fringes_types::{Gains, Inputs};
use ndarray::Array2;

use super::engine::Give;
use super::{FEngine, FrameSample, HeapFrames};

/// An F-engine of some antennas that writes its frames to a [`TurnRing`]: to the memory of every GPU the channels that
/// it correlates, without a copy.
///
/// Values, flags and counts are those of [`FEngine::push`] in heaps, bit for bit. Half precision alone has kernels for
/// this, of 256 channels and more ([`Precision::Half`]).
#[derive(Debug)]
pub struct TurnedFEngine<Q: FrameSample> {
    engine: FEngine<Q, HeapFrames>,
    ring: TurnRing<Q>,
    first_antenna: usize,
}

/// What an F-engine has written to a ring.
#[derive(Debug)]
pub struct Turned<Q: FrameSample> {
    /// Where the frames are, their clock and flags: for [`TurnRing::take`].
    pub frames: TurnedFrames<Q>,
    /// Flags `[frame * spectra_per_frame + spectrum][input]`, true where the spectrum was made. The others are 0.
    pub spectra_present: Array2<bool>,
    /// Complex values of each input that were beyond the format's limit, `[frame][input]`; 0 for floats.
    pub saturated: DeviceArray<'static, u32>,
}

impl<Q: FrameSample> FEngine<Q, HeapFrames> {
    /// The same F-engine, before its first chunk, that writes to a ring, as antennas `first_antenna` and those behind
    /// it.
    ///
    /// # Errors
    /// [`DeviceError::NotOnGpu`] if the F-engine runs on the CPU; [`DeviceError::NoKernel`] unless it computes in half
    /// precision; [`TurnError::Shape`] for a ring of other channels, spectra or
    /// polarisations, or too few antennas.
    pub fn into_turn(mut self, ring: &TurnRing<Q>, first_antenna: usize) -> Result<TurnedFEngine<Q>, ChannelizerError> {
        let (inputs, channels) = (self.inputs(), self.channels());
        let end = first_antenna.saturating_add(inputs.antennas());
        for (what, expected, actual) in [
            ("channels", ring.channels(), channels.len()),
            ("spectra of a frame", ring.spectra_per_frame(), self.spectra_per_frame()),
            ("polarisations", ring.inputs().pols(), inputs.pols()),
            ("antennas", ring.inputs().antennas(), end.max(ring.inputs().antennas())),
        ] {
            if expected != actual {
                return Err(TurnError::Shape { part: 0, what, expected, actual }.into());
            }
        }
        if self.settings.precision != Precision::Half {
            let expected = "half precision, for frames in a ring of several GPUs";
            return Err(DeviceError::NoKernel { expected, actual: "single precision".into() }.into());
        }
        self.gpu()?.set_ring(ring.clone());
        self.settings.ring = Some(RingOrder { shape: ring.shape(), first_antenna });
        Ok(TurnedFEngine { engine: self, ring: ring.clone(), first_antenna })
    }
}

impl<Q: FrameSample> TurnedFEngine<Q> {
    /// Antennas and polarisations.
    pub fn inputs(&self) -> Inputs {
        self.engine.inputs()
    }

    /// As [`FEngine::precision`].
    pub fn precision(&self) -> Option<Precision> {
        self.engine.precision()
    }

    /// As [`FEngine::delays_mut`].
    pub fn delays_mut(&mut self) -> &mut [DelayModel] {
        self.engine.delays_mut()
    }

    /// As [`FEngine::set_gains`].
    ///
    /// # Errors
    /// As there.
    pub fn set_gains(&mut self, gains: &Gains) -> Result<(), ChannelizerError> {
        self.engine.set_gains(gains)
    }

    /// As [`FEngine::expected_sample`].
    pub fn expected_sample(&self) -> Option<u64> {
        self.engine.expected_sample()
    }

    /// As [`FEngine::reset`].
    pub fn reset(&mut self) {
        self.engine.reset();
    }

    /// Takes a chunk in device memory and gives the frames that are complete with it: none, one piece, or two around a
    /// gap. Everything is queued on the F-engine's stream, which waits for what reads the places of the frames.
    ///
    /// # Errors
    /// As [`FEngine::push`]; [`ChannelizerError::Turn`] with [`TurnError::Occupied`] where frames at the places of
    /// these are still held: the chunk may be pushed again then.
    pub fn push(&mut self, samples: &DeviceSamples<'_>) -> Result<Vec<Turned<Q>>, ChannelizerError> {
        let (ring, first) = (self.ring.clone(), self.first_antenna);
        self.engine.take_on_device_as(samples, &*give(&ring, first))
    }

    /// The frame that is not complete, the rest of it absent; `None` if there is none.
    ///
    /// # Errors
    /// As [`FEngine::flush_on_device`].
    pub fn flush(&mut self) -> Result<Option<Turned<Q>>, ChannelizerError> {
        let (ring, first) = (self.ring.clone(), self.first_antenna);
        self.engine.rest_as(&*give(&ring, first))
    }
}

/// Frames of counts that were queued, whose values are in the ring.
fn give<Q: FrameSample>(ring: &TurnRing<Q>, first_antenna: usize) -> Box<Give<'_, Q, Turned<Q>>> {
    Box::new(move |(_, saturated), stream: &Stream, header| {
        let frame = header.clock.samples_between_spectra.saturating_mul(header.spectra_per_frame as u64).max(1);
        let first = header.clock.first_sample / frame;
        let frames = first..first + header.frames() as u64;
        let antennas = first_antenna..first_antenna + header.inputs.antennas();
        let (clock, frequencies) = (header.clock, header.frequencies);
        let of = TurnedHeader { presence: header.absent_antennas(), clock, frequencies };
        let frames = ring.written(stream, frames, antennas, of)?;
        let saturated = DeviceArray::from(saturated).written_now(stream)?;
        Ok(Turned { frames, spectra_present: header.spectra_present, saturated })
    })
}
