//! Several bands of one endless stream of chunks, and what a single stream is made of.
//!
//! ```text
//! absolute samples  | held from the last chunks | chunk                         |
//! output j              [--- S j .. S j + K ---------]                made from both, joined in small rows
//! output j + 1                      [-----------------------]         likewise
//! output j + 2                                   [-----------------------]      read from the chunk in place
//! ```
//!
//! All bands have these windows: what is held, missing, complete or counted is one for all of them.

use fringes_backend::{Backend, DeviceError, DeviceSamples, MemoryNeed};
use fringes_gpu::Stream;
use fringes_types::{ChunkFormat, Complex, Inputs, Sample, SampleChunk, Samples};

use super::band::{self, Band, Piece};
use super::cpu::{self, CpuStream, Setting, Taken};
use super::gpu::{self, GpuStream};
use super::order::BandOrder;
use super::output::DeviceRows;
use super::progress::{Progress, Step};
use super::statistics::{DownConverterStatistics, Sums};
use super::{DownConvertedSample, DownConverter, OPERATION};
use crate::ChannelizerError;
use crate::internals::chunk;
use crate::sample_input::{SampleInput, SampleOperation};
use crate::timeline::ChunkAxes;

/// Several bands of one stream: down-converters of one decimation and one number of taps, which take each chunk
/// together.
///
/// The outputs of a band are those of a [`DownConverterStream`](crate::DownConverterStream) of its plan, bit for bit,
/// however the stream is cut: that stream is a bank of one band. What it says of missing data, retunes, statistics,
/// precision and errors counts for each band. A chunk goes to a GPU once, and samples are held once; outputs of all
/// bands have the same numbers, and the same ones of them are absent.
///
/// Plans may differ in centre, filter, gain and phase. A shorter filter can be filled up with zeros.
///
/// ```
/// use fringes_backend::Backend;
/// use fringes_channelizer::{DownConverter, DownConverterBank};
/// use fringes_types::{Inputs, Samples};
/// use ndarray::Array2;
///
/// // Tones of amplitude 1000 and 500 at an eighth and a quarter of the sample rate.
/// let tones = |n: usize| {
///     let tone = |cycles: f64| (std::f64::consts::TAU * cycles * n as f64).cos();
///     (1000.0 * tone(0.125) + 500.0 * tone(0.25)) as f32
/// };
/// let samples = Samples::new(Array2::from_shape_fn((1, 4096), |(_, n)| tones(n)), Inputs::single_pol(1)?)?;
///
/// let band = |centre| DownConverter::new(centre, 8, vec![1.0 / 32.0; 32]);
/// let plans = [band(0.125)?, band(0.25)?];
/// let mut bank = DownConverterBank::new(&Backend::cpu(), plans, Inputs::single_pol(1)?)?;
/// let outputs = bank.push(&samples)?;
/// // Of each band a piece: half of its tone's amplitude. The other tone is at a zero of the filter.
/// let first = |band: usize| outputs[band][0].data()[(0, 0)];
/// assert!((first(0).re - 500.0).abs() < 1e-2 && (first(1).re - 250.0).abs() < 1e-2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # On the CPU
/// Bands are computed side by side by the threads of rayon, one after another where a limit of memory says so.
///
/// # On a GPU
/// Launches of the bands are side by side, each on a part of the multiprocessors, so that what one reads of a chunk is
/// in the cache for the others. All of it begins after what the bank's stream was given before, and ends before what it
/// is given next.
///
/// # Errors
/// Every method leaves the bank as it was when it fails, but for failures of a GPU's driver.
#[derive(Debug)]
pub struct DownConverterBank<T: DownConvertedSample = Complex<f32>> {
    backend: Backend,
    /// One at least; all have the windows of the first one.
    bands: Vec<Band>,
    progress: Progress,
    engine: Engine<T>,
    /// What the host has summed up, if there are statistics.
    sums: Option<Sums>,
}

/// What computes the outputs, with what it holds between chunks.
#[derive(Debug)]
enum Engine<T: DownConvertedSample> {
    Cpu(CpuStream),
    Gpu(Box<GpuStream<T>>),
}

/// [`DownConverterBank::push`].
struct Push<'a, T: DownConvertedSample>(&'a mut DownConverterBank<T>);

impl<T: DownConvertedSample> SampleOperation for Push<'_, T> {
    type Host = Vec<Vec<Samples<T>>>;
    type Device = Vec<Vec<DeviceSamples<'static>>>;
    type Error = ChannelizerError;

    fn on_host(self, chunk: &dyn SampleChunk) -> Result<Self::Host, ChannelizerError> {
        self.0.take(chunk)
    }

    fn on_device(self, samples: &DeviceSamples<'_>) -> Result<Self::Device, ChannelizerError> {
        self.0.take_on_device(samples)
    }
}

impl DownConverterBank {
    /// A bank of bands for the given inputs, whose outputs are `Complex<f32>`.
    ///
    /// # Errors
    /// [`ChannelizerError::Zero`] for no plans, [`ChannelizerError::BandShape`] for plans of another decimation or
    /// number of taps than the first one's; otherwise as
    /// [`DownConverterStream::new`](crate::DownConverterStream::new).
    pub fn new(
        backend: &Backend,
        plans: impl IntoIterator<Item = DownConverter>,
        inputs: Inputs,
    ) -> Result<Self, ChannelizerError> {
        let bands = band::bands(plans)?;
        let plan = &bands[0].plan;
        let engine = match backend.gpu_for(OPERATION, true)? {
            None => {
                backend.check_memory(OPERATION, plan.conversion.scratch_bytes(false, 1))?;
                Engine::Cpu(CpuStream::new(inputs))
            }
            Some(device) => {
                let format = ChunkFormat::Packed { bits: 2 };
                let least = gpu::stream_need::<Complex<f32>>(plan, bands.len(), inputs, 0, format);
                backend.check_memory(OPERATION, least.smallest_step_bytes)?;
                Engine::Gpu(Box::new(GpuStream::new(device, &bands, inputs)?))
            }
        };
        let (backend, progress) = (backend.clone(), Progress::new(inputs));
        Ok(Self { backend, bands, progress, engine, sums: None })
    }
}

impl<T: DownConvertedSample> DownConverterBank<T> {
    /// The same bank with outputs of another type from now on: see
    /// [`DownConverterStream::with_output`](crate::DownConverterStream::with_output).
    ///
    /// # Errors
    /// [`DeviceError::Gpu`] with what the driver says.
    pub fn with_output<U: DownConvertedSample>(self) -> Result<DownConverterBank<U>, ChannelizerError> {
        let Self { backend, bands, progress, engine, mut sums } = self;
        let engine = match engine {
            Engine::Cpu(engine) => Engine::Cpu(engine),
            Engine::Gpu(mut engine) => {
                // What the device has summed up of floats is no sum of integers.
                if let Some(sums) = &mut sums {
                    engine.take_sums(sums)?;
                }
                Engine::Gpu(Box::new(engine.with_output::<U>(&bands)?))
            }
        };
        Ok(DownConverterBank { backend, bands, progress, engine, sums })
    }

    /// Counts samples and outputs from now on, for [`DownConverterBank::take_statistics`]: samples once for all bands.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`] with what the driver says.
    pub fn with_statistics(mut self) -> Result<Self, ChannelizerError> {
        if let Engine::Gpu(engine) = &mut self.engine {
            engine.keep_sums(self.progress.inputs())?;
        }
        self.sums.get_or_insert_with(|| Sums::new(self.bands.len(), self.progress.inputs().len()));
        Ok(self)
    }

    /// Statistics `[band][input]` since the last call, or since they were switched on, as
    /// [`DownConverterStream::take_statistics`](crate::DownConverterStream::take_statistics) gives them of each band;
    /// those of samples are the same for all. Those on a GPU are waited for.
    ///
    /// # Errors
    /// [`ChannelizerError::NoStatistics`] without [`DownConverterBank::with_statistics`], [`DeviceError::Gpu`] with
    /// what the driver says.
    pub fn take_statistics(&mut self) -> Result<Vec<Vec<DownConverterStatistics>>, ChannelizerError> {
        let sums = self.sums.as_mut().ok_or(ChannelizerError::NoStatistics)?;
        if let Engine::Gpu(engine) = &mut self.engine {
            engine.take_sums(sums)?;
        }
        let nothing = Sums::new(self.bands.len(), self.progress.inputs().len());
        Ok(std::mem::replace(sums, nothing).statistics())
    }

    /// Moves the centre of one band at an absolute sample, as
    /// [`DownConverterStream::retune`](crate::DownConverterStream::retune) does; others go on as they are.
    ///
    /// # Errors
    /// [`ChannelizerError::BandNumber`] for a band that there is not, otherwise as of that.
    pub fn retune(
        &mut self,
        band: usize,
        at_sample: u64,
        centre_cycles_per_sample: f64,
    ) -> Result<(), ChannelizerError> {
        let Some(of) = self.bands.get(band) else {
            return Err(ChannelizerError::BandNumber { bands: self.bands.len(), actual: band });
        };
        let retune = of.retune(&self.progress, at_sample, centre_cycles_per_sample)?;
        if let Engine::Gpu(engine) = &mut self.engine {
            engine.retune(&self.bands, band, retune.first_output, &retune.tuned)?;
        }
        self.bands[band].commit(retune);
        Ok(())
    }

    /// Frequency of each band that lands on DC in its next output, in cycles per sample: that of its plan, or of the
    /// last retune that counts by then.
    pub fn centres_cycles_per_sample(&self) -> Vec<f64> {
        self.bands.iter().map(|band| band.centre_cycles_per_sample(&self.progress)).collect()
    }

    /// Queues all work of a GPU after what a stream of the caller's was given, and before what it is given next, in
    /// place of one of its own.
    ///
    /// # Errors
    /// [`DeviceError::NotOnGpu`] if the bank runs on the CPU, [`DeviceError::WrongDevice`] for another device's stream.
    pub fn on(mut self, stream: &Stream) -> Result<Self, ChannelizerError> {
        self.gpu()?;
        if let Engine::Gpu(engine) = &mut self.engine {
            engine.set_stream(stream, &self.bands)?;
        }
        Ok(self)
    }

    /// The stream in whose order the work of a GPU is; `None` on the CPU.
    pub fn stream(&self) -> Option<&Stream> {
        match &self.engine {
            Engine::Cpu(_) => None,
            Engine::Gpu(engine) => Some(engine.stream()),
        }
    }

    /// Number of bands.
    pub fn bands(&self) -> usize {
        self.bands.len()
    }

    /// The plans of the bands as they were given, whatever retunes came.
    pub fn plans(&self) -> impl ExactSizeIterator<Item = &DownConverter> {
        self.bands.iter().map(|band| &band.plan)
    }

    /// Inputs of the stream.
    pub fn inputs(&self) -> Inputs {
        self.progress.inputs()
    }

    /// Sample counter that the next chunk starts at if nothing is lost; `None` before the first chunk.
    pub fn expected_sample(&self) -> Option<u64> {
        self.progress.expected_sample()
    }

    /// Stamp of the next output of each band: its number, counted in outputs from sample 0 of the run, as
    /// `first_sample` of the results; `None` before the first chunk.
    pub fn next_stamp(&self) -> Option<u64> {
        self.progress.next_output()
    }

    /// Bytes that are allocated for samples of coming outputs, of all bands together, where the bank runs.
    pub fn held_bytes(&self) -> u64 {
        match &self.engine {
            Engine::Cpu(engine) => engine.held_bytes(),
            Engine::Gpu(engine) => engine.held_bytes(),
        }
    }

    /// Memory that the bank takes with chunks of `times` samples of type `S` of each input, where it runs, as
    /// [`DownConverterStream::memory`](crate::DownConverterStream::memory) says: samples and what is held once, outputs
    /// and weights of each band. On the CPU the workspace of the conversions is that of all bands side by side, and
    /// `smallest_step_bytes` has them one after another.
    pub fn memory<S: Sample>(&self, times: usize) -> MemoryNeed {
        let (plan, bands, inputs) = (self.plan(), self.bands.len(), self.inputs());
        match &self.engine {
            Engine::Cpu(_) => cpu::stream_need::<S, T>(plan, bands, inputs.len(), times),
            Engine::Gpu(_) => {
                let format = ChunkFormat::Typed { format: S::FORMAT, complex: S::COMPLEX };
                gpu::stream_need::<T>(plan, bands, inputs, times, format)
            }
        }
    }

    /// Forgets all samples, retunes and statistics: the next chunk begins the stream anew, with any sample counter,
    /// type and rate, at the plans' centres.
    pub fn reset(&mut self) {
        self.progress.reset();
        self.bands.iter_mut().for_each(Band::reset);
        if let Some(sums) = &mut self.sums {
            *sums = Sums::new(self.bands.len(), self.progress.inputs().len());
        }
        match &mut self.engine {
            Engine::Cpu(engine) => *engine = CpuStream::new(self.progress.inputs()),
            Engine::Gpu(engine) => engine.reset(),
        }
    }

    /// Takes a chunk and gives the outputs of each band that are complete with it, where it lies: a list of pieces a
    /// band, as [`DownConverterStream::push`](crate::DownConverterStream::push) gives them. Retunes of a band cut its
    /// own pieces alone; together those of each band are the same outputs.
    ///
    /// # Precision
    /// As [`crate::down_convert`].
    ///
    /// # Errors
    /// As [`DownConverterStream::push`](crate::DownConverterStream::push).
    #[allow(clippy::type_complexity, reason = "what comes out in either memory, told in the signature")]
    pub fn push<C: SampleInput + ?Sized>(
        &mut self,
        chunk: &C,
    ) -> Result<C::Output<Vec<Vec<Samples<T>>>, Vec<Vec<DeviceSamples<'static>>>>, ChannelizerError> {
        chunk.give_to(Push(self))
    }

    /// Sets how bands share a GPU; nothing on the CPU. Outputs have the same bits. For measurements.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`] with what the driver says.
    #[doc(hidden)]
    pub fn set_order(&mut self, order: BandOrder) -> Result<(), ChannelizerError> {
        match &mut self.engine {
            Engine::Cpu(_) => Ok(()),
            Engine::Gpu(engine) => engine.set_order(order),
        }
    }

    /// The plan of the first band, whose windows all have.
    pub(super) fn plan(&self) -> &DownConverter {
        &self.bands[0].plan
    }

    /// The outputs of the first band that a step has, cut where its centre changes.
    pub(super) fn first_pieces(&self, step: &Step) -> Vec<Piece<'_>> {
        self.bands[0].pieces(step)
    }

    /// What a chunk would complete, if anything. Changes nothing.
    pub(super) fn step(&self, chunk: &ChunkAxes<'_>) -> Result<Option<Step>, ChannelizerError> {
        self.progress.step(self.plan(), chunk)
    }

    /// Sets the limit of the backend's memory for chunks that come.
    pub(super) fn set_memory_limit(&mut self, bytes: u64) {
        self.backend = self.backend.clone().with_memory_limit(bytes);
    }

    /// The engine of a GPU.
    fn gpu(&mut self) -> Result<&mut GpuStream<T>, ChannelizerError> {
        match &mut self.engine {
            Engine::Gpu(engine) => Ok(engine),
            Engine::Cpu(_) => {
                let (operation, backend) = ("down_convert of samples in device memory".into(), self.backend.name());
                Err(DeviceError::NotOnGpu { operation, backend }.into())
            }
        }
    }

    /// Takes a chunk in host memory.
    pub(super) fn take(&mut self, chunk: &dyn SampleChunk) -> Result<Vec<Vec<Samples<T>>>, ChannelizerError> {
        let inputs = self.inputs();
        let outputs = match &mut self.engine {
            Engine::Cpu(engine) => {
                let Self { backend, bands, progress, sums, .. } = self;
                let plan = &bands[0].plan;
                let setting = Setting { backend, plan, bands, inputs, hold: true, sums: sums.is_some() };
                let Taken { bands, sums: more } = engine.take(setting, progress, chunk)?;
                if let (Some(sums), Some(more)) = (sums, more) {
                    sums.add(&more);
                }
                bands.into_iter().map(|band| band.outputs).collect()
            }
            Engine::Gpu(_) => {
                let Some(step) = self.checked_step(&ChunkAxes::of(chunk))? else { return Ok(self.nothing()) };
                let samples = self.gpu()?.upload(chunk)?;
                self.queue(step, &samples, |engine, rows, piece| engine.read(rows, piece, inputs))?
            }
        };
        self.pass();
        Ok(outputs)
    }

    /// Takes a chunk in device memory.
    pub(super) fn take_on_device(
        &mut self,
        samples: &DeviceSamples<'_>,
    ) -> Result<Vec<Vec<DeviceSamples<'static>>>, ChannelizerError> {
        self.gpu()?.check(samples)?;
        let Some(step) = self.checked_step(&chunk::axes(samples))? else { return Ok(self.nothing()) };
        let finish = |engine: &mut GpuStream<T>, rows: DeviceRows<T>, piece: &Piece<'_>| {
            rows.finish(&piece.step, piece.plan, engine.stream())
        };
        let outputs = self.queue(step, samples, finish)?;
        self.pass();
        Ok(outputs)
    }

    /// No piece of any band.
    fn nothing<O>(&self) -> Vec<Vec<O>> {
        self.bands.iter().map(|_| Vec::new()).collect()
    }

    /// What a chunk completes on a GPU, if the backend's limit holds what it needs there; `None` of no samples.
    fn checked_step(&self, chunk: &ChunkAxes<'_>) -> Result<Option<Step>, ChannelizerError> {
        let step = self.step(chunk)?;
        if step.is_some() {
            let need = gpu::stream_need::<T>(self.plan(), self.bands.len(), chunk.inputs, chunk.times, chunk.format);
            self.backend.check_memory(OPERATION, need.smallest_step_bytes)?;
        }
        Ok(step)
    }

    /// Queues what a chunk completes on a GPU, where it lies, and gives each piece as `give` says.
    fn queue<O>(
        &mut self,
        step: Step,
        samples: &DeviceSamples<'_>,
        mut give: impl FnMut(&mut GpuStream<T>, DeviceRows<T>, &Piece<'_>) -> Result<O, ChannelizerError>,
    ) -> Result<Vec<Vec<O>>, ChannelizerError> {
        let Self { bands, progress, engine: Engine::Gpu(engine), sums, .. } = self else { return Ok(Vec::new()) };
        let (first_sample, times) = (step.first_sample, step.times);
        let _span = tracing::debug_span!("down-convert chunk", first_sample, times).entered();
        let pieces: Vec<Vec<Piece<'_>>> = bands.iter().map(|band| band.pieces(&step)).collect();
        let rows = engine.run((bands, &bands[0].plan), &step, &pieces, samples)?;
        let mut outputs = Vec::with_capacity(bands.len());
        for (rows, pieces) in rows.into_iter().zip(&pieces) {
            let of_band = rows.into_iter().zip(pieces).map(|(rows, piece)| give(engine, rows, piece));
            outputs.push(of_band.collect::<Result<Vec<_>, _>>()?);
        }
        if let Some(sums) = sums {
            sums.add(&engine.counts(progress.inputs(), &step, &pieces));
        }
        progress.commit(step);
        Ok(outputs)
    }

    /// Forgets tunings that no coming output has.
    fn pass(&mut self) {
        if let Some(next) = self.progress.next_output() {
            self.bands.iter_mut().for_each(|band| band.tunings.pass(next));
            if let Engine::Gpu(engine) = &mut self.engine {
                engine.pass(next);
            }
        }
    }
}
