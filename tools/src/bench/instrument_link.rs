//! The whole instrument from pinned host memory, by the public streams: samples go to the device while those before
//! them become voltages and sums of products.
//!
//! ```text
//! copies    samples 0 | samples 1 | samples 2 | ...
//! kernels             | F 0 | X 0 | F 1 | X 1 | ...
//! ```
//!
//! Samples have three buffers on the device, each with a stream for its copies, which it says: `FEngine::push` waits
//! for that on the device, and the next copy to a buffer, and to that one alone, for what reads it. Visibilities stay
//! on the device. The host waits at the end alone. Chunks begin at other places of the host's memory.

use std::time::Instant;

use fringes::backend::{Backend, DeviceArray, DeviceSamples, DeviceVisibilities};
use fringes::correlator::{DumpSchedule, Integrator};
use fringes::types::ChunkFormat;
use fringes::{Complex, FEngine, Inputs, RowFrames};
use fringes_gpu::{Buffer, GpuError, PinnedBuffer, Stream, Timing};

use crate::bench::instrument::{CHANNELS, Case, RATE_HZ, SPECTRA};
use crate::bench::random::Source;
use crate::bench::streams;
use crate::bench::timing::{Bench, Bound, Measured};
use crate::end::End;
use crate::gpu_report::params;

/// Chunks that follow each other in a run.
const CHUNKS: usize = 32;
/// Chunks that are unlike each other.
const UNLIKE: usize = 4;
/// Bytes from the start of one to that of the next.
const APART: usize = 1 << 20;
/// Runs that are timed, after one that is not.
const RUNS: usize = 10;
/// Buffers of samples.
const BUFFERS: usize = 3;
/// Bits of a sample.
const BITS: u32 = 10;
/// Spectra of a frame.
const FRAME: u64 = 256;

/// Bytes that an antenna has in a second.
const ANTENNA_BYTES: f64 = 2.0 * RATE_HZ * BITS as f64 / 8.0;

/// Sums of one channel, the first dump's.
type Sums = Vec<Complex<i64>>;

struct Link {
    inputs: Inputs,
    times: usize,
    row_bytes: usize,
    host: PinnedBuffer<u32>,
    samples: Vec<(Buffer<u32>, Stream)>,
    kernels: Stream,
}

pub(crate) fn run(bench: &mut Bench, case: &Case) -> Result<(), End> {
    let (device, stream) = (bench.device.clone(), bench.stream.clone());
    let inputs = Inputs::new(case.inputs / 2, 2).map_err(End::failed)?;
    let times = 2 * CHANNELS * SPECTRA;
    let row_bytes = (times * BITS as usize).div_ceil(8).next_multiple_of(16);
    let words = row_bytes * inputs.len() / 4 + DeviceSamples::PADDING_WORDS;
    let mut host = PinnedBuffer::<u32>::zeroed(&device, words + (UNLIKE - 1) * APART / 4)?;
    let random = Source::bytes(&stream)?.buffer(&device, &stream, 4 * host.len())?;
    random.view().cast::<u32>()?.copy_to_pinned(&stream, &mut host, ..)?;
    stream.synchronize()?;
    drop(random);
    let buffer = |_| Ok::<_, GpuError>((Buffer::zeroed(&stream, words)?, device.new_stream()?));
    let samples = (0..BUFFERS).map(buffer).collect::<Result<_, _>>()?;
    stream.synchronize()?;
    let mut link = Link { inputs, times, row_bytes, host, samples, kernels: device.new_stream()? };

    let bytes = 4 * words;
    let copy = fringes_gpu::time(&stream, 2, RUNS, |index| {
        let (samples, _) = &mut link.samples[index % BUFFERS];
        samples.view_mut().copy_from_pinned(&stream, &link.host, chunk(index, words))
    })?;
    let mut engines = Engines::new(&link)?;
    // One chunk after the other, each waited for: what the overlapped runs must equal.
    let (_, expected) = link.push_all(&mut engines, true)?;
    let mut all_ms = Vec::new();
    for run in 0..=RUNS {
        let (time_ms, sums) = link.push_all(&mut engines, false)?;
        if sums != expected || sums.iter().all(|sum| *sum == Complex::new(0, 0)) {
            return Err(End::failed("instrument from pinned memory: sums differ from those of chunks one by one"));
        }
        if run > 0 {
            all_ms.push(time_ms / CHUNKS as f64);
        }
    }
    let timing = Timing::new(all_ms)?;
    let gigabytes = |time_ms: f64| bytes as f64 / time_ms / 1e6;
    let of_link = gigabytes(copy.median_ms) * 1e9 / ANTENNA_BYTES;
    let reached = gigabytes(timing.median_ms);
    let check = format!(
        "the sums of a channel equal those of {CHUNKS} chunks one by one, error 0; {reached:.1} GB/s of samples come over the link"
    );
    let by = format!("its copies alone: {:.1} GB/s, {of_link:.1} antennas' samples", gigabytes(copy.median_ms));
    let bound = Some(Bound { time_ms: copy.median_ms, by });
    bench.add(Measured {
        kernel: "instrument",
        variant: "copies from pinned memory".into(),
        params: params([("antennas", case.inputs / 2), ("channels", CHANNELS), ("spectra", SPECTRA)]),
        timing: copy,
        work: bytes as f64,
        unit: "GB/s",
        bound: None,
        check: "as those that are multiplied".into(),
    });
    case.add(bench, "streams from pinned memory", timing, bound, &check);
    println!("{:<16} {check}", "");
    Ok(())
}

/// Where a chunk lies in the host's memory.
fn chunk(index: usize, words: usize) -> std::ops::Range<usize> {
    let start = index % UNLIKE * APART / 4;
    start..start + words
}

/// F-engine and X-engine of all runs: nothing is allocated once the first one has gone through them.
struct Engines {
    engine: FEngine<Complex<i8>, RowFrames>,
    integrator: Integrator<Complex<i8>, DeviceVisibilities<'static, Complex<i64>>>,
}

impl Engines {
    fn new(link: &Link) -> Result<Self, End> {
        let backend = Backend::on(link.kernels.device().clone());
        let engine = streams::builder(CHANNELS, link.inputs)?.build_rows(&backend);
        let engine = engine.and_then(|engine| engine.on(&link.kernels)).map_err(End::failed)?;
        let heaps = (CHUNKS * SPECTRA) as u64 / FRAME;
        let schedule = DumpSchedule::new(2 * CHANNELS as u64, FRAME, heaps).map_err(End::failed)?;
        let integrator = Integrator::new(&backend, schedule, link.inputs, CHANNELS);
        let integrator = integrator.and_then(|integrator| integrator.on(&link.kernels));
        let integrator = integrator.and_then(Integrator::dumps_on_device).map_err(End::failed)?;
        Ok(Self { engine, integrator })
    }
}

impl Link {
    /// Pushes a run's chunks and waits for them, `one_by_one` or at the end: milliseconds from the first copy to the
    /// last sum, and the sums of the checked channel.
    fn push_all(&mut self, engines: &mut Engines, one_by_one: bool) -> Result<(f64, Sums), End> {
        let Engines { engine, integrator } = engines;
        engine.reset();
        let words = self.row_bytes * self.inputs.len() / 4 + DeviceSamples::PADDING_WORDS;
        let (format, mut dumps) = (ChunkFormat::Packed { bits: BITS }, Vec::new());
        let start = Instant::now();
        for index in 0..CHUNKS {
            let (buffer, copies) = &mut self.samples[index % BUFFERS];
            buffer.view_mut().copy_from_pinned(copies, &self.host, chunk(index, words))?;
            let array = DeviceArray::from(buffer.view()).written_on(copies);
            let samples = DeviceSamples::new(array, self.row_bytes, format, self.times, self.inputs);
            let samples = samples.map_err(End::failed)?.with_first_sample((index * self.times) as u64);
            let samples = samples.with_sample_rate(RATE_HZ).map_err(End::failed)?;
            for frames in engine.push(&samples).map_err(End::failed)?.frames {
                dumps.extend(integrator.push(&frames.voltages).map_err(End::failed)?);
            }
            if one_by_one {
                self.kernels.synchronize()?;
            }
        }
        self.kernels.synchronize()?;
        let time_ms = start.elapsed().as_secs_f64() * 1e3;
        // The delays' first and last spectra are not there: the dump is ended.
        dumps.extend(integrator.finish().map_err(End::failed)?);
        let Some(dump) = dumps.first() else { return Err(End::failed("instrument from pinned memory: no dump")) };
        let (channel, baselines) = (CHANNELS / 3, self.inputs.triangle_len());
        let of_channel = dump.array().view().slice(channel * baselines..(channel + 1) * baselines)?;
        Ok((time_ms, of_channel.to_vec(&self.kernels)?))
    }
}
