//! Outputs of other types: each within half of a step and the kernel's bound of the CPU's f32, counts to what values
//! near the limit allow, the same bits in a stream, in other chunks and on the device. Statistics: counts and sums of
//! integers exactly, those of the CPU for samples, and of the outputs themselves.

use std::time::Instant;

use fringes::channelizer::DownConvertedSample;
use fringes::channelizer::internals::TensorCores;
use fringes::{
    Backend, Channelizer, ChannelizerStream, Complex, DeviceSamples, DownConverter, DownConverterStatistics,
    DownConverterStream, Precision, SampleFormat, Samples, ToHost, down_convert_to, f16,
};
use ndarray::{Array2, Axis, concatenate};

use super::{Plan, case, on_device, wide};
use crate::end::End;
use crate::validate::f_engine::case::{Case, Fault, packed, typed};
use crate::validate::session::Session;

pub(super) fn validate(session: &mut Session) -> Result<(), End> {
    for plan in plans(session.quick) {
        case(session, "to f32", &plan, types::<Complex<f32>>)?;
        case(session, "to f16", &plan, types::<Complex<f16>>)?;
        case(session, "to i16", &plan, types::<Complex<i16>>)?;
        case(session, "to i8", &plan, types::<Complex<i8>>)?;
    }
    Ok(())
}

fn plans(quick: bool) -> Vec<Plan> {
    let sizes = [(128, 8), (96, 17), (7, 20), (160, 5), (64, 4)];
    let mut plans = Vec::new();
    for (taps, decimation) in sizes.into_iter().take(if quick { 2 } else { sizes.len() }) {
        for (format, block, gap) in [
            (packed(10), None, 0),
            (packed(12), Some(77), 0),
            (packed(8), Some(500), taps / 2 + 3),
            (typed(SampleFormat::Int16, true), None, 5 * taps + 11),
            (typed(SampleFormat::Float32, false), Some(13), 0),
        ] {
            let case = Case { inputs: (1 + plans.len() % 2, 2), block, gap, ..Case::new(64, format, 1) };
            let length = if quick { 2000 } else { 40_000 } + 3 * taps + 20 * decimation;
            plans.push(Plan { taps, decimation, length, case, precision: Precision::Single });
        }
    }
    plans
}

/// Outputs on the device, on the host, as complex f32, which all types are exactly.
pub(super) fn host<T: DownConvertedSample>(samples: &DeviceSamples<'_>) -> Result<Array2<Complex<f32>>, Fault> {
    if samples.format() != typed(T::FORMAT, true) {
        return Err(format!("outputs are {}", samples.format()).into());
    }
    let words = samples.array().to_vec()?;
    let values: &[T] = bytemuck::cast_slice(&words);
    let row = samples.row_bytes() / size_of::<T>();
    let shape = (samples.inputs().len(), samples.times());
    Ok(Array2::from_shape_fn(shape, |(input, time)| values[input * row + time].to_c32()))
}

/// What a stream gives of chunks on the host, and its statistics.
fn pushed<T: DownConvertedSample>(
    backend: &Backend,
    plan: &Plan,
    converter: &DownConverter,
    samples: &Array2<Complex<f32>>,
    cuts: &[(usize, usize)],
) -> Result<(Vec<Samples<T>>, Vec<DownConverterStatistics>), Fault> {
    let stream = DownConverterStream::new(backend, converter.clone(), plan.case.inputs()?)?;
    let mut stream = stream.with_output::<T>()?.with_statistics()?;
    let mut outputs = Vec::new();
    for &(from, to) in cuts {
        outputs.extend(stream.push(&*plan.case.chunk(samples, from, to)?)?);
    }
    Ok((outputs, stream.take_statistics()?))
}

/// Whether statistics are the same but for the order of sums of floats.
pub(super) fn same(a: &[DownConverterStatistics], b: &[DownConverterStatistics], integers: [bool; 2]) -> bool {
    let near = |a: f64, b: f64, exact: bool| if exact { a == b } else { (a - b).abs() <= 1e-11 * (a + b) };
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| {
            (a.samples.samples, a.samples.clipped) == (b.samples.samples, b.samples.clipped)
                && (a.outputs.outputs, a.outputs.saturated) == (b.outputs.outputs, b.outputs.saturated)
                && near(a.samples.sum_of_squares, b.samples.sum_of_squares, integers[0])
                && near(a.outputs.sum_of_squares, b.outputs.sum_of_squares, integers[1])
        })
}

fn types<T: DownConvertedSample>(session: &Session, plan: &Plan) -> Result<(f64, f64), Fault> {
    let (cpu, gpu, case) = (Backend::cpu(), Backend::on(session.device.clone()), &plan.case);
    let (samples, cuts) = (plan.samples(), plan.cuts());
    // A twentieth of integers is to be clamped, about: samples are evenly spread.
    let filter = plan.filter();
    let norm = filter.iter().map(|h| h * h).sum::<f64>().sqrt();
    let sigma = case.half() / 3f64.sqrt() * norm * (case.parts() / 2.0).sqrt();
    let gain = if T::LIMIT.is_finite() { T::LIMIT / (2.2 * sigma) } else { -1.7 };
    let converter = plan.plan()?.with_gain(gain)?;
    let (exact, of_cpu) = pushed::<Complex<f32>>(&cpu, plan, &converter, &samples, &cuts)?;
    let start = Instant::now();
    let (found, statistics) = pushed::<T>(&gpu, plan, &converter, &samples, &cuts)?;
    let time_ms = start.elapsed().as_secs_f64() * 1e3;
    if exact.len() != found.len() {
        return Err(format!("expected {} pieces, got {}", exact.len(), found.len()).into());
    }

    let largest = near(session, plan, &samples, &exact, &found, gain, &statistics)?;
    // The CPU counts the same samples; of outputs it counts as many.
    let integers = [case.format.codes().is_some(), T::NAME.starts_with('i')];
    for (found, of_cpu) in statistics.iter().zip(&of_cpu) {
        let counts = |of: &DownConverterStatistics| (of.samples.samples, of.samples.clipped, of.outputs.outputs);
        let (a, b) = (found.samples.sum_of_squares, of_cpu.samples.sum_of_squares);
        if counts(found) != counts(of_cpu) || (a - b).abs() > if integers[0] { 0.0 } else { 1e-11 * b } {
            return Err(format!("statistics of samples: {found:?}, of the CPU {of_cpu:?}").into());
        }
    }

    // On the device, and in one call.
    let stream = DownConverterStream::new(&gpu, converter.clone(), case.inputs()?)?.with_output::<T>()?;
    let mut stream = stream.with_statistics()?.on(&session.stream)?;
    let mut queued = Vec::new();
    for &(from, to) in &cuts {
        queued.extend(stream.push(&on_device(session, &*case.chunk(&samples, from, to)?)?)?);
    }
    for (queued, found) in queued.iter().zip(&found) {
        if host::<T>(queued)? != found.data().mapv(|value| value.to_c32()) {
            return Err("of chunks on the device: other bits".into());
        }
    }
    if queued.len() != found.len() || !same(&stream.take_statistics()?, &statistics, integers) {
        return Err("of chunks on the device: other pieces or statistics".into());
    }
    next_takes(&gpu, &queued, &found)?;
    if case.gap == 0 {
        let whole = case.chunk(&samples, 0, plan.length)?;
        let one = down_convert_to::<T, _>(&gpu, &*whole, &converter)?;
        let there = down_convert_to::<T, _>(&gpu, &on_device(session, &*whole)?, &converter)?;
        let data: Vec<_> = found.iter().map(|piece| piece.data()).collect();
        if concatenate(Axis(1), &data)? != one.samples.data() {
            return Err("in one call: other bits".into());
        }
        if host::<T>(&there.samples)? != one.samples.data().mapv(|value| value.to_c32()) {
            return Err("in one call on the device: other bits".into());
        }
        let counts: Vec<u64> = statistics.iter().map(|of| of.outputs.saturated).collect();
        if one.saturated.to_vec() != counts || there.saturated.to_vec()? != counts {
            return Err("in one call: other counts".into());
        }
        let (again, of_whole) = pushed::<T>(&gpu, plan, &converter, &samples, &[(0, plan.length)])?;
        if again.len() != 1 || again[0].data() != one.samples.data() || !same(&of_whole, &statistics, integers) {
            return Err("in a stream of one chunk: other bits or statistics".into());
        }
    }
    Ok((largest, time_ms))
}

/// `Ok` with the largest part of the kernel's bound beyond half of a step, if outputs are the CPU's f32 rounded and
/// clamped, and statistics theirs.
fn near<T: DownConvertedSample>(
    session: &Session,
    plan: &Plan,
    samples: &Array2<Complex<f32>>,
    exact: &[Samples<Complex<f32>>],
    found: &[Samples<T>],
    gain: f64,
    statistics: &[DownConverterStatistics],
) -> Result<f64, Fault> {
    let weights: Vec<f64> = plan.filter().iter().map(|h| h.abs()).collect();
    let mut largest = 0f64;
    // At least and at most so many saturated; the sum of squares.
    let mut sums = vec![(0, 0, 0f64); plan.inputs()];
    for (exact, found) in exact.iter().zip(found) {
        if (exact.first_sample(), exact.presence()) != (found.first_sample(), found.presence()) {
            return Err("other axes or flags than the CPU's".into());
        }
        for ((input, j), &exact) in exact.data().indexed_iter() {
            let value = found.data()[(input, j)].to_c32();
            sums[input].2 += wide(value).norm_sqr();
            if found.presence().is_some_and(|presence| !presence.is_present(input, j)) {
                if value != Complex::new(0.0, 0.0) {
                    return Err(format!("input {input}, output {j} is absent, and {value}").into());
                }
                continue;
            }
            let start = (found.first_sample() + j as u64) * plan.decimation as u64 - plan.case.first;
            let window = samples.row(input).into_iter().skip(start as usize);
            let size: f64 = window.zip(&weights).map(|(x, h)| wide(*x).norm() * h).sum();
            // Before compute capability 9.0 tensor cores give f32 alone.
            let tensor = T::FORMAT == SampleFormat::Float32 || session.device.info().compute_capability == (9, 0);
            let of_gpu =
                if tensor { plan.bound(&session.device, TensorCores::Best, size) } else { plan.bound_of_fp32(size) };
            let bound = gain.abs() * (of_gpu + plan.bound_of_cpu() * size).max(f64::MIN_POSITIVE);
            for (exact, value) in [(exact.re, value.re), (exact.im, value.im)] {
                let clamped = f64::from(exact).clamp(-T::LIMIT, T::LIMIT);
                let half = match T::FORMAT {
                    SampleFormat::Float32 => 0.0,
                    SampleFormat::Float16 => (clamped.abs() + bound) * 2f64.powi(-11) + 2f64.powi(-25),
                    _ => 0.5,
                };
                let error = ((f64::from(value) - clamped).abs() - half) / bound;
                if error.is_nan() || error > 1.0 {
                    return Err(
                        format!("input {input}, output {j}: {value} for {exact}, {error:.2} of the bound").into()
                    );
                }
                largest = largest.max(error);
            }
            let beyond = |margin: f64| f64::from(exact.re.abs().max(exact.im.abs())) > T::LIMIT + margin;
            sums[input].0 += u64::from(beyond(bound));
            sums[input].1 += u64::from(beyond(-bound) && T::LIMIT.is_finite());
        }
    }
    if T::LIMIT.is_finite() && sums.iter().all(|&(least, ..)| least == 0) {
        return Err("nothing saturates: the case is none".into());
    }
    for (input, ((least, most, squares), statistics)) in sums.into_iter().zip(statistics).enumerate() {
        let outputs = statistics.outputs;
        if !(least..=most).contains(&outputs.saturated) {
            return Err(format!("input {input}: {} saturated, expected {least} to {most}", outputs.saturated).into());
        }
        if (outputs.sum_of_squares - squares).abs() > 1e-10 * squares {
            return Err(format!("input {input}: squares sum up to {} for {squares}", outputs.sum_of_squares).into());
        }
    }
    Ok(largest)
}

/// `Ok` if a channelizer takes the outputs where they are.
fn next_takes<T: DownConvertedSample>(
    gpu: &Backend,
    queued: &[DeviceSamples<'_>],
    found: &[Samples<T>],
) -> Result<(), Fault> {
    let Some(first) = queued.first() else { return Ok(()) };
    let stream = || ChannelizerStream::new(gpu, Channelizer::complex(64).taps(2).build()?, first.inputs());
    let (mut there, mut here) = (stream()?, stream()?);
    for (queued, found) in queued.iter().zip(found) {
        let (of_device, of_host) = (there.push(queued)?, here.push(found)?);
        if of_device.as_ref().map(ToHost::to_host).transpose()? != of_host {
            return Err("a channelizer gives other voltages of outputs on the device".into());
        }
    }
    Ok(())
}
