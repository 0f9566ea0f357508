//! Chunks wherever they lie: voltages, heaps and rows on the host, in pinned memory and on the device, dumps on the
//! host and on the device.
//!
//! Every case adds the same ranges of the same numbers on the CPU backend, from voltages on the host, and compares
//! every bit: floats are whole numbers whose sums are exact on both.

use fringes::backend::{Backend, DeviceArray, DeviceError, PinnedArray, ToHost, Uploader};
use fringes::correlator::{Chunk, DumpSchedule, Integrator, MissingData};
use fringes::types::Rows;
use fringes::{
    BaselineOrder, Complex, Complex4, Correlator, CorrelatorError, Heaps, Inputs, Visibilities, VoltageSample,
    Voltages, correlate, f16,
};
use fringes_gpu::Buffer;

use crate::end::End;
use crate::gpu_report::params;
use crate::validate::session::{Outcome, Session, compare};
use crate::validate::streams::heaps;
use crate::whole::Whole;

type Failure = Box<dyn std::error::Error>;

/// Batches, antennas, channels, spectra, polarisations.
type Shape = [usize; 5];

const QUICK: [Shape; 3] = [[5, 3, 2, 7, 2], [3, 9, 1, 64, 1], [2, 40, 3, 80, 2]];
/// Among them: channels that are cut, many times, heaps that no copy engine reads, and whole pieces of 16 MiB.
const MORE: [Shape; 6] = [
    [3, 80, 16, 256, 2],
    [9, 17, 5, 33, 1],
    [40, 64, 1, 256, 2],
    [4, 3, 2, 70_000, 1],
    [64, 64, 24, 128, 2],
    [2, 256, 64, 512, 2],
];

pub(crate) fn validate(session: &mut Session) -> Result<(), End> {
    let shapes: Vec<_> = QUICK.into_iter().chain(MORE.into_iter().filter(|_| !session.quick)).collect();
    for shape in shapes {
        format::<Complex4>(session, shape)?;
        format::<Complex<i8>>(session, shape)?;
        format::<Complex<f16>>(session, shape)?;
        format::<Complex<f32>>(session, shape)?;
    }
    for shape in [[7, 5, 3, 20, 2], [12, 33, 2, 64, 2]] {
        dumps32(session, shape)?;
    }
    long(session)?;
    refused(session)
}

/// A chunk in the three layouts.
struct Chunks<V: VoltageSample> {
    voltages: Voltages<V>,
    heaps: Heaps<V>,
    rows: Rows<V>,
}

impl<V: Whole> Chunks<V> {
    fn new(shape: Shape, flagged: bool) -> Result<Self, Failure> {
        let heaps = heaps::<V>(shape, 0, 11)?;
        let heaps = if flagged {
            heaps
        } else {
            let clock = heaps.clock();
            Heaps::new(heaps.into_data())?.with_clock(clock)?
        };
        let voltages = heaps.to_voltages();
        Ok(Self { rows: Rows::from_voltages(&voltages), voltages, heaps })
    }
}

/// Where dumps are made.
#[derive(Clone, Copy, PartialEq)]
enum Out {
    Host,
    Device,
}

/// Ranges of a chunk's times: all, and some that begin and end inside of rows; whole batches of heaps.
fn cuts(shape: Shape, heaps: bool) -> Vec<Vec<usize>> {
    let [batches, _, _, spectra, _] = shape;
    let times = batches * spectra;
    let whole = vec![0, times];
    if heaps {
        vec![whole, vec![0, spectra, times]]
    } else {
        vec![whole, vec![times / 7, times / 3, times - times / 5]]
    }
}

/// Adds ranges of a chunk and dumps.
fn sum<V: VoltageSample>(
    mut correlator: Correlator<V>,
    chunk: &impl Chunk<V>,
    cuts: &[usize],
    out: Out,
) -> Result<Visibilities<V::Accumulator>, Failure> {
    for range in cuts.windows(2) {
        correlator.accumulate(chunk, range[0]..range[1])?;
    }
    Ok(match out {
        Out::Host => correlator.dump(BaselineOrder::Triangle)?,
        Out::Device => correlator.dump_on_device(BaselineOrder::Triangle)?.to_host()?,
    })
}

fn format<V: Whole>(session: &mut Session, shape: Shape) -> Result<(), End> {
    for flagged in [false, true] {
        for layout in ["voltages", "heaps", "rows"] {
            for place in ["host", "pinned", "device"] {
                let flags = if flagged { ", flags" } else { "" };
                case::<V>(session, shape, flagged, layout, place, format!("{}, {layout}, {place}{flags}", V::FORMAT))?;
            }
        }
    }
    Ok(())
}

fn case<V: Whole>(
    session: &mut Session,
    shape: Shape,
    flagged: bool,
    layout: &'static str,
    place: &'static str,
    variant: String,
) -> Result<(), End> {
    let [batches, antennas, channels, spectra, pols] = shape;
    let sizes = params([
        ("antennas", antennas),
        ("batches", batches),
        ("channels", channels),
        ("pols", pols),
        ("spectra", spectra),
    ]);
    session.case("chunks", variant, sizes, |session| {
        let chunks = Chunks::<V>::new(shape, flagged)?;
        let (device, inputs) = (&session.device, chunks.voltages.inputs());
        let mut upload = Uploader::new(&session.stream);
        let start = std::time::Instant::now();
        let mut spectra_added = 0;
        for cuts in cuts(shape, layout == "heaps") {
            let cpu = Correlator::<V>::new(&Backend::cpu(), inputs, channels)?;
            let expected = sum(cpu, &chunks.voltages, &cuts, Out::Host)?;
            // A limit that a device's heaps in rows need, and pieces of the host do not fill.
            let memory = Correlator::<V>::memory(&Backend::on(device.clone()), inputs, channels, 1)?;
            let little = Backend::on(device.clone()).with_memory_limit(memory.smallest_step_bytes.max(1 << 20) * 64);
            for (out, backend) in [
                (Out::Host, Backend::on(device.clone())),
                (Out::Device, Backend::on(device.clone())),
                (Out::Host, little),
            ] {
                // On the session's stream, and on one of its own.
                let gpu = Correlator::<V>::new(&backend, inputs, channels)?;
                let gpu = if out == Out::Device { gpu.on(&session.stream)? } else { gpu };
                let pinned = |data: Option<&[V]>| {
                    PinnedArray::from_slice(
                        device,
                        data.ok_or(DeviceError::NoKernel { expected: "standard layout", actual: "another".into() })?,
                    )
                };
                let Chunks { voltages, heaps, rows } = &chunks;
                let actual = match (layout, place) {
                    ("voltages", "host") => sum(gpu, voltages, &cuts, out)?,
                    ("voltages", "pinned") => {
                        sum(gpu, &voltages.with_array(pinned(voltages.data().as_slice())?)?, &cuts, out)?
                    }
                    ("voltages", _) => sum(gpu, &upload.voltages(voltages)?, &cuts, out)?,
                    ("heaps", "host") => sum(gpu, heaps, &cuts, out)?,
                    ("heaps", "pinned") => sum(gpu, &heaps.with_array(pinned(heaps.data().as_slice())?)?, &cuts, out)?,
                    ("heaps", _) => sum(gpu, &upload.heaps(heaps)?, &cuts, out)?,
                    (_, "host") => sum(gpu, rows, &cuts, out)?,
                    (_, "pinned") => sum(gpu, &rows.with_array(pinned(rows.data().as_slice())?)?, &cuts, out)?,
                    _ => sum(gpu, &upload.rows(rows)?, &cuts, out)?,
                };
                let flat = |sums: &Visibilities<V::Accumulator>| sums.data().iter().copied().collect::<Vec<_>>();
                let what = format!("cut at {cuts:?}, dump on the {}", if out == Out::Host { "host" } else { "device" });
                compare(&flat(&expected), &flat(&actual)).map_err(|fault| format!("{what}: {fault}"))?;
                if expected != actual {
                    return Err(format!("{what}: counts or axes differ").into());
                }
                spectra_added += expected.times();
            }
        }
        let time_ms = start.elapsed().as_secs_f64() * 1e3;
        Ok(Outcome {
            time_ms,
            value: spectra_added as f64 / time_ms / 1e3,
            unit: "Mspectra/s, with the CPU's sums",
            against: "the CPU backend on voltages (held to the reference by its tests)",
            verdict: Ok(()),
        })
    })
}

/// Dumps of more times than sums of 32 bits hold, every product at its largest.
fn long(session: &mut Session) -> Result<(), End> {
    const SHAPE: Shape = [3, 2, 3, 30_000, 2];
    let [batches, antennas, channels, spectra, pols] = SHAPE;
    for order in [BaselineOrder::Triangle, BaselineOrder::AntennaPairs, BaselineOrder::Full] {
        let sizes = params([("antennas", antennas), ("channels", channels), ("times", batches * spectra)]);
        session.case("chunks", format!("more than 32 bits hold, {}", order.name()), sizes, |session| {
            let (device, inputs) = (&session.device, Inputs::new(antennas, pols)?);
            let start = std::time::Instant::now();
            // One input is turned by a quarter: imaginary parts are the largest too.
            let of = |(_, antenna, ..): (usize, usize, usize, usize, usize)| match antenna {
                0 => Complex::new(127i8, -127),
                _ => Complex::new(127, 127),
            };
            let heaps = Heaps::new(ndarray::Array5::from_shape_fn((batches, antennas, channels, spectra, pols), of))?;
            let voltages = heaps.to_voltages();
            let rows = Rows::from_voltages(&voltages);
            let mut upload = Uploader::new(&session.stream);
            let on_device = (upload.heaps(&heaps)?, upload.rows(&rows)?);
            let times = 0..batches * spectra;
            let new = || Correlator::<Complex<i8>>::new(&Backend::on(device.clone()), inputs, channels);
            let mut all = [Correlator::new(&Backend::cpu(), inputs, channels)?, new()?, new()?.on(&session.stream)?];
            // Dumps of three chunks, of one, and of three again.
            for chunks in [3, 1, 3] {
                for chunk in 0..chunks {
                    let [cpu, host, device] = &mut all;
                    cpu.accumulate(&voltages, times.clone())?;
                    match chunk {
                        0 => (
                            host.accumulate(&voltages, times.clone())?,
                            device.accumulate(&on_device.0, times.clone())?,
                        ),
                        1 => (host.accumulate(&on_device.0, times.clone())?, device.accumulate(&rows, times.clone())?),
                        _ => (host.accumulate(&heaps, times.clone())?, device.accumulate(&on_device.1, times.clone())?),
                    };
                }
                let [cpu, host, device] = &mut all;
                let expected = cpu.dump(order)?;
                let places = [("host", host.dump(order)?), ("device", device.dump_on_device(order)?.to_host()?)];
                for (place, actual) in places {
                    if actual != expected {
                        return Err(format!("a dump of {chunks} chunks on the {place} differs").into());
                    }
                }
            }
            let expected = correlate(&Backend::cpu(), &voltages, order)?;
            if correlate(&Backend::on(device.clone()), &voltages, order)? != expected {
                return Err("one call differs".into());
            }
            let schedule = DumpSchedule::new(1, spectra as u64, batches as u64)?;
            let stream = |backend: &Backend| Integrator::<Complex<i8>>::new(backend, schedule, inputs, channels);
            let mut cpu = stream(&Backend::cpu())?.with_order(order)?.in_32_bits(MissingData::Sum);
            let mut gpu = stream(&Backend::on(device.clone()))?.with_order(order)?.in_32_bits(MissingData::Sum);
            let clock = fringes::SpectrumClock { first_sample: 0, samples_between_spectra: 1, sample_rate_hz: 1.0 };
            let heaps = heaps.with_clock(clock)?;
            let (expected, actual) = (cpu.push(&heaps)?, gpu.push(&heaps)?);
            let verdict = if expected == actual && expected.len() == 1 && expected[0].saturated() > 0 {
                Ok(())
            } else {
                Err("dumps in 32 bits differ, or nothing was clamped".into())
            };
            let time_ms = start.elapsed().as_secs_f64() * 1e3;
            let against = "the CPU backend (held to the reference by its tests)";
            Ok(Outcome { time_ms, value: 0.0, unit: "", against, verdict })
        })?;
    }
    Ok(())
}

/// Dumps of 32 bits from a stream of chunks of every place in turn, in every order, on the host and on the device.
fn dumps32(session: &mut Session, shape: Shape) -> Result<(), End> {
    let [batches, antennas, channels, spectra, pols] = shape;
    for order in [BaselineOrder::Triangle, BaselineOrder::AntennaPairs, BaselineOrder::Full] {
        for missing in [MissingData::Sum, MissingData::Mark] {
            let sizes = params([("antennas", antennas), ("batches", batches), ("channels", channels), ("pols", pols)]);
            session.case("chunks", format!("dumps, {}, {missing:?}", order.name()), sizes, |session| {
                let (device, inputs) = (&session.device, Inputs::new(antennas, pols)?);
                let schedule = DumpSchedule::new(16, spectra as u64, 3)?;
                let start = std::time::Instant::now();
                let chunk = |index: usize| heaps::<Complex<i8>>(shape, (index * batches * spectra * 16) as u64, 40);
                let mut cpu = Integrator::new(&Backend::cpu(), schedule, inputs, channels)?
                    .with_order(order)?
                    .in_32_bits(missing);
                let gpu = || Integrator::<Complex<i8>>::new(&Backend::on(device.clone()), schedule, inputs, channels);
                let mut host = gpu()?.with_order(order)?.in_32_bits(missing);
                let on_device = gpu()?.with_order(order)?.on(&session.stream)?;
                let mut on_device = on_device.in_32_bits(missing).dumps_on_device()?;
                let mut wide = gpu()?.with_order(order)?.dumps_on_device()?;
                let (mut expected, mut actual, mut back, mut wider) = (vec![], vec![], vec![], vec![]);
                for index in 0..6 {
                    let heaps = chunk(index)?;
                    expected.extend(cpu.push(&heaps)?);
                    let rows = Uploader::new(&session.stream).rows(&Rows::from_voltages(&heaps.to_voltages()))?;
                    let there = Uploader::new(&session.stream).heaps(&heaps)?;
                    let (of_host, of_device, of_wide) = match index % 3 {
                        0 => (host.push(&heaps)?, on_device.push(&rows)?, wide.push(&there)?),
                        1 => (host.push(&there)?, on_device.push(&heaps)?, wide.push(&rows)?),
                        _ => (host.push(&rows)?, on_device.push(&there)?, wide.push(&heaps)?),
                    };
                    actual.extend(of_host);
                    back.extend(of_device);
                    wider.extend(of_wide);
                }
                expected.extend(cpu.finish()?);
                actual.extend(host.finish()?);
                back.extend(on_device.finish()?);
                wider.extend(wide.finish()?);
                let back = back.iter().map(ToHost::to_host).collect::<Result<Vec<_>, _>>()?;
                let narrowed = wider.iter().map(|dump| {
                    let form = fringes::Dump32::new(&dump.to_host()?, missing);
                    Ok::<_, Failure>(form)
                });
                let narrowed = narrowed.collect::<Result<Vec<_>, _>>()?;
                let verdict = if expected != actual {
                    Err("dumps on the host differ".into())
                } else if expected != back {
                    Err("dumps on the device differ".into())
                } else if expected != narrowed {
                    Err("dumps of 64 bits on the device differ".into())
                } else {
                    Ok(())
                };
                let time_ms = start.elapsed().as_secs_f64() * 1e3;
                let spectra: u64 = expected.iter().map(|dump| dump.times()).sum();
                Ok(Outcome {
                    time_ms,
                    value: spectra as f64 / time_ms / 1e3,
                    unit: "Mspectra/s, with copies and allocation",
                    against: "the same stream on the CPU backend (held to the reference by its tests)",
                    verdict,
                })
            })?;
        }
    }
    Ok(())
}

/// Chunks that cannot be read are typed errors, and the next call finds everything as it was.
fn refused(session: &mut Session) -> Result<(), End> {
    session.case("chunks", "refusals", params([("antennas", 4)]), |session| {
        let (stream, inputs) = (&session.stream, Inputs::single_pol(4)?);
        let bytes = Buffer::<u8>::zeroed(stream, 64 * 4 * 2 + 16)?;
        let at = |start: usize| -> Result<_, Failure> {
            let view = bytes.slice(start..start + 64 * 4 * 2)?.cast::<Complex<i8>>()?;
            Ok(DeviceArray::from(view))
        };
        let mut gpu = Correlator::<Complex<i8>>::new(&Backend::on(session.device.clone()), inputs, 1)?;
        let mut cpu = Correlator::<Complex<i8>>::new(&Backend::cpu(), inputs, 1)?;
        let misaligned = gpu.accumulate(&Rows::from_array(at(2)?, 1, 64, inputs)?, 0..64);
        let odd = gpu.accumulate(&Voltages::from_array(at(1)?, 1, 64, inputs)?, 0..64);
        let elsewhere = cpu.accumulate(&Rows::from_array(at(0)?, 1, 64, inputs)?, 0..64);
        let short = Rows::<Complex<i8>, _>::from_array(at(0)?, 1, 65, inputs);
        let on = cpu.on(stream).map(|_| ());
        let alignment = |answer: &Result<(), CorrelatorError>| {
            matches!(answer, Err(CorrelatorError::Device(DeviceError::Alignment { .. })))
        };
        let place = |answer: &Result<(), CorrelatorError>| {
            matches!(answer, Err(CorrelatorError::Device(DeviceError::WrongDevice { .. })))
        };
        let nothing_added = gpu.spectra() == 0;
        let there = Rows::from_array(at(0)?, 1, 64, inputs)?;
        let zeros = correlate(&Backend::cpu(), &there, BaselineOrder::Full)?;
        let verdict = if !alignment(&misaligned) || !alignment(&odd) {
            Err(format!("expected errors of alignment, got {misaligned:?} and {odd:?}"))
        } else if !place(&elsewhere) || !place(&on) || short.is_ok() {
            Err(format!("expected errors of place and length, got {elsewhere:?}, {on:?}"))
        } else if !nothing_added || zeros.times() != 64 {
            Err("something was added".into())
        } else {
            Ok(())
        };
        Ok(Outcome { time_ms: 0.0, value: 0.0, unit: "", against: "typed refusals", verdict })
    })
}
