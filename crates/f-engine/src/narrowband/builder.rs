//! Parameters of a narrowband F-engine.

use std::num::NonZeroU64;
use std::ops::Range;

use fringes_backend::{Backend, MemoryNeed};
use fringes_channelizer::internals;
use fringes_channelizer::{Channelizer, ChannelizerError, DownConverter, Precision};
use fringes_delay_model::DelayModel;
use fringes_types::{ChunkFormat, Complex, Dimension, Gains, Inputs, TypesError};

use super::need::Need;
use super::{Intermediate, NarrowbandFEngine};
use crate::builder::FRAME_LIMIT;
use crate::engine::device_for;
use crate::{FEngineBuilder, FrameLayout, FrameSample, HeapFrames, RowFrames};

/// Default of the largest delay and growth, in down-converted samples.
const DELAY_LIMITS: (u64, u64) = (1 << 24, 1 << 16);

/// Parameters of a [`NarrowbandFEngine`], checked by [`NarrowbandFEngineBuilder::build`].
#[derive(Debug, Clone)]
pub struct NarrowbandFEngineBuilder {
    down_converter: DownConverter,
    plan: Channelizer,
    inputs: Inputs,
    inner_half: bool,
    intermediate: Option<Intermediate>,
    channels: Option<Range<usize>>,
    delays: Option<Vec<DelayModel>>,
    delay_limits: Option<(u64, u64)>,
    /// The rest.
    f_engine: FEngineBuilder,
}

/// What both stages are made of.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) down_converter: DownConverter,
    pub(super) plan: Channelizer,
    pub(super) inputs: Inputs,
    pub(super) intermediate: Intermediate,
    /// The channels of the plan that are kept, and those of them that come out.
    pub(super) kept: Range<usize>,
    pub(super) channels: Range<usize>,
    /// Models on the clock of ADC samples.
    pub(super) delays: Vec<DelayModel>,
    pub(super) decimation: NonZeroU64,
    pub(super) max_delay: u64,
    /// The second stage, with delays of its own clock.
    pub(super) f_engine: FEngineBuilder,
}

impl NarrowbandFEngineBuilder {
    /// `down_converter` in front of `plan`, a filter bank of complex samples. All of the plan's channels come out;
    /// gains of 1, no dither, no delays, frames of 256 spectra.
    pub fn new(down_converter: DownConverter, plan: Channelizer, inputs: Inputs) -> Self {
        Self {
            f_engine: FEngineBuilder::new(plan.clone(), inputs),
            down_converter,
            plan,
            inputs,
            inner_half: false,
            intermediate: None,
            channels: None,
            delays: None,
            delay_limits: None,
        }
    }

    /// Keeps the inner half of the plan's `2 C` channels, those from `C - floor(C / 2)` on: for a filter that is flat
    /// and free of aliases there, and may be anything beyond
    /// ([`DownConversionFilter::outer_half_discarded`](fringes_channelizer::design::DownConversionFilter::outer_half_discarded)).
    pub fn outer_half_discarded(mut self) -> Self {
        self.inner_half = true;
        self
    }

    /// Channels that come out, of those that are kept; all of them by default.
    pub fn channels(mut self, channels: Range<usize>) -> Self {
        self.channels = Some(channels);
        self
    }

    /// Format of the samples between the stages: [`Intermediate::Float32`] by default, [`Intermediate::Float16`] in
    /// half precision.
    pub fn intermediate(mut self, intermediate: Intermediate) -> Self {
        self.intermediate = Some(intermediate);
        self
    }

    /// How exactly a GPU computes both stages, [`Precision::Single`] by default. [`Precision::Half`] is faster: see
    /// [`FEngineBuilder::precision`] and [`DownConverter::with_precision`]. It has kernels for f16 between the stages,
    /// and not for f32, with which the first stage is in `Single` as well.
    pub fn precision(mut self, precision: Precision) -> Self {
        self.f_engine = self.f_engine.precision(precision);
        self
    }

    /// Spectra of a frame, 256 by default. Frames begin at whole multiples of as many strides.
    pub fn spectra_per_frame(mut self, spectra: usize) -> Self {
        self.f_engine = self.f_engine.spectra_per_frame(spectra);
        self
    }

    /// Gains, 1 by default: one, or one for each channel that comes out and each input.
    pub fn gains(mut self, gains: Gains) -> Self {
        self.f_engine = self.f_engine.gains(gains);
        self
    }

    /// Adds dither to what becomes integers: see [`FEngineBuilder::dither`]. A channel's number is that within the
    /// plan.
    pub fn dither(mut self, seed: u64) -> Self {
        self.f_engine = self.f_engine.dither(seed);
        self
    }

    /// Delay models, one an input, in ADC samples; none by default.
    pub fn delays(mut self, delays: Vec<DelayModel>) -> Self {
        self.delays = Some(delays);
        self
    }

    /// The largest delay, either way, and by how much the start of a window may fall behind the latest one, both in ADC
    /// samples: see [`FEngineBuilder::delay_limits`]. Both are rounded up to whole down-converted samples; the growth
    /// is one more, since the steps of coarse delays are as large. The defaults are 2^24 and 2^16 down-converted
    /// samples.
    pub fn delay_limits(mut self, max_delay_samples: u64, max_growth_samples: u64) -> Self {
        self.delay_limits = Some((max_delay_samples, max_growth_samples));
        self
    }

    /// Memory that the F-engine takes on a backend, as a stream of chunks of `times` ADC samples of each input: both
    /// stages and what is between them, as [`FEngineBuilder::memory`] and `DownConverterStream::memory` say of each.
    /// The workspace includes the down-converted samples of a chunk.
    ///
    /// # Errors
    /// As [`NarrowbandFEngineBuilder::build`], without those of limits and drivers.
    pub fn memory<Q: FrameSample>(
        &self,
        backend: &Backend,
        times: usize,
        format: ChunkFormat,
    ) -> Result<MemoryNeed, ChannelizerError> {
        let parts = self.clone().check()?;
        let backend = parts.backend(backend)?;
        Ok(parts.need::<Q>(&backend, times, format)?.whole())
    }

    /// The F-engine on a backend, before its first sample. Both stages run on the GPU or both on the CPU.
    ///
    /// # Errors
    /// - [`ChannelizerError::SampleKind`] for a plan of real samples, [`ChannelizerError::OddChannels`] if an inner
    ///   half is to be kept of an odd number of channels;
    /// - [`ChannelizerError::Zero`] for frames without spectra, [`ChannelizerError::ChannelRange`] for channels that
    ///   are not kept;
    /// - [`TypesError::Dimension`] for gains or delay models of other channels or inputs;
    /// - [`TypesError::TooLarge`] for frames that cannot be held, or are more than 2^52 ADC samples apart;
    /// - [`DeviceError::NoKernel`](fringes_backend::DeviceError::NoKernel) if the backend is a GPU and has no kernel
    ///   for the plan;
    /// - [`DeviceError::MemoryLimit`](fringes_backend::DeviceError::MemoryLimit) if the backend's limit is below the
    ///   `smallest_step_bytes` of [`NarrowbandFEngineBuilder::memory`], at the latest with the first chunk;
    ///   [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) with what the driver says.
    pub fn build<Q: FrameSample>(self, backend: &Backend) -> Result<NarrowbandFEngine<Q>, ChannelizerError> {
        self.build_as::<Q, HeapFrames>(backend)
    }

    /// As [`NarrowbandFEngineBuilder::build`], with frames in the correlator's rows: see
    /// [`FEngineBuilder::build_rows`].
    ///
    /// # Errors
    /// As [`NarrowbandFEngineBuilder::build`]; [`ChannelizerError::RowSpectra`] for frames that are no whole number of
    /// rows.
    pub fn build_rows<Q: FrameSample>(
        self,
        backend: &Backend,
    ) -> Result<NarrowbandFEngine<Q, RowFrames>, ChannelizerError> {
        self.build_as::<Q, RowFrames>(backend)
    }

    fn build_as<Q: FrameSample, L: FrameLayout>(
        self,
        backend: &Backend,
    ) -> Result<NarrowbandFEngine<Q, L>, ChannelizerError> {
        NarrowbandFEngine::new(backend, self.check()?)
    }

    /// The checked parameters; the second stage checks its own.
    fn check(self) -> Result<Parts, ChannelizerError> {
        let Self { down_converter, plan, inputs, intermediate, .. } = self;
        let intermediate = intermediate.unwrap_or(match self.f_engine.chosen_precision() {
            Precision::Half => Intermediate::Float16,
            _ => Intermediate::default(),
        });
        let half = self.f_engine.chosen_precision() == Precision::Half && intermediate == Intermediate::Float16;
        let down_converter = if half { down_converter.with_precision(Precision::Half) } else { down_converter };
        plan.check_kind(true)?;
        let all = plan.channels();
        let kept = if self.inner_half {
            if !all.is_multiple_of(2) {
                return Err(ChannelizerError::OddChannels { actual: all });
            }
            let half = all / 2;
            half - half / 2..half - half / 2 + half
        } else {
            0..all
        };
        let channels = self.channels.unwrap_or(0..kept.len());
        if channels.is_empty() || channels.end > kept.len() {
            let (start, end, channels) = (channels.start, channels.end, kept.len());
            return Err(ChannelizerError::ChannelRange { start, end, channels });
        }
        let decimation = NonZeroU64::new(down_converter.decimation() as u64);
        let decimation = decimation.ok_or(ChannelizerError::Zero { quantity: "decimation" })?;
        let stride = (plan.stride() as u64).saturating_mul(decimation.get());
        let (spectra, limit) = (self.f_engine.frame_spectra(), FRAME_LIMIT);
        if (spectra as u64).saturating_mul(stride) > limit {
            let elements = format!("{spectra} x {} x {decimation}", plan.stride());
            return Err(TypesError::TooLarge { array: "ADC samples of a frame", elements }.into());
        }
        let delays = self.delays.unwrap_or_else(|| vec![DelayModel::zero(); inputs.len()]);
        if delays.len() != inputs.len() {
            let (array, expected, actual) = ("delay models", inputs.len(), delays.len());
            return Err(TypesError::Dimension { array, dimension: Dimension::Input, expected, actual }.into());
        }
        let mut f_engine = self.f_engine.channels(kept.start + channels.start..kept.start + channels.end);
        f_engine = f_engine.delays(delays.iter().map(|delay| delay.decimated(decimation)).collect());
        let mut max_delay = DELAY_LIMITS.0.saturating_mul(decimation.get());
        if let Some((delay, growth)) = self.delay_limits {
            max_delay = delay;
            let of = |samples: u64| samples.div_ceil(decimation.get());
            f_engine = f_engine.delay_limits(of(delay), of(growth).saturating_add(1));
        }
        Ok(Parts {
            down_converter,
            plan,
            inputs,
            intermediate,
            kept,
            channels,
            delays,
            decimation,
            max_delay,
            f_engine,
        })
    }
}

impl Parts {
    /// Where both stages run: the backend, if it is a GPU that has a kernel for the second one, or the CPU.
    pub(super) fn backend(&self, backend: &Backend) -> Result<Backend, ChannelizerError> {
        let kernel = internals::check_format(&self.plan, self.intermediate.format());
        Ok(match device_for(backend, kernel)? {
            Some(_) => backend.clone(),
            None => backend.memory_limit().map_or(Backend::cpu(), |limit| Backend::cpu().with_memory_limit(limit)),
        })
    }

    /// What chunks of `times` samples need there.
    pub(super) fn need<Q: FrameSample>(
        &self,
        backend: &Backend,
        times: usize,
        format: ChunkFormat,
    ) -> Result<Need, ChannelizerError> {
        let on_device = backend.device().is_some();
        let outputs = times.div_ceil(self.down_converter.decimation());
        Ok(Need {
            first: self.intermediate.need(&self.down_converter, self.inputs, on_device, times, format),
            second: self.f_engine.memory::<Q>(backend, outputs, self.intermediate.format())?,
            on_device,
        })
    }
}

// Of one format, so that `NarrowbandFEngine::builder` needs no type: the format is chosen by `build`.
impl NarrowbandFEngine<Complex<i8>> {
    /// Parameters of a narrowband F-engine: [`NarrowbandFEngineBuilder::new`].
    pub fn builder(down_converter: DownConverter, plan: Channelizer, inputs: Inputs) -> NarrowbandFEngineBuilder {
        NarrowbandFEngineBuilder::new(down_converter, plan, inputs)
    }
}
