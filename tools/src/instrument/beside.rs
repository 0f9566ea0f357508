//! What is left of the link while the device computes: copies of chunks, each beside the work of the one before.

use fringes::backend::DeviceArray;
use fringes::correlator::Integrator;
use fringes::types::SampleRows;
use fringes::{Backend, ChunkFormat, Complex, DeviceSamples, Precision};
use fringes_gpu::{Buffer, Device, PinnedBuffer, PinnedPool, Stream};

use crate::bench::random;
use crate::end::End;
use crate::gpu_report::{Record, Row};
use crate::instrument::case::{BITS, CHUNKS, Case, RATE_HZ};
use crate::instrument::load::sizes;
use crate::instrument::on_device::Repeated;

/// Copies that are timed.
const COPIES: usize = 6 * CHUNKS;

/// Work of a chunk, by its number.
type Work<'a> = &'a mut dyn FnMut(u64) -> Result<(), End>;

/// Times copies of a case's chunks of samples beside each kind of work.
pub(crate) fn run(device: &Device, case: Case, pool: &PinnedPool, record: &mut Record) -> Result<(), End> {
    let (backend, stream) = (Backend::on(device.clone()), device.new_stream()?);
    let bytes = 4 * case.words();
    let alone = rate(device, &stream, pool, bytes, &mut |_| Ok(()))?;
    let mut note = |what: &str, rate: f64| {
        println!("copies of chunks beside {what}: {rate:.2} GB/s, {:.1} % of those alone", 100.0 * rate / alone);
        record.push(Row {
            kernel: "instrument_link",
            variant: format!("copies of samples beside {what}"),
            params: sizes(case),
            time_ms: bytes as f64 / rate / 1e6,
            value: rate,
            unit: "GB/s",
            floor: Some(alone),
            bound_by: "copies alone".into(),
            check: "none here".into(),
            energy: None,
        });
    };
    let source = random::Source::bytes(&stream)?;
    let samples = source.buffer(device, &stream, bytes)?;
    for precision in [Precision::Half, Precision::Single] {
        let engine = case.engine(precision)?.build::<Complex<i8>>(&backend);
        let mut engine = engine.and_then(|engine| engine.on(&stream)).map_err(End::failed)?;
        let format = ChunkFormat::Packed { bits: BITS };
        let mut work = |chunk: u64| {
            let words = DeviceArray::from(samples.view().cast::<u32>()?);
            let rows: DeviceSamples<'_> =
                SampleRows::new(words, case.row_bytes(), format, case.times(), case.inputs()?).map_err(End::failed)?;
            let rows = rows.with_first_sample(chunk * case.times() as u64).with_sample_rate(RATE_HZ);
            engine.push(&rows.map_err(End::failed)?).map(drop).map_err(End::failed)
        };
        let found = rate(device, &stream, pool, bytes, &mut work)?;
        note(&format!("the F-engine, {precision:?}"), found);
    }
    drop(samples);
    let values = source.buffer(device, &stream, 2 * case.values())?;
    let integrator = Integrator::<Complex<i8>>::new(&backend, case.schedule()?, case.inputs()?, case.channels);
    let integrator = integrator.and_then(|integrator| integrator.on(&stream));
    let mut integrator = integrator.and_then(Integrator::dumps_on_device).map_err(End::failed)?;
    let mut chunks = Repeated::<_, Complex<i8>>::new(values, case);
    let mut work = |_| integrator.push(&chunks.chunk()?).map(drop).map_err(End::failed);
    note("the X-engine", rate(device, &stream, pool, bytes, &mut work)?);
    let values = chunks.values;
    let mut copy = Buffer::<u8>::alloc(device, values.len())?;
    for (copies, what) in [(1, "one copy"), (4, "four copies")] {
        let mut work =
            |_| (0..copies).try_for_each(|_| copy.view_mut().copy_from(&stream, values.view())).map_err(End::from);
        let found = rate(device, &stream, pool, bytes, &mut work)?;
        note(&format!("{what} of {} MB within the device", values.len() / 1_000_000), found);
    }
    Ok(())
}

/// Gigabytes a second of copies to the device, behind each of which work is queued on another stream.
fn rate(device: &Device, computing: &Stream, pool: &PinnedPool, bytes: usize, work: Work<'_>) -> Result<f64, End> {
    let stream = device.new_stream()?;
    let hosts = (0..CHUNKS).map(|_| pool.take::<u8>(bytes)).collect::<Result<Vec<PinnedBuffer<u8>>, _>>()?;
    let mut buffers = (0..2).map(|_| Buffer::<u8>::alloc(device, bytes)).collect::<Result<Vec<_>, _>>()?;
    let (start, end) = (device.new_event()?, device.new_event()?);
    for run in 0..COPIES + 4 {
        if run == 4 {
            start.record(&stream)?;
        }
        buffers[run % 2].view_mut().copy_from_pinned(&stream, &hosts[run % CHUNKS], ..)?;
        computing.wait_for(&stream)?;
        work(run as u64)?;
    }
    end.record(&stream)?;
    let rate = (COPIES * bytes) as f64 / end.elapsed_ms(&start)? / 1e6;
    computing.synchronize()?;
    Ok(rate)
}
