//! The X-engine as users call it: chunks on the device through `Correlator` and `CorrelatorKernels` beside direct
//! launches, and `correlate()` of host arrays as a share of the link.
//!
//! `correlate_device`: rows on the device, added to 64-bit sums; `direct` is the launch of a `wgmma` kernel by hand, in
//! each number of parts that the sums have room for, `kernels` is `CorrelatorKernels::accumulate`, `chunk` is
//! `Correlator::accumulate` of a `DeviceRows` on the same stream. All of a size are timed in turn, run by run, so that
//! clocks are alike to all: large sizes are limited by power.
//!
//! `correlate_link`: the rate at which `correlate()` takes voltages, from pageable memory (an `ndarray` array) and from
//! pinned memory, with its dump: what counts are the voltages' bytes alone, over the time of the whole call, in which
//! the sums are added up, copied back and stored in fresh memory. The floor is the link, measured before and after each
//! by copies of the same pinned memory. `first` and `second` are calls for 64 inputs, one channel and 64 spectra; the
//! first one loads the kernels (`--only correlate_link` measures it before anything else is loaded).

use std::time::Instant;

use fringes::backend::{Backend, DeviceArray, PinnedArray};
use fringes::correlator::Chunk;
use fringes::correlator::internals::mma::{Format, Order};
use fringes::correlator::internals::wgmma::{WgmmaJob, WgmmaKernel, WgmmaSamples};
use fringes::correlator::kernels::{CorrelatorKernels, Work};
use fringes::types::Rows;
use fringes::{BaselineOrder, Complex, Correlator, Inputs, Voltages, correlate};
use fringes_gpu::{Buffer, Timing};
use ndarray::Array3;

use crate::bench::random::Source;
use crate::bench::timing::{Bench, Bound, Measured};
use crate::end::End;
use crate::gpu_report::{Params, params};

/// Stations, channels and times of chunks on the device.
const ON_DEVICE: [[usize; 3]; 6] =
    [[32, 2048, 4096], [64, 1024, 4096], [64, 64, 4096], [256, 256, 4096], [512, 128, 4096], [1024, 32, 4096]];

/// Parts of launches by hand.
const PARTS: [usize; 3] = [1, 2, 4];

/// Stations whose voltages come over the link.
const STATIONS: [usize; 4] = [32, 64, 128, 256];

/// Stations times channels of those: 64 channels of 64 stations.
const STATION_CHANNELS: usize = 4096;

/// Bytes of those, whose sums are few beside them: 131072 spectra.
const BYTES: usize = 2 << 30;

/// Calls that are timed.
const CALLS: usize = 10;

type Sample = Complex<i8>;

pub(crate) fn run(bench: &mut Bench) -> Result<(), End> {
    if bench.wants("correlate_link") {
        latency(bench)?;
        for stations in STATIONS {
            link(bench, stations)?;
        }
    }
    if bench.wants("correlate_device") {
        let source = Source::bytes(&bench.stream)?;
        for size in ON_DEVICE {
            on_device(bench, &source, size)?;
        }
    }
    Ok(())
}

fn sizes(inputs: Inputs, channels: usize, times: usize) -> Params {
    params([("channels", channels), ("inputs", inputs.len()), ("times", times)])
}

/// Operations for each baseline and time.
fn operations(inputs: Inputs, channels: usize, times: usize) -> f64 {
    8.0 * (channels * inputs.triangle_len()) as f64 * times as f64
}

fn on_device(bench: &mut Bench, source: &Source<u8>, [stations, channels, times]: [usize; 3]) -> Result<(), End> {
    let inputs = Inputs::new(stations, 2).map_err(End::failed)?;
    let work = Work::rows(channels, times);
    let bytes = work.samples::<Sample>(inputs).map_err(End::failed)? * size_of::<Sample>();
    let kernels = CorrelatorKernels::<Sample>::load(&bench.device, inputs).map_err(End::failed)?;
    let parts = kernels.most_parts(channels);
    let length = parts * channels * inputs.triangle_len();
    if !bench.fits(&format!("correlate_device, {stations} stations"), bytes + 2 * length * 16)? {
        return Ok(());
    }
    let stream = bench.stream.clone();
    let rows = source.buffer(&bench.device, &stream, bytes)?;
    let mut sums = Buffer::<Complex<i32>>::zeroed(&stream, length)?;
    let mut direct = Vec::new();
    if WgmmaKernel::runs_on(&bench.device) {
        let kernel = WgmmaKernel::choose(Format::I8, Order::Rows, inputs.len());
        let entry = kernel.load(&bench.device, true).map_err(End::failed)?;
        let samples = WgmmaSamples::Rows { blocks: times.div_ceil(64), times: 0..times };
        for parts in PARTS.into_iter().filter(|&tried| tried <= parts) {
            let job = WgmmaJob { channels, inputs: inputs.len(), samples: samples.clone(), parts };
            direct.push((kernel, entry.clone(), job));
        }
    }
    let chunk = Rows::from_array(DeviceArray::from(rows.view().cast::<Sample>()?), channels, times, inputs);
    let chunk = chunk.map_err(End::failed)?;
    let backend = Backend::on(bench.device.clone());
    let correlator =
        Correlator::<Sample>::new(&backend, inputs, channels).and_then(|correlator| correlator.on(&stream));
    let mut correlator = correlator.map_err(End::failed)?;
    let by_hand = |parts: usize| format!("direct, {parts} part{}", if parts == 1 { "" } else { "s" });
    let mut names: Vec<_> = direct.iter().map(|(_, _, job)| by_hand(job.parts)).collect();
    names.extend(["kernels".into(), "chunk".into()]);
    let timings = bench.time_in_turn(names.len(), |kind| match direct.get(kind) {
        Some((kernel, entry, job)) => {
            let sums = sums.view_mut().cast::<[i32; 2]>()?;
            job.launch(&stream, *kernel, entry, rows.view(), sums)
        }
        None if kind == direct.len() => {
            kernels.accumulate(&stream, &work, rows.view().cast::<Sample>()?, &mut sums.view_mut(), parts)
        }
        None => correlator.accumulate(&chunk, 0..times),
    });
    let timings = names.into_iter().zip(timings.map_err(End::failed)?);
    let check = check_device(bench, &chunk, &rows, inputs, [channels, times])?;
    for (what, timing) in timings {
        bench.add(Measured {
            kernel: "correlate_device",
            variant: format!("{stations} stations, {what}"),
            params: sizes(inputs, channels, times),
            timing,
            work: operations(inputs, channels, times),
            unit: "useful TOPS",
            bound: None,
            check: check.clone(),
        });
    }
    Ok(())
}

/// Compares autocorrelations of one dump of a chunk on the device with sums of its rows.
fn check_device(
    bench: &Bench,
    chunk: &impl Chunk<Sample>,
    rows: &Buffer<u8>,
    inputs: Inputs,
    [channels, times]: [usize; 2],
) -> Result<String, End> {
    let dump = correlate(&Backend::cpu(), chunk, BaselineOrder::Triangle).map_err(End::failed)?;
    let (blocks, last) = (times.div_ceil(64), inputs.len() - 1);
    for channel in [0, channels - 1] {
        let bytes = blocks * inputs.len() * 128;
        let rows = rows.slice(channel * bytes..(channel + 1) * bytes)?.to_vec(&bench.stream)?;
        let square = |&byte: &u8| i64::from(byte as i8).pow(2);
        let row = |block: usize| &rows[(block * inputs.len() + last) * 128..][..2 * (times - 64 * block).min(64)];
        let expected: i64 = (0..blocks).flat_map(row).map(square).sum();
        let actual = dump.data()[(channel, inputs.triangle_len() - 1)];
        if actual != Complex::new(expected, 0) {
            return Err(End::failed(format!("channel {channel}: expected {expected}, got {actual}")));
        }
    }
    Ok("2 autocorrelations of a chunk equal sums in i64, error 0".into())
}

/// The first calls of a process.
fn latency(bench: &mut Bench) -> Result<(), End> {
    let inputs = Inputs::new(32, 2).map_err(End::failed)?;
    let data = Array3::from_shape_fn((1, 64, 64), |(_, time, input)| Complex::new((time % 100) as i8, input as i8));
    let voltages = Voltages::new(data, inputs).map_err(End::failed)?;
    let backend = Backend::on(bench.device.clone());
    let expected = correlate(&Backend::cpu(), &voltages, BaselineOrder::Triangle).map_err(End::failed)?;
    let mut times = Vec::new();
    for _ in 0..20 {
        let start = Instant::now();
        let dump = correlate(&backend, &voltages, BaselineOrder::Triangle).map_err(End::failed)?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
        if dump != expected {
            return Err(End::failed("correlate() of 64 inputs, 1 channel, 64 spectra differs from the CPU's"));
        }
    }
    let later = times.split_off(2);
    for (what, all) in [("first", vec![times[0]]), ("second", vec![times[1]]), ("later", later)] {
        let timing = Timing::new(all).map_err(End::failed)?;
        println!("correlate() of 64 inputs, 1 channel, 64 spectra, {what}: {:.1} us", 1e3 * timing.median_ms);
        bench.add(Measured {
            kernel: "correlate_link",
            variant: format!("{what} call"),
            params: sizes(inputs, 1, 64),
            timing,
            work: operations(inputs, 1, 64),
            unit: "useful TOPS",
            bound: None,
            check: "equals the CPU's, error 0".into(),
        });
    }
    Ok(())
}

/// `correlate()` from both kinds of host memory.
fn link(bench: &mut Bench, stations: usize) -> Result<(), End> {
    let inputs = Inputs::new(stations, 2).map_err(End::failed)?;
    let channels = STATION_CHANNELS / stations;
    let times = BYTES / (channels * inputs.len() * size_of::<Sample>());
    let output = channels * inputs.triangle_len() * 16;
    if !bench.fits(&format!("correlate_link, {stations} stations"), BYTES + 4 * output)? {
        return Ok(());
    }
    let stream = bench.stream.clone();
    let mut target = Source::bytes(&stream)?.buffer(&bench.device, &stream, BYTES)?;
    let mut pinned = PinnedArray::<Sample>::zeroed(&bench.device, BYTES / size_of::<Sample>()).map_err(End::failed)?;
    target.view().cast::<Sample>()?.copy_to_pinned(&stream, pinned.buffer_mut(), ..)?;
    let elements = pinned.as_slice().map_err(End::failed)?.to_vec();
    let data = Array3::from_shape_vec((channels, times, inputs.len()), elements).map_err(End::failed)?;
    let pageable = Voltages::from_checked(data, inputs).map_err(End::failed)?;
    let pinned = Voltages::from_array(pinned, channels, times, inputs).map_err(End::failed)?;
    let backend = Backend::on(bench.device.clone());

    // An autocorrelation and a product of the last channel, by their definition.
    let of = |a: usize, b: usize| -> Complex<i64> {
        let wide = |input: usize| {
            let last = pageable.data().index_axis_move(ndarray::Axis(0), channels - 1);
            last.index_axis_move(ndarray::Axis(1), input).mapv(|x| Complex::new(i64::from(x.re), i64::from(x.im)))
        };
        wide(a).iter().zip(&wide(b)).map(|(a, b)| a * b.conj()).sum()
    };
    let last = inputs.len() - 1;
    let expected = [of(last, last), of(last, 1)];

    let mut copy = |bench: &Bench| -> Result<f64, End> {
        let array = pinned.array().buffer();
        let timing = bench.time(|_| target.view_mut().cast::<Sample>()?.copy_from_pinned(&stream, array, ..));
        Ok(timing?.median_ms)
    };
    let before = copy(bench)?;
    for what in ["pageable", "pinned"] {
        let (mut all, mut check) = (Vec::new(), Ok(()));
        for call in 0..=CALLS {
            let start = Instant::now();
            let dump = if what == "pinned" {
                correlate(&backend, &pinned, BaselineOrder::Triangle)
            } else {
                correlate(&backend, &pageable, BaselineOrder::Triangle)
            };
            let time_ms = start.elapsed().as_secs_f64() * 1e3;
            let dump = dump.map_err(End::failed)?;
            let row = inputs.triangle_len() - inputs.len();
            let actual = [dump.data()[(channels - 1, row + last)], dump.data()[(channels - 1, row + 1)]];
            if actual != expected {
                check = Err(End::failed(format!("{what}: expected {expected:?}, got {actual:?}")));
            }
            if call > 0 {
                all.push(time_ms);
            }
        }
        check?;
        let after = copy(bench)?;
        let link_ms = before.min(after);
        let timing = Timing::new(all).map_err(End::failed)?;
        println!(
            "correlate() from {what} memory, {stations} stations: {:.1} of {:.1} GB/s, {:.1} % of the link (best call {:.1} %)",
            BYTES as f64 / timing.median_ms / 1e6,
            BYTES as f64 / link_ms / 1e6,
            100.0 * link_ms / timing.median_ms,
            100.0 * link_ms / timing.min_ms,
        );
        bench.add(Measured {
            kernel: "correlate_link",
            variant: format!("{stations} stations, {what}"),
            params: sizes(inputs, channels, times),
            timing,
            work: BYTES as f64,
            unit: "GB/s",
            bound: Some(Bound { time_ms: link_ms, by: "the link, by copies of the same pinned memory".into() }),
            check: "an autocorrelation and a product of the last channel equal sums in i64, error 0".into(),
        });
    }
    Ok(())
}
