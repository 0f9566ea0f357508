//! Frames in device memory.

use fringes_gpu::{Buffer, BufferView, Stream};
use fringes_types::{Frequencies, SpectrumClock};
use ndarray::{Array2, Array5, ArrayView2};

use super::super::output::Header;
use super::super::{FrameSample, Frames};
use crate::ChannelizerError;

/// Consecutive frames in device memory.
///
/// Values and counts are there in the order of the stream that they were asked for on; axes and flags are known at once. Dropped on the host, the memory
/// is used again by what that stream gets later.
#[derive(Debug)]
pub struct DeviceFrames<Q: FrameSample> {
    pub(in crate::f_engine) values: Buffer<Q>,
    pub(in crate::f_engine) saturated: Buffer<u32>,
    pub(in crate::f_engine) frames: usize,
    pub(in crate::f_engine) header: Header,
}

/// What a chunk in device memory gives: as [`Channelized`](crate::Channelized), without statistics.
#[derive(Debug)]
pub struct DeviceChannelized<Q: FrameSample> {
    /// The frames that are complete.
    pub frames: Vec<DeviceFrames<Q>>,
}

impl<Q: FrameSample> DeviceFrames<Q> {
    /// The values `[frame][antenna][channel][spectrum][pol]`, as the correlator takes heaps, or its rows
    /// ([`FEngineBuilder::device_rows`](crate::FEngineBuilder::device_rows)).
    #[must_use]
    pub fn values(&self) -> BufferView<'_, Q> {
        self.values.view()
    }

    /// Complex values of each input that were beyond the format's limit, `[frame][input]`; 0 for floats.
    #[must_use]
    pub fn saturated(&self) -> BufferView<'_, u32> {
        self.saturated.view()
    }

    /// Number of frames.
    #[must_use]
    pub fn frames(&self) -> usize {
        self.frames
    }

    /// Stamp of the first spectrum.
    #[must_use]
    pub fn first_stamp(&self) -> u64 {
        self.header.clock.first_sample
    }

    /// Clock of the spectra.
    #[must_use]
    pub fn clock(&self) -> SpectrumClock {
        self.header.clock
    }

    /// Centres of the channels.
    #[must_use]
    pub fn frequencies(&self) -> Frequencies {
        self.header.frequencies
    }

    /// Flags `[frame * spectra_per_frame + spectrum][input]`, true where the spectrum was made. The others are 0.
    #[must_use]
    pub fn spectra_present(&self) -> ArrayView2<'_, bool> {
        self.header.spectra_present.view()
    }

    /// Flags `[frame][antenna]`: a frame is absent for an antenna if one of its spectra is for one of its inputs.
    #[must_use]
    pub fn antennas_present(&self) -> Array2<bool> {
        self.header.antennas_present()
    }

    /// The frames in host memory, when `stream` has come to them.
    ///
    /// # Errors
    /// [`ChannelizerError::Types`] if there is no memory for them, and with what the driver says.
    pub fn to_frames(&self, stream: &Stream) -> Result<Frames<Q>, ChannelizerError> {
        let mut values = self.header.zeroed::<Q>(self.frames)?;
        self.values.copy_to_slice(stream, &mut values)?;
        let counts = self.saturated.to_vec(stream)?;
        let inputs = self.header.inputs.len();
        let saturated =
            Array2::from_shape_fn((self.frames, inputs), |(frame, input)| counts[frame * inputs + input].into());
        let shape = self.header.shape(self.frames);
        let values = if self.header.order.is_rows() {
            let (order, pols) = (self.header.order, self.header.inputs.pols());
            Array5::from_shape_fn(shape, |(frame, antenna, channel, spectrum, pol)| {
                values[order.element(frame, channel, spectrum, antenna * pols + pol)]
            })
        } else {
            Array5::from_shape_vec(shape, values).map_err(|_| self.header.too_large(self.frames))?
        };
        self.header.clone().frames(values, saturated)
    }
}
