//! Down-conversion on the GPU: the kernel against the reference, and one call and streams of samples on the host and on
//! the device.
//!
//! The kernel is held to the bound that `down_convert` states. Streams are compared with the CPU's within both bounds,
//! axes and flags exactly; other chunks, other steps and samples on the device must give the same bits. [`types`] has
//! outputs of other types with their counts, and statistics, [`retunes`] and [`banks`] what their names say.

mod banks;
mod retunes;
mod types;

use std::time::Instant;

use fringes::channelizer::internals::format::Numbers;
use fringes::channelizer::internals::{DownConvertKernels, MmaShape, TensorCores, TensorShape, WindowRows};
use fringes::{
    Backend, Channelizer, ChannelizerStream, ChunkFormat, Complex, DeviceArray, DeviceSamples, DownConverter,
    DownConverterStream, Precision, SampleChunk, SampleFormat, Samples, ToHost, Uploader, down_convert, f16,
};
use fringes_gpu::{Buffer, Device};
use fringes_reference::ddc;
use fringes_reference::packed::decode;
use ndarray::{Array2, Axis, concatenate};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::end::End;
use crate::gpu_report::params;
use crate::validate::f_engine::case::{Case, Fault, packed, typed};
use crate::validate::f_engine::sample_rows;
use crate::validate::session::{Outcome, Session};

/// Name of the cases.
pub(crate) const NAME: &str = "down_convert";

/// What the output has before.
const POISON: Complex<f32> = Complex::new(-1.25e30, 3.5e29);

/// Centre and phase of all plans.
const CENTRE: f64 = 0.123_456_789;
const PHASE: f64 = -0.3;

type Output = Samples<Complex<f32>>;

/// A plan and samples of it.
#[derive(Debug, Clone)]
struct Plan {
    taps: usize,
    decimation: usize,
    /// Samples of an input.
    length: usize,
    /// Format, inputs, first sample, missing samples and gap.
    case: Case,
    precision: Precision,
}

pub(crate) fn validate(session: &mut Session) -> Result<(), End> {
    if !session.wants(NAME) {
        return Ok(());
    }
    for plan in plans(session.quick) {
        case(session, "kernel", &plan, |session, plan| launches(session, plan, TensorCores::Best))?;
    }
    for plan in in_half(session.quick) {
        case(session, "kernel, half precision", &plan, |session, plan| launches(session, plan, TensorCores::Best))?;
    }
    for plan in forced(session.quick) {
        case(session, "kernel, sm_80 code forced", &plan, |session, plan| launches(session, plan, TensorCores::Mma))?;
    }
    for plan in streams(session.quick) {
        case(session, "stream", &plan, stream)?;
        if matches!(plan.case.format, ChunkFormat::Packed { .. }) {
            case(session, "stream, half precision", &Plan { precision: Precision::Half, ..plan }, stream)?;
        }
    }
    types::validate(session)?;
    retunes::validate(session)?;
    banks::validate(session)
}

fn formats() -> Vec<ChunkFormat> {
    let types = [SampleFormat::Int8, SampleFormat::Int16, SampleFormat::Float16, SampleFormat::Float32];
    let typed = types.into_iter().flat_map(|format| [false, true].map(|complex| typed(format, complex)));
    [2, 3, 4, 7, 8, 10, 12, 16].map(packed).into_iter().chain(typed).collect()
}

/// Every format with some sizes, and some formats with every size.
fn plans(quick: bool) -> Vec<Plan> {
    let sizes = [(1, 1), (7, 5), (128, 8), (160, 5), (96, 17), (300, 64), (33, 200), (1024, 64), (2048, 128)];
    let mut plans = Vec::new();
    let mut add = |format, (taps, decimation): (usize, usize), outputs: usize| {
        let first = [0, 1_000_003, 999_999_999_999_989][plans.len() % 3];
        let case = Case { inputs: (1 + plans.len() % 3, 1), first, ..Case::new(64, format, 1) };
        let length = taps + (outputs - 1) * decimation + decimation - 1;
        plans.push(Plan { taps, decimation, length, case, precision: Precision::Single });
    };
    for format in formats() {
        add(format, sizes[2], 67);
        if !quick {
            add(format, sizes[3], 1001);
            add(format, sizes[4], 33);
        }
    }
    for format in [packed(10), typed(SampleFormat::Int8, true), typed(SampleFormat::Float32, false)] {
        for size in sizes.into_iter().filter(|(taps, _)| !quick || *taps <= 128) {
            add(format, size, if quick { 35 } else { 500 });
        }
    }
    plans
}

/// Samples with kernels of weights of one f16, and others.
fn in_half(quick: bool) -> Vec<Plan> {
    let plans = forced(quick).into_iter().filter(|plan| quick || plan.case.format != packed(4));
    plans.map(|plan| Plan { precision: Precision::Half, ..plan }).collect()
}

/// The formats and sizes that the kernels of compute capability 8.0 and higher take, on any device.
fn forced(quick: bool) -> Vec<Plan> {
    let sizes = [(128, 8), (96, 17), (30, 4), (160, 5), (256, 16), (512, 32), (1024, 64), (2048, 128), (1, 1)];
    let formats = [4, 8, 10, 12, 16].map(packed).into_iter().chain([typed(SampleFormat::Int8, false)]);
    let mut plans = Vec::new();
    for format in formats {
        for (taps, decimation) in sizes.into_iter().take(if quick { 2 } else { sizes.len() }) {
            let first = [0, 1_000_003, 999_999_999_999_989][plans.len() % 3];
            let case = Case { inputs: (1 + plans.len() % 3, 1), first, ..Case::new(64, format, 1) };
            let outputs = if quick { 35 } else { 20_000 / decimation + 3001 };
            let length = taps + outputs * decimation - 1;
            plans.push(Plan { taps, decimation, length, case, precision: Precision::Single });
        }
    }
    plans
}

/// Missing samples and gaps.
fn streams(quick: bool) -> Vec<Plan> {
    let mut plans = Vec::new();
    let sizes = [(128, 8), (96, 17), (7, 20), (1, 3), (512, 32), (160, 5), (40, 5000)];
    for (taps, decimation) in sizes.into_iter().take(if quick { 3 } else { sizes.len() }) {
        let length = if quick { 3000 } else { 60_000 } + 3 * taps + 20 * decimation;
        for (format, block, gap) in [
            (packed(10), None, 0),
            // Chunks that begin with whole pieces of 16 bytes.
            (packed(10), Some(1024), 0),
            (packed(4), Some(512), 0),
            (packed(12), Some(77), 0),
            (packed(8), Some(1000), taps / 2 + 3),
            (typed(SampleFormat::Int16, false), None, 5 * taps + 11),
            (typed(SampleFormat::Int8, true), Some(13), 0),
            (typed(SampleFormat::Float32, true), None, 0),
        ] {
            let case = Case { inputs: (1 + plans.len() % 2, 2), block, gap, ..Case::new(64, format, 1) };
            plans.push(Plan { taps, decimation, length, case, precision: Precision::Single });
        }
    }
    plans
}

impl Plan {
    fn plan(&self) -> Result<DownConverter, Fault> {
        let plan = DownConverter::new(CENTRE, self.decimation, self.filter())?.with_phase_turns(PHASE)?;
        Ok(plan.with_precision(self.precision))
    }

    fn inputs(&self) -> usize {
        self.case.inputs.0 * self.case.inputs.1
    }

    /// Random samples of the format, `[input][time]`.
    fn samples(&self) -> Array2<Complex<f32>> {
        let case = &self.case;
        let mut random = Xoshiro256PlusPlus::seed_from_u64((self.taps * 1000 + self.decimation) as u64);
        let (complex, codes) = (case.format.is_complex(), case.format.codes());
        let mut part = || match codes {
            Some((lowest, highest)) => random.random_range(lowest as i32..=highest as i32) as f32,
            None => f16::from_f32(random.random_range(-1.0..1.0)).to_f32(),
        };
        let shape = (self.inputs(), self.length);
        Array2::from_shape_simple_fn(shape, || Complex::new(part(), if complex { part() } else { 0.0 }))
    }

    /// What an output may be off by on the GPU, of `size`, `sum |x| |h|` of its window.
    ///
    /// On tensor cores, of full scale `2^(B-1) sum |h|`: 2^-19.9 of the rotation, 2^-24 of the largest weight a tap,
    /// and 2^-22 a product, but no more than 2e-5; in half precision 2^-11 of the weights; from compute capability 8.0
    /// on what `MmaShape::bound` derives.
    fn bound(&self, device: &Device, choice: TensorCores, size: f64) -> f64 {
        let bits = match self.case.format {
            ChunkFormat::Packed { bits } => Some(bits),
            format if format == typed(SampleFormat::Int8, false) => Some(8),
            format if format == typed(SampleFormat::Int16, false) => Some(16),
            _ => None,
        };
        let shape = bits.and_then(|bits| TensorShape::new(self.taps, self.decimation, bits));
        let best = choice == TensorCores::Best && device.info().compute_capability == (9, 0);
        let weights: Vec<f64> = self.filter().iter().map(|h| h.abs()).collect();
        if let Some(shape) = shape.filter(|_| best) {
            let (sum, largest) = (weights.iter().sum::<f64>(), weights.iter().copied().fold(0.0, f64::max));
            let products = f64::from(8 * shape.sets * shape.groups);
            let parts = 2f64.powf(-19.9) + products * 2f64.powi(-22);
            let parts = parts + self.taps as f64 * 2f64.powi(-24) * largest / sum;
            let of_one = TensorShape::half(self.taps, self.decimation, shape.bits);
            let weights = if of_one.is_some() && self.precision == Precision::Half { 2f64.powi(-11) } else { 0.0 };
            return (parts.min(2e-5) + weights) * sum * 2f64.powi(shape.bits as i32 - 1);
        }
        if let Some(shape) = bits.and_then(|bits| self.mma(device, bits)) {
            return shape.bound() * weights.iter().sum::<f64>() * 2f64.powi(shape.bits as i32 - 1);
        }
        self.bound_of_fp32(size)
    }

    /// The same of the kernel of FP32 products.
    fn bound_of_fp32(&self, size: f64) -> f64 {
        let n = self.taps.div_ceil(128) * if self.case.format.is_complex() { 8 } else { 4 };
        (1.5 * n as f64 + 18.0) * 2f64.powi(-24) * size
    }

    /// The shape on tensor cores of compute capability 8.0 and higher, for samples of so many bits.
    fn mma(&self, device: &Device, bits: u32) -> Option<MmaShape> {
        let shared = device.info().limits.shared_bytes_per_block;
        MmaShape::all(self.taps, self.decimation, shared).into_iter().find(|shape| shape.bits == bits)
    }

    /// Lopsided, so that an error of order or of conjugation shows.
    fn filter(&self) -> Vec<f64> {
        (0..self.taps).map(|k| 1.0 / (1.0 + k as f64) - 0.3).collect()
    }

    /// The same on the CPU.
    fn bound_of_cpu(&self) -> f64 {
        let n = self.taps.div_ceil(if self.case.format.is_complex() { 4 } else { 8 });
        (1.5 * n as f64 + 8.0) * 2f64.powi(-24)
    }

    /// Ends of chunks at awkward places, with the gap after the one that passes the middle.
    fn cuts(&self) -> Vec<(usize, usize)> {
        let (taps, decimation) = (self.taps, self.decimation);
        let lengths = [taps / 2 + 1, self.length / 7 + 5, 17, 1, 3 * taps + 31, 16 * decimation, self.length / 3, 5];
        let (mut cuts, mut from, mut gap) = (Vec::new(), 0, self.case.gap);
        let whole = |length: usize| self.case.block.map_or(length, |block| length.next_multiple_of(block));
        for length in lengths.into_iter().cycle() {
            let to = (from + whole(length)).min(self.length);
            cuts.push((from, to));
            from = to;
            if from >= self.length / 2 {
                (from, gap) = (from + whole(gap), 0);
            }
            if from >= self.length {
                break;
            }
        }
        cuts
    }
}

/// Gives the largest error over its bound, and the time on the GPU.
type Check = fn(&Session, &Plan) -> Result<(f64, f64), Fault>;

/// A case by a check of it.
fn case(session: &mut Session, what: &str, plan: &Plan, check: Check) -> Result<(), End> {
    let sizes = params([
        ("taps", plan.taps),
        ("decimation", plan.decimation),
        ("samples", plan.length),
        ("inputs", plan.inputs()),
    ]);
    session.case_within(NAME, format!("{what}, {}", plan.case.format), sizes, |session| {
        let (largest, time_ms) = check(session, plan)?;
        let outcome = Outcome {
            time_ms,
            value: (plan.length * plan.inputs()) as f64 / time_ms / 1e6,
            unit: "Gsamples/s",
            against: "the reference, and the CPU backend; other chunks, steps and launches",
            verdict: Ok(()),
        };
        Ok((outcome, format!("largest error {largest:.2} of the bound")))
    })
}

fn wide(value: Complex<f32>) -> Complex<f64> {
    Complex::new(f64::from(value.re), f64::from(value.im))
}

/// Samples on the device at an awkward bit, and what they are.
fn rows_of(session: &Session, plan: &Plan) -> Result<(Placed, Array2<Complex<f64>>), Fault> {
    let (stream, case) = (&session.stream, &plan.case);
    let ChunkFormat::Packed { bits } = case.format else {
        let samples = plan.samples();
        let chunk = case.chunk(&samples, 0, plan.length)?;
        let device = Uploader::new(stream).samples(&*chunk)?;
        let row_bits = 8 * device.row_bytes() as u64;
        let words = device.into_array().into_buffer().ok_or("memory of its own")?;
        return Ok((Placed { words, row_bits, first_bit: 0 }, samples.mapv(wide)));
    };
    // Rows one after the other, each some bits further on.
    let row = plan.length * bits as usize;
    let (first_bit, row_bits) = (37, row + 45);
    let end = first_bit + (plan.inputs() - 1) * row_bits + row;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(row as u64);
    let bytes: Vec<u8> = (0..4 * (end.div_ceil(32) + DeviceSamples::PADDING_WORDS)).map(|_| random.random()).collect();
    let words: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_ne_bytes(*word)).collect();
    let mut values = Array2::default((plan.inputs(), plan.length));
    for (input, mut values) in values.rows_mut().into_iter().enumerate() {
        let start = first_bit + input * row_bits;
        let (byte, shift) = (start / 8, start % 8);
        let at = |index: usize| u32::from(bytes.get(index).copied().unwrap_or(0));
        let aligned: Vec<u8> =
            (byte..byte + row.div_ceil(8)).map(|i| ((at(i) << 8 | at(i + 1)) >> (8 - shift)) as u8).collect();
        let decoded = decode(&aligned, bits as usize, plan.length);
        values.iter_mut().zip(decoded).for_each(|(value, x)| *value = Complex::new(x, 0.0));
    }
    let words = Buffer::from_slice(stream, &words)?;
    Ok((Placed { words, row_bits: row_bits as u64, first_bit: first_bit as u64 }, values))
}

/// Rows on the device.
struct Placed {
    words: Buffer<u32>,
    row_bits: u64,
    first_bit: u64,
}

/// Launches of the kernel against the reference.
fn launches(session: &Session, plan: &Plan, choice: TensorCores) -> Result<(f64, f64), Fault> {
    let (stream, case, taps, decimation) = (&session.stream, &plan.case, plan.taps, plan.decimation);
    let (converter, inputs) = (plan.plan()?, plan.inputs());
    let kernels = DownConvertKernels::load_of(&session.device, &converter, choice)?;
    if choice == TensorCores::Mma {
        let bits = Numbers::of(case.format)?.bits;
        if kernels.has_mma(bits) != plan.mma(&session.device, bits).is_some() {
            return Err(format!("the kernel for samples of {bits} bits is not the one that the plan has").into());
        }
    }
    let (placed, samples) = rows_of(session, plan)?;
    let rows = WindowRows {
        samples: placed.words.view(),
        inputs,
        row_bits: placed.row_bits,
        first_bit: placed.first_bit,
        first_sample: case.first,
        times: plan.length,
        numbers: Numbers::of(case.format)?,
    };
    let first = case.first.div_ceil(decimation as u64);
    let skipped = (first * decimation as u64 - case.first) as usize;
    let outputs = ddc::outputs(plan.length - skipped, taps, decimation);
    let (end, row) = (first + outputs as u64, outputs + 3);
    let launched = |cuts: &[u64]| -> Result<Vec<Complex<f32>>, Fault> {
        let mut out = Buffer::alloc(&session.device, inputs * row)?;
        out.fill(stream, POISON)?;
        for cut in cuts.windows(2) {
            let to = out.slice_mut((cut[0] - first) as usize..)?;
            kernels.launch(stream, &rows, cut[0]..cut[1], to, row)?;
        }
        Ok(out.to_vec(stream)?)
    };
    let found = launched(&[first, end])?;
    let third = first + outputs as u64 / 3;
    if launched(&[first, third, third, (third + 1).min(end), end])? != found {
        return Err("in several launches: other bits".into());
    }
    if kernels.launch(stream, &rows, first..end + 1, Buffer::zeroed(stream, inputs * row)?.view_mut(), row).is_ok() {
        return Err("a window beyond the samples was not refused".into());
    }

    let mut largest = 0f64;
    for (input, found) in found.chunks(row).enumerate() {
        if found[outputs..].iter().any(|&value| value != POISON) {
            return Err(format!("input {input}: values behind the outputs are written").into());
        }
        let x: Vec<Complex<f64>> = samples.row(input).iter().skip(skipped).copied().collect();
        let start = first * decimation as u64;
        let expected = ddc::down_convert(&x, converter.filter(), decimation, -CENTRE, PHASE, start);
        if expected.len() != outputs {
            return Err(format!("expected {} outputs, got {outputs}", expected.len()).into());
        }
        for (j, (&expected, &value)) in expected.iter().zip(found).enumerate() {
            let size: f64 = x[j * decimation..].iter().zip(converter.filter()).map(|(x, h)| x.norm() * h.abs()).sum();
            let error =
                (wide(value) - expected).norm() / plan.bound(&session.device, choice, size).max(f64::MIN_POSITIVE);
            if error.is_nan() || error > 1.0 {
                return Err(
                    format!("input {input}, output {j}: {value} for {expected}, {error:.2} of the bound").into()
                );
            }
            largest = largest.max(error);
        }
    }
    let mut out = Buffer::alloc(&session.device, inputs * row)?;
    let time_ms =
        session.time(|| kernels.launch(stream, &rows, first..end, out.view_mut(), row).map_err(Fault::from))?;
    Ok((largest, time_ms))
}

/// A chunk on the device. Rows of packed samples begin at bytes of any number.
fn on_device(session: &Session, chunk: &dyn SampleChunk) -> Result<DeviceSamples<'static>, Fault> {
    let stream = &session.stream;
    if let ChunkFormat::Packed { .. } = chunk.format() {
        let (words, row_bytes) = sample_rows(chunk)?;
        let array = DeviceArray::from(Buffer::from_slice(stream, &words)?).written_on(stream);
        let samples = DeviceSamples::new(array, row_bytes, chunk.format(), chunk.times(), chunk.inputs())?;
        return Ok(samples.with_axes_of(chunk)?);
    }
    Ok(Uploader::new(stream).samples(chunk)?)
}

/// Outputs on the device, on the host.
fn host(samples: &DeviceSamples<'_>) -> Result<Output, Fault> {
    if samples.format() != typed(SampleFormat::Float32, true) {
        return Err(format!("outputs are {}", samples.format()).into());
    }
    let (words, row) = (samples.array().to_vec()?, samples.row_bytes() / 4);
    let part = |place: usize| f32::from_bits(words[place]);
    let shape = (samples.inputs().len(), samples.times());
    let data = Array2::from_shape_fn(shape, |(input, time)| {
        let place = input * row + 2 * time;
        Complex::new(part(place), part(place + 1))
    });
    let mut output = Samples::new(data, samples.inputs())?
        .with_sample_rate(samples.sample_rate_hz())?
        .with_first_sample(samples.first_sample());
    if let Some(centre_hz) = samples.centre_hz() {
        output = output.with_centre_frequency(centre_hz)?;
    }
    Ok(match samples.presence() {
        Some(presence) => output.with_presence(presence.clone())?,
        None => output,
    })
}

/// `Ok` with the largest error over its bound, if outputs are the CPU's within both bounds, and absent ones 0.
fn near(
    device: &Device,
    plan: &Plan,
    samples: &Array2<Complex<f32>>,
    expected: &Output,
    found: &Output,
) -> Result<f64, Fault> {
    let axes = |output: &Output| {
        (output.data().dim(), output.first_sample(), output.sample_rate_hz(), output.presence().cloned())
    };
    if axes(expected) != axes(found) {
        return Err("other axes or flags than the CPU's".into());
    }
    let filter: Vec<f64> = plan.plan()?.filter().iter().map(|h| h.abs()).collect();
    let bound = |size: f64| plan.bound(device, TensorCores::Best, size) + plan.bound_of_cpu() * size;
    let mut largest = 0f64;
    for (((input, j), &value), &expected) in found.data().indexed_iter().zip(expected.data()) {
        if found.presence().is_some_and(|presence| !presence.is_present(input, j)) {
            if value != Complex::new(0.0, 0.0) {
                return Err(format!("input {input}, output {j} is absent, and {value}").into());
            }
            continue;
        }
        let start = (found.first_sample() + j as u64) * plan.decimation as u64 - plan.case.first;
        let window = samples.row(input).into_iter().skip(start as usize);
        let size: f64 = window.zip(&filter).map(|(x, h)| wide(*x).norm() * h).sum();
        let error = (wide(value) - wide(expected)).norm() / bound(size).max(f64::MIN_POSITIVE);
        if error.is_nan() || error > 1.0 {
            return Err(format!("input {input}, output {j}: {value} for {expected}, {error:.2} of the bound").into());
        }
        largest = largest.max(error);
    }
    Ok(largest)
}

/// What a stream gives of chunks on the host.
fn pushed(
    backend: &Backend,
    plan: &Plan,
    samples: &Array2<Complex<f32>>,
    cuts: &[(usize, usize)],
) -> Result<Vec<Output>, Fault> {
    let mut stream = DownConverterStream::new(backend, plan.plan()?, plan.case.inputs()?)?;
    let mut outputs = Vec::new();
    for &(from, to) in cuts {
        outputs.extend(stream.push(&*plan.case.chunk(samples, from, to)?)?);
    }
    Ok(outputs)
}

fn expect_same(what: &str, expected: &[Output], found: &[Output]) -> Result<(), Fault> {
    if expected == found { Ok(()) } else { Err(format!("{what}: other bits, axes or flags").into()) }
}

/// Chunks cut at awkward places on the host and on the device, and one call.
fn stream(session: &Session, plan: &Plan) -> Result<(f64, f64), Fault> {
    let (cpu, gpu, case) = (Backend::cpu(), Backend::on(session.device.clone()), &plan.case);
    let (samples, cuts) = (plan.samples(), plan.cuts());
    let expected = pushed(&cpu, plan, &samples, &cuts)?;
    let start = Instant::now();
    let found = pushed(&gpu, plan, &samples, &cuts)?;
    let time_ms = start.elapsed().as_secs_f64() * 1e3;
    if expected.len() != found.len() {
        return Err(format!("expected {} outputs, got {}", expected.len(), found.len()).into());
    }
    let mut largest = 0f64;
    for (expected, found) in expected.iter().zip(&found) {
        largest = largest.max(near(&session.device, plan, &samples, expected, found)?);
    }

    let chunks = cuts.iter().map(|&(from, to)| case.chunk(&samples, from, to)).collect::<Result<Vec<_>, Fault>>()?;
    let mut stream = DownConverterStream::new(&gpu, plan.plan()?, case.inputs()?)?.on(&session.stream)?;
    let mut queued = Vec::new();
    for chunk in &chunks {
        queued.extend(stream.push(&on_device(session, &**chunk)?)?);
    }
    let back = queued.iter().map(host).collect::<Result<Vec<_>, Fault>>()?;
    expect_same("of chunks on the device", &found, &back)?;
    next_takes(&gpu, &queued, &back)?;

    // After a reset all is as it was, and so it is in one call.
    stream.reset();
    let whole = case.chunk(&samples, 0, plan.length)?;
    let there = on_device(session, &*whole)?;
    let again = stream.push(&there)?.iter().map(host).collect::<Result<Vec<_>, Fault>>()?;
    let one = down_convert(&gpu, &*whole, &plan.plan()?)?;
    expect_same("one call and a stream of one chunk", std::slice::from_ref(&one), &again)?;
    expect_same("one call on the device", &[host(&down_convert(&gpu, &there, &plan.plan()?)?)?], &again)?;
    let need = plan.plan()?.memory::<Complex<f32>>(&gpu, plan.inputs(), plan.length)?;
    let limit = need.smallest_step_bytes + (need.workspace_bytes - need.smallest_step_bytes) / 40;
    let limited = down_convert(&gpu.clone().with_memory_limit(limit), &*whole, &plan.plan()?)?;
    expect_same("in steps", std::slice::from_ref(&one), std::slice::from_ref(&limited))?;
    if case.gap == 0 {
        let data: Vec<_> = found.iter().map(|output| output.data()).collect();
        if concatenate(Axis(1), &data)? != one.data() {
            return Err("in other chunks: other bits".into());
        }
    }

    if down_convert(&gpu.with_memory_limit(1), &*whole, &plan.plan()?).is_ok() {
        return Err("a limit of one byte was not refused".into());
    }
    if down_convert(&cpu, &there, &plan.plan()?).is_ok()
        || DownConverterStream::new(&cpu, plan.plan()?, case.inputs()?)?.push(&there).is_ok()
    {
        return Err("the CPU took samples on the device".into());
    }
    Ok((largest, time_ms))
}

/// `Ok` if a channelizer takes the outputs where they are.
fn next_takes(gpu: &Backend, queued: &[DeviceSamples<'_>], back: &[Output]) -> Result<(), Fault> {
    let Some(first) = queued.first() else { return Ok(()) };
    let stream = || ChannelizerStream::new(gpu, Channelizer::complex(64).taps(2).build()?, first.inputs());
    let (mut there, mut here) = (stream()?, stream()?);
    for (queued, back) in queued.iter().zip(back) {
        let (found, expected) = (there.push(queued)?, here.push(back)?);
        if found.as_ref().map(ToHost::to_host).transpose()? != expected {
            return Err("a channelizer gives other voltages of outputs on the device".into());
        }
    }
    Ok(())
}
