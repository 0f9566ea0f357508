//! Power sums of heaps on the device, and masked heaps correlated there.
//!
//! Sums of integers, and of floats that are small whole numbers, are those of the CPU backend bit for bit; of other
//! floats both are within `(n + 4) 2^-53` of the true sum, and so within twice that of each other. Masked visibilities
//! of whole numbers are those of the CPU bit for bit, with their counts.

use fringes::backend::{Backend, DeviceArray, DeviceError, DeviceHeaps, Uploader};
use fringes::correlator::{BinnedDump, BinnedIntegrator, Bins, Chunk, DumpSchedule, Integrator};
use fringes::interference::{HeapBlocks, MaskKernels, Power, PowerKernels, PowerSum};
use fringes::types::Rows;
use fringes::{
    BaselineOrder, ChannelMask, Complex, Complex4, Correlator, CorrelatorError, Heaps, SpectrumClock, Visibilities,
    f16, power_sums,
};
use fringes_gpu::Buffer;
use ndarray::{Array2, Array5};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::end::End;
use crate::gpu_report::{Params, params};
use crate::validate::session::{Outcome, Session, compare};
use crate::validate::streams::heaps;
use crate::whole::Whole;

type Failure = Box<dyn std::error::Error>;

/// Batches, antennas, channels, spectra, polarisations.
type Shape = [usize; 5];

/// Shapes, first spectra and spectra of a block: heaps of whole pieces of 16 bytes and of others, blocks of parts of
/// heaps, of heaps and of several, on grids that begin elsewhere than the heaps.
const QUICK: [(Shape, u64, usize); 6] = [
    ([1, 1, 1, 1, 1], 0, 1),
    ([5, 3, 2, 7, 2], 3, 5),
    ([3, 9, 4, 64, 1], 64, 128),
    ([2, 4, 5, 256, 2], 0, 256),
    ([3, 2, 3, 100, 2], 17, 1000),
    ([2, 3, 33, 16, 1], 8, 4),
];
const MORE: [(Shape, u64, usize); 4] = [
    ([3, 80, 16, 256, 2], 256, 512),
    ([9, 17, 5, 33, 1], 1, 128),
    ([16, 8, 128, 256, 2], 0, 1024),
    ([2, 2, 3, 70_000, 1], 12_345, 1024),
];

/// Samples between spectra of [`heaps`].
pub(super) const SPACING: u64 = 16;

pub(crate) fn validate(session: &mut Session) -> Result<(), End> {
    let cases: Vec<_> = QUICK.into_iter().chain(MORE.into_iter().filter(|_| !session.quick)).collect();
    for case in cases {
        both::<Complex4>(session, case)?;
        both::<Complex<i8>>(session, case)?;
        both::<Complex<f16>>(session, case)?;
        both::<Complex<f32>>(session, case)?;
        floats::<Complex<f16>>(session, case, |re, im| Complex::new(f16::from_f32(re), f16::from_f32(im)))?;
        floats::<Complex<f32>>(session, case, Complex::new)?;
    }
    refused(session)
}

fn both<V: Whole + Power>(session: &mut Session, case: (Shape, u64, usize)) -> Result<(), End> {
    for flags in [false, true] {
        sums::<V>(session, case, flags)?;
        masked::<V>(session, case, flags)?;
    }
    Ok(())
}

fn sizes([batches, antennas, channels, spectra, pols]: Shape, block: usize) -> Params {
    params([
        ("antennas", antennas),
        ("batches", batches),
        ("block", block),
        ("channels", channels),
        ("pols", pols),
        ("spectra", spectra),
    ])
}

fn variant<V: Power>(what: &str, flags: bool) -> String {
    format!("{}{what}{}", V::FORMAT, if flags { ", flags" } else { "" })
}

/// Heaps of whole numbers from a spectrum on.
fn whole<V: Whole>(shape: Shape, first: u64, flags: bool) -> Result<Heaps<V>, Failure> {
    let heaps = heaps::<V>(shape, first * SPACING, 21)?;
    let clock = heaps.clock();
    Ok(if flags { heaps } else { Heaps::from_checked(heaps.into_data())?.with_clock(clock)? })
}

/// Heaps on the device, so many voltages behind the beginning of an allocation.
fn behind<V: Power>(session: &Session, heaps: &Heaps<V>, ahead: usize) -> Result<DeviceHeaps<'static, V>, Failure> {
    let values = heaps.data();
    let all: Vec<V> = std::iter::repeat_n(V::zeroed(), ahead).chain(values.iter().copied()).collect();
    let array = DeviceArray::from(Buffer::from_slice(&session.stream, &all)?).written_on(&session.stream);
    Ok(heaps.with_array(array.without_first(ahead)?)?)
}

fn sums<V: Whole + Power>(
    session: &mut Session,
    (shape, first, block): (Shape, u64, usize),
    flags: bool,
) -> Result<(), End> {
    session.case("power_sums", variant::<V>("", flags), sizes(shape, block), |session| {
        let heaps = whole::<V>(shape, first, flags)?;
        let expected = power_sums(&Backend::cpu(), &heaps, block)?;
        let backend = Backend::on(session.device.clone());
        let uploaded = Uploader::new(&session.stream).heaps(&heaps)?;
        let mut verdict = Ok(());
        for (what, there) in [
            ("as they are", uploaded),
            ("1 ahead", behind(session, &heaps, 1)?),
            ("6 ahead", behind(session, &heaps, 6)?),
        ] {
            if power_sums(&backend, &there, block)? != expected {
                verdict = Err(format!("other sums, counts or axes, {what}"));
            }
        }
        let voltages = heaps.to_voltages();
        let rows = Rows::from_voltages(&voltages);
        let there = Uploader::new(&session.stream).rows(&rows)?;
        if power_sums(&backend, &there, block)? != expected {
            verdict = Err("other sums, counts or axes, of rows".into());
        }
        for ahead in [0, 1, 3] {
            let values = voltages.data();
            let all: Vec<V> = std::iter::repeat_n(V::zeroed(), ahead).chain(values.iter().copied()).collect();
            let array = DeviceArray::from(Buffer::from_slice(&session.stream, &all)?).written_on(&session.stream);
            let there = voltages.with_array(array.without_first(ahead)?)?;
            if power_sums(&backend, &there, block)? != expected {
                verdict = Err(format!("other sums, counts or axes, of voltages {ahead} ahead"));
            }
        }
        outcome::<V>(session, shape, first, block, "the CPU backend (held to the reference by its tests)", verdict)
    })
}

/// Numbers that are not whole, to the stated bound.
fn floats<V: Power>(
    session: &mut Session,
    (shape, first, block): (Shape, u64, usize),
    of: fn(f32, f32) -> V,
) -> Result<(), End> {
    session.case_within("power_sums", variant::<V>(", any numbers", false), sizes(shape, block), |session| {
        let [batches, antennas, channels, spectra, pols] = shape;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(4);
        let mut part = || random.random_range(-100.0..100.0f32);
        let data = Array5::from_shape_simple_fn((batches, antennas, channels, spectra, pols), || of(part(), part()));
        let clock = SpectrumClock {
            first_sample: first * SPACING,
            samples_between_spectra: SPACING,
            ..SpectrumClock::default()
        };
        let heaps = Heaps::from_checked(data)?.with_clock(clock)?;
        let expected = power_sums(&Backend::cpu(), &heaps, block)?;
        let found =
            power_sums(&Backend::on(session.device.clone()), &Uploader::new(&session.stream).heaps(&heaps)?, block)?;
        let (mut worst, mut verdict, counts) = (0.0f64, Ok(()), expected.count());
        for (expected, found) in [(expected.first(), found.first()), (expected.second(), found.second())] {
            for (((_, block, input), expected), found) in expected.indexed_iter().zip(found) {
                let (expected, found) = (expected.to_f64(), found.to_f64());
                let count = counts[(block, input)] as f64;
                // (One more, as the CPU's sum stands for the true one.)
                let bound = 2.0 * (count + 5.0) * 2f64.powi(-53) * expected;
                let error = (found - expected).abs();
                worst = worst.max(if error == 0.0 { 0.0 } else { error / bound });
                if error.is_nan() || error > bound {
                    verdict = Err(format!("block {block}, input {input}: {found} for {expected}"));
                }
            }
        }
        let counts = counts == found.count() && expected.spectra() == found.spectra();
        let verdict = if counts { verdict } else { Err("other counts".into()) };
        let outcome = outcome::<V>(session, shape, first, block, "the CPU backend", verdict)?;
        Ok((outcome, format!("{worst:.3} of the bound")))
    })
}

/// The time of the kernels alone, of zeros.
fn outcome<V: Power>(
    session: &Session,
    shape: Shape,
    first: u64,
    block: usize,
    against: &'static str,
    verdict: Result<(), String>,
) -> Result<Outcome, Failure> {
    let (blocks, stream) = (blocks(shape, first, block)?, &session.stream);
    let kernels = PowerKernels::<V>::load(&session.device)?;
    let from = Buffer::<V>::zeroed(stream, blocks.voltages())?;
    let cells = 2 * blocks.channels * blocks.blocks() * blocks.inputs.len();
    let mut to = Buffer::zeroed(stream, cells)?;
    let time_ms = session.time(|| kernels.sum(stream, blocks, from.view(), None, to.view_mut()))?;
    let moved = from.bytes() + 8 * cells;
    Ok(Outcome { time_ms, value: moved as f64 / time_ms / 1e6, unit: "GB/s", against, verdict })
}

fn blocks(
    [batches, antennas, channels, spectra, pols]: Shape,
    first: u64,
    block: usize,
) -> Result<HeapBlocks, Failure> {
    let inputs = fringes::Inputs::new(antennas, pols)?;
    Ok(HeapBlocks { batches, inputs, channels, spectra, spectra_per_block: block, lead: first as usize % block })
}

/// A mask on the grid of the blocks, of two blocks more than the heaps have: nothing, some, and all of some blocks.
fn mask(channels: usize, heaps: &HeapBlocks, first: u64) -> Result<ChannelMask, Failure> {
    let start = first - heaps.lead as u64;
    // A block before, where there is one.
    let ahead = u64::from(start >= heaps.spectra_per_block as u64);
    let first_sample = (start - ahead * heaps.spectra_per_block as u64) * SPACING;
    let clock = SpectrumClock { first_sample, samples_between_spectra: SPACING, sample_rate_hz: 1e9 };
    let mut random = Xoshiro256PlusPlus::seed_from_u64(first);
    let blocks = heaps.blocks() + 1 + ahead as usize;
    let masked = Array2::from_shape_fn((channels, blocks), |(channel, block)| match block % 4 {
        1 => false,
        3 => channel % 2 == 0,
        _ => random.random_bool(0.4),
    });
    Ok(ChannelMask::new(masked, heaps.spectra_per_block, clock)?)
}

/// Masked visibilities of heaps on the device, in one range and in several, with and without a limit, and in bins.
fn masked<V: Whole + Power>(
    session: &mut Session,
    (shape, first, block): (Shape, u64, usize),
    flags: bool,
) -> Result<(), End> {
    let [batches, _, channels, spectra, _] = shape;
    session.case("masked", variant::<V>("", flags), sizes(shape, block), |session| {
        let heaps = whole::<V>(shape, first, flags)?;
        let (inputs, of) = (heaps.inputs(), blocks(shape, first, block)?);
        let mask = mask(channels, &of, first)?;
        let gpu = Backend::on(session.device.clone());
        let need = Correlator::<V>::memory(&gpu, inputs, channels, 1)?.smallest_step_bytes;
        let batch = (heaps.data().len() / batches * size_of::<V>()) as u64;
        // Room for the rows of all channels, and for a batch.
        let backends = [gpu.clone(), gpu.with_memory_limit(need.max(1 << 20) * 64 + batch)];
        let mut verdict = Ok(());
        for cuts in [vec![0, batches], vec![0, batches.min(1), batches / 2 + 1, batches]] {
            let cuts: Vec<_> = cuts.into_iter().map(|batch| batch * spectra).collect();
            for ahead in [0, 3] {
                let there = behind(session, &heaps, ahead)?;
                let found = compared((&backends, inputs), &heaps, &there, &cuts, &mask)?;
                verdict = verdict.and(found.map_err(|fault| format!("heaps {ahead} ahead, {fault}")));
            }
        }
        // Of others, at any time.
        let times = batches * spectra;
        let (voltages, mut upload) = (heaps.to_voltages(), Uploader::new(&session.stream));
        let rows = Rows::from_voltages(&voltages);
        let there = (upload.voltages(&voltages)?, upload.rows(&rows)?);
        for cuts in [vec![0, times], vec![0, times.min(1), times / 3 + 1, times - times / 5, times]] {
            let found = compared((&backends, inputs), &voltages, &there.0, &cuts, &mask)?;
            verdict = verdict.and(found.map_err(|fault| format!("voltages, {fault}")));
            let found = compared((&backends, inputs), &rows, &there.1, &cuts, &mask)?;
            verdict = verdict.and(found.map_err(|fault| format!("rows, {fault}")));
        }
        verdict = verdict.and(streams(session, &heaps, &mask)?);
        let time_ms = time_mask::<V>(session, &of)?;
        let moved = 2 * of.voltages() * size_of::<V>();
        let against = "the CPU backend (held to the reference by its tests); the rate is that of the copy";
        Ok(Outcome { time_ms, value: moved as f64 / time_ms / 1e6, unit: "GB/s", against, verdict })
    })
}

/// Masked sums of a chunk on the device in ranges, on GPUs, with those of the same chunk on the host on the CPU.
fn compared<V: Power>(
    (backends, inputs): (&[Backend], fringes::Inputs),
    host: &impl Chunk<V>,
    device: &impl Chunk<V>,
    cuts: &[usize],
    mask: &ChannelMask,
) -> Result<Result<(), String>, Failure> {
    let channels = mask.channels();
    let expected = masked_sum(Correlator::new(&Backend::cpu(), inputs, channels)?, host, cuts, mask)?;
    let mut verdict = Ok(());
    for backend in backends {
        let found = masked_sum(Correlator::new(backend, inputs, channels)?, device, cuts, mask)?;
        let what = format!("cut at {cuts:?}, limit {:?}", backend.memory_limit());
        verdict = verdict.and(same(&expected, &found).map_err(|fault| format!("{what}: {fault}")));
    }
    Ok(verdict)
}

fn masked_sum<V: Power>(
    mut correlator: Correlator<V>,
    chunk: &impl Chunk<V>,
    cuts: &[usize],
    mask: &ChannelMask,
) -> Result<Visibilities<V::Accumulator>, Failure> {
    for cut in cuts.windows(2).filter(|cut| cut[0] < cut[1]) {
        correlator.accumulate_masked(chunk, cut[0]..cut[1], mask)?;
    }
    Ok(correlator.dump(BaselineOrder::Triangle)?)
}

/// Sums, counts and axes.
pub(super) fn same<A: fringes::Accumulator>(expected: &Visibilities<A>, found: &Visibilities<A>) -> Result<(), String> {
    let flat = |sums: &Visibilities<A>| sums.data().iter().copied().collect::<Vec<_>>();
    compare(&flat(expected), &flat(found))?;
    if expected == found { Ok(()) } else { Err("other counts or axes".into()) }
}

/// The same through an integrator, and in two bins.
fn streams<V: Power>(session: &Session, heaps: &Heaps<V>, mask: &ChannelMask) -> Result<Result<(), String>, Failure> {
    let (inputs, channels, spectra) = (heaps.inputs(), heaps.channels(), heaps.spectra_per_heap() as u64);
    let first = heaps.clock().first_sample;
    // Batches of streams begin at whole heaps.
    if !(first / SPACING).is_multiple_of(spectra) {
        return Ok(Ok(()));
    }
    let schedule = DumpSchedule::new(SPACING, spectra, 2)?;
    let there = Uploader::new(&session.stream).heaps(heaps)?;
    let (cpu, gpu) = (Backend::cpu(), Backend::on(session.device.clone()));
    let integrator = |backend: &Backend| Integrator::<V>::new(backend, schedule, inputs, channels);
    let (mut on_cpu, mut on_gpu) = (integrator(&cpu)?, integrator(&gpu)?);
    let mut expected = on_cpu.push_masked(heaps, mask)?;
    expected.extend(on_cpu.finish()?);
    let mut found = on_gpu.push_masked(&there, mask)?;
    found.extend(on_gpu.finish()?);
    if expected.len() != found.len() {
        return Ok(Err(format!("{} dumps for {}", found.len(), expected.len())));
    }
    let mut verdict = Ok(());
    for (expected, found) in expected.iter().zip(&found) {
        verdict = verdict.and(same(expected, found).map_err(|fault| format!("integrator: {fault}")));
    }
    let bins = || Bins::table(2, spectra, vec![Some(1), Some(0), Some(0)]);
    let binned = |backend: &Backend| BinnedIntegrator::<V>::new(backend, schedule, bins()?, inputs, channels);
    let (mut on_cpu, mut on_gpu) = (binned(&cpu)?, binned(&gpu)?);
    let mut expected = on_cpu.push_masked(heaps, mask)?;
    expected.extend(on_cpu.finish()?);
    let mut found = on_gpu.push_masked(&there, mask)?;
    found.extend(on_gpu.finish()?);
    let all = |dumps: Vec<BinnedDump<Visibilities<V::Accumulator>>>| dumps.into_iter().flat_map(|dump| dump.bins);
    let (expected, found): (Vec<_>, Vec<_>) = (all(expected).collect(), all(found).collect());
    if expected.len() != found.len() {
        return Ok(Err(format!("{} dumps of bins for {}", found.len(), expected.len())));
    }
    for (expected, found) in expected.iter().zip(&found) {
        verdict = verdict.and(same(expected, found).map_err(|fault| format!("bins: {fault}")));
    }
    Ok(verdict)
}

/// Time of a copy of zeros of which every fourth cell is masked.
fn time_mask<V: Power>(session: &Session, shape: &HeapBlocks) -> Result<f64, Failure> {
    let stream = &session.stream;
    let kernels = MaskKernels::<V>::load(&session.device)?;
    let from = Buffer::<V>::zeroed(stream, shape.voltages())?;
    let mut to = Buffer::<V>::zeroed(stream, shape.voltages())?;
    let cells: Vec<u8> = (0..shape.channels * shape.blocks()).map(|cell| u8::from(cell % 4 == 0)).collect();
    let cells = Buffer::from_slice(stream, &cells)?;
    Ok(session.time(|| kernels.mask(stream, *shape, from.view(), cells.view(), to.view_mut()))?)
}

/// What cannot be masked, and sums on another backend than the heaps', are typed errors that leave all as it was.
fn refused(session: &mut Session) -> Result<(), End> {
    session.case("masked", "refusals", params([("antennas", 4)]), |session| {
        // A batch of 96 KiB, far above the smallest step of 4 inputs.
        let shape = [2, 4, 3, 4096, 1];
        let heaps = whole::<Complex<i8>>(shape, 0, false)?;
        let (inputs, mut upload) = (heaps.inputs(), Uploader::new(&session.stream));
        let mask = mask(3, &blocks(shape, 0, 128)?, 0)?;
        let gpu = Backend::on(session.device.clone());
        let there = upload.heaps(&heaps)?;
        let little =
            gpu.clone().with_memory_limit(Correlator::<Complex<i8>>::memory(&gpu, inputs, 3, 1)?.smallest_step_bytes);
        let mut limited = Correlator::<Complex<i8>>::new(&little, inputs, 3)?;
        let limit = limited.accumulate_masked(&there, 0..8192, &mask);
        let elsewhere = power_sums(&Backend::cpu(), &there, 128);
        let verdict = if !matches!(limit, Err(CorrelatorError::Device(DeviceError::MemoryLimit { .. }))) {
            Err(format!("expected an error of memory, got {limit:?}"))
        } else if limited.spectra() != 0 {
            Err("something was added".into())
        } else if elsewhere.is_ok() {
            Err("the CPU summed powers on a device".into())
        } else {
            Ok(())
        };
        Ok(Outcome { time_ms: 0.0, value: 0.0, unit: "", against: "typed refusals", verdict })
    })
}
