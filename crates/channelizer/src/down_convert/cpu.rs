//! Chunks on the CPU, and the samples held between them: f32, two a complex one.

use std::ops::Range;

use fringes_backend::{Backend, DeviceError, MemoryNeed};
use fringes_cpu::memory::try_zeroed_vec;
use fringes_cpu::pfb::{ChunkSource, SampleSource};
use fringes_types::{Complex, Inputs, Sample, SampleChunk, SampleView, Samples, TypesError, unpack_samples};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, s};

use super::progress::{Progress, Step};
use super::{DownConverter, OPERATION, output};
use crate::ChannelizerError;
use crate::timeline::ChunkAxes;

/// What a stream on the CPU has beside its position.
#[derive(Debug)]
pub(super) struct CpuStream {
    /// Samples that the next outputs need: `[input][time]`.
    held: Array2<f32>,
}

/// A plan, and where it runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting<'a> {
    pub(super) backend: &'a Backend,
    pub(super) plan: &'a DownConverter,
    pub(super) inputs: Inputs,
}

/// A step of samples of one type, within the limit.
struct Work<'a> {
    setting: Setting<'a>,
    step: Step,
    chunk: &'a dyn SampleChunk,
    /// Samples held from before; none if the stream begins anew.
    held: ArrayView2<'a, f32>,
    /// Whether the next chunk's samples are held.
    hold: bool,
    /// Bytes of the limit that are left beside what is held.
    limit: Option<u64>,
}

/// f32 of a sample.
fn floats<S: Sample>() -> usize {
    1 + usize::from(S::COMPLEX)
}

/// Bytes of so many samples of each input as f32.
fn bytes_of<S: Sample>(inputs: usize, samples: usize) -> u64 {
    (samples as u64).saturating_mul(inputs as u64).saturating_mul(4 * floats::<S>() as u64)
}

/// Memory for an array.
pub(super) fn array_need<S: Sample>(plan: &DownConverter, inputs: usize, times: usize) -> MemoryNeed {
    let conversion = &plan.conversion;
    let product = |factors: [usize; 3]| factors.iter().fold(1u64, |p, &n| p.saturating_mul(n as u64));
    let whole = conversion
        .split(S::COMPLEX, None)
        .map_or(0, |split| conversion.scratch_bytes(S::COMPLEX, split.outputs).saturating_mul(split.parallel as u64));
    MemoryNeed {
        input_bytes: product([inputs, times, size_of::<S>()]),
        output_bytes: product([inputs, conversion.outputs(times), size_of::<Complex<f32>>()]),
        workspace_bytes: whole,
        smallest_step_bytes: conversion.scratch_bytes(S::COMPLEX, 1),
    }
}

/// Memory for a stream of chunks.
pub(super) fn stream_need<S: Sample>(plan: &DownConverter, inputs: usize, times: usize) -> MemoryNeed {
    let of = |samples: usize| bytes_of::<S>(inputs, samples);
    let taps = plan.filter.len();
    let history = of(taps - 1);
    // Outputs that begin in what is held, at most one sample before its end.
    let joined = of(if taps == 1 { 0 } else { taps.saturating_mul(2) - 2 });
    let with = |scratch: u64| history.saturating_add(joined.saturating_add(scratch).max(history));
    let need = array_need::<S>(plan, inputs, times);
    MemoryNeed {
        workspace_bytes: with(need.workspace_bytes),
        smallest_step_bytes: with(need.smallest_step_bytes),
        output_bytes: (times.div_ceil(plan.decimation) as u64).saturating_mul(8).saturating_mul(inputs as u64),
        ..need
    }
}

fn too_large(inputs: Inputs, array: &'static str, columns: usize) -> ChannelizerError {
    TypesError::TooLarge { array, elements: format!("{} x {columns}", inputs.len()) }.into()
}

/// Zeros `[input][column]`.
pub(super) fn zeros<T: bytemuck::Zeroable>(
    inputs: Inputs,
    array: &'static str,
    columns: usize,
) -> Result<Array2<T>, ChannelizerError> {
    let values = columns.checked_mul(inputs.len()).and_then(try_zeroed_vec);
    let values = values.ok_or_else(|| too_large(inputs, array, columns))?;
    Array2::from_shape_vec((inputs.len(), columns), values).map_err(|_| too_large(inputs, array, columns))
}

impl CpuStream {
    /// Nothing is held.
    pub(super) fn new(inputs: Inputs) -> Self {
        Self { held: Array2::default((inputs.len(), 0)) }
    }

    /// Bytes of samples that are held.
    pub(super) fn held_bytes(&self) -> u64 {
        self.held.len() as u64 * 4
    }

    /// Takes a chunk, and `hold`s what the next one needs.
    pub(super) fn take(
        &mut self,
        setting: Setting<'_>,
        progress: &mut Progress,
        chunk: &dyn SampleChunk,
        hold: bool,
    ) -> Result<Option<Samples<Complex<f32>>>, ChannelizerError> {
        macro_rules! typed {
            ($data:expr, $reserved:expr) => {
                self.take_typed(setting, progress, (chunk, $data), hold, $reserved)
            };
        }
        match chunk.view() {
            SampleView::Int8(data) => typed!(data, 0),
            SampleView::Int16(data) => typed!(data, 0),
            SampleView::Float16(data) => typed!(data, 0),
            SampleView::Float32(data) => typed!(data, 0),
            SampleView::ComplexInt8(data) => typed!(data, 0),
            SampleView::ComplexInt16(data) => typed!(data, 0),
            SampleView::ComplexFloat16(data) => typed!(data, 0),
            SampleView::ComplexFloat32(data) => typed!(data, 0),
            SampleView::Packed { bytes, bits, times } => {
                progress.check(&ChunkAxes::of(chunk))?;
                let unpacked = (bytes.nrows() as u64).saturating_mul(times as u64).saturating_mul(2);
                setting.backend.check_memory(OPERATION, self.held_bytes().saturating_add(unpacked))?;
                let mut data = zeros::<i16>(setting.inputs, "unpacked samples", times)?;
                for (bytes, mut samples) in bytes.rows().into_iter().zip(data.rows_mut()) {
                    let values = unpack_samples(&bytes.to_vec(), bits, times)?;
                    samples.iter_mut().zip(values).for_each(|(sample, value)| *sample = value);
                }
                typed!(data.view(), unpacked)
            }
        }
    }

    /// Takes a chunk with its samples, beside `reserved` bytes that are taken for it.
    fn take_typed<S: Sample>(
        &mut self,
        setting: Setting<'_>,
        progress: &mut Progress,
        (chunk, data): (&dyn SampleChunk, ArrayView2<'_, S>),
        hold: bool,
        reserved: u64,
    ) -> Result<Option<Samples<Complex<f32>>>, ChannelizerError> {
        let Some(step) = progress.step(setting.plan, &ChunkAxes::of(chunk))? else { return Ok(None) };
        let (first_sample, times) = (chunk.first_sample(), chunk.times());
        let _span = tracing::debug_span!("down-convert chunk", first_sample, times).entered();
        if hold && progress.is_empty() {
            let needed = stream_need::<S>(setting.plan, setting.inputs.len(), times).smallest_step_bytes;
            setting.backend.check_memory(OPERATION, needed.saturating_add(reserved))?;
        }
        let work = self.work::<S>(setting, step, chunk, hold, reserved)?;
        let output = if work.step.outputs == 0 { None } else { Some(work.outputs(data)?) };
        let (held, step) = (work.next_held::<S>()?, work.step);
        self.held = held;
        progress.commit(step);
        Ok(output)
    }

    /// A step with its memory, if that is within the limit.
    fn work<'a, S: Sample>(
        &'a self,
        setting: Setting<'a>,
        step: Step,
        chunk: &'a dyn SampleChunk,
        hold: bool,
        reserved: u64,
    ) -> Result<Work<'a>, ChannelizerError> {
        let Setting { backend, plan, inputs } = setting;
        let held = if step.anew { self.held.slice(s![.., ..0]) } else { self.held.view() };
        let work = Work { setting, step, chunk, held, hold, limit: None };
        let joined_bytes = bytes_of::<S>(inputs.len(), work.joined_samples());
        let scratch = plan.conversion.scratch_bytes(S::COMPLEX, 1);
        let bytes = joined_bytes.saturating_add(scratch).max(bytes_of::<S>(inputs.len(), work.keep()));
        let taken = self.held_bytes().saturating_add(reserved);
        backend.check_memory(OPERATION, taken.saturating_add(bytes))?;
        Ok(Work { limit: backend.memory_limit().map(|limit| limit.saturating_sub(taken)), ..work })
    }
}

impl Work<'_> {
    /// Outputs that begin in what is held.
    fn joined(&self) -> usize {
        self.step.joined(self.setting.plan.decimation)
    }

    /// Samples of each input that they are made of.
    fn joined_samples(&self) -> usize {
        let plan = self.setting.plan;
        self.joined().checked_sub(1).map_or(0, |steps| steps * plan.decimation + plan.filter.len())
    }

    /// Samples of each input that are held afterwards.
    fn keep(&self) -> usize {
        if self.hold { self.step.keep } else { 0 }
    }

    /// The outputs, from what is held and the chunk.
    fn outputs<S: Sample>(&self, data: ArrayView2<'_, S>) -> Result<Samples<Complex<f32>>, ChannelizerError> {
        let Setting { plan, inputs, .. } = self.setting;
        let (step, joined) = (&self.step, self.joined());
        let mut out = zeros::<Complex<f32>>(inputs, "down-converted samples", step.outputs)?;
        if joined > 0 {
            let length = self.joined_samples();
            let from_chunk = length - self.held.ncols() / floats::<S>();
            let samples = self.join::<S>(self.held, 0..from_chunk)?;
            let limit = self.limit.map(|limit| limit.saturating_sub(samples.len() as u64 * 4));
            let to = out.slice_mut(s![.., ..joined]);
            if S::COMPLEX {
                let samples: &[Complex<f32>] = bytemuck::cast_slice(samples.as_slice().unwrap_or_default());
                let samples = ArrayView2::from_shape((inputs.len(), length), samples);
                let samples = samples.map_err(|_| too_large(inputs, "samples held", length))?;
                self.convert(samples, step.first_output, limit, to)?;
            } else {
                self.convert(samples.view(), step.first_output, limit, to)?;
            }
        }
        if joined < step.outputs {
            let first = step.first_output + joined as u64;
            let start = (first * plan.decimation as u64 - step.first_sample) as usize;
            let length = (step.outputs - joined - 1) * plan.decimation + plan.filter.len();
            let from_chunk = data.slice_move(s![.., start..start + length]);
            self.convert(from_chunk, first, self.limit, out.slice_mut(s![.., joined..]))?;
        }
        output::on_host(step, plan, out, inputs)
    }

    /// `[input][time]` of what is held, then of a part of the chunk, two f32 a complex sample.
    fn join<S: Sample>(&self, held: ArrayView2<'_, f32>, times: Range<usize>) -> Result<Array2<f32>, ChannelizerError> {
        let columns = held.ncols() + times.len() * floats::<S>();
        let mut joined = zeros::<f32>(self.setting.inputs, "samples held", columns)?;
        joined.slice_mut(s![.., ..held.ncols()]).assign(&held);
        let source = ChunkSource::new(self.chunk.view());
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
        let conversion = &self.setting.plan.conversion;
        let Some(split) = conversion.split(S::COMPLEX, limit) else {
            let (needed, limit) = (conversion.scratch_bytes(S::COMPLEX, 1), limit.unwrap_or(0));
            return Err(DeviceError::MemoryLimit { operation: OPERATION, needed, limit }.into());
        };
        fringes_cpu::ddc::down_convert_into(conversion, samples, first_output, split, out);
        Ok(())
    }

    /// What the next outputs need: the last samples of what is held and of the chunk.
    fn next_held<S: Sample>(&self) -> Result<Array2<f32>, ChannelizerError> {
        let (keep, times) = (self.keep(), self.step.times);
        let older = keep.saturating_sub(times) * floats::<S>();
        let held = self.held.slice(s![.., self.held.ncols() - older..]);
        self.join::<S>(held, times.saturating_sub(keep)..times)
    }
}
