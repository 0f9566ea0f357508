//! F-engine and instrument through the public streams, on chunks in device memory: what a user calls, beside the
//! kernels alone.
//!
//! ```text
//! DeviceSamples ── FEngine::push ──> DeviceFrames ── Integrator::push ──> dumps on the device
//! ```
//!
//! Everything is queued on one stream and nothing waits. Chunks follow each other without a gap, so that each push has
//! a seam: samples held of the chunk before, and a frame that the chunk before began.

use fringes::channelizer::internals::LaunchBytes;
use fringes::correlator::{DumpSchedule, Integrator};
use fringes::delay::{DelayModel, DelaySegment};
use fringes::types::ChunkFormat;
use fringes::{
    Backend, Channelizer, Complex, Complex4, DeviceArray, DeviceSamples, FEngine, FEngineBuilder, FrameLayout,
    FrameSample, Gains, Inputs, Precision, SampleFormat, f16,
};
use fringes_gpu::{Buffer, Stream};
use ndarray::Array2;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::bench::ceilings::Ceilings;
use crate::bench::instrument::{self, RATE_HZ};
use crate::bench::random::Source;
use crate::bench::timing::{Bench, Measured};
use crate::end::End;
use crate::gpu_report::params;

/// Samples of an input of a chunk of the F-engine alone, as its kernels alone have.
const SAMPLES: usize = 1 << 26;
/// Bits of a sample.
const BITS: u32 = 10;
const TAPS: usize = 16;
/// Spectra of a frame.
const FRAME: usize = 256;
/// Key of the dither.
const SEED: u64 = 20261123;
/// Channels of the F-engine alone.
const CHANNELS: [usize; 9] = [256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536];
/// Channels of the F-engine in half precision.
const HALF: [usize; 9] = [256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536];
const TEN_BITS: ChunkFormat = ChunkFormat::Packed { bits: BITS };

/// Other real samples that have fast kernels; f32 not in half precision.
fn more(precision: Precision) -> Vec<ChunkFormat> {
    let typed = |format| ChunkFormat::Typed { format, complex: false };
    let packed = |bits| ChunkFormat::Packed { bits };
    let mut all = vec![packed(12), packed(16), typed(SampleFormat::Int16), typed(SampleFormat::Float16)];
    if precision == Precision::Single {
        all.push(typed(SampleFormat::Float32));
    }
    all
}

/// Antennas of the instrument, and what its F-engine computes in.
const INSTRUMENTS: [(Precision, usize); 6] = [
    (Precision::Single, 16),
    (Precision::Single, 32),
    (Precision::Single, 47),
    (Precision::Single, 64),
    (Precision::Half, 47),
    (Precision::Half, 64),
];
/// Chunks of a dump of the instrument.
const CHUNKS_OF_DUMP: u64 = 8;

pub(crate) fn run(bench: &mut Bench, ceilings: &Ceilings) -> Result<(), End> {
    if bench.wants("f_engine_stream") && bench.fits("chunks of samples", 2 << 30)? {
        for channels in CHANNELS {
            for rows in [false, true] {
                f_engine(bench, ceilings, Case { rows, ..Case::new("f_engine_stream", channels) })?;
            }
            if channels == 1024 {
                for samples in more(Precision::Single) {
                    f_engine(bench, ceilings, Case { samples, ..Case::new("f_engine_stream", channels) })?;
                }
            }
        }
    }
    if bench.wants("f_engine_half") && bench.fits("chunks of samples", 4 << 30)? {
        for channels in HALF {
            let case = Case { precision: Precision::Half, ..Case::new("f_engine_half", channels) };
            f_engine(bench, ceilings, case)?;
            if [1024, 4096, 32768].contains(&channels) {
                f_engine(bench, ceilings, Case { rows: true, ..case })?;
                f_engine(bench, ceilings, Case { set_gains: true, ..case })?;
                f_engine(bench, ceilings, Case { statistics: true, ..case })?;
                f_engine(bench, ceilings, Case { statistics: true, noise: true, ..case })?;
            }
            if channels == 1024 {
                f_engine(bench, ceilings, Case { dither: false, ..case })?;
                f_engine(bench, ceilings, Case { samples: ChunkFormat::Packed { bits: 8 }, ..case })?;
                for samples in more(Precision::Half) {
                    f_engine(bench, ceilings, Case { samples, ..case })?;
                }
                for bits in [12, 16] {
                    let samples = ChunkFormat::Packed { bits };
                    f_engine(bench, ceilings, Case { samples, statistics: true, ..case })?;
                }
                f_engine(bench, ceilings, Case { taps: 4, ..case })?;
                f_engine(bench, ceilings, Case { taps: 32, ..case })?;
                f_engine(bench, ceilings, Case { format: SampleFormat::Float16, dither: false, ..case })?;
                f_engine(bench, ceilings, Case { format: SampleFormat::Float32, dither: false, ..case })?;
                f_engine(bench, ceilings, Case { format: SampleFormat::Int4, ..case })?;
            }
        }
    }
    if bench.wants("f_engine_strided") && bench.fits("chunks of samples", 2 << 30)? {
        for case in strided() {
            f_engine(bench, ceilings, case)?;
        }
    }
    if bench.wants("instrument_stream") {
        for (precision, antennas) in INSTRUMENTS {
            let inputs = 2 * antennas;
            let (samples, values) = (2 * instrument::CHANNELS * instrument::SPECTRA, instrument::CHANNELS);
            // Samples, frames of some chunks under way, sums and a dump.
            let sums = instrument::CHANNELS * inputs * (inputs + 1) / 2 * 16;
            let bytes = inputs * samples * BITS as usize / 8 + 6 * values * instrument::SPECTRA * inputs * 2 + 3 * sums;
            if bench.fits(&format!("instrument by streams, {antennas} antennas"), bytes)? {
                instrument_of(bench, precision, antennas)?;
            }
        }
    }
    Ok(())
}

/// Oversampled plans, long filters, other widths of samples, other numbers of channels.
fn strided() -> Vec<Case> {
    let case = |channels| Case::new("f_engine_strided", channels);
    let mut all = Vec::new();
    let few = [64, 128, 192, 256, 675, 768, 1000, 1024, 1215, 1250, 1280, 1500, 1536, 3000, 3072, 4096, 5120, 6144];
    let many = [8192, 10_000, 12_288, 16_384, 20_000, 32_768, 50_000, 65_536];
    for channels in few.into_iter().chain(many) {
        all.push(case(channels));
    }
    for channels in [256, 1024, 4096, 16384, 65536] {
        all.extend([(32, 27), (4, 3)].map(|oversampling| Case { oversampling, ..case(channels) }));
    }
    for channels in [1000, 3000, 10_000] {
        all.push(Case { oversampling: (4, 3), ..case(channels) });
    }
    for (channels, taps) in [(1024, 48), (1024, 64), (4096, 64), (8192, 64), (16384, 64), (32768, 64), (65536, 64)] {
        all.push(Case { taps, ..case(channels) });
    }
    all.push(Case { oversampling: (32, 27), taps: 4, ..case(1024) });
    for bits in [4, 11, 14] {
        all.push(Case { samples: ChunkFormat::Packed { bits }, ..case(1024) });
    }
    let typed = |format| ChunkFormat::Typed { format, complex: false };
    for format in [SampleFormat::Int16, SampleFormat::Float16, SampleFormat::Float32] {
        all.push(Case { oversampling: (32, 27), samples: typed(format), ..case(1024) });
    }
    for samples in [ChunkFormat::Packed { bits: 12 }, typed(SampleFormat::Int16), typed(SampleFormat::Float16)] {
        all.push(Case { samples, ..case(1000) });
    }
    all
}

/// An F-engine alone that is timed.
#[derive(Debug, Clone, Copy)]
struct Case {
    kernel: &'static str,
    channels: usize,
    taps: usize,
    oversampling: (usize, usize),
    samples: ChunkFormat,
    /// Of frames.
    format: SampleFormat,
    dither: bool,
    precision: Precision,
    /// Whether values are in the correlator's rows, and not in heaps.
    rows: bool,
    /// Whether every push has other gains of an input than the one before.
    set_gains: bool,
    /// Whether there are statistics of samples.
    statistics: bool,
    /// Whether samples are noise of 10 bits, none of it near the ends, and not spread over all numbers.
    noise: bool,
}

impl Case {
    /// 10 bits to 8 with dither, 16 taps, heaps, in single precision.
    fn new(kernel: &'static str, channels: usize) -> Self {
        let (format, precision) = (SampleFormat::Int8, Precision::Single);
        Self {
            kernel,
            channels,
            taps: TAPS,
            oversampling: (1, 1),
            samples: TEN_BITS,
            format,
            dither: true,
            precision,
            rows: false,
            set_gains: false,
            statistics: false,
            noise: false,
        }
    }

    /// What it computes, in words.
    fn variant(&self) -> String {
        let to = match self.format {
            SampleFormat::Int4 => "4",
            SampleFormat::Int8 => "8",
            SampleFormat::Int16 => "16",
            SampleFormat::Float16 => "f16",
            SampleFormat::Float32 => "f32",
        };
        let layout = if self.rows { "rows" } else { "heaps" };
        let dither = if self.dither { ", dither" } else { "" };
        let set = if self.set_gains { ", gains of an input set before" } else { "" };
        let counted = if self.statistics { ", statistics" } else { "" };
        let noise = if self.noise { ", of noise" } else { "" };
        let from = match self.samples {
            ChunkFormat::Packed { bits } => format!("{bits} bits"),
            typed => typed.to_string(),
        };
        let (over, under) = self.oversampling;
        let over = if over == under { String::new() } else { format!(", {over}/{under}") };
        format!("FEngine::push, {layout}, {from} to {to}{dither}, {} taps{over}{set}{counted}{noise}", self.taps)
    }

    /// Bytes of a value that comes out.
    fn value_bytes(&self) -> f64 {
        match self.format {
            SampleFormat::Int4 => 1.0,
            SampleFormat::Int8 => 2.0,
            SampleFormat::Int16 | SampleFormat::Float16 => 4.0,
            SampleFormat::Float32 => 8.0,
        }
    }

    /// The F-engine, with gains that bring such samples to the same part of the limit.
    fn builder(&self, inputs: Inputs) -> Result<FEngineBuilder, End> {
        let plan = Channelizer::real(self.channels).taps(self.taps);
        let plan = plan.oversampling(self.oversampling.0, self.oversampling.1).build().map_err(End::failed)?;
        let of_format = if self.format == SampleFormat::Int4 { 7.0 / 127.0 } else { 1.0 };
        // Random f16 are of magnitudes from 1/2 to 1, and random f32 up to 1.
        let bits = match self.samples {
            ChunkFormat::Typed { format: SampleFormat::Float16 | SampleFormat::Float32, .. } => 1,
            integers => integers.sample_bits() as i32,
        };
        let scale = of_format * 2f32.powi(BITS as i32 - bits);
        let builder = of_plan(plan, inputs, scale)?.precision(self.precision);
        Ok(if self.dither { builder.dither(SEED) } else { builder })
    }
}

/// An F-engine of 10 bits with dither, gains and steady delays that are no whole samples.
pub(crate) fn builder(channels: usize, inputs: Inputs) -> Result<FEngineBuilder, End> {
    let plan = Channelizer::real(channels).taps(TAPS).build().map_err(End::failed)?;
    Ok(of_plan(plan, inputs, 1.0)?.dither(SEED))
}

/// The same in a precision, with launches of so many bytes.
pub(crate) fn of_launches(
    channels: usize,
    inputs: Inputs,
    precision: Precision,
    bytes: LaunchBytes,
) -> Result<FEngineBuilder, End> {
    let plan = Channelizer::real(channels).taps(TAPS).build().map_err(End::failed)?;
    Ok(of_plan(plan.with_launch_bytes(bytes), inputs, 1.0)?.dither(SEED).precision(precision))
}

/// An F-engine without dither, with gains of `scale` times 0.07 to 0.13, and such delays.
fn of_plan(plan: Channelizer, inputs: Inputs, scale: f32) -> Result<FEngineBuilder, End> {
    let channels = plan.channels();
    let gain = |(channel, input): (usize, usize)| {
        Complex::from_polar(scale * (0.07 + 0.01 * (channel % 7) as f32), (channel % 11 + input) as f32)
    };
    let gains = Gains::per_channel_input(Array2::from_shape_fn((channels, inputs.len()), gain));
    let delay = |input: usize| {
        let segment = DelaySegment::new(0, vec![-37.3 + 0.7 * input as f64]).with_phase(0.11 * input as f64, 0.0);
        DelayModel::from_segment(segment).map_err(End::failed)
    };
    let delays = (0..inputs.len()).map(delay).collect::<Result<_, _>>()?;
    let builder = FEngine::builder(plan, inputs).spectra_per_frame(FRAME).delays(delays);
    Ok(builder.gains(gains.map_err(End::failed)?))
}

/// Random packed samples on the device, which every chunk has.
pub(crate) struct Chunk {
    words: Buffer<u32>,
    row_bytes: usize,
    format: ChunkFormat,
    times: usize,
    inputs: Inputs,
}

impl Chunk {
    /// Of 10 bits.
    pub(crate) fn new(bench: &Bench, inputs: Inputs, times: usize) -> Result<Self, End> {
        Self::of(bench, inputs, times, TEN_BITS)
    }

    fn of(bench: &Bench, inputs: Inputs, times: usize, format: ChunkFormat) -> Result<Self, End> {
        let row_bytes = (times * format.sample_bits() as usize).div_ceil(8).next_multiple_of(16);
        let words = row_bytes * inputs.len() / 4 + DeviceSamples::PADDING_WORDS;
        Ok(Self { words: random_words(bench, words, format)?, row_bytes, format, times, inputs })
    }

    /// Inputs of it.
    pub(crate) fn inputs(&self) -> Inputs {
        self.inputs
    }

    /// The chunk that begins with a sample.
    pub(crate) fn at(&self, first_sample: u64) -> Result<DeviceSamples<'_>, End> {
        self.of_array(DeviceArray::from(self.words.view()), first_sample)
    }

    /// The same as if it had come on another stream, which has done so.
    pub(crate) fn come_on(&self, stream: &Stream, first_sample: u64) -> Result<DeviceSamples<'_>, End> {
        let array = DeviceArray::from(self.words.view()).written_now(stream).map_err(End::failed)?;
        self.of_array(array, first_sample)
    }

    fn of_array<'a>(&self, array: DeviceArray<'a, u32>, first_sample: u64) -> Result<DeviceSamples<'a>, End> {
        let samples = DeviceSamples::new(array, self.row_bytes, self.format, self.times, self.inputs);
        let samples = samples.map_err(End::failed)?.with_first_sample(first_sample);
        samples.with_sample_rate(RATE_HZ).map_err(End::failed)
    }
}

/// Words of noise of 10 bits, of 74 rms and at most 254: four samples in five bytes, which come again after 5 MiB.
fn noise_words(length: usize) -> Vec<u32> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(4);
    let mut sample = || {
        let sum: i32 = (0..4).map(|_| random.random_range(0..128)).sum();
        (sum - 254) as u64 & 0x3ff
    };
    let mut fours = || (0..4).fold(0, |bits, _| bits << 10 | sample()).to_be_bytes();
    let piece: Vec<u8> = (0..1 << 20).flat_map(|_| fours()[3..].to_vec()).collect();
    let words: &[[u8; 4]] = piece.as_chunks().0;
    words.iter().cycle().take(length).map(|&word| u32::from_ne_bytes(word)).collect()
}

/// Words of random samples of a format.
pub(crate) fn random_words(bench: &Bench, length: usize, format: ChunkFormat) -> Result<Buffer<u32>, End> {
    let stream = &bench.stream;
    let mut words = Buffer::<u32>::alloc(&bench.device, length)?;
    match format {
        ChunkFormat::Typed { format: SampleFormat::Float32, .. } => {
            Source::floats(stream)?.fill(stream, &mut words.view_mut().cast::<f32>()?)?;
        }
        ChunkFormat::Typed { format: SampleFormat::Float16, .. } => {
            // Magnitudes from 1/2 to 1: neither infinities nor NaN.
            Source::bytes(stream)?.fill(stream, &mut words.view_mut().cast::<u8>()?)?;
            let mut host: Vec<u32> = words.to_vec(stream)?;
            host.iter_mut().for_each(|word| *word = *word & 0x83ff_83ff | 0x3800_3800);
            words.copy_from_slice(stream, &host)?;
        }
        _ => Source::bytes(stream)?.fill(stream, &mut words.view_mut().cast::<u8>()?)?,
    }
    Ok(words)
}

/// The F-engine alone, both polarisations of an antenna.
fn f_engine(bench: &mut Bench, ceilings: &Ceilings, case: Case) -> Result<(), End> {
    match case.format {
        SampleFormat::Int4 => f_engine_as::<Complex4>(bench, ceilings, case),
        SampleFormat::Int8 => f_engine_as::<Complex<i8>>(bench, ceilings, case),
        SampleFormat::Float16 => f_engine_as::<Complex<f16>>(bench, ceilings, case),
        SampleFormat::Float32 => f_engine_as::<Complex<f32>>(bench, ceilings, case),
        SampleFormat::Int16 => Err(End::failed("frames are never of 16-bit integers")),
    }
}

/// The same, of frames of a format.
fn f_engine_as<Q: FrameSample>(bench: &mut Bench, ceilings: &Ceilings, case: Case) -> Result<(), End> {
    let inputs = Inputs::new(1, 2).map_err(End::failed)?;
    let (backend, builder) = (Backend::on(bench.device.clone()), case.builder(inputs)?);
    if case.rows {
        timed(bench, ceilings, case, builder.build_rows::<Q>(&backend).map_err(End::failed)?)
    } else {
        timed(bench, ceilings, case, builder.build::<Q>(&backend).map_err(End::failed)?)
    }
}

/// Times an F-engine.
fn timed<Q: FrameSample, L: FrameLayout>(
    bench: &mut Bench,
    ceilings: &Ceilings,
    case: Case,
    engine: FEngine<Q, L>,
) -> Result<(), End> {
    let inputs = engine.inputs();
    let mut chunk = Chunk::of(bench, inputs, SAMPLES, case.samples)?;
    if case.noise {
        let host = noise_words(chunk.words.len());
        chunk.words.copy_from_slice(&bench.stream, &host)?;
    }
    let engine = engine.on(&bench.stream).map_err(End::failed)?;
    let mut engine = if case.statistics { engine.with_statistics() } else { engine };
    let mut next = 0;
    let channels = engine.channels().len();
    let gains = [1.0f32, 2.0].map(|of_first| {
        let gain = |(_, input): (usize, usize)| Complex::new(0.1 * if input == 0 { of_first } else { 1.0 }, 0.0);
        Gains::per_channel_input(Array2::from_shape_fn((channels, inputs.len()), gain))
    });
    let [one, two] = gains;
    let gains = [one.map_err(End::failed)?, two.map_err(End::failed)?];
    let timing = bench.time(|_| {
        let samples = chunk.at(next)?;
        if case.set_gains {
            engine.set_gains(&gains[(next / SAMPLES as u64 % 2) as usize]).map_err(End::failed)?;
        }
        next += SAMPLES as u64;
        engine.push(&samples).map(drop).map_err(End::failed)
    })?;
    if engine.precision() != Some(case.precision) {
        let (name, found) = (case.variant(), engine.precision());
        return Err(End::failed(format!("{name}, {} channels: computed in {found:?}", case.channels)));
    }
    let work = (SAMPLES * inputs.len()) as f64;
    let over = case.oversampling.0 as f64 / case.oversampling.1 as f64;
    let validated = match case.kernel {
        "f_engine_stream" => "f_engine_device",
        same => same,
    };
    bench.add(Measured {
        kernel: case.kernel,
        variant: case.variant(),
        params: params([("channels", case.channels), ("samples", SAMPLES), ("inputs", inputs.len())]),
        timing,
        work,
        unit: "Gsamples/s",
        // Half as many values as samples, and more of oversampled plans.
        bound: Some(
            ceilings.bytes(work * (f64::from(case.samples.sample_bits()) / 8.0 + case.value_bytes() * over / 2.0)),
        ),
        check: format!("not compared in this run: validate's {validated} compares such frames"),
    });
    Ok(())
}

/// F-engine and integrator: antennas of two polarisations, chunks as those of the kernels alone.
fn instrument_of(bench: &mut Bench, precision: Precision, antennas: usize) -> Result<(), End> {
    let (channels, spectra) = (instrument::CHANNELS, instrument::SPECTRA);
    let inputs = Inputs::new(antennas, 2).map_err(End::failed)?;
    let (stride, times) = (2 * channels, 2 * channels * spectra);
    let chunk = Chunk::new(bench, inputs, times)?;
    let (backend, stream) = (Backend::on(bench.device.clone()), bench.stream.clone());
    let builder = builder(channels, inputs)?.precision(precision);
    let engine = builder.build_rows::<Complex<i8>>(&backend).map_err(End::failed)?;
    let mut engine = engine.on(&stream).map_err(End::failed)?;
    let heaps = CHUNKS_OF_DUMP * (spectra / FRAME) as u64;
    let schedule = DumpSchedule::new(stride as u64, FRAME as u64, heaps).map_err(End::failed)?;
    let integrator = Integrator::<Complex<i8>>::new(&backend, schedule, inputs, channels).map_err(End::failed)?;
    let mut integrator = integrator.on(&stream).map_err(End::failed)?.dumps_on_device().map_err(End::failed)?;
    let (mut next, mut dumps, mut spectra_of_dumps) = (0, 0, 0);
    // Whole dumps: a run is as many chunks as one has.
    let timing = bench.time(|_| {
        for _ in 0..CHUNKS_OF_DUMP {
            let samples = chunk.at(next)?;
            next += times as u64;
            for frames in engine.push(&samples).map_err(End::failed)?.frames {
                for dump in integrator.push(&frames.voltages).map_err(End::failed)? {
                    dumps += 1;
                    spectra_of_dumps = dump.times();
                }
            }
        }
        Ok::<_, End>(())
    })?;
    if dumps < 10 || spectra_of_dumps != CHUNKS_OF_DUMP * spectra as u64 {
        return Err(End::failed(format!("instrument by streams: {dumps} dumps of {spectra_of_dumps} spectra")));
    }
    let half = if precision == Precision::Half { " in half precision" } else { "" };
    let dump_ms = 1e3 * CHUNKS_OF_DUMP as f64 * times as f64 / RATE_HZ;
    bench.add(Measured {
        kernel: "instrument_stream",
        variant: format!("FEngine{half}, Integrator, a dump each {dump_ms:.1} ms on the device"),
        params: params([("antennas", antennas), ("channels", channels), ("spectra", spectra)]),
        timing,
        work: 1e6 * antennas as f64 * dump_ms,
        unit: "antennas",
        bound: None,
        check: "the number of dumps and their spectra; values not compared in this run".into(),
    });
    Ok(())
}
