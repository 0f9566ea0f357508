//! That instruments from host memory give what they must.

use fringes::correlator::Bins;
use fringes::stream::sink::{Collected, MemorySink, Overflow, Product, Sums};
use fringes::stream::source::Source;
use fringes::stream::{Fx, StreamSample};
use fringes::{Backend, Complex, Gains, Precision};
use fringes_gpu::Device;

use crate::end::End;
use crate::instrument::case::{Case, Memory, Replayed, filled};
use crate::instrument::{check_ring, check_spead};

const CASE: Case = Case { antennas: 5, channels: 512, spectra: 192, frame: 64, dump: 2 };
const CHUNKS: u64 = 9;

/// All checks, with what each says.
pub(crate) fn run(device: &Device) -> Vec<(&'static str, Result<String, End>)> {
    vec![
        ("F and X, pinned and pageable", samples(device)),
        ("X of 8 bits, on the GPU and the CPU", heaps::<Complex<i8>>(device, 0.0)),
        ("X of f32, on the GPU and the CPU", heaps::<Complex<f32>>(device, 3e-6)),
        ("channels left out from a sample on, on the GPU and the CPU", chosen(device)),
        ("X by two bins, on the GPU and the CPU", bins(device)),
        ("packets in pinned memory and in vectors", packets(device)),
        ("the ring of voltages", check_ring::run(device, CASE, CHUNKS)),
    ]
}

/// Dumps of an instrument.
fn dumps<V: StreamSample>(fx: Fx<V>, source: impl Source + 'static) -> Result<Vec<Sums>, End> {
    let (sink, products): (_, Collected) = MemorySink::new();
    let running = fx.sink(sink, Overflow::Block).start(source).map_err(End::failed)?;
    running.join().into_result().map_err(End::failed)?;
    Ok(sums(&products))
}

/// The sums of dumps that a sink has collected.
pub(super) fn sums(products: &Collected) -> Vec<Sums> {
    let dump = |product| match product {
        Product::Dump(dump) => Some(dump.sums.clone()),
        _ => None,
    };
    products.take().into_iter().filter_map(dump).collect()
}

/// Samples in pinned and in pageable memory, the pinned ones cut by a change of gains as well.
fn samples(device: &Device) -> Result<String, End> {
    let backend = Backend::on(device.clone());
    let pool = filled(device, 4 * CASE.words())?;
    let mut all = Vec::new();
    for (memory, change) in
        [(Memory::Pinned, false), (Memory::Pageable, false), (Memory::Pinned, true), (Memory::Pageable, true)]
    {
        let (sink, products): (_, Collected) = MemorySink::new();
        let fx = CASE.fx(&backend, Precision::Half)?.sink(sink, Overflow::Block);
        let (started, start) = std::sync::mpsc::channel();
        let source = CASE.samples(&pool, memory, CHUNKS)?.waits_for(start);
        let running = fx.start(source).map_err(End::failed)?;
        if change {
            // Within a chunk, which is cut there.
            let at = (CASE.times() as u64) * 5 / 2;
            running.control().set_gains(at, Gains::uniform(0.05).map_err(End::failed)?);
        }
        drop::<std::sync::mpsc::Sender<()>>(started);
        running.join().into_result().map_err(End::failed)?;
        all.push(sums(&products));
    }
    let [pinned, pageable, pinned_cut, pageable_cut] = &all[..] else {
        return Err(End::failed("not all instruments ran"));
    };
    if pinned.len() < 4 || pinned != pageable || pinned_cut != pageable_cut || pinned == pinned_cut {
        let lengths: Vec<usize> = all.iter().map(Vec::len).collect();
        return Err(End::failed(format!("dumps differ, of {lengths:?}")));
    }
    Ok(format!("{} dumps are the same, bit for bit, also where gains change within a chunk", pinned.len()))
}

/// Sums by bins that change with every heap, on the GPU from pinned memory and on the CPU.
fn bins(device: &Device) -> Result<String, End> {
    let pool = <Complex<i8>>::filled(device, CASE.values())?;
    let run = |backend: &Backend, memory| {
        let table = vec![Some(0), Some(1), Some(1), Some(0), None, Some(0), Some(1)];
        let bins = Bins::table(2, CASE.frame as u64, table).map_err(End::failed)?;
        let (inputs, schedule) = (CASE.inputs()?, CASE.schedule()?);
        let fx = Fx::<Complex<i8>>::of_heaps(backend, inputs, CASE.channels).bins(schedule, bins);
        dumps(fx, CASE.heaps::<Complex<i8>>(&pool, memory, CHUNKS)?)
    };
    let found = run(&Backend::on(device.clone()), Memory::Pinned)?;
    let expected = run(&Backend::cpu(), Memory::Pageable)?;
    if found != expected || found.len() < 8 {
        return Err(End::failed(format!("dumps differ, {} and {} of them", found.len(), expected.len())));
    }
    Ok(format!("{} dumps are the same, bit for bit", found.len()))
}

/// Packets to an instrument, in memory of either kind.
fn packets(device: &Device) -> Result<String, End> {
    let pool = filled(device, 4 * CASE.words())?;
    check_spead::run(device, CASE, &pool, CHUNKS)
}

/// Channels that are left out of heaps by hand, on the GPU from pinned memory and on the CPU.
fn chosen(device: &Device) -> Result<String, End> {
    let pool = <Complex<i8>>::filled(device, CASE.values())?;
    let frame = (CASE.frame * 2 * CASE.channels) as u64;
    let run = |backend: &Backend, memory| {
        let (sink, products): (_, Collected) = MemorySink::new();
        let (started, start) = std::sync::mpsc::channel();
        let source = CASE.heaps::<Complex<i8>>(&pool, memory, CHUNKS)?.waits_for(start);
        let running = CASE.x::<Complex<i8>>(backend)?.sink(sink, Overflow::Block).start(source).map_err(End::failed)?;
        // Within a frame, at the start of one, and none again.
        for (sample, channels) in [(7 * frame / 2, vec![3, 500]), (9 * frame, (0..100).collect()), (20 * frame, vec![])]
        {
            running.control().set_masked_channels(sample, channels);
        }
        drop::<std::sync::mpsc::Sender<()>>(started);
        let report = running.join().into_result().map_err(End::failed)?;
        Ok::<_, End>((sums(&products), report.masked))
    };
    let (found, masked) = run(&Backend::on(device.clone()), Memory::Pinned)?;
    let (expected, _) = run(&Backend::cpu(), Memory::Pageable)?;
    // Frames 4 to 8 without two channels, 9 to 19 without a hundred.
    let asked = 5 * 2 + 11 * 100;
    if found != expected || found.len() < 4 || masked[0] != asked {
        let lengths = (found.len(), expected.len());
        return Err(End::failed(format!("dumps differ, of {lengths:?}; {masked:?} masked, expected {asked}")));
    }
    Ok(format!("{} dumps are the same, bit for bit; {asked} of {} left out", found.len(), masked[1]))
}

/// Heaps on the GPU, pinned and pageable, and on the CPU.
fn heaps<V: Replayed>(device: &Device, tolerance: f64) -> Result<String, End> {
    let pool = V::filled(device, CASE.values())?;
    let run = |backend: &Backend, memory| dumps(CASE.x::<V>(backend)?, CASE.heaps::<V>(&pool, memory, CHUNKS)?);
    let gpu = Backend::on(device.clone());
    let pinned = run(&gpu, Memory::Pinned)?;
    let expected = run(&Backend::cpu(), Memory::Pageable)?;
    let mut largest = 0.0f64;
    for other in [&pinned, &run(&gpu, Memory::Pageable)?, &run(&Backend::cpu(), Memory::Pinned)?] {
        if other.len() != expected.len() || other.len() < 4 {
            return Err(End::failed(format!("expected {} dumps, found {}", expected.len(), other.len())));
        }
        for (sums, expected) in other.iter().zip(&expected) {
            if sums.valid_samples() != expected.valid_samples() || sums.first_sample() != expected.first_sample() {
                return Err(End::failed("other counts or stamps"));
            }
            let (sums, expected) = (sums.to_c64(), expected.to_c64());
            let norm = expected.iter().map(|sum| sum.norm()).fold(0.0, f64::max);
            let error = sums.iter().zip(&expected).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
            largest = largest.max(error / norm);
        }
    }
    if largest > tolerance {
        return Err(End::failed(format!(
            "differ by {largest:.2e} of the largest sum, expected at most {tolerance:.0e}"
        )));
    }
    Ok(format!("{} dumps differ by at most {largest:.1e} of the largest sum", expected.len()))
}
