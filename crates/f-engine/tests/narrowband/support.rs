//! Cases of a narrowband F-engine, their samples, and what the reference makes of them.

use std::ops::Range;

use fringes_backend::Backend;
use fringes_channelizer::{Channelizer, DownConverter};
use fringes_delay_model::{DelayModel, DelaySegment};
use fringes_f_engine::{FrameSample, Frames, NarrowbandFEngine, NarrowbandFEngineBuilder};
use fringes_reference::f_engine as reference;
use fringes_reference::narrowband;
use fringes_types::{Complex, Gains, Heaps, Inputs, PackedSamples, SampleChunk, SamplePresence, Samples};
use ndarray::{Array2, Axis, concatenate, s};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

pub(crate) type C64 = Complex<f64>;

/// Half of f32's epsilon.
pub(crate) const U: f64 = f32::EPSILON as f64 / 2.0;

/// The backends that are tested: the CPU, and a GPU where there is one (the CPU for plans that it has no kernel for).
pub(crate) fn backends() -> Vec<Backend> {
    let gpu = Some(Backend::auto()).filter(|backend| backend.device().is_some());
    [Backend::cpu()].into_iter().chain(gpu).collect()
}

/// Format of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Packed10,
    Int8,
    Int16,
    Float32,
    ComplexInt8,
    ComplexFloat32,
}

pub(crate) const FORMATS: [Format; 6] =
    [Format::Packed10, Format::Int8, Format::Int16, Format::Float32, Format::ComplexInt8, Format::ComplexFloat32];

impl Format {
    pub(crate) fn is_complex(self) -> bool {
        matches!(self, Self::ComplexInt8 | Self::ComplexFloat32)
    }

    /// Largest magnitude of a part of a sample.
    fn half(self) -> f64 {
        match self {
            Self::Packed10 => 512.0,
            Self::Int8 | Self::ComplexInt8 => 128.0,
            Self::Int16 => 32768.0,
            Self::Float32 | Self::ComplexFloat32 => 1.0,
        }
    }
}

/// What a narrowband F-engine computes, and of which samples.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) centre: f64,
    pub(crate) decimation: usize,
    /// Taps of the low-pass filter.
    pub(crate) filter_taps: usize,
    /// Channels of the plan, and taps.
    pub(crate) channels: usize,
    pub(crate) taps: usize,
    pub(crate) oversampling: (usize, usize),
    pub(crate) inner_half: bool,
    pub(crate) range: Option<Range<usize>>,
    pub(crate) antennas: usize,
    pub(crate) pols: usize,
    pub(crate) spectra_per_frame: usize,
    pub(crate) dither: Option<u64>,
    pub(crate) format: Format,
    pub(crate) first: u64,
    pub(crate) length: usize,
    /// Delay, rate, phase and phase rate of each input; none if there are none.
    pub(crate) delays: Vec<(f64, f64, f64, f64)>,
    /// Standard deviation of a part of a channel's values.
    pub(crate) sigma: f64,
    /// Samples of a block of presence flags, of which some are missing.
    pub(crate) block: Option<usize>,
    pub(crate) seed: u64,
}

impl Default for Case {
    fn default() -> Self {
        Self {
            centre: 0.171,
            decimation: 8,
            filter_taps: 48,
            channels: 16,
            taps: 4,
            oversampling: (1, 1),
            inner_half: true,
            range: None,
            antennas: 1,
            pols: 2,
            spectra_per_frame: 4,
            dither: None,
            format: Format::Packed10,
            first: 0,
            length: 8 * 16 * 22,
            delays: Vec::new(),
            sigma: 20.0,
            block: None,
            seed: 1,
        }
    }
}

impl Case {
    pub(crate) fn inputs(&self) -> Inputs {
        Inputs::new(self.antennas, self.pols).unwrap()
    }

    pub(crate) fn plan(&self) -> Channelizer {
        let (numerator, denominator) = self.oversampling;
        Channelizer::complex(self.channels).taps(self.taps).oversampling(numerator, denominator).build().unwrap()
    }

    /// A low-pass filter that is not symmetric, so that an error of order shows.
    pub(crate) fn filter(&self) -> Vec<f64> {
        let taps = self.filter_taps as f64;
        let tap = |k: usize| {
            let x = (k as f64 + 0.3) / taps;
            (std::f64::consts::PI * x).sin().powi(2) * (1.0 + 0.5 * x) / (0.6 * taps)
        };
        (0..self.filter_taps).map(tap).collect()
    }

    pub(crate) fn down_converter(&self) -> DownConverter {
        DownConverter::new(self.centre, self.decimation, self.filter()).unwrap()
    }

    /// Channels of the plan that come out.
    pub(crate) fn internal_range(&self) -> Range<usize> {
        let kept = if self.inner_half { narrowband::inner_half(self.channels) } else { 0..self.channels };
        let range = self.range.clone().unwrap_or(0..kept.len());
        kept.start + range.start..kept.start + range.end
    }

    pub(crate) fn models(&self) -> Vec<DelayModel> {
        let none = vec![(0.0, 0.0, 0.0, 0.0); self.antennas * self.pols];
        let delays = if self.delays.is_empty() { none } else { self.delays.clone() };
        let segment = |(delay, rate, phase, phase_rate)| {
            DelaySegment::new(self.first + 501, vec![delay, rate]).with_phase(phase, phase_rate)
        };
        delays.into_iter().map(|delay| DelayModel::from_segment(segment(delay)).unwrap()).collect()
    }

    /// Gains around those that make the standard deviation of a part of a channel's values `sigma`: samples have a
    /// third of the range.
    pub(crate) fn gains(&self) -> Array2<Complex<f32>> {
        let power: f64 = self.filter().iter().map(|tap| tap * tap).sum();
        let samples = self.format.half() / 3.0 * if self.format.is_complex() { 2f64.sqrt() } else { 1.0 };
        let gain = self.sigma * 2f64.sqrt() / (samples * power.sqrt());
        Array2::from_shape_fn((self.internal_range().len(), self.antennas * self.pols), |(channel, input)| {
            let gain = Complex::from_polar(gain * (1.0 + 0.1 * (channel % 3) as f64), 0.3 + input as f64);
            Complex::new(gain.re as f32, gain.im as f32)
        })
    }

    pub(crate) fn builder(&self) -> NarrowbandFEngineBuilder {
        let mut builder = NarrowbandFEngineBuilder::new(self.down_converter(), self.plan(), self.inputs())
            .spectra_per_frame(self.spectra_per_frame)
            .gains(Gains::per_channel_input(self.gains()).unwrap());
        if !self.delays.is_empty() {
            builder = builder.delays(self.models());
        }
        if self.inner_half {
            builder = builder.outer_half_discarded();
        }
        if let Some(range) = &self.range {
            builder = builder.channels(range.clone());
        }
        match self.dither {
            Some(seed) => builder.dither(seed),
            None => builder,
        }
    }

    pub(crate) fn engine<Q: FrameSample>(&self, backend: &Backend) -> NarrowbandFEngine<Q> {
        self.builder().build(backend).unwrap()
    }

    /// Samples as they are in their format: normal, a few at the ends of the range; floats are multiples of 2^-20.
    pub(crate) fn samples(&self) -> Array2<C64> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let half = self.format.half();
        let unit = if half == 1.0 { 2f64.powi(-20) } else { 1.0 };
        let low = if matches!(self.format, Format::ComplexInt8) { 1.0 - half } else { -half };
        let mut part = || {
            let sum: f64 = (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
            (sum * half / 3.0 / unit).round() * unit
        };
        let shape = (self.antennas * self.pols, self.length);
        let complex = self.format.is_complex();
        let mut part = || part().clamp(low, half - unit);
        Array2::from_shape_simple_fn(shape, || C64::new(part(), if complex { part() } else { 0.0 }))
    }

    pub(crate) fn presence(&self, columns: usize) -> Option<SamplePresence> {
        let block = self.block?;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(self.seed + 1);
        let shape = (self.antennas * self.pols, columns.div_ceil(block));
        SamplePresence::new(block, Array2::from_shape_simple_fn(shape, || rng.random::<f64>() > 0.07)).ok()
    }

    /// Samples `from .. to` as a chunk. Of those with presence flags, `from` is a multiple of the block.
    pub(crate) fn chunk(&self, samples: &Array2<C64>, from: usize, to: usize) -> Box<dyn SampleChunk> {
        let part = samples.slice(s![.., from..to]);
        let (first, inputs) = (self.first + from as u64, self.inputs());
        let presence = self.presence(samples.ncols()).map(|presence| {
            let block = presence.samples_per_block();
            let flags = presence.flags().slice(s![.., from / block..to.div_ceil(block)]).to_owned();
            SamplePresence::new(block, flags).unwrap()
        });
        macro_rules! with_axes {
            ($samples:expr) => {{
                let samples = $samples.unwrap().with_first_sample(first).with_sample_rate(1.712e9).unwrap();
                Box::new(match presence {
                    Some(presence) => samples.with_presence(presence).unwrap(),
                    None => samples,
                })
            }};
        }
        match self.format {
            Format::Packed10 => {
                with_axes!(PackedSamples::pack(part.mapv(|value| value.re as i16).view(), 10, inputs))
            }
            Format::Int8 => with_axes!(Samples::new(part.mapv(|value| value.re as i8), inputs)),
            Format::Int16 => with_axes!(Samples::new(part.mapv(|value| value.re as i16), inputs)),
            Format::Float32 => with_axes!(Samples::new(part.mapv(|value| value.re as f32), inputs)),
            Format::ComplexInt8 => {
                with_axes!(Samples::new(part.mapv(|value| Complex::new(value.re as i8, value.im as i8)), inputs))
            }
            Format::ComplexFloat32 => {
                with_axes!(Samples::new(part.mapv(|value| Complex::new(value.re as f32, value.im as f32)), inputs))
            }
        }
    }

    /// All frames of chunks of the given lengths, repeated, and of a flush.
    pub(crate) fn streamed<Q: FrameSample>(&self, backend: &Backend, lengths: &[usize]) -> Option<Frames<Heaps<Q>>> {
        let samples = self.samples();
        let mut engine = self.engine::<Q>(backend);
        let format = self.chunk(&samples, 0, 0).format();
        let (mut frames, mut from) = (Vec::new(), 0usize);
        for &length in lengths.iter().cycle() {
            let to = from.saturating_add(length).min(self.length);
            let channelized = engine.push(&*self.chunk(&samples, from, to)).unwrap();
            assert_eq!(channelized.statistics.len(), self.antennas * self.pols);
            assert!(channelized.statistics.iter().all(|input| input.samples <= (to - from) as u64));
            frames.extend(channelized.frames);
            let most = engine.memory(to - from, format).workspace_bytes;
            assert!(engine.held_bytes() <= most, "{} of {most}", engine.held_bytes());
            from = to;
            assert_eq!(engine.expected_sample(), (from > 0).then_some(self.first + from as u64));
            if from == self.length {
                break;
            }
        }
        frames.extend(engine.flush().unwrap());
        join(frames)
    }

    /// All frames of one chunk and a flush.
    pub(crate) fn frames<Q: FrameSample>(&self, backend: &Backend) -> Frames<Heaps<Q>> {
        self.streamed(backend, &[usize::MAX]).unwrap()
    }

    /// The F-engine of the reference.
    fn oracle<R>(&self, limit: Option<f64>, with: impl FnOnce(&narrowband::NarrowbandFEngine<'_>) -> R) -> R {
        let (plan, filter) = (self.plan(), self.filter());
        let gains = self.gains().mapv(|gain| C64::new(gain.re.into(), gain.im.into()));
        let f_engine = reference::FEngine {
            weights: plan.weights(),
            channels: self.channels,
            complex: true,
            stride: plan.stride(),
            pols: self.pols,
            spectra_per_frame: self.spectra_per_frame,
            range: self.internal_range(),
            gains: gains.view(),
            dither: self.dither.filter(|_| limit.is_some()),
            limit,
        };
        let (centre, decimation) = (self.down_converter().centre_cycles_per_sample(), self.decimation);
        with(&narrowband::NarrowbandFEngine { centre, filter: &filter, decimation, f_engine })
    }

    fn present(&self) -> Array2<bool> {
        let presence = self.presence(self.length);
        Array2::from_shape_fn((self.antennas * self.pols, self.length), |(input, time)| {
            presence.as_ref().is_none_or(|presence| presence.is_present(input, time))
        })
    }

    /// What the reference makes of all samples.
    pub(crate) fn reference(&self, limit: Option<f64>) -> reference::Frames {
        let models = self.models();
        let delay = |stamp: u64, input: usize| {
            let value = models[input].evaluate(stamp);
            (models[input].delay_samples(stamp), value.phase_turns)
        };
        let (samples, present) = (self.samples(), self.present());
        self.oracle(limit, |engine| engine.frames(samples.view(), present.view(), self.first, &delay))
    }

    /// Bounds of the error of the values of the spectra stamped `first_stamp` and later, a stride apart, of each input:
    /// `[time][input]`, for integers before they are rounded. With `u = 2^-24`, gains of at most `g` and `A = sum |w
    /// y|` of a window of down-converted samples `y`, which are off by at most `e`:
    ///
    /// - `g sum |w| e` of the first stage, with its stated `e`;
    /// - `units u g (A + sum |w| e)` of the second, as the F-engine's tests have it;
    /// - a GPU rounds the sum with the dither within `2^-15`.
    pub(crate) fn bounds(&self, backend: &Backend, first_stamp: u64, times: usize) -> Array2<f64> {
        let (plan, models, filter) = (self.plan(), self.models(), self.filter());
        let (samples, present) = (self.samples(), self.present());
        let on_gpu = backend.device().is_some();
        let (narrow, _) = self.oracle(None, |engine| engine.down_converted(samples.view(), present.view(), self.first));
        let gain = self.gains().iter().fold(0f64, |largest, gain| largest.max(f64::from(gain.norm())));
        let (s, taps) = (self.decimation, filter.len());
        let skip = self.first.next_multiple_of(s as u64) - self.first;
        let n = match (on_gpu, self.format.is_complex()) {
            (false, false) => taps.div_ceil(8),
            (false, true) => taps.div_ceil(4),
            (true, complex) => 4 * taps.div_ceil(128) * (1 + usize::from(complex)),
        };
        let of_sums = (1.5 * n as f64 + if on_gpu { 18.0 } else { 8.0 }) * U;
        let full_scale = self.format.half() * filter.iter().map(|tap| tap.abs()).sum::<f64>();
        let tensor = on_gpu && matches!(self.format, Format::Packed10 | Format::Int8);
        let e = Array2::from_shape_fn(narrow.dim(), |(input, output)| {
            let start = skip as usize + output * s;
            let size: f64 = (0..taps).map(|k| samples[(input, start + k)].norm() * filter[k].abs()).sum();
            (of_sums * size).max(if tensor { 2e-5 * full_scale } else { 0.0 })
        });
        let more = 3.0 * (self.taps as f64 + 1.0) + 6.0 + 5.0 + 2f64.powf(4.2);
        let stages = 7.0 * (plan.step() as f64).log2();
        let units = self.taps as f64 + 1.0 + stages + 2.0 + 2.0 * 5f64.sqrt() + if on_gpu { more } else { 0.0 };
        let dither = if on_gpu { 2f64.powi(-15) } else { 0.0 };
        let first_output = (self.first + skip) / s as u64;
        Array2::from_shape_fn((times, self.antennas * self.pols), |(time, input)| {
            let stamp = first_stamp / s as u64 + (time * plan.stride()) as u64;
            let delay = models[input].delay_samples(stamp * s as u64) / s as f64;
            let start = stamp as i64 - delay.round_ties_even() as i64 - first_output as i64;
            let sum: f64 = plan
                .weights()
                .iter()
                .enumerate()
                .map(|(place, weight)| {
                    let at = usize::try_from(start + place as i64).ok().filter(|&at| at < narrow.ncols());
                    at.map_or(0.0, |at| {
                        let (y, e) = (narrow[(input, at)].norm(), e[(input, at)]);
                        weight.abs() * (e + units * U * (y + e))
                    })
                })
                .sum();
            gain * sum + dither
        })
    }
}

/// Frames that follow each other as one piece.
pub(crate) fn join<Q: FrameSample>(pieces: Vec<Frames<Heaps<Q>>>) -> Option<Frames<Heaps<Q>>> {
    let first = pieces.first()?;
    let (clock, frequencies) = (first.voltages.clock(), first.voltages.frequencies());
    let mut next = clock.first_sample;
    let mut present = Vec::new();
    for piece in &pieces {
        assert_eq!(piece.first_stamp(), next, "frames follow each other");
        assert_eq!(piece.voltages.frequencies(), frequencies);
        next += piece.voltages.times() as u64 * clock.samples_between_spectra;
        let all = || Array2::from_elem((piece.frames(), piece.voltages.inputs().antennas()), true);
        present.push(piece.voltages.presence().map_or_else(all, |presence| presence.to_owned()));
    }
    let data: Vec<_> = pieces.iter().map(|piece| piece.voltages.data()).collect();
    let data = concatenate(Axis(0), &data).unwrap().as_standard_layout().into_owned();
    let rows = |arrays: Vec<ndarray::ArrayView2<'_, bool>>| concatenate(Axis(0), &arrays).unwrap();
    let present = rows(present.iter().map(|flags| flags.view()).collect());
    let spectra_present = rows(pieces.iter().map(|piece| piece.spectra_present.view()).collect());
    let saturated: Vec<_> = pieces.iter().map(|piece| piece.saturated.view()).collect();
    let saturated = concatenate(Axis(0), &saturated).unwrap();
    let mut heaps =
        Heaps::from_checked(data).unwrap().with_frequencies(frequencies).unwrap().with_clock(clock).unwrap();
    if present.iter().any(|present| !present) {
        heaps = heaps.with_presence(present).unwrap();
    }
    Some(Frames { voltages: heaps, spectra_present, saturated })
}
