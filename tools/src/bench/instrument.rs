//! F-engine and X-engine on one GPU: 10-bit samples to the correlator's rows, and those to sums of products, kernels
//! alone and launched by hand. The public streams are beside them in [`streams`](crate::bench::streams).
//!
//! The F-engine writes rows `[channel][block][input][64]`, so that nothing lies between it and the X-engine's `wgmma`
//! kernels. Sums are added to, in 64 bits, as in integrations that are longer than a chunk. The rate says how many
//! antennas of two polarisations have as many samples in a second: if it is at least the number of antennas of the
//! case, they are kept up with. Up to 16 antennas the samples come from pinned host memory as well, by the public
//! streams ([`instrument_link`]).

use fringes::channelizer::internals::{FrameFormat, Job, JobTable, Place, Shares, SpectraLaunch, TwoPassKernels};
use fringes::correlator::internals::mma::{Format, Order};
use fringes::correlator::internals::wgmma::{WgmmaJob, WgmmaKernel, WgmmaSamples};
use fringes::{Channelizer, ChannelizerError, ChunkFormat, CorrelatorError};
use fringes_gpu::{Buffer, BufferView, Device, Kernel, Stream, Timing};
use num_complex::Complex64;

use crate::bench::instrument_link;
use crate::bench::jobs;
use crate::bench::random::Source;
use crate::bench::timing::{Bench, Bound, Measured};
use crate::end::End;
use crate::gpu_report::params;

/// Antennas of the cases.
const ANTENNAS: [usize; 5] = [8, 12, 16, 32, 64];
/// Most antennas whose samples come from the host as well: the link keeps up with about a dozen.
const MOST_LINKED: usize = 16;
/// Samples of a polarisation in a second.
pub(crate) const RATE_HZ: f64 = 1712e6;
pub(crate) const CHANNELS: usize = 4096;
const TAPS: usize = 16;
/// Bits of a sample.
const BITS: u32 = 10;
/// Spectra of a chunk.
pub(crate) const SPECTRA: usize = 2048;
/// Times of a row.
const ROW: usize = 64;
/// Spectra of a frame, which rows are compared with.
const FRAME: usize = 256;
/// Key of the dither.
const SEED: u64 = 1712;
/// The channel that is checked.
const CHECKED: usize = 2741;

pub(crate) fn run(bench: &mut Bench) -> Result<(), End> {
    if !bench.wants("instrument") {
        return Ok(());
    }
    if !WgmmaKernel::runs_on(&bench.device) {
        println!("instrument: skipped, its X-engine is wgmma, which compute capability 9.0 alone has");
        return Ok(());
    }
    for antennas in ANTENNAS {
        let case = Case { inputs: 2 * antennas };
        let bytes = case.inputs * row_bytes() + 2 * case.values() * 2 + case.sums() * 16;
        if bench.fits(&format!("instrument, {antennas} antennas"), bytes)? {
            case.run(bench)?;
        }
        // Samples, frames under way, sums and a dump.
        let bytes = 3 * case.chunk_bytes() + 6 * case.values() * 2 + 3 * case.sums() * 16;
        if antennas <= MOST_LINKED
            && bench.fits(&format!("instrument from pinned memory, {antennas} antennas"), bytes)?
        {
            instrument_link::run(bench, &case)?;
        }
    }
    Ok(())
}

/// Bytes of an input's samples.
fn row_bytes() -> usize {
    (2 * CHANNELS * (SPECTRA + TAPS - 1) * BITS as usize).div_ceil(8).next_multiple_of(16)
}

pub(crate) struct Case {
    pub(crate) inputs: usize,
}

/// Voltages `[input][time]` of the checked channel.
pub(crate) type Voltages = Vec<Vec<[i64; 2]>>;

/// Jobs on the device, and where their values lie.
pub(crate) struct Work {
    jobs: Buffer<[u32; 4]>,
    count: usize,
    place: Place,
}

/// The kernels of a case.
pub(crate) struct Engines {
    f_engine: TwoPassKernels,
    x_engine: WgmmaKernel,
    entry: Kernel,
    correlation: WgmmaJob,
}

impl Engines {
    pub(crate) fn load(device: &Device, inputs: usize) -> Result<Self, End> {
        let plan = Channelizer::real(CHANNELS).taps(TAPS).build().map_err(End::failed)?;
        let gain =
            |input, channel| Complex64::from_polar(0.07 + 0.01 * (channel % 7) as f64, (channel % 11 + input) as f64);
        let f_engine =
            TwoPassKernels::load(device, &plan, ChunkFormat::Packed { bits: BITS }, FrameFormat::Int8, inputs, gain);
        let x_engine = WgmmaKernel::choose(Format::I8, Order::Rows, inputs);
        let samples = WgmmaSamples::Rows { blocks: SPECTRA / ROW, times: 0..SPECTRA };
        Ok(Self {
            f_engine: f_engine.map_err(End::failed)?,
            entry: x_engine.load(device, true).map_err(End::failed)?,
            x_engine,
            correlation: WgmmaJob { channels: CHANNELS, inputs, samples, parts: 1 },
        })
    }

    /// Samples of a chunk to values.
    pub(crate) fn channelize(
        &self,
        stream: &Stream,
        samples: BufferView<'_, u8>,
        out: &mut Buffer<u8>,
        saturated: &mut Buffer<u32>,
        work: &Work,
    ) -> Result<(), ChannelizerError> {
        let jobs = (JobTable { words: work.jobs.view(), count: work.count, after: None }, work.place);
        let out = (out.view_mut().cast::<u16>()?, saturated.view_mut());
        self.f_engine.launch(stream, SpectraLaunch::of_chunk(samples.cast::<u32>()?, jobs, Some(SEED), out)?)
    }

    /// Adds the products of a chunk's rows to sums.
    pub(crate) fn correlate(
        &self,
        stream: &Stream,
        rows: &Buffer<u8>,
        sums: &mut Buffer<[i32; 2]>,
    ) -> Result<(), CorrelatorError> {
        self.correlation.launch(stream, self.x_engine, &self.entry, rows.view(), sums.view_mut())
    }
}

impl Case {
    /// Bytes of a chunk's samples, with some behind the last one that kernels may read.
    pub(crate) fn chunk_bytes(&self) -> usize {
        self.inputs * row_bytes() + 64
    }

    /// Values of a chunk.
    pub(crate) fn values(&self) -> usize {
        CHANNELS * SPECTRA * self.inputs
    }

    fn baselines(&self) -> usize {
        self.inputs * (self.inputs + 1) / 2
    }

    pub(crate) fn sums(&self) -> usize {
        CHANNELS * self.baselines()
    }

    /// The jobs of a chunk for values in an order, in which an input's first value lies at `first(input)`.
    fn work(&self, stream: &Stream, first: impl Fn(usize) -> usize, place: Place) -> Result<Work, End> {
        let mut all = Vec::new();
        for spectrum in (0..SPECTRA).step_by(ROW) {
            for input in 0..self.inputs {
                let bit = 8 * input * row_bytes() + 2 * CHANNELS * spectrum * BITS as usize;
                all.push(Job {
                    first_bit: bit as u64,
                    place: first(input) as u64,
                    // A delay of a third of a sample and a phase, other ones of each input.
                    phase: (input as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15),
                    slope: (u64::MAX / (6 * CHANNELS as u64)).wrapping_mul(input as u64 % 3),
                    spectrum: spectrum as u64,
                    spectra: ROW as u32,
                    time: spectrum as u32,
                    input: input as u32,
                    count: input as u32,
                    flags: 0,
                    ..Job::default()
                });
            }
        }
        Ok(Work { jobs: jobs::table(stream, &all)?, count: all.len(), place })
    }

    /// The order of the correlator's rows.
    fn rows(&self) -> Place {
        Place {
            first_channel: 0,
            channels: CHANNELS as u32,
            channel_stride: (SPECTRA * self.inputs) as u64,
            period: ROW as u32,
            period_stride: (ROW * self.inputs) as u64,
            time_stride: 1,
            shares: Shares::NONE,
        }
    }

    /// The jobs of a chunk for the correlator's rows.
    pub(crate) fn to_rows(&self, stream: &Stream) -> Result<Work, End> {
        self.work(stream, |input| ROW * input, self.rows())
    }

    fn run(&self, bench: &mut Bench) -> Result<(), End> {
        let (stream, inputs) = (bench.stream.clone(), self.inputs);
        let engines = Engines::load(&bench.device, inputs)?;
        let samples = Source::bytes(&stream)?.buffer(&bench.device, &stream, self.chunk_bytes())?;
        let mut rows = Buffer::<u8>::zeroed(&stream, 2 * self.values())?;
        let mut sums = Buffer::<[i32; 2]>::zeroed(&stream, self.sums())?;
        let mut saturated = Buffer::<u32>::zeroed(&stream, inputs)?;
        let mut channelize =
            |out: &mut Buffer<u8>, work: &Work| engines.channelize(&stream, samples.view(), out, &mut saturated, work);
        let to_rows = self.to_rows(&stream)?;
        channelize(&mut rows, &to_rows).map_err(End::failed)?;
        let voltages = self.voltages(&stream, &rows)?;
        {
            let place = Place {
                channel_stride: (FRAME * inputs) as u64,
                period: FRAME as u32,
                period_stride: (CHANNELS * FRAME * inputs) as u64,
                time_stride: inputs as u32,
                ..self.rows()
            };
            let to_frames = self.work(&stream, |input| input, place)?;
            let mut frames = Buffer::<u8>::zeroed(&stream, 2 * self.values())?;
            channelize(&mut frames, &to_frames).map_err(End::failed)?;
            self.check_rows(&stream, &voltages, &frames)?;
        }
        engines.correlate(&stream, &rows, &mut sums).map_err(End::failed)?;
        let check = self.check_sums(&stream, &[voltages], 1, &sums)?;
        let check = format!("channel {CHECKED}: rows equal frames, {check}");

        let timing = bench.time(|_| channelize(&mut rows, &to_rows)).map_err(End::failed)?;
        self.add(bench, "F-engine", timing, None, &check);
        let timing = bench.time(|_| engines.correlate(&stream, &rows, &mut sums)).map_err(End::failed)?;
        self.add(bench, "X-engine", timing, None, &check);
        let timing = bench.time(|_| -> Result<(), fringes::Error> {
            channelize(&mut rows, &to_rows)?;
            Ok(engines.correlate(&stream, &rows, &mut sums)?)
        });
        self.add(bench, "F- and X-engine", timing.map_err(End::failed)?, None, &check);
        Ok(())
    }

    pub(crate) fn add(&self, bench: &mut Bench, what: &str, timing: Timing, bound: Option<Bound>, check: &str) {
        let antennas = self.inputs / 2;
        let chunk_ms = 1e3 * (2 * CHANNELS * SPECTRA) as f64 / RATE_HZ;
        bench.add(Measured {
            kernel: "instrument",
            variant: format!("{what}, chunk of {chunk_ms:.2} ms"),
            params: params([("antennas", antennas), ("channels", CHANNELS), ("spectra", SPECTRA)]),
            timing,
            // The rate is this by 10^6 and the time in ms.
            work: 1e6 * antennas as f64 * chunk_ms,
            unit: "antennas",
            bound,
            check: check.into(),
        });
    }

    /// The checked channel's voltages `[input][time]`.
    pub(crate) fn voltages(&self, stream: &Stream, rows: &Buffer<u8>) -> Result<Voltages, End> {
        let of_channel = 2 * SPECTRA * self.inputs;
        let bytes: Vec<u8> = rows.slice(CHECKED * of_channel..(CHECKED + 1) * of_channel)?.to_vec(stream)?;
        let value = |input: usize, time: usize| {
            let at = 2 * ((time / ROW * self.inputs + input) * ROW + time % ROW);
            [bytes[at], bytes[at + 1]].map(|byte| i64::from(byte as i8))
        };
        Ok((0..self.inputs).map(|input| (0..SPECTRA).map(|time| value(input, time)).collect()).collect())
    }

    /// Compares the checked channel with that of the same spectra in frames.
    fn check_rows(&self, stream: &Stream, voltages: &Voltages, frames: &Buffer<u8>) -> Result<(), End> {
        let length = 2 * FRAME * self.inputs;
        for frame in 0..SPECTRA / FRAME {
            let start = (frame * CHANNELS + CHECKED) * length;
            let bytes: Vec<u8> = frames.slice(start..start + length)?.to_vec(stream)?;
            for (place, value) in bytes.chunks_exact(2).enumerate() {
                let (time, input) = (frame * FRAME + place / self.inputs, place % self.inputs);
                let value = [value[0], value[1]].map(|byte| i64::from(byte as i8));
                if voltages[input][time] != value {
                    let row = voltages[input][time];
                    return Err(End::failed(format!(
                        "instrument: spectrum {time} of input {input}: {row:?} in rows, {value:?} in frames"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Compares a baseline and an autocorrelation with exact sums of the voltages of some chunks, each `times` times.
    pub(crate) fn check_sums(
        &self,
        stream: &Stream,
        chunks: &[Voltages],
        times: i64,
        sums: &Buffer<[i32; 2]>,
    ) -> Result<String, End> {
        let last = self.inputs - 1;
        for [a, b] in [[last, last], [last, 1]] {
            let products = chunks.iter().flat_map(|voltages| voltages[a].iter().zip(&voltages[b]));
            let expected = products.fold([0, 0], |[re, im], ([a_re, a_im], [b_re, b_im])| {
                [re + a_re * b_re + a_im * b_im, im + a_im * b_re - a_re * b_im]
            });
            let expected = expected.map(|part: i64| part * times);
            let at = CHECKED * self.baselines() + a * (a + 1) / 2 + b;
            let actual: Vec<_> = sums.slice(at..at + 1)?.to_vec(stream)?.iter().map(|sum| sum.map(i64::from)).collect();
            if actual != [expected] || expected == [0, 0] {
                return Err(End::failed(format!("instrument: V[{a}][{b}]: expected {expected:?}, got {actual:?}")));
            }
        }
        Ok("2 sums equal exact ones of the F-engine's output".into())
    }
}
