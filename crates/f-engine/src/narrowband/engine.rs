//! The narrowband F-engine as a stream.

use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::ops::Range;

use fringes_backend::{Backend, DeviceError, DeviceSamples, MemoryNeed};
use fringes_channelizer::internals::{ChunkAxes, Preview, chunk};
use fringes_channelizer::{Channelizer, ChannelizerError, DownConverter, Precision, SampleInput, SampleOperation};
use fringes_cpu::f_engine::statistics;
use fringes_delay_model::DelayModel;
use fringes_gpu::Stream;
use fringes_types::{ChunkFormat, Gains, Inputs, SampleChunk};

use super::Intermediate;
use super::builder::Parts;
use super::intermediate::First;
use super::need::Need;
use crate::engine::OuterClock;
use crate::{Channelized, ChannelizedOnDevice, DeviceFrames, FEngine, FrameLayout, FrameSample, Frames, HeapFrames};

/// A narrowband F-engine: takes ADC samples chunk by chunk and gives quantised, delayed channels of a narrow band in
/// frames.
///
/// A [`DownConverter`] moves the centre `c` of the band to 0 Hz, filters and keeps every `S`-th sample; an [`FEngine`]
/// makes `N` channels of them, of which all come out, or the inner half
/// ([`NarrowbandFEngineBuilder::outer_half_discarded`](crate::NarrowbandFEngineBuilder::outer_half_discarded)). With
/// the filter `h` and the filter bank's weights `w`, of an input without delay:
///
/// ```text
/// y_j = sum_k x[S j + k] h_k exp(-2 pi i c (S j + k))
/// X[k](t) = exp(-2 pi i b_k t / (S N)) sum_p exp(-2 pi i b_k p / N) sum_i w[i N + p] y[t / S + i N + p]
/// b_k = k - floor(N / 2)
/// ```
///
/// Gains, dither and rounding follow as in an [`FEngine`]. Channel `k` of the plan is centred at
/// `c + b_k / (S N)` cycles per sample. A real tone of amplitude `a` in the middle of a channel comes out with
/// `a / 2 |H|` times the sum of the weights, a complex one with twice that; white noise of variance `s^2` with a
/// variance of `s^2 |H|^2 / S`, with `|H|` the filter's gain there, 1 in its pass band.
///
/// # One clock
/// Everything outside is in ADC samples: stamps of frames, whole multiples of `S` strides of the plan; chunks; delays,
/// their starts and rates; limits; what errors name. Frequencies of channels are those on the sky if the samples have a
/// centre, else the digitiser's. A spectrum stamped `t` is of down-converted samples from `t / S` on, the first of
/// which is made of ADC samples from `t` on: like windows of filter banks, stamps are of the first sample.
///
/// # Delay
/// A model says by how many ADC samples, `d(t)`, the spectrum stamped `t` is delayed
/// ([`DelayModel`]). With `d' = d(t) / S`, its window begins `rint(d')` down-converted samples before `t / S`, and the
/// rest, at most half of one, turns the channels:
///
/// ```text
/// phase of channel k:  -(d' - rint(d')) b_k / N + phase(t)   turns
/// ```
///
/// so that the whole delay turns a channel by `-d` times its distance from the *centre of the narrow band*, in cycles
/// per ADC sample. The centre, at 0 Hz once it is down-converted, is turned by the model's own phase alone: windows
/// that step do not turn it. `-f d` turns stop the fringe, with `f` the sky frequency of that centre.
///
/// The model is evaluated as it stands, at the ADC sample `t` ([`DelayModel::decimated`]): the size of the counter
/// costs nothing, and `d'` is off by the model's own error over `S` and one rounding to f64. Updates are queued on the
/// models in ADC samples ([`NarrowbandFEngine::delays_mut`]).
///
/// A spectrum has one delay, that of its stamp, and its window lasts for
/// [`window_samples`](NarrowbandFEngine::window_samples). For a delay and a phase that change, a model that is right in
/// the middle of windows is that of half a window later.
///
/// # Retunes
/// [`NarrowbandFEngine::retune`] moves the centre at an ADC sample with which a frame begins. Spectra stamped before it
/// are of the old centre, those from it on of the new one, and so say their frequencies. None has down-converted
/// samples of both: the frame before it is closed where windows would reach beyond it, the rest of it absent, and
/// behind it a spectrum is absent whose window begins before it, as with a positive delay. Without a delay that leaves
/// out one spectrum less than a window has strides. Frames that are left out altogether, where a window is longer than
/// a frame, are not made.
///
/// The mixer's phase is continuous at that sample, one for all inputs. What stops the fringe is `-f d` turns with the
/// new centre's `f` from that stamp on: a segment that starts with the sample ([`NarrowbandFEngine::delays_mut`]). If
/// delays are longer than a window, spectra stamped at or after the sample may be wholly of older ones: then their
/// frames still have the old centre, and the first frame behind them the new one.
///
/// # Missing data
/// A down-converted sample is absent if an ADC sample that it is made of is, and a spectrum if a down-converted sample
/// of its window is. A gap in the ADC samples that leaves out down-converted samples closes the frame that was begun,
/// with the chunk that completes a down-converted sample behind it; the stream begins anew with the next frame whose
/// samples exist.
///
/// ```
/// use fringes_backend::Backend;
/// use fringes_channelizer::design::DownConversionFilter;
/// use fringes_channelizer::{Channelizer, DownConverter};
/// use fringes_f_engine::NarrowbandFEngine;
/// use fringes_types::{Complex, Inputs, PackedSamples};
/// use ndarray::Array2;
///
/// // Around 0.1 of the sample rate, at an eighth of it: 32 channels, of which the inner 16 come out.
/// let filter = DownConversionFilter::outer_half_discarded(8).taps(64).build()?;
/// let down_converter = DownConverter::designed(0.1, &filter)?;
/// let (plan, inputs) = (Channelizer::complex(32).taps(4).build()?, Inputs::new(1, 2)?);
/// let engine = NarrowbandFEngine::builder(down_converter, plan, inputs).outer_half_discarded().spectra_per_frame(4);
/// let mut engine = engine.build::<Complex<i8>>(&Backend::auto())?;
///
/// let tone = |time: usize| (400.0 * (std::f64::consts::TAU * 0.1 * time as f64).cos()).round() as i16;
/// let samples = Array2::from_shape_fn((2, 5000), |(_, time)| tone(time));
/// let samples = PackedSamples::pack(samples.view(), 10, inputs)?.with_sample_rate(80e6)?;
/// let frames = engine.push(&samples)?.frames.remove(0);
/// assert_eq!(frames.voltages.data().dim(), (4, 1, 16, 4, 2));
/// // Stamps and spacing are in ADC samples; the middle channel is at 8 MHz.
/// assert_eq!(frames.voltages.clock().samples_between_spectra, 8 * 32);
/// assert!((frames.voltages.frequencies().channel_hz(8) - 8e6).abs() < 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Precision
/// With `e` the error bound of a down-converted sample ([`down_convert`](fringes_channelizer::down_convert())) and `E`
/// that of an [`FEngine`]'s value for the down-converted samples as they are, a value is within `g sum |w| e + E` of
/// the exact one, `g` the gain's magnitude. Integers differ from those of exact voltages only where a part is nearer to
/// a rounding tie than that. In half precision
/// ([`NarrowbandFEngineBuilder::precision`](crate::NarrowbandFEngineBuilder::precision)) a GPU has f16 between all
/// stages, and as the filter's weights: errors of `5.5e-4` of the values' rms, from 4096 channels of the plan on
/// `6.3e-4`.
///
/// # On a GPU
/// Both stages run there, and what is between them stays there: a chunk is a launch or two of the down-converter and
/// those of the F-engine. The down-converter has a stream of its own, so that it works on a chunk while the F-engine
/// has the one before: if the chunk says that another stream than the caller's wrote it
/// ([`DeviceArray::written_on`](fringes_backend::DeviceArray::written_on), as what an
/// [`Uploader`](fringes_backend::Uploader) sends does) or at which point
/// ([`DeviceArray::written_now`](fringes_backend::DeviceArray::written_now)). Else it waits for all that the caller's
/// stream was given, which also holds for chunks in host memory. What the caller queues there after
/// [`push`](Self::push) is behind both. [`Backend::auto`] takes the CPU for plans that an [`FEngine`] has no kernel
/// for, for both stages. Frames of chunks in device memory stay there.
///
/// # Errors
/// Every method leaves the stream as it was when it fails, but for failures of a GPU's driver, and where there is no
/// memory for frames though no limit says so: then the stream is to be [reset](NarrowbandFEngine::reset).
#[derive(Debug)]
pub struct NarrowbandFEngine<Q: FrameSample, L: FrameLayout = HeapFrames> {
    backend: Backend,
    first: First,
    second: FEngine<Q, L>,
    /// What the last chunk in device memory became between the stages: its memory is used again behind what the next
    /// one becomes, which so does not wait for the second stage of this one.
    between: Vec<DeviceSamples<'static>>,
    intermediate: Intermediate,
    decimation: NonZeroU64,
    kept: Range<usize>,
    channels: Range<usize>,
    /// First down-converted samples of the centres that are to come.
    retunes: VecDeque<u64>,
    /// Models on the clock of ADC samples, and whether the second stage has them as they are.
    delays: Vec<DelayModel>,
    delays_are_set: bool,
    max_delay: u64,
    /// Whether there are statistics of chunks in device memory.
    statistics: bool,
}

/// [`NarrowbandFEngine::push`].
struct Push<'a, Q: FrameSample, L: FrameLayout>(&'a mut NarrowbandFEngine<Q, L>);

impl<Q: FrameSample, L: FrameLayout> SampleOperation for Push<'_, Q, L> {
    type Host = Channelized<Frames<L::Host<Q>>>;
    type Device = ChannelizedOnDevice<Q, L>;
    type Error = ChannelizerError;

    fn on_host(self, chunk: &dyn SampleChunk) -> Result<Self::Host, ChannelizerError> {
        self.0.take(chunk)
    }

    fn on_device(self, samples: &DeviceSamples<'_>) -> Result<Self::Device, ChannelizerError> {
        self.0.second.gpu()?.check(samples)?;
        let centres_hz = self.0.begin(&chunk::axes(samples))?;
        if !self.0.statistics {
            return Ok(Channelized { frames: self.0.queue(samples, &centres_hz)?, statistics: None });
        }
        let before = self.0.second.gpu()?.so_far()?;
        let frames = self.0.queue(samples, &centres_hz)?;
        let statistics = self.0.second.gpu()?.queue_statistics(samples, &before);
        self.0.second.gpu()?.wait_for_statistics()?;
        Ok(Channelized { frames, statistics: Some(statistics?) })
    }
}

impl<Q: FrameSample, L: FrameLayout> NarrowbandFEngine<Q, L> {
    pub(super) fn new(backend: &Backend, parts: Parts) -> Result<Self, ChannelizerError> {
        let backend = parts.backend(backend)?;
        // No format needs less than one of 2 bits without samples: the first chunk says which it is.
        let limits = parts.need::<Q>(&backend, 0, ChunkFormat::Packed { bits: 2 })?.limits(&backend)?;
        let limited =
            |limit: Option<u64>| limit.map_or(backend.clone(), |limit| backend.clone().with_memory_limit(limit));
        let Parts { down_converter, inputs, intermediate, kept, channels, delays, decimation, max_delay, .. } = parts;
        let first = First::new(&limited(limits.map(|limits| limits.0)), down_converter, inputs, intermediate)?;
        let second = parts.f_engine.build_as::<Q, L>(&limited(limits.map(|limits| limits.1)))?;
        let (retunes, delays_are_set) = (VecDeque::new(), true);
        Ok(Self {
            backend,
            first,
            second,
            between: Vec::new(),
            intermediate,
            decimation,
            kept,
            channels,
            retunes,
            delays,
            delays_are_set,
            max_delay,
            statistics: false,
        })
    }

    /// Makes statistics of the ADC samples of chunks in device memory as well, as [`FEngine::with_statistics`].
    #[must_use]
    pub fn with_statistics(self) -> Self {
        Self { statistics: true, ..self }
    }

    /// Has a GPU's work be in the order of a stream of the caller's, in place of one of its own: frames are queued
    /// there, and it waits for whatever reads a chunk.
    ///
    /// # Errors
    /// [`DeviceError::NotOnGpu`](fringes_backend::DeviceError::NotOnGpu) if the F-engine runs on the CPU,
    /// [`DeviceError::WrongDevice`](fringes_backend::DeviceError::WrongDevice) for another device's stream.
    pub fn on(self, stream: &Stream) -> Result<Self, ChannelizerError> {
        Ok(Self { second: self.second.on(stream)?, ..self })
    }

    /// The stream in whose order the work of a GPU is; `None` on the CPU.
    pub fn stream(&self) -> Option<&Stream> {
        self.second.stream()
    }

    /// The plan of the down-conversion as it was given, whatever retunes came.
    pub fn down_converter(&self) -> &DownConverter {
        self.first.plan()
    }

    /// The plan of the filter bank, of down-converted samples.
    pub fn plan(&self) -> &Channelizer {
        self.second.plan()
    }

    /// Inputs of the stream.
    pub fn inputs(&self) -> Inputs {
        self.second.inputs()
    }

    /// Spectra of a frame.
    pub fn spectra_per_frame(&self) -> usize {
        self.second.spectra_per_frame()
    }

    /// Channels of the plan that are kept: all, or the inner half.
    pub fn kept_channels(&self) -> Range<usize> {
        self.kept.clone()
    }

    /// Channels that come out, of those that are kept.
    pub fn channels(&self) -> Range<usize> {
        self.channels.clone()
    }

    /// What the spectra of the second stage are computed in: see [`FEngine::precision`].
    pub fn precision(&self) -> Option<Precision> {
        self.second.precision()
    }

    /// Format of the samples between the stages.
    pub fn intermediate(&self) -> Intermediate {
        self.intermediate
    }

    /// ADC samples from a spectrum to the next: the plan's stride times the decimation.
    pub fn stride(&self) -> u64 {
        self.outward(self.plan().stride() as u64)
    }

    /// ADC samples that a spectrum is made of, from its stamp on where there is no delay: the plan's window of
    /// down-converted samples, the last of which has as many as the filter has taps.
    pub fn window_samples(&self) -> u64 {
        let (plan, filter) = (self.plan(), self.down_converter().filter());
        self.outward(plan.window_samples() as u64 - 1).saturating_add(filter.len() as u64)
    }

    /// The delay models, one an input, in ADC samples.
    pub fn delays(&self) -> &[DelayModel] {
        &self.delays
    }

    /// The delay models, to queue updates. Segments that no coming spectrum needs are discarded by
    /// [`NarrowbandFEngine::push`].
    pub fn delays_mut(&mut self) -> &mut [DelayModel] {
        self.delays_are_set = false;
        &mut self.delays
    }

    /// Sets the gains of all spectra that are not computed yet.
    ///
    /// # Errors
    /// [`TypesError::Dimension`](fringes_types::TypesError::Dimension) for gains of other channels or inputs.
    pub fn set_gains(&mut self, gains: &Gains) -> Result<(), ChannelizerError> {
        self.second.set_gains(gains)
    }

    /// Moves the centre of the narrow band at an absolute ADC sample, with which a frame begins: frames stamped from it
    /// on have the new one, in cycles per sample. See [Retunes](NarrowbandFEngine#retunes). Several may be queued
    /// ahead, in the order of their samples; of those at one sample the last one counts.
    ///
    /// # Errors
    /// [`ChannelizerError::RetuneInFrame`] for a sample that is no whole multiple of the samples from frame to frame,
    /// [`NarrowbandFEngine::stride`] times the spectra of a frame; otherwise as
    /// [`DownConverterStream::retune`](fringes_channelizer::DownConverterStream::retune):
    /// [`ChannelizerError::RetuneTooLate`] if a down-converted sample is made that begins at or after it.
    pub fn retune(&mut self, at_sample: u64, centre_cycles_per_sample: f64) -> Result<(), ChannelizerError> {
        let frame = self.stride().saturating_mul(self.spectra_per_frame() as u64);
        if !at_sample.is_multiple_of(frame) {
            return Err(ChannelizerError::RetuneInFrame { frame, actual: at_sample });
        }
        self.first.retune(at_sample, centre_cycles_per_sample)?;
        self.retunes.push_back(at_sample / self.decimation);
        Ok(())
    }

    /// Frequency that is moved to 0 Hz in the next down-converted sample, in cycles per ADC sample: that of the plan,
    /// or of the last retune that counts by then.
    pub fn centre_cycles_per_sample(&self) -> f64 {
        self.first.centre_cycles_per_sample()
    }

    /// Sample counter that the next chunk starts at if nothing is lost; `None` before the first chunk.
    pub fn expected_sample(&self) -> Option<u64> {
        self.first.expected_sample()
    }

    /// Stamp of the next spectrum; `None` before the first down-converted sample.
    pub fn next_stamp(&self) -> Option<u64> {
        self.second.next_stamp().map(|stamp| self.outward(stamp))
    }

    /// Bytes that are allocated for samples of coming spectra, by both stages, on the device if the F-engine runs
    /// there.
    pub fn held_bytes(&self) -> u64 {
        self.first.held_bytes().saturating_add(self.second.held_bytes())
    }

    /// Memory that a stream with chunks of `times` ADC samples of each input takes, where the F-engine runs: see
    /// [`NarrowbandFEngineBuilder::memory`](crate::NarrowbandFEngineBuilder::memory).
    pub fn memory(&self, times: usize, format: ChunkFormat) -> MemoryNeed {
        self.need(times, format).whole()
    }

    fn need(&self, times: usize, format: ChunkFormat) -> Need {
        let (plan, on_device) = (self.first.plan(), self.stream().is_some());
        Need {
            first: self.intermediate.need(plan, self.inputs(), on_device, times, format),
            second: self.second.memory(times.div_ceil(plan.decimation()), self.intermediate.format()),
            on_device,
        }
    }

    /// Forgets all samples, retunes and the frame that is not complete: the next chunk begins the stream anew, with any
    /// sample counter, format, rate and centre frequency, at the plan's centre.
    pub fn reset(&mut self) {
        self.retunes.clear();
        self.between.clear();
        self.first.reset();
        self.second.reset();
    }

    /// Takes a chunk of ADC samples and gives the frames that are complete with it: in host memory, with statistics of
    /// the ADC samples, of a chunk in host memory; in device memory of one that lies there.
    ///
    /// A chunk in host memory goes to a GPU through pinned memory, and frames and statistics are waited for. Of a chunk
    /// in device memory everything is in the order of the F-engine's stream ([`NarrowbandFEngine::on`]), and nothing
    /// waits, as of [`FEngine::push`].
    ///
    /// # Errors
    /// As [`FEngine::push`], with samples, delays and stamps in ADC samples.
    #[allow(clippy::type_complexity, reason = "what comes out in either memory, told in the signature")]
    pub fn push<C: SampleInput + ?Sized>(
        &mut self,
        chunk: &C,
    ) -> Result<C::Output<Channelized<Frames<L::Host<Q>>>, ChannelizedOnDevice<Q, L>>, ChannelizerError> {
        chunk.give_to(Push(self))
    }

    /// The frame that is not complete, in host memory, the rest of it absent; `None` if there is none. The stream goes
    /// on with the next frame.
    ///
    /// # Errors
    /// As [`FEngine::flush`].
    pub fn flush(&mut self) -> Result<Option<Frames<L::Host<Q>>>, ChannelizerError> {
        self.set_delays();
        self.second.flush().map_err(|error| self.told_outside(error))
    }

    /// As [`NarrowbandFEngine::flush`], in device memory.
    ///
    /// # Errors
    /// As [`FEngine::flush_on_device`].
    pub fn flush_on_device(&mut self) -> Result<Option<DeviceFrames<L::Device<Q>>>, ChannelizerError> {
        self.set_delays();
        self.second.flush_on_device().map_err(|error| self.told_outside(error))
    }

    /// Takes a chunk in host memory.
    fn take(&mut self, chunk: &dyn SampleChunk) -> Result<Channelized<Frames<L::Host<Q>>>, ChannelizerError> {
        let centres_hz = self.begin(&ChunkAxes::of(chunk))?;
        if self.stream().is_none() {
            let frames = self.take_on_cpu(chunk, &centres_hz)?;
            return Ok(Channelized { frames, statistics: statistics(chunk) });
        }
        let gpu = self.second.gpu()?;
        let samples = gpu.upload(chunk)?;
        let before = gpu.so_far()?;
        let queued = self.queue(&samples, &centres_hz)?;
        let sums = self.second.gpu()?.queue_statistics(&samples, &before)?;
        let frames = queued.iter().map(DeviceFrames::to_host_as::<Q, L>).collect::<Result<Vec<_>, _>>()?;
        let statistics = sums.to_host()?;
        Ok(Channelized { frames, statistics })
    }

    /// Takes a chunk on the CPU, of which pieces have centres.
    fn take_on_cpu(
        &mut self,
        chunk: &dyn SampleChunk,
        centres_hz: &[f64],
    ) -> Result<Vec<Frames<L::Host<Q>>>, ChannelizerError> {
        let mut frames = Vec::new();
        for (samples, &centre_hz) in self.first.push_on_host(chunk, centres_hz)?.into_iter().zip(centres_hz) {
            if let Some(first) = self.pass_retunes(samples.first_sample()) {
                let closed = self.second.change_centre(first, centre_hz);
                frames.extend(closed.map_err(|error| self.told_outside(error))?);
            }
            let taken = self.second.take_on_cpu(&*samples, false);
            self.discard_delays();
            frames.extend(taken.map_err(|error| self.told_outside(error))?);
        }
        Ok(frames)
    }

    /// Queues what a chunk in device memory completes, of which pieces have centres.
    fn queue(
        &mut self,
        samples: &DeviceSamples<'_>,
        centres_hz: &[f64],
    ) -> Result<Vec<DeviceFrames<L::Device<Q>>>, ChannelizerError> {
        let mut frames = Vec::new();
        self.first_stage_waits(samples)?;
        let pieces = self.first.push_on_device(samples, centres_hz)?;
        self.between.clear();
        self.second_stage_waits()?;
        for (samples, &centre_hz) in pieces.iter().zip(centres_hz) {
            if let Some(first) = self.pass_retunes(samples.first_sample()) {
                let closed = self.second.change_centre_on_device(first, centre_hz);
                frames.extend(closed.map_err(|error| self.told_outside(error))?);
            }
            let taken = self.second.take_on_device(samples);
            self.discard_delays();
            frames.extend(taken.map_err(|error| self.told_outside(error))?.frames);
        }
        self.between = pieces;
        Ok(frames)
    }

    /// Has the first stage's stream wait for what may write a chunk: of samples that say no writer, all that the
    /// caller's stream was given.
    fn first_stage_waits(&self, samples: &DeviceSamples<'_>) -> Result<(), ChannelizerError> {
        if let (Some(ahead), Some(stream), None) = (self.first.stream(), self.stream(), samples.array().writer()) {
            ahead.wait_for(stream).map_err(DeviceError::from)?;
        }
        Ok(())
    }

    /// Has the caller's stream wait for what reads a chunk, whether it became anything or not.
    fn second_stage_waits(&self) -> Result<(), ChannelizerError> {
        if let (Some(ahead), Some(stream)) = (self.first.stream(), self.stream()) {
            stream.wait_for(ahead).map_err(DeviceError::from)?;
        }
        Ok(())
    }

    /// First down-converted sample of the last retune that counts by `output`, if one does that did not before.
    fn retune_by(&self, output: u64) -> Option<u64> {
        self.retunes.iter().copied().take_while(|&first| first <= output).last()
    }

    /// The same, and forgets those.
    fn pass_retunes(&mut self, output: u64) -> Option<u64> {
        let last = self.retune_by(output);
        self.retunes.retain(|&first| first > output);
        last
    }

    /// `Ok` with the centres of a chunk's pieces, if it can be taken by both stages: whatever may be refused is refused
    /// before the first has taken it.
    fn begin(&mut self, axes: &ChunkAxes<'_>) -> Result<Vec<f64>, ChannelizerError> {
        self.set_delays();
        let pieces = self.first.preview(axes)?;
        let centre_hz = |piece: &Preview| self.centre_hz(axes, piece.centre_cycles_per_sample());
        let centres_hz: Vec<f64> = pieces.iter().map(centre_hz).collect();
        let mut before = None;
        let chunks = pieces.iter().zip(&centres_hz).map(|(piece, &centre_hz)| {
            let outputs = ChunkAxes { centre_hz: Some(centre_hz), ..piece.axes(self.intermediate.format()) };
            let retune = self.retune_by(outputs.first_sample);
            let change = retune.filter(|_| before != retune);
            before = retune;
            (change, outputs)
        });
        self.second.check_chunks(chunks).map_err(|error| self.told_outside(error))?;
        if let Some((first, second)) = self.need(axes.times, axes.format).limits(&self.backend)? {
            self.first.set_memory_limit(first);
            self.second.set_memory_limit(second);
        }
        if !pieces.is_empty() {
            let (decimation, sample_rate_hz) = (self.decimation.get(), axes.sample_rate_hz);
            self.second.set_clock(OuterClock { decimation, sample_rate_hz });
        }
        Ok(centres_hz)
    }

    /// The frequency that is moved to 0 Hz: on the sky if the samples have a centre, else the digitiser's.
    fn centre_hz(&self, axes: &ChunkAxes<'_>, cycles_per_sample: f64) -> f64 {
        let zero_hz = match axes.centre_hz {
            None => 0.0,
            Some(centre_hz) if axes.format.is_complex() => centre_hz,
            // 0 Hz is a quarter of the rate below the middle of a real band.
            Some(centre_hz) => centre_hz - axes.sample_rate_hz / 4.0,
        };
        zero_hz + cycles_per_sample * axes.sample_rate_hz
    }

    /// Gives the second stage the models as they are now.
    fn set_delays(&mut self) {
        if self.delays_are_set {
            return;
        }
        for (own, delay) in self.second.delays_mut().iter_mut().zip(&self.delays) {
            *own = delay.decimated(self.decimation);
        }
        self.delays_are_set = true;
    }

    /// Forgets segments that no coming spectrum needs.
    fn discard_delays(&mut self) {
        if let Some(stamp) = self.next_stamp() {
            self.delays.iter_mut().for_each(|delay| delay.discard_before(stamp));
        }
    }

    /// Down-converted samples in ADC samples.
    fn outward(&self, samples: u64) -> u64 {
        samples.saturating_mul(self.decimation.get())
    }

    /// An error of the second stage in ADC samples.
    fn told_outside(&self, error: ChannelizerError) -> ChannelizerError {
        let signed = |samples: i64| samples.saturating_mul(i64::try_from(self.decimation.get()).unwrap_or(i64::MAX));
        match error {
            ChannelizerError::DelayTooLarge { input, sample, .. } => {
                let (sample, limit) = (self.outward(sample), self.max_delay);
                let actual = self.delays.get(input).map_or(0.0, |delay| delay.delay_samples(sample));
                ChannelizerError::DelayTooLarge { input, sample, actual, limit }
            }
            ChannelizerError::DelayJump { input, sample, start, earliest } => {
                let sample = self.outward(sample);
                ChannelizerError::DelayJump { input, sample, start: signed(start), earliest: signed(earliest) }
            }
            error => error,
        }
    }
}
