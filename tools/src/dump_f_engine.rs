//! Runs the F-engine over cases of its own with delays, phases and gains, and writes what went in and what came out as
//! npy files, for `tests/python/check_f_engine.py`.
//!
//! Out, in a folder: `cases.json`, a list of cases with their parameters, and for the case number `n`:
//!
//! | file | type and shape |
//! |---|---|
//! | `n_samples.npy` | `int16 [input][time]`, or `[input][time][2]` if samples are complex |
//! | `n_gains.npy` | `complex64 [channel][input]` |
//! | `n_floats.npy` | `complex64 [frame][antenna][channel][spectrum][pol]` |
//! | `n_integers.npy` | `int8` of the same, with parts as a last dimension |
//! | `n_present.npy` | `uint8 [frame * spectra + spectrum][input]` |
//! | `n_saturated.npy` | `uint64 [frame][input]` |
//!
//! No dither.
//!
//! ```text
//! cargo run --release -p fringes-tools -- dump-f-engine --output folder --backend gpu
//! ```

use std::path::{Path, PathBuf};

use crate::backend::BackendName;
use crate::end::{Failure, failure};
use fringes::io::write::npy::{NpyElement, write_npy};
use fringes::{
    Backend, Channelizer, Complex, DelayModel, DelaySegment, FEngineBuilder, FrameSample, Frames, Gains, Heaps, Inputs,
    PackedSamples, SampleChunk, Samples, Window,
};
use ndarray::{Array2, ArrayView, ArrayView2, Axis, Dimension, concatenate, s};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Run the F-engine over cases of its own, and write inputs, parameters and outputs to a folder.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The folder, which is made if it is not there.
    #[arg(long)]
    output: PathBuf,
    /// Where to run.
    #[arg(long, value_enum, default_value_t = BackendName::Auto)]
    backend: BackendName,
}

/// What is computed, of which samples.
#[derive(Clone, serde::Serialize)]
struct Case {
    channels: usize,
    complex: bool,
    taps: usize,
    /// As scipy names it.
    window: &'static str,
    /// Width of a channel's response in channels.
    w_cutoff: f64,
    /// Ratio of the oversampling.
    oversampling: (usize, usize),
    antennas: usize,
    pols: usize,
    spectra_per_frame: usize,
    /// First channel that comes out, and the one after the last.
    range: (usize, usize),
    /// Bits of a part of a sample.
    bits: u32,
    first_sample: u64,
    /// Samples of an input.
    samples: usize,
    /// Sample counter that delays and phases are given at.
    reference_sample: u64,
    /// Of each input: delay in samples, its growth in samples a sample, phase in turns, its growth in turns a sample.
    delays: Vec<[f64; 4]>,
    /// Stamp of the first spectrum that came out.
    first_stamp: u64,
    /// What computed it.
    backend: String,
}

impl Case {
    /// 10-bit real samples of two antennas with two polarisations, critically sampled, with moving delays.
    fn new(channels: usize, taps: usize, spectra: usize) -> Self {
        // The delays of two inputs step several times.
        let rate = 2.5 / (spectra * 2 * channels) as f64;
        let first_sample = 1_000_003;
        Self {
            channels,
            complex: false,
            taps,
            window: "hann",
            w_cutoff: 1.0,
            oversampling: (1, 1),
            antennas: 2,
            pols: 2,
            spectra_per_frame: 4,
            range: (0, channels),
            bits: 10,
            first_sample,
            samples: (taps + 4 + spectra) * 2 * channels + 301,
            reference_sample: first_sample + 777,
            delays: vec![
                [-7.9, -rate, -0.3, 0.0],
                [100.5, 0.0, 0.0, -3e-5],
                [3.3, rate, 0.1, 1e-4],
                [0.0, 0.0, 0.7, 0.013],
            ],
            first_stamp: 0,
            backend: String::new(),
        }
    }

    fn inputs(&self) -> Result<Inputs, Failure> {
        Ok(Inputs::new(self.antennas, self.pols)?)
    }

    fn builder(&self, gains: &Array2<Complex<f32>>) -> Result<FEngineBuilder, Failure> {
        let window = match self.window {
            "hamming" => Window::Hamming,
            "blackman" => Window::Blackman,
            "boxcar" => Window::Rect,
            _ => Window::Hann,
        };
        let plan = if self.complex { Channelizer::complex(self.channels) } else { Channelizer::real(self.channels) };
        let plan = plan.taps(self.taps).window(window).w_cutoff(self.w_cutoff);
        let plan = plan.oversampling(self.oversampling.0, self.oversampling.1).build()?;
        let mut delays = Vec::new();
        for &[delay, rate, phase, phase_rate] in &self.delays {
            let segment = DelaySegment::new(self.reference_sample, vec![delay, rate]).with_phase(phase, phase_rate);
            delays.push(DelayModel::from_segment(segment)?);
        }
        let builder = FEngineBuilder::new(plan, self.inputs()?).spectra_per_frame(self.spectra_per_frame);
        let gains = Gains::per_channel_input(gains.clone())?;
        Ok(builder.channels(self.range.0..self.range.1).gains(gains).delays(delays))
    }

    /// Samples `[input][time]`: normal, a third of the range as standard deviation, so that a few are at its ends.
    fn samples(&self, seed: u64) -> Array2<Complex<i16>> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let half = f64::from(1u32 << (self.bits - 1));
        let mut part = || {
            let sum = (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
            (sum * half / 3.0).round().clamp(-half, half - 1.0) as i16
        };
        let shape = (self.antennas * self.pols, self.samples);
        Array2::from_shape_simple_fn(shape, || Complex::new(part(), if self.complex { part() } else { 0 }))
    }

    /// Gains that bring most values into 8 bits, and a few beyond.
    fn gains(&self) -> Array2<Complex<f32>> {
        let of_sample = f64::from(1u32 << (self.bits - 1)) / 3.0;
        let of_part = of_sample / if self.complex { 1.0 } else { 2f64.sqrt() };
        let shape = (self.range.1 - self.range.0, self.antennas * self.pols);
        Array2::from_shape_fn(shape, |(channel, input)| {
            let gain = 40.0 / of_part * (1.0 + 0.1 * (channel % 3) as f64);
            let gain = Complex::from_polar(gain, 0.3 * (channel % 21) as f64 + input as f64);
            Complex::new(gain.re as f32, gain.im as f32)
        })
    }

    fn chunk(&self, samples: ArrayView2<'_, Complex<i16>>, from: usize) -> Result<Box<dyn SampleChunk>, Failure> {
        let first = self.first_sample + from as u64;
        let inputs = self.inputs()?;
        Ok(if self.complex {
            let samples = samples.mapv(|x| Complex::new(x.re as i8, x.im as i8));
            Box::new(Samples::new(samples, inputs)?.with_first_sample(first))
        } else {
            let samples = samples.mapv(|x| x.re);
            Box::new(PackedSamples::pack(samples.view(), self.bits, inputs)?.with_first_sample(first))
        })
    }

    /// Frames of a stream in chunks of odd lengths.
    fn frames<Q: FrameSample>(
        &self,
        backend: &Backend,
        samples: &Array2<Complex<i16>>,
        gains: &Array2<Complex<f32>>,
    ) -> Result<Vec<Frames<Heaps<Q>>>, Failure> {
        let mut engine = self.builder(gains)?.build::<Q>(backend)?;
        let mut frames = Vec::new();
        let length = samples.ncols();
        let mut from = 0;
        for part in [length / 3 + 1, 17, length / 7 + 5, length] {
            let to = (from + part).min(length);
            frames.extend(engine.push(&*self.chunk(samples.slice(s![.., from..to]), from)?)?.frames);
            from = to;
        }
        frames.extend(engine.flush()?);
        Ok(frames)
    }

    /// Computes the case and writes its files.
    fn write(&mut self, backend: &Backend, folder: &Path, number: usize) -> Result<(), Failure> {
        let (samples, gains) = (self.samples(number as u64), self.gains());
        let floats = self.frames::<Complex<f32>>(backend, &samples, &gains)?;
        let integers = self.frames::<Complex<i8>>(backend, &samples, &gains)?;
        let path = |name: &str| folder.join(format!("{number}_{name}.npy"));
        if self.complex {
            let parts = |(input, time, part): (usize, usize, usize)| {
                let value = samples[(input, time)];
                if part == 0 { value.re } else { value.im }
            };
            let shape = (samples.nrows(), samples.ncols(), 2);
            write(&path("samples"), ndarray::Array3::from_shape_fn(shape, parts).view())?;
        } else {
            write(&path("samples"), samples.mapv(|x| x.re).view())?;
        }
        write(&path("gains"), gains.view())?;
        let first = floats.first().ok_or_else(|| failure("cases", "no frames came out"))?;
        self.first_stamp = first.first_stamp();
        let data: Vec<_> = floats.iter().map(|piece| piece.voltages.data()).collect();
        write(&path("floats"), concatenate(Axis(0), &data)?.view())?;
        let data: Vec<_> = integers.iter().map(|piece| piece.voltages.data()).collect();
        let data = concatenate(Axis(0), &data)?;
        let part = |get: fn(&Complex<i8>) -> i8| data.map(get).insert_axis(Axis(5));
        let parts = concatenate(Axis(5), &[part(|x| x.re).view(), part(|x| x.im).view()])?;
        write(&path("integers"), parts.view())?;
        let flags: Vec<_> = integers.iter().map(|piece| piece.spectra_present.mapv(u8::from)).collect();
        let flags: Vec<_> = flags.iter().map(|flags| flags.view()).collect();
        write(&path("present"), concatenate(Axis(0), &flags)?.view())?;
        let counts: Vec<_> = integers.iter().map(|piece| piece.saturated.view()).collect();
        write(&path("saturated"), concatenate(Axis(0), &counts)?.view())
    }
}

/// Writes an array in row-major order.
fn write<T: NpyElement + Clone, D: Dimension>(path: &Path, array: ArrayView<'_, T, D>) -> Result<(), Failure> {
    Ok(write_npy(path, &array.as_standard_layout())?)
}

/// Fast and general kernels of a GPU, windows, oversampled plans, complex samples, ranges, other widths of samples.
fn cases() -> Vec<Case> {
    let complex = |channels| Case { complex: true, bits: 8, ..Case::new(channels, 8, 30) };
    vec![
        Case::new(256, 16, 41),
        Case { first_sample: 99_999_999_999_999, reference_sample: 99_999_999_999_999, ..Case::new(1024, 16, 21) },
        Case { window: "hamming", w_cutoff: 0.91, range: (3, 4091), ..Case::new(4096, 4, 9) },
        Case { bits: 8, ..Case::new(512, 32, 13) },
        Case::new(8192, 16, 5),
        Case { window: "blackman", range: (1, 64), ..Case::new(64, 33, 70) },
        Case { window: "boxcar", ..Case::new(1536, 1, 11) },
        Case { bits: 12, ..Case::new(1000, 12, 11) },
        Case { oversampling: (32, 27), spectra_per_frame: 5, ..Case::new(256, 16, 41) },
        Case { oversampling: (4, 3), bits: 12, ..Case::new(96, 8, 41) },
        complex(128),
        Case { oversampling: (4, 3), window: "hamming", ..complex(96) },
    ]
}

/// Runs the tool.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let backend = arguments.backend.open()?;
    let folder = &arguments.output;
    std::fs::create_dir_all(folder).map_err(|error| failure(folder.display(), error))?;
    let mut cases = cases();
    for (number, case) in cases.iter_mut().enumerate() {
        case.backend = backend.name();
        case.write(&backend, folder, number)?;
    }
    let path = folder.join("cases.json");
    std::fs::write(&path, serde_json::to_string_pretty(&cases)?).map_err(|error| failure(path.display(), error))
}
