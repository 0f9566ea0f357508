//! The kernels of FFT beams: every size, format and output, lines with fewer feeds than a transform takes, gains, absent voltages and unaligned ones, against
//! beams in f64; and `beamform()` on the GPU.
//!
//! Beams are poisoned before, and there is room after the last one that must stay as it was.

use fringes::backend::DeviceError;
use fringes::beamformer::{FftBeams, beamform};
use fringes::fft::gpu::{DeviceBeams, has_beam_kernel};
use fringes::fft::{BeamFft, BeamOutput, BeamSample, FeedLines, FftError, SIZES, Size};
use fringes::{Backend, Complex, Complex4, Inputs, TypesError, Voltages, f16};
use fringes_gpu::Buffer;
use fringes_reference::beamformer as reference;
use ndarray::{Array2, Array3, s};
use num_complex::Complex64 as C64;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use crate::fft_data::Sample;
use crate::gpu_report::{End, Params, params};
use crate::session::{Outcome, Session};

/// Beams after the last one, which must stay.
const BEYOND: usize = 64;
/// What they are filled with.
const POISON: u8 = 0x5a;
const AGAINST: &str = "fringes_reference::beamformer::fft_beams (f64 sums); poison beyond the end";

type Fault = Box<dyn std::error::Error>;

/// Beams that are judged.
trait Output: BeamOutput {
    const NAME: &'static str;

    /// How far a beam, or the root of a power, is from what it should be.
    fn error(self, expected: C64) -> f64;
}

impl Output for Complex<f32> {
    const NAME: &'static str = "f32";

    fn error(self, expected: C64) -> f64 {
        (C64::new(self.re.into(), self.im.into()) - expected).norm()
    }
}

impl Output for Complex<f16> {
    const NAME: &'static str = "f16";

    fn error(self, expected: C64) -> f64 {
        (C64::new(self.re.to_f64(), self.im.to_f64()) - expected).norm()
    }
}

impl Output for f32 {
    const NAME: &'static str = "power";

    fn error(self, expected: C64) -> f64 {
        (f64::from(self).sqrt() - expected.norm()).abs()
    }
}

/// Voltages, gains and flags.
struct Case<V> {
    lines: FeedLines,
    voltages: Array3<V>,
    gains: Array2<Complex<f32>>,
    present: Option<Array2<bool>>,
    /// Voltages in front, so that those of two feeds are not aligned.
    shift: usize,
}

impl<V: BeamSample + Sample> Case<V> {
    fn new(lines: FeedLines, [channels, times]: [usize; 2], flagged: bool, shift: usize) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64((channels * 1000 + times) as u64);
        let inputs = lines.inputs();
        let voltages = Array3::from_shape_simple_fn((channels, times, inputs), || V::from_random(random.random()));
        let gains = Array2::from_shape_simple_fn((channels, inputs), || {
            Complex::from_polar(random.random_range(0.5..2.0f32), random.random_range(0.0..std::f32::consts::TAU))
        });
        let flags = || Array2::from_shape_simple_fn((times, inputs), || random.random_bool(0.7));
        let present = flagged.then(flags);
        Self { lines, voltages, gains, present, shift }
    }

    /// Beams `[channel][time][beam]` in f64.
    fn expected(&self) -> Vec<C64> {
        let (channels, times, inputs) = self.voltages.dim();
        let layout = reference::FeedLines {
            lines: self.lines.lines(),
            feeds: self.lines.feeds(),
            pols: self.lines.pols(),
            padded: self.lines.padded(),
        };
        let spectra = (0..channels * times).into_par_iter().flat_map_iter(|spectrum| {
            let (channel, time) = (spectrum / times, spectrum % times);
            let voltages = Array3::from_shape_fn((1, 1, inputs), |(_, _, input)| {
                let here = self.present.as_ref().is_none_or(|present| present[(time, input)]);
                if here { self.voltages[(channel, time, input)].number() } else { C64::default() }
            });
            let gains = self.gains.slice(s![channel..=channel, ..]).mapv(|g| C64::new(g.re.into(), g.im.into()));
            reference::fft_beams(voltages.view(), gains.view(), layout).into_iter().collect::<Vec<_>>()
        });
        spectra.collect()
    }

    fn params(&self) -> Params {
        let (channels, times, _) = self.voltages.dim();
        let (lines, feeds, pols) = (self.lines.lines(), self.lines.feeds(), self.lines.pols());
        params([("channels", channels), ("feeds", feeds), ("lines", lines), ("pols", pols), ("times", times)])
    }

    /// Forms beams on the device and judges them.
    fn run<O: Output>(&self, session: &Session) -> Result<(Outcome, String), Fault> {
        let (channels, times, _) = self.voltages.dim();
        let stream = &session.stream;
        let plan = BeamFft::<V, O>::new(self.lines).with_gains(self.gains.clone())?;
        let device = DeviceBeams::load(stream, &plan, channels)?;
        let front = std::iter::repeat_n(V::from_random(0x5555_5555), self.shift);
        let voltages: Vec<V> = front.chain(self.voltages.iter().copied()).collect();
        let voltages = Buffer::from_slice(stream, &voltages)?;
        let flags: Vec<u8> = self.present.iter().flatten().map(|&flag| u8::from(flag)).collect();
        let flags = Buffer::from_slice(stream, &flags)?;
        let count = channels * times * self.lines.beams();
        let mut beams = Buffer::<O>::alloc(&session.device, count + BEYOND)?;
        beams.view_mut().cast::<u8>()?.fill(stream, POISON)?;
        let time_ms = session.time(|| {
            let present = self.present.as_ref().map(|_| flags.view());
            device.form(stream, times, voltages.slice(self.shift..)?, present, &mut beams.view_mut())
        })?;
        let beams = beams.to_vec(stream)?;
        let (beams, beyond) = beams.split_at(count);
        if bytemuck::cast_slice::<O, u8>(beyond).iter().any(|&byte| byte != POISON) {
            return Err("beams beyond the last one were written".into());
        }
        let (verdict, error) = judge(beams, &self.expected(), self.lines.padded(), plan.relative_error());
        let moved = voltages.bytes() + flags.bytes() * channels + size_of_val(beams);
        let value = moved as f64 / time_ms / 1e6;
        Ok((Outcome { time_ms, value, unit: "GB/s", against: AGAINST, verdict }, error))
    }
}

/// Whether the rms error of every transform is within the bound, relative to its rms; and the largest, as text.
fn judge<O: Output>(beams: &[O], expected: &[C64], padded: usize, bound: f64) -> (Result<(), String>, String) {
    if beams.len() != expected.len() {
        return (Err(format!("expected {} beams, got {}", expected.len(), beams.len())), String::new());
    }
    let mut most = 0f64;
    for (index, (beams, expected)) in beams.chunks(padded).zip(expected.chunks(padded)).enumerate() {
        let error: f64 = beams.iter().zip(expected).map(|(beam, expected)| beam.error(*expected).powi(2)).sum();
        let power: f64 = expected.iter().map(C64::norm_sqr).sum();
        let relative = if power == 0.0 { error } else { (error / power).sqrt() };
        // NaN is within nothing.
        let within = relative <= bound;
        if !within {
            let what = format!("transform {index}: expected an rms error of {bound:.1e} at most, found {relative:.2e}");
            return (Err(what), String::new());
        }
        most = most.max(relative);
    }
    (Ok(()), format!("rms {most:.2e} of a transform's rms at most"))
}

pub(crate) fn validate(session: &mut Session) -> Result<(), End> {
    if !session.wants("fft_beams") {
        return Ok(());
    }
    for size in SIZES.into_iter().filter(|size| has_beam_kernel(*size)) {
        format::<Complex4>(session, size)?;
        format::<Complex<i8>>(session, size)?;
    }
    refusals(session)?;
    one_call::<Complex4>(session)?;
    one_call::<Complex<i8>>(session)
}

/// Numbers of feeds for which the host takes the transform of a size: all, an even number and an odd one.
fn feeds(size: Size) -> [usize; 3] {
    let taken = |feeds: &usize| FeedLines::size_of(*feeds, size.outputs()) == Some(size);
    let least = (1..=size.inputs()).find(taken).unwrap_or(size.inputs());
    let even = (size.inputs() * 25 / 32).max(least + 1) & !1;
    [size.inputs(), even, size.inputs() - 1]
}

fn format<V: BeamSample + Sample>(session: &mut Session, size: Size) -> Result<(), End> {
    let [all, even, odd] = feeds(size);
    let times = if session.quick { 3 } else { 33 };
    let shapes = [
        ("", [1, all, 1], [1, 1], false, 0),
        ("", [4, all, 2], [2, times], false, 0),
        ("", [3, even, 2], [3, 2], false, 0),
        ("flags", [2, even, 1], [2, 5], true, 0),
        ("flags", [2, odd, 2], [1, 3], true, 0),
        ("unaligned, flags", [1, even, 2], [2, 3], true, 1),
        ("unaligned", [1, all, 1], [1, 2], false, 1),
    ];
    for (what, [lines, feeds, pols], dim, flagged, shift) in shapes {
        let lines = FeedLines::new(lines, feeds, pols, size.outputs()).map_err(End::failed)?;
        let case = Case::<V>::new(lines, dim, flagged, shift);
        output::<V, Complex<f32>>(session, size, &case, what)?;
        output::<V, Complex<f16>>(session, size, &case, what)?;
        output::<V, f32>(session, size, &case, what)?;
    }
    Ok(())
}

fn output<V: BeamSample + Sample, O: Output>(
    session: &mut Session,
    size: Size,
    case: &Case<V>,
    what: &str,
) -> Result<(), End> {
    let bits = V::FORMAT.to_string().replace(" integer", "");
    let comma = if what.is_empty() { "" } else { ", " };
    let variant = format!("{size}, {bits}, {}{comma}{what}", O::NAME);
    session.case_within("fft_beams", variant, case.params(), |session| case.run::<O>(session))
}

/// Bad calls are refused with their typed errors, and nothing is written.
fn refusals(session: &mut Session) -> Result<(), End> {
    session.case("fft_beams", "refusals", params([]), |session| {
        let stream = &session.stream;
        let lines = FeedLines::new(1, 256, 2, 512)?;
        let plan = BeamFft::<Complex<i8>, Complex<f16>>::new(lines);
        let device = DeviceBeams::load(stream, &plan, 2)?;
        let (samples, count) = (2 * 3 * lines.inputs(), 2 * 3 * lines.beams());
        let voltages = Buffer::<Complex<i8>>::zeroed(stream, samples)?;
        let flags = Buffer::<u8>::zeroed(stream, 3 * lines.inputs())?;
        let mut beams = Buffer::<Complex<f16>>::alloc(&session.device, count + 4)?;
        beams.view_mut().cast::<u8>()?.fill(stream, POISON)?;
        let mut attempt = |samples: usize, flagged: usize, first: usize, count: usize, times: usize| {
            let (voltages, flags) = (voltages.slice(..samples)?, flags.slice(..flagged)?);
            device.form(stream, times, voltages, Some(flags), &mut beams.slice_mut(first..first + count)?)
        };
        let flagged = 3 * lines.inputs();
        let refused = [
            matches!(
                attempt(samples - 1, flagged, 0, count, 3),
                Err(FftError::Device(DeviceError::Length { buffer: "voltages", .. }))
            ),
            matches!(attempt(samples, flagged - 1, 0, count, 3), Err(FftError::Device(DeviceError::Length { .. }))),
            matches!(
                attempt(samples, flagged, 0, count - 1, 3),
                Err(FftError::Device(DeviceError::Length { buffer: "beams", .. }))
            ),
            matches!(
                attempt(samples, flagged, 1, count, 3),
                Err(FftError::Device(DeviceError::Alignment { buffer: "beams", .. }))
            ),
            matches!(attempt(samples, flagged, 0, count, 0), Err(FftError::BeamShape { .. })),
            matches!(attempt(samples, flagged, 0, count, usize::MAX), Err(FftError::BeamShape { .. })),
        ];
        let whole = beams.view().cast::<u8>()?.to_vec(stream)?.iter().all(|&byte| byte == POISON);
        let verdict = match refused.iter().position(|refused| !refused) {
            Some(index) => Err(format!("call {index} was not refused as it should be")),
            None if !whole => Err("a refused call wrote beams".into()),
            None => Ok(()),
        };
        Ok(Outcome { time_ms: 0.0, value: 0.0, unit: "", against: "typed errors", verdict })
    })
}

/// `beamform()` on the GPU: whole and in steps the same bits, within the bound of the reference; and what it refuses.
fn one_call<V: BeamSample + Sample>(session: &mut Session) -> Result<(), End> {
    let lines = FeedLines::new(2, 200, 2, 512).map_err(End::failed)?;
    let case = Case::<V>::new(lines, [3, 20], true, 0);
    session.case_within("fft_beams", format!("beamform(), {}", V::FORMAT), case.params(), |session| {
        let inputs = Inputs::new(400, 2)?;
        let mut voltages = Voltages::from_checked(case.voltages.clone(), inputs)?;
        if let Some(present) = &case.present {
            voltages = voltages.with_presence(present.clone())?;
        }
        let fan = FftBeams::new(2, 200, 512)?.with_gains(case.gains.clone())?;
        let backend = Backend::on(session.device.clone());
        let start = std::time::Instant::now();
        let beams = beamform(&backend, &voltages, &fan)?.into_data();
        let time_ms = start.elapsed().as_secs_f64() * 1e3;
        let bound = BeamFft::<V, Complex<f32>>::new(lines).relative_error();
        let flat: Vec<_> = beams.iter().copied().collect();
        let (mut verdict, error) = judge(&flat, &case.expected(), 512, bound);
        let need = fan.gpu_memory::<V>(3, 20, inputs).ok_or("no kernel")?;
        for limit in [need.smallest_step_bytes, 3 * need.smallest_step_bytes, need.workspace_bytes - 1] {
            let stepped = beamform(&backend.clone().with_memory_limit(limit), &voltages, &fan)?;
            if verdict.is_ok() && stepped.data() != beams.view() {
                verdict = Err(format!("other beams with a limit of {limit} bytes"));
            }
        }
        let short = beamform(&backend.clone().with_memory_limit(need.smallest_step_bytes - 1), &voltages, &fan);
        let other = beamform(&backend, &voltages, &FftBeams::new(2, 200, 500)?);
        let refused = matches!(short, Err(fringes::BeamformerError::Device(DeviceError::MemoryLimit { .. })))
            && matches!(other, Err(fringes::BeamformerError::Device(DeviceError::NotOnGpu { .. })));
        if verdict.is_ok() && !refused {
            verdict = Err("too little memory, or beams without a kernel, were not refused as they should be".into());
        }
        let value = (need.input_bytes + need.output_bytes) as f64 / time_ms / 1e6;
        Ok((Outcome { time_ms, value, unit: "GB/s, with copies", against: AGAINST, verdict }, error))
    })
}
