//! The F-engine: packed samples to quantised channels.

use fringes::channelizer::internals::shape::SPECTRA;
use fringes::channelizer::internals::{FrameFormat, Job, JobTable, SpectraLaunch, TwoPassKernels};
use fringes::f16;
use fringes::{Channelizer, ChunkFormat};
use fringes_gpu::{Buffer, Stream};
use fringes_reference::delay::{rotate, split};
use fringes_reference::dft::root_of_unity;
use fringes_reference::dither::dither;
use fringes_reference::f_engine::FEngine;
use fringes_reference::pfb::pfb_fir;
use ndarray::Array2;
use num_complex::Complex64;

use crate::bench::ceilings::Ceilings;
use crate::bench::jobs;
use crate::bench::random::Source;
use crate::bench::timing::{Bench, Measured};
use crate::end::End;
use crate::gpu_report::params;

/// Samples of an input.
const SAMPLES: usize = 1 << 26;
/// Inputs: both polarisations of an antenna.
pub(crate) const INPUTS: usize = 2;
/// Bits of a sample.
const BITS: u32 = 10;
/// Spectra of a frame.
pub(crate) const FRAME: usize = 256;
/// Spectra of a row of the correlator.
pub(crate) const ROW: usize = 64;
/// Key of the dither.
pub(crate) const SEED: u64 = 20261122;
/// Delays of the inputs, some odd samples, and their phases in turns.
pub(crate) const DELAYS: [(f64, f64); INPUTS] = [(-37.3, 0.11), (-21.6, -0.23)];

pub(crate) fn run(bench: &mut Bench, ceilings: &Ceilings) -> Result<(), End> {
    if !bench.wants("channelize") || !bench.fits("packed samples", 1 << 30)? {
        return Ok(());
    }
    let stream = bench.stream.clone();
    let bytes = INPUTS * (SAMPLES * BITS as usize / 8 + 64);
    let samples = Source::bytes(&stream)?.buffer(&bench.device, &stream, bytes)?;
    let host: Vec<u8> = samples.to_vec(&stream)?;
    let data = Data { samples, host };
    data.check_reference()?;
    for channels in (8..=15).map(|power| 1 << power) {
        let case = Case { channels, taps: 16, format: FrameFormat::Int8, dither: true, rows: false };
        data.run(bench, ceilings, case)?;
        data.run(bench, ceilings, Case { rows: true, ..case })?;
        data.run(bench, ceilings, Case { dither: false, ..case })?;
        data.run(bench, ceilings, Case { format: FrameFormat::Float32, dither: false, ..case })?;
        if [4096, 32768].contains(&channels) {
            data.run(bench, ceilings, Case { format: FrameFormat::Int4, ..case })?;
            data.run(bench, ceilings, Case { format: FrameFormat::Float16, dither: false, ..case })?;
            data.run(bench, ceilings, Case { taps: 4, ..case })?;
            data.run(bench, ceilings, Case { taps: 32, ..case })?;
        }
    }
    Ok(())
}

/// What is timed.
#[derive(Clone, Copy)]
struct Case {
    channels: usize,
    taps: usize,
    format: FrameFormat,
    dither: bool,
    /// Whether values are in the correlator's rows, and not in frames.
    rows: bool,
}

impl Case {
    fn plan(&self) -> Result<Channelizer, End> {
        Channelizer::real(self.channels).taps(self.taps).build().map_err(End::failed)
    }

    /// Bytes of a value.
    fn bytes(&self) -> usize {
        match self.format {
            FrameFormat::Int4 => 1,
            FrameFormat::Int8 => 2,
            FrameFormat::Float16 => 4,
            FrameFormat::Float32 => 8,
        }
    }

    /// The largest magnitude of a part, of integers.
    fn limit(&self) -> Option<f64> {
        match self.format {
            FrameFormat::Int4 => Some(7.0),
            FrameFormat::Int8 => Some(127.0),
            FrameFormat::Float16 | FrameFormat::Float32 => None,
        }
    }

    /// The gain that brings noise of 10 bits to about a sixth of the limit.
    fn gain(&self, input: usize, channel: usize) -> Complex64 {
        let scale = self.limit().unwrap_or(127.0) / 127.0;
        Complex64::from_polar(scale * (0.07 + 0.01 * (channel % 7) as f64), (channel % 11 + input) as f64)
    }

    /// The parts of a value.
    fn parts(&self, bytes: &[u8]) -> [f64; 2] {
        let half = |at: usize| f16::from_le_bytes([bytes[at], bytes[at + 1]]).to_f64();
        let float = |at: usize| f64::from(f32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]));
        match self.format {
            FrameFormat::Int4 => [bytes[0] as i8 >> 4, (bytes[0] << 4) as i8 >> 4].map(f64::from),
            FrameFormat::Int8 => [bytes[0] as i8, bytes[1] as i8].map(f64::from),
            FrameFormat::Float16 => [half(0), half(2)],
            FrameFormat::Float32 => [float(0), float(4)],
        }
    }

    fn name(&self) -> String {
        let format = match self.format {
            FrameFormat::Int4 => "4",
            FrameFormat::Int8 => "8",
            FrameFormat::Float16 => "f16",
            FrameFormat::Float32 => "f32",
        };
        let rows = if self.rows { ", rows" } else { "" };
        format!("{BITS} bits to {format}{}, {} taps{rows}", if self.dither { ", dither" } else { "" }, self.taps)
    }

    /// A spectrum of an input as the reference has it (channels, rotation, gain, dither), with a transform by halves in
    /// place of the sums over all samples.
    fn expected(&self, plan: &Channelizer, x: &[f64], stamp: u64, delay: (f64, f64), input: usize) -> Vec<Complex64> {
        let filtered: Vec<_> = pfb_fir(x, plan.weights(), plan.step(), 0, 1).iter().map(|&z| z.into()).collect();
        let mut spectrum = transform(&filtered);
        spectrum.truncate(self.channels);
        let (coarse, fine) = split(delay.0);
        // The stamp is a multiple of the step, and turns no channel.
        rotate(&mut spectrum, coarse, fine, delay.1, false);
        let number = stamp / plan.step() as u64;
        let value = |(channel, x): (usize, Complex64)| {
            let dither = if self.dither { dither(SEED, number, input as u32, channel as u32) } else { 0.0.into() };
            x * self.gain(input, channel) + dither
        };
        spectrum.into_iter().enumerate().map(value).collect()
    }
}

/// `sum_n x[n] exp(-2 pi i k n / N)` of a power of two of points, by halves.
fn transform(x: &[Complex64]) -> Vec<Complex64> {
    let points = x.len();
    if points == 1 {
        return x.to_vec();
    }
    let half = |first: usize| transform(&x.iter().skip(first).step_by(2).copied().collect::<Vec<_>>());
    let (even, odd) = (half(0), half(1));
    let turned = |k: usize| odd[k % odd.len()] * root_of_unity(k as u64, points as u64).conj();
    (0..points).map(|k| even[k % even.len()] + turned(k)).collect()
}

struct Data {
    samples: Buffer<u8>,
    host: Vec<u8>,
}

/// 2^64 as turns.
pub(crate) fn fixed(turns: f64) -> u64 {
    ((turns - turns.floor()) * 2f64.powi(64)) as u64
}

impl Data {
    /// Bytes of an input.
    fn row(&self) -> usize {
        self.host.len() / INPUTS
    }

    /// The samples of an input.
    fn decoded(&self, input: usize, first: usize, count: usize) -> Vec<f64> {
        let row = &self.host[input * self.row()..][..self.row()];
        let sample = |index: usize| {
            let bit = index * BITS as usize;
            let window = u32::from_be_bytes([row[bit / 8], row[bit / 8 + 1], row[bit / 8 + 2], 0]) << (bit % 8);
            f64::from(window as i32 >> (32 - BITS))
        };
        (first..first + count).map(sample).collect()
    }

    /// Compares what outputs are compared with, of few channels, with the reference itself.
    fn check_reference(&self) -> Result<(), End> {
        let case = Case { channels: 256, taps: 4, format: FrameFormat::Int8, dither: true, rows: false };
        let plan = case.plan()?;
        let gains = Array2::from_shape_fn((256, INPUTS), |(channel, input)| case.gain(input, channel));
        let reference = FEngine {
            weights: plan.weights(),
            channels: 256,
            complex: false,
            stride: plan.stride(),
            pols: INPUTS,
            spectra_per_frame: FRAME,
            range: 0..256,
            gains: gains.view(),
            dither: Some(SEED),
            limit: case.limit(),
        };
        let x = self.decoded(1, 999, plan.window_samples());
        let complex: Vec<Complex64> = x.iter().map(|&x| x.into()).collect();
        let (stamp, delay) = (17 * plan.step() as u64, DELAYS[1]);
        let expected = reference.spectrum(&complex, 0, stamp, delay, 1);
        let actual = case.expected(&plan, &x, stamp, delay, 1);
        let worst = expected.iter().zip(&actual).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
        // Sums of 512 products of up to 512 in f64.
        if expected.len() == actual.len() && worst < 1e-6 {
            Ok(())
        } else {
            Err(End::failed(format!("a transform by halves is off the reference's by {worst:.2e}")))
        }
    }

    fn run(&self, bench: &mut Bench, ceilings: &Ceilings, case: Case) -> Result<(), End> {
        let stream = bench.stream.clone();
        let (plan, channels) = (case.plan()?, case.channels);
        let gain = |input, channel| case.gain(input, channel);
        let kernel =
            TwoPassKernels::load(&bench.device, &plan, ChunkFormat::Packed { bits: BITS }, case.format, INPUTS, gain)
                .map_err(End::failed)?;
        let step = plan.step();
        let delays = jobs::delays()?;
        let spectra = ((SAMPLES - 64) / step + 1 - case.taps) / FRAME * FRAME;
        let mut all = Vec::new();
        for first in (0..spectra).step_by(SPECTRA) {
            for (input, delay) in delays.iter().enumerate() {
                let start = first * step + delay.coarse.unsigned_abs() as usize;
                all.push(Job {
                    first_bit: (input * self.row()) as u64 * 8 + (start * BITS as usize) as u64,
                    place: if case.rows { ((first / ROW * INPUTS + input) * ROW) as u64 } else { input as u64 },
                    phase: fixed(delay.channel_phase_turns(0, channels, false)),
                    phase_rate: 0,
                    slope: fixed(-delay.fine / step as f64),
                    slope_rate: 0,
                    spectrum: first as u64,
                    spectra: SPECTRA.min(spectra - first) as u32,
                    time: if case.rows { first % ROW } else { first } as u32,
                    input: input as u32,
                    count: input as u32,
                    flags: 0,
                });
            }
        }
        let table = jobs::table(&stream, &all)?;
        let place = if case.rows { jobs::rows(channels, spectra) } else { jobs::frames(channels) };
        let count = channels * spectra * INPUTS;
        let mut out = Buffer::<u8>::zeroed(&stream, count * case.bytes())?;
        let mut saturated = Buffer::<u32>::zeroed(&stream, INPUTS)?;
        let seed = case.dither.then_some(SEED);
        let mut launch = |out: &mut Buffer<u8>| {
            let samples = self.samples.view().cast::<u32>()?;
            let (out, saturated) = (out.view_mut(), saturated.view_mut());
            let jobs = (JobTable { words: table.view(), count: all.len(), after: None }, place);
            match case.format {
                FrameFormat::Int4 => {
                    kernel.launch(&stream, SpectraLaunch::of_chunk(samples, jobs, seed, (out, saturated))?)
                }
                FrameFormat::Int8 => {
                    let out = (out.cast::<u16>()?, saturated);
                    kernel.launch(&stream, SpectraLaunch::of_chunk(samples, jobs, seed, out)?)
                }
                FrameFormat::Float16 => {
                    let out = (out.cast::<u32>()?, saturated);
                    kernel.launch(&stream, SpectraLaunch::of_chunk(samples, jobs, seed, out)?)
                }
                FrameFormat::Float32 => {
                    let out = (out.cast::<[f32; 2]>()?, saturated);
                    kernel.launch(&stream, SpectraLaunch::of_chunk(samples, jobs, seed, out)?)
                }
            }
        };
        launch(&mut out).map_err(End::failed)?;
        let check = self.check(&stream, &plan, case, &out, spectra)?;
        let timing = bench.time(|_| launch(&mut out)).map_err(End::failed)?;
        let work = (spectra * step * INPUTS) as f64;
        let moved = work * f64::from(BITS) / 8.0 + (count * case.bytes()) as f64;
        bench.add(Measured {
            kernel: "channelize",
            variant: case.name(),
            params: params([("channels", channels), ("spectra", spectra), ("inputs", INPUTS)]),
            timing,
            work,
            unit: "Gsamples/s",
            bound: Some(ceilings.bytes(moved)),
            check,
        });
        Ok(())
    }

    /// Compares one spectrum of each input with what it should be.
    fn check(
        &self,
        stream: &Stream,
        plan: &Channelizer,
        case: Case,
        out: &Buffer<u8>,
        spectra: usize,
    ) -> Result<String, End> {
        let channels = plan.channels();
        let bytes: Vec<u8> = out.to_vec(stream)?;
        let (mut worst, mut ties) = (0.0f64, 0);
        let wrong = |spectrum: usize, channel: usize, input: usize, what: String| {
            let name = case.name();
            End::failed(format!(
                "{channels} channels, {name}: spectrum {spectrum}, channel {channel}, input {input}: {what}"
            ))
        };
        for (input, &(delay, phase)) in DELAYS.iter().enumerate() {
            let s = if input == 0 { spectra - 1 } else { spectra / 2 + 3 };
            let stamp = s * plan.step();
            let start = stamp + (-delay).round() as usize;
            let x = self.decoded(input, start, plan.window_samples());
            let expected = case.expected(plan, &x, stamp as u64, (delay, phase), input);
            for (channel, value) in expected.iter().enumerate() {
                let at = if case.rows {
                    ((channel * (spectra / ROW) + s / ROW) * INPUTS + input) * ROW + s % ROW
                } else {
                    ((s / FRAME * channels + channel) * FRAME + s % FRAME) * INPUTS + input
                };
                let parts = case.parts(&bytes[case.bytes() * at..]);
                let Some(limit) = case.limit() else {
                    let error = (Complex64::new(parts[0], parts[1]) - value).norm();
                    // 1e-5 of the samples' full scale, and the rounding of a value.
                    let bound = 1e-5 * f64::from(1 << (BITS - 1)) * case.gain(input, channel).norm();
                    let rounding = if case.format == FrameFormat::Float16 { 2f64.powi(-11) } else { 0.0 };
                    worst = worst.max(error);
                    if error.is_nan() || error > bound + rounding * value.norm() {
                        return Err(wrong(s, channel, input, format!("{parts:?} for {value}")));
                    }
                    continue;
                };
                for (part, actual) in [value.re, value.im].into_iter().zip(parts) {
                    let part = part.clamp(-limit, limit);
                    if ((part - part.floor()) - 0.5).abs() < 5e-3 {
                        ties += 1;
                    } else if actual != part.round_ties_even() {
                        return Err(wrong(s, channel, input, format!("{actual} for {part}")));
                    }
                }
            }
        }
        Ok(if case.limit().is_some() {
            format!("2 spectra against the reference: equal but for {ties} within 0.005 of a tie")
        } else {
            format!("2 spectra against the reference: largest error {worst:.2e}")
        })
    }
}
