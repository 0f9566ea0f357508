//! Banks of several bands: each band's outputs, axes and statistics are the bits of a stream of its own on the GPU, in
//! whichever order launches are, with retunes of single bands, missing samples and gaps, in chunks of the host and of
//! the device.

use std::time::Instant;

use fringes::channelizer::DownConvertedSample;
use fringes::channelizer::internals::BandOrder;
use fringes::{
    Backend, Complex, DeviceSamples, DownConverter, DownConverterBank, DownConverterStatistics, DownConverterStream,
    Precision, SampleFormat, Samples,
};
use ndarray::Array2;

use super::types::{host, same};
use super::{CENTRE, Plan, case, on_device};
use crate::end::End;
use crate::validate::f_engine::case::{Case, Fault, packed, typed};
use crate::validate::session::Session;

pub(super) fn validate(session: &mut Session) -> Result<(), End> {
    for plan in plans(session.quick) {
        case(session, "bank to f32", &plan, banks::<Complex<f32>>)?;
        case(session, "bank to i8", &plan, banks::<Complex<i8>>)?;
    }
    Ok(())
}

fn plans(quick: bool) -> Vec<Plan> {
    let sizes = [(128, 8), (512, 32), (7, 20), (160, 5)];
    let mut plans = Vec::new();
    for (taps, decimation) in sizes.into_iter().take(if quick { 1 } else { sizes.len() }) {
        for (format, block, gap) in [
            (packed(10), None, 0),
            (packed(12), Some(77), taps / 2 + 3),
            (typed(SampleFormat::Int8, true), Some(500), 5 * taps + 11),
            (typed(SampleFormat::Float32, false), None, 0),
        ] {
            let case = Case { inputs: (1 + plans.len() % 2, 2), block, gap, ..Case::new(64, format, 1) };
            let length = if quick { 2000 } else { 40_000 } + 3 * taps + 20 * decimation;
            plans.push(Plan { taps, decimation, length, case, precision: Precision::Single });
        }
    }
    if !quick {
        // Enough samples for all multiprocessors to have some of each band.
        let case = Case { inputs: (1, 2), block: Some(100_000), ..Case::new(64, packed(10), 1) };
        plans.push(Plan { taps: 512, decimation: 32, length: 6_000_000, case, precision: Precision::Single });
    }
    plans
}

/// Bands that differ in all that may; of the first one integers saturate.
fn bands(plan: &Plan, limit: f64) -> Result<Vec<DownConverter>, Fault> {
    let (case, norm) = (&plan.case, plan.filter().iter().map(|h| h * h).sum::<f64>().sqrt());
    let sigma = case.half() / 3f64.sqrt() * norm * (case.parts() / 2.0).sqrt();
    let gain = if limit.is_finite() { limit / (2.2 * sigma) } else { 1.0 };
    let band = |number: usize| {
        let filter = plan.filter().iter().map(|h| h * (1.0 + number as f64)).collect();
        let centre = CENTRE - 0.11 * number as f64;
        let band = DownConverter::new(centre, plan.decimation, filter)?.with_phase_turns(0.07 * number as f64)?;
        Ok(band.with_gain(gain / (1.0 + 2.0 * number as f64))?)
    };
    (0..5).map(band).collect()
}

/// Band, sample and centre: of some bands, two within a decimation, one ahead of the first chunk.
fn retunes(plan: &Plan) -> Vec<(usize, u64, f64)> {
    let (first, length) = (plan.case.first, plan.length as u64);
    let mut retunes = vec![(3, first, 0.21)];
    retunes.extend((1..6).map(|i| (1, first + i * length / 7 + i, 0.9 - 0.17 * i as f64)));
    retunes.extend([(4, first + length / 2, 0.4), (4, first + length / 2 + 1, 0.401)]);
    retunes
}

/// Pieces of each band, and statistics.
type Given<T> = (Vec<Vec<Samples<T>>>, Vec<Vec<DownConverterStatistics>>);

/// What the bands give each by itself.
fn alone<T: DownConvertedSample>(
    backend: &Backend,
    plan: &Plan,
    samples: &Array2<Complex<f32>>,
    cuts: &[(usize, usize)],
) -> Result<Given<T>, Fault> {
    let (mut outputs, mut statistics) = (Vec::new(), Vec::new());
    for (band, converter) in bands(plan, T::LIMIT)?.into_iter().enumerate() {
        let stream = DownConverterStream::new(backend, converter, plan.case.inputs()?)?;
        let mut stream = stream.with_output::<T>()?.with_statistics()?;
        for (_, at, centre) in retunes(plan).into_iter().filter(|(of, ..)| *of == band) {
            stream.retune(at, centre)?;
        }
        let mut pieces = Vec::new();
        for &(from, to) in cuts {
            pieces.extend(stream.push(&*plan.case.chunk(samples, from, to)?)?);
        }
        outputs.push(pieces);
        statistics.push(stream.take_statistics()?);
    }
    Ok((outputs, statistics))
}

/// A bank of them, with its retunes.
fn bank<T: DownConvertedSample>(
    backend: &Backend,
    plan: &Plan,
    order: BandOrder,
) -> Result<DownConverterBank<T>, Fault> {
    let bank = DownConverterBank::new(backend, bands(plan, T::LIMIT)?, plan.case.inputs()?)?;
    let mut bank = bank.with_output::<T>()?.with_statistics()?;
    bank.set_order(order)?;
    for (band, at, centre) in retunes(plan) {
        bank.retune(band, at, centre)?;
    }
    Ok(bank)
}

fn banks<T: DownConvertedSample>(session: &Session, plan: &Plan) -> Result<(f64, f64), Fault> {
    let (gpu, case) = (Backend::on(session.device.clone()), &plan.case);
    let (samples, cuts) = (plan.samples(), plan.cuts());
    let (expected, of_each) = alone::<T>(&gpu, plan, &samples, &cuts)?;
    let integers = [case.format.codes().is_some(), T::NAME.starts_with('i')];
    let same_statistics = |found: &[Vec<DownConverterStatistics>]| {
        found.len() == of_each.len() && found.iter().zip(&of_each).all(|(found, of)| same(found, of, integers))
    };
    let whole = BandOrder::default();
    let orders = [
        ("side by side", whole),
        ("in turn", BandOrder { streams: 1, ..whole }),
        ("in turn, in pieces", BandOrder { streams: 1, piece_bytes: 5000 }),
        ("two streams, in pieces", BandOrder { streams: 2, piece_bytes: 60_000 }),
    ];
    let mut time_ms = 0.0;
    for (name, order) in orders {
        let start = Instant::now();
        let mut bank = bank::<T>(&gpu, plan, order)?;
        let mut found: Vec<Vec<Samples<T>>> = (0..bank.bands()).map(|_| Vec::new()).collect();
        for &(from, to) in &cuts {
            let pieces = bank.push(&*case.chunk(&samples, from, to)?)?;
            found.iter_mut().zip(pieces).for_each(|(found, pieces)| found.extend(pieces));
        }
        if order == whole {
            time_ms = start.elapsed().as_secs_f64() * 1e3;
        }
        if found != expected {
            return Err(format!("{name}: other bits or axes than streams of a band").into());
        }
        if !same_statistics(&bank.take_statistics()?) {
            return Err(format!("{name}: other statistics than streams of a band").into());
        }

        // Chunks on the device, on the session's stream; the weights of retunes must follow.
        let mut bank = self::bank::<T>(&gpu, plan, order)?.on(&session.stream)?;
        let mut queued: Vec<Vec<DeviceSamples<'static>>> = (0..bank.bands()).map(|_| Vec::new()).collect();
        for &(from, to) in &cuts {
            let pieces = bank.push(&on_device(session, &*case.chunk(&samples, from, to)?)?)?;
            queued.iter_mut().zip(pieces).for_each(|(queued, pieces)| queued.extend(pieces));
        }
        for (queued, expected) in queued.iter().flatten().zip(expected.iter().flatten()) {
            let axes = (queued.first_sample(), queued.sample_rate_hz(), queued.centre_hz(), queued.presence());
            let of = (expected.first_sample(), expected.sample_rate_hz(), expected.centre_hz(), expected.presence());
            if axes != of || host::<T>(queued)? != expected.data().mapv(|value| value.to_c32()) {
                return Err(format!("{name}, chunks on the device: other bits or axes").into());
            }
        }
        if !queued.iter().map(Vec::len).eq(expected.iter().map(Vec::len)) {
            return Err(format!("{name}, chunks on the device: other pieces").into());
        }
        if !same_statistics(&bank.take_statistics()?) {
            return Err(format!("{name}, chunks on the device: other statistics").into());
        }
        // As it was made, without the retunes.
        bank.reset();
        let chunk = on_device(session, &*case.chunk(&samples, 0, plan.length)?)?;
        for (pieces, converter) in bank.push(&chunk)?.iter().zip(bands(plan, T::LIMIT)?) {
            let one = fringes::down_convert_to::<T, _>(&gpu, &chunk, &converter)?.samples;
            if pieces.len() != 1 || host::<T>(&pieces[0])? != host::<T>(&one)? {
                return Err(format!("{name}, after a reset: not one call of the plan").into());
            }
        }
    }
    Ok((0.0, time_ms))
}
