//! Rates of instruments from host memory beside the link's.

use fringes::stream::sink::Overflow;
use fringes::stream::source::Source;
use fringes::stream::{Fx, Report, StreamSample};
use fringes::{Backend, Complex, Precision};
use fringes_gpu::{Buffer, Device, PinnedBuffer, PinnedPool, Timing};

use crate::end::End;
use crate::gpu_report::{Params, Record, Row, params};
use crate::instrument::case::{CHUNKS, Case, Memory, Replayed, filled};
use crate::instrument::stamps::{Stamp, Stamps};
use crate::instrument::{beside, on_device};

/// Share of the link, or of the kernels' rate, that is asked for.
const ASKED: f64 = 0.97;
/// Dumps before what counts.
const WARM: usize = 2;

const FX: Case = Case { antennas: 64, channels: 4096, spectra: 256, frame: 256, dump: 128 };
/// Dumps every two seconds or so: each of 0.5 GB is brought to the host beside the copies to the device.
const FX_LONG: Case = Case { dump: 320, ..FX };
const X: Case = Case { antennas: 64, channels: 4096, spectra: 256, frame: 256, dump: 160 };
const X_F32: Case = Case { antennas: 4096, channels: 2, spectra: 1024, frame: 1024, dump: 64 };

/// What is measured of an instrument.
struct Outcome {
    /// Milliseconds of each dump.
    all_ms: Vec<f64>,
    /// Processor seconds a gigabyte.
    processor: Option<f64>,
    report: Report,
}

/// Measures all; what failed.
pub(crate) fn run(device: &Device, bytes: u64, record: &mut Record) -> Result<Vec<(String, End)>, End> {
    let backend = Backend::on(device.clone());
    let mut failures = Vec::new();
    let chunk = 4 * FX.words() as u64;
    let pool = filled(device, 4 * FX.words())?;
    if let Err(error) = beside::run(device, FX, &pool, record) {
        failures.push(("copies beside work".into(), error));
    }
    for (case, memory) in [(FX, Memory::Pinned), (FX_LONG, Memory::Pinned), (FX, Memory::Pageable)] {
        let what = format!("F and X, 10 bits, from {} memory", memory.name());
        let ended = beside_the_link(device, &pool, chunk, record, || {
            let fx = case.fx(&backend, Precision::Half)?;
            timed(fx, |chunks| case.samples(&pool, memory, chunks), case, chunk, bytes)
        });
        note(&what, case, ended, (chunk, None), memory, record, &mut failures);
    }
    drop(pool);
    let chunk = 2 * X.values() as u64;
    let pool = <Complex<i8>>::filled(device, X.values())?;
    let ended = beside_the_link(device, &pool, chunk, record, || {
        let fx = X.x::<Complex<i8>>(&backend)?;
        timed(fx, |chunks| X.heaps::<Complex<i8>>(&pool, Memory::Pinned, chunks), X, chunk, bytes)
    });
    let what = "X, heaps of 8 bits, from pinned memory";
    note(what, X, ended, (chunk, None), Memory::Pinned, record, &mut failures);
    drop(pool);
    let chunk = 8 * X_F32.values() as u64;
    let kernels = on_device::floats(device, &backend, X_F32, record)?;
    let pool = <Complex<f32>>::filled(device, X_F32.values())?;
    let ended = beside_the_link(device, &pool, chunk, record, || {
        let fx = X_F32.x::<Complex<f32>>(&backend)?;
        timed(fx, |chunks| X_F32.heaps::<Complex<f32>>(&pool, Memory::Pinned, chunks), X_F32, chunk, bytes / 4)
    });
    let what = "X, heaps of f32, from pinned memory";
    note(what, X_F32, ended, (chunk, Some(kernels)), Memory::Pinned, record, &mut failures);
    if let Err(error) = on_device::bins(device, &backend, record) {
        failures.push(("X by bins".into(), error));
    }
    Ok(failures)
}

/// Does something, and says beside it what copies of the same memory reach, the better of before and after it.
fn beside_the_link<T>(
    device: &Device,
    pool: &PinnedPool,
    bytes: u64,
    record: &mut Record,
    work: impl FnOnce() -> Result<T, End>,
) -> Result<(T, f64), End> {
    let before = link(device, pool, bytes as usize)?;
    let done = work()?;
    let after = link(device, pool, bytes as usize)?;
    let best = if before.median_ms < after.median_ms { &before } else { &after };
    let rate = |timing: &Timing| bytes as f64 / timing.median_ms / 1e6;
    println!(
        "\nthe link alone, {:.0} MB a copy: {:.2} and {:.2} GB/s",
        bytes as f64 / 1e6,
        rate(&before),
        rate(&after)
    );
    record.push(Row {
        kernel: "instrument_link",
        variant: "copies of the same pinned memory alone".into(),
        params: params([("mib", bytes as usize >> 20)]),
        time_ms: best.median_ms,
        value: rate(best),
        unit: "GB/s",
        floor: None,
        bound_by: String::new(),
        check: format!("{:.2} before and {:.2} GB/s after the instrument", rate(&before), rate(&after)),
        energy: None,
    });
    Ok((done, rate(best)))
}

/// Sizes of a case in a record.
pub(crate) fn sizes(case: Case) -> Params {
    params([
        ("antennas", case.antennas),
        ("channels", case.channels),
        ("spectra", case.spectra),
        ("chunks_of_dump", case.dump),
    ])
}

/// Times copies of a pool's memory, one behind the other.
fn link(device: &Device, pool: &PinnedPool, bytes: usize) -> Result<Timing, End> {
    let stream = device.new_stream()?;
    let hosts = (0..CHUNKS).map(|_| pool.take::<u8>(bytes)).collect::<Result<Vec<PinnedBuffer<u8>>, _>>()?;
    let mut buffers = (0..2).map(|_| Buffer::<u8>::alloc(device, bytes)).collect::<Result<Vec<_>, _>>()?;
    let timing = fringes_gpu::time(&stream, CHUNKS, 2 * CHUNKS, |run| {
        buffers[run % 2].view_mut().copy_from_pinned(&stream, &hosts[run % CHUNKS], ..)
    })?;
    Ok(timing)
}

/// Runs an instrument on as many chunks as have so many bytes.
fn timed<V: StreamSample, S: Source + 'static>(
    fx: Fx<V>,
    source: impl FnOnce(u64) -> Result<S, End>,
    case: Case,
    chunk: u64,
    bytes: u64,
) -> Result<Outcome, End> {
    let dumps = (bytes / chunk / case.dump as u64).max(2 + WARM as u64 + 4);
    let stamps = Stamps::default();
    let running = fx.sink(stamps.clone(), Overflow::Block).start(source(dumps * case.dump as u64)?);
    let report = running.map_err(End::failed)?.join().into_result().map_err(End::failed)?;
    // The last dump is cut off by the end of the stream.
    let mut stamps: Vec<Stamp> = stamps.take();
    stamps.pop();
    let counted = stamps.get(WARM..).unwrap_or_default();
    let all_ms: Vec<f64> =
        counted.windows(2).map(|pair| 1e3 * pair[1].0.duration_since(pair[0].0).as_secs_f64()).collect();
    let gigabytes = all_ms.len() as f64 * case.dump as f64 * chunk as f64 / 1e9;
    let spent = counted.first().zip(counted.last()).and_then(|(first, last)| Some(last.1? - first.1?));
    Ok(Outcome { all_ms, processor: spent.map(|spent| spent / gigabytes), report })
}

/// Prints and records what came out.
fn note(
    what: &str,
    case: Case,
    ended: Result<(Outcome, f64), End>,
    (chunk, kernels): (u64, Option<f64>),
    memory: Memory,
    record: &mut Record,
    failures: &mut Vec<(String, End)>,
) {
    let measured =
        ended.and_then(|(outcome, link)| Ok((Timing::new(outcome.all_ms.clone()).map_err(End::from)?, outcome, link)));
    let (timing, Outcome { processor, report, all_ms }, link) = match measured {
        Ok(measured) => measured,
        Err(error) => return failures.push((what.into(), error)),
    };
    let (bound, by) = match kernels {
        Some(kernels) if kernels < link => (kernels, "its kernels on heaps that are there"),
        _ => (link, "the link"),
    };
    let dump = case.dump as f64 * chunk as f64;
    let (rate, mean) = (dump / timing.median_ms / 1e6, all_ms.len() as f64 * dump / all_ms.iter().sum::<f64>() / 1e6);
    let sink = report.sinks.first();
    let latency = sink
        .map_or((0.0, 0.0), |sink| (1e3 * sink.mean_latency.as_secs_f64(), 1e3 * sink.longest_latency.as_secs_f64()));
    println!("{what}: {rate:.2} GB/s (all dumps {mean:.2}), {:.1} % of {by}", 100.0 * rate / bound);
    println!(
        "    {} dumps of {:.0} MB every {:.0} ms; a dump is with its sink {:.0} ms after its last chunk came (at most {:.0})",
        report.dumps,
        sink.map_or(0.0, |sink| sink.bytes as f64 / sink.written.max(1) as f64 / 1e6),
        timing.median_ms,
        latency.0,
        latency.1,
    );
    let processor_text = processor
        .map_or("not known".into(), |seconds| format!("{seconds:.4} s a GB, {:.2} processors", seconds * rate));
    println!("    processor time {processor_text}; queues {:?}, busy {:?}", report.deepest_queues, report.busy);
    let seconds = report.chunks as f64 / case.dump as f64 * timing.median_ms / 1e3;
    let shares = report.device.map(|of| format!("{:.1}", 100.0 * of.as_secs_f64() / seconds));
    let shares = format!("the GPU's time for copies, F-engine, correlator {} %", shares.join(", "));
    println!("    {shares}");
    let check = format!(
        "latency of a dump {:.1} ms, at most {:.1}; processor time {processor_text}; {shares}; {} chunks in {} memory; asked {ASKED} of the bound",
        latency.0,
        latency.1,
        report.chunks,
        memory.name()
    );
    record.push(Row {
        kernel: "instrument_link",
        variant: what.into(),
        params: sizes(case),
        time_ms: timing.median_ms,
        value: rate,
        unit: "GB/s",
        floor: Some(bound),
        bound_by: by.into(),
        check,
        energy: None,
    });
}
