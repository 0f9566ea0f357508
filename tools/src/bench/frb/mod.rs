//! FRB beams from device memory to device memory, beside real time and what their bytes take at the copy bandwidth: the
//! chains of CHIME, CASM and CHORD, CHIME's beams as voltages, and powers between CASM's.

mod chains;
mod positions;
mod voltages;

use fringes::Complex4;
use fringes::beamformer::{FrbKernels, FrbLayout, Offset};
use fringes_gpu::{Buffer, BufferView};
use ndarray::{Array5, ArrayView5};
use num_complex::Complex64 as C64;

use crate::bench::ceilings::Ceilings;
use crate::bench::random::Source;
use crate::bench::timing::{Bench, Measured};
use crate::end::End;
use crate::frb_data::{expected, judge};
use crate::gpu_report::params;
use chains::{Chain, casm, chime, chime_of_whole_rounds, chord};

/// How much of real time a chain takes, in percent.
pub(crate) struct Load {
    pub(crate) variant: String,
    pub(crate) beams: usize,
    pub(crate) frequencies: usize,
    pub(crate) time_us: f64,
    pub(crate) percent: f64,
    /// What its bytes take at the copy bandwidth.
    pub(crate) bytes_percent: f64,
}

pub(crate) fn run(bench: &mut Bench, ceilings: &Ceilings) -> Result<(), End> {
    if !bench.wants("frb") {
        return Ok(());
    }
    loads(bench, ceilings)?;
    let with = |variant, chain: Chain| Chain { variant, ..chain };
    let of = |chain: Result<Chain, _>| chain.map_err(End::failed);
    let any = with("CHIME, any lines", of(chime())?);
    let kernels = load(bench, &any)?.of_any_lines();
    case(bench, ceilings, &kernels, &any)?;
    let out = with("CHIME, a block a sum", of(chime())?);
    let kernels = load(bench, &out)?.of_one_out();
    case(bench, ceilings, &kernels, &out)?;
    for chain in [
        with("CHIME, products", of(chime())?),
        with("CASM, any lines", of(casm())?),
        with("CHORD, any lines", of(chord(1))?),
    ] {
        let kernels = FrbKernels::load_grid(&bench.device, &chain.beams, u32::MAX, true).map_err(End::failed)?;
        case(bench, ceilings, &kernels, &chain)?;
    }
    voltages::voltages(bench, ceilings, &of(chime())?)
}

/// Times the chains as a caller gets them.
pub(crate) fn loads(bench: &mut Bench, ceilings: &Ceilings) -> Result<Vec<Load>, End> {
    let mut loads = Vec::new();
    let multiprocessors = bench.device.info().multiprocessors as usize;
    for chain in [chime(), chime_of_whole_rounds(multiprocessors), casm(), chord(1), chord(16), chord(128)] {
        let chain = chain.map_err(End::failed)?;
        let kernels = load(bench, &chain)?;
        loads.extend(case(bench, ceilings, &kernels, &chain)?);
    }
    loads.extend(positions::positions(bench, ceilings)?);
    Ok(loads)
}

/// The kernels of a chain.
fn load(bench: &Bench, chain: &Chain) -> Result<FrbKernels<Complex4>, End> {
    FrbKernels::load(&bench.device, &chain.beams).map_err(End::failed)
}

fn case(
    bench: &mut Bench,
    ceilings: &Ceilings,
    kernels: &FrbKernels<Complex4>,
    chain: &Chain,
) -> Result<Option<Load>, End> {
    let Chain { variant, time_us, sums, .. } = *chain;
    let beams = kernels.beams();
    let layout = FrbLayout::packed::<Complex4>(beams, Offset::Offset8);
    let times = sums * beams.sum_times();
    let (read, written) = (times * layout.time_bytes, kernels.powers(times).map_err(End::failed)?);
    let moved = read + written * size_of::<f32>();
    if !bench.fits(variant, moved)? {
        return Ok(None);
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
    let (percent, bytes_percent) = (load(timing.median_ms), load(bound.time_ms));
    let text = format!(
        "{percent:.3}% of real time, its bytes take {bytes_percent:.3}; {cycles:.1} SM-cycles at {} MHz a sum over lines, \
         of {} to {} beams",
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
    let (beams, frequencies) = (beams.beams(), beams.frequencies());
    Ok(Some(Load { variant: variant.into(), beams, frequencies, time_us, percent, bytes_percent }))
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
