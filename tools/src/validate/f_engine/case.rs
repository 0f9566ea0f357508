//! A case: a plan, a format of samples, a stream of chunks.

use std::error::Error;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use fringes::{
    Backend, Channelized, Channelizer, ChunkFormat, Complex, DelayModel, DelaySegment, FEngine, FEngineBuilder,
    FrameSample, Frames, Gains, Heaps, InputStatistics, Inputs, PackedSamples, Precision, SampleChunk, SampleFormat,
    SamplePresence, Samples, Window, f16,
};
use ndarray::{Array2, s};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Whatever is wrong.
pub(crate) type Fault = Box<dyn Error>;

/// What an F-engine computes, and of which samples.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) channels: usize,
    pub(crate) format: ChunkFormat,
    pub(crate) taps: usize,
    pub(crate) window: Window,
    pub(crate) oversampling: (usize, usize),
    pub(crate) inputs: (usize, usize),
    pub(crate) spectra_per_frame: usize,
    pub(crate) range: Range<usize>,
    pub(crate) dither: Option<u64>,
    pub(crate) precision: Precision,
    /// Spectra that the stream has about.
    pub(crate) spectra: usize,
    /// Delay, rate, phase and phase rate of each input.
    pub(crate) delays: Vec<[f64; 4]>,
    /// Standard deviation of a value's parts.
    pub(crate) sigma: f64,
    /// Samples of a block of presence flags, of which a twentieth is missing.
    pub(crate) block: Option<usize>,
    /// Samples that are lost after the first half.
    pub(crate) gap: usize,
    pub(crate) first: u64,
}

/// Packed samples of so many bits.
pub(crate) fn packed(bits: u32) -> ChunkFormat {
    ChunkFormat::Packed { bits }
}

/// Typed samples.
pub(crate) fn typed(format: SampleFormat, complex: bool) -> ChunkFormat {
    ChunkFormat::Typed { format, complex }
}

impl Case {
    /// All channels, critically sampled, two polarisations, frames of 4 spectra, without delays, gaps and dither, in
    /// single precision.
    pub(crate) fn new(channels: usize, format: ChunkFormat, taps: usize) -> Self {
        Self {
            channels,
            format,
            taps,
            window: Window::Hann,
            oversampling: (1, 1),
            inputs: (1, 2),
            spectra_per_frame: 4,
            range: 0..channels,
            dither: None,
            precision: Precision::Single,
            spectra: 10,
            delays: Vec::new(),
            sigma: 20.0,
            block: None,
            gap: 0,
            first: 1_000_003,
        }
    }

    /// The plan. The last one is kept, because all runs of a case ask for it, and its weights take long.
    pub(crate) fn plan(&self) -> Result<Channelizer, Fault> {
        static LAST: Mutex<Option<(String, Channelizer)>> = Mutex::new(None);
        let complex = self.format.is_complex();
        let key = format!("{} {complex} {} {:?} {:?}", self.channels, self.taps, self.window, self.oversampling);
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, plan)) = last.as_ref().filter(|(known, _)| *known == key) {
            return Ok(plan.clone());
        }
        let builder = if complex { Channelizer::complex(self.channels) } else { Channelizer::real(self.channels) };
        let (numerator, denominator) = self.oversampling;
        let builder = builder.taps(self.taps).window(self.window).oversampling(numerator, denominator);
        let (_, plan) = last.insert((key, builder.build()?));
        Ok(plan.clone())
    }

    pub(crate) fn inputs(&self) -> Result<Inputs, Fault> {
        Ok(Inputs::new(self.inputs.0, self.inputs.1)?)
    }

    fn number_of_inputs(&self) -> usize {
        self.inputs.0 * self.inputs.1
    }

    /// Largest magnitude of a part of a sample.
    pub(crate) fn half(&self) -> f64 {
        match self.format {
            ChunkFormat::Packed { bits } => f64::from(1u32 << (bits - 1)),
            ChunkFormat::Typed { format: SampleFormat::Int8, .. } => 128.0,
            ChunkFormat::Typed { format: SampleFormat::Int16, .. } => 32768.0,
            ChunkFormat::Typed { .. } => 1.0,
        }
    }

    /// Parts of a sample.
    pub(crate) fn parts(&self) -> f64 {
        if self.format.is_complex() { 2.0 } else { 1.0 }
    }

    /// Gains `[channel][input]` around those that make the standard deviation `sigma`: samples have a third of the
    /// range.
    pub(crate) fn gains(&self) -> Array2<Complex<f32>> {
        let samples = (self.half() / 3.0).max(0.5_f64.min(self.half())) * self.parts().sqrt();
        let gain = self.sigma * 2f64.sqrt() / samples;
        Array2::from_shape_fn((self.range.len(), self.number_of_inputs()), |(channel, input)| {
            let gain = gain * (1.0 + 0.1 * (channel % 3) as f64);
            let gain = Complex::from_polar(gain, 0.3 * (channel % 21) as f64 + input as f64);
            Complex::new(gain.re as f32, gain.im as f32)
        })
    }

    pub(crate) fn models(&self) -> Result<Vec<DelayModel>, Fault> {
        let mut models = Vec::new();
        for input in 0..self.number_of_inputs() {
            let [delay, rate, phase, phase_rate] = self.delays.get(input).copied().unwrap_or_default();
            let segment = DelaySegment::new(self.first + 500, vec![delay, rate]).with_phase(phase, phase_rate);
            models.push(DelayModel::from_segment(segment)?);
        }
        Ok(models)
    }

    pub(crate) fn builder(&self) -> Result<FEngineBuilder, Fault> {
        let builder = FEngineBuilder::new(self.plan()?, self.inputs()?)
            .spectra_per_frame(self.spectra_per_frame)
            .channels(self.range.clone())
            .gains(Gains::per_channel_input(self.gains())?)
            .precision(self.precision)
            .delays(self.models()?);
        Ok(match self.dither {
            Some(seed) => builder.dither(seed),
            None => builder,
        })
    }

    pub(crate) fn engine<Q: FrameSample>(&self, backend: &Backend) -> Result<FEngine<Q>, Fault> {
        Ok(self.builder()?.build(backend)?)
    }

    /// Samples of each input: an odd number beyond the last window.
    pub(crate) fn length(&self) -> Result<usize, Fault> {
        let plan = self.plan()?;
        let frame = self.spectra_per_frame * plan.stride();
        let delay = self.delays.iter().map(|delay| delay[0].abs() as usize).max().unwrap_or(0);
        Ok(frame
            + delay
            + plan.window_samples()
            + (self.spectra - 1) * plan.stride()
            + plan.stride() / 2
            + self.gap
            + 1)
    }

    /// Samples: integers as they are, floats as parts of 1 with all their digits; normal, a few at the ends of the
    /// range.
    pub(crate) fn samples(&self) -> Result<Array2<Complex<f32>>, Fault> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.channels as u64 * 64 + self.taps as u64);
        let (half, complex) = (self.half(), self.format.is_complex());
        let integers = self.format.codes().is_some();
        let single = matches!(self.format, ChunkFormat::Typed { format: SampleFormat::Float32, .. });
        let mut part = || {
            let sum: f64 = (0..6).map(|_| random.random::<f64>()).sum::<f64>() - 3.0;
            let value = sum * half / 3.0 * 2f64.sqrt();
            if integers {
                value.round().clamp(-half, half - 1.0) as f32
            } else if single {
                value as f32
            } else {
                f16::from_f64(value).to_f32()
            }
        };
        let shape = (self.number_of_inputs(), self.length()?);
        Ok(Array2::from_shape_simple_fn(shape, || Complex::new(part(), if complex { part() } else { 0.0 })))
    }

    fn presence(&self, length: usize) -> Result<Option<SamplePresence>, Fault> {
        let Some(block) = self.block else { return Ok(None) };
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let shape = (self.number_of_inputs(), length.div_ceil(block));
        let flags = Array2::from_shape_simple_fn(shape, || random.random::<f64>() > 0.05);
        Ok(Some(SamplePresence::new(block, flags)?))
    }

    /// Samples `from .. to` as a chunk. Of those with presence flags, `from` is a multiple of the block.
    pub(crate) fn chunk(
        &self,
        samples: &Array2<Complex<f32>>,
        from: usize,
        to: usize,
    ) -> Result<Box<dyn SampleChunk>, Fault> {
        let (part, first) = (samples.slice(s![.., from..to]), self.first + from as u64);
        let presence = match self.presence(samples.ncols())? {
            None => None,
            Some(presence) => {
                let block = presence.samples_per_block();
                let flags = presence.flags().slice(s![.., from / block..to.div_ceil(block)]).to_owned();
                Some(SamplePresence::new(block, flags)?)
            }
        };
        macro_rules! typed {
            ($convert:expr) => {{
                let samples = Samples::new(part.mapv($convert), self.inputs()?)?.with_first_sample(first);
                Box::new(match presence {
                    Some(presence) => samples.with_presence(presence)?,
                    None => samples,
                })
            }};
        }
        let pair = |x: Complex<f32>, f: fn(f32) -> f16| Complex::new(f(x.re), f(x.im));
        Ok(match self.format {
            ChunkFormat::Packed { bits } => {
                let codes = part.mapv(|x| x.re as i16);
                let samples = PackedSamples::pack(codes.view(), bits, self.inputs()?)?.with_first_sample(first);
                Box::new(match presence {
                    Some(presence) => samples.with_presence(presence)?,
                    None => samples,
                })
            }
            ChunkFormat::Typed { format, complex } => match (format, complex) {
                (SampleFormat::Int4 | SampleFormat::Int8, false) => typed!(|x: Complex<f32>| x.re as i8),
                (SampleFormat::Int4 | SampleFormat::Int8, true) => {
                    typed!(|x: Complex<f32>| Complex::new(x.re as i8, x.im as i8))
                }
                (SampleFormat::Int16, false) => typed!(|x: Complex<f32>| x.re as i16),
                (SampleFormat::Int16, true) => typed!(|x: Complex<f32>| Complex::new(x.re as i16, x.im as i16)),
                (SampleFormat::Float16, false) => typed!(|x: Complex<f32>| f16::from_f32(x.re)),
                (SampleFormat::Float16, true) => typed!(|x| pair(x, f16::from_f32)),
                (SampleFormat::Float32, false) => typed!(|x: Complex<f32>| x.re),
                (SampleFormat::Float32, true) => typed!(|x| x),
            },
        })
    }

    /// Ends of chunks of the given lengths, repeated, with the gap after the one that passes the middle: from, to.
    pub(crate) fn cuts(&self, lengths: &[usize]) -> Result<Vec<(usize, usize)>, Fault> {
        let length = self.length()?;
        let (mut cuts, mut from, mut gap) = (Vec::new(), 0, self.gap);
        for &chunk in lengths.iter().cycle() {
            let chunk = self.block.map_or(chunk, |block| chunk.next_multiple_of(block));
            let to = (from + chunk).min(length);
            cuts.push((from, to));
            from = to;
            if from >= length / 2 {
                let lost = self.block.map_or(gap, |block| gap.next_multiple_of(block));
                (from, gap) = (from + lost, 0);
            }
            if from >= length {
                break;
            }
        }
        Ok(cuts)
    }

    /// All pieces of frames of chunks, and of a flush, and the sums of the statistics.
    pub(crate) fn streamed<Q: FrameSample>(
        &self,
        backend: &Backend,
        samples: &Array2<Complex<f32>>,
        cuts: &[(usize, usize)],
    ) -> Result<Channelized<Frames<Heaps<Q>>>, Fault> {
        let mut engine = self.engine::<Q>(backend)?;
        let mut frames: Vec<Frames<Heaps<Q>>> = Vec::new();
        let mut statistics = vec![InputStatistics::default(); self.number_of_inputs()];
        for &(from, to) in cuts {
            let channelized = engine.push(&*self.chunk(samples, from, to)?)?;
            frames.extend(channelized.frames);
            for (sum, one) in statistics.iter_mut().zip(channelized.statistics) {
                sum.samples += one.samples;
                sum.clipped += one.clipped;
                sum.sum_of_squares += one.sum_of_squares;
            }
        }
        frames.extend(engine.flush()?);
        Ok(Channelized { frames, statistics })
    }
}
