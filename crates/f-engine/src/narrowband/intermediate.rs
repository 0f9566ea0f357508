//! Samples between the stages: the one place that knows their format.

use fringes_backend::{Backend, DeviceSamples, MemoryNeed};
use fringes_channelizer::internals::{ChunkAxes, Preview};
use fringes_channelizer::{ChannelizerError, DownConverter, DownConverterStream};
use fringes_gpu::Stream;
use fringes_types::{ChunkFormat, Complex, Inputs, SampleChunk, SampleFormat, f16};

/// Format of the down-converted samples between the two stages of a [`NarrowbandFEngine`](crate::NarrowbandFEngine).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Intermediate {
    /// Complex f32: 8 bytes a sample, with nothing to choose and nothing lost.
    #[default]
    Float32,
    /// Complex f16: half of the bytes, and on a GPU a third of the second stage's products. A part is rounded by at
    /// most 2^-11 of itself, noise 77 dB below it; below 6e-5 by at most 2^-25. Parts beyond 65504 are clamped: samples
    /// of `B` bits stay below that if `2^(B - 1) sum |h|` does, `h` the filter times the down-converter's gain.
    Float16,
}

impl Intermediate {
    /// As a format of samples.
    pub fn format(self) -> ChunkFormat {
        let format = match self {
            Self::Float32 => SampleFormat::Float32,
            Self::Float16 => SampleFormat::Float16,
        };
        ChunkFormat::Typed { format, complex: true }
    }

    /// Memory of the first stage with chunks of `times` samples of a format of each input.
    pub(super) fn need(
        self,
        plan: &DownConverter,
        inputs: Inputs,
        on_gpu: bool,
        times: usize,
        format: ChunkFormat,
    ) -> MemoryNeed {
        match self {
            Self::Float32 => DownConverterStream::<Complex<f32>>::need(plan, inputs, on_gpu, times, format),
            Self::Float16 => DownConverterStream::<Complex<f16>>::need(plan, inputs, on_gpu, times, format),
        }
    }
}

/// The first stage, of either format.
#[derive(Debug)]
pub(super) enum First {
    Float32(DownConverterStream<Complex<f32>>),
    Float16(DownConverterStream<Complex<f16>>),
}

/// An expression with the stream, whichever it is.
macro_rules! with {
    ($first:expr, $stream:ident => $value:expr) => {
        match $first {
            First::Float32($stream) => $value,
            First::Float16($stream) => $value,
        }
    };
}

impl First {
    pub(super) fn new(
        backend: &Backend,
        plan: DownConverter,
        inputs: Inputs,
        format: Intermediate,
    ) -> Result<Self, ChannelizerError> {
        let stream = DownConverterStream::new(backend, plan, inputs)?;
        Ok(match format {
            Intermediate::Float32 => Self::Float32(stream),
            Intermediate::Float16 => Self::Float16(stream.with_output()?),
        })
    }

    pub(super) fn stream(&self) -> Option<&Stream> {
        with!(self, first => first.stream())
    }

    pub(super) fn plan(&self) -> &DownConverter {
        with!(self, first => first.plan())
    }

    pub(super) fn expected_sample(&self) -> Option<u64> {
        with!(self, first => first.expected_sample())
    }

    pub(super) fn held_bytes(&self) -> u64 {
        with!(self, first => first.held_bytes())
    }

    pub(super) fn reset(&mut self) {
        with!(self, first => first.reset());
    }

    pub(super) fn retune(&mut self, at_sample: u64, centre_cycles_per_sample: f64) -> Result<(), ChannelizerError> {
        with!(self, first => first.retune(at_sample, centre_cycles_per_sample))
    }

    pub(super) fn centre_cycles_per_sample(&self) -> f64 {
        with!(self, first => first.centre_cycles_per_sample())
    }

    pub(super) fn preview(&self, axes: &ChunkAxes<'_>) -> Result<Vec<Preview>, ChannelizerError> {
        with!(self, first => first.preview(axes))
    }

    pub(super) fn set_memory_limit(&mut self, bytes: u64) {
        with!(self, first => first.set_memory_limit(bytes));
    }

    /// Down-converts a chunk in host memory, to pieces with their centres: on the sky, or among the digitiser's
    /// frequencies.
    pub(super) fn push_on_host(
        &mut self,
        chunk: &dyn SampleChunk,
        centres_hz: &[f64],
    ) -> Result<Vec<Box<dyn SampleChunk>>, ChannelizerError> {
        with!(self, first => {
            let pieces = first.push(chunk)?.into_iter().zip(centres_hz);
            let boxed = |samples| Box::new(samples) as Box<dyn SampleChunk>;
            pieces.map(|(samples, &hz)| Ok(boxed(samples.with_centre_frequency(hz)?))).collect()
        })
    }

    /// The same of a chunk in device memory.
    pub(super) fn push_on_device(
        &mut self,
        samples: &DeviceSamples<'_>,
        centres_hz: &[f64],
    ) -> Result<Vec<DeviceSamples<'static>>, ChannelizerError> {
        let pieces = with!(self, first => first.push(samples)?).into_iter().zip(centres_hz);
        pieces.map(|(samples, &hz)| Ok(samples.with_centre_frequency(hz)?)).collect()
    }
}
