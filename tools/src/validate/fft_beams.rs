//! The kernels of FFT beams: every size, format and output, lines with fewer feeds than a transform takes, gains,
//! absent voltages and unaligned ones, against beams in f64; and `beamform()` and `BeamformerStream` of voltages on the
//! host and on the GPU.
//!
//! Beams are poisoned before, and there is room after the last one that must stay as it was.

use fringes::backend::{DeviceError, ToHost, Uploader};
use fringes::beamformer::internals::{FeedLines, gpu_memory, has_kernel, transform_size};
use fringes::beamformer::{BeamSet, BeamformerStream, FftBeamKernels, FftBeamOutput, FftBeams, beamform};
use fringes::fft::{SIZES, Size};
use fringes::{Backend, BeamformerError, Complex, Complex4, Heaps, IncoherentBeams, Inputs, Voltages, f16};
use fringes_gpu::Buffer;
use fringes_reference::beamformer as reference;
use ndarray::{Array2, Array3, s};
use num_complex::Complex64 as C64;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use crate::end::End;
use crate::fft_data::Sample;
use crate::gpu_report::{Params, params};
use crate::validate::session::{Outcome, Session};

/// Beams after the last one, which must stay.
const BEYOND: usize = 64;
/// What they are filled with.
const POISON: u8 = 0x5a;
const AGAINST: &str = "fringes_reference::beamformer::fft_beams (f64 sums); poison beyond the end";

type Fault = Box<dyn std::error::Error>;

/// Beams that are judged.
trait Output: FftBeamOutput {
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

impl<V: Sample> Case<V> {
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
        let FeedLines { lines, feeds, pols, padded } = self.lines;
        let layout = reference::FeedLines { lines, feeds, pols, padded };
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
        let FeedLines { lines, feeds, pols, .. } = self.lines;
        params([("channels", channels), ("feeds", feeds), ("lines", lines), ("pols", pols), ("times", times)])
    }

    /// Antennas and polarisations.
    fn inputs(&self) -> Result<Inputs, Fault> {
        Ok(Inputs::new(self.lines.lines * self.lines.feeds, self.lines.pols)?)
    }

    /// The beams with their gains.
    fn set<O: Output>(&self) -> Result<FftBeams<O>, Fault> {
        let FeedLines { lines, feeds, padded, .. } = self.lines;
        Ok(FftBeams::new(lines, feeds, padded)?.with_output().with_gains(self.gains.clone())?)
    }

    /// The voltages with their flags.
    fn voltages(&self) -> Result<Voltages<V>, Fault> {
        let voltages = Voltages::from_checked(self.voltages.clone(), self.inputs()?)?;
        Ok(match &self.present {
            Some(present) => voltages.with_presence(present.clone())?,
            None => voltages,
        })
    }

    /// Forms beams on the device and judges them.
    fn run<O: Output>(&self, session: &Session) -> Result<(Outcome, String), Fault> {
        let (channels, times, _) = self.voltages.dim();
        let stream = &session.stream;
        let set = self.set::<O>()?;
        let kernels = FftBeamKernels::<V, O>::load(&session.device, &set, channels, self.inputs()?)?;
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
            kernels.beamform(stream, times, voltages.slice(self.shift..)?, present, &mut beams.view_mut())
        })?;
        let beams = beams.to_vec(stream)?;
        let (beams, beyond) = beams.split_at(count);
        if bytemuck::cast_slice::<O, u8>(beyond).iter().any(|&byte| byte != POISON) {
            return Err("beams beyond the last one were written".into());
        }
        let (verdict, error) = judge(beams, &self.expected(), self.lines.padded, set.relative_error());
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
    for size in SIZES.into_iter().filter(|size| has_kernel(*size)) {
        format::<Complex4>(session, size)?;
        format::<Complex<i8>>(session, size)?;
    }
    refusals(session)?;
    one_call::<Complex4>(session)?;
    one_call::<Complex<i8>>(session)?;
    chunks::<Complex4, Complex<f32>>(session)?;
    chunks::<Complex<i8>, Complex<f16>>(session)?;
    chunks::<Complex<i8>, f32>(session)?;
    chunk_refusals(session)
}

/// Numbers of feeds for which the host takes the transform of a size: all, an even number and an odd one.
fn feeds(size: Size) -> [usize; 3] {
    let taken = |feeds: &usize| transform_size(*feeds, size.outputs()) == Some(size);
    let least = (1..=size.inputs()).find(taken).unwrap_or(size.inputs());
    let even = (size.inputs() * 25 / 32).max(least + 1) & !1;
    [size.inputs(), even, size.inputs() - 1]
}

fn format<V: Sample>(session: &mut Session, size: Size) -> Result<(), End> {
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
        let lines = FeedLines { lines, feeds, pols, padded: size.outputs() };
        let case = Case::<V>::new(lines, dim, flagged, shift);
        output::<V, Complex<f32>>(session, size, &case, what)?;
        output::<V, Complex<f16>>(session, size, &case, what)?;
        output::<V, f32>(session, size, &case, what)?;
    }
    Ok(())
}

fn output<V: Sample, O: Output>(session: &mut Session, size: Size, case: &Case<V>, what: &str) -> Result<(), End> {
    let bits = V::FORMAT.to_string().replace(" integer", "");
    let comma = if what.is_empty() { "" } else { ", " };
    let variant = format!("{size}, {bits}, {}{comma}{what}", O::NAME);
    session.case_within("fft_beams", variant, case.params(), |session| case.run::<O>(session))
}

/// Bad calls are refused with their typed errors, and nothing is written.
fn refusals(session: &mut Session) -> Result<(), End> {
    session.case("fft_beams", "refusals", params([]), |session| {
        let stream = &session.stream;
        let lines = FeedLines { lines: 1, feeds: 256, pols: 2, padded: 512 };
        let (set, inputs) = (FftBeams::new(1, 256, 512)?.with_output::<Complex<f16>>(), Inputs::new(256, 2)?);
        let kernels = FftBeamKernels::<Complex<i8>, _>::load(&session.device, &set, 2, inputs)?;
        let (samples, count) = (2 * 3 * lines.inputs(), 2 * 3 * lines.beams());
        let voltages = Buffer::<Complex<i8>>::zeroed(stream, samples)?;
        let flags = Buffer::<u8>::zeroed(stream, 3 * lines.inputs())?;
        let mut beams = Buffer::<Complex<f16>>::alloc(&session.device, count + 4)?;
        beams.view_mut().cast::<u8>()?.fill(stream, POISON)?;
        let mut attempt = |samples: usize, flagged: usize, first: usize, count: usize, times: usize| {
            let (voltages, flags) = (voltages.slice(..samples)?, flags.slice(..flagged)?);
            kernels.beamform(stream, times, voltages, Some(flags), &mut beams.slice_mut(first..first + count)?)
        };
        let flagged = 3 * lines.inputs();
        let refused = [
            matches!(
                attempt(samples - 1, flagged, 0, count, 3),
                Err(BeamformerError::Device(DeviceError::Length { buffer: "voltages", .. }))
            ),
            matches!(
                attempt(samples, flagged - 1, 0, count, 3),
                Err(BeamformerError::Device(DeviceError::Length { .. }))
            ),
            matches!(
                attempt(samples, flagged, 0, count - 1, 3),
                Err(BeamformerError::Device(DeviceError::Length { buffer: "beams", .. }))
            ),
            matches!(
                attempt(samples, flagged, 1, count, 3),
                Err(BeamformerError::Device(DeviceError::Alignment { buffer: "beams", .. }))
            ),
            // No times are no error, and no work.
            attempt(samples, flagged, 0, count, 0).is_ok(),
            matches!(
                attempt(samples, flagged, 0, count, usize::MAX),
                Err(BeamformerError::Device(DeviceError::TooLarge { .. }))
            ),
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
fn one_call<V: Sample>(session: &mut Session) -> Result<(), End> {
    let lines = FeedLines { lines: 2, feeds: 200, pols: 2, padded: 512 };
    let case = Case::<V>::new(lines, [3, 20], true, 0);
    session.case_within("fft_beams", format!("beamform(), {}", V::FORMAT), case.params(), |session| {
        let (inputs, voltages, fan) = (case.inputs()?, case.voltages()?, case.set::<Complex<f32>>()?);
        let backend = Backend::on(session.device.clone());
        let start = std::time::Instant::now();
        let beams = beamform(&backend, &voltages, &fan)?.into_data();
        let time_ms = start.elapsed().as_secs_f64() * 1e3;
        let flat: Vec<_> = beams.iter().copied().collect();
        let (mut verdict, error) = judge(&flat, &case.expected(), 512, fan.relative_error());
        let need = fan.memory::<V>(&backend, 3, 20, inputs)?;
        if verdict.is_ok() && need != gpu_memory::<V, _>(&fan, 3, 20, inputs) {
            verdict = Err("the memory is not the GPU's".into());
        }
        for limit in [need.smallest_step_bytes, 3 * need.smallest_step_bytes, need.workspace_bytes - 1] {
            let stepped = beamform(&backend.clone().with_memory_limit(limit), &voltages, &fan)?;
            if verdict.is_ok() && stepped.data() != beams.view() {
                verdict = Err(format!("other beams with a limit of {limit} bytes"));
            }
        }
        let short = beamform(&backend.clone().with_memory_limit(need.smallest_step_bytes - 1), &voltages, &fan);
        let other = beamform(&backend, &voltages, &FftBeams::new(2, 200, 500)?);
        let refused = matches!(short, Err(BeamformerError::Device(DeviceError::MemoryLimit { .. })))
            && matches!(other, Err(BeamformerError::Device(DeviceError::NotOnGpu { .. })));
        if verdict.is_ok() && !refused {
            verdict = Err("too little memory, or beams without a kernel, were not refused as they should be".into());
        }
        let value = (need.input_bytes + need.output_bytes) as f64 / time_ms / 1e6;
        Ok((Outcome { time_ms, value, unit: "GB/s, with copies", against: AGAINST, verdict }, error))
    })
}

/// Voltages on the device through a stream: beams stay there and have the bits of `beamform()` of the host's, of chunk
/// after chunk, whole or heaps on the host; on a stream that is given and on one of its own.
fn chunks<V: Sample, O: Output>(session: &mut Session) -> Result<(), End> {
    let lines = FeedLines { lines: 2, feeds: 200, pols: 2, padded: 512 };
    let case = Case::<V>::new(lines, [3, 20], true, 0);
    let variant = format!("BeamformerStream, {}, {}", V::FORMAT, O::NAME);
    session.case_within("fft_beams", variant, case.params(), |session| {
        let (inputs, voltages, fan) = (case.inputs()?, case.voltages()?, case.set::<O>()?);
        let backend = Backend::on(session.device.clone());
        let expected = beamform(&backend, &voltages, &fan)?;
        let uploaded = Uploader::new(&session.device.new_stream()?).voltages(&voltages)?;
        let given = session.device.new_stream()?;
        // The CPU backend: where the voltages lie decides.
        let mut on_given = BeamformerStream::new(&Backend::cpu(), fan.clone(), inputs)?.on(&given);
        let mut on_own = BeamformerStream::new(&backend, fan.clone(), inputs)?;
        let flat: Vec<O> = expected.data().iter().copied().collect();
        let (mut verdict, error) = judge(&flat, &case.expected(), 512, fan.relative_error());
        let start = std::time::Instant::now();
        for turn in 0..3 {
            for (stream, name) in [(&mut on_given, "given"), (&mut on_own, "own")] {
                let beams = stream.push(&uploaded)?;
                let right_stream = name == "own" || beams.array().writer().is_some_and(|writer| writer.is_same(&given));
                if verdict.is_ok() && !(right_stream && beams.to_host()? == expected) {
                    verdict =
                        Err(format!("push {turn} on the {name} stream: other beams, or written on another stream"));
                }
            }
        }
        let time_ms = start.elapsed().as_secs_f64() * 1e3 / 6.0;
        let one_call = beamform(&backend, &uploaded, &fan)?.to_host()?;
        if verdict.is_ok() && (one_call != expected || on_own.push(&voltages)? != expected) {
            verdict = Err("other beams of one call on the device, or of a push from the host".into());
        }
        let value = (voltages.data().len() * size_of::<V>() + flat.len() * size_of::<O>()) as f64 / time_ms / 1e6;
        Ok((Outcome { time_ms, value, unit: "GB/s, with a copy back", against: AGAINST, verdict }, error))
    })
}

/// Chunks on the device that have no kernel are refused with their typed errors.
fn chunk_refusals(session: &mut Session) -> Result<(), End> {
    session.case("fft_beams", "chunks without a kernel", params([]), |session| {
        let mut uploader = Uploader::new(&session.stream);
        let backend = Backend::cpu();
        let inputs = Inputs::new(256, 2)?;
        let voltages = Voltages::new(Array3::from_elem((1, 2, 512), Complex::new(1i8, 1)), inputs)?;
        let floats = Voltages::new(Array3::from_elem((1, 2, 512), Complex::new(1f32, 1.0)), inputs)?;
        let heaps = Heaps::new(ndarray::Array5::from_elem((1, 256, 1, 2, 2), Complex::new(1i8, 1)))?;
        let (on_device, floats) = (uploader.voltages(&voltages)?, uploader.voltages(&floats)?);
        let heaps_on_device = uploader.heaps(&heaps)?;
        let fan = FftBeams::new(1, 256, 512)?;
        let no_kernel = |error| matches!(error, Some(BeamformerError::Device(DeviceError::NoKernel { .. })));
        let sum = IncoherentBeams::sum(inputs);
        let refused = [
            matches!(beamform(&backend, &on_device, &sum), Err(BeamformerError::Device(DeviceError::NotOnGpu { .. }))),
            no_kernel(beamform(&backend, &on_device, &FftBeams::new(1, 256, 500)?).err()),
            no_kernel(beamform(&backend, &floats, &fan).err()),
            no_kernel(beamform(&backend, &heaps_on_device, &fan).err()),
            matches!(beamform(&backend, &on_device, &FftBeams::new(2, 256, 512)?), Err(BeamformerError::Feeds { .. })),
        ];
        let verdict = match refused.iter().position(|refused| !refused) {
            Some(index) => Err(format!("call {index} was not refused as it should be")),
            // On the host the CPU takes them all.
            None => beamform(&backend, &heaps, &fan).map(|_| ()).map_err(|error| error.to_string()),
        };
        Ok(Outcome { time_ms: 0.0, value: 0.0, unit: "", against: "typed errors", verdict })
    })
}
