//! Retunes of a stream: pieces, axes and values of the CPU within both bounds; the same bits in one chunk, with retunes
//! queued one by one, and on the device.

use std::time::Instant;

use fringes::{Backend, Complex, DownConverterStream, Precision, SampleFormat};
use ndarray::Array2;

use super::{Output, Plan, case, host, near, on_device};
use crate::end::End;
use crate::validate::f_engine::case::{Case, Fault, packed, typed};
use crate::validate::session::Session;

pub(super) fn validate(session: &mut Session) -> Result<(), End> {
    let sizes = [(128, 8), (96, 17), (7, 20), (160, 5)];
    for (taps, decimation) in sizes.into_iter().take(if session.quick { 2 } else { sizes.len() }) {
        for (format, first) in [(packed(10), 1_000_003), (packed(12), 0), (typed(SampleFormat::Int8, true), 1 << 50)] {
            let case_of = Case { inputs: (1, 2), first, ..Case::new(64, format, 1) };
            let length = if session.quick { 4000 } else { 60_000 } + 20 * decimation;
            for precision in [Precision::Single, Precision::Half] {
                let what = if precision == Precision::Half { "retunes, half precision" } else { "retunes" };
                let plan = Plan { taps, decimation, length, case: case_of.clone(), precision };
                case(session, what, &plan, retunes)?;
            }
        }
    }
    Ok(())
}

/// Samples and centres: two within a decimation, one before the first chunk, one that nothing reaches.
fn list(plan: &Plan) -> Vec<(u64, f64)> {
    let (first, length) = (plan.case.first, plan.length as u64);
    let mut retunes = vec![(first / 2, 0.21)];
    retunes.extend((1..24).map(|i| (first + i * length / 25 + i * i % 7, 0.9 - 0.077 * i as f64)));
    retunes.extend([(first + length / 2, 0.4), (first + length / 2 + 1, 0.401), (first + 2 * length, 0.0)]);
    retunes.sort_by_key(|(at, _)| *at);
    retunes
}

/// What a stream gives of chunks on the host: retunes all ahead, or each when it is due.
fn pushed(
    backend: &Backend,
    plan: &Plan,
    samples: &Array2<Complex<f32>>,
    cuts: &[(usize, usize)],
    ahead: bool,
) -> Result<Vec<Output>, Fault> {
    let mut stream = DownConverterStream::new(backend, plan.plan()?, plan.case.inputs()?)?;
    let (mut retunes, mut outputs) = (list(plan).into_iter().peekable(), Vec::new());
    for &(from, to) in cuts {
        while let Some((at, centre)) = retunes.next_if(|(at, _)| ahead || *at < plan.case.first + to as u64) {
            stream.retune(at, centre)?;
        }
        outputs.extend(stream.push(&*plan.case.chunk(samples, from, to)?)?);
    }
    Ok(outputs)
}

/// The outputs of pieces, one after another.
fn joined(pieces: &[Output]) -> Vec<Complex<f32>> {
    pieces.iter().flat_map(|piece| piece.data().t().iter().copied().collect::<Vec<_>>()).collect()
}

fn retunes(session: &Session, plan: &Plan) -> Result<(f64, f64), Fault> {
    let (cpu, gpu, case) = (Backend::cpu(), Backend::on(session.device.clone()), &plan.case);
    let (samples, cuts) = (plan.samples(), plan.cuts());
    let expected = pushed(&cpu, plan, &samples, &cuts, true)?;
    let start = Instant::now();
    let found = pushed(&gpu, plan, &samples, &cuts, true)?;
    let time_ms = start.elapsed().as_secs_f64() * 1e3;
    if expected.len() != found.len() {
        return Err(format!("expected {} pieces, got {}", expected.len(), found.len()).into());
    }
    let mut largest = 0f64;
    for (expected, found) in expected.iter().zip(&found) {
        if expected.centre_hz() != found.centre_hz() {
            return Err("a piece has another centre than the CPU's".into());
        }
        largest = largest.max(near(&session.device, plan, &samples, expected, found)?);
    }
    if pushed(&gpu, plan, &samples, &cuts, false)? != found {
        return Err("with retunes queued one by one: other bits or axes".into());
    }
    let bits = joined(&found);
    if joined(&pushed(&gpu, plan, &samples, &[(0, plan.length)], true)?) != bits {
        return Err("in one chunk: other bits".into());
    }

    let mut stream = DownConverterStream::new(&gpu, plan.plan()?, case.inputs()?)?;
    // Queued before the stream is another one: the weights must follow.
    for (at, centre) in list(plan) {
        stream.retune(at, centre)?;
    }
    let mut stream = stream.on(&session.stream)?;
    let mut queued = Vec::new();
    for &(from, to) in &cuts {
        queued.extend(stream.push(&on_device(session, &*case.chunk(&samples, from, to)?)?)?);
    }
    if queued.iter().map(host).collect::<Result<Vec<_>, Fault>>()? != found {
        return Err("of chunks on the device: other bits or axes".into());
    }
    stream.reset();
    let whole = on_device(session, &*case.chunk(&samples, 0, plan.length)?)?;
    let plain = fringes::down_convert(&gpu, &whole, &plan.plan()?)?;
    if stream.push(&whole)?.iter().map(host).collect::<Result<Vec<_>, Fault>>()? != [host(&plain)?] {
        return Err("after a reset: not the plan's centre".into());
    }
    Ok((largest, time_ms))
}
