//! Parameters of an F-engine.

use std::ops::Range;

use fringes_backend::{Backend, MemoryNeed};
use fringes_delay_model::DelayModel;
use fringes_types::{ChunkFormat, Complex, Gains, Inputs, TypesError, row_times};

use super::{FEngine, FrameLayout, FrameSample, HeapFrames, RowFrames, Settings};
use fringes_channelizer::internals::Timeline;
use fringes_channelizer::{Channelizer, ChannelizerError, Precision};

/// Largest distance of frames in samples.
pub(super) const FRAME_LIMIT: u64 = 1 << 52;

/// Parameters of an [`FEngine`], checked by [`FEngineBuilder::build`].
#[derive(Debug, Clone)]
pub struct FEngineBuilder {
    plan: Channelizer,
    inputs: Inputs,
    spectra_per_frame: usize,
    channels: Option<Range<usize>>,
    gains: Option<Gains>,
    dither: Option<u64>,
    first_input: usize,
    precision: Precision,
    delays: Option<Vec<DelayModel>>,
    delay_limits: Option<(u64, u64)>,
}

impl FEngineBuilder {
    /// All channels of `plan`, gains of 1, no dither, no delays, frames of 256 spectra, in [`Precision::Single`].
    pub fn new(plan: Channelizer, inputs: Inputs) -> Self {
        Self {
            plan,
            inputs,
            spectra_per_frame: 256,
            channels: None,
            gains: None,
            dither: None,
            first_input: 0,
            precision: Precision::Single,
            delays: None,
            delay_limits: None,
        }
    }

    /// Spectra of a frame, 256 by default. Frames begin at whole multiples of as many strides.
    pub fn spectra_per_frame(mut self, spectra: usize) -> Self {
        self.spectra_per_frame = spectra;
        self
    }

    /// Channels of the plan that come out, all by default.
    pub fn channels(mut self, channels: Range<usize>) -> Self {
        self.channels = Some(channels);
        self
    }

    /// Gains, 1 by default: one, or one for each channel that comes out and each input.
    pub fn gains(mut self, gains: Gains) -> Self {
        self.gains = Some(gains);
        self
    }

    /// Adds dither to what becomes integers: numbers uniform in (-1/2, 1/2) that depend on `seed`, input, spectrum and
    /// channel alone (see [`FEngine`]).
    pub fn dither(mut self, seed: u64) -> Self {
        self.dither = Some(seed);
        self
    }

    /// The number that the dither gives this engine's first input, 0 by default. Where the antennas of an array are
    /// divided among F-engines with one seed, each says which of all inputs its own begin with: the values are those of
    /// one engine, and no two inputs have the same dither.
    pub fn first_input(mut self, first_input: usize) -> Self {
        self.first_input = first_input;
        self
    }

    /// How exactly a GPU computes, [`Precision::Single`] by default. [`Precision::Half`] is faster, with noise 66 dB
    /// below the values, for plans and samples that have such kernels: 256 to 65536 channels (powers of two),
    /// critically sampled, up to 32 taps; packed samples of 8, 10, 12 or 16 bits, i8, i16 or f16, real or complex.
    /// Others, and the CPU, stay with `Single`: [`FEngine::precision`] says which it is.
    pub fn precision(mut self, precision: Precision) -> Self {
        self.precision = precision;
        self
    }

    pub(crate) fn chosen_precision(&self) -> Precision {
        self.precision
    }

    /// Delay models, one an input; none by default.
    pub fn delays(mut self, delays: Vec<DelayModel>) -> Self {
        self.delays = Some(delays);
        self
    }

    /// The largest coarse delay, either way, and by how much the start of a window may fall behind the latest one, both
    /// in samples: see
    /// [`ChannelizerStream::with_delay_limits`](fringes_channelizer::ChannelizerStream::with_delay_limits). The
    /// defaults are 2^24 and 2^16.
    pub fn delay_limits(mut self, max_delay_samples: u64, max_growth_samples: u64) -> Self {
        self.delay_limits = Some((max_delay_samples, max_growth_samples));
        self
    }

    /// Memory that the F-engine takes on a backend, as a stream of chunks of `times` samples of each input, or as
    /// [`f_engine`](crate::f_engine()) of one.
    ///
    /// The workspace includes the frame that is not complete and the samples held between chunks, at most: of each
    /// input a window, a stride, the growth, and as much as its delay may be larger than the smallest one. Delays count
    /// as they are if they do not change and [`FEngineBuilder::delay_limits`] was not called, else as anything within
    /// the limits: narrow ones save memory. A limit of `smallest_step_bytes` is enough for the whole stream.
    ///
    /// On the CPU samples are held as f32. On a GPU they are held as they come and workspace is memory of the device:
    /// samples and frames have their place there as well, and a chunk is one step.
    ///
    /// # Errors
    /// As [`FEngineBuilder::build`], without those of limits and drivers.
    pub fn memory<Q: FrameSample>(
        &self,
        backend: &Backend,
        times: usize,
        format: ChunkFormat,
    ) -> Result<MemoryNeed, ChannelizerError> {
        let (timeline, settings) = self.clone().check::<Q, HeapFrames>()?;
        FEngine::<Q>::memory_on(backend, &timeline, &settings, times, format)
    }

    /// The F-engine on a backend, before its first sample.
    ///
    /// # Errors
    /// - [`ChannelizerError::Zero`] for frames without spectra, [`ChannelizerError::ChannelRange`];
    /// - [`TypesError::Dimension`] for gains or delay models of other channels or inputs;
    /// - [`TypesError::TooLarge`] for frames that cannot be held, or are more than 2^52 samples apart;
    /// - [`DeviceError::NoKernel`](fringes_backend::DeviceError::NoKernel) if the backend is a GPU and has no kernel
    ///   for the plan;
    /// - [`DeviceError::MemoryLimit`](fringes_backend::DeviceError::MemoryLimit) if the backend's limit is below the
    ///   `smallest_step_bytes` of [`FEngineBuilder::memory`], on a GPU at the latest with the first chunk, whose format
    ///   counts there; [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) with what the driver says.
    pub fn build<Q: FrameSample>(self, backend: &Backend) -> Result<FEngine<Q>, ChannelizerError> {
        self.build_as::<Q, HeapFrames>(backend)
    }

    /// As [`FEngineBuilder::build`], with frames in the correlator's rows of 128 bytes ([`Rows`](fringes_types::Rows)),
    /// `[channel][frame x spectrum / R][input][R]`, in place of heaps: what correlates fastest.
    ///
    /// # Errors
    /// As [`FEngineBuilder::build`]; [`ChannelizerError::RowSpectra`] for frames that are no whole number of rows.
    pub fn build_rows<Q: FrameSample>(self, backend: &Backend) -> Result<FEngine<Q, RowFrames>, ChannelizerError> {
        self.build_as::<Q, RowFrames>(backend)
    }

    pub(super) fn build_as<Q: FrameSample, L: FrameLayout>(
        self,
        backend: &Backend,
    ) -> Result<FEngine<Q, L>, ChannelizerError> {
        let (timeline, settings) = self.check::<Q, L>()?;
        FEngine::new(backend, timeline, settings)
    }

    /// Spectra of a frame, checked or not.
    pub(super) fn frame_spectra(&self) -> usize {
        self.spectra_per_frame
    }

    /// The checked parameters.
    fn check<Q: FrameSample, L: FrameLayout>(self) -> Result<(Timeline, Settings), ChannelizerError> {
        let Self { plan, inputs, spectra_per_frame, .. } = self;
        if spectra_per_frame == 0 {
            return Err(ChannelizerError::Zero { quantity: "spectra per frame" });
        }
        let channels = self.channels.unwrap_or(0..plan.channels());
        if channels.is_empty() || channels.end > plan.channels() {
            let (start, end, channels) = (channels.start, channels.end, plan.channels());
            return Err(ChannelizerError::ChannelRange { start, end, channels });
        }
        let distance = (spectra_per_frame as u64).checked_mul(plan.stride() as u64);
        let Some(alignment) = distance.filter(|&distance| distance <= FRAME_LIMIT) else {
            let elements = format!("{spectra_per_frame} x {}", plan.stride());
            return Err(TypesError::TooLarge { array: "samples of a frame", elements }.into());
        };
        let gains = self.gains.map_or_else(|| Gains::uniform(1.0), Ok)?;
        let gains = gains.expand(channels.len(), inputs.len())?.t().as_standard_layout().into_owned();
        let mut timeline = Timeline::new(plan, inputs, alignment);
        if let Some(delays) = self.delays {
            timeline.set_delays(delays)?;
        }
        if let Some((max_delay, max_growth)) = self.delay_limits {
            timeline.set_delay_limits(max_delay, max_growth);
        }
        let row = L::IS_ROWS.then_some(row_times(Q::FORMAT));
        if let Some(expected) = row.filter(|&row| !spectra_per_frame.is_multiple_of(row)) {
            return Err(ChannelizerError::RowSpectra { expected, actual: spectra_per_frame });
        }
        let (dither, precision) = (self.dither, self.precision);
        let first_input = self.first_input;
        if u32::try_from(first_input.saturating_add(inputs.len())).is_err() {
            let elements = format!("{first_input} + {}", inputs.len());
            return Err(TypesError::TooLarge { array: "inputs that dither counts", elements }.into());
        }
        let generation = 0;
        let ring = None;
        let settings =
            Settings { spectra_per_frame, channels, gains, dither, first_input, precision, generation, row, ring };
        Ok((timeline, settings))
    }
}

// Of one format, so that `FEngine::builder` needs no type: the format is chosen by `build`.
impl FEngine<Complex<i8>> {
    /// Parameters of an F-engine: [`FEngineBuilder::new`].
    pub fn builder(plan: Channelizer, inputs: Inputs) -> FEngineBuilder {
        FEngineBuilder::new(plan, inputs)
    }
}
