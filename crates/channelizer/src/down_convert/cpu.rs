//! Chunks on the CPU, and the samples held between them: f32, two a complex one.

use std::ops::Range;

use fringes_backend::{Backend, DeviceError, MemoryNeed};
use fringes_cpu::f_engine::SampleSums;
use fringes_cpu::memory::try_zeroed_vec;
use fringes_cpu::pfb::{ChunkSource, SampleSource};
use fringes_types::{Complex, Inputs, Sample, SampleChunk, SampleView, Samples, TypesError, unpack_samples};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, s};
use rayon::prelude::*;

use super::band::{Band, Piece};
use super::progress::{Progress, Step};
use super::statistics::{self, Sums};
use super::{DownConvertedSample, DownConverter, OPERATION, output};
use crate::ChannelizerError;
use crate::timeline::ChunkAxes;

/// What a stream on the CPU has beside its position.
#[derive(Debug)]
pub(super) struct CpuStream {
    /// Samples that the next outputs need: `[input][time]`.
    held: Array2<f32>,
}

/// Bands, where they run, and what is wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting<'a> {
    pub(super) backend: &'a Backend,
    /// A plan whose grid of outputs and windows all bands have.
    pub(super) plan: &'a DownConverter,
    pub(super) bands: &'a [Band],
    pub(super) inputs: Inputs,
    /// Whether the next chunk's samples are held.
    pub(super) hold: bool,
    /// Whether there are statistics.
    pub(super) sums: bool,
}

/// What a chunk gave.
#[derive(Debug)]
pub(super) struct Taken<T: Sample> {
    /// Of each band.
    pub(super) bands: Vec<TakenBand<T>>,
    /// Sums, if there are any.
    pub(super) sums: Option<Sums>,
}

/// What a chunk gave a band.
#[derive(Debug)]
pub(super) struct TakenBand<T: Sample> {
    /// Outputs, a piece for each tuning.
    pub(super) outputs: Vec<Samples<T>>,
    /// Outputs of each input that saturated.
    pub(super) saturated: Vec<u64>,
    /// Sums of the outputs of each input, if there are any.
    sums: Vec<SampleSums>,
}

impl<T: Sample> TakenBand<T> {
    /// Of nothing.
    fn none(inputs: Inputs) -> Self {
        Self { outputs: Vec::new(), saturated: vec![0; inputs.len()], sums: vec![SampleSums::default(); inputs.len()] }
    }
}

impl Setting<'_> {
    /// What gives nothing.
    fn nothing<T: Sample>(&self) -> Taken<T> {
        Taken { bands: self.bands.iter().map(|_| TakenBand::none(self.inputs)).collect(), sums: None }
    }
}

/// A step of samples of one type, within the limit.
struct Work<'a> {
    setting: Setting<'a>,
    step: Step,
    chunk: &'a dyn SampleChunk,
    /// Samples held from before; none if the stream begins anew.
    held: ArrayView2<'a, f32>,
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

/// Memory for a stream of chunks of so many bands, side by side or, where a limit says so, one after another.
pub(super) fn stream_need<S: Sample, T: Sample>(
    plan: &DownConverter,
    bands: usize,
    inputs: usize,
    times: usize,
) -> MemoryNeed {
    let of = |samples: usize| bytes_of::<S>(inputs, samples);
    let taps = plan.filter.len();
    let history = of(taps - 1);
    // Outputs that begin in what is held, at most one sample before its end.
    let joined = of(if taps == 1 { 0 } else { taps.saturating_mul(2) - 2 });
    let with = |scratch: u64| history.saturating_add(joined.saturating_add(scratch).max(history));
    let need = array_need::<S>(plan, inputs, times);
    MemoryNeed {
        workspace_bytes: with(need.workspace_bytes.saturating_mul(bands as u64)),
        smallest_step_bytes: with(need.smallest_step_bytes),
        output_bytes: (times.div_ceil(plan.decimation) as u64)
            .saturating_mul(size_of::<T>() as u64)
            .saturating_mul(inputs as u64)
            .saturating_mul(bands as u64),
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

    /// Takes a chunk.
    pub(super) fn take<T: DownConvertedSample>(
        &mut self,
        setting: Setting<'_>,
        progress: &mut Progress,
        chunk: &dyn SampleChunk,
    ) -> Result<Taken<T>, ChannelizerError> {
        macro_rules! typed {
            ($data:expr, $reserved:expr) => {
                self.take_typed(setting, progress, (chunk, $data), $reserved)
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
    fn take_typed<S: Sample, T: DownConvertedSample>(
        &mut self,
        setting: Setting<'_>,
        progress: &mut Progress,
        (chunk, data): (&dyn SampleChunk, ArrayView2<'_, S>),
        reserved: u64,
    ) -> Result<Taken<T>, ChannelizerError> {
        let Some(step) = progress.step(setting.plan, &ChunkAxes::of(chunk))? else {
            return Ok(setting.nothing());
        };
        let (first_sample, times) = (chunk.first_sample(), chunk.times());
        let _span = tracing::debug_span!("down-convert chunk", first_sample, times).entered();
        if setting.hold && progress.is_empty() {
            let (bands, inputs) = (setting.bands.len(), setting.inputs.len());
            let needed = stream_need::<S, T>(setting.plan, bands, inputs, times).smallest_step_bytes;
            setting.backend.check_memory(OPERATION, needed.saturating_add(reserved))?;
        }
        let work = self.work::<S>(setting, step, chunk, reserved)?;
        let taken = work.outputs(data)?;
        let (held, step) = (work.next_held::<S>()?, work.step);
        self.held = held;
        progress.commit(step);
        Ok(taken)
    }

    /// A step with its memory, if that is within the limit.
    fn work<'a, S: Sample>(
        &'a self,
        setting: Setting<'a>,
        step: Step,
        chunk: &'a dyn SampleChunk,
        reserved: u64,
    ) -> Result<Work<'a>, ChannelizerError> {
        let Setting { backend, plan, inputs, .. } = setting;
        let held = if step.anew { self.held.slice(s![.., ..0]) } else { self.held.view() };
        let work = Work { setting, step, chunk, held, limit: None };
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
        if self.setting.hold { self.step.keep } else { 0 }
    }

    /// The outputs of all bands, from what is held and the chunk, and what they sum up to.
    fn outputs<S: Sample, T: DownConvertedSample>(
        &self,
        data: ArrayView2<'_, S>,
    ) -> Result<Taken<T>, ChannelizerError> {
        let Setting { bands, inputs, plan, .. } = self.setting;
        let step = &self.step;
        let samples = self.setting.sums.then(|| statistics::of_samples(step, self.held, self.chunk));
        let mut taken = self.setting.nothing();
        if step.outputs > 0 {
            let joined = match self.joined() {
                0 => Array2::default((inputs.len(), 0)),
                _ => self.join::<S>(self.held, 0..self.joined_samples() - self.held.ncols() / floats::<S>())?,
            };
            let left = self.limit.map(|limit| limit.saturating_sub(joined.len() as u64 * 4));
            let share = left.map(|left| left / bands.len().max(1) as u64);
            let together = share.is_none_or(|share| plan.conversion.scratch_bytes(S::COMPLEX, 1) <= share);
            let of = |band: &Band, limit| self.band(band, joined.view(), data, limit);
            taken.bands = if bands.len() > 1 && together {
                bands.par_iter().map(|band| of(band, share)).collect::<Result<_, _>>()?
            } else {
                bands.iter().map(|band| of(band, left)).collect::<Result<_, _>>()?
            };
        }
        taken.sums = samples.map(|samples| {
            let outputs = taken.bands.iter_mut().map(|band| std::mem::take(&mut band.sums)).collect();
            Sums { samples, outputs }
        });
        Ok(taken)
    }

    /// The outputs of a band, those that begin before the chunk of the samples `joined`.
    fn band<S: Sample, T: DownConvertedSample>(
        &self,
        band: &Band,
        joined: ArrayView2<'_, f32>,
        data: ArrayView2<'_, S>,
        limit: Option<u64>,
    ) -> Result<TakenBand<T>, ChannelizerError> {
        let inputs = self.setting.inputs;
        let mut taken = TakenBand::none(inputs);
        for Piece { step, plan } in band.pieces(&self.step) {
            let (out, saturated) = self.piece(plan, &step, (joined, data), limit)?;
            let out = output::on_host(&step, plan, out, inputs)?;
            if self.setting.sums {
                statistics::add(&mut taken.sums, &statistics::of_outputs(&step, plan, &out, &saturated));
            }
            taken.saturated.iter_mut().zip(saturated).for_each(|(all, of_piece)| *all += of_piece);
            taken.outputs.push(out);
        }
        Ok(taken)
    }

    /// Outputs of one tuning, and how many saturated.
    fn piece<S: Sample, T: DownConvertedSample>(
        &self,
        plan: &DownConverter,
        piece: &Step,
        (joined, data): (ArrayView2<'_, f32>, ArrayView2<'_, S>),
        limit: Option<u64>,
    ) -> Result<(Array2<T>, Vec<u64>), ChannelizerError> {
        let (step, inputs, decimation) = (&self.step, self.setting.inputs, plan.decimation);
        let mut out = zeros::<T>(inputs, "down-converted samples", piece.outputs)?;
        let absent: Vec<_> = (0..inputs.len()).map(|input| piece.absent(plan, input)).collect();
        let mut saturated = vec![0; inputs.len()];
        // Outputs of the step before the piece, and those of the piece that begin before the chunk.
        let before = (piece.first_output - step.first_output) as usize;
        let from_joined = self.joined().saturating_sub(before).min(piece.outputs);
        let windows = |outputs: usize| (outputs - 1) * decimation + plan.filter.len();
        if from_joined > 0 {
            let start = before * decimation;
            let times = start..start + windows(from_joined);
            let to = out.slice_mut(s![.., ..from_joined]);
            let work = (plan, piece.first_output, limit, &absent[..]);
            saturated = if S::COMPLEX {
                let length = joined.ncols() / 2;
                let samples: &[Complex<f32>] = bytemuck::cast_slice(joined.to_slice().unwrap_or_default());
                let samples = ArrayView2::from_shape((inputs.len(), length), samples);
                let samples = samples.map_err(|_| too_large(inputs, "samples held", length))?;
                convert(samples.slice_move(s![.., times]), work, to)?
            } else {
                convert(joined.slice_move(s![.., times]), work, to)?
            };
        }
        if from_joined < piece.outputs {
            let first = piece.first_output + from_joined as u64;
            let start = (first * decimation as u64 - step.first_sample) as usize;
            let samples = data.slice_move(s![.., start..start + windows(piece.outputs - from_joined)]);
            let behind = |runs: &Vec<Range<usize>>| {
                let runs = runs.iter().filter(|run| run.end > from_joined);
                runs.map(|run| run.start.saturating_sub(from_joined)..run.end - from_joined).collect::<Vec<_>>()
            };
            let absent: Vec<_> = absent.iter().map(behind).collect();
            let to = out.slice_mut(s![.., from_joined..]);
            let more = convert(samples, (plan, first, limit, &absent), to)?;
            saturated.iter_mut().zip(more).for_each(|(all, more)| *all += more);
        }
        Ok((out, saturated))
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

    /// What the next outputs need: the last samples of what is held and of the chunk.
    fn next_held<S: Sample>(&self) -> Result<Array2<f32>, ChannelizerError> {
        let (keep, times) = (self.keep(), self.step.times);
        let older = keep.saturating_sub(times) * floats::<S>();
        let held = self.held.slice(s![.., self.held.ncols() - older..]);
        self.join::<S>(held, times.saturating_sub(keep)..times)
    }
}

/// Outputs of a plan from number `first_output` on, within a limit; gives how many saturated, but for `absent` columns.
fn convert<S: Sample, T: DownConvertedSample>(
    samples: ArrayView2<'_, S>,
    (plan, first_output, limit, absent): (&DownConverter, u64, Option<u64>, &[Vec<Range<usize>>]),
    out: ArrayViewMut2<'_, T>,
) -> Result<Vec<u64>, ChannelizerError> {
    let conversion = &plan.conversion;
    let Some(split) = conversion.split(S::COMPLEX, limit) else {
        let (needed, limit) = (conversion.scratch_bytes(S::COMPLEX, 1), limit.unwrap_or(0));
        return Err(DeviceError::MemoryLimit { operation: OPERATION, needed, limit }.into());
    };
    Ok(fringes_cpu::ddc::down_convert_into(conversion, samples, first_output, split, absent, out))
}
