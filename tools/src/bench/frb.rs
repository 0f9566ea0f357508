//! FRB beams from device memory to device memory, beside real time and what their bytes take at the copy bandwidth: the
//! chains of CHIME, CASM and CHORD, and CHIME's beams as voltages.

use fringes::beamformer::{
    ChordGrid, FrbBeams, FrbInterpolation, FrbInterpolationKernels, FrbKernels, FrbLayout, FrbVoltageKernels, Offset,
};
use fringes::f16;
use fringes::{BeamformerError, Complex, Complex4};
use fringes_gpu::{Buffer, BufferView};
use ndarray::{Array4, Array5, ArrayView5};
use num_complex::Complex64 as C64;

use crate::bench::ceilings::Ceilings;
use crate::bench::random::Source;
use crate::bench::timing::{Bench, Measured};
use crate::end::End;
use crate::frb_data::{expected, judge};
use crate::gpu_report::params;

/// A chain, and how much of it a run does.
pub(crate) struct Chain {
    pub(crate) variant: &'static str,
    pub(crate) beams: FrbBeams,
    /// Microseconds from a time to the next.
    time_us: f64,
    /// Sums over time of a run.
    sums: usize,
}

/// CHIME's chain at 16 frequencies.
pub(crate) fn chime() -> Result<Chain, BeamformerError> {
    let frequencies: Vec<f64> = (0..16).map(|k| 800e6 - 25e6 * f64::from(k)).collect();
    let beams = FrbBeams::chime(&frequencies, gains([16, 2, 4, 256]), &[-0.007, 0.0, 0.007, 0.014])?;
    Ok(Chain { variant: "CHIME", beams, time_us: 2.56, sums: 128 })
}

/// CASM's chain at 3072 frequencies.
pub(crate) fn casm() -> Result<Chain, BeamformerError> {
    let frequencies: Vec<f64> = (0..3072).map(|k| 400e6 + 1e8 / 3072.0 * f64::from(k)).collect();
    let beams = FrbBeams::casm(&frequencies, gains([3072, 2, 6, 43]))?;
    Ok(Chain { variant: "CASM", beams, time_us: 32.768, sums: 48 })
}

/// CHORD's grid of dishes at 16 frequencies with 24 beams toward east-west; times and sums are CHIME's, as CHORD's are
/// not published.
pub(crate) fn chord(channels: usize) -> Result<Chain, BeamformerError> {
    let frequencies: Vec<f64> = (0..16).map(|k| 400e6 + 50e6 * f64::from(k)).collect();
    let angles: Vec<f64> = (0..24).map(|out| (f64::from(out) - 11.5) * 2e-3).collect();
    let beams = FrbBeams::chord(&frequencies, gains([16, 2, 24, 24]), &angles, ChordGrid::default())?.into_builder();
    let (beams, variant) = match channels {
        1 => (beams.blocks(384).build()?, "CHORD"),
        16 => (beams.upchannelisation(16).blocks(24).centre(true).build()?, "CHORD, 16 channels"),
        _ => (beams.upchannelisation(128).group(8).blocks(3).centre(true).build()?, "CHORD, 128 channels by 8"),
    };
    Ok(Chain { variant, beams, time_us: 2.56, sums: 128 })
}

/// Gains that turn by another angle at each feed.
fn gains([frequencies, pols, lines, feeds]: [usize; 4]) -> Array4<Complex<f32>> {
    Array4::from_shape_fn((frequencies, pols, lines, feeds), |(frequency, pol, line, n)| {
        Complex::from_polar(1.0, (frequency * 37 + pol * 11 + line * 5 + n * n) as f32)
    })
}

pub(crate) fn run(bench: &mut Bench, ceilings: &Ceilings) -> Result<(), End> {
    if !bench.wants("frb") {
        return Ok(());
    }
    let load =
        |bench: &Bench, chain: &Chain| FrbKernels::<Complex4>::load(&bench.device, &chain.beams).map_err(End::failed);
    let of_chime = chime().map_err(End::failed)?;
    let four = load(bench, &of_chime)?;
    case(bench, ceilings, &four, &of_chime)?;
    let any = load(bench, &of_chime)?.of_any_lines();
    case(bench, ceilings, &any, &Chain { variant: "CHIME, any lines", ..chime().map_err(End::failed)? })?;
    let products = FrbKernels::load_grid(&bench.device, &of_chime.beams, u32::MAX, false).map_err(End::failed)?;
    case(bench, ceilings, &products, &Chain { variant: "CHIME, products", ..chime().map_err(End::failed)? })?;
    for chain in [casm(), chord(1), chord(16), chord(128)] {
        let chain = chain.map_err(End::failed)?;
        let kernels = load(bench, &chain)?;
        case(bench, ceilings, &kernels, &chain)?;
        if chain.variant != "CHORD, 16 channels" {
            let any = FrbKernels::load_grid(&bench.device, &chain.beams, u32::MAX, true).map_err(End::failed)?;
            let variant = match chain.variant {
                "CASM" => "CASM, any lines",
                "CHORD" => "CHORD, any lines",
                _ => continue,
            };
            case(bench, ceilings, &any, &Chain { variant, ..chain })?;
        }
    }
    voltages(bench, ceilings, &of_chime)?;
    positions(bench, ceilings)
}

/// CASM's powers at 4672 positions between its beams.
fn positions(bench: &mut Bench, ceilings: &Ceilings) -> Result<(), End> {
    let chain = casm().map_err(End::failed)?;
    let frequencies: Vec<f64> = (0..3072).map(|k| 400e6 + 1e8 / 3072.0 * f64::from(k)).collect();
    // A spiral over the sky.
    let directions: Vec<[f64; 2]> = (0..4672)
        .map(|k| {
            let (radius, angle) = ((f64::from(k) / 4672.0).sqrt(), 2.4 * f64::from(k));
            [radius * angle.cos(), radius * angle.sin()]
        })
        .collect();
    let interpolation = FrbInterpolation::casm(&frequencies, &directions).map_err(End::failed)?;
    let kernels = FrbInterpolationKernels::load(&bench.device, &interpolation).map_err(End::failed)?;
    let sizes = [1, chain.sums, 1];
    let (beams, sums) = (chain.beams.beams(), chain.sums);
    let (count, made) = (3072 * sums * beams, kernels.powers(sizes));
    let moved = 4 * (count + made) + 16 * 3072 * directions.len();
    if !bench.fits("CASM, between beams", moved)? {
        return Ok(());
    }
    let stream = bench.stream.clone();
    let bytes = Source::bytes(&stream)?.buffer(&bench.device, &stream, count)?.to_vec(&stream)?;
    let powers: Vec<f32> = bytes.into_iter().map(f32::from).collect();
    let on_device = Buffer::from_slice(&stream, &powers)?;
    let mut out = Buffer::<f32>::alloc(&bench.device, made)?;
    let mut work = |_: usize| kernels.interpolate(&stream, on_device.view(), sizes, &mut out.view_mut());
    work(0).map_err(End::failed)?;
    let timing = bench.time(&mut work).map_err(End::failed)?;
    // The last frequency and time against the CPU.
    let last = &powers[powers.len() - beams..];
    let one = FrbInterpolation::casm(&frequencies[3071..], &directions).map_err(End::failed)?;
    let last = Array5::from_shape_vec((1, 1, 1, beams, 1), last.to_vec()).map_err(End::failed)?;
    let expected = one.interpolate_powers(last.view()).map_err(End::failed)?;
    let found = out.slice(made - directions.len()..)?.to_vec(&stream)?;
    let error =
        found.iter().zip(expected.iter()).map(|(found, expected)| (found - expected).abs()).fold(0f32, f32::max);
    if error.is_nan() || error > 1e-5 * 255.0 {
        return Err(End::failed(format!("powers between beams are off by {error}, of 255")));
    }
    let bound = ceilings.bytes(moved as f64);
    let text = format!(
        "{:.3}% of real time",
        100.0 * timing.median_ms * 1e3 / ((sums * chain.beams.sum_times()) as f64 * chain.time_us)
    );
    bench.add(Measured {
        kernel: "frb",
        variant: "CASM, between beams".into(),
        params: params([("beams", directions.len()), ("freqs", 3072), ("sums", sums)]),
        timing,
        work: moved as f64,
        unit: "GB/s",
        bound: Some(bound),
        check: format!("{} powers against the CPU: at most {error:.1e} of 255; {text}", directions.len()),
    });
    println!("{:>47} {text}", "");
    Ok(())
}

fn case(bench: &mut Bench, ceilings: &Ceilings, kernels: &FrbKernels<Complex4>, chain: &Chain) -> Result<(), End> {
    let Chain { variant, time_us, sums, .. } = *chain;
    let beams = kernels.beams();
    let layout = FrbLayout::packed::<Complex4>(beams, Offset::Offset8);
    let times = sums * beams.sum_times();
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
    let check = check(bench, kernels, sums, bytes.view(), powers.view())?;
    let bound = ceilings.bytes(moved as f64);
    let transforms = (times * beams.frequencies() * beams.pols() * beams.outs()) as f64;
    let info = bench.device.info();
    let cycles_a_ms = f64::from(info.multiprocessors) * f64::from(info.clock_khz);
    let cycles = timing.median_ms * cycles_a_ms / transforms;
    let load = |time_ms: f64| 100.0 * time_ms * 1e3 / (times as f64 * time_us);
    let text = format!(
        "{:.3}% of real time, its bytes take {:.3}; {cycles:.1} SM-cycles at {} MHz a sum over lines, of {} to {} beams",
        load(timing.median_ms),
        load(bound.time_ms),
        info.clock_khz / 1000,
        beams.feeds(),
        beams.north_beams()
    );
    bench.add(Measured {
        kernel: "frb",
        variant: variant.into(),
        params: params([
            ("beams", beams.beams()),
            ("freqs", beams.frequencies()),
            ("pols", beams.pols()),
            ("times", times),
        ]),
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
    kernels: &FrbKernels<Complex4>,
    sums: usize,
    bytes: BufferView<'_, u8>,
    powers: BufferView<'_, f32>,
) -> Result<String, End> {
    let beams = kernels.beams();
    let (fine, count, sum_times) = (beams.fine_channels(), beams.beams(), beams.sum_times());
    let (frequencies, pols, lines, feeds) = beams.gains().dim();
    let sum_bytes = bytes.len() / sums;
    let mut errors = Vec::new();
    for (frequency, sum) in [(0, 0), (frequencies - 1, sums - 1)] {
        let sent = bytes.slice(sum * sum_bytes..(sum + 1) * sum_bytes)?.to_vec(&bench.stream)?;
        let voltages = Array5::from_shape_fn((sum_times, 1, pols, lines, feeds), |(time, _, pol, line, n)| {
            let at = (((time * frequencies + frequency) * pols + pol) * lines + line) * feeds + n;
            let byte = sent[at];
            C64::new(f64::from(byte >> 4) - 8.0, f64::from(byte & 15) - 8.0)
        });
        let (expected, good) = expected(beams, frequency..frequency + 1, voltages.view(), None);
        let mut found = Vec::with_capacity(fine * count);
        for channel in 0..fine {
            let at = ((frequency * fine + channel) * sums + sum) * count;
            found.extend(powers.slice(at..at + count)?.to_vec(&bench.stream)?);
        }
        let found = ArrayView5::from_shape((1, fine, 1, count, 1), &found).map_err(End::failed)?;
        let (verdict, text) = judge(beams, kernels.by_products(), found, &expected, &good);
        verdict.map_err(|fault| End::failed(format!("FRB beams at frequency {frequency}, sum {sum}: {fault}")))?;
        errors.push(text);
    }
    Ok(format!("2 x {} powers against sums in f64: {}", fine * count, errors.join("; ")))
}

/// All beams of a chain as voltages of f16.
fn voltages(bench: &mut Bench, ceilings: &Ceilings, chain: &Chain) -> Result<(), End> {
    let beams = &chain.beams;
    let chosen: Vec<usize> = (0..beams.beams()).collect();
    let kernels = FrbVoltageKernels::<Complex4>::load(&bench.device, beams, &chosen).map_err(End::failed)?;
    let layout = FrbLayout::packed::<Complex4>(beams, Offset::Offset8);
    let times = 16384;
    let (read, count) = (times * layout.time_bytes, kernels.voltages(times));
    let moved = read + count * size_of::<Complex<f16>>();
    if !bench.fits("CHIME, voltages", moved)? {
        return Ok(());
    }
    let stream = bench.stream.clone();
    let bytes = Source::bytes(&stream)?.buffer(&bench.device, &stream, read)?;
    let mut out = Buffer::<Complex<f16>>::alloc(&bench.device, count)?;
    let mut work = |_: usize| kernels.form_bytes(&stream, bytes.view(), layout, times, &mut out.view_mut());
    work(0).map_err(End::failed)?;
    let timing = bench.time(&mut work).map_err(End::failed)?;
    let bound = ceilings.bytes(moved as f64);
    let text = format!("{:.3}% of real time", 100.0 * timing.median_ms * 1e3 / (times as f64 * chain.time_us));
    bench.add(Measured {
        kernel: "frb",
        variant: "CHIME, voltages as f16".into(),
        params: params([
            ("beams", beams.beams()),
            ("freqs", beams.frequencies()),
            ("pols", beams.pols()),
            ("times", times),
        ]),
        timing,
        work: moved as f64,
        unit: "GB/s",
        bound: Some(bound),
        check: format!("values not compared in this run: validate's frb compares such; {text}"),
    });
    println!("{:>47} {text}", "");
    Ok(())
}
