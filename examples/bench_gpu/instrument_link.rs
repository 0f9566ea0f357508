//! The whole instrument from pinned host memory: samples go to the device while those before them become voltages and sums of products.
//!
//! ```text
//! copies    samples 0 | samples 1 | samples 2 | ...
//! kernels             | F 0 | X 0 | F 1 | X 1 | ...
//! ```
//!
//! Samples have two buffers on the device, rows and sums one each; visibilities stay there. The two queues wait for each other on the device, by events, and the host waits at the end alone.
//! A chunk goes over the link with the samples of the windows that reach into the next one, 0.7 % more than there are. Chunks begin at other places of the host's memory.

use fringes_gpu::{Buffer, Event, PinnedBuffer, Stream, Timing};

use crate::bench::{Bench, Bound, Measured};
use crate::gpu_report::{End, params};
use crate::instrument::{CHANNELS, Case, Engines, RATE_HZ, SPECTRA, Work};
use crate::random::Source;

/// Chunks that follow each other in a run.
const CHUNKS: usize = 32;
/// Chunks that are unlike each other: whole times in those of a run.
const UNLIKE: usize = 4;
/// Bytes from the start of one to that of the next.
const APART: usize = 1 << 20;
/// Runs that are timed, after one that is not.
const RUNS: usize = 10;

/// Bytes that an antenna has in a second.
const ANTENNA_BYTES: f64 = 2.0 * RATE_HZ * 10.0 / 8.0;

/// The two queues, and what they tell each other.
struct Queues {
    copies: Stream,
    kernels: Stream,
    /// Samples of each buffer have arrived.
    loaded: [Event; 2],
    /// Samples of each buffer are used up.
    used: [Event; 2],
}

struct Buffers {
    host: PinnedBuffer<u8>,
    samples: [Buffer<u8>; 2],
    rows: Buffer<u8>,
    sums: Buffer<[i64; 2]>,
    saturated: Buffer<u32>,
}

pub(crate) fn run(bench: &mut Bench, case: &Case) -> Result<(), End> {
    let (device, stream, bytes) = (bench.device.clone(), bench.stream.clone(), case.chunk_bytes());
    let engines = Engines::load(&device, case.inputs)?;
    let work = case.to_rows(&stream)?;
    let mut host = PinnedBuffer::zeroed(&device, bytes + (UNLIKE - 1) * APART)?;
    let random = Source::bytes(&stream)?.buffer(&device, &stream, host.len())?;
    random.view().copy_to_pinned(&stream, &mut host, ..)?;
    stream.synchronize()?;
    drop(random);
    let mut buffers = Buffers {
        host,
        samples: [Buffer::zeroed(&stream, bytes)?, Buffer::zeroed(&stream, bytes)?],
        rows: Buffer::zeroed(&stream, 2 * case.values())?,
        sums: Buffer::zeroed(&stream, case.sums())?,
        saturated: Buffer::zeroed(&stream, case.inputs)?,
    };
    let queues = Queues {
        copies: device.new_stream()?,
        kernels: device.new_stream()?,
        loaded: [device.new_event()?, device.new_event()?],
        used: [device.new_event()?, device.new_event()?],
    };
    let mut voltages = Vec::new();
    for index in 0..UNLIKE {
        buffers.samples[0].view_mut().copy_from_pinned(&stream, &buffers.host, chunk(index, bytes))?;
        let Buffers { samples, rows, saturated, .. } = &mut buffers;
        engines.channelize(&stream, samples[0].view(), rows, saturated, &work).map_err(End::failed)?;
        voltages.push(case.voltages(&stream, rows)?);
    }
    stream.synchronize()?;

    let copy = fringes_gpu::time(&queues.copies, 2, RUNS, |index| {
        let samples = &mut buffers.samples[index % 2];
        samples.view_mut().copy_from_pinned(&queues.copies, &buffers.host, chunk(index, bytes))
    })?;
    let mut all_ms = Vec::new();
    for run in 0..=RUNS {
        let time = queue(&queues, &engines, &work, &mut buffers, bytes)?;
        if run > 0 {
            all_ms.push(time / CHUNKS as f64);
        }
    }
    let check = case.check_sums(&stream, &voltages, (CHUNKS / UNLIKE) as i64, &buffers.sums)?;
    let timing = Timing::new(all_ms)?;

    let gigabytes = |time_ms: f64| bytes as f64 / time_ms / 1e6;
    let of_link = gigabytes(copy.median_ms) * 1e9 / ANTENNA_BYTES;
    let reached = gigabytes(timing.median_ms);
    let check = format!("{check}, of {CHUNKS} chunks; {reached:.1} GB/s of samples come over the link");
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
    case.add(bench, "F and X from pinned memory", timing, bound, &check);
    println!("{:<16} {check}", "");
    Ok(())
}

/// Where a chunk lies in the host's memory.
fn chunk(index: usize, bytes: usize) -> std::ops::Range<usize> {
    let start = index % UNLIKE * APART;
    start..start + bytes
}

/// Queues a run's chunks and waits for them: milliseconds from the first copy to the last sum.
fn queue(queues: &Queues, engines: &Engines, work: &Work, buffers: &mut Buffers, bytes: usize) -> Result<f64, End> {
    let Queues { copies, kernels, loaded, used } = queues;
    let Buffers { host, samples, rows, sums, saturated } = buffers;
    let device = kernels.device();
    let (start, end) = (device.new_event()?, device.new_event()?);
    sums.view_mut().zero(kernels)?;
    copies.wait_for(kernels)?;
    start.record(copies)?;
    for index in 0..CHUNKS {
        let buffer = index % 2;
        if index >= 2 {
            copies.wait(&used[buffer])?;
        }
        samples[buffer].view_mut().copy_from_pinned(copies, host, chunk(index, bytes))?;
        loaded[buffer].record(copies)?;
        kernels.wait(&loaded[buffer])?;
        engines.channelize(kernels, samples[buffer].view(), rows, saturated, work).map_err(End::failed)?;
        used[buffer].record(kernels)?;
        engines.correlate(kernels, rows, sums).map_err(End::failed)?;
    }
    end.record(kernels)?;
    end.synchronize()?;
    Ok(end.elapsed_ms(&start)?)
}
