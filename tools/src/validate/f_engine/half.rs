//! Half precision: floats within `4.6e-4` or `5.5e-4` of the values' rms, integers but for what errors of that size
//! may turn; and a tone of full scale, whose errors in other channels are measured.

use std::time::Instant;

use fringes::{
    Backend, Channelized, ChunkFormat, Complex, Complex4, FrameSample, Frames, Heaps, Precision, SampleFormat, f16,
};
use ndarray::Array2;

use super::case::{Case, Fault, packed, typed};
use super::check::{self, Spectra};
use super::{NAMES, joined, moving, odd};
use crate::end::End;
use crate::gpu_report::params;
use crate::validate::session::{Outcome, Session};

const NAME: &str = NAMES[3];
/// Formats of complex samples.
const COMPLEX: [SampleFormat; 3] = [SampleFormat::Float16, SampleFormat::Int8, SampleFormat::Int16];

/// Root of the mean square of errors, in parts of the values': five roundings to 11 bits, of `2.07e-4` each, and seven
/// where there is a digit between the passes; `more` of samples or of the output.
pub(in crate::validate) fn error(channels: usize, more: usize) -> f64 {
    let roundings = if channels < 4096 { 5 } else { 7 };
    ((roundings + more) as f64).sqrt() * 2.07e-4
}

/// Real samples beside packed ones of 8 and 10 bits.
fn more() -> [ChunkFormat; 4] {
    [packed(12), packed(16), typed(SampleFormat::Float16, false), typed(SampleFormat::Int16, false)]
}

/// Roundings of samples.
fn of_samples(case: &Case) -> usize {
    let short = |complex| typed(SampleFormat::Int16, complex);
    usize::from([short(false), short(true), packed(16)].contains(&case.format))
}
/// The largest error, in parts of the rms of errors: of a complex Gaussian 1 in 7e10 is beyond 5.
pub(in crate::validate) const LARGEST: f64 = 5.0;
/// Errors in other channels than a tone's, in parts of the tone: 60 dB below it.
const SPUR: f64 = 1e-3;

/// Frames of one stream.
type Stream<Q> = Channelized<Frames<Heaps<Q>>>;

pub(super) fn validate(session: &mut Session) -> Result<(), End> {
    if !session.wants(NAME) {
        return Ok(());
    }
    let sizes: &[usize] = if session.quick { &[512] } else { &[256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536] };
    for &channels in sizes {
        tone(session, channels)?;
    }
    other_plans(session)?;
    for case in cases(session.quick) {
        all_formats(session, &case)?;
    }
    Ok(())
}

fn cases(quick: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    let half = |channels, format, taps, spectra| Case {
        precision: Precision::Half,
        spectra,
        ..Case::new(channels, format, taps)
    };
    if quick {
        cases.push(Case { dither: Some(9), spectra_per_frame: 70, ..half(512, packed(10), 16, 70) });
        cases.push(Case { range: 3..500, ..half(512, packed(8), 17, 20) });
        cases.push(Case { dither: Some(9), spectra_per_frame: 70, ..half(256, packed(10), 16, 140) });
        cases.push(Case { range: 64..192, ..half(256, typed(SampleFormat::Int8, true), 5, 140) });
        for (format, taps) in more().into_iter().zip([16, 5, 17, 32]) {
            cases.push(Case { dither: Some(9), spectra_per_frame: 70, ..half(512, format, taps, 70) });
        }
        for (format, taps) in COMPLEX.into_iter().zip([16, 5, 17]) {
            for range in [0..512, 128..384] {
                cases.push(Case {
                    range,
                    spectra_per_frame: 70,
                    dither: Some(9),
                    ..half(512, typed(format, true), taps, 70)
                });
            }
        }
        return cases;
    }
    for (channels, spectra) in [(256, 140), (512, 140), (1024, 70), (2048, 40), (4096, 24)] {
        for (format, taps) in [
            (packed(10), 16),
            (packed(10), 1),
            (packed(10), 4),
            (packed(10), 17),
            (packed(10), 32),
            (packed(8), 16),
            (packed(8), 32),
            (typed(SampleFormat::Int8, false), 5),
        ] {
            let turn = cases.len();
            cases.push(Case {
                inputs: (1, 1 + (turn + 1) % 2),
                range: if turn % 3 == 1 { 3..channels - 5 } else { 0..channels },
                spectra_per_frame: [70, 32, 7][turn % 3].min(spectra),
                dither: if turn % 2 == 0 { Some(9 + turn as u64) } else { None },
                sigma: [20.0, 60.0][turn / 2 % 2],
                ..half(channels, format, taps, spectra)
            });
        }
        // Streams: delays that step, missing samples, a gap.
        let case = Case { inputs: (2, 2), dither: Some(5), ..half(channels, packed(10), 16, 40) };
        cases.push(Case { delays: moving(channels), ..case.clone() });
        cases.push(Case {
            block: Some(8 * channels + 8),
            gap: 17 * channels,
            range: 5..channels - 3,
            spectra: 70,
            ..case
        });
    }
    for (channels, spectra) in [(256, 140), (512, 140), (2048, 40), (4096, 20), (65536, 4)] {
        for (format, taps) in more().into_iter().zip([16, 32, 5, 17]) {
            let turn = cases.len();
            cases.push(Case {
                inputs: (1, 1 + turn % 2),
                range: if turn % 3 == 1 { 3..channels - 5 } else { 0..channels },
                spectra_per_frame: [70, 32, 7][turn / 2 % 3].min(spectra),
                dither: [None, Some(9)][turn / 2 % 2],
                ..half(channels, format, taps, spectra)
            });
        }
    }
    // As streams: 12-bit samples begin with either half of a byte.
    let case = Case { inputs: (2, 2), dither: Some(5), ..half(512, packed(12), 16, 40) };
    cases.push(Case { delays: moving(512), ..case.clone() });
    cases.push(Case { block: Some(8 * 512 + 8), gap: 17 * 512, spectra: 70, ..case });
    // Complex samples: all channels, those of the inner half, others.
    for (channels, spectra) in
        [(256, 140), (512, 140), (1024, 70), (2048, 40), (4096, 20), (8192, 10), (16384, 6), (32768, 5), (65536, 4)]
    {
        for (format, taps) in COMPLEX.into_iter().zip([16, 32, 5]) {
            let turn = cases.len();
            cases.push(Case {
                inputs: (1, 1 + turn % 2),
                range: [channels / 4..3 * channels / 4, 0..channels, channels / 4 + 3..channels / 2 + 7][turn % 3]
                    .clone(),
                spectra_per_frame: [70, 32, 7][turn / 2 % 3].min(spectra),
                dither: [None, Some(9)][turn / 2 % 2],
                ..half(channels, typed(format, true), taps, spectra)
            });
        }
    }
    // As streams.
    for range in [128..384, 0..512] {
        let case = half(512, typed(SampleFormat::Float16, true), 16, 40);
        let case = Case { inputs: (2, 2), dither: Some(5), range, ..case };
        cases.push(Case { delays: moving(512), ..case.clone() });
        cases.push(Case { block: Some(8 * 512 + 8), gap: 17 * 512, spectra: 70, ..case });
    }
    for (channels, spectra) in [(8192, 12), (16384, 9), (32768, 9), (65536, 6)] {
        for (format, taps) in [(packed(10), 16), (packed(8), 32)] {
            let dither = if taps == 16 { Some(3) } else { None };
            cases.push(Case { inputs: (1, 2), spectra_per_frame: 3, dither, ..half(channels, format, taps, spectra) });
        }
    }
    cases
}

/// What a GPU computes a case in.
fn precision(case: &Case, gpu: &Backend, samples: &Array2<Complex<f32>>) -> Result<Option<Precision>, Fault> {
    let mut engine = case.engine::<Complex<i8>>(gpu)?;
    // Of a whole block of presence flags, if there are such.
    let length = case.block.unwrap_or(1000).min(samples.ncols());
    engine.push(&*case.chunk(samples, 0, length)?)?;
    Ok(engine.precision())
}

/// `Ok` if a case is computed in half precision.
fn check_precision(case: &Case, gpu: &Backend, samples: &Array2<Complex<f32>>) -> Result<(), Fault> {
    match precision(case, gpu, samples)? {
        Some(Precision::Half) => Ok(()),
        other => Err(format!("computed in {other:?}").into()),
    }
}

/// A case in all formats of frames.
fn all_formats(session: &mut Session, case: &Case) -> Result<(), End> {
    let inputs = case.inputs.0 * case.inputs.1;
    let sizes =
        params([("channels", case.channels), ("taps", case.taps), ("inputs", inputs), ("spectra", case.spectra)]);
    session.case_within(NAME, case.format.to_string(), sizes, |session| {
        let samples = case.samples()?;
        let (cpu, gpu) = (Backend::cpu(), Backend::on(session.device.clone()));
        check_precision(case, &gpu, &samples)?;
        let whole = case.cuts(&[samples.ncols()])?;
        let expected = case.streamed::<Complex<f32>>(&cpu, &samples, &whole)?;
        let start = Instant::now();
        let (rms, largest) = floats::<Complex<f32>>(case, &gpu, &samples, &expected, 0)?;
        let time_ms = start.elapsed().as_secs_f64() * 1e3;
        floats::<Complex<f16>>(case, &gpu, &samples, &expected, 1)?;
        let at_ties = integers::<Complex<i8>>(case, 127.0, &gpu, &samples, &expected)?;
        let small = Case { sigma: case.sigma / 8.0, ..case.clone() };
        let expected = small.streamed::<Complex<f32>>(&cpu, &samples, &whole)?;
        integers::<Complex4>(&small, 7.0, &gpu, &samples, &expected)?;
        let outcome = Outcome {
            time_ms,
            value: 0.0,
            unit: "",
            against: "the CPU backend (held to the f64 reference by its tests): floats, integers but at ties, counts, flags; other chunks",
            verdict: Ok(()),
        };
        let errors = format!("errors {rms:.2e} rms of the values' rms and {largest:.2e} at most");
        Ok((outcome, format!("{errors}, {at_ties} integers at ties")))
    })
}

/// Frames in one chunk, which must be the same in others.
fn in_chunks<Q: FrameSample>(
    case: &Case,
    gpu: &Backend,
    samples: &Array2<Complex<f32>>,
    expected: &Stream<Complex<f32>>,
) -> Result<Stream<Q>, Fault> {
    let (length, step) = (samples.ncols(), 2 * case.channels);
    let whole = || case.streamed::<Q>(gpu, samples, &case.cuts(&[length])?);
    let found = whole()?;
    check::axes(expected, &found, case.format.codes().is_some())?;
    if case.gap == 0 {
        let one = joined(whole()?)?;
        for lengths in [odd(length), [length / 2 + 3, 11 * step + 1, 999, 40 * step], [7, 3, 1, 9].map(|n| n * step)] {
            let parts = joined(case.streamed::<Q>(gpu, samples, &case.cuts(&lengths)?)?)?;
            check::same(case, &one, &parts)?;
        }
    }
    Ok(found)
}

/// Floats by the rms of their errors and the largest, of which the format's rounding, if it has one, is at most `2^-11`
/// of the value that it rounds: more of large values, so that it is not as noise is.
fn floats<Q: FrameSample>(
    case: &Case,
    gpu: &Backend,
    samples: &Array2<Complex<f32>>,
    expected: &Stream<Complex<f32>>,
    of_format: usize,
) -> Result<(f64, f64), Fault> {
    let found = in_chunks::<Q>(case, gpu, samples, expected)?;
    let allowed = error(case.channels, of_format + of_samples(case));
    let most = LARGEST * error(case.channels, of_samples(case));
    let rounding = of_format as f64 * 2f64.powi(-11);
    let (rms, largest) = check::relative(case, &Spectra::of(&expected.frames), &Spectra::of(&found.frames), rounding)?;
    if rms >= allowed || largest >= most {
        let errors = format!("{rms:.3e} rms of the values' rms and {largest:.3e} at most");
        return Err(format!("errors {errors}, allowed are {allowed:.2e} and {most:.2e}").into());
    }
    Ok((rms, largest))
}

/// Integers but for those that errors of floats may turn.
fn integers<Q: FrameSample>(
    case: &Case,
    limit: f64,
    gpu: &Backend,
    samples: &Array2<Complex<f32>>,
    expected: &Stream<Complex<f32>>,
) -> Result<usize, Fault> {
    let found = in_chunks::<Q>(case, gpu, samples, expected)?;
    let spectra = Spectra::of(&expected.frames);
    let tie =
        check::TIE + LARGEST * error(case.channels, of_samples(case)) * spectra.rms(case.inputs.0 * case.inputs.1);
    check::integers_within(case, (limit, tie), &spectra, &Spectra::of(&found.frames))
}

/// A tone of full scale beside a channel's middle: its errors in all other channels, relative to it.
fn tone(session: &mut Session, channels: usize) -> Result<(), End> {
    let case = Case {
        precision: Precision::Half,
        inputs: (1, 1),
        spectra: 24,
        spectra_per_frame: 8,
        ..Case::new(channels, packed(10), 16)
    };
    let sizes = params([("channels", channels), ("taps", case.taps), ("inputs", 1), ("spectra", case.spectra)]);
    session.case_within(NAME, "a tone of full scale", sizes, |session| {
        let (cpu, gpu) = (Backend::cpu(), Backend::on(session.device.clone()));
        // A third of a channel beside the middle of one.
        let turns = ((channels / 3) as f64 + 0.33) / (2 * channels) as f64;
        let samples = Array2::from_shape_fn((1, case.length()?), |(_, time)| {
            let value = 511.0 * (std::f64::consts::TAU * (turns * time as f64).fract()).cos();
            Complex::new(value.round() as f32, 0.0)
        });
        check_precision(&case, &gpu, &samples)?;
        let whole = case.cuts(&[samples.ncols()])?;
        let start = Instant::now();
        let found = Spectra::of(&case.streamed::<Complex<f32>>(&gpu, &samples, &whole)?.frames);
        let time_ms = start.elapsed().as_secs_f64() * 1e3;
        let expected = Spectra::of(&case.streamed::<Complex<f32>>(&cpu, &samples, &whole)?.frames);
        let by_channel = expected.largest_by_channel(&found, 1)?;
        let largest = |all: &mut dyn Iterator<Item = f64>| all.fold(0f64, f64::max);
        let tone = largest(&mut by_channel.iter().map(|(_, value)| *value));
        let own = largest(&mut by_channel.iter().map(|(error, _)| *error)) / tone;
        let far = by_channel.iter().filter(|(_, value)| *value < 0.01 * tone);
        let spur = largest(&mut far.map(|(error, _)| *error)) / tone;
        let decibel = |ratio: f64| 20.0 * ratio.log10();
        let (of_all, of_far) = (decibel(own), decibel(spur));
        let text = format!("errors {of_all:.1} dB of the tone, {of_far:.1} dB in channels 40 dB and more below it");
        let within = tone > 0.0 && spur < SPUR && own < LARGEST * error(channels, 0);
        let verdict = if within { Ok(()) } else { Err(text.clone()) };
        Ok((Outcome { time_ms, value: 0.0, unit: "", against: "the CPU backend", verdict }, text))
    })
}

/// Plans and samples without kernels of half precision have the bits of single precision.
fn other_plans(session: &mut Session) -> Result<(), End> {
    for (channels, format, taps) in [
        (128, packed(10), 16),
        (512, packed(14), 4),
        (512, typed(SampleFormat::Float32, false), 4),
        (512, typed(SampleFormat::Float32, true), 4),
        (512, packed(10), 33),
    ] {
        let case = Case { dither: Some(4), ..Case::new(channels, format, taps) };
        let sizes = params([("channels", channels), ("taps", taps), ("inputs", 2), ("spectra", case.spectra)]);
        session.case(NAME, format!("{format}, in single precision"), sizes, |session| {
            let gpu = Backend::on(session.device.clone());
            let samples = case.samples()?;
            let whole = case.cuts(&[samples.ncols()])?;
            let half = Case { precision: Precision::Half, ..case.clone() };
            let found = half.streamed::<Complex<i8>>(&gpu, &samples, &whole)?;
            let expected = case.streamed::<Complex<i8>>(&gpu, &samples, &whole)?;
            let precision = precision(&half, &gpu, &samples)?;
            let verdict = if precision != Some(Precision::Single) {
                Err(format!("computed in {precision:?}"))
            } else if found.frames != expected.frames {
                Err("frames differ".into())
            } else {
                Ok(())
            };
            Ok(Outcome { time_ms: 0.0, value: 0.0, unit: "", against: "single precision", verdict })
        })?;
    }
    Ok(())
}
