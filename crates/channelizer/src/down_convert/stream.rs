//! Down-conversion of an endless stream of chunks: a bank of one band.

#[cfg(doc)]
use fringes_backend::DeviceError;
use fringes_backend::{Backend, DeviceSamples, MemoryNeed};
use fringes_gpu::Stream;
use fringes_types::{ChunkFormat, Complex, Inputs, Sample, SampleChunk, SamplePresence, Samples};

use super::band::Piece;
use super::bank::DownConverterBank;
use super::output::Axes;
use super::statistics::DownConverterStatistics;
use super::{DownConvertedSample, DownConverter, cpu, gpu};
use crate::ChannelizerError;
use crate::sample_input::{SampleInput, SampleOperation};
use crate::timeline::ChunkAxes;

/// A down-converter that takes a stream chunk by chunk and gives the outputs that are complete.
///
/// Chunks of any size give the same bits as [`crate::down_convert`] of the whole stream. The stream holds fewer samples
/// than the filter has taps, of each input, as f32 on the CPU and as they came on a GPU:
/// [`DownConverterStream::memory`]. A backend's limit that holds that holds the whole stream; it is checked with the
/// first chunk.
///
/// Outputs are `Complex<f32>` unless told otherwise ([`DownConverterStream::with_output`]).
///
/// # Missing data
/// An output is marked absent for an input if a sample that it is made of is; it is 0. If a chunk starts after the end
/// of the one before it, no output is made across the gap: the stream begins anew with that chunk, still on the run's
/// grid of outputs, and the `first_sample` of the result says where.
///
/// # Retunes
/// [`DownConverterStream::retune`] changes the centre at a sample, in which the mixer's phase is continuous, for ever,
/// across chunks and gaps. It clears nothing: windows that begin before that sample have the old centre, and others the
/// new one, whatever older samples they hold.
///
/// # Statistics
/// [`DownConverterStream::with_statistics`] counts, from then on, each output once, and samples in blocks of `16 S`:
/// samples `16 S b .. 16 S (b + 1)` are counted with output `16 b`, if that is made; those of them that come later (of
/// a filter of less than `16 S` taps), when they come. So what is counted depends only on where gaps are and how far
/// the stream has come, not on chunks: of a stretch without gaps that begins with a multiple of `16 S` samples all
/// samples but some at its end, less than the filter has taps.
///
/// # On a GPU
/// Samples go there as they are, and those that coming outputs need stay there. Outputs of chunks in device memory stay
/// there as well, as complex samples that a [`ChannelizerStream`](crate::ChannelizerStream) or an F-engine takes.
///
/// # Errors
/// Every method leaves the stream as it was when it fails, but for failures of a GPU's driver.
#[derive(Debug)]
pub struct DownConverterStream<T: DownConvertedSample = Complex<f32>> {
    /// Of one band.
    bank: DownConverterBank<T>,
}

/// What a chunk would give: axes of a piece of outputs.
#[doc(hidden)]
#[derive(Debug, Clone)]
pub struct Preview {
    inputs: Inputs,
    first_output: u64,
    outputs: usize,
    centre_cycles_per_sample: f64,
    sample_rate_hz: f64,
    centre_hz: Option<f64>,
    presence: Option<SamplePresence>,
}

impl Preview {
    /// Frequency that lands on DC, in cycles per sample.
    pub fn centre_cycles_per_sample(&self) -> f64 {
        self.centre_cycles_per_sample
    }

    /// The axes of the outputs, as of a chunk of samples of their format.
    pub fn axes(&self, format: ChunkFormat) -> ChunkAxes<'_> {
        ChunkAxes {
            format,
            inputs: self.inputs,
            times: self.outputs,
            first_sample: self.first_output,
            sample_rate_hz: self.sample_rate_hz,
            centre_hz: self.centre_hz,
            presence: self.presence.as_ref(),
        }
    }
}

/// [`DownConverterStream::push`].
struct Push<'a, T: DownConvertedSample>(&'a mut DownConverterStream<T>);

impl<T: DownConvertedSample> SampleOperation for Push<'_, T> {
    type Host = Vec<Samples<T>>;
    type Device = Vec<DeviceSamples<'static>>;
    type Error = ChannelizerError;

    fn on_host(self, chunk: &dyn SampleChunk) -> Result<Self::Host, ChannelizerError> {
        self.0.bank.take(chunk).map(of_band)
    }

    fn on_device(self, samples: &DeviceSamples<'_>) -> Result<Self::Device, ChannelizerError> {
        self.0.bank.take_on_device(samples).map(of_band)
    }
}

impl DownConverterStream {
    /// A stream of the given inputs, whose outputs are `Complex<f32>`.
    ///
    /// # Errors
    /// [`DeviceError::MemoryLimit`] if the backend's limit does not hold the scratch of one output of real samples, or
    /// what a GPU needs at least; [`DeviceError::Gpu`] with what the driver says.
    pub fn new(backend: &Backend, plan: DownConverter, inputs: Inputs) -> Result<Self, ChannelizerError> {
        Ok(Self { bank: DownConverterBank::new(backend, [plan], inputs)? })
    }
}

/// What there is of the one band.
fn of_band<O>(bands: Vec<Vec<O>>) -> Vec<O> {
    bands.into_iter().flatten().collect()
}

impl<T: DownConvertedSample> DownConverterStream<T> {
    /// The same stream with outputs of another type from now on: `stream.with_output::<Complex<i8>>()`. What came
    /// before stays as it is, statistics too.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`] with what the driver says.
    pub fn with_output<U: DownConvertedSample>(self) -> Result<DownConverterStream<U>, ChannelizerError> {
        Ok(DownConverterStream { bank: self.bank.with_output()? })
    }

    /// Counts samples and outputs from now on, for [`DownConverterStream::take_statistics`].
    ///
    /// On the CPU that is a pass over the samples and the outputs in the cache or out of it; on a GPU a kernel reads
    /// both once more. Nothing waits for it.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`] with what the driver says.
    pub fn with_statistics(self) -> Result<Self, ChannelizerError> {
        Ok(Self { bank: self.bank.with_statistics()? })
    }

    /// Statistics of each input since the last call, or since they were switched on; those on a GPU are waited for.
    ///
    /// # Precision
    /// Counts are exact. Sums of the squares of integers, samples and outputs, are exact and rounded once, as long as
    /// there are less than 2^42 samples between calls; they are the same bits on every backend, and however a stream is
    /// cut. Those of floats are sums in f64, in an order that depends on chunks and the backend: within
    /// `(samples + 1) 2^-53` of the sum.
    ///
    /// # Errors
    /// [`ChannelizerError::NoStatistics`] without [`DownConverterStream::with_statistics`], [`DeviceError::Gpu`] with
    /// what the driver says.
    pub fn take_statistics(&mut self) -> Result<Vec<DownConverterStatistics>, ChannelizerError> {
        self.bank.take_statistics().map(of_band)
    }

    /// Moves the centre at an absolute sample: outputs whose windows begin at or after `at_sample` have the new one.
    /// The mixer's phase is continuous there, `phi(n) = phi(at_sample) - c' (n - at_sample)` turns for a centre `c'`,
    /// in 2^-64 turns exactly, for ever. Retunes may be queued ahead, in the order of their samples; of several at one
    /// sample the last one counts.
    ///
    /// The centre becomes the nearest multiple of 2^-64, as that of a plan. On a GPU its weights are computed here and
    /// queued to be copied: up to eight retunes wait for nothing.
    ///
    /// # Errors
    /// [`ChannelizerError::Centre`] for a centre outside -1..=1, [`ChannelizerError::RetuneTooLate`] if an output that
    /// begins at or after the sample is made, [`ChannelizerError::RetuneOrder`] for a sample before that of the last
    /// retune, [`DeviceError::Gpu`] with what the driver says.
    pub fn retune(&mut self, at_sample: u64, centre_cycles_per_sample: f64) -> Result<(), ChannelizerError> {
        self.bank.retune(0, at_sample, centre_cycles_per_sample)
    }

    /// Frequency that lands on DC in the next output, in cycles per sample: that of the plan, or of the last retune
    /// that counts by then.
    pub fn centre_cycles_per_sample(&self) -> f64 {
        self.bank.centres_cycles_per_sample().first().copied().unwrap_or(self.plan().centre_cycles_per_sample)
    }

    /// Queues all work of a GPU on a stream of the caller's, in place of one of its own.
    ///
    /// # Errors
    /// [`DeviceError::NotOnGpu`] if the down-converter runs on the CPU, [`DeviceError::WrongDevice`] for another
    /// device's stream.
    pub fn on(self, stream: &Stream) -> Result<Self, ChannelizerError> {
        Ok(Self { bank: self.bank.on(stream)? })
    }

    /// The stream that work of a GPU is queued on; `None` on the CPU.
    pub fn stream(&self) -> Option<&Stream> {
        self.bank.stream()
    }

    /// The plan as it was given, whatever retunes came.
    pub fn plan(&self) -> &DownConverter {
        self.bank.plan()
    }

    /// Inputs of the stream.
    pub fn inputs(&self) -> Inputs {
        self.bank.inputs()
    }

    /// Sample counter that the next chunk starts at if nothing is lost; `None` before the first chunk.
    pub fn expected_sample(&self) -> Option<u64> {
        self.bank.expected_sample()
    }

    /// Stamp of the next output: its number, counted in outputs from sample 0 of the run, as `first_sample` of the
    /// results; `None` before the first chunk.
    pub fn next_stamp(&self) -> Option<u64> {
        self.bank.next_stamp()
    }

    /// Bytes that are allocated for samples of coming outputs, on the device if the down-converter runs there: on the
    /// CPU all of the stream's memory between chunks.
    pub fn held_bytes(&self) -> u64 {
        self.bank.held_bytes()
    }

    /// Memory that the stream takes with chunks of `times` samples of type `S` of each input, where it runs.
    ///
    /// The workspace includes what is held between chunks, at most. On the CPU that of the conversion is for samples
    /// that are not contiguous `f32` values; on a GPU it is memory of the device, samples and outputs have their place
    /// there as well, and a chunk is one step; packed samples need no more than those of a type that holds them. A
    /// limit of `smallest_step_bytes` is enough for the whole stream. What statistics take and the weights of retunes
    /// that are queued are not in it: some hundred KiB, and of each retune as much as of the plan.
    pub fn memory<S: Sample>(&self, times: usize) -> MemoryNeed {
        self.bank.memory::<S>(times)
    }

    /// Forgets all samples, retunes and statistics: the next chunk begins the stream anew, with any sample counter,
    /// type and rate, at the plan's centre.
    pub fn reset(&mut self) {
        self.bank.reset();
    }

    /// Takes a chunk and gives the outputs that are complete with it, where it lies, in pieces of one centre each: one
    /// piece, none if no output is complete, and one more for each retune that counts from an output among them. On the
    /// CPU packed samples are unpacked to 16 bits first, which counts as workspace.
    ///
    /// A chunk in host memory goes to a GPU through pinned memory, and outputs are waited for. Of a chunk in device
    /// memory everything is queued on the down-converter's stream ([`DownConverterStream::on`]), and nothing waits: the
    /// chunk must stay as it is until the stream has come there, which a
    /// [`DeviceArray`](fringes_backend::DeviceArray) takes care of that owns its memory.
    ///
    /// # Precision
    /// As [`crate::down_convert`].
    ///
    /// # Errors
    /// [`ChannelizerError::Inputs`], [`ChannelizerError::SampleKind`], [`ChannelizerError::Axis`] if format, rate or
    /// centre changed, [`ChannelizerError::Counter`], [`ChannelizerError::OutOfOrder`] for a chunk that starts before
    /// the end of the last one, [`DeviceError::MemoryLimit`],
    /// [`TypesError::TooLarge`](fringes_types::TypesError::TooLarge); [`DeviceError::NotOnGpu`] for a chunk in device
    /// memory if the down-converter runs on the CPU, [`DeviceError::WrongDevice`] if it runs on another device;
    /// [`DeviceError::Gpu`] with what the driver says: the stream is to be [reset](DownConverterStream::reset) then.
    #[allow(clippy::type_complexity, reason = "what comes out in either memory, told in the signature")]
    pub fn push<C: SampleInput + ?Sized>(
        &mut self,
        chunk: &C,
    ) -> Result<C::Output<Vec<Samples<T>>, Vec<DeviceSamples<'static>>>, ChannelizerError> {
        chunk.give_to(Push(self))
    }

    /// The pieces that a chunk would give. Changes nothing.
    ///
    /// # Errors
    /// As of [`DownConverterStream::push`], those of axes and counters.
    #[doc(hidden)]
    pub fn preview(&self, chunk: &ChunkAxes<'_>) -> Result<Vec<Preview>, ChannelizerError> {
        let (Some(step), inputs) = (self.bank.step(chunk)?, self.inputs()) else { return Ok(Vec::new()) };
        let preview = |Piece { step, plan }: Piece<'_>| {
            let Axes { sample_rate_hz, centre_hz, presence } = Axes::new(&step, plan, inputs)?;
            let (first_output, outputs) = (step.first_output, step.outputs);
            let centre_cycles_per_sample = plan.centre_cycles_per_sample;
            Ok(Preview { inputs, first_output, outputs, centre_cycles_per_sample, sample_rate_hz, centre_hz, presence })
        };
        self.bank.first_pieces(&step).into_iter().map(preview).collect()
    }

    /// Sets the limit of the backend's memory for chunks that come.
    #[doc(hidden)]
    pub fn set_memory_limit(&mut self, bytes: u64) {
        self.bank.set_memory_limit(bytes);
    }

    /// Memory that a stream takes with chunks of `times` samples of a format of each input, before it is made.
    #[doc(hidden)]
    pub fn need(plan: &DownConverter, inputs: Inputs, on_gpu: bool, times: usize, format: ChunkFormat) -> MemoryNeed {
        if on_gpu {
            return gpu::stream_need::<T>(plan, 1, inputs, times, format);
        }
        let need = if format.is_complex() {
            cpu::stream_need::<Complex<f32>, T>(plan, 1, inputs.len(), times)
        } else {
            cpu::stream_need::<f32, T>(plan, 1, inputs.len(), times)
        };
        let all = (times as u64).saturating_mul(inputs.len() as u64);
        // Packed samples are unpacked to 16 bits.
        let unpacked = if matches!(format, ChunkFormat::Packed { .. }) { all.saturating_mul(2) } else { 0 };
        let row = (times as u64).saturating_mul(format.sample_bits().into()).div_ceil(8);
        MemoryNeed {
            input_bytes: row.saturating_mul(inputs.len() as u64),
            workspace_bytes: need.workspace_bytes.saturating_add(unpacked),
            smallest_step_bytes: need.smallest_step_bytes.saturating_add(unpacked),
            ..need
        }
    }
}
