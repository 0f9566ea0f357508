//! The F-engine: packed samples to quantised channels in one pass.

use fringes::Channelizer;
use fringes::channelizer::gpu::{DeviceChannelizer, FrameFormat, Job, JobTable, Place};
use fringes::delay::{DelayModel, DelaySegment};
use fringes_gpu::{Buffer, Stream};
use fringes_reference::f_engine::FEngine;
use ndarray::Array2;
use num_complex::Complex64;

use crate::bench::{Bench, Measured};
use crate::ceilings::Ceilings;
use crate::gpu_report::{End, params};
use crate::random::Source;

/// Samples of an input.
const SAMPLES: usize = 1 << 26;
/// Inputs: both polarisations of an antenna.
const INPUTS: usize = 2;
/// Bits of a sample.
const BITS: u32 = 10;
/// Spectra of a frame.
const FRAME: usize = 256;
/// Key of the dither.
const SEED: u64 = 20261122;

pub(crate) fn run(bench: &mut Bench, ceilings: &Ceilings) -> Result<(), End> {
    if !bench.wants("channelize") || !bench.fits("packed samples", 1 << 30)? {
        return Ok(());
    }
    let stream = bench.stream.clone();
    let bytes = INPUTS * (SAMPLES * BITS as usize / 8 + 64);
    let samples = Source::bytes(&stream)?.buffer(&bench.device, &stream, bytes)?;
    let host: Vec<u8> = samples.to_vec(&stream)?;
    let case = Data { samples, host };
    for channels in [256, 512, 1024, 2048, 4096] {
        case.run(bench, ceilings, channels, 16, FrameFormat::Int8, true)?;
        case.run(bench, ceilings, channels, 16, FrameFormat::Int8, false)?;
        case.run(bench, ceilings, channels, 16, FrameFormat::Float32, false)?;
        case.run(bench, ceilings, channels, 4, FrameFormat::Int8, true)?;
        case.run(bench, ceilings, channels, 8, FrameFormat::Int8, true)?;
    }
    Ok(())
}

struct Data {
    samples: Buffer<u8>,
    host: Vec<u8>,
}

/// The gain that brings noise of 10 bits to about 20 of 127.
fn gain(input: usize, channel: usize) -> Complex64 {
    Complex64::from_polar(0.07 + 0.01 * (channel % 7) as f64, (channel % 11 + input) as f64)
}

/// 2^64 as turns.
fn fixed(turns: f64) -> u64 {
    ((turns - turns.floor()) * 2f64.powi(64)) as u64
}

impl Data {
    /// Bytes of an input.
    fn row(&self) -> usize {
        self.host.len() / INPUTS
    }

    /// The samples of an input.
    fn decoded(&self, input: usize, first: usize, count: usize) -> Vec<Complex64> {
        let row = &self.host[input * self.row()..][..self.row()];
        let sample = |index: usize| {
            let bit = index * BITS as usize;
            let window = u32::from_be_bytes([row[bit / 8], row[bit / 8 + 1], row[bit / 8 + 2], 0]) << (bit % 8);
            Complex64::new(f64::from(window as i32 >> (32 - BITS)), 0.0)
        };
        (first..first + count).map(sample).collect()
    }

    fn run(
        &self,
        bench: &mut Bench,
        ceilings: &Ceilings,
        channels: usize,
        taps: usize,
        format: FrameFormat,
        dither: bool,
    ) -> Result<(), End> {
        let stream = bench.stream.clone();
        let plan = Channelizer::real(channels).taps(taps).build().map_err(End::failed)?;
        let kernel = DeviceChannelizer::load(&bench.device, &plan, BITS, format, INPUTS, gain).map_err(End::failed)?;
        let step = plan.step();
        // Inputs have delays of some odd samples.
        let delays = [(-37.3, 0.11), (-21.6, -0.23)];
        let values: Vec<_> = delays
            .iter()
            .map(|&(delay, phase)| {
                let segment = DelaySegment::new(0, vec![delay]).with_phase(phase, 0.0);
                DelayModel::from_segment(segment).map(|model| model.evaluate(0))
            })
            .collect::<Result<_, _>>()
            .map_err(End::failed)?;
        let spectra = ((SAMPLES - 64) / step + 1 - taps) / FRAME * FRAME;
        let mut jobs = Vec::new();
        for first in (0..spectra).step_by(kernel.spectra_of_job()) {
            for (input, delay) in values.iter().enumerate() {
                let start = first * step + delay.coarse.unsigned_abs() as usize;
                jobs.push(Job {
                    first_bit: (input * self.row()) as u64 * 8 + (start * BITS as usize) as u64,
                    place: input as u64,
                    phase: fixed(delay.channel_phase_turns(0, channels, false)),
                    phase_rate: 0,
                    slope: fixed(-delay.fine / step as f64),
                    slope_rate: 0,
                    spectrum: first as u64,
                    spectra: kernel.spectra_of_job().min(spectra - first) as u32,
                    time: first as u32,
                    input: input as u32,
                    count: input as u32,
                });
            }
        }
        let words: Vec<[u32; 4]> = jobs
            .iter()
            .flat_map(Job::words)
            .collect::<Vec<_>>()
            .chunks_exact(4)
            .map(|words| [words[0], words[1], words[2], words[3]])
            .collect();
        let table = Buffer::from_slice(&stream, &words)?;
        let place = Place {
            first_channel: 0,
            channels: channels as u32,
            channel_stride: (FRAME * INPUTS) as u64,
            period: FRAME as u32,
            period_stride: (channels * FRAME * INPUTS) as u64,
            time_stride: INPUTS as u32,
        };
        let count = channels * spectra * INPUTS;
        let bytes = if format == FrameFormat::Int8 { 2 } else { 8 };
        let mut out = Buffer::<u8>::zeroed(&stream, count * bytes)?;
        let mut saturated = Buffer::<u32>::zeroed(&stream, INPUTS)?;
        let seed = dither.then_some(SEED);
        let mut launch = |out: &mut Buffer<u8>| {
            let samples = self.samples.view().cast::<u32>()?;
            let (out, saturated) = (out.view_mut(), saturated.view_mut());
            let jobs = JobTable { words: table.view(), count: jobs.len() };
            if format == FrameFormat::Int8 {
                kernel.launch(&stream, samples, jobs, place, seed, out.cast::<u16>()?, saturated)
            } else {
                let out = out.cast::<[f32; 2]>()?;
                kernel.launch(&stream, samples, jobs, place, seed, out, saturated)
            }
        };
        launch(&mut out).map_err(End::failed)?;
        let check = self.check(&stream, &plan, (format, dither), &out, spectra, &delays)?;
        let timing = bench.time(|_| launch(&mut out)).map_err(End::failed)?;
        let work = (spectra * step * INPUTS) as f64;
        let moved = work * f64::from(BITS) / 8.0 + (count * bytes) as f64;
        let variant = match (format, dither) {
            (FrameFormat::Int8, true) => "10 bits to 8, dither",
            (FrameFormat::Int8, false) => "10 bits to 8",
            _ => "10 bits to f32",
        };
        bench.add(Measured {
            kernel: "channelize",
            variant: format!("{variant}, {taps} taps"),
            params: params([("channels", channels), ("spectra", spectra), ("inputs", INPUTS)]),
            timing,
            work,
            unit: "Gsamples/s",
            bound: Some(ceilings.bytes(moved)),
            check,
        });
        Ok(())
    }

    /// Compares one spectrum of each input with the reference.
    fn check(
        &self,
        stream: &Stream,
        plan: &Channelizer,
        (format, dither): (FrameFormat, bool),
        out: &Buffer<u8>,
        spectra: usize,
        delays: &[(f64, f64)],
    ) -> Result<String, End> {
        let channels = plan.channels();
        let bytes: Vec<u8> = out.to_vec(stream)?;
        let gains = Array2::from_shape_fn((channels, INPUTS), |(channel, input)| gain(input, channel));
        let reference = FEngine {
            weights: plan.weights(),
            channels,
            complex: false,
            stride: plan.stride(),
            pols: INPUTS,
            spectra_per_frame: FRAME,
            range: 0..channels,
            gains: gains.view(),
            dither: dither.then_some(SEED),
            limit: (format == FrameFormat::Int8).then_some(127.0),
        };
        let (mut worst, mut ties) = (0.0f64, 0);
        for (input, &(delay, phase)) in delays.iter().enumerate() {
            let s = if input == 0 { spectra - 1 } else { spectra / 2 + 3 };
            let stamp = s * plan.step();
            let start = stamp + (-delay).round() as usize;
            let x = self.decoded(input, start, plan.window_samples());
            let expected = reference.spectrum(&x, 0, stamp as u64, (delay, phase), input);
            for (channel, value) in expected.iter().enumerate() {
                let at = ((s / FRAME * channels + channel) * FRAME + s % FRAME) * INPUTS + input;
                if format == FrameFormat::Int8 {
                    for (part, actual) in [(value.re, bytes[2 * at] as i8), (value.im, bytes[2 * at + 1] as i8)] {
                        let part = part.clamp(-127.0, 127.0);
                        if ((part - part.floor()) - 0.5).abs() < 5e-3 {
                            ties += 1;
                        } else if f64::from(actual) != part.round_ties_even() {
                            return Err(End::failed(format!(
                                "{channels} channels: spectrum {s}, channel {channel}, input {input}: {actual} for {part}"
                            )));
                        }
                    }
                } else {
                    let value_of =
                        |i: usize| f64::from(bytemuck::pod_read_unaligned::<f32>(&bytes[8 * at + 4 * i..][..4]));
                    worst = worst.max((Complex64::new(value_of(0), value_of(1)) - value).norm());
                }
            }
        }
        Ok(if format == FrameFormat::Int8 {
            format!("2 spectra against the reference: equal but for {ties} within 0.005 of a tie")
        } else {
            format!("2 spectra against the reference: largest error {worst:.2e}")
        })
    }
}
