//! FRB beams from device memory to device memory: CHIME's chain at 16 frequencies, beside real time and what its bytes
//! take at the copy bandwidth.

use fringes::beamformer::{FrbBeams, FrbKernels, FrbLayout, Offset};
use fringes::{Complex, Complex4};
use fringes_gpu::{Buffer, BufferView};
use ndarray::{Array4, Array5, ArrayView5};
use num_complex::Complex64 as C64;

use crate::bench::ceilings::Ceilings;
use crate::bench::random::Source;
use crate::bench::timing::{Bench, Measured};
use crate::end::End;
use crate::frb_data::{expected, judge};
use crate::gpu_report::params;

/// Frequencies, polarisations, lines and feeds of a line.
const FREQUENCIES: usize = 16;
const POLS: usize = 2;
const LINES: usize = 4;
const FEEDS: usize = 256;
/// Sums over time of a run.
const SUMS: usize = 128;
/// Microseconds from a time to the next.
const TIME_US: f64 = 2.56;

pub(crate) fn run(bench: &mut Bench, ceilings: &Ceilings) -> Result<(), End> {
    if !bench.wants("frb") {
        return Ok(());
    }
    let beams = beams().map_err(End::failed)?;
    let kernels = || FrbKernels::<Complex4>::load(&bench.device, &beams).map_err(End::failed);
    let (four, any) = (kernels()?, kernels()?.of_any_lines());
    case(bench, ceilings, &four, "CHIME")?;
    case(bench, ceilings, &any, "CHIME, any lines")
}

/// CHIME's chain, with gains that turn by another angle at each feed.
fn beams() -> Result<FrbBeams, fringes::BeamformerError> {
    let frequencies: Vec<f64> = (0..FREQUENCIES).map(|k| 800e6 - 25e6 * k as f64).collect();
    let gains = Array4::from_shape_fn((FREQUENCIES, POLS, LINES, FEEDS), |(frequency, pol, line, n)| {
        Complex::from_polar(1.0, (frequency * 37 + pol * 11 + line * 5 + n * n) as f32)
    });
    FrbBeams::chime(&frequencies, gains, &[-0.007, 0.0, 0.007, 0.014])
}

fn case(bench: &mut Bench, ceilings: &Ceilings, kernels: &FrbKernels<Complex4>, variant: &str) -> Result<(), End> {
    let beams = kernels.beams();
    let layout = FrbLayout::packed::<Complex4>(beams, Offset::Offset8);
    let times = SUMS * beams.sum_times();
    let (read, written) = (times * layout.time_bytes, kernels.powers(times).map_err(End::failed)?);
    let moved = read + written * size_of::<f32>();
    if !bench.fits(variant, moved)? {
        return Ok(());
    }
    let stream = bench.stream.clone();
    // Far more than the L2: one run's voltages are never there for the next.
    let bytes = Source::bytes(&stream)?.buffer(&bench.device, &stream, read)?;
    let mut powers = Buffer::<f32>::alloc(&bench.device, written)?;
    let mut work = |_: usize| kernels.detect_bytes(&stream, bytes.view(), layout, times, None, &mut powers.view_mut());
    work(0).map_err(End::failed)?;
    let timing = bench.time(&mut work).map_err(End::failed)?;
    let check = check(bench, beams, bytes.view(), powers.view())?;
    let bound = ceilings.bytes(moved as f64);
    let transforms = (times * FREQUENCIES * POLS * beams.outs()) as f64;
    let info = bench.device.info();
    let cycles_a_ms = f64::from(info.multiprocessors) * f64::from(info.clock_khz);
    let cycles = timing.median_ms * cycles_a_ms / transforms;
    let load = |time_ms: f64| 100.0 * time_ms * 1e3 / (times as f64 * TIME_US);
    let text = format!(
        "{:.3}% of real time, its bytes take {:.3}; {cycles:.1} SM-cycles at {} MHz a transform of {} to {}",
        load(timing.median_ms),
        load(bound.time_ms),
        info.clock_khz / 1000,
        FEEDS,
        beams.padded()
    );
    bench.add(Measured {
        kernel: "frb",
        variant: variant.into(),
        params: params([("beams", beams.beams()), ("freqs", FREQUENCIES), ("pols", POLS), ("times", times)]),
        timing,
        work: moved as f64,
        unit: "GB/s",
        bound: Some(bound),
        check: format!("{check}; {text}"),
    });
    println!("{:>47} {text}", "");
    Ok(())
}

/// Compares all beams of the first and the last frequency and sum with sums in f64.
fn check(
    bench: &Bench,
    beams: &FrbBeams,
    bytes: BufferView<'_, u8>,
    powers: BufferView<'_, f32>,
) -> Result<String, End> {
    let (fine, count, sum_times) = (beams.fine_channels(), beams.beams(), beams.sum_times());
    let sum_bytes = bytes.len() / SUMS;
    let mut errors = Vec::new();
    for (frequency, sum) in [(0, 0), (FREQUENCIES - 1, SUMS - 1)] {
        let sent = bytes.slice(sum * sum_bytes..(sum + 1) * sum_bytes)?.to_vec(&bench.stream)?;
        let voltages = Array5::from_shape_fn((sum_times, 1, POLS, LINES, FEEDS), |(time, _, pol, line, n)| {
            let at = (((time * FREQUENCIES + frequency) * POLS + pol) * LINES + line) * FEEDS + n;
            let byte = sent[at];
            C64::new(f64::from(byte >> 4) - 8.0, f64::from(byte & 15) - 8.0)
        });
        let (expected, good) = expected(beams, frequency..frequency + 1, voltages.view(), None);
        let mut found = Vec::with_capacity(fine * count);
        for channel in 0..fine {
            let at = ((frequency * fine + channel) * SUMS + sum) * count;
            found.extend(powers.slice(at..at + count)?.to_vec(&bench.stream)?);
        }
        let found = ArrayView5::from_shape((1, fine, 1, count, 1), &found).map_err(End::failed)?;
        let (verdict, text) = judge(beams, found, &expected, &good);
        verdict.map_err(|fault| End::failed(format!("FRB beams at frequency {frequency}, sum {sum}: {fault}")))?;
        errors.push(text);
    }
    Ok(format!("2 x {} powers against sums in f64: {}", fine * count, errors.join("; ")))
}
