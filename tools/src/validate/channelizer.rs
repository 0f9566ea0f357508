//! The channelizer by itself on the GPU: one array and a stream, of samples on the host and on the device; and
//! quantisation of its voltages.
//!
//! Voltages are compared with the CPU backend's, within 1e-5 of full scale, as the F-engine's; axes and flags exactly.
//! The same work in other steps, in other chunks and of samples on the device must give the same bits. Quantised values
//! and counts are the CPU's, exactly.

use std::time::Instant;

use fringes::channelizer::{QuantiseKernels, ScaledVoltages};
use fringes::{
    Backend, Channelizer, ChannelizerStream, ChunkFormat, Complex, Complex4, DeviceArray, DeviceSamples,
    DeviceVoltages, Gains, Inputs, Quantised, QuantisedSample, SampleFormat, ToHost, Uploader, Voltages, channelize,
    quantise,
};
use fringes_gpu::Buffer;
use ndarray::{Array2, Array3, Axis, concatenate};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::end::End;
use crate::gpu_report::params;
use crate::validate::f_engine::case::{Case, Fault, packed, typed};
use crate::validate::f_engine::{moving, sample_rows};
use crate::validate::session::{Outcome, Session};

/// Names of the cases.
pub(crate) const NAMES: [&str; 3] = ["channelize", "channelizer_stream", "quantise"];

type Output = Voltages<Complex<f32>>;

pub(crate) fn validate(session: &mut Session) -> Result<(), End> {
    for case in arrays(session.quick) {
        run(session, NAMES[0], &case, array)?;
    }
    for case in streams(session.quick) {
        run(session, NAMES[1], &case, stream)?;
    }
    let quick = session.quick;
    let shapes = [[3, 33, 5], [64, 1, 1], [2, 500, 64]].into_iter();
    let large = [[1024, 2048, 16], [4096, 128, 128], [1, 3_000_001, 2], [33, 77, 1025]];
    for shape in shapes.chain(large.into_iter().filter(|_| !quick)) {
        integers::<Complex<i8>>(session, shape)?;
        integers::<Complex4>(session, shape)?;
    }
    Ok(())
}

/// Plans with either kind of kernel, every format of samples, first samples that are no multiple of the stride.
fn arrays(quick: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    let channels: &[usize] = if quick { &[60, 256] } else { &[60, 256, 1024, 1536, 4096] };
    for (turn, &channels) in channels.iter().enumerate() {
        let types = [SampleFormat::Int8, SampleFormat::Int16, SampleFormat::Float16, SampleFormat::Float32];
        let typed = types.into_iter().flat_map(|format| [false, true].map(|complex| typed(format, complex)));
        for format in [packed(8), packed(10), packed(12)].into_iter().chain(typed) {
            let first = [0, 2 * channels as u64 * 77, 99_999_999_999_999][cases.len() % 3];
            let case = Case { inputs: (2, 1 + turn % 2), first, spectra: 30, ..Case::new(channels, format, 5) };
            cases.push(Case { block: (cases.len() % 4 == 1).then_some(channels + 3), ..case });
        }
        for (oversampling, format) in [((4, 3), typed_complex()), ((32, 27), packed(10))] {
            // Strides are whole numbers of samples of these: by one pass, and by two.
            let others = channels.next_multiple_of(64) / 2 * 3;
            let first = 1_000_001;
            for channels in [Some(others), channels.is_power_of_two().then_some(channels)].into_iter().flatten() {
                cases.push(Case { oversampling, first, spectra: 30, ..Case::new(channels, format, 8) });
            }
        }
    }
    cases
}

fn typed_complex() -> ChunkFormat {
    typed(SampleFormat::Int8, true)
}

/// Delays that step, missing samples, gaps.
fn streams(quick: bool) -> Vec<Case> {
    let sizes: &[(usize, usize)] =
        if quick { &[(64, 4), (256, 16)] } else { &[(64, 4), (256, 16), (1536, 5), (4096, 16)] };
    let mut cases = Vec::new();
    for &(channels, taps) in sizes {
        let case = Case { inputs: (2, 2), spectra: 60, ..Case::new(channels, packed(10), taps) };
        let delays = moving(channels);
        cases.push(case.clone());
        cases.push(Case { delays: delays.clone(), ..case.clone() });
        cases.push(Case { block: Some(channels + 77), ..case.clone() });
        cases.push(Case { gap: 9 * channels + 5, ..case.clone() });
        cases.push(Case { delays, block: Some(1000), gap: 17 * channels, format: packed(8), ..case.clone() });
        cases.push(Case { format: typed(SampleFormat::Float32, true), ..case.clone() });
        cases.push(Case { oversampling: (32, 27), delays: moving(channels), format: packed(12), ..case });
    }
    cases
}

/// Gives the largest error relative to full scale and the time of the work on the GPU.
type Check = fn(&Session, &Case) -> Result<(f64, f64), Fault>;

/// A case by a check of it.
fn run(session: &mut Session, name: &'static str, case: &Case, check: Check) -> Result<(), End> {
    let sizes = params([
        ("channels", case.channels),
        ("taps", case.taps),
        ("inputs", case.inputs.0 * case.inputs.1),
        ("spectra", case.spectra),
    ]);
    session.case_within(name, case.format.to_string(), sizes, |session| {
        let (largest, time_ms) = check(session, case)?;
        let numbers = (case.length()? * case.inputs.0 * case.inputs.1) as f64;
        let outcome = Outcome {
            time_ms,
            value: numbers / time_ms / 1e3,
            unit: "Msamples/s, with copies",
            against: "the CPU backend (held to the reference by its tests); other steps and chunks, and on the device",
            verdict: Ok(()),
        };
        Ok((outcome, format!("floats {largest:.1e} of full scale")))
    })
}

/// `Ok` if axes and flags are the same.
fn same_axes(expected: &Output, found: &Output) -> Result<(), Fault> {
    if expected.data().dim() != found.data().dim() {
        return Err(format!("expected {:?} values, got {:?}", expected.data().dim(), found.data().dim()).into());
    }
    let axes = |voltages: &Output| (voltages.inputs(), voltages.clock(), voltages.frequencies());
    if axes(expected) != axes(found) {
        return Err(format!("expected {:?}, got {:?}", axes(expected), axes(found)).into());
    }
    if expected.presence() == found.presence() { Ok(()) } else { Err("flags differ".into()) }
}

/// The largest error relative to full scale, a tone of the largest amplitude in the middle of a channel; `absent`
/// values are 0.
fn near(case: &Case, expected: &Output, found: &Output, absent_are_zero: bool) -> Result<f64, Fault> {
    same_axes(expected, found)?;
    let full_scale = case.half() * case.parts().sqrt() * case.plan()?.weights().iter().sum::<f64>().abs();
    let mut largest = 0f64;
    for ((place, &expected), &value) in expected.data().indexed_iter().zip(found.data()) {
        let absent = found.presence().is_some_and(|flags| !flags[(place.1, place.2)]);
        let expected = if absent && absent_are_zero { Complex::new(0.0, 0.0) } else { expected };
        let wide = |value: Complex<f32>| Complex::new(f64::from(value.re), f64::from(value.im));
        let error = (wide(expected) - wide(value)).norm() / full_scale;
        if error.is_nan() || error > 1e-5 {
            return Err(format!("value {place:?}: expected {expected}, got {value}; full scale is {full_scale}").into());
        }
        largest = largest.max(error);
    }
    Ok(largest)
}

fn expect_same(what: &str, expected: &Output, found: &Output) -> Result<(), Fault> {
    if expected == found { Ok(()) } else { Err(format!("{what}: other bits").into()) }
}

/// One array, at once, in steps, and on the device.
fn array(session: &Session, case: &Case) -> Result<(f64, f64), Fault> {
    let (plan, gpu, inputs) = (case.plan()?, Backend::on(session.device.clone()), case.inputs()?);
    let samples = case.samples()?;
    let chunk = case.chunk(&samples, 0, samples.ncols())?;
    let expected = channelize(&Backend::cpu(), &*chunk, &plan)?;
    let start = Instant::now();
    let found = channelize(&gpu, &*chunk, &plan)?;
    let time_ms = start.elapsed().as_secs_f64() * 1e3;
    let largest = near(case, &expected, &found, false)?;

    let need = plan.memory(&gpu, inputs, chunk.times(), chunk.format())?;
    for limit in
        [need.smallest_step_bytes, need.smallest_step_bytes + (need.workspace_bytes - need.smallest_step_bytes) / 3]
    {
        let limited = channelize(&gpu.clone().with_memory_limit(limit), &*chunk, &plan)?;
        expect_same("in steps", &found, &limited)?;
    }
    let too_low = gpu.clone().with_memory_limit(need.smallest_step_bytes - 1);
    if channelize(&too_low, &*chunk, &plan).is_ok() {
        return Err("a limit below the smallest step was not refused".into());
    }
    let on_device = Uploader::new(&session.stream).samples(&*chunk)?;
    expect_same("on the device", &found, &channelize(&gpu, &on_device, &plan)?.to_host()?)?;
    if channelize(&Backend::cpu(), &on_device, &plan).is_ok() {
        return Err("the CPU took samples on the device".into());
    }
    Ok((largest, time_ms))
}

/// What a stream gives of chunks on the host.
fn pushed(
    case: &Case,
    mut stream: ChannelizerStream,
    samples: &Array2<Complex<f32>>,
    cuts: &[(usize, usize)],
) -> Result<Vec<Output>, Fault> {
    let mut outputs = Vec::new();
    for &(from, to) in cuts {
        outputs.extend(stream.push(&*case.chunk(samples, from, to)?)?);
    }
    Ok(outputs)
}

/// A stream in one chunk, in odd ones, and of chunks on the device.
fn stream(session: &Session, case: &Case) -> Result<(f64, f64), Fault> {
    let (plan, gpu): (Channelizer, _) = (case.plan()?, Backend::on(session.device.clone()));
    let stream_on = |backend: &Backend| -> Result<ChannelizerStream, Fault> {
        Ok(ChannelizerStream::new(backend, plan.clone(), case.inputs()?)?.with_delays(case.models()?)?)
    };
    let samples = case.samples()?;
    let length = samples.ncols();
    let cuts = case.cuts(&[length / 3 + 1, 17, length / 7 + 5, length / 40 + 3])?;
    let expected = pushed(case, stream_on(&Backend::cpu())?, &samples, &cuts)?;
    let start = Instant::now();
    let found = pushed(case, stream_on(&gpu)?, &samples, &cuts)?;
    let time_ms = start.elapsed().as_secs_f64() * 1e3;
    if expected.len() != found.len() {
        return Err(format!("expected {} outputs, got {}", expected.len(), found.len()).into());
    }
    let mut largest = 0f64;
    for (expected, found) in expected.iter().zip(&found) {
        largest = largest.max(near(case, expected, found, true)?);
    }

    // Phases are on lines that depend on chunks; without them chunks of any size give the same bits.
    if case.gap == 0 && case.delays.is_empty() {
        let whole = pushed(case, stream_on(&gpu)?, &samples, &case.cuts(&[length])?)?;
        let join = |outputs: &[Output]| -> Result<Array3<Complex<f32>>, Fault> {
            let views: Vec<_> = outputs.iter().map(|output| output.data()).collect();
            Ok(concatenate(Axis(1), &views)?.as_standard_layout().into_owned())
        };
        if join(&whole)? != join(&found)? {
            return Err("in other chunks: other bits".into());
        }
    }

    let mut stream = stream_on(&gpu)?.on(&session.stream)?;
    let mut queued = Vec::new();
    for &(from, to) in &cuts {
        let chunk = case.chunk(&samples, from, to)?;
        let device = if let ChunkFormat::Packed { .. } = chunk.format() {
            // Rows begin at bytes of any number.
            let (words, row_bytes) = sample_rows(&*chunk)?;
            let array = DeviceArray::from(Buffer::from_slice(&session.stream, &words)?).written_on(&session.stream);
            DeviceSamples::new(array, row_bytes, chunk.format(), chunk.times(), chunk.inputs())?
                .with_axes_of(&*chunk)?
        } else {
            Uploader::new(&session.stream).samples(&*chunk)?
        };
        queued.extend(stream.push(&device)?);
    }
    if queued.len() != found.len() {
        return Err(format!("of chunks on the device: {} outputs, not {}", queued.len(), found.len()).into());
    }
    for (queued, found) in queued.iter().zip(&found) {
        expect_same("of chunks on the device", found, &queued.to_host()?)?;
    }
    if stream_on(&Backend::cpu())?
        .push(&Uploader::new(&session.stream).samples(&*case.chunk(&samples, 0, 100)?)?)
        .is_ok()
    {
        return Err("a stream on the CPU took samples on the device".into());
    }
    Ok((largest, time_ms))
}

/// Values to integers: those of the CPU, in one step and in several, and of voltages on the device.
fn integers<Q: QuantisedSample>(session: &mut Session, shape: [usize; 3]) -> Result<(), End> {
    let [channels, times, inputs] = shape;
    let sizes = params([("channels", channels), ("times", times), ("inputs", inputs)]);
    session.case(NAMES[2], Q::FORMAT.to_string(), sizes, |session| {
        let (cpu, gpu, stream) = (Backend::cpu(), Backend::on(session.device.clone()), &session.stream);
        let special = [0.5, -1.5, 7.0, 7.5, 126.5, -127.5, 1e30, f32::INFINITY, f32::NAN, -0.0];
        let mut random = Xoshiro256PlusPlus::seed_from_u64(channels as u64);
        let mut part = || match random.random_range(0..16) {
            0 => special[random.random_range(0..special.len())],
            1 => f32::from(random.random_range(-300..300i16)) / 2.0,
            _ => 100.0 * random.random_range(-1.0..1.0f32),
        };
        let data = Array3::from_shape_simple_fn((channels, times, inputs), || Complex::new(part(), part()));
        let gains = Array2::from_shape_fn((channels, inputs), |(channel, input)| {
            [Complex::new(1.0, 0.0), Complex::new(0.1, -0.7), Complex::new(1.0 / 3.0, 0.2)][(channel + input) % 3]
        });
        let gains = Gains::per_channel_input(gains)?;
        let all = Voltages::new(data, Inputs::single_pol(inputs)?)?;
        let flags = Array2::from_shape_fn((times, inputs), |(time, input)| (time * 7 + input) % 5 != 3);
        let some = all.clone().with_presence(flags)?;
        let mut verdict = Ok(());
        for voltages in [&all, &some] {
            let expected = quantise::<Q, _>(&cpu, voltages, &gains)?;
            let need = Quantised::<Voltages<Q>>::memory(&gpu, channels, times, inputs)?;
            for limit in [need.smallest_step_bytes, 3 * need.smallest_step_bytes, u64::MAX] {
                if quantise::<Q, _>(&gpu.clone().with_memory_limit(limit), voltages, &gains)? != expected {
                    verdict = Err(format!("other integers or counts than the CPU's, limit {limit}"));
                }
            }
            let on_device: DeviceVoltages<'_, _> = Uploader::new(stream).voltages(voltages)?;
            let found = quantise::<Q, _>(&gpu, &on_device, &gains)?;
            if found.voltages.to_host()? != expected.voltages
                || found.saturated.to_vec()? != expected.saturated.to_vec()
            {
                verdict = Err("of voltages on the device: other integers or counts".into());
            }
        }
        let time_ms = time::<Q>(session, shape)?;
        let moved = channels * times * inputs * (8 + size_of::<Q>());
        let against = "the CPU backend (exact, held to the reference by its tests), in steps and on the device";
        Ok(Outcome { time_ms, value: moved as f64 / time_ms / 1e6, unit: "GB/s", against, verdict })
    })
}

/// Time of the kernel alone, of small values.
fn time<Q: QuantisedSample>(session: &Session, [channels, times, inputs]: [usize; 3]) -> Result<f64, Fault> {
    let stream = &session.stream;
    let voltages = Buffer::<Complex<f32>>::zeroed(stream, channels * times * inputs)?;
    let gains = Buffer::<Complex<f32>>::zeroed(stream, channels * inputs)?;
    let mut to = Buffer::<Q>::zeroed(stream, channels * times * inputs)?;
    let mut saturated = Buffer::<u64>::zeroed(stream, inputs)?;
    let kernels = QuantiseKernels::<Q>::load(&session.device)?;
    Ok(session.time(|| {
        let from = ScaledVoltages {
            shape: [channels, times, inputs],
            voltages: voltages.view(),
            gains: gains.view(),
            present: None,
        };
        kernels.quantise(stream, from, to.view_mut(), saturated.view_mut())
    })?)
}
