//! The F-engine beside the cases of products on tensor cores: oversampled plans, more taps and other widths of samples
//! by two passes, and other numbers of channels by the general kernels, which have some of the others' cases too.
//!
//! Each figure is beside that of the nearest power of two of channels by the fast kernels, 10 bits to 8. For complex
//! samples a sample is both of its parts.

use fringes::channelizer::internals::shape::SPECTRA;
use fringes::channelizer::internals::{
    CutKernels, FrameFormat, Job, JobTable, OnePassKernels, Place, SpectraLaunch, TwoPassKernels,
};
use fringes::delay::DelayValue;
use fringes::{Channelizer, ChannelizerError, ChunkFormat, SampleFormat, f16};
use fringes_gpu::{Buffer, Device, Stream};
use fringes_reference::f_engine::FEngine;
use ndarray::Array2;
use num_complex::Complex64;

use crate::bench::ceilings::Ceilings;
use crate::bench::channelizer::{DELAYS, FRAME, INPUTS, SEED, fixed};
use crate::bench::jobs;
use crate::bench::random::Source;
use crate::bench::timing::{Bench, Measured};
use crate::end::End;
use crate::gpu_report::params;

/// Samples of an input.
const SAMPLES: usize = 1 << 26;
/// Taps where nothing else is said.
const TAPS: usize = 16;
/// Largest magnitude of an output's part.
const LIMIT: f64 = 127.0;
/// Standard deviation of an output's part, about.
const SIGMA: f64 = 20.0;
/// Distance from a rounding tie within which an output may be rounded either way.
const TIE: f64 = 5e-3;

/// Most channels whose values are compared: the reference takes the square of them.
const MOST_CHECKED: usize = 5000;

const TEN_BITS: ChunkFormat = ChunkFormat::Packed { bits: 10 };

pub(crate) fn run(bench: &mut Bench, ceilings: &Ceilings) -> Result<(), End> {
    if !bench.wants("channelize_general") || !bench.fits("samples and frames", 1 << 30)? {
        return Ok(());
    }
    let complex = ChunkFormat::Typed { format: SampleFormat::Int8, complex: true };
    let typed = |format| ChunkFormat::Typed { format, complex: false };
    let ten_bits = Data::new(bench, TEN_BITS)?;
    let mut fast = Vec::new();
    for channels in [256, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536] {
        let rate = ten_bits.run(bench, ceilings, Case::new(channels), None)?;
        fast.push((channels, rate));
    }
    let general = |channels| Case { of: Of::General, ..Case::new(channels) };
    let cut = |channels| Case { of: Of::Cut, ..Case::new(channels) };
    for channels in [64, 128, 675, 1000, 1024, 1215, 1250, 1536, 3072] {
        ten_bits.run(bench, ceilings, general(channels), Some(&fast))?;
    }
    for channels in [3000, 5000, 10_000, 20_000, 30_000, 50_000] {
        ten_bits.run(bench, ceilings, cut(channels), Some(&fast))?;
    }
    for channels in [64, 128] {
        ten_bits.run(bench, ceilings, Case::new(channels), Some(&fast))?;
    }
    let oversampled = |oversampling, case: Case| Case { oversampling, ..case };
    for channels in [240, 480, 1000] {
        ten_bits.run(bench, ceilings, oversampled((4, 3), general(channels)), Some(&fast))?;
    }
    for channels in [240, 480, 1000, 3000, 10_000, 30_000] {
        ten_bits.run(bench, ceilings, oversampled((4, 3), cut(channels)), Some(&fast))?;
    }
    for channels in [256, 512, 2048, 8192, 32_768] {
        ten_bits.run(bench, ceilings, oversampled((4, 3), Case::new(channels)), Some(&fast))?;
    }
    for (channels, ratio) in
        [(900, (2, 1)), (900, (3, 2)), (900, (5, 4)), (900, (6, 5)), (720, (8, 7)), (720, (32, 27))]
    {
        ten_bits.run(bench, ceilings, oversampled(ratio, general(channels)), Some(&fast))?;
        ten_bits.run(bench, ceilings, oversampled(ratio, cut(channels)), Some(&fast))?;
    }
    for channels in [2000, 10_000] {
        ten_bits.run(bench, ceilings, oversampled((32, 27), cut(channels)), Some(&fast))?;
    }
    for ratio in [(2, 1), (8, 7)] {
        ten_bits.run(bench, ceilings, oversampled(ratio, Case::new(1024)), Some(&fast))?;
    }
    for of in [Of::General, Of::TwoPasses] {
        for (channels, oversampling) in [(1024, (32, 27)), (1024, (4, 3)), (4096, (32, 27)), (16384, (4, 3))] {
            // Of long plans two passes alone, so that these take no longer.
            if channels == 1024 || of == Of::TwoPasses {
                let case = Case { oversampling, of, ..Case::new(channels) };
                ten_bits.run(bench, ceilings, case, Some(&fast))?;
            }
        }
        for taps in [48, 64] {
            ten_bits.run(bench, ceilings, Case { taps, of, ..Case::new(1024) }, Some(&fast))?;
        }
        let case = Case { taps: 4, oversampling: (32, 27), of, ..Case::new(1024) };
        ten_bits.run(bench, ceilings, case, Some(&fast))?;
    }
    drop(ten_bits);
    let packed = |bits| ChunkFormat::Packed { bits };
    for format in [packed(4), packed(14)] {
        let data = Data::new(bench, format)?;
        for of in [Of::General, Of::TwoPasses] {
            data.run(bench, ceilings, Case { of, ..Case::new(1024) }, Some(&fast))?;
        }
    }
    for format in [complex, typed(SampleFormat::Int16), typed(SampleFormat::Float16)] {
        let data = Data::new(bench, format)?;
        data.run(bench, ceilings, general(1024), Some(&fast))?;
        let case = Case { oversampling: (32, 27), ..Case::new(1024) };
        data.run(bench, ceilings, case, Some(&fast))?;
    }
    Ok(())
}

/// What is timed.
#[derive(Clone, Copy)]
struct Case {
    channels: usize,
    taps: usize,
    oversampling: (usize, usize),
    of: Of,
}

/// Which kernels run.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    /// Those of two passes.
    TwoPasses,
    /// The general ones.
    General,
    /// The general ones in two launches.
    Cut,
}

impl Case {
    /// The case of two passes.
    fn new(channels: usize) -> Self {
        Self { channels, taps: TAPS, oversampling: (1, 1), of: Of::TwoPasses }
    }

    fn name(&self, format: ChunkFormat) -> String {
        let Self { taps, oversampling: (over, under), .. } = self;
        let more = if over == under { String::new() } else { format!(", {over}/{under}") };
        let kernels = match self.of {
            Of::TwoPasses => "two passes",
            Of::General => "general",
            Of::Cut => "general, two launches",
        };
        format!("{format} to 8, dither, {taps} taps{more}, {kernels}")
    }
}

/// Samples of one format, on the device and on the host.
struct Data {
    format: ChunkFormat,
    samples: Buffer<u8>,
    host: Vec<u8>,
}

/// The kernels of a case.
enum Kernels {
    Fast(Box<TwoPassKernels>),
    General(Box<OnePassKernels>),
    Cut(Box<CutKernels>),
}

impl Kernels {
    fn load(
        device: &Device,
        plan: &Channelizer,
        format: ChunkFormat,
        of: Of,
        gain: impl Fn(usize, usize) -> Complex64,
    ) -> Result<Self, ChannelizerError> {
        Ok(match of {
            Of::TwoPasses => {
                let kernels = TwoPassKernels::load(device, plan, format, FrameFormat::Int8, INPUTS, gain)?;
                Self::Fast(Box::new(kernels))
            }
            Of::General => {
                let kernels = OnePassKernels::load(device, plan, format, SampleFormat::Int8, INPUTS, gain)?;
                Self::General(Box::new(kernels))
            }
            Of::Cut => {
                let kernels = CutKernels::load(device, plan, format, SampleFormat::Int8, INPUTS, gain)?;
                Self::Cut(Box::new(kernels))
            }
        })
    }

    /// Most spectra of a job that begins with a multiple of 8.
    fn spectra_of_job(&self) -> usize {
        match self {
            Self::Fast(_) => SPECTRA,
            Self::General(kernels) => kernels.spectra_of_job(),
            Self::Cut(kernels) => kernels.spectra_of_job(),
        }
    }

    /// Makes a job of a timeline one of the kernels.
    fn refer(&self, job: &mut Job) {
        if let Self::Fast(kernels) = self {
            kernels.refer(job);
        }
    }

    fn launch(
        &self,
        stream: &Stream,
        samples: &Buffer<u8>,
        jobs: JobTable<'_>,
        place: Place,
        out: &mut Buffer<u8>,
        saturated: &mut Buffer<u32>,
    ) -> Result<(), ChannelizerError> {
        let out = (out.view_mut().cast::<u16>()?, saturated.view_mut());
        let launch = SpectraLaunch::of_chunk(samples.view().cast::<u32>()?, (jobs, place), Some(SEED), out)?;
        match self {
            Self::Fast(kernels) => kernels.launch(stream, launch),
            Self::General(kernels) => kernels.launch(stream, launch),
            Self::Cut(kernels) => kernels.launch(stream, launch),
        }
    }
}

impl Data {
    fn new(bench: &Bench, format: ChunkFormat) -> Result<Self, End> {
        let stream = bench.stream.clone();
        let bytes = INPUTS * (SAMPLES * format.sample_bits() as usize / 8 + 64);
        let mut samples = Source::bytes(&stream)?.buffer(&bench.device, &stream, bytes)?;
        let mut host: Vec<u8> = samples.to_vec(&stream)?;
        if matches!(format, ChunkFormat::Typed { format: SampleFormat::Float16, .. }) {
            // Magnitudes from 1/2 to 1: neither infinities nor NaN.
            host.iter_mut().skip(1).step_by(2).for_each(|byte| *byte = *byte & 0x83 | 0x38);
            samples.copy_from_slice(&stream, &host)?;
        }
        Ok(Self { format, samples, host })
    }

    /// Bytes of an input.
    fn row(&self) -> usize {
        self.host.len() / INPUTS
    }

    /// The samples of an input.
    fn decoded(&self, input: usize, first: usize, count: usize) -> Vec<Complex64> {
        let row = &self.host[input * self.row()..][..self.row()];
        let bits = self.format.sample_bits() as usize;
        let sample = |index: usize| {
            let at = &row[index * bits / 8..];
            match self.format {
                ChunkFormat::Packed { bits: width } => {
                    let window = u32::from_be_bytes([at[0], at[1], at[2], 0]) << (index * bits % 8);
                    f64::from(window as i32 >> (32 - width)).into()
                }
                ChunkFormat::Typed { format: SampleFormat::Int16, .. } => {
                    f64::from(i16::from_le_bytes([at[0], at[1]])).into()
                }
                ChunkFormat::Typed { format: SampleFormat::Float16, .. } => {
                    f16::from_le_bytes([at[0], at[1]]).to_f64().into()
                }
                ChunkFormat::Typed { .. } => Complex64::new(f64::from(at[0] as i8), f64::from(at[1] as i8)),
            }
        };
        (first..first + count).map(sample).collect()
    }

    /// The gain that brings the samples to the standard deviation of outputs, and turns each channel otherwise.
    fn gain(&self, input: usize, channel: usize) -> Complex64 {
        // Integers fill their range evenly; a spectrum's parts have half of its power, which a complex sample's parts
        // have together.
        let of_sample = match self.format {
            ChunkFormat::Typed { format: SampleFormat::Float16, .. } => 0.76,
            format => f64::from(1u32 << (format.sample_bits() / (1 + u32::from(format.is_complex())))) / 12f64.sqrt(),
        };
        let of_part = if self.format.is_complex() { of_sample } else { of_sample / 2f64.sqrt() };
        Complex64::from_polar(SIGMA / of_part * (1.0 + 0.1 * (channel % 3) as f64), (channel % 11 + input) as f64)
    }

    /// Times a case and gives its rate; with `fast`, rates of numbers of channels, says what part of the nearest one's
    /// it is.
    fn run(
        &self,
        bench: &mut Bench,
        ceilings: &Ceilings,
        case: Case,
        fast: Option<&[(usize, f64)]>,
    ) -> Result<f64, End> {
        let (stream, channels) = (bench.stream.clone(), case.channels);
        let complex = self.format.is_complex();
        let plan = if complex { Channelizer::complex(channels) } else { Channelizer::real(channels) };
        let plan = plan.taps(case.taps).oversampling(case.oversampling.0, case.oversampling.1).build();
        let plan = plan.map_err(End::failed)?;
        let gain = |input, channel| self.gain(input, channel);
        let kernels = Kernels::load(&bench.device, &plan, self.format, case.of, gain).map_err(End::failed)?;
        let stride = plan.stride();
        let delays = jobs::delays()?;
        let spectra = ((SAMPLES - 64 - plan.window_samples()) / stride + 1) / FRAME * FRAME;
        let mut all = self.jobs(&plan, &delays, kernels.spectra_of_job(), spectra);
        all.iter_mut().for_each(|job| kernels.refer(job));
        let table = jobs::table(&stream, &all)?;
        let place = jobs::frames(channels);
        let values = channels * spectra * INPUTS;
        let mut out = Buffer::<u8>::zeroed(&stream, 2 * values)?;
        let mut saturated = Buffer::<u32>::zeroed(&stream, INPUTS)?;
        let mut launch = |out: &mut Buffer<u8>| {
            let jobs = JobTable { words: table.view(), count: all.len(), after: None };
            kernels.launch(&stream, &self.samples, jobs, place, out, &mut saturated)
        };
        launch(&mut out).map_err(End::failed)?;
        let mut check = if channels > MOST_CHECKED {
            "not compared in this run: validate's f_engine_strided compares such frames".into()
        } else {
            self.check(&stream, &plan, case, &out, spectra)?
        };
        let timing = bench.time(|_| launch(&mut out)).map_err(End::failed)?;
        let work = (spectra * stride * INPUTS) as f64;
        let rate = work / timing.median_ms / 1e6;
        let apart = |other: usize| (other as f64 / channels as f64).log2().abs();
        let nearest = fast.into_iter().flatten().min_by(|a, b| apart(a.0).total_cmp(&apart(b.0)));
        if let Some((other, other_rate)) = nearest {
            check += &format!("; {:.2} of {other} channels by products", rate / other_rate);
        }
        let moved = work * f64::from(self.format.sample_bits()) / 8.0 + (2 * values) as f64;
        let rate = bench.add(Measured {
            kernel: "channelize",
            variant: case.name(self.format),
            params: params([("channels", channels), ("spectra", spectra), ("inputs", INPUTS)]),
            timing,
            work,
            unit: "Gsamples/s",
            bound: Some(ceilings.bytes(moved)),
            check: check.clone(),
        });
        println!("{:<16} {check}", "");
        Ok(rate)
    }

    /// The jobs of so many spectra of each input.
    fn jobs(&self, plan: &Channelizer, delays: &[DelayValue], most: usize, spectra: usize) -> Vec<Job> {
        let (step, stride) = (plan.step(), plan.stride());
        let mut jobs = Vec::new();
        for first in (0..spectra).step_by(most) {
            for (input, delay) in delays.iter().enumerate() {
                let start = first * stride + delay.coarse.unsigned_abs() as usize;
                jobs.push(Job {
                    first_bit: (8 * input * self.row() + start * self.format.sample_bits() as usize) as u64,
                    place: input as u64,
                    phase: fixed(delay.channel_phase_turns(0, plan.channels(), plan.is_complex())),
                    slope: fixed(-delay.fine / step as f64),
                    spectrum: first as u64,
                    spectra: most.min(spectra - first) as u32,
                    time: first as u32,
                    input: input as u32,
                    count: input as u32,
                    flags: 0,
                    ..Job::default()
                });
            }
        }
        jobs
    }

    /// Compares one spectrum of each input with the reference.
    fn check(
        &self,
        stream: &Stream,
        plan: &Channelizer,
        case: Case,
        out: &Buffer<u8>,
        spectra: usize,
    ) -> Result<String, End> {
        let channels = plan.channels();
        let bytes: Vec<u8> = out.to_vec(stream)?;
        let gains = Array2::from_shape_fn((channels, INPUTS), |(channel, input)| self.gain(input, channel));
        let reference = FEngine {
            weights: plan.weights(),
            channels,
            complex: plan.is_complex(),
            stride: plan.stride(),
            pols: INPUTS,
            spectra_per_frame: FRAME,
            range: 0..channels,
            gains: gains.view(),
            dither: Some(SEED),
            limit: Some(LIMIT),
        };
        let mut ties = 0;
        for (input, &(delay, phase)) in DELAYS.iter().enumerate() {
            let spectrum = if input == 0 { spectra - 1 } else { spectra / 2 + 3 };
            let stamp = spectrum * plan.stride();
            let x = self.decoded(input, stamp + (-delay).round() as usize, plan.window_samples());
            let expected = reference.spectrum(&x, 0, stamp as u64, (delay, phase), input);
            for (channel, value) in expected.into_iter().enumerate() {
                let at = 2 * (((spectrum / FRAME * channels + channel) * FRAME + spectrum % FRAME) * INPUTS + input);
                for (part, byte) in [value.re, value.im].into_iter().zip([bytes[at], bytes[at + 1]]) {
                    let (part, actual) = (part.clamp(-LIMIT, LIMIT), f64::from(byte as i8));
                    if (part - part.floor() - 0.5).abs() < TIE {
                        ties += 1;
                    } else if actual != part.round_ties_even() {
                        let name = case.name(self.format);
                        return Err(End::failed(format!(
                            "{channels} channels, {name}: spectrum {spectrum}, channel {channel}, input {input}: {actual} for {part}"
                        )));
                    }
                }
            }
        }
        Ok(format!("2 spectra against the reference: equal but for {ties} within {TIE} of a tie"))
    }
}
