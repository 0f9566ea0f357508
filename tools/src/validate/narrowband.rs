//! The narrowband F-engine on the GPU: streams of chunks on the host and on the device against the CPU backend, which
//! its tests hold to the f64 reference.
//!
//! Floats are compared within what both stages state: 2e-5 of full scale of the down-converter, 1e-5 of the filter
//! bank. Integers are those of the CPU's floats with dither but as near to a rounding tie as that. Chunks on the device
//! give the frames of those on the host, and other chunks the same stream.

use std::time::Instant;

use fringes::{
    Backend, Channelized, Channelizer, ChunkFormat, Complex, DelayModel, DownConverter, FrameLayout, FrameSample,
    Frames, Gains, Heaps, InputStatistics, NarrowbandFEngine, NarrowbandFEngineBuilder, Precision, Rows, SampleFormat,
    Uploader,
};
use fringes_reference::dither::dither;
use fringes_reference::quantiser::quantise_value;
use ndarray::Array2;
use num_complex::Complex64 as C64;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::end::End;
use crate::gpu_report::params;
use crate::validate::f_engine::case::{Case, Fault, packed, typed};
use crate::validate::f_engine::device::summed;
use crate::validate::f_engine::{check, half, joined};
use crate::validate::session::{Outcome, Session};

/// Name of the cases.
pub(crate) const NAME: &str = "narrowband";

/// Frequency in the middle of the band, in cycles per sample.
const CENTRE: f64 = 0.171_234_5;
const SEED: u64 = 20261124;

/// A narrowband F-engine and its samples.
#[derive(Debug, Clone)]
struct Narrow {
    decimation: usize,
    filter_taps: usize,
    /// Channels of the plan, and taps.
    channels: usize,
    taps: usize,
    inner_half: bool,
    spectra: usize,
    /// Whether the centre moves, twice.
    retuned: bool,
    precision: Precision,
    /// Format, inputs, first sample, frames, delays, missing samples and gap.
    case: Case,
}

type Streamed<Q> = Channelized<Frames<Heaps<Q>>>;

pub(crate) fn validate(session: &mut Session) -> Result<(), End> {
    if !session.wants(NAME) {
        return Ok(());
    }
    for narrow in cases(session.quick) {
        let sizes = params([
            ("decimation", narrow.decimation),
            ("taps", narrow.filter_taps),
            ("channels", narrow.channels),
            ("inputs", narrow.inputs()),
        ]);
        let mode = if narrow.inner_half { "inner half" } else { "all kept" };
        let retuned = if narrow.retuned { ", retuned" } else { "" };
        let precision = if narrow.precision == Precision::Half { ", half precision" } else { "" };
        session.case_within(NAME, format!("{mode}, {}{retuned}{precision}", narrow.case.format), sizes, |session| {
            let (largest, at_ties, time_ms) = run(session, &narrow)?;
            let outcome = Outcome {
                time_ms,
                value: (narrow.length() * narrow.inputs()) as f64 / time_ms / 1e3,
                unit: "Msamples/s",
                against: "the CPU backend: floats, integers but at ties, flags, statistics; chunks on the device, rows, other chunks",
                verdict: Ok(()),
            };
            Ok((outcome, format!("floats {largest:.2} of the bound, {at_ties} integers at ties")))
        })?;
    }
    Ok(())
}

fn cases(quick: bool) -> Vec<Narrow> {
    let formats = [
        packed(10),
        typed(SampleFormat::Int8, false),
        typed(SampleFormat::Int16, false),
        typed(SampleFormat::Float32, true),
        packed(12),
    ];
    // Decimation, taps of the filter, channels, taps of the bank.
    let sizes = [
        (8, 128, 64, 4),
        (5, 160, 60, 16),
        (16, 256, 1024, 16),
        (17, 96, 96, 5),
        (8, 128, 8192, 16),
        (8, 128, 512, 16),
    ];
    let mut cases = Vec::new();
    for (number, &(decimation, filter_taps, channels, taps)) in sizes.iter().enumerate() {
        if quick && [2, 3, 4].contains(&number) {
            continue;
        }
        for (turn, &format) in formats.iter().enumerate() {
            let delays = vec![[3.3, 0.4 / (decimation * channels) as f64, 0.1, 1e-5], [-57.9, 0.0, -0.3, 0.0]];
            let stride = decimation * channels;
            let case = Case {
                spectra_per_frame: 64,
                first: [0, 999_999_999_999_989, 12_345][turn % 3],
                delays: if turn % 2 == 1 { delays } else { Vec::new() },
                block: (turn == 2).then_some(stride / 2 + 77),
                gap: if turn == 3 { 5 * stride + 11 } else { 0 },
                dither: Some(SEED),
                ..Case::new(channels, format, taps)
            };
            let spectra = if channels > 1000 { 70 } else { 150 };
            let inner_half = turn % 2 == 0;
            let (retuned, precision) = (false, Precision::Single);
            let narrow =
                Narrow { decimation, filter_taps, channels, taps, inner_half, spectra, retuned, precision, case };
            // Where the second stage has such kernels.
            if channels.is_power_of_two() && channels >= 256 {
                cases.push(Narrow { precision: Precision::Half, ..narrow.clone() });
            }
            // One of each kind: plain, with delays, with missing samples, with a gap.
            if turn < 4 && channels < 1000 {
                cases.push(Narrow { retuned: true, ..narrow.clone() });
            }
            cases.push(narrow);
        }
    }
    cases
}

impl Narrow {
    fn inputs(&self) -> usize {
        self.case.inputs.0 * self.case.inputs.1
    }

    /// ADC samples of an input: an odd number beyond the last window.
    fn length(&self) -> usize {
        let stride = self.decimation * self.channels;
        // The first frame may begin a frame later.
        (self.spectra + self.case.spectra_per_frame + self.taps) * stride + self.filter_taps + self.case.gap + 101
    }

    /// Lopsided, with a sum near 1.
    fn filter(&self) -> Vec<f64> {
        let taps = self.filter_taps as f64;
        let tap = |k: usize| {
            let x = (k as f64 + 0.3) / taps;
            (std::f64::consts::PI * x).sin().powi(2) * (1.0 + 0.5 * x) / (0.6 * taps)
        };
        (0..self.filter_taps).map(tap).collect()
    }

    /// Rms of errors in half precision, in parts of the values'.
    fn errors(&self) -> f64 {
        // Of the weights of the down-converter, and of what it gives.
        half::error(self.channels, 2)
    }

    fn plan(&self) -> Result<Channelizer, Fault> {
        Ok(Channelizer::complex(self.channels).taps(self.taps).build()?)
    }

    /// One gain: parts of white noise come out with a standard deviation of 20.
    fn gain(&self) -> f32 {
        let power: f64 = self.filter().iter().map(|tap| tap * tap).sum();
        let samples = self.case.half() / 3.0 * self.case.parts().sqrt();
        (20.0 * 2f64.sqrt() / (samples * power.sqrt())) as f32
    }

    fn builder(&self) -> Result<NarrowbandFEngineBuilder, Fault> {
        let down_converter = DownConverter::new(CENTRE, self.decimation, self.filter())?;
        let builder = NarrowbandFEngineBuilder::new(down_converter, self.plan()?, self.case.inputs()?)
            .spectra_per_frame(self.case.spectra_per_frame)
            .gains(Gains::uniform(self.gain())?)
            .precision(self.precision)
            .dither(SEED);
        let builder = if self.inner_half { builder.outer_half_discarded() } else { builder };
        Ok(if self.case.delays.is_empty() { builder } else { builder.delays(self.models()?) })
    }

    fn models(&self) -> Result<Vec<DelayModel>, Fault> {
        self.case.models()
    }

    /// Random samples of the format, `[input][time]`.
    fn samples(&self) -> Array2<Complex<f32>> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64((self.channels * 64 + self.decimation) as u64);
        let (half, complex, integers) =
            (self.case.half(), self.case.format.is_complex(), self.case.format.codes().is_some());
        let mut part = || {
            let sum: f64 = (0..6).map(|_| random.random::<f64>()).sum::<f64>() - 3.0;
            let value = sum * half / 3.0 * 2f64.sqrt();
            if integers { value.round().clamp(-half, half - 1.0) as f32 } else { value as f32 }
        };
        let shape = (self.inputs(), self.length());
        Array2::from_shape_simple_fn(shape, || Complex::new(part(), if complex { part() } else { 0.0 }))
    }

    /// Ends of chunks of the given lengths, repeated, with the gap after the one that passes the middle.
    fn cuts(&self, lengths: &[usize]) -> Vec<(usize, usize)> {
        let (mut cuts, mut from, mut gap) = (Vec::new(), 0, self.case.gap);
        let whole = |length: usize| self.case.block.map_or(length, |block| length.next_multiple_of(block));
        for &length in lengths.iter().cycle() {
            let to = (from + whole(length)).min(self.length());
            cuts.push((from, to));
            from = to;
            if from >= self.length() / 2 {
                (from, gap) = (from + whole(gap), 0);
            }
            if from >= self.length() {
                break;
            }
        }
        cuts
    }

    /// Moves the centre at the second frame and the third, if that is wanted.
    fn retune<Q: FrameSample, L: FrameLayout>(&self, engine: &mut NarrowbandFEngine<Q, L>) -> Result<(), Fault> {
        let frame = engine.stride() * self.case.spectra_per_frame as u64;
        let first = self.case.first.next_multiple_of(frame);
        for (number, centre) in [(1, 0.3), (2, -0.25)].into_iter().filter(|_| self.retuned) {
            engine.retune(first + number * frame, centre)?;
        }
        Ok(())
    }

    /// All frames of chunks on the host, and of a flush.
    fn streamed<Q: FrameSample>(
        &self,
        backend: &Backend,
        samples: &Array2<Complex<f32>>,
        cuts: &[(usize, usize)],
    ) -> Result<Streamed<Q>, Fault> {
        let mut engine: NarrowbandFEngine<Q> = self.builder()?.build(backend)?;
        let on_gpu = backend.device().is_some();
        if engine.stream().is_some() != on_gpu {
            return Err("runs elsewhere".into());
        }
        self.retune(&mut engine)?;
        let mut frames = Vec::new();
        let mut statistics = vec![InputStatistics::default(); self.inputs()];
        for &(from, to) in cuts {
            let channelized = engine.push(&*self.case.chunk(samples, from, to)?)?;
            frames.extend(channelized.frames);
            for (sum, one) in statistics.iter_mut().zip(channelized.statistics) {
                sum.samples += one.samples;
                sum.clipped += one.clipped;
                sum.sum_of_squares += one.sum_of_squares;
            }
        }
        frames.extend(engine.flush()?);
        let expected = if on_gpu { self.precision } else { Precision::Single };
        if engine.precision() != Some(expected) {
            return Err(format!("computed in {:?}, not in {expected:?}", engine.precision()).into());
        }
        Ok(Channelized { frames, statistics })
    }

    /// What a value may be off by: 2e-5 and 1e-5 of full scale, and f32's own rounding of a value. In half precision
    /// five times the rms of errors, of the strongest channel's rms: the filter's band has most of the power.
    fn bound(&self, expected: &Streamed<Complex<f32>>) -> Result<f64, Fault> {
        if self.precision == Precision::Half {
            let strongest = powers(expected).into_iter().fold(0.0, f64::max).sqrt();
            return Ok(half::LARGEST * self.errors() * strongest);
        }
        let sum = |values: &[f64]| values.iter().map(|value| value.abs()).sum::<f64>();
        let full_scale =
            self.case.half() * self.case.parts().sqrt() * sum(&self.filter()) * sum(self.plan()?.weights());
        Ok(3e-5 * f64::from(self.gain()) * full_scale)
    }
}

/// Mean powers of channels, of values that are there.
fn powers(of: &Streamed<Complex<f32>>) -> Vec<f64> {
    let mut sums = Vec::new();
    for frames in &of.frames {
        let data = frames.voltages.data();
        sums.resize(data.dim().2, (0.0, 0usize));
        for ((_, _, channel, _, _), &value) in data.indexed_iter() {
            let power = wide(value).norm_sqr();
            if power > 0.0 {
                sums[channel].0 += power;
                sums[channel].1 += 1;
            }
        }
    }
    sums.into_iter().map(|(sum, count)| sum / count.max(1) as f64).collect()
}

/// Gives the largest error of floats over its bound, integers at ties, and the time of the stream of floats.
fn run(session: &Session, narrow: &Narrow) -> Result<(f64, usize, f64), Fault> {
    let (cpu, gpu) = (Backend::cpu(), Backend::on(session.device.clone()));
    let (samples, length) = (narrow.samples(), narrow.length());
    let cuts = narrow.cuts(&[length / 3 + 1, 17, length / 7 + 5, length / 40 + 3]);
    let integers = narrow.case.format.codes().is_some();
    let expected = narrow.streamed::<Complex<f32>>(&cpu, &samples, &cuts)?;
    if expected.frames.iter().map(|frames| frames.frames()).sum::<usize>() < 2 {
        return Err("a case has frames".into());
    }
    let start = Instant::now();
    let found = narrow.streamed::<Complex<f32>>(&gpu, &samples, &cuts)?;
    let time_ms = start.elapsed().as_secs_f64() * 1e3;
    check::axes(&expected, &found, integers)?;
    let largest = floats(narrow, &expected, &found)?;

    let of_integers = narrow.streamed::<Complex<i8>>(&gpu, &samples, &cuts)?;
    check::axes(&expected, &of_integers, integers)?;
    let at_ties = rounded(narrow, &expected, &of_integers)?;
    on_device(session, narrow, &samples, &cuts, &of_integers)?;
    if narrow.case.gap == 0 && !narrow.retuned {
        let (whole, parts) = (narrow.cuts(&[length]), joined(found)?);
        check::same(&narrow.case, &joined(narrow.streamed::<Complex<f32>>(&gpu, &samples, &whole)?)?, &parts)?;
        let parts = joined(of_integers)?;
        check::same(&narrow.case, &joined(narrow.streamed::<Complex<i8>>(&gpu, &samples, &whole)?)?, &parts)?;
    }
    Ok((largest, at_ties, time_ms))
}

fn wide(value: Complex<f32>) -> C64 {
    C64::new(value.re.into(), value.im.into())
}

/// Largest error of floats over its bound.
fn floats(
    narrow: &Narrow,
    expected_of_all: &Streamed<Complex<f32>>,
    found: &Streamed<Complex<f32>>,
) -> Result<f64, Fault> {
    let (bound, mut largest) = (narrow.bound(expected_of_all)?, 0f64);
    let (mut squares, mut count) = (0.0, 0usize);
    for (expected, found) in expected_of_all.frames.iter().zip(&found.frames) {
        let stamp = expected.first_stamp();
        for ((place, &expected), &found) in expected.voltages.data().indexed_iter().zip(found.voltages.data()) {
            let error = (wide(expected) - wide(found)).norm();
            squares += error * error;
            count += usize::from(expected.norm_sqr() > 0.0);
            let error = error / bound;
            if error.is_nan() || error > 1.0 {
                let what = format!("frames from {stamp} on, value {place:?}");
                return Err(format!("{what}: expected {expected}, got {found}, {error:.2} of the bound").into());
            }
            largest = largest.max(error);
        }
    }
    let powers = powers(expected_of_all);
    let rms = (powers.iter().sum::<f64>() / powers.len().max(1) as f64).sqrt();
    let (errors, allowed) = ((squares / count.max(1) as f64).sqrt() / rms, narrow.errors());
    if narrow.precision == Precision::Half && errors > allowed {
        return Err(format!("errors of {errors:.2e} of the values' rms, allowed are {allowed:.2e}").into());
    }
    Ok(largest)
}

/// Integers are those of floats with dither, but at ties: how many were at one.
fn rounded(narrow: &Narrow, floats: &Streamed<Complex<f32>>, found: &Streamed<Complex<i8>>) -> Result<usize, Fault> {
    let (bound, mut at_ties) = (narrow.bound(floats)? + 2f64.powi(-13), 0);
    let pols = narrow.case.inputs.1;
    for (expected, found) in floats.frames.iter().zip(&found.frames) {
        let kept = if narrow.inner_half { narrow.channels / 2 } else { narrow.channels };
        let first_channel = narrow.channels / 2 - kept / 2;
        let clock = expected.voltages.clock();
        let data = expected.voltages.data();
        for (((frame, antenna, channel, spectrum, pol), &value), found) in
            data.indexed_iter().zip(found.voltages.data())
        {
            let (time, input) = (frame * narrow.case.spectra_per_frame + spectrum, antenna * pols + pol);
            let mut value = wide(value);
            if expected.spectra_present[(time, input)] {
                let number = clock.sample_of(time) / clock.samples_between_spectra;
                value += dither(SEED, number, input as u32, (first_channel + channel) as u32);
            }
            for (exact, found) in [(value.re, found.re), (value.im, found.im)] {
                let apart = (f64::from(found) - quantise_value(exact, 127.0)).abs();
                let tie = (exact.clamp(-127.0, 127.0).fract().abs() - 0.5).abs() < bound;
                if apart > 0.0 && !(tie && apart == 1.0) {
                    let what = format!("spectrum {time}, channel {channel}, input {input}");
                    return Err(format!("{what}: expected {exact} rounded, got {found}").into());
                }
                at_ties += usize::from(apart > 0.0);
            }
        }
    }
    Ok(at_ties)
}

/// Chunks on the device give the frames of those on the host, in heaps and in rows.
fn on_device(
    session: &Session,
    narrow: &Narrow,
    samples: &Array2<Complex<f32>>,
    cuts: &[(usize, usize)],
    expected: &Streamed<Complex<i8>>,
) -> Result<(), Fault> {
    let (gpu, stream) = (Backend::on(session.device.clone()), &session.stream);
    let mut heaps = narrow.builder()?.build::<Complex<i8>>(&gpu)?.on(stream)?.with_statistics();
    let mut rows = narrow.builder()?.build_rows::<Complex<i8>>(&gpu)?.on(stream)?;
    narrow.retune(&mut heaps)?;
    narrow.retune(&mut rows)?;
    let (mut heap_frames, mut row_frames, mut statistics) = (Vec::new(), Vec::new(), Vec::new());
    for &(from, to) in cuts {
        let chunk = Uploader::new(stream).samples(&*narrow.case.chunk(samples, from, to)?)?;
        let channelized = heaps.push(&chunk)?;
        heap_frames.extend(channelized.frames);
        statistics.extend(channelized.statistics);
        row_frames.extend(rows.push(&chunk)?.frames);
        let need = heaps.memory(to - from, narrow.case.format).workspace_bytes;
        if heaps.held_bytes() > need {
            return Err(format!("{} bytes are held, {need} were said", heaps.held_bytes()).into());
        }
    }
    heap_frames.extend(heaps.flush_on_device()?);
    row_frames.extend(rows.flush_on_device()?);
    let found: Result<Vec<Frames<Heaps<_>>>, _> = heap_frames.iter().map(|frames| frames.to_host()).collect();
    let found = found?;
    if found != expected.frames {
        return Err("frames of chunks on the device differ".into());
    }
    if statistics.len() != cuts.len() || summed(&statistics)? != expected.statistics {
        return Err("statistics of samples on the device differ".into());
    }
    let as_rows: Result<Vec<Frames<Rows<_>>>, _> = row_frames.iter().map(|frames| frames.to_host()).collect();
    let same = |(rows, heaps): (&Frames<Rows<_>>, &Frames<Heaps<_>>)| {
        let (a, b) = (rows.voltages.to_voltages(), heaps.voltages.to_voltages());
        a.data() == b.data()
            && (a.clock(), a.frequencies()) == (b.clock(), b.frequencies())
            && (&rows.spectra_present, &rows.saturated) == (&heaps.spectra_present, &heaps.saturated)
    };
    let as_rows = as_rows?;
    if as_rows.len() != found.len() || !as_rows.iter().zip(&found).all(same) {
        return Err("rows differ from heaps".into());
    }
    let format: ChunkFormat = narrow.case.format;
    if narrow.builder()?.build::<Complex<i8>>(&gpu.with_memory_limit(1)).is_ok() {
        return Err(format!("a limit of one byte was not refused, {format}").into());
    }
    Ok(())
}
