//! Cases of an F-engine, their samples, and what the reference makes of them.

use std::ops::Range;

use fringes_backend::Backend;
use fringes_channelizer::{Channelizer, Window};
use fringes_delay_model::DelayModel;
use fringes_f_engine::{Channelized, FEngine, FEngineBuilder, FrameSample, Frames, InputStatistics, f_engine};
use fringes_reference::f_engine as reference;
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

/// The CPU, and a GPU where there is one, which has to have kernels for everything: nothing falls back to the CPU.
pub(crate) fn strict_backends() -> Vec<Backend> {
    let gpu = Backend::auto().device().map(|device| Backend::on(device.clone()));
    [Backend::cpu()].into_iter().chain(gpu).collect()
}

/// The same frames: every bit, but on a GPU with delays. There phases of neighbouring spectra are on lines, which
/// depend on where chunks are cut, within 2^-28 turns each: floats then agree to 4 pi 2^-28 of the largest value, with
/// the rounding of f32 or f16 on top, and integers but for ties.
pub(crate) fn check_same<Q: FrameSample>(
    backend: &Backend,
    case: &Case,
    found: &[Frames<Heaps<Q>>],
    expected: &[Frames<Heaps<Q>>],
) {
    if backend.device().is_none() || case.delays.is_empty() {
        assert_eq!(found, expected, "{case:?}");
        return;
    }
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found.spectra_present, expected.spectra_present, "{case:?}");
        assert_eq!(found.voltages.presence(), expected.voltages.presence());
        assert_eq!(
            (found.voltages.clock(), found.voltages.frequencies()),
            (expected.voltages.clock(), expected.voltages.frequencies())
        );
        let largest = expected.voltages.data().iter().map(|value| value.to_c32().norm()).fold(0f32, f32::max);
        let unit = match Q::FORMAT {
            fringes_types::SampleFormat::Float16 => 2f32.powi(-10),
            _ => 2f32.powi(-20),
        };
        let mut apart = 0;
        for (found, expected) in found.voltages.data().iter().zip(expected.voltages.data()) {
            let difference = (found.to_c32() - expected.to_c32()).norm();
            apart += usize::from(difference > 0.0);
            assert!(difference <= if Q::INTEGER { 1.5 } else { unit * largest }, "{difference} {case:?}");
        }
        assert!(!Q::INTEGER || apart <= 2 + expected.voltages.data().len() / 10_000, "{apart} {case:?}");
    }
}

/// Units of 2^-24 that a GPU's spectra may be off by beyond a CPU's, relative to the largest samples and gains: samples
/// come to the filter as 1.5 + x with `|x| <= 0.5`, which is up to four times as large, the step to a real transform
/// has 6, the factor of a channel 5 and its own error of 2^-19.8.
pub(crate) fn more_units(backend: &Backend, taps: usize) -> f64 {
    if backend.device().is_none() { 0.0 } else { 3.0 * (taps as f64 + 1.0) + 6.0 + 5.0 + 2f64.powf(4.2) }
}

/// What an F-engine computes, and of which samples.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) channels: usize,
    pub(crate) complex: bool,
    pub(crate) taps: usize,
    pub(crate) window: Window,
    pub(crate) oversampling: (usize, usize),
    pub(crate) antennas: usize,
    pub(crate) pols: usize,
    pub(crate) spectra_per_frame: usize,
    pub(crate) range: Range<usize>,
    pub(crate) dither: Option<u64>,
    /// Bits of a part of a sample: packed if they are real.
    pub(crate) bits: u32,
    /// Counter of the first sample, and samples of each input.
    pub(crate) first: u64,
    pub(crate) length: usize,
    /// Delay, rate, phase and phase rate of each input; none if there are none.
    pub(crate) delays: Vec<(f64, f64, f64, f64)>,
    /// Standard deviation of a channel's values.
    pub(crate) sigma: f64,
    /// Samples of a block of presence flags, of which a tenth is missing.
    pub(crate) block: Option<usize>,
    pub(crate) seed: u64,
}

impl Default for Case {
    fn default() -> Self {
        Self {
            channels: 64,
            complex: false,
            taps: 4,
            window: Window::Hann,
            oversampling: (1, 1),
            antennas: 1,
            pols: 2,
            spectra_per_frame: 4,
            range: 0..64,
            dither: None,
            bits: 10,
            first: 0,
            length: 64 * 2 * 14,
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
        let builder = if self.complex { Channelizer::complex(self.channels) } else { Channelizer::real(self.channels) };
        let (numerator, denominator) = self.oversampling;
        builder.taps(self.taps).window(self.window).oversampling(numerator, denominator).build().unwrap()
    }

    pub(crate) fn models(&self) -> Vec<DelayModel> {
        let none = vec![(0.0, 0.0, 0.0, 0.0); self.antennas * self.pols];
        let delays = if self.delays.is_empty() { none } else { self.delays.clone() };
        let segment = |(delay, rate, phase, phase_rate)| {
            fringes_delay_model::DelaySegment::new(self.first + 500, vec![delay, rate]).with_phase(phase, phase_rate)
        };
        delays.into_iter().map(|delay| DelayModel::from_segment(segment(delay)).unwrap()).collect()
    }

    /// Largest magnitude of a sample.
    pub(crate) fn half(&self) -> f64 {
        f64::from(1u32 << (self.bits - 1))
    }

    /// Gains around those that make the standard deviation of a channel's values `sigma`: samples have a third of the
    /// range.
    pub(crate) fn gains(&self) -> Array2<Complex<f32>> {
        // The power of a channel is the samples' variance; a part has half of it.
        let samples = self.half() / 3.0 * if self.complex { 2f64.sqrt() } else { 1.0 };
        let gain = self.sigma * 2f64.sqrt() / samples.max(0.5);
        Array2::from_shape_fn((self.range.len(), self.antennas * self.pols), |(channel, input)| {
            let gain = Complex::from_polar(gain * (1.0 + 0.1 * (channel % 3) as f64), 0.3 + input as f64);
            Complex::new(gain.re as f32, gain.im as f32)
        })
    }

    pub(crate) fn builder(&self) -> FEngineBuilder {
        let builder = FEngineBuilder::new(self.plan(), self.inputs())
            .spectra_per_frame(self.spectra_per_frame)
            .channels(self.range.clone())
            .gains(Gains::per_channel_input(self.gains()).unwrap())
            .delays(self.models());
        match self.dither {
            Some(seed) => builder.dither(seed),
            None => builder,
        }
    }

    pub(crate) fn engine<Q: FrameSample>(&self, backend: &Backend) -> FEngine<Q> {
        self.builder().build(backend).unwrap()
    }

    /// Samples of at most `bits` bits, parts of complex ones apart: normal, a few at the ends of the range.
    pub(crate) fn samples(&self) -> Array2<Complex<i16>> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let half = self.half();
        let mut part = || {
            let sum: f64 = (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
            (sum * half / 3.0).round().clamp(-half, half - 1.0) as i16
        };
        let shape = (self.antennas * self.pols, self.length);
        Array2::from_shape_simple_fn(shape, || Complex::new(part(), if self.complex { part() } else { 0 }))
    }

    pub(crate) fn presence(&self, columns: usize) -> Option<SamplePresence> {
        let block = self.block?;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(self.seed + 1);
        let shape = (self.antennas * self.pols, columns.div_ceil(block));
        SamplePresence::new(block, Array2::from_shape_simple_fn(shape, || rng.random::<f64>() > 0.1)).ok()
    }

    /// Samples `from .. to` as a chunk. Of those with presence flags, `from` is a multiple of the block.
    pub(crate) fn chunk(&self, samples: &Array2<Complex<i16>>, from: usize, to: usize) -> Box<dyn SampleChunk> {
        let part = samples.slice(s![.., from..to]);
        let first = self.first + from as u64;
        let presence = self.presence(samples.ncols()).map(|presence| {
            let block = presence.samples_per_block();
            let flags = presence.flags().slice(s![.., from / block..to.div_ceil(block)]).to_owned();
            SamplePresence::new(block, flags).unwrap()
        });
        if self.complex {
            let samples = Samples::new(part.to_owned(), self.inputs()).unwrap().with_first_sample(first);
            Box::new(match presence {
                Some(presence) => samples.with_presence(presence).unwrap(),
                None => samples,
            })
        } else {
            let real = part.mapv(|value| value.re);
            let samples = PackedSamples::pack(real.view(), self.bits, self.inputs()).unwrap().with_first_sample(first);
            Box::new(match presence {
                Some(presence) => samples.with_presence(presence).unwrap(),
                None => samples,
            })
        }
    }

    /// All frames in one call.
    pub(crate) fn one_call<Q: FrameSample>(&self, backend: &Backend) -> Channelized<Frames<Heaps<Q>>> {
        let samples = self.samples();
        f_engine(backend, &*self.chunk(&samples, 0, self.length), self.builder()).unwrap()
    }

    /// All frames of chunks of the given lengths, repeated, and of a flush, as one piece; and the sums of the
    /// statistics.
    pub(crate) fn streamed<Q: FrameSample>(
        &self,
        backend: &Backend,
        lengths: &[usize],
    ) -> Channelized<Frames<Heaps<Q>>> {
        self.streamed_by(self.engine(backend), lengths)
    }

    /// As [`Case::streamed`], by an F-engine that may hold so much.
    pub(crate) fn streamed_by<Q: FrameSample>(
        &self,
        mut engine: FEngine<Q>,
        lengths: &[usize],
    ) -> Channelized<Frames<Heaps<Q>>> {
        let samples = self.samples();
        let most = engine.memory(self.length, self.chunk(&samples, 0, 0).format()).workspace_bytes;
        let (mut frames, mut from) = (Vec::new(), 0);
        let mut statistics = vec![InputStatistics::default(); self.antennas * self.pols];
        for &length in lengths.iter().cycle() {
            let to = (from + length).min(self.length);
            let channelized = engine.push(&*self.chunk(&samples, from, to)).unwrap();
            frames.extend(channelized.frames);
            assert!(engine.held_bytes() <= most, "{} of {most}", engine.held_bytes());
            for (sum, one) in statistics.iter_mut().zip(channelized.statistics) {
                sum.samples += one.samples;
                sum.clipped += one.clipped;
                sum.sum_of_squares += one.sum_of_squares;
            }
            from = to;
            if from == self.length {
                break;
            }
        }
        frames.extend(engine.flush().unwrap());
        Channelized { frames: join(frames).into_iter().collect(), statistics }
    }

    /// Bounds of the error of the values of the spectra stamped `first_stamp` and later, a stride apart, of each input:
    /// `[time][input]`, for integers before they are rounded. With `A = sum |w x|` of a window, gains of at most `g`
    /// and `u = 2^-24`:
    ///
    /// - the filter rounds weights, products and sums, `(taps + 1) u g A`; each of `log2 step` stages of the transform
    ///   adds `7 u g A`, since a channel is a sum of disjoint partial ones; a rotation adds `(2 + 2 sqrt 5) u g A`;
    /// - a GPU adds [`more_units`], and rounds the sum with the dither within `2^-15`.
    pub(crate) fn bounds(&self, backend: &Backend, first_stamp: u64, times: usize) -> Array2<f64> {
        let (plan, models, samples) = (self.plan(), self.models(), self.samples());
        let gain = self.gains().iter().fold(0f64, |largest, gain| largest.max(f64::from(gain.norm())));
        let stages = 7.0 * (plan.step() as f64).log2();
        let units = self.taps as f64 + 1.0 + stages + 2.0 + 2.0 * 5f64.sqrt() + more_units(backend, self.taps);
        let dither = if backend.device().is_none() { 0.0 } else { 2f64.powi(-15) };
        Array2::from_shape_fn((times, self.antennas * self.pols), |(time, input)| {
            let stamp = first_stamp + (time * plan.stride()) as u64;
            let start = stamp as i64 - models[input].evaluate(stamp).coarse - self.first as i64;
            let sample =
                |place: usize| usize::try_from(start + place as i64).ok().and_then(|at| samples.get((input, at)));
            let size = |place: usize| sample(place).map_or(0.0, |value| f64::from(value.re).hypot(f64::from(value.im)));
            let a: f64 = plan.weights().iter().enumerate().map(|(place, weight)| weight.abs() * size(place)).sum();
            units * U * gain * a + dither
        })
    }

    /// What the reference makes of all samples.
    pub(crate) fn reference(&self, limit: Option<f64>) -> reference::Frames {
        let (plan, models) = (self.plan(), self.models());
        let samples = self.samples().mapv(|value| C64::new(value.re.into(), value.im.into()));
        let presence = self.presence(self.length);
        let present = Array2::from_shape_fn(samples.dim(), |(input, time)| {
            presence.as_ref().is_none_or(|presence| presence.is_present(input, time))
        });
        let gains = self.gains().mapv(|gain| C64::new(gain.re.into(), gain.im.into()));
        let engine = reference::FEngine {
            weights: plan.weights(),
            channels: self.channels,
            complex: self.complex,
            stride: plan.stride(),
            pols: self.pols,
            spectra_per_frame: self.spectra_per_frame,
            range: self.range.clone(),
            gains: gains.view(),
            dither: self.dither.filter(|_| limit.is_some()),
            limit,
        };
        let delay = |stamp: u64, input: usize| {
            let value = models[input].evaluate(stamp);
            (value.delay_samples(), value.phase_turns)
        };
        engine.frames(samples.view(), present.view(), self.first, &delay)
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
