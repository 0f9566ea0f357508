//! The F-engine on the GPU: every depth and format of samples with every number of taps and channels, streams in odd
//! chunks, delays that step, ranges, oversampling, missing samples and gaps.
//!
//! Floats are compared with the CPU backend's, within 1e-5 of full scale; integers with what those give, exactly but
//! within 5e-3 of a rounding tie, and counts of saturated values exactly but within 5e-3 of the limit. Every case goes
//! through the GPU twice, in other chunks. Half precision has bounds of its own: see `half`.

pub(crate) mod case;
pub(crate) mod check;
pub(crate) mod device;
mod gains;
pub(super) mod half;
mod large;

use std::time::Instant;

use fringes::{
    Backend, Channelized, ChunkFormat, Complex, Complex4, FrameSample, Frames, Heaps, SampleFormat, Window, f16,
};
use ndarray::Array2;

use crate::end::End;
use crate::gpu_report::params;
use crate::validate::session::{Outcome, Session};
use case::{Case, Fault, packed, typed};
use check::Spectra;
pub(crate) use device::sample_rows;

/// Names of the cases.
pub(crate) const NAMES: [&str; 5] =
    ["f_engine", "f_engine_streams", "f_engine_device", "f_engine_half", "f_engine_strided"];

const WINDOWS: [Window; 5] =
    [Window::Hann, Window::Hamming, Window::Blackman, Window::Rect, Window::Kaiser { beta: 8.0 }];

/// Bits of packed samples.
const BITS: [u32; 11] = [2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16];

/// Formats of real samples that have fast kernels, beside packed ones of 8 and 10 bits.
fn more() -> [ChunkFormat; 5] {
    let [float, wide, short] = [SampleFormat::Float16, SampleFormat::Float32, SampleFormat::Int16];
    [packed(12), packed(16), typed(float, false), typed(wide, false), typed(short, false)]
}

/// Formats of complex samples.
const COMPLEX: [SampleFormat; 4] =
    [SampleFormat::Float16, SampleFormat::Float32, SampleFormat::Int16, SampleFormat::Int8];

const TAPS: [usize; 4] = [1, 4, 16, 33];

const CHANNELS: [usize; 4] = [60, 1024, 1500, 4096];

fn formats() -> Vec<ChunkFormat> {
    let types = [SampleFormat::Int8, SampleFormat::Int16, SampleFormat::Float16, SampleFormat::Float32];
    let typed = types.into_iter().flat_map(|format| [false, true].map(|complex| typed(format, complex)));
    BITS.into_iter().map(packed).chain(typed).collect()
}

pub(crate) fn validate(session: &mut Session) -> Result<(), End> {
    if session.wants(NAMES[0]) {
        for case in matrix(session.quick) {
            all_formats(session, NAMES[0], &case)?;
        }
        large::validate(session)?;
    }
    if session.wants(NAMES[1]) {
        for case in streams(session.quick) {
            all_formats(session, NAMES[1], &case)?;
        }
    }
    if session.wants(NAMES[4]) {
        for case in strided(session.quick) {
            all_formats(session, NAMES[4], &case)?;
        }
    }
    gains::validate(session)?;
    device::validate(session)?;
    half::validate(session)
}

/// Every format of samples with every number of taps and channels; windows and ranges in turn.
fn matrix(quick: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for format in formats() {
        for (number, taps) in TAPS.into_iter().enumerate() {
            for channels in CHANNELS {
                let turn = cases.len();
                // The quick ones: each format once, with fast kernels among them.
                let first = cases.iter().all(|case: &Case| case.format != format);
                if quick && (!first || number > 0) {
                    continue;
                }
                let (channels, taps) = match (quick, format) {
                    (true, ChunkFormat::Packed { bits: 8 | 10 }) => (256, 16),
                    (true, format) if more().contains(&format) => (256, [16, 17, 5][turn % 3]),
                    (true, _) => ([60, 72, 96][turn % 3], TAPS[turn % 4].min(5)),
                    _ => (channels, taps),
                };
                cases.push(Case {
                    window: WINDOWS[turn % 5],
                    range: if turn % 3 == 1 { 3..channels - 5 } else { 0..channels },
                    spectra_per_frame: 3 + turn % 6,
                    dither: if turn % 2 == 0 { Some(turn as u64) } else { None },
                    sigma: [20.0, 60.0][turn / 2 % 2],
                    first: [0, 12_345, 99_999_999_999_999][turn % 3],
                    ..Case::new(channels, format, taps)
                });
            }
        }
    }
    // The fast kernels: all numbers of taps that they tell apart, jobs of all lengths, in groups of two and alone.
    if quick {
        cases.push(Case { dither: Some(9), spectra: 70, spectra_per_frame: 70, ..Case::new(256, packed(10), 17) });
        for (format, taps) in COMPLEX.into_iter().zip([16, 17, 4, 32]) {
            let case = Case {
                dither: Some(9),
                range: 64..192,
                spectra: 70,
                spectra_per_frame: 70,
                ..Case::new(256, typed(format, true), taps)
            };
            cases.push(case);
        }
        return cases;
    }
    for (bits, taps) in [8, 10].into_iter().flat_map(|bits| [1, 4, 16, 17, 32].map(|taps| (bits, taps))) {
        for (channels, spectra) in [(256, 140), (1024, 40), (4096, 9)] {
            let turn = cases.len();
            cases.push(Case {
                inputs: (1, 1 + turn % 2),
                range: if turn % 3 == 1 { 3..channels - 5 } else { 0..channels },
                spectra,
                spectra_per_frame: [70, 32, 7][turn % 3],
                dither: [None, Some(9)][turn / 2 % 2],
                ..Case::new(channels, packed(bits), taps)
            });
        }
    }
    for channels in [512, 2048, 8192, 16384, 32768, 65536] {
        cases.push(Case { spectra: 6, dither: Some(9), ..Case::new(channels, packed(10), 16) });
    }
    for (format, taps) in more().into_iter().zip([16, 17, 32, 5, 20]) {
        for (channels, spectra) in [(256, 140), (2048, 20), (8192, 5), (65536, 4)] {
            let turn = cases.len();
            cases.push(Case {
                inputs: (1, 1 + turn % 2),
                range: if turn % 3 == 1 { 3..channels - 5 } else { 0..channels },
                spectra,
                spectra_per_frame: [70, 32, 7][turn % 3].min(spectra),
                dither: [None, Some(9)][turn / 2 % 2],
                ..Case::new(channels, format, taps)
            });
        }
    }
    // Complex samples: all channels, the inner half, and others.
    for (channels, spectra) in [(256, 140), (512, 70), (2048, 20), (8192, 6), (16384, 5), (32768, 4), (65536, 4)] {
        for (format, taps) in COMPLEX.into_iter().zip([16, 5, 17, 32]) {
            let turn = cases.len();
            cases.push(Case {
                inputs: (1, 1 + turn % 2),
                range: [0..channels, channels / 4..3 * channels / 4, channels / 4 - 1..3 * channels / 4][turn % 3]
                    .clone(),
                spectra,
                spectra_per_frame: [70, 32, 7][turn % 3].min(spectra),
                dither: [None, Some(9)][turn / 2 % 2],
                ..Case::new(channels, typed(format, true), taps)
            });
        }
    }
    cases
}

/// Delays that step every few spectra, differently in each input.
pub(crate) fn moving(channels: usize) -> Vec<[f64; 4]> {
    let rate = 40.0 / (128.0 * channels as f64);
    vec![
        [3.3, rate, 0.1, 1e-4],
        [-7.9, -0.7 * rate, -0.3, 0.0],
        [200.5, 2.0 * rate, 0.0, -3e-5],
        [0.0, 0.0, 0.7, 0.013],
    ]
}

/// Delays, oversampling, missing samples, gaps.
fn streams(quick: bool) -> Vec<Case> {
    let sizes: &[(usize, usize)] =
        if quick { &[(64, 4), (256, 16)] } else { &[(64, 4), (256, 16), (1024, 16), (1536, 5), (4096, 16)] };
    let mut cases = Vec::new();
    for &(channels, taps) in sizes {
        let case = Case { inputs: (2, 2), spectra: 40, dither: Some(5), ..Case::new(channels, packed(10), taps) };
        let delays = moving(channels);
        let delays_of_complex = moving(channels / 2);
        cases.push(Case { delays: delays.clone(), ..case.clone() });
        cases.push(Case { block: Some(channels + 77), ..case.clone() });
        cases.push(Case { gap: 9 * channels + 5, ..case.clone() });
        cases.push(Case { delays, block: Some(1000), gap: 17 * channels, range: 5..channels - 3, ..case.clone() });
        cases.push(Case {
            oversampling: (4, 3),
            format: typed(SampleFormat::Int8, true),
            channels: channels / 2 * 3,
            range: 0..channels / 2 * 3,
            ..case.clone()
        });
        for (turn, format) in COMPLEX.into_iter().enumerate() {
            let case = Case { format: typed(format, true), delays: delays_of_complex.clone(), ..case.clone() };
            cases.push(match turn {
                0 => Case { range: channels / 4..3 * channels / 4, ..case },
                1 => Case { block: Some(1000), gap: 9 * channels, ..case },
                2 => Case { block: Some(channels + 77), ..case },
                _ => Case { gap: 4 * channels + 5, ..case },
            });
        }
        for (turn, format) in more().into_iter().enumerate() {
            let case = Case { format, ..case.clone() };
            cases.push(match turn % 3 {
                0 => Case { delays: moving(channels), block: Some(1000), gap: 17 * channels, ..case },
                1 => Case { delays: moving(channels), range: 5..channels - 3, ..case },
                _ => Case { gap: 9 * channels + 5, ..case },
            });
        }
        cases.push(Case { oversampling: (32, 27), ..case.clone() });
        cases.push(Case { oversampling: (32, 27), delays: moving(channels), format: packed(12), ..case });
    }
    cases
}

/// Two passes of oversampled plans, of long filters and of samples of any width: all numbers of channels and formats of
/// samples, delays that step, missing samples, gaps, ranges.
fn strided(quick: bool) -> Vec<Case> {
    const RATIOS: [(usize, usize); 5] = [(32, 27), (4, 3), (2, 1), (8, 7), (64, 57)];
    let mut cases = Vec::new();
    let powers = [(256, 140), (64, 200), (128, 140), (1024, 70), (4096, 20), (8192, 10), (65536, 3)];
    // With factors of 3 and 5.
    let mixed = [(192, 200), (320, 140), (768, 90), (1536, 70), (2560, 30), (3072, 20), (6144, 12), (12_288, 8)];
    let sizes = powers.into_iter().chain(mixed);
    for (index, (channels, spectra)) in sizes.enumerate() {
        for (number, format) in formats().into_iter().chain([11, 13, 14, 15].map(packed)).enumerate() {
            // All formats of the first number of channels, and of the others one in three; quick, of the first alone
            // and of each of the others a few.
            let chosen = index == 0 || (number + index).is_multiple_of(if quick { 13 } else { 3 });
            if !chosen || quick && (3..=6).contains(&index) {
                continue;
            }
            let turn = cases.len();
            let case = Case {
                // Without it, too, where kernels are no others than those of oversampled spectra.
                oversampling: if index > 6 && turn % 2 == 0 { (1, 1) } else { RATIOS[turn % 5] },
                inputs: (1, 1 + turn % 2),
                range: if turn % 3 == 1 { 3..channels - 5 } else { 0..channels },
                spectra,
                spectra_per_frame: [70, 32, 7][turn % 3].min(spectra),
                dither: [None, Some(9)][turn / 2 % 2],
                first: [0, 12_345, 99_999_999_999_999][turn / 3 % 3],
                ..Case::new(channels, format, [16, 4, 33, 1][turn % 4])
            };
            let delays = moving(if format.is_complex() { channels / 2 } else { channels });
            cases.push(match turn % 4 {
                0 => Case { delays, ..case },
                1 => Case { block: Some(channels + 77), ..case },
                2 => Case { delays, gap: 17 * channels, ..case },
                _ => case,
            });
        }
    }
    // Long filters by products, and by multiply-adds.
    let long =
        [(256, 64, 70), (1024, 48, 70), (8192, 64, 70), (16384, 40, 70), (32768, 64, 9), (65536, 33, 5), (128, 33, 70)];
    for (channels, taps, spectra) in long {
        cases.push(Case {
            spectra,
            dither: Some(9),
            delays: moving(channels),
            ..Case::new(channels, packed(10), taps)
        });
    }
    // General kernels: factors of 3 and 5 more than once, rows of whole words and others, chunks of taps and floats.
    let numbers =
        [packed(10), packed(11), packed(12), typed(SampleFormat::Int16, false), typed(SampleFormat::Int8, true)];
    let floats = [typed(SampleFormat::Float16, false), typed(SampleFormat::Float32, true)];
    // Of many channels in two launches, with jobs of several parts, odd numbers, and rows that are odd in number.
    let general =
        [(100, 200), (1000, 60), (3000, 60), (3125, 30), (10_000, 20), (20_250, 14), (50_000, 5), (59_049, 3)];
    for (place, (channels, spectra)) in general.into_iter().enumerate() {
        if quick && !matches!(channels, 100 | 3000 | 20_250) {
            continue;
        }
        for (index, format) in numbers.into_iter().chain(floats).enumerate() {
            // Of many channels one format in three.
            if channels > 3000 && !(index + place).is_multiple_of(3) {
                continue;
            }
            let case = Case {
                inputs: (1, 1 + index % 2),
                spectra,
                dither: Some(9),
                delays: moving(if format.is_complex() { channels / 2 } else { channels }),
                ..Case::new(channels, format, [16, 20, 40, 4, 32, 16, 32][index])
            };
            cases.push(if index == 1 { Case { oversampling: (4, 3), ..case } } else { case });
        }
        if channels >= 3000 && channels.is_multiple_of(3) {
            // Spectra whose places in time are no binary fraction of the step.
            let case = Case { oversampling: (6, 5), spectra: spectra.min(20), ..Case::new(channels, packed(10), 4) };
            cases.push(Case { block: Some(channels + 77), first: 12_345, ..case });
        }
    }
    // Passes of 15 and of 25 points.
    for (channels, format, taps) in
        [(675, packed(10), 16), (1215, packed(12), 4), (1250, numbers[4], 16), (625, floats[0], 16)]
    {
        let delays = moving(if format.is_complex() { channels / 2 } else { channels });
        cases.push(Case { spectra: 100, dither: Some(9), delays, ..Case::new(channels, format, taps) });
    }
    // Spectra that have rows in common with every other one, every third and so on.
    let ratios = [
        (1000, (4, 3), packed(10), 16),
        (480, (2, 1), packed(12), 16),
        (600, (3, 2), numbers[3], 20),
        (750, (5, 4), packed(11), 5),
        (1200, (8, 3), numbers[4], 33),
        (1000, (4, 3), floats[0], 16),
        (600, (2, 1), floats[1], 32),
        (10_000, (4, 3), packed(10), 16),
        (900, (6, 5), packed(10), 16),
        // Others in two launches.
        (720, (32, 27), packed(10), 16),
        (720, (8, 7), packed(14), 40),
    ];
    for (index, (channels, oversampling, format, taps)) in ratios.into_iter().enumerate() {
        let case = Case {
            oversampling,
            spectra: if channels > 5000 { 53 } else { 230 },
            dither: Some(9),
            delays: moving(if format.is_complex() { channels / 2 } else { channels }),
            ..Case::new(channels, format, taps)
        };
        cases.push(match index % 3 {
            0 => case,
            1 => Case { block: Some(20 * channels + 77), first: 12_345, ..case },
            _ => Case { gap: 17 * channels, ..case },
        });
    }
    cases
}

/// A case in all formats of frames.
fn all_formats(session: &mut Session, name: &'static str, case: &Case) -> Result<(), End> {
    let Case { channels, taps, spectra, .. } = *case;
    let sizes = params([
        ("channels", channels),
        ("taps", taps),
        ("inputs", case.inputs.0 * case.inputs.1),
        ("spectra", spectra),
    ]);
    session.case_within(name, case.format.to_string(), sizes, |session| {
        let samples = case.samples()?;
        let (cpu, gpu) = (Backend::cpu(), Backend::on(session.device.clone()));
        let length = samples.ncols();
        let whole = case.cuts(&[length])?;
        let expected = case.streamed::<Complex<f32>>(&cpu, &samples, &whole)?;
        let spectra = Spectra::of(&expected.frames);
        let (largest, time_ms) = floats::<Complex<f32>>(case, &gpu, &samples, (&expected, &spectra), 0.0)?;
        // Half a unit of the last of 11 bits.
        floats::<Complex<f16>>(case, &gpu, &samples, (&expected, &spectra), 2f64.powi(-11) * 1.01)?;
        let at_ties = integers::<Complex<i8>>(case, 127.0, &gpu, &samples, (&expected, &spectra))?;
        let small = Case { sigma: case.sigma / 8.0, ..case.clone() };
        let expected = small.streamed::<Complex<f32>>(&cpu, &samples, &whole)?;
        integers::<Complex4>(&small, 7.0, &gpu, &samples, (&expected, &Spectra::of(&expected.frames)))?;
        let numbers = (length * samples.nrows()) as f64;
        let outcome = Outcome {
            time_ms,
            value: numbers / time_ms / 1e3,
            unit: "Msamples/s",
            against: "the CPU backend (held to the f64 reference by its tests): floats, integers but at ties, counts, flags, statistics; other chunks",
            verdict: Ok(()),
        };
        Ok((outcome, format!("floats {largest:.1e} of full scale, {at_ties} integers at ties")))
    })
}

/// Chunk lengths of a stream in pieces: odd ones, shorter and longer than a window.
fn odd(length: usize) -> [usize; 4] {
    [length / 3 + 1, 17, length / 7 + 5, length / 40 + 3]
}

/// Floats in one chunk and in others.
fn floats<Q: FrameSample>(
    case: &Case,
    gpu: &Backend,
    samples: &Array2<Complex<f32>>,
    (expected, spectra): (&Channelized<Frames<Heaps<Complex<f32>>>>, &Spectra),
    rounding: f64,
) -> Result<(f64, f64), Fault> {
    let length = samples.ncols();
    let start = Instant::now();
    let found = case.streamed::<Q>(gpu, samples, &case.cuts(&[length])?)?;
    let time_ms = start.elapsed().as_secs_f64() * 1e3;
    check::axes(expected, &found, case.format.codes().is_some())?;
    let largest = check::floats(case, spectra, &Spectra::of(&found.frames), rounding)?;
    if case.gap == 0 {
        let parts = joined(case.streamed::<Q>(gpu, samples, &case.cuts(&odd(length))?)?)?;
        check::same(case, &joined(found)?, &parts)?;
    }
    Ok((largest, time_ms))
}

/// Integers in one chunk and in others.
fn integers<Q: FrameSample>(
    case: &Case,
    limit: f64,
    gpu: &Backend,
    samples: &Array2<Complex<f32>>,
    (expected, spectra): (&Channelized<Frames<Heaps<Complex<f32>>>>, &Spectra),
) -> Result<usize, Fault> {
    let length = samples.ncols();
    let found = case.streamed::<Q>(gpu, samples, &case.cuts(&[length])?)?;
    check::axes(expected, &found, case.format.codes().is_some())?;
    let at_ties = check::integers(case, limit, spectra, &Spectra::of(&found.frames))?;
    if case.gap == 0 {
        let parts = joined(case.streamed::<Q>(gpu, samples, &case.cuts(&odd(length))?)?)?;
        check::same(case, &joined(found)?, &parts)?;
    }
    Ok(at_ties)
}

/// Pieces of frames that follow each other, as one.
pub(crate) fn joined<Q: FrameSample>(
    channelized: Channelized<Frames<Heaps<Q>>>,
) -> Result<Channelized<Frames<Heaps<Q>>>, Fault> {
    let Channelized { frames, statistics } = channelized;
    let Some(first) = frames.first() else { return Ok(Channelized { frames, statistics }) };
    let (clock, frequencies) = (first.voltages.clock(), first.voltages.frequencies());
    let views: Vec<_> = frames.iter().map(|piece| piece.voltages.data()).collect();
    let data = ndarray::concatenate(ndarray::Axis(0), &views)?.as_standard_layout().into_owned();
    let flags: Vec<_> = frames.iter().map(|piece| piece.spectra_present.view()).collect();
    let spectra_present = ndarray::concatenate(ndarray::Axis(0), &flags)?;
    let counts: Vec<_> = frames.iter().map(|piece| piece.saturated.view()).collect();
    let saturated = ndarray::concatenate(ndarray::Axis(0), &counts)?;
    let present: Vec<_> = frames
        .iter()
        .map(|piece| {
            let all = Array2::from_elem((piece.frames(), piece.voltages.inputs().antennas()), true);
            piece.voltages.presence().map_or(all, |flags| flags.to_owned())
        })
        .collect();
    let present: Vec<_> = present.iter().map(|flags| flags.view()).collect();
    let present = ndarray::concatenate(ndarray::Axis(0), &present)?;
    let mut heaps = fringes::Heaps::from_checked(data)?.with_frequencies(frequencies)?.with_clock(clock)?;
    if present.iter().any(|present| !present) {
        heaps = heaps.with_presence(present)?;
    }
    Ok(Channelized { frames: vec![Frames { voltages: heaps, spectra_present, saturated }], statistics })
}
