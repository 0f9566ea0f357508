//! Voltages `[channel][time][input]` in place of frames: what a channelizer takes of the F-engine's machinery on a GPU.
//!
//! ```text
//! GpuStream   chunks of a stream: one frame a chunk, as long as what the chunk completes, in rows of one spectrum
//! GpuArray    one array, whose first sample may have any counter: jobs of its own, nothing is held
//! ```
//!
//! The one place where a channelizer and the F-engine's engine, jobs and tables meet.

use std::ops::Range;

use fringes_backend::{Backend, DeviceSamples, MemoryNeed, Staging};
use fringes_gpu::{Buffer, BufferPool, Device, Stream};
use fringes_types::{ChunkFormat, Complex, Inputs, SampleChunk, TypesError};
use ndarray::Array2;

use super::kernels::{Kernels, memory_bytes};
use super::tables;
use super::{Batch, GpuEngine, Settings, Work};
use crate::internals::samples::SampleKernels;
use crate::internals::{
    JOB_WORDS, Job, JobLength, JobTable, Periods, Place, RUN_WORDS, Run, RunSizes, Shares, SpectraLaunch, chunk,
};
use crate::timeline::{Advance, Timeline};
use crate::{Channelizer, ChannelizerError, Precision};

/// Name of the operation.
const OPERATION: &str = "channelize";

/// Device memory that a step of one array is to take at most, where no limit is lower: 1 GiB.
const STEP_BYTES: u64 = 1 << 30;

/// Bytes of a job, of which each has at least a spectrum.
const JOB_BYTES: u64 = 4 * JOB_WORDS as u64;

/// Bytes of an input's run, and of its count.
const RUN_BYTES: u64 = 4 * RUN_WORDS as u64 + 4;

/// The GPU that channelizes on a backend; `None` for the CPU. Of samples of a format, or of any if none is given.
///
/// # Errors
/// [`DeviceError::NoKernel`](fringes_backend::DeviceError::NoKernel) with what the kernels ask for, where the backend
/// is a GPU and nothing else.
pub(crate) fn device_for<'a>(
    backend: &'a Backend,
    plan: &Channelizer,
    format: Option<ChunkFormat>,
) -> Result<Option<&'a Device>, ChannelizerError> {
    match format.map_or_else(|| super::check(plan), |format| super::check_format(plan, format)) {
        Ok(()) => Ok(backend.gpu_for(OPERATION, true)?),
        Err(missing) => backend.gpu_for(OPERATION, false).map_err(|_| missing),
    }
}

/// All channels of a plan, gains of 1, in the order `[channel][time][input]`, `spectra` times at once.
fn settings(plan: &Channelizer, inputs: Inputs, spectra: usize) -> Settings {
    Settings {
        spectra_per_frame: spectra,
        channels: 0..plan.channels(),
        // Gains that are not there are 1.
        gains: Array2::default((inputs.len(), 0)),
        dither: None,
        first_input: 0,
        precision: Precision::Single,
        generation: 0,
        row: Some(1),
        ring: None,
    }
}

/// The spectra of a stream on a GPU.
#[derive(Debug)]
pub(crate) struct GpuStream {
    engine: GpuEngine<Complex<f32>>,
    settings: Settings,
}

impl GpuStream {
    /// Before its first sample, on a stream of its own.
    pub(crate) fn new(device: &Device, timeline: &Timeline) -> Result<Self, ChannelizerError> {
        let settings = settings(&timeline.plan, timeline.inputs, 1);
        Ok(Self { engine: GpuEngine::new(device, timeline.inputs, &settings)?, settings })
    }

    /// What chunks of `times` samples in host memory need on the device.
    pub(crate) fn memory(timeline: &Timeline, times: usize, format: ChunkFormat) -> MemoryNeed {
        let settings = settings(&timeline.plan, timeline.inputs, 1);
        GpuEngine::<Complex<f32>>::memory(timeline, &settings, times, format)
    }

    /// Least that chunks of any format need.
    pub(crate) fn least_memory(timeline: &Timeline) -> u64 {
        let need = |bits| Self::memory(timeline, 0, ChunkFormat::Packed { bits }).smallest_step_bytes;
        [2, 8, 10].map(need).into_iter().min().unwrap_or(0)
    }

    /// Queues all work on another stream of the device.
    pub(crate) fn set_stream(&mut self, stream: &Stream) -> Result<(), ChannelizerError> {
        self.engine.set_stream(stream)
    }

    /// The stream that everything is queued on.
    pub(crate) fn stream(&self) -> &Stream {
        self.engine.stream()
    }

    /// Bytes of held samples.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.engine.held_bytes()
    }

    /// Forgets all samples.
    pub(crate) fn reset(&mut self) {
        self.engine.reset();
    }

    /// Copies a chunk to the device.
    pub(crate) fn upload(&mut self, chunk: &dyn SampleChunk) -> Result<DeviceSamples<'static>, ChannelizerError> {
        self.engine.upload(chunk)
    }

    /// `Ok` if a chunk lies on this device and is of a format that the kernels read.
    pub(crate) fn check(&self, samples: &DeviceSamples<'_>) -> Result<(), ChannelizerError> {
        self.engine.check(samples)
    }

    /// Queues the spectra that a chunk completes, and takes the chunk in. Those that are absent are 0.
    pub(crate) fn run(
        &mut self,
        timeline: &Timeline,
        advance: &Advance,
        samples: &DeviceSamples<'_>,
    ) -> Result<Option<Buffer<Complex<f32>>>, ChannelizerError> {
        // One frame that is complete with the chunk, or none.
        self.settings.spectra_per_frame = advance.spectra.max(1);
        let batch = Batch::new(self.settings.spectra_per_frame, 0, advance.spectra, false);
        let work = Work { settings: &self.settings, timeline, advance, batch };
        let prepared = self.engine.prepare(&work, Some(samples))?;
        Ok(self.engine.run(prepared, &work, Some(samples))?.map(|(values, _)| values))
    }
}

/// The spectra of one array: sizes, and where they begin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ArrayShape<'a> {
    pub(crate) plan: &'a Channelizer,
    pub(crate) format: ChunkFormat,
    pub(crate) inputs: Inputs,
    /// Stamp of spectrum 0: the counter of the array's first sample.
    pub(crate) first_sample: u64,
}

impl ArrayShape<'_> {
    /// Samples of each input that spectra are made of, counted from the array's first one.
    pub(crate) fn samples(&self, spectra: &Range<usize>) -> Range<usize> {
        let (stride, window) = (self.plan.stride(), self.plan.window_samples());
        let start = spectra.start * stride;
        if spectra.is_empty() { start..start } else { start..(spectra.end - 1) * stride + window }
    }

    /// Bytes of device memory for tables, jobs and counts of `spectra` spectra at once: all but samples and voltages.
    pub(crate) fn workspace_bytes(&self, spectra: usize) -> u64 {
        let inputs = self.inputs.len() as u64;
        let tables = memory_bytes(self.plan, self.inputs.len(), Precision::Single);
        let jobs = JOB_BYTES.saturating_mul(spectra as u64).saturating_add(RUN_BYTES).saturating_mul(inputs);
        tables.saturating_add(jobs)
    }

    /// Bytes of device memory for `spectra` spectra at once, of samples in host memory.
    pub(crate) fn step_bytes(&self, spectra: usize) -> u64 {
        let samples = spectra.saturating_sub(1).saturating_mul(self.plan.stride());
        // Packed samples are taken from a whole byte on.
        let samples = samples.saturating_add(self.plan.window_samples()).saturating_add(7);
        let values = [self.plan.channels(), spectra, self.inputs.len(), size_of::<Complex<f32>>()];
        let values = values.into_iter().fold(1u64, |bytes, size| bytes.saturating_mul(size as u64));
        let samples = chunk::bytes(self.format, self.inputs, samples);
        values.saturating_add(samples).saturating_add(self.workspace_bytes(spectra))
    }

    /// Spectra of a step, of `all`: as many as a limit allows, at least one.
    pub(crate) fn spectra_of_step(&self, all: usize, limit: Option<u64>) -> usize {
        let most = limit.unwrap_or(u64::MAX).min(STEP_BYTES);
        // What is below `fits` fits; bytes grow with the spectra.
        let (mut fits, mut ends) = (1, all.max(1) + 1);
        while ends - fits > 1 {
            let middle = fits + (ends - fits) / 2;
            if self.step_bytes(middle) <= most { fits = middle } else { ends = middle }
        }
        fits
    }

    /// The runs of some spectra, one an input, in an output that has those alone, and what they share. Samples lie in
    /// rows `row_bits` apart that begin with sample `first` of the array.
    fn runs(&self, spectra: &Range<usize>, (first, row_bits): (usize, u64), length: JobLength) -> (Vec<Run>, RunSizes) {
        let (step, stride, channels) = (self.plan.step() as u64, self.plan.stride() as u64, self.plan.channels());
        let (pols, inputs) = (self.inputs.pols(), self.inputs.len());
        let sample_bits = u64::from(self.format.sample_bits());
        // Kernels refer phases to whole multiples of the stride. What the stamps are beyond them, `rest` samples, turns
        // channel `b` by `-b rest / step`, `b = k` of real samples and `k - floor(N / 2)` of complex ones.
        let rest = self.first_sample % stride;
        let turn = ((u128::from(rest) << 64) / u128::from(step)) as u64;
        let phase = if self.plan.is_complex() { turn.wrapping_mul(channels as u64 / 2) } else { 0 };
        let spectrum = self.first_sample / stride + spectra.start as u64;
        let jobs = length.jobs(spectrum, spectra.len());
        let sample = spectra.start as u64 * stride - first as u64;
        let of_input = |input: usize| Run {
            job: Job {
                first_bit: input as u64 * row_bits + sample * sample_bits,
                place: input as u64,
                phase,
                slope: turn.wrapping_neg(),
                spectrum,
                spectra: spectra.len() as u32,
                input: input as u32,
                count: input as u32,
                ..Job::default()
            },
            // Polarisations of an antenna take turns.
            first: (input / pols * pols * jobs + input % pols) as u32,
            apart: pols as u32,
            frames: 1,
            turn: 0,
        };
        let sizes = RunSizes {
            frame: 0,
            length,
            spectrum_bits: stride * sample_bits,
            periods: Periods { period: u32::MAX, stride: 0, turns: u32::MAX },
            inputs: 0,
        };
        ((0..inputs).map(of_input).collect(), sizes)
    }

    /// Where the values of `spectra` spectra lie.
    fn place(&self, spectra: usize) -> Place {
        let inputs = self.inputs.len();
        Place {
            first_channel: 0,
            channels: self.plan.channels() as u32,
            channel_stride: (spectra * inputs) as u64,
            // All times in one period.
            period: u32::MAX,
            period_stride: 0,
            time_stride: inputs as u32,
            shares: Shares::NONE,
        }
    }
}

/// The kernels for one array, on a stream.
#[derive(Debug)]
pub(crate) struct GpuArray<'a> {
    shape: ArrayShape<'a>,
    kernels: Kernels,
    samples: SampleKernels,
    stream: Stream,
    pool: BufferPool,
}

impl<'a> GpuArray<'a> {
    /// Loads the kernels and sends their tables.
    pub(crate) fn load(shape: ArrayShape<'a>, stream: &Stream, pool: &BufferPool) -> Result<Self, ChannelizerError> {
        let settings = settings(shape.plan, shape.inputs, 1);
        let kernels = Kernels::load::<Complex<f32>>(stream.device(), shape.plan, shape.format, &settings)?;
        let samples = SampleKernels::load(stream.device())?;
        Ok(Self { shape, kernels, samples, stream: stream.clone(), pool: pool.clone() })
    }

    /// Queues some spectra of samples on the device, which begin with sample `first` of the array.
    pub(crate) fn run(
        &self,
        staging: &mut Staging,
        samples: &DeviceSamples<'_>,
        first: usize,
        spectra: &Range<usize>,
    ) -> Result<Buffer<Complex<f32>>, ChannelizerError> {
        let (stream, inputs) = (&self.stream, self.shape.inputs.len());
        let rows = chunk::rows(samples, samples.array().read_on(stream)?)?;
        let sizes = [self.shape.plan.channels(), spectra.len(), inputs];
        let elements = sizes.iter().try_fold(1usize, |product, &size| product.checked_mul(size)).ok_or_else(|| {
            let elements = sizes.map(|size| size.to_string()).join(" x ");
            TypesError::TooLarge { array: "channelised voltages", elements }
        })?;
        let (mut runs, sizes) = self.shape.runs(spectra, (first, rows.row_bits), self.kernels.job_length());
        runs.iter_mut().for_each(|run| self.kernels.refer(&mut run.job));
        let count = runs.iter().map(|run| run.jobs(sizes.length)).sum();
        let jobs = tables::make_jobs(&self.samples, (stream, &self.pool), staging, (&runs, count, &sizes))?;
        let mut values = self.pool.take::<Complex<f32>>(stream, elements)?;
        let mut saturated = self.pool.take_zeroed::<u32>(stream, inputs)?;
        let place = self.shape.place(spectra.len());
        let jobs = JobTable { words: jobs.view(), count, after: None };
        let out = (values.view_mut(), saturated.view_mut());
        let queued = self.kernels.launch(stream, SpectraLaunch::of_chunk(rows.samples, (jobs, place), None, out)?);
        // Part of the work may be queued even if it failed.
        samples.array().reads_queued(stream)?;
        queued?;
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use fringes_types::Samples;

    use super::*;

    fn shape(plan: &Channelizer, first_sample: u64) -> ArrayShape<'_> {
        let format = ChunkFormat::Packed { bits: 10 };
        ArrayShape { plan, format, inputs: Inputs::new(3, 2).unwrap(), first_sample }
    }

    #[test]
    fn every_spectrum_of_an_array_has_its_window_its_place_and_its_phase() {
        let real = Channelizer::real(12).taps(3).oversampling(4, 3).build().unwrap();
        let complex = Channelizer::complex(15).taps(2).build().unwrap();
        for (plan, first_sample) in [(&real, 0), (&real, 18 * 7), (&real, 1_000_005), (&complex, 15), (&complex, 98)] {
            let shape = shape(plan, first_sample);
            let (spectra, first, row_bits) = (5..19, 64, 1 << 20);
            let length = JobLength { most: 6, block: 3 };
            let (runs, sizes) = shape.runs(&spectra, (first, row_bits), length);
            let mut jobs: Vec<_> = runs.iter().flat_map(|run| run.made(&sizes)).collect();
            jobs.sort_by_key(|&(place, _)| place);
            assert!(jobs.iter().map(|&(place, _)| place).eq(0..runs.iter().map(|run| run.jobs(length)).sum()));
            let jobs: Vec<Job> = jobs.into_iter().map(|(_, job)| job).collect();
            let place = shape.place(spectra.len());
            let mut covered = Array2::from_elem((spectra.len(), 6), 0);
            for (pair, job) in jobs.iter().enumerate() {
                let input = job.input as usize;
                assert_eq!(input % 2, pair % 2, "polarisations of an antenna follow each other");
                assert_eq!(job.count, job.input);
                assert!(job.spectra as usize <= length.most(job.spectrum));
                for s in 0..job.spectra as usize {
                    let number = (job.spectrum - first_sample / plan.stride() as u64) as usize + s;
                    let at = job.place as usize + (job.time as usize + s) * place.time_stride as usize;
                    assert_eq!(at, (number - 5) * 6 + input);
                    covered[(number - 5, input)] += 1;
                    let bit = job.first_bit + (s * plan.stride() * 10) as u64;
                    assert_eq!(bit, input as u64 * row_bits + (number * plan.stride() - first) as u64 * 10);
                }
                // The kernels' reference, and the phase of the job, are the stamp's.
                let rest = (first_sample % plan.stride() as u64) as f64 / plan.step() as f64;
                for k in 0..plan.channels() as u64 {
                    let bin = if plan.is_complex() { k as f64 - 7.0 } else { k as f64 };
                    let turns = job.phase.wrapping_add(k.wrapping_mul(job.slope)) as f64 / 2f64.powi(64);
                    let off = turns + bin * rest;
                    assert!((off - off.round()).abs() < 1e-12, "{k} {off}");
                }
            }
            assert!(covered.iter().all(|&times| times == 1));
            assert_eq!((place.channel_stride, place.channels), (14 * 6, plan.channels() as u32));
        }
    }

    #[test]
    fn the_phase_of_a_job_takes_a_spectrum_to_its_stamp() {
        let plans = [
            Channelizer::real(12).taps(3).oversampling(4, 3).build().unwrap(),
            Channelizer::complex(15).taps(2).build().unwrap(),
        ];
        for plan in plans {
            let inputs = Inputs::new(3, 2).unwrap();
            let value = |(input, time): (usize, usize)| {
                Complex::new(((input * 31 + time * 17) % 41) as f32 - 20.0, ((input * 13 + time * 29) % 37) as f32)
            };
            let data = Array2::from_shape_fn((6, 200), value);
            let at = |first_sample: u64| {
                let cpu = Backend::cpu();
                if plan.is_complex() {
                    let samples = Samples::new(data.clone(), inputs).unwrap().with_first_sample(first_sample);
                    crate::channelize(&cpu, &samples, &plan).unwrap().into_data()
                } else {
                    let samples = Samples::new(data.mapv(|value| value.re), inputs).unwrap();
                    crate::channelize(&cpu, &samples.with_first_sample(first_sample), &plan).unwrap().into_data()
                }
            };
            let (stamp, stride) = (1_000_003, plan.stride() as u64);
            // What a kernel computes, without the phase of its job: phases of whole multiples of the stride.
            let (expected, bare) = (at(stamp), at(stamp / stride * stride));
            assert_ne!(expected, bare);
            let job = shape(&plan, stamp).runs(&(0..1), (0, 0), JobLength { most: 1, block: 1 }).0[0].job;
            for ((channel, time, input), &bare) in bare.indexed_iter() {
                let turns = job.phase.wrapping_add(job.slope.wrapping_mul(channel as u64)) as f64 / 2f64.powi(64);
                let angle = std::f64::consts::TAU * turns;
                let turned = bare * Complex::new(angle.cos() as f32, angle.sin() as f32);
                // Both are within `u ((taps + 1) + 7 log2 M) sqrt(M) ||a||` of the exact ones, 8.5e-4 for 24 samples a
                // step, 3 taps and samples of magnitude 45: `||a|| <= sqrt(taps) 45`.
                let error = (turned - expected[(channel, time, input)]).norm();
                assert!(error < 2.0 * 8.5e-4, "{channel} {time} {input}: {error}");
            }
        }
    }

    #[test]
    fn one_frame_in_rows_of_one_spectrum_is_the_order_of_voltages() {
        let inputs = Inputs::new(3, 2).unwrap();
        let plan = Channelizer::real(8).taps(2).build().unwrap();
        let spectra = 7;
        let order = settings(&plan, inputs, spectra).order(inputs, 1);
        let place = order.place();
        assert_eq!((order.elements(), place.period, place.channels), (8 * 7 * 6, 1, 8));
        for (channel, time, input) in (0..8).flat_map(|c| (0..7).flat_map(move |t| (0..6).map(move |i| (c, t, i)))) {
            // A job that begins with spectrum 2 or before, and goes on to this one.
            let begin = time.min(2);
            let (first, within) = order.at(0, begin, input);
            let periods = (within as usize + time - begin) / place.period as usize;
            let found =
                first as usize + channel * place.channel_stride as usize + periods * place.period_stride as usize;
            assert_eq!(found, (channel * spectra + time) * 6 + input);
        }
    }

    #[test]
    fn steps_are_as_large_as_a_limit_allows() {
        let plan = Channelizer::real(64).taps(4).build().unwrap();
        let shape = shape(&plan, 0);
        for all in [1, 2, 100, 5000] {
            let limits = [1, 2, 57, 4999].map(|spectra| Some(shape.step_bytes(spectra)));
            for limit in limits.into_iter().chain([None, Some(0), Some(u64::MAX)]) {
                let spectra = shape.spectra_of_step(all, limit);
                let most = limit.unwrap_or(u64::MAX).min(STEP_BYTES);
                assert!((1..=all).contains(&spectra));
                assert!(spectra == 1 || shape.step_bytes(spectra) <= most);
                assert!(spectra == all || shape.step_bytes(spectra + 1) > most);
            }
        }
        // Six inputs of 64 channels: a GiB is more than 300 000 spectra.
        let spectra = shape.spectra_of_step(usize::MAX >> 1, None);
        assert!((200_000..400_000).contains(&spectra), "{spectra}");
        assert_eq!(shape.samples(&(3..5)), 3 * 128..4 * 128 + 512);
        assert_eq!(shape.samples(&(3..3)), 3 * 128..3 * 128);
    }

    #[test]
    fn a_plan_without_a_kernel_is_left_to_the_cpu_or_refused() {
        let plan = Channelizer::real(7).taps(4).build().unwrap();
        assert!(device_for(&Backend::cpu(), &plan, None).unwrap().is_none());
        let format = ChunkFormat::Packed { bits: 10 };
        assert!(device_for(&Backend::cpu(), &plan, Some(format)).unwrap().is_none());
    }

    #[test]
    fn a_stream_needs_its_voltages_and_its_tables() {
        let inputs = Inputs::new(2, 2).unwrap();
        let plan = Channelizer::real(256).taps(8).build().unwrap();
        let timeline = Timeline::new(plan, inputs, 512);
        let format = ChunkFormat::Packed { bits: 10 };
        let need = GpuStream::memory(&timeline, 51_200, format);
        // 100 spectra of 256 channels and four inputs, and one more.
        assert_eq!(need.output_bytes, 101 * 256 * 4 * 8);
        assert_eq!(need.input_bytes, 4 * 64_000);
        assert!(need.smallest_step_bytes >= need.output_bytes + need.input_bytes);
        assert!(GpuStream::least_memory(&timeline) < need.smallest_step_bytes);
    }
}
