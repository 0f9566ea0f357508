//! The kernels of transforms: every size, format of samples and outputs, sign and awkward numbers of transforms,
//! against spectra in f64.
//!
//! Kernels are loaded through `fringes::fft`. Outputs are poisoned before, and there is room after the last one that
//! must stay as it was.

use fringes::backend::DeviceError;
use std::error::Error as AnyError;

use fringes::fft::internals::has_kernel;
use fringes::fft::{Fft, FftError, FftKernels, FftOutput, Overflow, SIZES, Sign, Size};
use fringes::{Backend, Complex, Complex4, f16};
use fringes_gpu::Buffer;
use ndarray::{Array2, ArrayView2, s};

use crate::end::End;
use crate::fft_data::{self, Error, Output, Sample};
use crate::gpu_report::{Params, params};
use crate::validate::session::{Outcome, Session, compare};

/// Numbers of transforms around that of a warp and of a block.
const BATCHES: [usize; 4] = [1, 31, 33, 1000];
/// Numbers of transforms of quick runs.
const QUICK: [usize; 2] = [1, 33];
/// Transforms of the largest batch; its samples repeat after [`PERIOD`] transforms.
const MILLION: usize = 1_000_000;
/// A prime: no stride of a grid is a multiple of it.
const PERIOD: usize = 4099;
/// Outputs after the last one, which must stay.
const BEYOND: usize = 64;
/// What they are filled with.
const POISON: u8 = 0x5a;

const AGAINST: &str = "spectra in f64, held to fringes_reference::dft by tests; poison beyond the end";

type Spectrum = Complex<f16>;
type Fault = Box<dyn AnyError>;

/// The name that cases of a size have.
pub(crate) fn name(size: Size) -> &'static str {
    match (size.inputs(), size.outputs()) {
        (64, 64) => "fft_64_64",
        (64, _) => "fft_64_128",
        (128, 128) => "fft_128_128",
        (128, _) => "fft_128_256",
        (256, 256) => "fft_256_256",
        (256, _) => "fft_256_512",
        (512, 512) => "fft_512_512",
        (512, _) => "fft_512_1024",
        _ => "fft_1024_1024",
    }
}

pub(crate) fn validate(session: &mut Session) -> Result<(), End> {
    for size in SIZES.into_iter().filter(|size| has_kernel(*size)) {
        if session.wants(name(size)) {
            format::<Complex<f16>>(session, size)?;
            format::<Complex<i8>>(session, size)?;
            format::<Complex4>(session, size)?;
            overflow(session, size)?;
            refusals(session, size)?;
            one_call(session, size)?;
        }
    }
    if session.quick {
        return Ok(());
    }
    for (index, size) in SIZES.into_iter().enumerate().filter(|(_, size)| has_kernel(*size)) {
        // Each size once, each format and output three times; and all formats of the beamformer's size.
        let all = (size.inputs(), size.outputs()) == (256, 512);
        if all || index % 3 == 0 {
            million(session, Fft::<Complex4, Spectrum>::of(size).with_sign(Sign::Positive), "4-bit, f16, +")?;
        }
        if all || index % 3 == 1 {
            million(session, Fft::<Complex<i8>, f32>::of(size), "8-bit, power, -")?;
        }
        if all || index % 3 == 2 {
            let plan = Fft::<Complex<f16>, Spectrum>::of(size).with_overflow(Overflow::Saturate);
            million(session, plan, "f16, f16 saturating, -")?;
        }
    }
    Ok(())
}

fn sizes(transforms: usize) -> Params {
    params([("transforms", transforms)])
}

/// All outputs and signs of a format of samples, as noise and as impulses, and scales.
fn format<S: Sample>(session: &mut Session, size: Size) -> Result<(), End> {
    for sign in [Sign::Positive, Sign::Negative] {
        let spectra = Fft::<S, Spectrum>::of(size).with_sign(sign);
        let powers = Fft::<S, f32>::of(size).with_sign(sign);
        noise(session, spectra, "f16")?;
        noise(session, spectra.with_overflow(Overflow::Saturate), "f16 saturating")?;
        noise(session, powers, "power")?;
        impulses(session, spectra, "f16")?;
        impulses(session, powers, "power")?;
    }
    for exponent in [-10, -3, 2] {
        let plan = Fft::<S, Spectrum>::of(size).with_scale_exponent(exponent).map_err(End::failed)?;
        noise(session, plan, &format!("f16 times 2^{exponent}"))?;
    }
    Ok(())
}

/// `8-bit, power, +, impulses`.
fn variant<S: Sample, O: FftOutput>(plan: &Fft<S, O>, output: &str, signal: &str) -> String {
    let sign = if plan.sign() == Sign::Positive { "+" } else { "-" };
    let comma = if signal.is_empty() { "" } else { ", " };
    let samples = S::FORMAT.to_string().replace(" integer", "").replace(" float", "").replace("16-bit", "f16");
    format!("{samples}, {output}, {sign}{comma}{signal}")
}

/// Transforms on the device, each batch with outputs poisoned before; and how far they are from spectra.
struct Run<'a, S: Sample, O: Output> {
    session: &'a Session,
    kernels: FftKernels<S, O>,
}

impl<'a, S: Sample, O: Output> Run<'a, S, O> {
    fn new(session: &'a Session, plan: &Fft<S, O>) -> Result<Self, Fault> {
        Ok(Self { session, kernels: FftKernels::load(&session.device, plan)? })
    }

    /// The outputs of samples on the device, with those beyond the end.
    fn outputs(&self, samples: &Buffer<S>, transforms: usize) -> Result<Buffer<O>, Fault> {
        let stream = &self.session.stream;
        let length = transforms * self.kernels.plan().outputs() + BEYOND;
        let mut outputs = Buffer::<O>::alloc(&self.session.device, length)?;
        outputs.view_mut().cast::<u8>()?.fill(stream, POISON)?;
        self.kernels.transform(stream, samples.view(), &mut outputs.view_mut(), transforms)?;
        Ok(outputs)
    }

    /// How far the outputs of samples are from their spectra.
    fn error(&self, host: &[S]) -> Result<Error, Fault> {
        let plan = self.kernels.plan();
        let transforms = host.len() / plan.inputs();
        let samples = Buffer::from_slice(&self.session.stream, host)?;
        let outputs = self.outputs(&samples, transforms)?.to_vec(&self.session.stream)?;
        let (outputs, beyond) = outputs.split_at(transforms * plan.outputs());
        if bytemuck::cast_slice::<O, u8>(beyond).iter().any(|&byte| byte != POISON) {
            return Err("outputs beyond the last transform were written".into());
        }
        Ok(Error::of(&fft_data::spectra(plan, host), outputs))
    }

    /// Time of so many transforms.
    fn time(&self, transforms: usize) -> Result<f64, Fault> {
        let plan = self.kernels.plan();
        let stream = &self.session.stream;
        let samples = Buffer::from_slice(stream, &fft_data::noise::<S>(transforms, plan.size(), 9))?;
        let mut outputs = Buffer::<O>::alloc(&self.session.device, transforms * plan.outputs())?;
        let work = || self.kernels.transform(stream, samples.view(), &mut outputs.view_mut(), transforms);
        Ok(self.session.time(work)?)
    }
}

/// What a case found whose error is this.
fn outcome<S: Sample, O: Output>(plan: &Fft<S, O>, transforms: usize, time_ms: f64, error: Error) -> (Outcome, String) {
    let moved = (plan.input_bytes(transforms) + plan.output_bytes(transforms)) as f64;
    let verdict = error.within(plan.relative_error());
    let outcome = Outcome { time_ms, value: moved / time_ms / 1e6, unit: "GB/s", against: AGAINST, verdict };
    (outcome, error.to_string())
}

fn noise<S: Sample, O: Output>(session: &mut Session, plan: Fft<S, O>, output: &str) -> Result<(), End> {
    let batches: &[usize] = if session.quick { &QUICK } else { &BATCHES };
    let largest = batches[batches.len() - 1];
    session.case_within(name(plan.size()), variant(&plan, output, ""), sizes(largest), |session| {
        let run = Run::new(session, &plan)?;
        let mut errors = Vec::new();
        for &transforms in batches {
            let error = run.error(&fft_data::noise(transforms, plan.size(), transforms as u64))?;
            // Each batch by its own bound; the case's line shows the largest.
            error.within(plan.relative_error()).map_err(|fault| format!("{transforms} transforms: {fault}"))?;
            errors.push(error);
        }
        let worst = errors.into_iter().reduce(Error::or).ok_or("no batch")?;
        Ok(outcome(&plan, largest, run.time(largest)?, worst))
    })
}

fn impulses<S: Sample, O: Output>(session: &mut Session, plan: Fft<S, O>, output: &str) -> Result<(), End> {
    session.case_within(name(plan.size()), variant(&plan, output, "impulses"), sizes(plan.inputs()), |session| {
        let run = Run::new(session, &plan)?;
        let error = run.error(&fft_data::impulses(plan.size()))?;
        Ok(outcome(&plan, plan.inputs(), run.time(plan.inputs())?, error))
    })
}

/// A million transforms, in which some samples come again and again: the first outputs against spectra, all others
/// against the first, bit for bit.
fn million<S: Sample, O: Output>(session: &mut Session, plan: Fft<S, O>, variant: &str) -> Result<(), End> {
    if !session.wants(name(plan.size())) {
        return Ok(());
    }
    let needed = plan.input_bytes(MILLION) + plan.output_bytes(MILLION) + (1 << 30);
    let free = session.device.memory()?.free_bytes;
    if needed > free {
        println!("{}, {variant}: skipped, needs {} MiB and {} are free", name(plan.size()), needed >> 20, free >> 20);
        return Ok(());
    }
    session.case_within(name(plan.size()), format!("{variant}, all rows"), sizes(MILLION), |session| {
        let stream = &session.stream;
        let run = Run::new(session, &plan)?;
        let host = fft_data::noise::<S>(PERIOD, plan.size(), 11);
        let error = run.error(&host)?;
        let piece = Buffer::from_slice(stream, &host)?;
        let mut samples = Buffer::<S>::alloc(&session.device, MILLION * plan.inputs())?;
        for start in (0..samples.len()).step_by(host.len()) {
            let length = host.len().min(samples.len() - start);
            samples.slice_mut(start..start + length)?.copy_from(stream, piece.slice(..length)?)?;
        }
        let mut outputs = run.outputs(&samples, MILLION)?;
        let row = plan.outputs();
        let first = outputs.slice(..PERIOD * row)?.to_vec(stream)?;
        for start in (0..MILLION).step_by(PERIOD) {
            let end = MILLION.min(start + PERIOD);
            let part = outputs.slice(start * row..end * row)?.to_vec(stream)?;
            compare(bytemuck::cast_slice::<O, u32>(&first[..part.len()]), bytemuck::cast_slice(&part))
                .map_err(|fault| format!("transforms {start}..{end}: {fault}"))?;
        }
        let work = || run.kernels.transform(stream, samples.view(), &mut outputs.view_mut(), MILLION);
        Ok(outcome(&plan, MILLION, session.time(work)?, error))
    })
}

/// The largest f16 samples: infinity or NaN by default, finite and at the limit where the plan saturates.
fn overflow(session: &mut Session, size: Size) -> Result<(), End> {
    for (variant, overflow) in
        [("f16, f16, overflow", Overflow::Infinity), ("f16, f16 saturating, overflow", Overflow::Saturate)]
    {
        session.case(name(size), variant, sizes(33), |session| {
            let plan = Fft::<Spectrum, Spectrum>::of(size).with_overflow(overflow);
            let run = Run::new(session, &plan)?;
            // The first transforms are the same large number at all times; the others are noise at that level.
            let large = |part: f16| f16::from_f32(part.to_f32() * 65504.0);
            let large = |number: Spectrum| Complex::new(large(number.re), large(number.im));
            let mut host: Vec<Spectrum> = fft_data::noise(33, size, 3).into_iter().map(large).collect();
            host[..2 * size.inputs()].fill(Complex::new(f16::MAX, f16::MAX));
            let samples = Buffer::from_slice(&session.stream, &host)?;
            let outputs = run.outputs(&samples, 33)?.to_vec(&session.stream)?;
            let outputs = &outputs[..33 * size.outputs()];
            let is_finite = |value: &Spectrum| value.re.is_finite() && value.im.is_finite();
            let limit = Complex::new(f16::MAX, f16::MAX);
            let verdict = match overflow {
                Overflow::Saturate if !outputs.iter().all(is_finite) => Err("an output is infinite or NaN".into()),
                Overflow::Saturate if outputs[0] != limit => Err(format!("Y[0]: expected {limit}, got {}", outputs[0])),
                Overflow::Infinity if is_finite(&outputs[0]) => Err(format!("Y[0] is finite: {}", outputs[0])),
                _ => Ok(()),
            };
            let against = "what the plan says of values beyond f16";
            Ok(Outcome { time_ms: run.time(33)?, value: 0.0, unit: "", against, verdict })
        })?;
    }
    Ok(())
}

/// Bad plans and bad buffers are refused with their typed errors, and nothing is written.
fn refusals(session: &mut Session, size: Size) -> Result<(), End> {
    session.case(name(size), "refusals", sizes(3), |session| {
        let stream = &session.stream;
        let plan = Fft::<Complex<i8>, Spectrum>::of(size);
        let kernels = FftKernels::load(&session.device, &plan)?;
        let samples = Buffer::<Complex<i8>>::zeroed(stream, 3 * size.inputs() + 8)?;
        let mut outputs = Buffer::<Spectrum>::alloc(&session.device, 3 * size.outputs() + 4)?;
        outputs.view_mut().cast::<u8>()?.fill(stream, POISON)?;
        let (inputs, all) = (3 * size.inputs(), 3 * size.outputs());
        let mut refused: Vec<(&str, bool)> = Vec::new();
        let mut attempt = |from: usize, inputs: usize, to: usize, outputs_len: usize, transforms: usize| {
            let view = samples.slice(from..from + inputs)?;
            kernels.transform(stream, view, &mut outputs.slice_mut(to..to + outputs_len)?, transforms)
        };
        let short = attempt(0, inputs - 1, 0, all, 3);
        refused.push((
            "short samples",
            matches!(short, Err(FftError::Device(DeviceError::Length { buffer: "samples", .. }))),
        ));
        let short = attempt(0, inputs, 0, all - 1, 3);
        refused.push((
            "short outputs",
            matches!(short, Err(FftError::Device(DeviceError::Length { buffer: "spectra", .. }))),
        ));
        let shifted = attempt(1, inputs, 0, all, 3);
        refused.push((
            "misaligned samples",
            matches!(shifted, Err(FftError::Device(DeviceError::Alignment { buffer: "samples", .. }))),
        ));
        let shifted = attempt(0, inputs, 1, all, 3);
        refused.push((
            "misaligned outputs",
            matches!(shifted, Err(FftError::Device(DeviceError::Alignment { buffer: "spectra", .. }))),
        ));
        let many = attempt(0, inputs, 0, all, usize::MAX);
        refused.push(("too many transforms", matches!(many, Err(FftError::Device(DeviceError::TooLarge { .. })))));
        let other_size = Fft::<Complex<i8>, Spectrum>::new(size.inputs(), 4 * size.outputs());
        refused.push(("another size", matches!(other_size, Err(FftError::Size { .. }))));
        refused.push(("a scale of 2^11", matches!(plan.with_scale_exponent(11), Err(FftError::ScaleExponent { .. }))));
        // No transforms are no error, and no work.
        refused.push(("no transforms", attempt(0, 0, 0, 0, 0).is_ok()));
        let untouched = outputs.view().cast::<u8>()?.to_vec(stream)?.iter().all(|&byte| byte == POISON);
        refused.push(("outputs stay", untouched));
        let wrong: Vec<&str> = refused.iter().filter(|(_, is_right)| !is_right).map(|(name, _)| *name).collect();
        let verdict = if wrong.is_empty() { Ok(()) } else { Err(format!("not refused as they must be: {wrong:?}")) };
        Ok(Outcome { time_ms: 0.0, value: 0.0, unit: "", against: "typed refusals", verdict })
    })
}

/// The one-call form, with a small memory and with arrays that are not in standard layout, against the stream-ordered
/// one, bit for bit.
fn one_call(session: &mut Session, size: Size) -> Result<(), End> {
    const TRANSFORMS: usize = 1001;
    session.case(name(size), "4-bit, f16, +, one call", sizes(TRANSFORMS), |session| {
        let plan = Fft::<Complex4, Spectrum>::of(size).with_sign(Sign::Positive);
        let run = Run::new(session, &plan)?;
        let host = fft_data::noise::<Complex4>(TRANSFORMS, size, 13);
        let samples = Buffer::from_slice(&session.stream, &host)?;
        let expected = run.outputs(&samples, TRANSFORMS)?.to_vec(&session.stream)?;
        let expected = &expected[..TRANSFORMS * size.outputs()];
        let host = ArrayView2::from_shape((TRANSFORMS, size.inputs()), &host)?;
        let backend = Backend::on(session.device.clone());
        let start = std::time::Instant::now();
        let whole = plan.transform(&backend, host)?;
        let time_ms = start.elapsed().as_secs_f64() * 1e3;
        let step = plan.memory(&backend, TRANSFORMS)?.smallest_step_bytes;
        let in_parts = plan.transform(&backend.clone().with_memory_limit(100 * step), host)?;
        let turned = host.t().to_owned(); // [n][transform]
        let mut outputs = Array2::from_elem((size.outputs(), 2 * TRANSFORMS), Complex::new(f16::ONE, f16::ONE));
        plan.transform_into(&backend, turned.t(), outputs.slice_mut(s![.., ..;2]).reversed_axes())?;
        let too_little = plan.transform(&backend.with_memory_limit(step - 1), host);
        let flat = |array: ArrayView2<'_, Spectrum>| array.iter().copied().collect::<Vec<_>>();
        let verdict = compare(expected, &flat(whole.view()))
            .and_then(|()| compare(expected, &flat(in_parts.view())).map_err(|fault| format!("in parts: {fault}")))
            .and_then(|()| {
                let turned = flat(outputs.slice(s![.., ..;2]).t());
                compare(expected, &turned).map_err(|fault| format!("other order of memory: {fault}"))
            })
            .and_then(|()| match too_little {
                Err(FftError::Device(DeviceError::MemoryLimit { .. })) => Ok(()),
                other => {
                    Err(format!("a limit below the smallest step: expected a refusal, got {:?}", other.map(|_| ())))
                }
            });
        let value = (TRANSFORMS * (size.inputs() + 4 * size.outputs())) as f64 / time_ms / 1e6;
        let unit = "GB/s, with copies and allocation";
        Ok(Outcome { time_ms, value, unit, against: "the stream-ordered form, bit for bit", verdict })
    })
}
