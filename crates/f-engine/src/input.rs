//! A chunk on its way into an F-engine, wherever it lies.

use fringes_backend::DeviceSamples;
use fringes_types::SampleChunk;

use super::output::ChannelizedOnDevice;
use super::{Channelized, FEngine, FrameLayout, FrameSample, Frames};
use fringes_channelizer::{ChannelizerError, SampleOperation};

/// [`FEngine::push`].
pub(super) struct Push<'a, Q: FrameSample, L: FrameLayout>(pub(super) &'a mut FEngine<Q, L>);

impl<Q: FrameSample, L: FrameLayout> SampleOperation for Push<'_, Q, L> {
    type Host = Channelized<Frames<L::Host<Q>>>;
    type Device = ChannelizedOnDevice<Q, L>;
    type Error = ChannelizerError;

    fn on_host(self, chunk: &dyn SampleChunk) -> Result<Self::Host, ChannelizerError> {
        self.0.take(chunk, false)
    }

    fn on_device(self, samples: &DeviceSamples<'_>) -> Result<Self::Device, ChannelizerError> {
        self.0.take_on_device(samples)
    }
}
