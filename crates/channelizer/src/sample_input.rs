//! What channelizers and F-engines take: samples of any format, wherever they lie.

use fringes_backend::{DeviceSamples, PinnedSamples};
use fringes_types::{PackedSamples, Sample, SampleChunk, Samples};

/// A chunk of samples `[input][time]` that everything that channelizes takes; what comes out lies where it lies:
///
/// | chunk | what comes out |
/// |---|---|
/// | [`Samples`], [`PackedSamples`], [`PinnedSamples`], `dyn` [`SampleChunk`] | is in host memory; the backend says how |
/// | [`DeviceSamples`] | is on the same device, in the order of a stream |
///
/// Nothing else can implement it.
pub trait SampleInput: sealed::Sealed {
    /// What an operation gives of the chunk: `H` in host memory, `D` in device memory.
    type Output<H, D>;

    /// Does an operation where the chunk lies.
    #[doc(hidden)]
    fn give_to<O: SampleOperation>(&self, operation: O) -> Result<Self::Output<O::Host, O::Device>, O::Error>;
}

/// An operation on samples in either memory.
#[doc(hidden)]
pub trait SampleOperation {
    /// What it gives of samples in host memory.
    type Host;
    /// What it gives of samples in device memory.
    type Device;
    /// What can be wrong.
    type Error;

    /// Does it to samples in host memory.
    fn on_host(self, chunk: &dyn SampleChunk) -> Result<Self::Host, Self::Error>;

    /// Does it to samples in device memory.
    fn on_device(self, samples: &DeviceSamples<'_>) -> Result<Self::Device, Self::Error>;
}

mod sealed {
    use super::{DeviceSamples, PackedSamples, PinnedSamples, Sample, SampleChunk, Samples};

    pub trait Sealed {}
    impl Sealed for dyn SampleChunk + '_ {}
    impl<S: Sample> Sealed for Samples<S> {}
    impl Sealed for PackedSamples {}
    impl Sealed for PinnedSamples {}
    impl Sealed for DeviceSamples<'_> {}
}

macro_rules! on_the_host {
    () => {
        type Output<H, D> = H;

        fn give_to<O: SampleOperation>(&self, operation: O) -> Result<O::Host, O::Error> {
            operation.on_host(self)
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

impl SampleInput for PinnedSamples {
    on_the_host!();
}

impl SampleInput for DeviceSamples<'_> {
    type Output<H, D> = D;

    fn give_to<O: SampleOperation>(&self, operation: O) -> Result<O::Device, O::Error> {
        operation.on_device(self)
    }
}
