//! The X-engine's stream API on the GPU against the same calls on the CPU: heaps, floats, dumps in 32 bits, several
//! lengths at once.
//!
//! Float voltages are whole numbers whose sums stay below 2^24, so that every sum is exact on both; other float
//! voltages are held to the bound that `Correlator` states.

use fringes::backend::{ToHost, UploadError};
use fringes::correlator::{Dump, DumpSchedule, Integrator, IntegratorSet, MissingData};
use fringes::{
    Accumulator, Backend, BaselineOrder, Complex, Complex4, Correlator, Heaps, Inputs, SpectrumClock, VoltageSample,
    Voltages, correlate, f16,
};
use ndarray::{Array2, Array3, Array5};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::end::End;
use crate::gpu_report::params;
use crate::validate::session::{Outcome, Session, compare};
use crate::whole::Whole;

/// Random heaps; absent ones hold numbers as well.
pub(crate) fn heaps<V: Whole>(shape: [usize; 5], first_sample: u64, seed: u64) -> Result<Heaps<V>, fringes::Error> {
    let [batches, antennas, channels, spectra, pols] = shape;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut part = || random.random_range(-V::LARGEST..=V::LARGEST);
    let data = Array5::from_shape_simple_fn((batches, antennas, channels, spectra, pols), || V::of(part(), part()));
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed + 1);
    let flags = Array2::from_shape_simple_fn((batches, antennas), || random.random_bool(0.9));
    let clock = SpectrumClock { first_sample, samples_between_spectra: 16, sample_rate_hz: 1e9 };
    Ok(Heaps::new(data)?.with_clock(clock)?.with_presence(flags)?)
}

pub(crate) fn validate(session: &mut Session) -> Result<(), End> {
    let quick = session.quick;
    let small = [[5, 3, 2, 7, 2], [3, 9, 1, 64, 1], [1, 1, 1, 1, 1]];
    let large = [[3, 80, 16, 256, 2], [4, 65, 3, 100, 2], [9, 17, 5, 33, 1], [2, 140, 2, 48, 2], [40, 64, 1, 256, 2]];
    for shape in small.into_iter().chain(large.into_iter().filter(|_| !quick)) {
        exact_heaps::<Complex4>(session, shape)?;
        exact_heaps::<Complex<i8>>(session, shape)?;
        exact_heaps::<Complex<f16>>(session, shape)?;
        exact_heaps::<Complex<f32>>(session, shape)?;
    }
    for shape in [[2, 65, 5], [3, 300, 33]].into_iter().chain([[4, 9000, 130]].into_iter().filter(|_| !quick)) {
        floats::<Complex<f16>>(session, shape, |re, im| Complex::new(f16::from_f32(re), f16::from_f32(im)))?;
        floats::<Complex<f32>>(session, shape, Complex::new)?;
    }
    for order in [BaselineOrder::Triangle, BaselineOrder::AntennaPairs, BaselineOrder::Full] {
        for missing in [MissingData::Sum, MissingData::Mark] {
            dumps(session, order, missing, false)?;
            lengths_in_32_bits(session, order, missing)?;
        }
        if !quick {
            dumps(session, order, MissingData::Sum, true)?;
        }
        lengths::<Complex<i8>>(session, order)?;
        lengths::<Complex<f32>>(session, order)?;
    }
    Ok(())
}

fn flat<A: Accumulator>(visibilities: &fringes::Visibilities<A>) -> Vec<A> {
    visibilities.data().iter().copied().collect()
}

/// Batches one by one, some left out, then several together.
fn exact_heaps<V: Whole>(session: &mut Session, shape: [usize; 5]) -> Result<(), End> {
    let [batches, antennas, channels, spectra, pols] = shape;
    let sizes = params([
        ("antennas", antennas),
        ("batches", batches),
        ("channels", channels),
        ("pols", pols),
        ("spectra", spectra),
    ]);
    session.case("stream_heaps", format!("{}, flags", V::FORMAT), sizes, |session| {
        let heaps = heaps::<V>(shape, 0, 5)?;
        let run = |backend: &Backend| -> Result<_, fringes::Error> {
            let mut correlator = Correlator::new(backend, heaps.inputs(), channels)?;
            correlator.accumulate(&heaps, 0..batches.min(1) * spectra)?;
            correlator.accumulate(&heaps, batches / 2 * spectra..batches * spectra)?;
            Ok(correlator.dump(BaselineOrder::Triangle)?)
        };
        let expected = run(&Backend::cpu())?;
        let start = std::time::Instant::now();
        let actual = run(&Backend::on(session.device.clone()))?;
        let time_ms = start.elapsed().as_secs_f64() * 1e3;
        let verdict = compare(&flat(&expected), &flat(&actual)).and_then(|()| {
            let same = expected.valid_samples() == actual.valid_samples() && expected.times() == actual.times();
            if same { Ok(()) } else { Err("the numbers of valid samples differ".into()) }
        });
        outcome(time_ms, expected.times(), verdict)
    })
}

/// Numbers that are not whole, to the stated bound.
fn floats<V: VoltageSample<Accumulator = Complex<f64>>>(
    session: &mut Session,
    [channels, times, inputs]: [usize; 3],
    of: fn(f32, f32) -> V,
) -> Result<(), End> {
    let sizes = params([("channels", channels), ("inputs", inputs), ("times", times)]);
    session.case_within("stream_floats", V::FORMAT.to_string(), sizes, |session| {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut part = || random.random_range(-1.0..1.0f32);
        let data = Array3::from_shape_simple_fn((channels, times, inputs), || of(part(), part()));
        // |x| rounded up, whose correlation is sum |x_a| |x_b|.
        let scale = data.mapv(|x| Complex::new(x.to_c32().norm() * (1.0 + 2f32.powi(-20)), 0.0));
        let inputs = Inputs::single_pol(inputs)?;
        let (voltages, scale) = (Voltages::new(data, inputs)?, Voltages::new(scale, inputs)?);
        let order = BaselineOrder::Triangle;
        let expected = correlate(&Backend::cpu(), &voltages, order)?;
        let scale = correlate(&Backend::cpu(), &scale, order)?;
        let start = std::time::Instant::now();
        let actual = correlate(&Backend::on(session.device.clone()), &voltages, order)?;
        let time_ms = start.elapsed().as_secs_f64() * 1e3;
        // The GPU's bound and the CPU's. In three times tf32 no product of f32 is exact, but nearer than one of f16
        // sums.
        let gpu = 6.0 * (times.min(8192) as f64 + 16.0) * 2f64.powi(-23);
        let cpu = 129.0 * 2f64.powi(-24) * 1.001;
        let mut worst = 0f64;
        for ((actual, expected), scale) in actual.data().iter().zip(expected.data()).zip(scale.data()) {
            let difference = actual - expected;
            worst = worst.max(difference.re.abs().max(difference.im.abs()) / scale.re);
        }
        let bound = gpu + cpu;
        let verdict =
            if worst <= bound { Ok(()) } else { Err(format!("error {worst:.2e} S, the bound is {bound:.2e}")) };
        let error = format!("at most {worst:.2e} sum |x_a| |x_b|, bound {bound:.2e}");
        Ok((outcome(time_ms, times as u64, verdict)?, error))
    })
}

/// Dumps of 32 bits from a stream of heaps with a gap, marked or not; or loud ones that saturate.
fn dumps(session: &mut Session, order: BaselineOrder, missing: MissingData, loud: bool) -> Result<(), End> {
    let (antennas, channels, spectra) = if loud { (3, 2, 4096) } else { (21, 3, 12) };
    let sizes = params([("antennas", antennas), ("channels", channels), ("pols", 2), ("spectra", spectra)]);
    let what = if loud { "saturated" } else { "gaps" };
    session.case("stream_dumps", format!("{}, {missing:?}, {what}", order.name()), sizes, |session| {
        // Of the loud ones 22 heaps of the second dump come: 22 * 4096 * 2 * 127^2 is above 2^31.
        let schedule = DumpSchedule::new(16, spectra as u64, if loud { 24 } else { 4 })?;
        let run = |backend: &Backend| -> Result<Vec<_>, fringes::Error> {
            let inputs = Inputs::new(antennas, 2)?;
            let integrator = Integrator::new(backend, schedule, inputs, channels)?;
            let mut integrator = integrator.with_order(order)?.in_32_bits(missing);
            let (mut dumps, mut batch) = (Vec::new(), 3u64);
            for (number, gap) in [(5, 0), (3, 1), (7, 9), (0, 0), (12, 0), (9, 2)] {
                batch += gap;
                let first = batch * schedule.heap_timestamp_step();
                let shape = [number, antennas, channels, spectra, 2];
                let mut chunk = heaps::<Complex<i8>>(shape, first, batch)?;
                if loud {
                    let clock = chunk.clock();
                    let data = chunk.into_data().mapv(|_| Complex::new(127, -127));
                    chunk = Heaps::new(data)?.with_clock(clock)?;
                }
                dumps.extend(integrator.push(&chunk)?);
                batch += number as u64;
            }
            dumps.extend(integrator.finish()?);
            Ok(dumps)
        };
        let expected = run(&Backend::cpu())?;
        let start = std::time::Instant::now();
        let actual = run(&Backend::on(session.device.clone()))?;
        let time_ms = start.elapsed().as_secs_f64() * 1e3;
        let mut verdict = if expected.len() == actual.len() {
            Ok(())
        } else {
            Err(format!("expected {} dumps, got {}", expected.len(), actual.len()))
        };
        for (expected, actual) in expected.iter().zip(&actual) {
            let values = |dump: &fringes::Dump32| dump.data().iter().copied().collect::<Vec<_>>();
            verdict = verdict.and_then(|()| compare(&values(expected), &values(actual))).and_then(|()| {
                let counts = |dump: &fringes::Dump32| (dump.saturated(), dump.marked_baselines());
                let (expected_counts, counts) = (counts(expected), counts(actual));
                let same = expected == actual;
                if same { Ok(()) } else { Err(format!("expected counts {expected_counts:?}, got {counts:?}")) }
            });
        }
        let saturated: u64 = actual.iter().map(fringes::Dump32::saturated).sum();
        if loud && saturated == 0 && verdict.is_ok() {
            verdict = Err("nothing saturated".into());
        }
        outcome(time_ms, actual.iter().map(fringes::Dump32::times).sum(), verdict)
    })
}

/// Three lengths of one stream.
fn lengths<V: Whole>(session: &mut Session, order: BaselineOrder) -> Result<(), End> {
    let (antennas, channels, spectra) = (10, 3, 20);
    let sizes = params([("antennas", antennas), ("channels", channels), ("pols", 2), ("spectra", spectra)]);
    session.case("stream_lengths", format!("{}, {}", V::FORMAT, order.name()), sizes, |session| {
        let schedules = [2, 3, 12]
            .map(|heaps| DumpSchedule::new(16, spectra as u64, heaps))
            .into_iter()
            .collect::<Result<Vec<_>, _>>()?;
        let set = |backend: &Backend| {
            let set = IntegratorSet::<V>::new(backend, &schedules, Inputs::new(antennas, 2)?, channels)?;
            set.with_order(order)
        };
        let expected = dumps_of(set(&Backend::cpu())?, [antennas, channels, spectra])?;
        let start = std::time::Instant::now();
        let gpu = Backend::on(session.device.clone());
        let actual = dumps_of(set(&gpu)?, [antennas, channels, spectra])?;
        let time_ms = start.elapsed().as_secs_f64() * 1e3;
        let there = set(&gpu)?.on(&session.stream)?.dumps_on_device()?;
        let there = dumps_of(there, [antennas, channels, spectra])?.into_iter();
        let back = there.map(|(which, dump)| Ok((which, dump.to_host()?))).collect::<Result<Vec<_>, UploadError>>()?;
        let verdict = if expected != actual {
            Err("dumps differ".to_owned())
        } else if expected != back {
            Err("dumps on the device differ".to_owned())
        } else {
            Ok(())
        };
        outcome(time_ms, actual.iter().map(|(_, dump)| dump.times()).sum(), verdict)
    })
}

/// Dumps of several lengths in 32 bits, of integers: on the host and on the device.
fn lengths_in_32_bits(session: &mut Session, order: BaselineOrder, missing: MissingData) -> Result<(), End> {
    let sizes = [10, 3, 20];
    let variant = format!("32 bits, {}, {missing:?}", order.name());
    session.case("stream_lengths", variant, params([("antennas", 10), ("channels", 3), ("spectra", 20)]), |session| {
        let schedules = [DumpSchedule::new(16, 20, 2)?, DumpSchedule::new(16, 20, 3)?, DumpSchedule::new(16, 20, 12)?];
        let set = |backend: &Backend| {
            let set = IntegratorSet::<Complex<i8>>::new(backend, &schedules, Inputs::new(10, 2)?, 3)?;
            Ok::<_, fringes::Error>(set.with_order(order)?.in_32_bits(missing))
        };
        let expected = dumps_of(set(&Backend::cpu())?, sizes)?;
        let gpu = Backend::on(session.device.clone());
        let start = std::time::Instant::now();
        let there = dumps_of(set(&gpu)?.dumps_on_device()?, sizes)?.into_iter();
        let back = there.map(|(which, dump)| Ok((which, dump.to_host()?))).collect::<Result<Vec<_>, UploadError>>()?;
        let time_ms = start.elapsed().as_secs_f64() * 1e3;
        let verdict = if expected == back { Ok(()) } else { Err("dumps on the device differ".to_owned()) };
        outcome(time_ms, back.iter().map(|(_, dump)| dump.times()).sum(), verdict)
    })
}

/// All dumps of a stream of heaps with a gap before it.
fn dumps_of<V: Whole, D: Dump<V>>(
    mut set: IntegratorSet<V, D>,
    [antennas, channels, spectra]: [usize; 3],
) -> Result<Vec<(usize, D)>, fringes::Error> {
    let (mut dumps, mut batch) = (Vec::new(), 5u64);
    for number in [5, 1, 7, 0, 12, 30] {
        let first = batch * 16 * spectra as u64;
        dumps.extend(set.push(&heaps::<V>([number, antennas, channels, spectra, 2], first, batch)?)?);
        batch += number as u64;
    }
    dumps.extend(set.finish()?);
    Ok(dumps)
}

fn outcome(time_ms: f64, spectra: u64, verdict: Result<(), String>) -> Result<Outcome, Box<dyn std::error::Error>> {
    Ok(Outcome {
        time_ms,
        value: spectra as f64 / time_ms / 1e3,
        unit: "Mspectra/s, with copies and allocation",
        against: "the same calls on the CPU backend (held to the reference by its tests)",
        verdict,
    })
}
