//! What an F-engine takes: samples of any format, wherever they lie.

use fringes_backend::DeviceSamples;
use fringes_types::{PackedSamples, Sample, SampleChunk, Samples};

use super::output::DeviceFrames;
use super::{Channelized, FEngine, FrameLayout, FrameSample, Frames};
use crate::ChannelizerError;

/// A chunk of samples `[input][time]` that [`FEngine::push`] takes; what comes out lies where it lies:
///
/// | chunk | frames |
/// |---|---|
/// | [`Samples`], [`PackedSamples`], `dyn` [`SampleChunk`]: host memory | [`Frames`] in host memory |
/// | [`DeviceSamples`]: device memory | [`DeviceFrames`] on the same device |
///
/// Nothing else can implement it.
pub trait SampleInput: sealed::Sealed {
    /// What the chunk gives.
    type Channelized<Q: FrameSample, L: FrameLayout>;

    /// [`FEngine::push`] of this chunk.
    #[doc(hidden)]
    fn push_to<Q: FrameSample, L: FrameLayout>(
        &self,
        engine: &mut FEngine<Q, L>,
    ) -> Result<Self::Channelized<Q, L>, ChannelizerError>;
}

mod sealed {
    use super::{DeviceSamples, PackedSamples, Sample, SampleChunk, Samples};

    pub trait Sealed {}
    impl Sealed for dyn SampleChunk + '_ {}
    impl<S: Sample> Sealed for Samples<S> {}
    impl Sealed for PackedSamples {}
    impl Sealed for DeviceSamples<'_> {}
}

macro_rules! on_the_host {
    () => {
        type Channelized<Q: FrameSample, L: FrameLayout> = Channelized<Frames<L::Host<Q>>>;

        fn push_to<Q: FrameSample, L: FrameLayout>(
            &self,
            engine: &mut FEngine<Q, L>,
        ) -> Result<Self::Channelized<Q, L>, ChannelizerError> {
            engine.take(self, false)
        }
    };
}

impl SampleInput for dyn SampleChunk + '_ {
    on_the_host!();
}

impl<S: Sample> SampleInput for Samples<S> {
    on_the_host!();
}

impl SampleInput for PackedSamples {
    on_the_host!();
}

impl SampleInput for DeviceSamples<'_> {
    type Channelized<Q: FrameSample, L: FrameLayout> = Channelized<DeviceFrames<L::Device<Q>>>;

    fn push_to<Q: FrameSample, L: FrameLayout>(
        &self,
        engine: &mut FEngine<Q, L>,
    ) -> Result<Self::Channelized<Q, L>, ChannelizerError> {
        engine.take_on_device(self)
    }
}
