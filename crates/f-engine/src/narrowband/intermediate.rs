//! Samples between the stages: the one place that knows their format.

use fringes_backend::DeviceSamples;
use fringes_channelizer::ChannelizerError;
use fringes_types::{ChunkFormat, Complex, SampleFormat, Samples};

/// Format of the down-converted samples between the two stages of a [`NarrowbandFEngine`](crate::NarrowbandFEngine).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Intermediate {
    /// Complex f32: 8 bytes a sample, with nothing to choose and nothing lost.
    #[default]
    Float32,
}

impl Intermediate {
    /// As a format of samples.
    pub fn format(self) -> ChunkFormat {
        match self {
            Self::Float32 => ChunkFormat::Typed { format: SampleFormat::Float32, complex: true },
        }
    }
}

/// Down-converted samples in host memory.
pub(super) type HostSamples = Samples<Complex<f32>>;

/// Down-converted samples with their centre: on the sky, or among the digitiser's frequencies.
pub(super) trait Centred: Sized {
    fn centred(self, centre_hz: f64) -> Result<Self, ChannelizerError>;
}

impl Centred for HostSamples {
    fn centred(self, centre_hz: f64) -> Result<Self, ChannelizerError> {
        Ok(self.with_centre_frequency(centre_hz)?)
    }
}

impl Centred for DeviceSamples<'static> {
    fn centred(self, centre_hz: f64) -> Result<Self, ChannelizerError> {
        Ok(self.with_centre_frequency(centre_hz)?)
    }
}
