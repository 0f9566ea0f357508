//! Down-conversion of an endless stream of chunks.
//!
//! ```text
//! absolute samples  | held from the last chunks | chunk                         |
//! output j              [--- S j .. S j + K ---------]                made from both, joined in a small array
//! output j + 1                      [-----------------------]         likewise
//! output j + 2                                   [-----------------------]      read from the chunk in place
//! ```

use std::convert::Infallible;

use fringes_backend::{Backend, DeviceError, DeviceSamples, MemoryNeed};
use fringes_cpu::memory::try_zeroed_vec;
use fringes_cpu::pfb::{ChunkSource, SampleSource};
use fringes_types::{Inputs, Sample, SampleChunk, SamplePresence, SampleView, Samples, TypesError, unpack_samples};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, s};
use num_complex::Complex;

use super::DownConverter;
use crate::ChannelizerError;
use crate::channelizer::check_counter;
use crate::presence::MissingSamples;
use crate::sample_input::{SampleInput, SampleOperation};
use crate::timeline::Axes;

/// Name of the operation.
const OPERATION: &str = "down_convert";

/// A down-converter that takes a stream chunk by chunk and gives the outputs that are complete.
///
/// Chunks of any size give the same bits as [`crate::down_convert`] of the whole stream. The stream holds fewer samples
/// than the filter has taps, of each input, as f32: [`DownConverterStream::memory`]. A backend's limit that holds that
/// holds the whole stream; it is checked with the first chunk.
///
/// # Missing data
/// An output is marked absent for an input if a sample that it is made of is; it is 0. If a chunk starts after the end
/// of the one before it, no output is made across the gap: the stream begins anew with that chunk, still on the run's
/// grid of outputs, and the `first_sample` of the result says where.
///
/// # Errors
/// Every method leaves the stream as it was when it fails.
#[derive(Debug, Clone)]
pub struct DownConverterStream {
    backend: Backend,
    plan: DownConverter,
    inputs: Inputs,
    state: Option<State>,
}

/// [`DownConverterStream::push`].
struct Push<'a>(&'a mut DownConverterStream);

impl SampleOperation for Push<'_> {
    type Host = Option<Samples<Complex<f32>>>;
    type Device = Infallible;
    type Error = ChannelizerError;

    fn on_host(self, chunk: &dyn SampleChunk) -> Result<Self::Host, ChannelizerError> {
        self.0.take(chunk, true)
    }

    fn on_device(self, _: &DeviceSamples<'_>) -> Result<Infallible, ChannelizerError> {
        let (operation, backend) = ("down_convert of samples in device memory".into(), self.0.backend.name());
        Err(DeviceError::NotOnGpu { operation, backend }.into())
    }
}

/// Where the stream is.
#[derive(Debug, Clone)]
struct State {
    axes: Axes,
    /// The sample after the last one taken.
    received: u64,
    /// Number of the next output.
    next_output: u64,
    /// Samples that the next outputs need, up to `received`: `[input][time]`, two f32 a complex one.
    held: Array2<f32>,
    /// Missing samples of each input.
    missing: Vec<MissingSamples>,
    /// Whether a chunk had presence flags.
    flagged: bool,
}

/// What a chunk completes.
struct Step<'a> {
    /// Samples held from before, as [`State::held`]; none if the stream begins anew.
    held: ArrayView2<'a, f32>,
    /// Number of the first output, and how many there are.
    first_output: u64,
    outputs: usize,
    missing: Vec<MissingSamples>,
    flagged: bool,
    /// How many of the outputs begin in what is held, and what they are made of: samples of each input.
    joined: usize,
    joined_samples: usize,
    /// Samples of each input that are held afterwards.
    keep: usize,
    /// Bytes of the limit that are left beside what is held.
    limit: Option<u64>,
}

/// f32 of a sample.
fn floats<S: Sample>() -> usize {
    1 + usize::from(S::COMPLEX)
}

impl DownConverterStream {
    /// A stream of the given inputs.
    ///
    /// # Errors
    /// [`DeviceError::MemoryLimit`] if the backend's limit does not hold the scratch of one output of real samples.
    pub fn new(backend: &Backend, plan: DownConverter, inputs: Inputs) -> Result<Self, ChannelizerError> {
        backend.check_cpu(OPERATION, plan.conversion.scratch_bytes(false, 1))?;
        Ok(Self { backend: backend.clone(), plan, inputs, state: None })
    }

    /// The plan.
    pub fn plan(&self) -> &DownConverter {
        &self.plan
    }

    /// Inputs of the stream.
    pub fn inputs(&self) -> Inputs {
        self.inputs
    }

    /// Sample counter that the next chunk starts at if nothing is lost; `None` before the first chunk.
    pub fn expected_sample(&self) -> Option<u64> {
        self.state.as_ref().map(|state| state.received)
    }

    /// Stamp of the next output: its number, counted in outputs from sample 0 of the run, as `first_sample` of the
    /// results; `None` before the first chunk.
    pub fn next_stamp(&self) -> Option<u64> {
        self.state.as_ref().map(|state| state.next_output)
    }

    /// Bytes that are allocated for samples of coming outputs: all of the stream's memory between chunks.
    pub fn held_bytes(&self) -> u64 {
        self.state.as_ref().map_or(0, |state| state.held.len() as u64 * 4)
    }

    /// Memory that the stream takes with chunks of `times` samples of type `S` of each input.
    ///
    /// The workspace includes what is held between chunks, at most; that of the conversion is for samples that are not
    /// contiguous `f32` values. A limit of `smallest_step_bytes` is enough for the whole stream.
    pub fn memory<S: Sample>(&self, times: usize) -> MemoryNeed {
        let (plan, inputs) = (&self.plan, self.inputs.len());
        let of = |samples: usize| bytes_of::<S>(inputs, samples);
        let taps = plan.filter.len();
        let history = of(taps - 1);
        // Outputs that begin in what is held, at most one sample before its end.
        let joined = of(if taps == 1 { 0 } else { taps.saturating_mul(2) - 2 });
        let with = |scratch: u64| history.saturating_add(joined.saturating_add(scratch).max(history));
        let need = plan.need::<S>(inputs, times);
        MemoryNeed {
            workspace_bytes: with(need.workspace_bytes),
            smallest_step_bytes: with(need.smallest_step_bytes),
            output_bytes: (times.div_ceil(plan.decimation) as u64).saturating_mul(8).saturating_mul(inputs as u64),
            ..need
        }
    }

    /// Forgets all samples: the next chunk begins the stream anew, with any sample counter, type and rate.
    pub fn reset(&mut self) {
        self.state = None;
    }

    /// Takes a chunk and gives the outputs that are complete with it, `None` if there are none. Packed samples are
    /// unpacked to 16 bits first, which counts as workspace.
    ///
    /// A chunk in device memory is an error: there is no kernel yet.
    ///
    /// # Precision
    /// As [`crate::down_convert`].
    ///
    /// # Errors
    /// [`ChannelizerError::Inputs`], [`ChannelizerError::SampleKind`], [`ChannelizerError::Axis`] if format, rate or
    /// centre changed, [`ChannelizerError::Counter`], [`ChannelizerError::OutOfOrder`] for a chunk that starts before
    /// the end of the last one, [`DeviceError::MemoryLimit`], [`TypesError::TooLarge`]; [`DeviceError::NotOnGpu`] for a
    /// chunk in device memory.
    #[allow(clippy::type_complexity, reason = "what comes out in either memory, told in the signature")]
    pub fn push<C: SampleInput + ?Sized>(
        &mut self,
        chunk: &C,
    ) -> Result<C::Output<Option<Samples<Complex<f32>>>, Infallible>, ChannelizerError> {
        chunk.give_to(Push(self))
    }

    /// Takes a chunk, and `hold`s what the next one needs.
    pub(super) fn take(
        &mut self,
        chunk: &dyn SampleChunk,
        hold: bool,
    ) -> Result<Option<Samples<Complex<f32>>>, ChannelizerError> {
        match chunk.view() {
            SampleView::Int8(data) => self.take_typed(chunk, data, hold, 0),
            SampleView::Int16(data) => self.take_typed(chunk, data, hold, 0),
            SampleView::Float16(data) => self.take_typed(chunk, data, hold, 0),
            SampleView::Float32(data) => self.take_typed(chunk, data, hold, 0),
            SampleView::ComplexInt8(data) => self.take_typed(chunk, data, hold, 0),
            SampleView::ComplexInt16(data) => self.take_typed(chunk, data, hold, 0),
            SampleView::ComplexFloat16(data) => self.take_typed(chunk, data, hold, 0),
            SampleView::ComplexFloat32(data) => self.take_typed(chunk, data, hold, 0),
            SampleView::Packed { bytes, bits, times } => {
                self.check(chunk)?;
                let unpacked = (bytes.nrows() as u64).saturating_mul(times as u64).saturating_mul(2);
                self.backend.check_memory(OPERATION, self.held_bytes().saturating_add(unpacked))?;
                let mut data = self.zeros::<i16>("unpacked samples", times)?;
                for (bytes, mut samples) in bytes.rows().into_iter().zip(data.rows_mut()) {
                    let values = unpack_samples(&bytes.to_vec(), bits, times)?;
                    samples.iter_mut().zip(values).for_each(|(sample, value)| *sample = value);
                }
                self.take_typed(chunk, data.view(), hold, unpacked)
            }
        }
    }

    /// Takes a chunk of which `data` are the samples, beside `reserved` bytes that are taken for it.
    fn take_typed<S: Sample>(
        &mut self,
        chunk: &dyn SampleChunk,
        data: ArrayView2<'_, S>,
        hold: bool,
        reserved: u64,
    ) -> Result<Option<Samples<Complex<f32>>>, ChannelizerError> {
        let axes = self.check(chunk)?;
        if chunk.times() == 0 {
            return Ok(None);
        }
        let (first_sample, times) = (chunk.first_sample(), chunk.times());
        let _span = tracing::debug_span!("down-convert chunk", first_sample, times).entered();
        if hold && self.state.is_none() {
            let needed = self.memory::<S>(times).smallest_step_bytes.saturating_add(reserved);
            self.backend.check_memory(OPERATION, needed)?;
        }
        let step = self.step::<S>(chunk, hold, reserved)?;
        let output = if step.outputs == 0 { None } else { Some(self.outputs(&step, chunk, data)?) };
        let held = self.next_held::<S>(&step, chunk)?;
        let Step { first_output, outputs, mut missing, flagged, .. } = step;
        let received = first_sample + times as u64;
        missing.iter_mut().for_each(|missing| missing.discard_before(received.saturating_sub(step.keep as u64) as i64));
        self.state = Some(State { axes, received, next_output: first_output + outputs as u64, held, missing, flagged });
        Ok(output)
    }

    /// `Ok` if the chunk can follow those before it.
    fn check(&self, chunk: &dyn SampleChunk) -> Result<Axes, ChannelizerError> {
        if chunk.inputs() != self.inputs {
            return Err(ChannelizerError::Inputs { expected: self.inputs, actual: chunk.inputs() });
        }
        check_counter(chunk.first_sample(), chunk.times())?;
        let axes =
            Axes { format: chunk.format(), sample_rate_hz: chunk.sample_rate_hz(), centre_hz: chunk.centre_hz() };
        let Some(State { axes: before, received, .. }) = &self.state else { return Ok(axes) };
        if axes.format.is_complex() != before.format.is_complex() {
            return Err(ChannelizerError::SampleKind { expected_complex: before.format.is_complex() });
        }
        axes.follow(before)?;
        if chunk.first_sample() < *received && chunk.times() > 0 {
            return Err(ChannelizerError::OutOfOrder { expected: *received, actual: chunk.first_sample() });
        }
        Ok(axes)
    }

    /// What a chunk completes, within the limit. Changes nothing.
    fn step<S: Sample>(
        &self,
        chunk: &dyn SampleChunk,
        hold: bool,
        reserved: u64,
    ) -> Result<Step<'_>, ChannelizerError> {
        let (first_sample, inputs) = (chunk.first_sample(), self.inputs.len());
        let (decimation, taps) = (self.plan.decimation, self.plan.filter.len());
        let state = self.state.as_ref().filter(|state| state.received == first_sample);
        let begin = first_sample.div_ceil(decimation as u64);
        let first_output = state.map_or(begin, |state| state.next_output);
        let end = first_sample + chunk.times() as u64;
        // All of these are below the limit on counters plus one decimation, which check_counter leaves room for.
        let outputs = match end.checked_sub(taps as u64) {
            Some(last_start) if last_start / decimation as u64 >= first_output => {
                (last_start / decimation as u64 - first_output + 1) as usize
            }
            _ => 0,
        };
        let mut missing = state.map_or_else(|| vec![MissingSamples::default(); inputs], |state| state.missing.clone());
        for (input, missing) in missing.iter_mut().enumerate() {
            missing.append(chunk.presence(), input, first_sample as i64, chunk.times());
        }
        let none = ArrayView2::from_shape((inputs, 0), &[]).map_err(|_| self.too_large("samples held", 0))?;
        let held = state.map_or(none, |state| state.held.view());
        let joined = (held.ncols() / floats::<S>()).div_ceil(decimation).min(outputs);
        let joined_samples = if joined == 0 { 0 } else { (joined - 1) * decimation + taps };
        // The next output may start after the end, if the decimation is larger than the filter.
        let next = (first_output + outputs as u64).saturating_mul(decimation as u64);
        let keep = if hold { end.saturating_sub(next) as usize } else { 0 };

        let joined_bytes = bytes_of::<S>(inputs, joined_samples);
        let scratch = self.plan.conversion.scratch_bytes(S::COMPLEX, 1);
        let step = joined_bytes.saturating_add(scratch).max(bytes_of::<S>(inputs, keep));
        let taken = self.held_bytes().saturating_add(reserved);
        self.backend.check_memory(OPERATION, taken.saturating_add(step))?;
        let limit = self.backend.memory_limit().map(|limit| limit.saturating_sub(taken));
        let flagged = state.is_some_and(|state| state.flagged) || chunk.presence().is_some();
        Ok(Step { held, first_output, outputs, missing, flagged, joined, joined_samples, keep, limit })
    }

    fn too_large(&self, array: &'static str, columns: usize) -> ChannelizerError {
        TypesError::TooLarge { array, elements: format!("{} x {columns}", self.inputs.len()) }.into()
    }

    /// Zeros `[input][column]`.
    fn zeros<T: bytemuck::Zeroable>(&self, array: &'static str, columns: usize) -> Result<Array2<T>, ChannelizerError> {
        let values = columns.checked_mul(self.inputs.len()).and_then(try_zeroed_vec);
        let values = values.ok_or_else(|| self.too_large(array, columns))?;
        Array2::from_shape_vec((self.inputs.len(), columns), values).map_err(|_| self.too_large(array, columns))
    }

    /// The outputs of a step, from what is held and the chunk.
    fn outputs<S: Sample>(
        &self,
        step: &Step<'_>,
        chunk: &dyn SampleChunk,
        data: ArrayView2<'_, S>,
    ) -> Result<Samples<Complex<f32>>, ChannelizerError> {
        let decimation = self.plan.decimation;
        let mut out = self.zeros::<Complex<f32>>("down-converted samples", step.outputs)?;
        if step.joined > 0 {
            let from_chunk = step.joined_samples - step.held.ncols() / floats::<S>();
            let joined = self.join::<S>(step.held, chunk, 0..from_chunk)?;
            let limit = step.limit.map(|limit| limit.saturating_sub(joined.len() as u64 * 4));
            let to = out.slice_mut(s![.., ..step.joined]);
            if S::COMPLEX {
                let length = step.joined_samples;
                let joined: &[Complex<f32>] = bytemuck::cast_slice(joined.as_slice().unwrap_or_default());
                let joined = ArrayView2::from_shape((self.inputs.len(), length), joined);
                let joined = joined.map_err(|_| self.too_large("samples held", length))?;
                self.convert(joined, step.first_output, limit, to)?;
            } else {
                self.convert(joined.view(), step.first_output, limit, to)?;
            }
        }
        if step.joined < step.outputs {
            let first = step.first_output + step.joined as u64;
            let start = (first * decimation as u64 - chunk.first_sample()) as usize;
            let length = (step.outputs - step.joined - 1) * decimation + self.plan.filter.len();
            let from_chunk = data.slice_move(s![.., start..start + length]);
            self.convert(from_chunk, first, step.limit, out.slice_mut(s![.., step.joined..]))?;
        }

        let presence = step.flagged.then(|| self.presence(step, out.view_mut()));
        let mut samples = Samples::new(out, self.inputs)?
            .with_sample_rate(chunk.sample_rate_hz() / decimation as f64)?
            .with_first_sample(step.first_output);
        if let Some(centre_hz) = chunk.centre_hz() {
            // What lies at 0 cycles per sample: a quarter of the rate below the middle of a real band.
            let zero_hz = if S::COMPLEX { centre_hz } else { centre_hz - chunk.sample_rate_hz() / 4.0 };
            let centre_hz = zero_hz + self.plan.centre_cycles_per_sample * chunk.sample_rate_hz();
            samples = samples.with_centre_frequency(centre_hz)?;
        }
        if let Some(flags) = presence {
            samples = samples.with_presence(SamplePresence::new(1, flags)?)?;
        }
        Ok(samples)
    }

    /// `[input][time]` of what is held, then of a part of the chunk, two f32 a complex sample.
    fn join<S: Sample>(
        &self,
        held: ArrayView2<'_, f32>,
        chunk: &dyn SampleChunk,
        times: std::ops::Range<usize>,
    ) -> Result<Array2<f32>, ChannelizerError> {
        let mut joined = self.zeros::<f32>("samples held", held.ncols() + times.len() * floats::<S>())?;
        joined.slice_mut(s![.., ..held.ncols()]).assign(&held);
        let source = ChunkSource::new(chunk.view());
        for (input, mut joined) in joined.rows_mut().into_iter().enumerate() {
            if let Some(new) = joined.as_slice_mut().and_then(|joined| joined.get_mut(held.ncols()..)) {
                source.fill(input, times.start as i64, new);
            }
        }
        Ok(joined)
    }

    fn convert<S: Sample>(
        &self,
        samples: ArrayView2<'_, S>,
        first_output: u64,
        limit: Option<u64>,
        out: ArrayViewMut2<'_, Complex<f32>>,
    ) -> Result<(), ChannelizerError> {
        let conversion = &self.plan.conversion;
        let Some(split) = conversion.split(S::COMPLEX, limit) else {
            let (needed, limit) = (conversion.scratch_bytes(S::COMPLEX, 1), limit.unwrap_or(0));
            return Err(DeviceError::MemoryLimit { operation: OPERATION, needed, limit }.into());
        };
        fringes_cpu::ddc::down_convert_into(conversion, samples, first_output, split, out);
        Ok(())
    }

    /// Flags `[input][output]`; outputs that are made of missing samples are set to 0.
    fn presence(&self, step: &Step<'_>, mut out: ArrayViewMut2<'_, Complex<f32>>) -> Array2<bool> {
        let decimation = self.plan.decimation as u64;
        let mut flags = Array2::from_elem(out.dim(), true);
        for ((input, index), flag) in flags.indexed_iter_mut() {
            let start = ((step.first_output + index as u64) * decimation) as i64;
            if step.missing[input].any_in(start..start + self.plan.filter.len() as i64) {
                *flag = false;
                out[(input, index)] = Complex::new(0.0, 0.0);
            }
        }
        flags
    }

    /// What the next outputs need: the last samples of what is held and of the chunk.
    fn next_held<S: Sample>(&self, step: &Step<'_>, chunk: &dyn SampleChunk) -> Result<Array2<f32>, ChannelizerError> {
        let older = step.keep.saturating_sub(chunk.times()) * floats::<S>();
        let held = step.held.slice(s![.., step.held.ncols() - older..]);
        self.join::<S>(held, chunk, chunk.times().saturating_sub(step.keep)..chunk.times())
    }
}

/// Bytes of so many samples of each input as f32.
fn bytes_of<S: Sample>(inputs: usize, samples: usize) -> u64 {
    (samples as u64).saturating_mul(inputs as u64).saturating_mul(4 * floats::<S>() as u64)
}
